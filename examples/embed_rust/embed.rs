// SPDX-License-Identifier: MIT
//! embed, in Rust: publishes one page of metrics, asks for each request id given, and says what
//! the gateway would answer. The same as examples/embed/embed.c, without a crate.
//!
//!     embed CONFIG PAGE ID...
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int};
use std::{env, fs, process, ptr};

/// <admitperf/runtime.h>, as much of it as is used.
mod ffi {
    use super::*;
    #[repr(C)]
    pub struct Runtime {
        _private: [u8; 0],
    }
    #[repr(C)]
    pub struct Lane {
        _private: [u8; 0],
    }
    #[repr(C)]
    pub struct Error {
        pub code: i32,
        pub line: u32,
        pub column: u32,
        pub file: [c_char; 256],
        pub text: [c_char; 512],
    }
    #[repr(C)]
    pub struct Errors {
        pub list: *mut Error,
        pub n: u32,
        pub cap: u32,
    }
    #[repr(C)]
    pub struct Facts {
        pub size: u32,
        pub present: u32,
        pub request_id: *const c_char,
        pub tenant: *const c_char,
        pub session: *const c_char,
        pub slo_class: *const c_char,
        pub prompt_tokens: u64,
        pub max_output_tokens: u64,
        pub priority: i64,
        pub ttft_deadline_ms: f64,
    }
    #[repr(C)]
    pub struct Decision {
        pub size: u32,
        pub admitted: u32,
        pub action: u32,
        pub status: u32,
        pub retry_after_ms: u32,
        pub enforced: u32,
        pub policy_action: u32,
        pub reserved: u32,
        pub reason: *const c_char,
        pub fault: *const c_char,
        pub id: u64,
    }
    #[repr(C)]
    pub struct Outcome {
        pub size: u32,
        pub end: u32,
        pub present: u32,
        pub ok: i32,
        pub status: u32,
        pub n_extra: u32,
        pub prompt_tokens: u64,
        pub output_tokens: u64,
        pub ttft_ms: f64,
        pub total_ms: f64,
        pub extra: *const u8,
    }
    pub const DONE: u32 = 1;
    pub const HAS_TTFT: u32 = 1;
    #[link(name = "admitperf")]
    extern "C" {
        pub fn adp_runtime_open(
            ret: *mut *mut Runtime,
            path: *const c_char,
            errors: *mut Errors,
        ) -> c_int;
        pub fn adp_runtime_start(rt: *mut Runtime, err: *mut Error) -> c_int;
        pub fn adp_runtime_close(rt: *mut Runtime, err: *mut Error) -> c_int;
        pub fn adp_runtime_publish_text(
            rt: *mut Runtime,
            page: *const c_char,
            len: usize,
            err: *mut Error,
        ) -> c_int;
        pub fn adp_lane_open(ret: *mut *mut Lane, rt: *mut Runtime, err: *mut Error) -> c_int;
        pub fn adp_lane_close(lane: *mut Lane);
        pub fn adp_lane_decide(lane: *mut Lane, facts: *const Facts, ret: *mut Decision) -> c_int;
        pub fn adp_lane_outcome(
            lane: *mut Lane,
            id: u64,
            request_id: *const c_char,
            result: *const Outcome,
        ) -> c_int;
        pub fn adp_errors_free(errors: *mut Errors);
        pub fn adp_error_print(err: *const Error, to: *mut c_char, cap: usize) -> usize;
    }
}

impl ffi::Error {
    fn none() -> Self {
        ffi::Error { code: 0, line: 0, column: 0, file: [0; 256], text: [0; 512] }
    }
    fn said(&self) -> String {
        let mut text: [c_char; 1024] = [0; 1024];
        unsafe {
            ffi::adp_error_print(self, text.as_mut_ptr(), text.len());
            CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned()
        }
    }
}

/// Closed when it goes: everything recorded is written then.
struct Runtime(*mut ffi::Runtime);

/// One thread's way in: it cannot be sent elsewhere, and does not outlive its runtime.
struct Lane<'a>(*mut ffi::Lane, std::marker::PhantomData<&'a Runtime>);

impl Runtime {
    fn open(config: &str) -> Result<Self, String> {
        let path = CString::new(config).map_err(|e| e.to_string())?;
        let mut rt = ptr::null_mut();
        let mut list = ffi::Errors { list: ptr::null_mut(), n: 0, cap: 0 };
        let code = unsafe { ffi::adp_runtime_open(&mut rt, path.as_ptr(), &mut list) };
        let said: Vec<String> = (0..list.n as usize)
            .map(|i| unsafe { (*list.list.add(i)).said() }) // mistakes, or, when it opened, notes
            .collect();
        unsafe { ffi::adp_errors_free(&mut list) };
        if code < 0 {
            return Err(said.join("\n"));
        }
        for note in said {
            eprintln!("embed: {note}");
        }
        let opened = Runtime(rt);
        let mut err = ffi::Error::none();
        if unsafe { ffi::adp_runtime_start(rt, &mut err) } < 0 {
            return Err(err.said());
        }
        Ok(opened)
    }

    fn publish(&self, page: &[u8]) -> Result<(), String> {
        let mut err = ffi::Error::none();
        let text = page.as_ptr() as *const c_char;
        if unsafe { ffi::adp_runtime_publish_text(self.0, text, page.len(), &mut err) } < 0 {
            return Err(err.said());
        }
        Ok(())
    }

    fn lane(&self) -> Result<Lane<'_>, String> {
        let mut lane = ptr::null_mut();
        let mut err = ffi::Error::none();
        if unsafe { ffi::adp_lane_open(&mut lane, self.0, &mut err) } < 0 {
            return Err(err.said());
        }
        Ok(Lane(lane, std::marker::PhantomData))
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        let mut err = ffi::Error::none();
        if unsafe { ffi::adp_runtime_close(self.0, &mut err) } < 0 {
            eprintln!("embed: {}", err.said());
        }
    }
}

impl Lane<'_> {
    fn decide(&self, id: &str) -> Result<ffi::Decision, String> {
        let id = CString::new(id).map_err(|e| e.to_string())?;
        let mut facts: ffi::Facts = unsafe { std::mem::zeroed() };
        let mut d: ffi::Decision = unsafe { std::mem::zeroed() };
        facts.size = std::mem::size_of::<ffi::Facts>() as u32;
        facts.request_id = id.as_ptr();
        unsafe { ffi::adp_lane_decide(self.0, &facts, &mut d) };
        Ok(d)
    }

    fn done(&self, id: u64, ttft_ms: f64) {
        let mut result: ffi::Outcome = unsafe { std::mem::zeroed() };
        result.size = std::mem::size_of::<ffi::Outcome>() as u32;
        result.end = ffi::DONE;
        result.present = ffi::HAS_TTFT;
        result.ok = 1;
        result.ttft_ms = ttft_ms;
        unsafe { ffi::adp_lane_outcome(self.0, id, ptr::null(), &result) };
    }
}

impl Drop for Lane<'_> {
    fn drop(&mut self) {
        unsafe { ffi::adp_lane_close(self.0) };
    }
}

fn run(config: &str, page: &str, ids: &[String]) -> Result<(), String> {
    let rt = Runtime::open(config)?;
    let page = fs::read(page).map_err(|e| e.to_string())?;
    rt.publish(&page)?;
    let lane = rt.lane()?;
    for id in ids {
        let d = lane.decide(id)?;
        if d.admitted == 0 {
            let reason = unsafe { CStr::from_ptr(d.reason) };
            println!("{}: {} {}", id, d.status, reason.to_string_lossy());
            continue;
        }
        println!("{}: {} admitted", id, d.status);
        lane.done(d.id, 180.0); // … forward it, and when its first token has come
    }
    Ok(())
}

fn main() {
    let given: Vec<String> = env::args().collect();
    if given.len() < 3 {
        eprintln!("usage: embed CONFIG PAGE ID...");
        process::exit(2);
    }
    if let Err(said) = run(&given[1], &given[2], &given[3..]) {
        eprintln!("embed: {said}");
        process::exit(1);
    }
}

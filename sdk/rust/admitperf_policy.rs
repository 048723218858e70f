// SPDX-License-Identifier: MIT
// Policies in Rust: <admitperf/policy.h> in one file, for rustc 1.63 and later, no crates.
//
//     include!(env!("ADMITPERF_POLICY_RS")); // pkg-config --variable=rustmodule admitperf-policy
//     use admitperf::*;
//
//     struct Mine;
//     impl Policy for Mine { … }             // what it declares
//     impl Stateless for Mine { … }          // what it decides
//     admitperf_policy!(stateless Mine);     // the one exported name
//
// `#[macro_use] mod sdk;` with `use sdk::admitperf;` does as well. It needs a cdylib with
// panic=unwind; docs/writing-a-policy-cpp-rust.md has the build line.
//
//  1. What may be absent is an Option. A slot or place that the policy did not declare
//     panics, it never reads.
//  2. Nothing unwinds out of a policy. A decide that panics leaves no verdict, which the
//     operator's on_error answers; a create that panics or fails says why; everything else
//     is swallowed. What a panic left behind in the state is the policy's own affair.
//  3. This file takes memory by ways that can fail, and create answers a failure with
//     "out of memory". The standard library's usual ways end the process instead, and with
//     it the host: in create use try_reserve, try_reserve_exact and `try_box`.
//  4. The table is built when the policy is compiled. Layouts are held there against those
//     of policy.h, and so is what a policy declares, as far as memory safety needs it; the
//     loader holds all of it against the rules.
//  5. What the type implements is called: one that implements another kind than the last line
//     names does not compile. But save and restore are left out where MAX_SAVED is 0.
//
// Left to the author: no clock, no chance, no thread, no `static` that changes, and no
// thread_local! whose value has a destructor. What is said in policy.h holds here.

#[allow(dead_code)]
#[macro_use]
pub mod admitperf {
    use std::alloc::{alloc, Layout};
    use std::any::Any;
    use std::ffi::CStr;
    use std::marker::PhantomData;
    use std::os::raw::{c_char, c_void};
    use std::panic::{catch_unwind, AssertUnwindSafe};
    use std::ptr::NonNull;

    #[cfg(panic = "abort")]
    compile_error!("a policy needs panic=unwind: with abort, one panic ends the host");

    // The structs and constants of policy.h under their own names. Each field says its
    // offset: repr(C) lays fields out one after the other as they align, so where every
    // field begins at the end of the one before, and the last ends the struct, these are
    // the offsets.
    #[allow(non_camel_case_types)]
    pub mod abi {
        use std::mem::{align_of, size_of};
        use std::os::raw::{c_char, c_void};

        macro_rules! record {
            ($name:ident $size:literal { $($at:literal $field:ident: $type:ty,)* }) => {
                #[repr(C)]
                #[derive(Clone, Copy)]
                pub struct $name {
                    $(pub $field: $type,)*
                }
                const _: () = {
                    let mut end = 0;
                    $(
                        assert!(end == $at && end % align_of::<$type>() == 0);
                        end += size_of::<$type>();
                    )*
                    assert!(end == $size && size_of::<$name>() == $size);
                };
            };
        }

        record! { adp_signal 24 {
            0 name: *const c_char,
            8 unit: *const c_char,
            16 flags: u32,
            20 reserved: u32,
        } }
        record! { adp_param 56 {
            0 name: *const c_char,
            8 unit: *const c_char,
            16 doc: *const c_char,
            24 lo: f64,
            32 hi: f64,
            40 dflt: f64,
            48 kind: u32,
            52 flags: u32,
        } }
        record! { adp_gate 16 {
            0 rule: u32,
            4 signal: u32,
            8 op: u32,
            12 param: u32,
        } }
        record! { adp_card 80 {
            0 unit: *const c_char,
            8 setting: *const c_char,
            16 slo_awareness: *const c_char,
            24 signal_quantity: *const c_char,
            32 signal_structure: *const c_char,
            40 metadata_assumed: *const c_char,
            48 portability: *const c_char,
            56 source: *const c_char,
            64 margin_unit: *const c_char,
            72 flags: u32,
            76 reserved: u32,
        } }
        record! { adp_request 80 {
            0 size: u32,
            4 present: u32,
            8 tenant: *const c_char,
            16 session: *const c_char,
            24 slo_class: *const c_char,
            32 tenant_key: u64,
            40 session_key: u64,
            48 prompt_tokens: u64,
            56 max_output_tokens: u64,
            64 priority: i64,
            72 ttft_deadline_ms: f64,
        } }
        record! { adp_view 72 {
            0 size: u32,
            4 n_replicas: u32,
            8 now_ns: u64,
            16 present: u64,
            24 draw: f64,
            32 signal: *const f64,
            40 param: *const f64,
            48 replica: *const f64,
            56 replica_present: *const u64,
            64 request: *const adp_request,
        } }
        record! { adp_verdict 48 {
            0 size: u32,
            4 action: u32,
            8 reason: u32,
            12 retry_after_ms: u32,
            16 set: u32,
            20 binding: u32,
            24 ticket: u64,
            32 margin: f64,
            40 p: f64,
        } }
        record! { adp_outcome 64 {
            0 size: u32,
            4 kind: u32,
            8 present: u32,
            12 http_status: u32,
            16 ticket: u64,
            24 now_ns: u64,
            32 prompt_tokens: u64,
            40 output_tokens: u64,
            48 ttft_ms: f64,
            56 total_ms: f64,
        } }
        record! { adp_setup 56 {
            0 size: u32,
            4 n_instances: u32,
            8 param: *const f64,
            16 config: *const c_char,
            24 saved: *const c_void,
            32 saved_len: u64,
            40 error: *mut c_char,
            48 error_cap: u64,
        } }
        record! { adp_policy 152 {
            0 magic: u32,
            4 size: u32,
            8 abi_minor: u16,
            10 min_host_minor: u16,
            12 signal_size: u16,
            14 param_size: u16,
            16 gate_size: u16,
            18 card_size: u16,
            20 n_signals: u32,
            24 n_params: u32,
            28 n_gates: u32,
            32 threading: u32,
            36 max_saved: u32,
            40 flags: u32,
            44 reserved: u32,
            48 name: *const c_char,
            56 version: *const c_char,
            64 doc: *const c_char,
            72 signals: *const adp_signal,
            80 params: *const adp_param,
            88 gates: *const adp_gate,
            96 card: *const adp_card,
            104 create: Option<unsafe extern "C" fn(*const adp_setup) -> *mut c_void>,
            112 destroy: Option<unsafe extern "C" fn(*mut c_void)>,
            120 decide: Option<unsafe extern "C" fn(*mut c_void, *const adp_view, *mut adp_verdict)>,
            128 outcome: Option<unsafe extern "C" fn(*mut c_void, *const adp_outcome)>,
            136 save: Option<unsafe extern "C" fn(*const c_void, *mut c_void, u64) -> u64>,
            144 extension: Option<unsafe extern "C" fn(*const c_char) -> *const c_void>,
        } }

        pub const ADP_MAGIC: u32 = 0x3150_4441;
        pub const ADP_ABI_MINOR: u16 = 0;
        pub const ADP_NONE: u32 = 0xffff_ffff;
        pub const ADP_MAX_SIGNALS: usize = 64;
        pub const ADP_MAX_PARAMS: usize = 64;
        pub const ADP_MAX_GATES: usize = 64;
        pub const ADP_MAX_REPLICAS: u32 = 256;
        pub const ADP_MAX_SAVED: u32 = 1 << 20;
        pub const ADP_TAKES_CONFIG: u32 = 1;
        pub const ADP_REPLICAS: u32 = 1;
        pub const ADP_ADMIT: u32 = 1;
        pub const ADP_REJECT: u32 = 2;
        pub const ADP_DEFER: u32 = 3;
        pub const ADP_SERIAL: u32 = 0;
        pub const ADP_CONCURRENT: u32 = 1;
        pub const ADP_GE: u32 = 1;
        pub const ADP_GT: u32 = 2;
        pub const ADP_LE: u32 = 3;
        pub const ADP_LT: u32 = 4;
        pub const ADP_F64: u32 = 1;
        pub const ADP_I64: u32 = 2;
        pub const ADP_BOOL: u32 = 3;
        pub const ADP_REQUIRED: u32 = 1;
        pub const ADP_FIXED: u32 = 2;
        pub const ADP_BASELINE: u32 = 1;
        pub const ADP_SET_MARGIN: u32 = 1;
        pub const ADP_SET_P: u32 = 2;
        pub const ADP_SET_RETRY: u32 = 4;
        pub const ADP_PROMPT: u32 = 1;
        pub const ADP_OUTPUT: u32 = 2;
        pub const ADP_PRIORITY: u32 = 4;
        pub const ADP_DEADLINE: u32 = 8;
        pub const ADP_O_TTFT: u32 = 1;
        pub const ADP_O_TOTAL: u32 = 2;
        pub const ADP_O_PROMPT: u32 = 4;
        pub const ADP_O_OUTPUT: u32 = 8;
        pub const ADP_O_STATUS: u32 = 16;
        pub const ADP_DONE: u32 = 1;
        pub const ADP_FAILED: u32 = 2;
        pub const ADP_CANCELLED: u32 = 3;
        pub const ADP_NOT_RUN: u32 = 4;
        pub const ADP_LOST: u32 = 5;
        pub const ADP_R_KV_PRESSURE: u32 = 1;
        pub const ADP_R_QUEUE_DEPTH: u32 = 2;
        pub const ADP_R_CAPACITY_RESERVED: u32 = 3;
        pub const ADP_R_WAIT_ESTIMATE_EXCEEDED: u32 = 4;
        pub const ADP_R_DEADLINE_INFEASIBLE: u32 = 5;
        pub const ADP_R_PREDICTED_LENGTH: u32 = 6;
        pub const ADP_R_SIGNAL_STALE: u32 = 7;
        pub const ADP_R_TENANT_QUOTA: u32 = 8;
        pub const ADP_R_RATE_LIMIT: u32 = 9;
        pub const ADP_R_REQUEST_TOO_LARGE: u32 = 10;
    }
    use self::abi::*;

    // --- what a policy declares ---

    /// The place of a signal in SIGNALS.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Slot(pub u32);

    /// The place of a parameter in PARAMS.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Place(pub u32);

    pub struct Signal {
        pub name: &'static str,
        pub unit: &'static str,
        pub flags: u32, // abi::ADP_REPLICAS: its values per replica are read too; or 0
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u32)]
    pub enum Kind {
        F64 = ADP_F64,
        I64 = ADP_I64,
        Bool = ADP_BOOL,
    }

    pub struct Param {
        pub name: &'static str,
        pub unit: &'static str,
        pub doc: &'static str,
        pub lo: f64,
        pub hi: f64,
        pub dflt: f64,
        pub kind: Kind,
        pub flags: u32, // abi::ADP_REQUIRED | abi::ADP_FIXED, or 0
    }

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u32)]
    pub enum Op {
        Ge = ADP_GE,
        Gt = ADP_GT,
        Le = ADP_LE,
        Lt = ADP_LT,
    }

    /// A condition under which the policy refuses; `param` None: no fixed threshold.
    pub struct Gate {
        pub rule: u32,
        pub signal: Slot,
        pub op: Op,
        pub param: Option<Place>,
    }

    /// What the policy is, in the survey's words; "" is not stated.
    pub struct Card {
        pub unit: &'static str,
        pub setting: &'static str,
        pub slo_awareness: &'static str,
        pub signal_quantity: &'static str,
        pub signal_structure: &'static str,
        pub metadata_assumed: &'static str,
        pub portability: &'static str,
        pub source: &'static str,
        pub margin_unit: &'static str,
        pub baseline: bool,
    }

    impl Card {
        /// Nothing stated: `Card { unit: "request", ..Card::EMPTY }`.
        pub const EMPTY: Card = Card {
            unit: "",
            setting: "",
            slo_awareness: "",
            signal_quantity: "",
            signal_structure: "",
            metadata_assumed: "",
            portability: "",
            source: "",
            margin_unit: "",
            baseline: false,
        };
    }

    /// What a policy declares. "" in VERSION and DOC is not stated.
    pub trait Policy: 'static {
        const NAME: &'static str;
        const VERSION: &'static str = "";
        const DOC: &'static str = "";
        const SIGNALS: &'static [Signal] = &[];
        const PARAMS: &'static [Param] = &[];
        const GATES: &'static [Gate] = &[];
        const CARD: Card = Card::EMPTY;
        /// Bytes that `save` returns at most; 0: it keeps nothing.
        const MAX_SAVED: u32 = 0;
        /// `create` reads `config`; without, a `config:` of the operator's is refused.
        const TAKES_CONFIG: bool = false;
    }

    // --- what a policy decides ---

    /// Without an instance: the view is all there is. Any number of threads.
    pub trait Stateless: Policy {
        fn decide(view: &View) -> Verdict;
    }

    /// An instance, for Serial and Concurrent.
    pub trait State: Policy + Sized + Send {
        /// Err: one sentence, lower case, no full stop; "" says "out of memory", which takes
        /// no memory to say. [control]
        fn create(setup: &Setup) -> Result<Self, String>;
        /// The state as bytes; empty, or more than MAX_SAVED: none. [control]
        fn save(&self) -> Vec<u8> {
            Vec::new()
        }
        /// Takes on what `save` returned before a reload or restart. False, or a panic,
        /// when it cannot be believed whole: then a new instance starts afresh. [control]
        fn restore(&mut self, saved: &[u8]) -> bool {
            let _ = saved;
            false
        }
    }

    /// One thread at a time; the host sees to it.
    pub trait Serial: State {
        /// [hot]
        fn decide(&mut self, view: &View) -> Verdict;
        /// Takes back a ticket. [hot]
        fn outcome(&mut self, outcome: &Outcome) {
            let _ = outcome;
        }
    }

    /// Any number of threads; the policy sees to it.
    pub trait Concurrent: State + Sync {
        /// [hot]
        fn decide(&self, view: &View) -> Verdict;
        /// Takes back a ticket. [hot]
        fn outcome(&self, outcome: &Outcome) {
            let _ = outcome;
        }
    }

    // --- memory, in create ---

    /// What create says when memory is out, of any error that an allocation fails with:
    /// `table.try_reserve_exact(4096).map_err(out_of_memory)?`.
    pub fn out_of_memory<E>(_: E) -> String {
        String::new() // takes none; the boundary puts the words in
    }

    /// Box::new, but where there is no memory an error that create may return.
    pub fn try_box<T>(value: T) -> Result<Box<T>, String> {
        let layout = Layout::new::<T>();
        let at = if layout.size() == 0 {
            NonNull::dangling().as_ptr()
        } else {
            // SAFETY: the layout is not of size 0.
            unsafe { alloc(layout) as *mut T }
        };
        if at.is_null() {
            return Err(out_of_memory(()));
        }
        // SAFETY: `at` is memory of a T's layout from the allocator that Box frees with.
        unsafe {
            at.write(value);
            Ok(Box::from_raw(at))
        }
    }

    // --- what the host passes ---

    // SAFETY, of every `unsafe` below down to the table: the host's structs are valid for
    // the call (rule 4 of policy.h), which the lifetime stands for; its arrays are as long
    // as the policy's own tables, against whose lengths each index is held.

    /// All that a policy may know when it decides.
    pub struct View<'a> {
        raw: &'a adp_view,
        n_signals: usize,
        n_params: usize,
    }

    impl<'a> View<'a> {
        fn of<P: Policy>(raw: &'a adp_view) -> Self {
            View { raw, n_signals: P::SIGNALS.len(), n_params: P::PARAMS.len() }
        }

        /// Monotonic; may run backwards between threads.
        pub fn now_ns(&self) -> u64 {
            self.raw.now_ns
        }

        /// In [0, 1), from the request id: a retry draws the same.
        pub fn draw(&self) -> f64 {
            self.raw.draw
        }

        /// The signal, aggregated over the pool; None while it is absent.
        pub fn signal(&self, slot: Slot) -> Option<f64> {
            let i = self.own(slot);
            if self.raw.present >> i & 1 == 0 {
                return None;
            }
            Some(unsafe { *self.raw.signal.add(i) })
        }

        /// The parameter, validated, as in force now.
        pub fn param(&self, place: Place) -> f64 {
            let i = place.0 as usize;
            assert!(i < self.n_params, "parameter {} is not declared", i);
            unsafe { *self.raw.param.add(i) }
        }

        /// Replicas with readings of their own; 0: none known.
        pub fn n_replicas(&self) -> u32 {
            self.raw.n_replicas
        }

        /// The signal on one replica.
        pub fn replica(&self, row: u32, slot: Slot) -> Option<f64> {
            let i = self.own(slot);
            assert!(row < self.raw.n_replicas, "replica {} is not there", row);
            let row = row as usize;
            if unsafe { *self.raw.replica_present.add(row) } >> i & 1 == 0 {
                return None;
            }
            Some(unsafe { *self.raw.replica.add(row * self.n_signals + i) })
        }

        pub fn request(&self) -> Request<'a> {
            Request(unsafe { &*self.raw.request })
        }

        // Gates: an absent signal holds none.

        pub fn ge(&self, slot: Slot, place: Place) -> bool {
            self.holds(slot, place, |value, threshold| value >= threshold)
        }

        pub fn gt(&self, slot: Slot, place: Place) -> bool {
            self.holds(slot, place, |value, threshold| value > threshold)
        }

        pub fn le(&self, slot: Slot, place: Place) -> bool {
            self.holds(slot, place, |value, threshold| value <= threshold)
        }

        pub fn lt(&self, slot: Slot, place: Place) -> bool {
            self.holds(slot, place, |value, threshold| value < threshold)
        }

        fn holds(&self, slot: Slot, place: Place, op: fn(f64, f64) -> bool) -> bool {
            let threshold = self.param(place);
            self.signal(slot).map_or(false, |value| op(value, threshold))
        }

        fn own(&self, slot: Slot) -> usize {
            let i = slot.0 as usize;
            assert!(i < self.n_signals, "signal {} is not declared", i);
            i
        }
    }

    /// What the host knows about this request.
    pub struct Request<'a>(&'a adp_request);

    impl<'a> Request<'a> {
        /// None also when it is not UTF-8; it has a key all the same.
        pub fn tenant(&self) -> Option<&'a str> {
            text(self.0.tenant)
        }

        /// XXH3-64 of the tenant, the same on every host.
        pub fn tenant_key(&self) -> Option<u64> {
            known(!self.0.tenant.is_null(), self.0.tenant_key)
        }

        pub fn session(&self) -> Option<&'a str> {
            text(self.0.session)
        }

        pub fn session_key(&self) -> Option<u64> {
            known(!self.0.session.is_null(), self.0.session_key)
        }

        pub fn slo_class(&self) -> Option<&'a str> {
            text(self.0.slo_class)
        }

        pub fn prompt_tokens(&self) -> Option<u64> {
            known(self.0.present & ADP_PROMPT != 0, self.0.prompt_tokens)
        }

        pub fn max_output_tokens(&self) -> Option<u64> {
            known(self.0.present & ADP_OUTPUT != 0, self.0.max_output_tokens)
        }

        /// 0 normal, below 0 sheddable.
        pub fn priority(&self) -> Option<i64> {
            known(self.0.present & ADP_PRIORITY != 0, self.0.priority)
        }

        /// Milliseconds from now.
        pub fn ttft_deadline_ms(&self) -> Option<f64> {
            known(self.0.present & ADP_DEADLINE != 0, self.0.ttft_deadline_ms)
        }
    }

    /// How the one outcome of a ticket came about.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum End {
        Done,
        Failed,
        Cancelled,
        /// Admitted here, another verdict governed: release, do not learn.
        NotRun,
        /// No outcome in time: release, do not learn.
        Lost,
    }

    /// What became of a ticket.
    pub struct Outcome<'a>(&'a adp_outcome);

    impl Outcome<'_> {
        /// A kind that this file does not know reads as Lost.
        pub fn kind(&self) -> End {
            match self.0.kind {
                ADP_DONE => End::Done,
                ADP_FAILED => End::Failed,
                ADP_CANCELLED => End::Cancelled,
                ADP_NOT_RUN => End::NotRun,
                _ => End::Lost,
            }
        }

        pub fn ticket(&self) -> u64 {
            self.0.ticket
        }

        pub fn now_ns(&self) -> u64 {
            self.0.now_ns
        }

        pub fn ttft_ms(&self) -> Option<f64> {
            known(self.0.present & ADP_O_TTFT != 0, self.0.ttft_ms)
        }

        pub fn total_ms(&self) -> Option<f64> {
            known(self.0.present & ADP_O_TOTAL != 0, self.0.total_ms)
        }

        pub fn prompt_tokens(&self) -> Option<u64> {
            known(self.0.present & ADP_O_PROMPT != 0, self.0.prompt_tokens)
        }

        pub fn output_tokens(&self) -> Option<u64> {
            known(self.0.present & ADP_O_OUTPUT != 0, self.0.output_tokens)
        }

        pub fn http_status(&self) -> Option<u32> {
            known(self.0.present & ADP_O_STATUS != 0, self.0.http_status)
        }
    }

    /// What create is given.
    pub struct Setup<'a> {
        raw: &'a adp_setup,
        n_params: usize,
        takes_config: bool,
    }

    impl<'a> Setup<'a> {
        /// Processes that share a quota: divide rates by it; 1: alone.
        pub fn n_instances(&self) -> u32 {
            self.raw.n_instances
        }

        pub fn param(&self, place: Place) -> f64 {
            let i = place.0 as usize;
            assert!(i < self.n_params, "parameter {} is not declared", i);
            unsafe { *self.raw.param.add(i) }
        }

        /// The operator's `config:`, one JSON object. For who declares TAKES_CONFIG: of
        /// others the host refuses it.
        pub fn config(&self) -> Option<&'a str> {
            assert!(self.takes_config, "a config, though TAKES_CONFIG is not declared");
            text(self.raw.config)
        }

        fn saved(&self) -> Option<&'a [u8]> {
            if self.raw.saved.is_null() {
                return None;
            }
            let len = self.raw.saved_len as usize;
            Some(unsafe { std::slice::from_raw_parts(self.raw.saved as *const u8, len) })
        }

        // One line, cut to the host's room between characters. Takes no memory.
        fn say(&self, problem: &str) {
            let problem = if problem.is_empty() { "out of memory" } else { problem };
            let cap = self.raw.error_cap as usize;
            if self.raw.error.is_null() || cap == 0 {
                return;
            }
            let mut n = problem.len().min(cap - 1);
            while !problem.is_char_boundary(n) {
                n -= 1;
            }
            let line = problem.as_bytes()[..n].iter().chain(&[0]);
            for (i, &byte) in line.enumerate() {
                let control = byte == 0x7f || byte < 0x20 && i < n;
                unsafe { *self.raw.error.add(i) = if control { b' ' } else { byte } as c_char };
            }
        }
    }

    fn known<T>(present: bool, value: T) -> Option<T> {
        if present {
            Some(value)
        } else {
            None
        }
    }

    fn text<'a>(s: *const c_char) -> Option<&'a str> {
        if s.is_null() {
            return None;
        }
        unsafe { CStr::from_ptr(s) }.to_str().ok()
    }

    // --- the answer ---

    /// Why a request is refused; the words and the HTTP status are the host's.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u32)]
    pub enum Reason {
        KvPressure = ADP_R_KV_PRESSURE,
        QueueDepth = ADP_R_QUEUE_DEPTH,
        CapacityReserved = ADP_R_CAPACITY_RESERVED,
        WaitEstimateExceeded = ADP_R_WAIT_ESTIMATE_EXCEEDED,
        DeadlineInfeasible = ADP_R_DEADLINE_INFEASIBLE,
        PredictedLength = ADP_R_PREDICTED_LENGTH,
        SignalStale = ADP_R_SIGNAL_STALE,
        TenantQuota = ADP_R_TENANT_QUOTA,
        RateLimit = ADP_R_RATE_LIMIT,
        RequestTooLarge = ADP_R_REQUEST_TOO_LARGE,
    }

    #[derive(Clone, Copy, Debug)]
    #[must_use]
    pub struct Verdict {
        action: u32,
        reason: u32,
        binding: u32,
        ticket: u64,
        retry_after_ms: Option<u32>,
        margin: Option<f64>,
        p: Option<f64>,
    }

    impl Verdict {
        fn new(action: u32, reason: u32, by: Option<Slot>) -> Self {
            Verdict {
                action,
                reason,
                binding: by.map_or(ADP_NONE, |slot| slot.0),
                ticket: 0,
                retry_after_ms: None,
                margin: None,
                p: None,
            }
        }

        pub fn admit() -> Self {
            Verdict::new(ADP_ADMIT, 0, None)
        }

        /// Do not come back soon. `by`: the signal that refuses, or None when none alone does.
        pub fn reject(reason: Reason, by: impl Into<Option<Slot>>) -> Self {
            Verdict::new(ADP_REJECT, reason as u32, by.into())
        }

        /// Come back in `ms` milliseconds, rounded up; not above 0, or NaN: no time is stated.
        pub fn defer(reason: Reason, by: impl Into<Option<Slot>>, ms: f64) -> Self {
            Verdict::new(ADP_DEFER, reason as u32, by.into()).retry_after_ms(ms)
        }

        /// As in defer.
        pub fn retry_after_ms(mut self, ms: f64) -> Self {
            if ms > 0.0 {
                self.retry_after_ms = Some(ms.ceil() as u32); // stops at the largest
            }
            self
        }

        /// Not 0: comes back in exactly one outcome, whatever the action.
        pub fn ticket(mut self, ticket: u64) -> Self {
            self.ticket = ticket;
            self
        }

        /// At or above 0 when it fires; where no gates are declared.
        pub fn margin(mut self, margin: f64) -> Self {
            self.margin = Some(margin);
            self
        }

        /// The probability of refusal that `draw` was held against.
        pub fn p(mut self, p: f64) -> Self {
            self.p = Some(p);
            self
        }

        // Field by field: `size` and whatever lies behind `p` are the host's.
        fn write(&self, to: &mut adp_verdict) {
            to.action = self.action;
            to.reason = self.reason;
            to.binding = self.binding;
            to.ticket = self.ticket;
            if let Some(ms) = self.retry_after_ms {
                to.retry_after_ms = ms;
                to.set |= ADP_SET_RETRY;
            }
            if let Some(margin) = self.margin {
                to.margin = margin;
                to.set |= ADP_SET_MARGIN;
            }
            if let Some(p) = self.p {
                to.p = p;
                to.set |= ADP_SET_P;
            }
        }
    }

    // --- the boundary ---

    /// Runs foreign code; what it panics with ends here.
    fn guarded<R>(f: impl FnOnce() -> R) -> Option<R> {
        match catch_unwind(AssertUnwindSafe(f)) {
            Ok(done) => Some(done),
            Err(payload) => {
                discard(payload);
                None
            }
        }
    }

    // A payload may panic when it is dropped, and with another such; the third is left alone.
    fn discard(payload: Box<dyn Any + Send>) {
        let mut left = payload;
        for _ in 0..3 {
            match catch_unwind(AssertUnwindSafe(move || drop(left))) {
                Ok(()) => return,
                Err(again) => left = again,
            }
        }
        std::mem::forget(left);
    }

    // The text of a panic, for as long as the payload lives.
    fn message(payload: &(dyn Any + Send)) -> &str {
        match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
            (Some(text), _) => text,
            (_, Some(text)) => text,
            _ => "it panicked",
        }
    }

    fn make<P: State>(setup: &Setup) -> Result<Box<P>, String> {
        let mut made = try_box(P::create(setup)?)?;
        if let Some(saved) = setup.saved() {
            if guarded(|| made.restore(saved)) != Some(true) {
                made = try_box(P::create(setup)?)?;
            }
        }
        Ok(made)
    }

    // The functions of the table. `me` is what create returned, NULL of a stateless policy.
    struct Shims<P>(PhantomData<P>);

    #[deny(unsafe_op_in_unsafe_fn)]
    impl<P: Stateless> Shims<P> {
        unsafe extern "C" fn decide(_: *mut c_void, view: *const adp_view, to: *mut adp_verdict) {
            let (view, to) = unsafe { (View::of::<P>(&*view), &mut *to) };
            if let Some(verdict) = guarded(|| P::decide(&view)) {
                verdict.write(to);
            }
        }
    }

    #[deny(unsafe_op_in_unsafe_fn)]
    impl<P: State> Shims<P> {
        unsafe extern "C" fn create(setup: *const adp_setup) -> *mut c_void {
            let setup = Setup {
                raw: unsafe { &*setup },
                n_params: P::PARAMS.len(),
                takes_config: P::TAKES_CONFIG,
            };
            match catch_unwind(AssertUnwindSafe(|| make::<P>(&setup))) {
                Ok(Ok(made)) => return Box::into_raw(made) as *mut c_void,
                Ok(Err(problem)) => setup.say(&problem),
                Err(payload) => {
                    setup.say(message(&*payload));
                    discard(payload);
                }
            }
            std::ptr::null_mut()
        }

        unsafe extern "C" fn destroy(me: *mut c_void) {
            guarded(|| drop(unsafe { Box::from_raw(me as *mut P) }));
        }

        unsafe extern "C" fn save(me: *const c_void, to: *mut c_void, cap: u64) -> u64 {
            let bytes = guarded(|| unsafe { &*(me as *const P) }.save()).unwrap_or_default();
            if bytes.len() as u64 > cap {
                return 0;
            }
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to as *mut u8, bytes.len()) };
            bytes.len() as u64
        }
    }

    #[deny(unsafe_op_in_unsafe_fn)]
    impl<P: Serial> Shims<P> {
        unsafe extern "C" fn decide_alone(
            me: *mut c_void,
            view: *const adp_view,
            to: *mut adp_verdict,
        ) {
            let (view, to) = unsafe { (View::of::<P>(&*view), &mut *to) };
            if let Some(verdict) = guarded(|| unsafe { &mut *(me as *mut P) }.decide(&view)) {
                verdict.write(to);
            }
        }

        unsafe extern "C" fn outcome_alone(me: *mut c_void, outcome: *const adp_outcome) {
            let outcome = Outcome(unsafe { &*outcome });
            guarded(|| unsafe { &mut *(me as *mut P) }.outcome(&outcome));
        }
    }

    #[deny(unsafe_op_in_unsafe_fn)]
    impl<P: Concurrent> Shims<P> {
        unsafe extern "C" fn decide_among(
            me: *mut c_void,
            view: *const adp_view,
            to: *mut adp_verdict,
        ) {
            let (view, to) = unsafe { (View::of::<P>(&*view), &mut *to) };
            if let Some(verdict) = guarded(|| unsafe { &*(me as *const P) }.decide(&view)) {
                verdict.write(to);
            }
        }

        unsafe extern "C" fn outcome_among(me: *mut c_void, outcome: *const adp_outcome) {
            let outcome = Outcome(unsafe { &*outcome });
            guarded(|| unsafe { &*(me as *const P) }.outcome(&outcome));
        }
    }

    // --- the table ---

    // Room for all names and units at their longest (64 signals and 64 parameters, 63 bytes each)
    // and 700 bytes of doc for each parameter.
    const TEXT_BYTES: usize = 65536;

    // All strings of a policy, each with its NUL, in the order in which `tables` asks.
    #[derive(Clone, Copy)]
    struct Text {
        bytes: [u8; TEXT_BYTES],
        len: usize,
    }

    impl Text {
        const fn with(mut self, text: &str) -> Self {
            let text = text.as_bytes();
            let room = self.len + text.len() < TEXT_BYTES;
            assert!(room, "the policy's names, units, docs and card exceed 64 KiB together");
            let mut i = 0;
            while i < text.len() {
                assert!(text[i] != 0, "a text of the policy has a NUL in it");
                self.bytes[self.len + i] = text[i];
                i += 1;
            }
            self.len += text.len() + 1;
            self
        }

        // Where `text` lies, if it lies at `at`: a wrong order does not compile.
        const fn find(&'static self, at: usize, text: &str) -> *const c_char {
            let text = text.as_bytes();
            let mut i = 0;
            while i < text.len() {
                assert!(self.bytes[at + i] == text[i]);
                i += 1;
            }
            assert!(self.bytes[at + i] == 0);
            unsafe { self.bytes.as_ptr().add(at) as *const c_char }
        }
    }

    struct Tables {
        name: *const c_char,
        version: *const c_char,
        doc: *const c_char,
        signals: [adp_signal; ADP_MAX_SIGNALS],
        params: [adp_param; ADP_MAX_PARAMS],
        gates: [adp_gate; ADP_MAX_GATES],
        card: adp_card,
    }

    const NO_SIGNAL: adp_signal =
        adp_signal { name: std::ptr::null(), unit: std::ptr::null(), flags: 0, reserved: 0 };
    const NO_PARAM: adp_param = adp_param {
        name: std::ptr::null(),
        unit: std::ptr::null(),
        doc: std::ptr::null(),
        lo: 0.0,
        hi: 0.0,
        dflt: 0.0,
        kind: 0,
        flags: 0,
    };
    const NO_GATE: adp_gate = adp_gate { rule: 0, signal: 0, op: 0, param: ADP_NONE };

    const fn texts<P: Policy>() -> Text {
        let mut all = Text { bytes: [0; TEXT_BYTES], len: 0 };
        all = all.with(P::NAME).with(P::VERSION).with(P::DOC);
        let mut i = 0;
        while i < P::SIGNALS.len() {
            all = all.with(P::SIGNALS[i].name).with(P::SIGNALS[i].unit);
            i += 1;
        }
        i = 0;
        while i < P::PARAMS.len() {
            all = all.with(P::PARAMS[i].name).with(P::PARAMS[i].unit).with(P::PARAMS[i].doc);
            i += 1;
        }
        let c = &P::CARD;
        all = all.with(c.unit).with(c.setting).with(c.slo_awareness).with(c.signal_quantity);
        all = all.with(c.signal_structure).with(c.metadata_assumed).with(c.portability);
        all.with(c.source).with(c.margin_unit)
    }

    const fn tables<P: Policy>(all: &'static Text) -> Tables {
        let mut at = 0;
        macro_rules! text {
            ($text:expr) => {{
                let found = all.find(at, $text);
                at += $text.len() + 1;
                found
            }};
        }
        macro_rules! stated {
            ($text:expr) => {{
                let found = text!($text);
                if $text.is_empty() {
                    std::ptr::null()
                } else {
                    found
                }
            }};
        }
        let (name, version, doc) = (text!(P::NAME), stated!(P::VERSION), stated!(P::DOC));
        let mut signals = [NO_SIGNAL; ADP_MAX_SIGNALS];
        let mut i = 0;
        while i < P::SIGNALS.len() {
            let s = &P::SIGNALS[i];
            signals[i] = adp_signal {
                name: text!(s.name),
                unit: text!(s.unit),
                flags: s.flags,
                reserved: 0,
            };
            i += 1;
        }
        let mut params = [NO_PARAM; ADP_MAX_PARAMS];
        i = 0;
        while i < P::PARAMS.len() {
            let p = &P::PARAMS[i];
            params[i] = adp_param {
                name: text!(p.name),
                unit: text!(p.unit),
                doc: stated!(p.doc),
                lo: p.lo,
                hi: p.hi,
                dflt: p.dflt,
                kind: p.kind as u32,
                flags: p.flags,
            };
            i += 1;
        }
        let mut gates = [NO_GATE; ADP_MAX_GATES];
        i = 0;
        while i < P::GATES.len() {
            let g = &P::GATES[i];
            let param = match g.param {
                Some(place) => place.0,
                None => ADP_NONE,
            };
            gates[i] = adp_gate { rule: g.rule, signal: g.signal.0, op: g.op as u32, param };
            i += 1;
        }
        let c = &P::CARD;
        let card = adp_card {
            unit: stated!(c.unit),
            setting: stated!(c.setting),
            slo_awareness: stated!(c.slo_awareness),
            signal_quantity: stated!(c.signal_quantity),
            signal_structure: stated!(c.signal_structure),
            metadata_assumed: stated!(c.metadata_assumed),
            portability: stated!(c.portability),
            source: stated!(c.source),
            margin_unit: stated!(c.margin_unit),
            flags: if c.baseline { ADP_BASELINE } else { 0 },
            reserved: 0,
        };
        assert!(at == all.len);
        Tables { name, version, doc, signals, params, gates, card }
    }

    // What a policy declares, as far as this file leans on it.
    const fn check<P: Policy>() {
        assert!(P::SIGNALS.len() <= ADP_MAX_SIGNALS, "more than 64 signals");
        assert!(P::PARAMS.len() <= ADP_MAX_PARAMS, "more than 64 parameters");
        assert!(P::GATES.len() <= ADP_MAX_GATES, "more than 64 gates");
        assert!(P::MAX_SAVED <= ADP_MAX_SAVED, "MAX_SAVED is above a megabyte");
        let mut i = 0;
        while i < P::GATES.len() {
            let signal = P::GATES[i].signal.0 as usize;
            assert!(signal < P::SIGNALS.len(), "a gate names a signal that is not declared");
            if let Some(place) = P::GATES[i].param {
                let declared = (place.0 as usize) < P::PARAMS.len();
                assert!(declared, "a gate names a parameter that is not declared");
            }
            i += 1;
        }
    }

    impl<P: Policy> Shims<P> {
        const CHECKED: () = check::<P>();
        const TEXT: &'static Text = &texts::<P>();
        const TABLES: &'static Tables = &tables::<P>(Self::TEXT);

        const fn described() -> adp_policy {
            let _ = Self::CHECKED;
            adp_policy {
                magic: ADP_MAGIC,
                size: std::mem::size_of::<adp_policy>() as u32,
                abi_minor: ADP_ABI_MINOR,
                min_host_minor: ADP_ABI_MINOR,
                signal_size: std::mem::size_of::<adp_signal>() as u16,
                param_size: std::mem::size_of::<adp_param>() as u16,
                gate_size: std::mem::size_of::<adp_gate>() as u16,
                card_size: std::mem::size_of::<adp_card>() as u16,
                n_signals: P::SIGNALS.len() as u32,
                n_params: P::PARAMS.len() as u32,
                n_gates: P::GATES.len() as u32,
                threading: ADP_CONCURRENT,
                max_saved: 0,
                flags: if P::TAKES_CONFIG { ADP_TAKES_CONFIG } else { 0 },
                reserved: 0,
                name: Self::TABLES.name,
                version: Self::TABLES.version,
                doc: Self::TABLES.doc,
                signals: Self::TABLES.signals.as_ptr(),
                params: Self::TABLES.params.as_ptr(),
                gates: Self::TABLES.gates.as_ptr(),
                card: &Self::TABLES.card,
                create: None,
                destroy: None,
                decide: None,
                outcome: None,
                save: None,
                extension: None,
            }
        }
    }

    impl<P: State> Shims<P> {
        const fn with_instance() -> adp_policy {
            let mut table = Self::described();
            table.create = Some(Self::create);
            table.destroy = Some(Self::destroy);
            if P::MAX_SAVED > 0 {
                table.max_saved = P::MAX_SAVED;
                table.save = Some(Self::save);
            }
            table
        }
    }

    /// The object that a policy exports; by admitperf_policy!.
    #[repr(transparent)]
    pub struct Exported(adp_policy);

    // SAFETY: it is constant, and so is all that it points to.
    unsafe impl Sync for Exported {}

    pub const fn stateless<P: Stateless>() -> Exported {
        assert!(!P::TAKES_CONFIG, "stateless: there is no create to take a config");
        assert!(P::MAX_SAVED == 0, "stateless: there is nothing to save");
        let mut table = Shims::<P>::described();
        table.decide = Some(Shims::<P>::decide);
        Exported(table)
    }

    pub const fn serial<P: Serial>() -> Exported {
        let mut table = Shims::<P>::with_instance();
        table.threading = ADP_SERIAL;
        table.decide = Some(Shims::<P>::decide_alone);
        table.outcome = Some(Shims::<P>::outcome_alone);
        Exported(table)
    }

    pub const fn concurrent<P: Concurrent>() -> Exported {
        let mut table = Shims::<P>::with_instance();
        table.decide = Some(Shims::<P>::decide_among);
        table.outcome = Some(Shims::<P>::outcome_among);
        Exported(table)
    }

    /// What a type implements, for admitperf_policy!: a constant of its own where it does, which
    /// goes before the trait's.
    pub struct Kinds<P>(PhantomData<P>);

    pub trait NoKind {
        const STATELESS: bool = false;
        const STATE: bool = false;
        const SERIAL: bool = false;
        const CONCURRENT: bool = false;
    }

    impl<P> NoKind for Kinds<P> {}

    impl<P: Stateless> Kinds<P> {
        pub const STATELESS: bool = true;
    }

    impl<P: State> Kinds<P> {
        pub const STATE: bool = true;
    }

    impl<P: Serial> Kinds<P> {
        pub const SERIAL: bool = true;
    }

    impl<P: Concurrent> Kinds<P> {
        pub const CONCURRENT: bool = true;
    }

    /// The last line of a policy: `admitperf_policy!(stateless Mine);`, or serial, or
    /// concurrent. The module `admitperf` must be in scope.
    #[macro_export]
    macro_rules! admitperf_policy {
        (stateless $policy:ty) => {
            admitperf_policy!(@alone $policy, [STATE],
                "stateless: the policy implements State too, whose create nobody would call");
            admitperf_policy!(@export [_] admitperf::stateless::<$policy>());
        };
        (serial $policy:ty) => {
            admitperf_policy!(@alone $policy, [STATELESS CONCURRENT],
                "serial: the policy implements Stateless or Concurrent too, whose decide nobody would call");
            admitperf_policy!(@export [_] admitperf::serial::<$policy>());
        };
        (concurrent $policy:ty) => {
            admitperf_policy!(@alone $policy, [STATELESS SERIAL],
                "concurrent: the policy implements Stateless or Serial too, whose decide nobody would call");
            admitperf_policy!(@export [_] admitperf::concurrent::<$policy>());
        };
        // What is implemented is called: nothing of another kind is left out.
        (@alone $policy:ty, [$($other:ident)*], $problem:literal) => {
            const _: () = {
                #[allow(unused_imports)]
                use admitperf::NoKind as _;
                assert!(!($(admitperf::Kinds::<$policy>::$other)||*), $problem);
            };
        };
        // From edition 2024 on `_` is an expression, and no_mangle is called unsafe.
        (@export [$edition:expr] $table:expr) => {
            #[unsafe(no_mangle)]
            #[allow(non_upper_case_globals)]
            pub static admitperf_policy_v1: admitperf::Exported = $table;
        };
        (@export [_] $table:expr) => {
            #[no_mangle]
            #[allow(non_upper_case_globals)]
            pub static admitperf_policy_v1: admitperf::Exported = $table;
        };
    }
}

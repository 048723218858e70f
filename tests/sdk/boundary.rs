// SPDX-License-Identifier: MIT
// For languages.test: goes wrong on request, and otherwise says what it was given. boundary.cc is
// the same in C++. What it does is chosen by the request's SLO class, and by `fail_in` for what is
// no decision.
include!(env!("ADMITPERF_POLICY_RS"));
use admitperf::*;
use std::panic::panic_any;

const KV: Slot = Slot(0);
const QUEUE: Slot = Slot(1);
const FAIL_IN: Place = Place(0);

const CREATE: f64 = 1.0;
const CREATE_OTHER: f64 = 2.0;
const OUTCOME: f64 = 3.0;
const SAVE: f64 = 4.0;
const RESTORE: f64 = 5.0;
const DESTROY: f64 = 6.0;

struct Boundary {
    fails: f64,
    given: u64,
    ended: [u32; 6],
}

// Panics once more when it is thrown away.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("and again");
    }
}

impl Policy for Boundary {
    const NAME: &'static str = "boundary";
    const SIGNALS: &'static [Signal] = &[
        Signal { name: "kv_pressure", unit: "ratio", flags: 0 },
        Signal { name: "queue_depth", unit: "requests", flags: abi::ADP_REPLICAS },
    ];
    const PARAMS: &'static [Param] = &[Param {
        name: "fail_in",
        unit: "",
        doc: "",
        lo: 0.0,
        hi: 6.0,
        dflt: 0.0,
        kind: Kind::I64,
        flags: 0,
    }];
    const MAX_SAVED: u32 = 24;
    const TAKES_CONFIG: bool = true;
}

impl State for Boundary {
    fn create(setup: &Setup) -> Result<Self, String> {
        let fails = setup.param(FAIL_IN);
        if fails == CREATE {
            return Err("cannot begin:\néééééééééé".to_string());
        }
        if let Some(config) = setup.config() {
            return Err(format!("config {}", config));
        }
        if fails == CREATE_OTHER {
            panic_any(7);
        }
        Ok(Boundary { fails, given: 0, ended: [0; 6] })
    }

    fn save(&self) -> Vec<u8> {
        assert!(self.fails != SAVE);
        self.ended.iter().flat_map(|n| n.to_le_bytes()).collect()
    }

    fn restore(&mut self, saved: &[u8]) -> bool {
        if saved.len() != 24 {
            return false;
        }
        for (n, bytes) in self.ended.iter_mut().zip(saved.chunks(4)) {
            *n = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        assert!(self.fails != RESTORE);
        true
    }
}

impl Drop for Boundary {
    fn drop(&mut self) {
        assert!(self.fails != DESTROY, "the end");
    }
}

impl Serial for Boundary {
    fn decide(&mut self, view: &View) -> Verdict {
        let facts = view.request();
        match facts.slo_class().unwrap_or("") {
            "throw" => panic!("no"),
            "throw_other" => panic_any(Bomb),
            "out_of_memory" => panic_any("as C++ would throw it"),
            "slot" => Verdict::admit().margin(view.signal(Slot(2)).unwrap_or(0.0)),
            "place" => Verdict::admit().margin(view.param(Place(1))),
            "replica" => {
                Verdict::admit().margin(view.replica(view.n_replicas(), KV).unwrap_or(0.0))
            }
            "facts" => Verdict::defer(Reason::TenantQuota, None, digits(&facts)),
            "count" => Verdict::defer(Reason::CapacityReserved, None, self.counts()),
            "all" => Verdict::defer(Reason::QueueDepth, KV, 1.2).margin(-1.5).p(0.25).ticket(9),
            "draw" => Verdict::admit().p(view.draw()).margin(view.now_ns() as f64),
            "replicas" => Verdict::admit()
                .p(view.replica(0, QUEUE).unwrap_or(0.125))
                .margin(view.replica(1, QUEUE).unwrap()),
            "gates" => Verdict::admit().margin(view.signal(KV).unwrap_or(-1.0)).ticket(gates(view)),
            _ => {
                self.given += 1;
                Verdict::admit().ticket(self.given)
            }
        }
    }

    fn outcome(&mut self, outcome: &Outcome) {
        assert!(self.fails != OUTCOME);
        let kind = match outcome.kind() {
            End::Done => 1,
            End::Failed => 2,
            End::Cancelled => 3,
            End::NotRun => 4,
            End::Lost => 5,
        };
        self.ended[kind] += 1;
    }
}

impl Boundary {
    fn counts(&self) -> f64 {
        let n = |kind: usize| f64::from(self.ended[kind]);
        n(1) + 10.0 * n(2) + 100.0 * n(3) + 1000.0 * n(4) + 10000.0 * n(5)
    }
}

// A bit for each of >= > <= < that holds.
fn gates(view: &View) -> u64 {
    u64::from(view.ge(KV, FAIL_IN))
        + 2 * u64::from(view.gt(KV, FAIL_IN))
        + 4 * u64::from(view.le(KV, FAIL_IN))
        + 8 * u64::from(view.lt(KV, FAIL_IN))
}

// One digit for each: 9 where it is not known.
fn digits(facts: &Request) -> f64 {
    let tenant = facts.tenant() == Some("acme") && facts.tenant_key().is_some();
    let session = facts.session() == Some("s1") && facts.session_key().is_some();
    facts.prompt_tokens().unwrap_or(9) as f64
        + 10.0 * facts.max_output_tokens().unwrap_or(9) as f64
        + 100.0 * facts.priority().unwrap_or(9) as f64
        + 1000.0 * facts.ttft_deadline_ms().unwrap_or(9.0)
        + if tenant { 10000.0 } else { 90000.0 }
        + if session { 100000.0 } else { 900000.0 }
}

admitperf_policy!(serial Boundary);

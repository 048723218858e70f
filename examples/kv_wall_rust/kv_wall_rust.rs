// SPDX-License-Identifier: MIT
// kv_wall in Rust: rejects when the KV cache is nearly full, defers when the queue is long.
include!(env!("ADMITPERF_POLICY_RS"));
use admitperf::*;

const KV: Slot = Slot(0);
const QUEUE: Slot = Slot(1);
const THRESHOLD: Place = Place(0);
const MAX_WAITING: Place = Place(1);

struct KvWall;

impl Policy for KvWall {
    const NAME: &'static str = "kv_wall_rust";
    const DOC: &'static str =
        "rejects when the KV cache is nearly full, defers when the queue is long";
    const SIGNALS: &'static [Signal] = &[
        Signal { name: "kv_pressure", unit: "ratio", flags: 0 },
        Signal { name: "queue_depth", unit: "requests", flags: 0 },
    ];
    const PARAMS: &'static [Param] = &[
        Param {
            name: "threshold",
            unit: "ratio",
            doc: "rejects at or above",
            lo: 0.0,
            hi: 1.0,
            dflt: 0.90,
            kind: Kind::F64,
            flags: 0,
        },
        Param {
            name: "max_waiting",
            unit: "requests",
            doc: "defers above",
            lo: 0.0,
            hi: 1e6,
            dflt: 32.0,
            kind: Kind::I64,
            flags: 0,
        },
    ];
    const GATES: &'static [Gate] = &[
        Gate { rule: 0, signal: KV, op: Op::Ge, param: Some(THRESHOLD) },
        Gate { rule: 1, signal: QUEUE, op: Op::Gt, param: Some(MAX_WAITING) },
    ];
    const CARD: Card = Card {
        unit: "request",
        signal_quantity: "kv_pressure",
        signal_structure: "scalar",
        ..Card::EMPTY
    };
}

impl Stateless for KvWall {
    fn decide(view: &View) -> Verdict {
        if view.ge(KV, THRESHOLD) {
            Verdict::reject(Reason::KvPressure, KV)
        } else if view.gt(QUEUE, MAX_WAITING) {
            Verdict::defer(Reason::QueueDepth, QUEUE, 200.0)
        } else {
            Verdict::admit()
        }
    }
}

admitperf_policy!(stateless KvWall);

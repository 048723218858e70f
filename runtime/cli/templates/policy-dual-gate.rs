// SPDX-License-Identifier: MIT-0
// @NAME@: rejects when the KV cache is nearly full and requests wait as well.
include!(env!("ADMITPERF_POLICY_RS"));
use admitperf::*;

// Places in the tables below, and so in the view.
const KV: Slot = Slot(0);
const QUEUE: Slot = Slot(1);
const THRESHOLD: Place = Place(0);
const MAX_WAITING: Place = Place(1);

struct Rule;

impl Policy for Rule {
    const NAME: &'static str = "@NAME@";
    const VERSION: &'static str = "0.1";
    const DOC: &'static str = "rejects when the KV cache is nearly full and requests wait as well";
    const SIGNALS: &'static [Signal] = &[
        Signal { name: "kv_pressure", unit: "ratio", flags: 0 },
        Signal { name: "queue_depth", unit: "requests", flags: 0 },
    ];
    const PARAMS: &'static [Param] = &[
        Param {
            name: "threshold",
            unit: "ratio",
            doc: "first gate: at or above",
            lo: 0.0,
            hi: 1.0,
            dflt: 0.90,
            kind: Kind::F64,
            flags: 0,
        },
        Param {
            name: "max_waiting",
            unit: "requests",
            doc: "second gate: above",
            lo: 0.0,
            hi: 1e6,
            dflt: 32.0,
            kind: Kind::I64,
            flags: 0,
        },
    ];
    // When decide refuses, as data: reports judge from it whether it could have. Gates of one rule
    // must all hold, one rule is enough.
    const GATES: &'static [Gate] = &[
        Gate { rule: 0, signal: KV, op: Op::Ge, param: Some(THRESHOLD) },
        Gate { rule: 0, signal: QUEUE, op: Op::Gt, param: Some(MAX_WAITING) },
    ];
    const CARD: Card = Card {
        unit: "request",
        setting: "online",
        signal_quantity: "kv_pressure",
        signal_structure: "dual-gate",
        metadata_assumed: "none",
        portability: "A",
        ..Card::EMPTY
    };
}

impl Stateless for Rule {
    // An absent signal holds no gate: what nobody measured refuses nobody.
    fn decide(view: &View) -> Verdict {
        if view.ge(KV, THRESHOLD) && view.gt(QUEUE, MAX_WAITING) {
            Verdict::reject(Reason::KvPressure, KV)
        } else {
            Verdict::admit()
        }
    }
}

admitperf_policy!(stateless Rule);

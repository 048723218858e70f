// SPDX-License-Identifier: MIT-0
// @NAME@: rejects when the KV cache is nearly full.
include!(env!("ADMITPERF_POLICY_RS"));
use admitperf::*;

// Places in the tables below, and so in the view.
const KV: Slot = Slot(0);
const THRESHOLD: Place = Place(0);

struct Rule;

impl Policy for Rule {
    const NAME: &'static str = "@NAME@";
    const VERSION: &'static str = "0.1";
    const DOC: &'static str = "rejects when the KV cache is nearly full";
    const SIGNALS: &'static [Signal] = &[Signal { name: "kv_pressure", unit: "ratio", flags: 0 }];
    const PARAMS: &'static [Param] = &[Param {
        name: "threshold",
        unit: "ratio",
        doc: "rejects at or above",
        lo: 0.0,
        hi: 1.0,
        dflt: 0.90,
        kind: Kind::F64,
        flags: 0,
    }];
    // When decide refuses, as data: reports judge from it whether it could have. Gates of one rule
    // must all hold, one rule is enough.
    const GATES: &'static [Gate] =
        &[Gate { rule: 0, signal: KV, op: Op::Ge, param: Some(THRESHOLD) }];
    const CARD: Card = Card {
        unit: "request",
        setting: "online",
        signal_quantity: "kv_pressure",
        signal_structure: "scalar",
        metadata_assumed: "none",
        portability: "A",
        ..Card::EMPTY
    };
}

impl Stateless for Rule {
    // An absent signal holds no gate: what nobody measured refuses nobody.
    fn decide(view: &View) -> Verdict {
        if view.ge(KV, THRESHOLD) {
            Verdict::reject(Reason::KvPressure, KV)
        } else {
            Verdict::admit()
        }
    }
}

admitperf_policy!(stateless Rule);

// SPDX-License-Identifier: MIT
// For languages.test: a policy with memory of its own, taken in create by ways that can fail, that
// passes every check. Admits while fewer than `limit` requests are in flight. stateful.cc is the
// same in C++.
include!(env!("ADMITPERF_POLICY_RS"));
use admitperf::*;

const LIMIT: Place = Place(0);
const MOST: usize = 1000;
const SEAL: u64 = 0x9e37_79b9_7f4a_7c15;

struct Stateful {
    open: Vec<u64>, // tickets; never longer than MOST, for which there is room
    last: Box<Last>,
}

// The tickets given: of a life, which begins with each restore, and a number in it.
struct Last {
    life: u32,
    number: u32,
}

impl Policy for Stateful {
    const NAME: &'static str = "stateful";
    const PARAMS: &'static [Param] = &[Param {
        name: "limit",
        unit: "requests",
        doc: "",
        lo: 1.0,
        hi: MOST as f64,
        dflt: 8.0,
        kind: Kind::I64,
        flags: 0,
    }];
    const MAX_SAVED: u32 = 16;
}

impl State for Stateful {
    fn create(_: &Setup) -> Result<Self, String> {
        let mut open = Vec::new();
        open.try_reserve_exact(MOST).map_err(out_of_memory)?;
        Ok(Stateful { open, last: try_box(Last { life: 1, number: 0 })? })
    }

    // What is in flight is not saved: nobody would take it back.
    fn save(&self) -> Vec<u8> {
        let life = u64::from(self.last.life);
        [life.to_le_bytes(), seal(life).to_le_bytes()].concat()
    }

    fn restore(&mut self, saved: &[u8]) -> bool {
        if saved.len() != 16 {
            return false;
        }
        let word = |at: usize| u64::from_le_bytes(saved[at..at + 8].try_into().unwrap());
        if word(8) != seal(word(0)) {
            return false;
        }
        self.last.life = (word(0) as u32).wrapping_add(1);
        true
    }
}

fn seal(life: u64) -> u64 {
    (life ^ SEAL).wrapping_mul(SEAL)
}

impl Serial for Stateful {
    fn decide(&mut self, view: &View) -> Verdict {
        let over = self.open.len() as f64 - view.param(LIMIT);
        if over >= 0.0 {
            return Verdict::reject(Reason::CapacityReserved, None).margin(over);
        }
        self.last.number = self.last.number.wrapping_add(1);
        let ticket = u64::from(self.last.life) << 32 | u64::from(self.last.number);
        self.open.push(ticket);
        Verdict::admit().margin(over).ticket(ticket)
    }

    fn outcome(&mut self, outcome: &Outcome) {
        if let Some(at) = self.open.iter().position(|&t| t == outcome.ticket()) {
            self.open.swap_remove(at);
        }
    }
}

admitperf_policy!(serial Stateful);

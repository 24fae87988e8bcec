//! A counter scheme that no part of a design file offers: minor counters that begin again instead of having their page
//! re-encrypted. It saves the re-encryption, and repeats pads: the auditors say where. Rules of one's own go here; what a block
//! looks like (a major counter and a minor one for each line, or a word for each) the auditors must know.
//!
//! ```sh
//! cargo run --release --example counters_of_your_own
//! ```

use counterpoint_engine::audit::Rule;
use counterpoint_engine::config::{Counters, RunConfig, Variant, preset};
use counterpoint_engine::crash::{CrashPlan, CrashReport, Exploration};
use counterpoint_engine::design;
use counterpoint_engine::layout::Coverage;
use counterpoint_engine::mechanism::split_counters::SplitCounters;
use counterpoint_engine::message::{GroupMask, LineBytes};
use counterpoint_engine::parts::{Counter, CounterPart, CounterScheme, Design, MinorReset, NextCounter};
use counterpoint_engine::{CrashCase, Source};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Split counters in all but one thing.
struct NeverOverflowing(SplitCounters);

impl CounterScheme for NeverOverflowing {
    fn next(&self, block: &LineBytes, index: usize, register: u64) -> NextCounter {
        match self.0.next(block, index, register) {
            // Zero is the counter of a line that was never written.
            NextCounter::Overflow => NextCounter::Is(Counter { minor: 1, ..self.0.counter(block, index) }),
            next => next,
        }
    }

    fn coverage(&self) -> Coverage {
        self.0.coverage()
    }

    fn global(&self) -> bool {
        self.0.global()
    }

    fn initial(&self, populated: GroupMask) -> LineBytes {
        self.0.initial(populated)
    }

    fn counter(&self, block: &LineBytes, index: usize) -> Counter {
        self.0.counter(block, index)
    }

    fn set(&self, block: &mut LineBytes, index: usize, counter: Counter) {
        self.0.set(block, index, counter);
    }

    fn increment_major(&self, block: &mut LineBytes, reset: MinorReset) {
        self.0.increment_major(block, reset);
    }
}

/// `secpm` with other counters.
fn secpm_with(name: &str, counters: fn(&Counters) -> Box<dyn CounterScheme>) -> Design {
    let mut secpm = design::find("secpm", Variant::Hardened).expect("a built-in design");
    secpm.encryption.as_mut().expect("it encrypts").counters = CounterPart::Custom(counters);
    Design { name: name.to_owned(), ..secpm }
}

/// Fails power after every event of sixty transactions of `queue` on the small machine, whose minor counters have three bits.
fn crashed(design: &Design) -> CrashReport {
    let config = RunConfig {
        variant: design.variant,
        tx_size: 128,
        transactions: 60,
        footprint: 16 << 10,
        ..RunConfig::new(&design.name, "queue", preset("small").expect("a preset"))
    };
    let source = Source::open(&config, design.form, 32 << 20, &Arc::default()).expect("a workload opens");
    let never = AtomicBool::new(false);
    let run = CrashCase { config: &config, design, source: &source, wrappers: &[], progress: &|_| {}, cancel: &never };
    run.explore(&Exploration::of(CrashPlan::All)).expect("a complete configuration")
}

/// The rule that is broken first, with split counters and with those that never overflow.
pub fn outcomes() -> [Option<Rule>; 2] {
    let split = secpm_with("split", |counters| Box::new(SplitCounters::of(counters)));
    let wrapping = secpm_with("wrapping", |counters| Box::new(NeverOverflowing(SplitCounters::of(counters))));
    [split, wrapping].map(|design| crashed(&design).violations.first().map(|found| found.violation.rule))
}

fn main() {
    for (name, broken) in ["split counters", "counters that begin again"].into_iter().zip(outcomes()) {
        match broken {
            None => println!("{name}: nothing was lost and nothing leaked"),
            Some(rule) => println!("{name}: broken rule {rule:?}"),
        }
    }
}

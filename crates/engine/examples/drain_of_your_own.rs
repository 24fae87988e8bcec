//! A mechanism that no part of a design file offers: a drain for a battery that lasts for only a few lines. The
//! auditors judge it like any other.
//!
//! ```sh
//! cargo run --release --example drain_of_your_own
//! ```

use counterpoint_engine::config::{RunConfig, Variant, preset};
use counterpoint_engine::crash::{CrashPlan, CrashReport, Exploration};
use counterpoint_engine::design;
use counterpoint_engine::message::{MediaLine, OnChipLine};
use counterpoint_engine::parts::{
    Battery, CrashDrain, Design, DrainMechanism, Forbidden, OnBattery, PersistenceDomain,
};
use counterpoint_engine::{CrashCase, Source};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Drains lines in place, in the order of their slots, until the battery is empty.
struct SmallBattery {
    lines: usize,
}

impl DrainMechanism for SmallBattery {
    fn needs(&self) -> Battery {
        Battery::WriteOnly
    }

    fn uses_shadow(&self) -> bool {
        false
    }

    fn drain(&self, lines: &[OnChipLine], battery: &mut dyn OnBattery) -> Result<(), Forbidden> {
        for line in lines.iter().filter(|line| line.newest).take(self.lines) {
            battery.write(MediaLine::data(line.line), &line.resident, Some(line));
        }
        Ok(())
    }
}

/// `eadr` with a battery for a limited number of lines.
fn eadr_on(battery: &'static SmallBattery) -> Design {
    let eadr = design::find("eadr", Variant::Hardened).expect("a built-in design");
    Design {
        name: format!("eadr-{}-lines", battery.lines),
        domain: PersistenceDomain::Eadr { drain: CrashDrain::Custom(battery) },
        ..eadr
    }
}

/// Fails power after every event of forty transactions of `btree` on the small machine.
fn crashed(design: &Design) -> CrashReport {
    let config = RunConfig {
        variant: design.variant,
        tx_size: 128,
        transactions: 40,
        footprint: 16 << 10,
        ..RunConfig::new(&design.name, "btree", preset("small").expect("a preset"))
    };
    let source = Source::open(&config, design.form, 32 << 20, &Arc::default()).expect("a workload opens");
    let never = AtomicBool::new(false);
    let run = CrashCase { config: &config, design, source: &source, wrappers: &[], progress: &|_| {}, cancel: &never };
    run.explore(&Exploration::of(CrashPlan::All)).expect("a complete configuration")
}

/// How many crashes were survived, and how many there were, with a battery for four lines and with one for all caches.
pub fn outcomes() -> [(u64, u64); 2] {
    [&SmallBattery { lines: 4 }, &SmallBattery { lines: usize::MAX }].map(|battery| {
        let report = crashed(&eadr_on(battery));
        (report.recovered, report.crash_points)
    })
}

fn main() {
    let [small, whole] = outcomes();
    println!("4 lines:   {} of {} crashes survived", small.0, small.1);
    println!("all lines: {} of {} crashes survived", whole.0, whole.1);
}

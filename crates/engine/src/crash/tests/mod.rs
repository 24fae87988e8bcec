//! Crash exploration on the scripted machine of the auditors' tests.

mod at_event;
mod explorer;
mod metadata;
mod named_counters;
mod nested;
mod outside_the_table;
mod shadow_tree;

use crate::assembly::{LineSystem, boot_codec, encryption_parts};
use crate::audit::tests::fixture::Machine;
use crate::config::{self, Variant, load_machine};
use crate::crash::{CrashRun, Exercised};
use crate::design;
use crate::message::{BaseImage, Line, LineBytes, NoObserver};
use crate::parts::{Battery, Design, RecoveryStep};
use crate::power::{Drained, PowerLoss, Survival, Survivors, held};
use crate::recovery::{AdrSnapshot, Boot, LineCodec, Media, SchemeCodec};
use crate::trace::EmptyBase;
use std::sync::Arc;

/// The survivors of `snapshot` and the media of `machine`, with empty caches, for a boot with these steps.
pub(crate) fn survivors<'a>(machine: &'a Machine, snapshot: AdrSnapshot, steps: &'a [RecoveryStep]) -> Survivors<'a> {
    let loss = PowerLoss {
        drain: None,
        battery: Battery::WriteOnly,
        survival: Survival::OF_ALL,
        boot_pads: false,
        codec: Some(&machine.codec),
        steps,
        modules: None,
    };
    Survivors { drained: Arc::new(Drained { snapshot, ..Drained::default() }), media: machine, loss }
}

/// The run that is reported.
fn run() -> CrashRun {
    CrashRun {
        design: "secpm".into(),
        parts: None,
        variant: Variant::Hardened,
        workload: "pair".into(),
        seed: 1,
        fault: None,
        schedule: Some(0),
        exercised: Exercised { evictions: 1, counter_misses: 2, wpq_full: 3, reencryptions: 4 },
        secret: true,
        bus_in_the_clear: false,
        interrupted: false,
        seconds: 0.5,
    }
}

/// A design on the small machine, over empty memory, driven by lines; and what a power failure leaves of it.
struct LineMachine {
    design: Design,
    machine: config::Machine,
    codec: SchemeCodec,
    system: LineSystem<NoObserver>,
}

impl LineMachine {
    fn new(name: &str, sets: &[&str]) -> Self {
        Self::of(design::find(name, Variant::Hardened).unwrap(), sets)
    }

    fn of(design: Design, sets: &[&str]) -> Self {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let machine = load_machine("small", &sets).unwrap();
        let base: Arc<dyn BaseImage> = Arc::new(EmptyBase { end: 0 });
        let parts = encryption_parts(&machine, &design, 1, &base).unwrap().unwrap();
        let codec = boot_codec(&machine, 1, parts, Arc::clone(&base), None);
        let system = LineSystem::new(&machine, &design, base, 1, NoObserver).unwrap();
        Self { design, machine, codec, system }
    }

    /// Writes `line`, and calls `after` after each event until nothing is left to happen.
    fn write(&mut self, line: Line, bytes: &LineBytes, mut after: impl FnMut(&Self)) {
        self.system.write(self.system.now(), line, bytes, 0);
        while self.system.advance().is_some() {
            after(self);
        }
    }

    fn loss(&self) -> PowerLoss<'_> {
        PowerLoss::new(&self.design, &self.machine, Some(&self.codec as &dyn LineCodec))
    }

    fn drained(&self) -> Drained {
        self.loss().strike(held(self.system.controller.snapshot()), self.system.device.image())
    }

    /// The end of a boot from the registers of `drained` over `media`.
    fn boot<'a>(&'a self, drained: &'a Drained, media: &'a dyn Media) -> Boot<'a, NoObserver> {
        let mut boot = self.loss().boot(media, &drained.snapshot, NoObserver);
        boot.finish();
        boot
    }
}

//! Crash exploration on the scripted machine of the auditors' tests.

mod at_event;
mod explorer;
mod nested;
mod outside_the_table;
mod power;
mod shadow_tree;

use crate::audit::tests::fixture::Machine;
use crate::config::Variant;
use crate::crash::{CrashRun, Drained, Exercised, PowerLoss, Survival, Survivors};
use crate::parts::{Battery, RecoveryStep};
use crate::recovery::AdrSnapshot;
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
        interrupted: false,
        seconds: 0.5,
    }
}

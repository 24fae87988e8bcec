//! Crash exploration on the scripted machine of the auditors' tests.

mod explorer;
mod nested;
mod power;

use crate::audit::tests::fixture::Machine;
use crate::crash::{Drained, PowerLoss, Survival, Survivors};
use crate::parts::{Battery, RecoveryStep};
use crate::recovery::AdrSnapshot;

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
    Survivors { drained: Drained { snapshot, left: Vec::new(), forbidden: None }, media: machine, loss }
}

//! The power losses of a run, one after another: most events change neither what the machine holds nor the media, so that a
//! power loss after them leaves what the one before them has left. What leaves on battery is then not computed again.

use super::{Drained, PowerLoss, held};
use crate::assembly::System;
use crate::message::{DevicePort, Observer};
use crate::recovery::HeldState;
use std::sync::Arc;

/// How a machine loses power, and what the last power loss has left.
pub(crate) struct Losses<'a> {
    pub loss: PowerLoss<'a>,
    last: Option<Last>,
}

/// A power loss: what it came upon, and what it left.
struct Last {
    held: HeldState,
    /// The number of changes of the media until then.
    changes: u64,
    drained: Arc<Drained>,
}

impl<'a> Losses<'a> {
    /// A machine that has not lost power yet.
    pub fn new(loss: PowerLoss<'a>) -> Self {
        Self { loss, last: None }
    }

    /// What a power failure now leaves of `system`, which is the same system at each call.
    pub fn strike<O: Observer>(&mut self, system: &System<O>) -> Arc<Drained> {
        let mut held = held(system.controller.snapshot());
        held.misread = system.device.misread();
        held.buffered = system.device.buffered(system.queue.now());
        let image = &*system.device.survives();
        if self.loss.drain.is_none() {
            return Arc::new(self.loss.strike(held, image));
        }
        (held.lines, held.metadata) = (system.on_chip(), system.controller.dirty_metadata());
        let changes = image.changes();
        match &self.last {
            // What such a device loses changes with time alone.
            _ if system.device.may_lose() => Arc::new(self.loss.strike(held, image)),
            Some(last) if last.changes == changes && last.held == held => Arc::clone(&last.drained),
            _ => {
                let drained = Arc::new(self.loss.strike(held.clone(), image));
                self.last = Some(Last { held, changes, drained: Arc::clone(&drained) });
                drained
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{RunConfig, load_machine};
    use crate::crash::{Audited, CrashCase, audited};
    use crate::design;
    use crate::device::Device;
    use crate::message::NoObserver;
    use crate::run::{Bases, Source};
    use std::ops::ControlFlow;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn power_loss_that_is_remembered_leaves_what_one_computed_anew_leaves() {
        for name in ["eadr", "bbe", "sepencr", "sepencr-tree"] {
            let config = RunConfig {
                tx_size: 64,
                transactions: 6,
                cores: 2,
                footprint: 1 << 14,
                ..RunConfig::new(name, "btree", load_machine("small", &[]).unwrap())
            };
            let design = design::find(name, config.variant).unwrap();
            let capacity = Device::program_capacity_of(&config.machine);
            let source = Source::open(&config, design.form, capacity, &Arc::default()).unwrap();
            let cancel = AtomicBool::new(false);
            let (config, design, source) = (&config, &design, &source);
            let case = CrashCase { config, design, source, wrappers: &[], progress: &|_| {}, cancel: &cancel };
            let Audited { job, codec, auditor: _auditor } = audited(&case, &Bases::default()).unwrap();
            let codec = codec.as_deref();
            let mut losses = Losses::new(PowerLoss::new(design, &config.machine, codec));
            let mut system = System::new(config, design, job, NoObserver).unwrap();
            let (mut events, mut computed, mut last) = (0, 0, Arc::default());
            system.run(|system| {
                let known = losses.strike(system);
                let anew = Losses::new(losses.loss).strike(system);
                assert_eq!(known, anew, "{name}, event {events}");
                events += 1;
                computed += u64::from(!Arc::ptr_eq(&known, &last));
                last = known;
                ControlFlow::Continue(())
            });
            assert!(computed > 50 && computed < events * 3 / 4, "{name}: {computed} of {events} events");
        }
    }
}

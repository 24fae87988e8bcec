//! The connection between a run and the user: progress and interruption.

use crate::assembly::System;
use crate::cpu::Core;
use crate::kernel::{ConfigError, Failure};
use crate::message::Observer;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Events between two checks of the interrupt flag and updates of the progress: well under a millisecond.
const EVENTS_PER_LOOK: u64 = 4096;

/// Reports progress and checks for an interruption while a system runs.
pub(crate) struct Watch<'a> {
    progress: &'a (dyn Fn(u64) + Sync),
    cancel: &'a AtomicBool,
    told: u64,
    countdown: u64,
    cancelled: bool,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(progress: &'a (dyn Fn(u64) + Sync), cancel: &'a AtomicBool) -> Self {
        Self { progress, cancel, told: 0, countdown: EVENTS_PER_LOOK, cancelled: false }
    }

    /// Must be called after each event; stops the run if the user has interrupted.
    pub(crate) fn after<O: Observer>(&mut self, system: &System<O>) -> ControlFlow<()> {
        self.countdown -= 1;
        if self.countdown > 0 {
            return ControlFlow::Continue(());
        }
        self.countdown = EVENTS_PER_LOOK;
        self.tell(system);
        self.cancelled = self.cancel.load(Ordering::Relaxed);
        if self.cancelled { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Counts `events` more events, so that the next check is earlier.
    pub(crate) fn spend(&mut self, events: u64) {
        self.countdown = self.countdown.saturating_sub(events).max(1);
    }

    /// Must be called when the system has stopped: it was interrupted, or every program has ended.
    pub(crate) fn finish<O: Observer>(mut self, system: &System<O>) -> Result<(), Failure> {
        if self.cancelled {
            return Err(Failure::Cancelled);
        }
        self.tell(system);
        if let Some(why) = system.controller.log_exhausted() {
            return Err(ConfigError(why).into());
        }
        assert!(system.cores.iter().all(Core::finished), "the event queue became empty before the programs ended");
        Ok(())
    }

    /// Whether the user has interrupted.
    pub(crate) fn cancelled(&self) -> bool {
        self.cancelled
    }

    /// Must be called instead of [`Watch::finish`] when the system has stopped before its programs ended.
    pub(crate) fn leave<O: Observer>(mut self, system: &System<O>) {
        self.tell(system);
    }

    fn tell<O: Observer>(&mut self, system: &System<O>) {
        let ended = system.transactions_ended();
        (self.progress)(ended - self.told);
        self.told = ended;
    }
}

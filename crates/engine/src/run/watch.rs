//! What keeps the user in touch with a run: progress goes out, an interruption comes in, and why there is no report.

use crate::assembly::System;
use crate::config::ConfigError;
use crate::cpu::Core;
use crate::message::Observer;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

/// Why a simulation gave no report.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Bad input.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The user interrupted it.
    #[error("interrupted")]
    Cancelled,
}

/// Events between two looks at the interrupt flag and the progress counter: well under a millisecond.
const EVENTS_PER_LOOK: u64 = 4096;

/// Passes progress on and looks for an interruption while a system runs.
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

    /// To be called after each event; breaks off when the user has interrupted.
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

    /// As much time has passed as `events` take: the next look is due earlier.
    pub(crate) fn spend(&mut self, events: u64) {
        self.countdown = self.countdown.saturating_sub(events).max(1);
    }

    /// To be called when the system has stopped: it was interrupted, or every program has ended.
    pub(crate) fn finish<O: Observer>(mut self, system: &System<O>) -> Result<(), Failure> {
        if self.cancelled {
            return Err(Failure::Cancelled);
        }
        self.tell(system);
        if let Some(why) = system.controller.log_exhausted() {
            return Err(ConfigError(why).into());
        }
        assert!(system.cores.iter().all(Core::finished), "the event queue ran dry before the programs ended");
        Ok(())
    }

    /// Whether the user has interrupted.
    pub(crate) fn cancelled(&self) -> bool {
        self.cancelled
    }

    /// To be called when the system has stopped before its programs ended, instead of [`Watch::finish`].
    pub(crate) fn leave<O: Observer>(mut self, system: &System<O>) {
        self.tell(system);
    }

    fn tell<O: Observer>(&mut self, system: &System<O>) {
        let ended = system.transactions_ended();
        (self.progress)(ended - self.told);
        self.told = ended;
    }
}

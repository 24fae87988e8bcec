//! The end of an exploration that its caller or the clock decides.

use crate::kernel::{Alarm, ConfigError, Failure};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A week.
const SECONDS_MAX: u64 = 604_800;

/// What ends an exploration.
pub(super) struct Budget<'a> {
    seconds: Option<u64>,
    user: &'a AtomicBool,
    /// Set when the user interrupts, and when the time is over.
    end: Arc<AtomicBool>,
    clock: Option<Alarm>,
}

impl<'a> Budget<'a> {
    /// From now on, the time passes.
    pub fn start(seconds: Option<u64>, user: &'a Arc<AtomicBool>) -> Result<Self, ConfigError> {
        let Some(most) = seconds else {
            return Ok(Self { seconds, user, end: Arc::clone(user), clock: None });
        };
        if !(1..=SECONDS_MAX).contains(&most) {
            return Err(ConfigError(format!("time_budget: {most} is not from 1 to {SECONDS_MAX} seconds")));
        }
        let end = Arc::new(AtomicBool::new(false));
        let clock = Some(Alarm::after(most, user, &end)?);
        Ok(Self { seconds, user, end, clock })
    }

    /// Set when everything is to end.
    pub fn end(&self) -> &Arc<AtomicBool> {
        &self.end
    }

    /// Whether the clock has ended it, and not the user.
    pub fn out_of_time(&self) -> bool {
        self.clock.is_some() && self.end.load(Ordering::Relaxed) && !self.user.load(Ordering::Relaxed)
    }

    /// The sentence on what has ended an exploration after so many crash points.
    pub fn describe(&self, points: u64) -> String {
        match self.seconds.filter(|_| self.out_of_time()) {
            Some(seconds) => format!(
                " The time budget of {seconds} s ended the exploration there, with {points} crash points tried; the rest was \
                 not tried, and nothing is claimed about it."
            ),
            None => " The user interrupted the exploration there.".to_owned(),
        }
    }

    /// `outcome`, but for an end by the clock before anything was judged.
    pub fn explained<T>(&self, outcome: Result<T, Failure>) -> Result<T, Failure> {
        match (outcome, self.seconds) {
            (Err(Failure::Cancelled), Some(seconds)) if self.out_of_time() => {
                let what = format!("time_budget: {seconds} s passed before any crash point was judged");
                Err(ConfigError(what).into())
            }
            (outcome, _) => outcome,
        }
    }
}

//! `clock.rs` where no computer is around the engine: no time passes, and none can be waited for.

use super::ConfigError;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Measures nothing.
pub struct Stopwatch;

impl Stopwatch {
    /// Nothing begins.
    pub fn start() -> Self {
        Self
    }

    /// Always 0, in seconds: a report of such an engine does not say how long it took.
    pub fn seconds(&self) -> f64 {
        0.0
    }
}

/// There is none.
pub enum Alarm {}

impl Alarm {
    /// Refuses.
    ///
    /// # Errors
    /// Always: a sentence.
    pub fn after(seconds: u64, _: &Arc<AtomicBool>, _: &Arc<AtomicBool>) -> Result<Self, ConfigError> {
        Err(ConfigError(format!("time_budget: {seconds} s cannot be measured, because this engine has no clock")))
    }
}

//! `recorded_states/` where no computer is around the engine: only a command can judge a recorded program.

mod asked;

use crate::crash::{CrashCase, CrashReport, Exploration};
use crate::kernel::{ConfigError, Failure};
use crate::trace::Trace;
pub use asked::RecordedLegal;
pub(crate) use asked::{SECTORS, explains};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn refused() -> ConfigError {
    ConfigError("explore legal: this engine starts no command that could judge a recorded program".to_owned())
}

/// Refuses.
///
/// # Errors
/// Always: a sentence.
pub(crate) fn amount(_: &Trace, _: &Exploration, _: &Arc<AtomicBool>) -> Result<u64, ConfigError> {
    Err(refused())
}

/// Refuses.
///
/// # Errors
/// Always: a sentence.
pub fn explore_recorded(_: &CrashCase<'_>, _: RecordedLegal<'_>) -> Result<CrashReport, Failure> {
    Err(refused().into())
}

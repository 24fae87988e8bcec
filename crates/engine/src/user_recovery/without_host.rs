//! `user_recovery/` where no computer is around the engine: there are no processes, so that no command runs.

mod placeholders;
mod settings;
mod verdict;

use crate::kernel::{ConfigError, Failure};
use crate::message::{Line, LineBytes};
use crate::trace::Trace;
use placeholders::Named;
pub use placeholders::Occasion;
pub use settings::{Preflight, RecoverySettings, TIMEOUT_SECONDS};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
pub use verdict::Verdict;

/// There is none, so that nothing but `new` can be called.
pub enum OwnRecovery {}

impl OwnRecovery {
    /// Refuses.
    ///
    /// # Errors
    /// Always: a sentence.
    pub fn new(settings: RecoverySettings, _: &str, _: &Trace, _: bool) -> Result<Self, ConfigError> {
        Err(ConfigError(format!(
            "recover: '{}' cannot be run, because this engine starts no commands",
            settings.command
        )))
    }

    pub fn settings(&self) -> &RecoverySettings {
        match *self {}
    }

    pub fn preflight(&mut self, _: &Preflight<'_>) -> Result<(), Failure> {
        match *self {}
    }

    pub fn rewind(&mut self) -> Result<(), ConfigError> {
        match *self {}
    }

    pub fn keep_nothing(&mut self) {
        match *self {}
    }

    pub fn ahead(&self) -> usize {
        match *self {}
    }

    pub(crate) fn named(&self) -> Named {
        match *self {}
    }

    pub fn describe(&self, _: Occasion) -> Option<String> {
        match *self {}
    }

    pub fn knows(&self, _: u128) -> bool {
        match *self {}
    }

    pub fn begin(
        &mut self,
        _: u128,
        _: Occasion,
        _: impl Iterator<Item = (Line, LineBytes)>,
    ) -> Result<(), ConfigError> {
        match *self {}
    }

    pub fn verdict(&mut self, _: u128, _: bool, _: &AtomicBool) -> Result<Option<Arc<Verdict>>, Failure> {
        match *self {}
    }

    pub fn settled(&mut self, _: u128, _: bool, _: Occasion) -> Result<Vec<PathBuf>, ConfigError> {
        match *self {}
    }
}

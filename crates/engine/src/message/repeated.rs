//! A recovery that runs again and again, on states of memory that differ in few lines.

use super::{ByteView, CoreId, Line, ProgramRecovery, RecoveryReport};
use std::sync::Arc;

/// What a program's recovery remembers of the log that it has scanned.
pub trait ScannedLog: Send + Sync {
    /// Whether what `line` holds is remembered.
    fn remembers(&self, line: Line) -> bool;
    /// Handles that `line` may hold something else from now on.
    fn changed(&mut self, line: Line);
    /// The same as [`ProgramRecovery::recover`], but reads only what has changed of what is remembered.
    fn recover(&mut self, view: &mut dyn ByteView) -> RecoveryReport;
}

/// The recovery of one core's program, for many states. A program that remembers nothing recovers from the start.
pub struct RepeatedRecovery {
    program: Arc<dyn ProgramRecovery>,
    core: CoreId,
    scanned: Option<Box<dyn ScannedLog>>,
}

impl RepeatedRecovery {
    /// The recovery of `core`, which has read nothing yet.
    pub fn new(program: &Arc<dyn ProgramRecovery>, core: CoreId) -> Self {
        Self { program: Arc::clone(program), core, scanned: program.scan(core) }
    }

    /// Whether the outcome depends on `line` although the last recovery may not have read it.
    pub fn remembers(&self, line: Line) -> bool {
        self.scanned.as_ref().is_some_and(|scanned| scanned.remembers(line))
    }

    /// Handles that `line` may hold something else from now on.
    pub fn changed(&mut self, line: Line) {
        if let Some(scanned) = &mut self.scanned {
            scanned.changed(line);
        }
    }

    /// The same as [`ProgramRecovery::recover`]. `view` must hold in every line what it held last time, except in those
    /// that have [`changed`](Self::changed).
    pub fn recover(&mut self, view: &mut dyn ByteView) -> RecoveryReport {
        match &mut self.scanned {
            Some(scanned) => scanned.recover(view),
            None => self.program.recover(self.core, view),
        }
    }
}

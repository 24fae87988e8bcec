//! Real programs as workloads: the store log that pmemcheck (a Valgrind tool) wrote of a run becomes a program.
//!
//! ```text
//! file, plain or zstd -> input -> reader (framing) -> parse (one record) -> walk (addresses) -> program (operations)
//! ```
//!
//! A log is read twice: once when it is opened, which checks every record, sizes the files and counts, and once by
//! each program made of it. Neither pass holds more than one record, so a log may be longer than memory. The log has
//! no loads and says nothing of instructions between its records; the program has neither.
//!
//! Memory starts empty: the log begins with the creation of the pool. In the annotated form the program writes back the
//! counters of what it flushes (`counters`); in the flush-free form it flushes nothing.

mod counters;
mod input;
mod mapping;
mod parse;
mod program;
mod reader;
mod summary;
mod walk;

#[cfg(test)]
mod tests;

use crate::config::ConfigError;
use crate::message::{BaseImage, Line, LineBytes, ProgramForm};
use input::Source;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use walk::Walk;

pub use parse::{Edge, Expected, Record, parse};
pub use program::{OPS_PER_FILL, TraceProgram};
pub use reader::{FIELD_BYTES_MAX, Step, TraceReader};
pub use summary::{CutOff, TraceFile, TraceSummary};

/// A checked log. Cheap to share: programs made of it read the source again.
#[derive(Debug)]
pub struct Trace {
    source: Source,
    summary: TraceSummary,
    failure: Arc<OnceLock<ConfigError>>,
}

impl Trace {
    /// Opens and checks the log at `path`. A log without its STOP is refused unless `allow_truncated`.
    ///
    /// # Errors
    /// One sentence that names the file and, for a bad record, its number, its byte offset in the (decompressed)
    /// log and what was expected there.
    pub fn open(path: &Path, allow_truncated: bool) -> Result<Trace, ConfigError> {
        Trace::check(Source::file(path)?, allow_truncated)
    }

    /// The same for a log in memory, plain or zstd; `name` stands for the file in errors.
    ///
    /// # Errors
    /// As [`Trace::open`].
    pub fn from_bytes(name: &str, bytes: impl Into<Arc<[u8]>>, allow_truncated: bool) -> Result<Trace, ConfigError> {
        Trace::check(Source::bytes(name, bytes.into()), allow_truncated)
    }

    fn check(source: Source, allow_truncated: bool) -> Result<Trace, ConfigError> {
        let mut walk = Walk::new(source.reader()?);
        let summary = summary::summarise(&mut walk, allow_truncated)?;
        Ok(Trace { source, summary, failure: Arc::default() })
    }

    /// The log as a program in `form`, from its beginning.
    ///
    /// # Errors
    /// The file can no longer be opened.
    pub fn program(&self, form: ProgramForm) -> Result<TraceProgram, ConfigError> {
        let walk = Walk::new(self.source.reader()?);
        Ok(TraceProgram::new(walk, &self.summary, form, Arc::clone(&self.failure)))
    }

    /// What the log holds.
    pub fn summary(&self) -> &TraceSummary {
        &self.summary
    }

    /// One past the highest device address that the log's files take.
    pub fn end(&self) -> u64 {
        self.summary.end
    }

    /// The memory that the program starts from.
    pub fn base(&self) -> EmptyBase {
        EmptyBase { end: self.summary.end }
    }

    /// Why a program made of this trace stopped early, if one did: an [`crate::message::OpSource`] cannot say it, and
    /// the file may have been changed or removed between the two passes. Ask after a run.
    pub fn failure(&self) -> Option<&ConfigError> {
        self.failure.get()
    }
}

/// A memory in which nothing was populated.
#[derive(Clone, Copy, Debug)]
pub struct EmptyBase {
    /// One past the highest byte address the program may use.
    pub end: u64,
}

impl BaseImage for EmptyBase {
    fn line(&self, _line: Line) -> Option<&LineBytes> {
        None
    }
    fn populated(&self, _line: Line) -> bool {
        false
    }
    fn end(&self) -> u64 {
        self.end
    }
}

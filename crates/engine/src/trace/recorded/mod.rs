//! Traces of the project's own recorder (docs/trace-format.md describes the format): `reader` splits the stream into records
//! that `record` parses, `walk` resolves addresses, `write` makes a seekable file of a stream, `seek` opens one in the
//! middle.

mod reader;
mod record;
#[cfg(feature = "host")]
mod seek;
mod varint;
mod walk;
#[cfg(feature = "host")]
mod write;

#[cfg(test)]
pub(crate) mod tests;

pub use reader::{RecordReader, Step as RecordedStep};
pub use record::{
    ACCESS_BYTES_MAX, Access, CALLERS_MAX, Callers, DATA_BYTES_MAX, MAGIC, RECORD_BYTES_MAX, Record as RecordedRecord,
    TEXT_BYTES_MAX, VERSIONS,
};
#[cfg(feature = "host")]
pub use seek::SeekableTrace;
pub(super) use walk::Walk;
#[cfg(feature = "host")]
pub use write::{TraceWritten, write_trace};

//! Traces of our own recorder (docs/traces.md has the format): `reader` cuts the stream into records that `record` parses,
//! `walk` understands addresses, `write` makes a seekable file of a stream, `seek` opens one in the middle.

mod reader;
mod record;
mod seek;
mod varint;
mod walk;
mod write;

#[cfg(test)]
mod tests;

pub use reader::{RecordReader, Step as RecordedStep};
pub use record::{
    ACCESS_BYTES_MAX, Access, CALLERS_MAX, Callers, DATA_BYTES_MAX, MAGIC, RECORD_BYTES_MAX, Record as RecordedRecord,
    TEXT_BYTES_MAX,
};
pub use seek::SeekableTrace;
pub(super) use walk::Walk;
pub use write::{TraceWritten, write_trace};

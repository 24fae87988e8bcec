//! Tests of recorded traces, from the bytes of a stream to operations and back to a file.

pub(crate) mod build;
mod chance;
mod files;
mod malformed;
mod meaning;
mod others;
mod random;
mod runs;
mod sites;
mod threads;

use super::super::tests::did::{Did, joined_of, operations_of as operations, operations_of_cores};
use super::super::{OPS_PER_FILL, Trace};
use crate::message::{OpBuffer, OpSource, ProgramForm};
use build::Stream;

fn open(bytes: Vec<u8>) -> Trace {
    Trace::from_bytes("t.cptrace", bytes, false).unwrap()
}

fn error(bytes: &[u8], allow_truncated: bool) -> String {
    Trace::from_bytes("t.cptrace", bytes, allow_truncated).unwrap_err().to_string()
}

//! Writes the stream that a recorder sends through a pipe to a trace file, while the interpreter continues.

use crate::errors;
use counterpoint_engine::api;
use pyo3::prelude::*;
use std::fs::File;
use std::os::fd::{BorrowedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// The name of the pipe in errors.
const PIPE: &str = "the recorder";

/// Whether a trace has memory lines or a program.
#[pyfunction]
pub fn trace_kind(py: Python<'_>, path: &str) -> PyResult<&'static str> {
    py.detach(|| api::trace_kind(path)).map_err(|error| errors::InputError::new_err(error.to_string()))
}

/// Writes the stream of trace records from the open file descriptor `fd`, up to its END, to a compressed file at
/// `path`. Checks every record and returns a summary, as JSON. `fd` stays open.
#[pyfunction]
pub fn write_trace(py: Python<'_>, fd: RawFd, path: PathBuf) -> PyResult<String> {
    let input = duplicate(fd).map_err(|error| {
        errors::InputError::new_err(format!("fd {fd}: expected a file descriptor that is open for reading: {error}"))
    })?;
    let written = py.detach(|| catch_unwind(AssertUnwindSafe(|| api::write_trace(PIPE, input, &path))));
    written.map_err(errors::from_panic)?.map_err(|error| errors::InputError::new_err(error.to_string()))
}

fn duplicate(fd: RawFd) -> std::io::Result<File> {
    if fd < 0 {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    #[expect(unsafe_code, reason = "Python hands file descriptors over as numbers")]
    // SAFETY: the number is not negative, and it is borrowed for one system call only, which refuses a descriptor that
    // is not open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    Ok(File::from(borrowed.try_clone_to_owned()?))
}

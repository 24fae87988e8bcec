//! The engine's errors as Python exceptions.

use counterpoint_engine::api;
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::any::Any;

create_exception!(
    counterpoint,
    InputError,
    PyValueError,
    "Bad input: one sentence that names the value, the allowed values or range, and the place."
);
create_exception!(
    counterpoint,
    EngineError,
    PyRuntimeError,
    "The engine found a bug of its own; the input is not to blame."
);
create_exception!(
    counterpoint,
    Interrupted,
    PyKeyboardInterrupt,
    "Ctrl-C. The first argument holds what was finished, as the engine's JSON text, or None."
);

/// The exception for an error that the engine returned.
pub fn from_engine(error: api::Error) -> PyErr {
    match error {
        api::Error::Config(error) => InputError::new_err(error.to_string()),
        api::Error::Cancelled => Interrupted::new_err((None::<String>,)),
    }
}

/// The exception for a panic in the engine.
pub fn from_panic(payload: Box<dyn Any + Send>) -> PyErr {
    let message = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    EngineError::new_err(format!("a bug stopped the engine ({message}); with RUST_BACKTRACE=1 it says where"))
}

/// A panic is reported to the user once, as an exception; the runtime's own report is printed only on request.
pub fn quiet_panics() {
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        std::panic::set_hook(Box::new(|_| {}));
    }
}

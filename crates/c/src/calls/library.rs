//! What the library says of itself and of its last error.

use crate::border::last_error;
use std::ffi::c_char;

/// The sentence of the last error of this thread, valid until its next error or answer of counterpoint_can_crash, so call it in a
/// statement of its own; an empty text if there was none.
#[unsafe(no_mangle)]
pub extern "C" fn counterpoint_last_error() -> *const c_char {
    last_error()
}

/// The version of the library, as COUNTERPOINT_VERSION.
#[unsafe(no_mangle)]
pub extern "C" fn counterpoint_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

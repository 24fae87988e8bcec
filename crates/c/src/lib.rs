//! The C interface: pointers and numbers come in, calls of the engine's embedded memory go out.
//!
//! `include/counterpoint.h` is the contract; cbindgen writes it from here, with every comment. `counterpoint.map` has the same
//! names for the linker, and a test compares both with the exported symbols. No panic crosses the boundary, and nothing is decided here.

#![warn(missing_docs)]
#![allow(unsafe_code, reason = "a C interface takes pointers; each unsafe function states what they must be")]

mod abi;
mod border;
mod calls;

pub use abi::*;
pub use calls::*;

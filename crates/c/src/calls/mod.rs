//! The functions of `counterpoint.h`, whose comment says what their pointers must be (`cbindgen.toml`).
#![allow(clippy::missing_safety_doc, reason = "the header is the contract: every pointer is null or as it says")]

mod figures;
mod library;
mod life;
mod looks;
mod power;
mod traffic;

pub use figures::*;
pub use library::*;
pub use life::*;
pub use looks::*;
pub use power::*;
pub use traffic::*;

use crate::border::Failed;
use counterpoint_engine::embed::Kind;
use std::ffi::c_int;

/// The kind of request with this number.
fn kind_of(number: c_int) -> Result<Kind, Failed> {
    let known = usize::try_from(number).ok().and_then(|number| Kind::ALL.get(number).copied());
    known.ok_or_else(|| Failed::argument(format!("kind = {number} is not from 0 to 2")))
}

//! Boots from surviving bytes that are assembled by hand.

mod boot;
mod undo;

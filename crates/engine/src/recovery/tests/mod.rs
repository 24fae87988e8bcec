//! Boots from surviving bytes that are put together by hand.

mod boot;
mod undo;

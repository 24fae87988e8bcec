//! (see ARCHITECTURE.md)

pub mod trace;

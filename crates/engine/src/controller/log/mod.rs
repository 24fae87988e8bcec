//! The undo log that hardware writes: its manager, its sets of registers, and its lines in cipher feedback mode.

pub(super) mod feedback;
pub(super) mod manager;
pub(super) mod register_set;

//! What follows from a violation: the smallest run that shows it, whose fault it is, and which lines and places of a recorded
//! program it comes from.

pub(super) mod blame;
pub(super) mod by_line;
pub(super) mod cause;
pub(super) mod shrink;
pub(super) mod touched;

//! What decides: the traits (`parts`), the list, and one small file per design.

pub mod parts;

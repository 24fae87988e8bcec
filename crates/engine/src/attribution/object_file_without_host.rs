//! `object_file.rs` where no computer is around the engine: there are no object files.

use super::found::Found;

/// Nothing, for each of the offsets.
pub(super) fn find(_: &[u8], offsets: &[u64]) -> Vec<Found> {
    vec![Found::default(); offsets.len()]
}

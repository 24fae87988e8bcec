//! Which data lines a unit on the media decides about.

use crate::message::{Line, MediaLine, MediaUnit};
use crate::recovery::LineCodec;

/// The data lines of `media`: the line itself, those whose counters are in a counter block, those whose MACs are in a line
/// of MACs. Of tree nodes and the shadow table, none: they decide about whole regions.
pub(in crate::crash) fn covered(media: MediaLine, codec: Option<&dyn LineCodec>) -> Vec<Line> {
    match (media.unit(), codec) {
        (MediaUnit::Data(line) | MediaUnit::Modified(line), _) => vec![line],
        (MediaUnit::Counter(block), Some(codec)) => codec.coverage().lines_of(block).collect(),
        (MediaUnit::Mac(block), Some(codec)) => {
            codec.integrity().into_iter().flat_map(|codec| codec.mac_layout.lines(block)).collect()
        }
        (MediaUnit::Counter(_) | MediaUnit::Mac(_) | MediaUnit::Node(_) | MediaUnit::Table(_), _) => Vec::new(),
    }
}

//! What memory holds before a program runs, extent by extent.

use std::ops::Range;

/// Knows the initial contents of one core's heap.
pub(super) trait InitialContents: Send + Sync {
    /// The populated extents, in ascending order, in whole lines, within the heap.
    fn populated(&self) -> Vec<Range<u64>>;
    /// Fills a part of populated extent `extent` (an index into [`InitialContents::populated`]). Every byte depends on its
    /// address alone, not on the parts that are asked for nor on their order.
    fn populate(&self, extent: usize, part: &mut Part<'_>);
}

/// A part of a populated extent, to be filled.
pub(super) struct Part<'a> {
    /// Bytes of the extent before this part.
    pub before: u64,
    /// Bytes of the whole extent.
    pub extent: u64,
    /// The bytes of the part; zero so far.
    pub bytes: &'a mut [u8],
}

impl Part<'_> {
    /// Fills what belongs to this part of the extent's adjacent items of `item_bytes` bytes: `fill(n, bytes)` fills item
    /// n, of zeroed bytes. The last item ends with the extent.
    pub fn fill_items(&mut self, item_bytes: u64, mut fill: impl FnMut(u64, &mut [u8])) {
        let part = self.before..self.before + self.bytes.len() as u64;
        for number in part.start / item_bytes..part.end.div_ceil(item_bytes) {
            let item = number * item_bytes..((number + 1) * item_bytes).min(self.extent);
            let shared = item.start.max(part.start)..item.end.min(part.end);
            let bytes = &mut self.bytes[(shared.start - part.start) as usize..(shared.end - part.start) as usize];
            if shared == item {
                fill(number, bytes);
            } else {
                let mut whole = vec![0; (item.end - item.start) as usize];
                fill(number, &mut whole);
                let from = (shared.start - item.start) as usize;
                bytes.copy_from_slice(&whole[from..from + bytes.len()]);
            }
        }
    }
}

/// Writes `value` as a little-endian word at `offset` of `bytes`.
pub(super) fn put_word(bytes: &mut [u8], offset: usize, value: u64) {
    bytes[offset..offset + 8].copy_from_slice(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn parts_together_are_the_whole(
            item_bytes in 1..40u64, extent in 1..400u64, cuts in prop::collection::vec(0..400u64, 0..6),
        ) {
            let fill = |number: u64, bytes: &mut [u8]| {
                for (place, byte) in bytes.iter_mut().enumerate() {
                    assert_eq!(*byte, 0, "an item is filled once");
                    *byte = 1 + (number * 41 + place as u64) as u8 % 255;
                }
            };
            let mut whole = vec![0; extent as usize];
            for (number, item) in whole.chunks_mut(item_bytes as usize).enumerate() {
                fill(number as u64, item);
            }
            let mut edges: Vec<u64> = cuts.into_iter().map(|cut| cut % extent).chain([0, extent]).collect();
            edges.sort_unstable();
            let mut found = vec![0; extent as usize];
            for edge in edges.windows(2).rev() {
                let bytes = &mut found[edge[0] as usize..edge[1] as usize];
                Part { before: edge[0], extent, bytes }.fill_items(item_bytes, fill);
            }
            prop_assert_eq!(found, whole);
        }
    }
}

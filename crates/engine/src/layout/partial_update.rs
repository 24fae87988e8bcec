//! A partial update of a counter block and a line of MACs (Han et al., HPCA 2023, Thoth): the counter and the MAC of one line.
//! Updates are stored one after another in lines of a ring: 5 bytes for the line, 3 for the lowest bits of its counter, then
//! the MAC. Which of two counters is newer follows from these bits as long as they are less than half of their range apart.

use crate::message::{Line, LineBytes};

const LINE_NUMBER_BYTES: usize = 5;
const COUNTER_BYTES: usize = 3;
const COUNTER_BITS: u32 = 24;
/// Bits of a minor counter in a counter as one number.
const MINOR_BITS: u32 = 14;

/// The ring of partial updates, and what its lines look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UpdateRing {
    /// Lines of the ring in memory.
    pub lines: u64,
    /// Lines on the chip in which updates are combined.
    pub on_chip: usize,
    /// Bytes of a MAC; none if MACs move with their lines.
    pub mac_bytes: usize,
    /// Whether counters have a minor part.
    pub split: bool,
}

/// One update.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartialUpdate {
    /// The line that was written.
    pub line: Line,
    /// The lowest bits of its counter as one number.
    pub counter: u32,
    /// Its MAC.
    pub mac: u128,
}

impl UpdateRing {
    fn bytes(self) -> usize {
        LINE_NUMBER_BYTES + COUNTER_BYTES + self.mac_bytes
    }

    /// Updates in a line of the ring.
    pub fn in_line(self) -> usize {
        64 / self.bytes()
    }

    /// The update of `line`, whose counter is this number and whose MAC is `mac`.
    pub fn update(self, line: Line, counter: u64, mac: u128) -> PartialUpdate {
        PartialUpdate { line, counter: counter as u32 & ((1 << COUNTER_BITS) - 1), mac }
    }

    /// A counter as one number.
    pub fn number(self, major: u64, minor: u16) -> u64 {
        if self.split { major << MINOR_BITS | u64::from(minor) } else { major }
    }

    /// Major and minor counter of a number.
    pub fn counter(self, number: u64) -> (u64, u16) {
        if self.split { (number >> MINOR_BITS, (number & ((1 << MINOR_BITS) - 1)) as u16) } else { (number, 0) }
    }

    /// Puts `update` at place `index` of a line of the ring.
    pub fn put(self, bytes: &mut LineBytes, index: usize, update: &PartialUpdate) {
        let entry = &mut bytes[index * self.bytes()..][..self.bytes()];
        // Zeros are no update.
        entry[..LINE_NUMBER_BYTES].copy_from_slice(&(update.line.0 + 1).to_le_bytes()[..LINE_NUMBER_BYTES]);
        entry[LINE_NUMBER_BYTES..][..COUNTER_BYTES].copy_from_slice(&update.counter.to_le_bytes()[..COUNTER_BYTES]);
        entry[LINE_NUMBER_BYTES + COUNTER_BYTES..].copy_from_slice(&update.mac.to_le_bytes()[..self.mac_bytes]);
    }

    /// The update at place `index` of a line of the ring, if there is one.
    pub fn get(self, bytes: &LineBytes, index: usize) -> Option<PartialUpdate> {
        let entry = &bytes[index * self.bytes()..][..self.bytes()];
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u128::from(*byte));
        let (line, rest) = entry.split_at(LINE_NUMBER_BYTES);
        let (counter, mac) = rest.split_at(COUNTER_BYTES);
        let line = (number(line) as u64).checked_sub(1)?;
        Some(PartialUpdate { line: Line(line), counter: number(counter) as u32, mac: number(mac) })
    }

    /// The updates in a line of the ring.
    pub fn updates(self, bytes: &LineBytes) -> impl Iterator<Item = PartialUpdate> {
        (0..self.in_line()).filter_map(move |index| self.get(bytes, index))
    }
}

impl PartialUpdate {
    /// The number of its counter: the nearest one to `stored`, the number in memory, that has its bits. `None` if that would be
    /// less than nothing.
    pub fn number(&self, stored: u64) -> Option<u64> {
        let (range, half) = (1 << COUNTER_BITS, 1 << (COUNTER_BITS - 1));
        let ahead = (u64::from(self.counter) + range - stored % range) % range;
        if ahead < half { stored.checked_add(ahead) } else { stored.checked_sub(range - ahead) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rings() -> impl Strategy<Value = UpdateRing> {
        (prop::sample::select(vec![0_usize, 7, 8, 16]), any::<bool>()).prop_map(|(mac_bytes, split)| UpdateRing {
            lines: 4,
            on_chip: 1,
            mac_bytes,
            split,
        })
    }

    proptest! {
        #[test]
        fn updates_in_a_line_are_kept_apart(ring in rings(), lines in prop::collection::vec(0..1_u64 << 39, 8), mac: u128, number: u64) {
            let mac = if ring.mac_bytes == 16 { mac } else { mac & ((1 << (8 * ring.mac_bytes)) - 1) };
            let updates: Vec<PartialUpdate> =
                lines.iter().take(ring.in_line()).map(|line| ring.update(Line(*line), number ^ line, mac)).collect();
            let mut bytes = [0; 64];
            for (index, update) in updates.iter().enumerate() {
                prop_assert_eq!(ring.get(&bytes, index), None);
                ring.put(&mut bytes, index, update);
            }
            prop_assert_eq!(ring.updates(&bytes).collect::<Vec<_>>(), updates);
        }

        #[test]
        fn number_follows_from_its_lowest_bits(ring in rings(), stored in 1_u64 << 30..1 << 60, by in -(1_i64 << 22)..1 << 22) {
            let number = stored.wrapping_add_signed(by);
            prop_assert_eq!(ring.update(Line(5), number, 0).number(stored), Some(number));
            let (major, minor) = ring.counter(number);
            prop_assert_eq!(ring.number(major, minor), number);
        }
    }

    #[test]
    fn four_updates_with_macs_of_eight_bytes_are_in_a_line() {
        let in_line = |mac_bytes| UpdateRing { lines: 4, on_chip: 1, mac_bytes, split: true }.in_line();
        assert_eq!([0, 7, 8, 16].map(in_line), [8, 4, 4, 2]);
    }
}

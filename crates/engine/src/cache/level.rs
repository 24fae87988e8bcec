//! One cache array: tags, true LRU order, line states and the bytes themselves. It knows nothing of other caches.
//!
//! With pads, half of the ways hold pads, made once, one for each slot of the other half. Bytes are stored
//! exclusive-ored with the pad of their slot (sepencr section IV-D). Only the ways that hold data have slots.

use crate::config::CacheLevel;
use crate::kernel::{ConfigError, Ps};
use crate::message::{LINE_BYTES, Line, LineBytes, xor};

/// The tag of an empty way; no program address reaches it.
const EMPTY: u64 = u64::MAX;
const DIRTY: u8 = 1;
const LEAVING: u8 = 2;
const WRITABLE: u8 = 4;
const LOGGED: u8 = 8;
static ZERO: LineBytes = [0; 64];

/// Makes the pad of a slot of one cache.
pub(super) type PadOfSlot<'a> = &'a dyn Fn(usize) -> LineBytes;

/// Bytes as a cache stores them.
#[derive(Clone, Copy)]
pub(super) struct Resting {
    /// The bytes, exclusive-ored with the pad.
    pub(super) bytes: LineBytes,
    /// The pad; zeros if the cache is not encrypted.
    pub(super) cache_pad: LineBytes,
}

impl Resting {
    /// Unencrypted bytes that no cache stores.
    pub(super) fn in_the_clear(bytes: LineBytes) -> Self {
        Resting { bytes, cache_pad: ZERO }
    }

    pub(super) fn plaintext(&self) -> LineBytes {
        xor(&self.bytes, &self.cache_pad)
    }
}

/// One cache. A slot is the number of a way in the whole cache: set times ways plus way.
#[derive(Clone)]
pub(super) struct Level {
    set_mask: u64,
    /// The number of sets if it is not a power of two; otherwise 0, and the mask selects the set.
    set_modulus: u64,
    ways: usize,
    /// The tags. The ways of a set are adjacent, so that a lookup reads one or two cache lines of the host.
    tags: Vec<u64>,
    /// Time of last use on the cache's own clock: the smallest of a set marks its least recently used way.
    stamps: Vec<u64>,
    flags: Vec<u8>,
    /// When the line arrives, in picoseconds; earlier hits wait for it.
    ready: Vec<Ps>,
    /// The write-back that the way waits for.
    tokens: Vec<u32>,
    /// The stored bytes. Empty if the engine does not move bytes.
    bytes: Vec<LineBytes>,
    /// One pad for each slot; empty if lines are not encrypted in the cache or the engine does not move bytes.
    pads: Vec<LineBytes>,
    clock: u64,
}

impl Level {
    /// An empty cache of `multiple` times the level's size. `name` is the level's name in the configuration. With
    /// `pad_of_slot`, half of the ways hold pads; the number of ways must be even.
    pub(super) fn new(
        level: &CacheLevel,
        multiple: u64,
        name: &str,
        keep_bytes: bool,
        pad_of_slot: Option<PadOfSlot<'_>>,
    ) -> Result<Self, ConfigError> {
        let lines = level.size.0 / LINE_BYTES;
        let ways = u64::from(level.ways);
        let sets = lines.checked_div(ways).unwrap_or(0);
        if !sets.is_power_of_two() || sets * ways * LINE_BYTES != level.size.0 {
            return Err(ConfigError(format!(
                "{name}: {} in {ways} ways of 64-byte lines does not give a power-of-two number of sets",
                level.size
            )));
        }
        if level.mshrs == 0 {
            return Err(ConfigError(format!("{name}.mshrs is 0; a cache needs at least one miss register")));
        }
        let sets = sets * multiple;
        let ways = if pad_of_slot.is_some() { ways / 2 } else { ways };
        let lines = (sets * ways) as usize;
        Ok(Level {
            set_mask: sets - 1,
            set_modulus: if sets.is_power_of_two() { 0 } else { sets },
            ways: ways as usize,
            tags: vec![EMPTY; lines],
            stamps: vec![0; lines],
            flags: vec![0; lines],
            ready: vec![0; lines],
            tokens: vec![0; lines],
            bytes: if keep_bytes { vec![ZERO; lines] } else { Vec::new() },
            pads: pad_of_slot
                .filter(|_| keep_bytes)
                .map_or_else(Vec::new, |pad_of_slot| (0..lines).map(pad_of_slot).collect()),
            clock: 0,
        })
    }

    /// Bytes of the host's memory for each slot that [`Level::new`] allocates.
    pub(super) const fn host_bytes_per_slot(keep_bytes: bool, pads: bool) -> u64 {
        let line = if keep_bytes { LINE_BYTES } else { 0 };
        let state = size_of::<u64>() + size_of::<u64>() + size_of::<u8>() + size_of::<Ps>() + size_of::<u32>();
        state as u64 + if pads { 2 * line } else { line }
    }

    /// The number of lines that the cache can hold.
    pub(super) fn lines(&self) -> usize {
        self.tags.len()
    }

    #[inline]
    fn first_slot(&self, line: Line) -> usize {
        let set = if self.set_modulus == 0 { line.0 & self.set_mask } else { line.0 % self.set_modulus };
        set as usize * self.ways
    }

    fn set_of(&self, line: Line) -> std::ops::Range<usize> {
        let first = self.first_slot(line);
        first..first + self.ways
    }

    /// The slot of `line`, if the cache holds it.
    #[inline]
    pub(super) fn find(&self, line: Line) -> Option<usize> {
        let first = self.first_slot(line);
        self.tags[first..first + self.ways].iter().position(|&tag| tag == line.0).map(|way| first + way)
    }

    /// Makes `slot` the most recently used way of its set.
    #[inline]
    pub(super) fn touch(&mut self, slot: usize) {
        self.clock += 1;
        self.stamps[slot] = self.clock;
    }

    /// An empty way in `line`'s set.
    pub(super) fn empty_way(&self, line: Line) -> Option<usize> {
        self.set_of(line).find(|&slot| self.tags[slot] == EMPTY)
    }

    /// The least recently used way of `line`'s set that is neither being written back nor held by `held`. The set must
    /// be full.
    pub(super) fn victim(&self, line: Line, held: impl Fn(Line) -> bool) -> Option<usize> {
        self.set_of(line)
            .filter(|&slot| !self.leaving(slot) && !held(Line(self.tags[slot])))
            .min_by_key(|&slot| self.stamps[slot])
    }

    /// Whether a way of `line`'s set is being written back.
    pub(super) fn set_has_leaving(&self, line: Line) -> bool {
        self.set_of(line).any(|slot| self.leaving(slot))
    }

    /// Puts a line into `slot` as the most recently used one of its set.
    pub(super) fn insert(&mut self, slot: usize, line: Line, bytes: &LineBytes, ready: Ps) {
        self.tags[slot] = line.0;
        self.flags[slot] = 0;
        self.ready[slot] = ready;
        self.touch(slot);
        self.set_bytes(slot, bytes);
    }

    /// Puts a line into `slot` of a cache that nothing has used yet, last used at `stamp`, at most [`Level::lines`]. Whatever
    /// follows is used later.
    pub(super) fn insert_used(&mut self, slot: usize, line: Line, bytes: &LineBytes, stamp: u64) {
        self.insert(slot, line, bytes, 0);
        self.stamps[slot] = stamp;
        self.clock = self.lines() as u64;
    }

    /// Empties `slot`.
    pub(super) fn remove(&mut self, slot: usize) {
        self.tags[slot] = EMPTY;
        self.flags[slot] = 0;
    }

    /// Removes `line`, or, if it must be kept or is being written back, makes it clean and gives it the bytes `newer`.
    pub(super) fn drop_copy(&mut self, line: Line, keep: bool, newer: Option<&LineBytes>) {
        let Some(slot) = self.find(line) else { return };
        if !keep && !self.leaving(slot) {
            return self.remove(slot);
        }
        self.set_clean(slot);
        if let Some(bytes) = newer {
            self.set_bytes(slot, bytes);
            // Bytes of another source have not been logged.
            self.clear_logged(slot);
        }
    }

    /// The line in `slot`, which must not be empty.
    pub(super) fn line(&self, slot: usize) -> Line {
        debug_assert_ne!(self.tags[slot], EMPTY);
        Line(self.tags[slot])
    }

    /// When the line in `slot` arrives, in picoseconds.
    #[inline]
    pub(super) fn ready(&self, slot: usize) -> Ps {
        self.ready[slot]
    }

    /// Changes the arrival time of the line in `slot` to `ready`.
    pub(super) fn set_ready(&mut self, slot: usize, ready: Ps) {
        self.ready[slot] = ready;
    }

    /// Whether the line in `slot` is newer than every lower level and memory.
    pub(super) fn dirty(&self, slot: usize) -> bool {
        self.flags[slot] & DIRTY != 0
    }

    /// Marks the line in `slot` as newer than the levels below. A write-back in flight carries older bytes and no
    /// longer frees the way.
    #[inline]
    pub(super) fn set_dirty(&mut self, slot: usize) {
        self.flags[slot] = (self.flags[slot] | DIRTY) & !LEAVING;
    }

    /// Marks the line in `slot` as clean: its newest bytes are already being sent to memory.
    pub(super) fn set_clean(&mut self, slot: usize) {
        self.flags[slot] &= !DIRTY;
    }

    /// Whether the line in `slot` is being written back: still readable, and in its way until the acknowledgement.
    pub(super) fn leaving(&self, slot: usize) -> bool {
        self.flags[slot] & LEAVING != 0
    }

    /// Marks `slot` as being written back by write `token`.
    pub(super) fn set_leaving(&mut self, slot: usize, token: u32) {
        self.flags[slot] = (self.flags[slot] | LEAVING) & !DIRTY;
        self.tokens[slot] = token;
    }

    /// Whether `slot` is being written back by exactly this write.
    pub(super) fn leaves_with(&self, slot: usize, token: u32) -> bool {
        self.leaving(slot) && self.tokens[slot] == token
    }

    /// Whether the line in `slot` may be written: no other core holds it.
    #[inline]
    pub(super) fn writable(&self, slot: usize) -> bool {
        self.flags[slot] & WRITABLE != 0
    }

    /// Grants or revokes the right to write the line in `slot`.
    pub(super) fn set_writable(&mut self, slot: usize, writable: bool) {
        self.flags[slot] = self.flags[slot] & !WRITABLE | if writable { WRITABLE } else { 0 };
    }

    /// The log bit of `slot`: whether the line's old bytes have been logged since it came into this cache.
    #[inline]
    pub(super) fn logged(&self, slot: usize) -> bool {
        self.flags[slot] & LOGGED != 0
    }

    /// Sets the log bit of `slot`.
    pub(super) fn set_logged(&mut self, slot: usize) {
        self.flags[slot] |= LOGGED;
    }

    /// Clears the log bit of `slot`.
    pub(super) fn clear_logged(&mut self, slot: usize) {
        self.flags[slot] &= !LOGGED;
    }

    /// The unencrypted bytes in `slot`; zeros if no bytes are kept.
    pub(super) fn bytes(&self, slot: usize) -> LineBytes {
        let bytes = self.bytes.get(slot).unwrap_or(&ZERO);
        self.pads.get(slot).map_or(*bytes, |pad| xor(bytes, pad))
    }

    /// The bytes in `slot` as the cache stores them.
    pub(super) fn resting(&self, slot: usize) -> Resting {
        let of = |lines: &[LineBytes]| lines.get(slot).copied().unwrap_or(ZERO);
        Resting { bytes: of(&self.bytes), cache_pad: of(&self.pads) }
    }

    /// Replaces the bytes in `slot` with the unencrypted `bytes`.
    pub(super) fn set_bytes(&mut self, slot: usize, bytes: &LineBytes) {
        if let Some(place) = self.bytes.get_mut(slot) {
            *place = self.pads.get(slot).map_or(*bytes, |pad| xor(bytes, pad));
        }
    }

    /// Replaces some of the bytes in `slot` with the unencrypted `data`.
    #[inline]
    pub(super) fn patch(&mut self, slot: usize, offset: usize, data: &[u8]) {
        let Some(place) = self.bytes.get_mut(slot) else { return };
        let place = &mut place[offset..offset + data.len()];
        place.copy_from_slice(data);
        if let Some(pad) = self.pads.get(slot) {
            place.iter_mut().zip(&pad[offset..]).for_each(|(byte, pad)| *byte ^= pad);
        }
    }

    /// The lines it holds.
    pub(super) fn held(&self) -> impl Iterator<Item = Line> + '_ {
        self.tags.iter().filter(|&&tag| tag != EMPTY).map(|&tag| Line(tag))
    }

    /// Slots whose line memory has not acknowledged: dirty lines and lines being written back.
    pub(super) fn unsaved(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.tags.len()).filter(|&slot| self.flags[slot] & (DIRTY | LEAVING) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ByteSize;
    use proptest::prelude::*;

    fn level(size: u64, ways: u32) -> Result<Level, ConfigError> {
        multiple_of(1, size, ways)
    }

    fn multiple_of(multiple: u64, size: u64, ways: u32) -> Result<Level, ConfigError> {
        let size = ByteSize(size);
        let level = CacheLevel { size, size_per_core: true, ways, latency_cycles: 1, mshrs: 1, shared: true };
        Level::new(&level, multiple, "l1", true, None)
    }

    #[test]
    fn impossible_geometry_is_refused_with_a_sentence() {
        for (size, ways) in [(64 * 3, 1), (1000, 2), (1024, 0), (0, 2), (64, 2)] {
            let error = level(size, ways).err().expect("refused").to_string();
            assert!(error.starts_with("l1: "), "{error}");
        }
        assert!(level(64 * 6, 3).is_ok(), "three ways of two sets");
        assert!(multiple_of(2, 64 * 3, 1).is_err(), "the size of one core has a power of two of sets");
    }

    #[test]
    fn multiple_of_the_size_has_as_many_sets_and_uses_them_all() {
        for multiple in 1..=64 {
            let mut cache = multiple_of(multiple, 64 * 4 * 2, 2).unwrap();
            let lines = 8 * multiple;
            assert_eq!(cache.lines() as u64, lines);
            for line in (0..lines).map(Line) {
                let slot = cache.empty_way(line).expect("consecutive lines fill every way");
                cache.insert(slot, line, &[0; 64], 0);
            }
            assert!((0..lines).all(|line| cache.find(Line(line)).is_some()), "{multiple} times");
        }
    }

    proptest! {
        #[test]
        fn victim_is_the_least_recently_used_way(
            multiple in 1u64..5, uses in prop::collection::vec(0u64..48, 1..300),
        ) {
            let mut cache = multiple_of(multiple, 64 * 2 * 4, 4).unwrap();
            let mut reference = vec![Vec::new(); 2 * multiple as usize];
            for line in uses {
                let sets = reference.len();
                let set = &mut reference[line as usize % sets];
                let known = set.iter().position(|&other| other == line);
                match cache.find(Line(line)) {
                    Some(slot) => {
                        prop_assert!(known.is_some());
                        cache.touch(slot);
                    }
                    None => {
                        prop_assert!(known.is_none());
                        let slot = cache.empty_way(Line(line)).unwrap_or_else(|| {
                            let victim = cache.victim(Line(line), |_| false).unwrap();
                            assert_eq!(cache.line(victim).0, set.remove(0));
                            victim
                        });
                        cache.insert(slot, Line(line), &[line as u8; 64], 0);
                        prop_assert_eq!(cache.bytes(slot), [line as u8; 64]);
                    }
                }
                set.retain(|&other| other != line);
                set.push(line);
            }
        }
    }
}

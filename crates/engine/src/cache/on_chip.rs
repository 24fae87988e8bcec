//! What the caches hold that memory has not acknowledged: the state at a power failure.

use super::hierarchy::Hierarchy;
use super::level::Level;
use crate::message::{CoreId, Line, OnChipLine};
use rustc_hash::FxHashSet;

impl Hierarchy {
    /// Every cached line whose bytes may not be in the persistence domain, in the order of slots: dirty lines, and
    /// lines whose write-back is not acknowledged. A line may occur once per level; its first copy is the newest. Lines
    /// that are encrypted at every access are returned unencrypted, because the arrays hold them so.
    ///
    /// With persist buffers: what is in them, the newest copy of a line before others.
    pub fn on_chip(&self) -> Vec<OnChipLine> {
        if let Some(buffers) = &self.buffers {
            return self.in_buffers(buffers);
        }
        let mut lines = Vec::new();
        let mut seen = FxHashSet::default();
        let mut first = 0;
        for (level, caches) in [(1, &self.l1), (2, &self.l2), (3, &self.l3)] {
            for (core, cache) in caches.iter().enumerate() {
                lines.extend(cache.unsaved().map(|slot| OnChipLine {
                    slot: first + slot as u64,
                    level,
                    core: core as CoreId,
                    line: cache.line(slot),
                    resident: cache.resting(slot).bytes,
                    plaintext: cache.bytes(slot),
                    newest: seen.insert(cache.line(slot)),
                }));
                first += cache.lines() as u64;
            }
        }
        lines
    }

    /// The number of lines of [`Hierarchy::on_chip`], and of all lines in the caches; a line in several levels counts once.
    pub fn dirty_lines(&self) -> (u64, u64) {
        let levels = || self.l1.iter().chain(&self.l2).chain(&self.l3);
        let dirty: FxHashSet<Line> = levels().flat_map(|cache| cache.unsaved().map(|slot| cache.line(slot))).collect();
        let held: FxHashSet<Line> = levels().flat_map(Level::held).collect();
        (dirty.len() as u64, held.len() as u64)
    }

    /// For each level: the number of slots of [`Hierarchy::on_chip`] in it, and the number of all its data slots. With persist
    /// buffers: their entries, as the first level's.
    pub fn dirty_per_level(&self) -> [(u64, u64); 3] {
        if let Some(buffers) = &self.buffers {
            return [buffers.used(), (0, 0), (0, 0)];
        }
        [&self.l1, &self.l2, &self.l3].map(|caches| {
            caches.iter().fold((0, 0), |(unsaved, slots), cache: &Level| {
                (unsaved + cache.unsaved().count() as u64, slots + cache.lines() as u64)
            })
        })
    }
}

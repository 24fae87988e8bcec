//! What memory and registers are told about the metadata caches, so that a boot finds again what was only in them: entries of a
//! shadow table, or bits for what is newer on the chip, with the root over it. Both change in the event of what they tell.

use super::super::encrypted::Encrypted;
use super::Integrity;
use super::shadow_table::Noted;
use crate::layout::TreePlace;
use crate::message::{DevicePort, MediaLine, Observer};

impl<D: DevicePort, O: Observer + ?Sized> Encrypted<'_, D, O> {
    /// Tells that what is `noted` has happened to the slot of `media`.
    pub fn note(&mut self, media: MediaLine, noted: Noted) {
        if !self.engine.tells_what_is_cached() {
            return;
        }
        self.note_in_table(media, noted);
        match noted {
            Noted::FirstChanged => self.mark_stale(media, true),
            Noted::Written => self.mark_stale(media, false),
            Noted::Filled | Noted::ChangedAgain => {}
        }
        self.note_set(media);
    }

    /// Writes the entry of the shadow table for the slot of `media`, if there is a table and the entry is due. What finds no
    /// entry of the queue is in the registers beside it.
    fn note_in_table(&mut self, media: MediaLine, noted: Noted) {
        let Some(integrity) = &mut self.engine.integrity else { return };
        let Some(table) = &mut integrity.table else { return };
        let counters = &self.engine.counters.cache;
        let cache = Integrity::cache_of(&integrity.separate, counters, media);
        let first = if std::ptr::eq(cache, counters) { 0 } else { counters.slots() };
        let Some((slot, block)) = cache.slot(media).zip(cache.peek(media)) else { return };
        if let Some((line, bytes)) = table.note(first + slot, media, block, noted, self.memory.bytes) {
            self.append_block(line, bytes, 0);
        }
    }

    /// The root over what is newer in the caches changes with the set of `media`.
    fn note_set(&mut self, media: MediaLine) {
        let Some(integrity) = &mut self.engine.integrity else { return };
        let Some(stale) = integrity.stale.as_mut().filter(|_| self.memory.bytes) else { return };
        let cache = Integrity::cache_of(&integrity.separate, &self.engine.counters.cache, media);
        let blocks = cache.dirty_beside(media).filter_map(|(media, block)| Some((TreePlace::of(media)?, *block)));
        stale.set_changed(media, blocks);
    }

    /// Sets or clears the bit that says that the copy of `media` in memory is stale, and those above it.
    pub fn mark_stale(&mut self, media: MediaLine, stale: bool) {
        let Some(bits) = self.engine.stale().map(|stale| stale.bits) else { return };
        let Some(place) = TreePlace::of(media) else { return };
        let mut set = stale;
        for (number, bit) in bits.path(place) {
            self.bring_bit_line(number);
            let put = self.engine.stale().and_then(|stale| stale.put_bit(number, bit, set));
            let Some((bytes, [was_zero, is_zero])) = put else { return };
            let now = self.memory.now();
            self.memory.observer.chip_line(now, MediaLine::table(number), &bytes);
            if was_zero == is_zero {
                return;
            }
            set = !is_zero;
        }
    }

    /// Brings line `number` of the bits to the chip. It is read from memory if it is there; nothing waits for that, because bits
    /// are only set and cleared.
    fn bring_bit_line(&mut self, number: u64) {
        if self.engine.stale().is_none_or(|stale| stale.uses(number)) {
            return;
        }
        let media = MediaLine::table(number);
        let bytes = self.newest_metadata(media);
        if bytes != [0; 64] {
            self.fetch_metadata(media, None);
        }
        if let Some((media, bytes)) = self.engine.stale().and_then(|stale| stale.bring(number, bytes)) {
            self.append_block(media, bytes, 0);
        }
    }
}

//! The write pending queue: its ready entries survive a power failure (ADR). Entries wait per bank, in the order in
//! which they became ready. Counter entries have a flag bit, so that CWR compares only those (secpm section 3.4.3).
//!
//! Data and counters share the entries, or each kind has its own: then these are the data write queue and the counter
//! write queue of counter-atomicity (section 5.2.2).

#[cfg(test)]
mod tests;

use super::bank_queues::BankQueues;
use crate::config;
use crate::kernel::{Index, Ps, Slab};
use crate::message::{LINE_WORDS, LineBytes, Location, MediaLine, WriteToken};

/// One queued write.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The data line or counter block that is written.
    pub media: MediaLine,
    /// The bank and row that it is written to.
    pub location: Location,
    /// The bytes that are written.
    pub bytes: LineBytes,
    /// Admission number: later entries have higher numbers.
    pub sequence: u64,
    /// The ready bit: until it is set, the entry neither leaves the chip nor survives a power failure.
    pub ready: bool,
    /// Whether a bank is taking its data.
    pub issued: bool,
    /// Whether a row has been opened for it: its room is free.
    pub opened: bool,
    /// Words that its write moves, known when it is issued.
    pub words: u8,
    /// Measurement period in which it was admitted.
    pub epoch: u32,
    /// For a counter block, the number of the increment after which it was copied; zero for data.
    pub increment: u64,
    /// The counter, MAC or bits of words that are stored beside the line and move with it, in the form of a block.
    pub beside: Option<(MediaLine, LineBytes)>,
    /// What to acknowledge when it has been programmed, if that is awaited.
    pub acknowledge: Option<WriteToken>,
    /// When its ready bit was set.
    pub ready_at: Ps,
}

impl Entry {
    /// What the entry writes to the media: itself, and what is stored beside it.
    pub fn units(&self) -> impl Iterator<Item = (MediaLine, &LineBytes)> {
        let beside = self.beside.as_ref().map(|(media, block)| (*media, block));
        std::iter::once((self.media, &self.bytes)).chain(beside)
    }
}

/// A write that enters the queue.
pub struct Arrival {
    /// The data line or counter block that is written.
    pub media: MediaLine,
    /// The bank and row that it is written to.
    pub location: Location,
    /// The bytes that are written.
    pub bytes: LineBytes,
    /// The entry's ready bit.
    pub ready: bool,
    /// Measurement period in which it is admitted.
    pub epoch: u32,
    /// The increment number of a counter block, see [`Entry::increment`].
    pub increment: u64,
    /// What lies beside the line, see [`Entry::beside`].
    pub beside: Option<(MediaLine, LineBytes)>,
    /// See [`Entry::acknowledge`].
    pub acknowledge: Option<WriteToken>,
    /// When it is admitted.
    pub now: Ps,
}

/// The entries of one kind, and their watermarks.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Number of entries.
    pub entries: usize,
    /// Draining begins when this many are in use.
    pub high: usize,
    /// Draining ends when this many are in use.
    pub low: usize,
}

impl Room {
    /// The machine's entries for data, or for data and counters.
    pub fn data(config: &config::Controller) -> Self {
        Self {
            entries: config.wpq_entries as usize,
            high: config.wpq_high_watermark as usize,
            low: config.wpq_low_watermark as usize,
        }
    }

    /// The same with so many entries, of which draining begins and ends at most at this many.
    pub fn with_entries(self, entries: usize) -> Self {
        Self { entries, high: self.high.min(entries), low: self.low.min(entries.saturating_sub(1)) }
    }

    /// The machine's entries for counters, if they have separate ones.
    pub fn counters(config: &config::Controller) -> Self {
        Self {
            entries: config.counter_wpq_entries as usize,
            high: config.counter_wpq_high_watermark as usize,
            low: config.counter_wpq_low_watermark as usize,
        }
    }
}

/// The write pending queue.
#[derive(Clone)]
pub struct Wpq {
    /// Entries for data (or for everything), and entries for counters if they are separate.
    rooms: [Option<Room>; 2],
    used: [usize; 2],
    /// Data entries whose ready bit is clear: draining cannot move them.
    unready: usize,
    /// Whether an entry's room is free when a bank begins to take it.
    frees_at_issue: bool,
    /// Whether non-volatile registers hold what finds no entry.
    pub registers: bool,
    entries: Slab<Entry>,
    /// All of them, by media code.
    queued: Index,
    /// Entries that are ready and not issued.
    waiting: BankQueues,
    sequence: u64,
}

impl Wpq {
    /// A queue in front of `banks` banks. `counters`: separate entries for counter blocks, if there are any.
    /// `frees_at_issue`: whether the room of an entry is free when a bank begins to take it, not when it has taken it.
    pub fn new(data: Room, counters: Option<Room>, banks: usize, frees_at_issue: bool) -> Self {
        Self {
            rooms: [Some(data), counters],
            used: [0; 2],
            unready: 0,
            frees_at_issue,
            registers: false,
            entries: Slab::default(),
            queued: Index::default(),
            waiting: BankQueues::new(banks),
            sequence: 0,
        }
    }

    /// Number of entries that are queued or are being taken by a bank.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether counters have separate entries.
    pub fn has_separate_queues(&self) -> bool {
        self.rooms[1].is_some()
    }

    fn kind(&self, counter: bool) -> usize {
        usize::from(counter && self.has_separate_queues())
    }

    /// Number of free entries for counter blocks or for data.
    pub fn free(&self, counter: bool) -> usize {
        self.room(counter, 0)
    }

    /// Number of free entries of a kind if `own` of those in use are free, too.
    pub fn room(&self, counter: bool, own: usize) -> usize {
        let kind = self.kind(counter);
        // Registers beside the queue may hold more than it has entries.
        self.rooms[kind].map_or(0, |room| (room.entries + own).saturating_sub(self.used[kind]))
    }

    /// Takes an entry for data whose write is not encrypted yet: draining cannot move it.
    pub fn reserve(&mut self) {
        self.used[0] += 1;
        self.unready += 1;
    }

    /// Gives that entry back.
    pub fn unreserve(&mut self) {
        self.used[0] -= 1;
        self.unready -= 1;
    }

    /// Whether so many entries of one kind are ready that draining must begin.
    pub fn is_high(&self) -> bool {
        let [data, counters] = self.rooms;
        data.is_some_and(|room| self.used[0] - self.unready >= room.high)
            || counters.is_some_and(|room| self.used[1] >= room.high)
    }

    /// Whether so few entries of every kind are ready that draining may end.
    pub fn is_low(&self) -> bool {
        self.is_low_by(0)
    }

    /// Whether even `more` entries of every kind would leave the queue below its low watermarks, or at them if `more`
    /// is 0.
    pub fn is_low_by(&self, more: usize) -> bool {
        let [data, counters] = self.rooms;
        let low = |room: Room, ready: usize| ready + more < room.low + usize::from(more == 0);
        data.is_none_or(|room| low(room, self.used[0] - self.unready))
            && counters.is_none_or(|room| low(room, self.used[1]))
    }

    /// The entry in `slot`.
    pub fn entry(&self, slot: u32) -> &Entry {
        &self.entries[slot]
    }

    /// Appends a write; the caller must have checked that an entry is free, or that registers beside the queue hold it.
    pub fn push(&mut self, write: Arrival) -> u32 {
        let Arrival { media, location, bytes, ready, epoch, increment, beside, acknowledge, now } = write;
        debug_assert!(
            self.registers || self.free(media.is_metadata()) > 0,
            "an entry was pushed into a full write pending queue"
        );
        self.used[self.kind(media.is_metadata())] += 1;
        self.sequence += 1;
        let slot = self.entries.insert(Entry {
            media,
            location,
            bytes,
            sequence: self.sequence,
            ready: false,
            issued: false,
            opened: false,
            words: LINE_WORDS,
            epoch,
            increment,
            beside,
            acknowledge,
            ready_at: now,
        });
        self.queued.add(slot, media.code());
        self.unready += 1;
        if ready {
            self.set_ready(slot, now);
        }
        slot
    }

    /// Sets the ready bit of `slot`: the entry now waits for its bank.
    pub fn set_ready(&mut self, slot: u32, now: Ps) {
        debug_assert!(!self.entries[slot].ready);
        self.unready -= 1;
        let entry = &mut self.entries[slot];
        entry.ready = true;
        entry.ready_at = now;
        self.waiting.push(slot, entry.location);
    }

    /// Gives newer bytes to an entry that has not been issued; it keeps its place.
    pub fn replace(&mut self, slot: u32, bytes: &LineBytes, increment: u64, beside: Option<(MediaLine, LineBytes)>) {
        let entry = &mut self.entries[slot];
        debug_assert!(!entry.issued && entry.acknowledge.is_none());
        entry.bytes = *bytes;
        entry.increment = increment;
        entry.beside = beside;
    }

    /// The newest entry for `media`, issued or not.
    pub fn newest(&self, media: MediaLine) -> Option<&Entry> {
        self.queued.newest_first(media.code()).next().map(|slot| &self.entries[slot])
    }

    /// Whether a ready entry for `media` is queued, issued or not.
    pub fn holds_ready(&self, media: MediaLine) -> bool {
        self.queued.newest_first(media.code()).any(|slot| self.entries[slot].ready)
    }

    /// Whether another entry for the address of the one in `slot` is queued that is newer, and ready.
    pub fn has_newer(&self, slot: u32) -> bool {
        let mut entries = self.queued.newest_first(self.entries[slot].media.code());
        entries.by_ref().take_while(|&other| other != slot).any(|other| self.entries[other].ready)
    }

    /// What is written to the same address before the entry in `slot` and is still queued.
    pub fn before(&self, slot: u32) -> Option<&Entry> {
        let entries = self.queued.newest_first(self.entries[slot].media.code());
        entries.skip_while(|&other| other != slot).nth(1).map(|slot| &self.entries[slot])
    }

    /// The queued entry, ready and neither issued nor opened, that a new one of the same address makes unnecessary.
    pub fn superseded(&self, media: MediaLine) -> Option<u32> {
        let waits = |slot: &u32| {
            let Entry { ready, issued, opened, .. } = self.entries[*slot];
            ready && !issued && !opened
        };
        self.queued.oldest_first(media.code()).find(waits)
    }

    /// The oldest counter entry that waits for its bank. It searches all entries: only a fault asks for it.
    pub fn oldest_counter(&self) -> Option<u32> {
        let entries = (0u32..).zip(self.entries.values());
        let waiting = entries.filter(|(_, entry)| entry.media.is_counter() && entry.ready && !entry.issued);
        waiting.min_by_key(|(_, entry)| entry.sequence).map(|(slot, _)| slot)
    }

    /// The entries that wait for banks.
    pub(in crate::controller) fn waiting(&self) -> &BankQueues {
        &self.waiting
    }

    /// The oldest entry that waits for the row of `location`: of data, or with `counters` of any kind. The order of equal
    /// addresses is kept, because they share a row.
    pub fn oldest_in(&self, location: Location, counters: bool) -> Option<u32> {
        self.waiting.of_row(location).find(|&slot| counters || !self.entries[slot].media.is_counter())
    }

    /// Marks that a row has been opened for the entry in `slot`, which waits: it gives its room back.
    pub fn mark_opened(&mut self, slot: u32) {
        let entry = &mut self.entries[slot];
        debug_assert!(entry.ready && !entry.issued && !entry.opened && self.frees_at_issue);
        entry.opened = true;
        let kind = self.kind(self.entries[slot].media.is_metadata());
        self.used[kind] -= 1;
    }

    /// Marks `slot` as issued: the bank is taking its data, `words` words of it. The entry stays until [`Wpq::remove`], but
    /// its room may be free from now on.
    pub fn mark_issued(&mut self, slot: u32, words: u8) {
        self.waiting.remove(slot);
        let entry = &mut self.entries[slot];
        (entry.issued, entry.words) = (true, words);
        if self.frees_at_issue && !self.entries[slot].opened {
            let kind = self.kind(self.entries[slot].media.is_metadata());
            self.used[kind] -= 1;
        }
    }

    /// Removes an entry that its bank has accepted or that a newer one replaces.
    pub fn remove(&mut self, slot: u32) -> &Entry {
        let Entry { issued, media, .. } = self.entries[slot];
        if !issued {
            self.waiting.remove(slot);
        }
        self.queued.remove(slot);
        let kind = self.kind(media.is_metadata());
        self.used[kind] -= usize::from(!(issued && self.frees_at_issue));
        self.entries[slot].ready = false;
        self.entries.release(slot);
        &self.entries[slot]
    }

    /// All ready entries, oldest first: what ADR drains.
    pub fn in_order(&self) -> Vec<&Entry> {
        // What has left the queue is no longer ready.
        let mut entries: Vec<&Entry> = self.entries.values().iter().filter(|entry| entry.ready).collect();
        entries.sort_unstable_by_key(|entry| entry.sequence);
        entries
    }
}

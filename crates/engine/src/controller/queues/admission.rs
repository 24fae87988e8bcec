//! Admission to the write pending queue: which claim is next, how many slots it takes, and what happens in that one
//! event. From then on a line survives a power failure.

#[cfg(test)]
mod tests;

use super::super::encrypted::Encrypted;
use super::super::in_flight::{Cipher, CounterClaim, CounterWaiter, Eviction, Origin, Stage, Write};
use super::wpq::Entry;
use crate::message::{ControllerEvent, CounterBlock, DevicePort, Line, LineBytes, MediaLine, MediaUnit, Observer};
use crate::parts::{Admit, AppendOrder, Counter, CounterCoalescing, CounterStore, CounterUpdate, Stored};
use std::collections::VecDeque;

/// The claims for entries of the write pending queue.
#[derive(Clone, Default)]
pub(in crate::controller) struct Admission {
    /// Writes that claim an entry for their data or for their counter block.
    pub claims: Vec<u32>,
    /// Dirty blocks that were evicted from the counter cache, or from the cache of MACs and tree nodes.
    pub evictions: VecDeque<Eviction>,
    /// Blocks that claim an entry of the counter write queue.
    counters: VecDeque<CounterClaim>,
    /// Whether something has changed since no claim fitted.
    changed: bool,
}

impl Admission {
    /// Adds a claim of the write in `slot`.
    pub fn claim(&mut self, slot: u32) {
        self.claims.push(slot);
        self.changed = true;
    }

    /// Removes the claim of the write in `slot`.
    pub fn withdraw(&mut self, slot: u32) {
        self.claims.retain(|&other| other != slot);
    }

    /// Adds a block's claim for an entry of the counter write queue.
    pub fn claim_counter(&mut self, claim: CounterClaim) {
        self.counters.push_back(claim);
        self.changed = true;
    }

    /// Adds a dirty block that was evicted from a metadata cache.
    pub fn evict(&mut self, eviction: Eviction) {
        self.evictions.push_back(eviction);
        self.changed = true;
    }

    /// Records that an entry has become free, or that the claims have changed.
    pub fn look_again(&mut self) {
        self.changed = true;
    }

    /// Records that no claim fits until something changes.
    pub fn settled(&mut self) {
        self.changed = false;
    }

    /// Whether a claim may fit.
    pub fn changed(&self) -> bool {
        self.changed
    }
}

/// A claim for entries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Claim {
    /// The counter block of a write whose data is still being encrypted.
    CounterOf(u32),
    /// The data of a write whose counter needs no entry, or is stored beside the data.
    Data(u32),
    /// The data of a write whose counter block follows. `ready`: whether its ready bit is set at once.
    CounterFollows { slot: u32, ready: bool },
    /// The data and the counter block of a write, in one event.
    Pair(u32),
    /// The data of a write, and the counter block as the counter cache has it then, in one event.
    DataThenCached(u32),
    /// A dirty block that was evicted from a metadata cache.
    Eviction,
    /// A block for the counter write queue.
    Counter(CounterClaim),
}

impl<D: DevicePort, O: Observer + ?Sized> Encrypted<'_, D, O> {
    /// Admits the next claim in the design's order, if it fits. Each admission is part of the event that is being
    /// handled.
    pub fn admit_next(&mut self) -> bool {
        if !self.memory.admission.changed() {
            return false;
        }
        let [counter, data] = self.next_claims();
        if let Some(claim) = [counter, data].into_iter().flatten().find(|&claim| self.fits(claim)) {
            self.admit(claim);
            return true;
        }
        self.memory.nothing_fits(counter.is_some() || data.is_some());
        false
    }

    /// Whether [`Encrypted::admit_next`] would admit something.
    pub fn something_fits(&self) -> bool {
        self.next_claims().into_iter().flatten().any(|claim| self.fits(claim))
    }

    /// The next counter block and the next data. If counters have a separate queue, neither queue waits for room in the
    /// other; in one queue, no claim overtakes a counter block that claims an entry for itself.
    fn next_claims(&self) -> [Option<Claim>; 2] {
        let counter = self.next_counter_claim();
        let data = if counter.is_some() && !self.memory.banks.wpq.has_separate_queues() {
            None
        } else {
            self.next_data_claim()
        };
        [counter, data]
    }

    fn fits(&self, claim: Claim) -> bool {
        match claim {
            Claim::Data(slot) => {
                let data = usize::from(self.merges_data(slot).is_none());
                self.fits_group(self.has_entry(slot), data, self.metadata_with_data(slot))
            }
            Claim::CounterFollows { slot, ready } => {
                self.fits_group(0, 1, if ready { self.metadata_with_data(slot) } else { 0 })
            }
            Claim::CounterOf(_) => self.fits_group(0, 0, 1 + self.nodes_with_counter()),
            Claim::Pair(slot) => {
                let data = usize::from(self.merges_data(slot).is_none());
                let metadata = 1 + self.metadata_with_data(slot) + self.nodes_with_counter();
                self.fits_group(self.has_entry(slot), data, metadata)
            }
            Claim::DataThenCached(slot) => {
                let data = usize::from(self.merges_data(slot).is_none());
                let id = self.engine.counters.block(self.memory.writes[slot].line);
                let metadata = self.metadata_with_data(slot) + self.entries_of(MediaLine::counter(id));
                self.fits_group(self.has_entry(slot), data, metadata)
            }
            Claim::Eviction => {
                let oldest = self.next_eviction().map(|place| self.memory.admission.evictions[place].media);
                // Beside a shadow table it must leave in the event that evicts it: the registers hold it.
                oldest
                    .is_some_and(|media| self.engine.leaves_at_once() || self.fits_group(0, 0, self.entries_of(media)))
            }
            Claim::Counter(claim) => {
                let media = MediaLine::counter(self.claimed_block(claim));
                let is_writeback =
                    matches!(claim, CounterClaim::Writeback(slot) if !self.memory.writebacks.slots[slot].shreds);
                let nothing_to_write = is_writeback && !self.engine.counters.cache.is_dirty(media);
                let with_data = match claim {
                    CounterClaim::Pair(slot) => self.metadata_with_data(slot),
                    CounterClaim::Writeback(_) => 0,
                };
                nothing_to_write || self.fits_group(0, 0, with_data + self.entries_of(media))
            }
        }
    }

    /// Whether so many entries of data and of metadata are free, or registers hold what finds none. `own` entries of data are
    /// those of the write itself.
    fn fits_group(&self, own: usize, data: usize, metadata: usize) -> bool {
        let banks = &self.memory.banks;
        let (free, free_apart) = (banks.room(false, own), banks.free(true));
        let [data, metadata] = if banks.wpq.registers { [data.min(1), metadata.min(1)] } else { [data, metadata] };
        match (banks.wpq.has_separate_queues(), banks.wpq.registers) {
            (true, _) => free >= data && free_apart >= metadata,
            (false, true) => free >= data.max(metadata),
            (false, false) => free >= data + metadata,
        }
    }

    /// Number of entries that the block `media`, which enters its queue alone, needs with what of the tree persists with
    /// it.
    fn entries_of(&self, media: MediaLine) -> usize {
        let nodes = if media.is_counter() { self.nodes_with_counter() } else { 0 };
        nodes + usize::from(self.merges(media).is_none())
    }

    /// The eviction that enters its queue next.
    fn next_eviction(&self) -> Option<usize> {
        self.memory.admission.evictions.iter().position(|eviction| !eviction.waits_for_parent)
    }

    /// Handles that the block `id` has entered its queue alone, as it was after increment `increment`. A staged pair of an
    /// earlier increment holds an older block, which must not overwrite this one.
    pub fn block_went_alone(&mut self, id: CounterBlock, increment: u64) {
        for &slot in &self.engine.circuits.staged {
            let write = &mut self.memory.writes[slot];
            write.counter_admitted |= write.increment <= increment && self.engine.counters.block(write.line) == id;
        }
    }

    fn claimed_block(&self, claim: CounterClaim) -> CounterBlock {
        let line = match claim {
            CounterClaim::Pair(slot) => self.memory.writes[slot].line,
            CounterClaim::Writeback(slot) => self.memory.writebacks.slots[slot].line,
        };
        self.engine.counters.block(line)
    }

    fn admit(&mut self, claim: Claim) {
        match claim {
            Claim::CounterOf(slot) => {
                self.append_counter_of(slot);
                let write = &mut self.memory.writes[slot];
                write.owes_counter = false;
                write.counter_admitted = true;
                if write.stage != Stage::ClaimsEntry {
                    self.memory.admission.withdraw(slot);
                }
            }
            Claim::Data(slot) | Claim::DataThenCached(slot) if self.lacks_block(slot) => {
                // The block has been evicted since; the write claims again when it is back.
                self.memory.admission.withdraw(slot);
                let id = self.engine.counters.block(self.memory.writes[slot].line);
                self.fetch_counter(id, Some(CounterWaiter::Append(slot)));
            }
            Claim::Data(slot) => {
                self.append_data(slot, true);
                self.finish_write(slot);
            }
            Claim::CounterFollows { slot, ready } => {
                self.append_data(slot, ready);
                self.claim_counter_entry(slot);
            }
            Claim::DataThenCached(slot) => {
                let Write { line, increment, .. } = self.memory.writes[slot];
                self.append_data(slot, true);
                let id = self.engine.counters.block(line);
                let block = self.present_block(id);
                self.counter_clean(id);
                self.append_newest_counter(id, block, increment);
                self.finish_write(slot);
            }
            Claim::Pair(slot) => {
                self.append_counter_of(slot);
                self.append_data(slot, true);
                self.finish_write(slot);
            }
            Claim::Eviction => {
                let place = self.next_eviction().expect("it claimed");
                let Eviction { media, block, increment, .. } =
                    self.memory.admission.evictions.remove(place).expect("it is there");
                match media.unit() {
                    MediaUnit::Counter(id) => {
                        self.append_counter(id, block, increment);
                        self.block_went_alone(id, increment);
                        self.retry_writebacks(id);
                    }
                    _ => self.append_metadata(media, block),
                }
            }
            Claim::Counter(claim) => {
                self.memory.admission.counters.pop_front();
                match claim {
                    CounterClaim::Pair(slot) => self.complete_pair(slot),
                    CounterClaim::Writeback(slot) => self.complete_writeback(slot),
                }
            }
        }
    }

    /// Evicted counter blocks go first, because a fetch may be waiting for what they overwrite. The others follow in
    /// the order of their claims.
    fn next_counter_claim(&self) -> Option<Claim> {
        if self.next_eviction().is_some() {
            return Some(Claim::Eviction);
        }
        self.memory.admission.counters.front().copied().map(Claim::Counter)
    }

    /// The write whose data is admitted next.
    fn next_data_claim(&self) -> Option<Claim> {
        let chosen = match self.engine.rules.append_order {
            AppendOrder::BumpOrder => self.first_incremented(),
            AppendOrder::UnitOrder => {
                let claims = self.memory.admission.claims.iter().copied();
                claims.min_by_key(|&slot| self.memory.writes[slot].circuit)
            }
        };
        chosen.and_then(|slot| self.claim_of(slot))
    }

    /// Of the writes that claim and are not held back the one whose counter was incremented first. Looks at all that wait
    /// once for each that is held back before it, which are few, and not at every pair of them.
    fn first_incremented(&self) -> Option<u32> {
        let claims = self.memory.admission.claims.iter().enumerate();
        let claims = claims.map(|(place, &slot)| (self.memory.writes[slot].increment, place, slot));
        let mut next = claims.clone().min()?;
        while self.is_held_back(&self.memory.writes[next.2]) {
            next = claims.clone().filter(|other| *other > next).min()?;
        }
        Some(next.2)
    }

    /// Whether `write` waits for an earlier write of its page, or of its counter block if that covers more, whose pad is not
    /// ready.
    fn is_held_back(&self, write: &Write) -> bool {
        let together = |other: Line| self.engine.counters.are_ordered(other, write.line);
        let holds = |other: &Write| {
            matches!(other.stage, Stage::Encrypting | Stage::Comparing | Stage::Authenticating)
                && other.increment < write.increment
                && together(other.line)
                && !other.counter_admitted
        };
        !write.owes_counter && self.engine.circuits.staged.iter().any(|&other| holds(&self.memory.writes[other]))
    }

    fn claim_of(&self, slot: u32) -> Option<Claim> {
        let write = &self.memory.writes[slot];
        if write.owes_counter {
            return Some(Claim::CounterOf(slot));
        }
        if write.stage != Stage::ClaimsEntry {
            return None;
        }
        let admit = match self.engine.cipher_of(write.origin) {
            Cipher::None | Cipher::Feedback(_) | Cipher::Resident | Cipher::Turn(_) => Admit::Data,
            Cipher::Counter => self.engine.write_path_of(write.origin).at_encrypted(write.counter_atomic),
        };
        if admit == Admit::Data && self.stops_loss(write) {
            return Some(Claim::DataThenCached(slot));
        }
        Some(match admit {
            Admit::Pair if write.counter_admitted => Claim::Data(slot),
            Admit::Pair => Claim::Pair(slot),
            Admit::Unready => Claim::CounterFollows { slot, ready: false },
            Admit::DataThenCounter => Claim::CounterFollows { slot, ready: true },
            Admit::Nothing | Admit::Counter | Admit::Data | Admit::Inline => Claim::Data(slot),
        })
    }

    /// Whether `write` takes its counter block along, because the block must not fall further behind.
    fn stops_loss(&self, write: &Write) -> bool {
        let Write { origin, counter, renews, .. } = *write;
        self.engine.cipher_of(origin) == Cipher::Counter
            && match self.engine.write_path_of(origin).stops_loss() {
                true => {
                    renews || (counter.major + u64::from(counter.minor)).is_multiple_of(self.engine.rules.stop_loss)
                }
                // A partial update has no whole major counter.
                false => renews && self.engine.keeps_updates(),
            }
    }

    /// The queued data entry that the write in `slot` replaces.
    fn merges_data(&self, slot: u32) -> Option<u32> {
        self.memory.merges_data(MediaLine::data(self.memory.writes[slot].line))
    }

    /// The queued entry that a new block `media` replaces.
    fn merges(&self, media: MediaLine) -> Option<u32> {
        match self.engine.rules.coalescing {
            CounterCoalescing::ReadyEntries => self.memory.banks.wpq.superseded(media),
            CounterCoalescing::Off | CounterCoalescing::InWpq | CounterCoalescing::AnyInWpq => None,
        }
    }

    /// The queued entry that a new one for `media` removes.
    fn removed_by(&self, media: MediaLine) -> Option<u32> {
        match self.engine.rules.coalescing {
            CounterCoalescing::Off | CounterCoalescing::ReadyEntries => None,
            CounterCoalescing::AnyInWpq if media.is_counter() => self.memory.banks.wpq.oldest_counter(),
            CounterCoalescing::InWpq | CounterCoalescing::AnyInWpq => self.memory.banks.wpq.superseded(media),
        }
    }

    /// Puts the block that the write in `slot` incremented into its queue.
    fn append_counter_of(&mut self, slot: u32) {
        let Write { line, block, increment, .. } = self.memory.writes[slot];
        self.append_counter(self.engine.counters.block(line), block, increment);
    }

    /// Puts the newest copy of a counter block into its queue. Evicted copies of it that still wait would overwrite it, and
    /// have nothing left to write.
    pub fn append_newest_counter(&mut self, id: CounterBlock, block: LineBytes, increment: u64) {
        self.memory.admission.evictions.retain(|eviction| eviction.media != MediaLine::counter(id));
        self.append_counter(id, block, increment);
    }

    /// Puts a counter block into its queue, and what of the tree persists with it.
    pub fn append_counter(&mut self, id: CounterBlock, mut block: LineBytes, increment: u64) {
        self.memory.meter.stats.counter_writes_asked += 1;
        self.counter_leaves(id, &mut block);
        self.append_block(MediaLine::counter(id), block, increment);
    }

    /// Handles that the block `id` enters its queue as it was after increment `increment`. Copies that staged writes of earlier
    /// increments have are not the newest from now on, even when this one has left the queue.
    fn outdate_staged(&mut self, id: CounterBlock, increment: u64) {
        for &slot in &self.engine.circuits.staged {
            let write = &mut self.memory.writes[slot];
            write.outdated |= write.increment < increment && self.engine.counters.block(write.line) == id;
        }
    }

    /// Puts a block of metadata into its queue.
    pub fn append_block(&mut self, media: MediaLine, block: LineBytes, increment: u64) {
        if let MediaUnit::Counter(id) = media.unit() {
            self.outdate_staged(id, increment);
        }
        if let Some(updates) = self.engine.updates() {
            updates.persisted(media);
        }
        self.memory.account_occupancy();
        if let Some(older) = self.merges(media) {
            let Entry { epoch, bytes, .. } = *self.memory.banks.wpq.entry(older);
            self.memory.meter.count_coalesced(media, epoch);
            self.memory.meter.stats.admitted += 1;
            self.memory.replaced(media, &bytes);
            self.memory.banks.wpq.replace(older, &block, increment, None);
            self.memory.queued(older);
            return;
        }
        if let Some(older) = self.removed_by(media) {
            let Entry { epoch, media: removed, bytes, .. } = *self.memory.banks.wpq.remove(older);
            self.memory.meter.count_coalesced(removed, epoch);
            self.memory.replaced(removed, &bytes);
        }
        self.memory.append(media, block, increment, true, None, None);
    }

    /// Puts the data of write `slot` into its queue and frees its staging register.
    fn append_data(&mut self, slot: u32, ready: bool) {
        self.memory.account_occupancy();
        self.take_over_entry(slot);
        let cipher = self.engine.cipher_of(self.memory.writes[slot].origin);
        if cipher == Cipher::Resident {
            self.take_from_caches(slot);
        }
        let Write { line, ciphertext, circuit, counter, counter_atomic, renews, origin, modified, .. } =
            self.memory.writes[slot];
        let counters = &self.engine.counters;
        let inline = counters.store != CounterStore::Region;
        let beside = if inline {
            Some((MediaLine::counter(counters.block(line)), counters.block_of_one(counter)))
        } else if self.memory.bytes && self.engine.pads.words().is_some() {
            Some((MediaLine::modified(line), Stored::block_of(modified)))
        } else {
            self.engine.mac_beside(cipher, line, &ciphertext, counter, self.memory.bytes)
        };
        self.memory.writes[slot].entry = match self.merges_data(slot).filter(|_| ready) {
            Some(older) => {
                self.memory.merge(older, &ciphertext, beside);
                older
            }
            None => {
                let acknowledge = self.memory.token_of(origin);
                self.memory.append(MediaLine::data(line), ciphertext, 0, ready, beside, acknowledge)
            }
        };
        if renews {
            self.line_renewed(line);
        }
        if !matches!(cipher, Cipher::None | Cipher::Resident) {
            self.engine.circuits.give_back(slot, circuit);
        }
        if ready && self.engine.counters.update == CounterUpdate::WithData && cipher == Cipher::Counter {
            let counter = self.under_present_major(line, counter);
            let defers = self.engine.write_path_of(origin).defers_counter(counter_atomic);
            self.update_counter(line, counter, defers);
        }
        self.memory.admission.withdraw(slot);
        if ready {
            self.commit_metadata(slot);
        }
    }

    /// Whether the write in `slot` lacks its counter block: the counter cache takes its counter together with its data,
    /// the block is the only place that has the line's page, and it is not in the cache.
    fn lacks_block(&self, slot: u32) -> bool {
        let Write { line, origin, .. } = self.memory.writes[slot];
        let counters = &self.engine.counters;
        counters.update == CounterUpdate::WithData
            && !counters.scheme.global()
            && self.engine.cipher_of(origin) == Cipher::Counter
            && !counters.cache.contains(MediaLine::counter(counters.block(line)))
    }

    /// The counter of a line as its block stores it. The page's major counter may have been incremented since the line was
    /// encrypted: until the line's done bit is set, its minor counter belongs to the old major counter, for which
    /// re-encryption keeps a copy of the block.
    fn under_present_major(&mut self, line: Line, counter: Counter) -> Counter {
        let (counters, rsr) = (&self.engine.counters, &mut self.engine.rsr);
        if counters.scheme.global() || !rsr.pending(line) || counter.major != rsr.old_major {
            return counter;
        }
        if let Some(old) = &mut rsr.old_block {
            counters.scheme.set(old, counters.index(line), counter);
        }
        Counter { major: counter.major + 1, ..counter }
    }

    /// Completes the write in `slot`, which is in the persistence domain.
    pub fn finish_write(&mut self, slot: u32) {
        let Write { line, origin, core, accepted, .. } = self.memory.writes[slot];
        self.memory.writes.finish(slot);
        if let Some(next) = core.and_then(|core| self.engine.pair_order.queued(core, slot)) {
            self.memory.writes.start(next);
        }
        match origin {
            // It has been acknowledged, unless that waits until the line is written.
            Origin::Caches(_) if accepted && !self.memory.banks.acknowledges_written => {}
            Origin::Caches(token) | Origin::Rested(token) => self.memory.acknowledge(token),
            Origin::Reencryption(_) => {
                self.engine.rsr.under_way -= 1;
                self.memory.next(ControllerEvent::ReencryptStep);
            }
            Origin::Log(write) => self.engine.log().persisted.push_back(write),
            Origin::Turn(_) => {}
        }
        self.retry_writebacks(self.engine.counters.block(line));
    }
}

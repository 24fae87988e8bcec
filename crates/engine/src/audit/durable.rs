//! The durable view: what every line would decrypt to if power failed now. It is updated from the observer stream
//! alone. A unit of the media holds the bytes that were last reported as persisted, or the populated base if there was
//! no report. Only lines whose bytes or counter have changed are decrypted again.
//!
//! Decoding rule (secpm sections 3.4.1 and 3.5; counter-atomicity section 5.2.1): a line decrypts with its counter in
//! the durable counter block: the major and its minor counter, or its eight bytes. While the re-encryption status
//! register survives and names the page, the major counter comes from there instead: the old one for a line whose done
//! bit is clear, the next one for a line whose done bit is set. A counter of zero means never written: the line reads
//! as zero. A line of the hardware's log decrypts the same way with the log's key or, if the log has no counters, is
//! shown as stored on the media.
//!
//! What leaves on battery at a power loss replaces what has persisted, until the next power loss is reported: the run
//! continues as if power had not been lost. A line that left flagged as unencrypted reads as stored.

use super::counter::{AuditedCounter, CounterCipher, modified_in};
use super::direct::DirectCipher;
use super::facts::CounterLayout;
use super::hashes::{mix, unit_hash};
use super::line_record::{Id, Left, Role, Status};
use super::lines::Lines;
use super::recovered::Recovered;
use crate::message::{CounterBlock, DrainedWrite, Line, LineBytes, MediaLine, MediaUnit};
use rustc_hash::FxHashMap;

/// Maintains the durable view.
pub(super) struct Durable {
    cipher: Option<CounterCipher>,
    /// The cipher of lines that are encrypted without counters.
    direct: Option<DirectCipher>,
    /// The cipher of the hardware's log, if its lines have counters.
    log: Option<CounterCipher>,
    /// How a boot recovers counters.
    recovered: Recovered,
    status_survives: bool,
    valid_flags: bool,
    /// The register as last reported, if it survives.
    told_status: Option<Status>,
    /// The register as a crash now would leave it.
    pub status: Option<Status>,
    /// Number of reported power losses.
    losses: u64,
    /// The lines that left in the last power loss, and those of the one before.
    left_lines: Vec<Id>,
    left_rows: Vec<usize>,
    /// The change of the hash that they cause.
    left_hash: u64,
    /// Blocks whose entries were removed in this event.
    removed: Vec<usize>,
    stale_lines: Vec<Id>,
    stale_rows: Vec<usize>,
    /// The largest major counter that has persisted: explanations search for counters near it.
    pub largest: u64,
    hash: u64,
    /// For each line of MACs and tree node that has persisted, its part of the hash.
    integrity: FxHashMap<MediaLine, u64>,
}

impl Durable {
    /// `cipher`: `None` for a design without counters. `log`: the cipher of the hardware's log. `status_survives`:
    /// the register is in the ADR domain. `valid_flags`: a line that was never written is known without its counter.
    pub fn new(
        cipher: Option<CounterCipher>,
        log: Option<CounterCipher>,
        recovered: Recovered,
        status_survives: bool,
        valid_flags: bool,
    ) -> Self {
        Self {
            cipher,
            direct: None,
            log,
            recovered,
            status_survives,
            valid_flags,
            told_status: None,
            status: None,
            losses: 0,
            left_lines: Vec::new(),
            left_rows: Vec::new(),
            left_hash: 0,
            removed: Vec::new(),
            stale_lines: Vec::new(),
            stale_rows: Vec::new(),
            largest: 0,
            hash: 0,
            integrity: FxHashMap::default(),
        }
    }

    /// The same for lines that are encrypted with `direct`, without counters.
    pub fn without_counters(self, direct: Option<DirectCipher>) -> Self {
        Self { direct, ..self }
    }

    pub fn cipher(&self) -> Option<&CounterCipher> {
        self.cipher.as_ref()
    }

    /// Whether the lines of the hardware's log have counters.
    pub fn log_has_counters(&self) -> bool {
        self.log.is_some()
    }

    /// Handles that `media` entered the persistence domain.
    pub fn persisted(&mut self, lines: &mut Lines, event: u64, media: MediaLine, bytes: &LineBytes) {
        let hash = unit_hash(media, bytes);
        match media.unit() {
            MediaUnit::Data(line) => {
                let id = lines.id(line);
                let durable = &mut lines.record_mut(id).durable;
                self.hash ^= durable.hash ^ hash;
                durable.hash = hash;
                durable.stored = Some(*bytes);
                durable.left = None;
                durable.persisted_at = Some(event);
                self.touch_line(lines, id);
            }
            MediaUnit::Counter(block) => {
                if self.cipher.is_none() {
                    return;
                }
                let slot = lines.slot(block);
                let row = &mut lines.rows[slot];
                self.hash ^= row.hash ^ hash;
                row.hash = hash;
                row.persisted_at = Some(event);
                row.queued.push_back(*bytes);
                row.stored = Some(*bytes);
                row.left = None;
                self.largest = self.largest.max(self.unpack(lines, slot));
                self.touch_row(lines, slot);
            }
            MediaUnit::Modified(line) => {
                let before = self.integrity.insert(media, hash).unwrap_or(0);
                self.hash ^= before ^ hash;
                self.modified(lines, line, modified_in(bytes));
            }
            MediaUnit::Mac(_) | MediaUnit::Node(_) | MediaUnit::Table(_) => {
                self.recovered_otherwise(lines, media, bytes);
                let before = self.integrity.insert(media, hash).unwrap_or(0);
                self.hash ^= before ^ hash;
            }
        }
    }

    /// Handles that a power failure leaves of `media` what the media hold, `held`, or nothing, unless it is a counter block that
    /// is queued.
    pub fn media_hold(&mut self, lines: &mut Lines, event: u64, media: MediaLine, held: Option<&LineBytes>) {
        match (media.unit(), held) {
            (MediaUnit::Counter(_), _) if self.cipher.is_none() => {}
            (MediaUnit::Counter(block), _) => {
                let slot = lines.slot(block);
                lines.rows[slot].written = held.copied();
                self.removed.push(slot);
            }
            (_, Some(held)) => self.persisted(lines, event, media, held),
            (MediaUnit::Data(line), None) => {
                let id = lines.id(line);
                let durable = &mut lines.record_mut(id).durable;
                self.hash ^= std::mem::take(&mut durable.hash);
                (durable.stored, durable.left) = (None, None);
                self.touch_line(lines, id);
            }
            (unit, None) => {
                self.hash ^= self.integrity.remove(&media).unwrap_or(0);
                match unit {
                    MediaUnit::Modified(line) => self.modified(lines, line, 0),
                    _ => self.recovered_otherwise(lines, media, &[0; 64]),
                }
            }
        }
    }

    /// The bits of the words of `line` are now `modified`, for a boot if they survive.
    fn modified(&mut self, lines: &mut Lines, line: Line, modified: u64) {
        let survive = self.cipher.as_ref().and_then(CounterCipher::words).is_some_and(|words| words.survive);
        let id = lines.id(line);
        lines.record_mut(id).durable.modified = if survive { modified } else { 0 };
        self.touch_line(lines, id);
    }

    /// Handles that `media`, a line of bits or of partial updates on the chip, now has these bytes. It persists if such lines survive.
    pub fn chip_line(&mut self, lines: &mut Lines, event: u64, media: MediaLine, bytes: &LineBytes) {
        if self.recovered.chip_lines_survive() {
            self.persisted(lines, event, media, bytes);
        }
    }

    /// If a boot recovers counters: the lines whose MACs or partial updates are in `media`, and the blocks whose entry is or was there, may have
    /// others from now on.
    fn recovered_otherwise(&mut self, lines: &mut Lines, media: MediaLine, bytes: &LineBytes) {
        let updated = self.recovered.updates_persisted(media, bytes);
        for line in self.recovered.mac_persisted(media, bytes).chain(updated) {
            if let Some(id) = lines.find(line) {
                self.touch_line(lines, id);
            }
        }
        for block in self.recovered.entry_persisted(media, bytes) {
            let row = lines.slot(block);
            self.unpack(lines, row);
            self.touch_row(lines, row);
            for index in 0..lines.coverage().lines() {
                let line = lines.coverage().line(block, index);
                if let Some(id) = lines.find(line) {
                    self.touch_line(lines, id);
                }
            }
        }
    }

    /// Stores the counters that a boot finds for the block of row `slot` in its cells; returns the largest major counter.
    fn unpack(&self, lines: &mut Lines, slot: usize) -> u64 {
        let Some(cipher) = &self.cipher else { return 0 };
        let row = &lines.rows[slot];
        let (block, stored) = (row.block, row.left.as_ref().map(|left| left.bytes).or(row.stored));
        let mut largest = 0;
        match stored {
            Some(stored) => largest = unpack_row(cipher, lines, slot, &stored),
            None => lines.forget_block(slot),
        }
        for (index, at) in lines.cells_of(slot).enumerate() {
            let cell = &mut lines.cells[at];
            cell.stored.major = self.recovered.in_block(block, index, cell.stored.major);
            largest = largest.max(cell.stored.major);
        }
        largest
    }

    /// The counter that a boot finds for the line of `id` by its MAC or in the ring, if it does.
    fn found_for_line(&self, lines: &Lines, id: Id) -> Option<AuditedCounter> {
        let record = lines.record(id);
        let stored = record.durable.stored.as_ref()?;
        let first = lines.cell(record.line).map_or(AuditedCounter::NEVER, |cell| cell.effective);
        let cipher = self.cipher.as_ref()?;
        let split = matches!(cipher.layout(), CounterLayout::Split { .. });
        self.recovered.of_line(record.line, cipher.coverage().block(record.line), stored, (first, split))
    }

    /// Whether counters are only known after a boot has recovered them.
    pub fn recovers_counters(&self) -> bool {
        self.recovered.any()
    }

    /// Handles that the queued entry of a counter block with these `bytes` was removed because a newer entry, of any
    /// block, replaces it.
    pub fn removed(&mut self, lines: &mut Lines, media: MediaLine, bytes: &LineBytes) {
        let MediaUnit::Counter(block) = media.unit() else { return };
        let slot = lines.slot(block);
        let queued = &mut lines.rows[slot].queued;
        if let Some(entry) = queued.iter().rposition(|entry| entry == bytes) {
            queued.remove(entry);
        }
        self.removed.push(slot);
    }

    /// Handles that the oldest queued entry of `media`, with these `bytes`, has reached the media.
    pub fn written(&mut self, lines: &mut Lines, media: MediaLine, bytes: &LineBytes) {
        if let MediaUnit::Counter(block) = media.unit()
            && self.cipher.is_some()
        {
            let slot = lines.slot(block);
            let row = &mut lines.rows[slot];
            row.queued.pop_front();
            row.written = Some(*bytes);
        }
    }

    /// Handles the end of an event: a block whose entry was removed now holds what the newest of its other entries
    /// holds, or what is on the media.
    pub fn event_over(&mut self, lines: &mut Lines) {
        while let Some(slot) = self.removed.pop() {
            let row = &mut lines.rows[slot];
            let left = row.queued.back().copied().or(row.written);
            if row.stored == left {
                continue;
            }
            row.stored = left;
            let hash = row.stored.map_or(0, |bytes| unit_hash(MediaLine::counter(row.block), &bytes));
            self.hash ^= row.hash ^ hash;
            row.hash = hash;
            self.unpack(lines, slot);
            self.touch_row(lines, slot);
        }
    }

    /// Power is lost: `left` leaves on battery, in this order, and replaces what left at the power loss before.
    pub fn power_lost<'a>(&mut self, lines: &mut Lines, left: impl Iterator<Item = &'a DrainedWrite>) {
        self.losses += 1;
        let (lines_before, rows_before) = (self.left_lines.len(), self.left_rows.len());
        for write in left {
            match write.media.unit() {
                MediaUnit::Data(line) => self.line_left(lines, line, write),
                MediaUnit::Counter(block) => self.block_left(lines, block, write),
                MediaUnit::Mac(_) | MediaUnit::Node(_) | MediaUnit::Table(_) | MediaUnit::Modified(_) => {}
            }
        }
        let losses = self.losses;
        let gone = |left: &Option<Left>| left.as_ref().is_some_and(|left| left.loss != losses);
        let mut restored = Vec::new();
        for id in self.left_lines.drain(..lines_before) {
            let durable = &mut lines.record_mut(id).durable;
            if gone(&durable.left) {
                durable.left = None;
                restored.push(id);
            }
        }
        for id in restored {
            self.touch_line(lines, id);
        }
        let rows: Vec<usize> =
            self.left_rows.drain(..rows_before).filter(|&slot| gone(&lines.rows[slot].left)).collect();
        for slot in rows {
            lines.rows[slot].left = None;
            self.unpack(lines, slot);
            self.touch_row(lines, slot);
        }
        let of_lines = self.left_lines.iter().map(|&id| {
            let durable = &lines.record(id).durable;
            durable.hash ^ durable.left.as_ref().map_or(0, |left| left.hash)
        });
        let of_rows = self.left_rows.iter().map(|&slot| {
            let row = &lines.rows[slot];
            row.hash ^ row.left.as_ref().map_or(0, |left| left.hash)
        });
        self.left_hash = of_lines.chain(of_rows).fold(0, |hash, unit| hash ^ unit);
    }

    /// Sets the register after the power loss: unchanged, or as the battery left it.
    pub fn status_left(&mut self, lines: &mut Lines, made: Option<Option<Status>>) {
        let told = self.told_status;
        self.set_status(lines, made.filter(|_| self.status_survives).unwrap_or(told));
    }

    fn line_left(&mut self, lines: &mut Lines, line: Line, write: &DrainedWrite) {
        let id = lines.id(line);
        let left = &mut lines.record_mut(id).durable.left;
        if left.as_ref().is_none_or(|left| left.loss != self.losses) {
            self.left_lines.push(id);
        }
        match left {
            Some(left) if left.is(write) => left.loss = self.losses,
            _ => {
                *left = Some(Left::new(write, self.losses));
                self.touch_line(lines, id);
            }
        }
    }

    fn block_left(&mut self, lines: &mut Lines, block: CounterBlock, write: &DrainedWrite) {
        if self.cipher.is_none() {
            return;
        }
        let slot = lines.slot(block);
        let left = &mut lines.rows[slot].left;
        if left.as_ref().is_none_or(|left| left.loss != self.losses) {
            self.left_rows.push(slot);
        }
        match left {
            Some(left) if left.is(write) => left.loss = self.losses,
            _ => {
                *left = Some(Left::new(write, self.losses));
                self.largest = self.largest.max(self.unpack(lines, slot));
                self.touch_row(lines, slot);
            }
        }
    }

    /// Handles a change of the status register.
    pub fn reencryption(&mut self, lines: &mut Lines, status: Option<Status>) {
        if !self.status_survives || self.cipher.is_none() {
            return;
        }
        self.told_status = status;
        self.set_status(lines, status);
    }

    fn set_status(&mut self, lines: &mut Lines, status: Option<Status>) {
        if status == self.status {
            return;
        }
        let old = std::mem::replace(&mut self.status, status);
        self.hash ^= status_hash(old) ^ status_hash(status);
        for group in [old, status].into_iter().flatten().map(|status| status.group) {
            let slot = lines.slot(lines.coverage().block(group.line(0)));
            self.touch_row(lines, slot);
        }
    }

    /// Decrypts again what may have changed, and adds the lines whose bytes did change to `changed`.
    pub fn settle(&mut self, lines: &mut Lines, changed: &mut Vec<Id>) {
        while let Some(slot) = self.stale_rows.pop() {
            lines.rows[slot].stale = false;
            let (block, coverage) = (lines.rows[slot].block, lines.coverage());
            for (index, at) in lines.cells_of(slot).enumerate() {
                let cell = &mut lines.cells[at];
                let counter = effective(cell.stored, self.status, coverage.line(block, index));
                if cell.effective != counter {
                    cell.effective = counter;
                    let id = lines.id_in(slot, index);
                    self.touch_line(lines, id);
                }
            }
        }
        for id in std::mem::take(&mut self.stale_lines) {
            let record = lines.record(id);
            let cipher = match record.role {
                Role::HardwareLog => &self.log,
                _ => &self.cipher,
            };
            let plain = match cipher {
                Some(cipher) => match self.found_for_line(lines, id).zip(record.durable.stored.as_ref()) {
                    Some((counter, stored)) => cipher.apply(record.line, counter, stored),
                    None => decode(cipher, lines, id, self.valid_flags),
                },
                None if record.durable.in_the_clear() => *record.durable.found().expect("it has left"),
                None => match (record.durable.found(), &self.direct) {
                    (Some(stored), Some(direct)) => direct.decrypt(record.line, stored),
                    (Some(stored), None) => *stored,
                    (None, _) => lines.base(record.line).copied().unwrap_or([0; 64]),
                },
            };
            let durable = &mut lines.record_mut(id).durable;
            durable.stale = false;
            if durable.plain != plain {
                durable.plain = plain;
                changed.push(id);
            }
        }
    }

    /// A hash of the whole durable state: equal states have equal hashes, whatever events led to them.
    pub fn state_hash(&self) -> u64 {
        self.hash ^ self.left_hash
    }

    fn touch_line(&mut self, lines: &mut Lines, id: Id) {
        let durable = &mut lines.record_mut(id).durable;
        if !durable.stale {
            durable.stale = true;
            self.stale_lines.push(id);
        }
    }

    fn touch_row(&mut self, lines: &mut Lines, slot: usize) {
        let row = &mut lines.rows[slot];
        if !row.stale {
            row.stale = true;
            self.stale_rows.push(slot);
        }
    }
}

/// Stores the counters of a block in the cells of its row; returns the largest major counter.
fn unpack_row(cipher: &CounterCipher, lines: &mut Lines, slot: usize, block: &LineBytes) -> u64 {
    let cells = lines.cells_of(slot);
    let mut largest = 0;
    for (index, cell) in lines.cells[cells].iter_mut().enumerate() {
        cell.stored = cipher.unpack(block, index);
        largest = largest.max(cell.stored.major);
    }
    largest
}

fn effective(stored: AuditedCounter, status: Option<Status>, line: Line) -> AuditedCounter {
    match status {
        Some(status) if status.awaits(line) => AuditedCounter { major: status.old_major, ..stored },
        // Whichever block is durable, the boot continues with the new major counter and keeps the contents of the
        // lines.
        Some(status) if status.group.contains(line) => AuditedCounter { major: status.old_major + 1, ..stored },
        _ => stored,
    }
}

/// What the line of `id` decrypts to with its effective counter.
fn decode(cipher: &CounterCipher, lines: &Lines, id: Id, valid_flags: bool) -> LineBytes {
    let record = lines.record(id);
    let line = record.line;
    if let Some(left) = record.durable.left.as_ref().filter(|left| left.in_the_clear) {
        return left.bytes;
    }
    let counter = lines.cell(line).map_or(AuditedCounter::NEVER, |cell| cell.effective);
    if cipher.reads_as_zeros(counter) {
        return [0; 64];
    }
    match (record.durable.found(), lines.base(line)) {
        (Some(stored), _) => cipher.apply_words(line, counter, stored, record.durable.modified),
        // A populated line that the run did not write is stored with its first counter.
        (None, Some(base)) if counter == cipher.base() || cipher.is_direct() => *base,
        (None, Some(base)) => cipher.apply(line, counter, &cipher.apply(line, cipher.base(), base)),
        (None, None) if valid_flags => [0; 64],
        (None, None) => cipher.apply(line, counter, &[0; 64]),
    }
}

fn status_hash(status: Option<Status>) -> u64 {
    status.map_or(0, |status| {
        let first = mix(mix(0x2545_f491_4f6c_dd1d, status.group.line(0).0), status.old_major);
        mix(mix(first, status.done as u64), (status.done >> u64::BITS) as u64)
    })
}

//! The durable view: what every line would decrypt to if power failed now. It is kept up to date from the observer
//! stream alone: a unit of the media holds the bytes last told to have persisted, and what was never told of holds
//! the populated base. Only lines whose bytes or whose counter changed are decrypted again.
//!
//! Decoding rule (secpm sections 3.4.1 and 3.5; counter-atomicity section 5.2.1): a line decrypts with its counter in
//! the durable counter block: the major and its minor, or its eight bytes. While the re-encryption status register
//! survives and names the page, a line whose done bit is clear decrypts with the old major instead. A counter of zero
//! means never written: the line reads as zero. A line of the hardware's log decrypts the same way under the log's key,
//! or, if the log has no counters, is shown as it lies on the media.

use super::counter::{Counter, CounterCipher, xor};
use super::lines::{Id, Lines, Role};
use crate::message::{LINES_PER_PAGE, Line, LineBytes, MediaLine, MediaUnit, Page};

/// What of one line would survive.
pub(super) struct DurableLine {
    /// What it decrypts to, as of the last settling.
    pub plain: LineBytes,
    /// The bytes on the media or in the persistence domain; `None` while nothing of this run is.
    pub stored: Option<LineBytes>,
    /// The event that persisted them.
    pub persisted_at: Option<u64>,
    hash: u64,
    stale: bool,
}

impl DurableLine {
    pub fn new(plain: LineBytes) -> Self {
        Self { plain, stored: None, persisted_at: None, hash: 0, stale: false }
    }
}

/// The re-encryption status register as last told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Status {
    pub page: Page,
    pub old_major: u64,
    pub done: u64,
}

impl Status {
    /// Whether `line` belongs to the page and has not been encrypted anew.
    pub fn awaits(&self, line: Line) -> bool {
        line.page() == self.page && self.done >> line.index_in_page() & 1 == 0
    }
}

/// Keeps the durable view.
pub(super) struct Durable {
    cipher: Option<CounterCipher>,
    /// The cipher of the hardware's log, if its lines have counters.
    log: Option<CounterCipher>,
    status_survives: bool,
    /// The register, if it would survive a crash now.
    pub status: Option<Status>,
    stale_lines: Vec<Id>,
    stale_rows: Vec<usize>,
    /// The largest major counter that has persisted: where explanations look for counters.
    pub largest: u64,
    hash: u64,
}

impl Durable {
    /// `cipher`: `None` for a design whose memory is plaintext. `log`: the same for the hardware's log.
    /// `status_survives`: the register's domain is ADR.
    pub fn new(cipher: Option<CounterCipher>, log: Option<CounterCipher>, status_survives: bool) -> Self {
        Self {
            cipher,
            log,
            status_survives,
            status: None,
            stale_lines: Vec::new(),
            stale_rows: Vec::new(),
            largest: 0,
            hash: 0,
        }
    }

    pub fn cipher(&self) -> Option<&CounterCipher> {
        self.cipher.as_ref()
    }

    /// `media` entered the persistence domain.
    pub fn persisted(&mut self, lines: &mut Lines, event: u64, media: MediaLine, bytes: &LineBytes) {
        let hash = unit_hash(media, bytes);
        match media.unit() {
            MediaUnit::Data(line) => {
                let id = lines.id(line);
                let durable = &mut lines.record_mut(id).durable;
                self.hash ^= durable.hash ^ hash;
                durable.hash = hash;
                durable.stored = Some(*bytes);
                durable.persisted_at = Some(event);
                self.touch_line(lines, id);
            }
            MediaUnit::Counter(block) => {
                let Some(cipher) = &self.cipher else { return };
                let slot = lines.slot(block);
                let row = &mut lines.rows[slot];
                self.hash ^= row.hash ^ hash;
                row.hash = hash;
                row.persisted_at = Some(event);
                let cells = lines.cells_of(slot);
                for (index, cell) in lines.cells[cells].iter_mut().enumerate() {
                    cell.stored = cipher.unpack(bytes, index);
                    self.largest = self.largest.max(cell.stored.major);
                }
                self.touch_row(lines, slot);
            }
        }
    }

    /// The status register changed.
    pub fn reencryption(&mut self, lines: &mut Lines, status: Option<Status>) {
        if !self.status_survives || self.cipher.is_none() || status == self.status {
            return;
        }
        let old = std::mem::replace(&mut self.status, status);
        self.hash ^= status_hash(old) ^ status_hash(status);
        for page in [old, status].into_iter().flatten().map(|status| status.page) {
            let coverage = lines.coverage();
            for index in (0..LINES_PER_PAGE as usize).step_by(coverage.lines()) {
                let slot = lines.slot(coverage.block(page.line(index)));
                self.touch_row(lines, slot);
            }
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
        for id in self.stale_lines.drain(..) {
            let record = lines.record(id);
            let cipher = match record.role {
                Role::HardwareLog => &self.log,
                _ => &self.cipher,
            };
            let plain = match cipher {
                Some(cipher) => decode(cipher, lines, id),
                None => record.durable.stored.unwrap_or(record.durable.plain),
            };
            let durable = &mut lines.record_mut(id).durable;
            durable.stale = false;
            if durable.plain != plain {
                durable.plain = plain;
                changed.push(id);
            }
        }
    }

    /// A hash of the whole durable state: equal states have equal hashes whatever way led to them.
    pub fn state_hash(&self) -> u64 {
        self.hash
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

fn effective(stored: Counter, status: Option<Status>, line: Line) -> Counter {
    match status {
        Some(status) if status.awaits(line) => Counter { major: status.old_major, ..stored },
        _ => stored,
    }
}

/// What the line of `id` decrypts to with its effective counter.
fn decode(cipher: &CounterCipher, lines: &Lines, id: Id) -> LineBytes {
    let record = lines.record(id);
    let line = record.line;
    let counter = lines.cell(line).map_or(Counter::NEVER, |cell| cell.effective);
    if counter == Counter::NEVER {
        return [0; 64];
    }
    match (&record.durable.stored, lines.base(line)) {
        (Some(stored), _) => cipher.apply(line, counter, stored),
        // A populated line that the run did not write lies on the media under its first counter.
        (None, Some(base)) if counter == cipher.base() => *base,
        (None, Some(base)) => cipher.apply(line, counter, &xor(base, &cipher.pad(line, cipher.base()))),
        (None, None) => cipher.pad(line, counter),
    }
}

/// One more word of a hash.
pub(super) fn mix(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(31)
}

fn unit_hash(media: MediaLine, bytes: &LineBytes) -> u64 {
    let words = bytes.chunks_exact(8).map(|chunk| {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    let hash = words.fold(mix(0x9e37_79b9_7f4a_7c15, media.code()), mix);
    mix(hash ^ hash >> 32, 0xc4ce_b9fe_1a85_ec53)
}

fn status_hash(status: Option<Status>) -> u64 {
    status.map_or(0, |status| mix(mix(mix(0x2545_f491_4f6c_dd1d, status.page.0), status.old_major), status.done))
}

//! What the hardware of a design may leave of a program at one of its fences, from its parts list alone.
//!
//! Without hardware's counters a line reads as any of its contents since the last that a fence covers: a dirty line may be
//! evicted after any store. With counters it decrypts if the counter on the media is that of its data. How far the two may
//! be apart follows from when each is admitted to the write pending queue, and from whose counters a block carries that
//! leaves (secpm sections 3.3 and 3.5; counter-atomicity sections 4 and 5.2).
//!
//! What blocks of different lines hold is independent: hardware orders writes of different blocks by fences alone.

use super::history::{BlockHistory, History, LineHistory};
use super::image::Encoder;
use super::space::{Candidate, Reading, Space};
use crate::config::Machine;
use crate::design::parts::{
    Admit, AppendOrder, CounterStore, CounterUpdate, Design, Domain, MinorReset, RegisterName, WritePath,
    WritebackOrder,
};
use crate::message::{CounterBlock, Line};

/// What a design's counters may do.
pub(crate) struct Hardware {
    counters: Option<Counters>,
    /// A minor counter overflows after so many writes of its line; `None` without minor counters, and where nothing can be
    /// seen of page re-encryption.
    overflow_shows: Option<u64>,
    /// Lines that can be on their way between the bump of their counter and the queue.
    ahead_max: u32,
}

struct Counters {
    write_path: &'static dyn WritePath,
    /// The block in the counter cache takes a counter before its data is queued.
    early: bool,
    /// Waiting admissions of one page may pass each other.
    unordered: bool,
    /// `counter_cache_writeback` waits for earlier writes of the lines.
    pub writeback_complete: bool,
    /// Pads come from the line's own counter, so that a counter that is behind repeats them.
    own: bool,
}

/// How a block has reached the media.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// With the counters of what is on the media.
    InStep,
    /// As it was in some instant of this epoch; 0: before the run.
    OfEpoch(u32),
    /// Last as the pair of this line carried it, which was bumped before others that were appended earlier.
    AppendedLast(Line),
    /// The same of the last lines of the block that a fence covered.
    LastOfBatch(Line),
    /// With the pair of this line, and with counters of lines that are on their way.
    Carried(Line),
}

impl Hardware {
    /// That of `design` on `machine`.
    pub(crate) fn of(design: &Design, machine: &Machine) -> Self {
        let Some(parts) = design.encryption else {
            return Self { counters: None, overflow_shows: None, ahead_max: 0 };
        };
        if parts.store != CounterStore::Region {
            return Self { counters: None, overflow_shows: None, ahead_max: 0 };
        }
        let scheme = (parts.counters)(&machine.counters);
        let status_kept = design.register_domain(RegisterName::ReencryptionStatus) != Domain::Volatile;
        let splits = !scheme.global() && scheme.coverage().lines() == 64;
        // A line done and its new counter are one step only as a pair.
        let in_steps = parts.write_path.at_encrypted(false) != Admit::Pair;
        let shows = splits && (parts.minor_reset == MinorReset::AtOnce || !status_kept || in_steps);
        let queued_pairs = parts.write_path.at_encrypted(true) == Admit::Unready;
        let units = machine.controller.aes_units;
        Self {
            counters: Some(Counters {
                write_path: parts.write_path,
                early: parts.update == CounterUpdate::AtBump,
                unordered: parts.append_order == AppendOrder::UnitOrder && units > 1,
                writeback_complete: parts.writeback_order == WritebackOrder::AfterData,
                own: !scheme.global(),
            }),
            overflow_shows: shows.then_some(1 << machine.counters.minor_bits),
            ahead_max: if queued_pairs { units + machine.controller.wpq_entries } else { units },
        }
    }

    /// Whether a covered `counter_cache_writeback` leaves nothing of its lines behind.
    pub(super) fn writeback_complete(&self) -> bool {
        self.counters.as_ref().is_some_and(|counters| counters.writeback_complete)
    }

    /// Whether the write-back of the line takes the whole counter block along.
    pub(super) fn carries(&self, history: &LineHistory) -> bool {
        self.counters.as_ref().is_some_and(|counters| !counters.defers(history))
    }

    /// A line of a page that may be under re-encryption now, so that the page's lines do not decrypt: its line in flight may
    /// have been written back as often as it was stored to.
    pub(super) fn overflowing<'a>(&self, history: &'a History) -> Option<&'a Line> {
        let after = self.overflow_shows?;
        let writes = |line: &Line| {
            let history = &history.lines[line];
            history.stores + u64::from(history.populated)
        };
        history.uncovered.iter().find(|line| writes(line) >= after)
    }

    /// Whether a counter that is behind repeats pads after the reboot.
    pub(super) fn repeats_pads(&self) -> bool {
        self.counters.as_ref().is_some_and(|counters| counters.own)
    }

    /// Every legal state at the fence that `history` is about to reach.
    pub(super) fn space(&self, history: &History, encoder: &Encoder<'_>) -> Space {
        let mut space = Space::new(self.ahead_max);
        let Some(counters) = &self.counters else {
            for &line in &history.uncovered {
                let of = &history.lines[&line];
                let candidates = (0..=of.newest()).map(|version| intact(of, version)).collect();
                space.add(1, 0, vec![(line, vec![candidates])]);
            }
            return space;
        };
        let mut blocks: Vec<CounterBlock> = if counters.anything_deferred() {
            history.blocks.keys().copied().collect()
        } else {
            history.uncovered.iter().map(|&line| history.coverage.block(line)).collect()
        };
        if counters.unordered {
            blocks.extend(history.blocks.iter().filter(|(_, block)| block.batch.len() > 1).map(|(block, _)| *block));
        }
        blocks.sort_unstable();
        blocks.dedup();
        for block in blocks {
            counters.add_block(history, &history.blocks[&block], encoder, &mut space);
        }
        space
    }
}

impl Counters {
    fn defers(&self, history: &LineHistory) -> bool {
        self.write_path.defers_counter(history.is_counter_atomic())
    }

    fn anything_deferred(&self) -> bool {
        self.write_path.defers_counter(false)
    }

    fn add_block(&self, history: &History, block: &BlockHistory, encoder: &Encoder<'_>, space: &mut Space) {
        let mut lines = block.lines.clone();
        lines.sort_unstable();
        let modes = self.modes(history, block);
        let mut columns: Vec<Vec<Vec<Candidate>>> = Vec::new();
        for mode in modes {
            let column: Vec<Vec<Candidate>> =
                lines.iter().map(|&line| self.candidates(history, block, mode, line, encoder)).collect();
            if column.iter().all(|candidates| !candidates.is_empty()) {
                columns.push(column);
            }
        }
        let of_line = |index: usize| columns.iter().map(|column| column[index].clone()).collect();
        let rows = lines.iter().enumerate().map(|(index, &line)| (line, of_line(index))).collect();
        let nearest = if self.anything_deferred() { columns.len() - 1 } else { 0 };
        space.add(columns.len(), nearest, rows);
    }

    fn modes(&self, history: &History, block: &BlockHistory) -> Vec<Mode> {
        if self.anything_deferred() {
            let (from, _) = block.forced.unwrap_or((0, true));
            let written = |line: &Line| {
                let of = &history.lines[line];
                [of.covered_at, of.first_stored, Some(of.covered.epoch)].into_iter().flatten()
            };
            let mut epochs: Vec<u32> = block.lines.iter().flat_map(written).filter(|&epoch| epoch > from).collect();
            epochs.extend([from, history.epoch]);
            epochs.sort_unstable();
            epochs.dedup();
            return epochs.into_iter().map(Mode::OfEpoch).collect();
        }
        let mut modes = vec![Mode::InStep];
        let uncovered = || block.lines.iter().copied().filter(|line| history.lines[line].newest() > 0);
        if self.unordered {
            modes.extend(uncovered().map(Mode::AppendedLast));
            modes.extend(block.batch.iter().copied().filter(|_| block.batch.len() > 1).map(Mode::LastOfBatch));
        }
        if self.early && self.write_path.at_encrypted(true) == Admit::Unready {
            modes.extend(uncovered().map(Mode::Carried));
        }
        modes
    }

    /// What `line` may read as if its block reached the media as `mode` says; nothing if that cannot be.
    fn candidates(
        &self,
        history: &History,
        block: &BlockHistory,
        mode: Mode,
        line: Line,
        encoder: &Encoder<'_>,
    ) -> Vec<Candidate> {
        let of = &history.lines[&line];
        let mut candidates = Vec::new();
        for version in 0..=of.newest() {
            let mut may = |reading: Reading, legal: bool| {
                if legal {
                    let bytes = match reading {
                        Reading::Intact => of.version(version).bytes,
                        _ => encoder.read_back(line, of, version, reading),
                    };
                    candidates.push(Candidate { version, reading, bytes });
                }
            };
            let on_its_way = version < of.newest();
            match mode {
                Mode::InStep => {
                    may(Reading::Intact, true);
                    may(Reading::CounterAhead, on_its_way && self.write_path.at_bump() == Admit::Counter);
                }
                Mode::AppendedLast(last) => {
                    let is_last = line == last;
                    let counter_alone = self.write_path.at_bump() == Admit::Counter;
                    may(Reading::Intact, !is_last || version > 0);
                    may(Reading::CounterAhead, on_its_way && (!is_last || counter_alone));
                    may(Reading::CounterBehind, !is_last && version > 0 && earlier_write(of, version));
                    may(Reading::CounterFromBefore, !is_last && version > 0 && first_write(of, version));
                }
                // Nothing of the block has been appended since.
                Mode::LastOfBatch(last) => {
                    let passed = version == 0 && line != last && block.batch.contains(&line);
                    may(Reading::Intact, version == 0);
                    may(Reading::CounterBehind, passed && earlier_write(of, version));
                    may(Reading::CounterFromBefore, passed && first_write(of, version));
                }
                Mode::Carried(carrier) => {
                    let is_carrier = line == carrier;
                    may(Reading::Intact, !is_carrier || version > 0);
                    may(Reading::CounterAhead, !is_carrier && on_its_way);
                }
                Mode::OfEpoch(epoch) => {
                    let latest = epoch == history.epoch;
                    let complete = block.forced == Some((epoch, true));
                    let pair = !self.defers(of);
                    let written = if version == 0 { of.covered.epoch } else { of.version(version).epoch };
                    // The pair of a line takes the block along, so that with it the block is of this epoch.
                    let present = version == 0 || !pair || latest;
                    may(Reading::Intact, present && (version == 0 && of.covered_at.is_none() || written <= epoch));
                    may(Reading::CounterAhead, self.early && latest && on_its_way);
                    let left_out = match (version, of.covered_at) {
                        (0, None) => false,
                        (0, Some(at)) => !pair && (at > epoch || at == epoch && !complete),
                        _ => !pair,
                    };
                    let earlier = of.first_stored.is_some_and(|at| at <= epoch) && earlier_write(of, version);
                    let none_forced = of.first_covered.is_none_or(|at| at > epoch || at == epoch && !complete);
                    may(Reading::CounterBehind, left_out && earlier);
                    may(Reading::CounterFromBefore, left_out && none_forced);
                }
            }
        }
        candidates
    }
}

fn intact(of: &LineHistory, version: usize) -> Candidate {
    Candidate { version, reading: Reading::Intact, bytes: of.version(version).bytes }
}

/// Whether the line may have been written back in this run before `version` was.
fn earlier_write(of: &LineHistory, version: usize) -> bool {
    let stored_before = of.stores - (of.newest() - version) as u64;
    stored_before > 1
}

/// Whether `version` may have been the first that was written back in this run.
fn first_write(of: &LineHistory, version: usize) -> bool {
    of.first_covered.is_none() || version == 0 && of.first_covered == of.covered_at
}

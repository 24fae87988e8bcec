//! The states in which a design's hardware may leave a program at one of its fences, derived only from its parts list.
//!
//! In memory without counters, a line reads as any of its contents since the last one that a fence covers: a dirty line
//! may be evicted after any store. With counters it decrypts if the counter on the media belongs to its data. How far
//! the two may be apart follows from when each is admitted to the write pending queue, and from which lines' counters a
//! leaving block carries (secpm sections 3.3 and 3.5; counter-atomicity sections 4 and 5.2).
//!
//! The contents of different blocks' lines are independent: hardware orders writes of different blocks only by fences.
//!
//! The limit on circuits is applied once, over all counters that are ahead. That is exact except for two kinds of
//! design whose blocks carry counters of lines in flight: designs in which counters stay in the counter cache and are
//! put there at the increment, and designs in which pairs of several circuits overtake each other. There, a line that
//! was left out, or the write that carried the block, had a circuit at the same time as the lines that are ahead, which
//! is not counted: states with counters ahead are allowed that would need up to two more circuits. A full queue is not
//! considered for single pairs among other writes. An eviction that waits for the queue, and lets a later
//! `counter_cache_writeback` find its block clean, is not modelled.

use super::history::{BlockHistory, History, LineHistory};
use super::image::Encoder;
use super::space::{Candidate, Reading, Space};
use crate::config::Machine;
use crate::message::{CounterBlock, Line};
use crate::parts::{
    Admit, AppendOrder, CounterStore, CounterUpdate, Design, Domain, MinorReset, PairedLines, RecoveryStep,
    RegisterName, WritePath, WritebackOrder,
};

/// What may happen to a design's counters.
pub(crate) struct Hardware {
    counters: Option<Counters>,
    /// A minor counter overflows after this many writes of its line. `None` without minor counters, and if page
    /// re-encryption has no visible effect.
    overflow_shows: Option<u64>,
    /// Most lines between the increment of their counter and the queue.
    busy_max: u32,
}

struct Counters {
    write_path: WritePath,
    paired_lines: PairedLines,
    /// Whether the block in the counter cache takes a counter before its data is queued.
    early: bool,
    /// Whether waiting admissions of one page may overtake each other.
    unordered: bool,
    /// Whether `counter_cache_writeback` waits for earlier writes of the lines.
    pub writeback_complete: bool,
    /// Whether pads use the line's own counter, so that a counter that is behind repeats them.
    own: bool,
}

/// How a block has reached the media.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// With the counters of the data on the media.
    InStep,
    /// As it was at some time in this epoch; 0 means before the run.
    OfEpoch(u32),
    /// Last as this line's write carried it, although writes with later increments were appended earlier.
    Last(Last),
    /// With the pair of this line, and with counters of lines in flight.
    Carried(Line),
}

/// The write whose block was appended last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Last {
    line: Line,
    /// Whether a fence covers it, and nothing of the block has been appended since.
    covered: bool,
    /// The epoch of its increment.
    incremented: u32,
}

impl Hardware {
    /// The rules of `design` on `machine`.
    pub(crate) fn of(design: &Design, machine: &Machine) -> Self {
        let Some(parts) = design.encryption else {
            return Self { counters: None, overflow_shows: None, busy_max: 0 };
        };
        let tree = design.integrity.and_then(|integrity| integrity.tree);
        let tries = tree.is_some_and(|tree| tree.table.names_counters());
        // A boot that finds every counter, by trial, in a table or in what is below, leaves none behind.
        let recovered = design.recovery.iter().any(|step| match step {
            RecoveryStep::RecoverCounters => parts.write_path.stops_loss(),
            RecoveryStep::RestoreContents => !tries || parts.write_path.stops_loss(),
            RecoveryStep::RestoreStale | RecoveryStep::ApplyUpdates => true,
            _ => false,
        });
        if parts.store != CounterStore::Region || recovered {
            return Self { counters: None, overflow_shows: None, busy_max: 0 };
        }
        let scheme = parts.scheme(&machine.counters);
        let status_kept = design.register_domain(RegisterName::ReencryptionStatus) != Domain::Volatile;
        let splits = !scheme.global() && scheme.coverage().shares_major();
        // A completed line and its new counter are one step only as a pair.
        let in_steps = parts.write_path.at_encrypted(false) != Admit::Pair;
        let shows = splits && (parts.minor_reset == MinorReset::AtOnce || !status_kept || in_steps);
        let queued_pairs = parts.write_path.at_encrypted(true) == Admit::Unready;
        let pairs_only = queued_pairs && !parts.write_path.defers_counter(false);
        let units = machine.controller.aes_units;
        Self {
            counters: Some(Counters {
                write_path: parts.write_path,
                paired_lines: parts.paired_lines,
                early: parts.update == CounterUpdate::AtBump,
                unordered: parts.append_order == AppendOrder::UnitOrder && units > 1,
                writeback_complete: parts.writeback_order == WritebackOrder::AfterData,
                own: !scheme.global(),
            }),
            overflow_shows: shows.then_some(1 << machine.counters.minor_bits),
            busy_max: if pairs_only { units + machine.controller.wpq_entries } else { units },
        }
    }

    /// Whether the counter on the media always belongs to the data there, so that every line decrypts.
    pub(crate) fn keeps_counters(&self) -> bool {
        let Some(counters) = &self.counters else { return true };
        let alone = counters.write_path.at_bump() == Admit::Counter;
        let carried = counters.early && counters.write_path.at_encrypted(true) == Admit::Unready;
        self.overflow_shows.is_none() && counters.pairs_only() && !alone && !carried && !counters.unordered
    }

    /// Which lines are counter-atomic beside those that are marked.
    pub(super) fn paired_lines(&self) -> PairedLines {
        self.counters.as_ref().map_or(PairedLines::Marked, |counters| counters.paired_lines)
    }

    /// Whether a covered `counter_cache_writeback` includes all earlier writes of its lines.
    pub(crate) fn writeback_complete(&self) -> bool {
        self.counters.as_ref().is_some_and(|counters| counters.writeback_complete)
    }

    /// Whether the line's writes that a fence covers have written the whole counter block, too.
    pub(crate) fn carries(&self, history: &LineHistory) -> bool {
        self.counters.as_ref().is_some_and(|counters| !counters.defers(history, 0))
    }

    /// A line whose page may be under re-encryption now, so that the page's lines do not decrypt. A line in flight may
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

    /// All legal states at the fence that `history` is about to reach.
    pub(super) fn space(&self, history: &History, encoder: &Encoder<'_>) -> Space {
        let Some(counters) = &self.counters else {
            let mut space = Space::new(self.busy_max);
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
            blocks.extend(history.blocks.iter().filter(|(_, block)| block.lines.len() > 1).map(|(block, _)| *block));
        }
        blocks.sort_unstable();
        blocks.dedup();
        self.space_of(history, encoder, &blocks)
    }

    /// All legal states there of the lines of these counter blocks, while all others have arrived.
    pub(crate) fn space_of(&self, history: &History, encoder: &Encoder<'_>, blocks: &[CounterBlock]) -> Space {
        let mut space = Space::new(self.busy_max);
        if let Some(counters) = &self.counters {
            for block in blocks {
                counters.add_block(history, &history.blocks[block], encoder, &mut space);
            }
        }
        space
    }
}

impl Counters {
    /// Whether the counter of `version` may stay in the counter cache.
    fn defers(&self, of: &LineHistory, version: usize) -> bool {
        self.write_path.defers_counter(of.is_counter_atomic(version))
    }

    /// Whether every write waits in the queue until its counter is there.
    fn pairs_only(&self) -> bool {
        !self.anything_deferred()
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
            let from = block.forced.unwrap_or(0);
            let written = |line: &Line| {
                let of = &history.lines[line];
                let later = of.later.iter().map(|version| version.epoch);
                [of.covered_at, of.first_stored, Some(of.covered.epoch)].into_iter().flatten().chain(later)
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
            modes.extend(last_appended(history, block).into_iter().map(Mode::Last));
        }
        if self.early && self.write_path.at_encrypted(true) == Admit::Unready {
            modes.extend(uncovered().map(Mode::Carried));
        }
        modes
    }

    /// What `line` may read as if its block reached the media as `mode` says; empty if that is not possible.
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
            let stored = Stored { history, block, line, of, version };
            let legal = match mode {
                Mode::InStep => self.in_step(&stored),
                Mode::Last(last) if line == last.line => self.of_last(&stored, last),
                Mode::Last(last) => stored.beside_last(last),
                Mode::Carried(carrier) => stored.carried_by(carrier),
                Mode::OfEpoch(epoch) => self.of_epoch(&stored, epoch),
            };
            candidates.extend(legal.readings().map(|reading| {
                let bytes = match reading {
                    Reading::Intact => of.version(version).bytes,
                    _ => encoder.read_back(line, of, version, reading),
                };
                let queued = of.is_counter_atomic_now() && !self.pairs_only();
                let busy = reading == Reading::CounterAhead && !queued;
                Candidate { version, reading, bytes, busy }
            }));
        }
        candidates
    }

    /// If the block has the counters of the data on the media.
    fn in_step(&self, stored: &Stored<'_>) -> Legal {
        let counter_alone = self.write_path.at_bump() == Admit::Counter;
        let carried = self.early && self.write_path.at_encrypted(true) == Admit::Unready;
        let others_covered = stored.others().filter_map(|other| other.covered_at).max();
        let ahead = stored.is_on_its_way() && (counter_alone || carried && stored.has_left_by(others_covered));
        Legal { intact: true, ahead, ..Legal::default() }
    }

    /// If the block was last appended by a write of this line.
    fn of_last(&self, stored: &Stored<'_>, last: Last) -> Legal {
        let counter_alone = self.write_path.at_bump() == Admit::Counter;
        let incremented_later =
            stored.of.later.iter().skip(stored.version).any(|later| later.epoch <= last.incremented);
        let intact =
            if last.covered { stored.version == 0 } else { stored.version > 0 && stored.epoch() <= last.incremented };
        Legal { intact, ahead: counter_alone && !last.covered && incremented_later, ..Legal::default() }
    }

    /// If the block is as it was at some time in this epoch.
    fn of_epoch(&self, stored: &Stored<'_>, epoch: u32) -> Legal {
        let Stored { block, of, version, .. } = *stored;
        let behind = |at: u32, waited_for: bool| at > epoch || at == epoch && !waited_for;
        let pair = !self.defers(of, version);
        // Pairs alone leave no dirty block: the write of another line must have made it leave.
        let forced = block.forced.unwrap_or(0);
        let dirties = |other: &LineHistory| {
            let covered = |at: u32| at > forced || at == forced && !other.waited_for;
            other.newest() > 0 || other.covered_at.is_some_and(covered)
        };
        let may_leave = stored.is_written() && !pair
            || stored.is_on_its_way() && (self.defers(of, version + 1) || stored.has_left_by(block.forced))
            || stored.others().any(dirties);
        let left_out = match (version, of.covered_at) {
            (0, None) => false,
            (0, Some(at)) => !pair && behind(at, of.waited_for),
            _ => !pair,
        };
        let earlier = of.first_stored.is_some_and(|at| at <= epoch) && earlier_write(of, version);
        let none_forced = of.first_covered.is_none_or(|at| behind(at, of.first_waited_for));
        Legal {
            intact: !stored.is_written() || stored.epoch() <= epoch,
            ahead: self.early && stored.has_left_by(Some(epoch)) && may_leave,
            behind: left_out && earlier,
            from_before: left_out && none_forced,
        }
    }
}

/// Which readings of a content are legal.
#[derive(Clone, Copy, Default)]
struct Legal {
    intact: bool,
    ahead: bool,
    behind: bool,
    from_before: bool,
}

impl Legal {
    fn readings(self) -> impl Iterator<Item = Reading> {
        let all = [
            (Reading::Intact, self.intact),
            (Reading::CounterAhead, self.ahead),
            (Reading::CounterBehind, self.behind),
            (Reading::CounterFromBefore, self.from_before),
        ];
        all.into_iter().filter(|(_, legal)| *legal).map(|(reading, _)| reading)
    }
}

/// A version of a line that may be on the media, with the other lines of its block.
struct Stored<'h> {
    history: &'h History,
    block: &'h BlockHistory,
    line: Line,
    of: &'h LineHistory,
    version: usize,
}

impl<'h> Stored<'h> {
    /// The other lines of the block.
    fn others(&self) -> impl Iterator<Item = &'h LineHistory> {
        let Self { history, block, line, .. } = *self;
        block.lines.iter().filter(move |other| **other != line).map(|other| &history.lines[other])
    }

    /// The epoch in which the version was stored.
    fn epoch(&self) -> u32 {
        self.of.version(self.version).epoch
    }

    /// Whether the version was written during the run.
    fn is_written(&self) -> bool {
        self.version > 0 || self.of.covered_at.is_some()
    }

    /// Whether the counter of a later version may have been incremented.
    fn is_on_its_way(&self) -> bool {
        self.version < self.of.newest()
    }

    /// Whether the counter of a later version may have been incremented before the fence of that epoch.
    fn has_left_by(&self, epoch: Option<u32>) -> bool {
        self.is_on_its_way() && epoch.is_some_and(|at| self.of.version(self.version + 1).epoch <= at)
    }

    /// If the block was last appended by a write of another line.
    fn beside_last(&self, last: Last) -> Legal {
        let Self { history, of, version, .. } = *self;
        let until = if last.covered { history.lines[&last.line].covered_at } else { None };
        let present = !self.is_written() || until.is_none_or(|until| self.epoch() <= until);
        // Its counter may have been incremented after the last.
        let passed = present && self.is_written() && (version > 0 || of.covered_at >= Some(last.incremented));
        let none_before = of.first_covered.is_none_or(|at| last.incremented <= at);
        let one_before = earlier_write(of, version) && of.first_stored <= Some(last.incremented);
        Legal {
            intact: present && (!self.is_written() || self.epoch() <= last.incremented),
            ahead: present && self.has_left_by(Some(last.incremented)),
            behind: passed && one_before,
            from_before: passed && none_before,
        }
    }

    /// If the block left with the pair of the line `carrier`.
    fn carried_by(&self, carrier: Line) -> Legal {
        let is_carrier = self.line == carrier;
        Legal {
            intact: !is_carrier || self.version > 0,
            ahead: self.is_on_its_way() && !is_carrier,
            ..Legal::default()
        }
    }
}

fn intact(of: &LineHistory, version: usize) -> Candidate {
    Candidate { version, reading: Reading::Intact, bytes: of.version(version).bytes, busy: false }
}

/// Whether the line may have been written back during the run before `version` was.
fn earlier_write(of: &LineHistory, version: usize) -> bool {
    of.stores_in(version) > 1
}

/// The writes of the block that may have been appended last although others had later increments.
fn last_appended(history: &History, block: &BlockHistory) -> Vec<Last> {
    let lines = || block.lines.iter().map(|line| (*line, &history.lines[line]));
    // Between two of these epochs the possibilities do not change.
    let told = |of: &LineHistory| [of.covered_at, of.first_stored, of.first_covered, Some(of.covered.epoch)];
    let uncovered = |of: &LineHistory| of.later.iter().map(|version| version.epoch).collect::<Vec<_>>();
    let mut epochs: Vec<u32> =
        lines().flat_map(|(_, of)| told(of).into_iter().flatten().chain(uncovered(of))).collect();
    epochs.push(history.epoch);
    epochs.sort_unstable();
    epochs.dedup();
    let newest = lines().filter(|(_, of)| of.covered_at.is_some()).map(|(_, of)| of.covered.epoch).max();
    let mut all = Vec::new();
    for (line, of) in lines().filter(|_| block.lines.len() > 1) {
        let mut add = |covered: bool, from: u32, to: u32| {
            let incremented = epochs.iter().filter(|&&epoch| from <= epoch && epoch <= to);
            all.extend(incremented.map(|&incremented| Last { line, covered, incremented }));
        };
        if let Some(first) = of.later.first() {
            add(false, first.epoch, history.epoch);
        }
        if let Some(at) = of.covered_at.filter(|&at| Some(at) >= newest) {
            add(true, of.covered.epoch, at);
        }
    }
    all
}

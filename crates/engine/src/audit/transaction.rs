//! Atomicity and durability. After power failure, boot (including its undo of what hardware logged) and the program's
//! own recovery, a core's heap must equal the golden state after its c committed transactions, or after c + 1 if the
//! next one has started.
//!
//! The golden states come from the ledger. Judging is incremental: `diff` has the heap lines whose durable bytes differ
//! from golden state c; recovery runs on a copy-on-write view and is repeated only if something that it read has
//! changed; and only `diff`, the lines that recovery wrote and the write set in flight are compared.
//!
//! The domain of state k is the populated base and every line written by the first k transactions. New memory that an
//! unfinished transaction has filled belongs to no state yet and may hold anything.

use super::ledger::TransactionRecord;
use super::line_record::{Id, NOWHERE, Role};
use super::lines::Lines;
use crate::message::{ByteView, CoreId, Line, LineBytes, ProgramRecovery, RecoveryReport, RepeatedRecovery, pieces};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};

/// How many earlier states a violation is compared with, to distinguish a lost transaction from a torn one.
const HISTORY_TRANSACTIONS: usize = 8;

/// What was found wrong with one core.
pub(super) struct Finding {
    pub core: CoreId,
    /// Whether committed state is missing, instead of the transaction in flight being torn.
    pub durability: bool,
    /// How many committed transactions are missing, if the heap equals an older state exactly.
    pub missing: Option<usize>,
    /// Heap lines that hold neither their committed bytes nor those of the transaction in flight, lowest address first.
    pub mismatches: Vec<Id>,
    /// Lines of the transaction in flight that hold its bytes, and those that do not, lowest address first.
    pub arrived: usize,
    pub lacking: Vec<Id>,
    pub report: RecoveryReport,
}

impl Finding {
    /// The line that shows best what is wrong.
    pub fn lead(&self) -> Option<Id> {
        self.mismatches.first().or(self.lacking.first()).copied()
    }
}

/// The part of its transaction that a core is in (Figure 1 of secpm).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    Idle,
    Prepare,
    Mutate,
    Commit,
    /// A program without a log, with this many fences completed.
    Unlogged(u32),
    /// A program whose log hardware keeps; when the log is freed, the transaction has committed.
    HardwareLogged {
        freed: bool,
    },
}

impl Stage {
    /// The stage's name in a report; `None` between transactions. Without a log, Prepare makes the new data durable and
    /// Commit is the swap that publishes it.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Stage::Idle => None,
            Stage::Prepare | Stage::Unlogged(0) => Some("prepare"),
            Stage::Mutate | Stage::HardwareLogged { freed: false } => Some("mutate"),
            Stage::Commit | Stage::Unlogged(_) | Stage::HardwareLogged { freed: true } => Some("commit"),
        }
    }
}

struct UndoLine {
    id: Id,
    bytes: LineBytes,
    in_domain: bool,
}

struct CoreState {
    core: CoreId,
    has_log: bool,
    inbox: VecDeque<TransactionRecord>,
    committed: u64,
    started: bool,
    /// The write set in flight, heap lines only.
    writes: Vec<(Id, LineBytes)>,
    /// What the transaction writes to its log in Prepare.
    prepared: Vec<(Id, LineBytes)>,
    /// Fences completed since the transaction began: the first ends Prepare, the second Mutate (secpm Figure 1).
    fences: u32,
    /// Whether the hardware's log of the transaction in flight has been freed.
    log_freed: bool,
    past: VecDeque<Vec<UndoLine>>,
    diff: Vec<Id>,
    overlay: Vec<(Id, LineBytes)>,
    stamp: u32,
    report: RecoveryReport,
    recovery: RepeatedRecovery,
    recovery_stale: bool,
    dirty: bool,
    bad: bool,
}

/// Judges the heaps of all cores.
pub(super) struct Transactions {
    program: Arc<dyn ProgramRecovery>,
    /// In a mutex so that threads may share what has been received; nothing waits for it.
    records: Mutex<Receiver<TransactionRecord>>,
    cores: Vec<CoreState>,
    stamp: u32,
    /// Whether hardware keeps the log.
    hardware_logged: bool,
}

impl Transactions {
    /// `hardware_logged`: whether hardware keeps the log.
    pub fn new(program: Arc<dyn ProgramRecovery>, records: Receiver<TransactionRecord>, hardware_logged: bool) -> Self {
        let cores = program
            .layouts()
            .iter()
            .map(|layout| CoreState {
                core: layout.core,
                has_log: !layout.log.is_empty(),
                inbox: VecDeque::new(),
                committed: 0,
                started: false,
                writes: Vec::new(),
                prepared: Vec::new(),
                fences: 0,
                log_freed: false,
                past: VecDeque::new(),
                diff: Vec::new(),
                overlay: Vec::new(),
                stamp: 0,
                report: RecoveryReport::default(),
                recovery: RepeatedRecovery::new(&program, layout.core),
                recovery_stale: true,
                dirty: true,
                bad: false,
            })
            .collect();
        Self { program, records: Mutex::new(records), cores, stamp: 0, hardware_logged }
    }

    /// Handles that `core` began transaction `number`.
    pub fn began(&mut self, lines: &mut Lines, core: CoreId, number: u64) {
        let Some(state) = self.cores.iter().position(|state| state.core == core) else { return };
        for record in self.records.get_mut().expect("nothing panics with it").try_iter() {
            if let Some(of) = self.cores.iter_mut().find(|state| state.core == record.core) {
                of.inbox.push_back(record);
            }
        }
        let state = &mut self.cores[state];
        while let Some(record) = state.inbox.pop_front() {
            if record.number != Some(number) {
                continue;
            }
            take_those_of(Role::Heap(core), lines, record.writes, &mut state.writes);
            take_those_of(Role::Log(core), lines, record.prepared, &mut state.prepared);
            break;
        }
        state.fences = 0;
        state.log_freed = false;
        state.started = true;
        state.dirty = true;
    }

    /// Handles the completion of a fence of `core`.
    pub fn fenced(&mut self, core: CoreId) {
        if let Some(state) = self.cores.iter_mut().find(|state| state.core == core) {
            state.fences += 1;
        }
    }

    /// Handles that the hardware's log of the transaction of `core` was freed.
    pub fn log_freed(&mut self, core: CoreId) {
        if let Some(state) = self.cores.iter_mut().find(|state| state.core == core) {
            state.log_freed = true;
        }
    }

    /// Handles that `core` ended its transaction, which must survive from now on.
    pub fn ended(&mut self, lines: &mut Lines, core: CoreId) {
        let Some(state) = self.cores.iter_mut().find(|state| state.core == core) else { return };
        let mut undo = Vec::with_capacity(state.writes.len());
        for (id, bytes) in std::mem::take(&mut state.writes) {
            let golden = &mut lines.record_mut(id).golden;
            undo.push(UndoLine { id, bytes: golden.bytes, in_domain: golden.in_domain });
            golden.bytes = bytes;
            golden.in_domain = true;
            place_in_diff(lines, &mut state.diff, id);
        }
        state.past.push_front(undo);
        state.past.truncate(HISTORY_TRANSACTIONS);
        state.committed += 1;
        state.started = false;
        state.dirty = true;
    }

    /// Handles a change of what the program's recovery would find in the line.
    pub fn changed(&mut self, lines: &mut Lines, id: Id) {
        let record = lines.record(id);
        let (line, role, read_stamp) = (record.line, record.role, record.golden.read_stamp);
        let (Role::Heap(core) | Role::Log(core)) = role else { return };
        let Some(state) = self.cores.iter_mut().find(|state| state.core == core) else { return };
        state.recovery.changed(line);
        if read_stamp == state.stamp || state.recovery.remembers(line) {
            state.recovery_stale = true;
            state.dirty = true;
        }
        if let Role::Heap(_) = role {
            state.dirty = true;
            place_in_diff(lines, &mut state.diff, id);
        }
    }

    /// Judges every core with changes; adds those that are now wrong, or wrong in a new way, to `findings`.
    pub fn judge(&mut self, lines: &mut Lines, findings: &mut Vec<Finding>) {
        for state in &mut self.cores {
            if !std::mem::take(&mut state.dirty) {
                continue;
            }
            if std::mem::take(&mut state.recovery_stale) {
                self.stamp += 1;
                state.recover(lines, self.stamp);
            }
            let finding = state.compare(lines);
            state.bad = finding.is_some();
            findings.extend(finding);
        }
    }

    /// Number of cores that are wrong now.
    pub fn bad(&self) -> u64 {
        self.cores.iter().filter(|state| state.bad).count() as u64
    }

    /// Whether `core` is wrong now.
    pub fn is_bad(&self, core: CoreId) -> bool {
        self.cores.iter().any(|state| state.core == core && state.bad)
    }

    /// Whether the program's recovery would write anything, as of the last judgement.
    pub fn recovery_writes(&self) -> bool {
        self.cores.iter().any(|state| !state.overlay.is_empty())
    }

    /// The number of the transaction that `core` runs or would run next.
    pub fn current(&self, core: CoreId) -> Option<u64> {
        self.cores.iter().find(|state| state.core == core).map(|state| state.committed)
    }

    /// The part of its transaction that `core` is in.
    pub fn stage(&self, core: CoreId) -> Stage {
        let Some(state) = self.cores.iter().find(|state| state.core == core) else { return Stage::Idle };
        match state.fences {
            _ if !state.started => Stage::Idle,
            _ if self.hardware_logged => Stage::HardwareLogged { freed: state.log_freed },
            fences if !state.has_log => Stage::Unlogged(fences),
            0 => Stage::Prepare,
            1 => Stage::Mutate,
            _ => Stage::Commit,
        }
    }

    /// The cores whose programs keep a log.
    pub fn cores_with_log(&self) -> impl Iterator<Item = CoreId> {
        let kept_by_program = !self.hardware_logged;
        self.cores.iter().filter(move |state| kept_by_program && state.has_log).map(|state| state.core)
    }

    /// What the transaction in flight of `core` writes to its log in Prepare, and to its heap by its end.
    pub fn written(&self, core: CoreId) -> [&[(Id, LineBytes)]; 2] {
        let state = self.cores.iter().find(|state| state.core == core);
        state.map_or([&[], &[]], |state| [&state.prepared, &state.writes])
    }

    /// What `line` holds after the boot and the last judged recovery.
    pub fn recovered(&self, lines: &Lines, line: Line) -> Option<LineBytes> {
        let id = lines.find(line)?;
        let record = lines.record(id);
        let (Role::Heap(core) | Role::Log(core)) = record.role else { return Some(*record.booted()) };
        self.cores.iter().find(|state| state.core == core).map(|state| *state.after(lines, id))
    }

    /// The program whose recovery is judged.
    pub fn program(&self) -> &Arc<dyn ProgramRecovery> {
        &self.program
    }
}

impl CoreState {
    fn recover(&mut self, lines: &mut Lines, stamp: u32) {
        self.stamp = stamp;
        self.overlay.clear();
        let mut view = RecoveryView { lines, overlay: &mut self.overlay, stamp };
        self.report = self.recovery.recover(&mut view);
    }

    /// What the line holds after recovery.
    fn after<'a>(&'a self, lines: &'a Lines, id: Id) -> &'a LineBytes {
        let record = lines.record(id);
        if record.golden.overlay_stamp == self.stamp {
            &self.overlay[record.golden.overlay_slot as usize].1
        } else {
            record.booted()
        }
    }

    fn compare(&self, lines: &Lines) -> Option<Finding> {
        let touched = || self.diff.iter().copied().chain(self.overlay.iter().map(|&(id, _)| id));
        let is_committed = |id: Id| {
            let golden = &lines.record(id).golden;
            !golden.in_domain || *self.after(lines, id) == golden.bytes
        };
        if touched().all(is_committed) {
            return None;
        }
        if self.started {
            // Without a hash map: a line of the write set must hold its new bytes, and every other changed line must be
            // committed or belong to the write set.
            let written = self.writes.iter().all(|(id, bytes)| self.after(lines, *id) == bytes);
            if written && touched().all(|id| is_committed(id) || self.writes.iter().any(|&(of, _)| of == id)) {
                return None;
            }
        }
        Some(self.explain(lines))
    }

    /// Only for violations: finds the lines that match no state, and whether the heap equals an older state.
    fn explain(&self, lines: &Lines) -> Finding {
        let mut touched: Vec<Id> = self.diff.clone();
        touched.extend(self.overlay.iter().map(|&(id, _)| id));
        touched.extend(self.past.iter().flatten().map(|undo| undo.id));
        touched.sort_unstable();
        touched.dedup();
        let mut expected: FxHashMap<Id, (LineBytes, bool)> = touched
            .iter()
            .map(|&id| {
                let golden = &lines.record(id).golden;
                (id, (golden.bytes, golden.in_domain))
            })
            .collect();
        let in_flight: FxHashMap<Id, LineBytes> =
            if self.started { self.writes.iter().copied().collect() } else { FxHashMap::default() };
        let mut wrong: Vec<Id> = touched
            .iter()
            .copied()
            .filter(|id| {
                let (bytes, in_domain) = expected[id];
                in_domain && *self.after(lines, *id) != bytes
            })
            .collect();
        let mut missing = None;
        for (back, undo) in self.past.iter().enumerate() {
            for line in undo {
                expected.insert(line.id, (line.bytes, line.in_domain));
            }
            if expected.iter().all(|(&id, (bytes, in_domain))| !in_domain || self.after(lines, id) == bytes) {
                missing = Some(back + 1);
                break;
            }
        }
        let committed_lost = wrong.iter().any(|id| !in_flight.contains_key(id));
        wrong.retain(|id| in_flight.get(id) != Some(self.after(lines, *id)));
        wrong.sort_by_key(|&id| lines.record(id).line);
        let mut lacking: Vec<Id> =
            in_flight.iter().filter(|(id, bytes)| self.after(lines, **id) != *bytes).map(|(&id, _)| id).collect();
        lacking.sort_by_key(|&id| lines.record(id).line);
        Finding {
            core: self.core,
            durability: missing.is_some() || committed_lost,
            missing,
            mismatches: wrong,
            arrived: in_flight.len() - lacking.len(),
            lacking,
            report: self.report,
        }
    }
}

/// Replaces `taken` with those of `writes` whose lines have this role.
fn take_those_of(role: Role, lines: &mut Lines, writes: Vec<(Line, LineBytes)>, taken: &mut Vec<(Id, LineBytes)>) {
    taken.clear();
    for (line, bytes) in writes {
        let id = lines.id(line);
        if lines.record(id).role == role {
            taken.push((id, bytes));
        }
    }
}

/// Adds the line to `diff` or removes it, depending on its durable bytes.
fn place_in_diff(lines: &mut Lines, diff: &mut Vec<Id>, id: Id) {
    let record = lines.record_mut(id);
    let differs = record.golden.in_domain && *record.booted() != record.golden.bytes;
    let slot = record.golden.diff_slot;
    if differs && slot == NOWHERE {
        record.golden.diff_slot = diff.len() as u32;
        diff.push(id);
    } else if !differs && slot != NOWHERE {
        record.golden.diff_slot = NOWHERE;
        diff.swap_remove(slot as usize);
        if let Some(&moved) = diff.get(slot as usize) {
            lines.record_mut(moved).golden.diff_slot = slot;
        }
    }
}

/// The durable view after the boot's undo of what hardware logged, as the program's recovery sees it. Its writes stay
/// in the overlay.
struct RecoveryView<'a> {
    lines: &'a mut Lines,
    overlay: &'a mut Vec<(Id, LineBytes)>,
    stamp: u32,
}

impl ByteView for RecoveryView<'_> {
    fn read(&mut self, address: u64, buffer: &mut [u8]) {
        for (line, offset, range) in pieces(address, buffer.len()) {
            let id = self.lines.id(line);
            let record = self.lines.record_mut(id);
            record.golden.read_stamp = self.stamp;
            let bytes = if record.golden.overlay_stamp == self.stamp {
                &self.overlay[record.golden.overlay_slot as usize].1
            } else {
                record.booted()
            };
            let length = range.len();
            buffer[range].copy_from_slice(&bytes[offset..offset + length]);
        }
    }

    fn write(&mut self, address: u64, data: &[u8]) {
        for (line, offset, range) in pieces(address, data.len()) {
            let id = self.lines.id(line);
            let record = self.lines.record_mut(id);
            if record.golden.overlay_stamp != self.stamp {
                // The rest of the line comes from the durable view, so this counts as reading it.
                record.golden.read_stamp = self.stamp;
                record.golden.overlay_stamp = self.stamp;
                record.golden.overlay_slot = self.overlay.len() as u32;
                let booted = *record.booted();
                self.overlay.push((id, booted));
            }
            let length = range.len();
            let slot = record.golden.overlay_slot as usize;
            self.overlay[slot].1[offset..offset + length].copy_from_slice(&data[range]);
        }
    }
}

//! The line rule. A line whose last store is covered by a completed fence must decrypt to the result of that store at
//! every crash point. While there are uncovered stores, a design that promises line atomicity must show the covered
//! version or a later one, never a mixture. For other designs the line is not checked until the next fence covers it.
//!
//! A design may make this promise only for marked lines: those with a `CounterAtomic` variable (counter-atomicity
//! section 4.3). Stores before the line was marked are not part of the promise, so it applies from the fence that
//! covers those stores.
//!
//! If the caches are in the persistence domain, a store is covered in the event in which it becomes visible. Then
//! fences add nothing, nothing is in flight, and the rule checks the memory that a boot produces instead of the bytes
//! at the line's own address, because lines may leave for other places. It does so, too, where accepted writes leave on battery.
//!
//! Volatile data of a program may hold anything after a crash, and is not checked.

use super::line_record::{Id, Record, Role};
use super::lines::Lines;
use crate::message::{CoreId, LineBytes};
use crate::parts::LineAtomicity;

/// Checks the line rule from stores, flushes and fences.
pub(super) struct LineRule {
    atomicity: LineAtomicity,
    /// Whether stores are durable as soon as they are visible.
    at_once: bool,
    /// Whether the rule checks the memory that a boot produces.
    booted: bool,
    /// For each core: flushed lines and the version that each held, waiting for a fence.
    flushed: Vec<Vec<(Id, u64)>>,
    queue: Vec<Id>,
    bad: u64,
}

impl LineRule {
    /// `caches_leave`: whether the caches are in the persistence domain, if lines leave on battery.
    pub fn new(atomicity: LineAtomicity, caches_leave: Option<bool>, cores: usize) -> Self {
        let (at_once, booted) = (caches_leave == Some(true), caches_leave.is_some());
        Self { atomicity, at_once, booted, flushed: vec![Vec::new(); cores], queue: Vec::new(), bad: 0 }
    }

    /// Handles that a store of `data` at `offset` became visible.
    pub fn stored(&mut self, lines: &mut Lines, event: u64, id: Id, offset: usize, data: &[u8]) {
        let record = lines.record_mut(id);
        let history = &mut record.history;
        let mut version = *history.latest();
        version[offset..offset + data.len()].copy_from_slice(data);
        history.stored_at = Some(event);
        if matches!(record.role, Role::Volatile(_)) {
            history.covered = version;
            return;
        }
        if self.at_once {
            history.covered = version;
            history.number += 1;
            self.recheck(lines, id);
            return;
        }
        history.later.push(version);
        // A new version is allowed: a line that was wrong without this store may be right now.
        if history.bad {
            self.recheck(lines, id);
        }
    }

    /// Handles that the line holds a `CounterAtomic` variable from now on. All versions that are allowed now stay
    /// allowed.
    pub fn marked(&mut self, lines: &mut Lines, id: Id) {
        let history = &mut lines.record_mut(id).history;
        history.marked = history.marked.or(Some(history.number + history.later.len() as u64));
    }

    /// Handles a flush of the line by `core`.
    pub fn flushed(&mut self, lines: &Lines, core: CoreId, id: Id) {
        let history = &lines.record(id).history;
        self.core(core).push((id, history.number + history.later.len() as u64));
    }

    /// Handles the completion of a fence of `core`.
    pub fn fenced(&mut self, lines: &mut Lines, event: u64, core: CoreId) {
        let mut flushed = std::mem::take(self.core(core));
        for (id, number) in flushed.drain(..) {
            let history = &mut lines.record_mut(id).history;
            if number > history.number {
                let dropped = (number - history.number) as usize;
                history.covered = history.later[dropped - 1];
                history.later.drain(..dropped);
                history.number = number;
                history.covered_at = Some(event);
                self.recheck(lines, id);
            }
        }
        *self.core(core) = flushed;
    }

    /// Schedules a new check of the line: its durable bytes or its obligations changed.
    pub fn recheck(&mut self, lines: &mut Lines, id: Id) {
        let history = &mut lines.record_mut(id).history;
        if !history.queued {
            history.queued = true;
            self.queue.push(id);
        }
    }

    /// Checks what changed; adds the lines that are now wrong to `turned_bad`.
    pub fn judge(&mut self, lines: &mut Lines, turned_bad: &mut Vec<Id>) {
        for id in self.queue.drain(..) {
            let record = lines.record_mut(id);
            record.history.queued = false;
            let bad = match self.at_once {
                _ if matches!(record.role, Role::Volatile(_)) => false,
                true => *record.booted() != record.history.covered,
                false => {
                    let bytes = if self.booted { record.booted() } else { &record.durable.plain };
                    !allowed(record, bytes, self.atomicity)
                }
            };
            if bad && !record.history.bad {
                self.bad += 1;
                turned_bad.push(id);
            } else if !bad && record.history.bad {
                self.bad -= 1;
            }
            record.history.bad = bad;
        }
    }

    /// Number of lines that are wrong now.
    pub fn bad(&self) -> u64 {
        self.bad
    }

    fn core(&mut self, core: CoreId) -> &mut Vec<(Id, u64)> {
        let core = usize::from(core);
        if core >= self.flushed.len() {
            self.flushed.resize_with(core + 1, Vec::new);
        }
        &mut self.flushed[core]
    }
}

/// Whether these bytes, which a boot finds for the line, are among the versions that a crash may show.
fn allowed(record: &Record, durable: &LineBytes, atomicity: LineAtomicity) -> bool {
    let history = &record.history;
    let line_atomic = match atomicity {
        LineAtomicity::None => false,
        LineAtomicity::Marked => history.marked.is_some_and(|number| number <= history.number),
        LineAtomicity::Every => true,
    };
    *durable == history.covered || (!history.later.is_empty() && (!line_atomic || history.later.contains(durable)))
}

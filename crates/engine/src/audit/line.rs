//! The line rule. A line whose last store is covered by a completed fence must decrypt to that store's result at every
//! crash point. While stores are uncovered, a design that promises line atomicity must show the covered version or
//! a later one, never a mixture; a design that does not is left alone until the next fence covers the line.
//!
//! A design may promise that for marked lines alone: those with a `CounterAtomic` variable (counter-atomicity section
//! 4.3). What was stored to a line before it was marked is not part of the promise, so the line is held to it from the
//! fence on that covers those stores.
//!
//! If the caches are in the persistence domain, a store is covered in the event in which it becomes visible. Then fences
//! add nothing, nothing is in flight, and the rule asks what a boot makes of memory rather than what lies at the line's
//! own address, because lines may leave for other places.

use super::lines::{Id, Lines, Record};
use crate::message::{CoreId, LineBytes};
use crate::parts::LineAtomicity;

/// The versions of one line that a crash may show.
pub(super) struct History {
    /// The newest version that a completed fence covers; the base until then.
    pub covered: LineBytes,
    /// Everything stored since, in order.
    pub later: Vec<LineBytes>,
    /// Number of the covered version: versions count from 0, the base.
    number: u64,
    /// The event of the last store.
    pub stored_at: Option<u64>,
    /// The event of the fence that covers `covered`.
    pub covered_at: Option<u64>,
    /// Once the line is marked, the number of the version that it held then.
    marked: Option<u64>,
    queued: bool,
    bad: bool,
}

impl History {
    pub fn new(base: LineBytes) -> Self {
        Self {
            covered: base,
            later: Vec::new(),
            number: 0,
            stored_at: None,
            covered_at: None,
            marked: None,
            queued: false,
            bad: false,
        }
    }

    /// The line breaks the rule, as of the last judgement.
    pub fn is_bad(&self) -> bool {
        self.bad
    }

    /// What the program sees in the line.
    pub fn latest(&self) -> &LineBytes {
        self.later.last().unwrap_or(&self.covered)
    }
}

/// Watches stores, flushes and fences.
pub(super) struct LineRule {
    atomicity: LineAtomicity,
    /// Stores are durable once they are visible.
    at_once: bool,
    /// Per core: flushed lines and the version that each held, waiting for a fence.
    flushed: Vec<Vec<(Id, u64)>>,
    queue: Vec<Id>,
    bad: u64,
}

impl LineRule {
    /// `at_once`: the caches are in the persistence domain.
    pub fn new(atomicity: LineAtomicity, at_once: bool, cores: usize) -> Self {
        Self { atomicity, at_once, flushed: vec![Vec::new(); cores], queue: Vec::new(), bad: 0 }
    }

    /// A store of `data` at `offset` became visible.
    pub fn stored(&mut self, lines: &mut Lines, event: u64, id: Id, offset: usize, data: &[u8]) {
        let history = &mut lines.record_mut(id).history;
        let mut version = *history.latest();
        version[offset..offset + data.len()].copy_from_slice(data);
        history.stored_at = Some(event);
        if self.at_once {
            history.covered = version;
            history.number += 1;
            self.recheck(lines, id);
            return;
        }
        history.later.push(version);
        // More is allowed now: a line that was wrong for want of this store may be right.
        if history.bad {
            self.recheck(lines, id);
        }
    }

    /// The line holds a `CounterAtomic` variable from now on. That takes nothing from what is allowed now.
    pub fn marked(&mut self, lines: &mut Lines, id: Id) {
        let history = &mut lines.record_mut(id).history;
        history.marked = history.marked.or(Some(history.number + history.later.len() as u64));
    }

    /// `core` flushed the line.
    pub fn flushed(&mut self, lines: &Lines, core: CoreId, id: Id) {
        let history = &lines.record(id).history;
        self.core(core).push((id, history.number + history.later.len() as u64));
    }

    /// A fence of `core` completed.
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

    /// The line's durable bytes or its obligations changed.
    pub fn recheck(&mut self, lines: &mut Lines, id: Id) {
        let history = &mut lines.record_mut(id).history;
        if !history.queued {
            history.queued = true;
            self.queue.push(id);
        }
    }

    /// Judges what changed; gives the lines that have turned wrong.
    pub fn judge(&mut self, lines: &mut Lines, turned_bad: &mut Vec<Id>) {
        for id in self.queue.drain(..) {
            let record = lines.record_mut(id);
            record.history.queued = false;
            let bad = match self.at_once {
                true => *record.booted() != record.history.covered,
                false => !allowed(record, self.atomicity),
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

    /// How many lines are wrong now.
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

/// Whether the line's durable bytes are among those that a crash may show.
fn allowed(record: &Record, atomicity: LineAtomicity) -> bool {
    let history = &record.history;
    let line_atomic = match atomicity {
        LineAtomicity::None => false,
        LineAtomicity::Marked => history.marked.is_some_and(|number| number <= history.number),
        LineAtomicity::Every => true,
    };
    let durable = &record.durable.plain;
    *durable == history.covered || (!history.later.is_empty() && (!line_atomic || history.later.contains(durable)))
}

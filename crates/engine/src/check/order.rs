//! Stores that a later store overtakes: a power failure may keep the later one and lose the earlier one.
//!
//! Most programs store, flush and fence several lines together, in any order, and protect them by a log; so that
//! something becomes durable before something older is no mistake in itself. Two patterns are:
//!
//! - The later store is the address of what the earlier one stored, and the program has flushed the earlier one without a
//!   fence between, or makes the later one durable without the earlier one. Not within a transaction that the program
//!   reports, whose log may undo both.
//! - Another thread has flushed the earlier store, and the thread that stored it executes a fence, which does not complete
//!   that flush. It never flushes the line itself, and makes a later store durable.

use super::line::{Link, Stores};
use super::program_state::ProgramState;
use crate::trace::{FileLine, Pointer};

impl ProgramState {
    /// Finds what a store to `line` publishes: adds links to what is not flushed, and reports what is not fenced.
    pub(super) fn links(&mut self, stored: &mut Stores, line: FileLine, pointers: &[Pointer]) {
        if self.in_transaction || stored.scratch {
            return;
        }
        for pointer in pointers.iter().filter(|pointer| pointer.to != line) {
            let Some(pending) = self.lines.get(&pointer.to) else { continue };
            let mut unflushed = false;
            let target = |early: &&Stores| !early.scratch && early.mask >> pointer.offset != 0;
            for early in pending.stores.iter().filter(target) {
                if early.past_caches || pending.is_flushed(early) {
                    self.findings.overtaken(early, stored.site);
                } else {
                    unflushed = true;
                }
            }
            if unflushed {
                let Pointer { word, to, offset } = *pointer;
                stored.links.push(Link { word, to, offset, step: self.step });
            }
        }
    }

    /// `thread` flushes `line`.
    pub(super) fn flushed_by(&mut self, thread: u64, line: FileLine) {
        self.held.remove(&(line, thread));
        let Some(pending) = self.lines.get_mut(&line) else { return };
        let mut lenders = Vec::new();
        for stores in pending.stores.iter_mut().filter(|stores| !stores.past_caches && !stores.scratch) {
            if stores.thread == thread {
                (stores.relied_at, stores.overtaken) = (None, None);
            } else {
                lenders.push(stores.thread);
            }
        }
        for lender in lenders {
            self.thread(lender).lent.insert(line);
        }
    }

    /// `thread` has executed a fence, and what that makes durable is durable: no flush of its own is open, so that flushes
    /// of its stores that are open are those of others.
    pub(super) fn fenced(&mut self, thread: u64) {
        let step = self.step;
        for line in std::mem::take(&mut self.thread(thread).lent) {
            let Some(pending) = self.lines.get_mut(&line) else { continue };
            let relied: Vec<bool> =
                pending.stores.iter().map(|stores| stores.thread == thread && pending.is_flushed(stores)).collect();
            for (stores, _) in pending.stores.iter_mut().zip(&relied).filter(|(_, relied)| **relied) {
                stores.relied_at.get_or_insert(step);
            }
            if relied.contains(&true) {
                self.thread(thread).relied.insert(line);
            }
        }
    }

    /// These stores have become durable, all at once.
    pub(super) fn durable(&mut self, durable: Vec<(FileLine, Vec<Stores>)>) {
        for (line, groups) in &durable {
            for later in groups {
                self.overtakes_target(later);
                self.overtakes_relied(*line, later);
            }
        }
        for (line, groups) in durable {
            for stores in groups {
                if let Some((later, _)) = stores.overtaken {
                    self.held.entry((line, stores.thread)).or_default().push((stores, later));
                }
            }
        }
    }

    /// Reports what `later` holds the address of and is not durable.
    fn overtakes_target(&mut self, later: &Stores) {
        for link in &later.links {
            let Some(pending) = self.lines.get(&link.to) else { continue };
            let in_time = |early: &Stores| early.first.step < link.step && !early.scratch;
            let target = |early: &&Stores| in_time(early) && early.mask >> link.offset != 0;
            for early in pending.stores.iter().filter(target) {
                self.findings.overtaken(early, later.site);
            }
        }
    }

    /// Notes which stores of the same thread `later` overtakes, whose flush the thread has left to another one.
    fn overtakes_relied(&mut self, line: FileLine, later: &Stores) {
        let thread = later.thread;
        let lines: Vec<FileLine> = match self.threads.get(thread as usize) {
            Some(of_thread) => of_thread.relied.iter().copied().filter(|early| *early != line).collect(),
            None => return,
        };
        for early in lines {
            let mut relied = false;
            for stores in self.lines.get_mut(&early).into_iter().flat_map(|pending| &mut pending.stores) {
                let Some(at) = stores.relied_at.filter(|_| stores.thread == thread) else { continue };
                relied = true;
                if at < later.first.step {
                    stores.overtaken.get_or_insert((later.site, later.first));
                }
            }
            if !relied {
                self.thread(thread).relied.remove(&early);
            }
        }
    }

    /// Reports the overtaken stores whose thread has not flushed their line afterwards.
    pub(super) fn judge_held(&mut self) {
        for (stores, later) in std::mem::take(&mut self.held).into_values().flatten() {
            self.findings.overtaken(&stores, later);
        }
    }
}

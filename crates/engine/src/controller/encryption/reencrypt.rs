//! Page re-encryption after a minor counter overflow (secpm section 3.5): the status register, the waiters for it, and
//! the lines that go through the ordinary read and write paths.
//!
//! The write that caused the overflow takes the new major counter with minor counter zero and so re-encrypts its own
//! line. The other lines are read with the old counters and written with the new ones. Other pages are not affected. Where a
//! counter block covers other lines than those of a page, they are what is re-encrypted.

use super::super::encrypted::Encrypted;
use super::super::in_flight::{LineWaiter, Origin};
use super::super::interface::RsrSnapshot;
use crate::message::{
    Content, ControllerEvent, CounterGroup, DevicePort, GroupMask, Line, LineBytes, MediaLine, Observer,
};
use crate::parts::MinorReset;
use std::collections::VecDeque;

/// The status register: lines, old major counter, a done bit for each (secpm section 3.5). The other fields (the old block, the
/// lines in flight) are volatile.
#[derive(Clone, Default)]
pub(in crate::controller) struct Rsr {
    pub active: bool,
    pub group: CounterGroup,
    pub old_major: u64,
    done: GroupMask,
    /// The block before the major counter was incremented, for reading lines that are not done.
    pub old_block: Option<LineBytes>,
    /// Whether lines are to be sent in this event.
    stepping: bool,
    /// The line that is sent next.
    next: usize,
    /// Number of lines in flight.
    pub under_way: u32,
    /// Most lines in flight at once.
    parallelism: u32,
    /// Whether lines that were never written are read and rewritten too.
    unwritten_too: bool,
    /// The line whose write caused the overflow; it re-encrypts itself.
    trigger: usize,
    waiters: Vec<(usize, LineWaiter)>,
    /// Writes whose own overflow waits for the register.
    pub overflowing: VecDeque<u32>,
}

impl Rsr {
    /// A free register; `parallelism` lines may be in flight at once. `unwritten_too`: lines that were never written are
    /// read and rewritten like the others.
    pub fn new(parallelism: u32, unwritten_too: bool) -> Self {
        Self { parallelism, unwritten_too, ..Self::default() }
    }

    /// Whether `line` is under re-encryption and not done.
    pub fn pending(&self, line: Line) -> bool {
        self.active && self.group.lacks(self.done, line)
    }

    /// Whether `line` must wait for its done bit; if so, `waiter` is informed when it is set.
    pub fn holds_back(&mut self, line: Line, waiter: LineWaiter) -> bool {
        let waits = self.pending(line);
        if waits {
            self.waiters.push((self.group.index(line), waiter));
        }
        waits
    }

    /// The register at a power failure, if it is in use.
    pub fn snapshot(&self) -> Option<RsrSnapshot> {
        let Self { group, old_major, done, .. } = *self;
        self.active.then_some(RsrSnapshot { group, old_major, done })
    }

    /// `ControllerEvent::ReencryptStep`: the next lines are to be sent.
    pub fn step(&mut self) {
        self.stepping = true;
    }

    /// The next line to send in this event.
    fn take_next(&mut self) -> Option<usize> {
        if !self.stepping {
            return None;
        }
        self.next += usize::from(self.next == self.trigger);
        self.stepping &= self.active && self.under_way < self.parallelism && self.next < self.group.lines();
        self.stepping.then(|| {
            self.under_way += 1;
            self.next += 1;
            self.next - 1
        })
    }
}

impl<D: DevicePort, O: Observer + ?Sized> Encrypted<'_, D, O> {
    /// Takes the status register for the lines that share the counter block of `line`; `old_block` is that block before the
    /// overflow.
    pub fn begin_reencryption(&mut self, line: Line, old_block: LineBytes, old_major: u64) {
        let group = self.engine.counters.group(line);
        let rsr = &mut self.engine.rsr;
        debug_assert!(!rsr.active);
        self.memory.meter.stats.reencryptions += 1;
        rsr.active = true;
        rsr.group = group;
        rsr.old_major = old_major;
        rsr.done = 0;
        rsr.old_block = Some(old_block);
        rsr.next = 0;
        rsr.under_way = 0;
        rsr.trigger = group.index(line);
        self.memory.observer.reencryption(self.memory.queue.now(), group, old_major, 0, false);
        self.memory.next(ControllerEvent::ReencryptStep);
    }

    /// Sends the next line, if one is to be sent.
    pub fn renew_next_line(&mut self) -> bool {
        let next = self.engine.rsr.take_next();
        if let Some(index) = next
            && !self.renews_in_caches(index)
            && !self.passes_over(index)
        {
            self.reencrypt_line(index);
        }
        next.is_some()
    }

    /// Passes over line `index` of the group if it was never written and the machine leaves such lines alone, or if its page was
    /// shredded since: it is done, because it has no bytes that an old counter decrypts. Its own counter stays as it is.
    fn passes_over(&mut self, index: usize) -> bool {
        let rsr = &self.engine.rsr;
        let line = rsr.group.line(index);
        let media = MediaLine::data(line);
        let scheme = &self.engine.counters.scheme;
        let shredded = scheme.shreds() && self.view().old_counter(line).is_some_and(|counter| scheme.is_zero(counter));
        let unwritten = !rsr.unwritten_too
            && self.memory.banks.wpq.newest(media).is_none()
            && matches!(self.memory.device.content(media), Content::Never);
        let leaves_alone =
            (shredded || unwritten) && self.view().newest_write(line, Origin::Reencryption(index)).is_none();
        if leaves_alone {
            self.engine.rsr.under_way -= 1;
            self.line_renewed(line);
        }
        leaves_alone
    }

    /// Line `index` of the group has been read: writes it with the new major counter.
    pub fn reencrypt_line(&mut self, index: usize) {
        let read = self.memory.reads.add(self.engine.rsr.group.line(index), Origin::Reencryption(index));
        self.read_arrives(read);
    }

    /// Handles that a line has been appended with the new major counter. In the hardened reading its done bit is
    /// set by the append, so that a power failure finds both or neither; in the published reading that is a separate
    /// step.
    pub fn line_renewed(&mut self, line: Line) {
        let index = self.engine.rsr.group.index(line) as u32;
        match self.engine.rules.minor_reset {
            MinorReset::WithDoneBit => self.set_done(index),
            MinorReset::AtOnce | MinorReset::BeforeDoneBit => {
                self.memory.next(ControllerEvent::ReencryptDone { index })
            }
        }
    }

    /// `ControllerEvent::ReencryptDone`, or part of the same event: line `index` is done, and its waiters continue in a separate
    /// event.
    pub fn set_done(&mut self, index: u32) {
        let now = self.memory.now();
        let rsr = &mut self.engine.rsr;
        rsr.done |= 1 << index;
        let finished = rsr.done == rsr.group.all();
        self.memory.observer.reencryption(now, rsr.group, rsr.old_major, rsr.done, finished);
        let group = rsr.group;
        if finished {
            rsr.active = false;
            rsr.old_block = None;
        }
        let again = now + self.engine.counters.latency;
        for (_, waiter) in rsr.waiters.extract_if(.., |(line, _)| *line == index as usize) {
            match waiter {
                LineWaiter::Read(slot) => {
                    // The write arrives again.
                    self.memory.reads.free_room(slot);
                    self.memory.queue.schedule(now, ControllerEvent::ReadArrives { slot });
                }
                LineWaiter::Write(slot) => self.memory.queue.schedule(again, ControllerEvent::CounterReady { slot }),
            }
        }
        if finished {
            for slot in rsr.overflowing.drain(..) {
                self.memory.queue.schedule(again, ControllerEvent::CounterReady { slot });
            }
            self.retry_writebacks(self.engine.counters.block(group.line(0)));
        }
    }
}

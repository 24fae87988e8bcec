//! Page re-encryption after a minor counter overflowed (secpm section 3.5): the status register, who waits for it,
//! and the lines on their way through the ordinary read and write paths.
//!
//! The write that overflowed takes the new major counter with minor zero and so re-encrypts its own line; the other
//! lines are read with the old counters and written with the new. Other pages go on.

use super::request::{LineWaiter, Source};
use super::state::{Context, Controller, Rsr};
use crate::message::{DevicePort, Event, LINES_PER_PAGE, Line, LineBytes, Observer, Page};
use crate::parts::MinorReset;

const LINES: usize = LINES_PER_PAGE as usize;

impl Controller {
    /// Takes the status register for `page`.
    pub(super) fn begin_reencryption<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        page: Page,
        old_block: LineBytes,
        old_major: u64,
        trigger: usize,
    ) {
        debug_assert!(!self.rsr.active);
        self.stats.reencryptions += 1;
        let rsr = &mut self.rsr;
        *rsr = Rsr {
            active: true,
            page,
            old_major,
            done: 0,
            old_block: Some(old_block),
            next: 0,
            under_way: 0,
            trigger,
            waiters: std::mem::take(&mut rsr.waiters),
            overflowing: std::mem::take(&mut rsr.overflowing),
        };
        cx.observer.reencryption(cx.queue.now(), page, old_major, 0, false);
        cx.queue.schedule(cx.queue.now(), Event::ReencryptStep);
    }

    /// Whether `line` must wait for its done bit; if so `waiter` is told when it is set.
    pub(super) fn waits_for_reencryption(&mut self, line: Line, waiter: LineWaiter) -> bool {
        let waits = self.rsr.pending(line);
        if waits {
            self.rsr.waiters.push((line.index_in_page(), waiter));
        }
        waits
    }

    /// `Event::ReencryptStep`: sends the next lines on their way.
    pub(super) fn reencrypt_step<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>) {
        while self.rsr.active && self.rsr.under_way < self.config.reencryption_parallelism && self.rsr.next < LINES {
            let index = self.rsr.next;
            self.rsr.next += 1;
            if index == self.rsr.trigger {
                continue;
            }
            self.rsr.under_way += 1;
            if !self.renews_in_caches(cx, index) {
                self.reencrypt_line(cx, index);
            }
        }
    }

    /// Line `index` of the page is read, to be written under the new major counter.
    pub(super) fn reencrypt_line<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, index: usize) {
        self.reads_active += 1;
        let read = self.new_read(self.rsr.page.line(index), Source::Reencryption(index));
        self.start_read(cx, read);
    }

    /// A line has been appended under the page's new major counter. With the hardened reading the done bit belongs to
    /// the append, so that a power failure finds both or neither; as published it is a step of its own.
    pub(super) fn line_renewed<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, line: Line) {
        let index = line.index_in_page() as u32;
        let reset = self.encryption.as_ref().expect("a page is being re-encrypted").parts.minor_reset;
        match reset {
            MinorReset::WithDoneBit => self.set_done(cx, index),
            MinorReset::AtOnce | MinorReset::BeforeDoneBit => {
                cx.queue.schedule(cx.queue.now(), Event::ReencryptDone { index })
            }
        }
    }

    /// `Event::ReencryptDone`.
    pub(super) fn reencrypt_done<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, index: u32) {
        self.set_done(cx, index);
        self.admit(cx);
    }

    fn set_done<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, index: u32) {
        let now = cx.queue.now();
        self.rsr.done |= 1 << index;
        let finished = self.rsr.done == u64::MAX;
        cx.observer.reencryption(now, self.rsr.page, self.rsr.old_major, self.rsr.done, finished);
        if finished {
            self.rsr.active = false;
            self.rsr.old_block = None;
        }
        let mut at = 0;
        while at < self.rsr.waiters.len() {
            if self.rsr.waiters[at].0 != index as usize {
                at += 1;
                continue;
            }
            match self.rsr.waiters.remove(at).1 {
                LineWaiter::Read(slot) => {
                    // It gives its place back and arrives again.
                    self.reads_active -= 1;
                    cx.queue.schedule(now, Event::ReadArrives { slot });
                }
                LineWaiter::Write(slot) => self.wake_write(cx, slot),
            }
        }
        if finished {
            while let Some(slot) = self.rsr.overflowing.pop_front() {
                self.wake_write(cx, slot);
            }
        }
    }

    /// A waiting write asks for its counter again, as an event of its own.
    fn wake_write<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        cx.queue.schedule(cx.queue.now() + self.timing.counter_cache, Event::CounterReady { slot });
    }
}

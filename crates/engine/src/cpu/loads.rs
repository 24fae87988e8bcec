//! Loads: the load queue, dependences, forwarding from stores of the same core, and the value checker.

use super::core::{Core, CoreContext, Dispatch, InFlight, Load};
use crate::kernel::Ps;
use crate::message::{Access, CachePort, CoreEvent, CoreId, Line, Observer, UNKNOWN_VALUE};

impl Core {
    /// Checks for a free load queue entry at the front tick: `None` if there is one.
    pub(super) fn room_in_load_queue(&mut self) -> Option<Dispatch> {
        while self.load_commits.front().is_some_and(|&tick| tick <= self.front) {
            self.load_commits.pop_front();
        }
        if self.loads_in_window as usize + self.load_commits.len() < self.config.load_queue_entries as usize {
            return None;
        }
        Some(self.load_commits.front().map_or(Dispatch::Stall, |&tick| Dispatch::At(tick)))
    }

    pub(super) fn dispatch_load<C: CachePort, O: Observer + ?Sized>(
        &mut self,
        cx: &mut CoreContext<'_, C, O>,
        entry: &mut InFlight,
        address: u64,
        length: u8,
        dependent: bool,
        bytes: u32,
    ) {
        let mut load = Load {
            line: Line::containing(address),
            offset: (address % 64) as u8,
            length: length.min(8),
            ..Load::default()
        };
        if bytes == UNKNOWN_VALUE {
            load.length = 0;
        } else if self.check_loads {
            let compared = load.length as usize;
            load.expected[..compared].copy_from_slice(&self.buffer.slice(bytes, length)[..compared]);
        }
        let slot = self.loads.insert(load);
        entry.load = slot;
        entry.complete = None;
        self.loads_in_window += 1;
        let previous = self.last_load.replace(slot);
        let waits_for = previous.filter(|_| dependent);
        let now = cx.queue.now();
        match waits_for.map(|previous| (previous, self.loads[previous].complete)) {
            Some((previous, None)) => self.loads[previous].successor = Some(slot),
            Some((_, Some(tick))) if self.clock.time(tick) > now => {
                self.schedule_load(cx, self.clock.time(tick), slot);
            }
            _ => {
                self.issue_load(cx, slot);
            }
        }
        if let Some(previous) = previous.filter(|&previous| self.loads[previous].committed) {
            self.loads.release(previous);
        }
    }

    fn schedule_load<C: CachePort, O: Observer + ?Sized>(&self, cx: &mut CoreContext<'_, C, O>, at: Ps, slot: u32) {
        // A slot outlives its entry of the load queue by one load, and a queue has at most 4,096 entries.
        let slot = u16::try_from(slot).expect("the load queue is bounded");
        cx.queue.schedule(at, CoreEvent::LoadIssue { core: self.id, slot });
    }

    /// `CoreEvent::LoadIssue`: the address of a dependent load is known.
    #[inline(never)]
    pub fn load_issue<C: CachePort, O: Observer + ?Sized>(&mut self, cx: &mut CoreContext<'_, C, O>, slot: u32) {
        self.issue_load(cx, slot);
        self.retire(cx);
        self.resume(cx.queue);
    }

    pub(super) fn issue_load<C: CachePort, O: Observer + ?Sized>(&mut self, cx: &mut CoreContext<'_, C, O>, slot: u32) {
        self.ask_for(cx, slot, |cache, now, core, line| cache.load(now, core, line, slot));
    }

    /// A register may be free: all loads that found none ask again, in order.
    pub(super) fn issue_blocked_loads<C: CachePort, O: Observer + ?Sized>(&mut self, cx: &mut CoreContext<'_, C, O>) {
        let before = self.blocked_loads.len();
        for place in 0..before {
            let (slot, news) = self.blocked_loads[place];
            self.ask_for(cx, slot, |cache, now, core, line| cache.load_again(now, core, line, slot, news));
        }
        self.blocked_loads.drain(..before);
    }

    fn ask_for<C: CachePort, O: Observer + ?Sized>(
        &mut self,
        cx: &mut CoreContext<'_, C, O>,
        slot: u32,
        ask: impl FnOnce(&mut C, Ps, CoreId, Line) -> Access,
    ) {
        let now = cx.queue.now();
        let line = self.loads[slot].line;
        if self.holds_store(line) {
            // Forwarded from the store queue or a write-combining buffer in one cycle, like an L1 hit.
            let tick = self.clock.next_cycle(self.clock.tick(now));
            self.load_completes(cx, slot, tick);
            return;
        }
        let asked_at = *self.loads[slot].asked_at.get_or_insert(now);
        match ask(cx.cache, now, self.id, line) {
            Access::At(at) => {
                self.check_load(cx, slot);
                self.count_l1_access(asked_at, at);
                let tick = self.clock.tick(at);
                self.load_completes(cx, slot, tick);
            }
            Access::Pending => {}
            Access::Blocked(news) => self.blocked_loads.push((slot, news)),
        }
    }

    /// Whether the core holds bytes of `line` that its caches do not have yet.
    pub(super) fn holds_store(&self, line: Line) -> bool {
        self.stores.holds(line) || self.combining.iter().any(|buffer| buffer.line == line)
    }

    pub(super) fn load_completes<C: CachePort, O: Observer + ?Sized>(
        &mut self,
        cx: &mut CoreContext<'_, C, O>,
        slot: u32,
        tick: u64,
    ) {
        self.loads[slot].complete = Some(tick);
        if let Some(successor) = self.loads[slot].successor.take() {
            let at = self.clock.time(tick).max(cx.queue.now());
            self.schedule_load(cx, at, successor);
        }
    }

    /// The value checker: a load must find what the program, which ran ahead, read there.
    pub(super) fn check_load<C: CachePort, O: Observer + ?Sized>(&mut self, cx: &mut CoreContext<'_, C, O>, slot: u32) {
        if !self.check_loads {
            return;
        }
        let load = self.loads[slot];
        if load.length == 0 {
            return;
        }
        if let Some(found) = cx.cache.peek(self.id, load.line) {
            let (from, length) = (load.offset as usize, load.length as usize);
            self.stats.loads_checked += 1;
            assert_eq!(
                found[from..from + length],
                load.expected[..length],
                "core {} loaded from address {:#x} at {} ps: the caches and the program disagree",
                self.id,
                load.line.address() + from as u64,
                cx.queue.now()
            );
        }
    }
}

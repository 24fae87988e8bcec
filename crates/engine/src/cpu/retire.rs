//! In-order commit.

use super::core::{Core, CoreContext, InFlight, Kind, TransactionEnd};
use crate::message::{Access, CachePort, NO_SITE, Observer};

impl Core {
    /// Transactions ended since the start of the run.
    pub fn transactions_ended(&self) -> u64 {
        self.transactions_ended
    }

    /// Number of instructions dispatched since the start.
    pub fn dispatched(&self) -> u64 {
        self.dispatched
    }

    /// Commits everything at the head of the reorder buffer whose completion time is known.
    pub(super) fn retire<C: CachePort, O: Observer + ?Sized>(&mut self, cx: &mut CoreContext<'_, C, O>) {
        let now = cx.queue.now();
        while let Some(head) = self.window.front().copied() {
            if head.kind == Kind::Mark {
                self.pass_mark(cx);
                self.window.pop_front();
                continue;
            }
            let complete = match head.kind {
                Kind::Load => self.loads[head.load].complete,
                Kind::Fence | Kind::FullFence => {
                    self.fence_complete(cx).map(|tick| tick.max(head.complete.unwrap_or(0)))
                }
                Kind::LoggedTxEnd => self.transaction_end_complete(cx, &head),
                _ => head.complete,
            };
            let Some(complete) = complete else { break };
            let commit = (self.last_commit + u64::from(head.instructions)).max(complete);
            match head.kind {
                Kind::Compute | Kind::Mark => {}
                Kind::Load => {
                    self.loads_in_window -= 1;
                    self.load_commits.push_back(commit);
                    self.stats.memory_ops += 1;
                    let executed = self.last_commit + u64::from(head.instructions);
                    if commit > executed {
                        let (from, until) = (self.clock.time(executed), self.clock.time(commit));
                        cx.observer.load_stalled(self.id, head.site, from, until);
                    }
                    self.release_load(head.load);
                }
                Kind::Store | Kind::Report => {
                    self.stats.memory_ops += u64::from(head.kind == Kind::Store);
                    self.stores.commit_next(commit);
                    let at = self.clock.time(commit).max(now);
                    self.schedule_store_step(cx.queue, at);
                }
                Kind::Fence | Kind::FullFence => {
                    self.count_fence_stall(cx, &head, commit);
                    if head.kind == Kind::FullFence {
                        self.fence_blocks_dispatch = false;
                    }
                    cx.observer.fenced(now, self.id);
                }
                Kind::LoggedTxEnd => {
                    self.transaction_end = TransactionEnd::No;
                    self.count_fence_stall(cx, &head, commit);
                    cx.observer.fenced(now, self.id);
                }
                Kind::TxBegin => {
                    self.begun_at = commit;
                    cx.observer.transaction_began(now, self.id, self.transactions_begun);
                    self.transactions_begun += 1;
                }
                Kind::TxEnd => {
                    cx.observer.transaction_ended(now, self.id, self.transactions_ended);
                    self.transactions_ended += 1;
                    self.stats.transactions += 1;
                    let lasted = self.clock.time(commit) - self.clock.time(self.begun_at);
                    self.stats.transaction_ps.push(lasted);
                }
            }
            self.stats.instructions += u64::from(head.instructions);
            self.last_commit = commit;
            self.retired.push_back((head.through, commit));
            self.window.pop_front();
        }
    }

    /// The program sets a mark, which commits after everything that has been dispatched. It takes no slot, so that a
    /// program takes as long with its marks as without them.
    pub(super) fn set_mark<C: CachePort, O: Observer + ?Sized>(&mut self, cx: &mut CoreContext<'_, C, O>) {
        if self.window.is_empty() {
            return self.pass_mark(cx);
        }
        let (instructions, through, site) = (0, self.dispatched, NO_SITE);
        self.window.push_back(InFlight { kind: Kind::Mark, instructions, through, complete: None, load: 0, site });
    }

    /// Everything before the next mark has committed.
    fn pass_mark<C: CachePort, O: Observer + ?Sized>(&mut self, cx: &mut CoreContext<'_, C, O>) {
        cx.observer.marked(cx.queue.now(), self.id, self.marks_passed);
        self.marks_passed += 1;
    }

    /// Counts the stall of commit for the fence `head`, which commits at `commit`.
    fn count_fence_stall<C: CachePort, O: Observer + ?Sized>(
        &mut self,
        cx: &mut CoreContext<'_, C, O>,
        head: &InFlight,
        commit: u64,
    ) {
        let (from, until) = (self.clock.time(self.last_commit), self.clock.time(commit));
        self.stats.fence_stall_ps += until - from;
        cx.observer.fence_stalled(self.id, head.site, from, until);
    }

    /// Releases the slot of a load. The newest load is kept, because the next one may depend on it.
    fn release_load(&mut self, slot: u32) {
        if self.last_load == Some(slot) {
            self.loads[slot].committed = true;
        } else {
            self.loads.release(slot);
        }
    }

    /// When a fence at the head completes: the store buffer is empty and every flush is acknowledged.
    fn fence_complete<C: CachePort, O: Observer + ?Sized>(&mut self, cx: &mut CoreContext<'_, C, O>) -> Option<u64> {
        if !self.stores.drained() || self.flushes_outstanding > 0 {
            return None;
        }
        if !self.combining.is_empty() {
            self.flush_combining(cx);
            return None;
        }
        Some(self.clock.tick(cx.queue.now()))
    }

    /// When the end of a logged transaction at the head completes. It is sent when a fence at its place would be
    /// complete, and completes when it has been answered.
    fn transaction_end_complete<C: CachePort, O: Observer + ?Sized>(
        &mut self,
        cx: &mut CoreContext<'_, C, O>,
        head: &InFlight,
    ) -> Option<u64> {
        if self.transaction_end == TransactionEnd::No {
            let executed = self.fence_complete(cx)?.max(head.complete.unwrap_or(0)).max(self.last_commit);
            let at = self.clock.time(executed).max(cx.queue.now());
            self.logging = false;
            self.transaction_end = match cx.cache.end_transaction(at, self.id) {
                Access::At(at) => TransactionEnd::Answered(at),
                Access::Pending | Access::Blocked(_) => TransactionEnd::Sent,
            };
        }
        match self.transaction_end {
            TransactionEnd::Answered(at) => Some(self.clock.tick(at)),
            TransactionEnd::No | TransactionEnd::Sent => None,
        }
    }
}

//! From operations to entries of the store queue.

use super::core::{Core, CoreContext, Kind};
use super::store_queue::{Action, Entry};
use crate::config::ClwbLeaves;
use crate::message::{CachePort, FlushKind, LINE_BYTES, LINES_PER_PAGE, Line, Observer};

impl Core {
    pub(super) fn queue_store<C: CachePort, O: Observer + ?Sized>(
        &mut self,
        cx: &mut CoreContext<'_, C, O>,
        action: Action,
        address: u64,
        length: u8,
        offset: u32,
    ) {
        let line = Line::containing(address);
        let mut bytes = [0; 64];
        bytes[..length as usize].copy_from_slice(self.buffer.slice(offset, length));
        let asks = self.config.store_prefetch && action.writes_the_cache();
        if asks && self.stores.newest_store_line() != Some(line) {
            // The read for ownership starts early, so that store misses overlap although stores drain in order.
            cx.cache.own(cx.queue.now(), self.id, line, true);
        }
        let (offset, site) = ((address % 64) as u8, self.site());
        self.stores.push(Entry { action, line, offset, length, bytes, committed: None, site });
    }

    /// Queues the next part of an [`Op::ZeroPage`](crate::message::Op::ZeroPage): the command that shreds the page, then the fence
    /// that it is; or the zeros of one line.
    pub(super) fn zero_page(&mut self, address: u64) -> Kind {
        let (part, parts) = (self.zeroing, if self.shreds { 2 } else { LINES_PER_PAGE });
        self.zeroing = (part + 1) % parts;
        if !self.shreds {
            self.queue_zeros(address, part);
        } else if part == 0 {
            self.queue_zero_page(address);
        } else {
            self.fence_blocks_dispatch = true;
            return Kind::FullFence;
        }
        Kind::Store
    }

    /// Queues zeros past the caches for line `index` of the page of `address`.
    fn queue_zeros(&mut self, address: u64, index: u64) {
        let line = Line(first_of_page(address).0 + index);
        let (action, length, site) = (Action::NonTemporal, LINE_BYTES as u8, self.site());
        self.stores.push(Entry { action, line, offset: 0, length, bytes: [0; 64], committed: None, site });
    }

    /// Queues the command that shreds the page of `address`.
    fn queue_zero_page(&mut self, address: u64) {
        self.queue_unstored(first_of_page(address).address(), Action::ZeroPage);
    }

    pub(super) fn queue_clwb(&mut self, address: u64) {
        let nothing_left = self.config.clwb_leaves == ClwbLeaves::Nothing;
        self.queue_flush(address, if nothing_left { FlushKind::Invalidate } else { FlushKind::Keep }, false);
    }

    pub(super) fn queue_flush(&mut self, address: u64, kind: FlushKind, ordered: bool) {
        self.queue_unstored(address, Action::Flush { kind, ordered });
    }

    /// Queues an action that is ordered with the stores but stores no bytes.
    pub(super) fn queue_unstored(&mut self, address: u64, action: Action) {
        self.stores.push(Entry {
            action,
            line: Line::containing(address),
            offset: 0,
            length: 0,
            bytes: [0; 64],
            committed: None,
            site: self.site(),
        });
    }
}

/// The first line of the page of `address`.
fn first_of_page(address: u64) -> Line {
    let line = Line::containing(address);
    Line(line.0 - line.0 % LINES_PER_PAGE)
}

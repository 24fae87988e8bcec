//! The observer stream: what stages say about what they do, for auditors, crash exploration and timelines.
//!
//! A stage never asks an observer anything. With [`NoObserver`] every call compiles to nothing.

use super::{CoreId, CounterBlock, Line, LineBytes, MediaLine, MediaOp, Op, Page, Site};
use crate::kernel::Ps;

/// What the counter cache did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CounterCacheAct {
    /// It had the block.
    Hit,
    /// It had not.
    Miss,
    /// The block came in.
    Filled,
    /// The block made room for another one; `dirty`: with counters that memory has not seen.
    Evicted { dirty: bool },
}

/// An AES circuit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Circuit {
    /// One of those for reads.
    Read(u32),
    /// One of those for writes.
    Write(u32),
}

/// Everything that can be watched. All methods default to doing nothing.
pub trait Observer {
    /// A store became visible in `core`'s cache.
    fn stored(&mut self, _now: Ps, _core: CoreId, _line: Line, _offset: usize, _data: &[u8]) {}
    /// `line` holds a `CounterAtomic` variable, from now on; told before the store that makes it so.
    fn marked_counter_atomic(&mut self, _now: Ps, _core: CoreId, _line: Line) {}
    /// `core` executed a flush (or non-temporal store) of `line`: a later fence of this core covers what the line held.
    fn flushed(&mut self, _now: Ps, _core: CoreId, _line: Line) {}
    /// `core` executed a `counter_cache_writeback` for the counters around `line`: a later fence covers them.
    fn counters_flushed(&mut self, _now: Ps, _core: CoreId, _line: Line) {}
    /// `core` dispatched `op`, which comes from `site` of its program; a long computation in parts.
    fn dispatched(&mut self, _core: CoreId, _site: Site, _op: &Op) {}
    /// A store of `core` from `site` left the store buffer for the cache.
    fn store_left(&mut self, _now: Ps, _core: CoreId, _site: Site) {}
    /// `core` sent to the caches what its next fence waits for: a flush or non-temporal store of `line` from `site`, or, with
    /// `counters`, a write-back of its counters alone. `done`: when it is complete, if that is known; otherwise
    /// [`Observer::flush_acknowledged`] follows, for one line in the order in which they were sent.
    fn flush_sent(&mut self, _now: Ps, _core: CoreId, _site: Site, _line: Line, _counters: bool, _done: Option<Ps>) {}
    /// The persistence domain has it.
    fn flush_acknowledged(&mut self, _now: Ps, _core: CoreId, _line: Line, _counters: bool) {}
    /// Commit of `core` stood still for a fence from `site`, from `from` until `until`.
    fn fence_stalled(&mut self, _core: CoreId, _site: Site, _from: Ps, _until: Ps) {}
    /// The same for a load.
    fn load_stalled(&mut self, _core: CoreId, _site: Site, _from: Ps, _until: Ps) {}
    /// A fence of `core` completed: all its earlier flushes are acknowledged.
    fn fenced(&mut self, _now: Ps, _core: CoreId) {}
    /// `core` committed the begin of its transaction `number` (from 0).
    fn transaction_began(&mut self, _now: Ps, _core: CoreId, _number: u64) {}
    /// `core` committed the end of its transaction `number`: its commit fence has completed.
    fn transaction_ended(&mut self, _now: Ps, _core: CoreId, _number: u64) {}
    /// A dirty line left the caches without being asked to.
    fn evicted(&mut self, _now: Ps, _line: Line) {}
    /// The controller got `line`, in the clear, from the caches.
    fn write_arrived(&mut self, _now: Ps, _line: Line, _plaintext: &LineBytes) {}
    /// `media` entered the persistence domain with these bytes: from now on a crash keeps them.
    fn persisted(&mut self, _now: Ps, _media: MediaLine, _bytes: &LineBytes) {}
    /// A counter entry with these bytes was removed from the write pending queue because a newer one took its place.
    fn coalesced(&mut self, _now: Ps, _media: MediaLine, _bytes: &LineBytes) {}
    /// `bytes` crossed the memory bus towards the media.
    fn bus_write(&mut self, _now: Ps, _media: MediaLine, _bytes: &LineBytes) {}
    /// The controller took the old bytes of `line` into the undo log of the transaction of `core`.
    fn logged(&mut self, _now: Ps, _core: CoreId, _line: Line) {}
    /// The log metadata registers say from now on that `bucket` belongs to the transaction of `core` and has `records`
    /// valid headers.
    fn log_extended(&mut self, _now: Ps, _core: CoreId, _bucket: u32, _records: u32) {}
    /// The log of the transaction of `core` is freed: it has committed.
    fn log_freed(&mut self, _now: Ps, _core: CoreId) {}
    /// The re-encryption status register changed; `None` when freed. `old_major`, done bits.
    fn reencryption(&mut self, _now: Ps, _page: Page, _old_major: u64, _done: u64, _finished: bool) {}
    /// The controller got a read of `line`.
    fn read_arrived(&mut self, _now: Ps, _line: Line) {}
    /// The counter cache was asked for a block, took one in or let one go.
    fn counter_cache(&mut self, _now: Ps, _block: CounterBlock, _act: CounterCacheAct) {}
    /// `circuit` works on `line` from `from` until `until`, which may lie ahead.
    fn pad(&mut self, _line: Line, _circuit: Circuit, _from: Ps, _until: Ps) {}
    /// `bank` began to read or write `media`; the data have crossed the bus at `until`.
    fn device_access(&mut self, _now: Ps, _bank: u16, _media: MediaLine, _op: MediaOp, _until: Ps) {}
    /// An event has happened completely: a power failure may fall here.
    fn event_over(&mut self, _now: Ps) {}
}

/// Nobody watches.
#[derive(Default, Clone, Copy, Debug)]
pub struct NoObserver;

impl Observer for NoObserver {}

/// Lets two observers watch, the first one first.
macro_rules! both {
    ($($method:ident($($argument:ident: $kind:ty),*);)*) => {
        impl<A: Observer, B: Observer> Observer for (A, B) {
            $(fn $method(&mut self, $($argument: $kind),*) {
                self.0.$method($($argument),*);
                self.1.$method($($argument),*);
            })*
        }
    };
}

both! {
    stored(now: Ps, core: CoreId, line: Line, offset: usize, data: &[u8]);
    marked_counter_atomic(now: Ps, core: CoreId, line: Line);
    flushed(now: Ps, core: CoreId, line: Line);
    counters_flushed(now: Ps, core: CoreId, line: Line);
    dispatched(core: CoreId, site: Site, op: &Op);
    store_left(now: Ps, core: CoreId, site: Site);
    flush_sent(now: Ps, core: CoreId, site: Site, line: Line, counters: bool, done: Option<Ps>);
    flush_acknowledged(now: Ps, core: CoreId, line: Line, counters: bool);
    fence_stalled(core: CoreId, site: Site, from: Ps, until: Ps);
    load_stalled(core: CoreId, site: Site, from: Ps, until: Ps);
    fenced(now: Ps, core: CoreId);
    transaction_began(now: Ps, core: CoreId, number: u64);
    transaction_ended(now: Ps, core: CoreId, number: u64);
    evicted(now: Ps, line: Line);
    write_arrived(now: Ps, line: Line, plaintext: &LineBytes);
    persisted(now: Ps, media: MediaLine, bytes: &LineBytes);
    coalesced(now: Ps, media: MediaLine, bytes: &LineBytes);
    bus_write(now: Ps, media: MediaLine, bytes: &LineBytes);
    logged(now: Ps, core: CoreId, line: Line);
    log_extended(now: Ps, core: CoreId, bucket: u32, records: u32);
    log_freed(now: Ps, core: CoreId);
    reencryption(now: Ps, page: Page, old_major: u64, done: u64, finished: bool);
    read_arrived(now: Ps, line: Line);
    counter_cache(now: Ps, block: CounterBlock, act: CounterCacheAct);
    pad(line: Line, circuit: Circuit, from: Ps, until: Ps);
    device_access(now: Ps, bank: u16, media: MediaLine, op: MediaOp, until: Ps);
    event_over(now: Ps);
}

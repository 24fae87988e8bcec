//! The observer stream: what stages report about their work, for auditors, crash exploration and timelines.
//!
//! A stage never asks an observer anything. With [`NoObserver`] every call compiles to nothing. For all others the stages
//! are compiled once, with a table of calls.

use super::{CoreId, CounterBlock, CounterGroup, GroupMask, Line, LineBytes, MediaLine, MediaOp, Op, Site};
use crate::kernel::Ps;

/// What happened in the counter cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CounterCacheAct {
    /// A lookup found the block.
    Hit,
    /// A lookup did not find the block, and fetches it.
    Miss,
    /// A lookup did not find the block because it is already being fetched.
    SecondaryMiss,
    /// The block was filled.
    Filled,
    /// The block was evicted. `dirty`: it held counters that memory does not have.
    Evicted { dirty: bool },
}

/// An AES circuit of the controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Circuit {
    /// The circuit that makes the pad of a read, by its number among those that reads have.
    Read(u32),
    /// The circuit that encrypts a write, by its number among those that writes have.
    Write(u32),
}

/// Receives the observer stream. All methods do nothing by default; `_now` is the simulated time in picoseconds.
pub trait Observer {
    /// Whether it takes notice of anything.
    fn listens(&self) -> bool {
        true
    }
    /// A store became visible in `core`'s cache.
    fn stored(&mut self, _now: Ps, _core: CoreId, _line: Line, _offset: usize, _data: &[u8]) {}
    /// `line` holds a `CounterAtomic` variable from now on. Called before the store that marks it.
    fn marked_counter_atomic(&mut self, _now: Ps, _core: CoreId, _line: Line) {}
    /// `core` executed a flush (or non-temporal store) of `line`: a later fence of this core covers what the line held.
    fn flushed(&mut self, _now: Ps, _core: CoreId, _line: Line) {}
    /// `core` executed a `counter_cache_writeback` for the counters around `line`: a later fence covers them.
    fn counters_flushed(&mut self, _now: Ps, _core: CoreId, _line: Line) {}
    /// `core` dispatched `op`, which comes from `site` of its program, as so many instructions. A long computation is
    /// dispatched in parts; what belongs to the instruction before it is none.
    fn dispatched(&mut self, _core: CoreId, _site: Site, _op: &Op, _instructions: u32) {}
    /// A store of `core` from `site` left the store buffer for the cache.
    fn store_left(&mut self, _now: Ps, _core: CoreId, _site: Site) {}
    /// `core` sent to the caches something that its next fence waits for: a flush or non-temporal store of `line` from
    /// `site`, or, with `counters`, a write-back of the line's counters alone. `done` is the time of completion if it
    /// is known. Otherwise [`Observer::flush_acknowledged`] follows; for one line, in the order of sending.
    fn flush_sent(&mut self, _now: Ps, _core: CoreId, _site: Site, _line: Line, _counters: bool, _done: Option<Ps>) {}
    /// The persistence domain has received what a flush of `line` sent, or, with `counters`, the write-back of its
    /// counters.
    fn flush_acknowledged(&mut self, _now: Ps, _core: CoreId, _line: Line, _counters: bool) {}
    /// A fence from `site` stalled the commit of `core` from `from` until `until`.
    fn fence_stalled(&mut self, _core: CoreId, _site: Site, _from: Ps, _until: Ps) {}
    /// A load from `site` stalled the commit of `core` from `from` until `until`.
    fn load_stalled(&mut self, _core: CoreId, _site: Site, _from: Ps, _until: Ps) {}
    /// A fence of `core` completed: all its earlier flushes are acknowledged.
    fn fenced(&mut self, _now: Ps, _core: CoreId) {}
    /// `core` committed the begin of its transaction `number` (from 0).
    fn transaction_began(&mut self, _now: Ps, _core: CoreId, _number: u64) {}
    /// `core` committed the end of its transaction `number`: its commit fence has completed.
    fn transaction_ended(&mut self, _now: Ps, _core: CoreId, _number: u64) {}
    /// Everything that `core` executes before its mark `number` (from 0) has committed.
    fn marked(&mut self, _now: Ps, _core: CoreId, _number: u64) {}
    /// A dirty line was evicted from the caches.
    fn evicted(&mut self, _now: Ps, _line: Line) {}
    /// The controller received `line` from the caches, or the command that makes it zeros; `_plaintext` is its unencrypted value.
    fn write_arrived(&mut self, _now: Ps, _line: Line, _plaintext: &LineBytes) {}
    /// `media` entered the persistence domain with these bytes: from now on a crash keeps them.
    fn persisted(&mut self, _now: Ps, _media: MediaLine, _bytes: &LineBytes) {}
    /// A line on the chip that belongs to memory, with bits for what is newer on the chip or with partial updates, now has these
    /// bytes.
    fn chip_line(&mut self, _now: Ps, _media: MediaLine, _bytes: &LineBytes) {}
    /// A counter entry with these bytes was removed from the write pending queue because a newer entry replaced it.
    fn coalesced(&mut self, _now: Ps, _media: MediaLine, _bytes: &LineBytes) {}
    /// `bytes` crossed the memory bus towards the media.
    fn bus_write(&mut self, _now: Ps, _media: MediaLine, _bytes: &LineBytes) {}
    /// Of a device whose buffer is not in the persistence domain: a power failure now leaves of `media` what the media hold,
    /// `_held`, or nothing if it was never written. A counter block that is queued still leaves what is queued.
    fn media_hold(&mut self, _now: Ps, _media: MediaLine, _held: Option<&LineBytes>) {}
    /// The controller took the old bytes of `line` into the undo log of the transaction of `core`.
    fn logged(&mut self, _now: Ps, _core: CoreId, _line: Line) {}
    /// The log metadata registers now record that `bucket` belongs to the transaction of `core` and has `records` valid
    /// headers.
    fn log_extended(&mut self, _now: Ps, _core: CoreId, _bucket: u32, _records: u32) {}
    /// The log of the transaction of `core` is freed: it has committed.
    fn log_freed(&mut self, _now: Ps, _core: CoreId) {}
    /// The re-encryption status register changed: its lines, old major counter and done bits. `_finished`: it was freed.
    fn reencryption(&mut self, _now: Ps, _group: CounterGroup, _old_major: u64, _done: GroupMask, _finished: bool) {}
    /// The controller received a read of `line`; `_answered`: [`Observer::read_answered`] follows, and before that no other
    /// such read of the line arrives. Otherwise the controller reads for itself.
    fn read_arrived(&mut self, _now: Ps, _line: Line, _answered: bool) {}
    /// The controller gives `bytes` to the caches as what `line` holds.
    fn read_answered(&mut self, _now: Ps, _line: Line, _bytes: &LineBytes) {}
    /// A check of what has come from the media fails: `media` is refused, a data line because of its MAC.
    fn refused(&mut self, _now: Ps, _media: MediaLine) {}
    /// The counter cache looked up, filled or evicted a block.
    fn counter_cache(&mut self, _now: Ps, _block: CounterBlock, _act: CounterCacheAct) {}
    /// `circuit` works on `line` from `from` until `until`, which may be in the future.
    fn pad(&mut self, _line: Line, _circuit: Circuit, _from: Ps, _until: Ps) {}
    /// `bank` began to read or write `media`. At `until` the data has crossed the bus.
    fn device_access(&mut self, _now: Ps, _bank: u16, _media: MediaLine, _op: MediaOp, _until: Ps) {}
    /// An event is complete: a power failure may fall here.
    fn event_over(&mut self, _now: Ps) {}
}

/// An observer that ignores everything.
#[derive(Default, Clone, Copy, Debug)]
pub struct NoObserver;

impl Observer for NoObserver {
    #[inline]
    fn listens(&self) -> bool {
        false
    }
}

/// Two observers as one, of which the first is called first, and one that may not be there.
macro_rules! combined {
    ($($method:ident($($argument:ident: $kind:ty),*);)*) => {
        impl<A: Observer, B: Observer> Observer for (A, B) {
            fn listens(&self) -> bool {
                self.0.listens() || self.1.listens()
            }
            $(fn $method(&mut self, $($argument: $kind),*) {
                self.0.$method($($argument),*);
                self.1.$method($($argument),*);
            })*
        }
        impl<A: Observer> Observer for Option<A> {
            fn listens(&self) -> bool {
                self.is_some()
            }
            $(fn $method(&mut self, $($argument: $kind),*) {
                if let Some(observer) = self {
                    observer.$method($($argument),*);
                }
            })*
        }
    };
}

combined! {
    stored(now: Ps, core: CoreId, line: Line, offset: usize, data: &[u8]);
    marked_counter_atomic(now: Ps, core: CoreId, line: Line);
    flushed(now: Ps, core: CoreId, line: Line);
    counters_flushed(now: Ps, core: CoreId, line: Line);
    dispatched(core: CoreId, site: Site, op: &Op, instructions: u32);
    store_left(now: Ps, core: CoreId, site: Site);
    flush_sent(now: Ps, core: CoreId, site: Site, line: Line, counters: bool, done: Option<Ps>);
    flush_acknowledged(now: Ps, core: CoreId, line: Line, counters: bool);
    fence_stalled(core: CoreId, site: Site, from: Ps, until: Ps);
    load_stalled(core: CoreId, site: Site, from: Ps, until: Ps);
    fenced(now: Ps, core: CoreId);
    transaction_began(now: Ps, core: CoreId, number: u64);
    transaction_ended(now: Ps, core: CoreId, number: u64);
    marked(now: Ps, core: CoreId, number: u64);
    evicted(now: Ps, line: Line);
    write_arrived(now: Ps, line: Line, plaintext: &LineBytes);
    persisted(now: Ps, media: MediaLine, bytes: &LineBytes);
    chip_line(now: Ps, media: MediaLine, bytes: &LineBytes);
    coalesced(now: Ps, media: MediaLine, bytes: &LineBytes);
    bus_write(now: Ps, media: MediaLine, bytes: &LineBytes);
    media_hold(now: Ps, media: MediaLine, held: Option<&LineBytes>);
    logged(now: Ps, core: CoreId, line: Line);
    log_extended(now: Ps, core: CoreId, bucket: u32, records: u32);
    log_freed(now: Ps, core: CoreId);
    reencryption(now: Ps, group: CounterGroup, old_major: u64, done: GroupMask, finished: bool);
    read_arrived(now: Ps, line: Line, answered: bool);
    read_answered(now: Ps, line: Line, bytes: &LineBytes);
    refused(now: Ps, media: MediaLine);
    counter_cache(now: Ps, block: CounterBlock, act: CounterCacheAct);
    pad(line: Line, circuit: Circuit, from: Ps, until: Ps);
    device_access(now: Ps, bank: u16, media: MediaLine, op: MediaOp, until: Ps);
    event_over(now: Ps);
}

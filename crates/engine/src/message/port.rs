//! The ports between neighbouring stages. Requests that can be answered at once are method calls; everything else
//! is a message that the system routes.

use super::{CoreId, Line, LineBytes, MediaLine};
use crate::kernel::Ps;
use std::ops::Range;

/// How the cache answered a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// The request is or will be complete at this time; no message follows.
    At(Ps),
    /// A miss: a [`Wake`] follows.
    Pending,
    /// No miss register is free: a [`Wake::Retry`] follows, after which the core must ask again.
    Blocked(News),
}

/// What a blocked access knows of its line, so that the caches need not look for the line again as long as nothing has
/// happened to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum News {
    /// Nothing.
    #[default]
    Unknown,
    /// No cache held the line and no register waited for it when so many registers had been taken for lines of the bucket
    /// of this one.
    AbsentAt(u32),
}

/// What a flush does with the line that it wrote back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlushKind {
    /// clwb: the line stays in the cache, clean.
    Keep,
    /// clflush, clflushopt: the line is invalidated.
    Invalidate,
    /// flush_data: the line stays in the cache, clean, and its data persists together with its counter.
    KeepWithCounter,
}

/// A message from the cache to a core that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// Load `token` has its data at this time.
    Load { token: u32, at: Ps },
    /// The line that the store buffer waited for can be written at this time.
    Store { line: Line, at: Ps },
    /// The log manager has taken the old bytes of the line that the store buffer waited for, or the line has its next
    /// counter.
    Prepared { at: Ps },
    /// The log of the core's transaction has been freed.
    TransactionEnded { at: Ps },
    /// A flush or non-temporal store of `line`, or with `counters` a write-back of its counters alone, has been
    /// acknowledged: it is in the persistence domain.
    Flush { line: Line, counters: bool, at: Ps },
    /// A miss register has become free.
    Retry { at: Ps },
}

/// The caches as a core sees them. Every method is called at `now`, the current simulated time in picoseconds.
pub trait CachePort {
    /// Loads from `line`. `token` comes back in [`Wake::Load`].
    fn load(&mut self, now: Ps, core: CoreId, line: Line, token: u32) -> Access;
    /// Loads again what was blocked with `news`.
    fn load_again(&mut self, now: Ps, core: CoreId, line: Line, token: u32, news: News) -> Access;
    /// Makes `line` writable by `core` (read for ownership). On a miss, [`Wake::Store`] informs the core. `prefetch`:
    /// nothing waits for the line, no wake is sent, and no miss register is taken if few are free.
    fn own(&mut self, now: Ps, core: CoreId, line: Line, prefetch: bool) -> Access;
    /// Writes `data` at `offset` of a line that `own` has made writable.
    fn write(&mut self, now: Ps, core: CoreId, line: Line, offset: usize, data: &[u8]);
    /// Writes the newest copy of `line` back to memory if any level holds it dirty. `Pending`: a [`Wake::Flush`]
    /// follows when memory has acknowledged it. `At`: nothing is left to write and the flush is complete then.
    fn flush(&mut self, now: Ps, core: CoreId, line: Line, kind: FlushKind) -> Access;
    /// Begins a transaction of `core` that hardware logs. No line of the core's first level has been logged yet, and
    /// the log manager is asked for registers.
    fn begin_transaction(&mut self, now: Ps, core: CoreId);
    /// Must be called before each `write` to `line`, after `own` has made it writable. In a transaction, the first
    /// store to a line sends its old bytes to the log manager. If lines are encrypted with their own counters in the
    /// cache, the store that makes a line dirty needs the next counter. `Pending`: the store must wait for
    /// [`Wake::Prepared`] and then start again with `own`. `At`: the store need not wait, and `write` follows in the
    /// same event.
    fn prepare_store(&mut self, now: Ps, core: CoreId, line: Line) -> Access;
    /// How long after a `write` the first level accepts no further store of the core, because it encrypts the line. 0:
    /// the next store may follow in the next cycle.
    fn store_occupancy(&self) -> Ps;
    /// Ends the transaction of `core`, whose flushes have all been acknowledged. `Pending`: a
    /// [`Wake::TransactionEnded`] follows. `At`: there is no transaction.
    fn end_transaction(&mut self, now: Ps, core: CoreId) -> Access;
    /// Declares that `line` holds a `CounterAtomic` variable: every later write of the line to memory is marked
    /// counter-atomic.
    fn mark_counter_atomic(&mut self, line: Line);
    /// Writes the counter block of `line` back, after everything that this core has sent for the line before. A
    /// [`Wake::Flush`] follows.
    fn counter_writeback(&mut self, now: Ps, core: CoreId, line: Line);
    /// Drops the lines of the page whose first line is `line` from all caches and shreds the page; a [`Wake::Flush`] follows,
    /// before which the core uses none of them.
    fn zero_page(&mut self, now: Ps, core: CoreId, line: Line);
    /// Whether the caches are in the persistence domain, so that nothing needs to pass them to become durable.
    fn persistent(&self) -> bool;
    /// Writes a whole line past the caches and drops any copy; a [`Wake::Flush`] follows. Not if they are persistent: the
    /// line has no protection on its way.
    fn write_around(&mut self, now: Ps, core: CoreId, line: Line, data: &LineBytes);
    /// Latency of a first-level hit, in picoseconds.
    fn first_level_latency(&self) -> Ps;
    /// The bytes that a load at `now` would find, if a copy is cached. For the value checker; has no side effects.
    fn peek(&self, core: CoreId, line: Line) -> Option<LineBytes>;
}

/// Identifies a write for the stage that sent it; the acknowledgement returns it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteToken(pub u32);

/// What the caches request of the controller. `at` is when the request reaches it.
#[derive(Clone, Copy, Debug)]
pub enum MemoryRequest {
    /// Read a line; the answer returns `token` with the bytes.
    Read { at: Ps, line: Line, token: u32 },
    /// Write a line; the acknowledgement returns `token` when the line is in the persistence domain.
    Write {
        at: Ps,
        line: Line,
        /// The bytes as the cache holds them: ciphertext if lines are encrypted with cache pads.
        bytes: LineBytes,
        /// The pad of those bytes ("flushed into the memory controller with the corresponding C-OTP", sepencr section
        /// IV-D); zeros if lines have no cache pad.
        cache_pad: LineBytes,
        token: WriteToken,
        /// The core whose flush or non-temporal store sends it; `None` for an eviction, for which no core waits.
        core: Option<CoreId>,
        /// Line and counter must persist together: the line holds a `CounterAtomic` variable, or `flush_data` wrote it
        /// back.
        counter_atomic: bool,
    },
    /// A transaction of `core` begins and needs a set of log metadata registers.
    BeginTransaction { at: Ps, core: CoreId },
    /// The undo log of the transaction of `core` takes the old bytes of `line`. A core has at most one such request in
    /// flight.
    Log { at: Ps, core: CoreId, line: Line, old: LineBytes },
    /// The transaction of `core` ends, and its log must be freed.
    EndTransaction { at: Ps, core: CoreId },
    /// `line` is about to become dirty in a cache that encrypts lines with their own counters, so it needs its next
    /// counter. A core has at most one such request in flight.
    IncrementCounter { at: Ps, core: CoreId, line: Line },
    /// Write the counter block of `line` back if it is dirty; acknowledged like a write.
    CounterWriteback { at: Ps, line: Line, token: WriteToken },
    /// Shred the page whose first line is `line`; acknowledged like a write. No cache holds a line of it, and nothing is sent for
    /// one before the acknowledgement.
    ZeroPage { at: Ps, line: Line, token: WriteToken },
}

/// A read or a write of the media.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MediaOp {
    /// Array read into the row buffer, then out over the bus.
    Read,
    /// Data over the bus, then programmed into the cells.
    Write,
}

/// Bank and row of a media line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Location {
    /// Bank number over all channels and ranks.
    pub bank: u16,
    /// Row in the bank.
    pub row: u32,
}

/// The times of an issued access, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Issued {
    /// When its column command is sent.
    pub command: Ps,
    /// How long its data occupies the bus.
    pub burst: Ps,
    /// When the last beat of data has crossed the bus (read: data arrived; write: the bank accepted it).
    pub data_end: Ps,
    /// When the access is over: at the end of its data, or when the bank has programmed its line.
    pub done: Ps,
    /// When the bank's open row takes the next column command of the same kind.
    pub next: Ps,
    /// Whether the row was open.
    pub row_hit: bool,
    /// Whether it stops a write that its bank programs.
    pub stops_write: bool,
}

/// A command to a device of DRAM about its rows. Banks and ranks are numbered over all channels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowCommand {
    /// Opens a row.
    Activate(Location),
    /// Closes the row of a bank.
    Precharge {
        /// The bank.
        bank: u16,
    },
    /// Closes all rows of a rank.
    PrechargeAll {
        /// The rank.
        rank: u16,
    },
    /// Refreshes a rank, of which no row is open.
    Refresh {
        /// The rank.
        rank: u16,
    },
}

/// What the media hold for a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content<'a> {
    /// Never written: reads as zero and is not decrypted (valid flag).
    Never,
    /// Part of the populated base that nothing has accessed yet; still plaintext on the host.
    Base(&'a LineBytes),
    /// The bytes that were written, as stored on the media.
    Stored(&'a LineBytes),
}

impl<'a> Content<'a> {
    /// The bytes, as far as the host has them: those of a populated line are its plaintext.
    pub fn bytes(self) -> &'a LineBytes {
        match self {
            Content::Never => &[0; 64],
            Content::Base(bytes) | Content::Stored(bytes) => bytes,
        }
    }
}

const NOT_DRAM: &str = "only DRAM takes commands about rows";

/// The device as the controller sees it.
pub trait DevicePort {
    /// The bank and row of a media line.
    fn locate(&self, media: MediaLine) -> Location;
    /// The row in the row buffer of `bank`.
    fn open_row(&self, bank: u16) -> Option<u32>;
    /// A read of `media`, which is at `location`, waits for its data. Modules that are told of reads begin with it.
    fn begin_read(&mut self, _now: Ps, _media: MediaLine, _location: Location) {}
    /// From when the bank of `location` works on an access to it without delay, in picoseconds: its open row takes the
    /// column command, or may be closed for another one. Of modules that are told of reads: from when on the data are there of the
    /// read of which this bank was told first (never without one), or another write is taken.
    fn ready_at(&self, location: Location, op: MediaOp) -> Ps;
    /// When an access that is submitted at `now` would have its column command if the data bus were free.
    fn command_at(&self, now: Ps, location: Location, op: MediaOp) -> Ps;
    /// Of DRAM: the command that an access of `location` needs next, `None` if that is its column command, and the earliest time
    /// for it.
    fn needs(&self, _location: Location, _op: MediaOp) -> (Option<RowCommand>, Ps) {
        unreachable!("{NOT_DRAM}")
    }
    /// Of DRAM: when `channel` is due for its next refresh.
    fn refresh_due(&self, _channel: u16) -> Ps {
        unreachable!("{NOT_DRAM}")
    }
    /// Of DRAM: the command that the next refresh of `channel` needs next, and the earliest time for it, which is not before
    /// the refresh is due.
    fn refresh(&self, _channel: u16) -> (RowCommand, Ps) {
        unreachable!("{NOT_DRAM}")
    }
    /// Of DRAM: the rank of `bank`.
    fn rank_of(&self, _bank: u16) -> u16 {
        unreachable!("{NOT_DRAM}")
    }
    /// Of DRAM: sends `command` at `at`, not before the earliest time for it.
    fn send(&mut self, _at: Ps, _command: RowCommand) {
        unreachable!("{NOT_DRAM}")
    }
    /// Reserves the bank, bus and rank for one access of `media`, which is at `location`: after the earlier accesses of
    /// its bank, with a column command no earlier than `not_before`. It moves `words` words, from 1 to
    /// [`LINE_WORDS`](super::LINE_WORDS), each with its part of what is stored beside the line. `now` must not decrease.
    /// Counts as an access of a data line or counter block.
    fn issue(
        &mut self,
        now: Ps,
        media: MediaLine,
        location: Location,
        op: MediaOp,
        words: u8,
        not_before: Ps,
    ) -> Issued;
    /// `media` will be accessed soon: the host may bring what it knows of it near. Changes nothing.
    fn prefetch(&self, _media: MediaLine) {}
    /// What is stored for `media`. With bytes switched off the contents are zero but the kind is right.
    fn content(&self, media: MediaLine) -> Content<'_>;
    /// Writes `bytes` to `media`.
    fn store(&mut self, media: MediaLine, bytes: &LineBytes);
    /// Whether a power failure may leave less than is stored, because of a buffer outside the persistence domain. Otherwise
    /// [`DevicePort::next_end`] and [`DevicePort::instead`] have nothing to say.
    fn may_lose(&self) -> bool {
        false
    }
    /// When the media will have written what a buffer outside the persistence domain has, and nobody has asked yet: then
    /// [`DevicePort::ended`] must be called.
    fn next_end(&mut self) -> Option<Ps> {
        None
    }
    /// What the media hold of `media`, if its buffer is outside the persistence domain and they do not have what is stored.
    fn instead(&self, _media: MediaLine) -> Option<Option<&LineBytes>> {
        None
    }
    /// Ends the writes of the media that are over at `now`; returns each line of which they hold something else than before,
    /// with what that is.
    fn ended(&mut self, _now: Ps) -> Vec<(MediaLine, LineBytes)> {
        Vec::new()
    }
    /// Replaces a populated line's host-side plaintext with its ciphertext. Not an access: it costs no time and no
    /// wear.
    fn materialise(&mut self, media: MediaLine, bytes: &LineBytes);
    /// Which of 1 to 64 neighbouring lines belong to the populated base: bit `i` is set if the one with number
    /// `lines.start + i` does.
    fn populated_mask(&self, lines: Range<u64>) -> u64;
    /// What `line` held before the run, if it was populated.
    fn base(&self, line: Line) -> Option<&LineBytes>;
}

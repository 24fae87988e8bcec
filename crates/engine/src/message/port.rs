//! The ports between neighbouring stages. Requests that can be answered at once are method calls; everything else
//! is a message that the system routes.

use super::{CoreId, Line, LineBytes, MediaLine};
use crate::kernel::Ps;

/// How the cache answered a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// The line is (or will be) there at this time; nothing more will be said.
    At(Ps),
    /// A miss: a [`Wake`] follows.
    Pending,
    /// No miss register is free: a [`Wake::Retry`] follows, then ask again.
    Blocked,
}

/// What a flush does with the line it wrote back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlushKind {
    /// clwb: the line stays, clean.
    Keep,
    /// clflush, clflushopt: the line goes.
    Invalidate,
    /// flush_data: the line stays, clean, and what is written persists together with its counter.
    KeepWithCounter,
}

/// What the cache tells a core that was left waiting.
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

/// The caches as a core sees them. Every method is called at `now`, the current simulated time.
pub trait CachePort {
    /// Loads from `line`. `token` comes back in [`Wake::Load`].
    fn load(&mut self, now: Ps, core: CoreId, line: Line, token: u32) -> Access;
    /// Makes `line` writable by `core` (read for ownership). On a miss the core is told by [`Wake::Store`].
    /// `prefetch`: nobody waits yet, no wake is wanted, and no miss register is taken if few are left.
    fn own(&mut self, now: Ps, core: CoreId, line: Line, prefetch: bool) -> Access;
    /// Writes `data` at `offset` of a line that `own` has made writable.
    fn write(&mut self, now: Ps, core: CoreId, line: Line, offset: usize, data: &[u8]);
    /// Writes the newest copy of `line` back to memory if any level holds it dirty. `Pending`: a [`Wake::Flush`]
    /// follows when memory has acknowledged it. `At`: nothing is left to write and the flush is complete then.
    fn flush(&mut self, now: Ps, core: CoreId, line: Line, kind: FlushKind) -> Access;
    /// `core` begins a transaction that hardware logs: no line of its first level has been logged yet, and the log manager
    /// is asked for registers.
    fn begin_transaction(&mut self, now: Ps, core: CoreId);
    /// To be asked before each `write` to `line`, which `own` has made writable: in a transaction, the first store to a
    /// line sends its old bytes to the log manager; where lines rest encrypted under their own counters, the store that
    /// makes one dirty needs its next counter. `Pending`: the store must wait for [`Wake::Prepared`] and then begin anew
    /// with `own`. `At`: it need not, and the `write` follows in the same event.
    fn prepare_store(&mut self, now: Ps, core: CoreId, line: Line) -> Access;
    /// How long after a `write` the first level takes no further store of the core, because it encrypts the line. 0: the
    /// next may follow in the next cycle.
    fn store_occupancy(&self) -> Ps;
    /// Ends the transaction of `core`, whose flushes have all been acknowledged. `Pending`: a
    /// [`Wake::TransactionEnded`] follows. `At`: there is none.
    fn end_transaction(&mut self, now: Ps, core: CoreId) -> Access;
    /// `line` holds a `CounterAtomic` variable: whatever is sent to memory of it says so from now on.
    fn mark_counter_atomic(&mut self, line: Line);
    /// Has the counter block of `line` written back, after everything of the line that this core has sent before; a
    /// [`Wake::Flush`] follows.
    fn counter_writeback(&mut self, now: Ps, core: CoreId, line: Line);
    /// Writes a whole line past the caches and drops any copy; a [`Wake::Flush`] follows.
    fn write_around(&mut self, now: Ps, core: CoreId, line: Line, data: &LineBytes);
    /// Latency of a first-level hit.
    fn first_level_latency(&self) -> Ps;
    /// The bytes a load at `now` finds, if a copy is cached; used by the value checker, free of side effects.
    fn peek(&self, core: CoreId, line: Line) -> Option<LineBytes>;
}

/// Names a write to the stage that sent it; comes back with the acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteToken(pub u32);

/// What the caches ask of the controller. `at` is when the request reaches it.
#[derive(Clone, Copy, Debug)]
pub enum MemoryRequest {
    /// Read a line; `token` comes back with the bytes.
    Read { at: Ps, line: Line, token: u32 },
    /// Write a line; `token` comes back when it is in the persistence domain.
    Write {
        at: Ps,
        line: Line,
        /// As they lie in the cache: ciphertext if lines rest under cache pads.
        bytes: LineBytes,
        /// The pad under which they do ("flushed into the memory controller with the corresponding C-OTP", sepencr
        /// section IV-D); zeros otherwise.
        cache_pad: LineBytes,
        token: WriteToken,
        /// Line and counter persist together: the line holds a `CounterAtomic` variable, or `flush_data` wrote it back.
        counter_atomic: bool,
    },
    /// A transaction of `core` begins: it is to have a set of log metadata registers.
    BeginTransaction { at: Ps, core: CoreId },
    /// The undo log of the transaction of `core` takes the old bytes of `line`. A core has one such request under way.
    Log { at: Ps, core: CoreId, line: Line, old: LineBytes },
    /// The transaction of `core` ends: its log is to be freed.
    EndTransaction { at: Ps, core: CoreId },
    /// `line` is about to turn dirty where lines rest encrypted under their own counters: it needs its next one. A core
    /// has one such request under way.
    BumpCounter { at: Ps, core: CoreId, line: Line },
    /// Writes the counter block of `line` back if it is dirty; acknowledged like a write.
    CounterWriteback { at: Ps, line: Line, token: WriteToken },
}

/// A read or a write of the media.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MediaOp {
    /// Array read into the row buffer, then out over the bus.
    Read,
    /// Data over the bus, then programmed into the cells.
    Write,
}

/// Where a media line lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Location {
    /// Bank number over all channels and ranks.
    pub bank: u16,
    /// Row in the bank.
    pub row: u32,
}

/// When an issued command gets where. All times in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Issued {
    /// The last beat of data has crossed the bus (read: data arrived; write: the bank accepted it).
    pub data_end: Ps,
    /// The bank can take its next command.
    pub bank_free: Ps,
    /// The row was open.
    pub row_hit: bool,
}

/// What the media hold for a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content<'a> {
    /// Never written: reads as zero, is not decrypted (valid flag).
    Never,
    /// Part of the populated base, still plaintext on the host because nothing has touched it yet.
    Base(&'a LineBytes),
    /// What was written, as it lies on the media.
    Stored(&'a LineBytes),
}

/// The device as the controller sees it.
pub trait DevicePort {
    /// Where a media line lies.
    fn locate(&self, media: MediaLine) -> Location;
    /// The row that lies in the row buffer of `bank`.
    fn open_row(&self, bank: u16) -> Option<u32>;
    /// From when on a bank that is free takes a command at `location`: at once, or when what was written to its open row
    /// is programmed.
    fn ready_at(&self, location: Location) -> Ps;
    /// Commits the bank, bus and rank to one access of `media`, which lies at `location`, starting no earlier than
    /// `now`. The bank must be free, and `now` never moves back. Counts as an access of a data line or counter block.
    fn issue(&mut self, now: Ps, media: MediaLine, location: Location, op: MediaOp) -> Issued;
    /// What is stored for `media`. With bytes switched off the contents are zero but the kind is right.
    fn content(&self, media: MediaLine) -> Content<'_>;
    /// Writes `bytes` to `media`.
    fn store(&mut self, media: MediaLine, bytes: &LineBytes);
    /// Replaces a populated line's host-side plaintext by its ciphertext; not an access, costs no time or wear.
    fn materialise(&mut self, media: MediaLine, bytes: &LineBytes);
    /// Whether `line` belongs to the populated base.
    fn populated(&self, line: Line) -> bool;
}

//! The common interface of all formats of recorded programs: one act of the program after the other, with addresses
//! that the recording can map to files.

use super::lacks::Lack;
use super::mapped_files::{Place, RegisteredFile};
use super::other_memory::{Near, OtherMemory};
use super::sites::Sites;
use crate::kernel::ConfigError;
use crate::message::{NO_SITE, Site};
use std::ops::Range;

/// What was expected in place of a malformed record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expected(pub &'static str);

/// The next act of the program, and the instructions that it executed before, which are no acts. Addresses are
/// virtual; [`Recording::place`] maps them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Deed {
    pub instructions: u64,
    /// Of them, the loads and stores of other memory, in lines that the thread has accessed lately.
    pub near: Near,
    pub act: Act,
    /// Whether the act is one of the instruction that did the act before: it has several operands in memory.
    pub joined: bool,
}

impl From<Act> for Deed {
    fn from(act: Act) -> Self {
        Deed { instructions: 0, near: Near::default(), act, joined: false }
    }
}

/// One act of a recorded program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Act {
    /// A load, completely mapped. The loaded value is not recorded.
    Load { address: u64, size: u32 },
    /// A store of the bytes in [`Recording::bytes`], completely mapped.
    Store { address: u64, size: u32, way: StoreWay },
    /// A flush of the lines of `[address, end)`, which may be partly unmapped: programs flush any memory.
    Flush { address: u64, end: u64, kind: FlushKind },
    /// A store fence.
    Fence,
    /// A fence that later loads wait for too.
    FullFence,
    /// A locked operation on memory that is not persistent: a fence that later loads wait for too, executed for another
    /// purpose.
    Locked,
    /// A flush of `[address, end)` and a fence. By the documentation of libpmem and libpmem2, a deep flush moves the
    /// range to the most reliable persistence domain. The device model has one domain, so a flush and a fence are
    /// enough.
    DeepSync { address: u64, end: u64 },
    /// The outermost transaction begins, as the program itself reports.
    TxBegin,
    /// The outermost transaction has ended.
    TxEnd,
    /// A marker: the program is inside or at the end of a transactional function of libpmemobj.
    Transactional,
    /// A marker: a transaction has committed.
    Commit,
    /// The program declares that what it stores to `[address, end)` need not become durable.
    Scratch { address: u64, end: u64, what: Scratch },
    /// The program says how the counters of `[address, end)`, which may be partly unmapped, must become durable
    /// (counter-atomicity section 4.3).
    Annotation { address: u64, end: u64, kind: AnnotationKind },
    /// The thread follows what `thread` did in the first `records` records: it knows of it.
    Follows { thread: u64, records: u64 },
    /// A load or store of the line at this offset of other memory, which the thread has not accessed lately.
    Other { offset: u64, store: bool },
    /// No act: only the instructions count.
    Nothing,
    /// The recording has ended.
    Over { cut_off: bool },
}

/// How bytes are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreWay {
    /// By an ordinary store, or by a system call.
    Cached,
    /// Past the caches.
    NonTemporal,
    /// Read, changed and stored in one locked operation, which is also a full fence.
    Atomic,
    /// By the kernel, in a system call.
    Kernel,
}

impl StoreWay {
    /// Whether the bytes go past the caches.
    pub fn past_caches(self) -> bool {
        self == Self::NonTemporal
    }
}

/// Which stores need not become durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scratch {
    /// Those so far.
    Stored,
    /// Those from here on.
    Begins,
    /// None any more.
    Ends,
}

/// What a program says of counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnnotationKind {
    /// They are to be written back: `counter_cache_writeback`.
    Writeback,
    /// From here on they are those of `CounterAtomic` variables.
    Atomic,
}

impl AnnotationKind {
    /// The kind's name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Writeback => "counter-writeback",
            Self::Atomic => "counter-atomic",
        }
    }
}

/// What flushes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlushKind {
    Clwb,
    Clflushopt,
    Clflush,
    /// The kernel, in a system call, which fences before it returns.
    Sync,
    /// The same, before the kernel does anything else.
    SyncAtOnce,
}

impl FlushKind {
    /// Whether it needs no fence.
    pub fn at_once(self) -> bool {
        matches!(self, Self::Clflush | Self::SyncAtOnce)
    }

    /// Whether it is no instruction of the program.
    pub fn by_kernel(self) -> bool {
        matches!(self, Self::Sync | Self::SyncAtOnce)
    }
}

/// Populated bytes that a recording returns before the acts that need them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Populated<'a> {
    pub file: usize,
    pub offset: u64,
    pub bytes: &'a [u8],
}

/// Takes the contents of a file; an error refuses the recording.
pub(super) type TakeImage<'a> = &'a mut dyn FnMut(Populated<'_>) -> Result<(), Expected>;

/// Totals that only the recording knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Totals {
    /// Number of instructions executed, if the format counts them.
    pub instructions: u64,
    /// Number of threads.
    pub threads: u64,
    /// Number of markers, whatever they say.
    pub marks: u64,
    /// Exit status of the program.
    pub status: Option<u64>,
    /// Other memory, if the format has its accesses.
    pub others: Option<OtherMemory>,
}

/// A recorded program, read from its beginning to its end, one record held at a time.
pub(super) trait Recording: Send {
    /// The next act. Mappings take effect here and are not acts; the contents of files are passed to `image`. After
    /// [`Act::Over`] the same act is returned again.
    fn next_deed(&mut self, image: TakeImage<'_>) -> Result<Deed, ConfigError>;
    /// The bytes of the store that [`Recording::next_deed`] has returned last.
    fn bytes(&self) -> &[u8];
    /// What `address` is mapped to, if it is mapped.
    fn place(&mut self, address: u64) -> Option<Place>;
    /// The first mapped address at or after `address`, and what it is mapped to.
    fn place_from(&mut self, address: u64) -> Option<(u64, Place)>;
    /// The first mapped part of `[at, end)`: where it begins, and what it is mapped to, no further than `end`.
    fn first_placed(&mut self, at: u64, end: u64) -> Option<(u64, Place)> {
        let (start, place) = self.place_from(at).filter(|&(start, _)| at < end && start < end)?;
        Some((start, Place { length: place.length.min(end - start), ..place }))
    }
    /// The files so far, in the order of their numbers.
    fn files(&self) -> &[RegisteredFile];
    /// Whether these are files of the program, with their contents.
    fn of_files(&self) -> bool {
        true
    }
    /// The recording's name in errors.
    fn name(&self) -> &str;
    /// Number of records so far.
    fn records(&self) -> u64;
    /// Byte offset, in the decompressed recording, of the newest record; if it is cut off, up to which it is valid.
    fn offset(&self) -> u64;
    /// The totals so far.
    fn totals(&self) -> Totals;
    /// Whether the records so far say where acts come from.
    fn tells_sites(&self) -> bool {
        false
    }
    /// From now on, [`Recording::site`] returns where acts come from.
    fn watch_sites(&mut self) {}
    /// The site that the newest act comes from.
    fn site(&mut self) -> Site {
        NO_SITE
    }
    /// Whether the newest act is executed in the C library or the loader, as far as sites are known.
    fn in_library(&mut self) -> bool {
        false
    }
    /// Takes the table of all sites so far.
    fn take_sites(&mut self) -> Sites {
        Sites::default()
    }
    /// After [`Act::Over`]: the addresses of the stores that are not durable at the end, if the recording itself says so.
    /// It knows better than its acts, because programs can declare stores that need not be durable.
    fn not_durable(&mut self) -> Option<Vec<Range<u64>>> {
        None
    }
    /// What the recording lacks, as of the newest record; `cut_off`: its end is one of it.
    fn lacks(&self, _cut_off: bool) -> Vec<Lack> {
        Vec::new()
    }
    /// The thread of the newest act.
    fn thread(&self) -> u64 {
        0
    }
    /// From now on, only acts of this thread are returned, and the annotations of the others; transactions are its own.
    fn only_of(&mut self, _thread: u64) {}
    /// Whether the recording says which thread follows which. If not, only the one order of all acts is known to be possible.
    fn tells_follows(&self) -> bool {
        false
    }
    /// Transactions that a thread has ended, as it tells itself.
    fn ended_by(&self, _thread: u64) -> u64 {
        0
    }
    /// The text of the newest act, if it is a mark of the program.
    fn mark(&self) -> Option<&[u8]> {
        None
    }
    /// The names of the recording and of its last record, for the error that the end is missing.
    fn kind(&self) -> (&'static str, &'static str);
}

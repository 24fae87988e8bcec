//! What every format of recorded programs comes to: one deed of the program after the other, with addresses that the
//! recording itself can place in files.

use super::mapping::{Place, RegisteredFile};
use super::sites::Sites;
use crate::config::ConfigError;
use crate::message::{NO_SITE, Site};

/// What should have been there instead of a malformed record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expected(pub &'static str);

/// What the program did next, and the instructions without memory operands that it executed before. Addresses are
/// virtual; [`Recording::place`] says where they lead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Deed {
    pub instructions: u64,
    pub act: Act,
}

impl From<Act> for Deed {
    fn from(act: Act) -> Self {
        Deed { instructions: 0, act }
    }
}

/// One act of a recorded program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Act {
    /// A load, all of it mapped. What it found is not recorded.
    Load { address: u64, size: u32 },
    /// A store of the bytes that [`Recording::bytes`] has, all of it mapped.
    Store { address: u64, size: u32, way: StoreWay },
    /// A flush of the lines of `[address, end)`, of which any part may be unmapped: programs flush any memory.
    Flush { address: u64, end: u64, kind: FlushKind },
    /// A store fence.
    Fence,
    /// A fence that later loads wait for too.
    FullFence,
    /// A flush of `[address, end)` and a fence. The documentation of libpmem and libpmem2 has a deep flush put the range
    /// in the most reliable persistence domain; the device model knows one domain, so a flush and a fence do that.
    DeepSync { address: u64, end: u64 },
    /// The outermost transaction begins; the program has said so itself.
    TxBegin,
    /// It has ended.
    TxEnd,
    /// A marker: the program is in or at the end of a transactional function of libpmemobj.
    Transactional,
    /// A marker: a transaction has committed.
    Commit,
    /// Nothing: only the instructions count.
    Nothing,
    /// The recording is over.
    Over { cut_off: bool },
}

/// How bytes are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StoreWay {
    /// By an ordinary store, or by a system call.
    Cached,
    /// Past the caches.
    NonTemporal,
    /// Read, changed and stored at once; a full fence as well.
    Atomic,
    /// By the kernel, in a system call.
    Kernel,
}

/// Which instruction flushes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlushKind {
    Clwb,
    Clflushopt,
    Clflush,
}

/// Populated bytes that a recording gives before the acts that need them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Populated<'a> {
    pub file: usize,
    pub offset: u64,
    pub bytes: &'a [u8],
}

/// Takes what a file held; an error refuses the recording.
pub(super) type TakeImage<'a> = &'a mut dyn FnMut(Populated<'_>) -> Result<(), Expected>;

/// Totals that only the recording can tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Totals {
    /// Instructions executed, if the format counts them.
    pub instructions: u64,
    /// Threads seen.
    pub threads: u64,
    /// Exit status of the program.
    pub status: Option<u64>,
}

/// A recorded program, read from its beginning to its end, one record held at a time.
pub(super) trait Recording: Send {
    /// The next act. Mappings take effect here and are no acts; what files held goes to `image`. After
    /// [`Act::Over`] the same comes again.
    fn next_deed(&mut self, image: TakeImage<'_>) -> Result<Deed, ConfigError>;
    /// The bytes of the store that [`Recording::next_deed`] has just given.
    fn bytes(&self) -> &[u8];
    /// Where `address` leads, if it is mapped.
    fn place(&mut self, address: u64) -> Option<Place>;
    /// The first mapped address at or after `address`, and where it leads.
    fn place_from(&mut self, address: u64) -> Option<(u64, Place)>;
    /// The files so far, in the order of their numbers.
    fn files(&self) -> &[RegisteredFile];
    /// Whether these are files of the program, with what it stored in them.
    fn of_files(&self) -> bool {
        true
    }
    /// What stands for the recording in errors.
    fn name(&self) -> &str;
    /// Records so far.
    fn records(&self) -> u64;
    /// Byte offset, in the decompressed recording, of the newest record; when it is cut off, up to which it is good.
    fn offset(&self) -> u64;
    /// What has been counted so far.
    fn totals(&self) -> Totals;
    /// From now on [`Recording::site`] tells where deeds come from. False if the format does not say.
    fn watch_sites(&mut self) -> bool {
        false
    }
    /// The place in the program that the newest deed comes from.
    fn site(&mut self) -> Site {
        NO_SITE
    }
    /// All places so far.
    fn take_sites(&mut self) -> Sites {
        Sites::default()
    }
    /// What the recording calls itself and the record at its end, for the sentence that the end is missing.
    fn kind(&self) -> (&'static str, &'static str);
}

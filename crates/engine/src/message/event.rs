//! The events of the whole pipe. Operands are indices into the stage that handles the event, so an event is two words
//! and cheap to copy.

use super::CoreId;
use crate::kernel::EventCode;

/// One indivisible hardware step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A core fetches and executes its next operation.
    CoreStep { core: CoreId },
    /// A load that waited for its address goes to the cache.
    LoadIssue { core: CoreId, slot: u32 },
    /// A core's store buffer moves its oldest entry into the cache.
    StoreBufferStep { core: CoreId },
    /// A flush that found nothing to write is complete.
    FlushDone { core: CoreId },
    /// A read reaches the controller.
    ReadArrives { slot: u32 },
    /// A write reaches the controller.
    WriteArrives { slot: u32 },
    /// The counter cache answered a write (or its miss was filled) and the write asks for an AES circuit.
    CounterReady { slot: u32 },
    /// An AES circuit finished the pad of a write.
    PadReady { slot: u32 },
    /// A pipelined AES circuit takes the next line.
    CircuitFree { unit: u32 },
    /// A read's line (data and pad) is ready.
    ReadReady { slot: u32 },
    /// A counter block fetched from the media arrived.
    CounterFetched { slot: u32 },
    /// A counter block that was fetched from the media is verified.
    CounterVerified { slot: u32 },
    /// A line of MACs or a tree node fetched from the media arrived.
    MetadataFetched { slot: u32 },
    /// A tree node that was fetched from the media is verified.
    NodeVerified { slot: u32 },
    /// The MAC of a write and its way up the integrity tree are computed.
    Authenticated { slot: u32 },
    /// A bank took a queued write's data: the entry leaves the write pending queue.
    WriteAccepted { slot: u32 },
    /// A bank is ready for its next request, or free.
    BankReady { bank: u16 },
    /// A scheduling policy that looks at all banks decides what goes next.
    Decide,
    /// The device has programmed a write that is to be acknowledged then.
    WriteProgrammed { token: u32 },
    /// A line has arrived with its counter beside it: its pad can be made.
    InlineCounterArrives { slot: u32 },
    /// A `counter_cache_writeback` reaches the controller.
    CounterWritebackArrives { slot: u32 },
    /// The begin of a transaction that hardware logs reaches the log manager.
    TransactionBeginArrives { core: CoreId },
    /// The old bytes of a line reach the log manager.
    LogEntryArrives { slot: u32 },
    /// The end of a transaction that hardware logs reaches the log manager.
    TransactionEndArrives { core: CoreId },
    /// Page re-encryption may continue with its next line.
    ReencryptStep,
    /// The done bit of line `index` of the page under re-encryption is set, in designs that do this in a separate step.
    ReencryptDone { index: u32 },
}

impl EventCode for Event {
    #[inline]
    fn code(&self) -> u64 {
        let (kind, operand) = match *self {
            Event::CoreStep { core } => (1, u64::from(core)),
            Event::StoreBufferStep { core } => (2, u64::from(core)),
            Event::FlushDone { core } => (3, u64::from(core)),
            Event::LoadIssue { core, slot } => (14, u64::from(core) << 32 | u64::from(slot)),
            Event::ReadArrives { slot } => (4, u64::from(slot)),
            Event::WriteArrives { slot } => (5, u64::from(slot)),
            Event::CounterReady { slot } => (6, u64::from(slot)),
            Event::PadReady { slot } => (7, u64::from(slot)),
            Event::ReadReady { slot } => (8, u64::from(slot)),
            Event::CounterFetched { slot } => (9, u64::from(slot)),
            Event::WriteAccepted { slot } => (10, u64::from(slot)),
            Event::BankReady { bank } => (11, u64::from(bank)),
            Event::Decide => (21, 0),
            Event::WriteProgrammed { token } => (22, u64::from(token)),
            Event::ReencryptStep => (12, 0),
            Event::InlineCounterArrives { slot } => (15, u64::from(slot)),
            Event::CounterWritebackArrives { slot } => (16, u64::from(slot)),
            Event::LogEntryArrives { slot } => (18, u64::from(slot)),
            Event::TransactionEndArrives { core } => (19, u64::from(core)),
            Event::TransactionBeginArrives { core } => (20, u64::from(core)),
            Event::CircuitFree { unit } => (21, u64::from(unit)),
            Event::CounterVerified { slot } => (23, u64::from(slot)),
            Event::MetadataFetched { slot } => (24, u64::from(slot)),
            Event::NodeVerified { slot } => (25, u64::from(slot)),
            Event::Authenticated { slot } => (26, u64::from(slot)),
            Event::ReencryptDone { index } => (13, u64::from(index)),
        };
        operand << 8 | kind
    }
}

//! The events of the whole pipe. Operands are indices into the stage that handles the event, so an event is one word of
//! 64 bits and cheap to copy.

use super::CoreId;
use crate::kernel::EventCode;
use strum::{EnumCount, EnumDiscriminants};

/// One indivisible hardware step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A step of a core.
    Core(CoreEvent),
    /// A step of the memory controller.
    Controller(ControllerEvent),
}

impl From<CoreEvent> for Event {
    #[inline]
    fn from(event: CoreEvent) -> Self {
        Self::Core(event)
    }
}

impl From<ControllerEvent> for Event {
    #[inline]
    fn from(event: ControllerEvent) -> Self {
        Self::Controller(event)
    }
}

/// A step of a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug, EnumCount, EnumDiscriminants)]
#[cfg_attr(test, derive(strum::EnumIter))]
#[strum_discriminants(name(CoreKind), vis(pub(self)))]
pub enum CoreEvent {
    /// A core fetches and executes its next operation.
    Step { core: CoreId },
    /// A load that waited for its address goes to the cache.
    LoadIssue { core: CoreId, slot: u16 },
    /// A core's store buffer moves its oldest entry into the cache.
    StoreBufferStep { core: CoreId },
    /// A flush that found nothing to write is complete.
    FlushDone { core: CoreId },
    /// The other cores learn what a core has reported.
    Reported { core: CoreId },
}

/// A step of the memory controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, EnumCount, EnumDiscriminants)]
#[cfg_attr(test, derive(strum::EnumIter))]
#[strum_discriminants(name(ControllerKind), vis(pub(self)))]
pub enum ControllerEvent {
    /// A read reaches the controller.
    ReadArrives { slot: u32 },
    /// A write reaches the controller.
    WriteArrives { slot: u32 },
    /// The counter cache answered a write (or its miss was filled) and the write asks for an AES circuit.
    CounterReady { slot: u32 },
    /// An AES circuit finished the pad of a write.
    PadReady { slot: u32 },
    /// A pipelined AES circuit takes the next line.
    CircuitFree { circuit: u32 },
    /// The minor security unit is done with a write, which is durable from now on.
    Accepted { slot: u32 },
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
    /// The counter of a read is known, and the read asks for an AES circuit, which it shares with writes.
    ReadRequestsCircuit { slot: u32 },
    /// The media have written something that a buffer outside the persistence domain had.
    MediaWritten,
}

impl CoreEvent {
    fn operand(self) -> u64 {
        match self {
            Self::LoadIssue { core, slot } => u64::from(core) << 16 | u64::from(slot),
            Self::Step { core }
            | Self::StoreBufferStep { core }
            | Self::FlushDone { core }
            | Self::Reported { core } => u64::from(core),
        }
    }
}

impl ControllerEvent {
    fn operand(self) -> u64 {
        match self {
            Self::ReadArrives { slot }
            | Self::WriteArrives { slot }
            | Self::Accepted { slot }
            | Self::CounterReady { slot }
            | Self::PadReady { slot }
            | Self::ReadReady { slot }
            | Self::CounterFetched { slot }
            | Self::CounterVerified { slot }
            | Self::MetadataFetched { slot }
            | Self::NodeVerified { slot }
            | Self::Authenticated { slot }
            | Self::WriteAccepted { slot }
            | Self::InlineCounterArrives { slot }
            | Self::CounterWritebackArrives { slot }
            | Self::LogEntryArrives { slot }
            | Self::ReadRequestsCircuit { slot } => u64::from(slot),
            Self::TransactionBeginArrives { core } | Self::TransactionEndArrives { core } => u64::from(core),
            Self::CircuitFree { circuit } => u64::from(circuit),
            Self::WriteProgrammed { token } => u64::from(token),
            Self::ReencryptDone { index } => u64::from(index),
            Self::BankReady { bank } => u64::from(bank),
            Self::Decide | Self::ReencryptStep | Self::MediaWritten => 0,
        }
    }
}

impl EventCode for Event {
    /// From the lowest bit up: which of the two enums has the event, its place there, and its operands.
    #[inline]
    fn code(&self) -> u64 {
        const { assert!(CoreEvent::COUNT <= 128 && ControllerEvent::COUNT <= 128) };
        match *self {
            Self::Core(event) => event.operand() << 8 | (CoreKind::from(event) as u64) << 1,
            Self::Controller(event) => event.operand() << 8 | (ControllerKind::from(event) as u64) << 1 | 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use strum::IntoEnumIterator;

    #[test]
    fn no_two_events_have_the_same_code() {
        let of_cores = CoreEvent::iter().map(Event::from);
        let codes: HashSet<u64> =
            of_cores.chain(ControllerEvent::iter().map(Event::from)).map(|event| event.code()).collect();
        assert_eq!(codes.len(), CoreEvent::COUNT + ControllerEvent::COUNT);
    }

    #[test]
    fn operands_tell_events_of_a_kind_apart() {
        let loads = [(0, 0), (1, 0), (0, 1), (u16::MAX, 0), (0, u16::MAX), (u16::MAX, u16::MAX)];
        let loads = loads.map(|(core, slot)| Event::from(CoreEvent::LoadIssue { core, slot }));
        let writes = [0, 1, 1 << 16, u32::MAX].map(|slot| Event::from(ControllerEvent::WriteArrives { slot }));
        let codes: HashSet<u64> = loads.iter().chain(&writes).map(EventCode::code).collect();
        assert_eq!(codes.len(), loads.len() + writes.len());
    }

    #[test]
    fn event_is_one_word() {
        assert_eq!(size_of::<Event>(), 8);
    }
}

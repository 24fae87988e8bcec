//! EASY-PM's baseline: hardware undo logging after ATOM, counter mode for data and for the log (easy-pm section III-B).
//! `flush_data` and the log manager write line and counter as a pair, in one event.
//!
//! *Published*: a data line that leaves the caches on its own leaves its counter in the counter cache until `flush_data`
//! or an eviction; if power fails before, the undo that follows uses the same counter again, for other bytes.
//! *Hardened*: every data line is written as a pair.

use crate::config::Variant;
use crate::mechanism::line_counters;
use crate::mechanism::write_path::{FlushedPairs, StagedPair};
use crate::message::LogLayout;
use crate::parts::{
    AppendOrder, CachePads, CounterCoalescing, CounterStore, CounterUpdate, Design, Domain, Encryption, HardwareLog,
    LineAtomicity, LogChains, LogEncryption, LogOrder, MinorReset, PersistenceDomain, ProgramForm, Promise,
    RecoveryStep, Register, RegisterName, WriteQueues, WritebackOrder,
};

pub(super) const fn design(variant: Variant) -> Design {
    let hardened = matches!(variant, Variant::Hardened);
    Design {
        name: "hw-log",
        variant,
        summary: "hardware undo logging, counter mode for data and log, every log line with its counter",
        paper: "easy-pm, section III-B",
        machine: "easy-pm",
        form: ProgramForm::HardwareLogged,
        promise: Promise { crash_consistent: Ok(()), line_atomic: LineAtomicity::None, secret: true },
        encryption: Some(Encryption {
            counters: line_counters::own_of_machine,
            store: CounterStore::Region,
            write_path: if hardened { &StagedPair } else { &FlushedPairs },
            update: CounterUpdate::AtBump,
            queues: WriteQueues::Shared,
            writeback_order: WritebackOrder::AfterData,
            append_order: AppendOrder::BumpOrder,
            coalescing: CounterCoalescing::ReadyEntries,
            minor_reset: MinorReset::WithDoneBit,
        }),
        log: Some(HardwareLog {
            layout: LogLayout::Records,
            encryption: LogEncryption::Counter { write_path: &StagedPair },
            order: LogOrder::LogFirst,
            chains: LogChains::Linked,
        }),
        cache_pads: CachePads::None,
        domain: PersistenceDomain::Adr,
        registers: &[
            Register { name: RegisterName::LogMetadata, domain: Domain::Adr },
            Register { name: RegisterName::ReencryptionStatus, domain: Domain::Adr },
        ],
        recovery: &[RecoveryStep::ResumeReencryption, RecoveryStep::UndoHardwareLog],
    }
}

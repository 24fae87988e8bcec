//! Full counter-atomicity: every write is counter-atomic. Data and counter queues with ready bits, in the ADR domain;
//! one global 64-bit counter, eight 8-byte counters to a block (counter-atomicity sections 3.2.2 and 5.2).
//!
//! *Published*: the counter cache takes a new counter when it is bumped, and the latest block is sent: it may carry a
//! neighbour's new counter while the neighbour's data is still being encrypted. *Hardened*: a block that is sent carries
//! only counters whose own data is queued.

use crate::config::Variant;
use crate::mechanism::{global_counters, write_path::ReadyPairs};
use crate::parts::{
    AppendOrder, CachePads, CounterCoalescing, CounterStore, CounterUpdate, Design, Domain, Encryption, LineAtomicity,
    MinorReset, PersistenceDomain, ProgramForm, Promise, Register, RegisterName, WriteQueues, WritebackOrder,
};

pub(super) const fn design(variant: Variant) -> Design {
    let hardened = matches!(variant, Variant::Hardened);
    Design {
        name: "fca",
        variant,
        summary: "full counter-atomicity: data and counter queues with ready bits, every write a pair",
        paper: "counter-atomicity, sections 3.2.2 and 5.2",
        machine: "counter-atomicity",
        form: ProgramForm::Plain,
        promise: Promise { crash_consistent: Ok(()), line_atomic: LineAtomicity::Every, secret: true },
        encryption: Some(Encryption {
            counters: global_counters::region,
            store: CounterStore::Region,
            write_path: &ReadyPairs,
            update: if hardened { CounterUpdate::WithData } else { CounterUpdate::AtBump },
            queues: WriteQueues::DataAndCounter,
            writeback_order: if hardened { WritebackOrder::AfterData } else { WritebackOrder::AtOnce },
            append_order: AppendOrder::BumpOrder,
            coalescing: CounterCoalescing::ReadyEntries,
            minor_reset: MinorReset::AtOnce,
        }),
        log: None,
        cache_pads: CachePads::None,
        domain: PersistenceDomain::Adr,
        registers: &[Register { name: RegisterName::GlobalCounter, domain: Domain::Configured }],
        recovery: &[],
    }
}

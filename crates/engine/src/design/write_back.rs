//! Plain counter mode with a write-back counter cache: the broken starting point every paper motivates with
//! (secpm section 2.3, Table 1).

use crate::config::Variant;
use crate::mechanism::{counters, write_path::Deferred};
use crate::parts::{
    AppendOrder, CachePads, CounterCoalescing, CounterStore, CounterUpdate, Design, Domain, Encryption, LineAtomicity,
    MinorReset, PersistenceDomain, ProgramForm, Promise, Register, RegisterName, WriteQueues, WritebackOrder,
};

pub(super) const fn design(variant: Variant) -> Design {
    Design {
        name: "write-back",
        variant,
        summary: "counter mode with a write-back counter cache: flushes leave the counters behind",
        paper: "secpm, section 2.3 and Table 1",
        machine: "secpm",
        form: ProgramForm::Plain,
        promise: Promise { crash_consistent: Ok(()), line_atomic: LineAtomicity::None, secret: true },
        encryption: Some(Encryption {
            counters: counters::of_machine,
            store: CounterStore::Region,
            write_path: &Deferred,
            update: CounterUpdate::AtBump,
            queues: WriteQueues::Shared,
            writeback_order: WritebackOrder::AtOnce,
            append_order: AppendOrder::BumpOrder,
            coalescing: CounterCoalescing::Off,
            minor_reset: MinorReset::AtOnce,
        }),
        log: None,
        cache_pads: CachePads::None,
        domain: PersistenceDomain::Adr,
        registers: &[
            Register { name: RegisterName::ReencryptionStatus, domain: Domain::Volatile },
            Register { name: RegisterName::GlobalCounter, domain: Domain::Configured },
        ],
        recovery: &[],
    }
}

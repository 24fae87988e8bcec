//! Data and counter in one transfer of 72 bytes on a bus of 72 bits: atomic by construction, and every read waits for
//! its counter before decryption begins (counter-atomicity section 3.2.1, Figure 5a).

use crate::config::Variant;
use crate::mechanism::{global_counters, write_path::Colocated};
use crate::parts::{
    AppendOrder, CachePads, CounterCoalescing, CounterStore, CounterUpdate, Design, Domain, Encryption, LineAtomicity,
    MinorReset, PersistenceDomain, ProgramForm, Promise, Register, RegisterName, WriteQueues, WritebackOrder,
};

pub(super) const fn design(variant: Variant) -> Design {
    Design {
        name: "co-located",
        variant,
        summary: "counter beside its line in 72-byte transfers; decryption waits for the read",
        paper: "counter-atomicity, section 3.2.1",
        machine: "counter-atomicity",
        form: ProgramForm::Plain,
        promise: Promise { crash_consistent: Ok(()), line_atomic: LineAtomicity::Every, secret: true },
        encryption: Some(Encryption {
            counters: global_counters::inline,
            store: CounterStore::Inline,
            write_path: &Colocated,
            update: CounterUpdate::WithData,
            queues: WriteQueues::Shared,
            writeback_order: WritebackOrder::AtOnce,
            append_order: AppendOrder::BumpOrder,
            coalescing: CounterCoalescing::Off,
            minor_reset: MinorReset::AtOnce,
        }),
        log: None,
        cache_pads: CachePads::None,
        domain: PersistenceDomain::Adr,
        registers: &[Register { name: RegisterName::GlobalCounter, domain: Domain::Configured }],
        recovery: &[],
    }
}

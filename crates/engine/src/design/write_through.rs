//! SecPM's counter cache write-through without the register (secpm section 3.3.1, Figure 6; the workshop's "SecPM
//! w/o CWR"): the counter is appended while its data is being encrypted, so a crash can fall between the two.
//!
//! The workshop paper does not treat counter overflow. As published, the re-encryption status register is the
//! volatile one of earlier work; hardened, it lies in the ADR domain as in the full paper, so that what remains
//! broken is the design's own doing.

use crate::config::Variant;
use crate::mechanism::{counters, write_path::WriteThrough};
use crate::parts::{
    AppendOrder, CachePads, CounterCoalescing, CounterStore, CounterUpdate, Design, Domain, Encryption, LineAtomicity,
    MinorReset, PersistenceDomain, ProgramForm, Promise, RecoveryStep, Register, RegisterName, WriteQueues,
    WritebackOrder,
};

pub(super) const fn design(variant: Variant) -> Design {
    let hardened = matches!(variant, Variant::Hardened);
    Design {
        name: "write-through",
        variant,
        summary: "counter appended while its data is being encrypted, no register, no write reduction",
        paper: "secpm, section 3.3.1; secpm-workshop, section 3.1",
        machine: "secpm",
        form: ProgramForm::Plain,
        promise: Promise { crash_consistent: Ok(()), line_atomic: LineAtomicity::None, secret: true },
        encryption: Some(Encryption {
            counters: counters::split,
            store: CounterStore::Region,
            write_path: &WriteThrough,
            update: CounterUpdate::AtBump,
            queues: WriteQueues::Shared,
            writeback_order: WritebackOrder::AtOnce,
            append_order: if hardened { AppendOrder::BumpOrder } else { AppendOrder::UnitOrder },
            coalescing: CounterCoalescing::Off,
            minor_reset: if hardened { MinorReset::WithDoneBit } else { MinorReset::AtOnce },
        }),
        log: None,
        cache_pads: CachePads::None,
        domain: PersistenceDomain::Adr,
        registers: if hardened {
            &[Register { name: RegisterName::ReencryptionStatus, domain: Domain::Adr }]
        } else {
            &[Register { name: RegisterName::ReencryptionStatus, domain: Domain::Volatile }]
        },
        recovery: if hardened { &[RecoveryStep::ResumeReencryption] } else { &[] },
    }
}

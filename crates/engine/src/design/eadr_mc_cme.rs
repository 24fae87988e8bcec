//! Counter mode in the memory controller and the caches in the persistence domain: the dilemma of sepencr section III.
//! What the caches hold leaves in the clear, because there is no counter and no AES for it after power is lost.
//!
//! Counters stay in the counter cache, which lies in the domain. *Published*: the paper says of page re-encryption what
//! its section II-B says, that all minors are reset and the lines encrypted anew. *Hardened*: SecPM's status register, and
//! the counter cache takes a counter in the event that queues its data.

use crate::config::Variant;
use crate::mechanism::{counters, drain::InTheClear, write_path::Deferred};
use crate::parts::{
    AppendOrder, CachePads, CounterCoalescing, CounterStore, CounterUpdate, Design, Domain, Encryption, LineAtomicity,
    MinorReset, PersistenceDomain, ProgramForm, Promise, RecoveryStep, Register, RegisterName, WriteQueues,
    WritebackOrder,
};

pub(super) const fn design(variant: Variant) -> Design {
    let hardened = matches!(variant, Variant::Hardened);
    Design {
        name: "eadr-mc-cme",
        variant,
        summary: "counter mode in the controller under eADR: at a crash lines leave the caches in the clear",
        paper: "sepencr, section III",
        machine: "sepencr",
        form: ProgramForm::FlushFree,
        promise: Promise { crash_consistent: Ok(()), line_atomic: LineAtomicity::Every, secret: true },
        encryption: Some(Encryption {
            counters: counters::split,
            store: CounterStore::Region,
            write_path: &Deferred,
            update: if hardened { CounterUpdate::WithData } else { CounterUpdate::AtBump },
            queues: WriteQueues::Shared,
            writeback_order: WritebackOrder::AtOnce,
            append_order: AppendOrder::BumpOrder,
            coalescing: CounterCoalescing::Off,
            minor_reset: if hardened { MinorReset::WithDoneBit } else { MinorReset::AtOnce },
        }),
        log: None,
        cache_pads: CachePads::None,
        domain: PersistenceDomain::Eadr { drain: &InTheClear },
        registers: if hardened {
            &[Register { name: RegisterName::ReencryptionStatus, domain: Domain::Adr }]
        } else {
            &[Register { name: RegisterName::ReencryptionStatus, domain: Domain::Volatile }]
        },
        recovery: if hardened {
            &[RecoveryStep::ResumeReencryption, RecoveryStep::EncryptPlain]
        } else {
            &[RecoveryStep::EncryptPlain]
        },
    }
}

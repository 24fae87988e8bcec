//! SecPM without write reduction: write-through with a staging register beside each AES circuit, so that line and
//! counter enter the queue in one event (secpm section 3.3.2, Figure 7), and page re-encryption whose status register
//! lies in the ADR domain (section 3.5).
//!
//! *Published*: minors are reset when the major counter advances, and no order is stated between the registers of
//! several circuits. *Hardened*: a line's old minor survives until its done bit, which is set in the event of the
//! append; pairs of one page are appended in the order of their bumps.

use crate::config::Variant;
use crate::mechanism::{counters, write_path::StagedPair};
use crate::parts::{
    AppendOrder, CachePads, CounterCoalescing, CounterStore, CounterUpdate, Design, Domain, Encryption, LineAtomicity,
    MinorReset, PersistenceDomain, ProgramForm, Promise, RecoveryStep, Register, RegisterName, WriteQueues,
    WritebackOrder,
};

pub(super) const fn design(variant: Variant) -> Design {
    let hardened = matches!(variant, Variant::Hardened);
    Design {
        name: "secpm-no-cwr",
        variant,
        summary: "write-through with the staging register, no write reduction",
        paper: "secpm, sections 3.3 and 3.5",
        machine: "secpm",
        form: ProgramForm::Plain,
        promise: Promise { crash_consistent: Ok(()), line_atomic: LineAtomicity::Every, secret: true },
        encryption: Some(Encryption {
            counters: counters::split,
            store: CounterStore::Region,
            write_path: &StagedPair,
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
        registers: &[
            Register { name: RegisterName::StagingRegister, domain: Domain::Volatile },
            Register { name: RegisterName::ReencryptionStatus, domain: Domain::Adr },
        ],
        recovery: &[RecoveryStep::ResumeReencryption],
    }
}

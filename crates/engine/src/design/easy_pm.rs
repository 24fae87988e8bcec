//! EASY-PM: counter mode for data, cipher feedback for the log, whose headers and lines are two chains with initial
//! vectors of their own (easy-pm sections III-C and III-D). Nothing of the log has a counter.
//!
//! *Published* and *hardened* differ as in `hw-log`, in what becomes of the counter of a line that is evicted.

use super::hw_log;
use crate::config::Variant;
use crate::message::LogLayout;
use crate::parts::{
    CachePads, Design, Domain, HardwareLog, LogChains, LogEncryption, LogOrder, PersistenceDomain, Register,
    RegisterName,
};

pub(super) const fn design(variant: Variant) -> Design {
    Design {
        name: "easy-pm",
        summary: "hardware undo logging, counter mode for data, cipher feedback in two chains for the log",
        paper: "easy-pm, sections III-C and III-D",
        log: Some(HardwareLog {
            layout: LogLayout::Chains,
            encryption: LogEncryption::Feedback,
            order: LogOrder::LogFirst,
            chains: LogChains::Linked,
        }),
        cache_pads: CachePads::None,
        domain: PersistenceDomain::Adr,
        registers: &[
            Register { name: RegisterName::LogMetadata, domain: Domain::Adr },
            Register { name: RegisterName::RecentCiphertext, domain: Domain::Volatile },
            Register { name: RegisterName::ReencryptionStatus, domain: Domain::Adr },
        ],
        ..hw_log::design(variant)
    }
}

//! Counter mode in the controller under eADR with a battery that supports all operations: at a crash lines leave through
//! the ordinary write path, counters are read as ever (sepencr section IV-B).

use super::eadr_mc_cme;
use crate::config::Variant;
use crate::mechanism::drain::ThroughWritePath;
use crate::parts::{Design, PersistenceDomain, RecoveryStep};

pub(super) const fn design(variant: Variant) -> Design {
    Design {
        name: "eadr-all-operation",
        summary: "counter mode in the controller under eADR: at a crash lines leave through the write path on battery",
        paper: "sepencr, section IV-B",
        domain: PersistenceDomain::Eadr { drain: &ThroughWritePath },
        recovery: if matches!(variant, Variant::Hardened) { &[RecoveryStep::ResumeReencryption] } else { &[] },
        ..eadr_mc_cme::design(variant)
    }
}

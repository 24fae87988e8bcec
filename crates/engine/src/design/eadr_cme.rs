//! Encryption moved up into the caches: AES at every access, lines rest as ciphertext under their own counters and leave
//! in place (sepencr section IV-A).

use super::eadr_mc_cme;
use crate::config::Variant;
use crate::mechanism::drain::InPlace;
use crate::parts::{CachePads, Design, PersistenceDomain, RecoveryStep};

pub(super) const fn design(variant: Variant) -> Design {
    Design {
        name: "eadr-cme",
        summary: "AES in the caches at every access: what leaves at a crash is ciphertext already",
        paper: "sepencr, section IV-A",
        cache_pads: CachePads::AesAtAccess,
        domain: PersistenceDomain::Eadr { drain: &InPlace },
        recovery: if matches!(variant, Variant::Hardened) { &[RecoveryStep::ResumeReencryption] } else { &[] },
        ..eadr_mc_cme::design(variant)
    }
}

//! Plaintext memory with the caches in the persistence domain: the baseline of sepencr.

use super::unencrypted;
use crate::config::Variant;
use crate::mechanism::drain::InPlace;
use crate::parts::{Design, PersistenceDomain, ProgramForm};

pub(super) const fn design(variant: Variant) -> Design {
    Design {
        name: "eadr",
        summary: "no encryption, caches in the persistence domain: programs do not flush",
        paper: "sepencr, sections II-D and V",
        machine: "sepencr",
        form: ProgramForm::FlushFree,
        domain: PersistenceDomain::Eadr { drain: &InPlace },
        ..unencrypted::design(variant)
    }
}

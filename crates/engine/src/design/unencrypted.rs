//! Plaintext memory: the baseline of every paper (Unsec-PM, Insec-PM, No-encryption).

use crate::config::Variant;
use crate::parts::{CachePads, Design, LineAtomicity, PersistenceDomain, ProgramForm, Promise};

pub(super) const fn design(variant: Variant) -> Design {
    Design {
        name: "unencrypted",
        variant,
        summary: "no encryption: the baseline",
        paper: "all papers (Unsec-PM, Insec-PM, No-encryption)",
        machine: "secpm",
        form: ProgramForm::Plain,
        promise: Promise { crash_consistent: Ok(()), line_atomic: LineAtomicity::Every, secret: false },
        encryption: None,
        log: None,
        cache_pads: CachePads::None,
        domain: PersistenceDomain::Adr,
        registers: &[],
        recovery: &[],
    }
}

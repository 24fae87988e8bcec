//! Plaintext memory behind an ADR controller: the other side of sepencr Figure 3.

use super::unencrypted;
use crate::config::Variant;
use crate::parts::Design;

pub(super) const fn design(variant: Variant) -> Design {
    Design {
        name: "adr",
        summary: "no encryption, write pending queue in the persistence domain: programs flush",
        paper: "sepencr, section II-D",
        machine: "sepencr",
        ..unencrypted::design(variant)
    }
}

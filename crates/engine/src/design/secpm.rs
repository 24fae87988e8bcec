//! SecPM: write-through counters, staging register, counter write reduction and crash-safe page re-encryption (secpm
//! sections 3.3 to 3.5).

use super::secpm_no_cwr;
use crate::config::Variant;
use crate::parts::{CounterCoalescing, Design, Encryption};

pub(super) const fn design(variant: Variant) -> Design {
    let base = secpm_no_cwr::design(variant);
    Design {
        name: "secpm",
        summary: "write-through, staging register, counter write reduction (CWR), crash-safe page re-encryption",
        paper: "secpm, sections 3.3 to 3.5",
        encryption: match base.encryption {
            Some(encryption) => Some(Encryption { coalescing: CounterCoalescing::InWpq, ..encryption }),
            None => None,
        },
        ..base
    }
}

//! The workshop's SecPM: write-through counters with counter write reduction, no register (secpm-workshop section 3).

use super::write_through;
use crate::config::Variant;
use crate::parts::{CounterCoalescing, Design, Encryption};

pub(super) const fn design(variant: Variant) -> Design {
    let base = write_through::design(variant);
    Design {
        name: "secpm-workshop",
        summary: "write-through with counter write reduction (CWR), no register",
        paper: "secpm-workshop, section 3",
        machine: "secpm-workshop",
        encryption: match base.encryption {
            Some(encryption) => Some(Encryption { coalescing: CounterCoalescing::InWpq, ..encryption }),
            None => None,
        },
        ..base
    }
}

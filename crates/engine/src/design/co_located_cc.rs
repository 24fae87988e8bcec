//! Co-located data and counters with a counter cache of 8-byte entries, so that decryption overlaps the read when it
//! hits; a miss fetches the 72 bytes again (counter-atomicity section 3.2.1, Figure 5b).

use super::co_located;
use crate::config::Variant;
use crate::parts::{CounterStore, Design, Encryption};

pub(super) const fn design(variant: Variant) -> Design {
    let base = co_located::design(variant);
    Design {
        name: "co-located-cc",
        summary: "counter beside its line in 72-byte transfers, and a counter cache",
        encryption: match base.encryption {
            Some(encryption) => Some(Encryption { store: CounterStore::InlineCached, ..encryption }),
            None => None,
        },
        ..base
    }
}

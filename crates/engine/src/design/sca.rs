//! Selective counter-atomicity: only lines with a `CounterAtomic` variable are written as ready pairs, whichever way
//! they leave the caches; counters of other lines stay in the counter cache until `counter_cache_writeback` or an eviction
//! (counter-atomicity sections 4 and 5.2).
//!
//! *Published*: as for `fca`, and `counter_cache_writeback` writes what the counter cache holds when it arrives, which
//! need not be the counter of the `clwb` before it, and nothing if the block is clean or on its way out. *Hardened*: it
//! is ordered after earlier writes of the same lines.

use super::fca;
use crate::config::Variant;
use crate::mechanism::write_path::SelectiveReadyPairs;
use crate::parts::{Design, Encryption, LineAtomicity, ProgramForm, Promise};

pub(super) const fn design(variant: Variant) -> Design {
    let base = fca::design(variant);
    Design {
        name: "sca",
        summary: "selective counter-atomicity: pairs for CounterAtomic lines only, counter_cache_writeback for the rest",
        paper: "counter-atomicity, sections 4 and 5.2",
        form: ProgramForm::Annotated,
        promise: Promise { line_atomic: LineAtomicity::Marked, ..base.promise },
        encryption: match base.encryption {
            Some(encryption) => Some(Encryption { write_path: &SelectiveReadyPairs, ..encryption }),
            None => None,
        },
        ..base
    }
}

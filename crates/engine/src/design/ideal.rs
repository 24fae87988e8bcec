//! Counter mode whose counters are declared durable at no cost: timing and traffic of `write-back`, an upper bound
//! without crash semantics (counter-atomicity section 6, "Ideal").

use super::write_back;
use crate::config::Variant;
use crate::parts::{Design, Promise};

pub(super) const fn design(variant: Variant) -> Design {
    Design {
        name: "ideal",
        variant,
        summary: "counter mode, counter atomicity free of charge: an upper bound, not crash consistent by mechanism",
        paper: "counter-atomicity, section 6",
        machine: "counter-atomicity",
        promise: Promise {
            crash_consistent: Err("it declares counters durable without a mechanism that makes them so"),
            ..write_back::design(variant).promise
        },
        ..write_back::design(variant)
    }
}

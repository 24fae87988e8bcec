//! Histograms of times in reports.

use serde::Serialize;

/// A class of a histogram of times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "LatencyClass")]
pub struct Class {
    /// The shortest time of the class, in nanoseconds.
    pub from_ns: f64,
    /// The time above the longest one of the class, in nanoseconds.
    pub below_ns: f64,
    /// How many there are.
    pub count: u64,
}

/// The classes that are not empty, in ascending order, of counts of times in picoseconds: place `k` of `counts` has times
/// from 2^k to below 2^(k+1), place 0 also those of 0.
pub(crate) fn classes(counts: &[u64]) -> Vec<Class> {
    let some = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    some.map(|(class, &count)| Class {
        from_ns: if class == 0 { 0.0 } else { (1_u128 << class) as f64 / 1_000.0 },
        below_ns: (1_u128 << (class + 1)) as f64 / 1_000.0,
        count,
    })
    .collect()
}

//! Response times of the accesses of a trace: from the cycle of the trace to the answer, so that time that an access
//! waits for those before it counts.

use crate::kernel::Ps;
use hdrhistogram::Histogram;

/// Significant digits of percentiles: they are at most one part in a thousand too high.
const DIGITS: u8 = 3;

/// Response times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct ResponseTimes {
    /// Mean.
    pub mean: f64,
    /// Median (nearest rank, as the other percentiles).
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// The longest.
    pub max: f64,
}

/// Collects response times, in memory that does not grow with their number.
pub(super) struct Responses {
    times: Histogram<u64>,
    sum: u128,
    max: Ps,
}

impl Default for Responses {
    fn default() -> Self {
        Self { times: Histogram::new(DIGITS).expect("from 1 to 5 digits"), sum: 0, max: 0 }
    }
}

impl Responses {
    pub fn add(&mut self, ps: Ps) {
        self.times += ps;
        self.sum += u128::from(ps);
        self.max = self.max.max(ps);
    }

    /// The response times; `None` without any.
    pub fn report(&self) -> Option<ResponseTimes> {
        let ns = |ps: u64| ps as f64 / 1_000.0;
        // A percentile is the upper end of its class.
        let percentile = |quantile| ns(self.times.value_at_quantile(quantile).min(self.max));
        (!self.times.is_empty()).then(|| ResponseTimes {
            mean: self.sum as f64 / self.times.len() as f64 / 1_000.0,
            p50: percentile(0.5),
            p90: percentile(0.9),
            p99: percentile(0.99),
            p999: percentile(0.999),
            max: ns(self.max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn without_any_there_is_no_figure() {
        assert_eq!(Responses::default().report(), None);
    }

    proptest! {
        #[test]
        fn percentiles_are_those_of_a_sorted_list(times in prop::collection::vec(0..1u64 << 40, 1..2_000)) {
            let mut responses = Responses::default();
            times.iter().for_each(|&ps| responses.add(ps));
            let mut sorted = times.clone();
            sorted.sort_unstable();
            let found = responses.report().unwrap();
            for (permille, found) in [(500, found.p50), (900, found.p90), (990, found.p99), (999, found.p999), (1_000, found.max)] {
                let exact = sorted[(sorted.len() * permille).div_ceil(1_000).max(1) - 1] as f64 / 1_000.0;
                prop_assert!(exact <= found && found <= exact * 1.001, "{permille}: {found} for {exact}");
            }
            let sum: u128 = times.iter().map(|&ps| u128::from(ps)).sum();
            prop_assert_eq!(found.mean, sum as f64 / times.len() as f64 / 1_000.0);
        }
    }
}

//! How long requests take: totals, histograms, and the same for each requestor.

use super::request::Kind;
use crate::kernel::{Histogram, Ps, ps_to_ns};
use crate::stats::{Class, classes};
use serde::Serialize;

/// Requestors have numbers below this.
pub const REQUESTORS_MAX: u32 = 1_024;

/// Latencies of the answered requests of one kind, in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// Number of requests.
    pub count: u64,
    /// Sum of the latencies.
    pub sum: u64,
    /// The longest latency.
    pub max: Ps,
    /// The latencies in classes.
    pub histogram: Histogram,
}

impl Latencies {
    pub(super) fn add(&mut self, latency: Ps) {
        self.count += 1;
        self.sum = self.sum.saturating_add(latency);
        self.max = self.max.max(latency);
        self.histogram.add(latency);
    }

    pub(super) fn report(&self) -> Requests {
        let any = self.count > 0;
        Requests {
            count: self.count,
            mean_latency_ns: any.then(|| self.sum as f64 / self.count as f64 / 1_000.0),
            max_latency_ns: any.then(|| ps_to_ns(self.max)),
            histogram: classes(&self.histogram.0),
        }
    }
}

/// Figures of the requests of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Requests {
    /// Number of requests.
    pub count: u64,
    /// Mean latency in nanoseconds; null without requests.
    pub mean_latency_ns: Option<f64>,
    /// Longest latency in nanoseconds; null without requests.
    pub max_latency_ns: Option<f64>,
    /// The classes of latencies that are not empty, in ascending order; each is twice as wide as the one before.
    pub histogram: Vec<Class>,
}

/// Figures of one requestor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfRequestor {
    /// Its number.
    pub requestor: u32,
    /// Its answered reads.
    pub reads: Requests,
    /// Its answered writes.
    pub writes: Requests,
    /// Its answered counter write-backs.
    pub counter_writebacks: Requests,
}

/// Latencies by kind, in total and for each requestor.
#[derive(Clone, Default)]
pub(super) struct AllLatencies {
    pub total: [Latencies; 3],
    /// By number, as far as any has been seen.
    requestors: Vec<[Latencies; 3]>,
}

impl AllLatencies {
    pub fn add(&mut self, kind: Kind, requestor: u32, latency: Ps) {
        self.total[kind as usize].add(latency);
        let place = requestor as usize;
        if self.requestors.len() <= place {
            self.requestors.resize(place + 1, [Latencies::default(); 3]);
        }
        self.requestors[place][kind as usize].add(latency);
    }

    /// The latencies of the requests of `requestor`, by kind.
    pub fn of(&self, requestor: u32) -> [Latencies; 3] {
        self.requestors.get(requestor as usize).copied().unwrap_or_default()
    }

    /// The requestors that have had answers.
    pub fn report(&self) -> Vec<OfRequestor> {
        let seen = self.requestors.iter().enumerate().filter(|(_, kinds)| kinds.iter().any(|kind| kind.count > 0));
        seen.map(|(number, kinds)| {
            let [reads, writes, counter_writebacks] = kinds.each_ref().map(Latencies::report);
            OfRequestor { requestor: number as u32, reads, writes, counter_writebacks }
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_powers_of_two() {
        let mut latencies = Latencies::default();
        for latency in [0, 1, 2, 3, 4, 1023, 1024, u64::MAX] {
            latencies.add(latency);
        }
        let counted = |class: usize| latencies.histogram.0[class];
        assert_eq!([0, 1, 2, 9, 10, 63].map(counted), [2, 2, 1, 1, 1, 1]);
        assert_eq!(latencies.histogram.0.iter().sum::<u64>(), latencies.count);
        let classes = latencies.report().histogram;
        assert_eq!((classes[0].from_ns, classes[0].below_ns), (0.0, 0.002));
        assert_eq!((classes[4].from_ns, classes[4].below_ns), (1.024, 2.048));
    }
}

//! How long things take, in classes each of which is twice as wide as the one before.

use super::Ps;

/// Classes of a histogram.
pub const CLASSES: usize = 64;

/// Counts of times. Class `k` has times from 2^k to below 2^(k+1) picoseconds; class 0 also those of 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Histogram(pub [u64; CLASSES]);

impl Default for Histogram {
    fn default() -> Self {
        Self([0; CLASSES])
    }
}

impl Histogram {
    /// Counts a time.
    pub fn add(&mut self, time: Ps) {
        self.0[(63 - (time | 1).leading_zeros()) as usize] += 1;
    }
}

impl FromIterator<Ps> for Histogram {
    fn from_iter<I: IntoIterator<Item = Ps>>(times: I) -> Self {
        let mut found = Self::default();
        times.into_iter().for_each(|time| found.add(time));
        found
    }
}

impl std::ops::AddAssign<&Self> for Histogram {
    fn add_assign(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(count, more)| *count += more);
    }
}

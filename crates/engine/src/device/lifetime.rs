//! How long a device lives: until a line has been written as often as its cells endure, if what was written in a run is
//! written again and again.
//!
//! Without levelling this is the line that was written most often. With Start-Gap the writes of a line fall on the places
//! that it goes through. Lines and gap lie in a circle, in which the gap counts as a line that is never written. Each move
//! exchanges the gap with a line; when it has passed them all, in a round, every line is one place further. So after `k`
//! rounds a place has had the writes of `k` neighbours in the circle, and those of the moves.

use super::start_gap::StartGap;
use crate::config::Machine;
use std::collections::BTreeMap;

/// The writes of one run in the regions of a device: by bank and region, the number of a line and its writes.
pub(super) type RegionWrites = BTreeMap<(u64, u64), Vec<(u64, u64)>>;

/// How many such runs a device endures without levelling, if its line that is written most often has `most` writes in one;
/// `None` if nothing is written.
pub(super) fn unlevelled(machine: &Machine, most: u32) -> Option<f64> {
    (most > 0).then(|| machine.wear.endurance_writes as f64 / f64::from(most))
}

/// The same with Start-Gap; the first region to wear out decides.
pub(super) fn levelled(machine: &Machine, regions: &StartGap, writes: RegionWrites) -> Option<f64> {
    let of_region = |lines: Vec<(u64, u64)>| {
        Rotation::new(lines, regions.region_lines(), machine.wear.gap_interval)
            .runs_until(machine.wear.endurance_writes as f64)
    };
    writes.into_values().map(of_region).min_by(f64::total_cmp)
}

/// The writes of a region whose lines rotate.
struct Rotation {
    /// Lines that are written, in order, each with its writes in a round.
    lines: Vec<(u64, f64)>,
    /// Places of the circle.
    places: u64,
    /// Runs in a round.
    runs: f64,
}

impl Rotation {
    /// `lines`: those of a region of `count` lines that are written in a run, with their writes.
    fn new(mut lines: Vec<(u64, u64)>, count: u64, interval: u32) -> Self {
        lines.sort_unstable();
        let all: u64 = lines.iter().map(|(_, writes)| writes).sum();
        let runs = count as f64 * f64::from(interval) / all as f64;
        let lines = lines.into_iter().map(|(line, writes)| (line, writes as f64 * runs)).collect();
        Self { lines, places: count + 1, runs }
    }

    /// Runs until a place has had `endurance` writes.
    fn runs_until(&self, endurance: f64) -> f64 {
        let (mut lived, mut dead) = (0, 1);
        while self.most(dead) < endurance {
            dead *= 2;
        }
        while dead - lived > 1 {
            let middle = lived + (dead - lived) / 2;
            if self.most(middle) < endurance {
                lived = middle;
            } else {
                dead = middle;
            }
        }
        let [before, after] = [lived, dead].map(|rounds| self.most(rounds));
        (lived as f64 + ((endurance - before) / (after - before)).min(1.0)) * self.runs
    }

    /// The writes of the place that had most after a number of rounds.
    fn most(&self, rounds: u64) -> f64 {
        let all: f64 = self.lines.iter().map(|(_, writes)| writes).sum();
        let most = self.most_of_neighbours(rounds % self.places);
        let moves = rounds as f64 * (self.places - 1) as f64 / self.places as f64;
        (rounds / self.places) as f64 * all + most + moves
    }

    /// The most writes that `window` neighbours have together, in a circle.
    fn most_of_neighbours(&self, window: u64) -> f64 {
        let (mut most, mut sum, mut last) = (0.0_f64, 0.0, 0);
        let place = |at: usize| self.lines[at % self.lines.len()].0 + (at / self.lines.len()) as u64 * self.places;
        for first in 0..self.lines.len() {
            while last < first + self.lines.len() && place(last) - place(first) < window {
                sum += self.lines[last % self.lines.len()].1;
                last += 1;
            }
            most = most.max(sum);
            if last > first {
                sum -= self.lines[first].1;
            } else {
                last = first + 1;
            }
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Random;
    use proptest::prelude::*;

    /// A region with one place more than lines, in which bytes really move, written in order until a place is worn.
    fn counted(lines: &[(u64, u64)], count: u64, interval: u32, endurance: u64) -> f64 {
        let mut places: Vec<Option<u64>> = (0..count).map(Some).chain([None]).collect();
        let mut worn = vec![0_u64; places.len()];
        let (mut gap, mut since, mut written) = (count as usize, 0, 0_u64);
        let all: Vec<u64> =
            lines.iter().flat_map(|(line, writes)| std::iter::repeat_n(*line, *writes as usize)).collect();
        // In no order that goes together with that of the moves.
        let mut random = Random::stream(1, "lifetime");
        loop {
            let line = all[random.below(all.len() as u64) as usize];
            let place = places.iter().position(|held| *held == Some(line)).unwrap();
            worn[place] += 1;
            written += 1;
            since += 1;
            let mut most = worn[place];
            if since == interval {
                since = 0;
                let from = if gap == 0 { places.len() - 1 } else { gap - 1 };
                places.swap(from, gap);
                worn[gap] += 1;
                most = most.max(worn[gap]);
                gap = from;
            }
            if most >= endurance {
                return written as f64 / all.len() as f64;
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn lifetime_is_that_of_a_plain_count(
            lines in prop::collection::btree_map(0..40_u64, 1..30_u64, 1..10), interval in 1..6_u32,
        ) {
            let lines: Vec<_> = lines.into_iter().collect();
            let endurance = 8_000;
            let expected = counted(&lines, 40, interval, endurance);
            let computed = Rotation::new(lines, 40, interval).runs_until(endurance as f64);
            prop_assert!((computed / expected - 1.0).abs() < 0.05, "{computed} instead of {expected}");
        }

        #[test]
        fn a_window_is_the_sum_of_its_lines(
            lines in prop::collection::btree_map(0..12_u64, 1..9_u64, 1..8), window in 0..12_u64,
        ) {
            let lines: Vec<_> = lines.into_iter().collect();
            let in_round = lines.iter().map(|(line, writes)| (*line, *writes as f64)).collect();
            let rotation = Rotation { lines: in_round, places: 12, runs: 1.0 };
            let of = |place: u64| lines.iter().find(|(line, _)| *line == place % 12).map_or(0, |(_, writes)| *writes);
            let expected = (0..12).map(|first| (first..first + window).map(of).sum::<u64>()).max().unwrap();
            prop_assert_eq!(rotation.most_of_neighbours(window), expected as f64);
        }
    }

    #[test]
    fn one_hot_line_wears_out_before_the_gap_comes_round() {
        let rotation = Rotation::new(vec![(3, 10)], 1_000, 100);
        assert!((rotation.runs_until(5_000.0) - 500.0).abs() < 1.0, "{}", rotation.runs_until(5_000.0));
    }
}

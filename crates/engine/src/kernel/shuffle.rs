//! A pseudo-random permutation of 0..n that needs no table: a Feistel network with cycle walking.

use super::random::mix;

const ROUNDS: usize = 4;

/// A permutation of `0..count` and its inverse.
#[derive(Clone, Debug)]
pub struct Shuffle {
    count: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Shuffle {
    /// A permutation of `0..count`, one for each `seed`.
    pub fn new(count: u64, seed: u64) -> Self {
        let bits = u64::BITS - count.max(2).saturating_sub(1).leading_zeros();
        let keys = std::array::from_fn(|round| mix(seed.wrapping_add(round as u64)));
        Self { count, half_bits: bits.div_ceil(2), keys }
    }

    /// The place of `index`.
    pub fn forward(&self, index: u64) -> u64 {
        debug_assert!(index < self.count);
        self.walk(index, |(left, right), round| (right, left ^ self.round(right, round)), false)
    }

    /// The index at `place`: the inverse of [`Self::forward`].
    pub fn inverse(&self, place: u64) -> u64 {
        debug_assert!(place < self.count);
        self.walk(place, |(left, right), round| (right ^ self.round(left, round), left), true)
    }

    /// Permutes until the result is below `count`: the network's domain is the next power of four.
    fn walk(&self, from: u64, step: impl Fn((u64, u64), usize) -> (u64, u64), backwards: bool) -> u64 {
        let mut at = from;
        loop {
            let mut halves = (at >> self.half_bits, at & self.mask());
            for round in 0..ROUNDS {
                halves = step(halves, if backwards { ROUNDS - 1 - round } else { round });
            }
            at = halves.0 << self.half_bits | halves.1;
            if at < self.count {
                return at;
            }
        }
    }

    fn round(&self, half: u64, round: usize) -> u64 {
        let product = (half ^ self.keys[round]).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (product ^ (product >> 32)) & self.mask()
    }

    fn mask(&self) -> u64 {
        (1 << self.half_bits) - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_taken_once_and_the_inverse_undoes() {
        for count in [1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1_000, 4_097] {
            let shuffle = Shuffle::new(count, 11);
            let mut taken = vec![false; count as usize];
            for index in 0..count {
                let place = shuffle.forward(index);
                assert!(!std::mem::replace(&mut taken[place as usize], true), "{index} of {count}");
                assert_eq!(shuffle.inverse(place), index);
            }
        }
    }

    #[test]
    fn neighbours_are_scattered() {
        let shuffle = Shuffle::new(10_000, 5);
        let near = (1..10_000).filter(|&i| shuffle.forward(i).abs_diff(shuffle.forward(i - 1)) < 10).count();
        assert!(near < 100, "{near} of 9999 neighbours stayed together");
    }
}

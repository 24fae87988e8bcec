//! Seeded random streams. Each subsystem owns one, so that a draw added in one place changes no other.

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a small, fast stream whose state is one word.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream `name` of `seed`: different names give independent streams.
    pub fn stream(seed: u64, name: &str) -> Self {
        let mut state = seed ^ 0x243f_6a88_85a3_08d3;
        for byte in name.bytes() {
            state = mix(state ^ u64::from(byte)).wrapping_add(0x9e37_79b9_7f4a_7c15);
        }
        Self { state }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// A number below `bound`, which must not be zero. The bias is below 2^-32 for bounds under 2^32.
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0);
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }
}

pub(super) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_one_seed_differ_by_name_and_repeat_by_seed() {
        let draw = |seed, name| Random::stream(seed, name).next_u64();
        assert_eq!(draw(7, "keys"), draw(7, "keys"));
        assert_ne!(draw(7, "keys"), draw(7, "values"));
        assert_ne!(draw(7, "keys"), draw(8, "keys"));
    }

    #[test]
    fn below_stays_below_and_reaches_both_ends() {
        let mut random = Random::stream(1, "test");
        let draws: Vec<u64> = (0..1_000).map(|_| random.below(10)).collect();
        assert!(draws.iter().all(|&n| n < 10));
        assert!(draws.contains(&0) && draws.contains(&9));
    }
}

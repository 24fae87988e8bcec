//! MACs of 54 bits beside the lowest bits of the counter that they are made under (Huang and Hua, HPCA 2021, STAR, "counter-MAC
//! synergization"), and what is computed from them.

/// Bits of the MAC; the lowest bits of the counter are above it.
const MAC_BITS: u32 = 54;

/// How many of the lowest bits of a counter are used, at most 10.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LowBits {
    /// Their number.
    pub bits: u32,
}

impl LowBits {
    /// The lowest bits of `counter`.
    pub fn of_counter(self, counter: u64) -> u64 {
        counter & ((1 << self.bits) - 1)
    }

    /// The first 54 bits of `mac`, and the lowest bits of `counter`, in 64 bits.
    pub fn joined(self, mac: u128, counter: u64) -> u128 {
        mac & ((1 << MAC_BITS) - 1) | u128::from(self.of_counter(counter)) << MAC_BITS
    }

    /// The lowest bits of the counter in 64 bits of MAC and counter.
    pub fn of_joined(self, joined: u64) -> u64 {
        joined >> MAC_BITS
    }

    /// `counter` with other lowest bits.
    pub fn replaced(self, counter: u64, low: u64) -> u64 {
        counter >> self.bits << self.bits | low & ((1 << self.bits) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn mac_and_counter_are_told_apart(mac: u128, counter in 0..1u64 << 56, other in 0..1u64 << 56, bits in 1..11u32) {
            let low = LowBits { bits };
            let joined = low.joined(mac, counter);
            prop_assert_eq!(joined >> 64, 0);
            prop_assert_eq!(low.of_joined(joined as u64), counter % (1 << bits));
            prop_assert_eq!(joined % (1 << 54), mac % (1 << 54));
            let replaced = low.replaced(other, low.of_joined(joined as u64));
            prop_assert_eq!((replaced >> bits, replaced % (1 << bits)), (other >> bits, counter % (1 << bits)));
        }
    }
}

//! A core's own time, in ticks of one dispatch slot (a cycle divided by the core's width), so that instruction counts
//! add up without rounding.

use crate::kernel::Ps;

/// Converts between picoseconds and dispatch slots.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Slots per cycle.
    pub width: u64,
    cycle: Divisor,
    slots: Divisor,
}

impl Clock {
    /// A clock with cycles of `cycle` picoseconds, of `width` slots each.
    pub fn new(cycle: Ps, width: u64) -> Self {
        Self { width, cycle: Divisor::new(cycle), slots: Divisor::new(width) }
    }

    /// The first tick that is not before `time`.
    #[inline]
    pub fn tick(self, time: Ps) -> u64 {
        self.cycle.divide(time * self.width + self.cycle.by - 1)
    }

    /// When `tick` begins, in picoseconds, rounded down.
    #[inline]
    pub fn time(self, tick: u64) -> Ps {
        self.slots.divide(tick * self.cycle.by)
    }

    /// The first tick of the cycle after the one that holds `tick`.
    #[inline]
    pub fn next_cycle(self, tick: u64) -> u64 {
        (self.slots.divide(tick) + 1) * self.width
    }
}

/// Divides by a number that is known long before: a multiplication takes the host less time than a division.
#[derive(Clone, Copy, Debug)]
struct Divisor {
    by: u64,
    /// 2^64 - 1 divided by `by`, rounded down.
    reciprocal: u64,
}

impl Divisor {
    fn new(by: u64) -> Self {
        Self { by, reciprocal: u64::MAX / by }
    }

    #[inline]
    fn divide(self, number: u64) -> u64 {
        // The reciprocal is too small by less than one, so that the product is too small by less than `number`: the
        // quotient may lack one.
        let quotient = ((u128::from(number) * u128::from(self.reciprocal)) >> 64) as u64;
        quotient + u64::from(number - quotient * self.by >= self.by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_and_times_agree_at_the_edges() {
        let clock = Clock::new(500, 4);
        assert_eq!((clock.tick(0), clock.tick(1), clock.tick(125), clock.tick(126)), (0, 1, 1, 2));
        assert_eq!((clock.time(4), clock.next_cycle(3), clock.next_cycle(4)), (500, 4, 8));
    }

    proptest! {
        #[test]
        fn quotient_is_exact(number: u64, shift in 0..64u32, by in prop_oneof![1..100u64, 1..=u64::MAX]) {
            for number in [number >> shift, u64::MAX, by - 1, by, (number >> shift) / by * by] {
                prop_assert_eq!(Divisor::new(by).divide(number), number / by);
            }
        }
    }
}

//! A core's own time, in ticks of one dispatch slot (a cycle divided by the core's width), so that instruction counts
//! add up without rounding.

use crate::kernel::Ps;

/// Converts between picoseconds and dispatch slots.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Length of a cycle in picoseconds.
    pub cycle: Ps,
    /// Slots per cycle.
    pub width: u64,
}

impl Clock {
    /// The first tick that is not before `time`.
    pub fn tick(self, time: Ps) -> u64 {
        (time * self.width).div_ceil(self.cycle)
    }

    /// When `tick` begins, in picoseconds, rounded down.
    pub fn time(self, tick: u64) -> Ps {
        tick * self.cycle / self.width
    }

    /// The first tick of the cycle after the one that holds `tick`.
    pub fn next_cycle(self, tick: u64) -> u64 {
        (tick / self.width + 1) * self.width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_and_times_agree_at_the_edges() {
        let clock = Clock { cycle: 500, width: 4 };
        assert_eq!((clock.tick(0), clock.tick(1), clock.tick(125), clock.tick(126)), (0, 1, 1, 2));
        assert_eq!((clock.time(4), clock.next_cycle(3), clock.next_cycle(4)), (500, 4, 8));
    }
}

//! Writes that reads stop while a bank programs them (Qureshi et al., HPCA 2010). A cancelled write begins again; a paused
//! one, which is written in iterations, goes on. The line waits in the bank meanwhile, so that nothing is lost: a power failure
//! finds it in the persistence domain, and its bank programs it.
//!
//! Decisions:
//! - What is left of a write follows as soon as the data of the read has left. Other reads may come before it, and stop it
//!   again.
//! - A cancelled write wears its line, and takes its energy, once more.

use crate::config::{Device, WriteInterruption};
use crate::kernel::{Ps, ns_to_ps};

/// The time in which a bank programs a write that may be stopped, in picoseconds; empty if there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Programming {
    pub from: Ps,
    pub until: Ps,
}

/// What a read does to a write.
#[derive(Clone, Copy, Debug)]
pub(super) enum Interruption {
    None,
    Cancel { below_percent: u64 },
    Pause { iteration: Ps },
}

impl Interruption {
    pub fn of(device: &Device) -> Self {
        match device.write_interruption {
            WriteInterruption::None => Self::None,
            WriteInterruption::Cancel => Self::Cancel { below_percent: device.cancel_below_percent.into() },
            WriteInterruption::Pause => Self::Pause { iteration: ns_to_ps(device.write_iteration_ns) },
        }
    }

    pub fn is_none(self) -> bool {
        matches!(self, Self::None)
    }

    /// When a read begins that its bank, which is programming, could otherwise begin at `at`.
    pub fn stops(self, Programming { from, until }: Programming, at: Ps) -> Ps {
        if at >= until {
            return at;
        }
        let done = at.saturating_sub(from);
        match self {
            Self::None => until,
            Self::Cancel { below_percent } if done * 100 < (until - from) * below_percent => at,
            Self::Cancel { .. } => until,
            Self::Pause { iteration } => (from + done.next_multiple_of(iteration)).min(until),
        }
    }

    /// What is left of a write that a read has stopped at `at`, if the data of the read leaves until `end`.
    pub fn resumes(self, Programming { from, until }: Programming, at: Ps, end: Ps) -> Programming {
        let left = if matches!(self, Self::Cancel { .. }) { until - from } else { until - at };
        Programming { from: end, until: end + left }
    }
}

//! Where power fails.

use super::Region;
use super::attack::AttackPlan;
use crate::audit::Rule;
use crate::design::faults::Fault;
use std::num::NonZeroU64;
use std::str::FromStr;

/// Which events are followed by a power failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CrashPlan {
    /// Every event.
    All,
    /// This many events, evenly spaced over the whole run and ending with its last event. The length of the run must be
    /// known: the same run without an observer has the same number of events.
    Sample(NonZeroU64),
    /// Only this event, counted from 1.
    At(u64),
    /// The events from `first` to `last`, counted from 1.
    Between {
        /// The first event.
        first: u64,
        /// The last event.
        last: u64,
    },
}

/// Which crashes of a run are explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exploration {
    /// After which events power fails.
    pub plan: CrashPlan,
    /// The part of the program in which they lie.
    pub region: Region,
    /// How many times in a row power may fail again during recovery; 0 for never.
    pub nested: u32,
    /// The schedule: 0 is undisturbed, the others are disturbed at random.
    pub schedule: u64,
    /// The mechanism of the explored design that is switched off, for the report.
    pub fault: Option<Fault>,
    /// The first violation of this rule ends the run; `None`: no violation does.
    pub stop_at: Option<Rule>,
    /// The exploration ends with this many images on which the user's own recovery fails; `None`: with none.
    pub stop_after: Option<u64>,
    /// What an attacker does to the media in durable states; `None`: there is no attacker.
    pub attack: Option<AttackPlan>,
    /// Whether to count crash points by the stage of the transaction in flight.
    pub stages: bool,
    /// Whether power failures during recovery, and attacks, are judged on all threads of the pool that the exploration runs
    /// in.
    pub shared: bool,
}

impl Exploration {
    /// Power fails as `plan` says and not again during recovery, and nothing ends the run early.
    pub const fn of(plan: CrashPlan) -> Self {
        Self {
            plan,
            region: Region::WHOLE,
            nested: 0,
            schedule: 0,
            fault: None,
            stop_at: None,
            stop_after: None,
            attack: None,
            stages: false,
            shared: false,
        }
    }
}

/// How much power failed again during recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NestedExtent {
    /// Number of states from which it did.
    pub states: u64,
    /// Number of power failures during recovery.
    pub points: u64,
    /// How many power failures in a row.
    pub depth: u32,
}

impl CrashPlan {
    /// Whether power fails after `event` (from 1) of a run of `total` events.
    pub fn includes(self, event: u64, total: u64) -> bool {
        match self {
            CrashPlan::All => true,
            CrashPlan::At(at) => event == at,
            CrashPlan::Between { first, last } => (first..=last).contains(&event),
            CrashPlan::Sample(points) => {
                let reached = |event: u64| u128::from(event) * u128::from(points.get()) / u128::from(total.max(1));
                event <= total && reached(event) > reached(event.saturating_sub(1))
            }
        }
    }

    /// Whether the plan needs the length of the run in advance.
    pub fn needs_total(self) -> bool {
        matches!(self, CrashPlan::Sample(_))
    }

    /// One sentence about what a run that followed the plan in `region` covers.
    /// `nested`: how much power failed again during recovery, if it did.
    pub fn coverage(
        self,
        region: Region,
        points: u64,
        states: u64,
        events: u64,
        full_checks: u64,
        nested: Option<NestedExtent>,
    ) -> String {
        let again = match nested {
            None => "Power does not fail again during recovery.".to_owned(),
            Some(NestedExtent { states, points, depth }) => {
                let deeper = match depth {
                    1 => String::new(),
                    depth => format!(
                        "Power failed during those recoveries as well, up to {depth} times in a row, except below recoveries \
                         that had broken a rule and in states already seen. "
                    ),
                };
                format!(
                    "In {states} of the states power failed once more, after every step of the boot and after every \
                     write of the program's recovery: {points} times, each followed by another boot and recovery. \
                     {deeper}Where there is a shadow cache, it also failed once after a complete recovery and new writes."
                )
            }
        };
        let extent = match self {
            CrashPlan::All if region != Region::WHOLE => {
                format!("Power failed after each of {points} events between marks of the program")
            }
            CrashPlan::All => format!("Power failed after each of the {events} events of the run"),
            CrashPlan::Sample(_) if region != Region::WHOLE => {
                format!("Power failed after {points} evenly spaced events between marks of the program")
            }
            CrashPlan::Sample(_) => {
                format!("Power failed after {points} evenly spaced events of the run's {events}")
            }
            CrashPlan::At(at) => format!("Power failed after event {at} of the run's {events}"),
            CrashPlan::Between { first, last } => {
                format!("Power failed after the events {first} to {last} of the run's {events}")
            }
        };
        format!(
            "{extent}, which leaves {states} distinct durable states; {full_checks} of them were also booted from the \
             device image and compared line by line. One schedule is explored: the order of events that this machine \
             and seed give. {again}"
        )
    }
}

impl FromStr for CrashPlan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "all" => Ok(CrashPlan::All),
            number => number
                .parse()
                .map(CrashPlan::Sample)
                .map_err(|_| format!("crash points '{text}' is neither 'all' nor a number of at least 1")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sample_has_the_points_asked_for_or_every_event_and_ends_with_the_last(
            points in 1u64..500, total in 1u64..2_000
        ) {
            let plan = CrashPlan::Sample(NonZeroU64::new(points).unwrap());
            let taken: Vec<u64> = (1..=total).filter(|&event| plan.includes(event, total)).collect();
            prop_assert_eq!(taken.len() as u64, points.min(total));
            prop_assert_eq!(taken.last(), Some(&total));
            let gaps: Vec<u64> = taken.windows(2).map(|pair| pair[1] - pair[0]).collect();
            if let (Some(least), Some(most)) = (gaps.iter().min(), gaps.iter().max()) {
                prop_assert!(most - least <= 1);
            }
        }
    }

    #[test]
    fn plans_are_read_as_people_write_them() {
        assert_eq!("all".parse(), Ok(CrashPlan::All));
        assert_eq!("12".parse(), Ok(CrashPlan::Sample(NonZeroU64::new(12).unwrap())));
        for text in ["", "0", "-3", "some", "1.5"] {
            assert!(text.parse::<CrashPlan>().is_err(), "{text}");
        }
    }
}

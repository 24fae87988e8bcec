//! The annotations of a recorded program by source line.

use super::{Shown, wrappers};
use crate::attribution::{Place, places};
use crate::config::ConfigError;
use crate::workload::trace::{Done, Steps};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The annotations of one kind at a source line.
#[derive(Clone, Debug, Serialize)]
pub struct Annotations {
    /// `counter-atomic` or `counter-writeback`.
    pub name: &'static str,
    #[serde(flatten)]
    pub at: Shown,
    /// Their numbers in the recording, from 0, as [`crate::workload::trace::Omitted`] numbers them.
    pub numbers: Vec<u64>,
}

/// The annotations of the program that `steps` reads, in the order in which their lines come first.
///
/// # Errors
/// The trace is malformed or cut off.
pub fn annotations(
    steps: Steps,
    allow_truncated: bool,
    progress: &dyn Fn(u64),
) -> Result<Vec<Annotations>, ConfigError> {
    let mut all = Vec::new();
    let read = steps.each(allow_truncated, progress, &mut |step| {
        if let Done::Annotation { atomic, number } = step.done {
            all.push((atomic, step.site, number));
        }
        ControlFlow::Continue(())
    })?;
    let places = places(&read.sites, &wrappers::all(&[]));
    let nowhere = Place::unknown();
    let mut by_line: BTreeMap<(bool, &Place), Vec<u64>> = BTreeMap::new();
    for (atomic, site, number) in all {
        by_line.entry((atomic, places.get(site as usize).unwrap_or(&nowhere))).or_default().push(number);
    }
    let named = |((atomic, place), numbers): ((bool, &Place), Vec<u64>)| Annotations {
        name: if atomic { "counter-atomic" } else { "counter-writeback" },
        at: place.into(),
        numbers,
    };
    let mut found: Vec<Annotations> = by_line.into_iter().map(named).collect();
    found.sort_by_key(|one| one.numbers.first().copied());
    Ok(found)
}

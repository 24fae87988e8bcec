//! The annotations of a recorded program by source line.

use crate::attribution::{Place, place_of, places, wrappers_and};
use crate::kernel::ConfigError;
use crate::trace::{Done, Steps};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The annotations of one kind at a source line.
#[derive(Clone, Debug, Serialize)]
pub struct Annotations {
    /// `counter-atomic` or `counter-writeback`.
    pub name: &'static str,
    #[serde(flatten)]
    pub at: Place,
    /// Their numbers in the recording, from 0, as [`crate::trace::Omitted`] numbers them.
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
        if let Done::Annotation { kind, number, .. } = step.done {
            all.push((kind, step.site, number));
        }
        ControlFlow::Continue(())
    })?;
    let places = places(&read.sites, &wrappers_and(&[]));
    let mut by_line: BTreeMap<(&'static str, &Place), Vec<u64>> = BTreeMap::new();
    for (kind, site, number) in all {
        by_line.entry((kind.name(), place_of(&places, site))).or_default().push(number);
    }
    let shown = by_line.into_iter().map(|((name, place), numbers)| Annotations { name, at: place.clone(), numbers });
    let mut found: Vec<Annotations> = shown.collect();
    found.sort_by_key(|one| one.numbers.first().copied());
    Ok(found)
}

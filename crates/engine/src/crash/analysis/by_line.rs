//! Which lines of a recorded program are to be looked at: where it stored and flushed last what memories lack, over all
//! memories that its own recovery has judged. A place whose data is missing in memories that fail, and in few others,
//! explains the failures best.

use super::super::report::names::Names;
use crate::attribution::Place;
use crate::message::Site;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Where the program stored to a line last, and where it has flushed it since.
pub(super) type Touches = (Site, Option<Site>);

/// Memories that lack the same.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Memories {
    failed: u64,
    recovered: u64,
    /// The schedule and the crash event of the first of those that fail.
    first: Option<(u64, u64)>,
}

impl Memories {
    fn add(&mut self, other: Self) {
        self.failed += other.failed;
        self.recovered += other.recovered;
        self.first = [self.first, other.first].into_iter().flatten().min();
    }
}

/// What the memories that were judged lack.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct ByLine {
    /// By the touches of the lines that they lack, each once and in order.
    memories: FxHashMap<Box<[Touches]>, Memories>,
}

/// What memories lack of a place.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LineLosses {
    /// Where the program stored last what they lack.
    pub stored: Place,
    /// Where it has flushed it since; null if it has not.
    pub flushed: Option<Place>,
    /// Number of different memories without it that fail.
    pub failed: u64,
    /// Number of different memories without it from which the program recovers.
    pub recovered: u64,
    /// How well its lack explains the failures, from 0 to 1 (Ochiai's coefficient): 1 if exactly the memories without it
    /// fail.
    pub similarity: f64,
    /// The schedule of the first memory without it that fails.
    pub schedule: u64,
    /// The event of that schedule after which power fails for it.
    pub at_event: u64,
}

impl ByLine {
    /// Counts a memory; `lacks` has the touches of the lines that it lacks, each once and in order.
    pub fn count(&mut self, lacks: Box<[Touches]>, fails: bool, event: u64) {
        let (failed, recovered) = (u64::from(fails), u64::from(!fails));
        let first = fails.then_some((0, event));
        self.memories.entry(lacks).or_default().add(Memories { failed, recovered, first });
    }

    /// Says which schedule has shown it.
    pub fn of_schedule(mut self, schedule: u64) -> Self {
        let firsts = self.memories.values_mut().filter_map(|memories| memories.first.as_mut());
        firsts.for_each(|first| first.0 = schedule);
        self
    }

    /// Adds what another schedule has shown.
    pub fn and(&mut self, other: Self) {
        for (lacks, memories) in other.memories {
            self.memories.entry(lacks).or_default().add(memories);
        }
    }

    /// Whether a memory that fails lacks something.
    pub fn any(&self) -> bool {
        self.memories.iter().any(|(lacks, memories)| memories.failed > 0 && !lacks.is_empty())
    }

    /// The places that memories that fail lack, those first that explain the failures best.
    pub fn report(&self, names: &Names<'_>) -> Vec<LineLosses> {
        let all_failed: u64 = self.memories.values().map(|memories| memories.failed).sum();
        let mut by_place: BTreeMap<(Place, Option<Place>), Memories> = BTreeMap::new();
        for (lacks, &memories) in &self.memories {
            let shown = |&(stored, flushed): &Touches| (names.shown(stored), flushed.map(|at| names.shown(at)));
            // Several instructions of a source line are one place.
            let places: BTreeSet<_> = lacks.iter().map(shown).collect();
            for place in places {
                by_place.entry(place).or_default().add(memories);
            }
        }
        let told = |((stored, flushed), Memories { failed, recovered, first })| {
            let similarity = failed as f64 / (all_failed as f64 * (failed + recovered) as f64).sqrt();
            let (schedule, at_event) = first?;
            Some(LineLosses { stored, flushed, failed, recovered, similarity, schedule, at_event })
        };
        let mut told: Vec<LineLosses> = by_place.into_iter().filter_map(told).collect();
        told.sort_by(|one, other| {
            let first = |of: &LineLosses| (of.schedule, of.at_event);
            other.similarity.total_cmp(&one.similarity).then_with(|| first(one).cmp(&first(other)))
        });
        told
    }
}

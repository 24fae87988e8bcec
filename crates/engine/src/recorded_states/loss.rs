//! What a state has lost and what it has kept, in terms of the program's operations; and which failing states have the
//! same cause.

use super::counters::{By, Provenance};
use super::line::{Pending, Stored};
use super::memory::Memory;
use super::point::{Open, Point, State};
use crate::crash::CauseKind;
use crate::message::{Line, NO_SITE, Site};
use crate::user_recovery::Occasion;

/// A line of which a state lacks something.
#[derive(Clone, Debug)]
pub(super) struct Lost {
    pub line: Line,
    pub thread: u64,
    /// The newest store that is lost.
    pub stored: Site,
    pub missing: CauseKind,
    pub flushed: Option<Site>,
    /// Where a locked instruction fences it by chance.
    pub fenced_by: Option<Site>,
    /// The earliest of the kept stores that came after that.
    pub needed_before: Option<Site>,
}

/// A line of which a state has something that is not surely durable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    pub line: Line,
    step: u64,
    pub stored: Site,
}

/// A state.
#[derive(Clone, Debug)]
pub(super) struct Loss {
    /// The record before which power fails, and what it is.
    pub record: u64,
    pub before: Before,
    /// How many marks the program has set.
    pub marks: u64,
    pub transaction: Option<u64>,
    pub lost: Vec<Lost>,
    /// The newest first.
    pub kept: Vec<Kept>,
}

/// The moment at which power fails.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub record: u64,
    pub before: Before,
}

/// What comes next when power fails.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Before {
    /// A fence or flush, or, where caches persist, a store, by its place in the program.
    Operation(Site),
    Mark,
    End,
}

impl Before {
    /// The place of the operation, if it is one.
    pub fn site(self) -> Option<Site> {
        match self {
            Before::Operation(site) => Some(site),
            Before::Mark | Before::End => None,
        }
    }
}

impl Loss {
    pub fn of(memory: &Memory<'_>, point: &Point, state: &State, at: Moment) -> Self {
        let pending = |open: &Open| &memory.lines[open.number as usize].pending;
        let chosen = || point.lines.iter().zip(state);
        let kept = chosen().filter_map(|(open, &content)| {
            let by = match &open.of_counter {
                Some(of) => of.provenance[content].kept?,
                None => By::of(&pending(open).stores[open.contents.list[content].kept?]),
            };
            Some(Kept { line: open.line, step: by.step, stored: by.site })
        });
        let mut kept: Vec<Kept> = kept.collect();
        kept.sort_unstable_by_key(|kept| std::cmp::Reverse(kept.step));
        let lost = chosen().filter_map(|(open, &content)| match &open.of_counter {
            Some(of) => lost_of_counter(open.line, pending(open), &of.provenance[content], &kept),
            None => {
                let of = pending(open);
                Some(lost(open.line, of, &of.stores[open.contents.list[content].lost?], &kept))
            }
        });
        Self {
            record: at.record,
            before: at.before,
            marks: memory.marks,
            transaction: memory.in_transaction.then_some(memory.ended),
            lost: lost.collect(),
            kept,
        }
    }

    /// When power failed, as far as the command may be told.
    pub fn occasion(&self) -> Occasion {
        Occasion { marks: self.marks, event: self.record }
    }

    /// What distinguishes the cause of this state from that of others.
    pub fn key(&self) -> Key {
        if self.lost.is_empty() {
            return Key::Nothing(self.kept.first().map_or(NO_SITE, |kept| kept.stored));
        }
        if self.lost.len() > self.kept.len() && !self.kept.is_empty() {
            return Key::Kept(sorted(self.kept.iter().map(|kept| kept.stored)));
        }
        Key::Lost(sorted(self.lost.iter().map(Lost::key)))
    }

    /// Whether a state with this key explains this one, too: it has lost no more.
    pub fn is_explained_by(&self, key: &Key) -> bool {
        match key {
            Key::Lost(lost) => lost.iter().all(|key| self.lost.iter().any(|lost| lost.key() == *key)),
            Key::Kept(kept) => {
                !self.lost.is_empty() && kept.iter().all(|site| self.kept.iter().any(|kept| kept.stored == *site))
            }
            Key::Nothing(site) => self.kept.iter().any(|kept| kept.stored == *site),
        }
    }
}

impl Lost {
    fn key(&self) -> LostKey {
        (self.stored, self.missing, self.flushed)
    }
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = items.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// A lost store by its place, what it lacks, and the place of its flush.
pub(super) type LostKey = (Site, CauseKind, Option<Site>);

/// What failing states have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Key {
    /// They lack these stores.
    Lost(Vec<LostKey>),
    /// They have nothing but these stores.
    Kept(Vec<Site>),
    /// They lack nothing, and this is the newest store.
    Nothing(Site),
}

/// What a line lacks whose counter can be apart from its data.
fn lost_of_counter(line: Line, pending: &Pending, provenance: &Provenance, kept: &[Kept]) -> Option<Lost> {
    if let Some(separation) = provenance.separation {
        let By { step, thread, site: stored } = separation.by;
        let needed_before = first_after(kept, step);
        return Some(Lost {
            line,
            thread,
            stored,
            missing: separation.missing,
            flushed: None,
            fenced_by: None,
            needed_before,
        });
    }
    // Stores may have been taken together.
    let stored = pending.stores.iter().find(|stored| provenance.lost.is_some_and(|by| by.step <= stored.step))?;
    Some(lost(line, pending, stored, kept))
}

/// The place of the earliest kept store after this step.
fn first_after(kept: &[Kept], step: u64) -> Option<Site> {
    kept.iter().filter(|kept| step < kept.step).min_by_key(|kept| kept.step).map(|kept| kept.stored)
}

/// What `stored`, which is lost, lacks.
fn lost(line: Line, pending: &Pending, stored: &Stored, kept: &[Kept]) -> Lost {
    let (covering, earlier) = (pending.flushes.covering(stored), pending.flushes.before(stored));
    let (missing, flush) = match (stored.past_caches, covering, earlier) {
        (true, _, _) => (CauseKind::NonTemporalNotFenced, None),
        (_, Some(flush), _) => (CauseKind::MissingFence, Some(flush)),
        (_, _, Some(flush)) => (CauseKind::StoredAfterFlush, Some(flush)),
        (_, None, None) => (CauseKind::MissingFlush, None),
    };
    let from = flush.map_or(stored.step, |flush| flush.step.max(stored.step));
    Lost {
        line,
        thread: stored.thread,
        stored: stored.site,
        missing,
        flushed: flush.map(|flush| flush.site),
        fenced_by: match missing {
            CauseKind::MissingFence => flush.and_then(|flush| flush.by_chance),
            _ => stored.by_chance,
        },
        needed_before: first_after(kept, from),
    }
}

//! What a state has lost and what it has kept, in terms of the program's operations; and which failing states have the
//! same cause.

use super::contents::Content;
use super::counters::Provenance;
use super::line::{By, Pending, Stored};
use super::memory::Memory;
use super::point::{Open, Point, State};
use crate::crash::CauseKind;
use crate::message::{Line, Site};
use crate::user_recovery::Occasion;

/// A line of which a state lacks something.
#[derive(Clone, Debug)]
pub(super) struct Lost {
    pub line: Line,
    pub thread: u64,
    /// The newest store that is lost; the first one, if that is all that is needed.
    pub stored: Site,
    pub missing: CauseKind,
    pub flushed: Option<Site>,
    /// Where a locked instruction fences it by chance.
    pub fenced_by: Option<Site>,
    /// The earliest of the kept stores that came after that.
    pub needed_before: Option<Site>,
    /// The step from which on a fence would have made it durable: of its flush, or its own.
    flushed_at: u64,
    /// A store that came after it is there, or surely durable: it is not only the program that had not come so far.
    pub overtaken: bool,
    /// Its step, and the places of all lost stores of the line.
    pub step: u64,
    sites: Vec<Site>,
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
    /// How many steps the program has executed.
    pub step: u64,
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

impl Lost {
    /// The store by `kept` must not be durable before this.
    pub fn is_needed_before(&mut self, kept: By) {
        self.needed_before = Some(kept.site);
        self.missing = match self.missing {
            // Flush and fence are there, but only after what must not be durable without it.
            CauseKind::MissingFence if kept.step < self.flushed_at => CauseKind::OrderBetweenLines,
            CauseKind::OrderBetweenLines if kept.step > self.flushed_at => CauseKind::MissingFence,
            missing => missing,
        };
    }
}

impl Loss {
    pub fn of(memory: &Memory<'_>, point: &Point, state: &State, at: Moment) -> Self {
        Self::with(memory, point, state, at, |content, stores| {
            let sites = sorted(stores[first_lost(content)?..].iter().map(|stored| stored.site));
            Some((content.lost?, sites))
        })
    }

    /// The same, if restoring any lost store more makes the program recover: what matters of each line is its first lost
    /// store. What is overtaken comes first.
    pub fn of_minimal(memory: &Memory<'_>, point: &Point, state: &State, at: Moment) -> Self {
        let mut loss = Self::with(memory, point, state, at, |content, stores| {
            let first = first_lost(content)?;
            Some((first, vec![stores[first].site]))
        });
        loss.lost.sort_by_key(|lost| !lost.overtaken);
        loss
    }

    /// `matters`: of the stores to a line, by its content, the lost one that is shown, and the places of those that count.
    fn with(
        memory: &Memory<'_>,
        point: &Point,
        state: &State,
        at: Moment,
        matters: impl Fn(&Content, &[Stored]) -> Option<(usize, Vec<Site>)>,
    ) -> Self {
        let pending = |open: &Open| &memory.lines[open.number as usize].pending;
        let chosen = || point.lines.iter().zip(state);
        let kept = chosen().filter_map(|(open, &content)| {
            let by = match &open.provenance {
                Some(of) => of[content].kept?,
                None => By::of(&pending(open).stores[open.contents.list[content].kept?]),
            };
            Some(Kept { line: open.line, step: by.step, stored: by.site })
        });
        let mut kept: Vec<Kept> = kept.collect();
        kept.sort_unstable_by_key(|kept| std::cmp::Reverse(kept.step));
        let lost = chosen().filter_map(|(open, &content)| match &open.provenance {
            Some(of) => lost_of_counter(open.line, pending(open), &of[content], &kept),
            None => {
                let of = pending(open);
                let (shown, sites) = matters(&open.contents.list[content], &of.stores)?;
                Some(Lost { sites, ..lost(open.line, of, &of.stores[shown], &kept) })
            }
        });
        let newest = kept.first().map_or(0, |kept| kept.step).max(memory.durable);
        let lost = lost.map(|lost| Lost { overtaken: lost.step < newest, ..lost });
        Self {
            record: at.record,
            before: at.before,
            step: memory.step,
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

    /// The first store that it has lost.
    pub fn first_lost(&self) -> Option<&Lost> {
        self.lost.iter().min_by_key(|lost| lost.step)
    }

    /// What it has lost.
    pub fn key(&self) -> Key {
        sites_of(self.lost.iter())
    }

    /// What of it must not be lost: what is not overtaken may be lost in any case, with all that follows it.
    pub fn overtaken(&self) -> Key {
        let overtaken = sites_of(self.lost.iter().filter(|lost| lost.overtaken));
        if overtaken.is_empty() { self.key() } else { overtaken }
    }

    /// Whether a state that lacks no more than this fails: it has lost all of that, too.
    pub fn is_explained_by(&self, key: &[Site]) -> bool {
        !key.is_empty() && key.iter().all(|site| self.lost.iter().any(|lost| lost.sites.contains(site)))
    }
}

/// The first store that a content of a line lacks, by its index among the pending ones.
fn first_lost(content: &Content) -> Option<usize> {
    let lost = content.lost?;
    match content.kept {
        // A part of it is there, or others that need not come in order are.
        Some(kept) if kept >= lost || content.torn == Some(kept) => Some(lost.min(kept)),
        Some(kept) => Some(kept + 1),
        None => Some(0),
    }
}

fn sites_of<'l>(lost: impl Iterator<Item = &'l Lost>) -> Key {
    sorted(lost.flat_map(|lost| lost.sites.iter().copied()))
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = items.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// What failing states lack: the places of stores, each once and in order.
pub(super) type Key = Vec<Site>;

/// What a line lacks whose counter can be apart from its data.
fn lost_of_counter(line: Line, pending: &Pending, provenance: &Provenance, kept: &[Kept]) -> Option<Lost> {
    if let Some(separation) = provenance.separation {
        let By { step, thread, site: stored } = separation.by;
        let needed_before = first_after(kept, step).map(|kept| kept.stored);
        return Some(Lost {
            line,
            thread,
            stored,
            missing: separation.missing,
            flushed: None,
            fenced_by: None,
            needed_before,
            flushed_at: step,
            overtaken: false,
            step,
            sites: vec![stored],
        });
    }
    // Stores may have been taken together.
    let stored = pending.stores.iter().find(|stored| provenance.lost.is_some_and(|by| by.step <= stored.step))?;
    Some(lost(line, pending, stored, kept))
}

/// The earliest kept store after this step.
fn first_after(kept: &[Kept], step: u64) -> Option<&Kept> {
    kept.iter().filter(|kept| step < kept.step).min_by_key(|kept| kept.step)
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
    let flushed = flush.map(|flush| flush.site);
    let overtaken = first_after(kept, stored.step).filter(|kept| kept.step < from);
    let (missing, needed_before) = match (missing, overtaken, first_after(kept, from)) {
        // Flush and fence are there, but only after what must not be durable without it.
        (CauseKind::MissingFence, Some(kept), None) => (CauseKind::OrderBetweenLines, Some(kept)),
        (missing, _, kept) => (missing, kept),
    };
    Lost {
        line,
        thread: stored.thread,
        stored: stored.site,
        missing,
        flushed,
        fenced_by: match missing {
            CauseKind::MissingFence => flush.and_then(|flush| flush.by_chance),
            _ => stored.by_chance,
        },
        needed_before: needed_before.map(|kept| kept.stored),
        flushed_at: from,
        overtaken: false,
        step: stored.step,
        sites: vec![stored.site],
    }
}

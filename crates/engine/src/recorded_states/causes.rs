//! Why images fail. An image of a new sort waits until the trace is read again (`explaining`), which finds out what alone
//! makes the command fail; from then on that explains all images that lack it, too.

use super::executed::Executed;
use super::loss::{Key, Loss};
use crate::crash::CauseKind;
use rustc_hash::FxHashMap;
use std::path::PathBuf;

/// An image, as far as it has to be found again.
pub(super) struct Image {
    pub loss: Loss,
    /// Its state, and whether it is one of the point with all its lines.
    pub state: Box<[usize]>,
    pub of_whole_point: bool,
}

/// How the command failed.
pub(super) struct Failed {
    pub timed_out: bool,
    /// What it was told of the program, and what it did.
    pub told: Option<String>,
    pub did: String,
    /// The files that were kept.
    pub kept: Vec<PathBuf>,
}

/// Failing images whose cause is not known.
pub(super) struct Unexplained {
    pub image: Image,
    pub count: u64,
    pub how: Failed,
    /// Whether the image that lacks nothing fails there, too.
    pub lacks_nothing: bool,
}

/// What failing images have in common.
pub(super) enum Why {
    /// They lack these stores, or these, and each of them is needed.
    Lacks(Vec<Key>),
    /// The program does not recover from what it has stored between two of its stores.
    Executed(Executed),
}

/// Failing images of one cause.
pub(super) struct Failing {
    pub why: Why,
    pub count: u64,
    /// Of the first of them, what it needs.
    pub loss: Loss,
    pub how: Failed,
    /// All that it lacks has been declared not persistent.
    pub scratch: bool,
}

impl Failing {
    /// What the program lacks.
    pub fn kind(&self) -> CauseKind {
        match &self.why {
            Why::Executed(of) => of.kind,
            Why::Lacks(_) => self.loss.lost.first().map_or(CauseKind::WrongRecovery, |lost| lost.missing),
        }
    }

    /// Whether an image lacks what these lack.
    pub fn explains(&self, loss: &Loss, timed_out: bool) -> bool {
        self.how.timed_out == timed_out
            && matches!(&self.why, Why::Lacks(keys) if keys.iter().any(|key| loss.is_explained_by(key)))
    }
}

/// Images of one sort, by what they lack; or, if they need lack nothing, by the record before which power fails.
#[derive(PartialEq, Eq, Hash)]
enum Sort {
    Lacks(Key),
    LacksNothing(u64),
}

/// The causes of an exploration.
#[derive(Default)]
pub(super) struct Causes {
    pub known: Vec<Failing>,
    unexplained: Vec<Unexplained>,
    sorts: FxHashMap<(Sort, bool), usize>,
}

impl Causes {
    /// An image fails. `lacks_nothing`: so does the one that lacks nothing, of the same point.
    pub fn fails(&mut self, image: Image, lacks_nothing: bool, how: Failed) {
        let timed_out = how.timed_out;
        if !lacks_nothing && self.explained(&image.loss, timed_out, 1) {
            return;
        }
        let sort = match lacks_nothing {
            true => Sort::LacksNothing(image.loss.record),
            false => Sort::Lacks(image.loss.key()),
        };
        let next = self.unexplained.len();
        let at = *self.sorts.entry((sort, timed_out)).or_insert(next);
        match self.unexplained.get_mut(at) {
            Some(known) => known.count += 1,
            None => self.unexplained.push(Unexplained { image, count: 1, how, lacks_nothing }),
        }
    }

    /// Counts images if a known cause explains them.
    pub fn explained(&mut self, loss: &Loss, timed_out: bool, count: u64) -> bool {
        let known = self.known.iter_mut().find(|known| known.explains(loss, timed_out));
        if let Some(known) = known {
            known.count += count;
            return true;
        }
        false
    }

    /// What is to be explained, in the order of the trace.
    pub fn take_unexplained(&mut self) -> Vec<Unexplained> {
        self.sorts.clear();
        let mut all = std::mem::take(&mut self.unexplained);
        all.sort_by_key(|of| of.image.loss.step);
        all
    }

    /// A cause was found; those that contain it join it.
    pub fn found(&mut self, mut new: Failing) {
        let (mut kept, mut joined) = (Vec::with_capacity(self.known.len() + 1), None);
        for known in self.known.drain(..) {
            if new.explains(&known.loss, known.how.timed_out) {
                new.count += known.count;
                joined.get_or_insert(kept.len());
            } else {
                kept.push(known);
            }
        }
        kept.insert(joined.unwrap_or(kept.len()), new);
        self.known = kept;
    }

    /// Adds a cause to one that is the same mistake: no fence comes between several stores, of which one must not be durable
    /// before another. Both have the same store as the later one, or one's later store is the other's earlier one. Gives it
    /// back if there is none.
    pub fn same_mistake(&mut self, new: Failing) -> Option<Failing> {
        let unfenced = |of: &Failing| {
            let kinds = [CauseKind::MissingFence, CauseKind::NonTemporalNotFenced, CauseKind::OrderBetweenLines];
            let lost = of.loss.lost.first().filter(|_| kinds.contains(&of.kind()))?;
            Some((lost.stored, lost.needed_before?))
        };
        let Some((earlier, later)) = unfenced(&new) else { return Some(new) };
        let same = |known: &&mut Failing| {
            known.how.timed_out == new.how.timed_out
                && unfenced(known).is_some_and(|known| known.1 == later || known.1 == earlier || known.0 == later)
        };
        let Some(known) = self.known.iter_mut().find(same) else { return Some(new) };
        known.count += new.count;
        if let (Why::Lacks(keys), Why::Lacks(more)) = (&mut known.why, new.why) {
            keys.extend(more);
        }
        None
    }

    /// The causes in the order in which they are shown: what no flush and no fence mends comes first, because with it nothing
    /// else can be judged; what only memory shows that the program has declared not persistent comes last.
    pub fn in_order(&mut self) {
        self.known.sort_by_key(|known| (known.scratch, !matches!(known.why, Why::Executed(_))));
    }
}

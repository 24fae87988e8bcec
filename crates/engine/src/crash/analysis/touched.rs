//! Where a recorded program touched each line last, so that a verdict can name places of the program. An observer of
//! stores and flushes, in the order in which they reach the caches.

use super::by_line::Touches;
use crate::audit::{Auditor, LastTouch, Lost, Violation};
use crate::message::{Line, NO_SITE, Site};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// Most lines that a violation names.
const NAMED_MAX: usize = 8;

/// The lines that a program has stored to.
#[derive(Default)]
pub(in crate::crash) struct Touched {
    lines: FxHashMap<Line, Touch>,
    /// The line of the newest store, until its place is told.
    newest: Option<Line>,
    stores: u64,
    /// Number of violations of the auditors that have their lines.
    named: usize,
}

/// What a memory lacks.
#[derive(Default)]
pub(in crate::crash) struct Lacks {
    /// Its lines, for a violation.
    pub lost: Lost,
    /// How these lines were touched, each way once and in order.
    pub touches: Box<[Touches]>,
}

#[derive(Clone, Copy)]
struct Touch {
    stored: Site,
    flushed: Option<Site>,
    /// Number of the last store, over all lines.
    order: u64,
}

impl Touched {
    pub fn stored(&mut self, line: Line) {
        self.stores += 1;
        self.lines.insert(line, Touch { stored: NO_SITE, flushed: None, order: self.stores });
        self.newest = Some(line);
    }

    /// The newest store came from `site`.
    pub fn store_left(&mut self, site: Site) {
        if let Some(touch) = self.newest.take().and_then(|line| self.lines.get_mut(&line)) {
            touch.stored = site;
        }
    }

    /// The line is flushed from `site`; what goes past the caches is stored there, too.
    pub fn flushed(&mut self, line: Line, site: Site) {
        if let Some(touch) = self.lines.get_mut(&line) {
            touch.flushed = Some(site);
            if self.newest == Some(line) {
                touch.stored = site;
                self.newest = None;
            }
        }
    }

    /// What a boot does not find of what the program has stored last, as of the last judgement.
    pub fn lacks(&self, auditor: &Auditor) -> Lacks {
        let behind = auditor.line_views().filter(|view| view.found != view.later.last().unwrap_or(view.covered));
        let mut lost: Vec<(Line, Touch)> =
            behind.filter_map(|view| Some((view.line, *self.lines.get(&view.line)?))).collect();
        lost.sort_unstable_by_key(|(_, touch)| Reverse(touch.order));
        let mut touches: Vec<Touches> = lost.iter().map(|(_, touch)| (touch.stored, touch.flushed)).collect();
        touches.sort_unstable();
        touches.dedup();
        let count = lost.len() as u64;
        lost.truncate(NAMED_MAX);
        Lacks { lost: Lost { lines: lost.into_iter().map(last_touch).collect(), count }, touches: touches.into() }
    }

    /// Adds lines to the violations that the auditors have found since the last call.
    pub fn name(&mut self, auditor: &mut Auditor) {
        let found = auditor.explained_from(self.named);
        self.named += found.len();
        for Violation { line, lost, .. } in found {
            let touch = line.and_then(|line| Some((line, *self.lines.get(&line)?)));
            *lost = Lost { lines: touch.map(last_touch).into_iter().collect(), count: u64::from(touch.is_some()) };
        }
    }
}

fn last_touch((line, Touch { stored, flushed, .. }): (Line, Touch)) -> LastTouch {
    LastTouch { line, stored, flushed }
}

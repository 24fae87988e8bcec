//! Where the program does not recover from what it has stored itself, with nothing lost: from which of its stores on, until
//! which, and what is wrong there. The trace is read from the beginning; memory is judged at the moments that are asked for,
//! and where that fails, the first and the last store of the stretch are found by bisection of the stores.

use super::judging::Judging;
use super::line::{By, Stored};
use super::memory::Memory;
use crate::crash::CauseKind;
use crate::kernel::{Failure, keyed_digest};
use crate::message::{Line, LineBytes, Site};
use crate::trace::{Done, Sites, Step};
use crate::user_recovery::Occasion;
use std::collections::{BTreeMap, BTreeSet};

/// Most stores that are kept for a bisection.
const STORES_MAX: usize = 1 << 18;
/// Crash points of a stretch at which memory is judged only to find its end; after these, at ever fewer.
const ENDS_MAX: u64 = 32;
/// Most places and lines of stores between two stretches that are kept to tell whether both belong to one update.
const BETWEEN_MAX: usize = 64;
/// Most stretches after one that was asked for that are found only to tell that.
const FOLLOWED_MAX: u32 = 8;

/// A stretch of the program in which nothing need be lost for the command to fail.
#[derive(Clone, Debug)]
pub(super) struct Executed {
    /// The first store; `None` if memory fails before it.
    pub from: Option<Site>,
    /// The store that mends it; `None` if none does.
    pub until: Option<Site>,
    pub kind: CauseKind,
    /// The first stores of the stretches of this update: in between, the program may recover.
    pub begins: Vec<Site>,
}

impl Executed {
    /// Whether both are stretches of one update.
    pub fn is_of_update(&self, other: &Self) -> bool {
        self.from == other.from || self.begins.iter().any(|begin| other.begins.contains(begin))
    }

    /// A further stretch of the update.
    pub fn continues(&mut self, other: &Self) {
        self.begins.extend(&other.begins);
        self.begins.sort_unstable();
        self.begins.dedup();
    }
}

/// What lies between a stretch and the one before it: the stores from the last one of the earlier to the first one of the
/// later.
#[derive(Default)]
struct Gap {
    sites: BTreeSet<Site>,
    lines: BTreeSet<Line>,
    /// Of the earlier stretch.
    lines_before: BTreeSet<Line>,
    /// Whether both stretches lie in one piece of memory, of which every line is stored to.
    in_one_piece: bool,
}

impl Gap {
    /// Whether one call of one function has made all these stores, a call by the program itself.
    fn is_within_a_call(&self, sites: &Sites) -> bool {
        let callers = |&site: &Site| match sites.frames(site) {
            [code, callers @ ..] if callers.first().is_some_and(|caller| caller.object == code.object) => Some(callers),
            _ => None,
        };
        let mut all = self.sites.iter().map(callers);
        match all.next() {
            Some(Some(first)) => all.all(|callers| callers == Some(first)),
            _ => false,
        }
    }

    /// The later stretch begins in this line.
    fn ends_in(&mut self, line: Line) {
        let nearest = self.lines_before.iter().min_by_key(|before| before.0.abs_diff(line.0));
        self.in_one_piece = nearest.is_some_and(|before| {
            let (first, last) = (before.0.min(line.0), before.0.max(line.0));
            last - first <= BETWEEN_MAX as u64 && (first + 1..last).all(|between| self.lines.contains(&Line(between)))
        });
    }
}

/// A store that memory has taken.
struct Taken {
    stored: Stored,
    line: Line,
    scratch: bool,
    /// What the line held before.
    before: LineBytes,
    /// What the command may be told afterwards.
    occasion: Occasion,
}

/// A stretch whose end is not known.
struct Open {
    executed: Executed,
    /// The line of the first store, with what it would hold without that store.
    without: Option<(Line, LineBytes)>,
    /// Without the first store, memory does not fail.
    early: bool,
    /// Bit `n`: byte `n` of its line is still as the first store left it.
    intact: u64,
    lines: BTreeSet<Line>,
    gap: Gap,
    /// Something was stored to another line since.
    others: bool,
    /// Crash points since at which nothing is known.
    passed: u64,
}

/// The program between two moments.
#[derive(Default)]
pub(super) struct Retrace {
    /// The stretches that were found.
    stretches: Vec<Executed>,
    /// For each, what comes before it, and the number of the one that stands for its update.
    gaps: Vec<Gap>,
    updates: Vec<usize>,
    open: Option<Open>,
    /// The stores since the last stretch; `None` if they are too many, or there was none.
    since: Option<Gap>,
    /// Stretches that nobody asked for since the last one that was.
    followed: u32,
    /// The stores since memory was last known to fail or to recover.
    stores: Vec<Taken>,
    /// Whether memory recovers before the first of these; `None` if nobody knows.
    recovers_before: Option<bool>,
}

impl Retrace {
    /// A step that memory is about to take.
    pub fn meets(&mut self, memory: &Memory<'_>, step: &Step<'_>) {
        let Done::Store { at, bytes, way, scratch, .. } = step.done else { return };
        let Some(line) = memory.place(at.line) else { return };
        if self.stores.len() >= STORES_MAX {
            self.since = None;
            self.absorb(STORES_MAX / 2);
            self.recovers_before = self.open.is_some().then_some(false);
        }
        let by = By { step: memory.step + 1, thread: step.thread, site: step.site };
        let stored = Stored::of(by, way.past_caches(), usize::from(at.offset), bytes);
        let occasion = Occasion { marks: memory.marks, event: step.record + 1 };
        self.stores.push(Taken { stored, line, scratch, before: memory.newest(line), occasion });
    }

    /// Whether memory is to be judged at a crash point, only to find the end of a stretch.
    pub fn looks_for_an_end(&mut self) -> bool {
        let Some(open) = &mut self.open else { return false };
        open.passed += 1;
        open.passed <= ENDS_MAX || open.passed.is_power_of_two()
    }

    /// Memory, of which nothing is lost, fails or recovers at this moment. Returns the number of its stretch if it fails.
    /// `asked`: a stretch begins here if there is none; so it does soon after another one, which may be of the same update.
    pub fn judged(
        &mut self,
        judging: &mut Judging<'_>,
        memory: &mut Memory<'_>,
        occasion: Occasion,
        (fails, asked): (bool, bool),
    ) -> Result<Option<usize>, Failure> {
        let follows = self.since.is_some() && self.followed < FOLLOWED_MAX;
        match (fails, self.open.is_some()) {
            (true, false) if asked || follows => {
                self.followed = if asked { 0 } else { self.followed + 1 };
                self.begin(judging, memory, occasion)?;
            }
            (true, false) => return Ok(None),
            (true, true) => self.absorb(self.stores.len()),
            (false, true) => self.end(judging, memory)?,
            (false, false) => {}
        }
        if self.open.is_none() {
            self.pass(self.stores.len());
        }
        self.stores.clear();
        self.recovers_before = Some(!fails);
        Ok(fails.then_some(self.stretches.len()))
    }

    /// The program has ended. Stretches are of one update if one call of a function has made all stores between them, and
    /// they lie in one piece of memory.
    pub fn finish(&mut self, sites: &Sites) {
        if let Some(open) = self.open.take() {
            self.close(open.executed, open.gap);
        }
        for number in 1..self.stretches.len() {
            let (earlier, later) = self.stretches.split_at_mut(number);
            let head = self.updates[number - 1];
            if later[0].until.is_some() && self.gaps[number].in_one_piece && self.gaps[number].is_within_a_call(sites) {
                self.updates[number] = head;
                earlier[head].continues(&later[0]);
                if earlier[head].from != later[0].from {
                    earlier[head].kind = CauseKind::NotAtomic;
                }
            }
        }
    }

    /// The stretch that stands for the update that a stretch belongs to.
    pub fn update(&self, number: usize) -> Option<&Executed> {
        self.updates.get(number).map(|&head| &self.stretches[head])
    }

    /// The update with a stretch that begins with this store.
    pub fn update_begun_by(&self, first: Site) -> Option<&Executed> {
        self.update(self.stretches.iter().position(|of| of.from == Some(first))?)
    }

    fn close(&mut self, executed: Executed, gap: Gap) {
        self.updates.push(self.stretches.len());
        self.stretches.push(executed);
        self.gaps.push(gap);
    }

    /// The first `count` of the stores belong to no stretch.
    fn pass(&mut self, count: usize) {
        if let Some(since) = &mut self.since {
            since.sites.extend(self.stores[..count].iter().map(|taken| taken.stored.site));
            since.lines.extend(self.stores[..count].iter().map(|taken| taken.line));
            if since.sites.len().max(since.lines.len()) > BETWEEN_MAX {
                self.since = None;
            }
        }
    }

    /// The lines as they were after the first `count` of the stores.
    fn after(&self, count: usize) -> BTreeMap<Line, LineBytes> {
        let mut lines = BTreeMap::new();
        for taken in &self.stores[count..] {
            lines.entry(taken.line).or_insert(taken.before);
        }
        lines
    }

    fn fails_after(&self, judging: &mut Judging<'_>, memory: &mut Memory<'_>, count: usize) -> Result<bool, Failure> {
        let occasion = self.stores[count.saturating_sub(1)].occasion;
        fails_with(judging, memory, self.after(count), occasion)
    }

    /// The number of stores after which memory does first what it does after all of them, which is to fail or not.
    fn turn(&self, judging: &mut Judging<'_>, memory: &mut Memory<'_>, fails: bool) -> Result<usize, Failure> {
        let (mut before, mut after) = (0, self.stores.len());
        while after - before > 1 {
            let middle = before.midpoint(after);
            if self.fails_after(judging, memory, middle)? == fails { after = middle } else { before = middle }
        }
        Ok(after)
    }

    fn begin(&mut self, judging: &mut Judging<'_>, memory: &mut Memory<'_>, occasion: Occasion) -> Result<(), Failure> {
        let before = match self.recovers_before {
            Some(recovers) => !recovers,
            None => self.stores.is_empty() || self.fails_after(judging, memory, 0)?,
        };
        let executed = Executed { from: None, until: None, kind: CauseKind::WrongRecovery, begins: Vec::new() };
        let (intact, lines, gap) = (0, BTreeSet::new(), Gap::default());
        let mut open = Open { executed, without: None, early: false, intact, lines, gap, others: false, passed: 0 };
        if !before && !self.stores.is_empty() {
            let first = self.turn(judging, memory, true)? - 1;
            self.pass(first + 1);
            let taken = &self.stores[first];
            open.executed.from = Some(taken.stored.site);
            open.executed.begins = vec![taken.stored.site];
            open.without = Some((taken.line, taken.before));
            open.intact = taken.stored.mask;
            open.lines.insert(taken.line);
            open.gap = self.since.take().unwrap_or_default();
            open.gap.ends_in(taken.line);
            self.stores.drain(..=first);
        }
        self.open = Some(open);
        self.absorb(self.stores.len());
        let open = self.open.as_mut().expect("it was put there");
        if let Some(without) = open.without {
            open.early = !fails_with(judging, memory, [without].into(), occasion)?;
        }
        Ok(())
    }

    /// The first `count` of the stores belong to the open stretch.
    fn absorb(&mut self, count: usize) {
        for taken in self.stores.drain(..count) {
            let Some(open) = &mut self.open else { continue };
            open.lines.insert(taken.line);
            match &mut open.without {
                Some((line, bytes)) if *line == taken.line => {
                    taken.stored.put(bytes, u8::MAX);
                    open.intact &= !taken.stored.mask;
                }
                _ => open.others |= !taken.scratch,
            }
        }
    }

    fn end(&mut self, judging: &mut Judging<'_>, memory: &mut Memory<'_>) -> Result<(), Failure> {
        let last = self.turn(judging, memory, false)?;
        let (until, occasion) = match last.checked_sub(1).map(|at| &self.stores[at]) {
            Some(taken) => (Some(taken.stored.site), taken.occasion),
            None => (None, Occasion { marks: memory.marks, event: 0 }),
        };
        let mut lines = self.after(last);
        self.absorb(last);
        let Open { mut executed, without, early, intact, lines: of_stretch, gap, others, .. } =
            self.open.take().expect("a stretch ends");
        // A store of which nothing is left cannot come later instead.
        let early = early
            && intact != 0
            && match without {
                Some((line, bytes)) => {
                    lines.insert(line, bytes);
                    !fails_with(judging, memory, lines, occasion)?
                }
                None => false,
            };
        executed.until = until;
        executed.kind = match (early, others) {
            (true, false) => CauseKind::OrderWithinLine,
            (true, true) => CauseKind::OrderBetweenLines,
            (false, _) => CauseKind::NotAtomic,
        };
        self.since = Some(Gap { sites: until.into_iter().collect(), lines_before: of_stretch, ..Gap::default() });
        self.close(executed, gap);
        Ok(())
    }
}

/// Whether the command fails on memory of which nothing is lost, but these lines hold something else.
fn fails_with(
    judging: &mut Judging<'_>,
    memory: &mut Memory<'_>,
    lines: BTreeMap<Line, LineBytes>,
    occasion: Occasion,
) -> Result<bool, Failure> {
    let mut digest = memory.digest;
    for (&line, bytes) in &lines {
        let now = memory.lines[memory.number(line) as usize].digest;
        digest = digest.wrapping_sub(now).wrapping_add(keyed_digest(line.0, bytes));
    }
    let lines: Vec<(Line, LineBytes)> = lines.into_iter().collect();
    judging.fails_on(memory, (digest, &lines), occasion)
}

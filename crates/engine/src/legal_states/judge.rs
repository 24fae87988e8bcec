//! Decides whether every state of a class recovers: the heap must equal the golden state after the committed
//! transactions, or after one more if it has started. Lines that recovery did not read are still open here. They are
//! judged together by what each of them can be, without enumerating the states.

use super::history::History;
use super::search::Search;
use crate::message::{Line, LineBytes};

/// Bits: a line matches the committed state; it matches the state after the transaction in flight.
const COMMITTED: u8 = 1;
const NEXT: u8 = 2;
const IMPOSSIBLE: u32 = u32::MAX;

/// For each of the four sets of states that all lines so far match: the least number of counters ahead.
type Reached = [u32; 4];

const NOTHING: Reached = [IMPOSSIBLE; 4];

/// One possibility of a line or a group of lines, and how many counters are ahead in it.
#[derive(Clone, Copy)]
struct Way {
    fits: u8,
    ahead: u32,
}

fn reach(reached: &mut Reached, fits: u8, ahead: u32) {
    let least = &mut reached[usize::from(fits)];
    *least = ahead.min(*least);
}

fn and(before: &Reached, ways: impl Iterator<Item = Way> + Clone) -> Reached {
    let mut after = NOTHING;
    for (fits, &ahead) in (0u8..).zip(before) {
        if ahead != IMPOSSIBLE {
            ways.clone().for_each(|way| reach(&mut after, fits & way.fits, ahead.saturating_add(way.ahead)));
        }
    }
    after
}

fn ways_of(reached: &Reached) -> impl Iterator<Item = Way> + Clone + '_ {
    (0u8..).zip(reached).filter(|(_, ahead)| **ahead != IMPOSSIBLE).map(|(fits, &ahead)| Way { fits, ahead })
}

/// One concrete state of a class: a mode for each group, a candidate for each open line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Pick {
    pub modes: Vec<usize>,
    pub candidates: Vec<usize>,
}

/// The result for a class.
pub(super) enum Verdict {
    /// The hardware's limits allow no state of the class.
    Empty,
    /// Every state recovers.
    Holds,
    /// This state does not recover.
    Broken(Pick),
}

/// What `line` holds after recovery if it held `before` at the boot.
pub(super) fn after(search: &Search<'_>, line: Line, before: &LineBytes) -> LineBytes {
    search.written_to(line).map_or(*before, |written| written.over(before))
}

fn fits(history: &History, line: Line, bytes: &LineBytes) -> u8 {
    if !history.is_heap(line) {
        return COMMITTED | NEXT;
    }
    let committed = history.golden(line).is_none_or(|golden| golden == bytes);
    let next = history.in_flight.writes.get(&line).map_or(committed, |next| next == bytes);
    (if committed { COMMITTED } else { 0 }) | (if next && history.in_flight.started { NEXT } else { 0 })
}

/// What the lines that are not open match: those of the transaction in flight, and those that recovery wrote.
fn closed(search: &Search<'_>) -> u8 {
    let history = search.history;
    let start = if history.in_flight.started { COMMITTED | NEXT } else { COMMITTED };
    let touched = history.in_flight.writes.keys().copied().chain(search.written().iter().map(|written| written.line));
    let closed = touched.filter(|line| !search.space.by_line.contains_key(line));
    closed.fold(start, |fit, line| fit & fits(history, line, &after(search, line, &history.covered(line))))
}

/// Judges the class on which recovery has just been run.
pub(super) fn judge(search: &Search<'_>) -> Verdict {
    let mut reached = NOTHING;
    reach(&mut reached, closed(search), 0);
    let mut groups = Vec::with_capacity(search.space.groups.len());
    for group in 0..search.space.groups.len() {
        let mut of_group = NOTHING;
        for mode in search.modes_of(group) {
            for way in ways_of(&of_mode(search, group, mode)) {
                reach(&mut of_group, way.fits, way.ahead);
            }
        }
        reached = and(&reached, ways_of(&of_group));
        groups.push(of_group);
    }
    let max = search.space.busy_max;
    if reached.iter().all(|&ahead| ahead > max) {
        return Verdict::Empty;
    }
    if reached[0] > max {
        return Verdict::Holds;
    }
    let ways: Vec<Vec<Way>> = groups.iter().map(|of_group| ways_of(of_group).collect()).collect();
    let of_groups = solve(&ways, closed(search), 0, max).expect("a state was reached");
    let mut pick = some_pick(search);
    for (group, &way) in of_groups.iter().enumerate() {
        let wanted = ways[group][way];
        let mode =
            search.modes_of(group).find(|&mode| of_mode(search, group, mode)[usize::from(wanted.fits)] <= wanted.ahead);
        let mode = mode.expect("a mode gave this way");
        let lines = &search.space.groups[group].lines;
        let of_lines: Vec<Vec<Way>> = lines.iter().map(|&line| ways_of_line(search, line, mode).collect()).collect();
        let taken = solve(&of_lines, COMMITTED | NEXT, wanted.fits, wanted.ahead).expect("its lines give it");
        pick.modes[group] = mode;
        for (&line, way) in lines.iter().zip(taken) {
            pick.candidates[line] = search.agreeing(line, mode).nth(way).expect("a way of the line").0;
        }
    }
    Verdict::Broken(pick)
}

/// Any state of the class.
pub(super) fn some_pick(search: &Search<'_>) -> Pick {
    let modes: Vec<usize> = (0..search.space.groups.len()).map(|group| search.modes_of(group).start).collect();
    let first = |line: usize| search.agreeing(line, modes[search.space.lines[line].group]).next();
    let candidates = (0..search.space.lines.len()).map(|line| first(line).map_or(0, |(at, _)| at)).collect();
    Pick { modes, candidates }
}

/// Whether this one state of the class recovers.
pub(super) fn recovers(search: &Search<'_>, pick: &Pick) -> bool {
    let open = search.space.lines.iter().zip(&pick.candidates);
    let fit = open.fold(closed(search), |fit, (line, &candidate)| {
        let bytes = &line.candidates[pick.modes[line.group]][candidate].bytes;
        fit & fits(search.history, line.line, &after(search, line.line, bytes))
    });
    fit != 0
}

fn ways_of_line<'s>(search: &'s Search<'_>, line: usize, mode: usize) -> impl Iterator<Item = Way> + Clone + use<'s> {
    let of = search.space.lines[line].line;
    search.agreeing(line, mode).map(move |(_, candidate)| Way {
        fits: fits(search.history, of, &after(search, of, &candidate.bytes)),
        ahead: u32::from(candidate.busy),
    })
}

fn of_mode(search: &Search<'_>, group: usize, mode: usize) -> Reached {
    let mut reached = NOTHING;
    reach(&mut reached, COMMITTED | NEXT, 0);
    for &line in &search.space.groups[group].lines {
        let mut of_line = NOTHING;
        ways_of_line(search, line, mode).for_each(|way| reach(&mut of_line, way.fits, way.ahead));
        reached = and(&reached, ways_of(&of_line));
    }
    reached
}

/// Which possibility to choose for each item so that together they give `target` with at most `max` counters ahead.
fn solve(items: &[Vec<Way>], start: u8, target: u8, max: u32) -> Option<Vec<usize>> {
    // What the items from each index on can add.
    let mut rest = vec![NOTHING; items.len() + 1];
    reach(&mut rest[items.len()], COMMITTED | NEXT, 0);
    for at in (0..items.len()).rev() {
        rest[at] = and(&rest[at + 1], items[at].iter().copied());
    }
    let (mut fit, mut spent) = (start, 0u32);
    let mut taken = Vec::with_capacity(items.len());
    for (at, ways) in items.iter().enumerate() {
        let leads = |way: &Way| {
            ways_of(&rest[at + 1]).any(|later| {
                fit & way.fits & later.fits == target
                    && spent.saturating_add(way.ahead).saturating_add(later.ahead) <= max
            })
        };
        let way = ways.iter().position(leads)?;
        fit &= ways[way].fits;
        spent += ways[way].ahead;
        taken.push(way);
    }
    (fit == target).then_some(taken)
}

//! Explains in sentences a legal state that does not recover.

use super::history::{History, LineHistory};
use super::judge::{Pick, after};
use super::search::Search;
use super::space::{Candidate, Reading, Space};
use crate::audit::Rule;
use crate::message::Line;

/// Most lines of a state that are described one by one.
const LINES_TOLD: usize = 6;

/// The program's stage in its transaction.
pub(super) fn stage(history: &History) -> Option<&'static str> {
    if !history.in_flight.started {
        return None;
    }
    Some(match (history.layout.log.is_empty(), history.in_flight.fences) {
        (_, 0) => "prepare",
        (false, 1) => "mutate",
        _ => "commit",
    })
}

/// The purpose of the memory that a line belongs to.
pub(super) fn role(history: &History, line: Line) -> &'static str {
    let address = line.address();
    match () {
        () if history.layout.log.contains(&address) => "log",
        () if history.layout.heap.contains(&address) => "heap",
        () => "other",
    }
}

/// The fence in words: "At the fence that ends Prepare of transaction 3".
pub(super) fn place(history: &History) -> String {
    let number = history.committed;
    match stage(history) {
        Some("prepare") => format!("at the fence that ends Prepare of transaction {number}"),
        Some("mutate") => format!("at the fence that ends Mutate of transaction {number}"),
        Some(_) => format!("at the fence that ends Commit of transaction {number}"),
        None => format!("at a fence after transaction {}", number.saturating_sub(1)),
    }
}

/// What the media hold for a line.
pub(super) fn line_state(history: &History, line: Line, candidate: &Candidate) -> String {
    let of = &history.lines[&line];
    let role = role(history, line);
    let at = line.address();
    let content = content(of, candidate.version);
    match candidate.reading {
        Reading::Intact => format!("the {role} line at {at:#x} holds {content}"),
        Reading::CounterAhead => format!(
            "the {role} line at {at:#x} holds {content}, and its counter on the media is already that of a later write, \
             whose data is still on the chip, so that it does not decrypt"
        ),
        Reading::CounterBehind => format!(
            "the {role} line at {at:#x} holds {content}, and its counter on the media is that of an earlier write, so \
             that it does not decrypt"
        ),
        Reading::CounterFromBefore if of.populated => format!(
            "the {role} line at {at:#x} holds {content}, and its counter on the media is from before the run, so that it \
             does not decrypt"
        ),
        Reading::CounterFromBefore => format!(
            "the {role} line at {at:#x} holds {content}, and the media have no counter for it, so that it reads as zero"
        ),
    }
}

fn content(of: &LineHistory, version: usize) -> String {
    let newest = of.newest();
    match version {
        0 if of.covered_at.is_some() => "what the last fence covered".to_owned(),
        0 => "what it held before the run".to_owned(),
        _ if version == newest => "all that was stored to it since".to_owned(),
        _ => format!("the first {version} of {newest} stores since"),
    }
}

/// The rule that a state breaks, the line that shows it best, and the explanation.
pub(super) fn broken(search: &Search<'_>, pick: &Pick) -> (Rule, Option<Line>, String) {
    let Search { space, history, .. } = search;
    let before = |line: Line| match space.by_line.get(&line) {
        Some(&index) => chosen(space, pick, index).bytes,
        None => history.covered(line),
    };
    let lines = space.lines.iter().map(|open| open.line);
    let written = search.written().iter().map(|written| written.line);
    let mut touched: Vec<Line> = lines.chain(written).chain(history.in_flight.writes.keys().copied()).collect();
    touched.retain(|&line| history.is_heap(line));
    touched.sort_unstable();
    touched.dedup();
    let wrong = |line: &Line| {
        let holds = after(search, *line, &before(*line));
        history.golden(*line).is_some_and(|golden| *golden != holds)
    };
    let of_next = |line: &Line| history.in_flight.writes.contains_key(line);
    let arrived = |line: &Line| history.in_flight.writes.get(line) == Some(&after(search, *line, &before(*line)));
    let wrong: Vec<Line> = touched.into_iter().filter(wrong).collect();
    let lost: Vec<Line> = wrong.iter().copied().filter(|line| !of_next(line)).collect();
    let torn: Vec<Line> = wrong.iter().copied().filter(|line| of_next(line) && !arrived(line)).collect();
    let rule = if lost.is_empty() && history.in_flight.started { Rule::Atomicity } else { Rule::Durability };
    let lead = lost.first().or(torn.first()).or(wrong.first()).copied();
    let mut told = format!("It is legal, {}, that ", place(history));
    let unusual = |index: &usize| {
        let candidate = chosen(space, pick, *index);
        candidate.reading != Reading::Intact || candidate.version > 0
    };
    let open: Vec<usize> = (0..space.lines.len()).filter(unusual).collect();
    let states: Vec<String> = open
        .iter()
        .take(LINES_TOLD)
        .map(|&index| line_state(history, space.lines[index].line, chosen(space, pick, index)))
        .collect();
    told += &if states.is_empty() { "nothing new is on the media".to_owned() } else { states.join("; ") };
    if open.len() > LINES_TOLD {
        told += &format!("; and {} more lines hold something new", open.len() - LINES_TOLD);
    }
    told += ". All other lines hold what the last fence covered. ";
    let restored = search.written().iter().filter(|written| history.is_heap(written.line)).count();
    told += &match restored {
        0 => "Recovery finds nothing to undo. ".to_owned(),
        1 => "Recovery writes one line of the heap. ".to_owned(),
        more => format!("Recovery writes {more} lines of the heap. "),
    };
    if let Some(line) = lead {
        told += &match (lost.contains(&line), history.in_flight.writes.len()) {
            (true, _) => {
                format!("Then the line at {:#x} does not hold what committed transactions left in it.", line.address())
            }
            (false, of) => format!(
                "Then the transaction in flight is there in part: of its {of} lines {} differ from before it, and the line \
                 at {:#x} is neither as before nor as after it.",
                wrong.len(),
                line.address()
            ),
        };
        if torn.is_empty() && lost.is_empty() {
            told += " Others are as before it.";
        }
    }
    (rule, lead, told)
}

pub(super) fn chosen<'s>(space: &'s Space, pick: &Pick, index: usize) -> &'s Candidate {
    let open = &space.lines[index];
    &open.candidates[pick.modes[open.group]][pick.candidates[index]]
}

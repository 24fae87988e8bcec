//! What a check reports: findings by source line.

use super::found::{Findings, Found};
use super::kind::{Class, Kind};
use super::line::Moment;
use super::program_state::Counts;
use crate::attribution::{Place, Shown, place_of};
use crate::message::{LINE_BYTES, NO_SITE};
use crate::trace::{CutOff, StepsRead};
use serde::Serialize;
use std::collections::BTreeMap;

/// The verdict on a recorded program.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Check")]
pub struct CheckReport {
    /// Version of this report's format.
    pub schema: u32,
    /// Path of the trace.
    pub trace: String,
    /// Whether no finding is about correctness.
    pub holds: bool,
    /// What was checked, and what came of it, in a sentence.
    pub checked: String,
    /// What was not.
    pub not_checked: Vec<NotChecked>,
    /// What the trace lacks of what the program did, in sentences.
    pub lacks: Vec<String>,
    /// Number of records of the trace.
    pub records: u64,
    #[serde(flatten)]
    pub counts: Counts,
    /// How far the trace is valid, if its end is missing.
    pub cut_off: Option<CutOff>,
    /// Correctness first, then the most frequent first.
    pub findings: Vec<Finding>,
    /// What the useless operations cost on a design, if the request names one.
    pub cost: Option<Cost>,
}

/// All findings of a kind at a source line.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Finding {
    /// What it is.
    pub kind: Kind,
    /// Whether it is about what a power failure may lose, or about time.
    pub class: Class,
    #[serde(flatten)]
    pub at: Place,
    /// The place of the later store that overtakes this one; null for other kinds.
    pub later: Option<Place>,
    /// The place of the locked instruction that fences the first of the stores by chance, if nothing else does.
    pub fenced_by: Option<Place>,
    /// How many operations.
    pub count: u64,
    /// The first of them.
    pub example: Example,
    /// What the trace shows, in sentences.
    pub sentence: String,
    /// The last of these, if it is about this finding alone and not about its kind.
    pub detail: Option<String>,
    /// How much less time the program takes on the design without these operations, in ns; null if it was not measured.
    pub cost_ns: Option<f64>,
    #[serde(skip)]
    pub numbers: Vec<u64>,
}

/// Something that a check does not look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct NotChecked {
    /// What it is, in a sentence.
    pub what: String,
    /// What checks it.
    #[schemars(rename = "command", with = "Option<String>", extend("x-document" =
        "The command line that checks it, with COMMAND for that of the program's recovery; None without one."))]
    pub by: Option<CheckedBy>,
}

/// What checks what a check of a trace does not look at. The front writes the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckedBy {
    /// The legal states of the trace, judged by the program's own recovery.
    LegalStates,
    /// The same on memory whose caches persist.
    LegalStatesOfEadr,
}

/// An operation of the trace.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Example {
    /// Number of its record, counting from 1.
    pub record: u64,
    /// Thread, counting from 0.
    pub thread: u64,
    /// Address in the program; null for a fence.
    pub address: Option<u64>,
    /// The file that is mapped there; null for a fence and for memory that is not persistent.
    pub file: Option<String>,
    /// Its offset in the file; null likewise.
    pub offset: Option<u64>,
    /// `file:line` of the call of the function that the place is in; null if the trace or debug information does not have it.
    pub called_at: Option<String>,
}

/// What useless operations cost on a design: the time of a replay less the time of a replay without them.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Cost {
    /// The design's name.
    pub design: String,
    /// The reading of the design's paper.
    pub variant: String,
    /// The machine's name.
    pub machine: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// Time of the whole program on the design, in ns.
    pub simulated_ns: f64,
    /// How much less time it takes without any of the useless operations.
    pub all_ns: f64,
}

/// The findings by source line; `sites` has the place of each site.
pub(super) fn merged(findings: Findings, sites: &Shown, read: &StepsRead) -> Vec<Finding> {
    let place = |site| place_of(&sites.places, site);
    let mut by_line: BTreeMap<(Kind, &Place, Option<&Place>), Found> = BTreeMap::new();
    for ((kind, site, other), mut found) in findings.into_map() {
        let later = (kind == Kind::NotOrdered).then(|| place(other));
        found.by_chance = (kind.is_for_want_of_a_fence() && other != NO_SITE).then_some(other);
        match by_line.entry((kind, place(site), later)) {
            std::collections::btree_map::Entry::Occupied(mut known) => known.get_mut().join(found),
            std::collections::btree_map::Entry::Vacant(free) => drop(free.insert(found)),
        }
    }
    let shown = by_line.into_iter().map(|((kind, at, later), found)| {
        let fenced_by = found.by_chance.map(place);
        let called_at = sites.calls.get(found.first.site as usize).cloned().flatten();
        let example = Example { called_at, ..example(&found.first, kind, read) };
        finding(kind, (at, later, fenced_by), found, example)
    });
    let mut findings: Vec<Finding> = shown.collect();
    // Stable: places remain in their order.
    findings.sort_by_key(|finding| (finding.class, std::cmp::Reverse(finding.count)));
    findings
}

fn finding(
    kind: Kind,
    (at, later, fenced_by): (&Place, Option<&Place>, Option<&Place>),
    found: Found,
    example: Example,
) -> Finding {
    let detail = match (later, fenced_by) {
        (Some(later), _) => Some(format!("The later store is at {}.", later.text)),
        (_, Some(by)) => Some(format!("It is fenced only by {}.", by.as_chance_fence())),
        (None, None) => None,
    };
    let sentence = [Some(kind.sentence()), detail.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
    Finding {
        kind,
        class: kind.class(),
        at: at.clone(),
        later: later.cloned(),
        fenced_by: fenced_by.cloned(),
        count: found.count,
        example,
        sentence,
        detail,
        cost_ns: None,
        numbers: found.numbers,
    }
}

/// What was checked of a program, and what came of it.
pub(super) fn checked(counts: Counts, holds: bool, read: &StepsRead) -> String {
    if counts.stores == 0 {
        return "The program stores nothing to persistent memory: there was nothing to check.".to_owned();
    }
    let (end, among) = match (read.cut_off, counts.marks) {
        (Some(_), 0) => ("where the trace is cut off", ""),
        (Some(_), _) => ("where the trace is cut off", " and at each mark"),
        (None, 0) => ("at the end of the program", ""),
        (None, _) => ("at the end of the program", " and at each mark"),
    };
    let durable = "flushed, and fenced if its flush needs that (clflush does not),";
    match holds {
        true => format!(
            "Every store is {durable} {end}{among}, and none is overtaken in one of the two patterns that are looked for: by \
             its address, or because its flush is left to another thread."
        ),
        false => format!(
            "Whether every store is {durable} {end}{among}, and whether one is overtaken by its address, or because its \
             flush is left to another thread."
        ),
    }
}

/// What was not checked of a program.
pub(super) fn not_checked(read: &StepsRead) -> Vec<NotChecked> {
    let by = |by, what: &str| NotChecked { what: what.to_owned(), by };
    let mut all = vec![
        by(
            Some(CheckedBy::LegalStates),
            "In which order else stores become durable: what is flushed together with what it protects or announces, and \
             fenced only then, may be lost alone. The program's own recovery judges that.",
        ),
        by(
            Some(CheckedBy::LegalStatesOfEadr),
            "Memory whose caches persist (eADR): stores need no flush there, and become durable in the order of the \
             program.",
        ),
    ];
    if read.threads > 1 {
        let threads = read.threads;
        all.push(NotChecked {
            what: format!("Other orders of the {threads} threads than the one that was recorded."),
            by: None,
        });
    }
    all
}

fn example(first: &Moment, kind: Kind, read: &StepsRead) -> Example {
    let file = first.line.and_then(|line| read.files.get(line.file as usize));
    Example {
        record: first.record,
        thread: first.thread,
        address: (kind != Kind::IdleFence).then_some(first.address),
        file: file.cloned(),
        offset: first.line.map(|line| line.line * LINE_BYTES + first.address % LINE_BYTES),
        called_at: None,
    }
}

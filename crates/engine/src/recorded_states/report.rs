//! The report of an exploration: failing images by their causes, with the places of the program.

use super::causes::{Failing, Why};
use super::executed::Executed;
use super::judging::{Extent, Judging};
use super::loss::{Before, Kept, Loss, Lost, Moment};
use super::nested::{Again, Found};
use super::tally::Points;
use crate::attribution::{Shown, shown, wrappers_and};
use crate::audit::{self, Rule, Violation};
use crate::crash::{
    Cause, CauseKind, CauseOutcome, CrashCase, CrashPlan, CrashReport, CrashRun, Exercised, Exploration, Findings,
    KeptLine, LostLine, Names, RecoveryCause,
};
use crate::message::Site;
use crate::trace::{StepsRead, Trace};
use std::collections::BTreeMap;

/// Most causes that are explained as violations.
const EXPLAINED_MAX: usize = 20;

/// What an exploration has found, apart from the verdicts.
pub(super) struct Outcome<'a> {
    pub trace: &'a Trace,
    pub exploration: &'a Exploration,
    pub extent: Extent,
    pub budget: u64,
    /// The bytes of a sector, if the files are on a disk.
    pub sector: Option<u64>,
    pub read: StepsRead,
    pub unjudged: Option<String>,
    pub interrupted: bool,
    pub seconds: f64,
    pub stop_after: Option<u64>,
    /// Why what the command reads has left a point undecided.
    pub unknown: Option<String>,
    /// What power that failed again has shown.
    pub again: Again,
}

/// A cause, and the first image that fails for it.
pub(super) struct Told {
    /// When power failed before that, if it has failed again.
    pub after: Vec<u64>,
    pub cause: Cause,
    pub violation: Violation,
    /// Whether that image is kept.
    pub is_kept: bool,
}

/// An exploration and its report.
pub(super) struct Explored {
    pub report: CrashReport,
    pub told: Vec<Told>,
    /// What power that failed again has shown; its causes are in `told`.
    pub again: Again,
    /// Whether no legal state is left out.
    pub exhaustive: bool,
}

impl Outcome<'_> {
    pub fn report(mut self, case: &CrashCase<'_>, mut judging: Judging<'_>) -> Explored {
        let plan = match (self.exploration.plan, judging.ended) {
            (plan @ CrashPlan::At(_), _) => plan,
            _ => CrashPlan::All,
        };
        let mut coverage = self.extent.tally.coverage(
            plan,
            self.extent.pass,
            judging.recoveries.images,
            self.budget,
            Points {
                caches_persist: case.design.stores_persist(),
                sector: self.sector,
                marks: judging.recovery().named().marks,
            },
        );
        let mut recoveries = judging.recoveries.clone();
        let tally = self.extent.tally;
        recoveries.by_reads(tally.classes, tally.by_reads);
        if let (Some(_), Some(most), false) = (judging.ended, self.stop_after, self.interrupted) {
            let images =
                if most == 1 { "the first image that fails" } else { "the last of the failing images asked for" };
            coverage += &format!(" It ended there, with {images} ({most}).");
        }
        if recoveries.watched.is_none() && !tally.is_exhaustive() {
            coverage += " With watch_reads (--watch-reads), what the command reads decides the others, too.";
        }
        let compared = judging.compared();
        if compared > 0 {
            coverage += &format!(" To find out what failing images need, {compared} more were tried.");
        }
        let told = self.told(case, &mut judging, &recoveries.command);
        let explained = |again: bool| {
            let of = told.iter().filter(move |told| told.after.is_empty() != again);
            of.take(EXPLAINED_MAX).map(|told| told.violation.clone())
        };
        let violations = explained(false).chain(explained(true)).collect();
        recoveries.nested = (self.exploration.nested > 0).then_some(self.again.counts);
        let coverage_again = self.again.coverage(self.exploration.nested > 0, self.budget);
        let (crash_points, recovered) = judging.points();
        let run = CrashRun {
            exercised: Exercised::default(),
            interrupted: self.interrupted,
            seconds: self.seconds,
            ..case.run(self.exploration, None)
        };
        let findings = Findings {
            crash_points,
            nested_points: self.again.points,
            recovered,
            distinct_states: judging.recoveries.images,
            coverage: coverage + &recoveries.coverage() + &self.describe_unknown() + &coverage_again,
            violations,
            violation_count: recoveries.lost() + self.again.counts.lost(),
            left_out: None,
            stages: Vec::new(),
            recoveries: Some(recoveries),
            by_line: None,
            attacks: None,
            internal_errors: Vec::new(),
            unjudged: self.unjudged,
        };
        let (of_program, of_recovery): (Vec<&Told>, Vec<&Told>) = told.iter().partition(|told| told.after.is_empty());
        let causes = of_program.into_iter().map(|told| told.cause.clone()).collect();
        let again = |told: &Told| RecoveryCause { after: told.after.clone(), cause: told.cause.clone() };
        let recovery_causes = of_recovery.into_iter().map(again).collect();
        let report = CrashReport { causes: Some(causes), recovery_causes, ..CrashReport::new(run, findings) };
        Explored { report, told, again: self.again, exhaustive: tally.is_exhaustive() && judging.ended.is_none() }
    }

    /// The causes, those in the program first.
    fn told(&mut self, case: &CrashCase<'_>, judging: &mut Judging<'_>, command: &str) -> Vec<Told> {
        let found = || shown(&self.read.sites, &wrappers_and(case.wrappers));
        let Shown { places, calls } = judging.shown.take().unwrap_or_else(found);
        let (names, on_disk) = (Names::new(places, self.trace), self.sector.is_some());
        let names = CauseNames { names, calls, on_disk, is_again: judging.recovery().is_again() };
        let of_program = merged(&names, &judging.causes.known).into_iter().map(|(cause, failing)| Told {
            after: Vec::new(),
            violation: names.violation(&cause, failing, command),
            cause,
            is_kept: !failing.how.kept.is_empty(),
        });
        let of_recovery = self.again.found.drain(..).map(|found| names.again(found));
        of_program.chain(of_recovery).collect()
    }

    /// Why what the command reads has not decided some points, if it was to.
    fn describe_unknown(&self) -> String {
        let told = |why| format!(" At some points, what the command reads could not decide the other states: {why}.");
        self.unknown.as_ref().map(told).unwrap_or_default()
    }
}

/// The causes as the user sees them, each with the first image that has it: places that are shown alike are one.
fn merged<'f>(names: &CauseNames<'_>, all: &'f [Failing]) -> Vec<(Cause, &'f Failing)> {
    let mut known: BTreeMap<(bool, Vec<String>), usize> = BTreeMap::new();
    let mut found: Vec<(Cause, &Failing)> = Vec::new();
    for failing in all {
        let keys = || names.keys(failing).into_iter().map(|key| (failing.how.timed_out, key));
        let at = match keys().find_map(|key| known.get(&key).copied()) {
            Some(at) => {
                found[at].0.count += failing.count;
                at
            }
            None => {
                found.push((names.cause(failing), failing));
                found.len() - 1
            }
        };
        keys().for_each(|key| {
            known.entry(key).or_insert(at);
        });
    }
    found
}

/// What causes are called.
struct CauseNames<'a> {
    names: Names<'a>,
    /// By site, where the function is called that it is in.
    calls: Vec<Option<String>>,
    /// The files are on a disk, where only the kernel makes something durable.
    on_disk: bool,
    /// Whether the trace is that of a recovery.
    is_again: bool,
}

impl CauseNames<'_> {
    /// What tells a cause from others, as the user sees it: each of these.
    fn keys(&self, failing: &Failing) -> Vec<Vec<String>> {
        let text = |site: Site| self.names.place(site).text.clone();
        match &failing.why {
            Why::Lacks(keys) => {
                let mut words: Vec<String> = keys[0].iter().map(|&site| text(site)).collect();
                words.sort_unstable();
                words.dedup();
                vec![words]
            }
            Why::Executed(of) if of.begins.is_empty() => vec![vec!["from the beginning".to_owned()]],
            Why::Executed(of) => of.begins.iter().map(|&site| vec![format!("from {}", text(site))]).collect(),
        }
    }

    fn cause(&self, failing: &Failing) -> Cause {
        let Loss { record, before, lost, kept, .. } = &failing.loss;
        let executed = match &failing.why {
            Why::Executed(of) => Some(of),
            Why::Lacks(_) => None,
        };
        let lost = if executed.is_some() { &[][..] } else { lost };
        let lost_line = |lost: &Lost| {
            let (file, offset) = self.names.file(lost.line);
            LostLine {
                file,
                offset,
                thread: lost.thread,
                stored: self.names.shown(lost.stored),
                called_at: self.calls.get(lost.stored as usize).cloned().flatten(),
                missing: lost.missing,
                flushed: lost.flushed.map(|site| self.names.shown(site)),
                fenced_by: lost.fenced_by.map(|site| self.names.shown(site)),
                needed_before: lost.needed_before.map(|site| self.names.shown(site)),
            }
        };
        let kept_line = |kept: &Kept| {
            let (file, offset) = self.names.file(kept.line);
            KeptLine { file, offset, stored: self.names.shown(kept.stored) }
        };
        Cause {
            outcome: if failing.how.timed_out { CauseOutcome::TimedOut } else { CauseOutcome::Failed },
            kind: failing.kind(),
            count: failing.count,
            at_event: *record,
            before: before.site().map(|site| self.names.shown(site)),
            begins_at: executed.and_then(|of| of.from).map(|site| self.names.shown(site)),
            ends_at: executed.and_then(|of| of.until).map(|site| self.names.shown(site)),
            lost: lost.iter().take(Cause::SHOWN).map(lost_line).collect(),
            lost_lines: lost.len() as u64,
            kept: kept.iter().take(Cause::SHOWN).map(kept_line).collect(),
            kept_lines: kept.len() as u64,
            sentence: match executed {
                Some(of) => self.executed(of),
                None => self.sentence(failing),
            },
        }
    }

    /// Where the program does not recover, with nothing lost.
    fn executed(&self, of: &Executed) -> String {
        let text = |site: Site| self.names.place(site).text.as_str();
        let from = match of.from {
            Some(site) => format!("From the store at {}", text(site)),
            None => "From the beginning".to_owned(),
        };
        let until = match of.until {
            Some(site) => format!("until that at {}", text(site)),
            None => "on".to_owned(),
        };
        let stretch = format!("{from} {until} the program does not recover, even if nothing is lost");
        let first = of.from.map(text).unwrap_or_default();
        let last = of.until.map(text).unwrap_or_default();
        match of.kind {
            CauseKind::OrderWithinLine => format!(
                "{stretch}: both are to one line, which may reach memory between the two, and without the first the program \
                 recovers. Store at {last} first."
            ),
            CauseKind::OrderBetweenLines => {
                format!("{stretch}: without the first store it recovers, so that the store at {first} comes too early.")
            }
            CauseKind::NotAtomic => {
                format!("{stretch}: the update between these two is not atomic, or the recovery does not mend it.")
            }
            _ => format!("{stretch}: the recovery is wrong, or what the program stores is."),
        }
    }

    fn sentence(&self, failing: &Failing) -> String {
        let text = |site: Site| self.names.place(site).text.as_str();
        let loss = &failing.loss;
        let Some(lost) = loss.lost.first() else {
            return "The program does not recover, even if nothing is lost.".to_owned();
        };
        let others = match loss.lost.len() {
            1 => String::new(),
            more => format!(" (and {} more)", plural(more as u64 - 1, "line")),
        };
        let kept = match (lost.needed_before, loss.kept.first()) {
            (Some(site), _) => format!("while the later store at {} is kept", text(site)),
            (None, Some(kept)) => format!("while the store at {} is kept", text(kept.stored)),
            (None, None) => "while what was made durable before is there".to_owned(),
        };
        let until = match lost.needed_before {
            Some(site) => format!("before the store at {}", text(site)),
            None => "until power fails".to_owned(),
        };
        if let Some(whole) = self.not_of_flushes(lost, &others, &kept, &until) {
            return whole;
        }
        let flushed = lost.flushed.map(text).unwrap_or_default();
        let why = match lost.missing {
            CauseKind::StoredAfterFlush if !self.on_disk => {
                format!("its line was flushed before it, at {flushed}, and not again {until}")
            }
            CauseKind::MissingFence if !self.on_disk => {
                format!("its line is flushed at {flushed}, and no fence completes that flush {until}")
            }
            CauseKind::NonTemporalNotFenced => {
                format!("it goes past the caches, and no fence of its thread comes {until}")
            }
            CauseKind::OrderBetweenLines if !self.on_disk => {
                let flush = if flushed.is_empty() { String::new() } else { format!(", at {flushed}") };
                format!("its line is flushed{flush}, but only after {}", until.trim_start_matches("before "))
            }
            _ if self.on_disk => format!("the file is not synced (fsync, fdatasync, msync) {until}"),
            _ => format!("no flush of its line comes {until}"),
        };
        let by_chance = match lost.fenced_by {
            Some(site) => format!(" It is fenced only by {}.", self.names.place(site).as_chance_fence()),
            None => String::new(),
        };
        let scratch = match failing.scratch {
            true => " The program has declared this memory not persistent, and its recovery needs it.",
            false => "",
        };
        format!("The store at {}{others} is lost {kept}: {why}.{by_chance}{scratch}", text(lost.stored))
    }

    /// The sentence on what is lost, if it is not a store whose line lacks a flush or a fence.
    fn not_of_flushes(&self, lost: &Lost, others: &str, kept: &str, until: &str) -> Option<String> {
        let stored = &self.names.place(lost.stored).text;
        if let Some(file) = self.names.file_of_size(lost.line) {
            return Some(format!(
                "The size of '{file}' that the call at {stored} sets{others} is lost {kept}: the file is not synced (fsync, \
                 fdatasync, msync) {until}."
            ));
        }
        match lost.missing {
            CauseKind::CounterNotDurable => Some(format!(
                "The store at {stored}{others} is durable {kept}, and the counter that it was encrypted with is not, so that \
                 its line does not decrypt: no write-back of the counter completes {until}."
            )),
            CauseKind::CounterAhead => Some(format!(
                "The counter for the store at {stored}{others} is durable {kept}, and the data is not, so that what its line \
                 held before does not decrypt: data and counter are not written together."
            )),
            CauseKind::TornStore => Some(format!(
                "Of the store at {stored}, a part is lost and a part is kept: only eight aligned bytes become durable \
                 together, and it has more."
            )),
            _ => None,
        }
    }

    /// When power fails.
    fn moment(&self, Moment { record, before }: Moment) -> String {
        let of = if self.is_again { "recovery" } else { "trace" };
        match before {
            Before::Operation(site) => {
                format!("just before record {record} of the {of} (at {})", self.names.place(site).text)
            }
            Before::Mark => format!("just before the mark that is record {record} of the {of}"),
            Before::End => format!("at the end of the {of}"),
        }
    }

    /// A cause in a recovery from what power failing here has left.
    fn again(&self, Found { at, marks, mut told }: Found) -> Told {
        let (again, too) = if self.is_again { (" again", ", too") } else { ("", "") };
        let marks = marks.map(|marks| format!(" {marks},")).unwrap_or_default();
        let violation = &mut told.violation;
        violation.explanation = format!(
            "Power fails{again} {},{marks} and the command recovers from what is left{too}. {}",
            self.moment(at),
            violation.explanation
        );
        if told.cause.count > 1 && !self.is_again {
            violation.explanation += &format!(" {} different images fail for this cause.", told.cause.count);
        }
        violation.nested_events.insert(0, violation.crash_event);
        violation.crash_event = at.record;
        told.after.insert(0, at.record);
        told
    }

    fn violation(&self, cause: &Cause, failing: &Failing, command: &str) -> Violation {
        let Loss { record, before, transaction, lost, .. } = &failing.loss;
        let mut place = match transaction {
            Some(number) => format!("in transaction {number}"),
            None => "outside any transaction".to_owned(),
        };
        place.extend(failing.how.told.iter().map(|marks| format!(" and {marks}")));
        let (again, fence) =
            (if self.is_again { " again" } else { "" }, self.moment(Moment { record: *record, before: *before }));
        let how = &failing.how;
        let (rule, what) = match how.timed_out {
            true => (Rule::TimedOut, "does not end in time"),
            false => (Rule::Recovery, "fails"),
        };
        let mut explanation = format!(
            "If power fails{again} {fence}, {place}, hardware may leave memory from which the program's own recovery {what}: \
             '{command}', run on it, {} {}",
            how.did, cause.sentence
        );
        if cause.count > 1 && !self.is_again {
            explanation += &format!(" {} different images fail for this cause.", cause.count);
        }
        if let Some((first, more)) = how.kept.split_first() {
            explanation += &format!(" That memory is kept as {}", first.display());
            explanation.extend(more.iter().map(|path| format!(", {}", path.display())));
            explanation.push('.');
        }
        Violation {
            rule,
            crash_event: *record,
            nested_events: Vec::new(),
            core: None,
            transaction: *transaction,
            stage: None,
            line: lost.first().map(|lost| lost.line),
            explanation,
            lost: audit::Lost::default(),
        }
    }
}

pub(super) fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("{count} {noun}") } else { format!("{count} {noun}s") }
}

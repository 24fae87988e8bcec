//! The explorer of legal states: an observer that records the program's history and judges every legal state at each
//! fence.

use super::explain::{self, chosen};
use super::hardware::Hardware;
use super::history::History;
use super::image::{Encoder, StateImage};
use super::judge::{Pick, Verdict, after, judge, recovers, some_pick};
use super::search::{Guide, Search};
use super::space::{Reading, Space};
use super::tally::Tally;
use crate::audit::{Collector, Lost, Rule, TransactionRecord, Violation};
use crate::crash::{CrashPlan, CrashReport, CrashRun, Exploration, Findings};
use crate::kernel::{Ps, Random};
use crate::layout::Coverage;
use crate::message::{BaseImage, CoreId, Line, NoObserver, Observer, ProgramRecovery, RepeatedRecovery};
use crate::parts::{LineAtomicity, RecoveryStep};
use crate::recovery::{AdrSnapshot, Boot, GlobalCounter, LineCodec};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

/// Default number of classes of states that are judged at one fence before the rest is bounded and sampled.
pub(crate) const STATES_PER_POINT: u64 = 50_000;
/// One of this many classes of a fence is booted from an image, the first one included.
const BOOT_EVERY: u64 = 1_000;
/// Number of judgements between two checks for an interruption.
const LOOK_EVERY: u64 = 256;

/// What a legal-state exploration is created from.
pub(crate) struct LegalSetup<'a> {
    pub hardware: Hardware,
    pub line_atomic: LineAtomicity,
    pub secret: bool,
    pub base: Arc<dyn BaseImage>,
    pub coverage: Coverage,
    pub program: Arc<dyn ProgramRecovery>,
    pub records: Receiver<TransactionRecord>,
    /// The encryption, with minor counters of seven bits.
    pub codec: Option<&'a dyn LineCodec>,
    pub recovery: &'a [RecoveryStep],
    pub exploration: Exploration,
    pub states_per_point: u64,
    pub seed: u64,
    pub cancel: &'a AtomicBool,
}

/// Explores the legal states of one run.
pub(crate) struct LegalExplorer<'a> {
    history: History,
    examiner: Examiner<'a>,
}

/// Judges the states that a history allows.
struct Examiner<'a> {
    hardware: Hardware,
    line_atomic: LineAtomicity,
    secret: bool,
    program: Arc<dyn ProgramRecovery>,
    encoder: Encoder<'a>,
    recovery: &'a [RecoveryStep],
    exploration: Exploration,
    states_per_point: u64,
    seed: u64,
    cancel: &'a AtomicBool,
    events: u64,
    tally: Tally,
    /// Classes judged before this fence.
    judged_before: u64,
    recovered: u64,
    found: Collector,
    internal_errors: Vec<String>,
    stopped: bool,
    /// Whether a fence followed a store.
    found_stores: bool,
    /// The last fence before the requested event, and the first one after it.
    fences_around: (Option<u64>, Option<u64>),
}

impl<'a> LegalExplorer<'a> {
    pub fn new(setup: LegalSetup<'a>) -> Self {
        let layout = setup.program.layouts()[0].clone();
        let history = History::new(Arc::clone(&setup.base), layout, setup.coverage, setup.records)
            .pairing(setup.hardware.paired_lines());
        let examiner = Examiner {
            hardware: setup.hardware,
            line_atomic: setup.line_atomic,
            secret: setup.secret,
            program: setup.program,
            encoder: Encoder { codec: setup.codec, base: setup.base },
            recovery: setup.recovery,
            exploration: setup.exploration,
            states_per_point: setup.states_per_point,
            seed: setup.seed,
            cancel: setup.cancel,
            events: 0,
            tally: Tally::default(),
            judged_before: 0,
            recovered: 0,
            found: Collector::default(),
            internal_errors: Vec::new(),
            stopped: false,
            found_stores: false,
            fences_around: (None, None),
        };
        Self { history, examiner }
    }

    /// Whether the rule that ends the run has been broken.
    pub fn stopped(&self) -> bool {
        self.examiner.stopped
    }

    /// Whether the states at a fence have been judged.
    pub fn has_points(&self) -> bool {
        self.examiner.tally.points > 0
    }

    /// The report, once the run has ended.
    pub fn report(self, run: CrashRun) -> CrashReport {
        let examiner = self.examiner;
        let unjudged = examiner.unjudged();
        let coverage = examiner.tally.coverage();
        CrashReport::new(
            run,
            Findings {
                crash_points: examiner.tally.points,
                nested_points: 0,
                recovered: examiner.recovered,
                distinct_states: examiner.tally.judged,
                coverage,
                violations: examiner.found.explained,
                violation_count: examiner.found.count,
                left_out: None,
                stages: Vec::new(),
                recoveries: None,
                by_line: None,
                attacks: None,
                internal_errors: examiner.internal_errors,
                unjudged,
            },
        )
    }
}

impl Examiner<'_> {
    fn explore(&mut self, history: &History) {
        let at = self.events;
        if let CrashPlan::At(event) = self.exploration.plan
            && event != at
        {
            let (before, after) = self.fences_around;
            self.fences_around = if at < event { (Some(at), after) } else { (before, after.or(Some(at))) };
            return;
        }
        if self.stopped || self.cancel.load(Ordering::Relaxed) {
            return;
        }
        let found_before = self.found.count;
        let tally_before = self.tally.clone();
        self.judged_before = self.tally.judged;
        let space = self.hardware.space(history, &self.encoder);
        self.tally.points += 1;
        self.tally.legal += space.size();
        self.check_lines(history, &space);
        self.check_reencryption(history);
        self.check_transactions(history, &space);
        if self.cancel.load(Ordering::Relaxed) {
            self.tally = tally_before;
            return;
        }
        self.found_stores |= !history.lines.is_empty();
        self.recovered += u64::from(self.found.count == found_before);
        let of_rule = |rule| self.found.explained.iter().any(|violation| violation.rule == rule);
        self.stopped = self.exploration.stop_at.is_some_and(of_rule);
    }

    /// Why nothing was judged, if so: at a fence before the first store, nothing can be lost.
    fn unjudged(&self) -> Option<String> {
        if self.found_stores {
            return None;
        }
        let CrashPlan::At(at) = self.exploration.plan else {
            return Some(
                "explore legal: the program has no fence that follows a store, so there is no verdict".to_owned(),
            );
        };
        let near = match self.fences_around {
            (Some(before), Some(after)) => format!("the nearest fences are at events {before} and {after}"),
            (Some(before), None) => format!("the last fence is at event {before}"),
            (None, Some(after)) => format!("the first fence is at event {after}"),
            (None, None) => "the program has no other fence".to_owned(),
        };
        Some(format!("explore legal: event {at} is not at a fence that follows a store; {near}"))
    }

    /// Checks what each line may read as, independently of the others.
    fn check_lines(&mut self, history: &History, space: &Space) {
        let repeats = self.secret && self.hardware.repeats_pads();
        let mut broken = Vec::new();
        for open in &space.lines {
            let of = &history.lines[&open.line];
            let promised = match self.line_atomic {
                LineAtomicity::None => of.newest() == 0,
                LineAtomicity::Marked => of.newest() == 0 || of.promised_atomic(),
                LineAtomicity::Every => true,
            };
            let candidates = || open.candidates.iter().flatten();
            let allowed = |bytes| (0..=of.newest()).any(|version| of.version(version).bytes == bytes);
            let wrong = candidates().find(|candidate| promised && !allowed(candidate.bytes));
            broken.extend(wrong.map(|candidate| (Rule::Line, open.line, candidate.clone())));
            let behind = |reading| matches!(reading, Reading::CounterBehind | Reading::CounterFromBefore);
            let reuse = candidates().find(|candidate| repeats && behind(candidate.reading));
            broken.extend(reuse.map(|candidate| (Rule::PadReuse, open.line, candidate.clone())));
        }
        for (rule, line, candidate) in broken {
            let state = explain::line_state(history, line, &candidate);
            let place = explain::place(history);
            let told = match rule {
                Rule::PadReuse => format!(
                    "It is legal, {place}, that {state}. After the reboot its next write repeats the pad of the data that is \
                     there."
                ),
                _ => format!("It is legal, {place}, that {state}, which it must."),
            };
            self.add(history, rule, Some(line), told);
        }
    }

    /// Checks groups whose lines may have lost their old counters.
    fn check_reencryption(&mut self, history: &History) {
        let Some(&line) = self.hardware.overflowing(history) else { return };
        let program_data =
            |other: &Line| *other != line && (history.base.populated(*other) || history.lines.contains_key(other));
        let group = history.coverage.group(line);
        let Some(other) = (0..group.lines()).map(|index| group.line(index)).find(program_data) else { return };
        let told = format!(
            "It is legal, {}, that the write of the line at {:#x} has made its minor counter overflow and its {} is being \
             re-encrypted. Power fails when the counter of the line at {:#x} is no longer its old one and its data is not yet \
             new: it does not decrypt.",
            explain::place(history),
            line.address(),
            group.name(),
            other.address()
        );
        self.add(history, Rule::Line, Some(other), told);
    }

    /// Runs recovery on every class of states, or on as many as the limit allows.
    fn check_transactions(&mut self, history: &History, space: &Space) {
        let mut recovery = RepeatedRecovery::new(&self.program, history.layout.core);
        let room = self.states_per_point;
        let mut search = Search::new(space, history, Guide::Every);
        match self.run(&mut search, &mut recovery, room) {
            End::Exhausted => self.tally.exhaustive += 1,
            End::Broken => self.tally.broken_off += 1,
            End::OutOfRoom => {
                self.tally.legal_there += space.size();
                self.bounded_and_sampled(history, space, &mut recovery, room);
            }
        }
    }

    /// With as many lines open as the limit allows and the others all or nothing; then on random states.
    fn bounded_and_sampled(&mut self, history: &History, space: &Space, recovery: &mut RepeatedRecovery, room: u64) {
        let mut left = room;
        let mut bound = 0;
        'bounds: for lines in 0..=space.lines.len().min(3) {
            for free in subsets(space.lines.len(), lines) {
                for all_arrived in [false, true] {
                    let judged = self.tally.judged;
                    let mut search = Search::new(space, history, Guide::Every).only(free.clone(), all_arrived);
                    match self.run(&mut search, recovery, left) {
                        End::Exhausted => left = left.saturating_sub(self.tally.judged - judged),
                        End::Broken => {
                            self.tally.bound = Some(self.tally.bound.unwrap_or(u32::MAX).min(bound));
                            return;
                        }
                        End::OutOfRoom => break 'bounds,
                    }
                }
            }
            bound = lines as u32;
        }
        self.tally.bound = Some(self.tally.bound.unwrap_or(u32::MAX).min(bound));
        let judged = self.tally.judged;
        // What is drawn depends on the fence alone, so that it can be explored again by itself.
        let random = Random::stream(self.seed ^ self.events.rotate_left(32), "legal.samples");
        let mut search = Search::new(space, history, Guide::Random(random));
        self.run(&mut search, recovery, room / 4);
        self.tally.drawn += self.tally.judged - judged;
    }

    fn run(&mut self, search: &mut Search<'_>, recovery: &mut RepeatedRecovery, room: u64) -> End {
        for judged in 1..=room {
            search.recover(recovery);
            self.tally.judged += 1;
            let verdict = judge(search);
            let boots = (self.tally.judged - self.judged_before) % BOOT_EVERY == 1;
            match verdict {
                Verdict::Empty => {}
                Verdict::Holds if boots => self.boot(search, &some_pick(search)),
                Verdict::Holds => {}
                Verdict::Broken(pick) => {
                    let (rule, line, told) = explain::broken(search, &pick);
                    self.boot(search, &pick);
                    self.add(search.history, rule, line, told);
                    return End::Broken;
                }
            }
            if !search.next() {
                return End::Exhausted;
            }
            if judged % LOOK_EVERY == 0 && self.cancel.load(Ordering::Relaxed) {
                return End::OutOfRoom;
            }
        }
        End::OutOfRoom
    }

    /// Boots from the image of one state: the result must equal that of the search.
    fn boot(&mut self, search: &Search<'_>, pick: &Pick) {
        let program = self.program.as_ref();
        let Search { history, space, .. } = *search;
        self.tally.booted += 1;
        let lines = history.lines.iter().map(|(&line, of)| {
            let (version, reading) = match space.by_line.get(&line) {
                Some(&index) => {
                    let candidate = chosen(space, pick, index);
                    (candidate.version, candidate.reading)
                }
                None => (0, Reading::Intact),
            };
            (line, self.encoder.encode(line, of, version, reading))
        });
        let image = StateImage::new(&self.encoder, lines);
        let snapshot = AdrSnapshot { global_counter: GlobalCounter::Kept(image.register), ..AdrSnapshot::default() };
        let mut boot = Boot::new(&image, &snapshot, self.encoder.codec, self.recovery, NoObserver);
        boot.finish();
        boot.recover_program(program, history.layout.core);
        let before = |line: Line| match space.by_line.get(&line) {
            Some(&index) => chosen(space, pick, index).bytes,
            None => history.covered(line),
        };
        let differs = |line: &Line| boot.line(*line) != after(search, *line, &before(*line));
        let mut differing: Vec<Line> = history.lines.keys().copied().filter(differs).collect();
        differing.sort_unstable();
        if let Some(line) = differing.first() {
            self.internal_errors.push(format!(
                "internal error: after event {}, the line at {:#x} differs between a legal state and a real boot of it",
                self.events,
                line.address()
            ));
        }
        if recovers(search, pick)
            && let Err(what) = program.check(history.layout.core, &mut boot)
        {
            let told = format!("{}: the structure is broken after recovery: {what}", explain::place(history));
            self.add(history, Rule::Structure, None, told);
        }
    }

    fn add(&mut self, history: &History, rule: Rule, line: Option<Line>, told: String) {
        let violation = violation(history, self.events, rule, line, told);
        self.found.add(rule, line, || violation);
    }
}

enum End {
    Exhausted,
    Broken,
    OutOfRoom,
}

fn violation(history: &History, event: u64, rule: Rule, line: Option<Line>, explanation: String) -> Violation {
    Violation {
        rule,
        crash_event: event,
        nested_events: Vec::new(),
        core: Some(history.layout.core),
        transaction: Some(history.committed),
        stage: explain::stage(history),
        line,
        explanation,
        lost: Lost::default(),
    }
}

/// All choices of `count` of `of` lines.
fn subsets(of: usize, count: usize) -> impl Iterator<Item = Vec<bool>> {
    let mut at: Vec<usize> = (0..count).collect();
    let mut more = count <= of;
    std::iter::from_fn(move || {
        if !more {
            return None;
        }
        let mut chosen = vec![false; of];
        at.iter().for_each(|&index| chosen[index] = true);
        more = match (0..count).rev().find(|&place| at[place] < of - count + place) {
            Some(place) => {
                at[place] += 1;
                (place + 1..count).for_each(|next| at[next] = at[next - 1] + 1);
                true
            }
            None => false,
        };
        Some(chosen)
    })
}

impl Observer for LegalExplorer<'_> {
    fn stored(&mut self, _now: Ps, _core: CoreId, line: Line, offset: usize, data: &[u8]) {
        self.history.stored(line, offset, data);
    }
    fn marked_counter_atomic(&mut self, _now: Ps, _core: CoreId, line: Line) {
        self.history.marked(line);
    }
    fn flushed(&mut self, _now: Ps, core: CoreId, line: Line) {
        self.history.flushed(u64::from(core), line);
    }
    fn counters_flushed(&mut self, _now: Ps, core: CoreId, line: Line) {
        self.history.counters_flushed(u64::from(core), line);
    }
    fn fenced(&mut self, _now: Ps, core: CoreId) {
        let Self { history, examiner } = self;
        examiner.explore(history);
        history.fenced(u64::from(core), examiner.hardware.writeback_complete(), |line| examiner.hardware.carries(line));
    }
    fn transaction_began(&mut self, _now: Ps, _core: CoreId, number: u64) {
        self.history.began(number);
    }
    fn transaction_ended(&mut self, _now: Ps, _core: CoreId, _number: u64) {
        self.history.ended();
    }
    fn event_over(&mut self, _now: Ps) {
        self.examiner.events += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_of_lines_is_made_once() {
        let all: Vec<Vec<bool>> = subsets(4, 2).collect();
        assert_eq!(all.len(), 6);
        assert!(all.iter().all(|chosen| chosen.iter().filter(|&&free| free).count() == 2));
        assert_eq!(subsets(3, 0).collect::<Vec<_>>(), [vec![false; 3]]);
        assert_eq!(subsets(2, 3).count(), 0);
    }
}

//! What a power failure after each event of the window would leave and what becomes of it, told where it changes. Nothing
//! is judged here: the auditors and real boots are asked.

use super::boots::{Step, boot_told, registers};
use super::recorder::Recorder;
use crate::assembly::System;
use crate::audit::{Auditor, CounterLayout, LineView, Rule, Violation};
use crate::crash::{Drained, Explorer, ImageMedia, PowerLoss, struck};
use crate::message::{CoreId, Line, LineBytes};
use crate::parts::{Design, RecoveryStep};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use std::collections::BTreeSet;
use std::hash::Hash;

/// Violations of one rule that are told of one event, ...
const TOLD_PER_RULE: usize = 4;
/// ... and of a window.
const TOLD_MAX: usize = 1_000;

/// What a line would be found as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    AsFlushed,
    Newer,
    Older,
    Zero,
    Garbage,
    InTheClear,
    Chained,
}

/// In the order of [`State`].
const STATES: [&str; 7] = [
    "as flushed",
    "newer, in flight",
    "older",
    "reads as zero",
    "does not decrypt",
    "in the clear",
    "in the log's chain",
];

/// Counters are major and minor.
type Counter = (u64, u8);

/// A line as it is told.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Seen {
    state: State,
    counter: Option<Counter>,
    data_counter: Option<Counter>,
    in_flight: bool,
    wrong: bool,
    restored: bool,
}

/// Line, state, durable counter, counter of the data, whether stores to it are in flight, whether it breaks the line rule,
/// whether the boot puts it back from the shadow cache or its old bytes from the hardware's log.
type LineChange = (usize, u8, Option<Counter>, Option<Counter>, bool, bool, bool);

/// What changed with an event.
#[derive(Default, Serialize)]
struct Point {
    n: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<LineChange>,
    /// Core, transaction and stage.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cores: Vec<(CoreId, Option<u64>, Option<&'static str>)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    registers: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    boot: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<usize>,
}

impl Point {
    fn says_nothing(&self) -> bool {
        let changes = (self.registers, self.boot, self.verdict);
        self.lines.is_empty() && self.cores.is_empty() && changes == (None, None, None)
    }
}

/// What stands after an event.
#[derive(Clone, PartialEq, Eq, Hash, Serialize)]
struct Verdict {
    /// Every rule holds that a power failure now could break.
    recovers: bool,
    /// Which violations stand.
    violations: Vec<usize>,
}

#[derive(Serialize)]
struct ToldViolation {
    rule: Rule,
    /// The crash after which it was found.
    crash_event: u64,
    core: Option<CoreId>,
    transaction: Option<u64>,
    stage: Option<&'static str>,
    line: Option<u64>,
    explanation: String,
}

#[derive(Serialize)]
struct ToldLine {
    address: u64,
    role: String,
}

/// The document's part about crash points.
#[derive(Serialize)]
pub struct Picture {
    /// The last event of the window.
    last: u64,
    /// "split": major and minor counters; "word": one number; null: memory holds plaintext.
    counters: Option<&'static str>,
    states: [&'static str; 7],
    lines: Vec<ToldLine>,
    registers: Vec<Vec<(&'static str, String)>>,
    boots: Vec<Vec<Step>>,
    verdicts: Vec<Verdict>,
    violations: Vec<ToldViolation>,
    points: Vec<Point>,
    internal_errors: Vec<String>,
}

/// Different values, each kept once.
struct Table<T> {
    index: FxHashMap<T, usize>,
    values: Vec<T>,
}

impl<T: Clone + Eq + Hash> Table<T> {
    fn new() -> Self {
        Self { index: FxHashMap::default(), values: Vec::new() }
    }

    fn place(&mut self, value: T) -> usize {
        *self.index.entry(value).or_insert_with_key(|value| {
            self.values.push(value.clone());
            self.values.len() - 1
        })
    }
}

/// What a real boot from a durable state found, and what it does.
#[derive(Clone)]
struct Booted {
    told: usize,
    violations: Vec<usize>,
    /// It broke no rule.
    kept: bool,
}

/// Asks the auditors after each event.
pub struct Judge<'a> {
    loss: PowerLoss<'a>,
    steps: &'a [RecoveryStep],
    cores: CoreId,
    /// There is a global counter.
    global: Option<bool>,
    seen: Vec<(Seen, LineBytes)>,
    in_flight: Vec<(Option<u64>, Option<&'static str>)>,
    registers: Table<Vec<(&'static str, String)>>,
    boots: Table<Vec<Step>>,
    verdicts: Table<Verdict>,
    violations: Vec<Violation>,
    /// Violations that stand as long as the auditors say so; those of the run itself, which stand for ever.
    standing: Vec<usize>,
    leaked: BTreeSet<usize>,
    booted: FxHashMap<u64, Booted>,
    /// Registers, boot and verdict of the point before.
    before: (Option<usize>, Option<usize>, Option<usize>),
    points: Vec<Point>,
    last: u64,
}

impl<'a> Judge<'a> {
    /// Of a run of `design` on so many cores, which loses power as `loss` says.
    pub fn new(design: &'a Design, loss: PowerLoss<'a>, cores: CoreId) -> Self {
        Self {
            loss,
            steps: &design.recovery,
            cores,
            global: None,
            seen: Vec::new(),
            in_flight: vec![(None, None); usize::from(cores)],
            registers: Table::new(),
            boots: Table::new(),
            verdicts: Table::new(),
            violations: Vec::new(),
            standing: Vec::new(),
            leaked: BTreeSet::new(),
            booted: FxHashMap::default(),
            before: (None, None, None),
            points: Vec::new(),
            last: 0,
        }
    }

    /// The crash point after the event that is just over.
    pub fn point(&mut self, system: &mut System<(Explorer, Recorder)>) {
        let n = system.observer.1.event();
        let global = *self.global.get_or_insert_with(|| system.controller.snapshot().global_counter.is_some());
        let drained = struck(system, &self.loss);
        let System { observer: (explorer, recorder), device, .. } = system;
        let media = ImageMedia(device.image());
        let of_the_run = explorer.take_told();
        explorer.power_lost(&drained);
        let of_the_loss = explorer.take_told();
        let is_leak = |violation: &Violation| matches!(violation.rule, Rule::Plaintext | Rule::PadReuse);
        let (leaks, judged): (Vec<_>, Vec<_>) = of_the_run.into_iter().partition(is_leak);
        let leaked = self.tell(leaks);
        self.leaked.extend(leaked);
        let mut battery = Vec::new();
        let judged = judged.into_iter().chain(of_the_loss);
        let (at_once, lasting): (Vec<_>, Vec<_>) = judged.partition(|violation| violation.rule == Rule::Battery);
        battery.extend(self.tell(at_once));
        self.renew(explorer.auditor(), lasting);
        let booted = self.booted(explorer, &drained, &media);

        let violations: BTreeSet<usize> =
            [&self.standing, &battery, &booted.violations].into_iter().flatten().chain(&self.leaked).copied().collect();
        let recovers = explorer.recovers() && booted.kept;
        let verdict = Verdict { recovers, violations: violations.into_iter().collect() };
        let layout = explorer.auditor().counter_layout();
        let now = (
            Some(self.registers.place(registers(&drained, &self.loss, layout, global))),
            Some(booted.told),
            Some(self.verdicts.place(verdict)),
        );
        let point = Point {
            n,
            lines: self.lines(explorer.auditor(), recorder),
            cores: self.stages(explorer.auditor()),
            registers: now.0.filter(|_| now.0 != self.before.0),
            boot: now.1.filter(|_| now.1 != self.before.1),
            verdict: now.2.filter(|_| now.2 != self.before.2),
        };
        self.before = now;
        self.last = n;
        if !point.says_nothing() {
            self.points.push(point);
        }
        recorder.judged();
    }

    /// Takes violations over, as many as there is room for; gives their places.
    fn tell(&mut self, told: Vec<Violation>) -> Vec<usize> {
        let mut of_rule: FxHashMap<Rule, usize> = FxHashMap::default();
        let mut places = Vec::new();
        for violation in told {
            let many = of_rule.entry(violation.rule).or_default();
            *many += 1;
            if *many <= TOLD_PER_RULE && self.violations.len() < TOLD_MAX {
                places.push(self.violations.len());
                self.violations.push(violation);
            }
        }
        places
    }

    /// Drops the violations that stand no longer and takes over `news`. A core's heap that is wrong in a new way is told of
    /// anew.
    fn renew(&mut self, auditor: &Auditor, news: Vec<Violation>) {
        let of_heap = |violation: &Violation| matches!(violation.rule, Rule::Atomicity | Rule::Durability);
        let Self { standing, violations, .. } = self;
        standing.retain(|&place| {
            let old = &violations[place];
            let replaced = of_heap(old) && news.iter().any(|new| of_heap(new) && new.core == old.core);
            auditor.stands(old) && !replaced
        });
        let places = self.tell(news);
        self.standing.extend(places);
    }

    /// Boots for real, if the state is a new one or the explorer wants it anyway.
    fn booted(&mut self, explorer: &mut Explorer, drained: &Drained, media: &ImageMedia<'_>) -> Booted {
        let state = explorer.auditor().state_hash();
        let known = self.booted.contains_key(&state);
        let (mut violations, mut kept) = (Vec::new(), true);
        if explorer.wants_full_check() || !known {
            explorer.want_full_check();
            explorer.full_check(&drained.snapshot, media, self.loss.codec, self.steps);
            let told = explorer.take_told();
            kept = told.is_empty();
            // What a boot found before, it need not tell again.
            let same =
                |old: &Violation, new: &Violation| (old.rule, old.line, old.core) == (new.rule, new.line, new.core);
            let (mut old, mut new) = (Vec::new(), Vec::new());
            for violation in told {
                match self.violations.iter().rposition(|known| same(known, &violation)) {
                    Some(place) => old.push(place),
                    None => new.push(violation),
                }
            }
            old.truncate(TOLD_PER_RULE);
            violations = self.tell(new);
            violations.extend(old);
        }
        if !known {
            let program = explorer.auditor().program();
            let told = boot_told(drained, media, &self.loss, self.steps, program.as_deref());
            let told = self.boots.place(told);
            self.booted.insert(state, Booted { told, violations: Vec::new(), kept });
        }
        let booted = self.booted.get_mut(&state).expect("it was put there");
        violations.retain(|place| !booted.violations.contains(place));
        booted.violations.extend(violations);
        booted.kept &= kept;
        booted.clone()
    }

    /// The lines that are found as something else than before.
    fn lines(&mut self, auditor: &Auditor, recorder: &Recorder) -> Vec<LineChange> {
        let mut changes = Vec::new();
        for (index, view) in auditor.line_views().enumerate() {
            let state = match auditor.is_hardware_log(view.line) {
                true => log_state(&view, recorder, &self.loss),
                false => state_of(&view, auditor, recorder),
            };
            let seen = Seen {
                state,
                counter: view.counter,
                data_counter: self.seen.get(index).and_then(|(seen, _)| seen.data_counter),
                in_flight: !view.later.is_empty(),
                wrong: view.wrong,
                restored: view.restored,
            };
            let known = self.seen.get(index);
            if known.is_some_and(|(old, found)| *old == seen && found == view.found)
                && !recorder.just_persisted(view.line)
            {
                continue;
            }
            let seen = Seen { data_counter: auditor.counter_used(view.line), ..seen };
            let is_news = known.is_none_or(|(old, _)| *old != seen);
            match self.seen.get_mut(index) {
                Some(place) => *place = (seen, *view.found),
                None => self.seen.push((seen, *view.found)),
            }
            if is_news {
                let Seen { state, counter, data_counter, in_flight, wrong, restored } = seen;
                changes.push((index, state as u8, counter, data_counter, in_flight, wrong, restored));
            }
        }
        changes
    }

    /// The cores whose transaction or stage changed.
    fn stages(&mut self, auditor: &Auditor) -> Vec<(CoreId, Option<u64>, Option<&'static str>)> {
        let mut changes = Vec::new();
        for core in 0..self.cores {
            let now = auditor.transaction_of(core);
            let before = &mut self.in_flight[usize::from(core)];
            if *before != now {
                *before = now;
                changes.push((core, now.0, now.1));
            }
        }
        changes
    }

    /// What was found. Of the lines, those that anything happened to in the window.
    pub fn picture(mut self, auditor: &Auditor, recorder: &Recorder, errors: &[String]) -> Picture {
        let lines: Vec<Line> = auditor.line_views().map(|view| view.line).collect();
        let changed = self.points.iter().skip(1).flat_map(|point| &point.lines).map(|change| change.0);
        let changed: FxHashSet<usize> = changed.collect();
        let mut shown: Vec<usize> =
            (0..lines.len()).filter(|index| changed.contains(index) || recorder.touched(lines[*index])).collect();
        shown.sort_by_key(|&index| lines[index]);
        let place: FxHashMap<usize, usize> = shown.iter().enumerate().map(|(place, &index)| (index, place)).collect();
        for point in &mut self.points {
            point.lines.retain_mut(|change| match place.get(&change.0) {
                Some(&place) => {
                    change.0 = place;
                    true
                }
                None => false,
            });
            point.lines.sort_by_key(|change| change.0);
        }
        let told = |line: Line| ToldLine { address: line.address(), role: auditor.role(line) };
        let violations = self.violations.into_iter().map(|violation| ToldViolation {
            rule: violation.rule,
            crash_event: violation.crash_event,
            core: violation.core,
            transaction: violation.transaction,
            stage: violation.stage,
            line: violation.line.map(Line::address),
            explanation: violation.explanation,
        });
        Picture {
            last: self.last,
            counters: auditor.counter_layout().map(|layout| match layout {
                CounterLayout::Split { .. } => "split",
                CounterLayout::Words { .. } => "word",
            }),
            states: STATES,
            lines: shown.iter().map(|&index| told(lines[index])).collect(),
            registers: self.registers.values,
            boots: self.boots.values,
            verdicts: self.verdicts.values,
            violations: violations.collect(),
            points: self.points,
            internal_errors: errors.to_vec(),
        }
    }
}

/// What a boot finds in the line, in a word.
fn state_of(view: &LineView<'_>, auditor: &Auditor, recorder: &Recorder) -> State {
    if view.in_the_clear {
        State::InTheClear
    } else if view.found == view.covered {
        State::AsFlushed
    } else if view.later.contains(view.found) {
        State::Newer
    } else if view.counter == Some((0, 0)) {
        State::Zero
    } else if auditor.counter_layout().is_none() || recorder.has_held(view.line, view.found) {
        State::Older
    } else {
        State::Garbage
    }
}

/// The same of a line of the hardware's log, which no program stores to: against what the controller last wrote.
fn log_state(view: &LineView<'_>, recorder: &Recorder, loss: &PowerLoss<'_>) -> State {
    let log = loss.codec.and_then(|codec| codec.log());
    let untouched = *view.found == [0; 64];
    if log.is_some_and(|log| log.lacks_counter(view.line)) {
        return if untouched { State::AsFlushed } else { State::Chained };
    }
    if recorder.latest(view.line).map_or(untouched, |latest| latest == view.found) {
        State::AsFlushed
    } else if view.counter == Some((0, 0)) {
        State::Zero
    } else if recorder.has_held(view.line, view.found) {
        State::Older
    } else {
        State::Garbage
    }
}

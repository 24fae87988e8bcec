//! What may be durable after a power failure of programs on cores that share lines, against Px86: the model of Raad,
//! Wickerson, Neiger and Vafeiadis (POPL 2020), with the non-temporal stores of Raad, Maranget and Vafeiadis (POPL 2022), in
//! the form of Khyzha and Lahav (POPL 2021), in which what a fence waits for is in memory when it completes. It is explored
//! in whole here, state by state, and knows nothing of caches, queues and time. Whatever a crash run leaves must be among
//! what it allows. A line is stored to, and becomes durable, as a whole.

use counterpoint_engine::config::{RunConfig, Variant, preset};
use counterpoint_engine::crash::{CrashPlan, Exploration, Kept, ShownLines};
use counterpoint_engine::design;
use counterpoint_engine::message::{BaseImage, Line, LineBytes, Op, OpBuffer, OpSource, ProgramForm};
use counterpoint_engine::workload::litmus::{Evicting, Litmus, LitmusBase, PLACES, Step, StepKind};
use counterpoint_engine::{CrashCase, Source};
use rayon::prelude::*;
use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::AtomicBool;

/// The lines of these programs: two that share no page and no bank.
const LINES: [u8; 2] = [0, 2];

/// What both lines hold.
type Durable = [LineBytes; 2];

/// What a step stores: bytes at addresses.
type Pieces = Vec<(u64, Vec<u8>)>;

/// What a core has executed and other cores do not see yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Entry {
    Store(usize, usize),
    NonTemporal(usize, usize),
    Flush(usize),
    FlushOpt(usize),
    Sfence,
}

impl Entry {
    fn line(self) -> Option<usize> {
        match self {
            Self::Store(line, _) | Self::NonTemporal(line, _) | Self::Flush(line) | Self::FlushOpt(line) => Some(line),
            Self::Sfence => None,
        }
    }

    /// Whether it may take effect before `earlier`, which the same core executed before it.
    fn overtakes(self, earlier: Self) -> bool {
        let other_line = self.line() != earlier.line();
        match (self, earlier) {
            (_, Self::Sfence) | (Self::Sfence, _) => false,
            (Self::Store(..) | Self::Flush(_), Self::Store(..) | Self::Flush(_)) => false,
            (Self::Store(..) | Self::FlushOpt(_), Self::FlushOpt(_)) => true,
            _ => other_line,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct State {
    /// By core, the next step.
    next: Vec<usize>,
    buffers: Vec<Vec<Entry>>,
    /// By line, the stores in the order in which all cores see them.
    seen: [Vec<usize>; 2],
    /// By line, how many of them are durable.
    durable: [usize; 2],
    /// By core and line, how many must be durable before its next fence completes.
    owed: Vec<[usize; 2]>,
}

/// The places and bytes of each storing step of a program, by its number.
fn stored(program: &Litmus) -> Vec<Pieces> {
    let evicting = Evicting::of(&preset("small").unwrap());
    let mut all = Vec::new();
    for (steps, mut source) in program.cores.iter().zip(program.sources(ProgramForm::Plain, &evicting)) {
        let (mut buffer, mut pieces) = (OpBuffer::default(), Vec::new());
        while source.next_transaction(&mut buffer) {
            for op in &buffer.ops {
                if let Op::Store { address, length, bytes } | Op::NonTemporalStore { address, length, bytes } = *op {
                    let from = bytes as usize;
                    pieces.push((address, buffer.bytes[from..from + length as usize].to_vec()));
                }
            }
        }
        let mut pieces = pieces.into_iter();
        for step in steps {
            let mut left = match step.kind {
                StepKind::Store => 8,
                kind if kind.stores() => 64,
                _ => 0,
            };
            let mut of_step = Vec::new();
            while left > 0 {
                let piece = pieces.next().unwrap();
                left -= piece.1.len();
                of_step.push(piece);
            }
            all.push(of_step);
        }
    }
    all
}

/// A program in the model.
struct Model<'a> {
    program: &'a Litmus,
    stored: Vec<Pieces>,
}

impl Model<'_> {
    /// Everything that may be durable if power fails at some time.
    fn durable(program: &Litmus) -> BTreeSet<Durable> {
        let model = Model { program, stored: stored(program) };
        let cores = program.cores.len();
        let mut first = State { next: vec![0; cores], buffers: vec![Vec::new(); cores], ..State::default() };
        first.owed = vec![[0; 2]; cores];
        let (mut known, mut open, mut all) = (HashSet::from([first.clone()]), vec![first], BTreeSet::new());
        while let Some(state) = open.pop() {
            all.insert(model.contents(&state));
            for next in model.steps(&state) {
                if known.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        all
    }

    fn contents(&self, state: &State) -> Durable {
        let base = LitmusBase::default();
        [0, 1].map(|line| {
            let mut bytes = *base.line(line_of(line)).unwrap();
            for store in &state.seen[line][..state.durable[line]] {
                for (address, piece) in &self.stored[*store] {
                    let at = (address % 64) as usize;
                    bytes[at..at + piece.len()].copy_from_slice(piece);
                }
            }
            bytes
        })
    }

    fn steps(&self, state: &State) -> Vec<State> {
        let mut all = Vec::new();
        for core in 0..state.next.len() {
            all.extend(self.executed(state, core));
            for place in 0..state.buffers[core].len() {
                all.extend(taken(state, core, place));
            }
        }
        for line in 0..2 {
            if state.durable[line] < state.seen[line].len() {
                let mut next = state.clone();
                next.durable[line] += 1;
                all.push(next);
            }
        }
        all
    }

    /// The next step of a core, if it can be executed.
    fn executed(&self, state: &State, core: usize) -> Option<State> {
        let step = self.program.cores[core].get(state.next[core])?;
        let before: usize = self.program.cores[..core].iter().map(Vec::len).sum();
        let number = before + state.next[core];
        let line = LINES.iter().position(|place| *place == step.line).unwrap();
        let entry = match step.kind {
            StepKind::Store | StepKind::StoreLine => Some(Entry::Store(line, number)),
            StepKind::NtStore => Some(Entry::NonTemporal(line, number)),
            StepKind::Clflush => Some(Entry::Flush(line)),
            StepKind::Clwb | StepKind::Clflushopt => Some(Entry::FlushOpt(line)),
            StepKind::Sfence => Some(Entry::Sfence),
            StepKind::Mfence if state.buffers[core].is_empty() && is_paid(state, core) => None,
            StepKind::Mfence => return None,
            StepKind::Load | StepKind::Wait => None,
            other => panic!("{other:?} is not in the model"),
        };
        let mut next = state.clone();
        next.next[core] += 1;
        next.buffers[core].extend(entry);
        Some(next)
    }
}

fn is_paid(state: &State, core: usize) -> bool {
    (0..2).all(|line| state.durable[line] >= state.owed[core][line])
}

/// The state after an entry of a core has taken effect, if it can.
fn taken(state: &State, core: usize, place: usize) -> Option<State> {
    let entry = state.buffers[core][place];
    if !state.buffers[core][..place].iter().all(|earlier| entry.overtakes(*earlier)) {
        return None;
    }
    let mut next = state.clone();
    next.buffers[core].remove(place);
    match entry {
        Entry::Store(line, number) => next.seen[line].push(number),
        Entry::NonTemporal(line, number) => {
            next.seen[line].push(number);
            next.owed[core][line] = next.seen[line].len();
        }
        Entry::Flush(line) if state.durable[line] < state.seen[line].len() => return None,
        Entry::Flush(_) => {}
        Entry::FlushOpt(line) => next.owed[core][line] = next.seen[line].len(),
        Entry::Sfence if is_paid(state, core) => next.owed[core] = [0; 2],
        Entry::Sfence => return None,
    }
    Some(next)
}

fn line_of(line: usize) -> Line {
    PLACES[usize::from(LINES[line])].line
}

fn parsed(text: &str) -> Litmus {
    Litmus::parse(text).unwrap().unwrap()
}

/// What crash runs of `design` leave of a program, on a machine that `set` changes; the rules must hold in each.
fn left(name: &str, program: &Litmus, set: &[String]) -> BTreeSet<Durable> {
    let design = design::find(name, Variant::Hardened).unwrap();
    let machine = counterpoint_engine::config::load_machine("small", set).unwrap();
    let source = Source::Litmus(program.clone(), design.form, Evicting::of(&machine));
    let cores = program.cores.len() as u16;
    let config = RunConfig { cores, ..RunConfig::new(name, "none", machine) };
    let mut kept = Kept { lines: [0, 1].map(line_of).to_vec(), ..Kept::default() };
    let case = CrashCase {
        config: &config,
        design: &design,
        source: &source,
        wrappers: &[],
        progress: &|_| {},
        cancel: &AtomicBool::new(false),
    };
    let report = case.explore_keeping(&Exploration::of(CrashPlan::All), &mut kept).unwrap();
    assert_eq!((report.violation_count, &report.internal_errors[..]), (0, &[][..]), "{name}: {program}");
    let base = LitmusBase::default();
    let shown = |(_, shown): (u64, ShownLines)| match shown {
        ShownLines::Contents(lines) => [0, 1].map(|line| lines[line].unwrap_or(*base.line(line_of(line)).unwrap())),
        ShownLines::Refused => panic!("{name}: {program}: memory is refused"),
    };
    kept.states.into_iter().map(shown).collect()
}

/// Which numbers of steps both lines show that have only stores of 8 bytes: the last one that is there, or 0.
fn last_stores(program: &Litmus, durable: &Durable) -> [usize; 2] {
    let stored = stored(program);
    [0, 1].map(|line| {
        let there = |(_, pieces): &(usize, &Pieces)| {
            pieces.iter().any(|(address, piece)| {
                let at = (address % 64) as usize;
                address / 64 == line_of(line).0 && durable[line][at..at + piece.len()] == piece[..]
            })
        };
        stored.iter().enumerate().rev().find(there).map_or(0, |(number, _)| number + 1)
    })
}

/// The published tests of two locations, with A the first and C the second store: is it possible that the second is durable
/// and the first is not? A wait stands for a load that has seen the other core's store.
const PUBLISHED: [(&str, bool); 13] = [
    ("store A; store C", true),
    ("store A; clflush A; store C", false),
    ("store A; clflushopt A; store C", true),
    ("store A; clwb A; store C", true),
    ("store A; clwb A; sfence; store C", false),
    ("store A; clflushopt A; mfence; store C", false),
    ("store C; store A; clflush C", true),
    ("nt-store A; store C", true),
    ("nt-store A; sfence; store C", false),
    ("store A || wait; store C", true),
    ("store A; clflush A || wait; wait; store C", false),
    ("store A || wait; clwb A; sfence; store C", false),
    ("store A; clwb A || wait; wait; sfence; store C", true),
];

/// The model itself, where order between cores is given by what a core has loaded, is asked about programs of one core, and
/// about all orders of several.
#[test]
fn model_allows_and_forbids_what_is_published() {
    for (text, allowed) in PUBLISHED {
        let program = parsed(text);
        let second_alone = |durable: &Durable| {
            let [first, second] = last_stores(&program, durable);
            first == 0 && second != 0
        };
        let found = Model::durable(&program).iter().any(second_alone);
        // In the model a wait is nothing: other orders of two cores are possible, too.
        assert!(found == allowed || program.cores.len() > 1, "{text}");
        for name in ["unencrypted", "secpm", "rebuild"] {
            let found = left(name, &program, &[]).iter().any(second_alone);
            assert!(!found || allowed, "{name}: {text}");
        }
    }
}

/// All programs of `operations` operations at most on each of two cores.
fn programs(operations: usize, kinds: &[StepKind]) -> Vec<Litmus> {
    let of_kind = |kind: &StepKind| {
        let lines = if kind.has_line() { &LINES[..] } else { &[0] };
        lines.iter().map(|line| Step { kind: *kind, line: *line }).collect::<Vec<_>>()
    };
    let alphabet: Vec<Step> = kinds.iter().flat_map(of_kind).collect();
    let mut of_core: Vec<Vec<Step>> = vec![Vec::new()];
    let mut all = Vec::new();
    for _ in 0..operations {
        of_core =
            of_core.iter().flat_map(|steps| alphabet.iter().map(|step| [&steps[..], &[*step]].concat())).collect();
        all.extend(of_core.clone());
    }
    // Which core is the first makes no difference.
    let pairs = all
        .iter()
        .enumerate()
        .flat_map(|(number, one)| all[number..].iter().map(|two| Litmus { cores: vec![one.clone(), two.clone()] }));
    pairs.filter(|program| program.steps().any(|(_, step)| step.kind.stores())).collect()
}

#[test]
fn whatever_a_crash_leaves_of_programs_that_share_lines_is_allowed() {
    let kinds = [StepKind::Store, StepKind::NtStore, StepKind::Clwb, StepKind::Clflush, StepKind::Sfence];
    let slow =
        ["device.t_wr_ns=5000", "controller.wpq_entries=2", "controller.wpq_high_watermark=2"].map(str::to_owned);
    let timings = counterpoint_engine::prove::Timing::named(&["machine".to_owned(), "apart".to_owned()]).unwrap();
    // A third of the programs, which differ in all that the others differ in.
    let programs: Vec<Litmus> = programs(2, &kinds).into_iter().step_by(3).collect();
    let shown: Vec<(usize, usize)> = programs
        .par_iter()
        .enumerate()
        .map(|(number, program)| {
            let mut sum = (0, 0);
            // Each design and machine has its share of the programs.
            let name = ["unencrypted", "secpm", "co-located"][number % 3];
            let set = [&[][..], &slow][number / 3 % 2];
            for program in timings.iter().flat_map(|timing| timing.programs(program)) {
                // Waits change the values that are stored, and nothing else in the model.
                let (found, allowed) = (left(name, &program, set), Model::durable(&program));
                let forbidden: Vec<_> = found.difference(&allowed).collect();
                assert!(forbidden.is_empty(), "{name}: {program} leaves what Px86 forbids: {forbidden:x?}");
                sum = (sum.0 + found.len(), sum.1 + allowed.len());
            }
            sum
        })
        .collect();
    let (found, allowed) = shown.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert!(shown.len() > 1_000 && 2 * found > allowed, "{found} of {allowed} allowed states");
}

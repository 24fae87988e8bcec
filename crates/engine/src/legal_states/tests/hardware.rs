//! The states that the rules of the hardware allow at the fences of small programs are those that the explicit machine
//! can leave: no more and no fewer, for every design.

use super::reference::{Durable, LINES, Op, Provenance, Reference, SeenStates};
use crate::assembly::encryption_parts;
use crate::audit::ledger_channel;
use crate::config::{Machine, Variant, load_machine};
use crate::design;
use crate::design::faults::Fault;
use crate::layout::Coverage;
use crate::legal_states::hardware::Hardware;
use crate::legal_states::history::History;
use crate::legal_states::image::Encoder;
use crate::legal_states::space::{Reading, Space};
use crate::message::{BaseImage, Line, LineBytes, ProgramLayout};
use crate::parts::{AppendOrder, CounterUpdate, Design, PersistenceDomain, RecoveryStep, RegisterName};
use crate::recovery::{LineCodec, SchemeCodec};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Lines that were populated before the run.
struct Populated {
    lines: Vec<(Line, LineBytes)>,
}

impl BaseImage for Populated {
    fn line(&self, line: Line) -> Option<&LineBytes> {
        self.lines.iter().find(|(populated, _)| *populated == line).map(|(_, bytes)| bytes)
    }
    fn populated(&self, line: Line) -> bool {
        self.line(line).is_some()
    }
    fn end(&self) -> u64 {
        1 << 16
    }
}

/// Three lines and what is done to them.
#[derive(Clone, Debug)]
struct Program {
    lines: [Line; LINES],
    populated: [bool; LINES],
    ops: Vec<Op>,
}

fn programs() -> impl Strategy<Value = Program> {
    let op = prop_oneof![
        4 => (0..LINES).prop_map(Op::Store),
        3 => (0..LINES).prop_map(Op::Flush),
        1 => (0..LINES).prop_map(Op::CounterCacheWriteback),
        1 => (0..LINES).prop_map(Op::Mark),
        2 => Just(Op::Fence),
    ];
    let lines = prop_oneof![3 => Just([0, 1, 2]), 1 => Just([0, 1, 64])];
    (lines, any::<[bool; LINES]>(), prop::collection::vec(op, 1..8)).prop_map(|(lines, populated, mut ops)| {
        ops.push(Op::Fence);
        Program { lines: lines.map(Line), populated, ops }
    })
}

/// One state of the rules, in the form of the machine's states.
fn tell(program: &Program, history: &History, space: &Space, chosen: &FxHashMap<Line, (usize, Reading)>) -> Durable {
    let mut told = [(0, Provenance::Own); LINES];
    for (line, told) in program.lines.iter().zip(&mut told) {
        let Some(of) = history.lines.get(line) else { continue };
        let first = of.stores as usize - of.newest();
        let (version, reading) = chosen.get(line).copied().unwrap_or((0, Reading::Intact));
        assert!(chosen.contains_key(line) == space.by_line.contains_key(line));
        let counter = match reading {
            Reading::Intact => Provenance::Own,
            Reading::CounterAhead => Provenance::OfLater,
            Reading::CounterBehind => Provenance::OfEarlier,
            Reading::CounterFromBefore => Provenance::FromBefore,
        };
        *told = ((first + version) as u8, counter);
    }
    as_read(program, told)
}

/// A line whose counter says that it was never written reads as zeros, whatever its data. Encrypting with one counter
/// and decrypting with the next has the same result as the opposite.
fn as_read(program: &Program, mut told: Durable) -> Durable {
    for (told, populated) in told.iter_mut().zip(program.populated) {
        match told.1 {
            Provenance::FromBefore if !populated => *told = (0, Provenance::Own),
            Provenance::OfEarlier => told.1 = Provenance::OfLater,
            _ => {}
        }
    }
    told
}

/// Every state of `space`.
fn spanned(program: &Program, history: &History, space: &Space) -> SeenStates {
    let mut all = vec![(FxHashMap::default(), 0)];
    for group in &space.groups {
        let mut of_group = Vec::new();
        for mode in 0..group.modes {
            let mut of_mode = all.clone();
            for &line in &group.lines {
                let open = &space.lines[line];
                let with = |(state, ahead): &(FxHashMap<Line, (usize, Reading)>, u32)| {
                    let (state, ahead) = (state.clone(), *ahead);
                    open.candidates[mode].iter().map(move |candidate| {
                        let mut state = state.clone();
                        state.insert(open.line, (candidate.version, candidate.reading));
                        (state, ahead + u32::from(candidate.busy))
                    })
                };
                of_mode = of_mode.iter().flat_map(with).collect();
            }
            of_group.extend(of_mode);
        }
        all = of_group;
    }
    let legal = all.into_iter().filter(|(_, ahead)| *ahead <= space.busy_max);
    legal.map(|(state, _)| tell(program, history, space, &state)).collect()
}

/// Checks that two readings of a line with equal bytes have equal states.
fn told_apart(program: &Program, history: &History, space: &Space) {
    for open in &space.lines {
        let index = program.lines.iter().position(|&line| line == open.line).expect("a line of the program");
        let mut known: FxHashMap<LineBytes, (u8, Provenance)> = FxHashMap::default();
        for candidate in open.candidates.iter().flatten() {
            let chosen = space.lines.iter().map(|other| (other.line, (0, Reading::Intact)));
            let mut chosen: FxHashMap<Line, (usize, Reading)> = chosen.collect();
            chosen.insert(open.line, (candidate.version, candidate.reading));
            let told = tell(program, history, space, &chosen)[index];
            assert_eq!(*known.entry(candidate.bytes).or_insert(told), told, "{program:?}");
        }
        let told: std::collections::BTreeSet<_> = known.values().collect();
        assert_eq!(told.len(), known.len(), "{program:?}");
    }
}

/// What the rules allow at each fence of `program`.
fn allowed(program: &Program, design: &Design, machine: &Machine) -> Vec<SeenStates> {
    let content = |n: usize| (program.lines[n], [100 + n as u8; 64]);
    let populated = (0..LINES).filter(|&n| program.populated[n]).map(content).collect();
    let base: Arc<dyn BaseImage> = Arc::new(Populated { lines: populated });
    let parts = encryption_parts(machine, design, 1, &base).unwrap();
    let codec = parts.map(|parts| SchemeCodec::new(parts.scheme, parts.pads, Arc::clone(&base)));
    let encoder = Encoder { codec: codec.as_ref().map(|codec| codec as &dyn LineCodec), base: Arc::clone(&base) };
    let hardware = Hardware::of(design, machine);
    let layout = ProgramLayout { core: 0, log: 0..0, heap: 0..1 << 16, volatile: 0..0 };
    let mut history = History::new(base, layout, coverage(design, machine), ledger_channel().1);
    let mut at_fences = Vec::new();
    for (number, &op) in program.ops.iter().enumerate() {
        match op {
            Op::Store(line) => history.stored(program.lines[line], 0, &[number as u8 + 1]),
            Op::Flush(line) => history.flushed(0, program.lines[line]),
            Op::CounterCacheWriteback(line) => history.counters_flushed(0, program.lines[line]),
            Op::Mark(line) => history.marked(program.lines[line]),
            Op::Fence => {
                let space = hardware.space(&history, &encoder);
                told_apart(program, &history, &space);
                at_fences.push(spanned(program, &history, &space));
                history.fenced(0, hardware.writeback_complete(), |line| hardware.carries(line));
            }
        }
    }
    at_fences
}

fn coverage(design: &Design, machine: &Machine) -> Coverage {
    design.encryption.map_or(Coverage::LINE, |parts| parts.scheme(&machine.counters).coverage())
}

/// What the machine can leave at each fence of `program`.
fn seen_states(program: &Program, design: &Design, machine: &Machine, units: u32) -> Vec<SeenStates> {
    let coverage = coverage(design, machine);
    let same = |a: usize, b: usize| coverage.block(program.lines[a]) == coverage.block(program.lines[b]);
    let block = std::array::from_fn(|line| (0..line).find(|&first| same(first, line)).unwrap_or(line));
    let walked = Reference::of(design, units as usize, block).walk(&program.ops);
    let told = |seen: &SeenStates| seen.iter().map(|&told| as_read(program, told)).collect();
    walked.iter().map(told).collect()
}

fn machine(units: u32) -> Machine {
    let sets = [format!("controller.aes_units={units}"), "counters.minor_bits=7".to_owned()];
    load_machine("small", &sets).unwrap()
}

/// Both readings of all designs, and two hazards that are in none of them; of those that are alike in all that the rules and
/// the machine here know of them, one.
fn accepted() -> Vec<Design> {
    let all = [Variant::Hardened, Variant::Published].into_iter().flat_map(|variant| {
        let hazards =
            [("secpm", Fault::AppendOrder), ("write-through", Fault::AppendOrder), ("sca", Fault::WritebackOrder)];
        let broken = hazards.map(|(name, fault)| fault.apply(&design::find(name, variant).unwrap()).unwrap());
        design::all(variant).chain(broken)
    });
    // The machine here does not search for counters.
    let searches = |step: &RecoveryStep| {
        matches!(
            step,
            RecoveryStep::RecoverCounters
                | RecoveryStep::RestoreContents
                | RecoveryStep::RestoreStale
                | RecoveryStep::ApplyUpdates
        )
    };
    let tries = |design: &Design| design.recovery.iter().any(searches);
    let adr = |design: &Design| matches!(design.domain, PersistenceDomain::Adr) && design.log.is_none();
    let mut known = FxHashSet::default();
    all.filter(|design| adr(design) && !tries(design) && known.insert(known_of(design))).collect()
}

/// What the rules and the machine here know of `design`.
fn known_of(design: &Design) -> String {
    let Some(parts) = design.encryption else { return String::new() };
    let scheme = parts.scheme(&machine(1).counters);
    let counters = (parts.store, scheme.global(), scheme.coverage().lines(), parts.minor_reset);
    let order = (parts.write_path, parts.update, parts.append_order, parts.writeback_order);
    format!("{counters:?} {order:?} {:?}", design.register_domain(RegisterName::ReencryptionStatus))
}

/// Whether the limit on circuits may be inexact for the state, as documented in `Hardware`: a line that was overtaken,
/// left out, or that carried the others may lack a circuit. That is visible only if blocks carry counters of lines in
/// flight.
fn told_rough(design: &Design, units: u32, state: &Durable) -> bool {
    let rough = design.encryption.is_some_and(|parts| {
        let deferred = parts.write_path.defers_counter(false) && parts.update == CounterUpdate::AtBump;
        deferred || parts.append_order == AppendOrder::UnitOrder && units > 1
    });
    rough && state.iter().any(|(_, counter)| *counter == Provenance::OfLater)
}

fn differences(program: &Program, designs: &[Design]) -> Vec<String> {
    let mut told = Vec::new();
    for design in designs {
        for units in [1, 2] {
            let machine = machine(units);
            let both =
                allowed(program, design, &machine).into_iter().zip(seen_states(program, design, &machine, units));
            for (fence, (allowed, seen)) in both.enumerate() {
                let mut missing: Vec<_> = seen.difference(&allowed).collect();
                let mut extra: Vec<_> =
                    allowed.difference(&seen).filter(|state| !told_rough(design, units, state)).collect();
                missing.sort_unstable();
                extra.sort_unstable();
                if let (Some(_), _) | (_, Some(_)) = (missing.first(), extra.first()) {
                    told.push(format!(
                        "{} {:?} {units} units fence {fence}: missing {missing:?} extra {extra:?}",
                        design.name, design.variant
                    ));
                }
            }
        }
    }
    told
}

#[test]
fn rules_allow_what_the_machine_can_leave_and_nothing_else() {
    let designs = accepted();
    assert!(designs.len() > 10, "{}", designs.len());
    let mut runner = TestRunner::new(ProptestConfig { source_file: Some(file!()), ..ProptestConfig::with_cases(100) });
    let run = runner.run(&programs(), |program| {
        let differences = differences(&program, &designs);
        prop_assert!(differences.is_empty(), "{}", differences.join("\n"));
        Ok(())
    });
    run.unwrap_or_else(|error| panic!("{error}"));
}

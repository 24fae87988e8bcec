//! The verdict on a space of factors equals that on its states, enumerated one by one.

use crate::audit::ledger_channel;
use crate::layout::Coverage;
use crate::legal_states::history::{History, InFlight};
use crate::legal_states::judge::{Pick, Verdict, judge};
use crate::legal_states::search::{Guide, Search};
use crate::legal_states::space::{Candidate, Reading, Space};
use crate::message::{
    BaseImage, ByteView, CoreId, Line, LineBytes, ProgramLayout, ProgramRecovery, RecoveryReport, RepeatedRecovery,
};
use proptest::prelude::*;
use std::sync::Arc;

/// Lines 0 to 2 are heap, line 3 is a log.
const LINES: usize = 4;
const HEAP: usize = 3;

struct Zeros;

impl BaseImage for Zeros {
    fn line(&self, line: Line) -> Option<&LineBytes> {
        self.populated(line).then_some(&[0; 64])
    }
    fn populated(&self, line: Line) -> bool {
        line.0 < LINES as u64
    }
    fn end(&self) -> u64 {
        64 * LINES as u64
    }
}

/// If the byte at `from` is `equals`, `value` goes to `to`.
#[derive(Clone, Debug)]
struct Step {
    from: u64,
    equals: u8,
    to: u64,
    value: u8,
}

/// Recovery of a few steps.
#[derive(Debug)]
struct Steps {
    steps: Vec<Step>,
}

impl ProgramRecovery for Steps {
    fn layouts(&self) -> &[ProgramLayout] {
        &[]
    }
    fn recover(&self, _core: CoreId, view: &mut dyn ByteView) -> RecoveryReport {
        for step in &self.steps {
            let mut byte = [0];
            view.read(step.from, &mut byte);
            if byte[0] == step.equals {
                view.write(step.to, &[step.value]);
            }
        }
        RecoveryReport::default()
    }
    fn check(&self, _core: CoreId, _view: &mut dyn ByteView) -> Result<(), String> {
        Ok(())
    }
}

/// One state in full.
#[derive(Clone, PartialEq)]
struct Memory([LineBytes; LINES]);

impl ByteView for Memory {
    fn read(&mut self, address: u64, buffer: &mut [u8]) {
        for (n, byte) in buffer.iter_mut().enumerate() {
            let at = address as usize + n;
            *byte = self.0[at / 64][at % 64];
        }
    }
    fn write(&mut self, address: u64, data: &[u8]) {
        for (n, byte) in data.iter().enumerate() {
            let at = address as usize + n;
            self.0[at / 64][at % 64] = *byte;
        }
    }
}

/// For a line in one mode: what it may read as, and whether that needs a circuit.
type Ways = Vec<(LineBytes, bool)>;

#[derive(Debug, Clone)]
struct Case {
    /// By group and mode: the ways of its lines. Group 0 has lines 0 and 3, group 1 lines 1 and 2.
    groups: [Vec<[Ways; 2]>; 2],
    busy_max: u32,
    started: bool,
    next: Vec<(usize, LineBytes)>,
    steps: Vec<Step>,
}

const MEMBERS: [[usize; 2]; 2] = [[0, 3], [1, 2]];

fn bytes() -> impl Strategy<Value = LineBytes> {
    (0u8..2, 0u8..2).prop_map(|(first, second)| {
        let mut bytes = [0; 64];
        bytes[..2].copy_from_slice(&[first, second]);
        bytes
    })
}

fn group() -> impl Strategy<Value = Vec<[Ways; 2]>> {
    let ways = || prop::collection::vec((bytes(), prop::bool::weighted(0.3)), 1..4);
    prop::collection::vec([ways(), ways()], 1..3)
}

fn cases() -> impl Strategy<Value = Case> {
    let address = || (0..LINES as u64, 0u64..2).prop_map(|(line, offset)| 64 * line + offset);
    let step =
        (address(), 0u8..2, address(), 0u8..2).prop_map(|(from, equals, to, value)| Step { from, equals, to, value });
    let next = prop::collection::vec((0..HEAP, bytes()), 0..3);
    let steps = prop::collection::vec(step, 0..5);
    ([group(), group()], 0u32..3, any::<bool>(), next, steps)
        .prop_map(|(groups, busy_max, started, next, steps)| Case { groups, busy_max, started, next, steps })
}

/// Every legal state.
fn states(case: &Case) -> Vec<Memory> {
    let mut all = vec![(Memory([[0; 64]; LINES]), 0)];
    for (modes, members) in case.groups.iter().zip(MEMBERS) {
        let mut next = Vec::new();
        for lines in modes {
            for (memory, busy) in &all {
                for (first, first_busy) in &lines[0] {
                    for (second, second_busy) in &lines[1] {
                        let mut memory = memory.clone();
                        memory.0[members[0]] = *first;
                        memory.0[members[1]] = *second;
                        next.push((memory, busy + u32::from(*first_busy) + u32::from(*second_busy)));
                    }
                }
            }
        }
        all = next;
    }
    all.into_iter().filter(|(_, busy)| *busy <= case.busy_max).map(|(memory, _)| memory).collect()
}

fn recovers(case: &Case, program: &Steps, memory: &Memory) -> bool {
    let mut memory = memory.clone();
    program.recover(0, &mut memory);
    let committed = [[0; 64]; HEAP];
    let mut next = committed;
    case.next.iter().for_each(|(line, bytes)| next[*line] = *bytes);
    memory.0[..HEAP] == committed || case.started && memory.0[..HEAP] == next
}

fn space(case: &Case) -> Space {
    let mut space = Space::new(case.busy_max);
    for (modes, members) in case.groups.iter().zip(MEMBERS) {
        let of_line = |index: usize| {
            let candidates = |lines: &[Ways; 2]| {
                let candidate = |&(bytes, busy): &(LineBytes, bool)| Candidate {
                    version: 1,
                    reading: if busy { Reading::CounterAhead } else { Reading::Intact },
                    bytes,
                    busy,
                };
                lines[index].iter().map(candidate).collect()
            };
            (Line(members[index] as u64), modes.iter().map(candidates).collect())
        };
        space.add(modes.len(), 0, vec![of_line(0), of_line(1)]);
    }
    space
}

fn picked(space: &Space, pick: &Pick) -> Memory {
    let mut memory = Memory([[0; 64]; LINES]);
    for (open, &candidate) in space.lines.iter().zip(&pick.candidates) {
        memory.0[open.line.0 as usize] = open.candidates[pick.modes[open.group]][candidate].bytes;
    }
    memory
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]
    #[test]
    fn space_holds_if_and_only_if_each_of_its_states_does(case in cases()) {
        let program = Steps { steps: case.steps.clone() };
        let shared: Arc<dyn ProgramRecovery> = Arc::new(Steps { steps: case.steps.clone() });
        let mut recovery = RepeatedRecovery::new(&shared, 0);
        let all = states(&case);
        let broken = all.iter().filter(|memory| !recovers(&case, &program, memory)).count();
        let layout = ProgramLayout { core: 0, log: 64 * HEAP as u64..64 * LINES as u64, heap: 0..64 * HEAP as u64, volatile: 0..0 };
        let mut history = History::new(Arc::new(Zeros), layout, Coverage::PAGE, ledger_channel().1);
        let writes = case.next.iter().map(|(line, bytes)| (Line(*line as u64), *bytes)).collect();
        history.in_flight = InFlight { started: case.started, writes, ..InFlight::default() };
        let space = space(&case);
        let mut search = Search::new(&space, &history, Guide::Every);
        let (mut holding, mut breaking) = (0, 0);
        loop {
            search.recover(&mut recovery);
            match judge(&search) {
                Verdict::Empty => {}
                Verdict::Holds => holding += 1,
                Verdict::Broken(pick) => {
                    let memory = picked(&space, &pick);
                    prop_assert!(all.contains(&memory), "the state is not legal");
                    prop_assert!(!recovers(&case, &program, &memory), "the state recovers");
                    breaking += 1;
                }
            }
            if !search.next() {
                break;
            }
        }
        prop_assert_eq!(breaking > 0, broken > 0);
        prop_assert_eq!(holding + breaking > 0, !all.is_empty());
    }
}

//! The simple auditor: it keeps the whole stream and recomputes everything at every event, with ordered maps, its own
//! decoding and no lists of changes. It must give the same verdicts as the incremental auditor for random streams.

use super::fixture::*;
use crate::audit::{Auditor, CounterLayout, TransactionRecord};
use crate::kernel::Ps;
use crate::layout::Coverage;
use crate::message::{
    BaseImage, ByteView, CoreId, CounterBlock, CounterGroup, GroupMask, Line, LineBytes, MediaLine, Observer, Page,
    ProgramRecovery,
};
use crate::parts::{LineAtomicity, Stored};
use crate::recovery::{LineCodec, ReencryptionStatus};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

#[derive(Clone)]
enum Told {
    Stored(Line, usize, Vec<u8>),
    Marked(Line),
    Flushed(Line),
    Fenced,
    Began,
    Ended,
    Persisted(MediaLine, LineBytes),
    Status(Option<ReencryptionStatus>),
}

/// Keeps the stream and judges it without incremental state.
struct Reference {
    codec: TestCodec,
    line_atomic: LineAtomicity,
    status_survives: bool,
    program: Option<(UndoPair, Receiver<TransactionRecord>, Vec<TransactionRecord>)>,
    told: Vec<Told>,
}

impl Reference {
    fn durable(&self) -> impl Fn(Line) -> LineBytes + '_ {
        let mut stored = BTreeMap::new();
        let mut status = None;
        for told in &self.told {
            match told {
                Told::Persisted(media, bytes) => drop(stored.insert(media.code(), *bytes)),
                Told::Status(new) if self.status_survives => status = *new,
                _ => {}
            }
        }
        move |line| {
            let block = self.codec.coverage().block(line);
            let block =
                stored.get(&MediaLine::counter(block).code()).copied().unwrap_or_else(|| self.codec.base_block(block));
            let ciphertext = stored.get(&MediaLine::data(line).code()).copied();
            let (major, minor) = match self.codec.counters {
                CounterLayout::Split { .. } => (0, 1),
                CounterLayout::Words { .. } => (1, 0),
            };
            let base = || self.codec.base.line(line).map_or([0; 64], |base| crypt(line, major, minor, base));
            let status = status.filter(|status| status.group.line(0).page() == line.page());
            self.codec.decrypt(line, &Stored::whole(ciphertext.unwrap_or_else(base)), &block, status.as_ref())
        }
    }

    fn initial(&self, line: Line) -> LineBytes {
        self.codec.base.line(line).copied().unwrap_or([0; 64])
    }

    /// The lines that break the line rule, of those in `lines`.
    fn bad_lines(&self, lines: &BTreeSet<Line>) -> BTreeSet<Line> {
        let durable = self.durable();
        lines
            .iter()
            .copied()
            .filter(|&line| {
                let mut versions = vec![self.initial(line)];
                let (mut flushed, mut covered) = (0, 0);
                let mut marked = None;
                for told in &self.told {
                    match told {
                        Told::Stored(of, offset, data) if *of == line => {
                            let mut version = *versions.last().unwrap();
                            version[*offset..offset + data.len()].copy_from_slice(data);
                            versions.push(version);
                        }
                        Told::Marked(of) if *of == line && marked.is_none() => marked = Some(versions.len() - 1),
                        Told::Flushed(of) if *of == line => flushed = versions.len() - 1,
                        Told::Fenced => covered = flushed,
                        _ => {}
                    }
                }
                let allowed = &versions[covered..];
                let promised = match self.line_atomic {
                    LineAtomicity::None => false,
                    // Not while a store from before the marking is uncovered.
                    LineAtomicity::Marked => marked.is_some_and(|unmarked| unmarked <= covered),
                    LineAtomicity::Every => true,
                };
                let exempt = allowed.len() > 1 && !promised;
                !exempt && !allowed.contains(&durable(line))
            })
            .collect()
    }

    /// Whether the heap equals the state before or after the transaction in flight once the program has recovered.
    fn heap_fits(&mut self) -> bool {
        let Some((_, receiver, records)) = &mut self.program else { return true };
        records.extend(receiver.try_iter());
        let (program, _, records) = self.program.as_ref().unwrap();
        let committed = self.told.iter().filter(|told| matches!(told, Told::Ended)).count();
        let begun = self.told.iter().filter(|told| matches!(told, Told::Began)).count();
        let durable = self.durable();
        let mut view = Sparse { below: &durable, written: BTreeMap::new() };
        program.recover(0, &mut view);
        let fits = |state: usize| {
            let mut golden: BTreeMap<Line, LineBytes> = DATA.map(|line| (line, self.initial(line))).into();
            for record in &records[..state] {
                golden.extend(record.writes.iter().filter(|(line, _)| (64..192).contains(&line.0)).copied());
            }
            golden.iter().all(|(line, bytes)| view.line(*line) == *bytes)
        };
        fits(committed) || (begun > committed && fits(begun))
    }
}

struct Sparse<'a> {
    below: &'a dyn Fn(Line) -> LineBytes,
    written: BTreeMap<u64, u8>,
}

impl Sparse<'_> {
    fn line(&self, line: Line) -> LineBytes {
        let below = (self.below)(line);
        std::array::from_fn(|n| self.written.get(&(line.address() + n as u64)).copied().unwrap_or(below[n]))
    }
}

impl ByteView for Sparse<'_> {
    fn read(&mut self, address: u64, buffer: &mut [u8]) {
        for (n, byte) in buffer.iter_mut().enumerate() {
            let at = address + n as u64;
            *byte = self.line(Line::containing(at))[(at % 64) as usize];
        }
    }
    fn write(&mut self, address: u64, data: &[u8]) {
        for (n, byte) in data.iter().enumerate() {
            self.written.insert(address + n as u64, *byte);
        }
    }
}

impl Observer for Reference {
    fn stored(&mut self, _now: Ps, _core: CoreId, line: Line, offset: usize, data: &[u8]) {
        self.told.push(Told::Stored(line, offset, data.to_vec()));
    }
    fn marked_counter_atomic(&mut self, _now: Ps, _core: CoreId, line: Line) {
        self.told.push(Told::Marked(line));
    }
    fn flushed(&mut self, _now: Ps, _core: CoreId, line: Line) {
        self.told.push(Told::Flushed(line));
    }
    fn fenced(&mut self, _now: Ps, _core: CoreId) {
        self.told.push(Told::Fenced);
    }
    fn transaction_began(&mut self, _now: Ps, _core: CoreId, _number: u64) {
        self.told.push(Told::Began);
    }
    fn transaction_ended(&mut self, _now: Ps, _core: CoreId, _number: u64) {
        self.told.push(Told::Ended);
    }
    fn persisted(&mut self, _now: Ps, media: MediaLine, bytes: &LineBytes) {
        self.told.push(Told::Persisted(media, *bytes));
    }
    fn reencryption(&mut self, _now: Ps, group: CounterGroup, old_major: u64, done: GroupMask, finished: bool) {
        self.told.push(Told::Status((!finished).then_some(ReencryptionStatus { group, old_major, done })));
    }
}

/// Reports to both auditors.
struct Both {
    incremental: Auditor,
    reference: Reference,
}

impl Both {
    fn compare(&mut self, lines: &BTreeSet<Line>) {
        let holds = self.incremental.judge();
        let bad = self.reference.bad_lines(lines);
        let fits = self.reference.heap_fits();
        assert_eq!(self.incremental.line_rule.bad(), bad.len() as u64, "the reference finds {bad:?}");
        assert_eq!(holds, bad.is_empty() && fits, "the reference finds the heap to fit: {fits}");
        let durable = self.reference.durable();
        for (line, bytes) in self.incremental.durable_view() {
            assert_eq!(*bytes, durable(line), "{line:?}");
        }
    }
}

impl Observer for Both {
    fn stored(&mut self, now: Ps, core: CoreId, line: Line, offset: usize, data: &[u8]) {
        self.incremental.stored(now, core, line, offset, data);
        self.reference.stored(now, core, line, offset, data);
    }
    fn marked_counter_atomic(&mut self, now: Ps, core: CoreId, line: Line) {
        self.incremental.marked_counter_atomic(now, core, line);
        self.reference.marked_counter_atomic(now, core, line);
    }
    fn flushed(&mut self, now: Ps, core: CoreId, line: Line) {
        self.incremental.flushed(now, core, line);
        self.reference.flushed(now, core, line);
    }
    fn fenced(&mut self, now: Ps, core: CoreId) {
        self.incremental.fenced(now, core);
        self.reference.fenced(now, core);
    }
    fn transaction_began(&mut self, now: Ps, core: CoreId, number: u64) {
        self.incremental.transaction_began(now, core, number);
        self.reference.transaction_began(now, core, number);
    }
    fn transaction_ended(&mut self, now: Ps, core: CoreId, number: u64) {
        self.incremental.transaction_ended(now, core, number);
        self.reference.transaction_ended(now, core, number);
    }
    fn persisted(&mut self, now: Ps, media: MediaLine, bytes: &LineBytes) {
        self.incremental.persisted(now, media, bytes);
        self.reference.persisted(now, media, bytes);
    }
    fn reencryption(&mut self, now: Ps, group: CounterGroup, old_major: u64, done: GroupMask, finished: bool) {
        self.incremental.reencryption(now, group, old_major, done, finished);
        self.reference.reencryption(now, group, old_major, done, finished);
    }
    fn event_over(&mut self, now: Ps) {
        self.incremental.event_over(now);
    }
}

fn codec(base: &Arc<Populated>) -> TestCodec {
    TestCodec::split(base.clone(), 2)
}

fn promise() -> impl Strategy<Value = LineAtomicity> {
    prop_oneof![Just(LineAtomicity::None), Just(LineAtomicity::Marked), Just(LineAtomicity::Every)]
}

/// One report, about four lines of two pages, a few versions and a few counters, so that right and wrong ones are
/// combined.
#[derive(Clone, Debug)]
enum Step {
    Store {
        line: usize,
        half: bool,
        value: u8,
    },
    Mark {
        line: usize,
    },
    Flush {
        line: usize,
    },
    Fence,
    /// Data of the version that was newest `back` stores ago, encrypted with this counter.
    Data {
        line: usize,
        back: usize,
        major: u64,
        minor: u8,
    },
    Counter {
        page: usize,
        major: u64,
        minors: [u8; 2],
    },
    Status {
        page: usize,
        old_major: u64,
        done: u64,
        finished: bool,
    },
}

/// Two populated lines and two that were never written.
const LINES: [Line; 4] = [Line(64), Line(70), Line(128), Line(133)];
const PAGES: [Page; 2] = [Page(1), Page(2)];

/// One report for global counters, about lines that share blocks of eight and one that does not.
#[derive(Clone, Debug)]
enum GlobalStep {
    Store {
        line: usize,
        value: u8,
    },
    Mark {
        line: usize,
    },
    Flush {
        line: usize,
    },
    Fence,
    /// Data of the version `back` stores ago, encrypted with this value of the counter.
    Data {
        line: usize,
        back: usize,
        value: u64,
    },
    /// The block of the line, with these counters.
    Counter {
        line: usize,
        values: [u64; 8],
    },
}

/// Lines 64 and 128 are populated; 65 shares a block with 64, and 72 is in the next block.
const NEIGHBOURS: [Line; 4] = [Line(64), Line(65), Line(72), Line(128)];

fn global_step() -> impl Strategy<Value = GlobalStep> {
    // 0 means never written, 1 populated; few values, so that right and wrong ones are combined.
    let value = || prop_oneof![1 => Just(0u64), 2 => Just(1), 4 => 2u64..4, 1 => Just(u64::MAX)];
    prop_oneof![
        3 => (0usize..4, 1u8..4).prop_map(|(line, value)| GlobalStep::Store { line, value }),
        1 => (0usize..4).prop_map(|line| GlobalStep::Mark { line }),
        3 => (0usize..4).prop_map(|line| GlobalStep::Flush { line }),
        2 => Just(GlobalStep::Fence),
        4 => (0usize..4, 0usize..3, value()).prop_map(|(line, back, value)| GlobalStep::Data { line, back, value }),
        4 => (0usize..4, proptest::array::uniform8(value())).prop_map(|(line, values)| GlobalStep::Counter { line, values }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let counter = (0u64..2, 0u8..4);
    prop_oneof![
        3 => (0usize..4, any::<bool>(), 1u8..4).prop_map(|(line, half, value)| Step::Store { line, half, value }),
        3 => (0usize..4).prop_map(|line| Step::Flush { line }),
        1 => (0usize..4).prop_map(|line| Step::Mark { line }),
        2 => Just(Step::Fence),
        4 => (0usize..4, 0usize..3, counter.clone())
            .prop_map(|(line, back, (major, minor))| Step::Data { line, back, major, minor }),
        4 => (0usize..2, 0u64..2, [0u8..4, 0u8..4]).prop_map(|(page, major, minors)| Step::Counter { page, major, minors }),
        1 => (0usize..2, 0u64..2, prop_oneof![Just(0u64), Just(1), Just(u64::MAX)], any::<bool>())
            .prop_map(|(page, old_major, done, finished)| Step::Status { page, old_major, done, finished }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn random_streams_get_the_same_line_verdicts(
        steps in proptest::collection::vec((step(), any::<bool>()), 1..80), line_atomic in promise(), status_survives: bool
    ) {
        let machine = Machine::new(2);
        let base = machine.codec.base.clone();
        let mut both = Both {
            incremental: machine.audited_for(line_atomic, status_survives, None),
            reference: Reference {
                codec: codec(&base), line_atomic, status_survives, program: None, told: Vec::new(),
            },
        };
        let mut versions: Vec<Vec<LineBytes>> =
            LINES.iter().map(|&line| vec![base.line(line).copied().unwrap_or([0; 64])]).collect();
        // Whole pages are checked: a counter block covers 64 lines.
        let all: BTreeSet<Line> = PAGES.iter().flat_map(|page| (0..64).map(|n| page.line(n))).collect();
        for (step, ends_event) in steps {
            match step {
                Step::Store { line, half, value } => {
                    let offset = if half { 32 } else { 0 };
                    let mut bytes = *versions[line].last().unwrap();
                    bytes[offset..offset + 32].fill(value);
                    versions[line].push(bytes);
                    both.stored(0, 0, LINES[line], offset, &[value; 32]);
                }
                Step::Mark { line } => both.marked_counter_atomic(0, 0, LINES[line]),
                Step::Flush { line } => both.flushed(0, 0, LINES[line]),
                Step::Fence => both.fenced(0, 0),
                Step::Data { line, back, major, minor } => {
                    let plain = versions[line][versions[line].len().saturating_sub(1 + back)];
                    both.persisted(0, MediaLine::data(LINES[line]), &crypt(LINES[line], major, minor, &plain));
                }
                Step::Counter { page, major, minors } => {
                    let mut all = [0; 64];
                    all[LINES[2 * page].index_in_page()] = minors[0];
                    all[LINES[2 * page + 1].index_in_page()] = minors[1];
                    both.persisted(0, MediaLine::counter(CounterBlock(PAGES[page].0)), &machine.codec.pack(major, &all));
                }
                Step::Status { page, old_major, done, finished } => {
                    both.reencryption(0, Coverage::PAGE.group(PAGES[page].line(0)), old_major, done.into(), finished);
                }
            }
            if ends_event {
                both.event_over(0);
                both.compare(&all);
            }
        }
    }

    #[test]
    fn random_streams_with_global_counters_get_the_same_line_verdicts(
        steps in proptest::collection::vec((global_step(), any::<bool>()), 1..120), line_atomic in promise(), beside: bool
    ) {
        let coverage = if beside { Coverage::LINE } else { Coverage::EIGHT_LINES };
        let counters = CounterLayout::Words { coverage, bytes: 8 };
        let machine = Machine::with_counters(counters);
        let base = machine.codec.base.clone();
        let mut both = Both {
            incremental: machine.audited_for(line_atomic, true, None),
            reference: Reference {
                codec: TestCodec::new(base.clone(), counters),
                line_atomic, status_survives: true, program: None, told: Vec::new(),
            },
        };
        let mut versions: Vec<Vec<LineBytes>> =
            NEIGHBOURS.iter().map(|&line| vec![base.line(line).copied().unwrap_or([0; 64])]).collect();
        let all: BTreeSet<Line> = (64..80).chain(128..136).map(Line).collect();
        for (step, ends_event) in steps {
            match step {
                GlobalStep::Store { line, value } => {
                    versions[line].push([value; 64]);
                    both.stored(0, 0, NEIGHBOURS[line], 0, &[value; 64]);
                }
                GlobalStep::Mark { line } => both.marked_counter_atomic(0, 0, NEIGHBOURS[line]),
                GlobalStep::Flush { line } => both.flushed(0, 0, NEIGHBOURS[line]),
                GlobalStep::Fence => both.fenced(0, 0),
                GlobalStep::Data { line, back, value } => {
                    let plain = versions[line][versions[line].len().saturating_sub(1 + back)];
                    both.persisted(0, MediaLine::data(NEIGHBOURS[line]), &crypt(NEIGHBOURS[line], value, 0, &plain));
                }
                GlobalStep::Counter { line, values } => {
                    let block = coverage.block(NEIGHBOURS[line]);
                    both.persisted(0, MediaLine::counter(block), &words(&values[..coverage.lines()]));
                }
            }
            if ends_event {
                both.event_over(0);
                both.compare(&all);
            }
        }
    }

    #[test]
    fn random_faults_get_the_same_transaction_verdicts(
        styles in proptest::collection::vec(
            prop_oneof![
                12 => Just(WriteStyle::Pair),
                2 => Just(WriteStyle::CounterFirst),
                2 => Just(WriteStyle::CounterKept),
                2 => Just(WriteStyle::Dropped),
                1 => Just(WriteStyle::PadReused),
            ],
            30,
        ),
        line_atomic in promise(), status_survives: bool, reset: bool, forgets_flush: bool, sparse: bool
    ) {
        let mut machine = Machine::new(2);
        if reset {
            machine.overflow = OverflowStyle::ResetAtOnce;
        }
        let fault = ProgramFault { forgets_flush, unequal: false };
        let base = machine.codec.base.clone();
        let (mut program, facts) = undo_pair(&base, 4, fault);
        // The same program again, for the reference's own ledger.
        let (mut twin, twin_facts) = undo_pair(&base, 4, fault);
        let mut buffer = crate::message::OpBuffer::default();
        while crate::message::OpSource::next_transaction(&mut twin, &mut buffer) {}
        let mut both = Both {
            incremental: machine.audited_for(line_atomic, status_survives, Some(facts)),
            reference: Reference {
                codec: codec(&base), line_atomic, status_survives,
                program: Some((UndoPair::new(), twin_facts.records, Vec::new())), told: Vec::new(),
            },
        };
        let all: BTreeSet<Line> = (0..3).flat_map(|page| (0..64).map(move |n| Page(page).line(n))).collect();
        let mut event = 0;
        machine.run(&mut program, &mut both, |write| styles[write as usize % styles.len()], &mut |_, both| {
            event += 1;
            // Judging every event and judging only some must not differ where both judge.
            if event % if sparse { 17 } else { 5 } == 0 {
                both.compare(&all);
            }
        });
        both.compare(&all);
    }
}

//! Every rule detects a design, a program or an outcome that deliberately breaks it, and no rule reports the correct
//! counterpart.

use super::fixture::*;
use crate::audit::{Auditor, CounterLayout, ProgramFacts, Rule, TransactionRecord, ledger_channel};
use crate::layout::Coverage;
use crate::message::{
    BaseImage, ByteView, CoreId, Line, LineBytes, MediaLine, Observer, ProgramLayout, ProgramRecovery, RecoveryReport,
};
use crate::parts::LineAtomicity;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const EIGHT: CounterLayout = CounterLayout::Words { coverage: Coverage::EIGHT_LINES, bytes: 8 };

/// Runs the test program, judging after every event, and returns the broken rules in order of discovery.
fn explore(
    minor_bits: u32,
    line_atomic: bool,
    status_survives: bool,
    fault: ProgramFault,
    overflow: OverflowStyle,
    style: impl FnMut(u64) -> WriteStyle,
) -> (Vec<Rule>, Auditor) {
    let mut machine = Machine::new(minor_bits);
    machine.overflow = overflow;
    let (mut program, facts) = undo_pair(&machine.codec.base, 5, fault);
    let mut auditor = machine.audited(line_atomic, status_survives, Some(facts));
    machine.run(&mut program, &mut auditor, style, &mut |_, auditor| {
        auditor.judge();
    });
    let mut rules: Vec<Rule> = auditor.violations().iter().map(|violation| violation.rule).collect();
    rules.dedup();
    (rules, auditor)
}

fn with_style(line_atomic: bool, style: WriteStyle) -> (Vec<Rule>, Auditor) {
    explore(7, line_atomic, true, ProgramFault::default(), OverflowStyle::Hardened, |_| style)
}

#[test]
fn two_crashes_have_one_digest_of_memory_exactly_if_a_boot_leaves_equal_bytes() {
    for style in [WriteStyle::Pair, WriteStyle::CounterKept, WriteStyle::CounterFirst] {
        let mut machine = Machine::new(2);
        let (mut program, _) = undo_pair(&machine.codec.base, 5, ProgramFault::default());
        let mut auditor = machine.audited(false, true, None);
        auditor.watch_image(u64::MAX);
        let mut digests = BTreeMap::new();
        machine.run(&mut program, &mut auditor, |_| style, &mut |machine, auditor| {
            auditor.judge();
            let before = |line| machine.codec.base.line(line).copied().unwrap_or([0; 64]);
            let memory: BTreeMap<u64, LineBytes> = auditor
                .booted_view()
                .filter(|(line, bytes)| **bytes != before(*line))
                .map(|(line, bytes)| (line.0, *bytes))
                .collect();
            let digest = auditor.image_digest().expect("it is watched");
            assert_eq!(*digests.entry(memory).or_insert(digest), digest);
        });
        let different: BTreeSet<u128> = digests.values().copied().collect();
        assert_eq!(different.len(), digests.len(), "{style:?}");
        assert!(digests.len() > 10, "{style:?}: {}", digests.len());
    }
}

#[test]
fn correct_design_breaks_no_rule() {
    let (rules, auditor) = with_style(true, WriteStyle::Pair);
    assert_eq!((rules, auditor.violation_count()), (vec![], 0));
    assert!(auditor.events() > 100);
}

#[test]
fn counter_that_stays_in_the_counter_cache_breaks_line_and_transaction() {
    let (rules, auditor) = with_style(false, WriteStyle::CounterKept);
    assert!(rules.contains(&Rule::Line) && rules.contains(&Rule::Durability), "{rules:?}");
    let told = &auditor.violations()[0].explanation;
    assert!(told.contains("never persisted during the run") && told.contains("never written"), "{told}");
}

#[test]
fn counter_that_persists_before_its_data_breaks_the_promise_of_line_atomicity_only() {
    let (rules, auditor) = with_style(true, WriteStyle::CounterFirst);
    assert_eq!(rules, [Rule::Line]);
    let told = &auditor.violations()[0].explanation;
    assert!(told.contains("its old or its new bytes"), "{told}");
    assert!(told.contains("nothing was ever written there"), "{told}");
    // With an undo log and no such promise, what write-through does is recoverable (secpm Table 2).
    assert_eq!(with_style(false, WriteStyle::CounterFirst).0, []);
}

#[test]
fn counter_that_persists_for_a_line_nobody_stores_to_breaks_the_line_rule_without_any_promise() {
    let mut machine = Machine::new(7);
    let mut auditor = machine.audited(false, true, None);
    let mut minors = [0; 64];
    minors[DATA[0].index_in_page()] = 2;
    auditor.persisted(0, MediaLine::counter(Coverage::PAGE.block(DATA[0])), &machine.codec.pack(0, &minors));
    machine.end_event(&mut auditor, &mut |_, _| ());
    assert!(!auditor.judge());
    assert_eq!(auditor.violations()[0].line, Some(DATA[0]));
    assert!(auditor.violations()[0].explanation.contains("must keep its old bytes"));
}

#[test]
fn acknowledged_write_that_is_lost_breaks_durability() {
    // Transaction 1 writes its log (3 writes), its data (2) and its log again; the data of transaction 2 is lost.
    let (rules, auditor) = explore(7, true, true, ProgramFault::default(), OverflowStyle::Hardened, |write| {
        if write / 6 == 2 { WriteStyle::Dropped } else { WriteStyle::Pair }
    });
    assert!(rules.contains(&Rule::Line) && rules.contains(&Rule::Durability), "{rules:?}");
    let lost = auditor.violations().iter().find(|violation| violation.rule == Rule::Durability).unwrap();
    assert!(lost.explanation.contains("transaction 2 of core 0 is missing"), "{}", lost.explanation);
    assert_eq!(lost.transaction, Some(3));
}

#[test]
fn program_that_forgets_a_flush_breaks_atomicity_and_not_the_line_rule() {
    let fault = ProgramFault { forgets_flush: true, ..ProgramFault::default() };
    let (rules, auditor) = explore(7, true, true, fault, OverflowStyle::Hardened, |_| WriteStyle::Pair);
    assert_eq!(rules[0], Rule::Atomicity);
    assert!(!rules.contains(&Rule::Line));
    let told = &auditor.violations()[0].explanation;
    assert!(told.contains("in the Commit stage of transaction 0") && told.contains("in part"), "{told}");
    assert!(told.contains("1 hold its bytes and 1 do not"), "{told}");
    assert_eq!(auditor.violations()[0].line, Some(DATA[1]));
}

#[test]
fn plaintext_that_leaves_the_chip_is_found() {
    let (rules, _) = with_style(false, WriteStyle::Plain);
    assert!(rules.contains(&Rule::Plaintext));
    // Also if the bus shows what the persistence domain was not reported to hold.
    let machine = Machine::new(7);
    let mut auditor = machine.audited(true, true, None);
    auditor.bus_write(0, MediaLine::data(DATA[0]), &[0x11; 64]);
    auditor.event_over(0);
    assert_eq!(auditor.violations()[0].rule, Rule::Plaintext);
}

#[test]
fn counter_that_is_not_incremented_reuses_a_pad_even_that_of_the_populated_base() {
    let (rules, auditor) =
        explore(7, false, true, ProgramFault::default(), OverflowStyle::Hardened, |write| match write {
            3 => WriteStyle::PadReused,
            _ => WriteStyle::Pair,
        });
    assert_eq!(rules, [Rule::PadReuse]);
    assert_eq!(auditor.violations()[0].line, Some(DATA[0]));
    assert!(auditor.violations()[0].explanation.contains("event 0"), "{}", auditor.violations()[0].explanation);
}

#[test]
fn same_write_persisting_twice_reuses_nothing() {
    let machine = Machine::new(7);
    let mut auditor = machine.audited(true, true, None);
    let line = Line(9);
    for plaintext in [[1; 64], [1; 64]] {
        auditor.write_arrived(0, line, &plaintext);
        auditor.persisted(0, MediaLine::data(line), &crypt(line, 0, 1, &plaintext));
        auditor.bus_write(0, MediaLine::data(line), &crypt(line, 0, 1, &plaintext));
    }
    assert_eq!(auditor.violation_count(), 0);
}

#[test]
fn page_reencryption_holds_when_minors_survive_until_their_done_bits() {
    let pair = |_| WriteStyle::Pair;
    let hardened = explore(2, true, true, ProgramFault::default(), OverflowStyle::Hardened, pair);
    assert_eq!(hardened.0, []);
    assert!(hardened.1.events() > 4 * 64, "five transactions overflow two-bit minors");
    let reset = explore(2, true, true, ProgramFault::default(), OverflowStyle::ResetAtOnce, pair);
    assert!(reset.0.contains(&Rule::Line), "{:?}", reset.0);
    let told = &reset.1.violations().iter().find(|violation| violation.rule == Rule::Line).unwrap().explanation;
    assert!(told.contains("re-encryption status register"), "{told}");
    let volatile = explore(2, true, false, ProgramFault::default(), OverflowStyle::Hardened, pair);
    assert!(volatile.0.contains(&Rule::Line), "{:?}", volatile.0);
}

/// A write that waits for page re-encryption leaves the line with its old bytes until then, for secrecy too.
#[test]
fn line_that_is_reencrypted_under_a_used_pad_is_found_while_a_write_of_it_waits() {
    let machine = Machine::new(7);
    let mut auditor = machine.audited(false, true, None);
    let line = Line(9);
    for (minor, value) in [(1, 3), (2, 1)] {
        auditor.write_arrived(0, line, &[value; 64]);
        auditor.persisted(0, MediaLine::data(line), &crypt(line, 0, minor, &[value; 64]));
    }
    auditor.write_arrived(0, line, &[8; 64]);
    auditor.reencryption(0, Coverage::PAGE.group(line), 0, 0, false);
    for (major, minor, leaks) in [(1, 0, 0), (0, 1, 1)] {
        auditor.persisted(0, MediaLine::data(line), &crypt(line, major, minor, &[1; 64]));
        auditor.event_over(0);
        assert_eq!(auditor.violation_count(), leaks, "major {major}, minor {minor}");
    }
    assert_eq!(auditor.violations()[0].rule, Rule::PadReuse);
}

/// Of a counter block whose queued entry is removed, the newest of the others counts.
#[test]
fn entry_that_is_removed_leaves_the_newest_of_its_block() {
    let machine = Machine::with_counters(EIGHT);
    let mut auditor = machine.audited(true, true, None);
    let (line, block) = (DATA[0], MediaLine::counter(Coverage::EIGHT_LINES.block(DATA[0])));
    auditor.stored(0, 0, line, 0, &[1; 64]);
    for counter in 2..5 {
        auditor.persisted(0, block, &words(&[counter]));
    }
    auditor.persisted(0, MediaLine::data(line), &crypt(line, 4, 0, &[1; 64]));
    for (counter, holds) in [(2, true), (4, false)] {
        auditor.coalesced(0, block, &words(&[counter]));
        auditor.event_over(0);
        assert_eq!(auditor.judge(), holds, "the entry with counter {counter} is removed");
    }
}

#[test]
fn boot_that_repeats_a_pad_is_found_and_one_future_does_not_disturb_another() {
    let machine = Machine::new(7);
    let mut auditor = machine.audited(true, true, None);
    let line = Line(9);
    auditor.write_arrived(0, line, &[1; 64]);
    auditor.persisted(0, MediaLine::data(line), &crypt(line, 0, 1, &[1; 64]));
    auditor.event_over(0);
    for (minor, value, clean) in [(1, 2, false), (2, 3, true), (2, 4, true), (1, 1, true)] {
        let mut watch = auditor.boot_watch();
        watch.write_arrived(0, line, &[value; 64]);
        watch.persisted(0, MediaLine::data(line), &crypt(line, 0, minor, &[value; 64]));
        let leaks = watch.finish();
        assert_eq!(auditor.boot_over(leaks), clean, "minor {minor}, value {value}");
    }
    assert_eq!(auditor.violations()[0].rule, Rule::PadReuse);
}

#[test]
fn only_marked_lines_are_held_to_the_promise_of_marked_lines() {
    let machine = Machine::with_counters(EIGHT);
    let mut auditor = machine.audited_for(LineAtomicity::Marked, true, None);
    let (marked, other) = (DATA[0], DATA[1]);
    auditor.marked_counter_atomic(0, 0, marked);
    for line in [other, marked] {
        auditor.stored(0, 0, line, 0, &[1; 64]);
        auditor.event_over(0);
        assert!(auditor.judge(), "nothing has left the caches");
        auditor.persisted(0, MediaLine::data(line), &crypt(line, 2, 0, &[1; 64]));
        auditor.event_over(0);
        assert_eq!(auditor.judge(), line == other, "the counter of {line:?} is not durable");
    }
    let violation = &auditor.violations()[0];
    assert_eq!((violation.rule, violation.line), (Rule::Line, Some(marked)));
    let told = &violation.explanation;
    assert!(told.contains("encrypted with counter 2,") && told.contains("says counter 1,"), "{told}");
    assert!(told.contains("core 0 made the line counter-atomic"), "{told}");
    auditor.persisted(0, MediaLine::counter(Coverage::EIGHT_LINES.block(marked)), &words(&[2]));
    auditor.event_over(0);
    assert!(auditor.judge());
}

#[test]
fn what_was_stored_before_the_marking_is_not_promised_until_a_fence_covers_it() {
    let machine = Machine::with_counters(EIGHT);
    let mut auditor = machine.audited_for(LineAtomicity::Marked, true, None);
    let line = DATA[0];
    auditor.stored(0, 0, line, 0, &[1; 64]);
    // Its eviction, as an ordinary line: the counter stays behind.
    auditor.persisted(0, MediaLine::data(line), &crypt(line, 2, 0, &[1; 64]));
    auditor.marked_counter_atomic(0, 0, line);
    auditor.stored(0, 0, line, 0, &[2; 64]);
    assert!(auditor.judge());
    auditor.persisted(0, MediaLine::counter(Coverage::EIGHT_LINES.block(line)), &words(&[3]));
    auditor.persisted(0, MediaLine::data(line), &crypt(line, 3, 0, &[2; 64]));
    auditor.flushed(0, 0, line);
    auditor.fenced(0, 0);
    assert!(auditor.judge());
    auditor.stored(0, 0, line, 0, &[3; 64]);
    auditor.persisted(0, MediaLine::data(line), &crypt(line, 4, 0, &[3; 64]));
    assert!(!auditor.judge(), "the fence covered the marked store");
}

#[test]
fn counter_that_lies_beside_its_line_needs_no_counter_region() {
    let counters = CounterLayout::Words { coverage: Coverage::LINE, bytes: 8 };
    for (style, holds) in [(WriteStyle::Pair, true), (WriteStyle::CounterFirst, false)] {
        let mut machine = Machine::with_counters(counters);
        let (mut program, facts) = undo_pair(&machine.codec.base, 5, ProgramFault::default());
        let mut auditor = machine.audited(true, true, Some(facts));
        machine.run(&mut program, &mut auditor, |_| style, &mut |_, auditor| {
            auditor.judge();
        });
        assert_eq!(auditor.violations().is_empty(), holds, "{style:?}");
        assert!(
            auditor.violations().iter().all(|violation| violation.explanation.contains("the line's counter entered"))
        );
    }
}

#[test]
fn violation_tells_the_stage_of_its_transaction() {
    let (_, auditor) = with_style(true, WriteStyle::CounterFirst);
    let mut stages: Vec<_> = auditor.violations().iter().map(|violation| (violation.line, violation.stage)).collect();
    stages.sort();
    // The header is written in Prepare and in Commit; the first of them is explained.
    let expected = [(0, "prepare"), (1, "prepare"), (2, "prepare"), (64, "mutate"), (128, "mutate")];
    assert_eq!(stages, expected.map(|(line, stage)| (Some(Line(line)), Some(stage))));
    let fault = ProgramFault { forgets_flush: true, ..ProgramFault::default() };
    let (_, auditor) = explore(7, true, true, fault, OverflowStyle::Hardened, |_| WriteStyle::Pair);
    assert_eq!(auditor.violations()[0].stage, Some("commit"));
    // A program that cannot be judged has no stages.
    let machine = Machine::new(7);
    let mut auditor = machine.audited(true, true, None);
    auditor.bus_write(0, MediaLine::data(DATA[0]), &[0x11; 64]);
    auditor.event_over(0);
    assert_eq!(auditor.violations()[0].stage, None);
}

#[test]
fn unencrypted_memory_is_judged_too() {
    let machine = Machine::new(7);
    let mut auditor = Auditor::new(crate::audit::AuditSetup {
        base: machine.codec.base.clone(),
        cores: 1,
        cipher: None,
        direct: None,
        log: None,
        line_atomic: LineAtomicity::Every,
        secret: false,
        status_survives: false,
        drain: None,
        program: None,
    });
    auditor.stored(0, 0, Line(3), 0, &[5; 8]);
    auditor.flushed(0, 0, Line(3));
    auditor.event_over(0);
    assert!(auditor.judge());
    let mut bytes = [0; 64];
    bytes[..8].fill(5);
    auditor.persisted(0, MediaLine::data(Line(3)), &bytes);
    auditor.fenced(0, 0);
    auditor.event_over(0);
    assert!(auditor.judge());
    bytes[0] = 6;
    auditor.persisted(0, MediaLine::data(Line(3)), &bytes);
    auditor.event_over(0);
    assert!(!auditor.judge());
    assert_eq!(auditor.violations()[0].rule, Rule::Line);
}

#[test]
fn equal_durable_states_have_equal_hashes_and_different_ones_do_not() {
    let machine = Machine::new(7);
    let mut auditor = machine.audited(true, true, None);
    let empty = auditor.state_hash();
    let (a, b) = (MediaLine::data(Line(1)), MediaLine::counter(crate::message::CounterBlock(1)));
    auditor.persisted(0, a, &[1; 64]);
    let one = auditor.state_hash();
    auditor.persisted(0, b, &[2; 64]);
    let two = auditor.state_hash();
    auditor.persisted(0, a, &[3; 64]);
    auditor.persisted(0, a, &[1; 64]);
    assert_eq!(auditor.state_hash(), two);
    auditor.reencryption(0, Coverage::PAGE.group(Line(64)), 0, 1, false);
    let busy = auditor.state_hash();
    auditor.reencryption(0, Coverage::PAGE.group(Line(64)), 0, 1, true);
    assert_eq!(auditor.state_hash(), two);
    let all = [empty, one, two, busy];
    assert!((0..4).all(|n| (0..n).all(|m| all[n] != all[m])));
}

/// A program without a log: a new node, then the pointer to it.
struct Unlogged(Vec<ProgramLayout>);

impl ProgramRecovery for Unlogged {
    fn layouts(&self) -> &[ProgramLayout] {
        &self.0
    }
    fn recover(&self, _core: CoreId, _view: &mut dyn ByteView) -> RecoveryReport {
        RecoveryReport::default()
    }
    fn check(&self, _core: CoreId, _view: &mut dyn ByteView) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn fresh_memory_of_an_unfinished_transaction_may_hold_anything_until_it_commits() {
    let (head, node) = (DATA[0], Line(70));
    let record = |number, node_value| TransactionRecord {
        core: 0,
        number: Some(number),
        writes: vec![(node, [node_value; 64]), (head, [node_value + 1; 64])],
        prepared: Vec::new(),
    };
    let machine = Machine::new(7);
    let (sender, records) = ledger_channel();
    sender.send(record(0, 2)).unwrap();
    sender.send(record(1, 4)).unwrap();
    let recovery = Arc::new(Unlogged(vec![ProgramLayout { core: 0, log: 0..0, heap: 4096..8192, volatile: 0..0 }]));
    let mut auditor = machine.audited(false, true, Some(ProgramFacts { recovery, records }));
    let mut minors = [0; 64];
    minors[head.index_in_page()] = 1;
    minors[node.index_in_page()] = 1;
    auditor.transaction_began(0, 0, 0);
    auditor.stored(0, 0, node, 0, &[2; 64]);
    auditor.stored(0, 0, head, 0, &[3; 64]);
    assert!(auditor.judge());
    // The node's counter is there before its data: garbage, but it belongs to no state.
    auditor.persisted(0, MediaLine::counter(Coverage::PAGE.block(head)), &machine.codec.pack(0, &minors));
    assert!(auditor.judge());
    auditor.persisted(0, MediaLine::data(node), &crypt(node, 0, 1, &[2; 64]));
    assert!(auditor.judge());
    // The head's counter alone: neither the old head nor the new one.
    minors[head.index_in_page()] = 2;
    auditor.persisted(0, MediaLine::counter(Coverage::PAGE.block(head)), &machine.codec.pack(0, &minors));
    assert!(!auditor.judge());
    let violation = &auditor.violations()[0];
    assert_eq!((violation.rule, violation.line), (Rule::Atomicity, Some(head)));
    assert_eq!(violation.stage, Some("prepare"), "no fence has completed");
    assert!(violation.explanation.contains("which keeps no log"), "{}", violation.explanation);
    auditor.persisted(0, MediaLine::data(head), &crypt(head, 0, 2, &[3; 64]));
    assert!(auditor.judge());
    auditor.transaction_ended(0, 0, 0);
    assert!(auditor.judge());
    // The node belongs to the committed state now; the next transaction must not destroy it.
    auditor.transaction_began(0, 0, 1);
    assert!(auditor.judge());
    minors[node.index_in_page()] = 2;
    auditor.persisted(0, MediaLine::counter(Coverage::PAGE.block(head)), &machine.codec.pack(0, &minors));
    assert!(!auditor.judge());
    auditor.persisted(0, MediaLine::data(node), &crypt(node, 0, 2, &[4; 64]));
    assert!(!auditor.judge(), "the node of transaction 1 without its head is half of the transaction");
}

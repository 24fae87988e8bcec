//! Stores that are not durable at the end.

use super::super::report::CheckedBy;
use super::*;
use crate::attribution::{Place, Shown};
use crate::check::program_state::ProgramState;
use crate::check::report::{Finding, merged};

#[test]
fn store_that_nothing_flushes() {
    assert_eq!(Program::new().store(1, 0, 0).found(), [("never-flushed", 1, 1)]);
    assert_eq!(Program::new().store(1, 0, 0).sfence(2).found(), [("never-flushed", 1, 1), ("idle-fence", 2, 1)]);
    let other_line = Program::new().store(1, 0, 7).store(2, 1, 0).clwb(3, 1).sfence(4);
    assert_eq!(other_line.found(), [("never-flushed", 1, 1)]);
    assert_eq!(Program::new().store(1, 0, 0).clwb(2, 0).sfence(3).found(), NOTHING);
    assert_eq!(Program::new().store(1, 0, 0).flush(0x15, 2, 0).mfence(3).found(), NOTHING);
}

#[test]
fn stores_are_counted_by_line_of_source_and_by_line_of_memory() {
    let twice = Program::new().store(1, 0, 0).store(1, 0, 0).store(2, 0, 1).store(1, 5, 0);
    assert_eq!(twice.found(), [("never-flushed", 1, 3), ("never-flushed", 2, 1)]);
    let across = Program::new().bytes(0x11, 1, 60, &[1; 8]);
    assert_eq!(across.clone().found(), [("never-flushed", 1, 2)]);
    assert_eq!(across.clwb(2, 0).sfence(3).found(), [("never-flushed", 1, 1)]);
}

#[test]
fn store_that_is_overwritten_is_flushed_with_what_overwrites_it() {
    assert_eq!(Program::new().store(1, 0, 0).store(2, 0, 0).clwb(3, 0).sfence(4).found(), NOTHING);
}

#[test]
fn what_a_system_call_writes_is_a_store() {
    let written = Program::new().bytes(0x19, 1, 32, &[9; 96]);
    assert_eq!(written.clone().found(), [("never-flushed", 1, 2)]);
    assert_eq!(written.clwb(2, 0).clwb(2, 1).sfence(3).found(), NOTHING);
}

#[test]
fn flush_that_no_fence_completes() {
    let flushed = Program::new().store(1, 0, 0).clwb(2, 0);
    assert_eq!(flushed.clone().found(), [("never-fenced", 1, 1)]);
    assert_eq!(flushed.clone().thread(1).sfence(3).found(), [("never-fenced", 1, 1), ("idle-fence", 3, 1)]);
    assert_eq!(flushed.clone().mfence(3).found(), NOTHING);
    let before = Program::new().store(1, 0, 0).mfence(2).clwb(3, 0);
    assert_eq!(before.found(), [("never-fenced", 1, 1)]);
    // A second thread that flushes the line and fences makes it durable.
    assert_eq!(flushed.thread(1).clwb(3, 0).sfence(4).found(), NOTHING);
}

#[test]
fn clflush_needs_no_fence() {
    assert_eq!(Program::new().store(1, 0, 0).clflush(2, 0).found(), NOTHING);
    let later = Program::new().store(1, 0, 0).clflush(2, 0).store(3, 0, 0);
    assert_eq!(later.found(), [("never-flushed", 3, 1)]);
}

#[test]
fn store_between_flush_and_fence() {
    let late = Program::new().store(1, 0, 0).clwb(2, 0).store(3, 0, 1);
    assert_eq!(late.clone().sfence(4).found(), [("stored-after-flush", 3, 1)]);
    // Flushed as well, before the fence or after it.
    assert_eq!(late.clone().clwb(4, 0).sfence(5).found(), NOTHING);
    assert_eq!(late.clone().sfence(4).clwb(5, 0).sfence(6).found(), NOTHING);
    assert_eq!(late.clone().sfence(4).clwb(5, 0).found(), [("never-fenced", 3, 1)]);
    // After the fence, or in another line, or by another thread, it was simply not flushed.
    let after = Program::new().store(1, 0, 0).clwb(2, 0).sfence(4).store(3, 0, 1);
    assert_eq!(after.found(), [("never-flushed", 3, 1)]);
    let elsewhere = Program::new().store(1, 0, 0).clwb(2, 0).store(3, 1, 0).sfence(4);
    assert_eq!(elsewhere.found(), [("never-flushed", 3, 1)]);
    let of_other = Program::new().store(1, 0, 0).clwb(2, 0).thread(1).store(3, 0, 1).thread(0).sfence(4);
    assert_eq!(of_other.found(), [("never-flushed", 3, 1)]);
    // No fence at all.
    assert_eq!(late.found(), [("stored-after-flush", 3, 1), ("never-fenced", 1, 1)]);
}

#[test]
fn flush_too_early_of_a_clean_line() {
    let early = Program::new().clwb(1, 0).store(2, 0, 0).sfence(3);
    assert_eq!(early.found(), [("stored-after-flush", 2, 1), ("clean-flush", 1, 1)]);
}

#[test]
fn non_temporal_stores_need_a_fence_of_their_thread() {
    let stored = Program::new().past_caches(1, 0, 0);
    assert_eq!(stored.clone().found(), [("non-temporal-not-fenced", 1, 1)]);
    assert_eq!(stored.clone().sfence(2).found(), NOTHING);
    let other = stored.clone().thread(1).mfence(2);
    assert_eq!(other.found(), [("non-temporal-not-fenced", 1, 1)]);
    // A fence says nothing of a cached store to the same line.
    assert_eq!(stored.store(2, 0, 1).sfence(3).found(), [("never-flushed", 2, 1)]);
    let before_fence = Program::new().sfence(9).past_caches(1, 0, 0);
    assert_eq!(before_fence.found(), [("non-temporal-not-fenced", 1, 1), ("idle-fence", 9, 1)]);
}

#[test]
fn locked_operation_is_a_fence_before_its_store() {
    let locked = Program::new().store(1, 0, 0).clwb(2, 0).locked(3, 1);
    assert_eq!(locked.clone().found(), [("never-flushed", 3, 1)]);
    assert_eq!(locked.clwb(4, 1).sfence(5).found(), NOTHING);
    let same_line = Program::new().store(1, 0, 0).clwb(2, 0).locked(3, 0);
    assert_eq!(same_line.found(), [("never-flushed", 3, 1)]);
}

#[test]
fn two_mappings_of_a_file_are_the_same_memory() {
    let second = BASE + 0x10_0000;
    let stream = Stream::with_file().map(second, 0x1000, 0, 0).store(0x11, 0, 1, BASE, &[1]);
    let stream = stream.flush(0x14, 0, 2, second).fence(0x17, 0, 3);
    assert_eq!(counted(&checked(stream.end(0), &CheckSettings::default()).unwrap()), NOTHING);
    let unmapped = Stream::with_file().store(0x11, 0, 1, BASE, &[1]).unmap(BASE, 0x1000);
    assert_eq!(counted(&checked(unmapped.end(0), &CheckSettings::default()).unwrap()), [("never-flushed", 1, 1)]);
}

#[test]
fn instructions_that_are_shown_alike_are_one_place() {
    let mut state = ProgramState::new(None, false);
    let program = Program::new().store(1, 0, 0).store(2, 1, 0).store(1, 2, 0);
    let read = steps(program, &mut |step| state.take(step));
    let (findings, _) = state.finish(None);
    let line = Place { text: "pool.c:7".to_owned(), source: None, function: None, object: None };
    let sites = Shown { places: vec![line; 8], calls: vec![None, Some("pool.c:9".to_owned())] };
    let found = merged(findings, &sites, &read);
    let example = |finding: &Finding| (finding.count, finding.example.record, finding.example.called_at.clone());
    // SYNC, FILE and MAP come first.
    assert_eq!(found.iter().map(example).collect::<Vec<_>>(), [(3, 4, Some("pool.c:9".to_owned()))]);
}

#[test]
fn examples_are_the_first_operations() {
    let report = Program::new().store(1, 1, 1).sfence(2).thread(3).store(1, 0, 0).report();
    assert!(!report.holds);
    let example = &report.findings[0].example;
    // SYNC, FILE and MAP come first.
    assert_eq!((example.record, example.thread, example.address), (4, 0, Some(BASE + 72)));
    assert_eq!((example.file.as_deref(), example.offset), (Some("pool"), Some(72)));
    let fence = &report.findings[1].example;
    assert_eq!((fence.record, fence.address, fence.offset, &fence.file), (5, None, None, &None));
    assert_eq!((report.counts.stores, report.counts.fences, report.records), (2, 1, 7));
}

#[test]
fn what_only_a_locked_instruction_fences_for_another_purpose_is_not_fenced() {
    let flushed = Program::new().store(1, 0, 0).clwb(2, 0);
    let report = flushed.clone().locked_elsewhere(3).report();
    assert!(!report.holds);
    assert_eq!(counted(&report), [("never-fenced", 1, 1)]);
    let finding = &report.findings[0];
    assert_eq!(finding.fenced_by.as_ref().map(|by| by.text.as_str()), Some("0x3"));
    let told_of = "It is fenced only by the locked instruction at 0x3, which is executed for another purpose.";
    assert!(finding.sentence.ends_with(told_of), "{}", finding.sentence);
    let past = Program::new().past_caches(1, 0, 0).locked_elsewhere(3).report();
    assert_eq!(counted(&past), [("non-temporal-not-fenced", 1, 1)]);
    assert!(past.findings[0].fenced_by.is_some());
    // Of another thread it is nothing; before the flush, too.
    let other = flushed.clone().thread(1).locked_elsewhere(3).report();
    assert!(other.findings[0].kind.name() == "never-fenced" && other.findings[0].fenced_by.is_none());
    let before = Program::new().store(1, 0, 0).locked_elsewhere(3).clwb(2, 0).report();
    assert!(before.findings[0].fenced_by.is_none());
    // What is not flushed is not fenced by chance either.
    let unflushed = Program::new().store(1, 0, 0).locked_elsewhere(3).report();
    assert!(unflushed.findings[0].kind.name() == "never-flushed" && unflushed.findings[0].fenced_by.is_none());
    // With a fence of its own, or if the program goes on, nothing is missing.
    assert!(flushed.clone().locked_elsewhere(3).sfence(4).report().holds);
    assert!(flushed.locked_elsewhere(3).store(4, 1, 0).clwb(5, 1).sfence(6).report().holds);
}

#[test]
fn verdict_says_what_was_checked_and_what_was_not() {
    let held = Program::new().store(1, 0, 0).clwb(2, 0).sfence(3).report();
    assert!(held.checked.starts_with(
        "Every store is flushed, and fenced if its flush needs that (clflush does not), at the end of the program"
    ));
    let by: Vec<_> = held.not_checked.iter().map(|not| not.by).collect();
    assert_eq!(by, [Some(CheckedBy::LegalStates), Some(CheckedBy::LegalStatesOfEadr)]);
    let two = Program::new().store(1, 0, 0).clwb(2, 0).sfence(3).thread(1).sfence(4).report();
    assert_eq!(two.not_checked.len(), 3);
    assert!(two.not_checked[2].what.contains("2 threads"), "{:?}", two.not_checked[2]);
    let wrong = Program::new().store(1, 0, 0).report();
    assert!(wrong.checked.starts_with("Whether every store is flushed, and fenced if"), "{}", wrong.checked);
    let nothing = Program::new().sfence(1).report();
    assert!(nothing.holds && nothing.checked.contains("nothing to check"), "{}", nothing.checked);
    let lacking = checked(Program::new().store(1, 0, 0).0.lacks(0, b"").end(0), &CheckSettings::default()).unwrap();
    assert_eq!(lacking.lacks, ["The program started other processes, of which nothing is recorded."]);
}

#[test]
fn what_a_library_stores_in_one_call_is_one_finding_at_the_call() {
    let stream =
        Stream::with_file().code(0x1000, 0x1000, 0, b"/lib/libc.so.6").code(0x4000, 0x1000, 0, b"/opt/program");
    let mut copied = Program(stream.callers(&[0x4010, 0x1800]));
    for word in 0..4 {
        copied = copied.bytes(0x1d, 0x1100 + word, word * 64, &[1; 32]);
    }
    let report = copied.report();
    let found: Vec<_> = report.findings.iter().map(|one| (one.at.text.as_str(), one.kind.name(), one.count)).collect();
    assert_eq!(found, [("program+0x10", "never-flushed", 4)]);
}

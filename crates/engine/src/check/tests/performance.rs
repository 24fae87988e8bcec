//! Useless flushes and fences.

use super::*;

#[test]
fn line_flushed_twice() {
    let once = Program::new().store(1, 0, 0).clwb(2, 0);
    assert_eq!(once.clone().clwb(3, 0).sfence(4).found(), [("flushed-twice", 3, 1)]);
    assert_eq!(once.clone().sfence(4).clwb(3, 0).sfence(5).found(), [("flushed-twice", 3, 1)]);
    assert_eq!(once.clone().sfence(4).clflush(3, 0).clwb(3, 0).found(), [("flushed-twice", 3, 2)]);
    // A store between, or another line, or another thread that needs no fence but its own.
    assert_eq!(once.clone().store(5, 0, 0).clwb(3, 0).sfence(4).found(), NOTHING);
    assert_eq!(once.clone().store(5, 1, 0).clwb(3, 1).sfence(4).found(), NOTHING);
    assert_eq!(once.clone().thread(1).clwb(3, 0).sfence(4).found(), NOTHING);
    assert_eq!(once.sfence(4).thread(1).clwb(3, 0).sfence(5).found(), [("flushed-twice", 3, 1)]);
    let report = Program::new().store(1, 0, 0).clwb(2, 0).clwb(2, 0).sfence(3).report();
    assert!(report.holds, "a useless flush loses nothing");
    assert_eq!(report.counts.flushes, 2);
}

#[test]
fn flush_of_a_clean_line() {
    assert_eq!(Program::new().clwb(1, 0).sfence(2).found(), [("clean-flush", 1, 1)]);
    let again = Program::new().clwb(1, 0).clwb(2, 0).sfence(3);
    assert_eq!(again.found(), [("flushed-twice", 2, 1), ("clean-flush", 1, 1)]);
    let after = Program::new().clwb(1, 0).sfence(2).store(3, 0, 0).clwb(4, 0).sfence(5);
    assert_eq!(after.found(), [("clean-flush", 1, 1)]);
    // Nothing in the caches.
    let past = Program::new().past_caches(1, 0, 0).clwb(2, 0).sfence(3);
    assert_eq!(past.found(), [("clean-flush", 2, 1)]);
    let both = Program::new().past_caches(1, 0, 0).store(4, 0, 1).clwb(2, 0).sfence(3);
    assert_eq!(both.found(), NOTHING);
}

#[test]
fn flush_of_memory_that_is_not_persistent() {
    let outside = Program(Stream::with_file().flush(0x14, 0, 1, 0x1000)).sfence(2);
    let report = outside.report();
    assert_eq!(counted(&report), [("volatile-flush", 1, 1)]);
    let example = &report.findings[0].example;
    assert_eq!((example.address, example.offset, &example.file, report.counts.flushes), (Some(0x1000), None, &None, 0));
}

#[test]
fn fence_without_work() {
    assert_eq!(Program::new().sfence(1).found(), [("idle-fence", 1, 1)]);
    let flushed = Program::new().store(1, 0, 0).clwb(2, 0).sfence(3);
    assert_eq!(flushed.clone().sfence(4).found(), [("idle-fence", 4, 1)]);
    assert_eq!(Program::new().store(1, 0, 0).clflush(2, 0).sfence(3).found(), NOTHING);
    assert_eq!(Program::new().past_caches(1, 0, 0).sfence(3).found(), NOTHING);
    // The work of another thread is not its own, and a fence of loads, or a locked operation, has other uses.
    assert_eq!(flushed.thread(1).sfence(4).mfence(5).found(), [("idle-fence", 4, 1)]);
    let locked = Program::new().store(1, 0, 0).clwb(2, 0).locked(3, 0).sfence(4).clwb(5, 0).sfence(6);
    assert_eq!(locked.found(), [("idle-fence", 4, 1)]);
}

#[test]
fn operations_of_a_finding_are_numbered_if_costs_are_asked_for() {
    let program =
        Program::new().store(1, 0, 0).clwb(2, 0).clwb(3, 0).sfence(4).clwb(3, 1).clwb(3, 0).sfence(5).sfence(6);
    let settings = CheckSettings { costs: true, ..CheckSettings::default() };
    let report = checked(program.clone().0.end(0), &settings).unwrap();
    let numbers: Vec<(&str, Vec<u64>)> =
        report.findings.iter().map(|finding| (finding.kind.name(), finding.numbers.clone())).collect();
    assert_eq!(
        numbers,
        [("flushed-twice", vec![1, 3]), ("clean-flush", vec![2]), ("idle-fence", vec![2])],
        "flushes and fences are numbered apart"
    );
    assert!(program.report().findings.iter().all(|finding| finding.numbers.is_empty()));
}

//! Stores that a later store overtakes.

use super::*;

/// The kinds and lines, and for those that are overtaken the line of the later store.
fn overtaken(program: Program) -> Vec<(u64, u64, u64)> {
    let report = program.report();
    let found = report.findings.iter().filter(|finding| finding.kind.name() == "not-ordered");
    found
        .map(|finding| {
            let later = line_of(&finding.later.as_ref().expect("a later store").text);
            assert!(finding.sentence.ends_with(&format!("The later store is at {later:#x}.")), "{}", finding.sentence);
            (line_of(&finding.at.text), later, finding.count)
        })
        .collect()
}

const NONE: [(u64, u64, u64); 0] = [];

#[test]
fn address_of_what_is_flushed_and_not_fenced() {
    let node = Program::new().store(1, 2, 1).clwb(2, 2);
    let head = |program: Program| program.point(3, 0, 2 * 64).clwb(4, 0).sfence(5);
    assert_eq!(overtaken(head(node.clone())), [(1, 3, 1)]);
    assert_eq!(overtaken(head(node.clone().sfence(9))), NONE);
    assert_eq!(overtaken(head(node.clone().mfence(9))), NONE);
    assert_eq!(overtaken(head(Program::new().store(1, 2, 1).clflush(2, 2))), NONE);
    // Other stores are not published: no address, an address of something else, or of what follows in the line.
    assert_eq!(overtaken(node.clone().store(3, 0, 0).clwb(4, 0).sfence(5)), NONE);
    assert_eq!(overtaken(node.clone().point(3, 0, 3 * 64).clwb(4, 0).sfence(5)), NONE);
    assert_eq!(overtaken(node.clone().point(3, 0, 2 * 64 + 16).clwb(4, 0).sfence(5)), NONE);
    assert_eq!(overtaken(node.clone().point(3, 0, 2 * 64 + 15).clwb(4, 0).sfence(5)), [(1, 3, 1)]);
    // A log protects a transaction.
    assert_eq!(overtaken(head(node.clone().begin()).commit()), NONE);
    assert_eq!(overtaken(head(node.begin().commit())), [(1, 3, 1)]);
}

#[test]
fn address_within_a_larger_store() {
    let node = || Program::new().store(1, 2, 0).clwb(2, 2);
    let mut bytes = [0; 32];
    bytes[12..20].copy_from_slice(&(BASE + 128).to_le_bytes());
    // Aligned in memory, not in the store.
    assert_eq!(overtaken(node().bytes(0x11, 3, 4, &bytes).clwb(4, 0).sfence(5)), [(1, 3, 1)]);
    assert_eq!(overtaken(node().bytes(0x11, 3, 5, &bytes).clwb(4, 0).sfence(5)), NONE);
}

#[test]
fn address_of_a_non_temporal_store_without_a_fence() {
    let node = Program::new().past_caches(1, 2, 0);
    assert_eq!(overtaken(node.clone().point(3, 0, 128).clwb(4, 0).sfence(5)), [(1, 3, 1)]);
    assert_eq!(overtaken(node.sfence(2).point(3, 0, 128).clwb(4, 0).sfence(5)), NONE);
}

#[test]
fn address_that_is_durable_first() {
    let published = Program::new().store(1, 2, 0).point(3, 0, 128);
    let first = published.clone().clwb(4, 0).sfence(5).clwb(6, 2).sfence(7);
    assert_eq!(overtaken(first), [(1, 3, 1)]);
    let clflush = published.clone().clflush(4, 0).clwb(6, 2).sfence(7);
    assert_eq!(overtaken(clflush), [(1, 3, 1)]);
    // Both by one fence, or the node first.
    assert_eq!(overtaken(published.clone().clwb(4, 0).clwb(6, 2).sfence(7)), NONE);
    assert_eq!(overtaken(published.clone().clwb(6, 2).sfence(7).clwb(4, 0).sfence(5)), NONE);
    // What is stored to the node after it is published is another matter.
    let later = Program::new().point(3, 0, 128).store(1, 2, 0).clwb(4, 0).sfence(5).clwb(6, 2).sfence(7);
    assert_eq!(overtaken(later), NONE);
    let more = published.clone().store(8, 2, 1).clwb(4, 0).sfence(5).clwb(6, 2).sfence(7);
    assert_eq!(overtaken(more), [(1, 3, 1)]);
    // An address that is overwritten publishes nothing.
    let overwritten = published.clone().store(8, 0, 0).clwb(4, 0).sfence(5).clwb(6, 2).sfence(7);
    assert_eq!(overtaken(overwritten), NONE);
    let beside = published.store(8, 0, 1).clwb(4, 0).sfence(5).clwb(6, 2).sfence(7);
    assert_eq!(overtaken(beside), [(1, 3, 1)]);
}

#[test]
fn many_stores_that_one_fence_completes_are_in_order() {
    let batch = Program::new().store(1, 2, 0).clwb(2, 2).store(3, 0, 0).clwb(4, 0).sfence(5);
    assert_eq!(batch.found(), NOTHING);
    let log = Program::new().store(1, 2, 0).store(3, 0, 0).clwb(4, 0).sfence(5).clwb(6, 2).sfence(7);
    assert_eq!(log.found(), NOTHING);
}

/// Thread 0 stores, thread 1 flushes, thread 0 fences and makes a later store durable.
fn lent(fenced_by_flusher: bool) -> Program {
    let flushed = Program::new().store(1, 0, 0).thread(1).clwb(2, 0);
    let flushed = if fenced_by_flusher { flushed.sfence(3) } else { flushed };
    flushed.thread(0).mfence(4)
}

#[test]
fn flush_of_another_thread() {
    let later = |program: Program| program.store(5, 1, 0).clwb(6, 1).sfence(7);
    let end = |program: Program| program.thread(1).sfence(8);
    assert_eq!(overtaken(end(later(lent(false)))), [(1, 5, 1)]);
    assert_eq!(overtaken(later(lent(true))), NONE);
    // Twice, each time with a fence: two stores of one place are two.
    let again = lent(false).store(1, 0, 0).thread(1).clwb(2, 0).thread(0).mfence(4);
    assert_eq!(overtaken(end(later(again))), [(1, 5, 2)]);
    // Never completed: not durable at all, which is worse.
    assert_eq!(later(lent(false)).found(), [("never-fenced", 1, 1)]);
    // Without a fence before the later store nothing says that the thread relies on it.
    let unfenced = Program::new().store(1, 0, 0).thread(1).clwb(2, 0).thread(0);
    assert_eq!(overtaken(end(later(unfenced))), NONE);
    // The later store is older than the fence, or is not made durable meanwhile, or is another thread's.
    let older = Program::new().store(1, 0, 0).store(5, 1, 0).thread(1).clwb(2, 0).thread(0).mfence(4);
    assert_eq!(overtaken(end(older.clwb(6, 1).sfence(7))), NONE);
    assert_eq!(overtaken(end(lent(false).store(5, 1, 0).clwb(6, 1)).thread(0).sfence(7)), NONE);
    assert_eq!(overtaken(end(later(lent(false).thread(2)))), NONE);
    // The thread flushes the line itself afterwards: other data in the same line was flushed.
    assert_eq!(overtaken(later(lent(false)).clwb(9, 0).sfence(10)), NONE);
    assert_eq!(overtaken(end(later(lent(false))).thread(0).clwb(9, 0).sfence(10)), NONE);
}

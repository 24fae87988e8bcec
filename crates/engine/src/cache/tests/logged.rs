//! Transactions that hardware logs: the log trigger at its exact edges, and the rules for random programs.

use super::edges::{SMALL, caches, fill, fill_dirty, line, store, wakes, write};
use crate::cache::Hierarchy;
use crate::message::{Access, CachePort, CoreId, FlushKind, Line, LineBytes, MemoryRequest, Wake};
use std::collections::{HashMap, HashSet};

/// The core and transaction that wrote a version of a line; `None` for the first version.
pub(super) type Writer = Option<(CoreId, u32)>;

/// A model of a transaction with a log.
#[derive(Default)]
pub(super) struct Transaction {
    /// The version of each line that was logged last, and whether the log manager has it.
    logged: HashMap<Line, (usize, bool)>,
    /// Lines that have stayed in the first level since they were last logged.
    kept: HashSet<Line>,
}

impl Transaction {
    /// Version `version` of `line` was sent to the log manager.
    pub(super) fn sent(&mut self, line: Line, version: usize) {
        self.logged.insert(line, (version, false));
        self.kept.insert(line);
    }

    /// The log manager has what was sent of `line`.
    pub(super) fn taken(&mut self, line: Line) {
        self.logged.get_mut(&line).expect("it was sent").1 = true;
    }

    /// Forgets lines that have left the first level.
    pub(super) fn keep(&mut self, in_first_level: impl Fn(Line) -> bool) {
        self.kept.retain(|&line| in_first_level(line));
    }

    /// `own` is about to store to `line`, whose versions so far have these writers.
    pub(super) fn check_store(&self, line: Line, writers: &[Writer], own: Writer) {
        assert!(self.kept.contains(&line), "a line that came back has to be logged again");
        let (version, taken) = self.logged[&line];
        assert!(taken, "a store before the log manager has the old bytes");
        let since = &writers[version + 1..];
        assert!(since.iter().all(|writer| *writer == own), "undoing to what was logged undoes somebody else's store");
    }
}

/// The only request, which must be a log entry.
fn log_entry(caches: &mut Hierarchy) -> (u64, u16, Line, LineBytes) {
    let requests: Vec<_> = caches.requests().collect();
    match requests[..] {
        [MemoryRequest::Log { at, core, line, old }] => (at, core, line, old),
        _ => panic!("one log entry expected, got {requests:?}"),
    }
}

/// Begins a transaction of `core` and gives it registers at once.
fn begin(caches: &mut Hierarchy, now: u64, core: u16) {
    caches.begin_transaction(now, core);
    assert_eq!(caches.requests().count(), 1);
    caches.transaction_begun(now, core);
    assert!(wakes(caches).is_empty(), "nobody waited");
}

#[test]
fn first_store_to_a_line_in_a_transaction_sends_its_old_bytes_and_waits() {
    let mut c = caches([(4, 1, 4, false), (4, 1, 4, false), (4, 1, 4, true)], 1);
    fill_dirty(&mut c, 0, 0, line(1));
    fill(&mut c, 0, 0, line(2));
    assert_eq!(c.prepare_store(0, 0, line(1)), Access::At(0), "outside transactions nothing is logged");
    assert_eq!(c.end_transaction(0, 0), Access::At(0), "there is none");
    c.begin_transaction(0, 0);
    assert!(matches!(c.own(500, 0, line(1), false), Access::At(_)));
    assert_eq!(c.prepare_store(500, 0, line(1)), Access::Pending, "the log manager has no registers for it yet");
    let requests: Vec<_> = c.requests().collect();
    assert!(matches!(requests[..], [MemoryRequest::BeginTransaction { at: 20_000, core: 0 }]), "{requests:?}");
    c.transaction_begun(900, 0);
    assert_eq!(wakes(&mut c), [(0, Wake::Prepared { at: 900 })]);
    for (now, n, first) in [(1_000, 1, 0xff), (2_000, 2, 2)] {
        assert!(matches!(c.own(now, 0, line(n), false), Access::At(_)));
        assert_eq!(c.prepare_store(now, 0, line(n)), Access::Pending);
        let mut old = [n as u8; 64];
        old[0] = first;
        assert_eq!(log_entry(&mut c), (now + 20_000, 0, line(n), old));
        c.logged(now + 500, 0);
        assert_eq!(wakes(&mut c), [(0, Wake::Prepared { at: now + 500 })]);
        for value in [7, 8] {
            assert_eq!(c.prepare_store(now + 500, 0, line(n)), Access::At(now + 500), "it is logged once");
            store(&mut c, now + 500, 0, line(n), value);
        }
    }
    assert_eq!(c.flush(3_000, 0, line(1), FlushKind::KeepWithCounter), Access::Pending);
    let token = write(&mut c).3;
    c.write_acked(4_000, token);
    assert_eq!(c.prepare_store(4_000, 0, line(1)), Access::At(4_000), "a flush that keeps the line keeps its log bit");
    assert_eq!(c.end_transaction(5_000, 0), Access::Pending);
    let requests: Vec<_> = c.requests().collect();
    assert!(matches!(requests[..], [MemoryRequest::EndTransaction { at: 25_000, core: 0 }]), "{requests:?}");
    drop(wakes(&mut c));
    c.transaction_ended(6_000, 0);
    assert_eq!(wakes(&mut c), [(0, Wake::TransactionEnded { at: 6_000 })]);
    // A new transaction finds no log bits.
    begin(&mut c, 6_000, 0);
    assert_eq!(c.end_transaction(7_000, 0), Access::Pending, "it has registers to give back");
    assert_eq!(c.requests().count(), 1);
    begin(&mut c, 8_000, 0);
    assert_eq!(c.prepare_store(8_000, 0, line(1)), Access::Pending);
    assert_eq!(log_entry(&mut c).3[0], 8);
}

#[test]
fn store_that_waits_for_registers_keeps_no_way() {
    // One way in the second level, shared: the line of the waiting store leaves and comes back.
    let mut c = caches([(1, 1, 4, false), (1, 1, 4, true), (4, 1, 4, true)], 2);
    fill(&mut c, 0, 0, line(1));
    c.begin_transaction(0, 0);
    assert!(matches!(c.own(100, 0, line(1), false), Access::At(_)));
    assert_eq!(c.prepare_store(100, 0, line(1)), Access::Pending);
    assert_eq!(c.requests().count(), 1);
    fill(&mut c, 200, 1, line(2));
    assert!(c.l1[0].find(line(1)).is_none(), "another core needed the way");
    c.transaction_begun(300, 0);
    assert_eq!(wakes(&mut c), [(0, Wake::Prepared { at: 300 })]);
    assert!(matches!(c.own(300, 0, line(1), false), Access::At(_)), "the third level has it");
    assert_eq!(c.prepare_store(300, 0, line(1)), Access::Pending);
    assert_eq!(log_entry(&mut c).2, line(1));
}

#[test]
fn log_bit_goes_with_its_line() {
    let mut c = caches([(1, 1, 4, false), (2, 1, 4, false), (4, 1, 4, true)], 2);
    begin(&mut c, 0, 0);
    fill(&mut c, 0, 0, line(1));
    let log_and_store = |c: &mut Hierarchy, now, value| {
        assert!(matches!(c.own(now, 0, line(1), false), Access::At(_)));
        assert_eq!(c.prepare_store(now, 0, line(1)), Access::Pending);
        let old = log_entry(c).3[0];
        c.logged(now, 0);
        drop(wakes(c));
        store(c, now, 0, line(1), value);
        old
    };
    assert_eq!(log_and_store(&mut c, 100, 0xa1), 1);
    // The only way of the first level is used for another line; the first line comes back from the second level.
    fill(&mut c, 200, 0, line(2));
    assert_eq!(c.load(300, 0, line(1), 0), Access::At(5_300));
    assert_eq!(log_and_store(&mut c, 10_000, 0xa2), 0xa1, "with the bytes it came back with");
    // Another core reads it: it was not changed, and the bit stays.
    assert_eq!(c.load(20_000, 1, line(1), 0), Access::At(44_000));
    assert!(matches!(c.own(50_000, 0, line(1), false), Access::At(_)));
    assert_eq!(c.prepare_store(50_000, 0, line(1)), Access::At(50_000));
    c.write(50_000, 0, line(1), 0, &[0xa3]);
    // Another core writes it, and its own transaction has no entry for it.
    store(&mut c, 60_000, 1, line(1), 0xb1);
    assert_eq!(log_and_store(&mut c, 70_000, 0xa4), 0xb1);
    begin(&mut c, 0, 1);
    assert!(matches!(c.own(80_000, 1, line(1), false), Access::At(_)));
    assert_eq!(c.prepare_store(80_000, 1, line(1)), Access::Pending);
    assert_eq!(log_entry(&mut c), (100_000, 1, line(1), c.peek(1, line(1)).unwrap()));
}

#[test]
fn non_temporal_store_of_another_core_takes_the_log_bit_of_a_line_that_waits_to_be_written() {
    let mut c = caches(SMALL, 2);
    begin(&mut c, 0, 0);
    fill(&mut c, 0, 0, line(1));
    assert!(matches!(c.own(100, 0, line(1), false), Access::At(_)));
    assert_eq!(c.prepare_store(100, 0, line(1)), Access::Pending);
    assert_eq!(log_entry(&mut c).3, [1; 64]);
    c.write_around(200, 1, line(1), &[9; 64]);
    write(&mut c);
    c.logged(300, 0);
    assert!(matches!(c.own(300, 0, line(1), false), Access::At(_)));
    assert_eq!(c.prepare_store(300, 0, line(1)), Access::Pending, "these bytes have not been logged");
    assert_eq!(log_entry(&mut c).3, [9; 64]);
}

#[test]
fn what_flush_data_writes_persists_with_its_counter_and_nothing_else_does() {
    let mut c = caches([(4, 1, 4, false), (4, 1, 4, false), (4, 1, 4, true)], 1);
    for (kind, with_counter) in
        [(FlushKind::Keep, false), (FlushKind::KeepWithCounter, true), (FlushKind::Invalidate, false)]
    {
        if c.peek(0, line(1)).is_none() {
            fill(&mut c, 0, 0, line(1));
        }
        store(&mut c, 0, 0, line(1), 5);
        assert_eq!(c.flush(100, 0, line(1), kind), Access::Pending);
        let requests: Vec<_> = c.requests().collect();
        let [MemoryRequest::Write { counter_atomic, token, .. }] = requests[..] else { panic!("{requests:?}") };
        assert_eq!(counter_atomic, with_counter, "{kind:?}");
        c.write_acked(200, token);
        assert_eq!(wakes(&mut c), [(0, Wake::Flush { line: line(1), counters: false, at: 200 })]);
    }
    fill(&mut c, 300, 0, line(1));
    assert_eq!(c.flush(400, 0, line(1), FlushKind::KeepWithCounter), Access::At(20_400), "nothing to write");
    assert_eq!(c.load(500, 0, line(1), 0), Access::At(1_500), "flush_data keeps the line");
}

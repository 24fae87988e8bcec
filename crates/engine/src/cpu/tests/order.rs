//! Random programs compared with an independent definition of x86 persistency.

use super::*;
use crate::config::FlushOverlap;
use proptest::prelude::*;

const LINES: u64 = 4;

fn op() -> impl Strategy<Value = Op> {
    let line = 0..LINES;
    prop_oneof![
        4 => (line.clone(), 0u64..8).prop_map(|(line, word)| Op::Store { address: line * 64 + word * 8, length: 8, bytes: 0 }),
        2 => (line.clone(), 0u64..8).prop_map(|(line, word)| {
            Op::CounterAtomicStore { address: line * 64 + word * 8, length: 8, bytes: 0 }
        }),
        2 => line.clone().prop_map(counters),
        2 => (line.clone(), 0u64..4).prop_map(|(line, part)| around(line, part * 16, 16)),
        1 => line.clone().prop_map(|line| around(line, 0, 64)),
        2 => line.clone().prop_map(clwb),
        1 => line.clone().prop_map(|line| Op::Clflushopt { address: line * 64 }),
        1 => line.clone().prop_map(clflush),
        2 => line.clone().prop_map(load),
        1 => line.clone().prop_map(dependent),
        2 => line.prop_map(flush_data),
        1 => Just(Op::LoggedTxBegin),
        1 => Just(Op::LoggedTxEnd),
        2 => Just(Op::Sfence),
        1 => Just(Op::Mfence),
        1 => (1u32..30).prop_map(compute),
    ]
}

/// Some lines miss or have something to write, each with its own latency.
fn latencies() -> impl Strategy<Value = BTreeMap<u64, Ps>> {
    prop::collection::btree_map(0..LINES, 1..40_000u64, 0..=LINES as usize)
}

/// What the cache sees of an operation, in order.
fn seen_of(op: &Op) -> Vec<Seen> {
    match *op {
        Op::Store { address, .. } => vec![Seen::Write(address / 64)],
        Op::CounterAtomicStore { address, .. } => vec![Seen::Marked(address / 64), Seen::Write(address / 64)],
        Op::Clwb { address } | Op::Clflushopt { address } | Op::Clflush { address } => vec![Seen::Flush(address / 64)],
        Op::CounterCacheWriteback { address } => vec![Seen::Counters(address / 64)],
        Op::FlushData { address } => vec![Seen::Data(address / 64), Seen::Counters(address / 64)],
        Op::LoggedTxBegin => vec![Seen::Begun],
        Op::LoggedTxEnd => vec![Seen::End],
        _ => Vec::new(),
    }
}

/// Number of requested and of acknowledged write-backs of counters, at each fence.
fn counters_at_fences(run: &Run) -> Vec<(u32, u32)> {
    let (mut asked, mut acknowledged) = (0, 0);
    let mut at_fences = Vec::new();
    for (_, what) in &run.cache.log {
        match what {
            Seen::Counters(_) => asked += 1,
            Seen::CountersAcknowledged(_) => acknowledged += 1,
            Seen::Fenced => at_fences.push((asked, acknowledged)),
            _ => {}
        }
    }
    at_fences
}

proptest! {
    #[test]
    fn without_non_temporal_stores_everything_reaches_the_cache_in_program_order(
        program in prop::collection::vec(op(), 1..120),
        loads in latencies(), stores in latencies(), flushes in latencies(), counters in latencies(),
    ) {
        let program: Vec<Op> =
            program.into_iter().filter(|op| !matches!(op, Op::NonTemporalStore { .. })).collect();
        let cache = Stub { load_misses: loads, store_misses: stores, flushes, counters, ..Stub::default() };
        let run = run(cache, &program);
        let expected: Vec<Seen> = program.iter().flat_map(seen_of).collect();
        let happened = run.cache.log.iter().map(|(_, what)| *what);
        let happened: Vec<Seen> = happened
            .filter(|what| {
                !matches!(
                    what,
                    Seen::Load(_) | Seen::Log(_) | Seen::Fenced | Seen::Acknowledged(_) | Seen::CountersAcknowledged(_)
                )
            })
            .collect();
        prop_assert_eq!(happened, expected);
    }

    #[test]
    fn one_at_a_time_no_flush_is_sent_while_another_is_on_its_way(
        program in prop::collection::vec(op(), 1..120),
        loads in latencies(), stores in latencies(), flushes in latencies(), counters in latencies(),
    ) {
        let mut machine = small();
        machine.core.flush_overlap = FlushOverlap::OneAtATime;
        // A write past the caches is acknowledged like a flush, but is sent when its buffer is full.
        let program: Vec<Op> =
            program.into_iter().filter(|op| !matches!(op, Op::NonTemporalStore { .. })).collect();
        let cache = Stub { load_misses: loads, store_misses: stores, flushes: flushes.clone(), counters, ..Stub::default() };
        let run = run_on(&machine, cache, &program);
        // Of what has something to write; the rest is acknowledged after a hit, and the log does not show it.
        let (mut on_the_way, mut counters_follow) = (0, false);
        for (_, what) in &run.cache.log {
            match what {
                Seen::Flush(line) => {
                    prop_assert_eq!(on_the_way, 0);
                    on_the_way += i32::from(flushes.contains_key(line));
                }
                Seen::Data(line) => {
                    prop_assert_eq!(on_the_way, 0);
                    on_the_way += i32::from(flushes.contains_key(line));
                    counters_follow = true;
                }
                Seen::Counters(_) => {
                    // Those of flush_data are a part of the same operation.
                    prop_assert!(std::mem::take(&mut counters_follow) || on_the_way == 0);
                    on_the_way += 1;
                }
                Seen::Acknowledged(_) | Seen::CountersAcknowledged(_) => on_the_way -= 1,
                _ => {}
            }
        }
    }

    #[test]
    fn in_a_transaction_the_first_store_to_a_line_comes_after_its_log(
        program in prop::collection::vec(op(), 1..120),
        stores in latencies(), flushes in latencies(), logs in latencies(), end in 1..40_000u64,
    ) {
        let cache = Stub { store_misses: stores, flushes, logs: logs.clone(), end, ..Stub::default() };
        let run = run(cache, &program);
        let mut open: Option<BTreeMap<u64, Ps>> = None;
        let mut ends = 0;
        for (at, what) in &run.cache.log {
            match what {
                Seen::Begun => open = Some(BTreeMap::new()),
                Seen::End => (open, ends) = (None, ends + 1),
                Seen::Log(line) => {
                    let taken = at + logs.get(line).copied().unwrap_or(HIT);
                    let again = open.as_mut().expect("only in transactions").insert(*line, taken);
                    prop_assert_eq!(again, None, "once");
                }
                Seen::Write(line) => {
                    let taken = open.as_ref().map(|logged| logged.get(line));
                    prop_assert!(taken.is_none_or(|taken| taken.is_some_and(|taken| at >= taken)), "line {}", line);
                }
                _ => {}
            }
        }
        prop_assert_eq!(ends, program.iter().filter(|op| **op == Op::LoggedTxEnd).count());
    }

    #[test]
    fn at_a_fence_all_that_it_covers_is_durable_and_nothing_younger_has_happened(
        program in prop::collection::vec(op(), 1..120),
        loads in latencies(), stores in latencies(), flushes in latencies(), counters in latencies(),
    ) {
        // Every line has something to write, otherwise the stub could not know what became durable.
        let flushes = (0..LINES).map(|line| (line, flushes.get(&line).copied().unwrap_or(HIT))).collect();
        let cache = Stub { load_misses: loads, store_misses: stores, flushes, counters, ..Stub::default() };
        let run = run(cache, &program);
        let mut memory = [[0u8; 64]; LINES as usize];
        let mut covered = [[false; 64]; LINES as usize];
        let (mut fences, mut counters_asked) = (0, 0);
        // In a transaction, bytes gathered from non-temporal stores go through the cache, with an extra flush_data: at
        // least one before the next fence if a store was in the transaction, at most one for each since the last fence.
        let (mut logging, mut gathered, mut logged) = (false, 0, 0);
        let counters_at_fences = counters_at_fences(&run);
        for (index, op) in program.iter().enumerate() {
            match *op {
                Op::Store { address, length, .. }
                | Op::CounterAtomicStore { address, length, .. }
                | Op::NonTemporalStore { address, length, .. } => {
                    let (line, from) = ((address / 64) as usize, (address % 64) as usize);
                    let bytes = from..from + length as usize;
                    memory[line][bytes.clone()].fill(index as u8 + 1);
                    covered[line][bytes].fill(matches!(op, Op::NonTemporalStore { .. }));
                    gathered += u32::from(matches!(op, Op::NonTemporalStore { .. }));
                    logged += u32::from(logging && matches!(op, Op::NonTemporalStore { .. }));
                }
                Op::Clwb { address } | Op::Clflushopt { address } | Op::Clflush { address } => {
                    covered[(address / 64) as usize] = [true; 64];
                }
                Op::FlushData { address } => {
                    covered[(address / 64) as usize] = [true; 64];
                    counters_asked += 1;
                }
                Op::CounterCacheWriteback { .. } => counters_asked += 1,
                Op::LoggedTxBegin => logging = true,
                Op::Sfence | Op::Mfence | Op::LoggedTxEnd => {
                    let (asked, acknowledged) = counters_at_fences[fences];
                    prop_assert_eq!(asked, acknowledged);
                    let more = asked - counters_asked;
                    let most = if logging { gathered } else { 0 };
                    prop_assert!((logged.min(1)..=most).contains(&more), "{} for {} stores", more, gathered);
                    (counters_asked, gathered, logged) = (asked, 0, 0);
                    logging &= *op != Op::LoggedTxEnd;
                    for line in 0..LINES as usize {
                        let durable = run.durable_at_fences[fences].get(&(line as u64)).copied().unwrap_or([0; 64]);
                        for byte in (0..64).filter(|&byte| covered[line][byte]) {
                            prop_assert_eq!(durable[byte], memory[line][byte], "line {} byte {}", line, byte);
                        }
                    }
                    fences += 1;
                }
                _ => {}
            }
        }
        prop_assert_eq!(run.fences.len(), fences);
        // After a fence nothing is left in the core, whatever was stored past the caches.
        if matches!(program.last(), Some(Op::Sfence | Op::Mfence | Op::LoggedTxEnd)) {
            for (line, expected) in memory.iter().enumerate() {
                let visible = run.cache.visible.get(&(line as u64)).copied().unwrap_or([0; 64]);
                prop_assert_eq!(&visible, expected);
            }
        }
    }
}

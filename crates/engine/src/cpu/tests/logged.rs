//! Exact edges of transactions that hardware logs, and the duration of accesses to the first level.

use super::*;

const MISS: Ps = 100_000;

fn at(line: u64, latency: Ps) -> BTreeMap<u64, Ps> {
    BTreeMap::from([(line, latency)])
}

#[test]
fn first_store_to_a_line_waits_for_the_log_and_younger_stores_wait_with_it() {
    for latency in [50_000, 50_001] {
        let cache = Stub { logs: at(1, latency), ..Stub::default() };
        let run = run(cache, &[Op::LoggedTxBegin, store(1), store(1), store(2)]);
        let logged = run.times(Seen::Log(1));
        // The begin commits at cycle 1, the store at cycle 2.
        assert_eq!(logged, [2 * CYCLE], "once");
        // The log answers the store buffer at once, not at its next cycle.
        let written = 2 * CYCLE + latency;
        let drains: Ps = (written + CYCLE).next_multiple_of(CYCLE);
        assert_eq!(run.times(Seen::Write(1)), [written, drains]);
        assert_eq!(run.times(Seen::Log(2)), [drains + CYCLE]);
        assert_eq!(run.times(Seen::Write(2)), [drains + CYCLE + HIT]);
    }
}

#[test]
fn store_that_misses_is_logged_when_it_has_its_line() {
    let cache = Stub { store_misses: at(1, MISS), logs: at(1, 30_000), ..Stub::default() };
    let run = run(cache, &[Op::LoggedTxBegin, store(1)]);
    assert_eq!(run.times(Seen::Log(1)), [2 * CYCLE + MISS]);
    assert_eq!(run.times(Seen::Write(1)), [2 * CYCLE + MISS + 30_000]);
}

#[test]
fn store_that_waits_for_the_log_does_not_ask_again_when_a_register_is_free() {
    let cache = Stub { refusals: 1, logs: at(1, MISS), ..Stub::default() };
    let run = run(cache, &[Op::LoggedTxBegin, store(1), compute(1), load(2)]);
    assert_eq!(run.cache.asked, [(2 * CYCLE, 1), (2 * CYCLE + MISS, 1)]);
}

#[test]
fn transaction_begins_in_the_order_of_the_stores() {
    let cache = Stub { store_misses: at(1, MISS), ..Stub::default() };
    let run = run(cache, &[store(1), Op::LoggedTxBegin, store(1), Op::LoggedTxEnd, store(1)]);
    let order: Vec<Seen> = run.cache.log.iter().map(|(_, seen)| *seen).collect();
    let write = Seen::Write(1);
    assert_eq!(order, [write, Seen::Begun, Seen::Log(1), write, Seen::End, Seen::Fenced, write]);
}

#[test]
fn flush_data_persists_line_and_counter_and_the_end_waits_for_both() {
    for (data, counters) in [(50_000, 60_000), (60_001, 50_000)] {
        let cache = Stub { flushes: at(1, data), counters: at(1, counters), end: 20_000, ..Stub::default() };
        let run = run(cache, &[Op::TxBegin, Op::LoggedTxBegin, store(1), flush_data(1), Op::LoggedTxEnd, Op::TxEnd]);
        let flushed = 2 * CYCLE + HIT + CYCLE;
        assert_eq!((run.times(Seen::Data(1)), run.times(Seen::Counters(1))), (vec![flushed], vec![flushed]));
        assert_eq!((&run.watch.flushed[..], &run.watch.counters_flushed[..]), (&[1][..], &[1][..]));
        let last = flushed + data.max(counters);
        // Commits happen at cycles, and so the end is sent at one.
        let sent = last.next_multiple_of(CYCLE);
        assert_eq!(run.times(Seen::End), [sent]);
        assert_eq!(run.fences, [sent + 20_000]);
        assert_eq!(run.latencies(), [sent + 20_000]);
        assert_eq!(run.watch.fences_before_ends, [1], "the log is freed before the transaction has ended");
        // The flush commits at cycle 3, and commit is stalled from then on.
        assert_eq!(run.core.stats().fence_stall_ps, sent + 20_000 - 3 * CYCLE);
    }
}

#[test]
fn clean_line_has_only_its_counter_to_wait_for() {
    let cache = Stub { counters: at(1, MISS), ..Stub::default() };
    let run = run(cache, &[Op::LoggedTxBegin, flush_data(1), Op::LoggedTxEnd]);
    assert_eq!(run.fences, [2 * CYCLE + MISS]);
}

#[test]
fn end_is_sent_when_everything_before_it_has_committed() {
    let cache = Stub { end: 20_000, ..Stub::default() };
    let run = run(cache, &[Op::TxBegin, Op::LoggedTxBegin, store(1), compute(100), Op::LoggedTxEnd, Op::TxEnd]);
    assert_eq!(run.times(Seen::End), [102 * CYCLE], "once");
    assert_eq!(run.latencies(), [122 * CYCLE]);
    // The load hits and commits at cycle 5, which is known as soon as it is dispatched, at cycle 2.
    let cache = Stub { logs: at(1, 1), end: 20_000, ..Stub::default() };
    let known_ahead = self::run(cache, &[Op::LoggedTxBegin, store(1), load(2), Op::LoggedTxEnd]);
    assert_eq!(known_ahead.times(Seen::Write(1)), [2 * CYCLE + 1]);
    assert_eq!(known_ahead.times(Seen::End), [5 * CYCLE]);
    assert_eq!(known_ahead.fences, [25 * CYCLE]);
}

#[test]
fn transaction_without_stores_ends_like_a_fence_with_nothing_outstanding() {
    let cache = Stub { end: MISS, ..Stub::default() };
    let logged = run(cache, &[Op::TxBegin, Op::LoggedTxBegin, compute(1), Op::LoggedTxEnd, compute(1), Op::TxEnd]);
    assert_eq!(logged.latencies(), [4 * CYCLE]);
}

#[test]
fn younger_loads_pass_the_end_and_younger_stores_do_not() {
    let cache = Stub { logs: at(1, MISS), end: 20_000, ..Stub::default() };
    let run = run(cache, &[Op::LoggedTxBegin, store(1), Op::LoggedTxEnd, load(2), store(3)]);
    assert_eq!(run.times(Seen::Load(2)), [3 * CYCLE]);
    let ended = 2 * CYCLE + MISS + 20_000;
    assert_eq!(run.fences, [ended]);
    // The load commits a cycle after the end, the store another one later.
    assert_eq!(run.times(Seen::Write(3)), [ended + 2 * CYCLE]);
}

/// The number of first-level accesses, and their total time.
fn accesses(cache: Stub, program: &[Op]) -> (u64, Ps) {
    let run = run(cache, program);
    (run.core.stats().l1_accesses, run.core.stats().l1_latency_ps)
}

#[test]
fn access_takes_until_its_line_is_there() {
    assert_eq!(accesses(Stub::default(), &[compute(3), clwb(1), Op::Sfence]), (0, 0), "a flush is none");
    assert_eq!(accesses(Stub::default(), &[load(1), load(2)]), (2, 2 * HIT));
    assert_eq!(accesses(Stub::default(), &[store(1)]), (1, HIT));
    let misses = Stub { load_misses: at(1, MISS), store_misses: at(2, MISS), ..Stub::default() };
    assert_eq!(accesses(misses, &[load(1), store(2), load(3)]), (3, 2 * MISS + HIT));
    let refused = Stub { refusals: 2, ..Stub::default() };
    assert_eq!(accesses(refused, &[load(1)]), (1, 10 * CYCLE + HIT), "asking again is no new access");
    let logged = Stub { store_misses: at(1, MISS), logs: at(1, 30_000), ..Stub::default() };
    let program = [Op::LoggedTxBegin, store(1), store(1), Op::LoggedTxEnd];
    assert_eq!(accesses(logged, &program), (2, MISS + 30_000 + HIT), "the log manager included");
    let forwarded = Stub { store_misses: at(1, MISS), ..Stub::default() };
    assert_eq!(accesses(forwarded, &[store(1), load(1)]), (1, MISS), "the store queue answers");
}

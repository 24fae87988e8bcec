//! Exact edges of dispatch, commit and drain. With one instruction per cycle, operation `n` (from 0) is dispatched at
//! cycle `n` and, if nothing delays it, commits at cycle `n + 1`.

use super::*;

const MISS: Ps = 100_000;

fn misses(lines: &[u64]) -> BTreeMap<u64, Ps> {
    lines.iter().map(|&line| (line, MISS)).collect()
}

/// A cache in which loads of `lines` miss.
fn loads_miss(lines: &[u64]) -> Stub {
    Stub { load_misses: misses(lines), ..Stub::default() }
}

#[test]
fn load_hit_takes_its_latency() {
    let run = run(Stub::default(), &[Op::TxBegin, load(1), Op::TxEnd]);
    assert_eq!(run.latencies(), [HIT]);
}

#[test]
fn independent_misses_overlap_and_dependent_ones_do_not() {
    let overlapping = run(loads_miss(&[1, 2]), &[Op::TxBegin, load(1), load(2), Op::TxEnd]);
    assert_eq!(overlapping.times(Seen::Load(2)), [CYCLE]);
    assert_eq!(overlapping.latencies(), [CYCLE + MISS]);
    let serial = run(loads_miss(&[1, 2]), &[Op::TxBegin, load(1), dependent(2), Op::TxEnd]);
    assert_eq!(serial.times(Seen::Load(2)), [MISS]);
    assert_eq!(serial.latencies(), [2 * MISS]);
}

#[test]
fn load_that_depends_on_a_committed_hit_waits_for_its_value_only() {
    let run = run(Stub::default(), &[Op::TxBegin, load(1), dependent(2), dependent(3), Op::TxEnd]);
    assert_eq!(run.times(Seen::Load(2)), [HIT]);
    assert_eq!(run.times(Seen::Load(3)), [2 * HIT]);
    assert_eq!(run.latencies(), [3 * HIT]);
}

#[test]
fn full_reorder_buffer_stalls_dispatch_until_its_oldest_entry_commits() {
    // The load and seven instructions fill the buffer; the second load is the ninth.
    let full = run(loads_miss(&[1]), &[Op::TxBegin, load(1), compute(4), compute(3), load(2), Op::TxEnd]);
    assert_eq!(full.times(Seen::Load(2)), [MISS]);
    let room = run(loads_miss(&[1]), &[Op::TxBegin, load(1), compute(4), compute(2), load(2), Op::TxEnd]);
    assert_eq!(room.times(Seen::Load(2)), [7 * CYCLE]);
}

#[test]
fn hit_that_has_not_committed_keeps_its_place_in_the_load_queue() {
    // Two entries: the third load goes when the first commits (cycle 3), the fourth with the second (cycle 4).
    let run = run(Stub::default(), &[load(1), load(2), load(3), load(4)]);
    let times: Vec<Ps> = (1..=4).flat_map(|line| run.times(Seen::Load(line))).collect();
    assert_eq!(times, [0, CYCLE, HIT, HIT + CYCLE]);
}

#[test]
fn miss_keeps_its_place_in_the_load_queue() {
    let run = run(loads_miss(&[1]), &[load(1), load(2), load(3)]);
    assert_eq!(run.times(Seen::Load(3)), [MISS]);
}

#[test]
fn stores_drain_one_a_cycle_in_order() {
    let machine = Machine { core: crate::config::Core { width: 4, ..small().core }, ..small() };
    let run = run_on(&machine, Stub::default(), &[store(1), store(2), store(3)]);
    let first = run.times(Seen::Write(1))[0];
    assert_eq!(run.times(Seen::Write(2)), [first + CYCLE]);
    assert_eq!(run.times(Seen::Write(3)), [first + 2 * CYCLE]);
}

#[test]
fn store_miss_holds_up_younger_stores_and_a_full_store_queue_holds_up_dispatch() {
    let cache = Stub { store_misses: misses(&[1]), ..Stub::default() };
    let run = run(cache, &[store(1), store(2), store(3), store(4), load(5)]);
    let written = CYCLE + MISS;
    assert_eq!(run.times(Seen::Write(1)), [written]);
    assert_eq!(run.times(Seen::Write(2)), [written + CYCLE]);
    // Three entries: the fourth store is dispatched when the first has left, the load after it.
    assert_eq!(run.times(Seen::Load(5)), [written + CYCLE]);
}

#[test]
fn fence_completes_with_the_last_acknowledgement() {
    for latency in [50_000, 50_001] {
        let flushes = BTreeMap::from([(1, 20_000), (2, latency)]);
        let cache = Stub { flushes, ..Stub::default() };
        let run = run(cache, &[Op::TxBegin, store(1), clwb(1), clwb(2), Op::Sfence, Op::TxEnd]);
        let acknowledged = run.times(Seen::Flush(2))[0] + latency;
        assert_eq!(run.times(Seen::Acknowledged(2)), [acknowledged]);
        assert_eq!(run.fences, [acknowledged]);
        // Commits happen at cycles.
        assert_eq!(run.latencies(), [acknowledged.next_multiple_of(CYCLE)]);
    }
}

#[test]
fn fence_waits_for_stores_without_flushes() {
    let cache = Stub { store_misses: misses(&[1]), ..Stub::default() };
    let run = run(cache, &[store(1), Op::Sfence]);
    assert_eq!(run.fences, run.times(Seen::Write(1)));
}

#[test]
fn fence_with_nothing_outstanding_is_an_instruction_like_any_other() {
    let run = run(Stub::default(), &[Op::TxBegin, compute(1), Op::Sfence, compute(1), Op::TxEnd]);
    assert_eq!(run.latencies(), [3 * CYCLE]);
}

#[test]
fn later_loads_wait_for_an_mfence_and_not_for_an_sfence() {
    let cache = || Stub { flushes: misses(&[1]), ..Stub::default() };
    let sfence = run(cache(), &[clwb(1), Op::Sfence, load(2)]);
    assert_eq!(sfence.times(Seen::Load(2)), [2 * CYCLE]);
    let mfence = run(cache(), &[clwb(1), Op::Mfence, load(2)]);
    assert_eq!(mfence.times(Seen::Load(2)), [mfence.times(Seen::Acknowledged(1))[0]]);
}

#[test]
fn sfence_before_an_mfence_does_not_let_loads_go() {
    let cache = Stub { flushes: misses(&[1]), store_misses: misses(&[2]), ..Stub::default() };
    let run = run(cache, &[clwb(1), Op::Sfence, store(2), Op::Mfence, load(3)]);
    assert_eq!(run.times(Seen::Load(3)), run.times(Seen::Write(2)));
}

#[test]
fn ordered_flush_waits_for_earlier_flushes_and_younger_stores_for_it() {
    let cache = Stub { flushes: misses(&[1, 2, 3]), ..Stub::default() };
    let ordered = run(cache, &[clflush(1), clflush(2), store(4), Op::Sfence]);
    assert_eq!(ordered.times(Seen::Flush(2)), ordered.times(Seen::Acknowledged(1)));
    assert_eq!(ordered.times(Seen::Write(4)), ordered.times(Seen::Acknowledged(2)));
    let cache = Stub { flushes: misses(&[1, 2, 3]), ..Stub::default() };
    let free = run(cache, &[clwb(1), clwb(2), store(4), Op::Sfence]);
    assert_eq!(free.times(Seen::Write(4)), [free.times(Seen::Flush(1))[0] + 2 * CYCLE]);
}

#[test]
fn full_combining_buffer_goes_around_the_cache_and_a_fence_waits_for_it() {
    let cache = Stub { flushes: misses(&[1]), ..Stub::default() };
    let run = run(cache, &[around(1, 0, 32), around(1, 32, 32), Op::Sfence]);
    assert!(run.times(Seen::Write(1)).is_empty());
    assert_eq!(run.fences, [run.times(Seen::Around(1))[0] + MISS]);
}

#[test]
fn fence_empties_a_partly_filled_combining_buffer() {
    let cache = Stub { flushes: misses(&[1]), ..Stub::default() };
    let run = run(cache, &[around(1, 0, 8), around(1, 16, 8), Op::Sfence]);
    assert_eq!(run.times(Seen::Write(1)).len(), 2, "a store for each stretch");
    assert_eq!(run.fences, [run.times(Seen::Flush(1))[0] + MISS]);
    assert_eq!(run.durable_at_fences[0][&1][..17], [1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
}

#[test]
fn what_leaves_a_combining_buffer_for_caches_that_persist_is_stored_there_and_not_before() {
    let cache = || Stub { persistent: true, flushes: misses(&[1, 2]), ..Stub::default() };
    let part = run(cache(), &[around(1, 0, 8), store(2), compute(1_000), Op::Sfence]);
    let [stored, fenced] = [part.times(Seen::Write(1)), part.fences.clone()];
    assert!(part.times(Seen::Write(2))[0] < stored[0], "the later store is durable before it");
    assert!(stored[0] >= 1_000 * CYCLE && stored[0] <= fenced[0], "it waits for the fence: {stored:?}, {fenced:?}");
    let unfenced = run(cache(), &[around(1, 0, 8), store(2)]);
    assert!(unfenced.times(Seen::Write(1)).is_empty(), "without a fence it stays where it is");
    // A full buffer has no protection on a way past the caches.
    let full = run(cache(), &[around(1, 0, 32), around(1, 32, 32), store(2)]);
    assert!(full.times(Seen::Around(1)).is_empty() && full.times(Seen::Flush(1)).is_empty());
    assert_eq!((full.times(Seen::Write(1)).len(), &full.cache.visible[&1][..32]), (1, &[1; 32][..]));
}

#[test]
fn oldest_combining_buffer_makes_room() {
    let run = run(Stub::default(), &[around(1, 0, 8), around(2, 0, 8), around(3, 0, 8)]);
    assert_eq!(run.times(Seen::Write(1)).len(), 1);
    assert!(run.times(Seen::Write(2)).is_empty(), "the others stay where they are without a fence");
}

#[test]
fn store_to_a_line_in_a_combining_buffer_comes_after_what_is_in_it() {
    let run = run(Stub::default(), &[around(1, 0, 16), store(1), Op::Sfence]);
    assert_eq!(run.cache.visible[&1][..16], [2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn load_finds_what_a_combining_buffer_holds() {
    // The value checker would report the cache's stale bytes; the load must not even ask the cache.
    let expects_three = Op::Load { address: 64, length: 8, dependent: false, bytes: 0 };
    let run = run(Stub::default(), &[around(1, 0, 8), compute(20), expects_three, Op::Sfence]);
    assert!(run.times(Seen::Load(1)).is_empty());
}

#[test]
fn computation_larger_than_the_reorder_buffer_takes_its_instructions_over_the_width() {
    let run = run(Stub::default(), &[Op::TxBegin, compute(1_000), Op::TxEnd]);
    assert_eq!(run.latencies(), [1_000 * CYCLE]);
    for rob in [1, 2, 3] {
        let mut machine = small();
        (machine.core.rob_entries, machine.core.width) = (rob, 4);
        let run = run_on(&machine, Stub::default(), &[Op::TxBegin, compute(1_000), Op::TxEnd]);
        assert_eq!(run.latencies(), [250 * CYCLE], "a buffer of {rob}");
        assert_eq!(run.core.stats().instructions, 1_000);
    }
}

#[test]
fn transaction_lasts_from_the_commit_of_its_begin_to_the_commit_of_its_end() {
    let transaction: &[Op] = &[compute(10), Op::TxBegin, store(1), clwb(1), Op::Sfence, Op::TxEnd];
    let cache = Stub { flushes: misses(&[1]), ..Stub::default() };
    let run = run_all(&small(), cache, &[transaction, transaction]);
    // The store commits a cycle after the begin and is written then, the flush a cycle later.
    assert_eq!(run.latencies(), [2 * CYCLE + MISS; 2]);
    assert_eq!(run.core.stats().transactions, 2);
    assert_eq!(run.core.last_commit(), run.fences[1]);
}

#[test]
fn refused_load_asks_again() {
    let cache = Stub { refusals: 2, ..Stub::default() };
    let run = run(cache, &[Op::TxBegin, load(1), Op::TxEnd]);
    assert_eq!(run.latencies(), [10 * CYCLE + HIT]);
}

#[test]
fn store_that_waits_for_its_line_does_not_ask_again_when_a_register_is_free() {
    let cache = Stub { refusals: 1, store_misses: misses(&[1]), ..Stub::default() };
    let run = run(cache, &[store(1), load(2)]);
    assert_eq!(run.cache.asked, [(CYCLE, 1), (CYCLE + MISS, 1)]);
}

#[test]
fn counter_write_back_takes_its_turn_behind_earlier_stores_and_flushes() {
    let cache = Stub { store_misses: misses(&[1]), flushes: misses(&[1]), ..Stub::default() };
    let run = run(cache, &[store(1), clwb(1), counters(1), store(2), Op::Sfence]);
    let flushed = run.times(Seen::Flush(1))[0];
    assert_eq!(flushed, CYCLE + MISS + CYCLE, "behind the store that missed");
    assert_eq!(run.times(Seen::Counters(1)), [flushed + CYCLE], "behind the flush, without waiting for it");
    assert_eq!(run.times(Seen::Write(2)), [flushed + 2 * CYCLE], "younger stores do not wait for it");
}

#[test]
fn counter_write_back_comes_after_what_combining_buffers_hold_of_its_lines() {
    // Lines 8 to 15 have their counters in one block; line 16 is another's.
    let run = run(Stub::default(), &[around(9, 0, 8), around(16, 0, 8), counters(8), Op::Sfence]);
    let order: Vec<Seen> = run.cache.log.iter().map(|(_, seen)| *seen).collect();
    let started = order.into_iter().filter(|seen| matches!(seen, Seen::Write(_) | Seen::Flush(_) | Seen::Counters(_)));
    let expected = [Seen::Write(9), Seen::Flush(9), Seen::Counters(8), Seen::Write(16), Seen::Flush(16)];
    assert_eq!(started.collect::<Vec<_>>(), expected);
}

#[test]
fn fence_waits_for_the_counters() {
    for latency in [50_000, 50_001] {
        let cache = Stub { counters: BTreeMap::from([(1, latency)]), ..Stub::default() };
        let run = run(cache, &[Op::TxBegin, clwb(1), counters(1), Op::Sfence, Op::TxEnd]);
        let acknowledged = run.times(Seen::Counters(1))[0] + latency;
        assert_eq!(run.times(Seen::CountersAcknowledged(1)), [acknowledged]);
        assert_eq!(run.fences, [acknowledged]);
        assert_eq!(run.latencies(), [acknowledged.next_multiple_of(CYCLE)]);
    }
}

#[test]
fn ordered_flush_and_a_counter_write_back_wait_for_one_another() {
    let cache = Stub { flushes: misses(&[1]), counters: misses(&[1]), ..Stub::default() };
    let run = run(cache, &[counters(1), clflush(1), counters(2)]);
    assert_eq!(run.times(Seen::Flush(1)), run.times(Seen::CountersAcknowledged(1)));
    assert_eq!(run.times(Seen::Counters(2)), run.times(Seen::Acknowledged(1)));
}

#[test]
fn counter_atomic_store_marks_its_line_before_it_is_visible() {
    let run = run(Stub::default(), &[store(1), marked_store(1), marked_store(2), Op::Sfence]);
    let order: Vec<Seen> = run.cache.log.iter().map(|(_, seen)| *seen).collect();
    let expected = [Seen::Write(1), Seen::Marked(1), Seen::Write(1), Seen::Marked(2), Seen::Write(2), Seen::Fenced];
    assert_eq!(order, expected);
    assert_eq!(run.told, [(1, false), (1, true), (1, false), (2, true), (2, false)]);
    assert_eq!((run.cache.visible[&1][0], run.cache.visible[&2][0]), (2, 3));
}

#[test]
fn counter_atomic_store_forwards_to_loads_and_prefetches_like_a_store() {
    for store in [store, marked_store] {
        let cache = Stub { store_misses: misses(&[1, 2]), ..Stub::default() };
        let forwarded = run(cache, &[store(1), store(1), store(2), load(1)]);
        assert!(forwarded.times(Seen::Load(1)).is_empty());
        assert_eq!(forwarded.cache.prefetched, [1, 2], "once for stores that follow one another on a line");
        assert_eq!(forwarded.times(Seen::Write(1)), [CYCLE + MISS, 2 * CYCLE + MISS]);
    }
    // A line whose counters alone are written back holds no bytes.
    let asked = run(Stub::default(), &[counters(1), load(1)]);
    assert_eq!(asked.times(Seen::Load(1)), [CYCLE]);
    assert!(asked.cache.prefetched.is_empty());
}

#[test]
fn store_waits_until_the_first_level_has_encrypted_the_one_before_and_loads_do_not() {
    for (store_occupancy, apart) in [(0, CYCLE), (CYCLE, CYCLE), (CYCLE + 1, 2 * CYCLE), (40 * CYCLE, 40 * CYCLE)] {
        let cache = Stub { store_occupancy, ..Stub::default() };
        let run = run(cache, &[store(1), store(1), store(2), load(3)]);
        let at: Vec<Ps> =
            run.cache.log.iter().filter(|(_, seen)| matches!(seen, Seen::Write(_))).map(|of| of.0).collect();
        assert_eq!([at[1] - at[0], at[2] - at[1]], [apart, apart]);
        assert_eq!(run.times(Seen::Load(3)), [3 * CYCLE]);
    }
}

fn one_at_a_time() -> Machine {
    let mut machine = small();
    machine.core.flush_overlap = FlushOverlap::OneAtATime;
    machine
}

#[test]
fn flushes_overlap_unless_they_are_sent_one_at_a_time() {
    let cache = || Stub { flushes: misses(&[1, 2]), ..Stub::default() };
    let program = [clwb(1), store(3), clwb(2), store(4), Op::Sfence];
    let sent = |run: &Run| [Seen::Flush(1), Seen::Write(3), Seen::Flush(2)].map(|seen| run.times(seen));
    let overlapped = run(cache(), &program);
    assert_eq!(sent(&overlapped), [1, 2, 3].map(|cycle| [cycle * CYCLE]));
    assert_eq!(overlapped.fences, [3 * CYCLE + MISS]);
    let single = run_on(&one_at_a_time(), cache(), &program);
    // A store behind the first flush need not wait; one behind the second waits with it.
    assert_eq!(sent(&single), [CYCLE, 2 * CYCLE, CYCLE + MISS].map(|at| [at]));
    assert_eq!(single.times(Seen::Write(4)), [2 * CYCLE + MISS]);
    assert_eq!(single.fences, [CYCLE + 2 * MISS]);
}

#[test]
fn every_kind_of_flush_waits_for_every_other_if_they_are_sent_one_at_a_time() {
    let cache = Stub { flushes: misses(&[1, 2, 3]), counters: misses(&[1, 2, 3]), ..Stub::default() };
    let run = run_on(&one_at_a_time(), cache, &[flush_data(1), counters(2), clwb(3), clflush(1), Op::Sfence]);
    // The two parts of flush_data are one operation.
    assert_eq!([run.times(Seen::Data(1)), run.times(Seen::Counters(1))], [[CYCLE], [CYCLE]]);
    let later = [Seen::Counters(2), Seen::Flush(3), Seen::Flush(1)].map(|seen| run.times(seen));
    assert_eq!(later, [1, 2, 3].map(|n| [CYCLE + n * MISS]));
    assert_eq!(run.fences, [CYCLE + 4 * MISS]);
}

#[test]
fn fence_waits_for_the_way_back_of_a_flush_whether_it_wrote_or_not() {
    let mut machine = small();
    machine.core.flush_answer_ns = 20.0;
    let cache = || Stub { flushes: misses(&[1]), ..Stub::default() };
    let (dirty, clean) = ([clwb(1), Op::Sfence], [clwb(2), Op::Sfence]);
    assert_eq!(run_on(&machine, cache(), &dirty).fences, [CYCLE + MISS + 20_000]);
    assert_eq!(run_on(&machine, cache(), &clean).fences, [CYCLE + HIT + 20_000]);
    assert_eq!(run(cache(), &dirty).fences, [CYCLE + MISS]);
}

#[test]
fn line_of_a_store_is_asked_for_at_its_dispatch_or_in_its_turn() {
    let mut machine = small();
    machine.core.store_prefetch = false;
    let program = [store(1), store(2), Op::Sfence];
    let cache = || Stub { store_misses: misses(&[1, 2]), ..Stub::default() };
    let (early, late) = (run(cache(), &program), run_on(&machine, cache(), &program));
    assert_eq!((early.cache.prefetched.as_slice(), late.cache.prefetched.as_slice()), (&[1, 2][..], &[][..]));
}

#[test]
fn stores_enter_the_cache_at_their_interval() {
    let mut machine = small();
    machine.core.store_cycles = 3;
    let run = run_on(&machine, Stub::default(), &[store(1), store(2)]);
    assert_eq!(run.times(Seen::Write(2))[0] - run.times(Seen::Write(1))[0], 3 * CYCLE);
}

#[test]
fn without_a_store_buffer_what_follows_waits_for_stores_and_flushes() {
    let mut machine = small();
    machine.core.store_buffer = false;
    let cache = || Stub { store_misses: misses(&[1]), flushes: misses(&[1]), ..Stub::default() };
    for op in [store(1), clwb(1)] {
        let program = [op, load(2)];
        assert_eq!(run(cache(), &program).times(Seen::Load(2)), [CYCLE]);
        assert_eq!(run_on(&machine, cache(), &program).times(Seen::Load(2)), [CYCLE + MISS]);
    }
}

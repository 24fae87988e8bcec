//! What waits, and because of which operation, to the picosecond. The site of an operation is its number in the
//! program, from 1.

use super::*;
use crate::message::Site;

fn flushes(latencies: &[(u64, Ps)]) -> Stub {
    Stub { flushes: latencies.iter().copied().collect(), ..Stub::default() }
}

impl Run {
    fn waited_for(&self) -> Vec<(Site, Ps)> {
        self.sites.costs().map(|(site, cost)| (site, cost.waited_for_ps)).filter(|(_, time)| *time > 0).collect()
    }

    /// Time that the fences of each site stalled commit.
    fn stalled(&self) -> Vec<(Site, Ps)> {
        self.sites.costs().map(|(site, cost)| (site, cost.fence_stall_ps)).filter(|(_, time)| *time > 0).collect()
    }

    fn cost(&self, site: Site) -> crate::attribution::SiteCost {
        *self.sites.costs().find(|(of, _)| *of == site).expect("the site did something").1
    }
}

#[test]
fn fence_waits_for_the_flush_that_is_acknowledged_last() {
    // Commits at 1 and 2, leave at 1 and 2; the first takes longer though it is older.
    for (slow, fast, last) in [(50_000, 10_000, 1), (10_000, 50_000, 2)] {
        let run = run(flushes(&[(1, slow), (2, fast)]), &[clwb(1), clwb(2), Op::Sfence]);
        let acknowledged = if last == 1 { CYCLE + slow } else { 2 * CYCLE + fast };
        let stall = acknowledged - 2 * CYCLE;
        assert_eq!(run.waited_for(), [(last, stall)]);
        assert_eq!(run.stalled(), [(3, stall)]);
        assert_eq!(run.core.stats().fence_stall_ps, stall);
        assert_eq!([1, 2].map(|site| run.cost(site).flush_latency_ps), [slow, fast]);
        assert_eq!((run.cost(1).flushes, run.cost(3).fences), (1, 1));
    }
}

#[test]
fn fence_that_nothing_holds_up_waits_for_itself() {
    let run = run(Stub::default(), &[clwb(1), compute(8), compute(8), Op::Sfence]);
    assert_eq!(run.waited_for(), [(4, CYCLE)]);
    assert_eq!(run.stalled(), [(4, CYCLE)]);
    // With nothing to write a flush is complete after a hit's latency.
    assert_eq!((run.cost(1).flush_latency_ps, run.cost(1).flush_latency_max_ps), (HIT, HIT));
}

#[test]
fn store_that_leaves_last_is_waited_for() {
    let cache = Stub { store_misses: [(2, 100_000)].into(), ..flushes(&[(1, 10_000)]) };
    let run = run(cache, &[store(1), clwb(1), store(2), Op::Mfence]);
    let total = run.core.stats().fence_stall_ps;
    assert_eq!(run.waited_for(), [(3, total)]);
    assert!(total > 90_000, "{total}");
}

#[test]
fn line_stored_past_the_caches_is_waited_for_at_its_last_store() {
    let run = run(flushes(&[(1, 60_000)]), &[around(1, 0, 32), around(1, 32, 32), Op::Sfence]);
    assert_eq!(run.waited_for(), [(2, run.core.stats().fence_stall_ps)]);
    assert_eq!((run.cost(2).flushes, run.cost(2).flush_latency_ps, run.cost(1).stores), (1, 60_000, 1));
}

#[test]
fn counters_are_waited_for_and_are_no_flushes() {
    let cache = Stub { counters: [(1, 80_000)].into(), ..flushes(&[(1, 10_000)]) };
    let run = run(cache, &[clwb(1), counters(1), Op::Sfence]);
    assert_eq!(run.waited_for(), [(2, run.core.stats().fence_stall_ps)]);
    assert_eq!((run.cost(1).flush_latency_ps, run.cost(2).flushes), (10_000, 0));
}

#[test]
fn flushes_of_one_line_are_acknowledged_in_order() {
    let run = run(flushes(&[(1, 30_000)]), &[clwb(1), compute(1), clwb(1), Op::Sfence]);
    assert_eq!([1, 3].map(|site| run.cost(site).flush_latency_ps), [30_000, 30_000]);
    assert_eq!(run.waited_for().iter().map(|(site, _)| *site).collect::<Vec<_>>(), [3]);
}

#[test]
fn load_holds_up_commit_from_the_end_of_its_own_slot() {
    let cache = Stub { load_misses: [(1, 100_000)].into(), ..Stub::default() };
    let run = run(cache, &[load(1), load(2)]);
    assert_eq!(run.cost(1).load_stall_ps, 100_000 - CYCLE);
    assert_eq!((run.cost(2).load_stall_ps, run.cost(2).loads), (0, 1));
}

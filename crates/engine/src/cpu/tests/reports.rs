//! A core tells others how far its thread is, and waits until others are so far.

use super::*;

fn waiting(core: CoreId, count: u64) -> Op {
    Op::Await { core, count }
}

fn run_until(heard: &[(Ps, CoreId)], program: &[Op]) -> Run {
    let script = Script(vec![buffer(program)].into_iter());
    run_hearing(Core::new(0, &small(), Box::new(script)), Stub::default(), heard)
}

#[test]
fn report_is_performed_after_the_stores_before_it_and_takes_no_slot() {
    let miss = 100_000;
    let cache = Stub { store_misses: [(1, miss)].into(), ..Stub::default() };
    let program = [Op::TxBegin, store(1), Op::Report, store(2), Op::TxEnd];
    let reporting = run(cache, &program);
    let [stored] = reporting.times(Seen::Write(1))[..] else { panic!("one store") };
    assert_eq!(reporting.times(Seen::Reported), [stored + CYCLE]);
    assert!(stored >= miss);
    let cache = Stub { store_misses: [(1, miss)].into(), ..Stub::default() };
    let silent = run(cache, &[Op::TxBegin, store(1), store(2), Op::TxEnd]);
    assert_eq!(reporting.latencies(), silent.latencies());
    assert_eq!(reporting.core.stats().memory_ops, silent.core.stats().memory_ops);
    assert_eq!(reporting.core.stats().instructions, silent.core.stats().instructions);
}

#[test]
fn report_waits_for_fences_and_loads_before_it() {
    let flushes = Stub { flushes: [(1, 50_000)].into(), ..Stub::default() };
    let run_of = run(flushes, &[store(1), clwb(1), Op::Sfence, Op::Report]);
    assert!(run_of.times(Seen::Reported)[0] >= run_of.times(Seen::Fenced)[0]);
    let misses = Stub { load_misses: [(1, 50_000)].into(), ..Stub::default() };
    assert!(run(misses, &[load(1), Op::Report]).times(Seen::Reported)[0] >= 50_000);
}

#[test]
fn nothing_after_a_wait_is_dispatched_before_the_other_has_reported_so_often() {
    let program = [load(1), waiting(2, 2), load(2), waiting(2, 1), load(3)];
    let run = run_until(&[(10_000, 2), (11_000, 1), (20_000, 2), (30_000, 2)], &program);
    assert_eq!(run.times(Seen::Load(1)), [0]);
    assert_eq!(run.times(Seen::Load(2)), [20_000]);
    assert_eq!(run.times(Seen::Load(3)), [20_000 + CYCLE]);
}

#[test]
fn wait_for_what_has_been_reported_costs_nothing() {
    let heard = [(0, 1)];
    let program = |waits: bool| {
        let wait = waits.then(|| waiting(1, 1));
        [load(1), compute(4)].into_iter().chain(wait).chain([load(2)]).collect::<Vec<_>>()
    };
    let times = |waits| run_until(&heard, &program(waits)).times(Seen::Load(2));
    assert_eq!(times(true), times(false));
}

//! Computation that is larger than the reorder buffer: what happens while nothing else is in flight is one event, and
//! takes the time of its parts.

use super::*;
use proptest::prelude::*;

#[test]
fn long_computation_with_nothing_in_flight_is_a_few_events() {
    let of = |instructions| run(Stub::default(), &[Op::TxBegin, compute(instructions), load(1), Op::TxEnd]);
    let (short, long) = (of(100), of(100_000));
    assert_eq!(long.latencies(), [100_000 * CYCLE + HIT]);
    assert_eq!(long.times(Seen::Load(1)), [100_000 * CYCLE]);
    assert_eq!(long.events, short.events);
    assert_eq!(long.core.stats().instructions, 100_001);
}

#[test]
fn computation_beside_a_flush_passes_in_parts() {
    // The reorder buffer has eight entries; 1,000 instructions pass while the flush is on its way.
    let cache = Stub { flushes: BTreeMap::from([(1, 1_000 * CYCLE)]), ..Stub::default() };
    let run = run(cache, &[Op::TxBegin, store(1), clwb(1), compute(10_000), Op::Sfence, Op::TxEnd]);
    assert!((250..300).contains(&run.events), "{} events", run.events);
    assert_eq!(run.latencies(), [10_003 * CYCLE]);
}

/// The same operations with each computation in parts of half the reorder buffer, which are never taken together.
fn in_parts(program: &[Op], rob: u32) -> Vec<Op> {
    let part = (rob / 2).max(1);
    let mut parts = Vec::new();
    for op in program {
        match *op {
            Op::Compute { instructions } => {
                parts.extend((0..instructions).step_by(part as usize).map(|at| compute(part.min(instructions - at))));
            }
            op => parts.push(op),
        }
    }
    parts
}

fn operations() -> impl Strategy<Value = Vec<Op>> {
    let line = 1..4u64;
    let one = prop_oneof![
        4 => (1..400u32).prop_map(compute),
        1 => line.clone().prop_map(load),
        1 => line.clone().prop_map(dependent),
        1 => line.clone().prop_map(store),
        1 => line.clone().prop_map(clwb),
        1 => line.clone().prop_map(|line| around(line, 0, 8)),
        1 => Just(Op::Sfence),
        1 => Just(Op::Mfence),
    ];
    prop::collection::vec(one, 1..24)
}

proptest! {
    #[test]
    fn computation_takes_the_time_of_its_parts(
        program in operations(), rob in 1..24u32, width in 1..5u32, missing in prop::collection::btree_set(1..4u64, 0..3),
    ) {
        let mut machine = small();
        (machine.core.rob_entries, machine.core.width, machine.engine.check_loads) = (rob, width, false);
        let slow: BTreeMap<u64, Ps> = missing.iter().map(|&line| (line, 37 * CYCLE)).collect();
        let cache = || Stub {
            load_misses: slow.clone(),
            store_misses: slow.clone(),
            flushes: slow.clone(),
            ..Stub::default()
        };
        let program = [vec![Op::TxBegin], program, vec![Op::Sfence, Op::TxEnd]].concat();
        let whole = run_on(&machine, cache(), &program);
        let parts = run_on(&machine, cache(), &in_parts(&program, rob));
        prop_assert_eq!(whole.latencies(), parts.latencies());
        prop_assert_eq!(whole.core.last_commit(), parts.core.last_commit());
        prop_assert_eq!(&whole.cache.log, &parts.cache.log);
        prop_assert_eq!(&whole.fences, &parts.fences);
        prop_assert_eq!(whole.core.stats().instructions, parts.core.stats().instructions);
        prop_assert!(whole.events <= parts.events);
    }
}

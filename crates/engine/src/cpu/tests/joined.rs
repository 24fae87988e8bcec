//! Instructions with several operands in memory.

use super::*;

/// Runs `program` in which the operations `joined`, by their places, belong to the instruction of the one before.
fn run_joined(cache: Stub, program: &[Op], joined: &[usize]) -> Run {
    let mut buffer = buffer(program);
    joined.iter().for_each(|&index| buffer.join(index));
    run_script(&small(), cache, vec![buffer])
}

#[test]
fn joined_instruction_takes_one_slot_and_counts_once() {
    let program = [Op::TxBegin, load(1), load(2), store(3), Op::TxEnd];
    let one = run_joined(Stub::default(), &program, &[2, 3]);
    assert_eq!((one.times(Seen::Load(1)), one.times(Seen::Load(2))), (vec![0], vec![0]));
    assert_eq!((one.latencies(), one.core.stats().instructions), (&[HIT][..], 1));
    let three = run(Stub::default(), &program);
    assert_eq!((three.latencies(), three.core.stats().instructions), (&[HIT + 2 * CYCLE][..], 3));
}

#[test]
fn joined_instruction_takes_one_entry_of_the_reorder_buffer() {
    let program = [load(1), store(2), compute(4), compute(2), load(3)];
    let cache = || Stub { load_misses: BTreeMap::from([(1, 100 * CYCLE)]), ..Stub::default() };
    // The last load is the eighth instruction of a buffer of eight, or the ninth.
    assert_eq!(run_joined(cache(), &program, &[1]).times(Seen::Load(3)), [7 * CYCLE]);
    assert_eq!(run(cache(), &program).times(Seen::Load(3)), [100 * CYCLE]);
}

#[test]
fn computation_between_joined_instructions_takes_its_own_time() {
    let program = |loads: usize| -> Vec<Op> {
        let each = |n| [vec![load(n); loads], vec![compute(5)]].concat();
        (1..=20).flat_map(each).collect()
    };
    let (single, double) = (program(1), program(2));
    let joined: Vec<usize> = (0..20).map(|n| 3 * n + 1).collect();
    let (single, double) = (run(Stub::default(), &single), run_joined(Stub::default(), &double, &joined));
    assert_eq!((single.core.stats().instructions, double.core.stats().instructions), (120, 120));
    assert_eq!(double.core.last_commit(), single.core.last_commit());
}

//! When pads of reads begin in the circuits of writes, and how long a line takes block by block, to the picosecond.

use super::common::{LATE, Times, line, run, system, times};
use counterpoint_engine::LineSystem;
use counterpoint_engine::config::{self, AesHold, AesOccupancy, AesReads, Machine};
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::message::NoObserver;

/// One circuit for writes and reads, and consecutive pages in different banks.
fn shared(preset: &str, hold: AesHold, pipelined: bool) -> Machine {
    let sets = ["program.core_region=packed", "device.mapping=page-interleaved", "controller.aes_units=1"];
    let mut machine = config::load_machine(preset, &sets.map(str::to_owned)).unwrap();
    let controller = &mut machine.controller;
    (controller.aes_reads, controller.aes_hold, controller.aes_pipelined) = (AesReads::Shared, hold, pipelined);
    machine
}

/// A controller with the counters of two pages in its counter cache, and the rows of their lines open.
fn warm(machine: &Machine, name: &str) -> LineSystem<NoObserver> {
    let mut system = system(machine, name, NoObserver);
    for at in [0, LATE / 2] {
        for page in 0..2 {
            system.read(at, line(page, 0), 1_000);
        }
        run(&mut system);
    }
    system
}

/// When a read and a write that come in this order are answered, after the counter cache has answered both.
fn both(machine: &Machine, read_first: bool) -> [Ps; 2] {
    let mut system = warm(machine, "secpm-no-cwr");
    if read_first {
        system.read(LATE, line(0, 2), 0);
    }
    system.write(LATE, line(0, 1), &[1; 64], 1);
    if !read_first {
        system.read(LATE, line(0, 2), 0);
    }
    let known = LATE + Times::of(machine).counter_cache;
    let at = times(&mut system);
    [at[0] - known, at[1] - known]
}

#[test]
fn pad_of_a_read_begins_when_a_write_gives_the_circuit_back_and_the_other_way_round() {
    use AesHold::{UntilAdmitted, UntilEncrypted};
    for (hold, pipelined) in
        [(UntilAdmitted, false), (UntilAdmitted, true), (UntilEncrypted, false), (UntilEncrypted, true)]
    {
        let mut machine = shared("secpm", hold, pipelined);
        let aes = Times::of(&machine).aes;
        let entrance = if pipelined { aes / 10 } else { aes };
        // A write is in the queue as soon as it is encrypted.
        let of_write = if hold == UntilEncrypted { entrance } else { aes };
        assert_eq!(both(&machine, false), [of_write + aes, aes], "{hold:?} {pipelined}");
        assert_eq!(both(&machine, true), [aes, entrance + aes], "{hold:?} {pipelined}");
        machine.controller.aes_reads = AesReads::Own;
        for read_first in [false, true] {
            assert_eq!(both(&machine, read_first), [aes, aes], "{hold:?} {pipelined}");
        }
    }
}

#[test]
fn line_takes_four_latencies_block_by_block_and_a_read_and_a_write_take_eight() {
    let mut machine = shared("secpm", AesHold::UntilEncrypted, false);
    machine.controller.aes_occupancy = AesOccupancy::Block;
    assert_eq!(both(&machine, false), [320_000, 160_000]);
    machine.controller.aes_pipelined = true;
    assert_eq!(both(&machine, false), [16_000 + 52_000, 52_000]);
    machine.controller.aes_reads = AesReads::Own;
    assert_eq!(both(&machine, false), [52_000, 52_000]);
}

#[test]
fn read_waits_until_a_write_is_admitted_that_keeps_its_circuit() {
    for hold in [AesHold::UntilAdmitted, AesHold::UntilEncrypted] {
        let mut machine = shared("secpm", hold, false);
        let controller = &mut machine.controller;
        (controller.wpq_entries, controller.wpq_high_watermark, controller.wpq_low_watermark) = (2, 2, 0);
        let t = Times::of(&machine);
        let mut system = warm(&machine, "secpm-no-cwr");
        system.write(LATE, line(0, 1), &[1; 64], 0);
        system.write(LATE, line(0, 2), &[1; 64], 1);
        system.read(LATE + 1, line(1, 3), 2);
        let at = times(&mut system);
        let encrypted = LATE + t.counter_cache + t.aes;
        assert_eq!(at[0], encrypted);
        assert!(at[1] > encrypted + t.aes, "the first pair fills the queue");
        let free = if hold == AesHold::UntilAdmitted { at[1] } else { encrypted + t.aes };
        assert_eq!(at[2], free + t.aes, "{hold:?}");
    }
}

#[test]
fn read_has_no_circuit_while_its_counter_is_fetched() {
    let machine = shared("secpm", AesHold::UntilAdmitted, false);
    let t = Times::of(&machine);
    let mut system = warm(&machine, "secpm-no-cwr");
    system.read(LATE, line(2, 0), 0);
    system.write(LATE, line(0, 1), &[1; 64], 1);
    let fetched = LATE + t.next_row() + t.read();
    assert!(fetched > LATE + t.counter_cache + t.aes);
    assert_eq!(times(&mut system), [fetched + t.aes, LATE + t.counter_cache + t.aes]);
}

#[test]
fn co_located_read_asks_for_a_circuit_when_its_line_has_arrived() {
    let mut machine = shared("counter-atomicity", AesHold::UntilEncrypted, false);
    let t = Times::of(&machine);
    let reads = |machine: &Machine| {
        let mut system = system(machine, "co-located", NoObserver);
        system.read(0, line(0, 0), 0);
        run(&mut system);
        // Without a counter cache this one has the circuit first, and is encrypted before the lines of the others arrive.
        system.write(LATE, line(0, 9), &[1; 64], 0);
        for token in 1..3 {
            system.read(LATE, line(0, token as usize), token);
        }
        times(&mut system)
    };
    let (encrypted, arrived) = (LATE + t.aes, LATE + t.read_hit());
    let begun = encrypted.max(arrived);
    assert_eq!(reads(&machine), [encrypted, begun + t.aes, begun + 2 * t.aes]);
    machine.controller.aes_occupancy = AesOccupancy::Block;
    let encrypted = LATE + 4 * t.aes;
    assert_eq!(reads(&machine), [encrypted, encrypted + 4 * t.aes, encrypted + 8 * t.aes]);
    machine.controller.aes_reads = AesReads::Own;
    assert_eq!(reads(&machine)[..2], [encrypted, arrived + 4 * t.aes]);
}

//! `controller.counter_write = "counter"`: which words of counter blocks are written, to the byte, to the picosecond and to
//! the femtojoule, and that memory holds what it holds with whole blocks.

use super::common::judge;
use super::common::{LATE, Times, line, reading, run, system, times};
use counterpoint_engine::LineSystem;
use counterpoint_engine::config::{self, CounterOrganisation, CounterWrite, Machine, Variant};
use counterpoint_engine::kernel::{Ps, Random};
use counterpoint_engine::layout::Coverage;
use counterpoint_engine::message::{LineBytes, MediaLine, MediaUnit, NoObserver, Observer};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The machine of counter-atomicity, whose queues leave only when they are flushed or full.
fn machine(counter_write: CounterWrite) -> Machine {
    let mut machine = config::preset("counter-atomicity").unwrap();
    let controller = &mut machine.controller;
    controller.wpq_issue_when_idle = false;
    controller.counter_wpq_merging = true;
    controller.counter_write = counter_write;
    machine
}

/// A `name` of [`machine`] with the counters of page 0 in its counter cache.
fn warm<O: Observer>(machine: &Machine, name: &str, observer: O) -> LineSystem<O> {
    let mut system = system(machine, name, observer);
    for block in 0..8 {
        system.read(0, line(0, block * 8), 1_000);
    }
    run(&mut system);
    system
}

/// Handles everything, and writes out what is queued.
fn run_all<O: Observer>(system: &mut LineSystem<O>) {
    run(system);
    system.flush();
    run(system);
}

/// Lines and bytes that have been written.
fn written<O: Observer>(system: &mut LineSystem<O>) -> (u64, u64) {
    let now = system.now();
    let stats = system.controller.stats(now);
    let lines = stats.data_writes + stats.counter_writes;
    (lines, 64 * lines - 8 * stats.spared_words)
}

/// Lines and bytes of writes of `indices` of page 0, all at once, by `name`.
fn of_writes(name: &str, counter_write: CounterWrite, indices: &[usize]) -> (u64, u64) {
    let mut system = warm(&machine(counter_write), name, NoObserver);
    for (token, &index) in indices.iter().enumerate() {
        system.write(LATE, line(0, index), &[1; 64], token as u32);
    }
    run_all(&mut system);
    written(&mut system)
}

#[test]
fn pair_is_a_line_and_a_counter_and_a_merged_block_the_counters_that_changed() {
    use CounterWrite::{Counter, Line};
    // One pair; two and three pairs whose blocks merge; two of one line; two of different blocks; a whole block.
    let cases: [(&[usize], u64, u64); 6] = [
        (&[0], 2, 64 + 8),
        (&[0, 1], 3, 2 * 64 + 16),
        (&[0, 7, 3], 4, 3 * 64 + 24),
        (&[5, 5], 3, 2 * 64 + 8),
        (&[0, 8], 4, 2 * (64 + 8)),
        (&[0, 1, 2, 3, 4, 5, 6, 7], 9, 9 * 64),
    ];
    for (indices, lines, bytes) in cases {
        assert_eq!(of_writes("fca", Counter, indices), (lines, bytes), "{indices:?}");
        assert_eq!(of_writes("fca", Line, indices), (lines, lines * 64), "{indices:?}");
    }
}

/// Without merging each block has what is newer than the one before it.
#[test]
fn blocks_that_do_not_merge_have_a_counter_each() {
    let mut machine = machine(CounterWrite::Counter);
    machine.controller.counter_wpq_merging = false;
    let mut system = warm(&machine, "fca", NoObserver);
    for index in 0..3 {
        system.write(LATE, line(0, index), &[1; 64], index as u32);
    }
    run_all(&mut system);
    assert_eq!(written(&mut system), (6, 3 * (64 + 8)));
}

/// A block that gathers counters in the cache is written with all of them, once.
#[test]
fn block_that_is_written_back_has_the_counters_that_it_gathered() {
    let mut system = warm(&machine(CounterWrite::Counter), "sca", NoObserver);
    for index in 0..3 {
        system.write(LATE, line(0, index), &[1; 64], index as u32);
    }
    system.write_back_counters(2 * LATE, line(0, 0), 9);
    run(&mut system);
    system.write(3 * LATE, line(0, 1), &[2; 64], 1);
    run_all(&mut system);
    assert_eq!(written(&mut system), (4 + 1, 4 * 64 + 24));
    system.write_back_counters(5 * LATE, line(0, 0), 9);
    run_all(&mut system);
    assert_eq!(written(&mut system), (4 + 2, 4 * 64 + 24 + 8));
}

#[test]
fn counter_leaves_the_bus_after_one_cycle_and_its_bank_after_twr() {
    let answered = |counter_write| {
        let mut machine = machine(counter_write);
        machine.device.mapping = config::AddressMapping::PageInterleaved;
        machine.controller.counter_placement = config::CounterPlacement::Interleaved;
        let controller = &mut machine.controller;
        (controller.counter_wpq_merging, controller.counter_wpq_entries) = (false, 2);
        (controller.counter_wpq_high_watermark, controller.counter_wpq_low_watermark) = (2, 0);
        let t = Times::of(&machine);
        let mut system = warm(&machine, "fca", NoObserver);
        for (token, index) in [(0, 0), (1, 1), (2, 8)] {
            system.write(LATE, line(0, index), &[1; 64], token);
        }
        let encrypted = LATE + t.counter_cache + t.aes;
        (times(&mut system)[2] - encrypted, t, machine)
    };
    // The third pair waits until the bank, whose row is open, has the first counter block, which follows a line on the bus.
    let (line, t, machine) = answered(CounterWrite::Line);
    assert_eq!(line, t.accept_hit() + t.burst);
    let (counter, ..) = answered(CounterWrite::Counter);
    let cycle = machine.device.interface_cycle_ps();
    assert_eq!(counter, t.accept_hit() + cycle * u64::from(machine.device.burst_cycles).div_ceil(8));
}

#[test]
fn counter_costs_an_eighth_of_the_energy_of_a_block() {
    let energy = |counter_write| {
        let mut system = warm(&machine(counter_write), "fca", NoObserver);
        system.reset_stats();
        system.write(LATE, line(0, 0), &[1; 64], 0);
        run_all(&mut system);
        system.device.energy_fj(0)
    };
    let device = machine(CounterWrite::Line).device;
    let of_bit = device.array_write_pj_per_bit + device.row_buffer_pj_per_bit;
    let saved = (energy(CounterWrite::Line) - energy(CounterWrite::Counter)) as f64;
    assert!((saved - of_bit * 1_000.0 * 56.0 * 8.0).abs() < 4.0, "{saved}");
}

/// What crosses the bus, from which the bytes of every write follow.
#[derive(Default)]
struct Bus {
    media: BTreeMap<MediaLine, LineBytes>,
    bytes: u64,
    /// The writes of one block that say the same as the one before.
    same: u64,
}

impl Observer for Bus {
    fn bus_write(&mut self, _now: Ps, media: MediaLine, bytes: &LineBytes) {
        let before = self.media.insert(media, *bytes);
        if !matches!(media.unit(), MediaUnit::Counter(_)) {
            self.bytes += 64;
            return;
        }
        // Every line is populated: counted once.
        let word = |block: &LineBytes, index: usize| u64::from_le_bytes(block[8 * index..][..8].try_into().unwrap());
        let first: LineBytes = std::array::from_fn(|byte| u8::from(byte % 8 == 0));
        let before = before.unwrap_or(first);
        let changed = (0..8).filter(|&index| word(&before, index) != word(bytes, index)).count() as u64;
        self.same += u64::from(changed == 0);
        self.bytes += 8 * changed.max(1);
    }
}

/// Random requests of two pages on a machine with small queues and a counter cache of a few blocks; what has been written.
fn busy(machine: &Machine, name: &str, variant: Variant, seed: u64) -> LineSystem<Bus> {
    let mut system = reading(machine, name, variant, Bus::default());
    let mut random = Random::stream(seed, "test");
    let mut at = 0;
    for token in 0..300 {
        at += random.below(40_000);
        let line = line(random.below(2), random.below(24) as usize);
        match random.below(8) {
            0 => system.read(at, line, token),
            1 => system.write_back_counters(at, line, token),
            2 => system.write_counter_atomic(at, line, &[token as u8; 64], token),
            _ => system.write(at, line, &[token as u8; 64], token),
        }
    }
    run_all(&mut system);
    system
}

#[test]
fn memory_holds_the_same_and_every_word_that_changed_has_been_written() {
    let mut machine = machine(CounterWrite::Counter);
    machine.device.t_wr_ns = 3_000.0;
    machine.controller.counter_cache_size = config::ByteSize(256);
    machine.controller.counter_cache_ways = 2;
    for organisation in [CounterOrganisation::Global, CounterOrganisation::PerLine] {
        machine.counters.organisation = organisation;
        for name in ["fca", "sca", "write-back", "hw-log", "alc"] {
            for (variant, merging, seed) in [(Variant::Hardened, true, 1), (Variant::Published, false, 2)] {
                machine.controller.counter_wpq_merging = merging;
                let mut system = busy(&machine, name, variant, seed);
                let (lines, bytes) = written(&mut system);
                assert_eq!(bytes, system.observer.bytes, "{name} {organisation:?}");
                assert!(bytes < 64 * lines && bytes > 8 * lines, "{name} {organisation:?}: {bytes} of {lines} lines");
                // As published, a block has the counters of neighbours before their data is queued; then their own pair
                // changes nothing in it.
                let known = name == "fca" && variant == Variant::Hardened;
                assert!(
                    !known || system.observer.same == 0,
                    "{name} {organisation:?}: a block was written for nothing"
                );
                let stored = system.device.image().iter_stored();
                let counters = stored.filter(|(media, _)| media.is_counter());
                for (media, block) in counters {
                    assert_eq!(Some(block), system.observer.media.get(&media), "{name} {media:?}");
                }
                assert!(
                    system.observer.media.contains_key(&MediaLine::counter(Coverage::EIGHT_LINES.block(line(0, 0))))
                );
            }
        }
    }
}

#[test]
fn lines_and_bytes_are_both_reported() {
    let run = |design: &str, value: &str| -> Value {
        let set = [format!("controller.counter_write={value}"), "counters.organisation=split".to_owned()];
        let request = json!({"design": design, "machine": "small", "set": set, "workload": "queue", "tx_size": 256,
                             "footprint": "64KiB", "transactions": 40, "warmup": 0});
        judge::run(&request)["nvm"].clone()
    };
    let get = |report: &Value, key: &str| report[key].as_u64().unwrap();
    for design in ["fca", "sca"] {
        let nvm = run(design, "counter");
        let (lines, blocks, bytes) = (get(&nvm, "writes"), get(&nvm, "counter_writes"), get(&nvm, "write_bytes"));
        assert!(bytes >= 64 * (lines - blocks) + 8 * blocks && bytes < 64 * lines, "{nvm}");
        assert_eq!(get(&run(design, "line"), "write_bytes"), 64 * get(&run(design, "line"), "writes"));
    }
    // Counters that share the bytes of a block, counters beside their lines, and none at all.
    for (design, transfer) in [("secpm", 64), ("write-back", 64), ("co-located", 72), ("unencrypted", 64)] {
        let nvm = run(design, "counter");
        assert_eq!(nvm, run(design, "line"), "{design}");
        assert_eq!(get(&nvm, "write_bytes"), transfer * get(&nvm, "writes"), "{design}");
    }
}

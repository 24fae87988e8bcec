//! The model against boots that really recover, and the time of a part of a sweep against that of more of it.

use super::model::{Left, Memory, Sweep, Visits, registers, sweeps};
use super::small::{Counted, counted, small_machine};
use super::time::Clock;
use super::*;
use crate::assembly::{LineSystem, boot_codec, encryption_parts, memory_map, validate_machine};
use crate::cache;
use crate::config::{MacPlacement, Variant, load_machine};
use crate::design;
use crate::embed::Driver;
use crate::message::{BaseImage, Line, NoObserver, OnChipLine};
use crate::parts::TreeRoots;
use crate::power::{PowerLoss, held};
use crate::recovery::{HeldState, LineCodec, Lines};
use crate::run::answered;
use crate::trace::EmptyBase;
use proptest::prelude::*;
use std::sync::Arc;

static NOT: AtomicBool = AtomicBool::new(false);

fn machine(sets: &[&str]) -> Machine {
    load_machine("secpm", &sets.iter().map(|set| (*set).to_owned()).collect::<Vec<_>>()).unwrap()
}

/// Every built-in design whose boot has a tree or counters to recover.
fn recovering() -> Vec<Design> {
    let all = design::all(Variant::Hardened);
    let has_small_memory = |design: &Design| design.promise.crash_consistent.is_ok() && design.drain().is_none();
    all.filter(|design| design.integrity.is_some() && has_small_memory(design)).collect()
}

/// Whether the caches of `machine` hold nothing but counter blocks and nodes. A line of MACs that takes the slot of a node
/// has no entry in a shadow table, so that the entry of the node stays: fewer nodes are behind than are listed.
fn without_mac_lines(machine: &Machine) -> bool {
    machine.integrity.mac_placement != MacPlacement::Region
}

/// Compares what the boot of `design` on `machine` did with what the model says: of a power failure that has left just that,
/// and of the worst one.
fn compared(design: &Design, machine: &Machine) {
    let Counted { mut work, left, alarm } = counted(design, machine, &NOT).unwrap();
    assert_eq!(alarm, None, "{}", design.name);
    let memory = Memory::of(design, machine);
    let name = &design.name;
    let (just, worst) = (modelled(design, &memory, &left), modelled(design, &memory, &Left::worst(&memory)));
    let newest_in_caches = memory.restores_caches() || memory.ring.is_some();
    if newest_in_caches || memory.has_table && memory.stop_loss == 1 {
        // Fewer blocks and nodes may be listed than there are slots.
        assert!(work.reads.total() <= worst.reads.total() && work.macs <= worst.macs, "{name}: {memory:?} {left:?}");
    } else if memory.has_table && !without_mac_lines(machine) {
        assert!(work.writes.tree <= just.writes.tree, "{name}: {memory:?} {left:?}");
        work.writes.tree = just.writes.tree;
    } else if design.integrity.and_then(|integrity| integrity.tree).is_some_and(|tree| tree.roots != TreeRoots::One) {
        // Nothing is hashed and written above a root.
        for model in [&just, &worst] {
            assert!(
                work.hashes <= model.hashes && work.writes.tree <= model.writes.tree,
                "{name}: {memory:?} {left:?}"
            );
        }
        (work.hashes, work.writes.tree) = (just.hashes, just.writes.tree);
    } else {
        let totals = |work: &Work| (work.reads.total(), work.writes.total(), work.macs, work.trials, work.hashes);
        assert_eq!(totals(&work), totals(&worst), "{name}: {memory:?} {left:?}");
    }
    assert_eq!(work, just, "{name}: {memory:?} {left:?}");
}

#[test]
fn model_counts_what_boots_do() {
    let designs = recovering();
    assert!(designs.len() >= 9, "{}", designs.len());
    for design in &designs {
        for (pages, sets) in [(64, 1), (128, 2), (256, 4)] {
            compared(design, &small_machine(&machine(&[]), pages, sets));
        }
    }
}

#[test]
fn model_counts_what_boots_do_with_other_counter_blocks_macs_trees_and_stop_losses() {
    let others: [&[&str]; 6] = [
        &["counters.block_lines=128", "counters.minor_bits=3", "integrity.stop_loss=4"],
        &["counters.block_lines=16", "counters.minor_bits=14", "integrity.mac_placement=region"],
        &["integrity.mac_placement=region", "integrity.tree_arity=8", "integrity.stop_loss=4"],
        &["integrity.mac_bits=56", "integrity.mac_placement=ecc", "integrity.tree_arity=16", "integrity.stop_loss=1"],
        &["integrity.mac_bits=128", "integrity.tree_arity=32", "integrity.stop_loss=7"],
        &["integrity.mac_placement=region", "integrity.persisted_levels=3", "integrity.stop_loss=2"],
    ];
    for sets in others {
        let machine = small_machine(&machine(sets), 64, 2);
        // Nodes of eight whole counters, and MACs with bits of counters, do not fit every machine.
        let fits = |design: &Design| validate_machine(&machine, design).is_ok();
        let designs: Vec<Design> = recovering().into_iter().filter(fits).collect();
        assert!(designs.len() >= 10, "{}", designs.len());
        designs.iter().for_each(|design| compared(design, &machine));
    }
}

#[test]
fn designs_without_a_tree_read_nothing_but_counters_that_they_search() {
    let of = |name: &str, sets: &[&str]| {
        let design = design::find(name, Variant::Hardened).unwrap();
        let machine = small_machine(&machine(sets), 64, 1);
        compared(&design, &machine);
        counted(&design, &machine, &NOT).unwrap().work
    };
    assert_eq!(of("secpm", &[]), Work::default());
    assert_eq!(of("fca", &[]), Work::default());
    let scan = of("fca", &["counters.global_register=max-scan"]);
    let blocks = Lines { counter: 64 * 64 / 8, ..Lines::default() };
    assert_eq!(scan, Work { reads: blocks, ..Work::default() });
}

proptest! {
    #[test]
    fn worst_that_can_be_listed_fills_the_caches_or_is_the_whole_tree(pages in 1..100_000u64, sets in 1..200u64, arity in prop::sample::select(vec![8u32, 16, 32])) {
        let memory = Memory { slots: [sets * 8, sets * 8], ..memory_of(pages, arity) };
        let left = Left::worst(&memory);
        let tree = memory.tree.unwrap();
        prop_assert_eq!(left.listed_blocks, pages.min(sets * 8));
        prop_assert_eq!(left.listed_nodes.iter().sum::<u64>(), tree.nodes_below_root().min(sets * 8));
        for (level, &nodes) in (1..).zip(&left.listed_nodes) {
            prop_assert!(nodes <= tree.nodes(level));
        }
    }

    #[test]
    fn rebuild_reads_every_leaf_once_and_writes_every_node_once(pages in 1..100_000u64, arity in prop::sample::select(vec![8u32, 16, 32]), persisted in 0..4u8) {
        let memory = memory_of(pages, arity);
        let tree = memory.tree.unwrap();
        let persisted = persisted.min(tree.top() - 1);
        let memory = Memory { persisted_levels: persisted, ..memory };
        let work: Work = sweeps(&RecoveryStep::RebuildTree, &memory, &Left::default()).iter().map(|sweep| sweep.work).sum();
        prop_assert_eq!(work.reads.total(), tree.nodes(persisted));
        prop_assert_eq!(work.writes.total(), (persisted + 1..tree.top()).map(|level| tree.nodes(level)).sum::<u64>());
        prop_assert_eq!(work.hashes, work.reads.total() + work.writes.total());
    }
}

/// The memory of `anubis-agit-plus` with so many pages.
fn memory_of(pages: u64, arity: u32) -> Memory {
    let design = design::find("anubis-agit-plus", Variant::Hardened).unwrap();
    let memory = Memory::of(&design, &machine(&[]));
    let tree = memory.tree.map(|_| crate::layout::TreeShape::new(pages, arity));
    Memory { lines: pages * 64, tree, ..memory }
}

#[test]
fn time_grows_with_what_is_swept() {
    let machine = machine(&[]);
    for name in ["osiris", "triad-nvm", "anubis-agit-plus"] {
        let design = design::find(name, Variant::Hardened).unwrap();
        let memory = Memory::of(&design, &machine);
        let layout = design.media_layout(&machine);
        let left = Left::worst(&memory);
        for step in &design.recovery {
            for sweep in sweeps(step, &memory, &left).iter().filter(|sweep| sweep.units > 1) {
                let time = |sample| Clock::new(&machine, layout, &memory).simulating(sample).time(sweep).unwrap();
                let (part, more) = (time(1 << 14), time(1 << 17));
                assert!((part / more - 1.0).abs() < 0.02, "{name} {sweep:?}: {part} and {more}");
            }
        }
    }
}

#[test]
fn sweep_in_one_bank_takes_its_bursts_and_one_over_all_banks_no_longer() {
    // Row hits follow one another with the bus's 10 ns; 64 lines of a page lie in one row.
    let machine = machine(&["device.ranks=1", "device.banks_per_rank=1"]);
    let design = design::find("osiris", Variant::Hardened).unwrap();
    let memory = Memory::of(&design, &machine);
    let layout = design.media_layout(&machine);
    let work = Work { reads: Lines { data: 64, ..Lines::default() }, ..Work::default() };
    let page = Sweep { visits: Visits::Data { first: Line(0) }, units: 64, scattered: false, work };
    let time = Clock::new(&machine, layout, &memory).time(&page).unwrap();
    // The burst of a line and its MAC is that of a line; tRCD and tCL come once.
    assert_eq!(time, 65_000.0 + 64.0 * 10_000.0);
    let one_by_one = page.units as f64 * 100_000.0;
    assert!(time < one_by_one);
}

#[test]
fn circuits_take_the_time_where_memory_is_faster() {
    let design = design::find("osiris", Variant::Hardened).unwrap();
    let of = |sets: &[&str]| cost(&design, &machine(sets), 1, 100.0).unwrap().recovery.unwrap();
    let time = |sets| of(sets).time_ns;
    let (some, many) = (time(&["integrity.mac_units=32"]), time(&["integrity.mac_units=64"]));
    assert!((some / many - 1.0).abs() < 1e-6, "64 circuits wait for memory, and so do 32: {some} and {many}");
    let one = time(&["integrity.mac_units=1"]);
    let work = of(&[]).work;
    let computing = (work.macs + work.hashes) as f64 * 40.0;
    assert!((one / computing - 1.0).abs() < 1e-6, "one circuit is slower than memory: {one} and {computing}");
}

#[test]
fn pads_of_a_boot_take_the_circuits_that_reads_have() {
    let design = design::find("osiris", Variant::Hardened).unwrap();
    let time = |sets: &[&str]| {
        let machine = machine(sets);
        let memory = Memory::of(&design, &machine);
        let work = Work { pads: 1_000, ..Work::default() };
        let sweep = Sweep { visits: Visits::Data { first: Line(0) }, units: 1, scattered: false, work };
        Clock::new(&machine, design.media_layout(&machine), &memory).time(&sweep).unwrap()
    };
    let [one, block] = ["controller.aes_read_units=1", "controller.aes_occupancy=block"];
    let pipelined = "controller.aes_pipelined=true";
    assert_eq!(time(&[one]), 1_000.0 * 40_000.0);
    assert_eq!(time(&[one, block]), 1_000.0 * 160_000.0);
    assert_eq!(time(&[one, pipelined]), 1_000.0 * 4_000.0);
    assert_eq!(time(&[one, pipelined, block]), 1_000.0 * 16_000.0);
    assert_eq!(time(&[one, "controller.aes_units=2", "controller.aes_reads=shared"]), 500.0 * 40_000.0);
}

#[test]
fn registers_cost_nothing_unless_counters_are_searched() {
    let design = design::find("osiris", Variant::Hardened).unwrap();
    assert_eq!(registers(&Memory::of(&design, &machine(&[])))[0].work, Work::default());
}

/// Power fails when a page re-encryption has just begun.
fn interrupted(name: &str, sets: &[&str]) {
    let design = design::find(name, Variant::Hardened).unwrap();
    let machine = small_machine(&machine(sets), 64, 1);
    let base: Arc<dyn BaseImage> = Arc::new(EmptyBase { end: 0 });
    let mut driver = Driver::over(LineSystem::new(&machine, &design, Arc::clone(&base), 1, NoObserver).unwrap());
    let write = |system: &mut LineSystem<NoObserver>, line, token| system.write(system.now(), line, &[7; 64], token);
    let lines = 0..u64::from(machine.counters.block_lines.max(64));
    answered(&mut driver, lines.map(Line), 4, &NOT, write).unwrap();
    while driver.system.controller.snapshot().rsr.is_none() {
        if !driver.advance() {
            driver.send((), |system, token| write(system, Line(5), token));
        }
    }
    let system = driver.system;
    let parts = encryption_parts(&machine, &design, 1, &base).unwrap();
    let codec = parts.map(|parts| boot_codec(&machine, 1, parts, Arc::clone(&base), None));
    let codec = codec.as_ref().map(|codec| codec as &dyn LineCodec);
    let loss = PowerLoss::new(&design, &machine, codec);
    let drained = loss.strike(held(system.controller.snapshot()), system.device.image());
    let done = drained.snapshot.status.unwrap().done;
    let mut boot = loss.boot(system.device.image(), &drained.snapshot, NoObserver);
    boot.finish();
    assert_eq!(boot.alarm(), None);
    let left = Left { page_lines: u64::from(machine.counters.block_lines - done.count_ones()), ..Left::default() };
    assert!(left.page_lines > u64::from(machine.counters.block_lines / 2), "{name}: {done:b}");
    let memory = Memory::of(&design, &machine);
    let model: Work = sweeps(&RecoveryStep::ResumeReencryption, &memory, &left).iter().map(|sweep| sweep.work).sum();
    assert_eq!(boot.work(), model, "{name} {sets:?}");
}

#[test]
fn model_counts_the_rest_of_a_page() {
    for name in ["secpm", "strict"] {
        interrupted(name, &["counters.minor_bits=2"]);
        interrupted(name, &["counters.minor_bits=2", "integrity.mac_placement=region"]);
        interrupted(name, &["counters.minor_bits=2", "counters.block_lines=128"]);
        interrupted(name, &["counters.minor_bits=2", "counters.block_lines=16"]);
    }
}

/// What the battery and the boot of a design do that drains its caches, all of whose slots hold a dirty line, each of a counter
/// block of its own.
fn drained(name: &str) -> (Work, Work) {
    let design = design::find(name, Variant::Hardened).unwrap();
    let levels = ["l1", "l2", "l3"].map(|level| [format!("{level}.size=1KiB"), format!("{level}.ways=2")]);
    let machine = load_machine("sepencr", &levels.concat()).unwrap();
    let base: Arc<dyn BaseImage> = Arc::new(EmptyBase { end: 0 });
    let slots = cache::data_slots(&machine, 1, design.cache_pads);
    let parts = encryption_parts(&machine, &design, 1, &base).unwrap();
    let region = memory_map::shadow_region(&machine, &design, 1);
    let codec = parts.map(|parts| boot_codec(&machine, 1, parts, Arc::clone(&base), region));
    let loss = PowerLoss::new(&design, &machine, codec.as_ref().map(|codec| codec as &dyn LineCodec));
    let line = |slot| OnChipLine {
        slot,
        level: 3,
        core: 0,
        line: Line(slot * 64),
        resident: [slot as u8; 64],
        plaintext: [slot as u8; 64],
        newest: true,
    };
    let system = LineSystem::new(&machine, &design, Arc::clone(&base), 1, NoObserver).unwrap();
    let root = system.controller.snapshot().root;
    let held = HeldState { lines: (0..slots).map(line).collect(), root, ..HeldState::default() };
    let drained = loss.strike(held, system.device.image());
    assert_eq!(drained.forbidden, None);
    let mut boot = loss.boot(system.device.image(), &drained.snapshot, NoObserver);
    boot.finish();
    let memory = Memory::of(&design, &machine);
    assert_eq!(memory.dirty_slots, slots);
    let (mut work, mut model) = (boot.work(), modelled(&design, &memory, &Left::worst(&memory)));
    if memory.tree.is_some() {
        // Neighbouring blocks share the nodes near the root, which are fetched and verified once: the model is a bound.
        assert!(work.reads.tree < model.reads.tree && work.hashes < model.hashes, "{name}: {work:?} {model:?}");
        for work in [&mut work, &mut model] {
            (work.reads.tree, work.hashes) = (0, 0);
        }
    }
    assert_eq!(boot.alarm(), None, "{name}");
    assert_eq!(work, model, "{name}: {slots} slots");
    // No counter block, line of MACs or node is dirty here.
    let mut battery = battery::work(&design, &memory).unwrap();
    if design.drain().is_some_and(|drain| drain.uses_shadow()) {
        (battery.writes.counter, battery.writes.mac, battery.writes.tree) = (0, 0, 0);
        assert_eq!(drained.work, battery, "{name}");
    }
    (drained.work, boot.work())
}

#[test]
fn model_counts_what_is_left_of_full_caches() {
    // 16 slots in each level; pads take half of the ways of sepencr.
    let ((battery, bbe), (_, sepencr)) = (drained("bbe"), drained("sepencr"));
    assert_eq!((battery.writes.total(), battery.pads, battery.hashes), (48 + 12, 48, 0));
    assert_eq!((bbe.reads.data, bbe.reads.counter, bbe.writes.data), (48 + 12, 48, 48));
    assert_eq!((sepencr.reads.data, sepencr.writes.total()), (24 + 6, 48));
    // With a tree over 60 lines, or over 30: a hash of each line, of 8 or 4 nodes above them, and the root on the chip.
    let ((battery, boot), (other, _)) = (drained("bbe-tree"), drained("sepencr-tree"));
    assert_eq!((battery.writes.total(), battery.pads, battery.hashes), (60, 48, 60 + 8));
    assert_eq!((other.writes.total(), other.pads, other.hashes), (30, 0, 30 + 4));
    assert!(boot.hashes > battery.hashes && boot.reads.data == 60);
    let (_, plain) = drained("eadr-mc-cme");
    assert_eq!((plain.reads.data, plain.writes.total()), (48, 96));
    assert_eq!(drained("eadr-cme").1, Work::default());
}

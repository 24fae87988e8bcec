//! Counter blocks that cover other lines than the 64 of a page: every design with split counters works with them, its promise
//! holds whenever power fails while their lines are re-encrypted, and what waits for a re-encryption are these lines alone.

use super::common::judge::{assert_holds, count, crash, refusal, run as measured, with};
use super::common::{LATE, run, system, times};
use counterpoint_engine::config::{self, Machine, Variant};
use counterpoint_engine::design;
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::message::{CounterGroup, GroupMask, Line, Observer};
use rayon::prelude::*;
use serde_json::{Value, json};

/// Lines of a block, with bits of a minor counter: those that overflow soon, and the most that there is room for.
const SOON: [(u32, u32); 3] = [(16, 1), (32, 2), (128, 1)];
const WIDEST: (u32, u32) = (16, 14);

fn sets((lines, bits): (u32, u32)) -> Value {
    json!([format!("counters.block_lines={lines}"), format!("counters.minor_bits={bits}"), "engine.check_loads=true"])
}

/// The built-in designs whose split counters may cover other lines than those of a page.
fn split() -> Vec<&'static str> {
    let counters = &config::preset("small").unwrap().counters;
    let has = |name: &&str| {
        let parts = design::find(name, Variant::Hardened).unwrap().encryption;
        // A page is shredded by the block that covers it.
        parts.is_some_and(|parts| parts.scheme(counters).coverage().shares_major() && !parts.zeroing.shreds())
    };
    design::names().filter(has).collect()
}

/// Each design with half of the groups, the next one with the other half.
fn halves() -> Vec<(&'static str, [(u32, u32); 2])> {
    let [a, b, c] = SOON;
    split().into_iter().zip([[a, WIDEST], [b, c]].into_iter().cycle()).collect()
}

#[test]
fn designs_with_split_counters_run_with_groups_of_every_size() {
    let of = |(name, groups): (&'static str, [(u32, u32); 2])| groups.map(move |group| (name, group));
    halves().into_par_iter().flat_map_iter(of).for_each(|(name, group)| {
        let request = json!({
            "design": name, "workload": "array", "machine": "small", "set": sets(group), "tx_size": 256,
            "footprint": "128KiB", "transactions": 30, "warmup": 0, "cores": 1 + group.0 / 128,
        });
        let report = measured(&request);
        assert_eq!(count(&report, "transactions"), 30 * u64::from(1 + group.0 / 128), "{request}");
        // Lines that rest in persistent caches have got their counters there, or get none.
        let counts = report["nvm"]["counter_writes"].as_u64() > Some(20);
        assert!(count(&report, "reencryptions") > 0 || group.1 > 1 || !counts, "{request}");
        assert!(count(&report, "reencryptions") == 0 || group.1 < 14, "{request}");
    });
}

#[test]
fn promises_hold_after_every_event_with_groups_of_every_size() {
    let crashable = |name| design::find(name, Variant::Hardened).unwrap().promise.crash_consistent.is_ok();
    let kept = halves().into_par_iter().filter(|(name, _)| crashable(name)).map(|(name, groups)| {
        let base = json!({"design": name, "workload": "array", "machine": "small", "transactions": 12});
        let of_page = crash(&with(&base, json!({"set": sets((64, 1))})));
        // Designs that hold nothing with a page to a block are no subject here.
        if of_page["violation_count"] != 0 {
            return 0;
        }
        let events = |report: &Value| count(&report["exercised"], "reencryptions");
        for group in groups {
            let report = assert_holds(&with(&base, json!({"set": sets(group)})));
            assert!(events(&report) > 0 || group.1 > 1 || events(&of_page) == 0, "{name} {group:?}");
        }
        1
    });
    assert!(kept.sum::<u32>() > 10);
}

#[test]
fn boots_that_are_cut_short_resume_groups_of_every_size() {
    let of = |name: &'static str| SOON.into_iter().map(move |group| (name, group));
    ["secpm", "osiris", "secpm-tree", "bbe", "hw-log", "dolos"].into_par_iter().flat_map_iter(of).for_each(|(name, group)| {
        let request = json!({
            "design": name, "workload": "array", "machine": "small", "set": sets(group), "tx_size": 64, "footprint": "16KiB",
            "transactions": 2, "nested": true, "points": 20,
        });
        assert_holds(&request);
    });
}

#[test]
fn attacks_are_found_with_groups_of_every_size() {
    let of = |name: &'static str| [(16, 1), (128, 2)].into_iter().map(move |group| (name, group));
    ["secpm-tree", "anubis-agit-plus", "bbe-tree"].into_par_iter().flat_map_iter(of).for_each(|(name, group)| {
        let request = json!({
            "design": name, "workload": "array", "machine": "small", "set": sets(group), "transactions": 3,
            "attack": ["all"], "attack_every": 40,
        });
        assert_holds(&request);
    });
}

/// A done bit that is set: when, the bits of the group then, and whether it is the last.
type Renewal = (Ps, CounterGroup, GroupMask, bool);

/// The times at which done bits are set.
#[derive(Default)]
struct Renewals(Vec<Renewal>);

impl Observer for Renewals {
    fn reencryption(&mut self, now: Ps, group: CounterGroup, _: u64, done: GroupMask, finished: bool) {
        self.0.push((now, group, done, finished));
    }
}

/// Consecutive pages in different banks, and a circuit for each of a few lines.
fn secpm(lines: u32) -> Machine {
    let sets = [
        "controller.aes_units=4",
        "controller.wpq_entries=64",
        "device.mapping=page-interleaved",
        "program.core_region=packed",
        "counters.minor_bits=1",
    ];
    let sets: Vec<String> =
        sets.iter().map(|set| (*set).to_owned()).chain([format!("counters.block_lines={lines}")]).collect();
    config::load_machine("secpm", &sets).unwrap()
}

/// A write of line 0 overflows while `other` is read. The times of both answers, with the renewals.
fn overflow(lines: u32, other: u64) -> (Ps, Ps, Vec<Renewal>) {
    let mut system = system(&secpm(lines), "secpm", Renewals::default());
    // The counters of both are in the cache.
    system.read(0, Line(0), 0);
    system.read(0, Line(other), 1);
    run(&mut system);
    system.write(LATE, Line(0), &[1; 64], 0);
    system.read(LATE + 30_000, Line(other), 1);
    let at = times(&mut system);
    (at[0], at[1], std::mem::take(&mut system.observer.0))
}

#[test]
fn a_read_waits_for_a_re_encryption_of_its_group_alone() {
    for lines in [16, 32, 64, 128u32] {
        let inside = u64::from(lines) - 1;
        let (_, waiting, renewals) = overflow(lines, inside);
        let begun = renewals.first().unwrap();
        assert_eq!((begun.1, begun.2), (CounterGroup::new(Line(0), lines as usize), 0));
        assert_eq!(renewals.len(), 1 + lines as usize, "each line is done once");
        let (end, _, done, finished) = *renewals.last().unwrap();
        assert_eq!((done, finished), (begun.1.all(), true));
        let of_line = renewals.iter().find(|(_, _, done, _)| done >> inside & 1 == 1).unwrap().0;
        assert!(of_line <= end && waiting > of_line, "{lines} lines: read at {waiting}, done at {of_line}");
        // The first line after the group is read as if nothing were re-encrypted: long before the last line is done.
        let (_, free, renewals) = overflow(lines, u64::from(lines));
        let end = renewals.last().unwrap().0;
        let before = renewals.iter().filter(|(at, ..)| *at < free).count();
        assert!(free < end && before < 12, "{lines} lines: read at {free}, after {before} of them, which end at {end}");
    }
}

#[test]
fn minors_without_room_are_refused() {
    let request = |lines: u32, bits: u32| json!({"design": "secpm", "workload": "array", "set": sets((lines, bits))});
    let told = refusal(&request(128, 4));
    assert_eq!(
        told,
        "machine 'secpm': counters.minor_bits = 4 must be at most 3 with counters.block_lines = 128, because a counter block has \
         448 bits for the minors of its lines"
    );
    assert!(refusal(&request(64, 8)).contains("must be at most 7 with counters.block_lines = 64"));
    assert!(refusal(&request(48, 2)).contains("counters.block_lines = 48"));
    assert!(refusal(&request(32, 15)).contains("counters.minor_bits = 15"));
}

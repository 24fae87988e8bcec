//! DRAM whose contents a battery saves: every design that holds elsewhere holds on it.

use super::common::judge::{assert_holds, count, run};
use super::common::{line, system, times};
use super::modules::holding;
use counterpoint_engine::config;
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::message::NoObserver;
use rayon::prelude::*;
use serde_json::{Value, json};

/// Caches and queues that a short run fills, few banks, and refreshes that come while it runs.
const SMALL: [&str; 14] = [
    "l1.size=512B",
    "l2.size=2KiB",
    "l2.ways=8",
    "l3.size=4KiB",
    "controller.counter_cache_size=512B",
    "controller.wpq_entries=8",
    "controller.wpq_high_watermark=6",
    "controller.wpq_low_watermark=2",
    "device.capacity=48MiB",
    "device.banks_per_rank=4",
    "dram.bank_groups=2",
    "dram.t_refi_ns=1000",
    "dram.t_rfc_ns=100",
    "log.buckets=16",
];

fn request(design: &str, workload: &str, machine: &str) -> Value {
    json!({
        "design": design, "workload": workload, "machine": machine, "set": SMALL, "tx_size": 128, "footprint": "16KiB",
        "transactions": 6,
    })
}

#[test]
fn every_design_that_holds_holds_on_dram() {
    holding().into_par_iter().enumerate().for_each(|(place, (design, workload))| {
        let machine = ["ddr4-2400", "ddr5-4800"][place % 2];
        let report = assert_holds(&request(design, workload, machine));
        assert!(count(&report, "crash_points") > 100, "{design}");
    });
}

/// A cycle of the machine `ddr4-2400`.
const CYCLE: Ps = 833;

#[test]
fn a_read_waits_for_a_refresh_that_is_due() {
    let machine = config::load_machine("ddr4-2400", &[]).unwrap();
    let mut system = system(&machine, "unencrypted", NoObserver);
    let due = 9_364 * CYCLE;
    system.read(0, line(0, 0), 0);
    system.read(due - 1, line(0, 1), 1);
    system.read(3 * due + 2_000 * CYCLE, line(0, 2), 2);
    let read = (16 + 4) * CYCLE;
    // A cycle until the first decision, an activate, and the read. The second waits for a precharge and the refresh.
    let first = CYCLE + 16 * CYCLE + read;
    let second = due + (16 + 433 + 16) * CYCLE + read;
    // What was due meanwhile was done when it was: the third finds its row closed.
    let third = 3 * due + (2_000 + 1 + 16) * CYCLE + read;
    assert_eq!(times(&mut system), [first, second, third]);
}

/// Reads go before a write, but not before one whose row has been opened.
#[test]
fn a_row_that_is_opened_for_a_write_stays_open_until_it_has_moved() {
    let machine = config::load_machine("ddr4-2400", &["controller.answer_latency_ns=0".to_owned()]).unwrap();
    let mut system = system(&machine, "unencrypted", NoObserver);
    system.write(0, line(0, 0), &[1; 64], 0);
    // Another row of its bank: sixteen banks with rows of two pages.
    system.read(2 * CYCLE, line(32, 0), 1);
    let write = (1 + 16) * CYCLE;
    let closed = write + (12 + 4 + 18) * CYCLE;
    assert_eq!(times(&mut system), [0, closed + (16 + 16 + 16 + 4) * CYCLE]);
}

#[test]
fn dram_has_rows_and_no_lifetime() {
    let probe = json!({
        "design": "unencrypted", "workload": "load-sequential", "machine": "ddr4-2400", "set": [], "tx_size": 256,
        "footprint": "1MiB", "transactions": 2000,
    });
    let report = run(&probe);
    let (reads, hits) = (report["nvm"]["reads"].as_u64().unwrap(), report["nvm"]["row_hits"].as_u64().unwrap());
    assert!(reads > 7900 && hits < reads && hits as f64 > 0.9 * reads as f64, "{hits} of {reads}");
    for key in ["lifetime_years", "even_lifetime_years", "endured_runs"] {
        assert!(report["nvm"][key].is_null(), "{key}");
    }
}

#[test]
fn what_does_not_go_with_dram_is_refused_in_a_sentence() {
    let refused = |set: &str| config::load_machine("ddr4-2400", &[set.to_owned()]).unwrap_err().0;
    for (set, told) in [
        ("controller.policy=continuous", "controller.policy = ramulator2, because the other policies"),
        ("wear.leveling=start-gap", "wear.leveling = none, because it does not wear out"),
        ("device.write_interruption=pause", "device.write_interruption = none"),
        ("device.row_segments=2", "device.row_segments = 1, because it opens whole rows"),
        ("controller.counter_write=counter", "controller.counter_write = line, because a burst is a line"),
    ] {
        let sentence = refused(set);
        assert!(sentence.contains("module.kind = dram needs") && sentence.contains(told), "{sentence}");
    }
    assert!(refused("dram.bank_groups=5").contains("dram.bank_groups = 5 must divide device.banks_per_rank = 16"));
    assert!(refused("dram.t_rfc_ns=8000").contains("dram.t_rfc_ns = 8000 must be below dram.t_refi_ns = 7800.212"));
    let sentence = refused("module.kind=none");
    assert!(sentence.contains("controller.policy = ramulator2 needs module.kind = dram"), "{sentence}");
}

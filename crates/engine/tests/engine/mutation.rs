//! The power of the auditors: every mechanism that can be switched off is detected where it is missing, and the same
//! exploration finds nothing where it is not.

use counterpoint_engine::Source;
use counterpoint_engine::audit::Rule;
use counterpoint_engine::config::{self, Machine, RunConfig, Variant};
use counterpoint_engine::crash::{AttackPlan, CrashPlan, CrashReport, Exploration};
use counterpoint_engine::design::faults::Fault;
use counterpoint_engine::parts::Design;
use counterpoint_engine::{CrashCase, design};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A fault and a run in which it shows.
struct Row {
    fault: Fault,
    design: &'static str,
    workload: &'static str,
    sets: &'static [&'static str],
    transactions: u64,
    /// How many times in a row power fails again during recovery.
    nested: u32,
    /// Whether an attacker changes the media.
    attacked: bool,
    /// The rules, at least one of which is broken.
    rules: &'static [Rule],
}

const fn row(fault: Fault, design: &'static str, workload: &'static str, rules: &'static [Rule]) -> Row {
    Row { fault, design, workload, sets: &[], transactions: 40, nested: 0, attacked: false, rules }
}

const fn with(row: Row, sets: &'static [&'static str]) -> Row {
    Row { sets, ..row }
}

/// A short run, with power failures during its recoveries.
const fn again(row: Row, nested: u32) -> Row {
    Row { nested, transactions: 4, ..row }
}

/// A run whose durable states an attacker changes.
const fn attacked(row: Row) -> Row {
    Row { attacked: true, transactions: 6, ..row }
}

const REFUSED: &[Rule] = &[Rule::FalseAlarm];
const ACCEPTED: &[Rule] = &[Rule::Integrity];
const LOST: &[Rule] = &[Rule::Line, Rule::Durability, Rule::Atomicity, Rule::Structure];
const REUSED: &[Rule] = &[Rule::PadReuse];
const CLEAR: &[Rule] = &[Rule::Plaintext];
const TWICE: &[Rule] = &[Rule::TweakReuse];
/// A counter cache of one block, so that counters are late.
const ONE_BLOCK: &[&str] = &["controller.counter_cache_size=64B", "controller.counter_cache_ways=1"];
const NO_OVERFLOW: &[&str] = &["counters.minor_bits=7"];
/// Counter blocks stay in the cache, so that they fall behind.
const COUNTERS_STAY: &[&str] = &["counters.minor_bits=7", "controller.counter_cache_size=4KiB"];
/// So do lines of MACs.
const BLOCKS_STAY: &[&str] =
    &["counters.minor_bits=7", "controller.counter_cache_size=4KiB", "integrity.metadata_cache_size=4KiB"];
const NO_STOP_LOSS: &[&str] = &["integrity.stop_loss=1", "controller.counter_cache_size=4KiB"];
const FOUR_CIRCUITS: &[&str] = &["controller.aes_units=4", "counters.minor_bits=7"];
/// Regions of 64 lines, whose gap moves often.
const LEVELLED: &[&str] = &["wear.leveling=start-gap", "wear.gap_interval=3", "wear.regions_per_bank=65536"];
/// Modules with a buffer of two media lines.
const MODULES: &[&str] = &["module.kind=buffered", "controller.policy=continuous", "module.buffer=512B"];
const EARLY_OVERFLOW: &[&str] = &["counters.minor_bits=1"];
/// Counter blocks that cover two pages, and a quarter of one.
const TWO_PAGES: &[&str] = &["counters.block_lines=128"];
const QUARTER_PAGE: &[&str] = &["counters.block_lines=16"];

const ROWS: &[Row] = &[
    row(Fault::StagingRegister, "secpm", "linked-list", LOST),
    row(Fault::StagingRegister, "secpm-no-cwr", "array", LOST),
    with(row(Fault::AppendOrder, "secpm", "array", LOST), FOUR_CIRCUITS),
    with(row(Fault::AppendOrder, "write-through", "array", LOST), FOUR_CIRCUITS),
    with(row(Fault::CounterWriteThrough, "secpm", "btree", LOST), NO_OVERFLOW),
    row(Fault::CounterWriteThrough, "fca", "linked-list", LOST),
    with(row(Fault::CounterWriteThrough, "hw-log", "array", REUSED), NO_OVERFLOW),
    with(row(Fault::CwrAddressCheck, "secpm", "array", LOST), NO_OVERFLOW),
    row(Fault::CwrAddressCheck, "secpm", "btree", LOST),
    row(Fault::Tweak, "xts", "array", TWICE),
    with(row(Fault::BufferEncryption, "optane-xts", "array", CLEAR), MODULES),
    with(row(Fault::BufferEncryption, "optane-xts", "btree", CLEAR), MODULES),
    with(row(Fault::Tweak, "optane-xts", "array", TWICE), MODULES),
    row(Fault::PageModes, "hot-xts", "array", LOST),
    row(Fault::PageModes, "hot-xts", "btree", LOST),
    row(Fault::ReencryptionStatus, "hot-xts", "array", LOST),
    row(Fault::OldMinors, "hot-xts", "array", LOST),
    row(Fault::DoneBitWithPair, "hot-xts", "array", LOST),
    with(row(Fault::ModifiedBits, "deuce", "array", LOST), NO_OVERFLOW),
    with(row(Fault::LeadingCounter, "deuce", "array", REUSED), NO_OVERFLOW),
    row(Fault::ShreddedBlock, "silent-shredder", "store A; clwb A; sfence; zero-page A; load A", LOST),
    row(Fault::ZeroMinor, "silent-shredder", "array", LOST),
    row(Fault::ReencryptionStatus, "secpm", "array", LOST),
    row(Fault::ReencryptionStatus, "eadr-cme", "array", LOST),
    with(row(Fault::ReencryptionStatus, "secpm", "array", LOST), TWO_PAGES),
    with(row(Fault::ReencryptionStatus, "secpm", "array", LOST), QUARTER_PAGE),
    row(Fault::OldMinors, "secpm", "array", LOST),
    with(row(Fault::OldMinors, "secpm", "array", LOST), TWO_PAGES),
    with(row(Fault::OldMinors, "secpm", "array", LOST), QUARTER_PAGE),
    row(Fault::OldMinors, "bbe", "array", LOST),
    row(Fault::DoneBitWithPair, "secpm", "array", LOST),
    with(row(Fault::DoneBitWithPair, "secpm", "array", LOST), TWO_PAGES),
    with(row(Fault::DoneBitWithPair, "secpm", "array", LOST), QUARTER_PAGE),
    with(row(Fault::ReadyBit, "fca", "array", LOST), ONE_BLOCK),
    with(row(Fault::ReadyBit, "sca", "array", LOST), ONE_BLOCK),
    row(Fault::CounterUpdate, "fca", "linked-list", LOST),
    with(row(Fault::CounterUpdate, "bbe", "array", LOST), EARLY_OVERFLOW),
    row(Fault::WritebackOrder, "sca", "array", LOST),
    row(Fault::GlobalCounter, "fca", "hash", REUSED),
    row(Fault::GlobalCounter, "sca", "hash", REUSED),
    row(Fault::GlobalCounter, "co-located", "hash", REUSED),
    row(Fault::GlobalCounter, "co-located-cc", "hash", REUSED),
    row(Fault::LogMetadata, "hw-log", "array", LOST),
    row(Fault::LogMetadata, "easy-pm", "array", LOST),
    row(Fault::UndoHardwareLog, "hw-log", "array", LOST),
    row(Fault::UndoHardwareLog, "easy-pm", "array", LOST),
    row(Fault::LogBeforeData, "hw-log", "array", LOST),
    row(Fault::LogBeforeData, "easy-pm", "array", LOST),
    row(Fault::LogCounters, "hw-log", "array", LOST),
    row(Fault::IvFreshness, "easy-pm", "array", REUSED),
    row(Fault::RecentCiphertext, "easy-pm", "array", REUSED),
    row(Fault::CounterDrain, "eadr-all-operation", "array", LOST),
    row(Fault::CounterDrain, "eadr-cme", "btree", LOST),
    row(Fault::CounterDrain, "bbe", "array", LOST),
    row(Fault::CounterDrain, "sepencr", "array", LOST),
    row(Fault::NewestCopy, "eadr", "btree", LOST),
    row(Fault::NewestCopy, "eadr-all-operation", "btree", LOST),
    row(Fault::NewestCopy, "eadr-tree", "btree", LOST),
    row(Fault::NewestCopy, "secpb", "queue", LOST),
    row(Fault::PersistBuffer, "secpb", "array", LOST),
    row(Fault::PersistBuffer, "secpb", "btree", LOST),
    row(Fault::CachePads, "eadr-cme", "array", CLEAR),
    row(Fault::CachePads, "sepencr", "array", CLEAR),
    row(Fault::BatteryEncryption, "eadr-all-operation", "array", CLEAR),
    row(Fault::BatteryEncryption, "bbe", "array", CLEAR),
    row(Fault::BatteryEncryption, "secpb", "array", CLEAR),
    again(row(Fault::IncrCounter, "bbe", "array", REUSED), 1),
    again(row(Fault::IncrCounterStep, "bbe", "array", REUSED), 1),
    row(Fault::SlotPad, "bbe", "array", LOST),
    again(row(Fault::BootCounter, "sepencr", "array", REUSED), 1),
    again(row(Fault::AdvanceBootCounter, "sepencr", "array", REUSED), 1),
    row(Fault::RestoreShadow, "bbe", "array", LOST),
    row(Fault::RestoreShadow, "sepencr", "array", LOST),
    again(row(Fault::ShadowConsumed, "bbe", "btree", LOST), 1),
    again(row(Fault::ShadowConsumed, "sepencr", "array", LOST), 1),
    row(Fault::ShadowRoot, "bbe-tree", "array", REFUSED),
    row(Fault::ShadowRoot, "sepencr-tree", "queue", REFUSED),
    row(Fault::ShadowRootUpdate, "bbe-tree", "hash", REFUSED),
    row(Fault::ShadowRootUpdate, "sepencr-tree", "array", REFUSED),
    attacked(row(Fault::ShadowVerification, "bbe-tree", "array", ACCEPTED)),
    attacked(row(Fault::ShadowVerification, "sepencr-tree", "array", ACCEPTED)),
    again(row(Fault::ShadowConsumed, "bbe-tree", "btree", REFUSED), 1),
    row(Fault::CounterDrain, "bbe-tree", "array", REFUSED),
    row(Fault::RootUpdate, "sepencr-tree", "array", REFUSED),
    row(Fault::RestoreShadow, "sepencr-tree", "array", REFUSED),
    row(Fault::EpochTag, "sepencr", "array", LOST),
    again(row(Fault::EpochBits, "sepencr", "array", LOST), 2),
    row(Fault::RootUpdate, "rebuild", "array", REFUSED),
    row(Fault::RootUpdate, "eadr-tree", "array", REFUSED),
    row(Fault::RootUpdate, "secpb", "array", REFUSED),
    row(Fault::RootUpdate, "strict", "array", REFUSED),
    row(Fault::IntegrityRoot, "secpm-tree", "array", REFUSED),
    attacked(row(Fault::MacAddress, "rebuild", "array", ACCEPTED)),
    attacked(row(Fault::MacAddress, "strict", "hash", ACCEPTED)),
    attacked(row(Fault::MacCounter, "strict", "array", ACCEPTED)),
    attacked(row(Fault::MacCounter, "triad-nvm", "queue", ACCEPTED)),
    row(Fault::MacWithData, "rebuild", "array", REFUSED),
    attacked(row(Fault::CounterVerification, "strict", "array", ACCEPTED)),
    attacked(row(Fault::CounterVerification, "secpm-tree", "btree", ACCEPTED)),
    row(Fault::TreePersistence, "strict", "array", REFUSED),
    row(Fault::RestoreNodes, "anubis-agit-plus", "array", REFUSED),
    row(Fault::ShadowEntry, "anubis-agit-plus", "array", REFUSED),
    row(Fault::RebuildTree, "rebuild", "array", REFUSED),
    row(Fault::RebuildTree, "secpb", "btree", REFUSED),
    row(Fault::RebuildTree, "triad-nvm", "array", REFUSED),
    with(row(Fault::StopLoss, "osiris", "linked-list", REFUSED), COUNTERS_STAY),
    with(row(Fault::StopLoss, "sca-tree", "btree", REFUSED), NO_STOP_LOSS),
    with(row(Fault::StopLoss, "star", "linked-list", REFUSED), COUNTERS_STAY),
    row(Fault::RootUpdate, "scue", "array", REFUSED),
    attacked(row(Fault::NodeMac, "strict-counter-tree", "array", ACCEPTED)),
    attacked(row(Fault::NodeMac, "anubis-asit", "array", ACCEPTED)),
    attacked(row(Fault::CounterVerification, "star", "array", ACCEPTED)),
    row(Fault::RestoreContents, "anubis-asit", "array", REFUSED),
    row(Fault::RestoreContents, "phoenix", "array", REFUSED),
    with(row(Fault::StopLoss, "phoenix", "linked-list", REFUSED), COUNTERS_STAY),
    row(Fault::ShadowEntry, "phoenix", "array", REFUSED),
    attacked(row(Fault::TableCounters, "phoenix", "array", ACCEPTED)),
    row(Fault::RestoreStale, "star", "array", REFUSED),
    with(row(Fault::PartialUpdates, "thoth", "array", REFUSED), BLOCKS_STAY),
    with(row(Fault::UpdatesLeave, "thoth", "array", REFUSED), BLOCKS_STAY),
    row(Fault::UpdateLines, "thoth", "array", REFUSED),
    row(Fault::ApplyUpdates, "thoth", "array", REFUSED),
    row(Fault::TableRoot, "anubis-asit", "array", REFUSED),
    row(Fault::TableRoot, "star", "array", REFUSED),
    row(Fault::BitLines, "star", "array", REFUSED),
    row(Fault::ShadowEntry, "anubis-asit", "array", REFUSED),
    row(Fault::RecoverCounters, "osiris", "array", REFUSED),
    with(row(Fault::GapRegisters, "unencrypted", "array", LOST), LEVELLED),
    with(row(Fault::GapRegisters, "secpm", "hash", LOST), LEVELLED),
    with(row(Fault::GapRegisters, "xts", "btree", LOST), LEVELLED),
    with(row(Fault::GapRegisters, "co-located", "array", LOST), LEVELLED),
    with(row(Fault::GapRegisters, "eadr-cme", "array", LOST), LEVELLED),
    with(row(Fault::GapRegisters, "rebuild", "array", REFUSED), LEVELLED),
];

fn machine(row: &Row) -> Machine {
    let sets: Vec<String> = row.sets.iter().map(|set| (*set).to_owned()).collect();
    config::load_machine("small", &sets).unwrap()
}

fn judge((design, machine): (&Design, Machine), row: &Row, fault: Option<Fault>) -> CrashReport {
    let config = RunConfig {
        variant: design.variant,
        tx_size: 128,
        transactions: row.transactions,
        footprint: 16 << 10,
        ..RunConfig::new(&design.name, row.workload, machine)
    };
    config::validate_run(&config).unwrap();
    let source = Source::open(&config, design.form, 32 << 20, &Arc::default()).unwrap();
    let attack = row.attacked.then(|| AttackPlan::named(&["all".to_owned()], 2).unwrap());
    let exploration = Exploration { nested: row.nested, attack, fault, ..Exploration::of(CrashPlan::All) };
    let (progress, cancel) = (&|_| {}, &AtomicBool::new(false));
    CrashCase { config: &config, design, source: &source, wrappers: &[], progress, cancel }
        .explore(&exploration)
        .unwrap()
}

fn rules(report: &CrashReport) -> BTreeSet<String> {
    report.violations.iter().map(|found| format!("{:?}", found.violation.rule)).collect()
}

/// The run of a row, whatever its fault: rows that share it share the exploration without a fault.
fn run_of(row: &Row) -> (&str, &str, &[&str], u64, u32, bool) {
    (row.design, row.workload, row.sets, row.transactions, row.nested, row.attacked)
}

/// What the exploration without a fault finds in the run of a row, if anything.
fn alarm(row: &Row) -> Option<String> {
    let report = judge((&design::find(row.design, Variant::Hardened).unwrap(), machine(row)), row, None);
    let told = || format!("intact, {:?} {:?}", report.violations.first(), report.internal_errors.first());
    (!report.holds()).then(|| format!("{:?}: {}", run_of(row), told()))
}

/// What is wrong with a row, if anything.
fn weakness(row: &Row) -> Option<String> {
    let of = format!("{} on {} and {}, nested {}", row.fault.name(), row.design, row.workload, row.nested);
    let intact = design::find(row.design, Variant::Hardened).unwrap();
    let mut machine = machine(row);
    let broken = match row.fault.apply_on(intact, &mut machine) {
        Ok(broken) => broken,
        Err(error) => return Some(format!("{of}: {}", error.0)),
    };
    let report = judge((&broken, machine), row, Some(row.fault));
    if !report.internal_errors.is_empty() {
        return Some(format!("{of}: {} errors, {}", report.internal_errors.len(), report.internal_errors[0]));
    }
    if !report.violations.iter().any(|found| row.rules.contains(&found.violation.rule)) {
        return Some(format!("{of}: broke {:?}", rules(&report)));
    }
    if report.fault != Some(row.fault.name()) || !report.coverage.contains(row.fault.summary()) {
        return Some(format!("{of}: told as {:?}: {}", report.fault, report.coverage));
    }
    None
}

#[test]
fn every_mechanism_is_missed_when_it_is_off() {
    let told = |fault: &str, row: &Row, judged: fn(&Row) -> Option<String>| {
        let stopped = |_| Some(format!("{fault} on {} and {}: it panicked", row.design, row.workload));
        catch_unwind(|| judged(row)).unwrap_or_else(stopped)
    };
    let runs: BTreeMap<_, &Row> = ROWS.iter().map(|row| (run_of(row), row)).collect();
    let mut weak: Vec<String> = runs.par_iter().filter_map(|(_, row)| told("intact", row, alarm)).collect();
    weak.par_extend(ROWS.par_iter().filter_map(|row| told(row.fault.name(), row, weakness)));
    assert!(weak.is_empty(), "{}", weak.join("\n"));
}

#[test]
fn every_fault_has_a_row() {
    for fault in Fault::ALL {
        assert!(ROWS.iter().any(|row| row.fault == *fault), "{} has no row", fault.name());
    }
}

/// A stamp of one bit distinguishes two epochs: the third has the stamp of the first.
#[test]
fn stamp_of_one_bit_fails_when_recovery_is_cut_short_twice() {
    let of = |nested| again(row(Fault::EpochBits, "sepencr", "array", LOST), nested);
    let broken = Fault::EpochBits.apply(&design::find("sepencr", Variant::Hardened).unwrap()).unwrap();
    for nested in [0, 1] {
        let report = judge((&broken, machine(&of(nested))), &of(nested), Some(Fault::EpochBits));
        assert!(report.holds(), "depth {nested}: {:?}", report.violations.first());
    }
    let report = judge((&broken, machine(&of(2))), &of(2), Some(Fault::EpochBits));
    let first = &report.violations[0];
    let events = &first.violation.nested_events;
    assert_eq!((events.len(), first.nested_event()), (2, Some(events[0])));
    assert_eq!((first.reproduce.nested_depth, first.reproduce.at_event), (Some(2), first.violation.crash_event));
    let told = &first.violation.explanation;
    assert!(told.contains("of the recovery from that"), "{told}");
    assert!(report.coverage.contains("2 times in a row"), "{}", report.coverage);
}

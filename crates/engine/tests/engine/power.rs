//! The power of the auditors: a design with one part replaced with a wrong one must be detected, and the same design
//! with that part in place must hold. A check that cannot fail is no check.

use counterpoint_engine::Source;
use counterpoint_engine::config::{self, RunConfig, Variant};
use counterpoint_engine::crash::{CrashPlan, CrashReport, Exploration};
use counterpoint_engine::message::{Annotation, Omission};
use counterpoint_engine::parts::{
    AppendOrder, CounterCoalescing, CounterUpdate, Design, Domain, Encryption, LineAtomicity, LogEncryption,
    MinorReset, ProgramForm, Promise, RecoveryStep, RegisterName, Registers, WritePath, WritebackOrder,
};
use counterpoint_engine::{CrashCase, audit::Rule, design};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn intact(name: &str) -> Design {
    design::find(name, Variant::Hardened).unwrap()
}

fn secpm_with(change: impl FnOnce(&mut Encryption)) -> Design {
    let mut design = intact("secpm");
    change(design.encryption.as_mut().unwrap());
    design
}

/// Fails power after every event of `design` on the small machine, changed by `sets`.
fn judge(design: &Design, workload: &str, sets: &[&str]) -> CrashReport {
    judge_without(design, workload, sets, None)
}

/// Fails power after every event like `judge`, with an annotation left out of the program.
fn judge_without(design: &Design, workload: &str, sets: &[&str], leave_out: Option<Annotation>) -> CrashReport {
    let report = explored(design, workload, sets, leave_out, CrashPlan::All);
    assert_eq!(report.internal_errors, [] as [String; 0], "{workload}");
    report
}

fn explored(
    design: &Design,
    workload: &str,
    sets: &[&str],
    leave_out: Option<Annotation>,
    plan: CrashPlan,
) -> CrashReport {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let config = RunConfig {
        variant: design.variant,
        tx_size: 256,
        transactions: 150,
        footprint: 64 << 10,
        leave_out: leave_out.map(Omission::Annotation),
        ..RunConfig::new(&design.name, workload, config::load_machine("small", &sets).unwrap())
    };
    config::validate_run(&config).unwrap();
    let source = Source::open(&config, design.form, 32 << 20, &Arc::default()).unwrap();
    let (progress, cancel) = (&|_| {}, &AtomicBool::new(false));
    let case = CrashCase { config: &config, design, source: &source, wrappers: &[], progress, cancel };
    case.explore(&Exploration::of(plan)).unwrap()
}

fn rules(report: &CrashReport) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for found in &report.violations {
        if !rules.contains(&found.violation.rule) {
            rules.push(found.violation.rule);
        }
    }
    rules
}

/// Checks that the design without its fault holds, and that `rule` is among the broken rules with it.
fn caught(broken: &Design, workload: &str, sets: &[&str], rule: Rule) {
    let report = judge(&intact(&broken.name), workload, sets);
    assert!(report.holds(), "intact {} on {workload}: {:?}", broken.name, report.violations.first());
    let report = judge(broken, workload, sets);
    assert!(rules(&report).contains(&rule), "{} on {workload} broke only {:?}", broken.name, rules(&report));
    // A leak on the bus is not a loss at any one crash point.
    assert!(report.recovered < report.crash_points || matches!(rule, Rule::Plaintext | Rule::PadReuse));
}

#[test]
fn status_register_that_does_not_survive() {
    let broken = Design {
        registers: Registers::default().with(RegisterName::ReencryptionStatus, Domain::Volatile),
        ..intact("secpm")
    };
    caught(&broken, "array", &[], Rule::Line);
    // Without an overflow nothing needs the register.
    assert!(judge(&broken, "array", &["counters.minor_bits=7"]).holds());
}

#[test]
fn minors_that_are_reset_before_their_lines_are_done() {
    caught(&secpm_with(|parts| parts.minor_reset = MinorReset::AtOnce), "array", &[], Rule::Line);
}

#[test]
fn pairs_appended_in_the_order_of_their_circuits_when_counters_coalesce() {
    let sets = ["controller.aes_units=4", "counters.minor_bits=7"];
    caught(&secpm_with(|parts| parts.append_order = AppendOrder::UnitOrder), "array", &sets, Rule::Line);
}

#[test]
fn counter_that_is_appended_apart_from_its_data() {
    for name in ["secpm", "secpm-no-cwr"] {
        let mut broken = intact(name);
        broken.encryption.as_mut().unwrap().write_path = WritePath::WriteThrough;
        caught(&broken, "linked-list", &[], Rule::Line);
        caught(&broken, "array", &[], Rule::Line);
    }
}

#[test]
fn counter_that_stays_in_the_cache() {
    // No overflow: a status register that names a major counter which was never written is a fault of its own.
    let sets = ["counters.minor_bits=7"];
    let mut broken = secpm_with(|parts| parts.write_path = WritePath::Deferred);
    caught(&broken, "btree", &sets, Rule::Line);
    // A design that promises nothing about lines must still recover; this one does not.
    broken.promise = Promise { line_atomic: LineAtomicity::None, ..broken.promise };
    caught(&broken, "btree", &sets, Rule::Durability);
    caught(&broken, "linked-list", &sets, Rule::Durability);
}

#[test]
fn write_reduction_does_not_save_a_counter_that_stays_in_the_cache() {
    let mut broken = intact("write-back");
    broken.encryption.as_mut().unwrap().coalescing = CounterCoalescing::InWpq;
    assert!(!judge(&broken, "array", &[]).holds());
}

/// The counter is incremented in its cache and never leaves it, not even when it is evicted.
#[test]
fn counter_that_is_forgotten_and_counts_again() {
    let sets = ["counters.minor_bits=7", "controller.counter_cache_size=64B", "controller.counter_cache_ways=1"];
    let broken = secpm_with(|parts| parts.write_path = WritePath::CounterDropped);
    caught(&broken, "array", &sets, Rule::PadReuse);
}

#[test]
fn plaintext_memory_that_claims_to_be_secret() {
    let mut broken = intact("unencrypted");
    broken.promise.secret = true;
    caught(&broken, "queue", &[], Rule::Plaintext);
}

fn family_with(name: &str, change: impl FnOnce(&mut Encryption)) -> Design {
    let mut design = intact(name);
    change(design.encryption.as_mut().unwrap());
    design
}

#[test]
fn data_that_is_ready_without_its_counter() {
    caught(&family_with("fca", |parts| parts.write_path = WritePath::Deferred), "linked-list", &[], Rule::Durability);
}

#[test]
fn counter_block_that_carries_a_neighbours_counter_too_early() {
    caught(&family_with("fca", |parts| parts.update = CounterUpdate::AtBump), "linked-list", &[], Rule::Line);
}

#[test]
fn counter_write_back_that_does_not_wait_for_its_data() {
    let broken = family_with("sca", |parts| parts.writeback_order = WritebackOrder::AtOnce);
    caught(&broken, "array", &[], Rule::Line);
    caught(&broken, "linked-list", &[], Rule::Durability);
}

#[test]
fn selective_counter_atomicity_sold_as_full() {
    let mut broken = intact("sca");
    broken.promise = Promise { line_atomic: LineAtomicity::Every, ..broken.promise };
    caught(&broken, "queue", &[], Rule::Line);
    // And its hardware under a program that says nothing.
    let mut broken = intact("fca");
    broken.encryption.as_mut().unwrap().write_path = WritePath::SelectiveReadyPairs;
    caught(&broken, "linked-list", &[], Rule::Durability);
}

#[test]
fn global_counter_that_is_lost_repeats_pads() {
    for name in ["fca", "sca", "co-located", "co-located-cc"] {
        let report = judge(&intact(name), "hash", &["counters.global_register=volatile"]);
        assert_eq!(rules(&report), [Rule::PadReuse], "{name}");
    }
    // The largest counter on the media is smaller than the counters of data that left before their counters did. If no
    // data does that, the largest counter is enough.
    let report = judge(&intact("sca"), "hash", &["counters.global_register=max-scan"]);
    assert_eq!(rules(&report), [Rule::PadReuse]);
    for name in ["fca", "co-located", "co-located-cc"] {
        let report = judge(&intact(name), "hash", &["counters.global_register=max-scan"]);
        assert!(report.holds(), "{name}: {:?}", rules(&report));
    }
}

#[test]
fn every_annotation_is_needed_on_selective_counter_atomicity_and_superfluous_on_full() {
    let full = Design { form: ProgramForm::Annotated, ..intact("fca") };
    for workload in ["array", "linked-list"] {
        for annotation in Annotation::of(ProgramForm::Annotated) {
            let report = judge_without(&intact("sca"), workload, &[], Some(annotation));
            let absent = workload == "linked-list" && annotation == Annotation::MutateCounterCacheWriteback;
            assert_eq!(report.holds(), absent, "{workload} without {}: {:?}", annotation.name(), rules(&report));
            if !absent {
                let first = &report.violations[0].violation;
                assert!(first.line.is_some() && first.stage.is_some(), "{workload} without {}", annotation.name());
            }
            let report = judge_without(&full, workload, &[], Some(annotation));
            assert!(report.holds(), "fca, {workload} without {}: {:?}", annotation.name(), rules(&report));
        }
    }
    // Without the declaration of its head pointer the list is lost completely.
    let report = judge_without(&intact("sca"), "linked-list", &[], Some(Annotation::CommitCounterAtomic));
    assert!(
        rules(&report).contains(&Rule::Structure) || rules(&report).contains(&Rule::Durability),
        "{:?}",
        rules(&report)
    );
}

/// A design with a hardware log, changed by `change`.
fn logging_with(name: &str, change: impl FnOnce(&mut Design)) -> Design {
    let mut design = intact(name);
    change(&mut design);
    design
}

#[test]
fn log_metadata_registers_that_do_not_survive() {
    for name in ["hw-log", "easy-pm"] {
        let broken = logging_with(name, |design| {
            design.registers = Registers::default().with(RegisterName::ReencryptionStatus, Domain::Adr);
        });
        caught(&broken, "array", &[], Rule::Atomicity);
    }
}

#[test]
fn boot_that_does_not_undo_what_the_hardware_logged() {
    for name in ["hw-log", "easy-pm"] {
        let broken = logging_with(name, |design| design.recovery = vec![RecoveryStep::ResumeReencryption]);
        caught(&broken, "array", &[], Rule::Atomicity);
    }
}

#[test]
fn log_counters_that_stay_in_the_cache() {
    let broken = logging_with("hw-log", |design| {
        design.log.as_mut().unwrap().encryption = LogEncryption::Counter { write_path: WritePath::Deferred };
    });
    caught(&broken, "array", &[], Rule::Atomicity);
}

#[test]
fn flushed_data_whose_counter_stays_in_the_cache() {
    for name in ["hw-log", "easy-pm"] {
        let broken = logging_with(name, |design| design.encryption.as_mut().unwrap().write_path = WritePath::Deferred);
        // `flush_data` also writes back what an eviction left, so nothing committed is lost; but pads repeat.
        caught(&broken, "array", &["counters.minor_bits=7"], Rule::PadReuse);
        let broken = logging_with(name, |design| {
            let parts = design.encryption.as_mut().unwrap();
            (parts.write_path, parts.writeback_order) = (WritePath::Deferred, WritebackOrder::AtOnce);
        });
        caught(&broken, "array", &["counters.minor_bits=7"], Rule::Durability);
    }
}

/// A line that is re-encrypted returns to the caches as memory has it, and an accepted write of it is not in memory yet.
#[test]
fn page_under_re_encryption_gives_the_caches_nothing_older_than_an_accepted_write() {
    let points = CrashPlan::Sample(NonZeroU64::new(2000).unwrap());
    let report = explored(&intact("dolos"), "queue", &[], None, points);
    assert!(report.holds() && report.internal_errors.is_empty(), "{:?}", report.violations.first());
}

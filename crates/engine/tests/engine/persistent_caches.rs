//! Designs whose caches are in the persistence domain, judged at every event and at every step of the recovery that
//! follows (model.md section 10, litmus tests 8 to 10), and the power of the auditors over them: a part that is
//! replaced with a wrong one must be detected.

use super::common::expected::with_persistent_caches;
use counterpoint_engine::Source;
use counterpoint_engine::config::{self, RunConfig, Variant};
use counterpoint_engine::crash::{CrashPlan, CrashReport, Exploration};
use counterpoint_engine::message::OnChipLine;
use counterpoint_engine::parts::{
    Battery, CounterUpdate, CrashDrain, Design, Domain, DrainCopies, DrainMechanism, DrainParts, DrainPath, Encryption,
    Forbidden, OnBattery, PersistenceDomain, RecoveryStep, RegisterName, RestoreInto, ShadowSlots, StampSource,
};
use counterpoint_engine::workload::WORKLOADS;
use counterpoint_engine::{CrashCase, audit::Rule, design};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// No page is re-encrypted, so only the faults in the eADR paper's own text remain.
const NO_OVERFLOW: &[&str] = &["counters.minor_bits=7"];

fn find(name: &str, variant: Variant) -> Design {
    design::find(name, variant).unwrap()
}

struct Case<'a> {
    workload: &'a str,
    sets: &'a [&'a str],
    transactions: u64,
    cores: u16,
    nested: bool,
}

impl<'a> Case<'a> {
    fn of(workload: &'a str) -> Self {
        Self { workload, sets: &[], transactions: 40, cores: 1, nested: false }
    }
}

/// Fails power after every event of `design` on the small machine.
fn judge(design: &Design, case: &Case) -> CrashReport {
    let sets: Vec<String> = case.sets.iter().map(|set| (*set).to_owned()).collect();
    let config = RunConfig {
        variant: design.variant,
        tx_size: 128,
        transactions: case.transactions,
        cores: case.cores,
        footprint: 16 << 10,
        ..RunConfig::new(&design.name, case.workload, config::load_machine("small", &sets).unwrap())
    };
    config::validate_run(&config).unwrap();
    let source = Source::open(&config, design.form, 32 << 20, &Arc::default()).unwrap();
    let (progress, cancel) = (&|_| {}, &AtomicBool::new(false));
    let run = CrashCase { config: &config, design, source: &source, wrappers: &[], progress, cancel };
    let exploration = Exploration { nested: u32::from(case.nested), ..Exploration::of(CrashPlan::All) };
    let report = run.explore(&exploration).unwrap();
    assert_eq!(report.internal_errors, [] as [String; 0], "{} on {}", design.name, case.workload);
    report
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

#[test]
fn persistent_caches_lose_and_leak_nothing_at_any_event() {
    let cases: Vec<(&str, &str, u16)> = with_persistent_caches()
        .into_iter()
        .flat_map(|name| WORKLOADS.iter().map(move |workload| (name, workload.name)))
        // Each design with one core on half of the workloads, with two on the others.
        .zip((0..).map(|place: usize| 1 + ((place + place / WORKLOADS.len()) % 2) as u16))
        .map(|((name, workload), cores)| (name, workload, cores))
        .collect();
    cases.into_par_iter().for_each(|(name, workload, cores)| {
        let report = judge(&find(name, Variant::Hardened), &Case { cores, ..Case::of(workload) });
        assert!(report.holds(), "{name} on {workload}: {:?}", report.violations.first());
        assert!(report.exercised.evictions > 0, "{name} on {workload}");
        assert!(name == "eadr" || report.exercised.reencryptions > 0, "{name} on {workload}");
    });
}

#[test]
fn persistent_caches_lose_and_leak_nothing_when_power_fails_again_at_any_step_of_the_recovery() {
    let cases: Vec<(&str, &str)> = ["bbe", "sepencr"]
        .iter()
        .flat_map(|&name| WORKLOADS.iter().map(move |workload| (name, workload.name)))
        .collect();
    cases.into_par_iter().for_each(|(name, workload)| {
        let case = Case { nested: true, transactions: 2, ..Case::of(workload) };
        let report = judge(&find(name, Variant::Hardened), &case);
        assert!(report.holds(), "{name} on {workload}: {:?}", report.violations.first());
        assert!(report.nested_points > report.distinct_states, "{name} on {workload}: {}", report.nested_points);
    });
}

/// Litmus test 8.
#[test]
fn counter_mode_in_the_controller_lets_the_caches_leave_in_the_clear() {
    for variant in [Variant::Published, Variant::Hardened] {
        for workload in ["array", "linked-list"] {
            let report = judge(&find("eadr-mc-cme", variant), &Case { sets: NO_OVERFLOW, ..Case::of(workload) });
            assert_eq!(rules(&report), [Rule::Plaintext], "{variant:?} on {workload}");
        }
    }
}

/// Litmus tests 9 and 10: as published, `sepencr` holds at every first power failure, and fails if power fails again
/// while the shadow cache is being restored, or between decryption and the renewal of the pads.
#[test]
fn published_sepencr_fails_at_a_second_power_failure() {
    let design = find("sepencr", Variant::Published);
    let case = Case { sets: NO_OVERFLOW, transactions: 6, ..Case::of("array") };
    let report = judge(&design, &case);
    assert!(report.holds(), "{:?}", report.violations.first());
    let report = judge(&design, &Case { nested: true, ..case });
    let rules = rules(&report);
    assert!(rules.contains(&Rule::Plaintext), "decrypted lines rest in the clear until pads are renewed: {rules:?}");
    let lost = rules.iter().any(|rule| matches!(rule, Rule::Durability | Rule::Atomicity | Rule::Line));
    assert!(lost, "lines not yet put back are lost: {rules:?}");
    assert!(report.violations.iter().all(|found| found.nested_event().is_some()));
}

/// Litmus test 10, and a clean slot that does not increment the counter by which recovery finds the others.
#[test]
fn published_bbe_takes_the_wrong_counter_once_a_clean_slot_was_skipped() {
    let design = find("bbe", Variant::Published);
    let report = judge(&design, &Case { sets: NO_OVERFLOW, ..Case::of("array") });
    assert!(!report.holds());
    assert!(rules(&report).iter().any(|rule| matches!(rule, Rule::Durability | Rule::Line)), "{:?}", rules(&report));
}

/// The hardened counters of slots with the published way into the caches: only litmus test 10 remains.
#[test]
fn shadow_cache_that_is_consumed_into_the_caches_is_lost_at_a_second_power_failure() {
    let hardened = find("bbe", Variant::Hardened);
    let into = RecoveryStep::RestoreShadow { stamp: StampSource::Metadata, into: RestoreInto::Caches };
    let design = Design { recovery: vec![RecoveryStep::ResumeReencryption, into], ..hardened };
    let case = Case { sets: NO_OVERFLOW, transactions: 4, ..Case::of("array") };
    assert!(judge(&design, &case).holds(), "the first power failure is survived");
    let report = judge(&design, &Case { nested: true, ..case });
    assert!(!report.holds());
}

#[test]
fn design_that_computes_on_a_battery_that_only_writes_is_caught_in_the_act() {
    /// bbe's drain with the wrong statement that it needs no battery.
    struct Understated;
    impl DrainMechanism for Understated {
        fn needs(&self) -> Battery {
            Battery::WriteOnly
        }
        fn uses_shadow(&self) -> bool {
            true
        }
        fn drain(&self, lines: &[OnChipLine], battery: &mut dyn OnBattery) -> Result<(), Forbidden> {
            by(DrainPath::EncryptToShadow).drain(lines, battery)
        }
    }
    let broken = drained_by("bbe", CrashDrain::Custom(&Understated));
    let report = judge(&broken, &Case { transactions: 4, ..Case::of("array") });
    assert!(rules(&report).contains(&Rule::Battery), "{:?}", rules(&report));
    assert!(report.recovered < report.crash_points);
}

/// The hardened drain to a shadow cache, with another path.
fn by(path: DrainPath) -> CrashDrain {
    CrashDrain::Parts(DrainParts { path, slots: ShadowSlots::Dirty, ..DrainParts::default() })
}

fn drained_by(name: &str, drain: CrashDrain) -> Design {
    Design { domain: PersistenceDomain::Eadr { drain }, ..find(name, Variant::Hardened) }
}

fn caught(broken: &Design, case: &Case, expected: &[Rule]) {
    let report = judge(&find(&broken.name, Variant::Hardened), case);
    assert!(report.holds(), "intact {}: {:?}", broken.name, report.violations.first());
    let rules = rules(&judge(broken, case));
    assert!(expected.iter().any(|rule| rules.contains(rule)), "{} broke only {rules:?}", broken.name);
}

const LOST: &[Rule] = &[Rule::Line, Rule::Durability, Rule::Atomicity, Rule::Structure];

#[test]
fn lines_that_rest_in_the_clear_leave_in_the_clear() {
    let broken =
        Design { cache_pads: counterpoint_engine::parts::CachePads::None, ..find("sepencr", Variant::Hardened) };
    caught(&broken, &Case { transactions: 4, ..Case::of("array") }, &[Rule::Plaintext]);
}

#[test]
fn boot_counter_that_does_not_go_up_repeats_the_pads_of_the_caches() {
    let restore = RecoveryStep::RestoreShadow { stamp: StampSource::Metadata, into: RestoreInto::Memory };
    let broken =
        Design { recovery: vec![RecoveryStep::ResumeReencryption, restore], ..find("sepencr", Variant::Hardened) };
    let case = Case { transactions: 4, nested: true, ..Case::of("array") };
    caught(&broken, &case, &[Rule::PadReuse]);
    assert!(judge(&broken, &Case { nested: false, ..case }).holds(), "it takes a second life");
    for found in judge(&broken, &case).violations {
        assert!(found.nested_event().is_some(), "{}", found.violation.explanation);
        assert_eq!(found.reproduce.nested_depth, Some(1));
    }
}

#[test]
fn registers_that_do_not_survive() {
    for (name, lost) in [("bbe", RegisterName::IncrCounter), ("sepencr", RegisterName::BootCounter)] {
        let intact = find(name, Variant::Hardened);
        let broken = Design { registers: intact.registers.with(lost, Domain::Volatile), ..intact };
        caught(&broken, &Case { transactions: 4, nested: true, ..Case::of("array") }, &[Rule::PadReuse]);
    }
}

#[test]
fn counters_that_are_incremented_before_their_data_is_queued() {
    let mut broken = find("bbe", Variant::Hardened);
    let parts: &mut Encryption = broken.encryption.as_mut().unwrap();
    parts.update = CounterUpdate::AtBump;
    caught(&broken, &Case { sets: &["counters.minor_bits=1"], ..Case::of("array") }, LOST);
}

/// The first level's slots are written to the shadow cache, the others are forgotten.
struct FirstLevelOnly;

impl DrainMechanism for FirstLevelOnly {
    fn needs(&self) -> Battery {
        Battery::WriteOnly
    }
    fn uses_shadow(&self) -> bool {
        true
    }
    fn drain(&self, lines: &[OnChipLine], battery: &mut dyn OnBattery) -> Result<(), Forbidden> {
        let kept: Vec<OnChipLine> = lines.iter().filter(|line| line.level == 1).copied().collect();
        by(DrainPath::ToShadow).drain(&kept, battery)
    }
}

#[test]
fn drain_that_forgets_a_level() {
    let broken = drained_by("sepencr", CrashDrain::Custom(&FirstLevelOnly));
    caught(&broken, &Case::of("btree"), LOST);
}

#[test]
fn drain_that_writes_older_copies_over_newer_ones() {
    let oldest_last = DrainParts { copies: DrainCopies::Every, ..DrainParts::default() };
    let broken = drained_by("eadr", CrashDrain::Parts(oldest_last));
    caught(&broken, &Case::of("btree"), LOST);
}

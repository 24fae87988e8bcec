//! Second power failures on the scripted machine, and power losses as the explorer judges them.

use super::{run, survivors};
use crate::audit::tests::fixture::{Machine, ProgramFault, WriteStyle, undo_pair};
use crate::audit::{AuditSetup, Auditor, CounterLayout, DrainFacts, Rule, Violation};
use crate::crash::explorer::nested::Nested;
use crate::crash::*;
use crate::layout::Coverage;
use crate::message::{Line, Observer};
use crate::parts::{Battery, Forbidden, LineAtomicity, RecoveryStep};
use crate::power::{GlobalCounterSurvives, Survival};
use crate::recovery::AdrSnapshot;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const STEPS: &[RecoveryStep] = &[RecoveryStep::ResumeReencryption];

/// Every event of the test program, and every step of the recovery from every third state; `survival` says what a second
/// power loss leaves.
fn explore(counters: CounterLayout, survival: Survival, steps: &[RecoveryStep]) -> CrashReport {
    let mut machine = Machine::with_counters(counters);
    let (mut program, facts) = undo_pair(&machine.codec.base, 2, ProgramFault::default());
    let auditor = machine.audited(true, true, Some(facts));
    let mut explorer = Explorer::new(auditor, CrashPlan::All, 0).nested(1).full_check_every(10);
    let mut states = 0;
    machine.run(&mut program, &mut explorer, |_| WriteStyle::Pair, &mut |machine, explorer| {
        states += u32::from(explorer.wants_survivors());
        if explorer.wants_survivors() && states.is_multiple_of(3) {
            let mut survivors = survivors(machine, machine.snapshot(true), steps);
            survivors.loss.survival = survival;
            explorer.judge(&survivors).unwrap();
        }
    });
    assert_eq!(explorer.internal_errors(), [] as [String; 0]);
    explorer.report(run())
}

const SPLIT: CounterLayout = CounterLayout::Split { coverage: Coverage::PAGE, minor_bits: 2 };
const WORDS: CounterLayout = CounterLayout::Words { coverage: Coverage::EIGHT_LINES, bytes: 8 };

#[test]
fn recovery_survives_power_failures_after_every_step_of_it() {
    for counters in [SPLIT, WORDS] {
        let report = explore(counters, Survival::OF_ALL, STEPS);
        assert_eq!(report.violations, []);
        assert_eq!(report.recovered, report.crash_points);
        assert!(3 * report.nested_points > report.distinct_states, "{} second failures", report.nested_points);
        assert!(report.coverage.contains(&format!("{} times", report.nested_points)), "{}", report.coverage);
        assert!(report.coverage.contains("once more"));
    }
}

#[test]
fn status_register_that_a_second_failure_loses_is_found_and_told_with_its_step() {
    let report = explore(SPLIT, Survival { status: false, ..Survival::OF_ALL }, STEPS);
    let first = report.violations.iter().find(|found| found.violation.rule == Rule::Line).expect("lines are lost");
    let (step, reproduce) = (first.nested_event(), &first.reproduce);
    let first = &first.violation;
    let step = step.expect("it takes a second failure");
    assert!(first.explanation.contains(&format!("again after step {step} of the recovery")), "{}", first.explanation);
    assert_eq!((reproduce.nested_depth, reproduce.at_event), (Some(1), first.crash_event));
    assert!(report.violations.iter().all(|found| found.nested_event().is_some()));
    assert!(report.recovered < report.crash_points && !report.holds());
}

#[test]
fn global_register_that_a_second_failure_loses_repeats_pads() {
    let survival = Survival { global_counter: GlobalCounterSurvives::Not, ..Survival::OF_ALL };
    let report = explore(WORDS, survival, &[]);
    let found =
        report.violations.iter().find(|found| found.violation.rule == Rule::PadReuse).expect("a pad is repeated");
    assert!(found.nested_event().is_some());
    let told = &found.violation.explanation;
    assert!(told.contains("again after step"), "{told}");
}

/// The tree of recoveries from some states of the test program, to `depth`: what is broken where, with and without
/// pruning, and how many failures each needed.
fn trees(counters: CounterLayout, survival: Survival, steps: &[RecoveryStep], depth: u32) -> [(Broken, u64); 2] {
    let mut machine = Machine::with_counters(counters);
    let (mut program, facts) = undo_pair(&machine.codec.base, 2, ProgramFault::default());
    let auditor = machine.audited(true, true, Some(facts));
    let mut explorer = Explorer::new(auditor, CrashPlan::All, 0).nested(depth);
    // Without pruning the work grows exponentially with the depth.
    let every = match (depth, counters) {
        (1, _) => 3,
        (_, CounterLayout::Words { .. }) => 9,
        (_, CounterLayout::Split { .. }) => 40,
    };
    let mut states = 0;
    let mut trees = [(Broken::new(), 0), (Broken::new(), 0)];
    machine.run(&mut program, &mut explorer, |_| WriteStyle::Pair, &mut |machine, explorer| {
        states += u32::from(explorer.wants_nested());
        if !explorer.wants_nested() || !states.is_multiple_of(every) {
            return;
        }
        let mut survivors = survivors(machine, machine.snapshot(true), steps);
        survivors.loss.survival = survival;
        for ((broken, points), prunes) in trees.iter_mut().zip([true, false]) {
            let never = AtomicBool::new(false);
            let nested = Nested::new(explorer.auditor(), &survivors, false, &never).depth(depth);
            let result = if prunes { nested } else { nested.without_pruning() }.explore();
            *points += result.points;
            broken.extend(result.found.iter().map(|found| {
                let Violation { rule, crash_event, line, nested_events, .. } = found;
                (*crash_event, format!("{rule:?}"), *line, nested_events.len())
            }));
        }
    });
    trees
}

/// Event, rule, line, and how many times power failed again.
type Broken = BTreeSet<(u64, String, Option<Line>, usize)>;

#[test]
fn pruning_loses_no_violation() {
    let no_global = Survival { global_counter: GlobalCounterSurvives::Not, ..Survival::OF_ALL };
    let no_status = Survival { status: false, ..Survival::OF_ALL };
    for (counters, survival, steps, holds) in [
        (SPLIT, Survival::OF_ALL, STEPS, true),
        (WORDS, Survival::OF_ALL, &[], true),
        (SPLIT, no_status, STEPS, false),
        (WORDS, no_global, &[], false),
    ] {
        for depth in [1, 2] {
            let [(pruned, fewer), (whole, more)] = trees(counters, survival, steps, depth);
            assert_eq!(pruned, whole, "{counters:?} to depth {depth}");
            assert!(
                if holds { pruned.is_empty() } else { depth > 1 || !pruned.is_empty() },
                "{counters:?} to depth {depth}"
            );
            assert!(
                fewer <= more && (depth == 1 || !holds || steps.is_empty() || fewer < more),
                "{fewer} of {more} at depth {depth}"
            );
        }
    }
}

#[test]
fn recovery_survives_power_failures_during_recoveries_from_power_failures() {
    let [(broken, points), (_, whole)] = trees(WORDS, Survival::OF_ALL, &[], 2);
    assert_eq!(broken, Broken::new());
    assert!(0 < points && points <= whole, "{points} of {whole}");
}

#[test]
fn persistent_caches_are_judged_when_what_leaves_them_is_told_and_a_refusing_battery_fails_the_point() {
    let machine = Machine::new(2);
    let auditor = Auditor::new(AuditSetup {
        base: machine.codec.base.clone(),
        cores: 1,
        cipher: None,
        direct: None,
        log: None,
        line_atomic: LineAtomicity::Every,
        secret: false,
        status_survives: true,
        drain: Some(DrainFacts { caches: true, shadow: None }),
        program: None,
    });
    let mut explorer = Explorer::new(auditor, CrashPlan::All, 0).drains(true);
    let drained = |forbidden| {
        let mut survivors = survivors(&machine, AdrSnapshot::default(), &[]);
        survivors.loss.codec = None;
        Arc::make_mut(&mut survivors.drained).forbidden = forbidden;
        survivors
    };
    explorer.event_over(0);
    assert!(explorer.wants_survivors());
    assert_eq!(explorer.report(run()).crash_points, 0, "not judged before that");
    explorer.judge(&drained(None)).unwrap();
    assert!(!explorer.wants_survivors());
    explorer.judge(&drained(None)).unwrap();
    assert_eq!((explorer.report(run()).crash_points, explorer.report(run()).recovered), (1, 1));
    explorer.event_over(0);
    let forbidden = Forbidden { act: "a pad", needs: Battery::WriteComputeOrder, has: Battery::WriteOnly };
    explorer.judge(&drained(Some(forbidden))).unwrap();
    let report = explorer.report(run());
    assert_eq!((report.crash_points, report.recovered, report.violation_count), (2, 1, 1));
    let found = &report.violations[0];
    let violation = &found.violation;
    assert_eq!((violation.rule, violation.crash_event, found.nested_event()), (Rule::Battery, 2, None));
    let told = "takes a pad: the battery must support write-compute-order, and it supports write-only.";
    assert!(violation.explanation.ends_with(told), "{}", violation.explanation);
    let json = serde_json::to_value(found).unwrap();
    assert_eq!(json["rule"], "battery");
    assert_eq!((&json["nested_event"], &json["nested_events"]), (&serde_json::Value::Null, &serde_json::json!([])));
}

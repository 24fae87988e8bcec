//! Exploration of the scripted machine: real boots agree with the auditors' view, and the report contains what was
//! found.

use super::{run, survivors};
use crate::audit::tests::fixture::{Machine, OverflowStyle, ProgramFault, WriteStyle, undo_pair};
use crate::audit::{AuditSetup, Auditor, CounterLayout, Rule};
use crate::crash::*;
use crate::layout::Coverage;
use crate::message::{Line, Observer};
use crate::parts::{LineAtomicity, RecoveryStep};
use crate::recovery::{AdrSnapshot, GlobalCounter};

const STEPS: &[RecoveryStep] = &[RecoveryStep::ResumeReencryption];

fn explore(
    plan: CrashPlan,
    total: u64,
    fault: ProgramFault,
    overflow: OverflowStyle,
    survives: bool,
    style: WriteStyle,
) -> Explorer<'static> {
    let mut machine = Machine::new(2);
    machine.overflow = overflow;
    let (mut program, facts) = undo_pair(&machine.codec.base, 5, fault);
    let auditor = machine.audited(true, survives, Some(facts));
    let mut explorer = Explorer::new(auditor, plan, total).full_check_every(7);
    machine.run(&mut program, &mut explorer, |_| style, &mut |machine, explorer| {
        if explorer.wants_survivors() {
            explorer.judge(&survivors(machine, machine.snapshot(survives), STEPS)).unwrap();
        }
    });
    explorer.judge_end(&survivors(&machine, machine.snapshot(survives), STEPS)).unwrap();
    explorer
}

#[test]
fn every_distinct_state_of_every_design_boots_to_what_the_auditors_see() {
    for overflow in [OverflowStyle::Hardened, OverflowStyle::ResetAtOnce] {
        for survives in [true, false] {
            for style in [WriteStyle::Pair, WriteStyle::CounterFirst, WriteStyle::CounterKept, WriteStyle::Dropped] {
                let explorer = explore(CrashPlan::All, 0, ProgramFault::default(), overflow, survives, style);
                assert_eq!(
                    explorer.internal_errors(),
                    [] as [String; 0],
                    "{overflow:?}, register survives: {survives}, {style:?}"
                );
                let holds = style == WriteStyle::Pair && overflow == OverflowStyle::Hardened && survives;
                let report = explorer.report(run());
                assert_eq!(report.holds(), holds, "{overflow:?}, register survives: {survives}, {style:?}");
                assert_eq!(report.recovered == report.crash_points, holds);
            }
        }
    }
}

/// Every event of the test program with global counters, and a boot that finds `found` of the register.
fn explore_global(
    coverage: Coverage,
    style: impl FnMut(u64) -> WriteStyle,
    found: impl Fn(u64) -> GlobalCounter,
) -> Explorer<'static> {
    let mut machine = Machine::with_counters(CounterLayout::Words { coverage, bytes: 8 });
    let (mut program, facts) = undo_pair(&machine.codec.base, 5, ProgramFault::default());
    let mut explorer = Explorer::new(machine.audited(false, true, Some(facts)), CrashPlan::All, 0);
    let snapshot =
        |machine: &Machine| AdrSnapshot { global_counter: found(machine.register), ..machine.snapshot(true) };
    machine.run(&mut program, &mut explorer, style, &mut |machine, explorer| {
        if explorer.wants_survivors() {
            explorer.judge(&survivors(machine, snapshot(machine), &[])).unwrap();
        }
    });
    explorer.judge_end(&survivors(&machine, snapshot(&machine), &[])).unwrap();
    assert_eq!(explorer.internal_errors(), [] as [String; 0], "{coverage:?}");
    explorer
}

#[test]
fn global_register_that_is_lost_repeats_pads_in_the_first_write_after_the_reboot() {
    for coverage in [Coverage::EIGHT_LINES, Coverage::LINE] {
        // Data never leaves before its counter: the media show the register's value.
        for found in [GlobalCounter::Kept, |_| GlobalCounter::Scanned] {
            let explorer = explore_global(coverage, |_| WriteStyle::Pair, found);
            assert_eq!(explorer.auditor().violations(), [], "{coverage:?}");
        }
        let explorer = explore_global(coverage, |_| WriteStyle::Pair, |_| GlobalCounter::Lost);
        let violations = explorer.auditor().violations();
        assert!(violations.iter().all(|violation| violation.rule == Rule::PadReuse), "{violations:?}");
        // The run's first write took the value that every boot gives out first.
        let first = violations.iter().find(|violation| violation.line == Some(Line(0))).expect("the header was first");
        assert!(first.explanation.contains("first write of the line at 0x0 after the reboot"), "{}", first.explanation);
        assert!(explorer.report(run()).recovered < explorer.report(run()).crash_points);
    }
}

#[test]
fn data_that_leaves_before_its_counter_hides_its_value_from_a_scan_but_not_from_a_register_that_survives() {
    // The last write of each transaction keeps its counter in the counter cache.
    let style = |write| if write % 6 == 5 { WriteStyle::CounterKept } else { WriteStyle::Pair };
    let about_pads = |explorer: &Explorer| {
        let violations = explorer.auditor().violations();
        violations.iter().filter(|violation| violation.rule == Rule::PadReuse).map(|violation| violation.line).collect()
    };
    let scanned: Vec<_> = about_pads(&explore_global(Coverage::EIGHT_LINES, style, |_| GlobalCounter::Scanned));
    assert_eq!(scanned, [Some(Line(0))]);
    let kept: Vec<_> = about_pads(&explore_global(Coverage::EIGHT_LINES, style, GlobalCounter::Kept));
    assert_eq!(kept, []);
}

#[test]
fn global_register_that_is_behind_by_several_values_repeats_the_pad_of_a_later_write() {
    // From the tenth write on, the restored register is too small by four: the pad of the last line written is repeated
    // if that line is the fourth to be written after the reboot.
    let behind = |register| GlobalCounter::Kept(if register > 10 { register - 4 } else { register });
    for coverage in [Coverage::EIGHT_LINES, Coverage::LINE] {
        let explorer = explore_global(coverage, |_| WriteStyle::Pair, behind);
        let violations = explorer.auditor().violations();
        assert!(violations.iter().all(|violation| violation.rule == Rule::PadReuse), "{violations:?}");
        let (first, line) =
            (&violations[0].explanation, violations[0].line.expect("a pad belongs to a line").address());
        let said = format!("first write of the line at {line:#x} after the reboot, if it is write 4 of all, would");
        assert!(first.contains(&said), "{first}");
    }
}

#[test]
fn without_a_promise_of_secrecy_new_data_asks_for_no_boot() {
    let machine = Machine::new(2);
    let auditor = Auditor::new(AuditSetup {
        base: machine.codec.base.clone(),
        cores: 1,
        cipher: None,
        direct: None,
        log: None,
        line_atomic: LineAtomicity::None,
        secret: false,
        status_survives: true,
        drain: None,
        program: None,
    });
    let mut explorer = Explorer::new(auditor, CrashPlan::All, 0);
    explorer.event_over(0);
    explorer.persisted(0, crate::message::MediaLine::data(Line(9)), &[0; 64]);
    explorer.event_over(0);
    assert!(!explorer.wants_survivors());
}

#[test]
fn split_counter_that_is_lost_repeats_its_pad_in_the_first_write_after_the_reboot() {
    let explorer =
        explore(CrashPlan::All, 0, ProgramFault::default(), OverflowStyle::Hardened, true, WriteStyle::CounterKept);
    let violations = explorer.auditor().violations();
    let found = violations.iter().find(|violation| violation.rule == Rule::PadReuse).expect("a counter was lost");
    assert!(found.explanation.contains("the first write of the line"), "{}", found.explanation);
}

#[test]
fn every_new_state_asks_for_a_boot_and_no_state_for_two() {
    let machine = Machine::new(2);
    let mut explorer = Explorer::new(machine.audited(true, true, None), CrashPlan::All, 0);
    explorer.event_over(0);
    assert!(explorer.wants_survivors(), "the first point");
    for value in 1..200u8 {
        explorer.persisted(0, crate::message::MediaLine::data(Line(9)), &[value; 64]);
        explorer.event_over(0);
        assert!(explorer.wants_survivors(), "state {value} is new");
        explorer.event_over(0);
        assert!(!explorer.wants_survivors(), "state {value} is known");
    }
}

#[test]
fn structure_that_is_consistent_but_wrong_is_found_by_the_program() {
    let fault = ProgramFault { unequal: true, ..ProgramFault::default() };
    let explorer = explore(CrashPlan::All, 0, fault, OverflowStyle::Hardened, true, WriteStyle::Pair);
    let rules: Vec<Rule> = explorer.auditor().violations().iter().map(|violation| violation.rule).collect();
    assert_eq!(rules, [Rule::Structure]);
    assert!(explorer.auditor().violations()[0].explanation.contains("the pair differs"));
}

#[test]
fn judgement_gives_what_it_found_if_that_is_kept_and_who_found_it() {
    for keeps in [true, false] {
        let mut machine = Machine::new(2);
        let (mut program, facts) =
            undo_pair(&machine.codec.base, 5, ProgramFault { unequal: true, ..ProgramFault::default() });
        let mut explorer = Explorer::new(machine.audited(true, true, Some(facts)), CrashPlan::All, 0);
        explorer = explorer.full_check_every(1);
        if keeps {
            explorer.keep_all();
        }
        let (mut by_run, mut by_boot) = (Vec::new(), Vec::new());
        let mut style = |write: u64| if write == 9 { WriteStyle::Dropped } else { WriteStyle::Pair };
        machine.run(&mut program, &mut explorer, &mut style, &mut |machine, explorer| {
            if explorer.wants_survivors() {
                let judgement = explorer.judge(&survivors(machine, machine.snapshot(true), STEPS)).unwrap();
                assert_eq!(judgement.by_loss, []);
                by_run.extend(judgement.by_run.into_iter().map(|violation| violation.rule));
                by_boot.extend(judgement.by_boot.into_iter().map(|violation| violation.rule));
                assert!(!explorer.wants_survivors(), "judged");
            }
        });
        assert!(explorer.auditor().violation_count() > 0);
        assert_eq!((by_run.contains(&Rule::Line), by_boot.contains(&Rule::Structure)), (keeps, keeps));
        assert!(!by_run.contains(&Rule::Structure) && !by_boot.contains(&Rule::Line), "{by_run:?} {by_boot:?}");
    }
}

#[test]
fn report_is_the_documented_json_and_its_command_finds_the_violation_again() {
    let explorer =
        explore(CrashPlan::All, 0, ProgramFault::default(), OverflowStyle::Hardened, true, WriteStyle::CounterFirst);
    let report = explorer.report(run());
    let json = serde_json::to_value(&report).unwrap();
    for key in [
        "schema",
        "design",
        "variant",
        "workload",
        "seed",
        "crash_points",
        "nested_points",
        "distinct_states",
        "recovered",
        "exercised",
        "coverage",
        "violations",
        "host",
    ] {
        assert!(json.get(key).is_some(), "{key}");
    }
    assert_eq!(json["variant"], "hardened");
    assert_eq!(json["exercised"]["wpq_full"], 3);
    let first = &json["violations"][0];
    assert_eq!(first["rule"], "line");
    assert!(first["nested_event"].is_null());
    assert_eq!(first["stage"], "prepare");
    let at = first["crash_event"].as_u64().unwrap();
    assert_eq!(first["reproduce"], serde_json::json!({"at_event": at}));
    let again =
        explore(CrashPlan::At(at), 0, ProgramFault::default(), OverflowStyle::Hardened, true, WriteStyle::CounterFirst);
    let again = again.report(run());
    assert_eq!(again.crash_points, 1);
    assert!(
        again.violations.iter().any(|found| found.violation.rule == Rule::Line && found.violation.crash_event == at)
    );
}

#[test]
fn sample_judges_as_many_points_as_asked_for() {
    let all = explore(CrashPlan::All, 0, ProgramFault::default(), OverflowStyle::Hardened, true, WriteStyle::Pair);
    let total = all.auditor().events();
    let plan: CrashPlan = "10".parse().unwrap();
    assert!(plan.needs_total() && !CrashPlan::All.needs_total());
    let sample = explore(plan, total, ProgramFault::default(), OverflowStyle::Hardened, true, WriteStyle::Pair);
    let report = sample.report(run());
    assert_eq!((report.crash_points, report.recovered), (10, 10));
    assert!(report.coverage.contains("10 evenly spaced"), "{}", report.coverage);
    assert!(report.distinct_states <= 10 && sample.auditor().events() == total);
}

#[test]
fn nothing_is_asked_between_crash_points() {
    let machine = Machine::new(2);
    let auditor = machine.audited(true, true, None);
    let mut explorer = Explorer::new(auditor, CrashPlan::At(2), 0);
    let mut asked = Vec::new();
    for _ in 0..3 {
        explorer.event_over(0);
        asked.push(explorer.wants_survivors());
    }
    assert_eq!(asked, [false, true, false]);
}

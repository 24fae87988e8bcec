//! A call about some crash points against the exploration of all of them: it fails exactly if that shows a violation of one of
//! these points, on every design.

use crate::assembly::System;
use crate::audit::Rule;
use crate::config::{RunConfig, Variant, load_machine};
use crate::crash::explore::with_survivors;
use crate::crash::{
    Audited, CrashCase, CrashPlan, CrashReport, Exploration, Explorer, LeftOut, ReportedViolation, audited,
};
use crate::design;
use crate::device::Device;
use crate::parts::{Design, WritePath};
use crate::power::{Losses, PowerLoss};
use crate::run::{Bases, Source};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A small run.
struct Run {
    config: RunConfig,
    design: Design,
    source: Source,
}

impl Run {
    fn new(design: Design, workload: &str, transactions: u64, sets: &[&str]) -> Self {
        let modules: &[&str] = match design.modules {
            Some(_) => &["module.kind=buffered", "controller.policy=continuous"],
            None => &[],
        };
        let sets: Vec<String> = sets.iter().chain(modules).map(|set| (*set).to_owned()).collect();
        let config = RunConfig {
            variant: design.variant,
            tx_size: 64,
            transactions,
            footprint: 4 << 10,
            ..RunConfig::new(&design.name, workload, load_machine("small", &sets).unwrap())
        };
        let capacity = Device::program_capacity_of(&config.machine);
        let source = Source::open(&config, design.form, capacity, &Arc::default()).unwrap();
        Self { config, design, source }
    }

    fn explore(&self, exploration: &Exploration) -> CrashReport {
        self.case(&AtomicBool::new(false)).explore(exploration).unwrap()
    }

    fn case<'a>(&'a self, cancel: &'a AtomicBool) -> CrashCase<'a> {
        let Self { config, design, source } = self;
        CrashCase { config, design, source, wrappers: &[], progress: &|_| {}, cancel }
    }

    /// The number of events, and those after which the exploration of all of them shows a violation: one that turns up there
    /// or still stands.
    fn failing(&self, nested: u32) -> (u64, BTreeSet<u64>) {
        let cancel = AtomicBool::new(false);
        let Audited { job, auditor, codec } = audited(&self.case(&cancel), &Bases::default()).unwrap();
        let codec = codec.as_deref();
        let loss = PowerLoss::new(&self.design, &self.config.machine, codec);
        let explorer = Explorer::new(auditor, CrashPlan::All, 0)
            .drains(loss.leaves_more())
            .verifies(codec.is_some_and(|codec| codec.integrity().is_some()))
            .nested(nested);
        let mut system = System::new(&self.config, &self.design, job, explorer).unwrap();
        let (mut losses, mut failing, mut known) = (Losses::new(loss), BTreeSet::new(), 0);
        system.run(|system| {
            if system.observer.wants_survivors() {
                with_survivors(system, &mut losses, Explorer::judge).unwrap();
            }
            let explorer = &system.observer;
            let count = explorer.violation_count();
            if count > std::mem::replace(&mut known, count) || !explorer.recovers() {
                failing.insert(explorer.auditor().events());
            }
            ControlFlow::Continue(())
        });
        (system.observer.auditor().events(), failing)
    }
}

/// Every built-in design that can be crashed, in its readings that differ.
fn designs() -> Vec<Design> {
    let differ = |name: &str| {
        let (_, [(_, published), (_, hardened)]) = design::with_parts(name).unwrap();
        published != hardened
    };
    let readings = |name| [(Variant::Published, differ(name)), (Variant::Hardened, true)].map(|of| (name, of));
    let all = design::names().flat_map(readings).filter(|(_, (_, wanted))| *wanted);
    let all = all.filter_map(|(name, (variant, _))| design::find(name, variant));
    all.filter(|design| design.promise.crash_consistent.is_ok()).collect()
}

/// What is wrong with a call that crashes after these events only, if anything is.
fn complaints(run: &Run, plan: CrashPlan, nested: u32, events: u64, failing: &BTreeSet<u64>) -> Option<String> {
    let report = run.explore(&Exploration { nested, ..Exploration::of(plan) });
    let points: BTreeSet<u64> = (1..=events).filter(|event| plan.includes(*event, events)).collect();
    let expected = points.intersection(failing).count();
    let elsewhere = report.violations.iter().any(|found| !points.contains(&found.violation.crash_event));
    let right = report.crash_points == points.len() as u64
        && report.holds() == (expected == 0)
        && (report.crash_points - report.recovered) as usize <= expected
        && !elsewhere;
    let rules: Vec<_> =
        report.violations.iter().map(|found| (found.violation.rule, found.violation.crash_event)).collect();
    let Design { name, variant, .. } = &run.design;
    (!right).then(|| format!("{name} {variant:?}, {plan:?}: {rules:?}, and of all events {expected} of these fail"))
}

/// Compares calls for single events, one of so many, and for some points with the exploration of all events. Returns how many
/// of these fail.
fn compare(run: &Run, nested: u32, step: usize) -> usize {
    let (events, failing) = run.failing(nested);
    let plans = (1..=events).step_by(step).map(CrashPlan::At);
    let plans = plans.chain([2, 7, 40].map(|points| CrashPlan::Sample(NonZeroU64::new(points).unwrap())));
    let told: Vec<String> = plans.filter_map(|plan| complaints(run, plan, nested, events, &failing)).take(5).collect();
    assert!(told.is_empty(), "{}", told.join("\n"));
    failing.len()
}

#[test]
fn call_fails_exactly_if_the_exploration_of_all_events_shows_a_violation_of_its_points() {
    let failing: Vec<(String, usize)> = designs()
        .into_par_iter()
        .map(|design| (design.name.clone(), compare(&Run::new(design, "queue", 2, &[]), 0, 13)))
        .collect();
    let some = |name: &str| failing.iter().any(|(of, failing)| of == name && *failing > 0);
    assert!(some("write-back") && some("alc") && !some("unencrypted"), "{failing:?}");
}

#[test]
fn call_fails_exactly_so_when_power_fails_again() {
    for (name, variant) in [("bbe", Variant::Published), ("sepencr", Variant::Hardened), ("secpm", Variant::Published)]
    {
        compare(&Run::new(design::find(name, variant).unwrap(), "array", 1, &["counters.minor_bits=1"]), 1, 61);
    }
}

/// Counters that are incremented in their cache and never leave it are used again while the machine runs.
#[test]
fn what_the_running_machine_leaks_belongs_to_its_event_and_is_told_of_the_others() {
    let mut forgetful = design::find("secpm", Variant::Hardened).unwrap();
    forgetful.encryption.as_mut().unwrap().write_path = WritePath::CounterDropped;
    let sets = ["counters.minor_bits=7", "controller.counter_cache_size=64B", "controller.counter_cache_ways=1"];
    let run = Run::new(forgetful, "array", 12, &sets);
    let before_any = run.explore(&Exploration::of(CrashPlan::At(1)));
    let LeftOut { count, first } = before_any.left_out.expect("pads are used twice");
    assert!(before_any.violations.is_empty() && count > 1, "{:?}", before_any.violations);
    assert!(before_any.coverage.contains(&format!("leaked {count} times, first in event")), "{}", before_any.coverage);
    let event = first.violation.crash_event;
    assert_eq!((first.violation.rule, first.reproduce.at_event), (Rule::PadReuse, event));
    let there = run.explore(&Exploration::of(CrashPlan::At(event)));
    assert_eq!(there.left_out.map(|left_out| left_out.count), Some(count - 1));
    let told = |found: &ReportedViolation| found.violation.explanation == first.violation.explanation;
    assert!(there.violations.iter().any(told), "{:?}", there.violations);
    let all = run.explore(&Exploration::of(CrashPlan::All));
    assert_eq!(all.left_out, None);
    compare(&run, 0, 29);
}

#[test]
fn a_report_has_no_verdict_where_no_crash_point_follows_a_store() {
    let run = Run::new(design::find("secpm", Variant::Hardened).unwrap(), "queue", 1, &[]);
    let verdict = |plan| run.explore(&Exploration::of(plan)).verdict();
    assert_eq!((verdict(CrashPlan::At(1)), verdict(CrashPlan::All)), (None, Some(true)));
}

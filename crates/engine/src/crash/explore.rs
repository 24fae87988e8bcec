//! One crash exploration from configuration to report: the run of `simulate.rs` with auditors.

use super::analysis::by_line::ByLine;
use super::attack::Attacker;
use super::audited::{Audited, audited};
use super::region::RegionEvents;
use super::report::Recoveries;
use super::{
    CrashReport, CrashRun, Disturbance, Exercised, Exploration, Explorer, Judgement, KnownStates, Names, ShownLines,
};
use crate::assembly::{System, line_cipher};
use crate::attribution::{places, wrappers_and};
use crate::config::{ReadVerification, RunConfig};
use crate::kernel::{ConfigError, Failure, Stopwatch};
use crate::message::{Line, Observer};
use crate::parts::Design;
use crate::power::{Losses, PowerLoss, Survivors};
use crate::run::{Bases, Source, Watch};
use crate::user_recovery::OwnRecovery;
use serde::Serialize;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A run whose crashes are explored or shown.
#[derive(Clone, Copy)]
pub struct CrashCase<'a> {
    /// The run's configuration.
    pub config: &'a RunConfig,
    /// Its design, which may have a seeded fault.
    pub design: &'a Design,
    /// The workload that runs.
    pub source: &'a Source,
    /// Functions that only flush or fence, besides the known ones: places of a recorded program are not in them.
    pub wrappers: &'a [String],
    /// Called with the number of transactions that have ended since the last call.
    pub progress: &'a (dyn Fn(u64) + Sync),
    /// Set when the user interrupts.
    pub cancel: &'a AtomicBool,
}

/// The number of lines that a run has written to memory by its end, when the queues have been written out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct Written {
    /// Data lines.
    pub data: u64,
    /// Lines of the log that hardware writes.
    pub log: u64,
    /// Counter blocks.
    pub counters: u64,
    /// Lines of MACs.
    pub macs: u64,
    /// Nodes of the integrity tree.
    pub tree: u64,
    /// Lines of the shadow table.
    pub table: u64,
}

/// What else of an exploration somebody wants to know.
#[derive(Default)]
pub struct Kept {
    /// The lines whose contents after each boot are kept.
    pub lines: Vec<Line>,
    /// What boots show of them, each once, with the first event after which a power failure leaves it; in that order.
    pub states: Vec<(u64, ShownLines)>,
    /// What the run has written.
    pub written: Written,
}

impl CrashCase<'_> {
    /// Explores the power failures that `exploration` describes, and keeps what `kept` asks for.
    pub fn explore_keeping(&self, exploration: &Exploration, kept: &mut Kept) -> Result<CrashReport, Failure> {
        let report = self.explore_schedule(exploration, None, &mut KnownStates::default(), Some(kept))?;
        Ok(self.named(report))
    }

    /// Explores the power failures that `exploration` describes.
    pub fn explore(&self, exploration: &Exploration) -> Result<CrashReport, Failure> {
        self.explore_recovered(exploration, None)
    }

    /// Explores the power failures that `exploration` describes, and runs `recovery`, if given, on every memory that a
    /// boot leaves.
    pub(crate) fn explore_recovered(
        &self,
        exploration: &Exploration,
        recovery: Option<&mut OwnRecovery>,
    ) -> Result<CrashReport, Failure> {
        let report = self.explore_schedule(exploration, recovery, &mut KnownStates::default(), None)?;
        Ok(self.named(report))
    }

    /// Explores the power failures of `schedules` schedules, the first of which is undisturbed. A state that an earlier
    /// schedule has reached is not explored again. `recovery`, if given, is run on every memory that a boot leaves.
    pub(crate) fn explore_schedules(
        &self,
        exploration: &Exploration,
        schedules: u64,
        mut recovery: Option<&mut OwnRecovery>,
    ) -> Result<CrashReport, Failure> {
        let mut known = KnownStates::default();
        let mut all: Option<CrashReport> = None;
        let mut explored = 0;
        while explored < schedules {
            let schedule = explored;
            let failed = |all: &CrashReport| all.recoveries.as_ref().map_or(0, Recoveries::lost);
            let before = all.as_ref().map_or(0, failed);
            let stop_after = exploration.stop_after.map(|most| most - before);
            let exploration = Exploration { schedule, stop_after, ..*exploration };
            // The progress bar shows transactions of one run.
            let share = |ended: u64| {
                if schedule == 0 {
                    (self.progress)(ended)
                }
            };
            let case = CrashCase { progress: &share, ..*self };
            let outcome = case.explore_schedule(&exploration, recovery.as_deref_mut(), &mut known, None);
            all = Some(match (all, outcome) {
                (None, report) => report?,
                (Some(before), Ok(report)) => before.and(report),
                (Some(before), Err(Failure::Cancelled)) => CrashReport { interrupted: true, ..before },
                (Some(_), Err(why)) => return Err(why),
            });
            let of_rule = |rule| all.iter().flat_map(|all| &all.violations).any(|found| found.violation.rule == rule);
            let interrupted = all.as_ref().is_some_and(|all| all.interrupted);
            let enough = exploration.stop_after.is_some_and(|most| all.as_ref().map_or(0, failed) - before >= most);
            explored += 1;
            if interrupted || enough || exploration.stop_at.is_some_and(of_rule) {
                break;
            }
        }
        Ok(self.named(all.expect("at least one schedule").over_schedules(explored)))
    }

    /// Explores one schedule. `known` has the states of other runs; this run adds its own. `kept` gets what it asks for.
    fn explore_schedule(
        &self,
        exploration: &Exploration,
        recovery: Option<&mut OwnRecovery>,
        known: &mut KnownStates,
        kept: Option<&mut Kept>,
    ) -> Result<CrashReport, Failure> {
        check_crashable(self.config, self.design)?;
        let bases = Bases::default();
        let (before, total) = self.sampled(exploration, &bases)?;
        let started = Stopwatch::start();
        let Audited { job, auditor, codec } = audited(self, &bases)?;
        let codec = codec.as_deref();
        let loss = PowerLoss::new(self.design, &self.config.machine, codec);
        let base = Arc::clone(&job.base);
        let cipher = line_cipher(&self.config.machine, self.design, self.config.seed)?;
        let cipher = cipher.filter(|_| self.design.modules.is_some());
        let mut explorer = Explorer::new(auditor, exploration.plan, total)
            .within(exploration.region, before)
            .knowing(std::mem::take(known))
            .drains(loss.leaves_more())
            .verifies(loss.codec.is_some_and(|codec| codec.integrity().is_some()))
            .attacked_by(exploration.attack.map(|plan| {
                let verification = self.config.machine.integrity.read_verification;
                Attacker::new(self.config.seed, plan, verification == ReadVerification::Speculative, base)
                    .with_modules(cipher)
                    .with_log(codec.and_then(|codec| codec.log()).map(|log| log.region))
                    .shared(exploration.shared)
            }))
            .nested(exploration.nested)
            .shared(exploration.shared)
            .tally_stages(exploration.stages)
            .stop_at(exploration.stop_at)
            .stop_after(exploration.stop_after)
            .watches_places(self.source.watches_sites())
            .interrupted_by(self.cancel);
        if let Some(kept) = &kept {
            explorer = explorer.shows(&kept.lines);
        }
        if let Some(recovery) = recovery {
            recovery.rewind()?;
            explorer = explorer.recovered_by(recovery, job.base.end());
        }
        let mut system = System::new(self.config, self.design, job, explorer)?;
        let interrupted = self.lose_power_throughout(&mut system, &loss, exploration.schedule)?;
        if interrupted {
            system.observer.forget_unjudged();
            if !system.observer.has_points() {
                return Err(Failure::Cancelled);
            }
        } else {
            self.source.verdict()?;
        }
        if let Some(kept) = kept {
            kept.states = system.observer.take_shown();
            kept.written = written(&mut system);
        }
        let exercised = exercised(&mut system);
        let report = system.observer.report(CrashRun {
            exercised,
            interrupted,
            seconds: started.seconds(),
            ..self.run(exploration, Some(exploration.schedule))
        });
        *known = system.observer.into_known();
        Ok(report)
    }

    /// The report with the names of the places of a recorded program that it is about, as far as the trace can still be
    /// read: not if the user has interrupted before its end.
    fn named(&self, mut report: CrashReport) -> CrashReport {
        let any = report.violations.iter().any(|found| found.violation.lost.count > 0)
            || report.lacks.as_ref().is_some_and(ByLine::any);
        if let (true, Source::Trace(trace, _)) = (any, self.source)
            && let Ok(Some(sites)) = trace.read_sites()
        {
            Names::new(places(&sites, &wrappers_and(self.wrappers)), trace).name(&mut report);
        } else if any {
            report.by_line = None;
        }
        report
    }

    /// Runs `system` to its end and judges the survivors whenever its explorer asks for that. Returns whether the user
    /// has interrupted.
    fn lose_power_throughout(
        &self,
        system: &mut System<Explorer<'_>>,
        loss: &PowerLoss<'_>,
        schedule: u64,
    ) -> Result<bool, Failure> {
        let mut watch = Watch::new(self.progress, self.cancel);
        let mut losses = Losses::new(*loss);
        let mut disturbance = Disturbance::of(self.config, self.design, schedule);
        let mut outcome = Ok(());
        system.run(|system| {
            if system.observer.wants_survivors() {
                let judged = with_survivors(system, &mut losses, Explorer::judge);
                outcome = judged.map(|Judgement { events, .. }| watch.spend(events));
            }
            system.observer.note_shown();
            if outcome.is_err() || system.observer.stopped() || system.observer.has_left() {
                return ControlFlow::Break(());
            }
            disturbance.after(system);
            Explorer::attack_running(system, loss.codec);
            watch.after(system)
        });
        if let Err(Failure::Config(why)) = outcome {
            return Err(why.into());
        }
        // A trace that cannot be read further because the user has interrupted ends like a complete one.
        let interrupted = self.cancel.load(Ordering::Relaxed);
        if interrupted || system.observer.stopped() {
            watch.leave(system);
            return Ok(interrupted);
        }
        if system.observer.has_left() {
            watch.leave(system);
        } else {
            watch.finish(system)?;
        }
        match with_survivors(system, &mut losses, Explorer::judge_end) {
            Err(Failure::Cancelled) => Ok(true),
            outcome => outcome.map(|()| false),
        }
    }

    /// How many events come before those that a sampling plan is about, and how many these are, from the same run without
    /// auditors.
    fn sampled(&self, exploration: &Exploration, bases: &Bases) -> Result<(u64, u64), Failure> {
        if !exploration.plan.needs_total() {
            return Ok((0, 0));
        }
        let job = self.source.job(bases, self.cancel)?;
        let mut system = System::new(self.config, self.design, job, RegionEvents::new(exploration.region))?;
        let mut watch = Watch::new(&|_| {}, self.cancel);
        let mut disturbance = Disturbance::of(self.config, self.design, exploration.schedule);
        system.run(|system| {
            disturbance.after(system);
            watch.after(system)
        });
        watch.finish(&system)?;
        Ok(system.observer.found())
    }

    /// The description of the run in a report, with or without a certain schedule, before the exploration.
    pub(crate) fn run(&self, exploration: &Exploration, schedule: Option<u64>) -> CrashRun {
        CrashRun {
            design: self.config.design.clone(),
            parts: self.config.parts.clone(),
            variant: self.config.variant,
            workload: self.config.workload.clone(),
            seed: self.config.seed,
            fault: exploration.fault,
            schedule,
            exercised: Exercised::default(),
            secret: self.design.promise.secret,
            bus_in_the_clear: self.design.modules.is_some(),
            interrupted: false,
            seconds: 0.0,
        }
    }
}

/// Refuses a run whose crashes would mean nothing.
pub(crate) fn check_crashable(config: &RunConfig, design: &Design) -> Result<(), ConfigError> {
    if let Err(why) = &design.promise.crash_consistent {
        return Err(ConfigError(format!("design '{}' cannot be crash-tested: {why}", design.name)));
    }
    if crate::workload::find_probe(&config.workload).is_some() {
        return Err(ConfigError(format!(
            "workload '{}' is a probe: it keeps nothing that a crash could lose",
            config.workload
        )));
    }
    if !config.machine.engine.bytes {
        return Err(ConfigError("engine.bytes = false leaves nothing to check after a crash: true".to_owned()));
    }
    Ok(())
}

/// What the run has exercised.
pub(crate) fn exercised<O: Observer>(system: &mut System<O>) -> Exercised {
    let stats = system.controller.stats(system.queue.now());
    Exercised {
        evictions: system.cache.counts().dirty_evictions,
        counter_misses: stats.counter_misses,
        wpq_full: stats.full_events,
        reencryptions: stats.reencryptions,
    }
}

fn written<O: Observer>(system: &mut System<O>) -> Written {
    let stats = system.controller.stats(system.queue.now());
    Written {
        data: stats.data_writes,
        log: stats.log_writes,
        counters: stats.counter_writes,
        macs: stats.mac_writes,
        tree: stats.tree_writes,
        table: stats.table_writes,
    }
}

/// Passes the true survivors of a power failure now to the explorer.
pub(super) fn with_survivors<'e, T>(
    system: &mut System<Explorer<'e>>,
    losses: &mut Losses<'_>,
    judge: impl FnOnce(&mut Explorer<'e>, &Survivors<'_>) -> T,
) -> T {
    let drained = losses.strike(system);
    let System { observer, device, .. } = system;
    let left = device.survives();
    judge(observer, &Survivors { drained, media: &*left, loss: losses.loss })
}

//! One crash exploration from configuration to report: the run of `simulate.rs` with the auditors watching.

use super::{
    CrashReport, CrashRun, Disturbance, Drained, Exercised, Exploration, Explorer, KnownStates, PowerLoss, Survival,
};
use crate::assembly::memory_map::shadow_region;
use crate::assembly::{Job, System, boot_codec, encryption_parts};
use crate::audit::{
    AuditSetup, Auditor, CipherFacts, CounterLayout, EadrFacts, Ledger, LogFacts, ProgramFacts, ledger_channel,
};
use crate::cipher::Keys;
use crate::config::{ConfigError, RunConfig};
use crate::controller::ControllerSnapshot;
use crate::device::Image;
use crate::message::{CoreId, CounterBlock, Coverage, LineBytes, MediaLine, MediaUnit, NoObserver, Observer, OpSource};
use crate::parts::{CounterScheme, Design, RecoveryStep, StampSource};
use crate::recovery::{HeldState, LineCodec, Media, ReencryptionStatus, SchemeCodec};
use crate::run::{Bases, Failure, Source, Watch};
use crate::user_recovery::OwnRecovery;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The device image as a boot reads it.
pub(crate) struct ImageMedia<'a>(pub &'a Image);

impl Media for ImageMedia<'_> {
    fn content(&self, media: MediaLine) -> crate::message::Content<'_> {
        self.0.content(media)
    }

    fn counter_blocks(&self, show: &mut dyn FnMut(CounterBlock, &LineBytes)) {
        for (media, bytes) in self.0.iter_stored() {
            if let MediaUnit::Counter(block) = media.unit() {
                show(block, bytes);
            }
        }
    }
}

/// Events that the judgement of a crash point with persistent caches is worth, for progress and interruption ...
const EVENTS_PER_DRAIN: u64 = 16;
/// ... and the exploration of second power failures from a state.
const EVENTS_PER_NESTED_CHECK: u64 = 2048;
/// ... and a run of the user's own recovery: looked at once each.
const EVENTS_PER_OWN_RECOVERY: u64 = u64::MAX;

/// Refuses a run whose crashes say nothing.
pub(crate) fn check_crashable(config: &RunConfig, design: &Design) -> Result<(), ConfigError> {
    if let Err(why) = &design.promise.crash_consistent {
        return Err(ConfigError(format!("design '{}' cannot be crash-tested: {why}", design.name)));
    }
    if !config.machine.engine.bytes {
        return Err(ConfigError("engine.bytes = false leaves nothing to check after a crash: true".to_owned()));
    }
    Ok(())
}

/// A run that auditors watch.
pub(crate) struct Audited {
    /// Its programs, with a ledger before each.
    pub job: Job,
    /// The auditors.
    pub auditor: Auditor,
    /// The encryption as a boot needs it; `None`: memory holds plaintext.
    pub codec: Option<SchemeCodec>,
}

/// The run of `config` with auditors who have seen nothing yet.
pub(crate) fn audited(
    config: &RunConfig,
    design: &Design,
    source: &Source,
    bases: &Bases,
    cancel: &AtomicBool,
) -> Result<Audited, Failure> {
    let mut job = source.job(bases, cancel)?;
    let base = Arc::clone(&job.base);
    let program = keep_ledgers(&mut job, source);
    let cores = job.programs.len();
    let encryption = encryption_parts(&config.machine, design, config.seed)?;
    let shadow = shadow_region(&config.machine, design, cores as u16);
    let survival = Survival::of(design, config.machine.counters.global_register);
    let (keys, key_bytes) = (Keys::from_seed(config.seed), config.machine.controller.aes_key_bits as usize / 8);
    let log = encryption.as_ref().and_then(|parts| parts.log.as_ref()).map(|parts| LogFacts {
        first: parts.region.first,
        buckets: parts.region.buckets,
        records: parts.region.records,
        layout: parts.region.layout,
        key: keys.log[..key_bytes].to_vec(),
        registers_survive: survival.log && design.recovery.contains(&RecoveryStep::UndoHardwareLog),
    });
    let auditor = Auditor::new(AuditSetup {
        base: Arc::clone(&base),
        cores,
        cipher: encryption.as_ref().map(|parts| CipherFacts {
            key: keys.data[..key_bytes].to_vec(),
            counters: layout_of(parts.scheme.as_ref(), config.machine.counters.minor_bits),
        }),
        log,
        line_atomic: design.promise.line_atomic,
        secret: design.promise.secret,
        status_survives: survival.status,
        eadr: design.drain().map(|_| EadrFacts { shadow: shadow.zip(stamp_of(design)) }),
        program,
    });
    let codec = encryption.map(|parts| boot_codec(parts, base, shadow));
    Ok(Audited { job, auditor, codec })
}

/// Lets power fail as `exploration` says. `progress` is told how many transactions have ended since it was last told.
pub fn explore(
    config: &RunConfig,
    design: &Design,
    source: &Source,
    exploration: &Exploration,
    progress: &(dyn Fn(u64) + Sync),
    cancel: &AtomicBool,
) -> Result<CrashReport, Failure> {
    explore_recovered(config, design, source, exploration, None, progress, cancel)
}

/// The same; `recovery`, if there is one, is run on every memory that a boot leaves.
pub(crate) fn explore_recovered(
    config: &RunConfig,
    design: &Design,
    source: &Source,
    exploration: &Exploration,
    recovery: Option<&mut OwnRecovery>,
    progress: &(dyn Fn(u64) + Sync),
    cancel: &AtomicBool,
) -> Result<CrashReport, Failure> {
    let mut known = KnownStates::default();
    explore_knowing(config, design, source, exploration, recovery, &mut known, progress, cancel)
}

/// The same in `schedules` schedules, of which the first is that of the machine by itself. A state that an earlier one has
/// met is not explored again. `recovery`, if there is one, is run on every memory that a boot leaves.
pub(crate) fn explore_schedules(
    config: &RunConfig,
    design: &Design,
    source: &Source,
    exploration: &Exploration,
    schedules: u64,
    mut recovery: Option<&mut OwnRecovery>,
    progress: &(dyn Fn(u64) + Sync),
    cancel: &AtomicBool,
) -> Result<CrashReport, Failure> {
    let mut known = KnownStates::default();
    let mut all: Option<CrashReport> = None;
    for schedule in 0..schedules {
        let exploration = Exploration { schedule, ..*exploration };
        // The bar shows transactions of one run.
        let share = |ended: u64| {
            if schedule == 0 {
                progress(ended)
            }
        };
        let recovery = recovery.as_deref_mut();
        let outcome = explore_knowing(config, design, source, &exploration, recovery, &mut known, &share, cancel);
        all = Some(match (all, outcome) {
            (None, report) => report?,
            (Some(before), Ok(report)) => before.and(report),
            (Some(before), Err(Failure::Cancelled)) => CrashReport { interrupted: true, ..before },
            (Some(_), Err(why)) => return Err(why),
        });
        let of_rule = |rule| all.iter().flat_map(|all| &all.violations).any(|violation| violation.rule == rule);
        let interrupted = all.as_ref().is_some_and(|all| all.interrupted);
        if interrupted || exploration.stop_at.is_some_and(of_rule) {
            return Ok(all.expect("this one").over_schedules(schedule + 1));
        }
    }
    Ok(all.expect("at least one schedule").over_schedules(schedules))
}

fn explore_knowing(
    config: &RunConfig,
    design: &Design,
    source: &Source,
    exploration: &Exploration,
    mut recovery: Option<&mut OwnRecovery>,
    known: &mut KnownStates,
    progress: &(dyn Fn(u64) + Sync),
    cancel: &AtomicBool,
) -> Result<CrashReport, Failure> {
    check_crashable(config, design)?;
    let bases = Bases::default();
    let total = if exploration.plan.needs_total() {
        events_of(config, design, source, exploration, &bases, cancel)?
    } else {
        0
    };
    let started = Instant::now();
    let Audited { job, auditor, codec } = audited(config, design, source, &bases, cancel)?;
    let codec = codec.as_ref().map(|codec| codec as &dyn LineCodec);
    let loss = PowerLoss::new(design, &config.machine, codec);
    let mut explorer = Explorer::new(auditor, exploration.plan, total)
        .knowing(std::mem::take(known))
        .drains(loss.drain.is_some())
        .nested(exploration.nested)
        .tally_stages(exploration.stages)
        .stop_at(exploration.stop_at);
    if let Some(recovery) = &mut recovery {
        recovery.rewind()?;
        explorer = explorer.recovered_by(recovery, job.base.end());
    }
    let mut system = System::new(config, design, job, explorer)?;
    let mut watch = Watch::new(progress, cancel);
    let mut disturbance = Disturbance::of(config, design, exploration.schedule);
    let mut failure = None;
    system.run(|system| {
        if system.observer.wants_survivors() {
            match look(system, &loss, &design.recovery, recovery.as_deref_mut(), cancel) {
                Ok(spent) => watch.spend(spent),
                Err(Failure::Cancelled) => return ControlFlow::Break(()),
                Err(why) => {
                    failure = Some(why);
                    return ControlFlow::Break(());
                }
            }
        }
        if system.observer.stopped() {
            return ControlFlow::Break(());
        }
        disturbance.after(system);
        watch.after(system)
    });
    if let Some(why) = failure {
        return Err(why);
    }
    // A trace that cannot be read any further, because the user has interrupted, ends like one that is over.
    let mut interrupted = cancel.load(Ordering::Relaxed);
    if !interrupted && !system.observer.stopped() {
        watch.finish(&system)?;
        system.observer.want_full_check();
        look(&mut system, &loss, &design.recovery, None, cancel)?;
        if let Some(recovery) = recovery {
            interrupted = match system.observer.take_verdicts(recovery, 0, cancel) {
                Err(Failure::Cancelled) => true,
                taken => taken.map(|()| false)?,
            };
        }
    } else {
        watch.leave(&system);
    }
    if interrupted {
        system.observer.forget_unjudged();
        if !system.observer.has_points() {
            return Err(Failure::Cancelled);
        }
    } else {
        source.verdict()?;
    }
    let exercised = exercised(&mut system);
    let report = system.observer.report(CrashRun {
        design: config.design.clone(),
        variant: config.variant,
        workload: config.workload.clone(),
        seed: config.seed,
        fault: exploration.fault,
        schedule: Some(exploration.schedule),
        exercised,
        secret: design.promise.secret,
        interrupted,
        seconds: started.elapsed().as_secs_f64(),
    });
    *known = system.observer.into_known();
    Ok(report)
}

/// What the run has met.
pub(crate) fn exercised<O: Observer>(system: &mut System<O>) -> Exercised {
    let stats = system.controller.stats(system.queue.now());
    Exercised {
        evictions: system.cache.counts().dirty_evictions,
        counter_misses: stats.counter_misses,
        wpq_full: stats.full_events,
        reencryptions: stats.reencryptions,
    }
}

/// Hands the true survivors of a power failure now to the explorer, for whatever it wants of them; gives how many events
/// that is worth.
fn look(
    system: &mut System<Explorer>,
    loss: &PowerLoss<'_>,
    steps: &[RecoveryStep],
    recovery: Option<&mut OwnRecovery>,
    cancel: &AtomicBool,
) -> Result<u64, Failure> {
    let drained = struck(system, loss);
    let System { observer, device, .. } = system;
    let media = ImageMedia(device.image());
    observer.power_lost(&drained);
    if observer.wants_full_check() {
        observer.full_check(&drained.snapshot, &media, loss.codec, steps);
    }
    if observer.wants_nested() {
        observer.nested_check(&drained, &media, loss, steps, cancel);
        return Ok(EVENTS_PER_NESTED_CHECK);
    }
    if let Some(recovery) = recovery.filter(|_| observer.wants_own_recovery()) {
        observer.own_recovery(recovery, &drained.snapshot, &media, loss.codec, steps, cancel)?;
        return Ok(EVENTS_PER_OWN_RECOVERY);
    }
    Ok(EVENTS_PER_DRAIN)
}

/// What a controller holds, as a loss of power finds it.
pub(crate) fn held(controller: ControllerSnapshot) -> HeldState {
    HeldState {
        wpq: controller.wpq,
        counters: controller.counters,
        status: controller.rsr.map(|rsr| ReencryptionStatus {
            page: rsr.page,
            old_major: rsr.old_major,
            done: rsr.done,
        }),
        global_counter: controller.global_counter,
        log: controller.log,
        ..HeldState::default()
    }
}

/// What a power failure now leaves.
pub(crate) fn struck<O: Observer>(system: &System<O>, loss: &PowerLoss<'_>) -> Drained {
    let lines = if loss.drain.is_some() { system.on_chip() } else { Vec::new() };
    let held = HeldState { lines, ..held(system.controller.snapshot()) };
    loss.strike(held, &ImageMedia(system.device.image()))
}

/// Where the recovery of `design` takes the counters of the shadow cache from.
fn stamp_of(design: &Design) -> Option<StampSource> {
    design.recovery.iter().find_map(|step| match step {
        RecoveryStep::RestoreShadow { stamp, .. } => Some(*stamp),
        _ => None,
    })
}

/// How the counters of `scheme` lie on the media, for those who read them on their own.
fn layout_of(scheme: &dyn CounterScheme, minor_bits: u32) -> CounterLayout {
    match scheme.coverage() {
        Coverage::PAGE => CounterLayout::Split { minor_bits },
        coverage => CounterLayout::Words { coverage },
    }
}

/// Puts a ledger between each program and its core; a trace has transactions nobody could judge.
pub(crate) fn keep_ledgers(job: &mut Job, source: &Source) -> Option<ProgramFacts> {
    let recovery = source.recovery()?;
    let (sender, records) = ledger_channel();
    let programs = std::mem::take(&mut job.programs);
    job.programs = (0..programs.len() as CoreId)
        .zip(programs)
        .map(|(core, program)| {
            Box::new(Ledger::new(program, core, Arc::clone(&job.base), sender.clone())) as Box<dyn OpSource>
        })
        .collect();
    Some(ProgramFacts { recovery: Arc::new(recovery), records })
}

/// Length of the run, from the same run without anybody watching.
fn events_of(
    config: &RunConfig,
    design: &Design,
    source: &Source,
    exploration: &Exploration,
    bases: &Bases,
    cancel: &AtomicBool,
) -> Result<u64, Failure> {
    let mut system = System::new(config, design, source.job(bases, cancel)?, NoObserver)?;
    let mut watch = Watch::new(&|_| {}, cancel);
    let mut disturbance = Disturbance::of(config, design, exploration.schedule);
    system.run(|system| {
        disturbance.after(system);
        watch.after(system)
    });
    watch.finish(&system)?;
    Ok(system.queue.events())
}

//! The picture of a crash: a window of events of a run, stage by stage, and after each event what a power failure would
//! leave, what the boot would do and what the auditors report. The run is that of a crash exploration, with the same
//! auditors.
//!
//! ```text
//! run -> Explorer (auditors)  -> Judge: durable lines, registers, boot, verdict, each told where it changes
//!     -> Recorder             -> marks in the lanes of the stages
//! ```

mod boots;
mod judge;
mod picture;
mod recorder;
#[cfg(test)]
mod tests;

use crate::assembly::System;
use crate::crash::{Audited, CrashCase, CrashPlan, Disturbance, Explorer, audited, check_crashable};
use crate::kernel::{ConfigError, Failure};
use crate::message::CoreId;
use crate::power::PowerLoss;
use crate::run::{Bases, Watch};
use judge::Judge;
use picture::Picture;
use recorder::{Mark, Recorder};
use serde::Serialize;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Number of events of the window before the chosen event.
const EVENTS_BEFORE: u64 = 400;
/// Number of events of the window after the chosen event.
const EVENTS_AFTER: u64 = 100;
/// How many events the judgement of a crash point counts as here, for progress and interruption.
const EVENTS_PER_POINT: u64 = 256;

/// The document that the page shows.
#[derive(Serialize)]
pub struct Scene {
    schema: u32,
    design: String,
    variant: &'static str,
    workload: String,
    seed: u64,
    /// How lines are encrypted: "none", "counter-mode" or "xts".
    cipher: &'static str,
    /// Whether caches are in the persistence domain.
    persistent: bool,
    /// The event that was requested.
    at_event: Option<u64>,
    /// The first event of the window.
    first: u64,
    /// The time of each event of the window, in ns.
    ns: Vec<f64>,
    /// Entries of the write pending queue after each event.
    queued: Vec<i64>,
    lanes: Vec<String>,
    marks: Vec<Mark>,
    #[serde(flatten)]
    picture: Picture,
}

/// The events that are shown around `at_event`.
fn window(at_event: Option<u64>) -> RangeInclusive<u64> {
    let last = at_event.map_or(EVENTS_BEFORE + EVENTS_AFTER, |event| event.saturating_add(EVENTS_AFTER));
    at_event.map_or(1, |event| event.saturating_sub(EVENTS_BEFORE).max(1))..=last
}

/// The picture of the crash of `case` after `at_event`, or of the beginning of its run, in this schedule.
pub fn scene(case: &CrashCase<'_>, at_event: Option<u64>, schedule: u64) -> Result<Scene, Failure> {
    let CrashCase { config, design, .. } = *case;
    check_crashable(config, design)?;
    let window = window(at_event);
    let Audited { job, auditor, codec } = audited(case, &Bases::default())?;
    let codec = codec.as_deref();
    let loss = PowerLoss::new(design, &config.machine, codec);
    let cores = job.programs.len() as CoreId;
    let log = codec.and_then(|codec| codec.log()).map(|log| log.region);
    let layout = design.media_layout(&config.machine);
    let recorder = Recorder::new(window.clone(), layout, Arc::clone(&job.base), cores, log);
    // Every new state is booted for real, because a window has few of them.
    let plan = CrashPlan::Between { first: *window.start(), last: *window.end() };
    let explorer = Explorer::new(auditor, plan, 0).full_check_every(1).drains(loss.leaves_more());
    let explorer = explorer.verifies(loss.codec.is_some_and(|codec| codec.integrity().is_some()));
    let persistent = loss.drain.is_some();
    let mut system = System::new(config, design, job, (explorer, recorder))?;
    let mut judge = Judge::new(loss, cores);
    judge_window(case, &mut system, &mut judge, &window, schedule)?;
    let (explorer, recorder) = system.observer;
    if let Some(event) = at_event.filter(|&event| event > recorder.event()) {
        let events = recorder.event();
        return Err(
            ConfigError(format!("at_event: {event} is not an event of the run, which has 1 to {events}")).into()
        );
    }
    let picture = judge.picture(explorer.auditor(), &recorder, explorer.internal_errors());
    Ok(Scene {
        schema: 1,
        design: config.design.clone(),
        variant: config.variant.name(),
        workload: config.workload.clone(),
        seed: config.seed,
        cipher: match (&design.direct, &design.encryption) {
            (Some(_), _) => "xts",
            (None, Some(_)) => "counter-mode",
            (None, None) => "none",
        },
        persistent,
        at_event,
        first: *window.start(),
        ns: recorder.ns,
        queued: recorder.queued_after,
        lanes: recorder.lanes,
        marks: recorder.marks,
        picture,
    })
}

/// Runs `system` to the end of the window, or to its own end, and judges every crash point of the window.
fn judge_window(
    case: &CrashCase<'_>,
    system: &mut System<(Explorer<'_>, Recorder)>,
    judge: &mut Judge<'_>,
    window: &RangeInclusive<u64>,
    schedule: u64,
) -> Result<(), Failure> {
    let (first, last) = (*window.start(), *window.end());
    if first == 1 {
        system.observer.0.keep_all();
    }
    let mut watch = Watch::new(case.progress, case.cancel);
    let mut disturbance = Disturbance::of(case.config, case.design, schedule);
    let mut over = false;
    let mut outcome = Ok(());
    system.run(|system| {
        let event = system.observer.1.event();
        if event + 1 == first {
            system.observer.0.keep_all();
        }
        if event >= first {
            outcome = judge.point(system);
            watch.spend(EVENTS_PER_POINT);
        }
        over = event >= last || outcome.is_err();
        disturbance.after(system);
        let goes_on = watch.after(system);
        if over { ControlFlow::Break(()) } else { goes_on }
    });
    outcome?;
    if case.cancel.load(Ordering::Relaxed) {
        return Err(Failure::Cancelled);
    }
    if !over {
        watch.finish(system)?;
        case.source.verdict()?;
    }
    Ok(())
}

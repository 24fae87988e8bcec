//! One exploration of legal states from configuration to report: the program runs once on its design, only to record
//! its history.

use super::explorer::{LegalExplorer, LegalSetup, STATES_PER_POINT};
use super::hardware::Hardware;
use crate::assembly::{System, boot_codec, encryption_parts};
use crate::config::Machine;
use crate::crash::{CrashCase, CrashPlan, CrashReport, CrashRun, Exploration, exercised, keep_ledgers};
use crate::kernel::{ConfigError, Failure, Stopwatch};
use crate::layout::Coverage;
use crate::recovery::LineCodec;
use crate::run::{Bases, Watch};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Fails power at every fence of the program in every state that is legal there. `exploration` may name one of the
/// points; power does not fail again. `states_per_point`: classes of states judged at one fence before the rest is
/// bounded and sampled.
pub fn explore_legal(
    case: &CrashCase<'_>,
    exploration: &Exploration,
    states_per_point: Option<u64>,
) -> Result<CrashReport, Failure> {
    let CrashCase { config, design, source, progress, cancel, .. } = *case;
    if let Err(why) = &design.promise.crash_consistent {
        return Err(ConfigError(format!("design '{}' cannot be crash-tested: {why}", design.name)).into());
    }
    let hardware = Hardware::of(design, &config.machine);
    refuse(exploration)?;
    let started = Stopwatch::start();
    let bases = Bases::default();
    let mut job = source.job(&bases, cancel)?;
    let base = Arc::clone(&job.base);
    let facts = keep_ledgers(&mut job, source).expect("what is no trace can recover");
    let machine = wide_minors(&config.machine);
    let codec = encryption_parts(&machine, design, config.seed, &base)?;
    // A state has no MACs: what they protect is in the rules of the hardware, and what else a boot does is compared here.
    let codec = codec.map(|mut parts| {
        parts.integrity = None;
        boot_codec(&machine, 1, parts, Arc::clone(&base), None)
    });
    let explorer = LegalExplorer::new(LegalSetup {
        hardware,
        line_atomic: design.promise.line_atomic,
        secret: design.promise.secret,
        base,
        coverage: codec.as_ref().map_or(Coverage::LINE, LineCodec::coverage),
        program: facts.recovery,
        records: facts.records,
        codec: codec.as_ref().map(|codec| codec as &dyn LineCodec),
        recovery: &design.recovery,
        exploration: *exploration,
        states_per_point: states_per_point.unwrap_or(STATES_PER_POINT),
        seed: config.seed,
        cancel,
    });
    let mut system = System::new(config, design, job, explorer)?;
    let mut watch = Watch::new(progress, cancel);
    let mut stopped = false;
    system.run(|system| {
        stopped = system.observer.stopped();
        if stopped { ControlFlow::Break(()) } else { watch.after(system) }
    });
    let interrupted = watch.cancelled();
    if stopped || interrupted {
        watch.leave(&system);
    } else {
        watch.finish(&system)?;
    }
    if interrupted && !system.observer.has_points() {
        return Err(Failure::Cancelled);
    }
    let exercised = exercised(&mut system);
    Ok(system.observer.report(CrashRun {
        exercised,
        interrupted,
        seconds: started.seconds(),
        ..case.run(exploration, None)
    }))
}

fn refuse(exploration: &Exploration) -> Result<(), ConfigError> {
    let refused = match exploration {
        Exploration { nested: 1.., .. } => {
            "power does not fail again during recovery there; explore 'schedules' with nested"
        }
        Exploration { plan: CrashPlan::Sample(_), .. } => "every fence is a point: 'all' or one event",
        _ => return Ok(()),
    };
    Err(ConfigError(format!("explore legal: {refused}")))
}

/// A machine whose minor counters do not overflow.
pub(crate) fn wide_minors(machine: &Machine) -> Machine {
    let mut machine = machine.clone();
    machine.counters.minor_bits = machine.counters.minor_bits_max();
    machine
}

//! One simulation from configuration to report.

use crate::config::{ConfigError, RunConfig, config_digest};
use crate::cpu::{Core, CoreStats};
use crate::design::parts::Design;
use crate::figures::Figures;
use crate::job::{Bases, Source};
use crate::kernel::{Ps, ps_to_ns};
use crate::message::{NoObserver, Observer};
use crate::power_cost::{self, Held};
use crate::stats::{AtCrash, CacheReport, CoreReport, Host, Latency, RunReport};
use crate::system::System;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Why a simulation gave no report.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Bad input.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The user interrupted it.
    #[error("interrupted")]
    Cancelled,
}

/// Version of the engine, as it appears in reports.
pub const ENGINE_VERSION: &str = env!("CARGO_PKG_VERSION");
/// Digest of the sources that the engine was built from: runs of engines with equal digests give equal results.
pub const ENGINE_BUILD: &str = env!("COUNTERPOINT_ENGINE_BUILD");

/// Events between two looks at the interrupt flag and the progress counter: well under a millisecond.
const EVENTS_PER_LOOK: u64 = 4096;

/// Passes progress on and looks for an interruption while a system runs.
pub(crate) struct Watch<'a> {
    progress: &'a (dyn Fn(u64) + Sync),
    cancel: &'a AtomicBool,
    told: u64,
    countdown: u64,
    cancelled: bool,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(progress: &'a (dyn Fn(u64) + Sync), cancel: &'a AtomicBool) -> Self {
        Self { progress, cancel, told: 0, countdown: EVENTS_PER_LOOK, cancelled: false }
    }

    /// To be called after each event; breaks off when the user has interrupted.
    pub(crate) fn after<O: Observer>(&mut self, system: &System<O>) -> ControlFlow<()> {
        self.countdown -= 1;
        if self.countdown > 0 {
            return ControlFlow::Continue(());
        }
        self.countdown = EVENTS_PER_LOOK;
        self.tell(system);
        self.cancelled = self.cancel.load(Ordering::Relaxed);
        if self.cancelled { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// As much time has passed as `events` take: the next look is due earlier.
    pub(crate) fn spend(&mut self, events: u64) {
        self.countdown = self.countdown.saturating_sub(events).max(1);
    }

    /// To be called when the system has stopped: it was interrupted, or every program has ended.
    pub(crate) fn finish<O: Observer>(mut self, system: &System<O>) -> Result<(), Failure> {
        if self.cancelled {
            return Err(Failure::Cancelled);
        }
        self.tell(system);
        if let Some(why) = system.controller.log_exhausted() {
            return Err(ConfigError(why).into());
        }
        assert!(system.cores.iter().all(Core::finished), "the event queue ran dry before the programs ended");
        Ok(())
    }

    /// The user has interrupted, as the caller has found out by itself.
    pub(crate) fn cancel(&mut self) -> ControlFlow<()> {
        self.cancelled = true;
        ControlFlow::Break(())
    }

    /// Whether the user has interrupted.
    pub(crate) fn cancelled(&self) -> bool {
        self.cancelled
    }

    /// To be called when the system has stopped before its programs ended, instead of [`Watch::finish`].
    pub(crate) fn leave<O: Observer>(mut self, system: &System<O>) {
        self.tell(system);
    }

    fn tell<O: Observer>(&mut self, system: &System<O>) {
        let ended = system.transactions_ended();
        (self.progress)(ended - self.told);
        self.told = ended;
    }
}

/// Runs one simulation. `progress` is told how many transactions have ended since it was last told.
pub fn simulate(
    config: &RunConfig,
    design: &Design,
    source: &Source,
    bases: &Bases,
    progress: &(dyn Fn(u64) + Sync),
    cancel: &AtomicBool,
) -> Result<RunReport, Failure> {
    simulate_observed(config, design, source, bases, NoObserver, progress, cancel).map(|(report, _)| report)
}

/// The same with somebody watching; hands the observer back.
pub fn simulate_observed<O: Observer>(
    config: &RunConfig,
    design: &Design,
    source: &Source,
    bases: &Bases,
    observer: O,
    progress: &(dyn Fn(u64) + Sync),
    cancel: &AtomicBool,
) -> Result<(RunReport, O), Failure> {
    let job = source.job(bases, cancel)?;
    let started = Instant::now();
    let base = Arc::clone(&job.base);
    let mut system = System::new(config, design, job, observer)?;
    let mut watch = Watch::new(progress, cancel);
    let mut held = None;
    let rest = |system: &System<O>| held = design.drain().map(|_| Held::of(system));
    system.run_noting_rest(|system| watch.after(system), rest);
    watch.finish(&system)?;
    source.verdict()?;
    let seconds = started.elapsed().as_secs_f64();
    let mut report = report(config, design, source, &mut system, seconds);
    report.at_crash = power_cost::at_crash(config, design, base, held, cancel)?;
    Ok((report, system.observer))
}

fn report<O: Observer>(
    config: &RunConfig,
    design: &Design,
    source: &Source,
    system: &mut System<O>,
    seconds: f64,
) -> RunReport {
    let now = system.queue.now();
    let since = system.measuring_since().unwrap_or(0);
    let last_commit = system.cores.iter().map(Core::last_commit).max().unwrap_or(0);
    let elapsed: Ps = last_commit.max(since) - since;
    let System { controller, device, .. } = system;
    let figures = Figures::of(&config.machine, design, controller, device, since, now);
    let requests = figures.nvm.reads + figures.nvm.writes;
    let mut latencies: Vec<u64> =
        system.cores.iter().flat_map(|core| core.stats().transaction_ps.iter().copied()).collect();
    let sum = |of: fn(&CoreStats) -> u64| system.cores.iter().map(|core| of(core.stats())).sum::<u64>();
    let transactions = sum(|stats| stats.transactions);
    let instructions = sum(|stats| stats.instructions);
    let cycles = elapsed as f64 * f64::from(config.machine.core.clock_mhz) / 1e6;
    let ratio = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
    let counts = system.cache.counts();
    let levels = [(1, counts.l1), (2, counts.l2), (3, counts.l3)];
    let is_trace = source.is_trace();
    RunReport {
        schema: 1,
        design: design.name.to_owned(),
        variant: config.variant.name().to_owned(),
        workload: config.workload.clone(),
        machine: config.machine.name.clone(),
        seed: config.seed,
        cores: config.cores,
        tx_size: (!is_trace).then_some(config.tx_size),
        footprint: (!is_trace).then_some(config.footprint),
        config_digest: config_digest(config),
        engine_version: ENGINE_VERSION,
        engine_build: ENGINE_BUILD,
        transactions,
        simulated_ns: ps_to_ns(elapsed),
        instructions,
        event_digest: format!("{:016x}", system.queue.digest()),
        transaction_latency_ns: Latency::of(&mut latencies),
        throughput_tps: if elapsed == 0 { 0.0 } else { transactions as f64 * 1e12 / elapsed as f64 },
        nvm: figures.nvm,
        counter_cache: figures.counter_cache,
        wpq: figures.wpq,
        cache: levels
            .into_iter()
            .map(|(level, counts)| CacheReport {
                level,
                hits: counts.hits,
                misses: counts.misses,
                mean_latency_ns: ratio(counts.latency_ps, counts.hits).map(|ps| ps / 1_000.0),
            })
            .collect(),
        l1_access_latency_ns: ratio(sum(|stats| stats.l1_latency_ps), sum(|stats| stats.l1_accesses))
            .map(|ps| ps / 1_000.0),
        core: CoreReport {
            ipc: if elapsed == 0 { 0.0 } else { instructions as f64 / cycles / f64::from(config.cores) },
            fence_stall_ns: ps_to_ns(sum(|stats| stats.fence_stall_ps)),
        },
        reencryptions: figures.reencryptions,
        crypto: figures.crypto,
        at_crash: AtCrash::default(),
        sites: None,
        host: Host {
            seconds,
            instructions_per_second: instructions as f64 / seconds,
            memory_requests_per_second: requests as f64 / seconds,
            peak_rss_bytes: peak_rss_bytes(),
        },
    }
}

/// Peak resident memory of this process, where `/proc` tells.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

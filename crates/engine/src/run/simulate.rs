//! One simulation from configuration to report.

use super::power_cost::{self, Held};
use super::{Bases, Source, Watch};
use crate::assembly::{Figures, System};
use crate::cache::{CacheCounts, CacheStats};
use crate::config::{Machine, RunConfig, config_digest};
use crate::cpu::{Core, CoreStats};
use crate::kernel::{Failure, Histogram, Ps, Stopwatch, ps_to_ns};
use crate::message::{LINE_BYTES, NoObserver, Observer};
use crate::parts::Design;
use crate::stats::{
    AtCrash, CacheReport, CoreReport, ENGINE_BUILD, ENGINE_VERSION, Host, Latency, Nvm, Recorded, RunReport, Stats,
    classes, per_second,
};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Runs one simulation. `progress` is called with the number of transactions that have ended since the last call.
pub fn simulate(
    config: &RunConfig,
    design: &Design,
    source: &Source,
    bases: &Bases,
    progress: &(dyn Fn(u64) + Sync),
    cancel: &AtomicBool,
) -> Result<RunReport, Failure> {
    simulate_observed(config, design, source, bases, (NoObserver, None), progress, cancel).map(|(report, _)| report)
}

/// Runs one simulation like [`simulate`], with `observer`, and returns it. With `window`, the report has windows of so many
/// picoseconds.
pub fn simulate_observed<O: Observer>(
    config: &RunConfig,
    design: &Design,
    source: &Source,
    bases: &Bases,
    (observer, window): (O, Option<Ps>),
    progress: &(dyn Fn(u64) + Sync),
    cancel: &AtomicBool,
) -> Result<(RunReport, O), Failure> {
    let job = source.job(bases, cancel)?;
    let started = Stopwatch::start();
    let base = Arc::clone(&job.base);
    let mut system = System::new(config, design, job, observer)?;
    system.report_windows(window);
    let mut watch = Watch::new(progress, cancel);
    let mut held = None;
    let rest = |system: &System<O>| held = design.stores_persist().then(|| Held::of(system));
    system.run_noting_rest(|system| watch.after(system), rest);
    watch.finish(&system)?;
    source.verdict()?;
    let seconds = started.seconds();
    let mut report = report(config, design, source, &mut system, seconds);
    report.windows = system.take_windows()?;
    report.stats.at_crash = power_cost::at_crash(config, design, base, held, cancel)?;
    Ok((report, system.observer))
}

/// What a run of a recorded program says of its trace.
fn recorded(source: &Source, elapsed: Ps) -> Option<Recorded> {
    let Source::Trace(trace, _) = source else { return None };
    let (summary, instances) = (trace.summary(), u64::from(trace.instances()));
    let counts = [summary.fences + summary.deep_syncs, summary.marks].map(|count| count * instances);
    let others = summary.others.map(|others| (others.loads + others.stores) * instances);
    Some(Recorded::of(counts, others, ps_to_ns(elapsed), source.assumed(), summary.lacks.clone()))
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
    let is_workload = source.is_workload();
    RunReport {
        schema: 1,
        design: design.name.clone(),
        parts: config.parts.clone(),
        variant: config.variant.name().to_owned(),
        workload: config.workload.clone(),
        machine: config.machine.name.clone(),
        set_by_design: config.set_by_design.clone(),
        seed: config.seed,
        cores: config.cores,
        tx_size: is_workload.then_some(config.tx_size),
        footprint: is_workload.then_some(config.footprint),
        config_digest: config_digest(config),
        engine_version: ENGINE_VERSION,
        engine_build: ENGINE_BUILD,
        event_digest: format!("{:016x}", system.queue.digest()),
        stats: Stats {
            transactions,
            simulated_ns: ps_to_ns(elapsed),
            instructions,
            transaction_latency_ns: Latency::of(&mut latencies),
            throughput_tps: (transactions > 0 && elapsed > 0).then(|| transactions as f64 * 1e12 / elapsed as f64),
            no_writes: no_writes(&config.machine, source, &figures.nvm),
            transaction_latency_classes: classes(&latencies.iter().copied().collect::<Histogram>().0),
            nvm: figures.nvm,
            energy: figures.energy,
            channels: figures.channels,
            banks: figures.banks,
            counter_cache: figures.counter_cache,
            wpq: figures.wpq,
            cache: cache_reports(system.cache.counts()),
            l1_access_latency_ns: mean_ns(sum(|stats| stats.l1_latency_ps), sum(|stats| stats.l1_accesses)),
            l1_access_latency_classes: classes(&l1_latencies(&system.cores).0),
            core: CoreReport {
                ipc: (elapsed > 0).then(|| instructions as f64 / cycles / f64::from(config.cores)),
                fence_stall_ns: ps_to_ns(sum(|stats| stats.fence_stall_ps)),
            },
            reencryptions: figures.reencryptions,
            crypto: figures.crypto,
            integrity: figures.integrity,
            at_crash: AtCrash::default(),
            recorded: recorded(source, elapsed),
            host: host(instructions, requests, seconds),
        },
        sites: None,
        windows: None,
    }
}

/// What a run of so many instructions and device requests took.
fn host(instructions: u64, requests: u64, seconds: f64) -> Host {
    Host {
        seconds,
        instructions_per_second: per_second(instructions, seconds),
        memory_requests_per_second: per_second(requests, seconds),
        peak_rss_bytes: peak_rss_bytes(),
    }
}

/// The latencies of the accesses of all cores to their first level.
fn l1_latencies(cores: &[Core]) -> Histogram {
    let mut all = Histogram::default();
    cores.iter().for_each(|core| all += &core.stats().l1_latencies);
    all
}

/// Why a run has written nothing to the device, if it has not. What was stored is still in the caches then; the trace or
/// workload fits them if no more lines were read, either, than the largest cache has.
fn no_writes(machine: &Machine, source: &Source, nvm: &Nvm) -> Option<&'static str> {
    let largest = [&machine.l1, &machine.l2, &machine.l3].map(|level| level.size.0).into_iter().max();
    let fits = largest.is_some_and(|bytes| nvm.data_reads * LINE_BYTES <= bytes);
    let stores = source.trace_summary().is_none_or(|trace| trace.stores > 0);
    (nvm.writes == 0).then_some(match (source.is_trace(), stores, fits) {
        (_, false, _) => "the trace stores nothing",
        (true, true, true) => "the trace fits the caches",
        (true, true, false) => "what the trace stores stays in the caches",
        (false, true, true) => "the workload fits the caches",
        (false, true, false) => "what the workload stores stays in the caches",
    })
}

fn cache_reports(counts: &CacheCounts) -> Vec<CacheReport> {
    let levels = [(1, &counts.l1), (2, &counts.l2), (3, &counts.l3)];
    let report = |(level, counts): (u8, &CacheStats)| CacheReport {
        level,
        hits: counts.hits,
        misses: counts.misses,
        mean_latency_ns: mean_ns(counts.latency_ps, counts.hits),
    };
    levels.map(report).into()
}

/// The mean of `count` times whose sum is `sum_ps`, in ns; `None` if `count` is zero.
fn mean_ns(sum_ps: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum_ps as f64 / count as f64 / 1_000.0)
}

/// Peak resident memory of this process in bytes, if `/proc` reports it.
fn peak_rss_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

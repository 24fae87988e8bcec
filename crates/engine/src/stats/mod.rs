//! What a run reports: typed structs that serialise to the keys of the interface contract. Durations in nanoseconds,
//! energy in nanojoules, sizes in bytes; a value without meaning is null.

mod sites;

pub use sites::LineCost;

use serde::Serialize;

/// One simulation's figures: `run --json`.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// Version of this document's form.
    pub schema: u32,
    /// Design.
    pub design: String,
    /// The parts of a design that is not built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<toml::Table>,
    /// Reading of the paper.
    pub variant: String,
    /// Workload name or trace path.
    pub workload: String,
    /// Machine name.
    pub machine: String,
    /// Seed of every random stream.
    pub seed: u64,
    /// Cores.
    pub cores: u16,
    /// Bytes of user data in a transaction; null for a trace.
    pub tx_size: Option<u64>,
    /// Bytes of populated structure over all cores; null for a trace.
    pub footprint: Option<u64>,
    /// Digest of the full configuration.
    pub config_digest: String,
    /// Version of the engine.
    pub engine_version: &'static str,
    /// Digest of its sources: 32 hexadecimal digits.
    pub engine_build: &'static str,
    /// Measured transactions over all cores.
    pub transactions: u64,
    /// Measured time, from the end of warm-up to the last core's last commit.
    pub simulated_ns: f64,
    /// Instructions committed in it.
    pub instructions: u64,
    /// Digest of every event of the run.
    pub event_digest: String,
    /// Latency of a transaction.
    pub transaction_latency_ns: Latency,
    /// Transactions per simulated second, over all cores.
    pub throughput_tps: f64,
    /// Device.
    pub nvm: Nvm,
    /// Counter cache; nulls without encryption.
    pub counter_cache: CounterCacheReport,
    /// Write pending queue.
    pub wpq: WpqReport,
    /// Cache levels.
    pub cache: Vec<CacheReport>,
    /// Mean time from the moment a load or a store first asks the first level until its line is there, wherever it comes
    /// from, memory included; null without accesses. A store's wait for miss registers and for the log manager belongs to
    /// it; a load answered by an older store of its core is no access.
    pub l1_access_latency_ns: Option<f64>,
    /// Cores.
    pub core: CoreReport,
    /// Pages re-encrypted.
    pub reencryptions: u64,
    /// Pads.
    pub crypto: Crypto,
    /// What a power failure at the end would cost; null outside designs that drain caches.
    pub at_crash: AtCrash,
    /// What each source line of a recorded program cost, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sites: Option<Vec<LineCost>>,
    /// What the simulation itself cost.
    pub host: Host,
}

/// Transaction latency in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 99th percentile (nearest rank).
    pub p99: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
}

impl Latency {
    /// Of durations in picoseconds; sorts them.
    pub fn of(durations: &mut [u64]) -> Self {
        durations.sort_unstable();
        let Some(&max) = durations.last() else { return Self::default() };
        let ns = |ps: u64| ps as f64 / 1_000.0;
        let rank = |percent: usize| ns(durations[(durations.len() * percent).div_ceil(100).max(1) - 1]);
        let sum: u128 = durations.iter().map(|&ps| u128::from(ps)).sum();
        Self {
            mean: Some(sum as f64 / durations.len() as f64 / 1_000.0),
            p50: Some(rank(50)),
            p99: Some(rank(99)),
            max: Some(ns(max)),
        }
    }
}

/// Device figures.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Nvm {
    /// Lines read.
    pub reads: u64,
    /// Lines written: data, log and counter blocks.
    pub writes: u64,
    /// Data lines written, without the log.
    pub data_writes: u64,
    /// Lines of an undo log written. What a trace logs cannot be told apart and counts as data.
    pub log_writes: u64,
    /// Counter blocks written.
    pub counter_writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Data lines read.
    pub data_reads: u64,
    /// Counter blocks read.
    pub counter_reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Energy.
    pub energy_nj: f64,
    /// Writes of the line written most.
    pub max_line_writes: u32,
    /// Accesses that found their row open.
    pub row_hits: u64,
    /// Time that banks were busy, summed over banks.
    pub bank_busy_ns: f64,
}

/// Counter cache figures.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CounterCacheReport {
    /// Lookups that found the block.
    pub hits: Option<u64>,
    /// Lookups that did not.
    pub misses: Option<u64>,
    /// Share of hits; null without lookups.
    pub hit_rate: Option<f64>,
    /// Blocks evicted.
    pub evictions: Option<u64>,
}

/// Write pending queue figures.
#[derive(Clone, Debug, Serialize)]
pub struct WpqReport {
    /// Entries admitted.
    pub admitted: u64,
    /// Counter entries removed because a newer one took their place.
    pub counter_writes_coalesced: u64,
    /// Time during which a write waited for a slot.
    pub full_stall_ns: f64,
    /// Entries on average.
    pub mean_occupancy: f64,
}

/// One cache level.
#[derive(Clone, Debug, Serialize)]
pub struct CacheReport {
    /// Level, 1 to 3.
    pub level: u8,
    /// Accesses it served.
    pub hits: u64,
    /// Accesses it passed on.
    pub misses: u64,
    /// Mean latency of its hits; null without hits.
    pub mean_latency_ns: Option<f64>,
}

/// All cores together.
#[derive(Clone, Debug, Serialize)]
pub struct CoreReport {
    /// Instructions per cycle and core.
    pub ipc: f64,
    /// Time that commit stood still for fences, summed over cores.
    pub fence_stall_ns: f64,
}

/// Cryptography.
#[derive(Clone, Debug, Serialize)]
pub struct Crypto {
    /// Pads made.
    pub pads: u64,
    /// Time that AES circuits spent on them, summed over circuits.
    pub aes_busy_ns: f64,
}

/// Cost of a power failure after the last transaction, when nothing is under way any more and before what the queues
/// still hold is written out. Nulls for designs whose caches do not survive.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AtCrash {
    /// Share of the data slots of all caches that hold dirty lines.
    pub dirty_fraction: Option<f64>,
    /// Energy, in mJ, of letting what is dirty leave, by the machine's constants.
    pub drain_energy_mj: Option<f64>,
    /// The same, in mJ, if everything were dirty (sepencr Table III).
    pub drain_energy_all_dirty_mj: Option<f64>,
    /// Time to put this crash's dirty lines back at boot on the simulated device; null without a shadow cache.
    pub recovery_time_ns: Option<f64>,
    /// Time to read a shadow cache full of lines by the paper's formula (sepencr section V-D); null without one.
    pub recovery_time_paper_ns: Option<f64>,
    /// What the energies are made of: `l1`, `l2`, `l3`; `counter-cache` where there is one; `encryption` where lines are
    /// encrypted on battery. Empty where the other values are null.
    pub parts: Vec<DrainPart>,
}

/// One part of the energy of a drain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DrainPart {
    /// What drains, or what is done to what drains.
    pub name: &'static str,
    /// Bytes if everything were dirty.
    pub bytes: u64,
    /// Bytes that are dirty.
    pub dirty_bytes: u64,
    /// Energy of the dirty ones, in mJ.
    pub energy_mj: f64,
    /// Energy of all, in mJ.
    pub energy_all_dirty_mj: f64,
}

/// What the simulation cost the host. The only part that differs between two runs of one configuration.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Host {
    /// Wall-clock seconds of the simulation, populating excluded.
    pub seconds: f64,
    /// Simulated instructions per host second.
    pub instructions_per_second: f64,
    /// Device requests per host second.
    pub memory_requests_per_second: f64,
    /// Peak resident memory of the process, if the host tells.
    pub peak_rss_bytes: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank() {
        let mut durations: Vec<u64> = (1..=100).rev().map(|n| n * 1_000).collect();
        let latency = Latency::of(&mut durations);
        assert_eq!(latency, Latency { mean: Some(50.5), p50: Some(50.0), p99: Some(99.0), max: Some(100.0) });
        assert_eq!(Latency::of(&mut []), Latency::default());
        assert_eq!(Latency::of(&mut [5_000]).p99, Some(5.0));
    }
}

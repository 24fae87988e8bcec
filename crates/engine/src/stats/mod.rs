//! The reports of a run: typed structs that serialise to the keys of the interface contract. Durations are in
//! nanoseconds, sizes in bytes; the name of an energy ends in its unit. A value without meaning is null.

mod classes;
mod places;
mod sites;
mod windows;

pub use classes::Class;
pub(crate) use classes::classes;
pub use places::{BankReport, ChannelReport, EnergyReport};
pub use sites::LineCost;
pub use windows::Windows;

use serde::Serialize;

/// Version of the engine, as it appears in reports.
pub const ENGINE_VERSION: &str = env!("CARGO_PKG_VERSION");
/// Digest of the sources that the engine was built from: runs of engines with equal digests give equal results.
pub const ENGINE_BUILD: &str = env!("COUNTERPOINT_ENGINE_BUILD");

/// One simulation's figures: `run --json`.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Run")]
pub struct RunReport {
    /// Version of this document's format.
    pub schema: u32,
    /// The design's name.
    pub design: String,
    /// The parts of a design that is not built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub parts: Option<toml::Table>,
    /// The reading of the design's paper.
    pub variant: String,
    /// Workload name or trace path.
    pub workload: String,
    /// The machine's name.
    pub machine: String,
    /// The values of the machine that come from the design, as in `integrity.stop_loss = 8`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_by_design: Option<String>,
    /// Seed of every random stream.
    pub seed: u64,
    /// Number of cores.
    pub cores: u16,
    /// Bytes of user data in a transaction; null for a trace.
    pub tx_size: Option<u64>,
    /// Bytes of the populated structures over all cores; null for a trace.
    pub footprint: Option<u64>,
    /// Digest of the full configuration.
    pub config_digest: String,
    /// Version of the engine.
    pub engine_version: &'static str,
    /// Digest of the engine's sources: 32 hexadecimal digits.
    pub engine_build: &'static str,
    /// Digest of every event of the run.
    pub event_digest: String,
    /// What was measured.
    #[serde(flatten)]
    pub stats: Stats,
    /// What each source line of a recorded program cost, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sites: Option<Vec<LineCost>>,
    /// The figures over time, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<Windows>,
}

/// Everything that a run measured.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Stats {
    /// Measured transactions over all cores.
    pub transactions: u64,
    /// Measured time, from the end of warm-up to the last core's last commit.
    pub simulated_ns: f64,
    /// Instructions committed in the measured time.
    pub instructions: u64,
    /// Latency of a transaction.
    pub transaction_latency_ns: Latency,
    /// Transactions per simulated second, over all cores; null without transactions.
    pub throughput_tps: Option<f64>,
    /// The latencies of transactions, in classes: those that are not empty, in ascending order, each twice as wide as the
    /// one before.
    pub transaction_latency_classes: Vec<Class>,
    /// Figures of the device.
    pub nvm: Nvm,
    /// Energy by part.
    pub energy: EnergyReport,
    /// Figures of each channel of the device.
    pub channels: Vec<ChannelReport>,
    /// Figures of each bank of the device.
    pub banks: Vec<BankReport>,
    /// Why no write reached the device; null if one did.
    pub no_writes: Option<&'static str>,
    /// Figures of the counter cache; nulls without encryption.
    pub counter_cache: CounterCacheReport,
    /// Figures of the write pending queue.
    pub wpq: WpqReport,
    /// Figures of each cache level.
    pub cache: Vec<CacheReport>,
    /// Mean time from the first request of a load or store to the first level until its line is there, from whatever
    /// source, including memory; null without accesses. Includes a store's wait for miss registers and for the log
    /// manager. A load that an older store of its core answers does not count.
    pub l1_access_latency_ns: Option<f64>,
    /// The same times in classes, as those of `transaction_latency_classes`.
    pub l1_access_latency_classes: Vec<Class>,
    /// Figures of all cores together.
    pub core: CoreReport,
    /// Number of page re-encryptions.
    pub reencryptions: u64,
    /// Figures of the encryption.
    pub crypto: Crypto,
    /// Figures of what protects integrity; null if nothing does.
    pub integrity: Option<IntegrityReport>,
    /// What a power failure at the end would cost; nulls for designs that do not drain caches.
    pub at_crash: AtCrash,
    /// What a recorded program did, whether or not it has transactions; absent for a workload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Recorded>,
    /// What the simulation cost the host.
    pub host: Host,
}

/// What a recorded program did, and the simulated time that one of it took on average.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Recorded {
    /// Number of fences and deep syncs of all cores, without the fences of locked operations.
    pub fences: u64,
    /// Number of markers, whatever they say.
    pub marks: u64,
    /// Number of loads and stores of memory that is not persistent, of all cores; null if the trace does not have them, and
    /// instructions stand for them.
    pub other_accesses: Option<u64>,
    /// Simulated time over fences; null without fences.
    pub ns_per_fence: Option<f64>,
    /// Simulated time over markers; null without markers.
    pub ns_per_mark: Option<f64>,
    /// What was assumed of the program that its trace does not say; null if nothing was.
    pub assumed: Option<String>,
    /// What the trace lacks of what the program did, in sentences.
    pub lacks: Vec<String>,
}

impl Recorded {
    /// The figures of a program with so many fences, markers and accesses of other memory that took `simulated_ns`, and what
    /// is to be known of its trace.
    pub(crate) fn of(
        [fences, marks]: [u64; 2],
        other_accesses: Option<u64>,
        simulated_ns: f64,
        assumed: Option<String>,
        lacks: Vec<String>,
    ) -> Self {
        let per = |count: u64| (count > 0).then(|| simulated_ns / count as f64);
        Self { fences, marks, other_accesses, ns_per_fence: per(fences), ns_per_mark: per(marks), assumed, lacks }
    }
}

/// Transaction latency in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Latency {
    /// Mean latency.
    pub mean: Option<f64>,
    /// Median latency.
    pub p50: Option<f64>,
    /// 90th percentile of the latency (nearest rank, as the other percentiles).
    pub p90: Option<f64>,
    /// 99th percentile of the latency.
    pub p99: Option<f64>,
    /// 99.9th percentile of the latency.
    pub p999: Option<f64>,
    /// Largest latency.
    pub max: Option<f64>,
}

impl Latency {
    /// The latencies of `durations` in picoseconds, which it sorts.
    pub fn of(durations: &mut [u64]) -> Self {
        durations.sort_unstable();
        let Some(&max) = durations.last() else { return Self::default() };
        let ns = |ps: u64| ps as f64 / 1_000.0;
        let rank = |permille: usize| ns(durations[(durations.len() * permille).div_ceil(1_000).max(1) - 1]);
        let sum: u128 = durations.iter().map(|&ps| u128::from(ps)).sum();
        Self {
            mean: Some(sum as f64 / durations.len() as f64 / 1_000.0),
            p50: Some(rank(500)),
            p90: Some(rank(900)),
            p99: Some(rank(990)),
            p999: Some(rank(999)),
            max: Some(ns(max)),
        }
    }
}

/// Device figures.
#[derive(Clone, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct Nvm {
    /// Number of lines read.
    pub reads: u64,
    /// Number of lines written of all kinds.
    pub writes: u64,
    /// Number of data lines written, without the log.
    pub data_writes: u64,
    /// Number of undo-log lines written. The log writes of a trace cannot be recognised and count as data.
    pub log_writes: u64,
    /// Number of counter blocks written.
    pub counter_writes: u64,
    /// Number of lines of MACs written; those that lie beside their lines move with these.
    pub mac_writes: u64,
    /// Number of nodes of the integrity tree written.
    pub tree_writes: u64,
    /// Number of lines of the shadow table written.
    pub table_writes: u64,
    /// Bytes written. Fewer than those of the lines if only the counters of a block that changed are written
    /// (`controller.counter_write`).
    pub write_bytes: u64,
    /// Number of data lines read.
    pub data_reads: u64,
    /// Number of counter blocks read.
    pub counter_reads: u64,
    /// Number of lines of MACs read.
    pub mac_reads: u64,
    /// Number of nodes of the integrity tree read.
    pub tree_reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Energy, including background.
    pub energy_nj: f64,
    /// Number of writes of the line that was written most often.
    pub max_line_writes: u32,
    /// Number of writes of the data line that was written most often.
    pub max_data_writes: u32,
    /// Number of writes of the counter block that was written most often.
    pub max_counter_writes: u32,
    /// Number of writes of the line of MACs that was written most often.
    pub max_mac_writes: u32,
    /// Number of writes of the tree node that was written most often.
    pub max_tree_writes: u32,
    /// Number of writes of the line of the shadow table that was written most often.
    pub max_table_writes: u32,
    /// How often what was measured can be repeated, on the same lines, until one of them has been written
    /// `wear.endurance_writes` times; with the wear levelling of the machine, whose moves count as writes. Null if nothing
    /// was written.
    pub endured_runs: Option<f64>,
    /// The time that this takes, in years.
    pub lifetime_years: Option<f64>,
    /// That time if all writes were spread evenly over all lines of the device: the most that any wear levelling can reach.
    pub even_lifetime_years: Option<f64>,
    /// Lines that wear levelling has moved. These are reads and writes of the device beside those that are counted here;
    /// their time and energy are counted.
    pub gap_moves: u64,
    /// Writes that reads have stopped while their banks programmed them.
    pub write_interruptions: u64,
    /// Bits that writes have changed. A line that was never written holds zeros; one that a program found populated and
    /// nothing has read counts as its plaintext. Null without bytes.
    pub flipped_bits: Option<u64>,
    /// Bits that a write of a data line changes, log included, over the 512 that it has: the mean. Null without such writes,
    /// and without bytes.
    pub data_flip_share: Option<f64>,
    /// Accesses that found their row open.
    pub row_hits: u64,
    /// Time that banks were busy, summed over all banks.
    pub bank_busy_ns: f64,
    /// Figures of the modules; null if the device has none.
    pub modules: Option<ModuleReport>,
}

/// Figures of the modules of a device, all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Modules")]
pub struct ModuleReport {
    /// Media lines read.
    pub media_reads: u64,
    /// Media lines written.
    pub media_writes: u64,
    /// Media lines of which a part was read before the whole was written.
    pub read_modify_writes: u64,
    /// Reads that a buffer answered.
    pub buffer_hits: u64,
    /// Writes that merged in a buffer with others of their media line.
    pub merged_writes: u64,
    /// Accesses of the media whose entry of the address indirection table was not in its cache.
    pub translation_misses: u64,
    /// Bytes that the media have written over those that the controller has; null if it has written nothing. The effective
    /// write ratio (EWR) is its inverse.
    pub write_amplification: Option<f64>,
}

/// Counter cache figures. A lookup is a hit, a miss or a secondary miss.
#[derive(Clone, Debug, Default, Serialize, schemars::JsonSchema)]
#[schemars(rename = "CounterCache")]
pub struct CounterCacheReport {
    /// Lookups that found the block; null without a counter cache.
    pub hits: Option<u64>,
    /// Lookups that did not find the block, and fetched it; null without a counter cache.
    pub misses: Option<u64>,
    /// Lookups that did not find the block because it was already being fetched: its miss register answers them when
    /// it arrives. Null without a counter cache.
    pub secondary_misses: Option<u64>,
    /// Hits over lookups; null without lookups.
    pub hit_rate: Option<f64>,
    /// Number of blocks evicted; null without a counter cache.
    pub evictions: Option<u64>,
}

/// Write pending queue figures.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Wpq")]
pub struct WpqReport {
    /// Number of entries admitted.
    pub admitted: u64,
    /// Number of counter entries that were removed because a newer one replaced them.
    pub counter_writes_coalesced: u64,
    /// Time during which a write waited for a slot.
    pub full_stall_ns: f64,
    /// Mean number of entries.
    pub mean_occupancy: f64,
    /// Number of reads answered from the queue, or from a write that was not in it yet.
    pub forwarded_reads: u64,
}

/// One cache level.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "CacheLevel")]
pub struct CacheReport {
    /// Level, 1 to 3.
    pub level: u8,
    /// Number of accesses that the level served.
    pub hits: u64,
    /// Number of accesses that the level passed on. The first level's include secondary misses: accesses to a line that
    /// a miss register already waits for.
    pub misses: u64,
    /// Mean latency of its hits; null without hits.
    pub mean_latency_ns: Option<f64>,
}

/// All cores together.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Core")]
pub struct CoreReport {
    /// Instructions per cycle and core; null if no time was measured.
    pub ipc: Option<f64>,
    /// Time that fences stalled commit, summed over all cores.
    pub fence_stall_ns: f64,
}

/// Figures of the encryption.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct Crypto {
    /// Number of pads made.
    pub pads: u64,
    /// Time that AES circuits spent on pads, summed over all circuits.
    pub aes_busy_ns: f64,
}

/// Figures of MACs and the integrity tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Integrity")]
pub struct IntegrityReport {
    /// Lookups that found a line of MACs or a tree node in its cache.
    pub hits: u64,
    /// Lookups that did not find it, and fetched it.
    pub misses: u64,
    /// Lookups that did not find it because it was already being fetched.
    pub secondary_misses: u64,
    /// Hits over lookups; null without lookups.
    pub hit_rate: Option<f64>,
    /// MACs of data lines computed and checked.
    pub macs: u64,
    /// Counter blocks and nodes hashed, to update the tree and to check it.
    pub hashes: u64,
    /// Queued lines of MACs and nodes that newer ones have replaced.
    pub writes_coalesced: u64,
    /// Checks that failed: none, because nobody tampers with memory in a run.
    pub alarms: u64,
}

/// Cost of a power failure after the last transaction, when nothing is in flight and before the contents of the queues
/// are written out. Nulls for designs whose caches do not survive.
#[derive(Clone, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct AtCrash {
    /// Share of the data slots of all caches that hold dirty lines.
    pub dirty_fraction: Option<f64>,
    /// Share of the lines in the caches of which a copy is dirty; a line in several levels counts once. Null where the
    /// caches hold no line.
    pub dirty_lines_fraction: Option<f64>,
    /// Energy of draining what is dirty, in mJ, with the machine's constants.
    pub drain_energy_mj: Option<f64>,
    /// Energy of the drain if everything were dirty, in mJ (sepencr Table III).
    pub drain_energy_all_dirty_mj: Option<f64>,
    /// Time to restore this crash's dirty lines at boot on the simulated device; null without a shadow cache.
    pub recovery_time_ns: Option<f64>,
    /// Time to read a full shadow cache by the paper's formula (sepencr section V-D); null without a shadow cache.
    pub recovery_time_paper_ns: Option<f64>,
    /// The parts of the energy: `l1`, `l2`, `l3`; `counter-cache` if there is one; `encryption` if lines are encrypted
    /// on battery. Empty if the other values are null.
    pub parts: Vec<DrainPart>,
}

/// One part of the energy of a drain.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct DrainPart {
    /// The cache that is drained, or the operation on drained lines.
    pub name: &'static str,
    /// Bytes of the part if everything were dirty.
    pub bytes: u64,
    /// Dirty bytes of the part.
    pub dirty_bytes: u64,
    /// Energy for the dirty bytes, in mJ.
    pub energy_mj: f64,
    /// Energy if everything were dirty, in mJ.
    pub energy_all_dirty_mj: f64,
}

/// `count` per second; `None` if no time has passed.
pub(crate) fn per_second(count: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| count as f64 / seconds)
}

/// What the simulation cost the host. Only this part differs between two runs of one configuration.
#[derive(Clone, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct Host {
    /// Wall-clock seconds of the simulation, without populating.
    pub seconds: f64,
    /// Simulated instructions per host second.
    pub instructions_per_second: Option<f64>,
    /// Device requests per host second.
    pub memory_requests_per_second: Option<f64>,
    /// Peak resident memory of the process, if the host reports it.
    pub peak_rss_bytes: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank() {
        let mut durations: Vec<u64> = (1..=100).rev().map(|n| n * 1_000).collect();
        let latency = Latency::of(&mut durations);
        let [mean, p50, p90, p99, max] = [50.5, 50.0, 90.0, 99.0, 100.0].map(Some);
        assert_eq!(latency, Latency { mean, p50, p90, p99, p999: max, max });
        assert_eq!(Latency::of(&mut []), Latency::default());
        assert_eq!(Latency::of(&mut [5_000]).p99, Some(5.0));
    }
}

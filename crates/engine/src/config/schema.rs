//! The schema of a machine: every value a user can set, with its unit. Presets (one per paper table) and
//! `--set path.to.key=value` fill it in; `fields` says what each value may be, `bounds` what must hold of all of them.

use super::integrity::Integrity;
use super::program::Program;
use super::size::ByteSize;
use serde::{Deserialize, Serialize};

/// A machine: one paper's table plus named decisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Name of the preset, or of the file it came from.
    pub name: String,
    /// Where its values come from (paper and table).
    pub source: String,
    /// What the engine computes beside times.
    pub engine: Engine,
    /// What the programs do beside their data structure.
    pub program: Program,
    /// Each core.
    pub core: Core,
    /// First-level data cache, one per core.
    pub l1: CacheLevel,
    /// Second-level cache.
    pub l2: CacheLevel,
    /// Third-level cache.
    pub l3: CacheLevel,
    /// The memory controller.
    pub controller: Controller,
    /// Encryption counters.
    pub counters: Counters,
    /// MACs and the integrity tree.
    pub integrity: Integrity,
    /// The undo log that hardware writes.
    pub log: Log,
    /// Caches in the persistence domain (eADR).
    pub eadr: Eadr,
    /// The non-volatile device.
    pub device: Device,
}

/// What the engine computes beside times; no value here changes a simulated time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// Move and encrypt real bytes. If off, only times are simulated, with the same event digest.
    pub bytes: bool,
    /// Compare the value of every load with the value that the program expects.
    pub check_loads: bool,
}

/// An out-of-order core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// Clock in MHz.
    pub clock_mhz: u32,
    /// Instructions dispatched and committed per cycle.
    pub width: u32,
    /// Reorder buffer, in instructions.
    pub rob_entries: u32,
    /// Load queue, in loads.
    pub load_queue_entries: u32,
    /// Store queue and store buffer together, in stores and flushes.
    pub store_queue_entries: u32,
    /// Write-combining buffers of 64 bytes for non-temporal stores.
    pub write_combining_buffers: u32,
    /// Whether flushes of a core overlap. Decision.
    pub flush_overlap: FlushOverlap,
}

/// Whether flushes of a core overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlushOverlap {
    /// A flush is sent when its turn in the store buffer has come.
    Overlapped,
    /// A flush, and with it everything behind it in the store buffer, waits until every earlier flush of the core is
    /// acknowledged, as gem5's X86 O3 core sends them.
    OneAtATime,
}

/// One cache level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheLevel {
    /// Capacity of one cache of the level.
    pub size: ByteSize,
    /// Whether a shared cache has this capacity for each core.
    pub size_per_core: bool,
    /// Associativity.
    pub ways: u32,
    /// Access latency in core cycles, added to that of the levels above.
    pub latency_cycles: u32,
    /// Outstanding misses per cache.
    pub mshrs: u32,
    /// One cache for all cores instead of one for each core. The first level is always private.
    pub shared: bool,
}

/// The memory controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// Counter cache capacity.
    pub counter_cache_size: ByteSize,
    /// Whether the counter cache has this capacity for each core.
    pub counter_cache_size_per_core: bool,
    /// Counter cache associativity.
    pub counter_cache_ways: u32,
    /// Counter cache latency in core cycles.
    pub counter_cache_latency_cycles: u32,
    /// Write pending queue entries (64-byte lines): data and counters together, or data alone in designs with a
    /// counter write queue. The watermarks do not change with it; docs/machine-files.md says what to set with it.
    pub wpq_entries: u32,
    /// Draining begins when this many entries are queued. Decision, swept.
    pub wpq_high_watermark: u32,
    /// Draining ends when this many entries are left. Decision, swept.
    pub wpq_low_watermark: u32,
    /// What is read and written next, and when writes enter. Decision, swept.
    pub policy: SchedulingPolicy,
    /// Whether `continuous` issues a write below the high watermark, to a bank that no read waits for. If off, writes
    /// leave only while draining. Decision, swept.
    pub wpq_issue_when_idle: bool,
    /// Least writes that `gem5` issues before it turns to reads again (its `min_writes_per_switch`).
    pub min_writes_per_switch: u32,
    /// How often in succession an open row may serve requests while one for another row of the bank waits (NVMain's
    /// `StarvationThreshold`, DRAMSim2's `TOTAL_ROW_ACCESSES`). Decision.
    pub row_hit_limit: u32,
    /// Whether counter blocks, too, go before older entries of their bank if their row is open. Decision.
    pub counters_overtake: bool,
    /// When the caches are told that a write is done. Decision.
    pub write_acknowledged: WriteAcknowledged,
    /// Time from the end of an access on the bus until the answer is there, in ns (NVMain's `OffChipLatency`, gem5's
    /// static latencies). Decision.
    pub answer_latency_ns: f64,
    /// Counter write queue entries, in designs that have one.
    pub counter_wpq_entries: u32,
    /// Draining of the counter write queue begins when this many entries are queued. Decision, swept.
    pub counter_wpq_high_watermark: u32,
    /// Draining of the counter write queue ends when this many entries are left. Decision, swept.
    pub counter_wpq_low_watermark: u32,
    /// Whether a counter block that enters the counter write queue replaces an older block of the same address that is
    /// ready and not issued. Decision, swept.
    pub counter_wpq_merging: bool,
    /// Most reads that the controller keeps in flight.
    pub read_queue_entries: u32,
    /// Encryption circuits. Each has one line in flight and one staging register. Decision.
    pub aes_units: u32,
    /// Decryption circuits for reads. Each has one pad in flight. Decision.
    pub aes_read_units: u32,
    /// Whether a circuit is pipelined by AES rounds: it takes the next line when the one before has left its first round,
    /// after `aes_latency_ns` divided by the rounds of the key length. Decision.
    pub aes_pipelined: bool,
    /// How long a write keeps its encryption circuit. Decision.
    pub aes_hold: AesHold,
    /// Latency of one pad (or of one decryption) in nanoseconds.
    pub aes_latency_ns: f64,
    /// Key length in bits: 128 or 256.
    pub aes_key_bits: u32,
    /// Where counter blocks are stored.
    pub counter_placement: CounterPlacement,
    /// Whether counter-atomic writes of a core overlap (counter-atomicity sections 3.2.2 and 4.1). Decision.
    pub counter_atomic_order: CounterAtomicOrder,
    /// Most lines of a page under re-encryption in flight at once. Decision.
    pub reencryption_parallelism: u32,
}

/// What is read and written next, and when writes enter the write pending queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SchedulingPolicy {
    /// Each bank works whenever it can. Writes enter at any time and leave while the queue drains, or whenever no read
    /// waits for their bank.
    Continuous,
    /// NVMain's `FRFCFS-WQF`: writes leave only while the queue drains, and none enters meanwhile.
    NvmainFrfcfsWqf,
    /// NVMain's `FRFCFS`: one queue for reads and writes.
    NvmainFrfcfs,
    /// gem5's `MemCtrl`: reads or writes at a time, switched by thresholds; writes of a line merge in the queue.
    Gem5,
    /// DRAMSim2: one queue for reads and writes, in which each bank serves its open row first.
    Dramsim2,
}

/// When the caches are told that a write is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteAcknowledged {
    /// When it is in the write pending queue, which is in the persistence domain (ADR).
    Queued,
    /// When the device has programmed it.
    Written,
}

/// How long a write keeps its encryption circuit. The line stays in a staging register until it is admitted to the write
/// pending queue in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AesHold {
    /// Until the line is admitted: each circuit has one staging register (secpm section 3.3.2).
    UntilAdmitted,
    /// Until the line is encrypted: there is a staging register for every write that waits.
    UntilEncrypted,
}

/// Whether counter-atomic writes of a core, whose data and counters have separate queues, overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CounterAtomicOrder {
    /// They overlap; only fences order them.
    Overlapped,
    /// Each "blocks dependent writes until both the data and counter write accesses are complete" (section 4.1): the
    /// flushes of a core go one after another, as in Figure 8a.
    Serialised,
}

/// Where the counter block of a page is stored (model.md section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CounterPlacement {
    /// In a reserved part at the top of the page's own bank.
    SameBank,
    /// In the reserved part of bank 0.
    SingleBank,
    /// In the reserved part of the bank that is half the number of banks away.
    CrossBank,
    /// In a contiguous region after the data, with the ordinary address mapping.
    Interleaved,
}

/// The undo log of designs whose hardware writes one (easy-pm section III).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// Concurrent transactions: sets of log metadata registers (easy-pm section III-D: 32).
    pub transactions: u32,
    /// Buckets of the log region. Decision: 256, which is what the registers of a transaction can name.
    pub buckets: u32,
    /// Records in a bucket. Decision: 16.
    pub bucket_records: u32,
    /// Logged lines of one transaction that the controller holds before they have persisted. Another line waits, and
    /// its store waits with it. Decision: 7, one record.
    pub pending_entries: u32,
    /// Latency of encrypting a line in cipher feedback mode. Decision.
    pub cfb_latency: CfbLatency,
    /// When a bucket gets initial vectors. The paper does not say: decision `per-allocation`. The other value exists so
    /// that the auditors can test it.
    pub iv: LogIv,
}

/// How long the encryption of a line takes in cipher feedback mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CfbLatency {
    /// Four times `controller.aes_latency_ns`: each block needs the ciphertext of the block before.
    Serial,
    /// Once `controller.aes_latency_ns`, as easy-pm's Table I has for every encryption.
    Paper,
}

/// When a bucket's initial vectors are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogIv {
    /// Each time a transaction gets the bucket.
    PerAllocation,
    /// Once, when the bucket is first used.
    PerBucket,
}

/// Caches in the persistence domain (eADR), and what a battery supports after power loss (sepencr sections II-D and
/// IV).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Eadr {
    /// What the battery supports after power is lost (sepencr Table I).
    pub battery: BatterySupply,
    /// How many levels, from the first, encrypt and decrypt at every access with `eadr-cme`. Decision: 3, all levels.
    pub cme_levels: u32,
    /// Extra core cycles of an access for the exclusive-or with a cache pad. Decision: 1 ("less than 1 cycle").
    pub xor_cycles: u32,
    /// Energy of moving a byte from the first level to the memory, in nJ (sepencr section V-C).
    pub l1_drain_nj_per_byte: f64,
    /// Energy of moving a byte from the second level to the memory, in nJ (sepencr section V-C).
    pub l2_drain_nj_per_byte: f64,
    /// Energy of moving a byte from the third level to the memory, in nJ (sepencr section V-C).
    pub l3_drain_nj_per_byte: f64,
    /// Energy of moving a byte from the memory controller (its counter cache) to the memory, in nJ (sepencr section
    /// V-C).
    pub controller_drain_nj_per_byte: f64,
    /// Energy of making one byte of a pad, in pJ.
    pub aes_pj_per_byte: f64,
    /// Energy of the exclusive-or of one byte, in fJ. The paper's section V-C says 800, its section IV-C 100; Table III
    /// uses 800.
    pub xor_fj_per_byte: f64,
    /// Time to read a line of the shadow cache during recovery, by the paper's formula, in ns (sepencr section V-D).
    pub recovery_ns_per_line: f64,
}

/// What the battery of the persistence domain supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BatterySupply {
    /// What the design needs and no more: each design has the battery that it was designed for.
    AsNeeded,
    /// Writes only.
    WriteOnly,
    /// Writes and computation.
    WriteComputeOrder,
    /// Writes, computation and reads.
    AllOperation,
}

/// Encryption counters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// Counters of the designs that have none of their own (`write-back`, `ideal`): those of the machine's paper.
    pub organisation: CounterOrganisation,
    /// Width of a split counter's minor, 1 to 7 bits (secpm section 3.4.1: 7).
    pub minor_bits: u32,
    /// Whether page re-encryption reads and rewrites lines of the page that were never written. If it does not, every
    /// line has a valid flag on the media, which shows such lines to re-encryption and to a boot; else a boot knows them by
    /// the counter 0. Decision: true, no paper has such flags.
    pub reencrypt_unwritten: bool,
    /// What happens to the global counter's register at power loss. The paper does not say: decision `adr`. The other
    /// values exist so that the auditors can test them.
    pub global_register: GlobalRegister,
}

/// How counters are organised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CounterOrganisation {
    /// A major counter per page and a minor per line (secpm section 3.4.1).
    Split,
    /// A global counter: 8 bytes for each line, eight lines per block (counter-atomicity section 5.2.1).
    Global,
    /// A counter of 8 bytes per line that counts the line's own writes, eight lines per block (easy-pm section II-B).
    PerLine,
}

/// What happens to the global counter's register at power loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GlobalRegister {
    /// Drained on battery and loaded at boot.
    Adr,
    /// Lost: counting starts again from the beginning.
    Volatile,
    /// Lost, and set to the largest counter found on the media at boot.
    MaxScan,
}

/// The non-volatile device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Capacity in bytes, including counters.
    pub capacity: ByteSize,
    /// Channels, each with its own bus.
    pub channels: u32,
    /// Ranks per channel.
    pub ranks: u32,
    /// Banks per rank.
    pub banks_per_rank: u32,
    /// Bytes in a row of one bank. Decision: 4 KiB; a page is in one row of one bank unless lines are interleaved.
    pub row: ByteSize,
    /// Parts of a row, of which the row buffer holds one: another part of the open row is a row miss (NVMain: `COLS` /
    /// `RBSize`).
    pub row_segments: u32,
    /// How pages are spread over banks.
    pub mapping: AddressMapping,
    /// Interface clock in MHz; no timing is shorter than the cycles this gives.
    pub interface_mhz: u32,
    /// Interface cycles that one 64-byte burst occupies the bus.
    pub burst_cycles: u32,
    /// Activate to read or write, in ns.
    pub t_rcd_ns: f64,
    /// Read command to first data, in ns.
    pub t_cl_ns: f64,
    /// Write command to first data, in ns.
    pub t_cwd_ns: f64,
    /// Least time between two column commands of a rank, in ns; at least a burst.
    pub t_ccd_ns: f64,
    /// Read command to precharge, in ns, beyond the burst less tCCD.
    pub t_rtp_ns: f64,
    /// Precharge to activate of the same bank, in ns.
    pub t_rp_ns: f64,
    /// Least time between two activates of a rank, in ns.
    pub t_rrd_ns: f64,
    /// Window in which a rank takes at most four activates, in ns.
    pub t_faw_ns: f64,
    /// End of write data to the next read command in the rank, in ns.
    pub t_wtr_ns: f64,
    /// Least time between bursts of different ranks or directions on a bus, in ns.
    pub t_rtrs_ns: f64,
    /// End of write data until the bank takes another command, in ns (NVMain's `tWP`).
    pub t_wp_ns: f64,
    /// Write recovery, in ns: from there on until the row may be closed, or the bank takes another command.
    pub t_wr_ns: f64,
    /// What waits for tWR. Decision.
    pub write_recovery: WriteRecovery,
    /// Energy of reading one bit of the array into the row buffer, in pJ.
    pub array_read_pj_per_bit: f64,
    /// Energy of writing one bit to the array, in pJ.
    pub array_write_pj_per_bit: f64,
    /// Energy of moving one bit between row buffer and bus, in pJ.
    pub row_buffer_pj_per_bit: f64,
    /// Background power of the whole device, in mW.
    pub background_mw: f64,
}

impl Device {
    /// The period of the interface clock in picoseconds, rounded to the nearest: 533 MHz is 1,876 ps.
    pub fn interface_cycle_ps(&self) -> u64 {
        let mhz = u64::from(self.interface_mhz);
        (1_000_000 + mhz / 2) / mhz
    }
}

/// What waits for tWR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteRecovery {
    /// The bank: it is busy until tWR after every write.
    EachWrite,
    /// The next row: writes to the open row follow one another in the row buffer, and another row is activated tWR
    /// after the last of them (DDR3's write recovery before a precharge, as in gem5).
    RowClose,
}

/// How pages are spread over banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AddressMapping {
    /// Consecutive pages in consecutive banks.
    PageInterleaved,
    /// Consecutive rows in consecutive banks (NVMain's `R:RK:BK:CH:C`, gem5's `RoRaBaCoCh`).
    RowInterleaved,
    /// Consecutive lines in consecutive banks (DRAMSim2's scheme 2, row:column:bank).
    LineInterleaved,
    /// Consecutive pages in consecutive banks, with the bank number exclusive-ored with the low row bits
    /// (permutation-based interleaving).
    PageXor,
    /// Each bank holds one contiguous range of pages.
    BankContiguous,
}

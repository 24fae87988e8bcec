//! The schema of a machine: every value a user can set, with its unit, its bounds and their reason, stated here and nowhere else.
//! Presets (one per paper table) and `--set path.to.key=value` fill it in; `fields` checks single values, `bounds` what must hold of
//! all of them, and `make contract` publishes it.

use super::core::Core;
use super::device::Device;
use super::dram::Dram;
use super::fields::{AES_UNITS, CACHE_SIZE, DRAIN_ENERGY, GIB, LATENCY, MSHRS, QUEUE, TIMING, WAYS};
use super::integrity::Integrity;
use super::link::Link;
use super::module::Module;
use super::program::Program;
use super::size::ByteSize;
use super::wear::Wear;
use crate::message::{LINE_BYTES, PAGE_BYTES};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

/// A machine: one paper's table plus named decisions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    #[schemars(transform = first_level)]
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
    /// What the device has beyond that, if it is DRAM.
    pub dram: Dram,
    /// The modules of the device, if it has any.
    pub module: Module,
    /// What is between the controller and those modules.
    pub link: Link,
    /// How the device wears out.
    pub wear: Wear,
}

/// Every access begins there, and takes time.
fn first_level(schema: &mut Schema) {
    schema.ensure_object()["properties"]["latency_cycles"]["minimum"] = 1.into();
}

/// What the engine computes beside times; no value here changes a simulated time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// Move and encrypt real bytes. If off, only times are simulated, with the same event digest.
    pub bytes: bool,
    /// Compare the value of every load with the value that the program expects.
    pub check_loads: bool,
}

/// One cache level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheLevel {
    /// Capacity of one cache of the level.
    #[schemars(range(min = 64, max = GIB), extend("multipleOf" = 64, "x-because" = CACHE_SIZE))]
    pub size: ByteSize,
    /// Whether a shared cache has this capacity for each core.
    pub size_per_core: bool,
    /// Associativity.
    #[schemars(range(min = 1, max = 256), extend("x-because" = WAYS))]
    pub ways: u32,
    /// Access latency in core cycles, added to that of the levels above.
    #[schemars(range(min = 0, max = 10_000), extend("x-because" = LATENCY))]
    pub latency_cycles: u32,
    /// Outstanding misses per cache.
    #[schemars(range(min = 1, max = 1_024), extend("x-because" = MSHRS))]
    pub mshrs: u32,
    /// One cache for all cores instead of one for each core. The first level is always private.
    pub shared: bool,
}

/// The memory controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Controller {
    /// Counter cache capacity.
    #[schemars(range(min = 64, max = GIB), extend("multipleOf" = 64, "x-because" = CACHE_SIZE))]
    pub counter_cache_size: ByteSize,
    /// Whether the counter cache has this capacity for each core.
    pub counter_cache_size_per_core: bool,
    /// Counter cache associativity.
    #[schemars(range(min = 1, max = 256), extend("x-because" = WAYS))]
    pub counter_cache_ways: u32,
    /// Counter cache latency in core cycles.
    #[schemars(range(min = 1, max = 10_000), extend("x-because" = LATENCY))]
    pub counter_cache_latency_cycles: u32,
    /// Write pending queue entries (64-byte lines): data and counters together, or data alone in designs with a
    /// counter write queue. The watermarks do not change with it.
    #[schemars(range(min = 2, max = 4_096), extend(
        "x-because" = "a line and its counter block are appended together and take two entries"))]
    pub wpq_entries: u32,
    /// Draining begins when this many entries are queued. Decision, swept.
    #[schemars(range(min = 1, max = 4_096), extend("x-because" = "draining begins with an entry to drain"))]
    pub wpq_high_watermark: u32,
    /// Draining ends when this many entries are left. Decision, swept.
    #[schemars(range(min = 0, max = 4_095), extend("x-because" = "draining ends below the high watermark"))]
    pub wpq_low_watermark: u32,
    /// What is read and written next, and when writes enter. Decision, swept.
    pub policy: SchedulingPolicy,
    /// Whether `continuous` issues a write below the high watermark, to a bank that no read waits for. If off, writes
    /// leave only while draining. Decision, swept.
    pub wpq_issue_when_idle: bool,
    /// Least reads that `gem5` issues before writes that have reached the high watermark turn it, while other reads wait (its
    /// `min_reads_per_switch`, which versions before 24 have not).
    #[schemars(range(min = 0, max = 4_096), extend("x-because" = "it may turn at once, or let so many go first"))]
    pub min_reads_per_switch: u32,
    /// Least writes that `gem5` issues before it turns to reads again (its `min_writes_per_switch`).
    #[schemars(range(min = 1, max = 4_096), extend("x-because" = "the bus turns to writes for at least one of them"))]
    pub min_writes_per_switch: u32,
    /// How often in succession an open row may serve requests while one for another row of the bank waits (NVMain's
    /// `StarvationThreshold`, DRAMSim2's `TOTAL_ROW_ACCESSES`). Decision.
    #[schemars(range(min = 1, max = 1_000_000), extend(
        "x-because" = "an open row serves a request before it is closed"))]
    pub row_hit_limit: u32,
    /// Whether counter blocks, too, go before older entries of their bank if their row is open. Decision.
    pub counters_overtake: bool,
    /// When the caches are told that a write is done. Decision.
    pub write_acknowledged: WriteAcknowledged,
    /// Time from the end of an access on the bus until the answer is there, in ns (NVMain's `OffChipLatency`, gem5's
    /// static latencies). Decision.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub answer_latency_ns: f64,
    /// Counter write queue entries, in designs that have one.
    #[schemars(range(min = 1, max = 4_096), extend("x-because" = QUEUE))]
    pub counter_wpq_entries: u32,
    /// Draining of the counter write queue begins when this many entries are queued. Decision, swept.
    #[schemars(range(min = 1, max = 4_096), extend("x-because" = "draining begins with an entry to drain"))]
    pub counter_wpq_high_watermark: u32,
    /// Draining of the counter write queue ends when this many entries are left. Decision, swept.
    #[schemars(range(min = 0, max = 4_095), extend("x-because" = "draining ends below the high watermark"))]
    pub counter_wpq_low_watermark: u32,
    /// Whether a counter block that enters the counter write queue replaces an older block of the same address that is
    /// ready and not issued. Decision, swept.
    pub counter_wpq_merging: bool,
    /// What the write of a counter block moves (counter-atomicity sections 3.2.1 and 6.3.3). Decision.
    pub counter_write: CounterWrite,
    /// Most reads that the controller keeps in flight.
    #[schemars(range(min = 1, max = 4_096), extend("x-because" = QUEUE))]
    pub read_queue_entries: u32,
    /// Encryption circuits. Each has one line in flight and one staging register. Decision.
    #[schemars(range(min = 1, max = 256), extend("x-because" = AES_UNITS))]
    pub aes_units: u32,
    /// Decryption circuits for reads, if they do not share those of writes. Each has one pad in flight. Decision.
    #[schemars(range(min = 1, max = 256), extend("x-because" = AES_UNITS))]
    pub aes_read_units: u32,
    /// Which circuits make the pads of reads. Decision.
    pub aes_reads: AesReads,
    /// What a circuit makes in one `aes_latency_ns`. A line is four blocks of AES. Decision.
    pub aes_occupancy: AesOccupancy,
    /// Whether a circuit is pipelined by AES rounds: it takes the next line, or block, when the one before has left its first
    /// round, after `aes_latency_ns` divided by the rounds of the key length. Decision.
    pub aes_pipelined: bool,
    /// How long a write keeps its encryption circuit. Decision.
    pub aes_hold: AesHold,
    /// Latency of one pad (or of one decryption), or, with `aes_occupancy = "block"`, of one block of it, in nanoseconds.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub aes_latency_ns: f64,
    /// Key length in bits.
    #[schemars(extend("enum" = [128, 256], "x-because" = "the engine has AES-128 and AES-256"))]
    pub aes_key_bits: u32,
    /// Where counter blocks are stored.
    pub counter_placement: CounterPlacement,
    /// Whether counter-atomic writes overlap (counter-atomicity sections 3.2.2 and 4.1). Decision.
    pub counter_atomic_order: CounterAtomicOrder,
    /// Most lines of a page under re-encryption in flight at once. Decision.
    #[schemars(range(min = 1, max = 64), extend("x-because" = "a page has 64 lines"))]
    pub reencryption_parallelism: u32,
}

/// What is read and written next, and when writes enter the write pending queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Ramulator 2's `GenericDDR`: commands of DRAM, the oldest that may be sent; writes leave while the queue drains, and
    /// while no read waits.
    Ramulator2,
    /// DRAMSim2: one queue for reads and writes, in which each bank serves its open row first.
    Dramsim2,
}

/// What the write of a counter block moves over the bus and programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CounterWrite {
    /// All 64 bytes.
    Line,
    /// The 8-byte counters that differ from the copy that the media hold or that goes before it. Other counters share
    /// bytes of their block, which is written as with `line`.
    Counter,
}

/// When the caches are told that a write is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteAcknowledged {
    /// When it is in the write pending queue, which is in the persistence domain (ADR).
    Queued,
    /// When the device has programmed it.
    Written,
}

/// How long a write keeps its encryption circuit. The line stays in a staging register until it is admitted to the write
/// pending queue in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AesHold {
    /// Until the line is admitted: each circuit has one staging register (secpm section 3.3.2).
    UntilAdmitted,
    /// Until the line is encrypted: there is a staging register for every write that waits.
    UntilEncrypted,
}

/// Which circuits make the pads of reads. The papers have "the encryption engine" (counter-atomicity section 5.2.1), and do
/// not say whether reads and writes wait for each other in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AesReads {
    /// Circuits of their own, `aes_read_units`.
    Own,
    /// The `aes_units` circuits of writes, first come, first served: a read comes when its counter is known, and keeps the
    /// circuit while that makes its pad.
    Shared,
}

/// What a circuit makes in one latency. The papers give a latency (counter-atomicity section 7: 40 ns) and do not say whether
/// it is that of a line or of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AesOccupancy {
    /// The pad of a line: four blocks side by side.
    Line,
    /// A block of 16 bytes: a line takes four latencies, or, in a pipelined circuit, one latency and three rounds.
    Block,
}

/// Whether counter-atomic writes, whose data and counters have separate queues, overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CounterAtomicOrder {
    /// They overlap; only fences order them.
    Overlapped,
    /// Each "blocks dependent writes until both the data and counter write accesses are complete" (section 4.1): the
    /// flushes of a core go one after another, as in Figure 8a.
    PerCore,
    /// The flushes of all cores go one after another: full counter-atomicity "can potentially serialize all write accesses"
    /// (section 3.2.2).
    Global,
}

/// Where the counter block of a page is stored (model.md section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// Concurrent transactions: sets of log metadata registers (easy-pm section III-D: 32).
    #[schemars(range(min = 1, max = 32), extend(
        "x-because" = "the controller has registers for 32 concurrent transactions"))]
    pub transactions: u32,
    /// Buckets of the log region, at the end of the data in every design. Decision: 256, which is what the registers of a
    /// transaction can name.
    #[schemars(range(min = 1, max = 65_536), extend(
        "x-because" = "a transaction needs a bucket, and free ones are kept in a list"))]
    pub buckets: u32,
    /// Records of seven lines in a bucket. Decision: 16.
    #[schemars(range(min = 1, max = 256), extend(
        "x-because" = "a bucket holds at least one record, and a recovery reads all of them"))]
    pub bucket_records: u32,
    /// Logged lines of one transaction that the controller holds before they have persisted. Another line waits, and
    /// its store waits with it. Decision: 7, one record.
    #[schemars(range(min = 1, max = 256), extend("x-because" = QUEUE))]
    pub pending_entries: u32,
    /// Latency of encrypting a line in cipher feedback mode. Decision.
    pub cfb_latency: CfbLatency,
    /// When a bucket gets initial vectors. The paper does not say: decision `per-allocation`. The other value exists so
    /// that the auditors can test it.
    pub iv: LogIv,
}

/// How long the encryption of a line takes in cipher feedback mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CfbLatency {
    /// Four times `controller.aes_latency_ns`: each block needs the ciphertext of the block before.
    Serial,
    /// Once `controller.aes_latency_ns`, as easy-pm's Table I has for every encryption.
    Paper,
}

/// When a bucket's initial vectors are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LogIv {
    /// Each time a transaction gets the bucket.
    PerAllocation,
    /// Once, when the bucket is first used.
    PerBucket,
}

/// Caches in the persistence domain (eADR), and what a battery supports after power loss (sepencr sections II-D and
/// IV).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Eadr {
    /// What the battery supports after power is lost (sepencr Table I). A design that needs more is refused.
    pub battery: BatterySupply,
    /// How many levels, from the first, encrypt and decrypt at every access with `eadr-cme`. Decision: 3, all levels.
    #[schemars(range(min = 1, max = 3), extend(
        "x-because" = "there are three levels, and the first one is where the core reads"))]
    pub cme_levels: u32,
    /// Extra core cycles of an access for the exclusive-or with a cache pad. Decision: 1 ("less than 1 cycle").
    #[schemars(range(min = 0, max = 10_000), extend("x-because" = LATENCY))]
    pub xor_cycles: u32,
    /// Entries of a core's persist buffer, each with a line.
    #[schemars(range(min = 2, max = 4_096), extend("x-because" = "one line is on its way to memory while a store takes an entry"))]
    pub persist_buffer_entries: u32,
    /// The most lines of a core's persist buffer that are not on their way to memory; below `persist_buffer_entries`.
    #[schemars(range(min = 1, max = 4_095), extend("x-because" = "one line is on its way to memory while a store takes an entry"))]
    pub persist_buffer_watermark: u32,
    /// Energy of moving a byte from the first level to the memory, in nJ (sepencr section V-C).
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = DRAIN_ENERGY))]
    pub l1_drain_nj_per_byte: f64,
    /// Energy of moving a byte from the second level to the memory, in nJ (sepencr section V-C).
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = DRAIN_ENERGY))]
    pub l2_drain_nj_per_byte: f64,
    /// Energy of moving a byte from the third level to the memory, in nJ (sepencr section V-C).
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = DRAIN_ENERGY))]
    pub l3_drain_nj_per_byte: f64,
    /// Energy of moving a byte from the memory controller (its counter cache) to the memory, in nJ (sepencr section
    /// V-C).
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = DRAIN_ENERGY))]
    pub controller_drain_nj_per_byte: f64,
    /// Energy of making one byte of a pad, in pJ.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = DRAIN_ENERGY))]
    pub aes_pj_per_byte: f64,
    /// Energy of the exclusive-or of one byte, in fJ. The paper's section V-C says 800, its section IV-C 100; Table III
    /// uses 800.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = DRAIN_ENERGY))]
    pub xor_fj_per_byte: f64,
    /// Time to read a line of the shadow cache during recovery, by the paper's formula, in ns (sepencr section V-D).
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub recovery_ns_per_line: f64,
}

/// What the battery of the persistence domain supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Counters {
    /// Counters of the designs that have none of their own (`write-back`, `ideal`): those of the machine's paper.
    pub organisation: CounterOrganisation,
    /// Lines that share a split counter block, and are re-encrypted together when a minor of it overflows (secpm section
    /// 3.4.1: the 64 of a page).
    #[schemars(extend("enum" = [16, 32, 64, 128], "x-because" = "each line has a done bit in a register of 128"))]
    pub block_lines: u32,
    /// Width of a split counter's minor in bits (secpm section 3.4.1: 7). `block_lines` minors have 448 bits.
    #[schemars(range(min = 1, max = 14), extend(
        "x-because" = "the input of a pad has 14 bits for a minor"))]
    pub minor_bits: u32,
    /// Whether page re-encryption reads and rewrites lines of the page that were never written. If it does not, every
    /// line has a valid flag on the media, which shows such lines to re-encryption and to a boot; else a boot knows them by
    /// the counter 0. Decision: true, no paper has such flags.
    pub reencrypt_unwritten: bool,
    /// Writes of a line in an epoch, for designs that encrypt only modified words anew (DEUCE: 32).
    #[schemars(extend("enum" = [8, 16, 32, 64, 128],
        "x-because" = "an epoch begins when the lowest bits of the line's counter are zero"))]
    pub epoch_writes: u32,
    /// Bytes of a word, for designs that encrypt only modified words anew (DEUCE: 2).
    #[schemars(extend("enum" = [1, 2, 4, 8], "x-because" = "a line has whole words, each with a bit beside it"))]
    pub word_bytes: u32,
    /// What happens to the global counter's register at power loss. The paper does not say: decision `adr`. The other
    /// values exist so that the auditors can test them.
    pub global_register: GlobalRegister,
}

impl Counters {
    /// Bits of a counter block that its major leaves to its minors.
    pub const MINORS_BITS: u32 = 512 - 64;
    /// Bits of the widest minor.
    const MINOR_BITS_MAX: u32 = 14;

    /// Bytes of the lines of a block, a page at least: regions of memory with lines of different kinds are multiples.
    pub fn block_bytes(&self) -> u64 {
        (u64::from(self.block_lines) * LINE_BYTES).max(PAGE_BYTES)
    }

    /// Bits of the widest minors that a block has room for.
    pub fn minor_bits_max(&self) -> u32 {
        (Self::MINORS_BITS / self.block_lines).min(Self::MINOR_BITS_MAX)
    }
}

/// How counters are organised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CounterOrganisation {
    /// A major counter per block, as published that of a page, and a minor per line (secpm section 3.4.1).
    Split,
    /// A global counter: 8 bytes for each line, eight lines per block (counter-atomicity section 5.2.1).
    Global,
    /// A counter of 8 bytes per line that counts the line's own writes, eight lines per block (easy-pm section II-B).
    PerLine,
}

/// What happens to the global counter's register at power loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GlobalRegister {
    /// Drained on battery and loaded at boot.
    Adr,
    /// Lost: counting starts again from the beginning.
    Volatile,
    /// Lost, and set to the largest counter found on the media at boot.
    MaxScan,
}

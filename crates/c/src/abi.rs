//! The types and constants of `counterpoint.h`, which a test writes from here and from `calls/` (`cbindgen.toml` has their names).

use std::ffi::{c_char, c_int, c_void};

/// Bytes in a line.
pub const LINE_BYTES: usize = 64;
/// The end of time: 2^62 ps, 53 days.
pub const TIME_MAX: u64 = 4_611_686_018_427_387_904_u64;
/// counterpoint_next_event_time: no event follows unless another request is sent.
pub const NEVER: u64 = u64::MAX;
/// Requestors have numbers below this.
pub const REQUESTORS_MAX: u32 = 1024;
/// Classes of a histogram.
pub const CLASSES: usize = 64;

/// Functions return this, or one of the errors below.
pub const OK: c_int = 0;
/// A value is invalid: a null pointer, an address that is misaligned or beyond memory, a time in the past.
pub const ERROR_ARGUMENT: c_int = -1;
/// The queue is full: advance and send again.
pub const ERROR_FULL: c_int = -2;
/// Not possible in this state, or with this design or machine.
pub const ERROR_STATE: c_int = -3;
/// A bug of the library.
pub const ERROR_INTERNAL: c_int = -4;

/// A kind of request: a read.
pub const READ: u32 = 0;
/// A kind of request: a write.
pub const WRITE: u32 = 1;
/// A kind of request: a counter write-back.
pub const COUNTER_WRITEBACK: u32 = 2;

/// A flag of a write. The line holds a CounterAtomic variable: line and counter persist together, if the design leaves the choice
/// (sca, sca-tree). Other designs ignore the flag.
pub const COUNTER_ATOMIC: u32 = 1;

/// A flag of an answer. A read of a line that a power failure has damaged: it holds neither the last acknowledged bytes nor those
/// of a later write, but older bytes or garbage. A write or store of the whole line ends that.
pub const DAMAGED: u32 = 1;

const _: () = {
    use counterpoint_engine::embed::{self, Kind};
    use counterpoint_engine::kernel;
    assert!(
        CLASSES == kernel::CLASSES
            && TIME_MAX == embed::TIME_MAX
            && REQUESTORS_MAX as u64 == embed::REQUESTORS_MAX as u64
    );
    assert!(
        READ == Kind::Read as u32 && WRITE == Kind::Write as u32 && COUNTER_WRITEBACK == Kind::CounterWriteback as u32
    );
};

/// A read is complete: `bytes` is the decrypted line.
pub type ReadDone =
    Option<unsafe extern "C" fn(context: *mut c_void, id: u64, address: u64, bytes: *const u8, time: u64)>;
/// A write, or a counter write-back, has reached the persistence domain. Its line survives a power failure if the design makes the
/// counter durable as well: not with designs that lose counters, and with `sca` and `sca-tree` only if the write has the flag
/// COUNTERPOINT_COUNTER_ATOMIC, or its counter has been written back.
pub type Persisted = Option<unsafe extern "C" fn(context: *mut c_void, id: u64, address: u64, time: u64)>;
/// A request is answered.
pub type Answered = Option<unsafe extern "C" fn(context: *mut c_void, answer: *const CAnswer)>;

/// An answer, with everything that is known of its request.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CAnswer {
    /// sizeof(counterpoint_answer) in the library.
    pub size: usize,
    /// Of the request.
    pub id: u64,
    /// Of the request.
    pub address: u64,
    /// Time of the request, ps.
    pub sent: u64,
    /// Time of the answer, ps.
    pub time: u64,
    /// Of a read: the decrypted line; else NULL.
    pub bytes: *const u8,
    /// COUNTERPOINT_READ, COUNTERPOINT_WRITE or COUNTERPOINT_COUNTER_WRITEBACK.
    pub kind: u32,
    /// COUNTERPOINT_DAMAGED, or 0.
    pub flags: u32,
    /// Of the request.
    pub requestor: u32,
}

/// The settings of a memory. Set `size` and every field that is not zero.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Config {
    /// sizeof(counterpoint_config).
    pub size: usize,
    /// Name, as `counterpoint designs` lists it, or path of a design file (.toml).
    pub design: *const c_char,
    /// "published" or "hardened"; NULL: hardened.
    pub variant: *const c_char,
    /// Preset name, or path of a machine file (.toml); NULL: the design's own preset.
    pub machine: *const c_char,
    /// `set_count` texts "path.to.key=value", as --set takes them.
    pub set: *const *const c_char,
    /// Number of texts in `set`.
    pub set_count: usize,
    /// Of the encryption keys.
    pub seed: u64,
    /// Passed to the call-backs.
    pub context: *mut c_void,
    /// Answers of reads; NULL: none are wanted, as for the next two.
    pub read_done: ReadDone,
    /// Answers of writes.
    pub write_persisted: Persisted,
    /// Answers of counter write-backs.
    pub counters_persisted: Persisted,
    /// If not NULL, called instead of the three above.
    pub answered: Answered,
    /// Limit of reads in flight on each channel; 0: only that of the whole controller.
    pub reads_on_channel: u32,
    /// The same of writes.
    pub writes_on_channel: u32,
}

/// A request. Set `size` and every field that is not zero.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CRequest {
    /// sizeof(counterpoint_request).
    pub size: usize,
    /// Of a line.
    pub address: u64,
    /// Returned by the answer; ids need not differ.
    pub id: u64,
    /// Of a write: 64 bytes.
    pub bytes: *const u8,
    /// Of a write: bit i: byte i is written, the line keeps its others; 0: all are.
    pub mask: u64,
    /// COUNTERPOINT_READ, COUNTERPOINT_WRITE or COUNTERPOINT_COUNTER_WRITEBACK.
    pub kind: u32,
    /// COUNTERPOINT_COUNTER_ATOMIC, or 0.
    pub flags: u32,
    /// Whose figures count it: from 0 to COUNTERPOINT_REQUESTORS_MAX - 1.
    pub requestor: u32,
}

/// What counterpoint_get_info returns.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Info {
    /// In: sizeof(counterpoint_info).
    pub size: usize,
    /// Bytes of memory, from address 0.
    pub capacity: u64,
    /// ps.
    pub now: u64,
    /// Of the memory interface, ps; what counterpoint_tick advances.
    pub clock_period: u64,
    /// Interface cycles that a line takes on the data bus.
    pub burst_cycles: u32,
    /// 64.
    pub line_bytes: u32,
    /// Number of channels.
    pub channels: u32,
    /// Over all channels and ranks.
    pub banks: u32,
    /// Limit of reads in flight.
    pub reads_max: u32,
    /// Limit of writes in flight.
    pub writes_max: u32,
    /// Limit of counter write-backs in flight.
    pub counter_writebacks_max: u32,
    /// Reads in flight.
    pub reads: u32,
    /// Writes in flight.
    pub writes: u32,
    /// Counter write-backs in flight.
    pub counter_writebacks: u32,
    /// Events since creation.
    pub events: u64,
    /// Digest of them all.
    pub event_digest: u64,
    /// In each channel.
    pub ranks: u32,
    /// Banks in each rank.
    pub banks_per_rank: u32,
    /// Since creation.
    pub power_failures: u64,
}

/// Latencies of the answered requests of one kind, in ps. Requests that were sent before the last reset are not
/// counted.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CLatencies {
    /// Number of requests.
    pub count: u64,
    /// Of their latencies.
    pub sum: u64,
    /// The longest latency.
    pub max: u64,
    /// Class k: from 2^k to below 2^(k+1); class 0 also those of 0.
    pub histogram: [u64; CLASSES],
}

/// What counterpoint_get_figures returns: counts since creation, the last reset or the last power failure.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CFigures {
    /// In: sizeof(counterpoint_figures).
    pub size: usize,
    /// Start of the period, ps.
    pub since: u64,
    /// Its end, ps.
    pub now: u64,
    /// Answered reads.
    pub reads: CLatencies,
    /// Answered writes.
    pub writes: CLatencies,
    /// Answered counter write-backs.
    pub counter_writebacks: CLatencies,
    /// Data lines read from the media.
    pub data_reads: u64,
    /// Counter blocks read from the media.
    pub counter_reads: u64,
    /// Lines of MACs read from the media.
    pub mac_reads: u64,
    /// Tree nodes read from the media.
    pub tree_reads: u64,
    /// Lines of the shadow table read from the media.
    pub table_reads: u64,
    /// Data lines written to the media, with the log of hardware.
    pub data_writes: u64,
    /// Counter blocks written to the media.
    pub counter_writes: u64,
    /// Lines of MACs written to the media.
    pub mac_writes: u64,
    /// Tree nodes written to the media.
    pub tree_writes: u64,
    /// Lines of the shadow table written to the media.
    pub table_writes: u64,
    /// Accesses that found their row open.
    pub row_hits: u64,
    /// ps, summed over banks.
    pub banks_busy: u64,
    /// FJ, with background.
    pub energy: u64,
    /// Of the media line that was written most often.
    pub max_line_writes: u64,
    /// Entries admitted to the write pending queue.
    pub admitted: u64,
    /// Counter entries of the queue that a newer one replaced.
    pub counter_writes_coalesced: u64,
    /// The same of MACs and tree nodes.
    pub integrity_writes_coalesced: u64,
    /// The same of data.
    pub data_writes_merged: u64,
    /// Times that a write found the queue too full.
    pub full_events: u64,
    /// ps during which at least one write waited for a slot.
    pub full_stall: u64,
    /// Entries of the queue in use.
    pub mean_occupancy: f64,
    /// Answered from a write on its way.
    pub forwarded_reads: u64,
    /// Hits in the counter cache.
    pub counter_hits: u64,
    /// Misses in the counter cache that fetched the block.
    pub counter_misses: u64,
    /// Blocks evicted from the counter cache.
    pub counter_evictions: u64,
    /// Hits in the cache of MACs and tree nodes.
    pub metadata_hits: u64,
    /// Misses in that cache that fetched the line or node.
    pub metadata_misses: u64,
    /// One-time pads made.
    pub pads: u64,
    /// ps during which AES circuits made pads, summed over circuits.
    pub aes_busy: u64,
    /// Computed and checked.
    pub macs: u64,
    /// Of tree nodes and counter blocks.
    pub hashes: u64,
    /// Checks of integrity that failed.
    pub alarms: u64,
    /// Of pages, begun.
    pub reencryptions: u64,
    /// Misses in the counter cache while the block was being fetched.
    pub counter_secondary_misses: u64,
    /// The same in the cache of MACs and tree nodes.
    pub metadata_secondary_misses: u64,
}

/// What counterpoint_get_requestor returns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CRequestor {
    /// In: sizeof(counterpoint_requestor).
    pub size: usize,
    /// Its answered reads.
    pub reads: CLatencies,
    /// Its answered writes.
    pub writes: CLatencies,
    /// Its answered counter write-backs.
    pub counter_writebacks: CLatencies,
}

/// What counterpoint_get_bank and counterpoint_get_channel return.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct CBank {
    /// In: sizeof(counterpoint_bank).
    pub size: usize,
    /// Lines read, of all kinds.
    pub reads: u64,
    /// Lines written, of all kinds.
    pub writes: u64,
    /// Accesses that found their row open.
    pub row_hits: u64,
    /// ps; of a channel: summed over its banks.
    pub busy: u64,
    /// The channel.
    pub channel: u32,
    /// The rank in the channel; of a channel: 0.
    pub rank: u32,
}

/// The place of a line on the media.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct CPlace {
    /// The channel.
    pub channel: u32,
    /// The rank in the channel.
    pub rank: u32,
    /// Number over all channels and ranks, as counterpoint_get_bank takes it.
    pub bank: u32,
    /// Line within the row.
    pub column: u32,
    /// Row of the bank.
    pub row: u64,
}

/// What counterpoint_locate returns.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct CLocation {
    /// In: sizeof(counterpoint_location).
    pub size: usize,
    /// Of the line itself.
    pub line: CPlace,
    /// Of its counter block.
    pub counter: CPlace,
    /// 1 if it has a counter block on the media, else 0.
    pub has_counter: u32,
}

/// What counterpoint_get_power_failure returns.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct CPowerFailure {
    /// In: sizeof(counterpoint_power_failure).
    pub size: usize,
    /// ps.
    pub time: u64,
    /// Reads in flight that will never be answered.
    pub reads_lost: u64,
    /// Writes in flight; some may have survived nevertheless.
    pub writes_lost: u64,
    /// Counter write-backs in flight.
    pub counter_writebacks_lost: u64,
    /// Lines and counter blocks that left the persistence domain on battery power.
    pub drained: u64,
    /// Lines of all kinds that the boot read.
    pub boot_reads: u64,
    /// Lines of all kinds that the boot wrote.
    pub boot_writes: u64,
    /// Pads that the boot made.
    pub boot_pads: u64,
    /// MACs of data lines that it computed.
    pub boot_macs: u64,
    /// Tree nodes and counter blocks that it hashed.
    pub boot_hashes: u64,
    /// See COUNTERPOINT_DAMAGED.
    pub damaged_lines: u64,
    /// 1 if the boot refused memory because a check of integrity failed, else 0.
    pub refused: u32,
}

/// A structure whose first field is its size, and which later versions make longer.
///
/// # Safety
///
/// It is `repr(C)`, its first field is a `usize`, and zeros are a value of every field.
pub unsafe trait Growing: Copy {
    /// Its name in the header.
    const NAME: &'static str;
    /// Bytes of its first version: a shorter one is refused.
    const FIRST: usize = size_of::<Self>();
}

macro_rules! growing {
    ($($structure:ident $name:literal $(until $last:ident)?;)*) => {
        $(
            // SAFETY: `repr(C)`, with `size` first, and of numbers, pointers and optional functions.
            unsafe impl Growing for $structure {
                const NAME: &'static str = $name;
                $(const FIRST: usize = std::mem::offset_of!($structure, $last);)?
            }
        )*
    };
}

growing! {
    Config "counterpoint_config" until answered;
    CRequest "counterpoint_request";
    Info "counterpoint_info" until ranks;
    CFigures "counterpoint_figures";
    CRequestor "counterpoint_requestor";
    CBank "counterpoint_bank";
    CLocation "counterpoint_location";
    CPowerFailure "counterpoint_power_failure";
}

//! The types of `counterpoint.h`, field by field.

use counterpoint_engine::embed::CLASSES;
use std::ffi::{c_char, c_int, c_void};

/// `COUNTERPOINT_OK`.
pub const OK: c_int = 0;
/// `COUNTERPOINT_ERROR_ARGUMENT`.
pub const ERROR_ARGUMENT: c_int = -1;
/// `COUNTERPOINT_ERROR_FULL`.
pub const ERROR_FULL: c_int = -2;
/// `COUNTERPOINT_ERROR_STATE`.
pub const ERROR_STATE: c_int = -3;
/// `COUNTERPOINT_ERROR_INTERNAL`.
pub const ERROR_INTERNAL: c_int = -4;
/// `COUNTERPOINT_NEVER`.
pub const NEVER: u64 = u64::MAX;
/// `COUNTERPOINT_DAMAGED`.
pub const DAMAGED: u32 = 1;
/// `COUNTERPOINT_COUNTER_ATOMIC`.
pub const COUNTER_ATOMIC: u32 = 1;

/// `counterpoint_read_done`.
pub type ReadDone =
    Option<unsafe extern "C" fn(context: *mut c_void, id: u64, address: u64, bytes: *const u8, time: u64)>;
/// `counterpoint_persisted`.
pub type Persisted = Option<unsafe extern "C" fn(context: *mut c_void, id: u64, address: u64, time: u64)>;

/// `counterpoint_answered`.
pub type Answered = Option<unsafe extern "C" fn(context: *mut c_void, answer: *const CAnswer)>;

/// `counterpoint_answer`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CAnswer {
    pub size: usize,
    pub id: u64,
    pub address: u64,
    pub sent: u64,
    pub time: u64,
    pub bytes: *const u8,
    pub kind: u32,
    pub flags: u32,
    pub requestor: u32,
}

/// `counterpoint_config`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Config {
    pub size: usize,
    pub design: *const c_char,
    pub variant: *const c_char,
    pub machine: *const c_char,
    pub set: *const *const c_char,
    pub set_count: usize,
    pub seed: u64,
    pub context: *mut c_void,
    pub read_done: ReadDone,
    pub write_persisted: Persisted,
    pub counters_persisted: Persisted,
    pub answered: Answered,
    pub reads_on_channel: u32,
    pub writes_on_channel: u32,
}

/// `counterpoint_request`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CRequest {
    pub size: usize,
    pub address: u64,
    pub id: u64,
    pub bytes: *const u8,
    pub mask: u64,
    pub kind: u32,
    pub flags: u32,
    pub requestor: u32,
}

/// `counterpoint_info`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Info {
    pub size: usize,
    pub capacity: u64,
    pub now: u64,
    pub clock_period: u64,
    pub burst_cycles: u32,
    pub line_bytes: u32,
    pub channels: u32,
    pub banks: u32,
    pub reads_max: u32,
    pub writes_max: u32,
    pub counter_writebacks_max: u32,
    pub reads: u32,
    pub writes: u32,
    pub counter_writebacks: u32,
    pub events: u64,
    pub event_digest: u64,
    pub ranks: u32,
    pub banks_per_rank: u32,
    pub power_failures: u64,
}

/// `counterpoint_latencies`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CLatencies {
    pub count: u64,
    pub sum: u64,
    pub max: u64,
    pub histogram: [u64; CLASSES],
}

/// `counterpoint_figures`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CFigures {
    pub size: usize,
    pub since: u64,
    pub now: u64,
    pub reads: CLatencies,
    pub writes: CLatencies,
    pub counter_writebacks: CLatencies,
    pub data_reads: u64,
    pub counter_reads: u64,
    pub mac_reads: u64,
    pub tree_reads: u64,
    pub table_reads: u64,
    pub data_writes: u64,
    pub counter_writes: u64,
    pub mac_writes: u64,
    pub tree_writes: u64,
    pub table_writes: u64,
    pub row_hits: u64,
    pub banks_busy: u64,
    pub energy: u64,
    pub max_line_writes: u64,
    pub admitted: u64,
    pub counter_writes_coalesced: u64,
    pub integrity_writes_coalesced: u64,
    pub data_writes_merged: u64,
    pub full_events: u64,
    pub full_stall: u64,
    pub mean_occupancy: f64,
    pub forwarded_reads: u64,
    pub counter_hits: u64,
    pub counter_misses: u64,
    pub counter_evictions: u64,
    pub metadata_hits: u64,
    pub metadata_misses: u64,
    pub pads: u64,
    pub aes_busy: u64,
    pub macs: u64,
    pub hashes: u64,
    pub alarms: u64,
    pub reencryptions: u64,
    pub counter_secondary_misses: u64,
    pub metadata_secondary_misses: u64,
}

/// `counterpoint_requestor`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CRequestor {
    pub size: usize,
    pub reads: CLatencies,
    pub writes: CLatencies,
    pub counter_writebacks: CLatencies,
}

/// `counterpoint_bank`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct CBank {
    pub size: usize,
    pub reads: u64,
    pub writes: u64,
    pub row_hits: u64,
    pub busy: u64,
    pub channel: u32,
    pub rank: u32,
}

/// `counterpoint_place`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct CPlace {
    pub channel: u32,
    pub rank: u32,
    pub bank: u32,
    pub column: u32,
    pub row: u64,
}

/// `counterpoint_location`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct CLocation {
    pub size: usize,
    pub line: CPlace,
    pub counter: CPlace,
    pub has_counter: u32,
}

/// `counterpoint_power_failure`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct CPowerFailure {
    pub size: usize,
    pub time: u64,
    pub reads_lost: u64,
    pub writes_lost: u64,
    pub counter_writebacks_lost: u64,
    pub drained: u64,
    pub boot_reads: u64,
    pub boot_writes: u64,
    pub boot_pads: u64,
    pub boot_macs: u64,
    pub boot_hashes: u64,
    pub damaged_lines: u64,
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

//! The types of `counterpoint.h`, field by field.

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
/// `COUNTERPOINT_COUNTER_ATOMIC`.
pub const COUNTER_ATOMIC: u32 = 1;

/// `counterpoint_read_done`.
pub type ReadDone =
    Option<unsafe extern "C" fn(context: *mut c_void, id: u64, address: u64, bytes: *const u8, time: u64)>;
/// `counterpoint_persisted`.
pub type Persisted = Option<unsafe extern "C" fn(context: *mut c_void, id: u64, address: u64, time: u64)>;

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
}

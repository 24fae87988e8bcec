//! The values of a core.

use super::fields::{CLOCK, QUEUE, TIMING};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An out-of-order core.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// Clock in MHz.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-because" = CLOCK))]
    pub clock_mhz: u32,
    /// Instructions dispatched and committed per cycle.
    #[schemars(range(min = 1, max = 64), extend(
        "x-because" = "a core dispatches at least one instruction per cycle, and none does more than 64"))]
    pub width: u32,
    /// Reorder buffer, in instructions.
    #[schemars(range(min = 1, max = 65_536), extend("x-because" = QUEUE))]
    pub rob_entries: u32,
    /// Load queue, in loads.
    #[schemars(range(min = 1, max = 4_096), extend("x-because" = QUEUE))]
    pub load_queue_entries: u32,
    /// Store queue and store buffer together, in stores and flushes.
    #[schemars(range(min = 1, max = 4_096), extend("x-because" = QUEUE))]
    pub store_queue_entries: u32,
    /// Write-combining buffers of 64 bytes for non-temporal stores.
    #[schemars(range(min = 1, max = 256), extend("x-because" = QUEUE))]
    pub write_combining_buffers: u32,
    /// Whether flushes of a core overlap. Decision.
    pub flush_overlap: FlushOverlap,
    /// Time until a core knows that a flush of its is complete, beyond that until it is, in ns: the way back. Decision.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub flush_answer_ns: f64,
    /// What `clwb` leaves of the line in the first level. Decision.
    pub clwb_leaves: ClwbLeaves,
    /// Whether stores and flushes are done while later instructions are executed. Without a store buffer an instruction waits until
    /// those before it are in the first level and acknowledged. Decision.
    pub store_buffer: bool,
    /// Least time between two stores that enter the first level, in cycles. Decision.
    #[schemars(range(min = 1, max = 64), extend("x-because" = "a store enters in a cycle, and 64 is more than any cache takes"))]
    pub store_cycles: u32,
    /// Bytes that an entry of the load queue or the store queue moves at most: an instruction that moves more has several, but
    /// past the caches. Decision.
    #[schemars(range(min = 8, max = 64), extend("multipleOf" = 8,
        "x-because" = "a word is never divided, and a line never joined to another"))]
    pub access_bytes: u32,
    /// Whether the line of a store is asked for when the store is dispatched, and not only when its turn has come. Decision.
    pub store_prefetch: bool,
}

/// What `clwb` leaves in the first level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClwbLeaves {
    /// The line, which its core may write.
    Writable,
    /// The line for reading: the next store asks the second level for the right to write it, as in gem5's classic caches.
    Readable,
    /// Nothing, as in the processors before Ice Lake: `clwb` is `clflushopt`.
    Nothing,
}

/// Whether flushes of a core overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlushOverlap {
    /// A flush is sent when its turn in the store buffer has come.
    Overlapped,
    /// A flush, and with it everything behind it in the store buffer, waits until every earlier flush of the core is
    /// acknowledged, as gem5's X86 O3 core sends them.
    OneAtATime,
}

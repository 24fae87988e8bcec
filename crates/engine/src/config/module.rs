//! The part of a machine that says what of a memory module is between its channel and its media.

use super::fields::{KIB, TIMING};
use super::size::ByteSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What of a memory module is between its channel and its media.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Module {
    /// Whether the device consists of modules with a buffer, or of banks that the controller schedules itself. Decision.
    pub kind: ModuleKind,
    /// Bytes that the media read and write at a time. The buffer holds lines of this size.
    #[schemars(range(min = 64, max = 512), extend("multipleOf" = 64,
        "x-because" = "a media line is up to eight lines of 64 bytes, of which the buffer knows those that were written"))]
    pub media_line: ByteSize,
    /// Bytes of the buffer of a module.
    #[schemars(range(min = 64, max = 1 << 20), extend("multipleOf" = 64,
        "x-because" = "a buffer holds whole media lines, and they are searched one by one"))]
    pub buffer: ByteSize,
    /// Whether the buffer is in the persistence domain (ADR). If not, a power failure loses what the media have not
    /// programmed. Decision.
    pub buffer_durable: bool,
    /// From the arrival of a request at the module until the buffer answers it, in ns. Of `transactional` modules: from a command
    /// until its data are on the channel.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub buffer_ns: f64,
    /// What a read of a media line takes beyond that, in ns.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub media_read_ns: f64,
    /// Least time between two reads of the media of a module, in ns.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub media_read_interval_ns: f64,
    /// Least time between two writes of the media of a module, in ns, which is also what a write takes. Of `transactional`
    /// modules each bank writes by itself, a line of 64 bytes at a time.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub media_write_interval_ns: f64,
    /// Bytes of the media whose entries of the address indirection table (AIT) its cache holds, each for 4 KiB.
    #[schemars(range(min = 64 * KIB, max = 1 << 30), extend("multipleOf" = 64 * KIB,
        "x-because" = "the cache has sets of sixteen entries"))]
    pub ait_reach: ByteSize,
    /// What a fetch of an entry into that cache takes, in ns.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub ait_miss_ns: f64,
    /// What encryption in the module adds to a read of a media line, and to a write before it begins, in ns, for designs whose modules
    /// encrypt. Decision.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub cipher_ns: f64,
}

/// What the device consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModuleKind {
    /// Banks with a row buffer each, which the controller schedules.
    None,
    /// Banks of DRAM, to which the controller sends the commands of each access, and which it refreshes.
    Dram,
    /// Modules that answer for themselves: each bank is a module, with a buffer in front of its media (Optane, 100 series).
    Buffered,
    /// Modules that are told at once what is read, and collected from when they have it; each channel is a module, which has a
    /// line of media in each bank (gem5's `NVMInterface`).
    Transactional,
}

impl ModuleKind {
    /// Whether modules have a buffer of writes that the media have not programmed.
    pub fn has_buffer(self) -> bool {
        matches!(self, Self::Buffered | Self::Transactional)
    }
}

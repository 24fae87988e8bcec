//! Configuration: the schema, the bounds of each value with their reasons, presets (one per paper table), and the run
//! that a user asks for. Input is text and files; output is a checked [`Machine`] or one error sentence.

mod aes;
mod bounds;
mod core;
mod device;
mod digest;
mod dram;
mod excerpt;
mod fields;
mod geometry;
mod integrity;
mod link;
mod load;
mod module;
mod nearest;
mod presets;
mod program;
mod schema;
mod size;
#[cfg(test)]
mod tests;
pub mod toml_file;
mod wear;

pub use self::core::{ClwbLeaves, Core, FlushOverlap};
pub use aes::BLOCKS_PER_LINE;
pub use bounds::{BANKS_MAX, CORES_MAX, TRANSACTIONS_MAX, TX_SIZE_MAX, validate, validate_run};
pub use device::{AddressMapping, Device, ProgrammedBits, WriteInterruption, WriteRecovery};
pub use digest::config_digest;
pub use dram::Dram;
pub use excerpt::shown_name;
pub use fields::{file_schema, shown};
pub use geometry::{BankRegions, Geometry};
pub use integrity::{Integrity, MacPlacement, MetadataCache, ReadVerification};
pub use link::{Link, LinkDomain, LinkKind, PowerFlush};
pub use load::{check_set, check_value, is_section, load_machine, load_machine_for};
pub use module::{Module, ModuleKind};
pub use nearest::{nearest, unknown_name, without_long_list};
pub use presets::{preset, preset_names};
pub use program::{CoreRegion, ItemMetadata, LogGranularity, LogPlacement, LogStores, Program, ProgramBase};
pub use schema::{
    AesHold, AesOccupancy, AesReads, BatterySupply, CacheLevel, CfbLatency, Controller, CounterAtomicOrder,
    CounterOrganisation, CounterPlacement, CounterWrite, Counters, Eadr, Engine, GlobalRegister, Log, LogIv, Machine,
    SchedulingPolicy, WriteAcknowledged,
};
pub use size::ByteSize;
pub use wear::{Leveling, Scatter, Wear};

use crate::message::Omission;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// Which reading of a paper is built if its text, read literally, is unsafe.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Variant {
    /// The text as printed.
    Published,
    /// The text, changed so that it is safe; the default of `run` and `crash`.
    #[default]
    Hardened,
}

impl Variant {
    /// Both readings.
    pub const ALL: [Variant; 2] = [Variant::Published, Variant::Hardened];

    /// The variant's name, as on the command line.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The variant called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|variant| variant.name() == name)
    }
}

/// One simulation, completely described.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// The design's name.
    pub design: String,
    /// The parts of a design that is not built in, as a design file states them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<toml::Table>,
    /// The reading of the paper.
    pub variant: Variant,
    /// Workload name, or path to a trace file.
    pub workload: String,
    /// The machine that is simulated.
    pub machine: Machine,
    /// The values of the machine that come from the design, as in `integrity.stop_loss = 8`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_by_design: Option<String>,
    /// Bytes of user data in a transaction: a multiple of 64.
    pub tx_size: u64,
    /// Number of measured transactions per core.
    pub transactions: u64,
    /// Transactions per core before measuring begins.
    pub warmup: u64,
    /// Number of cores; each runs one program instance.
    pub cores: u16,
    /// Bytes of the populated structures, in total over all cores.
    pub footprint: u64,
    /// Seed of every random stream.
    pub seed: u64,
    /// Accept a trace that is cut off, and replay the part that is readable.
    #[serde(default)]
    pub allow_truncated: bool,
    /// Run the threads of a recorded program on one core, in the one order that was recorded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub serial: bool,
    /// What the program leaves out, to show why it is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leave_out: Option<Omission>,
}

impl RunConfig {
    /// One transaction of 64 bytes by one core over 4 KiB on `machine`, without warm-up, with seed 1, of the hardened reading
    /// of `design`: what others state only where they differ.
    pub fn new(design: impl Into<String>, workload: impl Into<String>, machine: Machine) -> Self {
        Self {
            design: design.into(),
            parts: None,
            set_by_design: None,
            variant: Variant::Hardened,
            workload: workload.into(),
            machine,
            tx_size: 64,
            transactions: 1,
            warmup: 0,
            cores: 1,
            footprint: 4096,
            seed: 1,
            allow_truncated: false,
            serial: false,
            leave_out: None,
        }
    }
}

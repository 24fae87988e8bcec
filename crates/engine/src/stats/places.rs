//! Figures of the channels and banks of the device, and where energy goes.

use serde::Serialize;

/// Figures of one bank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Bank")]
pub struct BankReport {
    /// The channel of the bank.
    pub channel: u32,
    /// The rank in the channel.
    pub rank: u32,
    /// Line reads of all kinds.
    pub reads: u64,
    /// Line writes of all kinds.
    pub writes: u64,
    /// Accesses that found their row open.
    pub row_hits: u64,
    /// Reads among them.
    pub read_row_hits: u64,
    /// Time during which the bank worked on accesses or these waited for their command, in nanoseconds.
    pub busy_ns: f64,
}

/// Figures of one channel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Channel")]
pub struct ChannelReport {
    /// Line reads of all kinds.
    pub reads: u64,
    /// Line writes of all kinds.
    pub writes: u64,
    /// Accesses that found their row open.
    pub row_hits: u64,
    /// Reads among them.
    pub read_row_hits: u64,
    /// Time during which banks worked on accesses, summed over its banks, in nanoseconds.
    pub banks_busy_ns: f64,
}

/// Energy by part. The first four together are `nvm.energy_nj`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Energy")]
pub struct EnergyReport {
    /// Reading bits from the arrays into row buffers, in nJ.
    pub array_read_nj: f64,
    /// Programming bits of the arrays, in nJ.
    pub array_write_nj: f64,
    /// Moving bits between row buffers and the bus, in nJ.
    pub row_buffer_nj: f64,
    /// Background, in nJ.
    pub background_nj: f64,
    /// What of the first three is for lines that hold no data: counter blocks, lines of MACs, tree nodes and lines of the
    /// shadow table. Moves of wear levelling are not among it, whatever they move.
    pub metadata_nj: f64,
    /// Making pads in the memory controller, in nJ: 64 bytes each, with `eadr.aes_pj_per_byte` (sepencr section V-C). Not in
    /// `nvm.energy_nj`.
    pub aes_nj: f64,
    /// Computing MACs and hashes in the memory controller, in nJ: AES runs over 64 bytes for each, with the same value. Not in
    /// `nvm.energy_nj`.
    pub mac_nj: f64,
}

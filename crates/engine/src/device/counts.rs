//! What a device and its banks have counted since the start or the last reset.

use super::energy::EnergyParts;
use super::wear::MostWrites;
use crate::kernel::Ps;

/// The counts of the device since the start or the last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct DeviceStats {
    /// Line reads of all kinds.
    pub reads: u64,
    /// Line writes of all kinds.
    pub writes: u64,
    /// Reads of data lines.
    pub data_reads: u64,
    /// Reads of counter blocks.
    pub counter_reads: u64,
    /// Writes of data lines.
    pub data_writes: u64,
    /// Writes of counter blocks.
    pub counter_writes: u64,
    /// Reads of lines of MACs.
    pub mac_reads: u64,
    /// Writes of lines of MACs.
    pub mac_writes: u64,
    /// Reads of nodes of the integrity tree.
    pub tree_reads: u64,
    /// Writes of nodes of the integrity tree.
    pub tree_writes: u64,
    /// Reads of lines of the shadow table.
    pub table_reads: u64,
    /// Writes of lines of the shadow table.
    pub table_writes: u64,
    /// Accesses that found their row open.
    pub row_hits: u64,
    /// Time during which banks worked on accesses or these waited for their command, summed over banks, in picoseconds.
    pub bank_busy_ps: Ps,
    /// Energy of all accesses, without background, in femtojoules.
    pub access_energy_fj: u64,
    /// The same by part.
    pub energy: EnergyParts,
    /// What of it is for lines that hold no data, without moves of wear levelling, in femtojoules.
    pub metadata_energy_fj: u64,
    /// Number of writes of the media line that was written most often.
    pub max_line_writes: u32,
    /// The same of each kind of media line.
    pub most_writes: MostWrites,
    /// Lines that wear levelling has moved.
    pub gap_moves: u64,
    /// Writes that reads have stopped.
    pub interruptions: u64,
    /// Bits that writes have changed, of all kinds of lines; none without bytes.
    pub flipped_bits: u64,
    /// The same of data lines.
    pub flipped_data_bits: u64,
}

/// The counts of one bank since the start or the last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct BankStats {
    /// Line reads of all kinds.
    pub reads: u64,
    /// Line writes of all kinds.
    pub writes: u64,
    /// Accesses that found their row open.
    pub row_hits: u64,
    /// Reads among them.
    pub read_row_hits: u64,
    /// Time during which the bank worked on accesses or these waited for their command, in picoseconds.
    pub busy_ps: Ps,
}

impl std::ops::AddAssign for BankStats {
    fn add_assign(&mut self, other: Self) {
        let Self { reads, writes, row_hits, read_row_hits, busy_ps } = other;
        self.reads += reads;
        self.writes += writes;
        self.row_hits += row_hits;
        self.read_row_hits += read_row_hits;
        self.busy_ps += busy_ps;
    }
}

//! What a device and its banks have counted since the start or the last reset.

use super::energy::{Energy, EnergyParts};
use super::wear::MostWrites;
use crate::kernel::Ps;
use crate::message::{LINE_WORDS, MediaLine, MediaOp, MediaUnit};

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

/// What one bank counts of its accesses: reads, and writes.
#[derive(Clone, Copy, Default)]
pub(super) struct BankCounts {
    pub accesses: [u64; 2],
    pub row_hits: [u64; 2],
    pub busy_ps: Ps,
}

impl BankCounts {
    /// Counts an access.
    pub fn count(&mut self, op: MediaOp, row_hit: bool) {
        self.accesses[op as usize] += 1;
        self.row_hits[op as usize] += u64::from(row_hit);
    }

    pub fn stats(&self) -> BankStats {
        let ([reads, writes], [read_row_hits, write_row_hits]) = (self.accesses, self.row_hits);
        let row_hits = read_row_hits + write_row_hits;
        BankStats { reads, writes, row_hits, read_row_hits, busy_ps: self.busy_ps }
    }
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

/// Numbers of accesses, by operation, kind of line, whether the row was open, and words but one, and of bits that they changed:
/// all other counts of accesses, and their energy, follow from these.
#[derive(Clone, Default)]
pub(super) struct Accesses {
    of_op: [[OfKind; KINDS]; 2],
    /// Bits that writes have changed.
    flipped: [u64; KINDS],
}

type OfKind = [[u64; LINE_WORDS as usize]; 2];

/// Kinds of media line, in the order of [`kind`].
const KINDS: usize = 6;

/// Counter blocks among them.
const COUNTER: usize = 1;

fn kind(media: MediaLine) -> usize {
    match media.unit() {
        MediaUnit::Data(_) => 0,
        MediaUnit::Counter(_) => COUNTER,
        MediaUnit::Mac(_) => 2,
        MediaUnit::Node(_) => 3,
        MediaUnit::Table(_) => 4,
        MediaUnit::Modified(_) => 5,
    }
}

impl Accesses {
    /// Counts an access of `words` words.
    pub fn count(&mut self, op: MediaOp, media: MediaLine, row_hit: bool, words: u8) {
        self.of_op[op as usize][kind(media)][usize::from(row_hit)][usize::from(words) - 1] += 1;
    }

    /// Counts the bits that a write of `media` has changed.
    pub fn count_flipped(&mut self, media: MediaLine, bits: u32) {
        self.flipped[kind(media)] += u64::from(bits);
    }

    /// Lines of all kinds that were read and written, and the counter blocks among them.
    pub fn lines(&self) -> [[u64; 2]; 2] {
        let of_all = |op: &[OfKind; KINDS]| op.as_flattened().as_flattened().iter().sum();
        let of_counters = |op: &[OfKind; KINDS]| op[COUNTER].as_flattened().iter().sum();
        [self.of_op.each_ref().map(of_all), self.of_op.each_ref().map(of_counters)]
    }

    /// Adds the accesses and their energy to `stats`.
    pub fn add_to(&self, stats: &mut DeviceStats, energy: &Energy) {
        let DeviceStats { reads, data_reads, counter_reads, mac_reads, tree_reads, table_reads, .. } = stats;
        let of_reads = (reads, [data_reads, counter_reads, mac_reads, tree_reads, table_reads]);
        let DeviceStats { writes, data_writes, counter_writes, mac_writes, tree_writes, table_writes, .. } = stats;
        let of_writes = (writes, [data_writes, counter_writes, mac_writes, tree_writes, table_writes]);
        for (counted, (all, [data, counter, mac, tree, table])) in self.of_op.iter().zip([of_reads, of_writes]) {
            let [of_data, of_counter, of_mac, of_tree, of_table, of_modified] =
                counted.each_ref().map(|kind| kind.as_flattened().iter().sum::<u64>());
            *all += counted.as_flattened().as_flattened().iter().sum::<u64>();
            *data += of_data + of_modified;
            *counter += of_counter;
            *mac += of_mac;
            *tree += of_tree;
            *table += of_table;
        }
        for (kind, &flipped) in self.flipped.iter().enumerate() {
            let mut all = energy.of_flips(flipped);
            for op in [MediaOp::Read, MediaOp::Write] {
                all += energy_of(op, &self.of_op[op as usize][kind], energy);
            }
            stats.energy += all;
            stats.metadata_energy_fj += if kind == 0 { 0 } else { all.sum() };
        }
        let [of_data, .., of_modified] = self.flipped;
        stats.flipped_bits += self.flipped.iter().sum::<u64>();
        stats.flipped_data_bits += of_data + of_modified;
    }
}

fn energy_of(op: MediaOp, counted: &OfKind, energy: &Energy) -> EnergyParts {
    let mut all = EnergyParts::default();
    for (row_hit, by_words) in [false, true].into_iter().zip(counted) {
        for (words, count) in (1..).zip(by_words) {
            all += energy.of_access(op, row_hit, words) * *count;
        }
    }
    all
}

//! The part of the schema that says what the non-volatile device is: its shape, its times and its energy.

use super::fields::{BANKS, CLOCK, ENERGY, KIB, PERCENT, TIB, TIMING};
use super::size::ByteSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The non-volatile device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Capacity in bytes, including counters.
    #[schemars(range(min = 64 * KIB, max = 16 * TIB), extend("multipleOf" = 4 * KIB,
        "x-because" = "a device holds whole pages, and the host keeps a table of them"))]
    pub capacity: ByteSize,
    /// Channels, each with its own bus.
    #[schemars(range(min = 1, max = 64), extend("x-because" = BANKS))]
    pub channels: u32,
    /// Ranks per channel.
    #[schemars(range(min = 1, max = 64), extend("x-because" = BANKS))]
    pub ranks: u32,
    /// Banks per rank.
    #[schemars(range(min = 1, max = 4_096), extend("x-because" = BANKS))]
    pub banks_per_rank: u32,
    /// Bytes in a row of one bank. Decision: 4 KiB; a page is in one row of one bank unless lines are interleaved.
    #[schemars(range(min = 4 * KIB, max = 1 << 20), extend("multipleOf" = 4 * KIB,
        "x-because" = "a page lies in one row"))]
    pub row: ByteSize,
    /// Parts of a row, of which the row buffer holds one: another part of the open row is a row miss (NVMain: `COLS` /
    /// `RBSize`).
    #[schemars(range(min = 1, max = 64), extend("x-because" = "a part of a row holds at least a line of a page"))]
    pub row_segments: u32,
    /// How pages are spread over banks.
    pub mapping: AddressMapping,
    /// Interface clock in MHz; no timing is shorter than the cycles this gives.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-because" = CLOCK))]
    pub interface_mhz: u32,
    /// Interface cycles that one 64-byte burst occupies the bus.
    #[schemars(range(min = 1, max = 1_024), extend("x-because" = "a burst occupies the bus for at least one cycle"))]
    pub burst_cycles: u32,
    /// Activate to read or write, in ns.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub t_rcd_ns: f64,
    /// Read command to first data, in ns.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub t_cl_ns: f64,
    /// Write command to first data, in ns.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub t_cwd_ns: f64,
    /// Least time between two column commands of a rank, in ns; at least a burst.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub t_ccd_ns: f64,
    /// Read command to precharge, in ns, beyond the burst less tCCD.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub t_rtp_ns: f64,
    /// Precharge to activate of the same bank, in ns.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub t_rp_ns: f64,
    /// Least time between two activates of a rank, in ns.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub t_rrd_ns: f64,
    /// Window in which a rank takes at most four activates, in ns.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub t_faw_ns: f64,
    /// End of write data to the next read command in the rank, in ns.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub t_wtr_ns: f64,
    /// Least time between bursts of different ranks or directions on a bus, in ns.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub t_rtrs_ns: f64,
    /// End of write data until the bank takes another command, in ns (NVMain's `tWP`).
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub t_wp_ns: f64,
    /// Write recovery, in ns: from there on until the row may be closed, or the bank takes another command.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub t_wr_ns: f64,
    /// What waits for tWR. Decision.
    pub write_recovery: WriteRecovery,
    /// What a read does to a write that its bank is programming. Decision.
    pub write_interruption: WriteInterruption,
    /// Time between two moments at which `pause` can stop a write, in ns.
    #[schemars(range(min = 1, max = 1_000_000), extend("x-because" = "a cell is written for some time before it is read back"))]
    pub write_iteration_ns: f64,
    /// Share of a write in percent from which on `cancel` lets it end.
    #[schemars(range(min = 0, max = 100), extend("x-because" = PERCENT))]
    pub cancel_below_percent: u32,
    /// Energy of reading one bit of the array into the row buffer, in pJ.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = ENERGY))]
    pub array_read_pj_per_bit: f64,
    /// Energy of writing one bit to the array, in pJ.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = ENERGY))]
    pub array_write_pj_per_bit: f64,
    /// Which bits a write programs. Decision.
    pub programmed_bits: ProgrammedBits,
    /// Energy of moving one bit between row buffer and bus, in pJ.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = ENERGY))]
    pub row_buffer_pj_per_bit: f64,
    /// Background power of the whole device, in mW.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = "a kilowatt is more than any memory takes"))]
    pub background_mw: f64,
}

impl Device {
    /// The period of the interface clock in picoseconds, rounded to the nearest: 533 MHz is 1,876 ps.
    pub fn interface_cycle_ps(&self) -> u64 {
        let mhz = u64::from(self.interface_mhz);
        (1_000_000 + mhz / 2) / mhz
    }
}

/// What waits for tWR.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteRecovery {
    /// The bank: it is busy until tWR after every write.
    EachWrite,
    /// The next row: writes to the open row follow one another in the row buffer, and another row is activated tWR
    /// after the last of them (DDR3's write recovery before a precharge, as in gem5).
    RowClose,
}

/// What a read does to a write that its bank is programming (Qureshi et al., HPCA 2010).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteInterruption {
    /// It waits for its end.
    None,
    /// It stops the write, which begins again after it, unless `cancel_below_percent` of it is done.
    Cancel,
    /// It stops the write at its next iteration. What is left of it follows.
    Pause,
}

/// Which bits a write programs. It changes energy and no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProgrammedBits {
    /// All that it moves.
    All,
    /// Those that differ from what is stored, which is read first if its row is not open (Zhou et al., ISCA 2009).
    Changed,
}

/// How pages are spread over banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AddressMapping {
    /// Consecutive pages in consecutive banks.
    PageInterleaved,
    /// Consecutive rows in consecutive banks (NVMain's `R:RK:BK:CH:C`, gem5's `RoRaBaCoCh`).
    RowInterleaved,
    /// Consecutive lines in consecutive banks (DRAMSim2's scheme 2, row:column:bank).
    LineInterleaved,
    /// Consecutive parts of rows (`row_segments`) in consecutive banks, as of the buffers of a module of 256 bytes (gem5's
    /// `NVMInterface`).
    SegmentInterleaved,
    /// Consecutive pages in consecutive banks, with the bank number exclusive-ored with the low row bits
    /// (permutation-based interleaving).
    PageXor,
    /// Each bank holds one contiguous range of pages.
    BankContiguous,
}

impl AddressMapping {
    /// Whether the lines of a page lie in several banks.
    pub fn divides_pages(self) -> bool {
        matches!(self, Self::LineInterleaved | Self::SegmentInterleaved)
    }
}

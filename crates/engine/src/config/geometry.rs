//! How a device is divided into banks, rows and pages, and how much of it counters take. Both the bounds of a
//! configuration and the device's address mapping use these numbers.

use super::{AddressMapping, CoreRegion, CounterPlacement, Machine};
use crate::layout::LogRegion;
use crate::message::{Line, PAGE_BYTES};

/// Data pages per page of counter blocks, for the largest counters: 8 bytes for each line.
const PAGES_PER_COUNTER_PAGE: u64 = 8;

/// The numbers that follow from the device table of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Banks over all channels and ranks.
    pub banks: u64,
    /// Rows in a bank.
    pub rows: u64,
    /// Pages in a row; a page is never split over two rows.
    pub pages_per_row: u64,
    /// Rows of each bank, from row 0, over which the address mapping spreads pages.
    pub mapped_rows: u64,
    /// Pages for data.
    pub data_pages: u64,
    /// The last of the data pages, which hold the log that hardware writes, in the larger of its two layouts. Every
    /// design reserves them (decision), so that programs have the same space with all designs.
    pub log_pages: u64,
}

/// Banks of which each holds one range of addresses: bank `n` begins at address `n` times `bytes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BankRegions {
    /// Bytes of data in a bank.
    pub bytes: u64,
    /// Banks that hold nothing but data.
    pub banks: u64,
    /// Whether a core with several banks has its log ring in one and its heap in others.
    pub log_apart: bool,
}

impl Geometry {
    /// The geometry of `machine`, whose values must lie within their bounds.
    ///
    /// Every design reserves the space of the largest counters, even if its counters are smaller or it has none, so
    /// that an address means the same bank and row for all designs (decision).
    pub fn of(machine: &Machine) -> Self {
        let device = &machine.device;
        let banks = u64::from(device.channels) * u64::from(device.ranks) * u64::from(device.banks_per_rank);
        let rows = device.capacity.0 / (banks * device.row.0);
        let pages_per_row = device.row.0 / PAGE_BYTES;
        let mapped_rows = match machine.controller.counter_placement {
            CounterPlacement::SameBank | CounterPlacement::CrossBank => {
                rows * PAGES_PER_COUNTER_PAGE / (PAGES_PER_COUNTER_PAGE + 1)
            }
            // Bank 0 reserves for all banks. Pages spread evenly, so what the other banks have above it stays unused
            // (decision).
            CounterPlacement::SingleBank => rows * PAGES_PER_COUNTER_PAGE / (PAGES_PER_COUNTER_PAGE + banks),
            CounterPlacement::Interleaved => rows,
        };
        let mapped_pages = banks * mapped_rows * pages_per_row;
        let data_pages = match machine.controller.counter_placement {
            CounterPlacement::Interleaved => mapped_pages * PAGES_PER_COUNTER_PAGE / (PAGES_PER_COUNTER_PAGE + 1),
            _ => mapped_pages,
        };
        // Lines of the log and of programs share no counter block.
        let block_pages = machine.counters.block_bytes() / PAGE_BYTES;
        let data_pages = data_pages - data_pages % block_pages;
        let log_bytes = LogRegion::bytes(machine.log.buckets, machine.log.bucket_records);
        let log_pages = log_bytes.next_multiple_of(machine.counters.block_bytes()) / PAGE_BYTES;
        Self { banks, rows, pages_per_row, mapped_rows, data_pages, log_pages }
    }

    /// The banks that `program.core_region` divides among the cores of `machine`; `None` if it divides none.
    pub fn bank_regions(machine: &Machine) -> Option<BankRegions> {
        let region = machine.program.core_region;
        let contiguous = machine.device.mapping == AddressMapping::BankContiguous;
        (contiguous && region != CoreRegion::Packed).then(|| {
            let Self { mapped_rows, pages_per_row, data_pages, .. } = Self::of(machine);
            let (pages, log_apart) = (mapped_rows * pages_per_row, region == CoreRegion::OwnBanks);
            BankRegions { bytes: pages * PAGE_BYTES, banks: data_pages / pages, log_apart }
        })
    }

    /// Bytes for programs, from address 0: the data pages without the hardware's log.
    pub fn program_capacity(&self) -> u64 {
        self.data_pages.saturating_sub(self.log_pages) * PAGE_BYTES
    }

    /// The first line of the hardware's log.
    pub fn log_start(&self) -> Line {
        Line::containing(self.program_capacity())
    }

    /// Bytes of all data pages.
    pub fn data_capacity(&self) -> u64 {
        self.data_pages * PAGE_BYTES
    }
}

//! The plan: where every core's log ring and heap are, computed from the configuration in advance.
//!
//! Cores follow one another, or each begins in a bank of its own. Each has its log ring (never written before the run),
//! then its heap: the populated structure and room for the growth that the transactions of the run may need. Volatile
//! data follows, if the computation between transactions accesses any.

use super::base::Base;
use super::initial::InitialContents;
use super::log::{ADDRESS_END, RING_ENTRIES_MIN, entry_bytes};
use super::structure::{Share, Structure};
use super::style::Style;
use super::{WorkloadKind, array, btree, chain_queue, hash, item, linked_list, queue, rbtree};
use crate::config::{self, BankRegions, ByteSize, ItemMetadata};
use crate::kernel::ConfigError;
use crate::message::{LINE_BYTES, Omission, PAGE_BYTES, ProgramForm, ProgramLayout};
use std::ops::Range;
use std::sync::Arc;

/// Largest transaction in bytes: sixteen pages. Above that, a log entry would not fit into a ring of a sensible size.
const TX_SIZE_MAX: u64 = 64 << 10;
/// Fewest transactions' worth of data in a core's part of the footprint: a leaf of the B-tree.
const ITEMS_MIN: u64 = 8;
/// Fewest transactions that get room for growth. Room is a power of two, so that runs with slightly different numbers
/// of transactions still start from the same memory.
const ROOM_MIN: u64 = 256;

/// What the programs do.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadConfig {
    /// The data structure.
    pub kind: WorkloadKind,
    /// Bytes of user data in a transaction: a multiple of 64.
    pub tx_size: u64,
    /// Bytes of the populated structures, in total over all cores.
    pub footprint: u64,
    /// Number of cores; each runs one program instance.
    pub cores: u16,
    /// Seed of contents and of operations.
    pub seed: u64,
    /// Transactions that each core runs, including warm-up.
    pub operations_per_core: u64,
    /// What the programs do beside their data structure.
    pub program: config::Program,
    /// The banks that are divided among the cores; `None` if cores follow one another.
    pub banks: Option<BankRegions>,
    /// The program form that the design asks for.
    pub form: ProgramForm,
    /// What the programs leave out; `None` for correct programs.
    pub leave_out: Option<Omission>,
}

impl WorkloadConfig {
    /// The style of the programs' transactions.
    pub(super) fn style(&self) -> Style {
        Style {
            copy_bytes: self.program.copy_bytes as usize,
            log_granularity: self.program.log_granularity,
            log_stores: self.program.log_stores,
            form: self.form,
            leave_out: self.leave_out,
        }
    }
}

/// Everything that the populated memory depends on: plans with equal keys may share one [`Base`]. The program's
/// form and what its log covers are not included, so that designs are compared on the same memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BaseKey {
    kind: WorkloadKind,
    tx_size: u64,
    footprint: u64,
    cores: u16,
    seed: u64,
    room: u64,
    log_ring: u64,
    volatile: u64,
    metadata: ItemMetadata,
    banks: Option<BankRegions>,
}

/// Where the log rings, heaps and structures of all cores are.
#[derive(Clone)]
pub struct Plan {
    config: WorkloadConfig,
    key: BaseKey,
    layouts: Vec<ProgramLayout>,
    structures: Vec<Arc<dyn Structure>>,
    log_entry_bytes: u64,
}

impl Plan {
    /// The configuration that the plan was made from.
    pub fn config(&self) -> &WorkloadConfig {
        &self.config
    }

    /// Memory before timing begins. Its bytes depend only on the plan.
    ///
    /// # Errors
    /// The host has too little memory for the footprint.
    pub fn populate(&self) -> Result<Base, ConfigError> {
        let contents: Vec<_> = self.structures.iter().map(|one| Arc::clone(one) as Arc<dyn InitialContents>).collect();
        Base::new(&contents, &self.regions())
    }

    /// Bytes that are populated before timing begins.
    pub fn populated_bytes(&self) -> u64 {
        let populated = self.structures().iter().flat_map(|structure| structure.populated());
        populated.map(|extent| extent.end - extent.start).sum()
    }

    /// What the populated memory depends on.
    pub fn base_key(&self) -> &BaseKey {
        &self.key
    }
    /// The memory layouts of the programs, by core.
    pub fn layouts(&self) -> &[ProgramLayout] {
        &self.layouts
    }
    /// The addresses that the programs have, in whole pages, ascending; adjacent ones are one region.
    fn regions(&self) -> Vec<Range<u64>> {
        let mut regions: Vec<Range<u64>> = Vec::new();
        let parts = |layout: &ProgramLayout| [layout.log.clone(), layout.heap.clone(), layout.volatile.clone()];
        for range in self.layouts.iter().flat_map(parts) {
            match regions.last_mut() {
                Some(before) if before.end == range.start => before.end = range.end,
                _ => regions.push(range),
            }
        }
        regions
    }
    /// Bytes of the largest log entry that a transaction may need.
    pub(super) fn log_entry_bytes(&self) -> u64 {
        self.log_entry_bytes
    }
    pub(super) fn structures(&self) -> &[Arc<dyn Structure>] {
        &self.structures
    }
}

/// Lays out the programs of `config` in `max_bytes` bytes of the device.
///
/// # Errors
/// A sentence if the programs do not fit.
pub fn plan(config: &WorkloadConfig, max_bytes: u64) -> Result<Plan, ConfigError> {
    check_bounds(config, max_bytes)?;
    let room = config.operations_per_core.max(ROOM_MIN).checked_next_power_of_two();
    let too_large = |needed: u128| {
        let needed =
            u64::try_from(needed).map_or("more than 2^64 bytes".to_owned(), |bytes| ByteSize(bytes).to_string());
        ConfigError(format!(
            "footprint of {} with room for {} transactions on each of {} cores needs {needed}, more than the {} that the \
             device has for data",
            ByteSize(config.footprint),
            config.operations_per_core,
            config.cores,
            ByteSize(max_bytes),
        ))
    };
    // Structures may need room for a few items per transaction; beyond this bound sizes could overflow.
    let room = room.filter(|room| *room <= 1 << 40).ok_or_else(|| too_large(u128::MAX))?;
    let bytes = (config.footprint / u64::from(config.cores)) & !(PAGE_BYTES - 1);
    let has_log = config.kind != WorkloadKind::LinkedList;
    let metadata = config.program.item_metadata;
    let build = |start, core: u16| {
        let seed = item::nth(config.seed, u64::from(core));
        structure(config.kind, Share { start, bytes, tx_size: config.tx_size, room, seed, metadata })
    };

    // Room for whole lines even if words are logged, so that the layout does not depend on it.
    let bound = build(0, 0).write_bound().in_lines();
    let entry = entry_bytes(bound.ranges, bound.bytes);
    let taken = entry.next_multiple_of(config.program.log_placement.unit());
    let log_ring =
        if has_log { config.program.log_ring.0.max(RING_ENTRIES_MIN * taken).next_multiple_of(PAGE_BYTES) } else { 0 };
    let volatile = config.program.volatile_bytes().next_multiple_of(PAGE_BYTES);
    let sizes = Sizes { log_ring, heap: build(0, 0).end().next_multiple_of(PAGE_BYTES), volatile };
    let end = u128::from(log_ring + sizes.heap + volatile) * u128::from(config.cores);
    if end > u128::from(max_bytes.min(ADDRESS_END)) {
        return Err(too_large(end));
    }
    let layouts = match config.banks {
        Some(banks) => in_own_banks(config.cores, banks, sizes, max_bytes.min(ADDRESS_END))?,
        None => one_after_another(config.cores, sizes),
    };
    let structures = layouts.iter().map(|layout| build(layout.heap.start, layout.core)).collect();
    let key = BaseKey {
        kind: config.kind,
        tx_size: config.tx_size,
        footprint: config.footprint,
        cores: config.cores,
        seed: config.seed,
        room,
        log_ring,
        volatile,
        metadata,
        banks: config.banks,
    };
    Ok(Plan { config: config.clone(), key, layouts, structures, log_entry_bytes: entry })
}

/// Bytes of the parts of a program's memory, in whole pages.
#[derive(Clone, Copy)]
struct Sizes {
    log_ring: u64,
    heap: u64,
    volatile: u64,
}

impl Sizes {
    /// The layout of `core` with its log ring at `log` and its heap at `heap`.
    fn at(self, core: u16, log: u64, heap: u64) -> ProgramLayout {
        let end = heap + self.heap;
        ProgramLayout { core, log: log..log + self.log_ring, heap: heap..end, volatile: end..end + self.volatile }
    }
}

/// The layouts of `cores` cores that follow one another.
fn one_after_another(cores: u16, sizes: Sizes) -> Vec<ProgramLayout> {
    let stride = sizes.log_ring + sizes.heap + sizes.volatile;
    let starts = (0..cores).map(|core| (core, u64::from(core) * stride));
    starts.map(|(core, start)| sizes.at(core, start, start + sizes.log_ring)).collect()
}

/// The layouts of `cores` cores if each has banks of its own. The heap begins with a core's second bank, or after the log
/// ring if the core has one bank or the machine wants them together.
fn in_own_banks(
    cores: u16,
    BankRegions { bytes, banks, log_apart }: BankRegions,
    sizes: Sizes,
    max_bytes: u64,
) -> Result<Vec<ProgramLayout>, ConfigError> {
    let Sizes { log_ring, heap, volatile } = sizes;
    let each = banks / u64::from(cores);
    let region = if log_apart { "own-banks" } else { "own-banks-contiguous" };
    let refuse = |why: String| Err(ConfigError(format!("program.core_region = {region}: {why}")));
    if each == 0 {
        return refuse(format!("{cores} cores need a bank each, and {banks} banks hold data"));
    }
    let after_log = if log_apart && each > 1 { log_ring.next_multiple_of(bytes) } else { log_ring };
    let starts = (0..cores).map(|core| (core, u64::from(core) * banks / u64::from(cores) * bytes));
    let layouts: Vec<_> = starts.map(|(core, start)| sizes.at(core, start, start + after_log)).collect();
    let ends = layouts.iter().skip(1).map(|next| next.log.start).chain([max_bytes]);
    if layouts.iter().zip(ends).any(|(layout, end)| layout.volatile.end > end) {
        return refuse(format!(
            "a log ring of {} and a heap of {} do not fit into the {each} banks of {} that each of {cores} cores has",
            ByteSize(log_ring),
            ByteSize(heap + volatile),
            ByteSize(bytes)
        ));
    }
    Ok(layouts)
}

/// Fewest bytes of populated structures for transactions of `tx_size` bytes on `cores` cores, in total over all cores.
pub fn footprint_min(tx_size: u64, cores: u16) -> u64 {
    u64::from(cores) * (ITEMS_MIN * tx_size).next_multiple_of(PAGE_BYTES)
}

fn check_bounds(config: &WorkloadConfig, max_bytes: u64) -> Result<(), ConfigError> {
    let fail = |sentence: String| Err(ConfigError(sentence));
    if config.tx_size == 0 || !config.tx_size.is_multiple_of(LINE_BYTES) || config.tx_size > TX_SIZE_MAX {
        return fail(format!(
            "transaction size {} is not a multiple of 64 from 64 to {TX_SIZE_MAX} bytes",
            config.tx_size
        ));
    }
    if config.cores == 0 {
        return fail("cores must be at least 1, not 0".to_owned());
    }
    if !matches!(config.program.copy_bytes, 8 | 16 | 32 | 64) {
        return fail(format!("program.copy_bytes must be 8, 16, 32 or 64, not {}", config.program.copy_bytes));
    }
    if config.program.log_ring.0 > max_bytes {
        return fail(format!(
            "program.log_ring of {} is larger than the {} that the device has for data",
            config.program.log_ring,
            ByteSize(max_bytes)
        ));
    }
    let smallest = footprint_min(config.tx_size, config.cores);
    if config.footprint < smallest {
        return fail(format!(
            "footprint of {} is too small: {} cores with transactions of {} bytes need at least {}",
            ByteSize(config.footprint),
            config.cores,
            config.tx_size,
            ByteSize(smallest)
        ));
    }
    if config.footprint > max_bytes {
        return fail(format!(
            "footprint of {} is larger than the {} that the device has for data",
            ByteSize(config.footprint),
            ByteSize(max_bytes)
        ));
    }
    Ok(())
}

fn structure(kind: WorkloadKind, share: Share) -> Arc<dyn Structure> {
    match kind {
        WorkloadKind::Array => Arc::new(array::Array::new(share)),
        WorkloadKind::Queue => Arc::new(queue::Queue::new(share)),
        WorkloadKind::Hash => Arc::new(hash::Hash::new(share)),
        WorkloadKind::BTree => Arc::new(btree::BTree::new(share, btree::LeafOrder::Named)),
        WorkloadKind::RbTree => Arc::new(rbtree::RbTree::new(share)),
        WorkloadKind::ChainQueue => Arc::new(chain_queue::ChainQueue::new(share)),
        WorkloadKind::BPlusTree => Arc::new(btree::BTree::new(share, btree::LeafOrder::Sorted)),
        WorkloadKind::LinkedList => Arc::new(linked_list::LinkedList::new(share)),
    }
}

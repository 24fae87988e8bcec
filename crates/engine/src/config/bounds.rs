//! Conditions on a configuration as a whole. The bounds of single values are in `fields`.

use super::excerpt::shown_name;
use super::fields::FIELDS;
use super::program::Program;
use super::{
    AddressMapping, ByteSize, CacheLevel, CoreRegion, CounterPlacement, CounterWrite, Counters, Geometry, Integrity,
    Leveling, LinkDomain, LinkKind, MacPlacement, Machine, ModuleKind, ProgrammedBits, RunConfig, SchedulingPolicy,
    WriteAcknowledged, WriteInterruption,
};
use crate::kernel::ConfigError;
use crate::message::LINE_BYTES;

/// Largest user data of a transaction, in bytes. A program does more in several transactions.
pub const TX_SIZE_MAX: u64 = 64 << 10;
/// Most transactions per core: a run of more would not end within a year.
pub const TRANSACTIONS_MAX: u64 = 1_000_000_000;
/// Most cores: the cores that share a line are the bits of a 64-bit word.
pub const CORES_MAX: u16 = 64;
/// Largest total size of a cache that grows with the number of cores, in bytes.
const SHARED_CACHE_MAX: u64 = 4 << 30;
/// Most banks: bank numbers and their count have 16 bits.
pub const BANKS_MAX: u64 = u16::MAX as u64;
/// Picoseconds in a microsecond. Clock periods are whole picoseconds.
const PS_PER_US: u32 = 1_000_000;

/// Checks every value of `machine`, and the values against each other.
///
/// # Errors
/// One sentence about the first bad value.
pub fn validate(machine: &Machine) -> Result<(), ConfigError> {
    check(machine).map_err(|what| ConfigError(format!("machine '{}': {what}", shown_name(&machine.name))))
}

/// Checks `run` and its machine.
///
/// # Errors
/// One sentence about the first bad value.
pub fn validate_run(run: &RunConfig) -> Result<(), ConfigError> {
    validate(&run.machine)?;
    check_run(run).map_err(ConfigError)
}

fn check(machine: &Machine) -> Result<(), String> {
    let table = toml::Table::try_from(machine).map_err(|error| error.to_string())?;
    for field in FIELDS.iter() {
        let value = match field.path.split_once('.') {
            Some((section, key)) => &table[section][key],
            None => &table[&field.path],
        };
        field.check(value)?;
    }
    let Machine { core, l1, l2, l3, controller, .. } = machine;
    clock("core.clock_mhz", core.clock_mhz)?;
    for (name, CacheLevel { size, ways, .. }) in [("l1", l1), ("l2", l2), ("l3", l3)] {
        sets(&format!("{name}.size"), *size, &format!("{name}.ways"), *ways)?;
    }
    if l1.shared {
        return Err("l1.shared = true must be false, because every core has a first level of its own".into());
    }
    let ways = controller.counter_cache_ways;
    sets("controller.counter_cache_size", controller.counter_cache_size, "controller.counter_cache_ways", ways)?;
    for (queue, low, high, entries) in [
        ("wpq", controller.wpq_low_watermark, controller.wpq_high_watermark, controller.wpq_entries),
        (
            "counter_wpq",
            controller.counter_wpq_low_watermark,
            controller.counter_wpq_high_watermark,
            controller.counter_wpq_entries,
        ),
    ] {
        if low >= high {
            return Err(format!(
                "controller.{queue}_low_watermark = {low} must be below controller.{queue}_high_watermark = {high}, \
                 because draining goes from the one to the other"
            ));
        }
        if high > entries {
            return Err(format!(
                "controller.{queue}_high_watermark = {high} must be at most controller.{queue}_entries = {entries}, \
                 because a queue that is never that full would never drain"
            ));
        }
    }
    persist_buffer(machine)?;
    counters(machine)?;
    integrity(machine)?;
    let Program { think_load_percent: loads, think_store_percent: stores, .. } = machine.program;
    if loads + stores > 100 {
        return Err(format!(
            "program.think_load_percent = {loads} and program.think_store_percent = {stores} must be at most 100 \
             together, because an instruction is a load, a store or neither"
        ));
    }
    acknowledgement(machine)?;
    device_as_a_whole(machine)?;
    modules(machine)?;
    dram(machine)?;
    link(machine)?;
    wear(machine)
}

fn counters(machine: &Machine) -> Result<(), String> {
    let counters = &machine.counters;
    let (lines, minor, most) = (counters.block_lines, counters.minor_bits, counters.minor_bits_max());
    if minor <= most {
        return Ok(());
    }
    Err(format!(
        "counters.minor_bits = {minor} must be at most {most} with counters.block_lines = {lines}, because a counter block has {} bits \
         for the minors of its lines",
        Counters::MINORS_BITS
    ))
}

fn integrity(machine: &Machine) -> Result<(), String> {
    let Integrity { mac_bits, mac_placement, metadata_cache_size, metadata_cache_ways, .. } = machine.integrity;
    let (size, ways) = ("integrity.metadata_cache_size", "integrity.metadata_cache_ways");
    sets(size, metadata_cache_size, ways, metadata_cache_ways)?;
    if mac_placement == MacPlacement::Ecc && mac_bits != 56 {
        return Err(format!(
            "integrity.mac_bits = {mac_bits} must be 56 with integrity.mac_placement = ecc, because the other 8 of a \
             line's 64 check bits correct errors"
        ));
    }
    Ok(())
}

/// The policies that write without being pressed, so that a fence that waits for the media ends.
fn acknowledgement(machine: &Machine) -> Result<(), String> {
    let controller = &machine.controller;
    let writes_by_itself = match controller.policy {
        SchedulingPolicy::Continuous => controller.wpq_issue_when_idle,
        SchedulingPolicy::NvmainFrfcfs | SchedulingPolicy::Dramsim2 | SchedulingPolicy::Ramulator2 => true,
        SchedulingPolicy::NvmainFrfcfsWqf | SchedulingPolicy::Gem5 => false,
    };
    if controller.write_acknowledged == WriteAcknowledged::Written && !writes_by_itself {
        return Err("controller.write_acknowledged = written needs a controller.policy that writes whenever it can \
                    (continuous with controller.wpq_issue_when_idle, nvmain-frfcfs, dramsim2 or ramulator2), because a fence would \
                    wait for writes that wait for more of them"
            .into());
    }
    Ok(())
}

fn device_as_a_whole(machine: &Machine) -> Result<(), String> {
    let device = &machine.device;
    let banks = u64::from(device.channels) * u64::from(device.ranks) * u64::from(device.banks_per_rank);
    if banks > BANKS_MAX {
        return Err(format!(
            "device.channels x device.ranks x device.banks_per_rank = {banks} must be at most {BANKS_MAX}, because a \
             bank's number has 16 bits"
        ));
    }
    if device.mapping == AddressMapping::PageXor && !banks.is_power_of_two() {
        return Err(format!(
            "device.mapping = page-xor needs a power of two of banks, not {banks} (device.channels x device.ranks x \
             device.banks_per_rank)"
        ));
    }
    let region = match machine.program.core_region {
        CoreRegion::Packed => None,
        CoreRegion::OwnBanks => Some("own-banks"),
        CoreRegion::OwnBanksContiguous => Some("own-banks-contiguous"),
    };
    if let Some(region) = region.filter(|_| device.mapping != AddressMapping::BankContiguous) {
        return Err(format!(
            "program.core_region = {region} needs device.mapping = bank-contiguous, because with every other mapping \
             consecutive addresses lie in several banks; program.core_region = packed goes with each of them"
        ));
    }
    let of_page =
        matches!(machine.controller.counter_placement, CounterPlacement::SameBank | CounterPlacement::CrossBank);
    if device.mapping.divides_pages() && of_page {
        let lines = device.mapping == AddressMapping::LineInterleaved;
        let mapping = if lines { "line-interleaved" } else { "segment-interleaved" };
        return Err(format!(
            "device.mapping = {mapping} needs controller.counter_placement = single-bank or interleaved, because the lines of a \
             counter block lie in several banks"
        ));
    }
    let segments = u64::from(device.row_segments);
    if !(device.row.0 / LINE_BYTES).is_multiple_of(segments) {
        return Err(format!(
            "device.row_segments = {segments} must divide the {} lines of device.row = {}",
            device.row.0 / LINE_BYTES,
            device.row
        ));
    }
    let stripe = banks * device.row.0;
    if !device.capacity.0.is_multiple_of(stripe) {
        return Err(format!(
            "device.capacity = {} must be a multiple of {}, because each of the {banks} banks has whole rows of {}",
            device.capacity,
            ByteSize(stripe),
            device.row
        ));
    }
    if Geometry::of(machine).data_pages == 0 {
        return Err(format!(
            "device.capacity = {} leaves no page for data beside the rows of {} that the counters of {banks} banks take",
            device.capacity, device.row
        ));
    }
    if Geometry::of(machine).program_capacity() == 0 {
        return Err(format!(
            "log.buckets = {} with log.bucket_records = {} leave no page for programs in device.capacity = {}",
            machine.log.buckets, machine.log.bucket_records, device.capacity
        ));
    }
    Ok(())
}

/// What goes with modules, which schedule their media themselves.
fn modules(machine: &Machine) -> Result<(), String> {
    let Machine { module, device, controller, link, wear, .. } = machine;
    let ByteSize(line) = module.media_line;
    if !line.is_power_of_two() {
        return Err(format!(
            "module.media_line = {} must be a power of two, because a page has whole media lines",
            module.media_line
        ));
    }
    if !module.buffer.0.is_multiple_of(line) {
        return Err(format!(
            "module.buffer = {} must be a multiple of module.media_line = {}, because a buffer holds whole media lines",
            module.buffer, module.media_line
        ));
    }
    let (kind, (needed, policy), why) = match module.kind {
        ModuleKind::Buffered => (
            "buffered",
            ("controller.policy = continuous", SchedulingPolicy::Continuous),
            "the other policies schedule rows of banks",
        ),
        ModuleKind::Transactional => (
            "transactional",
            ("controller.policy = gem5", SchedulingPolicy::Gem5),
            "the other policies do not wait for what modules have read",
        ),
        ModuleKind::None | ModuleKind::Dram => return Ok(()),
    };
    let hides = module.kind == ModuleKind::Buffered && link.kind == LinkKind::None;
    for (path, refused, why) in [
        ("wear.leveling = none", wear.leveling != Leveling::None, "modules move lines themselves"),
        (
            "device.write_interruption = none",
            device.write_interruption != WriteInterruption::None,
            "the controller does not see what the media do",
        ),
        (
            "controller.write_acknowledged = queued",
            hides && controller.write_acknowledged != WriteAcknowledged::Queued,
            "the controller does not see when the media have programmed a line",
        ),
        (
            "controller.counter_write = line",
            controller.counter_write != CounterWrite::Line,
            "a module takes lines of 64 bytes",
        ),
        (needed, controller.policy != policy, why),
    ] {
        if refused {
            return Err(format!("module.kind = {kind} needs {path}, because {why}"));
        }
    }
    Ok(())
}

/// Room for a line on its way to memory.
fn persist_buffer(machine: &Machine) -> Result<(), String> {
    let (watermark, entries) = (machine.eadr.persist_buffer_watermark, machine.eadr.persist_buffer_entries);
    if watermark >= entries {
        return Err(format!(
            "eadr.persist_buffer_watermark = {watermark} must be below eadr.persist_buffer_entries = {entries}, because a \
             store that waits for an entry needs a line on its way to memory"
        ));
    }
    Ok(())
}

/// What goes with a link.
fn link(machine: &Machine) -> Result<(), String> {
    let Machine { module, controller, link, .. } = machine;
    if link.kind == LinkKind::None {
        return Ok(());
    }
    if module.kind != ModuleKind::Buffered {
        return Err("link.kind = cxl needs module.kind = buffered, because the controller cannot schedule what is behind a link"
            .into());
    }
    if link.domain == LinkDomain::Device && controller.write_acknowledged != WriteAcknowledged::Written {
        return Err(
            "link.domain = device needs controller.write_acknowledged = written, because what only the queue has is \
                    not durable"
                .into(),
        );
    }
    Ok(())
}

/// What goes with DRAM.
fn dram(machine: &Machine) -> Result<(), String> {
    let Machine { module, device, controller, dram, wear, .. } = machine;
    let commanded = controller.policy == SchedulingPolicy::Ramulator2;
    if module.kind != ModuleKind::Dram {
        return if commanded {
            Err("controller.policy = ramulator2 needs module.kind = dram, because it sends the commands of DRAM".into())
        } else {
            Ok(())
        };
    }
    for (path, refused, why) in [
        ("controller.policy = ramulator2", !commanded, "the other policies do not send its commands"),
        ("wear.leveling = none", wear.leveling != Leveling::None, "it does not wear out"),
        (
            "device.write_interruption = none",
            device.write_interruption != WriteInterruption::None,
            "its writes are over with their data",
        ),
        ("device.row_segments = 1", device.row_segments != 1, "it opens whole rows"),
        ("controller.counter_write = line", controller.counter_write != CounterWrite::Line, "a burst is a line"),
    ] {
        if refused {
            return Err(format!("module.kind = dram needs {path}, because {why}"));
        }
    }
    if !device.banks_per_rank.is_multiple_of(dram.bank_groups) {
        return Err(format!(
            "dram.bank_groups = {} must divide device.banks_per_rank = {}, because each group has as many banks",
            dram.bank_groups, device.banks_per_rank
        ));
    }
    if dram.t_rfc_ns >= dram.t_refi_ns {
        return Err(format!(
            "dram.t_rfc_ns = {} must be below dram.t_refi_ns = {}, because something must be served between refreshes",
            dram.t_rfc_ns, dram.t_refi_ns
        ));
    }
    Ok(())
}

fn wear(machine: &Machine) -> Result<(), String> {
    let device = &machine.device;
    if device.write_interruption != WriteInterruption::None
        && machine.controller.write_acknowledged == WriteAcknowledged::Written
    {
        return Err(
            "device.write_interruption = cancel or pause needs controller.write_acknowledged = queued, because \
                    nobody knows when a write will be done that reads may stop"
                .into(),
        );
    }
    if device.programmed_bits == ProgrammedBits::Changed && !machine.engine.bytes {
        return Err("device.programmed_bits = changed needs engine.bytes = true, because only bytes change".into());
    }
    if !machine.wear.registers_durable && machine.wear.leveling == Leveling::None {
        return Err(
            "wear.registers_durable = false needs wear.leveling = start-gap, because only that has registers".into()
        );
    }
    let regions = u64::from(machine.wear.regions_per_bank);
    let lines_of_bank = device.capacity.0 / LINE_BYTES / Geometry::of(machine).banks;
    if regions > lines_of_bank {
        return Err(format!(
            "wear.regions_per_bank = {regions} must be at most {lines_of_bank}, the lines of a bank of device.capacity = \
             {}",
            device.capacity
        ));
    }
    Ok(())
}

fn clock(path: &str, mhz: u32) -> Result<(), String> {
    if PS_PER_US.is_multiple_of(mhz) {
        return Ok(());
    }
    Err(format!("{path} = {mhz} must divide {PS_PER_US}, because a cycle is a whole number of picoseconds"))
}

fn sets(size_path: &str, size: ByteSize, ways_path: &str, ways: u32) -> Result<(), String> {
    let set = u64::from(ways) * LINE_BYTES;
    if size.0.is_multiple_of(set) && (size.0 / set).is_power_of_two() {
        return Ok(());
    }
    Err(format!(
        "{size_path} = {size} must be a power of two times the {} of a set, because {ways_path} = {ways} and address \
         bits choose the set",
        ByteSize(set)
    ))
}

fn check_run(run: &RunConfig) -> Result<(), String> {
    let RunConfig { tx_size, transactions, warmup, cores, footprint, machine, .. } = run;
    if !(LINE_BYTES..=TX_SIZE_MAX).contains(tx_size) || !tx_size.is_multiple_of(LINE_BYTES) {
        return Err(format!(
            "tx_size = {tx_size} must be a multiple of 64 from 64 to {TX_SIZE_MAX} bytes, because memory moves in \
             lines of 64 bytes"
        ));
    }
    if !(1..=TRANSACTIONS_MAX).contains(transactions) {
        return Err(format!("transactions = {transactions} must be from 1 to {TRANSACTIONS_MAX}"));
    }
    if *warmup > TRANSACTIONS_MAX {
        return Err(format!("warmup = {warmup} must be from 0 to {TRANSACTIONS_MAX} transactions"));
    }
    if !(1..=CORES_MAX).contains(cores) {
        return Err(format!("cores = {cores} must be from 1 to {CORES_MAX}"));
    }
    let Machine { l2, l3, controller, .. } = machine;
    for (path, size, per_core) in [
        ("l2.size", l2.size, l2.size_per_core && l2.shared),
        ("l3.size", l3.size, l3.size_per_core && l3.shared),
        ("controller.counter_cache_size", controller.counter_cache_size, controller.counter_cache_size_per_core),
    ] {
        if per_core && size.0 * u64::from(*cores) > SHARED_CACHE_MAX {
            return Err(format!(
                "{path} = {size} for each of {cores} cores must be at most {} together, because the host holds them all",
                ByteSize(SHARED_CACHE_MAX)
            ));
        }
    }
    if *footprint == 0 || !footprint.is_multiple_of(LINE_BYTES) {
        return Err(format!("footprint = {footprint} must be a multiple of 64 bytes above zero"));
    }
    let capacity = Geometry::of(machine).program_capacity();
    let ring = machine.program.log_ring;
    let needed = footprint.saturating_add(u64::from(*cores) * ring.0);
    if needed > capacity {
        return Err(format!(
            "footprint = {} and {cores} log rings of {ring} do not fit into the {capacity} bytes that device.capacity \
             = {} leaves for programs",
            ByteSize(*footprint),
            machine.device.capacity
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::load_machine;

    fn refusal(sets: &[&str]) -> Option<String> {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        load_machine("secpm", &sets).err().map(|error| error.0)
    }

    #[test]
    fn loads_and_stores_are_at_most_all_instructions() {
        let think = |loads: u32, stores: u32| {
            let [loads, stores] =
                [("load", loads), ("store", stores)].map(|(what, n)| format!("program.think_{what}_percent={n}"));
            refusal(&[&loads, &stores])
        };
        assert_eq!([think(0, 0), think(60, 40), think(100, 0), think(0, 100)], [const { None }; 4]);
        assert_eq!(
            think(60, 41).as_deref(),
            Some(
                "machine 'secpm': program.think_load_percent = 60 and program.think_store_percent = 41 must be at most \
                 100 together, because an instruction is a load, a store or neither"
            )
        );
    }

    #[test]
    fn only_bytes_change_and_a_region_has_a_line() {
        assert_eq!(refusal(&["device.programmed_bits=changed"]), None);
        assert_eq!(
            refusal(&["device.programmed_bits=changed", "engine.bytes=false"]).as_deref(),
            Some(
                "machine 'secpm': device.programmed_bits = changed needs engine.bytes = true, because only bytes change"
            )
        );
        let regions = ["device.capacity=2MiB", "log.buckets=1", "wear.regions_per_bank=65536"];
        assert_eq!(
            refusal(&regions).as_deref(),
            Some(
                "machine 'secpm': wear.regions_per_bank = 65536 must be at most 2048, the lines of a bank of \
                 device.capacity = 2MiB"
            )
        );
    }

    #[test]
    fn banks_are_divided_only_where_a_bank_is_one_range_of_addresses() {
        let sentence = "machine 'secpm': program.core_region = own-banks needs device.mapping = bank-contiguous, \
                        because with every other mapping consecutive addresses lie in several banks; \
                        program.core_region = packed goes with each of them";
        for mapping in ["page-interleaved", "page-xor"] {
            let mapping = format!("device.mapping={mapping}");
            assert_eq!(refusal(&["program.core_region=own-banks", &mapping]).as_deref(), Some(sentence));
            let contiguous = sentence.replace("own-banks", "own-banks-contiguous");
            assert_eq!(refusal(&["program.core_region=own-banks-contiguous", &mapping]), Some(contiguous));
        }
        for region in ["program.core_region=own-banks", "program.core_region=own-banks-contiguous"] {
            assert_eq!(refusal(&[region, "device.mapping=bank-contiguous"]), None);
        }
        assert_eq!(refusal(&["device.mapping=bank-contiguous"]), None);
    }
}

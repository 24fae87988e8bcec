//! The bytes on the chip that must survive a power failure, item by item: registers, and what a battery or the ADR domain
//! must be able to drain.

use super::model::Memory;
use crate::assembly::memory_map;
use crate::cache;
use crate::config::{GlobalRegister, Machine};
use crate::message::LINE_BYTES;
use crate::parts::{Choice, Design, Domain, GroupCommit, PersistenceDomain, RegisterName, TreeRoots, WriteQueues};
use serde::Serialize;
use strum::VariantArray;

/// Bytes of the address of a line.
const ADDRESS: u64 = 8;

/// What keeps something on the chip over a power failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "KeptBy")]
pub enum Kept {
    /// The ADR domain drains it to the device.
    Adr,
    /// It is in non-volatile cells.
    NonVolatile,
    /// A battery drains the caches.
    Battery,
}

/// Something on the chip that survives a power failure.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct OnChip {
    /// What it is.
    pub item: String,
    /// What keeps it.
    pub kept: Kept,
    /// Its bytes.
    pub bytes: u64,
}

/// What of `design` on `machine` survives on the chip of `cores` cores.
pub fn on_chip(design: &Design, machine: &Machine, cores: u16) -> Vec<OnChip> {
    let mut items = queues(design, machine);
    items.extend(RegisterName::VARIANTS.iter().filter_map(|&name| {
        let roots = if name == RegisterName::IntegrityRoot { forest_bytes(design, machine) } else { None };
        let bytes = roots.unwrap_or_else(|| register_bytes(name, machine));
        let kept = kept(design.registers.domain(name), machine)?;
        (bytes > 0).then(|| OnChip { item: name.name().replace('-', " "), kept, bytes })
    }));
    if let PersistenceDomain::PersistBuffers { .. } = design.domain {
        let slots = memory_map::drained_slots(machine, cores, design);
        items.push(OnChip {
            item: "persist buffers".into(),
            kept: Kept::Battery,
            bytes: slots * (LINE_BYTES + ADDRESS),
        });
    }
    if design.caches_persist() {
        let slots = cache::data_slots(machine, cores, design.cache_pads);
        items.push(OnChip { item: "caches".into(), kept: Kept::Battery, bytes: slots * (LINE_BYTES + ADDRESS) });
        if design.has_counter_cache() {
            let config = &machine.controller;
            let caches = if config.counter_cache_size_per_core { u64::from(cores) } else { 1 };
            let blocks = config.counter_cache_size.0 * caches / LINE_BYTES;
            let bytes = blocks * (LINE_BYTES + ADDRESS);
            items.push(OnChip { item: "counter cache".into(), kept: Kept::Battery, bytes });
        }
        let [_, separate] = Memory::of(design, machine).slots;
        if design.integrity.is_some() && separate > 0 {
            let bytes = separate * (LINE_BYTES + ADDRESS);
            items.push(OnChip { item: "cache of MACs and nodes".into(), kept: Kept::Battery, bytes });
        }
    }
    items
}

/// Bytes of the roots of a forest, each with its place; `None` if there is one root.
fn forest_bytes(design: &Design, machine: &Machine) -> Option<u64> {
    let several = design.integrity?.tree?.roots != TreeRoots::One;
    several.then(|| u64::from(machine.integrity.forest_roots) * (LINE_BYTES + ADDRESS))
}

/// The write pending queue, and the registers beside it that hold what of one write finds no entry: its counter block, its
/// line of MACs, the nodes that persist with it, and the lines of the shadow table that name the block and its nodes, or what leaves
/// the ring of partial updates.
fn queues(design: &Design, machine: &Machine) -> Vec<OnChip> {
    let layout = design.media_layout(machine);
    let config = &machine.controller;
    let queue =
        |item: &str, lines: u64, bytes: u64| OnChip { item: item.into(), kept: Kept::Adr, bytes: lines * bytes };
    let line = LINE_BYTES + ADDRESS;
    let memory = Memory::of(design, machine);
    // Lines with partial updates are entries, too: a register has them.
    let combining = memory.ring.map_or(0, |ring| ring.on_chip as u32);
    let entries = design.minor_unit().map_or(config.wpq_entries - combining, |unit| unit.entries(config.wpq_entries));
    let mut items = vec![queue("write pending queue", u64::from(entries), layout.transfer_bytes() + ADDRESS)];
    if design.encryption.is_some_and(|parts| parts.queues == WriteQueues::DataAndCounter) {
        items.push(queue("counter write queue", u64::from(config.counter_wpq_entries), line));
    }
    if design.integrity.is_some_and(|integrity| integrity.commit == GroupCommit::Registers) {
        // A name for the block and each node; or what is evicted at each level, with its entry or its line of bits.
        let levels = memory.tree.map_or(0, |tree| u64::from(tree.top()));
        let evictions = memory.restores_caches();
        let table = if evictions { 2 * levels } else { u64::from(memory.has_table) * levels };
        let macs = u64::from(memory.macs.is_some_and(|macs| !macs.beside()));
        // A line of the ring, and the blocks that what leaves it is written to.
        let ring = memory.ring.map_or(0, |ring| 1 + (1 + macs) * ring.in_line() as u64);
        let lines = 1 + macs + u64::from(memory.persisted_levels) + table + ring;
        items.push(OnChip { item: "registers beside the queue".into(), kept: Kept::NonVolatile, bytes: lines * line });
    }
    items
}

/// What keeps a register of this domain; `None` if it is lost or does not exist.
fn kept(domain: Domain, machine: &Machine) -> Option<Kept> {
    match domain {
        Domain::Absent | Domain::Volatile => None,
        Domain::Adr => Some(Kept::Adr),
        Domain::Configured => match machine.counters.global_register {
            GlobalRegister::Adr => Some(Kept::Adr),
            GlobalRegister::Volatile | GlobalRegister::MaxScan => None,
        },
        Domain::NonVolatile => Some(Kept::NonVolatile),
    }
}

/// Bytes of all registers of this name.
fn register_bytes(name: RegisterName, machine: &Machine) -> u64 {
    let log = &machine.log;
    match name {
        // A line, its counter block and its address, beside each circuit.
        RegisterName::StagingRegister => u64::from(machine.controller.aes_units) * (2 * LINE_BYTES + ADDRESS),
        // Page number, old major counter and done bits (secpm section 3.5).
        RegisterName::ReencryptionStatus => 4 + 8 + u64::from(machine.counters.block_lines) / 8,
        RegisterName::GlobalCounter
        | RegisterName::IncrCounter
        | RegisterName::BootCounter
        | RegisterName::ShadowConsumed => 8,
        // For each bucket, its transaction and how many of its headers have persisted.
        RegisterName::LogMetadata => {
            u64::from(log.buckets) * (bytes_for(log.transactions) + bytes_for(log.bucket_records))
        }
        // Two blocks of AES for each transaction.
        RegisterName::RecentCiphertext => u64::from(log.transactions) * 2 * 16,
        RegisterName::ShadowRoot | RegisterName::IntegrityRoot | RegisterName::TableRoot => LINE_BYTES,
        // 16 lines, each with its number (STAR).
        RegisterName::BitLines => 16 * (LINE_BYTES + ADDRESS),
        // With their places in the ring. They are entries that the write pending queue does not have.
        RegisterName::UpdateLines => u64::from(machine.integrity.update_lines) * (LINE_BYTES + ADDRESS),
    }
}

/// Whole bytes that hold a number from 0 to `largest`.
fn bytes_for(largest: u32) -> u64 {
    u64::from((u32::BITS - largest.leading_zeros()).div_ceil(8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Variant, preset};
    use crate::design::find;

    fn register(name: RegisterName, paper: &str) -> u64 {
        register_bytes(name, &preset(paper).unwrap())
    }

    fn survives(design: &str, item: &str, paper: &str) -> u64 {
        let items = on_chip(&find(design, Variant::Published).unwrap(), &preset(paper).unwrap(), 1);
        items.into_iter().find(|kept| kept.item == item).unwrap().bytes
    }

    /// What papers give the bytes of, as it is here on their machines.
    fn here() -> [(&'static str, u64); 9] {
        let circuits = u64::from(preset("secpm").unwrap().controller.aes_units);
        let pads = find("sepencr", Variant::Published).unwrap().cache_pads;
        [
            ("register beside an AES circuit", register(RegisterName::StagingRegister, "secpm") / circuits),
            ("status register of page re-encryption", register(RegisterName::ReencryptionStatus, "secpm")),
            ("data write queue", survives("fca", "write pending queue", "counter-atomicity")),
            ("counter write queue", survives("fca", "counter write queue", "counter-atomicity")),
            ("log metadata registers", register(RegisterName::LogMetadata, "easy-pm")),
            ("recent-ciphertext registers", register(RegisterName::RecentCiphertext, "easy-pm")),
            ("incr-counter", register(RegisterName::IncrCounter, "sepencr")),
            ("counter of the cache pads", register(RegisterName::BootCounter, "sepencr")),
            ("pads in the caches, eight cores", LINE_BYTES * cache::data_slots(&preset("sepencr").unwrap(), 8, pads)),
        ]
    }

    /// The page has what a paper states beside what it is here, and a reason where the two differ.
    #[test]
    fn page_compares_stated_bytes_with_those_that_are_here() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/recovery.md")).unwrap();
        let (_, rest) =
            page.split_once("| what | paper | bytes, stated | bytes here | why |\n|---|---|---|---|---|\n").unwrap();
        let (table, _) = rest.split_once("\n\n").unwrap();
        let mut shown = Vec::new();
        for row in table.lines() {
            let [_, what, _, stated, here, why, _] = row.split('|').map(str::trim).collect::<Vec<_>>()[..] else {
                panic!("{row}")
            };
            let bytes = |cell: &str| cell.replace(',', "").parse::<u64>().unwrap();
            assert_eq!(bytes(stated) == bytes(here), why.is_empty(), "{row}");
            shown.push((what, bytes(here)));
        }
        assert_eq!(shown, here());
    }
}

//! What a battery does when power fails at the worst moment: every line of every cache in the persistence domain is dirty.

use super::model::{Memory, times};
use crate::assembly::memory_map;
use crate::config::Machine;
use crate::controller;
use crate::layout::{LineTree, ShadowRegion};
use crate::message::Line;
use crate::parts::{CounterStore, CrashDrain, Design, DrainPath, ShadowIntegrity};
use crate::recovery::{Lines, Work};

/// What the battery of `design` does for `memory`; `None` without caches that it drains, and for a drain written in Rust.
pub fn work(design: &Design, memory: &Memory) -> Option<Work> {
    let drain = design.drain()?;
    let CrashDrain::Parts(parts) = drain else { return None };
    let slots = memory.dirty_slots;
    let lines =
        ShadowRegion { first: Line(0), slots, memory_lines: memory.lines, macs: memory.shadow.has_macs() }.lines();
    let data = |data: u64| Work { writes: Lines { data, ..Lines::default() }, ..Work::default() };
    let mut work = match parts.path {
        DrainPath::InPlace | DrainPath::InTheClear => data(slots),
        DrainPath::ThroughWritePath => times(memory.line_write(), slots),
        DrainPath::EncryptToShadow => Work { pads: slots, ..data(lines) },
        DrainPath::ToShadow => data(lines),
    };
    if memory.shadow.has_macs() {
        work.macs += slots;
    } else if drain.shadow_integrity() != ShadowIntegrity::None {
        work.hashes += LineTree::hashes(lines);
    }
    if drain.drains_counters() && design.has_counter_cache() {
        work.writes.counter += memory.slots[0].min(memory.blocks());
        work.writes += memory.dirty_metadata();
    }
    Some(work)
}

impl Memory {
    /// The memory of a machine with so many cores, as far as their caches matter to what drains them and restores it.
    pub fn on_cores(self, design: &Design, machine: &Machine, cores: u16) -> Self {
        let store = design.encryption.map_or(CounterStore::Region, |parts| parts.store);
        let (sets, ways) = controller::metadata_shape(machine, store, cores).counters;
        let dirty_slots = memory_map::drained_slots(machine, cores, design);
        Self { dirty_slots, slots: [sets * ways, self.slots[1]], ..self }
    }

    /// The lines of MACs and nodes that can be dirty in their cache: lines of MACs, if there are any, because nodes are few.
    fn dirty_metadata(&self) -> Lines {
        let slots = self.slots[1];
        match (self.macs, self.tree) {
            (Some(macs), _) if !macs.beside() => Lines { mac: slots, ..Lines::default() },
            (_, Some(tree)) => {
                let nodes = (1..tree.top()).map(|level| tree.nodes(level)).sum::<u64>();
                Lines { tree: slots.min(nodes), ..Lines::default() }
            }
            _ => Lines::default(),
        }
    }
}

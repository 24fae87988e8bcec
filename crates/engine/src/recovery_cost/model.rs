//! How much each step of a boot reads, writes and computes, as a function of the size of memory and of the metadata caches:
//! arithmetic alone. `docs/recovery.md` has the argument for each step; the tests hold the figures equal to the counted work
//! of a real boot.

use super::refill::{restore_contents, restore_stale};
use super::ring::{RingLeft, apply_updates};
use crate::assembly::{memory_map, update_ring};
use crate::config::{Geometry, Machine};
use crate::controller;
use crate::layout::{
    Coverage, LOG_RECORD_LINES, LineTree, LogLayout, MacLayout, ShadowRegion, StaleBits, TreePlace, TreeShape,
    UpdateRing,
};
use crate::message::{CounterBlock, LINES_PER_PAGE, Line, MacBlock, MediaLine, MediaOp, TreeNode};
use crate::parts::{CounterStore, Design, RecoveryStep, RestoreInto, ShadowIntegrity, ShadowTable};
use crate::power::{GlobalCounterSurvives, Survival};
use crate::recovery::{Lines, Work};
use serde::Serialize;

/// Entries in a line of the shadow table.
const TABLE_ENTRIES: u64 = 8;

/// A memory with what protects it, as the cost of a boot depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Data lines.
    pub lines: u64,
    /// Lines per counter block.
    pub coverage: Coverage,
    /// Whether each line has a MAC, and where.
    pub macs: Option<MacLayout>,
    /// The tree over counter blocks.
    pub tree: Option<TreeShape>,
    /// Levels of it that persist with each write.
    pub persisted_levels: u8,
    /// Whether a table names what may be behind.
    pub has_table: bool,
    /// Whether a table has the contents of what is newer in the caches, an entry to a line.
    pub has_contents: bool,
    /// Whether these are contents of nodes alone, and counter blocks are named.
    pub names_counters: bool,
    /// The bits that say what is newer in the caches.
    pub stale_bits: Option<StaleBits>,
    /// The ring of partial updates.
    pub ring: Option<UpdateRing>,
    /// Sets of the counter cache, and of the cache of MACs and nodes if it is apart.
    pub sets: u64,
    /// How often a counter is incremented at most until its block persists.
    pub stop_loss: u64,
    /// Slots of the counter cache, and of the cache of MACs and nodes if it is apart.
    pub slots: [u64; 2],
    /// Data slots of the caches whose dirty lines leave them when power fails, and whether they go to a shadow cache.
    pub dirty_slots: u64,
    /// What protects the shadow cache.
    pub shadow: ShadowIntegrity,
    /// Lines of a bucket of the hardware's log that have headers, and that have old bytes; buckets; lines of metadata.
    pub log: Option<Log>,
    /// Whether a boot finds the global counter by reading all counters.
    pub scans_counters: bool,
}

/// The hardware's log, full.
#[derive(Clone, Copy, Debug)]
pub struct Log {
    /// Records in all buckets.
    pub records: u64,
    /// Lines of metadata of buckets.
    pub metadata: u64,
    /// Whether its lines have counters.
    pub counters: bool,
}

impl Memory {
    /// The memory of `machine` with `design`.
    pub fn of(design: &Design, machine: &Machine) -> Self {
        let layout = design.media_layout(machine);
        let config = &machine.integrity;
        let tree = design.integrity.and_then(|integrity| integrity.tree).zip(layout.tree);
        let table = tree.map_or(ShadowTable::None, |(tree, _)| tree.table);
        let store = design.encryption.map_or(CounterStore::Region, |parts| parts.store);
        let caches = controller::metadata_shape(machine, store, 1);
        let global = design.encryption.is_some_and(|parts| parts.scheme(&machine.counters).global());
        let survival = Survival::of(design, machine);
        let log = design.log.map(|log| Log {
            records: u64::from(machine.log.buckets) * u64::from(machine.log.bucket_records),
            metadata: if log.layout == LogLayout::Chains { u64::from(machine.log.buckets) } else { 0 },
            counters: log.layout == LogLayout::Records,
        });
        Self {
            lines: Geometry::of(machine).data_pages * LINES_PER_PAGE,
            coverage: layout.coverage,
            macs: layout.macs,
            tree: layout.tree,
            persisted_levels: tree
                .map_or(0, |(tree, shape)| controller::persisted_levels(config, tree.persistence, shape)),
            has_table: table.names_blocks(),
            has_contents: table.has_contents(),
            names_counters: table.names_counters(),
            stale_bits: layout.tree.filter(|_| table == ShadowTable::StaleBits).map(StaleBits::new),
            ring: update_ring(machine, design),
            sets: caches.sets(),
            stop_loss: u64::from(config.stop_loss),
            slots: [Some(caches.counters), caches.separate].map(|shape| shape.map_or(0, |(sets, ways)| sets * ways)),
            dirty_slots: memory_map::drained_slots(machine, 1, design),
            shadow: design.drain().map_or(ShadowIntegrity::None, |drain| drain.shadow_integrity()),
            log,
            scans_counters: global && survival.global_counter == GlobalCounterSurvives::AsScanned,
        }
    }

    /// Whether a boot restores what was newer in the caches to them.
    pub fn restores_caches(&self) -> bool {
        self.has_contents || self.stale_bits.is_some()
    }

    /// Counter blocks of the memory.
    pub fn blocks(&self) -> u64 {
        (self.lines / self.coverage.lines() as u64).max(1)
    }

    /// The most counter blocks that can be behind: none where a block persists at every increment.
    pub fn behind(&self) -> u64 {
        if self.stop_loss > 1 { self.slots[0].min(self.blocks()) } else { 0 }
    }

    /// Lines of MACs that `lines` neighbouring lines have, apart from the lines themselves.
    pub(super) fn mac_lines(&self, lines: u64) -> u64 {
        self.macs.filter(|macs| !macs.beside()).map_or(0, |macs| lines.div_ceil(macs.coverage.lines() as u64))
    }

    fn table_lines(&self) -> u64 {
        if self.has_table { (self.slots[0] + self.slots[1]).div_ceil(TABLE_ENTRIES) } else { 0 }
    }

    /// What a step costs that writes a line anywhere in memory, in the worst case: nothing of its way to the root has been
    /// verified.
    pub(super) fn line_write(&self) -> Work {
        let nodes = self.tree.map_or(0, |tree| u64::from(tree.top()) - 1);
        let hashes = self.tree.map_or(0, |tree| tree.hashes_of_a_write());
        let mac = self.mac_lines(1);
        Work {
            reads: Lines { counter: 1, mac, tree: nodes, ..Lines::default() },
            writes: Lines { data: 1, counter: 1, mac, tree: nodes, ..Lines::default() },
            macs: u64::from(self.macs.is_some()),
            hashes,
            pads: 1,
            ..Work::default()
        }
    }
}

/// What a power failure has left, as far as the cost of a boot depends on it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct Left {
    /// Counter blocks of which every counter is as far behind its line as can be.
    pub behind: u64,
    /// Counter blocks that the shadow table or the bits list, those that are behind among them.
    pub listed_blocks: u64,
    /// Nodes that the shadow table or the bits list, by level from the first; all of them are behind.
    pub listed_nodes: Vec<u64>,
    /// Lines of the page under re-encryption that are left to do; none if there is no such page.
    pub page_lines: u64,
    /// Lines of bits that are not zero.
    pub bit_lines: u64,
    /// What the ring of partial updates speaks of.
    pub ring: RingLeft,
}

impl Left {
    /// The worst that a power failure can leave of `memory` while no page is being re-encrypted: every slot of the counter
    /// cache holds a block that is as far behind as can be, every slot of the other cache a node that is behind.
    ///
    /// The nodes are those of neighbouring blocks, and so of all levels. How many nodes are listed is what counts: each
    /// takes as many reads and hashes as any other.
    pub fn worst(memory: &Memory) -> Self {
        let behind = memory.behind();
        if !memory.has_table && !memory.restores_caches() {
            return Self { behind, ring: RingLeft::worst(memory), ..Self::default() };
        }
        let listed_blocks = memory.slots[0].min(memory.blocks());
        let listed_nodes = memory.tree.map_or_else(Vec::new, |tree| nodes_of_neighbours(tree, memory.slots[1]));
        let listed = listed_blocks + listed_nodes.iter().sum::<u64>();
        let bit_lines = memory.stale_bits.map_or(0, |bits| bits.most_lines(listed));
        Self { behind, listed_blocks, listed_nodes, bit_lines, ..Self::default() }
    }
}

/// `slots` nodes below the root of `tree`, or all of them, by level from the first: those above neighbouring blocks.
fn nodes_of_neighbours(tree: TreeShape, slots: u64) -> Vec<u64> {
    let shift = tree.arity().trailing_zeros();
    let above =
        |first: u64| (1..tree.top()).map(move |level| first.div_ceil(1 << (shift * u32::from(level - 1)).min(63)));
    let (mut low, mut high) = (0, tree.nodes(1));
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if above(middle).sum::<u64>() <= slots { low = middle } else { high = middle - 1 }
    }
    let mut nodes: Vec<u64> = above(low).collect();
    let mut rest = slots - nodes.iter().sum::<u64>();
    for (level, number) in (1..tree.top()).zip(&mut nodes) {
        let more = rest.min(tree.nodes(level) - *number);
        *number += more;
        rest -= more;
    }
    nodes
}

/// Which parts of memory a sweep goes to, one unit after another. The units of a sweep do not depend on each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Visits {
    /// Counter blocks, `lines` with their lines and MACs.
    Blocks { lines: bool },
    /// Nodes of this level: what is below them if `children`, and the nodes themselves if `itself`.
    Nodes { level: u8, children: bool, itself: bool },
    /// Lines of the shadow table, or of the ring.
    Table,
    /// Lines of MACs.
    Macs,
    /// Data lines, from this one.
    Data { first: Line },
}

/// A part of a step that goes through many units of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sweep {
    /// What it goes through.
    pub visits: Visits,
    /// Number of units.
    pub units: u64,
    /// Whether the units may be anywhere, and not one after another.
    pub scattered: bool,
    /// What all of it takes.
    pub work: Work,
}

impl Sweep {
    /// Units visited one after another.
    pub(super) fn along(visits: Visits, units: u64, work: Work) -> Self {
        Self { visits, units, scattered: false, work }
    }

    /// Units anywhere in memory.
    pub(super) fn scattered(visits: Visits, units: u64, work: Work) -> Self {
        Self { visits, units, scattered: true, work }
    }
}

fn reads(reads: Lines) -> Work {
    Work { reads, ..Work::default() }
}

/// What a boot does before its first step: it may look for the global counter.
pub fn registers(memory: &Memory) -> Vec<Sweep> {
    let blocks = if memory.scans_counters { memory.blocks() } else { 0 };
    let work = reads(Lines { counter: blocks, ..Lines::default() });
    vec![Sweep::along(Visits::Blocks { lines: false }, blocks, work)]
}

/// What `step` does on `memory` after a power failure that has left `left`.
pub fn sweeps(step: &RecoveryStep, memory: &Memory, left: &Left) -> Vec<Sweep> {
    match step {
        RecoveryStep::ResumeReencryption => page(memory, left.page_lines),
        RecoveryStep::UndoHardwareLog => undo(memory),
        RecoveryStep::EncryptPlain => {
            let slots = memory.dirty_slots;
            let each = memory.line_write() + reads(Lines { data: 1, ..Lines::default() });
            vec![Sweep::scattered(Visits::Data { first: Line(0) }, slots, times(each, slots))]
        }
        RecoveryStep::AdvanceBootCounter => Vec::new(),
        RecoveryStep::RestoreShadow { into, .. } => restore_shadow(memory, *into),
        RecoveryStep::RenewCachePads => {
            let work = Work { pads: memory.dirty_slots, ..Work::default() };
            vec![Sweep::along(Visits::Data { first: Line(0) }, memory.dirty_slots, work)]
        }
        RecoveryStep::RecoverCounters => recover_counters(memory, left),
        RecoveryStep::RebuildTree => memory.tree.map_or_else(Vec::new, |tree| rebuild(tree, memory.persisted_levels)),
        RecoveryStep::RestoreContents => restore_contents(memory, left),
        RecoveryStep::RestoreStale => memory.tree.map_or_else(Vec::new, |tree| restore_stale(tree, memory, left)),
        RecoveryStep::ApplyUpdates => apply_updates(memory, &left.ring),
        RecoveryStep::RestoreNodes => {
            memory.tree.map_or_else(Vec::new, |tree| restore_nodes(tree, memory, &left.listed_nodes))
        }
    }
}

pub(super) fn times(work: Work, number: u64) -> Work {
    let lines = |lines: Lines| Lines {
        data: lines.data * number,
        counter: lines.counter * number,
        mac: lines.mac * number,
        tree: lines.tree * number,
        table: lines.table * number,
    };
    Work {
        reads: lines(work.reads),
        writes: lines(work.writes),
        macs: work.macs * number,
        trials: work.trials * number,
        hashes: work.hashes * number,
        pads: work.pads * number,
    }
}

/// The last `left` lines of a page: each is read with its MAC and verified, decrypted, encrypted, and written with its
/// counter, its MAC and all nodes above. The counter block and the way to the root are fetched and verified once.
fn page(memory: &Memory, left: u64) -> Vec<Sweep> {
    let nodes = memory.tree.map_or(0, |tree| u64::from(tree.top()) - 1);
    let way = memory.tree.map_or(0, |tree| u64::from(tree.top()));
    let (once, separate) = (u64::from(left > 0), separate_macs(memory));
    let work = Work {
        reads: Lines { data: left, counter: once, mac: memory.mac_lines(left), tree: once * nodes, table: 0 },
        writes: Lines { data: left, counter: left, mac: separate * left, tree: left * nodes, table: 0 },
        macs: if memory.macs.is_some() { 2 * left } else { 0 },
        trials: 0,
        hashes: way * (once + left),
        pads: 2 * left,
    };
    vec![Sweep::along(Visits::Data { first: Line(0) }, left, work)]
}

/// 1 if MACs are in lines of their own, else 0.
pub(super) fn separate_macs(memory: &Memory) -> u64 {
    u64::from(memory.macs.is_some_and(|macs| !macs.beside()))
}

/// A full log: all headers and old lines are read, and each old line is restored.
fn undo(memory: &Memory) -> Vec<Sweep> {
    let Some(log) = memory.log else { return Vec::new() };
    let old = log.records * LOG_RECORD_LINES as u64;
    let lines = log.metadata + log.records + old;
    let per_block = memory.coverage.lines() as u64;
    let read = Work {
        reads: Lines {
            data: lines,
            counter: if log.counters { lines.div_ceil(per_block) } else { 0 },
            ..Lines::default()
        },
        pads: if log.counters { lines } else { 0 },
        ..Work::default()
    };
    let first = Line(memory.lines.saturating_sub(lines));
    let restored = times(memory.line_write(), old);
    vec![
        Sweep::along(Visits::Data { first }, lines, read),
        Sweep::scattered(Visits::Data { first: Line(0) }, old, restored),
    ]
}

/// All lines of the shadow cache are read with their metadata, compared with the root over them if there is one, and
/// decrypted; into memory, each is then written.
fn restore_shadow(memory: &Memory, into: RestoreInto) -> Vec<Sweep> {
    let slots = memory.dirty_slots;
    let region = ShadowRegion { first: Line(0), slots, memory_lines: memory.lines, macs: memory.shadow.has_macs() };
    let lines = if slots > 0 { region.lines() } else { 0 };
    let hashes = if memory.shadow.has_tree() { LineTree::hashes(lines) } else { 0 };
    let macs = if memory.shadow.has_macs() { slots } else { 0 };
    let read = Work { pads: slots, hashes, macs, ..reads(Lines { data: lines, ..Lines::default() }) };
    let first = Line(memory.lines.saturating_sub(lines));
    let written = match into {
        RestoreInto::Memory => times(memory.line_write(), slots),
        RestoreInto::Caches => Work::default(),
    };
    vec![
        Sweep::along(Visits::Data { first }, lines, read),
        Sweep::scattered(Visits::Data { first: Line(0) }, slots, written),
    ]
}

/// Each counter block is read with its lines and their MACs. A line takes one trial if its counter is right, and one more for
/// each increment that was lost. With a shadow table, only the blocks that it lists are read.
fn recover_counters(memory: &Memory, left: &Left) -> Vec<Sweep> {
    let blocks = if memory.has_table { left.listed_blocks } else { memory.blocks() };
    let writes = Lines { counter: left.behind, ..Lines::default() };
    let work = Work { writes, ..tried(memory, blocks, left.behind) };
    let visits = Visits::Blocks { lines: true };
    if memory.has_table {
        return vec![table(memory), Sweep::scattered(visits, blocks, work)];
    }
    vec![Sweep::along(visits, blocks, work)]
}

/// What it takes to try the counters of so many `blocks`, of which `behind` are as far behind as can be.
pub(super) fn tried(memory: &Memory, blocks: u64, behind: u64) -> Work {
    let per_block = memory.coverage.lines() as u64;
    let trials = blocks * per_block + behind * per_block * (memory.stop_loss - 1);
    let mac = blocks * memory.mac_lines(per_block);
    Work { macs: trials, trials, ..reads(Lines { data: blocks * per_block, counter: blocks, mac, ..Lines::default() }) }
}

/// All of the shadow table.
fn table(memory: &Memory) -> Sweep {
    let lines = memory.table_lines();
    Sweep::along(Visits::Table, lines, reads(Lines { table: lines, ..Lines::default() }))
}

/// So many lines of what `level` of a tree has: counter blocks at level 0, else nodes.
pub(super) fn of_level(level: u8, number: u64) -> Lines {
    Lines::of(TreePlace { level, index: 0 }.media(), number)
}

/// Everything at the highest level that persists is read, or all counter blocks; each node above is computed from what is
/// below it, level by level, and written. The root stays on the chip.
fn rebuild(tree: TreeShape, persisted: u8) -> Vec<Sweep> {
    let level = |level: u8| {
        let (below, nodes) = (tree.nodes(level - 1), tree.nodes(level));
        let children = level - 1 == persisted;
        let work = Work {
            reads: if children { of_level(persisted, below) } else { Lines::default() },
            writes: if level == tree.top() { Lines::default() } else { of_level(level, nodes) },
            hashes: below,
            ..Work::default()
        };
        Sweep::along(Visits::Nodes { level, children, itself: false }, nodes, work)
    };
    (persisted + 1..=tree.top()).map(level).collect()
}

/// Each node that the table lists is computed from its children, compared with what is stored, and written. The root is
/// computed from all of its children.
fn restore_nodes(tree: TreeShape, memory: &Memory, listed: &[u64]) -> Vec<Sweep> {
    let level = |(level, &nodes): (u8, &u64)| {
        // The last node of a level may have fewer children than the others.
        let all = nodes == tree.nodes(level);
        let below = if all { tree.nodes(level - 1) } else { nodes * tree.arity() as u64 };
        let mut read = of_level(level - 1, below);
        read += of_level(level, nodes);
        let work = Work { reads: read, writes: of_level(level, nodes), hashes: below, ..Work::default() };
        Sweep::scattered(Visits::Nodes { level, children: true, itself: true }, nodes, work)
    };
    let top = tree.top();
    let below = tree.nodes(top - 1);
    let root = Work { reads: of_level(top - 1, below), hashes: below, ..Work::default() };
    let root = Sweep::along(Visits::Nodes { level: top, children: true, itself: false }, 1, root);
    std::iter::once(table(memory)).chain((1..).zip(listed).map(level)).chain([root]).collect()
}

/// Calls `access` for every line that unit `unit` of `visits` may read or write, in order.
pub fn accesses(visits: Visits, memory: &Memory, unit: u64, access: &mut dyn FnMut(MediaOp, MediaLine)) {
    match visits {
        Visits::Blocks { lines } => {
            let id = CounterBlock(unit);
            access(MediaOp::Read, MediaLine::counter(id));
            if lines {
                lines_of_block(memory, id, access);
            }
            access(MediaOp::Write, MediaLine::counter(id));
        }
        Visits::Nodes { level, children, itself } => {
            let node = TreeNode { level, index: unit };
            if let Some(tree) = memory.tree.filter(|_| children) {
                tree.children(node).for_each(|child| access(MediaOp::Read, child.media()));
            }
            if itself {
                access(MediaOp::Read, MediaLine::node(node));
            }
            access(MediaOp::Write, MediaLine::node(node));
        }
        Visits::Table => access(MediaOp::Read, MediaLine::table(unit)),
        Visits::Macs => {
            [MediaOp::Read, MediaOp::Write].into_iter().for_each(|op| access(op, MediaLine::mac(MacBlock(unit))));
        }
        Visits::Data { first } => {
            let line = Line(first.0 + unit);
            let id = memory.coverage.block(line);
            for op in [MediaOp::Read, MediaOp::Write] {
                access(op, MediaLine::data(line));
                access(op, MediaLine::counter(id));
                memory.macs.into_iter().for_each(|macs| access(op, MediaLine::mac(macs.block(line))));
                for (node, _) in memory.tree.into_iter().flat_map(|tree| tree.path(TreePlace::leaf(id))) {
                    if memory.tree.is_some_and(|tree| tree.root() != node) {
                        access(op, MediaLine::node(node));
                    }
                }
            }
        }
    }
}

/// Reads of the lines of counter block `id`, each line of MACs before the first of its lines.
fn lines_of_block(memory: &Memory, id: CounterBlock, access: &mut dyn FnMut(MediaOp, MediaLine)) {
    let macs = memory.macs.filter(|macs| !macs.beside());
    let mut last: Option<MacBlock> = None;
    for line in (0..memory.coverage.lines()).map(|index| memory.coverage.line(id, index)) {
        let block = macs.map(|macs| macs.block(line));
        if let Some(block) = block.filter(|block| last.replace(*block) != Some(*block)) {
            access(MediaOp::Read, MediaLine::mac(block));
        }
        access(MediaOp::Read, MediaLine::data(line));
    }
}

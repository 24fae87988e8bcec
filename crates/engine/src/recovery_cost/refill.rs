//! What the steps of a boot take that fill the metadata caches again: from the entries of a shadow table, or from what is below
//! each block.

use super::model::{Left, Memory, Sweep, Visits, of_level, separate_macs, tried};
use crate::layout::{LineTree, TreeShape};
use crate::recovery::{Lines, Work};

/// All entries of the table are read and hashed up to its root. What each one has is combined with the block or node in memory,
/// and checked with one hash. A counter block that is only named is read with its lines, and its counters are tried. Nothing is
/// written.
pub(super) fn restore_contents(memory: &Memory, left: &Left) -> Vec<Sweep> {
    let slots = memory.slots[0] + memory.slots[1];
    let entries =
        Work { reads: Lines { table: slots, ..Lines::default() }, hashes: LineTree::hashes(slots), ..Work::default() };
    let of = |level: u8, number: u64| Work { reads: of_level(level, number), hashes: number, ..Work::default() };
    let visits = Visits::Blocks { lines: memory.names_counters };
    let number = left.listed_blocks;
    let blocks = match memory.names_counters {
        true => Work { hashes: number, ..tried(memory, number, left.behind) },
        false => of(0, number),
    };
    let blocks = Sweep::scattered(visits, number, blocks);
    let nodes = (1..).zip(&left.listed_nodes).map(|(level, &number)| {
        Sweep::scattered(Visits::Nodes { level, children: false, itself: true }, number, of(level, number))
    });
    [Sweep::along(Visits::Table, slots, entries), blocks].into_iter().chain(nodes).collect()
}

/// The lines of bits are read from the top. Each block that they list is read with its lines and their MACs, each node with its
/// children, and enters the MAC of its set with two hashes; the sets are hashed up to their root. Nothing is written.
pub(super) fn restore_stale(tree: TreeShape, memory: &Memory, left: &Left) -> Vec<Sweep> {
    let bits = Work { reads: Lines { table: left.bit_lines, ..Lines::default() }, ..Work::default() };
    let per_block = memory.coverage.lines() as u64;
    let number = left.listed_blocks;
    let data = if separate_macs(memory) == 1 { 0 } else { number * per_block };
    let mac = number * memory.mac_lines(per_block);
    let blocks =
        Work { reads: Lines { counter: number, data, mac, ..Lines::default() }, hashes: 2 * number, ..Work::default() };
    let nodes = (1..).zip(&left.listed_nodes).map(|(level, &number)| {
        let all = number == tree.nodes(level);
        let below = if all { tree.nodes(level - 1) } else { number * tree.arity() as u64 };
        let mut read = of_level(level - 1, below);
        read += of_level(level, number);
        let work = Work { reads: read, hashes: 2 * number, ..Work::default() };
        Sweep::scattered(Visits::Nodes { level, children: true, itself: true }, number, work)
    });
    let sets = Work { hashes: LineTree::hashes(memory.sets), ..Work::default() };
    let first = [
        Sweep::scattered(Visits::Table, left.bit_lines, bits),
        Sweep::scattered(Visits::Blocks { lines: true }, number, blocks),
    ];
    first.into_iter().chain(nodes).chain([Sweep::along(Visits::Table, 1, sets)]).collect()
}

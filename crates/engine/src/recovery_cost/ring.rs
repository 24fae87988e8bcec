//! What the step of a boot takes that writes partial updates from their ring to the blocks that they are newer than.

use super::model::{Memory, Sweep, Visits};
use crate::layout::UpdateRing;
use crate::message::{CounterBlock, MacBlock, MediaLine, MediaUnit};
use crate::recovery::{Lines, Media, Work};
use serde::Serialize;
use std::collections::BTreeSet;

/// What the ring of partial updates speaks of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct RingLeft {
    /// Counter blocks.
    pub blocks: u64,
    /// Those that it has newer counters of than memory.
    pub newer_blocks: u64,
    /// Lines of MACs with updates that are not older than memory.
    pub macs: u64,
    /// Those that it has other MACs of than memory.
    pub newer_macs: u64,
}

impl RingLeft {
    /// The worst: every update is of another block and another line of MACs. What is newer is dirty in a cache.
    pub(super) fn worst(memory: &Memory) -> Self {
        let Some(ring) = memory.ring else { return Self::default() };
        let updates = ring.lines * ring.in_line() as u64;
        let (blocks, macs) = (updates.min(memory.blocks()), updates.min(memory.mac_lines(memory.lines)));
        let [counters, separate] = memory.slots;
        let of_macs = if separate > 0 { separate } else { counters };
        Self { blocks, newer_blocks: blocks.min(counters), macs, newer_macs: macs.min(of_macs) }
    }

    /// What the ring in `before` speaks of; `after` is the memory that a boot makes of it.
    pub(super) fn counted(memory: &Memory, ring: UpdateRing, before: &dyn Media, after: &dyn Media) -> Self {
        let mut updates = Vec::new();
        before.stored(&mut |media, bytes| {
            if matches!(media.unit(), MediaUnit::Table(_)) {
                updates.extend(ring.updates(bytes));
            }
        });
        let blocks: BTreeSet<CounterBlock> = updates.iter().map(|update| memory.coverage.block(update.line)).collect();
        let macs = memory.macs.filter(|macs| !macs.beside());
        let macs: BTreeSet<MacBlock> =
            macs.iter().flat_map(|macs| updates.iter().map(|update| macs.block(update.line))).collect();
        let newer = |media: &MediaLine| before.content(*media).bytes() != after.content(*media).bytes();
        Self {
            blocks: blocks.len() as u64,
            newer_blocks: blocks.iter().map(|id| MediaLine::counter(*id)).filter(newer).count() as u64,
            macs: macs.len() as u64,
            newer_macs: macs.iter().map(|id| MediaLine::mac(*id)).filter(newer).count() as u64,
        }
    }
}

/// All lines of the ring are read, and the blocks that they speak of. Those that they are newer than are written.
pub(super) fn apply_updates(memory: &Memory, left: &RingLeft) -> Vec<Sweep> {
    let lines = memory.ring.map_or(0, |ring| ring.lines);
    let of = |reads: Lines, writes: Lines| Work { reads, writes, ..Work::default() };
    let counters = |number| Lines { counter: number, ..Lines::default() };
    let macs = |number| Lines { mac: number, ..Lines::default() };
    let ring = of(Lines { table: lines, ..Lines::default() }, Lines::default());
    vec![
        Sweep::along(Visits::Table, lines, ring),
        Sweep::scattered(
            Visits::Blocks { lines: false },
            left.blocks,
            of(counters(left.blocks), counters(left.newer_blocks)),
        ),
        Sweep::scattered(Visits::Macs, left.macs, of(macs(left.macs), macs(left.newer_macs))),
    ]
}

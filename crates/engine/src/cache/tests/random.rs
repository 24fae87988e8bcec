//! Random programs on small caches over a memory with random latencies, in a world that checks every step.

use super::machine;
use super::on_chip::parts;
use super::world::{Program, World};
use crate::cache::{BufferParts, CacheParts};
use crate::config::Machine;
use crate::parts::{BufferRelease, CachePads};
use proptest::prelude::*;

/// Geometries: ways, sets, registers and sharing of each level.
const GEOMETRIES: [[(u32, u64, u32, bool); 3]; 6] = [
    [(1, 1, 4, false), (1, 1, 4, false), (1, 1, 4, true)],
    [(2, 1, 3, false), (2, 2, 4, false), (2, 2, 6, true)],
    [(1, 2, 2, false), (2, 2, 4, true), (4, 1, 4, true)],
    [(2, 2, 4, false), (4, 1, 4, false), (2, 1, 4, false)],
    [(2, 1, 4, false), (4, 2, 8, true), (2, 2, 8, true)],
    [(1, 1, 1, false), (1, 1, 1, true), (1, 1, 1, true)],
];
const LINES: u64 = 12;
/// Two levels and a write-back buffer of one set, small, as it is in the preset, and with a single line.
const BUFFERED: [[(u32, u64, u32, bool); 3]; 3] = [
    [(1, 1, 4, false), (2, 1, 8, true), (4, 1, 8, true)],
    [(1, 1, 4, false), (1, 1, 8, true), (16, 1, 8, true)],
    [(2, 1, 4, false), (2, 1, 2, true), (1, 1, 2, true)],
];
const BUFFERED_LINES: u64 = 28;

fn programs(lines: u64, cores: usize) -> impl Strategy<Value = Vec<Program>> {
    prop::collection::vec(prop::collection::vec((0u8..16, 0..lines), 1..80), 1..=cores)
}

/// The ways if half of them hold pads, so that as many hold data as without pads.
fn with_pads(levels: [(u32, u64, u32, bool); 3], pads: CachePads) -> [(u32, u64, u32, bool); 3] {
    let factor = if pads == CachePads::BootPads { 2 } else { 1 };
    levels.map(|(ways, sets, mshrs, shared)| (factor * ways, sets, mshrs, shared))
}

/// A machine with a write-back buffer in place of a third level, below a second level with sets for each core.
fn buffered(geometry: usize, bytes: bool) -> Machine {
    let mut machine = machine(BUFFERED[geometry], bytes);
    machine.l2.size_per_core = true;
    machine.l3.latency_cycles = 0;
    machine
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn caches_are_memory(geometry in 0..GEOMETRIES.len(), seed: u64, programs in programs(LINES, 4)) {
        let run = |bytes| {
            World::new(&machine(GEOMETRIES[geometry], bytes), CacheParts::PLAIN, LINES, seed, &programs).run()
        };
        prop_assert_eq!(run(true), run(false), "the same times with and without bytes");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn caches_with_a_write_back_buffer_are_memory(
        geometry in 0..BUFFERED.len(), seed: u64, programs in programs(BUFFERED_LINES, 8),
    ) {
        let run = |bytes| World::new(&buffered(geometry, bytes), CacheParts::PLAIN, BUFFERED_LINES, seed, &programs).run();
        prop_assert_eq!(run(true), run(false), "the same times with and without bytes");
    }
}

/// How lines are stored, and whether the caches survive a power loss.
const RESTING: [(CachePads, bool); 4] = [
    (CachePads::None, true),
    (CachePads::BootPads, true),
    (CachePads::BootPads, false),
    (CachePads::AesAtAccess, true),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn caches_keep_every_newest_line_without_power(
        geometry in 0..GEOMETRIES.len(), resting in 0..RESTING.len(), seed: u64, programs in programs(LINES, 4),
    ) {
        let (pads, persistent) = RESTING[resting];
        let run = |bytes| {
            let machine = machine(with_pads(GEOMETRIES[geometry], pads), bytes);
            World::new(&machine, parts(pads, persistent), LINES, seed, &programs).run()
        };
        prop_assert_eq!(run(true), run(false), "the same times with and without bytes");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn persist_buffers_have_every_newest_line_that_memory_lacks(
        geometry in 0..GEOMETRIES.len(), entries in 2u32..8, watermark in 1u32..7, seed: u64, programs in programs(LINES, 4),
    ) {
        let watermark = watermark.min(entries - 1);
        let buffers = Some(BufferParts { entries, watermark, release: BufferRelease::WhenDurable });
        let run = |bytes| {
            let parts = CacheParts { buffers, ..parts(CachePads::None, false) };
            World::new(&machine(GEOMETRIES[geometry], bytes), parts, LINES, seed, &programs).run()
        };
        prop_assert_eq!(run(true), run(false), "the same times with and without bytes");
    }
}

//! Exact edges, and random programs compared with a flat memory.

mod buffers;
mod edges;
mod logged;
mod on_chip;
mod pads;
mod random;
mod warm;
mod world;

use crate::config::{ByteSize, CacheLevel, Machine, preset};

/// A machine of small caches: ways and sets per level, miss registers and sharing.
pub(super) fn machine(levels: [(u32, u64, u32, bool); 3], bytes: bool) -> Machine {
    let mut machine = preset("small").expect("the preset is valid");
    let latencies = [2, 8, 30];
    let [l1, l2, l3] = std::array::from_fn(|i| {
        let (ways, sets, mshrs, shared) = levels[i];
        CacheLevel {
            size: ByteSize(64 * sets * u64::from(ways)),
            size_per_core: false,
            ways,
            latency_cycles: latencies[i],
            mshrs,
            shared,
        }
    });
    (machine.l1, machine.l2, machine.l3) = (l1, l2, l3);
    machine.engine.bytes = bytes;
    machine
}

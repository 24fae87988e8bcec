//! The cost of a power failure at the end of a run: energy to drain the caches, with the constants of sepencr section
//! V-C, and time to restore their lines at boot.

use crate::assembly::memory_map::shadow_region;
use crate::assembly::{LineSystem, System};
use crate::config::{Machine, MetadataCache, RunConfig};
use crate::embed::Driver;
use crate::kernel::{Failure, Ps, ps_to_ns};
use crate::layout::{LineHash, LineTree, ShadowRegion};
use crate::message::{BaseImage, LINE_BYTES, Line, LineBytes, NoObserver};
use crate::parts::{CrashDrain, Design, RecoveryStep, RestoreInto, ShadowIntegrity};
use crate::stats::{AtCrash, DrainPart};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A dirty line in the caches.
#[derive(Clone, Copy, Debug)]
struct DirtySlot {
    slot: u64,
    level: u8,
    line: Line,
}

/// What the chip holds that a drain would write.
#[derive(Debug)]
pub(crate) struct Held {
    dirty: Vec<DirtySlot>,
    /// For each level: dirty data slots, and all data slots.
    levels: [(u64, u64); 3],
    /// Dirty lines, and all lines, each counted once.
    lines: (u64, u64),
    counter_blocks: u64,
    /// Dirty lines of MACs and nodes.
    metadata_lines: u64,
}

impl Held {
    /// What `system` holds now.
    pub(crate) fn of<O>(system: &System<O>) -> Self {
        let lines = system.cache.on_chip().into_iter();
        Self {
            dirty: lines.map(|held| DirtySlot { slot: held.slot, level: held.level, line: held.line }).collect(),
            levels: system.cache.dirty_per_level(),
            lines: system.cache.dirty_lines(),
            counter_blocks: system.controller.snapshot().counters.len() as u64,
            metadata_lines: system.controller.dirty_metadata().len() as u64,
        }
    }

    /// The number of dirty data slots over all levels, and of all data slots.
    fn slots(&self) -> (u64, u64) {
        self.levels.iter().fold((0, 0), |sum, level| (sum.0 + level.0, sum.1 + level.1))
    }
}

/// The cost of a power loss when the chip holds `held`. All values are `None` for a design whose caches do not survive.
pub(crate) fn at_crash(
    config: &RunConfig,
    design: &Design,
    base: Arc<dyn BaseImage>,
    held: Option<Held>,
    cancel: &AtomicBool,
) -> Result<AtCrash, Failure> {
    let (Some(drain), Some(held)) = (design.drain(), held) else { return Ok(AtCrash::default()) };
    let machine = &config.machine;
    let region = shadow_region(machine, design, config.cores);
    let parts = parts(config, design, &held, drain, region);
    let (dirty, slots) = held.slots();
    let recovery = region.map(|_| recovery_time(config, design, base, &held.dirty, cancel)).transpose()?;
    Ok(AtCrash {
        dirty_fraction: Some(dirty as f64 / slots as f64),
        dirty_lines_fraction: (held.lines.1 > 0).then(|| held.lines.0 as f64 / held.lines.1 as f64),
        drain_energy_mj: Some(parts.iter().map(|part| part.energy_mj).sum()),
        drain_energy_all_dirty_mj: Some(parts.iter().map(|part| part.energy_all_dirty_mj).sum()),
        recovery_time_ns: recovery.map(ps_to_ns),
        recovery_time_paper_ns: region.map(|region| region.slots as f64 * machine.eadr.recovery_ns_per_line),
        parts,
    })
}

/// The parts of the energy: the caches by level, or the persist buffers; the counter cache and the cache of MACs and nodes if they
/// are drained, encryption if lines are encrypted on battery, and hashes if it computes any.
fn parts(
    config: &RunConfig,
    design: &Design,
    held: &Held,
    drain: CrashDrain,
    region: Option<ShadowRegion>,
) -> Vec<DrainPart> {
    let Machine { eadr, controller, integrity, .. } = &config.machine;
    let part = |name, bytes: u64, dirty_bytes: u64, nj_per_byte: f64| DrainPart {
        name,
        bytes,
        dirty_bytes,
        energy_mj: dirty_bytes as f64 * nj_per_byte / 1e6,
        energy_all_dirty_mj: bytes as f64 * nj_per_byte / 1e6,
    };
    // The lines of persist buffers leave as those of the first level do.
    let names: &[&str] = if design.caches_persist() { &["l1", "l2", "l3"] } else { &["persist-buffers"] };
    let nj_per_byte = [eadr.l1_drain_nj_per_byte, eadr.l2_drain_nj_per_byte, eadr.l3_drain_nj_per_byte];
    let of_level = |level: usize| {
        let (dirty, slots) = held.levels[level];
        part(names[level], slots * LINE_BYTES, dirty * LINE_BYTES, nj_per_byte[level])
    };
    let mut parts: Vec<DrainPart> = (0..names.len()).map(of_level).collect();
    if drain.drains_counters() && design.has_counter_cache() {
        let caches = if controller.counter_cache_size_per_core { u64::from(config.cores) } else { 1 };
        let bytes = controller.counter_cache_size.0 * caches;
        let dirty = held.counter_blocks * LINE_BYTES;
        parts.push(part("counter-cache", bytes, dirty, eadr.controller_drain_nj_per_byte));
    }
    if drain.drains_counters() && design.integrity.is_some() && integrity.metadata_cache == MetadataCache::Apart {
        let dirty = held.metadata_lines * LINE_BYTES;
        let nj_per_byte = eadr.controller_drain_nj_per_byte;
        parts.push(part("metadata-cache", integrity.metadata_cache_size.0, dirty, nj_per_byte));
    }
    if drain.encrypts() {
        let nj_per_byte = eadr.aes_pj_per_byte / 1e3 + eadr.xor_fj_per_byte / 1e6;
        let (dirty, slots) = held.slots();
        parts.push(part("encryption", slots * LINE_BYTES, dirty * LINE_BYTES, nj_per_byte));
    }
    if let Some(hashes) = hashes_of(config, design, held, drain, region) {
        // A hash of a line runs AES over all of it.
        let [all, dirty] = hashes.map(|hashes| hashes * LINE_BYTES);
        parts.push(part("hashes", all, dirty, eadr.aes_pj_per_byte / 1e3));
    }
    parts
}

/// Hashes and MACs that the battery computes if every slot is dirty, and for those that are; `None` if it computes none.
fn hashes_of(
    config: &RunConfig,
    design: &Design,
    held: &Held,
    drain: CrashDrain,
    region: Option<ShadowRegion>,
) -> Option<[u64; 2]> {
    if drain.takes_write_path() && design.integrity.is_some() {
        let tree = design.media_layout(&config.machine).tree;
        let each = 1 + tree.map_or(0, |tree| tree.hashes_of_a_write());
        let (dirty, slots) = held.slots();
        return Some([slots * each, dirty * each]);
    }
    let region = region.filter(|_| drain.shadow_integrity() != ShadowIntegrity::None)?;
    // A MAC of each slot, or a tree.
    Some(if region.macs {
        [region.slots, held.dirty.len() as u64]
    } else {
        [LineTree::hashes(region.lines()), hashes(region, &held.dirty)]
    })
}

/// Hashes that the tree over the shadow cache takes if these slots are dirty.
fn hashes(region: ShadowRegion, dirty: &[DirtySlot]) -> u64 {
    struct Counted;
    impl LineHash for Counted {
        fn hash(&self, _bytes: &LineBytes) -> [u8; 8] {
            [0; 8]
        }
    }
    let lines = dirty.iter().flat_map(|held| [region.data(held.slot), region.metadata(held.slot).0]);
    region.root(&lines.map(|line| (line, [0; 64])).collect(), &Counted).1
}

/// Time to restore `dirty` at boot on the machine's own controller and device. All metadata of the shadow cache and the
/// live slots are read, as many at a time as the read queue holds. If recovery restores lines to memory, they are then
/// written to their addresses through the ordinary write path, the third level's first, as many at a time as there are
/// queue entries. The pads of the shadow cache are made while its lines are read (sepencr section V-D), without the
/// counters of memory.
fn recovery_time(
    config: &RunConfig,
    design: &Design,
    base: Arc<dyn BaseImage>,
    dirty: &[DirtySlot],
    cancel: &AtomicBool,
) -> Result<Ps, Failure> {
    let Some(region) = shadow_region(&config.machine, design, config.cores) else { return Ok(0) };
    // Time does not depend on the bytes.
    let mut machine = config.machine.clone();
    machine.engine.bytes = false;
    let driver = |design: &Design| {
        LineSystem::new(&machine, design, Arc::clone(&base), config.seed, NoObserver).map(Driver::over)
    };
    let metadata = (region.slots..region.lines()).map(|line| Line(region.first.0 + line));
    let live = dirty.iter().map(|held| region.data(held.slot));
    let mut reads = driver(&Design { encryption: None, log: None, ..design.clone() })?;
    let queue = machine.controller.read_queue_entries as usize;
    let read = answered(&mut reads, metadata.chain(live), queue, cancel, LineSystem::read_now)?;
    let into_memory = design
        .recovery
        .iter()
        .any(|step| matches!(step, RecoveryStep::RestoreShadow { into: RestoreInto::Memory, .. }));
    if !into_memory {
        return Ok(read);
    }
    let home = (1..=3).rev().flat_map(|level| dirty.iter().filter(move |held| held.level == level));
    let queue = machine.controller.wpq_entries as usize;
    let mut writes = driver(design)?;
    let written = answered(&mut writes, home.map(|held| held.line), queue, cancel, |system, line, token| {
        system.write_now(line, &[0; 64], token);
    })?;
    Ok(read + written)
}

/// Sends a request for each of `lines`, at most `at_a_time` at once, and returns the time of the last answer.
pub(crate) fn answered(
    driver: &mut Driver<NoObserver, ()>,
    mut lines: impl Iterator<Item = Line>,
    at_a_time: usize,
    cancel: &AtomicBool,
    mut send: impl FnMut(&mut LineSystem<NoObserver>, Line, u32),
) -> Result<Ps, Failure> {
    loop {
        while driver.under_way.len() < at_a_time
            && let Some(line) = lines.next()
        {
            driver.send((), |system, token| send(system, line, token));
        }
        if driver.under_way.is_empty() {
            return Ok(driver.system.now());
        }
        if cancel.load(Ordering::Relaxed) {
            return Err(Failure::Cancelled);
        }
        assert!(driver.advance(), "requests are outstanding");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Variant, load_machine};
    use crate::design;
    use crate::trace::EmptyBase;

    /// Time to restore `dirty` with caches of three slots, which have one line of metadata.
    fn recovered(variant: Variant, dirty: &[(u64, u8, u64)]) -> Ps {
        let sets = ["l1", "l2", "l3"].map(|level| [format!("{level}.size=64"), format!("{level}.ways=1")]);
        let machine = load_machine("sepencr", &sets.concat()).unwrap();
        let config = RunConfig {
            variant,
            tx_size: 64,
            transactions: 1,
            footprint: 4096,
            ..RunConfig::new("bbe", "array", machine)
        };
        let dirty: Vec<DirtySlot> =
            dirty.iter().map(|&(slot, level, line)| DirtySlot { slot, level, line: Line(line) }).collect();
        let design = design::find("bbe", variant).unwrap();
        let base = Arc::new(EmptyBase { end: 1 << 20 });
        recovery_time(&config, &design, base, &dirty, &AtomicBool::new(false)).unwrap()
    }

    #[test]
    fn all_metadata_and_the_live_slots_are_read_and_then_written_home_where_they_go_into_memory() {
        // tRCD and tCL in whole cycles of 2.5 ns, and four cycles of burst; the region lies in one row, whose bursts follow
        // one another.
        let (row_miss, row_hit) = (75_000, 10_000);
        for variant in [Variant::Published, Variant::Hardened] {
            assert_eq!(recovered(variant, &[]), row_miss, "the caches are empty");
        }
        assert_eq!(recovered(Variant::Published, &[(1, 2, 5)]), row_miss + row_hit);
        let home =
            |dirty: &[(u64, u8, u64)]| recovered(Variant::Hardened, dirty) - recovered(Variant::Published, dirty);
        // Its counter is fetched, its pad is made, and both are queued.
        let one = home(&[(0, 1, 5)]);
        assert!(one >= row_miss + 40_000, "{one}");
        // The second copy of a line comes after the first; it finds the counter and waits for its own pad.
        assert!(home(&[(0, 1, 5), (1, 2, 5)]) >= one + 40_000);
    }
}

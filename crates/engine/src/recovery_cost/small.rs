//! A small memory that a design really recovers: every line is written through the design's own controller, power fails, and
//! the design's own boot is counted.

use super::model::{Left, Memory};
use super::ring::RingLeft;
use crate::assembly::{self, LineSystem, codec_of, encryption_parts};
use crate::config::{ByteSize, Geometry, Machine};
use crate::embed::Driver;
use crate::kernel::{Failure, Random};
use crate::layout::TreePlace;
use crate::message::{BaseImage, Line, MediaLine, MediaUnit, NoObserver};
use crate::parts::Design;
use crate::power::{PowerLoss, held};
use crate::recovery::Work;
use crate::run::answered;
use crate::trace::EmptyBase;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a real boot did.
pub struct Counted {
    /// Its work.
    pub work: Work,
    /// What the power failure had left.
    pub left: Left,
    /// The check that failed, in words; the boot has stopped there.
    pub alarm: Option<String>,
}

/// `machine` with four banks of one page to a row, so many rows that it has `pages` data pages, and caches of metadata with
/// `sets` sets each.
pub fn small_machine(machine: &Machine, pages: u64, sets: u64) -> Machine {
    let mut small = machine.clone();
    small.engine.bytes = true;
    small.log.buckets = 1;
    small.log.bucket_records = 1;
    let device = &mut small.device;
    (device.channels, device.ranks, device.banks_per_rank, device.row_segments) = (1, 1, 4, 1);
    device.row = ByteSize(4096);
    let stripe = 4 * 4096;
    // Some rows of each bank hold counters.
    let enough = |rows: &u64| {
        let mut tried = small.clone();
        tried.device.capacity = ByteSize(rows * stripe);
        Geometry::of(&tried).data_pages >= pages
    };
    let rows = (4..).find(enough).unwrap_or(4);
    small.device.capacity = ByteSize(rows * stripe);
    let of = |ways: u32| ByteSize(sets * u64::from(ways) * 64);
    small.controller.counter_cache_size = of(small.controller.counter_cache_ways);
    small.controller.counter_cache_size_per_core = false;
    small.integrity.metadata_cache_size = of(small.integrity.metadata_cache_ways);
    small
}

/// Writes every line of the memory of `machine` once; then those of the last pages, as many as the counter cache has blocks,
/// until every counter of their blocks is as far ahead of the media as it can be. Then power fails, and the design boots.
///
/// # Errors
/// The design and the machine cannot be combined, or the user interrupts.
pub fn counted(design: &Design, machine: &Machine, cancel: &AtomicBool) -> Result<Counted, Failure> {
    assembly::validate_machine(machine, design)?;
    let memory = Memory::of(design, machine);
    let base: Arc<dyn BaseImage> = Arc::new(EmptyBase { end: 0 });
    let seed = 1;
    let mut driver = Driver::over(LineSystem::new(machine, design, Arc::clone(&base), seed, NoObserver)?);
    let entries = machine.controller.wpq_entries as usize;
    let mut random = Random::stream(seed, "recovery-cost.bytes");
    let mut write = |lines: std::ops::Range<u64>| {
        answered(&mut driver, lines.map(Line), entries, cancel, |system, line, token| {
            let bytes = std::array::from_fn(|_| random.next_u64() as u8);
            system.write(system.now(), line, &bytes, token);
        })
    };
    write(0..memory.lines)?;
    let covered = memory.coverage.lines() as u64;
    let ahead = memory.slots[0].min(memory.blocks()) * covered;
    for _ in 0..2 * (memory.stop_loss - 1) {
        write(memory.lines - ahead..memory.lines)?;
    }
    let parts = encryption_parts(machine, design, seed, &base)?;
    let codec = codec_of((machine, 1), design, seed, parts, Arc::clone(&base), None)?;
    let codec = codec.as_deref();
    let system = &driver.system;
    let media = &*system.device.survives();
    let loss = PowerLoss::new(design, machine, codec);
    let drained = loss.strike(held(system.controller.snapshot()), media);
    let mut boot = loss.boot(media, &drained.snapshot, NoObserver);
    boot.load();
    let mut left = Left { behind: memory.behind(), ..listed(&memory, boot.memory()) };
    let before = boot.memory_now();
    boot.finish();
    if let Some(ring) = memory.ring {
        left.ring = RingLeft::counted(&memory, ring, &before, boot.memory());
    }
    if memory.restores_caches() {
        boot.restored().for_each(|place| add(&mut left, place));
    }
    Ok(Counted { work: boot.work(), left, alarm: boot.alarm().map(|alarm| format!("{alarm:?}")) })
}

/// The counter blocks and the nodes that the shadow table on `media` lists.
fn listed(memory: &Memory, media: &dyn crate::recovery::Media) -> Left {
    let Some(tree) = memory.tree else { return Left::default() };
    let mut left = Left::default();
    if memory.has_table || memory.restores_caches() {
        left.listed_nodes = vec![0; usize::from(tree.top()) - 1];
    }
    if memory.stale_bits.is_some() {
        let mut lines = 0;
        media.stored(&mut |media, bytes| {
            lines += u64::from(matches!(media.unit(), MediaUnit::Table(_)) && *bytes != [0; 64]);
        });
        left.bit_lines = lines.max(1);
    }
    if !memory.has_table {
        return left;
    }
    let mut places = std::collections::BTreeSet::new();
    media.stored(&mut |media, bytes| {
        if let MediaUnit::Table(_) = media.unit() {
            places.extend(bytes.as_chunks::<8>().0.iter().map(|entry| u64::from_le_bytes(*entry)));
        }
    });
    // An entry of zeros is one that was never written, and data line 0 otherwise.
    let places = places.into_iter().filter_map(|code| TreePlace::of(MediaLine::with_code(code)));
    places.for_each(|place| add(&mut left, place));
    left
}

/// What is at `place` is listed.
fn add(left: &mut Left, place: TreePlace) {
    match place.level {
        0 => left.listed_blocks += 1,
        level => left.listed_nodes[usize::from(level) - 1] += 1,
    }
}

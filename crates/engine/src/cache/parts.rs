//! What a design decides about the caches, and its consequences: which ways hold data, and how long an access takes.

use super::level::Level;
use super::persist_buffer::BufferParts;
use crate::config::{CacheLevel, Machine};
use crate::kernel::{ConfigError, Ps};
use crate::message::{LINE_BYTES, LineBytes};
use crate::parts::CachePads;

/// What a design decides about the caches.
#[derive(Clone, Copy)]
pub struct CacheParts<'a> {
    /// How lines are stored in the caches.
    pub pads: CachePads,
    /// Whether the caches are in the persistence domain: then no line leaves its way before memory has acknowledged it.
    pub persistent: bool,
    /// The buffers that a battery saves when the caches are lost.
    pub buffers: Option<BufferParts>,
    /// Makes the pad of a data slot; called once for each slot with [`CachePads::BootPads`].
    pub pad_of_slot: &'a dyn Fn(u64) -> LineBytes,
}

impl CacheParts<'_> {
    /// Lines are not encrypted in the caches and are lost at power loss.
    pub const PLAIN: CacheParts<'static> =
        CacheParts { pads: CachePads::None, persistent: false, buffers: None, pad_of_slot: &|_| [0; 64] };
}

/// Checks that the caches of `machine` have room for pads: the number of ways must be even.
pub fn check(machine: &Machine, pads: CachePads) -> Result<(), ConfigError> {
    let levels = [("l1", &machine.l1), ("l2", &machine.l2), ("l3", &machine.l3)];
    match levels.into_iter().find(|(_, level)| pads == CachePads::BootPads && !level.ways.is_multiple_of(2)) {
        Some((name, level)) => Err(ConfigError(format!(
            "{name}.ways = {} must be even, because the pads of cached lines take half the ways",
            level.ways
        ))),
        None => Ok(()),
    }
}

/// Data slots of all caches together.
pub fn data_slots(machine: &Machine, cores: u16, pads: CachePads) -> u64 {
    let of = |level: &CacheLevel| caches(level, cores) * multiple(level, cores) * (level.size.0 / LINE_BYTES);
    let slots: u64 = [&machine.l1, &machine.l2, &machine.l3].into_iter().map(of).sum();
    if pads == CachePads::BootPads { slots / 2 } else { slots }
}

/// Bytes of the host's memory that all caches need together.
pub fn host_bytes(machine: &Machine, cores: u16, pads: CachePads) -> u64 {
    data_slots(machine, cores, pads) * Level::host_bytes_per_slot(machine.engine.bytes, pads == CachePads::BootPads)
}

/// Number of caches of a level.
pub(super) fn caches(level: &CacheLevel, cores: u16) -> u64 {
    if level.shared { 1 } else { u64::from(cores) }
}

/// The size of each cache of a level, as a multiple of the level's size.
pub(super) fn multiple(level: &CacheLevel, cores: u16) -> u64 {
    if level.shared && level.size_per_core { u64::from(cores) } else { 1 }
}

/// Time from an access to its answer, in picoseconds. Includes the time that a level needs for encryption.
#[derive(Clone, Copy)]
pub(super) struct Latency {
    /// Served by the first level.
    pub(super) l1: Ps,
    /// Served by the second level, including the first.
    pub(super) l2: Ps,
    /// Served by the third level, including those above; also the time until a request reaches the controller.
    pub(super) l3: Ps,
    /// Additional time if another core's private cache had the line (its second level, or the first above a shared
    /// one).
    pub(super) transfer: Ps,
    /// How long the first level needs to encrypt a line after a store; during this time it accepts no other store of
    /// its core.
    pub(super) store: Ps,
}

impl Latency {
    /// The latencies of `machine`, whose clock must not be zero.
    pub(super) fn of(machine: &Machine, pads: CachePads) -> Self {
        let mhz = u64::from(machine.core.clock_mhz);
        let ps = |cycles: u32| (u64::from(cycles) * 1_000_000 + mhz / 2) / mhz;
        let xor = if pads == CachePads::BootPads { machine.eadr.xor_cycles } else { 0 };
        let [l1, l2, l3] = [&machine.l1, &machine.l2, &machine.l3].map(|level| level.latency_cycles + xor);
        let levels_with_aes = if pads == CachePads::AesAtAccess { machine.eadr.cme_levels } else { 0 };
        let aes = |levels: u32| Ps::from(levels.min(levels_with_aes)) * machine.controller.pad_latency();
        let transfer = if machine.l2.shared { ps(l1) + aes(1) } else { ps(l2) + aes(2) - aes(1) };
        Latency {
            l1: ps(l1) + aes(1),
            l2: ps(l1 + l2) + aes(2),
            l3: ps(l1 + l2 + l3) + aes(3),
            transfer,
            store: aes(1),
        }
    }
}

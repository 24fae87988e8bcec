//! Miss registers: one for each line that is waited for, with all its waiters.
//!
//! A register counts against the limits of every cache that it passes: the first level of each waiting core, and the
//! second and third level once per core if private, once per line if shared.

use crate::kernel::Ps;
use crate::message::{CoreId, Line, LineBytes, News};
use rustc_hash::FxHashMap;

/// Miss registers that prefetches leave free for demand accesses, in every cache.
const RESERVED_FOR_DEMAND: u32 = 2;

/// What an access wants to do with a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Want {
    /// Read it; the core's own token.
    Load(u32),
    /// Write it.
    Own,
    /// Write it later; nothing waits.
    Prefetch,
}

impl Want {
    /// Whether the line must be writable.
    pub(super) fn owns(self) -> bool {
        !matches!(self, Want::Load(_))
    }
}

/// A core that waits for a line, and what for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    pub(super) core: CoreId,
    pub(super) want: Want,
    pub(super) since: Ps,
}

/// What a register waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    /// The read has been sent to memory. No cache holds the line.
    Reading,
    /// Memory has returned the line, which needs free ways. No cache holds it.
    Arrived,
    /// A cache held the line at the last check; it needs free ways, or another core is about to write it.
    OnChip,
}

/// A miss register.
#[derive(Clone)]
pub(super) struct Mshr {
    pub(super) line: Line,
    pub(super) phase: Phase,
    /// Whether a non-temporal store has overtaken the read: `bytes` are newer than what memory will return.
    pub(super) superseded: bool,
    pub(super) bytes: LineBytes,
    pub(super) waiters: Vec<Waiter>,
    /// Cores whose limits the register counts against.
    cores: u64,
    /// The core whose caches receive the line first.
    pub(super) first: usize,
}

/// Registers in use and the limit, for each cache of a level.
#[derive(Clone)]
struct Limit {
    used: Vec<u32>,
    limit: u32,
    shared: bool,
}

impl Limit {
    fn has_room(&self, core: usize, reserve: u32) -> bool {
        self.used[if self.shared { 0 } else { core }] + reserve < self.limit
    }
}

/// All miss registers.
#[derive(Clone)]
pub(super) struct Mshrs {
    registers: Vec<Mshr>,
    free: Vec<u32>,
    by_line: FxHashMap<u64, u32>,
    limits: [Limit; 3],
    /// For each bucket of lines, how often a register was taken for one of them, or one came into the caches without.
    news: [u32; Line::BUCKETS],
}

impl Mshrs {
    /// Creates the registers, all free. For each level: its limit per cache and whether it is shared.
    pub(super) fn new(levels: [(u32, bool); 3], cores: usize) -> Self {
        let limits = levels.map(|(limit, shared)| Limit { used: vec![0; cores], limit, shared });
        Mshrs {
            registers: Vec::new(),
            free: Vec::new(),
            by_line: FxHashMap::default(),
            limits,
            news: [0; Line::BUCKETS],
        }
    }

    /// The register of `line`, if it has one.
    pub(super) fn find(&self, line: Line) -> Option<u32> {
        if self.by_line.is_empty() { None } else { self.by_line.get(&line.0).copied() }
    }

    /// The register `id`.
    pub(super) fn get(&mut self, id: u32) -> &mut Mshr {
        &mut self.registers[id as usize]
    }

    /// Number of registers in use.
    pub(super) fn len(&self) -> usize {
        self.by_line.len()
    }

    /// Whether `core` may take a register for a new line.
    pub(super) fn has_room(&self, core: usize, prefetch: bool) -> bool {
        let reserve = if prefetch { RESERVED_FOR_DEMAND } else { 0 };
        self.limits.iter().all(|limit| limit.has_room(core, reserve))
    }

    /// Number of registers for new lines that all cores together may take.
    pub(super) fn shared_room(&self) -> u32 {
        let shared = self.limits.iter().filter(|limit| limit.shared);
        shared.map(|limit| limit.limit - limit.used[0]).min().unwrap_or(u32::MAX)
    }

    /// Takes a register for `line`; [`Mshrs::has_room`] must have returned true.
    pub(super) fn start(&mut self, line: Line, phase: Phase, waiter: Waiter) -> u32 {
        let id = self.free.pop().unwrap_or_else(|| {
            self.registers.push(Mshr {
                line,
                phase,
                superseded: false,
                bytes: [0; 64],
                waiters: Vec::new(),
                cores: 0,
                first: 0,
            });
            (self.registers.len() - 1) as u32
        });
        let core = usize::from(waiter.core);
        let register = &mut self.registers[id as usize];
        register.line = line;
        register.phase = phase;
        register.superseded = false;
        register.cores = 1 << core;
        register.first = core;
        register.waiters.clear();
        register.waiters.push(waiter);
        self.by_line.insert(line.0, id);
        self.note(line);
        for limit in &mut self.limits {
            limit.used[if limit.shared { 0 } else { core }] += 1;
        }
        id
    }

    /// What can be said of `line`, which no cache holds and for which no register waits.
    pub(super) fn absent(&self, line: Line) -> News {
        News::AbsentAt(self.news[line.bucket()])
    }

    /// Notes that `line` may be in a cache from now on, or on its way there.
    pub(super) fn note(&mut self, line: Line) {
        let news = &mut self.news[line.bucket()];
        *news = news.wrapping_add(1);
    }

    /// Adds a waiter to register `id`; returns false if the core's private caches have no register left.
    pub(super) fn join(&mut self, id: u32, waiter: Waiter) -> bool {
        let core = usize::from(waiter.core);
        let register = &mut self.registers[id as usize];
        if register.cores & 1 << core == 0 {
            if self.limits.iter().any(|limit| !limit.shared && !limit.has_room(core, 0)) {
                return false;
            }
            register.cores |= 1 << core;
            for limit in self.limits.iter_mut().filter(|limit| !limit.shared) {
                limit.used[core] += 1;
            }
        }
        register.waiters.push(waiter);
        true
    }

    /// Frees register `id`.
    pub(super) fn release(&mut self, id: u32) {
        let register = &self.registers[id as usize];
        self.by_line.remove(&register.line.0);
        for limit in &mut self.limits {
            if limit.shared {
                limit.used[0] -= 1;
            } else {
                cores_of(register.cores).for_each(|core| limit.used[core] -= 1);
            }
        }
        self.free.push(id);
    }
}

/// The cores of a bit mask, in ascending order.
pub(super) fn cores_of(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let core = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (core < 64).then_some(core)
    })
}

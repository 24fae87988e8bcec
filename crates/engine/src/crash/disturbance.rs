//! Other schedules of the same program: at random times, hardware prefetches, which may come at any time, take the
//! places of dirty lines in the caches and of blocks in the counter cache, and keep banks, queues and circuits busy.
//! What the program does stays the same; when something leaves the chip changes.

use crate::assembly::{System, memory_map};
use crate::config::RunConfig;
use crate::kernel::Random;
use crate::message::{CoreId, LINE_BYTES, Line, Observer};
use crate::parts::Design;

/// Number of prefetches for each way that a line may be in, before the next line is chosen.
const PREFETCHES_PER_WAY: u64 = 4;

/// Memory operations of the program, at least, for each line that is chosen. Prefetches make events of their own, and a core that
/// computes leaves all the time in the world for them: without this limit they would feed themselves.
const OPERATIONS_PER_PLACE: u64 = 8;

/// The disturbances of one schedule.
pub(crate) struct Disturbance {
    /// `None` for the undisturbed schedule.
    random: Option<Random>,
    /// Average number of events between prefetches.
    events_between: u64,
    /// Number of lines that programs may have.
    lines: u64,
    /// Lines this far apart compete for the same ways, and how many ways there are.
    stride: u64,
    ways: u64,
    /// The line whose place is to be taken, and how many prefetches are left for it.
    place: Line,
    left: u64,
    /// Memory operations that the program has committed, and how many of them no line has been chosen for.
    committed: u64,
    unspent: u64,
}

impl Disturbance {
    /// The disturbances of schedule number `schedule` of a run of `design`; number 0 has none.
    pub fn of(config: &RunConfig, design: &Design, schedule: u64) -> Self {
        let l3 = &config.machine.l3;
        let ways = u64::from(l3.ways);
        Self {
            random: (schedule > 0).then(|| Random::stream(config.seed, &format!("disturbance.{schedule}"))),
            events_between: 1 << (schedule % 5),
            lines: memory_map::program_capacity(&config.machine, design, config.cores) / LINE_BYTES,
            stride: (l3.size.0 / LINE_BYTES / ways).max(1),
            ways,
            place: Line(0),
            left: 0,
            committed: 0,
            unspent: OPERATIONS_PER_PLACE,
        }
    }

    /// Must be called after each event.
    pub fn after<O: Observer>(&mut self, system: &mut System<O>) {
        let Some(random) = &mut self.random else { return };
        let committed = system.cores.iter().map(|core| core.stats().memory_ops).sum();
        // Counting begins again where measuring begins.
        self.unspent += if committed >= self.committed { committed - self.committed } else { committed };
        self.committed = committed;
        if self.left == 0 && self.unspent < OPERATIONS_PER_PLACE {
            return;
        }
        if random.below(self.events_between) > 0 {
            return;
        }
        if self.left == 0 {
            self.unspent -= OPERATIONS_PER_PLACE;
            let dirty = system.cache.on_chip();
            self.place = match dirty.len() as u64 {
                0 => Line(random.below(self.lines)),
                held => dirty[random.below(held) as usize].line,
            };
            self.left = PREFETCHES_PER_WAY * self.ways;
        }
        self.left -= 1;
        let core = random.below(system.cores.len() as u64) as CoreId;
        let away = self.stride * (1 + random.below(16 * self.ways));
        system.prefetch(core, Line((self.place.0 + away) % self.lines));
    }
}

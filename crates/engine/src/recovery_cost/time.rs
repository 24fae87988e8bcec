//! How long a sweep takes: its accesses on the machine's own device, with its channels, ranks, banks, row buffers and buses,
//! and its MACs, hashes and pads on the machine's own circuits. Fetching and computing overlap, because the units of a sweep
//! do not depend on each other: the slower of the two takes the time.
//!
//! A long sweep is simulated in part, and its time grows with its units: what follows repeats what was simulated.

use super::model::{Memory, Sweep, Visits, accesses};
use crate::config::Machine;
use crate::device::Device;
use crate::kernel::{ConfigError, Ps, Random, ns_to_ps};
use crate::layout::MediaLayout;
use crate::message::{DevicePort, LINE_WORDS, MediaLine, MediaOp};
use crate::recovery::{Lines, Work};
use crate::trace::EmptyBase;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// Accesses of a sweep that are simulated.
const SAMPLE: u64 = 1 << 14;

/// The machine on which boots take time.
pub struct Clock<'a> {
    machine: &'a Machine,
    layout: MediaLayout,
    memory: &'a Memory,
    sample: u64,
}

/// In which order a boot goes through the units of a sweep.
#[derive(Clone, Copy)]
enum Order {
    /// One after another.
    Ascending,
    /// As many equal shares as there are banks, one unit of each in turn.
    Shares(u64),
    /// Anywhere.
    Drawn,
}

impl<'a> Clock<'a> {
    /// The clock of `machine` with a design that lays `memory` out as `layout`.
    pub fn new(machine: &'a Machine, layout: MediaLayout, memory: &'a Memory) -> Self {
        Self { machine, layout, memory, sample: SAMPLE }
    }

    /// The same clock, which simulates so many accesses of a sweep.
    #[cfg(test)]
    pub fn simulating(self, sample: u64) -> Self {
        Self { sample, ..self }
    }

    /// Time of `sweep`, in picoseconds. A boot that goes through all of memory chooses the faster of two orders.
    ///
    /// # Errors
    /// The memory cannot be laid out.
    pub fn time(&self, sweep: &Sweep) -> Result<f64, ConfigError> {
        if sweep.units == 0 {
            return Ok(0.0);
        }
        let device = if sweep.work.reads.total() + sweep.work.writes.total() == 0 {
            0.0
        } else if sweep.scattered {
            self.device(sweep, Order::Drawn)?
        } else {
            let device = &self.machine.device;
            let banks = u64::from(device.channels) * u64::from(device.ranks) * u64::from(device.banks_per_rank);
            self.device(sweep, Order::Ascending)?.min(self.device(sweep, Order::Shares(banks))?)
        };
        Ok(device.max(self.circuits(&sweep.work)))
    }

    /// Time that the circuits need, if each always has something to compute.
    fn circuits(&self, work: &Work) -> f64 {
        let (integrity, controller) = (&self.machine.integrity, &self.machine.controller);
        let busy = work.macs as f64 * ns_to_ps(integrity.mac_latency_ns) as f64
            + work.hashes as f64 * ns_to_ps(integrity.hash_latency_ns) as f64;
        let pads = work.pads as f64 * controller.aes_entrance().unwrap_or(controller.pad_latency()) as f64;
        (busy / f64::from(integrity.mac_units)).max(pads / f64::from(controller.circuits_for_reads()))
    }

    /// Time of the accesses on the device. The controller has as many reads on their way as its read queue has entries, and
    /// as many writes as its write pending queue has.
    fn device(&self, sweep: &Sweep, order: Order) -> Result<f64, ConfigError> {
        let base = Arc::new(EmptyBase { end: 0 });
        let mut device = Device::new(self.machine, self.layout, base)?;
        let config = &self.machine.controller;
        let mut queues = [Queue::new(config.read_queue_entries), Queue::new(config.wpq_entries)];
        let mut due = [Due::new(sweep.work.reads, sweep.units), Due::new(sweep.work.writes, sweep.units)];
        let mut random = Random::stream(1, "recovery-cost");
        let (mut now, mut accessed, mut units): (Ps, u64, u64) = (0, 0, 0);
        while units < sweep.units && accessed < self.sample {
            let unit = match order {
                Order::Ascending => units,
                Order::Shares(banks) if sweep.units < banks => units,
                Order::Shares(banks) => {
                    let share = sweep.units / banks;
                    // The rest of the division comes last.
                    if units < share * banks { units % banks * share + units / banks } else { units }
                }
                Order::Drawn => random.below(self.range(sweep)),
            };
            accesses(sweep.visits, self.memory, unit, &mut |op, media| {
                let of = usize::from(op == MediaOp::Write);
                if !due[of].takes(media) || self.layout.moves_with_line(media) {
                    return;
                }
                now = queues[of].room_at(now);
                let location = device.locate(media);
                device.prepare(now, location, op);
                queues[of].add(device.issue(now, media, location, op, LINE_WORDS, now).done);
                accessed += 1;
            });
            due.iter_mut().for_each(|due| due.next_unit());
            units += 1;
        }
        let end = queues.iter().map(|queue| queue.last).max().unwrap_or(0);
        Ok(end as f64 * (sweep.units as f64 / units as f64))
    }

    /// Among how many units those of a scattered sweep may lie.
    fn range(&self, sweep: &Sweep) -> u64 {
        let tree = |level| self.memory.tree.map_or(1, |tree| tree.nodes(level));
        match sweep.visits {
            Visits::Blocks { .. } => self.memory.blocks(),
            Visits::Nodes { level, .. } => tree(level),
            Visits::Table => sweep.units,
            Visits::Macs => self.memory.mac_lines(self.memory.lines).max(1),
            Visits::Data { first } => (self.memory.lines - first.0).max(1),
        }
    }
}

/// The accesses of one kind on their way.
struct Queue {
    entries: usize,
    done: BinaryHeap<Reverse<Ps>>,
    last: Ps,
}

impl Queue {
    fn new(entries: u32) -> Self {
        Self { entries: entries.max(1) as usize, done: BinaryHeap::new(), last: 0 }
    }

    /// The first time from `now` on at which there is room for one more.
    fn room_at(&mut self, now: Ps) -> Ps {
        if self.done.len() < self.entries {
            return now;
        }
        self.done.pop().map_or(now, |Reverse(done)| now.max(done))
    }

    fn add(&mut self, done: Ps) {
        self.done.push(Reverse(done));
        self.last = self.last.max(done);
    }
}

/// How many lines of each kind the units have on average, and how many of them have had their turn: a sweep that writes one
/// block in ten writes with every tenth unit.
struct Due {
    lines: Lines,
    units: u64,
    begun: u64,
    had: Lines,
}

impl Due {
    fn new(lines: Lines, units: u64) -> Self {
        Self { lines, units, begun: 1, had: Lines::default() }
    }

    /// Whether the line `media` of the unit at hand has its turn.
    fn takes(&mut self, media: MediaLine) -> bool {
        let due = u128::from(self.lines.like(media)) * u128::from(self.begun) / u128::from(self.units);
        let takes = u128::from(self.had.like(media)) < due;
        if takes {
            self.had += Lines::of(media, 1);
        }
        takes
    }

    fn next_unit(&mut self) {
        self.begun += 1;
    }
}

//! The timing of accesses: banks with one open row each, ranks with an activate window and a write-to-read turnaround,
//! channels with one data bus. An access is submitted at the current time, and its whole schedule is known at once.
//!
//! A read: activate and tRCD if its row is not open, read command, tCL, one burst on the bus; then the bank is free. A
//! write: activate and tRCD likewise, write command, tCWD, burst, tWR; then the bank is free.
//!
//! Decisions, because the papers give only the names of the timings:
//! - Every duration is rounded up to whole interface cycles, but an access may start at any picosecond: requests
//!   are not held back to a clock edge.
//! - Opening another row costs tRCD and no precharge: reading PCM does not destroy what it reads and writes go through
//!   to the cells, so a row buffer has nothing to put back.
//! - tWTR delays a read command that follows a write command to the same rank. A read command that comes before the
//!   write command of an access scheduled earlier is not delayed; only the data bus decides between them.
//! - Command buses are not modelled; only the data buses limit throughput.

use crate::config::{Device, WriteRecovery};
use crate::kernel::{Ps, ns_to_ps};
use crate::message::{Issued, Location, MediaOp};

/// Durations of one device, in picoseconds. Each is a whole number of interface cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Durations {
    pub t_rcd: Ps,
    pub t_cl: Ps,
    pub t_cwd: Ps,
    pub t_faw: Ps,
    pub t_wtr: Ps,
    pub t_wr: Ps,
    pub burst: Ps,
}

impl Durations {
    pub fn new(device: &Device) -> Self {
        let cycle = device.interface_cycle_ps();
        let whole_cycles = |ns: f64| ns_to_ps(ns).next_multiple_of(cycle);
        Self {
            t_rcd: whole_cycles(device.t_rcd_ns),
            t_cl: whole_cycles(device.t_cl_ns),
            t_cwd: whole_cycles(device.t_cwd_ns),
            t_faw: whole_cycles(device.t_faw_ns),
            t_wtr: whole_cycles(device.t_wtr_ns),
            t_wr: whole_cycles(device.t_wr_ns),
            burst: u64::from(device.burst_cycles) * cycle,
        }
    }
}

const NO_ROW: u32 = u32::MAX;
/// Number of activates that a rank may start within one tFAW window.
const ACTIVATES_PER_WINDOW: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Bank {
    open_row: u32,
    free_at: Ps,
    /// When the writes to the open row are programmed: then another row can be activated.
    recovered_at: Ps,
    rank: u16,
    channel: u16,
}

/// For each of the last four activates, the end of its tFAW window; the oldest is at `oldest`.
#[derive(Clone, Copy, Debug, Default)]
struct Rank {
    window_over: [Ps; ACTIVATES_PER_WINDOW],
    oldest: usize,
}

/// A burst on a data bus, with its command.
#[derive(Clone, Copy, Debug)]
struct Burst {
    op: MediaOp,
    rank: u16,
    command: Ps,
    start: Ps,
    end: Ps,
}

/// The timing state of a device.
#[derive(Clone, Debug)]
pub(super) struct Timing {
    durations: Durations,
    recovery: WriteRecovery,
    banks: Vec<Bank>,
    ranks: Vec<Rank>,
    /// For each channel, the bursts that can still constrain a new one: in no order, at most about one per bank.
    bursts: Vec<Vec<Burst>>,
    latest: Ps,
}

impl Timing {
    /// All banks are free and all rows closed. Consecutive bank numbers are in different channels, then in different
    /// banks of a rank, then in different ranks.
    pub fn new(device: &Device) -> Self {
        let per_rank = device.banks_per_rank;
        let banks = (0..device.channels * device.ranks * per_rank)
            .map(|bank| {
                let channel = bank % device.channels;
                let rank_of_channel = bank / device.channels / per_rank;
                let rank = (channel * device.ranks + rank_of_channel) as u16;
                Bank { open_row: NO_ROW, free_at: 0, recovered_at: 0, rank, channel: channel as u16 }
            })
            .collect();
        let bursts_per_channel = (2 * device.ranks * per_rank) as usize;
        Self {
            durations: Durations::new(device),
            recovery: device.write_recovery,
            banks,
            ranks: vec![Rank::default(); (device.channels * device.ranks) as usize],
            bursts: (0..device.channels).map(|_| Vec::with_capacity(bursts_per_channel)).collect(),
            latest: 0,
        }
    }

    pub fn open_row(&self, bank: u16) -> Option<u32> {
        Some(self.banks[usize::from(bank)].open_row).filter(|row| *row != NO_ROW)
    }

    /// When a free bank accepts a command for the row, in picoseconds.
    pub fn ready_at(&self, location: Location) -> Ps {
        let bank = self.banks[usize::from(location.bank)];
        if bank.open_row == location.row { 0 } else { bank.recovered_at }
    }

    /// Schedules one access; see [`crate::message::DevicePort::issue`].
    pub fn issue(&mut self, now: Ps, location: Location, op: MediaOp) -> Issued {
        let bank = self.banks[usize::from(location.bank)];
        debug_assert!(now >= bank.free_at, "bank {} is busy until {} ps, now is {now}", location.bank, bank.free_at);
        debug_assert!(now >= self.latest, "an access at {now} ps was issued after one at {} ps", self.latest);
        debug_assert!(now >= self.ready_at(location), "bank {} has not programmed its open row", location.bank);
        self.latest = now;
        let row_hit = bank.open_row == location.row;
        let command = if row_hit { now } else { self.activate(now, bank.rank) + self.durations.t_rcd };
        let burst = self.place(now, command, bank, op);
        let recovered = match op {
            MediaOp::Read => bank.recovered_at,
            MediaOp::Write => burst.end + self.durations.t_wr,
        };
        let bank_free = match (op, self.recovery) {
            (MediaOp::Write, WriteRecovery::EachWrite) => recovered,
            _ => burst.end,
        };
        let bank = &mut self.banks[usize::from(location.bank)];
        bank.open_row = location.row;
        bank.free_at = bank_free;
        bank.recovered_at = recovered;
        Issued { data_end: burst.end, bank_free, row_hit }
    }

    /// Activates a row of `rank` at `now`, or as soon as the fourth-last activate is tFAW ago. Returns the time. `now`
    /// never decreases, so activates happen in the order of the calls and the ring stays sorted.
    fn activate(&mut self, now: Ps, rank: u16) -> Ps {
        let rank = &mut self.ranks[usize::from(rank)];
        let at = now.max(rank.window_over[rank.oldest]);
        rank.window_over[rank.oldest] = at + self.durations.t_faw;
        rank.oldest = (rank.oldest + 1) % ACTIVATES_PER_WINDOW;
        at
    }

    /// Places a burst on the channel's bus: in the first gap whose command is not before `command` and violates no
    /// turnaround. An access that is issued later may come before an earlier one that still waits for its row.
    fn place(&mut self, now: Ps, command: Ps, bank: Bank, op: MediaOp) -> Burst {
        let Durations { t_cl, t_cwd, t_wtr, burst: length, .. } = self.durations;
        let latency = match op {
            MediaOp::Read => t_cl,
            MediaOp::Write => t_cwd,
        };
        let bursts = &mut self.bursts[usize::from(bank.channel)];
        bursts.retain(|burst| burst.end + t_wtr > now);
        let mut new = Burst { op, rank: bank.rank, command, start: command + latency, end: command + latency + length };
        // Each conflict excludes one interval of start times. Moving to the interval's end until nothing conflicts
        // finds the earliest start, whatever the order of the list.
        while let Some(start) = bursts.iter().find_map(|old| old.pushes(&new, t_wtr, latency)) {
            new = Burst { command: start - latency, start, end: start + length, ..new };
        }
        bursts.push(new);
        new
    }
}

impl Burst {
    /// If this burst conflicts with `new`: the earliest start of `new` that this burst allows.
    fn pushes(&self, new: &Burst, t_wtr: Ps, latency: Ps) -> Option<Ps> {
        if new.start < self.end && self.start < new.end {
            return Some(self.end);
        }
        if self.rank != new.rank {
            return None;
        }
        match (self.op, new.op) {
            // The write came first; the read must wait for its turnaround.
            (MediaOp::Write, MediaOp::Read) => {
                let turned = self.end + t_wtr;
                (new.command > self.command && new.command < turned).then_some(turned + latency)
            }
            // A read that is already scheduled would be in the new write's turnaround: the write comes after it.
            (MediaOp::Read, MediaOp::Write) => {
                let turned = new.end + t_wtr;
                (self.command > new.command && self.command < turned).then_some(self.command + latency)
            }
            _ => None,
        }
    }
}

//! The timing of accesses: banks with one open row each, ranks with an activate window and a write-to-read turnaround,
//! channels with one data bus. An access is submitted at the current time, and its whole schedule is known at once. It
//! waits for its bank, so accesses of a bank can be submitted before the bank is free; they are served in that order.
//!
//! A read: precharge and activate if its row is not open, tRCD, read command, tCL, one burst on the bus. A burst takes as
//! many cycles as its share of a line, rounded up. A write: likewise, then write command, tCWD, burst, tWP. What gates what is as in NVMain (`SubArray`, `StandardRank`), DRAMSim2
//! (`MemoryController::update`) and gem5 (`DRAMInterface`), which agree unless the page of decisions says otherwise:
//!
//! | after | a read command of the bank | a write command | precharge | of other banks of the rank |
//! |---|---|---|---|---|
//! | activate | tRCD | tRCD | tRCD | activate: tRRD, and tFAW after the fourth-last |
//! | read command | max(burst, tCCD) | as the bus allows | burst - tCCD + tRTP | commands: max(burst, tCCD) |
//! | write command | tCWD + burst + tWP + tWTR | max(burst, tCCD) + tWP | tCWD + burst + tWP + tWR | reads: tCWD + burst + tWTR |
//!
//! With [`WriteRecovery::EachWrite`], tWR counts as part of tWP: the bank does nothing else until the cells are
//! programmed. Bursts of different ranks or directions keep tRTRS between them.
//!
//! Decisions, because the papers give only the names of the timings:
//! - Every duration is rounded up to whole interface cycles, but an access may start at any picosecond: requests
//!   are not held back to a clock edge, unless a scheduling policy does that.
//! - tWTR delays a read command that follows a write command to the same rank. A read command that comes before the
//!   write command of an access scheduled earlier is not delayed; only the data bus decides between them.
//! - Command buses are not modelled; only the data buses limit throughput.
//!
//! Reads may stop a write while its bank programs it (`device.write_interruption`): `interruption.rs` says when.

use super::channel_and_rank;
use super::interruption::{Interruption, Programming};
use crate::config::{Device, WriteRecovery};
use crate::kernel::{Ps, ns_to_ps};
use crate::message::{Issued, LINE_WORDS, Location, MediaOp};

/// Durations of one device, in picoseconds. Each is a whole number of interface cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Durations {
    pub t_rcd: Ps,
    pub t_cl: Ps,
    pub t_cwd: Ps,
    pub t_ccd: Ps,
    pub t_rtp: Ps,
    pub t_rp: Ps,
    pub t_rrd: Ps,
    pub t_faw: Ps,
    pub t_wtr: Ps,
    pub t_rtrs: Ps,
    /// While a bank programs a line, it takes no other command.
    pub programming: Ps,
    /// From the end of programming until the row may be closed.
    pub recovery: Ps,
}

impl Durations {
    pub fn new(device: &Device) -> Self {
        let cycle = device.interface_cycle_ps();
        let whole_cycles = |ns: f64| ns_to_ps(ns).next_multiple_of(cycle);
        let (t_wp, t_wr) = (whole_cycles(device.t_wp_ns), whole_cycles(device.t_wr_ns));
        let (programming, recovery) = match device.write_recovery {
            WriteRecovery::EachWrite => (t_wp + t_wr, 0),
            WriteRecovery::RowClose => (t_wp, t_wr),
        };
        Self {
            t_rcd: whole_cycles(device.t_rcd_ns),
            t_cl: whole_cycles(device.t_cl_ns),
            t_cwd: whole_cycles(device.t_cwd_ns),
            t_ccd: whole_cycles(device.t_ccd_ns),
            t_rtp: whole_cycles(device.t_rtp_ns),
            t_rp: whole_cycles(device.t_rp_ns),
            t_rrd: whole_cycles(device.t_rrd_ns),
            t_faw: whole_cycles(device.t_faw_ns),
            t_wtr: whole_cycles(device.t_wtr_ns),
            t_rtrs: whole_cycles(device.t_rtrs_ns),
            programming,
            recovery,
        }
    }
}

/// How long bursts of one to eight words occupy the bus, in picoseconds: whole interface cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bursts([Ps; LINE_WORDS as usize]);

impl Bursts {
    pub fn new(device: &Device) -> Self {
        let cycles = |words: u64| (u64::from(device.burst_cycles) * words).div_ceil(u64::from(LINE_WORDS));
        Self(std::array::from_fn(|place| cycles(place as u64 + 1) * device.interface_cycle_ps()))
    }

    pub fn of(&self, words: u8) -> Ps {
        self.0[usize::from(words) - 1]
    }
}

const NO_ROW: u32 = u32::MAX;
/// Number of activates that a rank may start within one tFAW window.
const ACTIVATES_PER_WINDOW: usize = 4;

#[derive(Clone, Copy, Debug)]
struct Bank {
    open_row: u32,
    /// From when the open row takes a read command and a write command.
    column: [Ps; 2],
    /// From when the open row may be closed.
    precharge: Ps,
    rank: u16,
    channel: u16,
}

/// The activates of a rank that can still constrain a new one, in the order of time. An access that is submitted later
/// may activate earlier, because the other one waits for its bank.
#[derive(Clone, Debug, Default)]
struct Activates(Vec<Ps>);

impl Activates {
    /// The first time from `at` on that is tRRD from every other activate, with at most four in any window of tFAW.
    fn first_from(&self, mut at: Ps, d: &Durations) -> Ps {
        while let Some(later) = self.conflict(at, d) {
            at = later;
        }
        at
    }

    /// If an activate at `at` is not possible: the next time to try.
    fn conflict(&self, at: Ps, d: &Durations) -> Option<Ps> {
        let times = &self.0;
        if let Some(near) = times.iter().find(|&&other| at < other + d.t_rrd && other < at + d.t_rrd) {
            return Some(near + d.t_rrd);
        }
        // With the new one at `place` among the others, five in a row must take tFAW at least.
        let place = times.partition_point(|&other| other <= at);
        let with_new = |index: usize| match index.cmp(&place) {
            std::cmp::Ordering::Less => times[index],
            std::cmp::Ordering::Equal => at,
            std::cmp::Ordering::Greater => times[index - 1],
        };
        let firsts = place.saturating_sub(ACTIVATES_PER_WINDOW)..=place;
        let mut fives = firsts.filter(|first| first + ACTIVATES_PER_WINDOW <= times.len());
        let first = fives.find(|&first| with_new(first + ACTIVATES_PER_WINDOW) < with_new(first) + d.t_faw)?;
        Some(if first + ACTIVATES_PER_WINDOW == place { times[first] + d.t_faw } else { times[place] })
    }

    /// Records an activate at `at`; what `now` has left behind is forgotten.
    fn add(&mut self, at: Ps, now: Ps, d: &Durations) {
        let kept = d.t_faw.max(d.t_rrd);
        let left = self.0.iter().take_while(|&&other| other + kept <= now).count();
        if left > 0 {
            self.0.copy_within(left.., 0);
            self.0.truncate(self.0.len() - left);
        }
        let place = self.0.partition_point(|&other| other <= at);
        self.0.insert(place, at);
    }
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
    lengths: Bursts,
    interruption: Interruption,
    banks: Vec<Bank>,
    /// The write that each bank programs, if reads may stop it; otherwise this is not looked at.
    programming: Vec<Programming>,
    ranks: Vec<Activates>,
    /// For each channel, the bursts that can still constrain a new one: in no order, at most a few per bank.
    bursts: Vec<Vec<Burst>>,
    latest: Ps,
}

impl Timing {
    /// All banks are free and all rows closed. Consecutive bank numbers are in different channels, then in different
    /// banks of a rank, then in different ranks.
    pub fn new(device: &Device) -> Self {
        let per_rank = device.banks_per_rank;
        let banks: Vec<Bank> = (0..device.channels * device.ranks * per_rank)
            .map(|bank| {
                let (channel, rank_of_channel) = channel_and_rank(device.channels, per_rank, bank);
                let rank = (channel * device.ranks + rank_of_channel) as u16;
                Bank { open_row: NO_ROW, column: [0; 2], precharge: 0, rank, channel: channel as u16 }
            })
            .collect();
        let bursts_per_channel = (4 * device.ranks * per_rank) as usize;
        Self {
            durations: Durations::new(device),
            lengths: Bursts::new(device),
            interruption: Interruption::of(device),
            programming: vec![Programming::default(); banks.len()],
            banks,
            ranks: vec![
                Activates(Vec::with_capacity(2 * per_rank as usize));
                (device.channels * device.ranks) as usize
            ],
            bursts: (0..device.channels).map(|_| Vec::with_capacity(bursts_per_channel)).collect(),
            latest: 0,
        }
    }

    /// Whether a write that a read stops begins again.
    pub fn writes_again(&self) -> bool {
        matches!(self.interruption, Interruption::Cancel { .. })
    }

    pub fn open_row(&self, bank: u16) -> Option<u32> {
        Some(self.banks[usize::from(bank)].open_row).filter(|row| *row != NO_ROW)
    }

    /// From when the bank of `location` works on an access to it without delay: its open row takes the column command,
    /// or may be closed. In picoseconds.
    pub fn ready_at(&self, location: Location, op: MediaOp) -> Ps {
        let bank = &self.banks[usize::from(location.bank)];
        let ready = if bank.open_row == location.row { bank.column[op as usize] } else { bank.precharge };
        if op == MediaOp::Write && !self.interruption.is_none() {
            ready.max(self.programming[usize::from(location.bank)].until)
        } else {
            ready
        }
    }

    /// When the bank of `location` begins to work on an access that is submitted at `now`.
    #[inline]
    fn begins(&self, now: Ps, location: Location, op: MediaOp) -> Ps {
        let ready = self.ready_at(location, op).max(now);
        if op == MediaOp::Write || self.interruption.is_none() {
            return ready;
        }
        self.interruption.stops(self.programming[usize::from(location.bank)], ready)
    }

    /// When an access that is submitted at `now` would have its column command, if the data bus were free.
    pub fn command_at(&self, now: Ps, location: Location, op: MediaOp) -> Ps {
        let begins = self.begins(now, location, op);
        let bank = &self.banks[usize::from(location.bank)];
        if bank.open_row == location.row { begins } else { self.column_at(self.activate_at(begins, bank), bank, op) }
    }

    /// When an access whose row is opened at `activate` would have its column command, if the data bus were free.
    fn column_at(&self, activate: Ps, bank: &Bank, op: MediaOp) -> Ps {
        (activate + self.durations.t_rcd).max(bank.column[op as usize])
    }

    /// Schedules one access; see [`crate::message::DevicePort::issue`].
    #[inline]
    pub fn issue(&mut self, now: Ps, location: Location, op: MediaOp, words: u8, not_before: Ps) -> Issued {
        self.schedule(now, self.begins(now, location, op), location, op, words, not_before)
    }

    /// Schedules the read of a line and its write to another place of the same bank. It stops no write.
    #[cold]
    pub fn move_line(&mut self, now: Ps, from: Location, to: Location) -> Issued {
        let programmed = self.programming[usize::from(from.bank)].until;
        let begins = self.ready_at(from, MediaOp::Read).max(programmed).max(now);
        let read = self.schedule(now, begins, from, MediaOp::Read, LINE_WORDS, 0);
        self.issue(now, to, MediaOp::Write, LINE_WORDS, read.data_end)
    }

    /// Schedules an access on which its bank `begins` to work.
    #[inline(always)]
    fn schedule(&mut self, now: Ps, begins: Ps, location: Location, op: MediaOp, words: u8, not_before: Ps) -> Issued {
        debug_assert!(now >= self.latest, "an access at {now} ps was issued after one at {} ps", self.latest);
        self.latest = now;
        let d = self.durations;
        let length = self.lengths.of(words);
        let columns = length.max(d.t_ccd);
        let bank = self.banks[usize::from(location.bank)];
        let row_hit = bank.open_row == location.row;
        let mut command = begins;
        if !row_hit {
            let activate = self.activate_at(begins, &bank);
            self.ranks[usize::from(bank.rank)].add(activate, now, &d);
            command = self.column_at(activate, &bank, op);
        }
        let command = command.max(not_before);
        let burst = self.place(now, command, bank, op, length);
        // A bank whose writes can be stopped takes reads while it programs.
        let programming = if self.interruption.is_none() { d.programming } else { 0 };
        let next = match op {
            MediaOp::Read => burst.command + columns,
            MediaOp::Write => burst.command + columns + programming,
        };
        let precharge = match op {
            MediaOp::Read => burst.command + length.saturating_sub(d.t_ccd) + d.t_rtp,
            MediaOp::Write => burst.end + programming + d.recovery,
        };
        let read = match op {
            MediaOp::Read => next,
            MediaOp::Write => burst.end + programming + d.t_wtr,
        };
        let bank = &mut self.banks[usize::from(location.bank)];
        bank.open_row = location.row;
        bank.column = [bank.column[0].max(read), bank.column[1].max(next)];
        bank.precharge = bank.precharge.max(precharge);
        let stops_write = !self.interruption.is_none() && self.interrupt(location, op, begins, burst.end);
        let done = match op {
            MediaOp::Read => burst.end,
            MediaOp::Write => burst.end + d.programming,
        };
        Issued { command: burst.command, burst: length, data_end: burst.end, done, next, row_hit, stops_write }
    }

    /// Takes note of an access on which its bank `begins` to work and whose data leaves until `end`. Returns whether it stops a
    /// write.
    fn interrupt(&mut self, location: Location, op: MediaOp, begins: Ps, end: Ps) -> bool {
        let programming = &mut self.programming[usize::from(location.bank)];
        let stops = op == MediaOp::Read && begins < programming.until;
        match op {
            MediaOp::Write => *programming = Programming { from: end, until: end + self.durations.programming },
            MediaOp::Read if stops => *programming = self.interruption.resumes(*programming, begins, end),
            MediaOp::Read => {}
        }
        stops
    }

    /// When a row of `bank` can be activated, if the open one may be closed at `precharge`.
    fn activate_at(&self, precharge: Ps, bank: &Bank) -> Ps {
        let closed = if bank.open_row == NO_ROW { precharge } else { precharge + self.durations.t_rp };
        self.ranks[usize::from(bank.rank)].first_from(closed, &self.durations)
    }

    /// Places a burst of `length` on the channel's bus: in the first gap whose command is not before `command` and violates
    /// no turnaround. An access that is issued later may come before an earlier one that still waits for its row.
    fn place(&mut self, now: Ps, command: Ps, bank: Bank, op: MediaOp, length: Ps) -> Burst {
        let d = self.durations;
        let latency = match op {
            MediaOp::Read => d.t_cl,
            MediaOp::Write => d.t_cwd,
        };
        let bursts = &mut self.bursts[usize::from(bank.channel)];
        let kept = d.t_wtr.max(d.t_rtrs).max(d.t_ccd);
        let mut at = 0;
        while let Some(burst) = bursts.get(at) {
            if burst.end + kept > now {
                at += 1;
            } else {
                bursts.swap_remove(at);
            }
        }
        let mut new = Burst { op, rank: bank.rank, command, start: command + latency, end: command + latency + length };
        // Each conflict excludes one interval of start times. Moving to the interval's end until nothing conflicts
        // finds the earliest start, whatever the order of the list.
        while let Some(start) = bursts.iter().find_map(|old| old.pushes(&new, &d, latency)) {
            new = Burst { command: start - latency, start, end: start + length, ..new };
        }
        bursts.push(new);
        new
    }
}

impl Burst {
    /// If this burst conflicts with `new`: the earliest start of `new` that this burst allows.
    fn pushes(&self, new: &Burst, d: &Durations, latency: Ps) -> Option<Ps> {
        let alike = self.rank == new.rank && self.op == new.op;
        let gap = |first: &Burst| if alike { d.t_ccd.saturating_sub(first.end - first.start) } else { d.t_rtrs };
        let free = self.end + gap(self);
        if new.start < free && self.start < new.end + gap(new) {
            return Some(free);
        }
        if self.rank != new.rank {
            return None;
        }
        match (self.op, new.op) {
            // The write came first; the read must wait for its turnaround.
            (MediaOp::Write, MediaOp::Read) => {
                let turned = self.end + d.t_wtr;
                (new.command > self.command && new.command < turned).then_some(turned + latency)
            }
            // A read that is already scheduled would be in the new write's turnaround: the write comes after it.
            (MediaOp::Read, MediaOp::Write) => {
                let turned = new.end + d.t_wtr;
                (self.command > new.command && self.command < turned).then_some(self.command + latency)
            }
            _ => None,
        }
    }
}

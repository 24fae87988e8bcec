//! Modules that are told at once what is read, and collected from when they have it, as of a transactional interface such as
//! DDR-T or NVDIMM-P (gem5 v24's `NVMInterface`).
//!
//! A channel has one module, and the module a line of media in each of its banks. The controller tells it of a read when that is
//! queued ([`Banks::begin_read`]), and has its data sent once they are there: those of a bank in the order in which it was told.
//! A write is sent at once, and programmed when the bank gets to it. So many writes of a module may be unfinished as its buffer
//! holds lines.
//!
//! Decisions, as in gem5:
//! - A bank works in the order in which it is told. A read of the media line that it had last waits for what the bank has to do
//!   before, and takes no time of its own; every write of 64 bytes takes the time of a write.
//! - What was written is the line that the bank had last.
//! - Command buses are not modelled: of the data bus, bursts follow one another without overlap, and keep the turnaround of
//!   their directions (`device.t_wtr_ns`, `device.t_rtrs_ns`), or of ranks.

use super::super::channel_and_rank;
use super::super::timing::{Bursts, Durations};
use super::ModuleStats;
use super::buffer::Leaving;
use crate::config::Machine;
use crate::kernel::{Ps, ns_to_ps};
use crate::message::{Issued, LINE_BYTES, LINE_WORDS, MediaOp};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

const NO_LINE: u64 = u64::MAX;

/// A read of which the module has been told.
#[derive(Clone, Copy, Debug)]
struct Begun {
    /// When its data can be sent.
    ready: Ps,
    /// Whether the bank had its media line.
    hit: bool,
}

#[derive(Clone, Debug)]
struct Bank {
    /// The media line that it had last.
    line: u64,
    /// From when on it can begin something else.
    free: Ps,
    reads: VecDeque<Begun>,
    channel: u16,
    rank: u16,
}

/// The last burst of a channel.
#[derive(Clone, Copy, Debug)]
struct Sent {
    op: MediaOp,
    rank: u16,
    command: Ps,
}

#[derive(Clone, Debug, Default)]
struct Channel {
    last: Option<Sent>,
    /// When each unfinished write is programmed, the first of them on top.
    unfinished: BinaryHeap<Reverse<Ps>>,
}

/// The banks of all modules.
#[derive(Clone, Debug)]
pub(super) struct Banks {
    banks: Vec<Bank>,
    channels: Vec<Channel>,
    /// Lines of 64 bytes in a media line.
    sectors: u64,
    /// Unfinished writes that a module may have.
    most_unfinished: usize,
    read: Ps,
    write: Ps,
    /// From a command until its data begin.
    send: Ps,
    burst: Ps,
    durations: Durations,
    pub stats: ModuleStats,
}

impl Banks {
    pub fn of(machine: &Machine) -> Self {
        let (module, device) = (&machine.module, &machine.device);
        let bank = |number: u32| {
            let (channel, rank) = channel_and_rank(device.channels, device.banks_per_rank, number);
            Bank { line: NO_LINE, free: 0, reads: VecDeque::new(), channel: channel as u16, rank: rank as u16 }
        };
        let most_unfinished = (module.buffer.0 / LINE_BYTES) as usize;
        let channel = Channel { last: None, unfinished: BinaryHeap::with_capacity(most_unfinished) };
        Self {
            banks: (0..device.channels * device.ranks * device.banks_per_rank).map(bank).collect(),
            channels: vec![channel; device.channels as usize],
            sectors: module.media_line.0 / LINE_BYTES,
            most_unfinished,
            read: ns_to_ps(module.media_read_ns),
            write: ns_to_ps(module.media_write_interval_ns),
            send: ns_to_ps(module.buffer_ns),
            burst: Bursts::new(device).of(LINE_WORDS),
            durations: Durations::new(device),
            stats: ModuleStats::default(),
        }
    }

    /// Tells the bank of a read of its line `number`.
    pub fn begin_read(&mut self, now: Ps, bank: u16, number: u64) {
        let line = number / self.sectors;
        let bank = &mut self.banks[usize::from(bank)];
        let hit = bank.line == line;
        if hit {
            self.stats.buffer_hits += 1;
        } else {
            self.stats.media_reads += 1;
            bank.line = line;
            bank.free = bank.free.max(now) + self.read;
        }
        bank.reads.push_back(Begun { ready: bank.free.max(now), hit });
    }

    /// When the data of the read can be sent of which `bank` was told first (never without one), or its module takes another write.
    pub fn ready_at(&self, bank: u16, op: MediaOp) -> Ps {
        let bank = &self.banks[usize::from(bank)];
        let unfinished = &self.channels[usize::from(bank.channel)].unfinished;
        match (op, unfinished.peek()) {
            (MediaOp::Read, _) => bank.reads.front().map_or(Ps::MAX, |read| read.ready),
            (MediaOp::Write, Some(&Reverse(first))) if unfinished.len() == self.most_unfinished => first,
            (MediaOp::Write, _) => 0,
        }
    }

    /// When the channel takes the command of an access of `bank`.
    pub fn command_at(&self, now: Ps, bank: u16, op: MediaOp) -> Ps {
        let &Bank { channel, rank, .. } = &self.banks[usize::from(bank)];
        let Some(last) = self.channels[usize::from(channel)].last else { return now };
        let gap = match (last.op, op) {
            _ if last.rank != rank => self.durations.t_rtrs,
            (MediaOp::Write, MediaOp::Read) => self.durations.t_wtr,
            (MediaOp::Read, MediaOp::Write) => self.durations.t_rtrs,
            _ => 0,
        };
        now.max(last.command + self.burst + gap)
    }

    /// Sends the data of a line; of a write, also says when the media program it.
    pub fn issue(&mut self, now: Ps, bank: u16, number: u64, op: MediaOp, not_before: Ps) -> (Issued, Option<Leaving>) {
        let command = self.command_at(now, bank, op).max(not_before).max(self.ready_at(bank, op));
        let data_end = command + self.send + self.burst;
        let bank = &mut self.banks[usize::from(bank)];
        let channel = &mut self.channels[usize::from(bank.channel)];
        channel.last = Some(Sent { op, rank: bank.rank, command });
        let line = number / self.sectors;
        let (done, row_hit, leaving) = match op {
            MediaOp::Read => {
                (data_end, bank.reads.pop_front().expect("the module was told of each read that it sends").hit, None)
            }
            MediaOp::Write => {
                let (from, hit) = (bank.free.max(data_end), bank.line == line);
                let until = from + self.write;
                (bank.line, bank.free) = (line, until);
                while channel.unfinished.peek().is_some_and(|&Reverse(end)| end <= command) {
                    channel.unfinished.pop();
                }
                channel.unfinished.push(Reverse(until));
                self.stats.media_writes += 1;
                (until, hit, Some(Leaving { line: number, from, until }))
            }
        };
        let next = command + self.burst;
        (Issued { command, burst: self.burst, data_end, done, next, row_hit, stops_write: false }, leaving)
    }
}

#[cfg(test)]
mod tests;

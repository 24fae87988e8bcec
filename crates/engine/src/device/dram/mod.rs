//! DRAM: banks in groups, of which a memory controller opens and closes rows by commands of their own, and which it must
//! refresh. The device says what an access needs next and from when, and a policy says what is sent. What issues
//! accesses as a whole has them prepared: their commands are sent as early as they may be.
//!
//! What must pass between two commands (DDR4: JESD79-4, DDR5: JESD79-5), from the first cycle of the one to that of the other:
//!
//! | after | of the same bank | of the same group | of the same rank | of the same channel |
//! |---|---|---|---|---|
//! | activate | column: tRCD; precharge: tRAS | activate: tRRD_L | activate: tRRD, and tFAW after the fourth-last | |
//! | precharge | activate: tRP | | precharge: tPPD; refresh: tRP | |
//! | read | precharge: tRTP | read: tCCD_L | read: tCCD; write: tCL + burst + tRTW - tCWD | column: burst (+ tRTRS to another rank) |
//! | write | precharge: tCWD + burst + tWR | write: tCCD_L of writes; read: tCWD + burst + tWTR_L | write: tCCD; read: tCWD + burst + tWTR | write: burst; read of another rank: tCWD + burst + tRTRS - tCL |
//! | refresh | | | activate, precharge: tRFC | |
//!
//! Activates and column commands take `dram.command_cycles` on the command bus, the others one cycle. A bank works from the
//! last cycle of a command on, so a duration from a longer command to a shorter one is longer by the difference.
//!
//! Decisions, as in Ramulator 2:
//! - Each rank is due for a refresh of all its banks every tREFI, the ranks of a channel at the same time and one after
//!   another. Its open rows are closed by one command.
//! - Temperature, power-down and self-refresh are not modelled.

#[cfg(test)]
mod tests;
mod times;

use super::channel_and_rank;
use crate::config::Machine;
use crate::kernel::Ps;
use crate::message::{Issued, Location, MediaOp, RowCommand};
use times::Times;

const NO_ROW: u32 = u32::MAX;
/// Number of activates that a rank may start within one tFAW window.
const ACTIVATES_PER_WINDOW: usize = 4;

/// Earliest times of the next commands, in picoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Earliest {
    activate: Ps,
    precharge: Ps,
    /// A read and a write.
    column: [Ps; 2],
}

/// Lets `earliest` be `at` at least.
fn not_before(earliest: &mut Ps, at: Ps) {
    *earliest = at.max(*earliest);
}

#[derive(Clone, Copy, Debug)]
struct Bank {
    open_row: u32,
    /// Whether no access has used that row since it was opened.
    unused: bool,
    next: Earliest,
    group: u32,
    rank: u32,
    channel: u16,
}

#[derive(Clone, Copy, Debug, Default)]
struct Rank {
    next: Earliest,
    /// When all its banks can be closed, and when it can be refreshed.
    close: Ps,
    refresh: Ps,
    /// From when the tFAW windows of its last activates take another one, oldest first.
    windows: [Ps; ACTIVATES_PER_WINDOW],
    /// Banks with an open row.
    open: u32,
}

#[derive(Clone, Copy, Debug)]
struct Channel {
    /// From when its command bus is free.
    bus: Ps,
    column: [Ps; 2],
    /// When its ranks are due for the next refresh, and the first of them that has not had it.
    due: Ps,
    unrefreshed: u32,
}

/// The banks of a device of DRAM.
#[derive(Clone, Debug)]
pub(super) struct Dram {
    times: Times,
    banks: Vec<Bank>,
    /// By group, over all ranks.
    groups: Vec<Earliest>,
    /// By rank, over all channels.
    ranks: Vec<Rank>,
    ranks_per_channel: u32,
    channels: Vec<Channel>,
}

impl Dram {
    /// All banks are free and all rows closed. Consecutive bank numbers are in different channels, then in different groups,
    /// in different banks of a group, and in different ranks.
    pub fn new(machine: &Machine) -> Self {
        let (device, groups) = (&machine.device, machine.dram.bank_groups);
        let times = Times::of(machine);
        let bank = |number: u32| {
            let (channel, of_channel) = channel_and_rank(device.channels, device.banks_per_rank, number);
            let rank = channel * device.ranks + of_channel;
            let group = rank * groups + number / device.channels % device.banks_per_rank % groups;
            Bank { open_row: NO_ROW, unused: false, next: Earliest::default(), group, rank, channel: channel as u16 }
        };
        let ranks = (device.channels * device.ranks) as usize;
        let channel = Channel { bus: 0, column: [0; 2], due: times.refresh_interval, unrefreshed: 0 };
        Self {
            times,
            banks: (0..device.channels * device.ranks * device.banks_per_rank).map(bank).collect(),
            groups: vec![Earliest::default(); ranks * groups as usize],
            ranks: vec![Rank::default(); ranks],
            ranks_per_channel: device.ranks,
            channels: vec![channel; device.channels as usize],
        }
    }

    pub fn open_row(&self, bank: u16) -> Option<u32> {
        Some(self.banks[usize::from(bank)].open_row).filter(|row| *row != NO_ROW)
    }

    /// The command that an access needs next, `None` for its column command, and from when its bank, group, rank and data
    /// bus take it.
    fn needs(&self, location: Location, op: MediaOp) -> (Option<RowCommand>, Ps) {
        let bank = &self.banks[usize::from(location.bank)];
        let (group, rank) = (&self.groups[bank.group as usize], &self.ranks[bank.rank as usize]);
        match bank.open_row {
            row if row == location.row => {
                let [bank, group, rank] = [&bank.next, group, &rank.next].map(|next| next.column[op as usize]);
                let bus =
                    self.channels[usize::from(self.banks[usize::from(location.bank)].channel)].column[op as usize];
                (None, bank.max(group).max(rank).max(bus))
            }
            NO_ROW => {
                let at = bank.next.activate.max(group.activate).max(rank.next.activate).max(rank.windows[0]);
                (Some(RowCommand::Activate(location)), at)
            }
            _ => (Some(RowCommand::Precharge { bank: location.bank }), bank.next.precharge.max(rank.next.precharge)),
        }
    }

    /// See [`crate::message::DevicePort::needs`].
    pub fn needs_on_bus(&self, location: Location, op: MediaOp) -> (Option<RowCommand>, Ps) {
        let (command, at) = self.needs(location, op);
        (command, at.max(self.channels[usize::from(self.banks[usize::from(location.bank)].channel)].bus))
    }

    /// The command that the next refresh of `channel` needs next, and from when it may be sent.
    pub fn refresh(&self, channel: u16) -> (RowCommand, Ps) {
        let Channel { bus, due, unrefreshed, .. } = self.channels[usize::from(channel)];
        let number = u32::from(channel) * self.ranks_per_channel + unrefreshed;
        let rank = &self.ranks[number as usize];
        let (command, at) = if rank.open > 0 {
            (RowCommand::PrechargeAll { rank: number as u16 }, rank.close.max(rank.next.precharge))
        } else {
            (RowCommand::Refresh { rank: number as u16 }, rank.refresh)
        };
        (command, at.max(due).max(bus))
    }

    /// The rank of `bank`.
    pub fn rank_of(&self, bank: u16) -> u16 {
        self.banks[usize::from(bank)].rank as u16
    }

    /// When `channel` is due for its next refresh.
    pub fn refresh_due(&self, channel: u16) -> Ps {
        self.channels[usize::from(channel)].due
    }

    /// Sends `command` at `at`, which must not be too early for it.
    pub fn send(&mut self, at: Ps, command: RowCommand) {
        let t = self.times;
        match command {
            RowCommand::Activate(location) => self.activate(at, location),
            RowCommand::Precharge { bank } => {
                let bank = &mut self.banks[usize::from(bank)];
                bank.open_row = NO_ROW;
                not_before(&mut bank.next.activate, at + t.precharge_to_activate);
                let (rank, channel) = (&mut self.ranks[bank.rank as usize], bank.channel);
                rank.open -= 1;
                rank.precharged(at, &t);
                self.occupy(channel, at, t.cycle);
            }
            RowCommand::PrechargeAll { rank } => {
                let number = u32::from(rank);
                for bank in self.banks.iter_mut().filter(|bank| bank.rank == number) {
                    bank.open_row = NO_ROW;
                    not_before(&mut bank.next.activate, at + t.precharge_to_activate);
                }
                let rank = &mut self.ranks[number as usize];
                rank.open = 0;
                rank.precharged(at, &t);
                self.occupy((number / self.ranks_per_channel) as u16, at, t.cycle);
            }
            RowCommand::Refresh { rank } => {
                let number = u32::from(rank);
                let next = &mut self.ranks[number as usize].next;
                not_before(&mut next.activate, at + t.refresh_to_activate);
                not_before(&mut next.precharge, at + t.refresh_to_precharge);
                let of_channel = &mut self.channels[(number / self.ranks_per_channel) as usize];
                of_channel.unrefreshed += 1;
                if of_channel.unrefreshed == self.ranks_per_channel {
                    (of_channel.unrefreshed, of_channel.due) = (0, of_channel.due + t.refresh_interval);
                }
                self.occupy((number / self.ranks_per_channel) as u16, at, t.cycle);
            }
        }
    }

    fn occupy(&mut self, channel: u16, at: Ps, length: Ps) {
        not_before(&mut self.channels[usize::from(channel)].bus, at + length);
    }

    fn activate(&mut self, at: Ps, location: Location) {
        let t = self.times;
        let bank = &mut self.banks[usize::from(location.bank)];
        (bank.open_row, bank.unused) = (location.row, true);
        let column = at + t.activate_to_column;
        bank.next.column.iter_mut().for_each(|earliest| not_before(earliest, column));
        not_before(&mut bank.next.precharge, at + t.activate_to_precharge);
        let rank = &mut self.ranks[bank.rank as usize];
        rank.open += 1;
        not_before(&mut rank.close, at + t.activate_to_precharge);
        not_before(&mut rank.next.activate, at + t.activates);
        rank.windows.rotate_left(1);
        rank.windows[ACTIVATES_PER_WINDOW - 1] = at + t.window;
        not_before(&mut self.groups[bank.group as usize].activate, at + t.activates_of_group);
        let channel = bank.channel;
        self.occupy(channel, at, t.long_command);
    }

    /// Sends the column command of an access whose row is open at `at`.
    fn column(&mut self, at: Ps, bank: u16, op: MediaOp) -> Issued {
        let (t, of) = (self.times, op as usize);
        let Bank { group, rank, channel, .. } = self.banks[usize::from(bank)];
        let close = at + t.column_to_precharge[of];
        let of_bank = &mut self.banks[usize::from(bank)];
        not_before(&mut of_bank.next.precharge, close);
        let row_hit = !std::mem::take(&mut of_bank.unused);
        not_before(&mut self.ranks[rank as usize].close, close);
        not_before(&mut self.groups[group as usize].column[of], at + t.columns_of_group[of]);
        let first = u32::from(channel) * self.ranks_per_channel;
        for other in first..first + self.ranks_per_channel {
            let next = &mut self.ranks[other as usize].next;
            let gaps = if other == rank { &t.columns_of_rank } else { &t.columns_of_other_rank };
            for (earliest, gap) in next.column.iter_mut().zip(gaps[of]) {
                not_before(earliest, at + gap);
            }
        }
        if op == MediaOp::Write {
            not_before(&mut self.groups[group as usize].column[MediaOp::Read as usize], at + t.write_to_read_of_group);
        }
        not_before(&mut self.channels[usize::from(channel)].column[of], at + t.burst);
        self.occupy(channel, at, t.long_command);
        let end = at + t.to_data[of] + t.burst;
        let next = at + t.columns_of_group[of];
        Issued { command: at, burst: t.burst, data_end: end, done: end, next, row_hit, stops_write: false }
    }

    /// Refreshes what is due at `now`, and opens the row of an access that is issued as a whole. Commands that accesses before
    /// it have reserved for later do not occupy the command bus for it.
    pub fn prepare(&mut self, now: Ps, location: Location, op: MediaOp) {
        let channel = self.banks[usize::from(location.bank)].channel;
        while self.refresh_due(channel) <= now {
            let (command, at) = self.refresh(channel);
            self.send(at, command);
        }
        while let (Some(command), at) = self.needs(location, op) {
            self.send(at.max(now), command);
        }
    }

    /// Sends the column command of an access whose row is open, not before `no_earlier`.
    pub fn issue(&mut self, now: Ps, location: Location, op: MediaOp, no_earlier: Ps) -> Issued {
        let (command, at) = self.needs(location, op);
        debug_assert_eq!(command, None, "the row of an access is open when it is issued");
        self.column(at.max(now).max(no_earlier), location.bank, op)
    }
}

impl Rank {
    /// A row of it, or all of them, have been closed at `at`.
    fn precharged(&mut self, at: Ps, t: &Times) {
        not_before(&mut self.next.precharge, at + t.precharges);
        not_before(&mut self.refresh, at + t.precharge_to_refresh);
    }
}

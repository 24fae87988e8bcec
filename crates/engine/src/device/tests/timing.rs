//! Exact edges of every timing, and all timings together against a model that tries every picosecond.

use super::test_machine;
use crate::config::{Device, WriteInterruption, WriteRecovery};
use crate::device::timing::{Bursts, Durations, Timing};
use crate::kernel::Ps;
use crate::message::{Issued, Location, MediaOp};
use MediaOp::{Read, Write};
use proptest::prelude::*;

const NS: Ps = 1_000;

/// One channel, two ranks of eight banks, 2.5 ns cycles, and timings whose sums are all different.
fn table() -> Device {
    let mut device = test_machine().device;
    (device.channels, device.ranks, device.banks_per_rank) = (1, 2, 8);
    (device.interface_mhz, device.burst_cycles) = (400, 4);
    (device.t_rcd_ns, device.t_cl_ns, device.t_cwd_ns) = (50.0, 15.0, 12.5);
    (device.t_faw_ns, device.t_wtr_ns, device.t_wr_ns) = (200.0, 7.5, 300.0);
    (device.t_ccd_ns, device.t_rtp_ns, device.t_rp_ns) = (0.0, 0.0, 0.0);
    (device.t_rrd_ns, device.t_rtrs_ns, device.t_wp_ns) = (0.0, 0.0, 0.0);
    device.write_recovery = WriteRecovery::EachWrite;
    device
}

/// An access that stops no write: command, burst, end of the data, end, and the next of its kind.
fn issued([command, burst, data_end, done, next]: [Ps; 5], row_hit: bool) -> Issued {
    Issued { command, burst, data_end, done, next, row_hit, stops_write: false }
}

impl Timing {
    /// An access that may have its column command at any time.
    fn access(&mut self, now: Ps, location: Location, op: MediaOp) -> Issued {
        self.issue(now, location, op, 8, 0)
    }
}

fn at(bank: u16, row: u32) -> Location {
    Location { bank, row }
}

/// A device whose `banks` have had row 0 open for a long time; returns a time from which nothing is busy.
fn opened(table: &Device, banks: &[u16]) -> (Timing, Ps) {
    let mut timing = Timing::new(table);
    let mut now = 0;
    for &bank in banks {
        timing.access(now, at(bank, 0), Read);
        now += 1_000 * NS;
    }
    (timing, now)
}

#[test]
fn timings_are_rounded_up_to_whole_cycles() {
    let mut device = table();
    (device.t_rcd_ns, device.t_cl_ns, device.t_cwd_ns) = (48.0, 15.0, 13.0);
    (device.t_faw_ns, device.t_wtr_ns, device.t_wr_ns) = (50.1, 2.6, 0.1);
    (device.t_ccd_ns, device.t_rtp_ns, device.t_rp_ns) = (5.0, 7.4, 2.5);
    (device.t_rrd_ns, device.t_rtrs_ns, device.t_wp_ns) = (10.0, 1.0, 150.0);
    let mut expected = Durations {
        t_rcd: 50_000,
        t_cl: 15_000,
        t_cwd: 15_000,
        t_ccd: 5_000,
        t_rtp: 7_500,
        t_rp: 2_500,
        t_rrd: 10_000,
        t_faw: 52_500,
        t_wtr: 5_000,
        t_rtrs: 2_500,
        programming: 152_500,
        recovery: 0,
    };
    assert_eq!(Durations::new(&device), expected);
    let bursts = Bursts::new(&device);
    let of_words = [2_500, 2_500, 5_000, 5_000, 7_500, 7_500, 10_000, 10_000];
    assert_eq!(std::array::from_fn(|place| bursts.of(place as u8 + 1)), of_words);
    device.write_recovery = WriteRecovery::RowClose;
    (expected.programming, expected.recovery) = (150_000, 2_500);
    assert_eq!(Durations::new(&device), expected);
}

#[test]
fn read_takes_rcd_cl_and_a_burst() {
    let mut timing = Timing::new(&table());
    let now = 7;
    assert_eq!(timing.open_row(3), None);
    let (command, data_end) = (now + 50 * NS, now + (50 + 15 + 10) * NS);
    let expected = issued([command, 10 * NS, data_end, data_end, command + 10 * NS], false);
    assert_eq!(timing.access(now, at(3, 5), Read), expected);
    assert_eq!((timing.open_row(3), timing.open_row(4)), (Some(5), None));
}

#[test]
fn read_of_the_open_row_saves_rcd() {
    let (mut timing, now) = opened(&table(), &[3]);
    let data_end = now + (15 + 10) * NS;
    let expected = issued([now, 10 * NS, data_end, data_end, now + 10 * NS], true);
    assert_eq!(timing.access(now, at(3, 0), Read), expected);
}

/// What a bank does at full rate, submitted all at once.
fn back_to_back(device: &Device, accesses: &[(u32, MediaOp)]) -> Vec<Ps> {
    let mut timing = Timing::new(device);
    accesses.iter().map(|&(row, op)| timing.access(0, at(3, row), op).command / NS).collect()
}

#[test]
fn column_commands_to_an_open_row_follow_each_other_by_a_burst_or_ccd() {
    let mut device = table();
    assert_eq!(back_to_back(&device, &[(5, Read); 4]), [50, 60, 70, 80]);
    device.t_ccd_ns = 12.5;
    assert_eq!(back_to_back(&device, &[(5, Read); 3]), [50, 62, 75]);
}

#[test]
fn another_row_waits_for_rtp_rp_and_rcd_after_a_read() {
    let mut device = table();
    // The burst less tCCD, tRTP, tRP, tRCD.
    assert_eq!(back_to_back(&device, &[(5, Read), (6, Read)]), [50, 50 + 10 + 50]);
    (device.t_ccd_ns, device.t_rtp_ns, device.t_rp_ns) = (5.0, 7.5, 2.5);
    assert_eq!(back_to_back(&device, &[(5, Read), (6, Read)]), [50, 50 + 5 + 10 + 50]);
}

#[test]
fn write_holds_its_bank_until_it_is_programmed() {
    let mut device = table();
    let data_end = (50 + 10) * NS + 12_500;
    let next = (50 + 10 + 300) * NS;
    let expected = issued([50 * NS, 10 * NS, data_end, data_end + 300 * NS, next], false);
    assert_eq!(Timing::new(&device).access(0, at(3, 5), Write), expected);
    // The next write's data may cross the bus while the line is programmed; a read waits for tWTR after that, and another
    // row for its own activate.
    let end = 72 + 300;
    assert_eq!(back_to_back(&device, &[(5, Write), (5, Write)]), [50, 50 + 10 + 300]);
    assert_eq!(back_to_back(&device, &[(5, Write), (5, Read)]), [50, end + 8]);
    assert_eq!(back_to_back(&device, &[(5, Write), (6, Write)]), [50, end + 50]);
    // As a time of its own, tWP does the same, and tWR comes on top of it.
    (device.t_wp_ns, device.t_wr_ns) = (200.0, 100.0);
    assert_eq!(back_to_back(&device, &[(5, Write), (5, Write)]), [50, 360]);
    device.write_recovery = WriteRecovery::RowClose;
    assert_eq!(back_to_back(&device, &[(5, Write), (5, Write)]), [50, 260]);
    assert_eq!(back_to_back(&device, &[(5, Write), (6, Write)]), [50, end + 50]);
}

#[test]
fn with_recovery_at_row_close_writes_to_the_open_row_follow_each_other() {
    let mut device = table();
    device.write_recovery = WriteRecovery::RowClose;
    assert_eq!(back_to_back(&device, &[(5, Write), (5, Write), (5, Read)]), [50, 60, 60 + 30]);
    assert_eq!(back_to_back(&device, &[(5, Write), (5, Write), (6, Read)]), [50, 60, 82 + 300 + 50]);
    // A read in between does not shorten the recovery.
    assert_eq!(back_to_back(&device, &[(5, Write), (5, Read), (6, Read)]), [50, 80, 72 + 300 + 50]);
}

#[test]
fn what_is_ready_is_issued_without_delay() {
    let mut timing = Timing::new(&table());
    timing.access(0, at(3, 5), Write);
    let ready = timing.ready_at(at(3, 6), Write);
    assert_eq!((ready, timing.ready_at(at(3, 5), Write)), (372_500, 360_000));
    assert_eq!(timing.command_at(0, at(3, 6), Write), ready + 50 * NS);
    assert_eq!(timing.access(ready, at(3, 6), Write).command, ready + 50 * NS);
    assert_eq!(timing.ready_at(at(4, 6), Write), 0);
}

#[test]
fn column_command_comes_no_earlier_than_asked() {
    for (not_before, command) in [(50_000, 50_000), (50_001, 50_001)] {
        assert_eq!(Timing::new(&table()).issue(0, at(3, 5), Read, 8, not_before).command, command);
    }
}

#[test]
fn activates_of_a_rank_keep_rrd_and_go_before_later_ones() {
    let mut device = table();
    device.t_rrd_ns = 10.0;
    let mut timing = Timing::new(&device);
    // Bank 3 closes its row at 372.5 ns; its next row is activated then.
    timing.access(0, at(3, 5), Write);
    assert_eq!(timing.access(1, at(3, 6), Read).command, 422_500);
    // Another bank's activate has room before it, or comes tRRD after it.
    assert_eq!(timing.access(362_500, at(4, 0), Read).command, 412_500);
    let mut timing = Timing::new(&device);
    timing.access(0, at(3, 5), Write);
    timing.access(1, at(3, 6), Read);
    assert_eq!(timing.access(362_501, at(4, 0), Read).command, 432_500);
    // The other rank does not matter.
    assert_eq!(timing.command_at(362_501, at(8, 0), Read), 362_501 + 50 * NS);
}

#[test]
fn bursts_of_other_ranks_and_directions_keep_rtrs() {
    let mut device = table();
    device.t_rtrs_ns = 2.5;
    for (bank, op, data_end) in [(1, Read, 35_000), (8, Read, 37_500), (1, Write, 37_500), (8, Write, 37_500)] {
        let (mut timing, now) = opened(&device, &[0, 1, 8]);
        timing.access(now, at(0, 0), Read);
        assert_eq!(timing.access(now + 10 * NS, at(bank, 0), op).data_end, now + data_end, "{op:?} of bank {bank}");
    }
}

#[test]
fn rank_takes_four_activates_in_a_window_that_slides() {
    let alone = (50 + 15 + 10) * NS;
    for (fifth_at, held_back) in [(200 * NS, 0), (200 * NS - 1, 1), (30 * NS, 170 * NS)] {
        let mut timing = Timing::new(&table());
        for (bank, now) in [(0, 0), (1, 10 * NS), (2, 20 * NS), (3, 30 * NS)] {
            assert_eq!(timing.access(now, at(bank, 0), Read).data_end, now + alone);
        }
        let fifth = timing.access(fifth_at, at(4, 0), Read);
        assert_eq!(fifth.data_end, fifth_at + held_back + alone);
        // The window slides: the sixth looks back at the second activate, not at the first.
        let sixth_at = fifth_at.max(200 * NS);
        let sixth = timing.access(sixth_at, at(5, 0), Read);
        assert_eq!(sixth.data_end, 210 * NS + alone);
    }
}

#[test]
fn open_rows_and_other_ranks_need_no_place_in_the_window() {
    let (mut timing, now) = opened(&table(), &[7]);
    for bank in 0..4 {
        timing.access(now, at(bank, 1), Read);
    }
    // Four bursts end at 75, 85, 95 and 105 ns; the hit finds the bus free before them.
    assert_eq!(timing.access(now, at(7, 0), Read).data_end, now + 25 * NS);
    assert_eq!(timing.access(now, at(8, 0), Read).data_end, now + 115 * NS);
    // The fifth activate of the first rank waits.
    assert_eq!(timing.access(now, at(4, 0), Read).data_end, now + (200 + 75) * NS);
}

#[test]
fn read_command_waits_for_the_turnaround_of_its_rank() {
    // The write's data end at 22.5 ns; the rank takes read commands from 30 ns.
    for (after, held_back) in [(30 * NS, 0), (30 * NS - 1, 1), (1, 30 * NS - 1)] {
        let (mut timing, now) = opened(&table(), &[0, 1, 8]);
        assert_eq!(timing.access(now, at(0, 0), Write).data_end, now + 22_500);
        assert_eq!(timing.access(now + after, at(1, 0), Read).data_end, now + after + held_back + 25 * NS);
    }
    // The other rank's reads wait for the bus alone.
    let (mut timing, now) = opened(&table(), &[0, 1, 8]);
    timing.access(now, at(0, 0), Write);
    assert_eq!(timing.access(now + 1, at(8, 0), Read).data_end, now + 22_500 + 10 * NS);
}

#[test]
fn read_before_the_write_command_is_not_bound_by_its_turnaround() {
    // The write's row is closed: its command comes at 50 ns, its data from 62.5 to 72.5 ns, its turnaround ends at 80.
    // A read that the bus lets go before the write goes; another has its command after the write's and waits for both.
    for (after, data_end) in [(37_500, 62_500), (37_501, 105_000), (80_000, 105_000), (80_001, 105_001)] {
        let (mut timing, now) = opened(&table(), &[1]);
        timing.access(now, at(0, 5), Write);
        assert_eq!(timing.access(now + after, at(1, 0), Read).data_end, now + data_end, "issued after {after} ps");
    }
}

#[test]
fn write_does_not_push_its_turnaround_under_a_scheduled_read() {
    // The read's command comes at 50 ns, its data from 65 to 75 ns. A write to an open row whose turnaround (command +
    // 30 ns) ends by then goes first; another waits until its data follow the read's on the bus.
    for (after, data_end) in [(20_000, 42_500), (20_001, 85_000), (60_000, 85_000), (62_500, 85_000), (62_501, 85_001)]
    {
        let (mut timing, now) = opened(&table(), &[1]);
        timing.access(now, at(0, 5), Read);
        assert_eq!(timing.access(now + after, at(1, 0), Write).data_end, now + data_end, "issued after {after} ps");
    }
}

#[test]
fn one_burst_at_a_time_on_a_bus() {
    for (after, held_back) in [(0, 10 * NS), (1, 10 * NS - 1), (10 * NS - 1, 1), (10 * NS, 0)] {
        let (mut timing, now) = opened(&table(), &[0, 1]);
        timing.access(now, at(0, 0), Read);
        assert_eq!(timing.access(now + after, at(1, 0), Read).data_end, now + after + held_back + 25 * NS);
    }
    let mut two_channels = table();
    two_channels.channels = 2;
    let (mut timing, now) = opened(&two_channels, &[0, 1]);
    timing.access(now, at(0, 0), Read);
    assert_eq!(timing.access(now, at(1, 0), Read).data_end, now + 25 * NS);
}

#[test]
fn hit_uses_the_bus_while_an_earlier_miss_waits_for_its_row() {
    // The miss has the bus from 65 to 75 ns. A hit fits before it if its burst, 15 to 25 ns after issue, ends by then.
    for (after, data_end) in [(0, 25_000), (40_000, 65_000), (40_001, 85_000), (60_000, 85_000), (60_001, 85_001)] {
        let (mut timing, now) = opened(&table(), &[1]);
        timing.access(now, at(0, 5), Read);
        assert_eq!(timing.access(now + after, at(1, 0), Read).data_end, now + data_end, "issued after {after} ps");
    }
}

#[test]
fn banks_are_numbered_over_channels_banks_and_ranks() {
    let mut device = table();
    (device.channels, device.ranks, device.banks_per_rank) = (2, 2, 4);
    let activates = |banks: [u16; 5]| {
        let mut timing = Timing::new(&device);
        banks.map(|bank| timing.access(0, at(bank, 0), Read).data_end).into_iter().max()
    };
    // Banks 0, 2, 4, 6 are the first rank of channel 0; 8 is in its second rank; 1 is in channel 1.
    assert_eq!(activates([0, 2, 4, 6, 8]), Some((75 + 40) * NS));
    assert_eq!(activates([0, 2, 4, 6, 1]), Some((75 + 30) * NS));
    device.banks_per_rank = 5;
    let mut timing = Timing::new(&device);
    let last = [0, 2, 4, 6, 8].map(|bank| timing.access(0, at(bank, 0), Read).data_end)[4];
    assert_eq!(last, (200 + 75) * NS);
}

/// Everything that was ever scheduled; an access is placed by trying every picosecond.
struct Model {
    device: Device,
    durations: Durations,
    open: Vec<Option<u32>>,
    /// (rank, time)
    activates: Vec<(u32, Ps)>,
    accesses: Vec<Access>,
}

#[derive(Clone, Copy)]
struct Access {
    op: MediaOp,
    bank: u32,
    rank: u32,
    channel: u32,
    command: Ps,
    start: Ps,
    burst: Ps,
}

impl Access {
    fn end(&self) -> Ps {
        self.start + self.burst
    }
}

impl Model {
    fn new(device: Device) -> Self {
        let banks = (device.channels * device.ranks * device.banks_per_rank) as usize;
        let durations = Durations::new(&device);
        Self { device, durations, open: vec![None; banks], activates: vec![], accesses: vec![] }
    }

    /// Whether at most four activates fall into any window of tFAW, and all keep tRRD.
    fn activates_fit(&self, rank: u32, at: Ps) -> bool {
        let d = self.durations;
        let mut times: Vec<Ps> = self.activates.iter().filter(|(of, _)| *of == rank).map(|(_, time)| *time).collect();
        let apart = times.iter().all(|time| time.abs_diff(at) >= d.t_rrd);
        times.push(at);
        times.sort_unstable();
        apart && times.windows(5).all(|five| five[4] - five[0] >= d.t_faw)
    }

    /// The earliest column command of `op` that the earlier accesses of the bank allow.
    fn column(&self, bank: u32, op: MediaOp) -> Ps {
        let d = self.durations;
        let of_bank = self.accesses.iter().filter(|access| access.bank == bank);
        let after = of_bank.map(|access| match (access.op, op) {
            (Read, _) => access.command + access.burst.max(d.t_ccd),
            (Write, Write) => access.command + access.burst.max(d.t_ccd) + d.programming,
            (Write, Read) => access.end() + d.programming + d.t_wtr,
        });
        after.max().unwrap_or(0)
    }

    /// The earliest time at which the earlier accesses of the bank allow its row to be closed.
    fn precharge(&self, bank: u32) -> Ps {
        let d = self.durations;
        let of_bank = self.accesses.iter().filter(|access| access.bank == bank);
        let after = of_bank.map(|access| match access.op {
            Read => access.command + access.burst.saturating_sub(d.t_ccd) + d.t_rtp,
            Write => access.end() + d.programming + d.recovery,
        });
        after.max().unwrap_or(0)
    }

    fn fits(&self, new: &Access) -> bool {
        let d = self.durations;
        let turned =
            |write: &Access, read: &Access| read.command <= write.command || read.command >= write.end() + d.t_wtr;
        self.accesses.iter().filter(|old| old.channel == new.channel).all(|old| {
            let alike = old.rank == new.rank && old.op == new.op;
            // From the start of the first to that of the second.
            let least = |first: &Access| if alike { first.burst.max(d.t_ccd) } else { first.burst + d.t_rtrs };
            let apart = new.start >= old.start + least(old) || old.start >= new.start + least(new);
            let rank = match (new.op, old.op) {
                _ if old.rank != new.rank => true,
                (Read, Write) => turned(old, new),
                (Write, Read) => turned(new, old),
                _ => true,
            };
            apart && rank
        })
    }

    fn issue(&mut self, now: Ps, location: Location, op: MediaOp, words: u8) -> Issued {
        let bank = u32::from(location.bank);
        let channel = bank % self.device.channels;
        let rank = channel + self.device.channels * (bank / self.device.channels / self.device.banks_per_rank);
        let d = self.durations;
        let open = self.open[bank as usize].replace(location.row);
        let row_hit = open == Some(location.row);
        let first = if row_hit {
            self.column(bank, op).max(now)
        } else {
            let closed = self.precharge(bank).max(now) + if open.is_some() { d.t_rp } else { 0 };
            let activate = (closed..).find(|&at| self.activates_fit(rank, at)).unwrap();
            self.activates.push((rank, activate));
            (activate + d.t_rcd).max(self.column(bank, op))
        };
        let latency = if op == Read { d.t_cl } else { d.t_cwd };
        let burst =
            (u64::from(self.device.burst_cycles * u32::from(words))).div_ceil(8) * self.device.interface_cycle_ps();
        let of = |command| Access { op, bank, rank, channel, command, start: command + latency, burst };
        let access = (first..).map(of).find(|access| self.fits(access)).unwrap();
        self.accesses.push(access);
        let data_end = access.end();
        let programming = if op == Read { 0 } else { d.programming };
        let next = access.command + burst.max(d.t_ccd) + programming;
        issued([access.command, burst, data_end, data_end + programming, next], row_hit)
    }
}

proptest! {
    #[test]
    fn schedules_equal_those_of_the_model(
        (channels, ranks, banks_per_rank) in (1..3u32, 1..3u32, 1..7u32),
        burst in 1..9u32, latencies in prop::array::uniform12(0..12u32), each_write in any::<bool>(),
        accesses in prop::collection::vec((any::<u16>(), 0..2u32, any::<bool>(), 1..=8u8, 0..6u64), 1..60),
    ) {
        let mut device = table();
        (device.channels, device.ranks, device.banks_per_rank) = (channels, ranks, banks_per_rank);
        // One cycle is one picosecond.
        (device.interface_mhz, device.burst_cycles) = (1_000_000, burst);
        let [t_rcd, t_cl, t_cwd, t_faw, t_wtr, t_wr, t_ccd, t_rtp, t_rp, t_rrd, t_rtrs, t_wp] =
            latencies.map(|ps| f64::from(ps) / 1_000.0);
        (device.t_rcd_ns, device.t_cl_ns, device.t_cwd_ns) = (t_rcd, t_cl, t_cwd);
        (device.t_faw_ns, device.t_wtr_ns, device.t_wr_ns) = (4.0 * t_faw, t_wtr, t_wr);
        (device.t_ccd_ns, device.t_rtp_ns, device.t_rp_ns) = (t_ccd / 3.0, t_rtp, t_rp / 2.0);
        (device.t_rrd_ns, device.t_rtrs_ns, device.t_wp_ns) = (t_rrd, t_rtrs / 3.0, t_wp);
        device.write_recovery = if each_write { WriteRecovery::EachWrite } else { WriteRecovery::RowClose };
        let mut timing = Timing::new(&device);
        let mut model = Model::new(device);
        let mut now = 0;
        for (bank, row, write, words, pause) in accesses {
            let location = at(bank % model.open.len() as u16, row);
            now += pause * pause;
            let op = if write { Write } else { Read };
            prop_assert_eq!(timing.issue(now, location, op, words, 0), model.issue(now, location, op, words));
        }
    }
}

/// A bank with row 0 open that has taken a line: when its data has come, and when its cells are programmed.
fn programming(device: &Device) -> (Timing, Ps, Ps) {
    let (mut timing, now) = opened(device, &[0]);
    let write = timing.access(now, at(0, 0), Write);
    (timing, write.data_end, write.done)
}

#[test]
fn paused_write_stops_at_its_next_iteration_and_goes_on_after_the_read() {
    let mut device = table();
    device.t_wtr_ns = 0.0;
    device.write_interruption = WriteInterruption::Pause;
    device.write_iteration_ns = 50.0;
    let (_, from, until) = programming(&device);
    assert_eq!(until - from, 300 * NS);
    for (after, begins) in [(0, 0), (1, 50 * NS), (50 * NS, 50 * NS), (50 * NS + 1, 100 * NS), (299 * NS, 300 * NS)] {
        let (mut timing, ..) = programming(&device);
        let read = timing.access(from + after, at(0, 0), Read);
        assert_eq!(read.command, from + begins, "after {after} ps");
        // What is left of the write goes before the next one of the bank.
        let left = until - (from + begins);
        assert_eq!(timing.ready_at(at(0, 0), Write), if left == 0 { read.next } else { read.data_end + left });
        assert_eq!(read.stops_write, left > 0);
    }
    // A read of another row closes the open one first, and a second read stops the same write again.
    let (mut timing, ..) = programming(&device);
    let first = timing.access(from + 1, at(0, 9), Read);
    assert_eq!(first.command, from + 50 * NS + 50 * NS, "an iteration and tRCD");
    let again = timing.access(first.data_end, at(0, 9), Read);
    assert_eq!(again.command, first.data_end);
    assert_eq!(timing.ready_at(at(0, 0), Write), again.data_end + 250 * NS);
    // Another bank of the rank is not concerned.
    assert_eq!(timing.access(again.data_end, at(1, 0), Read).command, again.data_end + 50 * NS);
}

#[test]
fn cancelled_write_begins_again_unless_most_of_it_is_done() {
    let mut device = table();
    device.t_wtr_ns = 0.0;
    device.write_interruption = WriteInterruption::Cancel;
    device.cancel_below_percent = 75;
    let (_, from, until) = programming(&device);
    for (after, cancelled) in [(0, true), (225 * NS - 1, true), (225 * NS, false), (299 * NS, false)] {
        let (mut timing, ..) = programming(&device);
        let read = timing.access(from + after, at(0, 0), Read);
        assert_eq!(read.command, if cancelled { from + after } else { until }, "after {after} ps");
        let ready = timing.ready_at(at(0, 0), Write);
        assert_eq!(ready, if cancelled { read.data_end + 300 * NS } else { until.max(read.next) }, "after {after} ps");
        assert_eq!(read.stops_write, cancelled);
    }
}

//! Exact edges of every timing, and all timings together against a model that tries every picosecond.

use super::test_machine;
use crate::config::Device;
use crate::device::timing::{Durations, Timing};
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
    device
}

fn at(bank: u16, row: u32) -> Location {
    Location { bank, row }
}

/// A device whose `banks` have had row 0 open for a long time; returns a time from which nothing is busy.
fn opened(table: &Device, banks: &[u16]) -> (Timing, Ps) {
    let mut timing = Timing::new(table);
    let mut now = 0;
    for &bank in banks {
        timing.issue(now, at(bank, 0), Read);
        now += 1_000 * NS;
    }
    (timing, now)
}

#[test]
fn timings_are_rounded_up_to_whole_cycles() {
    let mut device = table();
    (device.t_rcd_ns, device.t_cl_ns, device.t_cwd_ns) = (48.0, 15.0, 13.0);
    (device.t_faw_ns, device.t_wtr_ns, device.t_wr_ns) = (50.1, 2.6, 0.0);
    let durations = Durations::new(&device);
    let expected =
        Durations { t_rcd: 50_000, t_cl: 15_000, t_cwd: 15_000, t_faw: 52_500, t_wtr: 5_000, t_wr: 0, burst: 10_000 };
    assert_eq!(durations, expected);
}

#[test]
fn a_read_takes_rcd_cl_and_a_burst() {
    let mut timing = Timing::new(&table());
    let now = 7;
    assert_eq!(timing.open_row(3), None);
    let end = now + (50 + 15 + 10) * NS;
    assert_eq!(timing.issue(now, at(3, 5), Read), Issued { data_end: end, bank_free: end, row_hit: false });
    assert_eq!((timing.open_row(3), timing.open_row(4)), (Some(5), None));
}

#[test]
fn a_read_of_the_open_row_saves_rcd() {
    let (mut timing, now) = opened(&table(), &[3]);
    let end = now + (15 + 10) * NS;
    assert_eq!(timing.issue(now, at(3, 0), Read), Issued { data_end: end, bank_free: end, row_hit: true });
    // Another row of the bank costs tRCD and nothing for closing the first.
    let miss = timing.issue(end, at(3, 1), Read);
    assert_eq!((miss.data_end, miss.row_hit), (end + (50 + 15 + 10) * NS, false));
    assert_eq!(timing.open_row(3), Some(1));
}

#[test]
fn a_write_takes_rcd_cwd_a_burst_and_holds_its_bank_for_wr() {
    let mut timing = Timing::new(&table());
    let data_end = (50 + 10) * NS + 12_500;
    assert_eq!(timing.issue(0, at(3, 5), Write), Issued { data_end, bank_free: data_end + 300 * NS, row_hit: false });
    let (mut timing, now) = opened(&table(), &[3]);
    let data_end = now + 10 * NS + 12_500;
    assert_eq!(timing.issue(now, at(3, 0), Write), Issued { data_end, bank_free: data_end + 300 * NS, row_hit: true });
}

#[test]
fn a_bank_takes_a_command_at_the_end_of_wr() {
    let mut timing = Timing::new(&table());
    let free = timing.issue(0, at(3, 5), Write).bank_free;
    let hit = timing.issue(free, at(3, 5), Write);
    assert_eq!(hit.data_end, free + 10 * NS + 12_500);
}

#[cfg(debug_assertions)]
#[test]
#[should_panic(expected = "bank 3 is busy")]
fn a_bank_takes_no_command_a_picosecond_before_the_end_of_wr() {
    let mut timing = Timing::new(&table());
    let free = timing.issue(0, at(3, 5), Write).bank_free;
    timing.issue(free - 1, at(3, 5), Write);
}

#[test]
fn a_rank_takes_four_activates_in_a_window_that_slides() {
    let alone = (50 + 15 + 10) * NS;
    for (fifth_at, held_back) in [(200 * NS, 0), (200 * NS - 1, 1), (30 * NS, 170 * NS)] {
        let mut timing = Timing::new(&table());
        for (bank, now) in [(0, 0), (1, 10 * NS), (2, 20 * NS), (3, 30 * NS)] {
            assert_eq!(timing.issue(now, at(bank, 0), Read).data_end, now + alone);
        }
        let fifth = timing.issue(fifth_at, at(4, 0), Read);
        assert_eq!(fifth.data_end, fifth_at + held_back + alone);
        // The window slides: the sixth looks back at the second activate, not at the first.
        let sixth_at = fifth_at.max(200 * NS);
        let sixth = timing.issue(sixth_at, at(5, 0), Read);
        assert_eq!(sixth.data_end, 210 * NS + alone);
    }
}

#[test]
fn open_rows_and_other_ranks_need_no_place_in_the_window() {
    let (mut timing, now) = opened(&table(), &[7]);
    for bank in 0..4 {
        timing.issue(now, at(bank, 1), Read);
    }
    // Four bursts end at 75, 85, 95 and 105 ns; the hit finds the bus free before them.
    assert_eq!(timing.issue(now, at(7, 0), Read).data_end, now + 25 * NS);
    assert_eq!(timing.issue(now, at(8, 0), Read).data_end, now + 115 * NS);
    // The fifth activate of the first rank waits.
    assert_eq!(timing.issue(now, at(4, 0), Read).data_end, now + (200 + 75) * NS);
}

#[test]
fn a_read_command_waits_for_the_turnaround_of_its_rank() {
    // The write's data end at 22.5 ns; the rank takes read commands from 30 ns.
    for (after, held_back) in [(30 * NS, 0), (30 * NS - 1, 1), (1, 30 * NS - 1)] {
        let (mut timing, now) = opened(&table(), &[0, 1, 8]);
        assert_eq!(timing.issue(now, at(0, 0), Write).data_end, now + 22_500);
        assert_eq!(timing.issue(now + after, at(1, 0), Read).data_end, now + after + held_back + 25 * NS);
    }
    // The other rank's reads wait for the bus alone.
    let (mut timing, now) = opened(&table(), &[0, 1, 8]);
    timing.issue(now, at(0, 0), Write);
    assert_eq!(timing.issue(now + 1, at(8, 0), Read).data_end, now + 22_500 + 10 * NS);
}

#[test]
fn a_read_before_the_write_command_is_not_bound_by_its_turnaround() {
    // The write's row is closed: its command comes at 50 ns, its data from 62.5 to 72.5 ns, its turnaround ends at 80.
    // A read that the bus lets go before the write goes; another has its command after the write's and waits for both.
    for (after, data_end) in [(37_500, 62_500), (37_501, 105_000), (80_000, 105_000), (80_001, 105_001)] {
        let (mut timing, now) = opened(&table(), &[1]);
        timing.issue(now, at(0, 5), Write);
        assert_eq!(timing.issue(now + after, at(1, 0), Read).data_end, now + data_end, "issued after {after} ps");
    }
}

#[test]
fn a_write_does_not_push_its_turnaround_under_a_scheduled_read() {
    // The read's command comes at 50 ns, its data from 65 to 75 ns. A write to an open row whose turnaround (command +
    // 30 ns) ends by then goes first; another waits until its data follow the read's on the bus.
    for (after, data_end) in [(20_000, 42_500), (20_001, 85_000), (60_000, 85_000), (62_500, 85_000), (62_501, 85_001)]
    {
        let (mut timing, now) = opened(&table(), &[1]);
        timing.issue(now, at(0, 5), Read);
        assert_eq!(timing.issue(now + after, at(1, 0), Write).data_end, now + data_end, "issued after {after} ps");
    }
}

#[test]
fn one_burst_at_a_time_on_a_bus() {
    for (after, held_back) in [(0, 10 * NS), (1, 10 * NS - 1), (10 * NS - 1, 1), (10 * NS, 0)] {
        let (mut timing, now) = opened(&table(), &[0, 1]);
        timing.issue(now, at(0, 0), Read);
        assert_eq!(timing.issue(now + after, at(1, 0), Read).data_end, now + after + held_back + 25 * NS);
    }
    let mut two_channels = table();
    two_channels.channels = 2;
    let (mut timing, now) = opened(&two_channels, &[0, 1]);
    timing.issue(now, at(0, 0), Read);
    assert_eq!(timing.issue(now, at(1, 0), Read).data_end, now + 25 * NS);
}

#[test]
fn a_hit_uses_the_bus_while_an_earlier_miss_waits_for_its_row() {
    // The miss has the bus from 65 to 75 ns. A hit fits before it if its burst, 15 to 25 ns after issue, ends by then.
    for (after, data_end) in [(0, 25_000), (40_000, 65_000), (40_001, 85_000), (60_000, 85_000), (60_001, 85_001)] {
        let (mut timing, now) = opened(&table(), &[1]);
        timing.issue(now, at(0, 5), Read);
        assert_eq!(timing.issue(now + after, at(1, 0), Read).data_end, now + data_end, "issued after {after} ps");
    }
}

#[test]
fn banks_are_numbered_over_channels_banks_and_ranks() {
    let mut device = table();
    (device.channels, device.ranks, device.banks_per_rank) = (2, 2, 4);
    let activates = |banks: [u16; 5]| {
        let mut timing = Timing::new(&device);
        banks.map(|bank| timing.issue(0, at(bank, 0), Read).data_end).into_iter().max()
    };
    // Banks 0, 2, 4, 6 are the first rank of channel 0; 8 is in its second rank; 1 is in channel 1.
    assert_eq!(activates([0, 2, 4, 6, 8]), Some((75 + 40) * NS));
    assert_eq!(activates([0, 2, 4, 6, 1]), Some((75 + 30) * NS));
    device.banks_per_rank = 5;
    let mut timing = Timing::new(&device);
    let last = [0, 2, 4, 6, 8].map(|bank| timing.issue(0, at(bank, 0), Read).data_end)[4];
    assert_eq!(last, (200 + 75) * NS);
}

/// Everything that was ever scheduled; an access is placed by trying every picosecond.
struct Model {
    device: Device,
    durations: Durations,
    open: Vec<Option<u32>>,
    free: Vec<Ps>,
    /// (rank, time)
    activates: Vec<(u32, Ps)>,
    /// (op, rank, channel, command, start)
    accesses: Vec<(MediaOp, u32, u32, Ps, Ps)>,
}

impl Model {
    fn new(device: Device) -> Self {
        let banks = (device.channels * device.ranks * device.banks_per_rank) as usize;
        let durations = Durations::new(&device);
        Self { device, durations, open: vec![None; banks], free: vec![0; banks], activates: vec![], accesses: vec![] }
    }

    fn issue(&mut self, now: Ps, location: Location, op: MediaOp) -> Issued {
        let bank = u32::from(location.bank);
        let channel = bank % self.device.channels;
        let rank = channel + self.device.channels * (bank / self.device.channels / self.device.banks_per_rank);
        let d = self.durations;
        let open = &mut self.open[bank as usize];
        let row_hit = *open == Some(location.row);
        *open = Some(location.row);
        let mut command = now;
        if !row_hit {
            let recent = |at: Ps| {
                self.activates.iter().filter(|(of, then)| *of == rank && *then <= at && at < *then + d.t_faw).count()
            };
            let activate = (now..).find(|at| recent(*at) < 4).unwrap();
            self.activates.push((rank, activate));
            command = activate + d.t_rcd;
        }
        let latency = if op == Read { d.t_cl } else { d.t_cwd };
        let fits = |command: Ps| {
            let start = command + latency;
            self.accesses.iter().all(|&(other, other_rank, other_channel, other_command, other_start)| {
                let bus = other_channel != channel || start >= other_start + d.burst || other_start >= start + d.burst;
                let turned = |write: (Ps, Ps), read: Ps| read <= write.0 || read >= write.1 + d.burst + d.t_wtr;
                let rank = match (op, other) {
                    _ if other_rank != rank => true,
                    (Read, Write) => turned((other_command, other_start), command),
                    (Write, Read) => turned((command, start), other_command),
                    _ => true,
                };
                bus && rank
            })
        };
        let command = (command..).find(|at| fits(*at)).unwrap();
        let data_end = command + latency + d.burst;
        self.accesses.push((op, rank, channel, command, command + latency));
        let bank_free = data_end + if op == Read { 0 } else { d.t_wr };
        self.free[bank as usize] = bank_free;
        Issued { data_end, bank_free, row_hit }
    }
}

proptest! {
    #[test]
    fn schedules_equal_those_of_the_model(
        (channels, ranks, banks_per_rank) in (1..3u32, 1..3u32, 1..7u32),
        burst in 1..4u32, latencies in prop::array::uniform6(0..12u32),
        accesses in prop::collection::vec((any::<u16>(), 0..2u32, any::<bool>(), 0..6u64), 1..60),
    ) {
        let mut device = table();
        (device.channels, device.ranks, device.banks_per_rank) = (channels, ranks, banks_per_rank);
        // One cycle is one picosecond.
        (device.interface_mhz, device.burst_cycles) = (1_000_000, burst);
        let [t_rcd, t_cl, t_cwd, t_faw, t_wtr, t_wr] = latencies.map(|ps| f64::from(ps) / 1_000.0);
        (device.t_rcd_ns, device.t_cl_ns, device.t_cwd_ns) = (t_rcd, t_cl, t_cwd);
        (device.t_faw_ns, device.t_wtr_ns, device.t_wr_ns) = (4.0 * t_faw, t_wtr, t_wr);
        let mut timing = Timing::new(&device);
        let mut model = Model::new(device);
        let mut now = 0;
        for (bank, row, write, pause) in accesses {
            let location = at(bank % model.free.len() as u16, row);
            now = (now + pause).max(if pause == 0 { model.free[usize::from(location.bank)] } else { now });
            if model.free[usize::from(location.bank)] > now {
                continue;
            }
            let op = if write { Write } else { Read };
            prop_assert_eq!(timing.issue(now, location, op), model.issue(now, location, op));
        }
    }
}

//! Modules that are told of reads, to the picosecond, and what a power failure takes from them.

use super::*;
use crate::config::{AddressMapping, CounterPlacement, ModuleKind, SchedulingPolicy};
use crate::device::Device;
use crate::device::tests::{TestBase, test_machine};
use crate::kernel::Random;
use crate::layout::MediaLayout;
use crate::message::{Content, DevicePort, Line, MediaLine};
use std::sync::Arc;

const CYCLE: Ps = 2_500;
const BURST: Ps = 4 * CYCLE;
const SEND: Ps = 14_000;
const READ: Ps = 150_000;
const WRITE: Ps = 500_000;
const TO_READS: Ps = 3 * CYCLE;
const TO_WRITES: Ps = CYCLE;
/// Much later than everything that has begun.
const LATE: Ps = 100_000_000;

/// Two ranks of two banks, which have four lines of a row in turn.
fn machine() -> Machine {
    let mut machine = test_machine();
    machine.module.kind = ModuleKind::Transactional;
    machine.module.media_line = "256B".parse().unwrap();
    machine.module.buffer = "256B".parse().unwrap();
    (machine.module.media_read_ns, machine.module.media_write_interval_ns, machine.module.buffer_ns) =
        (150.0, 500.0, 14.0);
    let device = &mut machine.device;
    (device.ranks, device.banks_per_rank, device.row_segments) = (2, 2, 16);
    (device.interface_mhz, device.burst_cycles) = (400, 4);
    (device.t_wtr_ns, device.t_rtrs_ns) = (7.5, 2.5);
    device.mapping = AddressMapping::SegmentInterleaved;
    machine.controller.counter_placement = CounterPlacement::Interleaved;
    machine.controller.policy = SchedulingPolicy::Gem5;
    machine.program.core_region = crate::config::CoreRegion::Packed;
    crate::config::validate(&machine).expect("it is what such modules need");
    machine
}

fn device(machine: &Machine) -> Device {
    Device::new(machine, MediaLayout::PLAIN, Arc::new(TestBase { lines: 0, bytes: [0; 64] })).unwrap()
}

/// Line `index` of media line `line` of a bank.
fn line(bank: u64, line: u64, index: u64) -> MediaLine {
    MediaLine::data(Line((4 * line + bank) * 4 + index))
}

fn tell(device: &mut Device, now: Ps, media: MediaLine) -> Ps {
    let location = device.locate(media);
    device.begin_read(now, media, location);
    device.ready_at(location, MediaOp::Read)
}

fn issue(device: &mut Device, now: Ps, media: MediaLine, op: MediaOp) -> Issued {
    device.issue(now, media, device.locate(media), op, 8, 0)
}

fn write(device: &mut Device, now: Ps, media: MediaLine) -> Issued {
    issue(device, now, media, MediaOp::Write)
}

/// Tells of a read, and has its data sent as soon as they are there.
fn read(device: &mut Device, now: Ps, media: MediaLine) -> Issued {
    tell(device, now, media);
    issue(device, now, media, MediaOp::Read)
}

#[test]
fn media_are_read_when_the_module_is_told_and_a_line_once() {
    let mut device = device(&machine());
    assert_eq!(tell(&mut device, 0, line(0, 0, 0)), READ);
    assert_eq!(tell(&mut device, 10, line(1, 0, 0)), 10 + READ, "another bank works at the same time");
    let first = issue(&mut device, READ, line(0, 0, 0), MediaOp::Read);
    assert_eq!((first.command, first.data_end, first.row_hit), (READ, READ + SEND + BURST, false));
    let next = issue(&mut device, READ, line(1, 0, 0), MediaOp::Read);
    assert_eq!(next.command, READ + BURST, "the channel carries one after the other");
    let again = read(&mut device, LATE, line(0, 0, 3));
    assert_eq!((again.command, again.row_hit), (LATE, true));
    assert_eq!(read(&mut device, LATE, line(0, 1, 0)).command, LATE + READ, "another line of the media");
    let counted = device.module_stats().unwrap();
    assert_eq!((counted.media_reads, counted.buffer_hits, counted.media_writes), (3, 1, 0));
}

#[test]
fn reads_of_a_bank_follow_one_another() {
    let mut device = device(&machine());
    assert_eq!(tell(&mut device, 0, line(0, 0, 0)), READ);
    tell(&mut device, 0, line(0, 1, 0));
    tell(&mut device, 0, line(0, 1, 1));
    for (media, ready) in [(line(0, 0, 0), READ), (line(0, 1, 0), 2 * READ), (line(0, 1, 1), 2 * READ)] {
        assert_eq!(device.ready_at(device.locate(media), MediaOp::Read), ready);
        issue(&mut device, ready, media, MediaOp::Read);
    }
}

#[test]
fn a_write_is_sent_at_once_and_keeps_its_bank() {
    let mut device = device(&machine());
    let first = write(&mut device, 0, line(0, 0, 0));
    let sent = SEND + BURST;
    assert_eq!((first.command, first.data_end, first.done, first.row_hit), (0, sent, sent + WRITE, false));
    let second = write(&mut device, 0, line(0, 0, 1));
    assert_eq!((second.data_end, second.done), (sent + BURST, sent + 2 * WRITE), "each line of 64 bytes is programmed");
    assert!(second.row_hit);
    // What was written is what the bank had last.
    assert_eq!(tell(&mut device, 100, line(0, 0, 2)), sent + 2 * WRITE);
    assert_eq!(tell(&mut device, 100, line(1, 0, 2)), 100 + READ);
}

#[test]
fn so_many_writes_are_unfinished_as_the_buffer_has_lines() {
    let mut device = device(&machine());
    let ends = [0, 1, 2, 3].map(|bank| write(&mut device, 0, line(bank, 0, 0)).done);
    let commands = [0, BURST, 2 * BURST + CYCLE, 3 * BURST + CYCLE];
    assert_eq!(ends, commands.map(|command| command + SEND + BURST + WRITE), "the third is in the other rank");
    let next = line(0, 5, 0);
    assert_eq!(device.ready_at(device.locate(next), MediaOp::Write), ends[0]);
    assert_eq!(write(&mut device, ends[0] - 1, next).command, ends[0]);
    assert_eq!(device.ready_at(device.locate(next), MediaOp::Write), ends[1]);
    assert_eq!(device.ready_at(device.locate(next), MediaOp::Read), Ps::MAX, "it was told of none");
}

#[test]
fn the_channel_turns_and_changes_ranks() {
    let of = |first: MediaOp, second: MediaOp, bank: u64| {
        let mut device = device(&machine());
        tell(&mut device, 0, line(0, 0, 0));
        tell(&mut device, 0, line(bank, 0, 1));
        let at = issue(&mut device, LATE, line(0, 0, 0), first).command;
        let location = device.locate(line(bank, 0, 1));
        let expected = device.command_at(at, location, second);
        assert_eq!(issue(&mut device, at, line(bank, 0, 1), second).command, expected);
        expected - at
    };
    use MediaOp::{Read, Write};
    assert_eq!([of(Read, Read, 1), of(Write, Write, 1)], [BURST; 2]);
    assert_eq!(of(Write, Read, 1), BURST + TO_READS);
    assert_eq!(of(Read, Write, 1), BURST + TO_WRITES);
    assert_eq!([of(Read, Read, 2), of(Write, Read, 2)], [BURST + CYCLE; 2], "the other rank");
}

#[test]
fn a_buffer_outside_the_domain_loses_what_is_not_programmed() {
    let mut machine = machine();
    for durable in [true, false] {
        machine.module.buffer_durable = durable;
        let mut device = device(&machine);
        assert_eq!(device.may_lose(), !durable);
        let done = write(&mut device, 0, line(0, 0, 0)).done;
        device.store(line(0, 0, 0), &[1; 64]);
        let second = write(&mut device, 1, line(0, 0, 0)).done;
        device.store(line(0, 0, 0), &[2; 64]);
        for (at, kept) in [(done - 1, None), (done, Some(1)), (second - 1, Some(1)), (second, Some(2))] {
            device.ended(at);
            let left = match device.survives().content(line(0, 0, 0)) {
                Content::Stored(bytes) => Some(bytes[0]),
                Content::Never | Content::Base(_) => None,
            };
            assert_eq!(left, if durable { Some(2) } else { kept }, "{at}");
        }
    }
}

/// Whatever is asked: bursts do not overlap, a bank does one thing at a time, and no more writes are unfinished than may be.
#[test]
fn random_accesses_keep_to_channel_banks_and_buffer() {
    for seed in 0..20 {
        let mut random = Random::stream(seed, "accesses");
        let (mut device, mut now) = (device(&machine()), 0);
        let (mut bursts, mut writes) = (Vec::new(), Vec::<(u64, Ps, Ps)>::new());
        for _ in 0..300 {
            now += random.below(200_000);
            let bank = random.below(4);
            let media = line(bank, random.below(3), random.below(4));
            if random.below(2) == 0 {
                let ready = tell(&mut device, now, media);
                for &(of, from, until) in &writes {
                    assert!(
                        of != bank || from >= now || ready >= until,
                        "a read is ready before an earlier write is over"
                    );
                }
                bursts.push(issue(&mut device, now, media, MediaOp::Read).command);
            } else {
                let issued = write(&mut device, now, media);
                bursts.push(issued.command);
                let earlier = writes.iter().filter(|(of, ..)| *of == bank).map(|&(.., until)| until).max();
                assert!(issued.done >= issued.data_end.max(earlier.unwrap_or(0)) + WRITE);
                writes.push((bank, issued.command, issued.done));
                let unfinished = writes.iter().filter(|(.., until)| *until > issued.command).count();
                assert!(unfinished <= 4, "{unfinished}");
            }
            now = now.max(*bursts.last().unwrap());
        }
        assert!(bursts.windows(2).all(|pair| pair[1] >= pair[0] + BURST));
    }
}

//! Modules, to the picosecond, and what a power failure takes from them.

use super::*;
use crate::device::Device;
use crate::device::tests::{TestBase, test_machine};
use crate::kernel::Random;
use crate::layout::MediaLayout;
use crate::message::{Content, DevicePort, Line, Location};
use std::sync::Arc;

const BURST: Ps = 10_000;
const BUFFER: Ps = 60_000;
const READ: Ps = 129_000;
const READ_INTERVAL: Ps = 36_700;
const WRITE_INTERVAL: Ps = 107_400;
const TRANSLATION: Ps = 69_000;

fn machine() -> Machine {
    let mut machine = test_machine();
    machine.module.kind = ModuleKind::Buffered;
    machine
}

fn device(machine: &Machine) -> Device {
    Device::new(machine, MediaLayout::PLAIN, Arc::new(TestBase { lines: 0, bytes: [0; 64] })).unwrap()
}

/// Submits an access of line `number` of the first module.
fn access(device: &mut Device, now: Ps, number: u64, op: MediaOp) -> Ps {
    let media = MediaLine::data(Line(number));
    let location = device.locate(media);
    assert_eq!((location.bank, device.ready_at(location, op), device.open_row(0)), (0, 0, None));
    let issued = device.issue(now, media, location, op, 8, 0);
    assert_eq!((issued.next, issued.row_hit), (now + BURST, false));
    issued.data_end
}

fn read(device: &mut Device, now: Ps, number: u64) -> Ps {
    access(device, now, number, MediaOp::Read)
}

fn write(device: &mut Device, now: Ps, number: u64) -> Ps {
    access(device, now, number, MediaOp::Write)
}

fn stats(device: &Device) -> ModuleStats {
    device.module_stats().unwrap()
}

/// Encryption is at the media: what the buffer answers does not wait for it.
#[test]
fn what_the_media_read_is_decrypted_and_what_they_write_is_encrypted() {
    const CIPHER: Ps = 40_000;
    let mut machine = machine();
    machine.module.cipher_ns = 40.0;
    let mut plain = device(&machine);
    let mut device = device(&machine).encrypting(&machine, true);
    let first = TRANSLATION + READ + BUFFER + BURST;
    assert_eq!(read(&mut plain, 0, 0), first);
    assert_eq!(read(&mut device, 0, 0), first + CIPHER);
    let later = 1_000_000;
    assert_eq!(read(&mut device, later, 1), later + BUFFER + BURST, "a hit");
    // A whole media line leaves at once; the media begin to write it when it is encrypted.
    let at = 2_000_000;
    for number in 0..4 {
        assert_eq!(write(&mut device, at, number), at + (number + 1) * BURST, "the buffer takes it as ever");
    }
    let end = at + 4 * BURST + CIPHER + WRITE_INTERVAL;
    assert_eq!((device.buffered(end - 1).len(), device.buffered(end).len()), (0, 0), "nothing is stored yet");
    for number in 0..4 {
        device.store(MediaLine::data(Line(number)), &[1; 64]);
    }
    assert_eq!((device.buffered(end - 1).len(), device.buffered(end).len()), (4, 0));
}

#[test]
fn a_read_brings_its_media_line_into_the_buffer() {
    let mut device = device(&machine());
    let first = TRANSLATION + READ + BUFFER + BURST;
    assert_eq!(read(&mut device, 0, 0), first);
    assert_eq!(read(&mut device, 0, 3), first + BURST, "the same media line: it has only to wait for the channel");
    assert_eq!(read(&mut device, 0, 4), TRANSLATION + READ_INTERVAL + READ + BUFFER + BURST, "the next media line");
    let later = 1_000_000;
    assert_eq!(read(&mut device, later, 1), later + BUFFER + BURST);
    assert_eq!(read(&mut device, later, 64), later + TRANSLATION + READ + BUFFER + BURST, "the next page");
    let expected = ModuleStats { media_reads: 3, buffer_hits: 2, translation_misses: 2, ..ModuleStats::default() };
    assert_eq!(stats(&device), expected);
}

#[test]
fn what_comes_earlier_does_not_wait_for_a_burst_that_comes_later() {
    let mut device = device(&machine());
    let miss = read(&mut device, 0, 0);
    let hit = 300_000;
    read(&mut device, hit, 64);
    assert!(miss < hit);
    assert_eq!(read(&mut device, hit + 1, 1), hit + 1 + BUFFER + BURST);
}

#[test]
fn a_whole_media_line_leaves_at_once_and_a_part_stays() {
    let mut device = device(&machine());
    for sector in 0..3 {
        assert_eq!(write(&mut device, 0, sector), (sector + 1) * BURST);
    }
    assert_eq!(stats(&device).media_writes, 0);
    assert_eq!(write(&mut device, 1_000_000, 0), 1_000_000 + BURST, "what is there already merges, too");
    assert_eq!(stats(&device).media_writes, 0);
    assert_eq!(write(&mut device, 2_000_000, 3), 2_000_000 + BURST);
    let whole = ModuleStats { media_writes: 1, merged_writes: 4, translation_misses: 1, ..ModuleStats::default() };
    assert_eq!(stats(&device), whole);
    // The media begin with it when its entry of the translation has been fetched. Until then it still merges.
    let begin = 2_000_000 + BURST + TRANSLATION;
    write(&mut device, begin - BURST - 1, 0);
    assert_eq!(stats(&device), ModuleStats { merged_writes: 5, ..whole });
    write(&mut device, begin + 1, 0);
    assert_eq!(stats(&device), ModuleStats { merged_writes: 5, ..whole }, "what the media have does not merge");
    assert_eq!(read(&mut device, begin + BURST, 2), begin + BURST + BUFFER + BURST, "but is still known");
}

#[test]
fn a_part_that_must_leave_is_completed_first() {
    let mut machine = machine();
    machine.module.ait_miss_ns = 0.0;
    let mut device = device(&machine);
    let mut now = 0;
    for line in 0..64 {
        now = write(&mut device, now, 4 * line);
    }
    assert_eq!(stats(&device), ModuleStats::default());
    let first = write(&mut device, now, 256);
    assert_eq!(first, now + BURST + READ);
    let expected = ModuleStats {
        media_reads: 1,
        media_writes: 1,
        read_modify_writes: 1,
        translation_misses: 1,
        ..Default::default()
    };
    assert_eq!(stats(&device), expected);
    // The next two wait for the media, which take a line at a time.
    let second = write(&mut device, now + BURST, 260);
    assert_eq!(second, first + WRITE_INTERVAL);
    assert_eq!(write(&mut device, now + 2 * BURST, 264), second + WRITE_INTERVAL);
    assert_eq!(
        write(&mut device, now + 3 * BURST, 265),
        second + WRITE_INTERVAL,
        "the same media line: it waits no longer"
    );
}

#[test]
fn writes_of_a_line_are_accepted_in_their_order() {
    let mut machine = machine();
    machine.module.buffer = "512B".parse().unwrap();
    let mut device = device(&machine);
    let (mut random, mut last) = (Random::stream(1, "lines"), [0; 24]);
    for now in (0..4_000).map(|step| step * BURST) {
        let number = random.below(24);
        let accepted = write(&mut device, now, number);
        assert!(accepted >= last[number as usize], "at {now}");
        last[number as usize] = accepted;
    }
}

#[test]
fn a_part_whose_rest_was_read_is_not_read_again() {
    let mut device = device(&machine());
    write(&mut device, 0, 0);
    read(&mut device, 1_000_000, 1);
    let mut now = 2_000_000;
    for line in 1..500 {
        now = write(&mut device, now, 4 * line);
    }
    let ModuleStats { media_reads, media_writes, read_modify_writes, .. } = stats(&device);
    assert_eq!(media_writes, 500 - 64);
    assert_eq!(media_reads, read_modify_writes + 1);
    assert_eq!(read_modify_writes + 1, media_writes, "all but the one whose rest was known");
}

/// The experiment of FAST 2020, Figure 9: halves of media lines are written, first all first ones, then all second ones.
fn written_per_line(lines: u64) -> f64 {
    let mut device = device(&machine());
    let mut now = 0;
    let rounds = 20;
    for half in (0..2 * rounds).map(|round| round % 2) {
        for line in 0..lines {
            for sector in [2 * half, 2 * half + 1] {
                write(&mut device, now, 4 * line + sector);
            }
            // The media keep up.
            now += 2 * WRITE_INTERVAL;
        }
    }
    stats(&device).media_writes as f64 / (rounds * lines) as f64
}

#[test]
fn halves_merge_as_long_as_the_buffer_holds_all_media_lines() {
    assert_eq!([1, 32, 64].map(written_per_line), [1.0; 3]);
    // Measured: 1.36, 1.82, 2.04.
    for (lines, least, most) in [(80, 1.15, 1.4), (128, 1.55, 1.85), (256, 1.9, 2.0)] {
        let found = written_per_line(lines);
        assert!((least..most).contains(&found), "{lines} lines: {found}");
    }
}

#[test]
fn region_beyond_the_buffer_has_hits() {
    let mut device = device(&machine());
    let mut now = 0;
    for _ in 0..50 {
        for line in 0..128 {
            now = read(&mut device, now, 4 * line);
        }
    }
    let ModuleStats { buffer_hits, media_reads, .. } = stats(&device);
    let share = buffer_hits as f64 / (buffer_hits + media_reads) as f64;
    assert!((0.15..0.3).contains(&share), "{share}");
}

#[test]
fn modules_do_not_wait_for_each_other() {
    let mut device = device(&machine());
    let far = MediaLine::data(Line(device.image().base(Line(0)).map_or(1 << 24, |_| 0)));
    let location = device.locate(far);
    assert_ne!(location.bank, 0);
    let alone = read(&mut device, 0, 0);
    assert_eq!(device.issue(0, far, location, MediaOp::Read, 8, 0).data_end, alone);
}

/// Writes and stores lines of the first media line; returns when the last is accepted.
fn stored(device: &mut Device, now: Ps, lines: &[u64], value: u8) -> Ps {
    lines.iter().fold(now, |_, &number| {
        let accepted = write(device, now, number);
        device.store(MediaLine::data(Line(number)), &[value; 64]);
        accepted
    })
}

fn content(device: &mut Device, now: Ps, number: u64) -> Option<u8> {
    device.ended(now);
    match device.survives().content(MediaLine::data(Line(number))) {
        Content::Stored(bytes) => Some(bytes[0]),
        Content::Never | Content::Base(_) => None,
    }
}

#[test]
fn buffer_outside_the_domain_loses_what_is_not_programmed() {
    for durable in [true, false] {
        let mut machine = machine();
        machine.module.buffer_durable = durable;
        let mut device = device(&machine);
        assert_eq!(device.may_lose(), !durable);
        let accepted = stored(&mut device, 0, &[0], 1);
        let newest = |value| if durable { Some(value) } else { None };
        assert_eq!(content(&mut device, 1_000_000_000, 0), newest(1), "a part waits for ever");
        assert_eq!(accepted, BURST);
        // The rest of the line: it leaves, and is there when the media have programmed it.
        let accepted = stored(&mut device, 1_000_000, &[1, 2, 3], 2);
        let programmed = accepted + TRANSLATION + WRITE_INTERVAL;
        assert_eq!(content(&mut device, programmed - 1, 0), newest(1));
        assert_eq!([0, 1, 3].map(|line| content(&mut device, programmed, line)), [Some(1), Some(2), Some(2)]);
        // A newer value of one line: the older one is what the media have.
        stored(&mut device, programmed, &[0], 3);
        let left = if durable { Some(3) } else { Some(1) };
        assert_eq!([0, 1].map(|line| content(&mut device, programmed + 1_000_000, line)), [left, Some(2)]);
        device.lose_power();
        device.power_cycle(&machine);
        assert_eq!(content(&mut device, 0, 0), left);
    }
}

#[test]
fn location_of_a_module_is_that_of_its_bank() {
    let device = device(&machine());
    let media = MediaLine::data(Line(7));
    let Location { bank, .. } = device.locate(media);
    assert_eq!(device.command_at(5, device.locate(media), MediaOp::Read), 5);
    assert_eq!(u32::from(bank), device.place(media).bank);
}

mod link {
    //! Modules behind a link of CXL, to the picosecond.

    use super::*;
    use crate::config::{LinkKind, PowerFlush};
    use crate::message::Issued;

    const WAY: Ps = 35_000;
    /// 17 and 85 bytes, at 32 bytes in a nanosecond.
    const HEADER: Ps = 531;
    const LINE: Ps = 2_656;

    fn linked(change: impl FnOnce(&mut Machine)) -> Device {
        let mut machine = machine();
        machine.link.kind = LinkKind::Cxl;
        change(&mut machine);
        device(&machine)
    }

    fn issue(device: &mut Device, now: Ps, number: u64, op: MediaOp) -> Issued {
        let media = MediaLine::data(Line(number));
        let location = device.locate(media);
        device.issue(now, media, location, op, 8, 0)
    }

    #[test]
    fn an_access_goes_there_and_back() {
        let mut device = linked(|_| {});
        let read = issue(&mut device, 0, 0, MediaOp::Read);
        let known = HEADER + WAY + TRANSLATION + READ + BUFFER;
        assert_eq!((read.data_end, read.done), (known + LINE + WAY, known + LINE + WAY));
        let later = 1_000_000;
        let write = issue(&mut device, later, 1, MediaOp::Write);
        let taken = later + LINE + WAY;
        assert_eq!((write.data_end, write.done), (taken, taken + HEADER + WAY), "taken, and known to be");
        assert_eq!((write.burst, read.burst), (LINE, HEADER));
    }

    #[test]
    fn messages_of_a_direction_follow_one_another_and_those_of_the_other_do_not_wait() {
        let mut device = linked(|_| {});
        issue(&mut device, 0, 0, MediaOp::Read);
        let later = 1_000_000;
        let taken = |place: Ps| later + place * LINE + WAY;
        for place in 1..4 {
            assert_eq!(issue(&mut device, later, place, MediaOp::Write).data_end, taken(place));
        }
        let asked = later + 3 * LINE + HEADER + WAY;
        let read = issue(&mut device, later, 1, MediaOp::Read);
        assert_eq!(read.data_end, asked + BUFFER + LINE + WAY, "behind the writes, and its answer before none");
    }

    #[test]
    fn encryption_of_the_link_takes_its_time_in_each_direction() {
        let plain = issue(&mut linked(|_| {}), 0, 0, MediaOp::Read).data_end;
        let encrypted = issue(&mut linked(|machine| machine.link.ide_ns = 5.0), 0, 0, MediaOp::Read).data_end;
        assert_eq!(encrypted, plain + 2 * 5_000);
    }

    #[test]
    fn a_request_without_a_credit_waits_for_an_answer() {
        let mut device = linked(|machine| (machine.link.read_credits, machine.link.write_credits) = (1, 2));
        let first = issue(&mut device, 0, 0, MediaOp::Read).done;
        let second = issue(&mut device, 0, 1, MediaOp::Read).done;
        assert_eq!(second, first + HEADER + WAY + BUFFER + LINE + WAY);
        let later = 1_000_000;
        let writes = [0, 1, 2].map(|line| issue(&mut device, later, line, MediaOp::Write));
        assert_eq!(writes[1].data_end, later + 2 * LINE + WAY, "it has a credit of its own");
        assert_eq!(writes[2].data_end, writes[0].done + LINE + WAY);
    }

    #[test]
    fn what_a_failed_second_phase_takes_is_what_the_media_have_not_written() {
        for (power_flush, kept) in
            [(PowerFlush::Completes, true), (PowerFlush::Phase1Fails, true), (PowerFlush::Phase2Fails, false)]
        {
            let mut device = linked(|machine| machine.link.power_flush = power_flush);
            let media = MediaLine::data(Line(0));
            issue(&mut device, 0, 0, MediaOp::Write);
            device.store(media, &[7; 64]);
            let left = device.survives();
            assert_eq!(matches!(left.content(media), Content::Stored(&[7, ..])), kept, "{power_flush:?}");
        }
    }
}

//! The device as a whole: its counts, its contents, and what it refuses.

mod timing;

use super::*;
use crate::config::{Leveling, ProgrammedBits, Scatter, WriteInterruption};
use crate::message::CounterBlock;

/// A base whose first `lines` lines all hold `bytes`.
pub(super) struct TestBase {
    pub lines: u64,
    pub bytes: LineBytes,
}

impl BaseImage for TestBase {
    fn line(&self, line: Line) -> Option<&LineBytes> {
        self.populated(line).then_some(&self.bytes)
    }
    fn populated(&self, line: Line) -> bool {
        line.0 < self.lines
    }
    fn end(&self) -> u64 {
        self.lines * 64
    }
}

/// The machine that unit tests start from.
pub(super) fn test_machine() -> Machine {
    toml::from_str(include_str!("../../config/presets/secpm.toml")).expect("the preset is valid")
}

fn device(machine: &Machine, lines: u64) -> Result<Device, ConfigError> {
    Device::new(machine, MediaLayout::PLAIN, Arc::new(TestBase { lines, bytes: [9; 64] }))
}

#[test]
fn accesses_are_counted_by_kind() {
    let mut device = device(&test_machine(), 1).unwrap();
    let (line, block) = (MediaLine::data(Line(0)), MediaLine::counter(CounterBlock(0)));
    let mut now = 0;
    let accesses = [
        (line, MediaOp::Read),
        (line, MediaOp::Read),
        (line, MediaOp::Write),
        (block, MediaOp::Write),
        (block, MediaOp::Write),
        (block, MediaOp::Read),
    ];
    for (media, op) in accesses {
        now = device.issue(now, media, device.locate(media), op, 8, 0).done;
    }
    let stats = device.stats();
    assert_eq!((stats.reads, stats.data_reads, stats.counter_reads), (3, 2, 1));
    assert_eq!((stats.writes, stats.data_writes, stats.counter_writes), (3, 1, 2));
    assert_eq!((stats.row_hits, stats.max_line_writes), (4, 2));
    // One bank serves all of them without a pause.
    assert_eq!(stats.bank_busy_ps, now);
    let read = 512 * 1_020;
    assert_eq!(device.energy_fj(0), read + 512 * 2_470 + read + 3 * (read + 512 * 16_820) + read);
    assert_eq!(device.line_writes(block), 2);
    device.reset_stats();
    assert_eq!(device.stats(), DeviceStats::default());
    let Location { bank, row } = device.locate(block);
    assert_eq!(device.open_row(bank), Some(row));
}

#[test]
fn line_goes_from_base_to_media() {
    let mut device = device(&test_machine(), 1).unwrap();
    let (base, beyond) = (MediaLine::data(Line(0)), MediaLine::data(Line(1)));
    assert_eq!(device.content(base), Content::Base(&[9; 64]));
    assert_eq!(device.content(beyond), Content::Never);
    device.materialise(base, &[5; 64]);
    device.store(beyond, &[6; 64]);
    assert_eq!(device.content(base), Content::Stored(&[5; 64]));
    assert_eq!(device.content(beyond), Content::Stored(&[6; 64]));
    assert_eq!(device.populated_mask(0..2), 0b01);
    // Neither is an access. What was stored has changed two bits of each byte.
    let flipped = 2 * 64;
    let expected = DeviceStats { flipped_bits: flipped, flipped_data_bits: flipped, ..DeviceStats::default() };
    assert_eq!(device.stats(), expected);
}

#[test]
fn bits_that_change_are_counted_and_programmed() {
    let mut machine = test_machine();
    machine.device.programmed_bits = ProgrammedBits::Changed;
    let mut device = device(&machine, 1).unwrap();
    let (line, block) = (MediaLine::data(Line(0)), MediaLine::counter(CounterBlock(0)));
    for (media, bytes) in [(line, [8; 64]), (line, [8; 64]), (block, [1; 64])] {
        device.store(media, &bytes);
    }
    let stats = device.stats();
    assert_eq!([stats.flipped_bits, stats.flipped_data_bits], [64 + 64, 64], "the line held nines");
    assert_eq!(stats.access_energy_fj, 128 * 16_820);
}

#[test]
fn cancelled_write_wears_its_line_again() {
    let mut machine = test_machine();
    let written = |machine: &Machine| {
        let mut device = device(machine, 2).unwrap();
        let [line, other] = [0, 1].map(|number| MediaLine::data(Line(number)));
        let write = device.issue(0, line, device.locate(line), MediaOp::Write, 8, 0);
        let before = device.stats().access_energy_fj;
        let read = device.issue(write.data_end, other, device.locate(other), MediaOp::Read, 8, 0);
        let stats = device.stats();
        (read.data_end < write.done, device.line_writes(line), stats.interruptions, stats.access_energy_fj - before)
    };
    let read = 512 * 1_020;
    assert_eq!(written(&machine), (false, 1, 0, read));
    machine.device.write_interruption = WriteInterruption::Pause;
    assert_eq!(written(&machine), (true, 1, 1, read));
    machine.device.write_interruption = WriteInterruption::Cancel;
    assert_eq!(written(&machine), (true, 2, 1, read + 512 * 16_820));
}

#[test]
fn gap_moves_a_line_after_the_write_that_calls_for_it() {
    let mut machine = test_machine();
    let mut still = device(&machine, 1).unwrap();
    machine.wear.leveling = Leveling::StartGap;
    machine.wear.scatter = Scatter::InOrder;
    machine.wear.gap_interval = 2;
    let mut levelled = device(&machine, 1).unwrap();
    let (line, now) = (MediaLine::data(Line(0)), 1_000_000);
    for write in 0..2 {
        let at = now * (1 + write);
        for device in [&mut still, &mut levelled] {
            device.issue(at, line, device.locate(line), MediaOp::Write, 8, 0);
        }
        assert_eq!(levelled.stats().gap_moves, write);
    }
    // The last line of the bank goes to the place that the bank has more than it stores.
    let rows = Geometry::of(&machine).rows as u32;
    let read = still.timing.issue(2 * now, Location { bank: 0, row: rows - 1 }, MediaOp::Read, 8, 0);
    still.timing.issue(2 * now, Location { bank: 0, row: u32::MAX - 1 }, MediaOp::Write, 8, read.data_end);
    assert_eq!(format!("{:?}", still.timing), format!("{:?}", levelled.timing));
    let moved = 2 * 512 * 1_020 + 512 * (2_470 + 16_820);
    assert_eq!(levelled.stats().access_energy_fj, still.stats().access_energy_fj + moved);
    assert!(levelled.stats().bank_busy_ps > still.stats().bank_busy_ps);
    assert_eq!(
        (levelled.stats().reads, levelled.stats().writes),
        (0, 2),
        "a move is none of the controller's accesses"
    );
    let place = levelled.place(line);
    levelled.power_cycle(&machine);
    assert_eq!(levelled.place(line), place, "the registers survive");
}

#[test]
fn move_stops_no_write_and_the_move_that_a_read_stops_wears_no_line_of_the_program() {
    let mut machine = test_machine();
    machine.wear.leveling = Leveling::StartGap;
    machine.wear.gap_interval = 1;
    let moved = |machine: &Machine| {
        let mut device = device(machine, 2).unwrap();
        let line = MediaLine::data(Line(0));
        let write = device.issue(0, line, device.locate(line), MediaOp::Write, 8, 0);
        (write.done, device)
    };
    let (_, undisturbed) = moved(&machine);
    for interruption in [WriteInterruption::Cancel, WriteInterruption::Pause] {
        machine.device.write_interruption = interruption;
        let (written, mut device) = moved(&machine);
        assert_eq!([device.stats().gap_moves, device.stats().interruptions], [1, 0]);
        let moves = undisturbed.stats().bank_busy_ps;
        assert_eq!(device.stats().bank_busy_ps, moves, "the move follows the write, as on a device that stops none");
        let other = MediaLine::data(Line(1));
        let read = device.issue(written, other, device.locate(other), MediaOp::Read, 8, 0);
        assert!(read.stops_write, "the move's own write, which a read of the program may stop");
        assert_eq!(device.line_writes(MediaLine::data(Line(0))), 1);
    }
}

#[test]
fn program_that_does_not_fit_beside_the_counters_is_refused() {
    let machine = test_machine();
    let lines = Device::program_capacity_of(&machine) / 64;
    assert!(device(&machine, lines).is_ok());
    let error = device(&machine, lines + 1).err().unwrap();
    let sentence = format!(
        "the program uses {} bytes and device.capacity = 16GiB leaves {} bytes for programs",
        lines * 64 + 64,
        lines * 64
    );
    assert_eq!(error.0, sentence);
}

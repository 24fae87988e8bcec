//! A shadow table that names counter blocks: a boot finds their counters by trial, and the root over the table confirms them.

use super::LineMachine;
use crate::config::Variant;
use crate::design::{self, faults::Fault};
use crate::layout::TreePlace;
use crate::message::{CounterBlock, Line, LineBytes, MediaLine};
use crate::parts::Design;
use crate::recovery::{Alarm, LineCodec, Media};

const LINE: Line = Line(3);
/// More than the test writes of one line.
const STOP_LOSS: &[&str] = &["integrity.stop_loss=8"];

fn phoenix() -> Design {
    design::find("phoenix", Variant::Hardened).unwrap()
}

/// What is durable of `media`.
fn durable(machine: &LineMachine, media: MediaLine) -> LineBytes {
    let queued = machine.drained().snapshot.wpq.into_iter().rfind(|(other, _)| *other == media);
    queued.map_or_else(|| *Media::content(machine.system.device.image(), media).bytes(), |(_, bytes)| bytes)
}

#[test]
fn counters_of_a_named_block_are_found_wherever_power_fails() {
    let mut machine = LineMachine::of(phoenix(), STOP_LOSS);
    let (mut points, mut entries) = (0, Vec::new());
    for number in 1..6_u8 {
        machine.write(LINE, &[number; 64], |machine| {
            let drained = machine.drained();
            let boot = machine.boot(&drained, machine.system.device.image());
            assert_eq!((boot.alarm(), boot.writes()), (None, 0), "write {number}");
            assert!(boot.line(LINE) == [number; 64] || boot.line(LINE) == [number - 1; 64], "write {number}");
            points += 1;
        });
        let drained = machine.drained();
        let boot = machine.boot(&drained, machine.system.device.image());
        assert_eq!(boot.line(LINE), [number; 64]);
        assert!(boot.restored().any(|place| place == TreePlace::leaf(CounterBlock(0))));
        entries.push((0..8).map(|slot| durable(&machine, MediaLine::table(slot))).collect::<Vec<_>>());
    }
    assert!(points > 50, "{points}");
    // The counter changes with each write, its entry with the first, and its block not at all.
    assert!(entries.iter().all(|table| *table == entries[0]) && entries[0].iter().any(|entry| *entry != [0; 64]));
    assert_eq!(durable(&machine, MediaLine::counter(CounterBlock(0))), [0; 64]);
}

#[test]
fn old_line_within_the_stop_loss_is_refused_only_if_the_root_has_its_counter() {
    let broken = Fault::TableCounters.apply(&phoenix()).unwrap();
    for (design, refused) in [(phoenix(), true), (broken, false)] {
        let mut machine = LineMachine::of(design, STOP_LOSS);
        let block = machine.codec.integrity().unwrap().mac_layout.block(LINE);
        let units = [MediaLine::data(LINE), MediaLine::mac(block)];
        machine.write(LINE, &[1; 64], |_| ());
        machine.write(LINE, &[2; 64], |_| ());
        let old = units.map(|media| (media, durable(&machine, media)));
        machine.write(LINE, &[3; 64], |_| ());
        let mut drained = machine.drained();
        drained.snapshot.wpq.extend(old);
        let boot = machine.boot(&drained, machine.system.device.image());
        let found = if refused { Some(Alarm::TableRoot) } else { None };
        assert_eq!(boot.alarm(), found);
        assert!(refused || boot.line(LINE) == [2; 64]);
    }
}

/// What a boot changes of a restored block is in memory, so that the next boot has nothing to try.
#[test]
fn block_that_a_boot_has_changed_survives_the_next_power_failure() {
    let mut machine = LineMachine::of(phoenix(), STOP_LOSS);
    machine.write(LINE, &[1; 64], |_| ());
    let drained = machine.drained();
    let mut boot = machine.boot(&drained, machine.system.device.image());
    for number in 2..40_u8 {
        boot.write_line(LINE, &[number; 64]);
        let mut again = drained.clone();
        let left = boot.power_lost();
        (again.snapshot.wpq, again.snapshot.root, again.snapshot.table_root) = (Vec::new(), left.root, left.table_root);
        let next = machine.boot(&again, boot.memory());
        assert_eq!((next.alarm(), next.line(LINE)), (None, [number; 64]), "write {number}");
    }
}

//! What a boot does with counter blocks, nodes and what memory says about them, over media that the test has made.

use super::LineMachine;
use crate::layout::{TableEntry, TreePlace};
use crate::message::{CounterBlock, Line, LineBytes, MediaLine, MediaUnit, OnChipLine, TreeNode};
use crate::recovery::{HeldState, LineCodec, Media, Memory};
use std::collections::BTreeSet;

/// A line under line `number` of the bits, which has those of 512 counter blocks, each of eight lines. Their counter blocks are
/// in different sets of the cache.
fn under(number: u64) -> Line {
    Line((number * 512 + number) * 8)
}

/// The chip has room for 16 lines of bits; those that leave are in memory.
#[test]
fn bits_of_stale_blocks_survive_wherever_they_are() {
    let mut machine = LineMachine::new("star", &["controller.counter_cache_size=4KiB"]);
    let mut points = 0;
    let content = |number: u64| [number as u8 + 1; 64];
    for number in 0..20 {
        machine.write(under(number), &content(number), |machine| {
            let drained = machine.drained();
            assert_eq!(machine.boot(&drained, machine.system.device.image()).alarm(), None, "line {number}");
            points += 1;
        });
    }
    let drained = machine.drained();
    let boot = machine.boot(&drained, machine.system.device.image());
    for number in 0..20 {
        assert_eq!(boot.line(under(number)), content(number));
    }
    let stale: BTreeSet<u64> =
        boot.restored().filter(|place| place.level == 0).map(|place| place.index / 512).collect();
    assert!(stale.len() > 16 && points > 100, "{} lines of bits, {points} power failures", stale.len());
    let mut left = 0;
    Media::stored(machine.system.device.image(), &mut |media, bytes| {
        left += usize::from(matches!(media.unit(), MediaUnit::Table(_)) && *bytes != [0; 64]);
    });
    assert!(left > 0, "no line of bits has left the chip");
}

/// The published reading keeps an entry when its block has left the cache, which may then have another one.
#[test]
fn of_two_entries_of_a_block_the_newer_one_is_restored() {
    let mut machine = LineMachine::new("anubis-asit", &[]);
    let block = MediaLine::counter(CounterBlock(0));
    let entry = |machine: &LineMachine| -> Option<(MediaLine, LineBytes)> {
        let mut found = Vec::new();
        let drained = machine.drained();
        Media::stored(machine.system.device.image(), &mut |media, bytes| found.push((media, *bytes)));
        found.extend(drained.snapshot.wpq);
        found.retain(|(media, bytes)| {
            let entry = TableEntry::unpack(bytes).filter(|_| matches!(media.unit(), MediaUnit::Table(_)));
            entry.is_some_and(|entry| entry.media == block)
        });
        found.pop()
    };
    machine.write(Line(0), &[1; 64], |_| ());
    let (slot, old) = entry(&machine).unwrap();
    machine.write(Line(0), &[2; 64], |_| ());
    assert_ne!(entry(&machine).unwrap(), (slot, old));
    for other in (0..8).map(MediaLine::table).filter(|other| *other != slot) {
        let mut drained = machine.drained();
        // The register would have to know the entry.
        drained.snapshot.table_root = None;
        drained.snapshot.wpq.push((other, old));
        let boot = machine.boot(&drained, machine.system.device.image());
        assert_eq!((boot.alarm(), boot.line(Line(0))), (None, [2; 64]), "{other:?}");
    }
}

/// Memory may have nodes over counter blocks that were lost. What is computed anew has nothing of them.
#[test]
fn node_over_blocks_that_were_never_written_does_not_outlive_the_tree_that_is_rebuilt() {
    let mut machine = LineMachine::new("rebuild", &[]);
    machine.write(Line(0), &[1; 64], |_| ());
    let drained = machine.drained();
    for level in [1, 2] {
        let node = TreePlace { level, index: 9 };
        let mut media = Memory::new(machine.system.device.image());
        media.store(node.media(), &[5; 64]);
        let boot = machine.boot(&drained, &media);
        assert_eq!(boot.alarm(), None);
        let below = Line((node.index * 64) << (3 * level));
        assert_eq!((boot.verify(Line(0)), boot.verify(below)), (Ok(()), Ok(())), "level {level}");
        assert_eq!(boot.line(below), [0; 64]);
    }
}

/// The major counter of a node changes the counters of all its children, so that each needs another MAC.
#[test]
fn minor_counter_of_a_node_that_overflows_in_a_boot_leaves_all_children_vouched_for() {
    for (arity, bits) in [(16u64, 24), (32, 12)] {
        let machine = LineMachine::new("strict-counter-tree", &[&format!("integrity.tree_arity={arity}")]);
        let scheme = &machine.codec.integrity().unwrap().tree.as_ref().unwrap().scheme;
        let [mut block, mut node, mut above] = [0, 1, 2].map(|level| scheme.initial(TreePlace { level, index: 0 }));
        // The first minor counter follows the major counter.
        node[8..12].copy_from_slice(&((1u32 << bits) - 1).to_le_bytes());
        let mut media = Memory::new(machine.system.device.image());
        scheme.mark(&mut node, 0, TreePlace { level: 0, index: 0 }, &mut block);
        scheme.mark(&mut above, 0, TreePlace { level: 1, index: 0 }, &mut node);
        media.store(MediaLine::counter(CounterBlock(0)), &block);
        media.store(MediaLine::node(TreeNode { level: 1, index: 0 }), &node);
        let drained = machine.drained();
        let mut boot = machine.boot(&drained, &media);
        boot.write_line(Line(0), &[1; 64]);
        assert_eq!((boot.alarm(), boot.line(Line(0))), (None, [1; 64]));
        for block in 0..arity {
            assert_eq!(boot.verify(Line(block * 8)), Ok(()), "arity {arity}, block {block}");
        }
    }
}

/// On battery there is nobody to whom an alarm could be given: writes that need the page anew are not made, and the boot finds it.
#[test]
fn battery_does_not_begin_a_page_again_in_which_it_has_found_a_foreign_line() {
    let machine = LineMachine::new("eadr-tree", &[]);
    let image = machine.system.device.image();
    let lose = |lines: Vec<OnChipLine>, root: Option<LineBytes>, media: &dyn Media| {
        machine.loss().strike(HeldState { lines, root, ..HeldState::default() }, media)
    };
    let first = lose(vec![line_on_chip(0, Line(1))], machine.system.controller.snapshot().root, image);
    let mut media = Memory::new(image);
    first.left.iter().for_each(|write| media.store(write.media, &write.bytes));
    media.store(MediaLine::data(Line(1)), &[7; 64]);
    let drained = lose((0..8).map(|slot| line_on_chip(slot, Line(0))).collect(), first.snapshot.root, &media);
    let written = drained.left.iter().filter(|write| write.carries.is_some_and(|(line, _)| line == Line(0))).count();
    assert!((1..8).contains(&written), "{written} of 8 writes of one line, whose counter has two bits");
    assert!(drained.left.iter().all(|write| write.media != MediaLine::data(Line(1))));
    assert!(machine.boot(&drained, &media).alarm().is_some());
}

fn line_on_chip(slot: u64, line: Line) -> OnChipLine {
    let plaintext = [slot as u8 + 1; 64];
    OnChipLine { slot, level: 1, core: 0, line, resident: plaintext, plaintext, newest: true }
}

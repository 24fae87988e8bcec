//! A shadow table with contents has as many entries as the caches have slots. What an attacker writes beyond them is not under
//! the tree that protects the table.

use super::LineMachine;
use crate::layout::TreePlace;
use crate::message::{Line, LineBytes, MediaLine, MediaUnit};
use crate::recovery::{Media, Memory};
use std::collections::BTreeSet;

/// Entries beyond any slot of the machine's caches.
const BEYOND: u64 = 1_000;

#[test]
fn old_entry_beyond_the_last_slot_restores_nothing() {
    let mut machine = LineMachine::new("anubis-asit", &[]);
    // Each entry that was ever in the table, as it crossed the bus.
    let mut entries: BTreeSet<LineBytes> = BTreeSet::new();
    for line in 0..200 {
        machine.write(Line(line * 8), &[line as u8; 64], |_| ());
        Media::stored(machine.system.device.image(), &mut |media, bytes| {
            entries.extend(matches!(media.unit(), MediaUnit::Table(_)).then_some(*bytes));
        });
    }
    let drained = machine.drained();
    let restored = |media: &dyn Media| -> Vec<TreePlace> {
        let boot = machine.boot(&drained, media);
        assert_eq!(boot.alarm(), None);
        boot.restored().collect()
    };
    let untouched = restored(machine.system.device.image());
    assert!(!untouched.is_empty() && entries.len() > 20, "{untouched:?}, {} entries", entries.len());
    for entry in entries {
        let mut media = Memory::new(machine.system.device.image());
        media.store(MediaLine::table(BEYOND), &entry);
        assert_eq!(restored(&media), untouched);
    }
}

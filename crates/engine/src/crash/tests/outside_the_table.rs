//! A shadow table with contents has as many entries as the caches have slots. What an attacker writes beyond them is not under
//! the tree that protects the table.

use crate::assembly::{LineSystem, boot_codec, encryption_parts};
use crate::config::{Variant, load_machine};
use crate::crash::{PowerLoss, held};
use crate::design;
use crate::message::{BaseImage, Line, LineBytes, MediaLine, MediaUnit, NoObserver, TreePlace};
use crate::recovery::{LineCodec, Media, Memory};
use crate::workload::trace::EmptyBase;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Entries beyond any slot of the machine's caches.
const BEYOND: u64 = 1_000;

#[test]
fn an_old_entry_beyond_the_last_slot_restores_nothing() {
    let design = design::find("anubis-asit", Variant::Hardened).unwrap();
    let machine = load_machine("small", &[]).unwrap();
    let base: Arc<dyn BaseImage> = Arc::new(EmptyBase { end: 0 });
    let mut system = LineSystem::new(&machine, &design, Arc::clone(&base), 1, NoObserver).unwrap();
    // Each entry that was ever in the table, as it crossed the bus.
    let mut entries: BTreeSet<LineBytes> = BTreeSet::new();
    for line in 0..200 {
        system.write(system.now(), Line(line * 8), &[line as u8; 64], 0);
        while system.advance().is_some() {}
        Media::stored(system.device.image(), &mut |media, bytes| {
            entries.extend(matches!(media.unit(), MediaUnit::Table(_)).then_some(*bytes));
        });
    }
    let parts = encryption_parts(&machine, &design, 1, &base).unwrap();
    let codec = parts.map(|parts| boot_codec(&machine, 1, parts, Arc::clone(&base), None));
    let loss = PowerLoss::new(&design, &machine, codec.as_ref().map(|codec| codec as &dyn LineCodec));
    let drained = loss.strike(held(system.controller.snapshot()), system.device.image());
    let restored = |media: &dyn Media| -> Vec<TreePlace> {
        let mut boot = loss.boot(media, &drained.snapshot, NoObserver);
        boot.finish();
        assert_eq!(boot.alarm(), None);
        boot.restored().collect()
    };
    let untouched = restored(system.device.image());
    assert!(!untouched.is_empty() && entries.len() > 20, "{untouched:?}, {} entries", entries.len());
    for entry in entries {
        let mut media = Memory::new(system.device.image());
        media.store(MediaLine::table(BEYOND), &entry);
        assert_eq!(restored(&media), untouched);
    }
}

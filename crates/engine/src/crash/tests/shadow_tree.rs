//! A tree over the shadow cache: every line that is restored from it is the one that the battery wrote last.

use crate::assembly::{LineSystem, boot_codec, encryption_parts, memory_map};
use crate::cache;
use crate::config::{Machine, Variant, load_machine};
use crate::design;
use crate::design::faults::Fault;
use crate::layout::ShadowRegion;
use crate::message::{BaseImage, Line, LineBytes, MediaLine, NoObserver, OnChipLine, xor};
use crate::parts::{Battery, Counter, Design};
use crate::power::{Drained, PowerLoss};
use crate::recovery::{Alarm, Boot, BootStep, HeldState, LineCodec, Media, Memory, SchemeCodec};
use crate::trace::EmptyBase;
use std::sync::Arc;

const DESIGNS: [&str; 2] = ["bbe-tree", "sepencr-tree"];

struct Rig {
    design: Design,
    machine: Machine,
    codec: SchemeCodec,
    region: ShadowRegion,
    system: LineSystem<NoObserver>,
}

impl Rig {
    fn new(name: &str, fault: Option<Fault>) -> Self {
        let intact = design::find(name, Variant::Hardened).unwrap();
        let design = fault.map_or_else(|| intact.clone(), |fault| fault.apply(&intact).unwrap());
        let machine = load_machine("small", &["l3.size=1KiB".to_owned()]).unwrap();
        let base: Arc<dyn BaseImage> = Arc::new(EmptyBase { end: 0 });
        let region = memory_map::shadow_region(&machine, &design, 1).unwrap();
        let parts = encryption_parts(&machine, &design, 1, &base).unwrap().unwrap();
        let codec = boot_codec(&machine, 1, parts, Arc::clone(&base), Some(region));
        let system = LineSystem::new(&machine, &design, base, 1, NoObserver).unwrap();
        assert_eq!(region.slots, cache::data_slots(&machine, 1, design.cache_pads));
        Self { design, machine, codec, region, system }
    }

    fn loss(&self) -> PowerLoss<'_> {
        PowerLoss::new(&self.design, &self.machine, Some(&self.codec as &dyn LineCodec))
    }

    /// Power fails with these slots dirty, each with a line of its own, over `held`.
    fn lose(&self, held: HeldState, media: &dyn Media, slots: &[u64], byte: u8) -> Drained {
        let loss = self.loss();
        let major = held.registers.boot_counter;
        let lines = slots.iter().map(|&slot| {
            let plaintext = content(slot, byte);
            let pad = self.codec.pad(self.region.pad_line(slot), Counter { major, minor: 0 });
            let resident = if loss.boot_pads { xor(&plaintext, &pad) } else { plaintext };
            OnChipLine { slot, level: 3, core: 0, line: line_of(slot), resident, plaintext, newest: true }
        });
        let drained = loss.strike(HeldState { lines: lines.collect(), ..held }, media);
        assert_eq!(drained.forbidden, None);
        drained
    }

    /// The first power failure, of a machine that has written nothing else.
    fn first(&self, slots: &[u64]) -> Drained {
        let root = self.system.controller.snapshot().root;
        self.lose(HeldState { root, ..HeldState::default() }, self.system.device.image(), slots, 1)
    }

    /// What a boot from the registers of `drained` and from these media, on which everything lies, ends with.
    fn boot(&self, drained: &Drained, media: &dyn Media) -> Option<Alarm> {
        let mut snapshot = drained.snapshot.clone();
        snapshot.wpq.clear();
        let mut boot = self.loss().boot(media, &snapshot, NoObserver);
        boot.finish();
        boot.alarm()
    }
}

fn line_of(slot: u64) -> Line {
    Line(slot * 3)
}

fn content(slot: u64, byte: u8) -> LineBytes {
    [slot as u8 ^ byte << 5; 64]
}

/// `media` with everything that the power failure has left there.
fn drained_to<'a>(media: &'a dyn Media, drained: &Drained) -> Memory<'a> {
    let mut memory = Memory::new(media);
    drained.snapshot.wpq.iter().for_each(|(media, bytes)| memory.store(*media, bytes));
    memory
}

#[test]
fn battery_that_only_writes_computes_no_tree() {
    for name in DESIGNS {
        let rig = Rig::new(name, None);
        for battery in [Battery::WriteOnly, Battery::WriteComputeOrder, Battery::AllOperation] {
            let line = line_of(0);
            let [plaintext, resident] = [content(0, 1); 2];
            let dirty = OnChipLine { slot: 0, level: 3, core: 0, line, resident, plaintext, newest: true };
            let held = HeldState { lines: vec![dirty], ..HeldState::default() };
            let drained = PowerLoss { battery, ..rig.loss() }.strike(held, rig.system.device.image());
            let refused = drained.forbidden.map(|forbidden| (forbidden.needs, forbidden.has));
            let computes = battery >= Battery::WriteComputeOrder;
            assert_eq!(refused, (!computes).then_some((Battery::WriteComputeOrder, battery)), "{name}");
        }
    }
}

const SOME: [u64; 4] = [0, 1, 5, 6];

#[test]
fn every_changed_line_of_the_shadow_cache_and_its_metadata_is_refused() {
    for name in DESIGNS {
        let rig = Rig::new(name, None);
        let blind = Rig::new(name, Some(Fault::ShadowVerification));
        let drained = rig.first(&SOME);
        let media = drained_to(rig.system.device.image(), &drained);
        assert_eq!(rig.boot(&drained, &media), None);
        assert_eq!(drained.left.len(), SOME.len() + 2, "a line for each slot, and two lines of metadata");
        for write in &drained.left {
            let other = drained.left.iter().find(|other| other.bytes != write.bytes).unwrap();
            let mut changed = [write.bytes, other.bytes, [0; 64]];
            changed[0][17] ^= 4;
            for bytes in changed {
                let mut media = drained_to(rig.system.device.image(), &drained);
                media.store(write.media, &bytes);
                assert_eq!(rig.boot(&drained, &media), Some(Alarm::ShadowRoot), "{name}: {write:?} is {bytes:?}");
                assert_eq!(blind.boot(&drained, &media), None, "{name}: nothing else refuses it");
            }
        }
    }
}

#[test]
fn what_is_written_where_nothing_was_is_refused_or_says_nothing() {
    for name in DESIGNS {
        let rig = Rig::new(name, None);
        let drained = rig.first(&SOME);
        let image = rig.system.device.image();
        // Metadata of slots that were clean: as an earlier power failure may have left them, and as the attacker likes them.
        let (metadata, _) = rig.region.metadata(rig.region.slots - 1);
        for (stamp, alarm) in [(0, None), (u64::MAX, Some(Alarm::ShadowRoot))] {
            let mut bytes = [0; 64];
            crate::layout::SlotMetadata::put(Some(crate::layout::SlotMetadata { line: Line(1), stamp }), &mut bytes, 0);
            let mut media = drained_to(image, &drained);
            media.store(MediaLine::data(metadata), &bytes);
            assert_eq!(rig.boot(&drained, &media), alarm, "{name} {stamp}");
        }
        // A line of a slot that holds nothing is not read.
        let mut media = drained_to(image, &drained);
        media.store(MediaLine::data(rig.region.data(3)), &[7; 64]);
        assert_eq!(rig.boot(&drained, &media), None, "{name}");
    }
}

/// Power fails, the machine boots, the same slots are dirty again, and power fails again.
#[test]
fn shadow_cache_of_an_earlier_power_failure_is_refused_line_by_line_and_as_a_whole() {
    for name in DESIGNS {
        let rig = Rig::new(name, None);
        let (loss, first) = (rig.loss(), rig.first(&SOME));
        let mut boot = loss.boot(rig.system.device.image(), &first.snapshot, NoObserver);
        boot.finish();
        assert_eq!((boot.alarm(), boot.registers().root), (None, [0; 64]));
        let second = rig.lose(boot.power_lost(), boot.memory(), &SOME, 2);
        assert_eq!(rig.boot(&second, &drained_to(boot.memory(), &second)), None);
        let mut whole = drained_to(boot.memory(), &second);
        for write in &first.left {
            let mut media = drained_to(boot.memory(), &second);
            media.store(write.media, &write.bytes);
            whole.store(write.media, &write.bytes);
            assert_eq!(rig.boot(&second, &media), Some(Alarm::ShadowRoot), "{name}: {write:?}");
        }
        assert_eq!(rig.boot(&second, &whole), Some(Alarm::ShadowRoot), "{name}");
    }
}

/// The registers agree after every step: power may fail there, and again in the boot after that.
#[test]
fn nothing_is_refused_if_power_fails_after_any_step_of_two_boots() {
    for name in DESIGNS {
        let rig = Rig::new(name, None);
        let loss = rig.loss();
        for slots in [&SOME[..], &[]] {
            let first = rig.first(slots);
            let image = rig.system.device.image();
            let cuts = |boot: &mut Boot<'_, NoObserver>, cut: u64| {
                boot.load();
                (0..cut).all(|_| boot.step().is_some())
            };
            let mut judged = 0;
            for cut in 0.. {
                let mut boot = loss.boot(image, &first.snapshot, NoObserver);
                if !cuts(&mut boot, cut) {
                    break;
                }
                let second = loss.strike(boot.power_lost(), boot.memory());
                for cut in 0.. {
                    let mut again = loss.boot(boot.memory(), &second.snapshot, NoObserver);
                    if !cuts(&mut again, cut) {
                        break;
                    }
                    let third = loss.strike(again.power_lost(), again.memory());
                    let mut last = loss.boot(again.memory(), &third.snapshot, NoObserver);
                    last.finish();
                    assert_eq!(last.alarm(), None, "{name} {slots:?}");
                    for &slot in slots {
                        assert_eq!(last.verify(line_of(slot)), Ok(()));
                        assert_eq!(last.line(line_of(slot)), content(slot, 1), "{name}");
                    }
                    assert_eq!(last.registers().root, [0; 64]);
                    judged += 1;
                }
            }
            assert!(judged > slots.len().pow(2), "{name}: {judged}");
        }
    }
}

#[test]
fn what_is_verified_is_read_once() {
    for name in DESIGNS {
        let rig = Rig::new(name, None);
        let drained = rig.first(&SOME);
        let mut boot = rig.loss().boot(rig.system.device.image(), &drained.snapshot, NoObserver);
        boot.load();
        while !matches!(boot.step(), Some(BootStep::Restored { .. })) {}
        let metadata = rig.region.slots.div_ceil(4);
        assert_eq!(boot.work().reads.data, SOME.len() as u64 + metadata, "{name}");
    }
}

//! Power losses with every battery, and boots from what they leave: interrupted after every step, and interrupted
//! again.

use crate::assembly::encryption_parts;
use crate::assembly::memory_map::has_slot_macs;
use crate::audit::CounterLayout;
use crate::audit::tests::fixture::{Machine as Memory, Populated};
use crate::cipher::{Keys, PadCipher};
use crate::config::{self, GlobalRegister, Variant, load_machine};
use crate::controller::IntegrityParts;
use crate::design;
use crate::layout::{ShadowRegion, SlotMetadata};
use crate::mechanism::split_counters::SplitCounters;
use crate::message::{BaseImage, Line, LineBytes, MediaLine, NoObserver, OnChipLine, xor};
use crate::parts::{
    Battery, Counter, CrashDrain, Design, Domain, DrainMechanism, DrainParts, DrainPath, Forbidden, OnBattery,
    RecoveryStep, RegisterName,
};
use crate::power::*;
use crate::recovery::{Boot, BootStep, HeldState, IntegrityCodec, LineCodec, Media, SchemeCodec};
use std::sync::Arc;
use thread_local::ThreadLocal;

const REGION: ShadowRegion = ShadowRegion { first: Line(256), slots: 12, memory_lines: 1 << 20, macs: false };
/// The lines in the slots of the caches, four per level, all dirty. Line 1 is dirty in all levels.
const SLOTS: [u64; 12] = [1, 2, 3, 70, 1, 2, 5, 6, 1, 5, 7, 71];

struct Rig {
    design: Design,
    machine: config::Machine,
    codec: SchemeCodec,
    memory: Memory,
}

impl Rig {
    fn new(name: &str, variant: Variant) -> Self {
        let machine = load_machine("small", &[]).unwrap();
        let base = Arc::new(Populated::new((0..9).chain([70]).map(|line| (line, [line as u8 + 1; 64]))));
        let design = design::find(name, variant).unwrap();
        let counters = Box::new(SplitCounters::of(&machine.counters));
        let pads = PadCipher::new(&Keys::from_seed(1).data, 128, 1 << 30).unwrap();
        let codec = SchemeCodec::new(counters, Box::new(pads), base.clone());
        let region = ShadowRegion { macs: has_slot_macs(&design), ..REGION };
        let codec = if design.drain().is_some_and(CrashDrain::uses_shadow) { codec.with_shadow(region) } else { codec };
        let all = Arc::clone(&base) as Arc<dyn BaseImage>;
        let integrity = encryption_parts(&machine, &design, 1, &all).unwrap().and_then(|parts| parts.integrity);
        // What a battery needs: the tree over memory is as it was left.
        let codec = match integrity {
            Some(IntegrityParts { macs, mac_layout, shadow, .. }) => codec.with_integrity(IntegrityCodec {
                macs,
                mac_layout,
                tree: None,
                shadow,
                ring: None,
                stop_loss: 1,
                known: ThreadLocal::new(),
            }),
            None => codec,
        };
        Self {
            design,
            machine,
            codec,
            memory: Memory::over(base, CounterLayout::Split { coverage: crate::layout::Coverage::PAGE, minor_bits: 2 }),
        }
    }

    fn loss(&self) -> PowerLoss<'_> {
        let codec = self.design.encryption.map(|_| &self.codec as &dyn LineCodec);
        PowerLoss::new(&self.design, &self.machine, codec)
    }

    /// The caches with these slots dirty.
    fn held(&self, slots: &[u64]) -> HeldState {
        let boot_pads = self.loss().boot_pads;
        let lines = slots.iter().map(|&slot| {
            let (level, line) = (slot as u8 / 4 + 1, Line(SLOTS[slot as usize]));
            let plaintext = bytes_of(line, slot);
            let pad =
                if boot_pads { self.codec.pad(REGION.pad_line(slot), Counter { major: 1, minor: 0 }) } else { [0; 64] };
            let newest = newest_of(line, slots) == Some(slot);
            OnChipLine { slot, level, core: 0, line, resident: xor(&plaintext, &pad), plaintext, newest }
        });
        HeldState { lines: lines.collect(), ..HeldState::default() }
    }

    fn boot<'a>(&'a self, loss: &PowerLoss<'a>, drained: &'a Drained, media: &'a dyn Media) -> Boot<'a, NoObserver> {
        Boot::new(media, &drained.snapshot, loss.codec, &self.design.recovery, NoObserver)
    }

    /// Boots from `drained` and loses power after the given numbers of steps. Returns what memory shows in the end, and
    /// what left at the last loss; `None` if a boot has no such step.
    fn cut(&self, drained: &Drained, media: &dyn Media, cuts: &[usize]) -> Option<(Vec<LineBytes>, Drained)> {
        let loss = self.loss();
        let mut boot = self.boot(&loss, drained, media);
        let Some((&cut, rest)) = cuts.split_first() else {
            boot.finish();
            return Some(((0..9).chain([70, 71]).map(|line| boot.line(Line(line))).collect(), drained.clone()));
        };
        boot.load();
        for _ in 0..cut {
            boot.step()?;
        }
        let again = loss.strike(boot.power_lost(), boot.memory());
        self.cut(&again, boot.memory(), rest)
    }
}

fn newest_of(line: Line, slots: &[u64]) -> Option<u64> {
    slots.iter().copied().filter(|&slot| SLOTS[slot as usize] == line.0).min()
}

/// The bytes that the program stored last, in the copy in `slot`.
fn bytes_of(line: Line, slot: u64) -> LineBytes {
    [0x80 + slot as u8 + line.0 as u8; 64]
}

/// The contents of memory that are expected if these slots were dirty.
fn expected(slots: &[u64]) -> Vec<LineBytes> {
    let of = |line: u64| match newest_of(Line(line), slots) {
        Some(slot) => bytes_of(Line(line), slot),
        None if line == 71 => [0; 64],
        None => [line as u8 + 1; 64],
    };
    (0..9).chain([70, 71]).map(of).collect()
}

const ALL: [u64; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];
const SOME: [u64; 7] = [0, 4, 5, 8, 9, 10, 11];
const HARDENED: [&str; 5] = ["eadr", "eadr-mc-cme", "eadr-all-operation", "bbe", "sepencr"];

fn by(path: DrainPath) -> CrashDrain {
    CrashDrain::Parts(DrainParts { path, ..DrainParts::default() })
}

/// One operation of a drain.
#[derive(Clone, Copy)]
enum Act {
    Write,
    Pad,
    Xor,
    Read,
}

impl DrainMechanism for Act {
    fn needs(&self) -> Battery {
        Battery::WriteOnly
    }
    fn uses_shadow(&self) -> bool {
        false
    }
    /// The line leaves unchanged, performs the operation, and leaves again.
    fn drain(&self, lines: &[OnChipLine], battery: &mut dyn OnBattery) -> Result<(), Forbidden> {
        let line = &lines[0];
        battery.write(MediaLine::data(line.line), &line.resident, Some(line));
        match self {
            Act::Write => battery.write_in_the_clear(line),
            Act::Pad => drop(battery.pad(line.line, Counter { major: 1, minor: 0 })?),
            Act::Xor => drop(battery.xor(&line.resident, &line.resident)?),
            Act::Read => battery.write_through_write_path(line)?,
        }
        battery.write(MediaLine::data(line.line), &line.resident, Some(line));
        Ok(())
    }
}

#[test]
fn battery_refuses_what_its_model_does_not_support() {
    use Battery::{AllOperation, WriteComputeOrder, WriteOnly};
    let rig = Rig::new("eadr-mc-cme", Variant::Hardened);
    let acts: [(&'static dyn DrainMechanism, &str, Battery); 4] = [
        (&Act::Write, "", WriteOnly),
        (&Act::Pad, "a pad", WriteComputeOrder),
        (&Act::Xor, "an exclusive-or", WriteComputeOrder),
        (&Act::Read, "a read", AllOperation),
    ];
    for has in [WriteOnly, WriteComputeOrder, AllOperation] {
        for (drain, act, needs) in acts {
            let loss = PowerLoss { drain: Some(CrashDrain::Custom(drain)), battery: has, ..rig.loss() };
            let drained = loss.strike(rig.held(&[0]), &rig.memory);
            let refused = has < needs;
            assert_eq!(drained.forbidden, refused.then_some(Forbidden { act, needs, has }), "{act} on {has:?}");
            let times = drained.left.iter().filter(|write| write.media == MediaLine::data(Line(1))).count();
            assert_eq!(times == 1, refused, "what left before the act has left, nothing after it: {act} on {has:?}");
            assert_eq!(drained.snapshot.wpq.len(), drained.left.len());
        }
    }
}

#[test]
fn each_design_drains_on_the_battery_that_it_is_made_for_and_is_refused_on_a_lesser_one() {
    for design in design::all(Variant::Hardened) {
        let Some(drain) = design.drain() else { continue };
        let rig = Rig::new(&design.name, Variant::Hardened);
        for battery in [Battery::WriteOnly, Battery::WriteComputeOrder, Battery::AllOperation] {
            let drained = PowerLoss { battery, ..rig.loss() }.strike(rig.held(&ALL), &rig.memory);
            let refused = drained.forbidden.map(|forbidden| (forbidden.needs, forbidden.has));
            assert_eq!(refused, (battery < drain.needs()).then_some((drain.needs(), battery)), "{}", design.name);
        }
        assert_eq!(rig.loss().strike(rig.held(&ALL), &rig.memory).forbidden, None, "{}", design.name);
    }
}

#[test]
fn what_survives_without_persistent_caches_is_the_queue_and_what_the_registers_say() {
    let held = || {
        let mut held = Rig::new("secpm", Variant::Hardened).held(&ALL);
        held.wpq = vec![(MediaLine::data(Line(3)), [9; 64])];
        held.counters = vec![(crate::message::CounterBlock(0), [1; 64])];
        held.global_counter = Some(7);
        held
    };
    let rig = Rig::new("secpm", Variant::Hardened);
    let drained = rig.loss().strike(held(), &rig.memory);
    assert_eq!((drained.snapshot.wpq.len(), drained.left.len()), (1, 0));
    let of = |name, register| {
        let mut machine = load_machine("small", &[]).unwrap();
        machine.counters.global_register = register;
        Survival::of(&design::find(name, Variant::Hardened).unwrap(), &machine)
    };
    for (register, survives) in [
        (GlobalRegister::Adr, GlobalCounterSurvives::Value),
        (GlobalRegister::MaxScan, GlobalCounterSurvives::AsScanned),
        (GlobalRegister::Volatile, GlobalCounterSurvives::Not),
    ] {
        assert_eq!(of("fca", register).global_counter, survives);
        assert_eq!(of("secpm", register).global_counter, GlobalCounterSurvives::Not, "it has none");
    }
    let (bbe, sepencr) = (of("bbe", GlobalRegister::Adr), of("sepencr", GlobalRegister::Adr));
    assert_eq!((bbe.status, bbe.incr_counter, bbe.boot_counter, bbe.consumed), (true, true, false, true));
    assert_eq!((sepencr.incr_counter, sepencr.boot_counter, sepencr.consumed), (false, true, true));
}

#[test]
fn queue_survives_behind_a_link_if_the_host_is_in_the_domain_and_its_flush_completes() {
    use crate::config::{LinkDomain, LinkKind, PowerFlush};
    let rig = Rig::new("secpm", Variant::Hardened);
    let mut held = rig.held(&[]);
    held.wpq = vec![(MediaLine::data(Line(3)), [9; 64])];
    for (kind, domain, power_flush, survives) in [
        (LinkKind::Cxl, LinkDomain::Host, PowerFlush::Completes, true),
        (LinkKind::Cxl, LinkDomain::Device, PowerFlush::Completes, false),
        (LinkKind::Cxl, LinkDomain::Host, PowerFlush::Phase1Fails, false),
        (LinkKind::Cxl, LinkDomain::Host, PowerFlush::Phase2Fails, false),
        (LinkKind::None, LinkDomain::Device, PowerFlush::Phase2Fails, true),
    ] {
        let mut machine = load_machine("cxl-pm", &[]).unwrap();
        (machine.link.kind, machine.link.domain, machine.link.power_flush) = (kind, domain, power_flush);
        let survival = Survival::of(&design::find("secpm", Variant::Hardened).unwrap(), &machine);
        let drained = PowerLoss { survival, ..rig.loss() }.strike(held.clone(), &rig.memory);
        assert_eq!(drained.snapshot.wpq.len(), usize::from(survives), "{kind:?} {domain:?} {power_flush:?}");
        assert_eq!(machine.link.keeps_buffers(), kind == LinkKind::None || power_flush != PowerFlush::Phase2Fails);
    }
}

#[test]
fn dirty_counter_blocks_leave_first_and_the_write_path_reads_them_on_battery() {
    let rig = Rig::new("eadr-all-operation", Variant::Hardened);
    let mut held = rig.held(&[0]);
    // The counter cache has line 1 one write newer than the media.
    let mut block = rig.codec.base_block(crate::message::CounterBlock(0));
    assert!(rig.codec.increment(Line(1), &mut block, &mut 0));
    held.counters = vec![(crate::message::CounterBlock(0), block)];
    held.wpq = vec![(MediaLine::data(Line(1)), rig.codec.encrypt(Line(1), &[7; 64], &block).bytes)];
    let drained = rig.loss().strike(held, &rig.memory);
    let media: Vec<MediaLine> = drained.left.iter().map(|write| write.media).collect();
    let counter = MediaLine::counter(crate::message::CounterBlock(0));
    assert_eq!(media, [counter, counter, MediaLine::data(Line(1))]);
    assert_eq!((drained.left[0].bytes, drained.left[0].carries), (block, None));
    assert!(rig.codec.increment(Line(1), &mut block, &mut 0));
    assert_eq!(drained.left[1].bytes, block, "the next counter, not one that the media know");
    assert_eq!(drained.left[2].carries, Some((Line(1), bytes_of(Line(1), 0))));
}

#[test]
fn whatever_was_dirty_is_there_after_the_boot_the_newest_copy_of_each_line() {
    for name in HARDENED {
        let rig = Rig::new(name, Variant::Hardened);
        for slots in [&ALL[..], &SOME, &[11], &[]] {
            let drained = rig.loss().strike(rig.held(slots), &rig.memory);
            let (shown, _) = rig.cut(&drained, &rig.memory, &[]).unwrap();
            assert_eq!(shown, expected(slots), "{name}, {slots:?}");
        }
    }
}

#[test]
fn hardened_recovery_that_is_cut_short_anywhere_twice_ends_in_the_same_memory() {
    for name in HARDENED {
        let rig = Rig::new(name, Variant::Hardened);
        for slots in [&ALL[..], &SOME] {
            let drained = rig.loss().strike(rig.held(slots), &rig.memory);
            let mut cuts = 0;
            while let Some((shown, _)) = rig.cut(&drained, &rig.memory, &[cuts]) {
                assert_eq!(shown, expected(slots), "{name}, cut after {cuts}");
                for second in [0, 1, 5, 70] {
                    if let Some((shown, _)) = rig.cut(&drained, &rig.memory, &[cuts, second]) {
                        assert_eq!(shown, expected(slots), "{name}, cut after {cuts} and {second}");
                    }
                }
                cuts += 1;
            }
            // Line 1 is written three times: its two-bit minor counter overflows meanwhile.
            let long = matches!(name, "bbe" | "sepencr");
            assert_eq!(cuts > 64, long, "{name} has {cuts} steps");
        }
    }
}

#[test]
fn shadow_cache_is_consumed_in_order_and_in_a_step_of_its_own() {
    for (name, consumed) in [("bbe", 12), ("sepencr", 1)] {
        let rig = Rig::new(name, Variant::Hardened);
        let drained = rig.loss().strike(rig.held(&SOME), &rig.memory);
        let loss = rig.loss();
        let mut boot = rig.boot(&loss, &drained, &rig.memory);
        let (mut slots, mut before) = (Vec::new(), 0);
        while let Some(step) = boot.step() {
            if let BootStep::Restored { slot, .. } = step {
                slots.push(slot);
            }
            let after = boot.registers().consumed;
            assert_eq!(before != after, step == BootStep::ShadowConsumed, "{name}: {step:?}");
            before = after;
        }
        assert_eq!(slots, [11, 10, 9, 8, 5, 4, 0], "{name}: the third level's first, the first level's last");
        assert_eq!(before, consumed, "{name}");
        // No slot is dirty, nothing changes, and the next boot finds nothing.
        let again = loss.strike(boot.power_lost(), boot.memory());
        assert!(again.left.is_empty());
        let mut next = rig.boot(&loss, &again, boot.memory());
        next.load();
        assert!(!std::iter::from_fn(|| next.step()).any(|step| matches!(step, BootStep::Restored { .. })), "{name}");
    }
}

#[test]
fn pads_of_the_next_loss_are_new_when_the_recovery_is_over() {
    for name in ["bbe", "sepencr"] {
        let rig = Rig::new(name, Variant::Hardened);
        let drained = rig.loss().strike(rig.held(&ALL), &rig.memory);
        let used: Vec<LineBytes> =
            drained.left.iter().filter_map(|write| Some(xor(&write.bytes, &write.carries?.1))).collect();
        assert_eq!(used.len(), 12);
        let loss = rig.loss();
        let mut boot = rig.boot(&loss, &drained, &rig.memory);
        let next =
            |boot: &Boot<'_, NoObserver>| loss.next_slot_pads(drained.slots(REGION), boot.registers(), boot.memory());
        boot.load();
        let before: Vec<LineBytes> = next(&boot).into_iter().map(|(_, pad)| pad).collect();
        assert_eq!(before == used, name == "sepencr", "the boot counter has not gone up yet");
        boot.finish();
        let pads = next(&boot);
        assert_eq!(pads.len(), 12);
        assert!(pads.iter().all(|(_, pad)| !used.contains(pad)), "{name}");
    }
}

#[test]
fn lines_that_left_in_the_clear_read_as_they_lie_until_they_are_encrypted() {
    let rig = Rig::new("eadr-mc-cme", Variant::Hardened);
    let drained = rig.loss().strike(rig.held(&ALL), &rig.memory);
    assert!(drained.left.iter().all(|write| write.in_the_clear && write.carries.unwrap().1 == write.bytes));
    assert_eq!(drained.snapshot.plain.len(), 8);
    let loss = rig.loss();
    let mut boot = rig.boot(&loss, &drained, &rig.memory);
    let mut encrypted = Vec::new();
    while let Some(step) = boot.step() {
        if let BootStep::Encrypted(line) = step {
            encrypted.push(line);
            assert_ne!(boot.memory().content(MediaLine::data(line)), crate::message::Content::Stored(&boot.line(line)));
        }
        assert_eq!(boot.power_lost_after(step), 8 - encrypted.len());
    }
    assert_eq!(encrypted, drained.snapshot.plain);
}

trait Flagged {
    fn power_lost_after(&self, step: BootStep) -> usize;
}

impl Flagged for Boot<'_, NoObserver> {
    /// Number of lines flagged as unencrypted; before the registers are loaded, all of them.
    fn power_lost_after(&self, step: BootStep) -> usize {
        if matches!(step, BootStep::Drained(_)) { 8 } else { self.power_lost().plain.len() }
    }
}

#[test]
fn published_recoveries_lose_lines_or_show_them_if_power_fails_in_between() {
    for name in ["bbe", "sepencr"] {
        let rig = Rig::new(name, Variant::Published);
        let drained = rig.loss().strike(rig.held(&ALL), &rig.memory);
        assert_eq!(rig.cut(&drained, &rig.memory, &[]).unwrap().0, expected(&ALL), "{name} without a second loss");
        let (mut lost, mut shown_in_the_clear) = (0, 0);
        let mut cuts = 0;
        while let Some((shown, again)) = rig.cut(&drained, &rig.memory, &[cuts]) {
            lost += usize::from(shown != expected(&ALL));
            let clear = |(line, plaintext): (Line, LineBytes), bytes: LineBytes| bytes == plaintext && line.0 > 0;
            let clear = again.left.iter().filter(|write| write.carries.is_some_and(|of| clear(of, write.bytes)));
            shown_in_the_clear += usize::from(clear.count() > 0);
            cuts += 1;
        }
        assert!(lost >= 11, "{name}: a slot whose line is not in the caches loses its tag, {lost}");
        assert_eq!(shown_in_the_clear > 0, name == "sepencr", "{name}: restored lines without pads");
    }
}

#[test]
fn pads_of_a_published_boot_counter_are_used_again_if_power_fails_before_it_advances() {
    let rig = Rig::new("sepencr", Variant::Published);
    assert_eq!(rig.design.recovery.len(), 3);
    let loss = rig.loss();
    let drained = loss.strike(rig.held(&ALL), &rig.memory);
    let mut boot = rig.boot(&loss, &drained, &rig.memory);
    let steps: Vec<BootStep> =
        std::iter::from_fn(|| boot.step()).filter(|step| !matches!(step, BootStep::Drained(_))).collect();
    let renewed: Vec<u64> = steps
        .iter()
        .filter_map(|step| if let BootStep::CachePadRenewed(slot) = step { Some(*slot) } else { None })
        .collect();
    assert_eq!(renewed, ALL);
    let lines = boot.power_lost().lines;
    assert_eq!(
        lines.iter().map(|line| line.plaintext).collect::<Vec<_>>(),
        rig.held(&ALL).lines.iter().map(|line| line.plaintext).collect::<Vec<_>>()
    );
    for line in &lines {
        let pad = rig.codec.pad(REGION.pad_line(line.slot), Counter { major: 2, minor: 0 });
        assert_eq!(
            (xor(&line.resident, &pad), line.newest),
            (line.plaintext, line.slot == newest_of(line.line, &ALL).unwrap())
        );
    }
    // The program's writes go to the newest copy, which stays dirty and encrypted.
    boot.write_line(Line(1), &[0x33; 64]);
    let first = boot.power_lost().lines[0];
    assert_eq!((boot.line(Line(1)), first.plaintext, first.slot), ([0x33; 64], [0x33; 64], 0));
    assert_ne!(first.resident, [0x33; 64]);
}

#[test]
fn slots_that_were_consumed_or_hold_nothing_stay_where_they_are() {
    let rig = Rig::new("bbe", Variant::Hardened);
    let mut drained = rig.loss().strike(rig.held(&SOME), &rig.memory);
    // Slot 8 is stamped 9.
    drained.snapshot.registers.consumed = 9;
    let loss = rig.loss();
    let mut boot = rig.boot(&loss, &drained, &rig.memory);
    boot.finish();
    assert_eq!(boot.line(Line(1)), [2; 64], "slots 0, 4 and 8 have been consumed");
    assert_eq!(boot.line(Line(7)), bytes_of(Line(7), 10));
    let (metadata, place) = REGION.metadata(10);
    let found = SlotMetadata::get(&boot.line(metadata), place);
    assert_eq!(found, Some(SlotMetadata { line: Line(7), stamp: 11 }), "metadata read as they lie");
    assert_eq!(boot.next_pads(REGION.data(10)).next(), None);
}

#[test]
fn page_that_a_battery_began_to_encrypt_anew_is_finished_there() {
    let rig = Rig::new("eadr-all-operation", Variant::Hardened);
    let loss = PowerLoss { drain: Some(by(DrainPath::ThroughWritePath)), ..rig.loss() };
    let mut held = rig.held(&ALL);
    let mut block = rig.codec.base_block(crate::message::CounterBlock(0));
    for _ in 0..2 {
        assert!(rig.codec.increment(Line(2), &mut block, &mut 0), "line 2 has its last minor counter");
    }
    held.counters = vec![(crate::message::CounterBlock(0), block)];
    held.wpq = vec![(MediaLine::data(Line(2)), rig.codec.encrypt(Line(2), &[3; 64], &block).bytes)];
    let drained = loss.strike(held, &rig.memory);
    assert_eq!(drained.snapshot.status, None);
    let anew = drained.left.iter().filter(|write| !write.media.is_counter()).count();
    assert_eq!(anew, 64 + 8);
    assert_eq!(rig.cut(&drained, &rig.memory, &[]).unwrap().0, expected(&ALL));
}

#[test]
fn drain_that_makes_pads_on_a_battery_that_only_writes_stops_there() {
    let rig = Rig::new("bbe", Variant::Hardened);
    let loss = PowerLoss { drain: Some(by(DrainPath::EncryptToShadow)), battery: Battery::WriteOnly, ..rig.loss() };
    let drained = loss.strike(rig.held(&ALL), &rig.memory);
    assert_eq!(drained.forbidden.unwrap().act, "a pad");
    assert_eq!(drained.left, []);
    assert!(rig.design.registers.domain(RegisterName::IncrCounter) == Domain::NonVolatile);
    assert!(matches!(rig.design.recovery.last(), Some(RecoveryStep::RestoreShadow { .. })));
}

//! Counters in the persistence domain (sepencr section II-E): whatever lines are written and whenever power fails, the
//! media, the write pending queue and the drained counter blocks together decrypt, line by line, to a version that was
//! sent and is not older than the last acknowledged one. The caches are not included: this is the controller's part.

use counterpoint_engine::LineSystem;
use counterpoint_engine::cipher::{Keys, PadCipher};
use counterpoint_engine::config::{self, ByteSize, Machine, Variant};
use counterpoint_engine::controller::Response;
use counterpoint_engine::design;
use counterpoint_engine::device::Image;
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::mechanism::split_counters::SplitCounters;
use counterpoint_engine::message::{Content, Line, LineBytes, MediaLine, NoObserver};
use counterpoint_engine::parts::RecoveryStep;
use counterpoint_engine::recovery::{AdrSnapshot, Boot, Media, ReencryptionStatus, SchemeCodec};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

struct Survivors<'a>(&'a Image);

impl Media for Survivors<'_> {
    fn content(&self, media: MediaLine) -> Content<'_> {
        self.0.content(media)
    }
    fn stored(&self, show: &mut dyn FnMut(MediaLine, &LineBytes)) {
        self.0.iter_stored().for_each(|(media, bytes)| show(media, bytes));
    }
}

fn version(line: u64, number: usize) -> LineBytes {
    let mut bytes = [(line * 31 + number as u64 * 7 + 1) as u8; 64];
    bytes[..8].copy_from_slice(&(number as u64).to_le_bytes());
    bytes
}

/// What was sent of a line, and how many of these are acknowledged, including the base.
struct History {
    versions: Vec<LineBytes>,
    acknowledged: usize,
}

fn explore(
    machine: &Machine,
    name: &str,
    variant: Variant,
    requests: &[(Ps, u64, bool)],
) -> Result<u64, TestCaseError> {
    let design = design::find(name, variant).unwrap();
    let base = Arc::new(super::common::Full([7; 64]));
    let mut system = LineSystem::new(machine, &design, base.clone(), 1, NoObserver).unwrap();
    let pads = PadCipher::new(&Keys::from_seed(1).data, 128, machine.device.capacity.0).unwrap();
    let codec = SchemeCodec::new(Box::new(SplitCounters::of(&machine.counters)), Box::new(pads), base);
    let mut histories: Vec<History> = (0..256).map(|_| History { versions: vec![[7; 64]], acknowledged: 1 }).collect();
    let mut sent = Vec::new();
    let mut at = 0;
    for (token, &(gap, line, read)) in requests.iter().enumerate() {
        at += gap;
        if read {
            system.read(at, Line(line), token as u32);
        } else {
            let versions = &mut histories[line as usize].versions;
            let bytes = version(line, versions.len());
            versions.push(bytes);
            system.write(at, Line(line), &bytes, token as u32);
        }
        sent.push((line, read, histories[line as usize].versions.len()));
    }
    let mut points = 0;
    while let Some(responses) = system.advance().map(<[Response]>::to_vec) {
        for response in responses {
            if let Response::Written { token } = response {
                let (line, _, versions) = sent[token.0 as usize];
                histories[line as usize].acknowledged = versions;
            }
        }
        points += 1;
        let held = system.controller.snapshot();
        let status =
            held.rsr.map(|rsr| ReencryptionStatus { group: rsr.group, old_major: rsr.old_major, done: rsr.done });
        let mut wpq = held.wpq;
        wpq.extend(held.counters.iter().map(|(id, block)| (MediaLine::counter(*id), *block)));
        let snapshot = AdrSnapshot { wpq, status, ..AdrSnapshot::default() };
        let media = Survivors(system.device.image());
        let mut boot = Boot::new(&media, &snapshot, Some(&codec), &[RecoveryStep::ResumeReencryption], NoObserver);
        boot.load();
        let loaded: Vec<LineBytes> = (0..256).map(|line| boot.line(Line(line))).collect();
        boot.finish();
        for (line, history) in histories.iter().enumerate() {
            let allowed = &history.versions[history.acknowledged - 1..];
            prop_assert!(allowed.contains(&loaded[line]), "line {line} at {} after {points} events", system.now());
            prop_assert_eq!(
                loaded[line],
                boot.line(Line(line as u64)),
                "re-encryption goes on and changes line {}",
                line
            );
        }
    }
    Ok(points)
}

fn machines() -> impl Strategy<Value = Machine> {
    (0..3u32, 1..4u32, 1..5u32, 2..6u32, 1..5u32).prop_map(|(blocks, minor_bits, units, entries, parallelism)| {
        let mut machine = config::preset("small").unwrap();
        machine.controller.counter_cache_size = ByteSize(64 << blocks);
        machine.controller.counter_cache_ways = 1;
        machine.controller.aes_units = units;
        machine.controller.wpq_entries = entries;
        machine.controller.wpq_high_watermark = entries;
        machine.controller.wpq_low_watermark = entries / 2;
        machine.controller.reencryption_parallelism = parallelism;
        machine.counters.minor_bits = minor_bits;
        config::validate(&machine).unwrap();
        machine
    })
}

fn requests() -> impl Strategy<Value = Vec<(Ps, u64, bool)>> {
    let gap = prop_oneof![4 => Just(0), 4 => 0..50_000u64, 2 => 0..1_500_000u64];
    let line = (0..4u64, prop_oneof![3 => 0..4u64, 1 => 0..64u64]).prop_map(|(page, index)| page * 64 + index);
    prop::collection::vec((gap, line, prop::bool::weighted(0.25)), 1..60)
}

proptest! {
    #![proptest_config(super::common::cases(16))]

    #[test]
    fn counters_and_data_fit_at_every_event(machine in machines(), requests in requests()) {
        for name in ["eadr-all-operation", "eadr-cme"] {
            explore(&machine, name, Variant::Hardened, &requests)?;
        }
    }
}

/// In the published reading, minor counters are reset when the page's major counter is incremented, and a counter is
/// incremented before its data is queued: a power failure in between finds lines of the page without their counters.
#[test]
fn published_counters_do_not_survive_a_page_re_encryption() {
    let mut machine = config::preset("small").unwrap();
    machine.counters.minor_bits = 1;
    let requests: Vec<(Ps, u64, bool)> = (0..6).map(|n| (1_000_000, n % 2, false)).collect();
    assert!(explore(&machine, "eadr-all-operation", Variant::Published, &requests).is_err());
    assert!(explore(&machine, "eadr-all-operation", Variant::Hardened, &requests).is_ok());
}

/// The caches above a controller that keeps lines encrypted in them, one line per core: their dirty lines, by line.
struct Caches {
    dirty: BTreeMap<u64, LineBytes>,
    /// Lines that are written back and not acknowledged, by token.
    leaving: BTreeMap<u32, (u64, LineBytes)>,
    versions: BTreeMap<u64, usize>,
}

/// Cores 0, 1, ... take turns with one line each: it becomes dirty, and later it is written back. At every event the
/// ciphertext of dirty and leaving lines replaces what the controller holds, and must decrypt; no pad may be used for
/// two plaintexts.
fn rest_encrypted(machine: &Machine, turns: &[(Ps, u64, Ps)]) -> Result<u64, TestCaseError> {
    let design = design::find("eadr-cme", Variant::Hardened).unwrap();
    let base = Arc::new(super::common::Full([7; 64]));
    let mut system = LineSystem::new(machine, &design, base.clone(), 1, NoObserver).unwrap();
    let pads = PadCipher::new(&Keys::from_seed(1).data, 128, machine.device.capacity.0).unwrap();
    let codec = SchemeCodec::new(Box::new(SplitCounters::of(&machine.counters)), Box::new(pads), base);
    let mut caches = Caches { dirty: BTreeMap::new(), leaving: BTreeMap::new(), versions: BTreeMap::new() };
    let mut used: BTreeMap<u128, u128> = BTreeMap::new();
    // A line takes one turn at a time.
    let mut waiting: Vec<VecDeque<(Ps, Ps)>> = vec![VecDeque::new(); 256];
    for &(gap, line, stay) in turns {
        waiting[line as usize].push_back((gap, stay));
    }
    let mut stays: BTreeMap<u64, Ps> = BTreeMap::new();
    let mut token = 0;
    for line in 0..256u64 {
        if let Some((gap, stay)) = waiting[line as usize].pop_front() {
            stays.insert(line, stay);
            system.turn_dirty(gap, line as u16, Line(line));
        }
    }
    let mut points = 0;
    while let Some(responses) = system.advance().map(<[Response]>::to_vec) {
        let now = system.now();
        for response in responses {
            match response {
                Response::CounterIncremented { core } => {
                    let line = u64::from(core);
                    let number = caches.versions.entry(line).or_insert(0);
                    *number += 1;
                    caches.dirty.insert(line, version(line, *number));
                }
                Response::Written { token } => {
                    let (line, _) = caches.leaving.remove(&token.0).unwrap();
                    if let Some((gap, stay)) = waiting[line as usize].pop_front() {
                        stays.insert(line, stay);
                        system.turn_dirty(now + gap, line as u16, Line(line));
                    }
                }
                _ => {}
            }
        }
        points += 1;
        let held = system.controller.snapshot();
        let status =
            held.rsr.map(|rsr| ReencryptionStatus { group: rsr.group, old_major: rsr.old_major, done: rsr.done });
        let mut wpq = held.wpq;
        wpq.extend(held.counters.iter().map(|(id, block)| (MediaLine::counter(*id), *block)));
        let resting: Vec<(u64, LineBytes)> =
            caches.dirty.iter().map(|(line, bytes)| (*line, *bytes)).chain(caches.leaving.values().copied()).collect();
        for (line, bytes) in &resting {
            let resident = system.controller.encrypt_resident(Line(*line), bytes);
            prop_assert!(resident.is_some(), "line {line} is dirty in the caches without a counter");
            let resident = resident.unwrap();
            wpq.push((MediaLine::data(Line(*line)), resident));
            for block in 0..4 {
                let word =
                    |bytes: &LineBytes| u128::from_le_bytes(bytes[block * 16..block * 16 + 16].try_into().unwrap());
                let before = *used.entry(word(&resident) ^ word(bytes)).or_insert(word(bytes));
                prop_assert_eq!(before, word(bytes), "a pad of line {} meets two plaintexts", line);
            }
        }
        let snapshot = AdrSnapshot { wpq, status, ..AdrSnapshot::default() };
        let media = Survivors(system.device.image());
        let mut boot = Boot::new(&media, &snapshot, Some(&codec), &[RecoveryStep::ResumeReencryption], NoObserver);
        boot.finish();
        for line in 0..256 {
            let number = caches.versions.get(&line).copied().unwrap_or(0);
            let newest = if number == 0 { [7; 64] } else { version(line, number) };
            prop_assert_eq!(boot.line(Line(line)), newest, "line {} after {} events", line, points);
        }
        // A line leaves exactly when it has stayed long enough.
        let leaves: Vec<u64> = caches.dirty.keys().copied().filter(|line| stays[line] <= now).collect();
        for line in leaves {
            let bytes = caches.dirty.remove(&line).unwrap();
            caches.leaving.insert(token, (line, bytes));
            system.write(now, Line(line), &bytes, token);
            token += 1;
        }
        if let (true, Some(&line)) = (caches.leaving.is_empty(), caches.dirty.keys().min()) {
            // Nothing else needs to happen: the next line leaves.
            stays.insert(line, 0);
            let bytes = caches.dirty.remove(&line).unwrap();
            caches.leaving.insert(token, (line, bytes));
            system.write(now, Line(line), &bytes, token);
            token += 1;
        }
    }
    prop_assert!(waiting.iter().all(VecDeque::is_empty) && caches.leaving.is_empty(), "something waits for ever");
    Ok(points)
}

proptest! {
    #![proptest_config(super::common::cases(16))]

    #[test]
    fn lines_that_rest_encrypted_decrypt_at_every_event(
        machine in machines(),
        // Lines of a page often become dirty at the same time: one of them then overflows while others have their block
        // already.
        turns in prop::collection::vec(
            (
                prop_oneof![3 => Just(0), 2 => 0..10_000u64, 1 => 0..200_000u64],
                (0..2u64, 0..6u64),
                prop_oneof![3 => Just(0), 1 => 0..3_000_000u64],
            ),
            1..120,
        ),
    ) {
        let turns: Vec<(Ps, u64, Ps)> =
            turns.into_iter().map(|(gap, (page, index), stay)| (gap, page * 64 + index, stay)).collect();
        rest_encrypted(&machine, &turns)?;
    }
}

/// A line becomes dirty just when another line of its page overflows: it must always wait for its done bit.
#[test]
fn line_that_turns_dirty_beside_an_overflow_waits() {
    let mut machine = config::preset("small").unwrap();
    machine.counters.minor_bits = 2;
    let mut reencrypted = 0;
    for gap in (0..3_000_000).step_by(15_000) {
        let turns = [(0, 1, 0), (0, 1, 0), (0, 1, 0), (gap, 2, 5_000_000)];
        reencrypted += u64::from(rest_encrypted(&machine, &turns).unwrap() > 64);
    }
    assert!(reencrypted > 0, "no page was re-encrypted");
}

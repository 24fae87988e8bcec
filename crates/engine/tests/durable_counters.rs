//! Counters in the persistence domain (sepencr section II-E): whatever lines are written and whenever power fails, what the
//! media, the write pending queue and the drained counter blocks hold together decrypts, line by line, to a version that was
//! sent and is not older than the last one acknowledged. The caches are left out: this is the controller's part.

mod common;

use counterpoint_engine::LineSystem;
use counterpoint_engine::cipher::{Keys, PadCipher};
use counterpoint_engine::config::{self, ByteSize, Machine, Variant};
use counterpoint_engine::controller::Response;
use counterpoint_engine::design::{self, parts::RecoveryStep};
use counterpoint_engine::device::Image;
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::mechanism::counters;
use counterpoint_engine::message::{Content, CounterBlock, Line, LineBytes, MediaLine, MediaUnit, NoObserver};
use counterpoint_engine::recovery::{AdrSnapshot, Boot, Media, ReencryptionStatus, SchemeCodec};
use proptest::prelude::*;
use std::sync::Arc;

struct Survivors<'a>(&'a Image);

impl Media for Survivors<'_> {
    fn content(&self, media: MediaLine) -> Content<'_> {
        self.0.content(media)
    }
    fn counter_blocks(&self, show: &mut dyn FnMut(CounterBlock, &LineBytes)) {
        for (media, bytes) in self.0.iter_stored() {
            if let MediaUnit::Counter(block) = media.unit() {
                show(block, bytes);
            }
        }
    }
}

fn version(line: u64, number: usize) -> LineBytes {
    let mut bytes = [(line * 31 + number as u64 * 7 + 1) as u8; 64];
    bytes[..8].copy_from_slice(&(number as u64).to_le_bytes());
    bytes
}

/// What was sent of a line, and how many of these are acknowledged, the base included.
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
    let base = Arc::new(common::Full([7; 64]));
    let mut system = LineSystem::new(machine, &design, base.clone(), 1, NoObserver).unwrap();
    let pads = PadCipher::new(&Keys::from_seed(1).data, 128, machine.device.capacity.0).unwrap();
    let codec = SchemeCodec::new(counters::split(&machine.counters), Box::new(pads), base);
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
            held.rsr.map(|rsr| ReencryptionStatus { page: rsr.page, old_major: rsr.old_major, done: rsr.done });
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
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn counters_and_data_fit_at_every_event(machine in machines(), requests in requests()) {
        for name in ["eadr-all-operation", "eadr-cme"] {
            explore(&machine, name, Variant::Hardened, &requests)?;
        }
    }
}

/// As published, minors are reset when the page's major counter goes up, and a counter is bumped before its data is queued:
/// a power failure in between finds lines of the page without their counters.
#[test]
fn published_counters_do_not_survive_a_page_re_encryption() {
    let mut machine = config::preset("small").unwrap();
    machine.counters.minor_bits = 1;
    let requests: Vec<(Ps, u64, bool)> = (0..6).map(|n| (1_000_000, n % 2, false)).collect();
    assert!(explore(&machine, "eadr-all-operation", Variant::Published, &requests).is_err());
    assert!(explore(&machine, "eadr-all-operation", Variant::Hardened, &requests).is_ok());
}

//! The simple auditor of caches in the persistence domain: at each power loss it recomputes everything from all past
//! reports and from what leaves. It must give the same verdicts as the incremental auditor for random streams and
//! random power losses, right and wrong.

use super::eadr_fixture::*;
use super::fixture::{TestCodec, crypt};
use crate::audit::Auditor;
use crate::audit::secrecy::Leak;
use crate::layout::ShadowRegisters;
use crate::message::{BaseImage, CounterGroup, DrainedWrite, GroupMask, Line, LineBytes, MediaLine, Observer};
use crate::parts::{StampSource, Stored};
use crate::recovery::{LineCodec, ReencryptionStatus};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Two populated lines and two that were never written, in two pages.
const LINES: [Line; 4] = [OLD[0], FRESH, OLD[1], Line(133)];

#[derive(Clone, Debug)]
enum Step {
    Store {
        line: usize,
        half: bool,
        value: u8,
    },
    /// Data of the version that was newest `back` stores ago persist, encrypted with this counter.
    Data {
        line: usize,
        back: usize,
        counter: (u64, u8),
    },
    Counter {
        page: usize,
        major: u64,
        minors: [u8; 2],
    },
    Status {
        page: usize,
        old_major: u64,
        done: u64,
        finished: bool,
    },
    PowerLoss(Loss),
}

/// One slot of the shadow cache; most slots are correct.
#[derive(Clone, Debug)]
struct Entry {
    line: usize,
    back: usize,
    valid: bool,
    stamp: u64,
    /// The counter of its pad, if it is not the one that a boot will use.
    counter: Option<u64>,
    /// Whether its data leave.
    leaves: bool,
}

#[derive(Clone, Debug)]
struct Loss {
    slots: Vec<Option<Entry>>,
    homes: Vec<(usize, usize, (u64, u8), bool)>,
    blocks: Vec<(usize, u64, [u8; 2])>,
    registers: (u64, u64, u64),
    metadata_first: bool,
    /// The list is reported twice, the first time with older versions.
    twice: bool,
}

fn counter() -> impl Strategy<Value = (u64, u8)> {
    (0u64..2, 0u8..4)
}

fn loss() -> impl Strategy<Value = Loss> {
    let wrong = || prop_oneof![6 => Just(None), 1 => (1u64..5).prop_map(Some)];
    let back = || prop_oneof![3 => Just(0usize), 1 => 1usize..3];
    let entry = (0usize..4, back(), prop::bool::weighted(0.9), 1u64..4, wrong(), prop::bool::weighted(0.9))
        .prop_map(|(line, back, valid, stamp, counter, leaves)| Entry { line, back, valid, stamp, counter, leaves });
    let slots = prop::collection::vec(prop::option::of(entry), 6);
    let homes = prop::collection::vec((0usize..4, back(), counter(), prop::bool::weighted(0.2)), 0..3);
    let blocks = prop::collection::vec((0usize..2, 0u64..2, [0u8..4, 0u8..4]), 0..3);
    (slots, homes, blocks, (1u64..4, 1u64..4, 0u64..3), any::<bool>(), prop::bool::weighted(0.2)).prop_map(
        |(slots, homes, blocks, registers, metadata_first, twice)| Loss {
            slots,
            homes,
            blocks,
            registers,
            metadata_first,
            twice,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0usize..4, any::<bool>(), 1u8..4).prop_map(|(line, half, value)| Step::Store { line, half, value }),
        2 => (0usize..4, 0usize..2, counter()).prop_map(|(line, back, counter)| Step::Data { line, back, counter }),
        2 => (0usize..2, 0u64..2, [0u8..4, 0u8..4])
            .prop_map(|(page, major, minors)| Step::Counter { page, major, minors }),
        1 => (0usize..2, 0u64..2, prop_oneof![Just(0u64), Just(1), Just(u64::MAX)], any::<bool>())
            .prop_map(|(page, old_major, done, finished)| Step::Status { page, old_major, done, finished }),
        4 => loss().prop_map(Step::PowerLoss),
    ]
}

/// Media that a power loss leaves: bytes, and whether they are flagged as unencrypted.
type Memory = BTreeMap<MediaLine, (LineBytes, bool)>;

struct Reference {
    codec: TestCodec,
    source: Option<StampSource>,
    versions: BTreeMap<Line, Vec<LineBytes>>,
    persisted: Memory,
    /// What was encrypted for which line, in order.
    uses: Vec<(Line, LineBytes, LineBytes)>,
    status: Option<ReencryptionStatus>,
}

impl Reference {
    fn version(&self, line: Line, back: usize) -> LineBytes {
        let versions = &self.versions[&line];
        versions[versions.len().saturating_sub(1 + back)]
    }

    /// The counter that a boot will use to read the slot, if its metadata are `stamp`.
    fn counter_of(&self, slot: u64, stamp: u64, registers: &ShadowRegisters) -> u64 {
        match self.source {
            Some(StampSource::Location) => {
                (i128::from(registers.incr_counter) - i128::from(REGION.slots) + i128::from(slot)) as u64
            }
            Some(StampSource::BootCounter) => registers.boot_counter,
            _ => stamp,
        }
    }

    /// What leaves, in order.
    fn left(&self, loss: &Loss, registers: &ShadowRegisters) -> Vec<DrainedWrite> {
        let blocks = loss.blocks.iter().map(|&(page, major, minors)| {
            let lines = &LINES[2 * page..2 * page + 2];
            block(page as u64 + 1, major, &[(lines[0], minors[0]), (lines[1], minors[1])])
        });
        let mut left: Vec<DrainedWrite> = blocks.collect();
        for age in if loss.twice { vec![1, 0] } else { vec![0] } {
            for &(line, back, counter, clear) in &loss.homes {
                let plain = self.version(LINES[line], back + age);
                left.push(if clear { in_the_clear(LINES[line], plain) } else { home(LINES[line], counter, plain) });
            }
            if self.source.is_none() {
                continue;
            }
            let tags: Vec<_> =
                loss.slots.iter().map(|slot| slot.as_ref().map(|of| (LINES[of.line], of.valid, of.stamp))).collect();
            let metadata = [states(0, &tags[..4]), states(1, &tags[4..])];
            let data = loss.slots.iter().enumerate().filter_map(|(number, entry)| {
                let of = entry.as_ref().filter(|of| of.leaves)?;
                let counter = of.counter.unwrap_or_else(|| self.counter_of(number as u64, of.stamp, registers));
                Some(slot(number as u64, counter, LINES[of.line], self.version(LINES[of.line], of.back + age)))
            });
            let data: Vec<DrainedWrite> = data.collect();
            let (first, second) =
                if loss.metadata_first { (&metadata[..], &data[..]) } else { (&data[..], &metadata[..]) };
            left.extend(first.iter().chain(second));
        }
        left
    }

    fn memory(&self, left: &[DrainedWrite]) -> Memory {
        let mut memory = self.persisted.clone();
        memory.extend(left.iter().map(|write| (write.media, (write.bytes, write.in_the_clear))));
        memory
    }

    fn own_place(&self, memory: &Memory, line: Line) -> LineBytes {
        let media = MediaLine::counter(self.codec.coverage().block(line));
        let block = memory.get(&media).map_or_else(|| self.codec.base_block(line_block(line)), |(bytes, _)| *bytes);
        let populated = || self.codec.base.line(line).map_or([0; 64], |base| crypt(line, 0, 1, base));
        match memory.get(&MediaLine::data(line)) {
            Some((bytes, true)) => *bytes,
            found => {
                let bytes = found.map_or_else(populated, |(bytes, _)| *bytes);
                self.codec.decrypt(line, &Stored::whole(bytes), &block, self.status.as_ref())
            }
        }
    }

    fn booted(&self, memory: &Memory, registers: &ShadowRegisters, line: Line) -> LineBytes {
        let mut content = self.own_place(memory, line);
        for number in (0..if self.source.is_some() { REGION.slots } else { 0 }).rev() {
            let metadata = memory.get(&MediaLine::data(Line(1_006 + number / 4))).map_or([0; 64], |(bytes, _)| *bytes);
            let entry = &metadata[number as usize % 4 * 16..];
            let tag = u64::from_le_bytes(entry[..8].try_into().unwrap());
            let stamp = u64::from_le_bytes(entry[8..16].try_into().unwrap());
            let consumed = self.source == Some(StampSource::Metadata) && stamp <= registers.consumed;
            if tag == line.0 | 1 << 63 && !consumed {
                let bytes = memory.get(&MediaLine::data(Line(1_000 + number))).map_or([0; 64], |(bytes, _)| *bytes);
                content = crypt(Line((1 << 20) + number), self.counter_of(number, stamp, registers), 0, &bytes);
            }
        }
        content
    }

    /// The lines that leak when `left` leaves, and whether as plaintext.
    fn leaks(&self, left: &[DrainedWrite]) -> BTreeSet<(Line, bool)> {
        let word = |bytes: &LineBytes, block: usize| u128::from_le_bytes(bytes[block * 16..][..16].try_into().unwrap());
        let mut pads: BTreeMap<u128, u128> = BTreeMap::new();
        let populated = OLD.map(|line| (line, crypt(line, 0, 1, &[0x11; 64]), [0x11; 64]));
        for (_, bytes, plain) in populated.iter().chain(&self.uses) {
            for block in 0..4 {
                pads.entry(word(bytes, block) ^ word(plain, block)).or_insert(word(plain, block));
            }
        }
        let mut leaks = BTreeSet::new();
        for write in left {
            let Some((line, plain)) = write.carries else { continue };
            let program_data = OLD.contains(&line) || self.versions[&line].len() > 1;
            let mut leak = None;
            for block in 0..4 {
                let (cipher, plain) = (word(&write.bytes, block), word(&plain, block));
                let reused = *pads.entry(cipher ^ plain).or_insert(plain) != plain;
                match cipher == plain {
                    true if program_data => leak = leak.or(Some(true)),
                    false if reused => leak = leak.or(Some(false)),
                    _ => {}
                }
            }
            leaks.extend(leak.map(|plaintext| (line, plaintext)));
        }
        leaks
    }
}

fn line_block(line: Line) -> crate::message::CounterBlock {
    crate::layout::Coverage::PAGE.block(line)
}

/// Everything of a durable state that a boot can distinguish.
type State = (Memory, ShadowRegisters, Option<(CounterGroup, u64, GroupMask)>);

struct Both {
    incremental: Auditor,
    reference: Reference,
    hashes: BTreeMap<u64, State>,
    watched: Vec<Line>,
}

impl Both {
    fn lose(&mut self, left: &[DrainedWrite], registers: &ShadowRegisters) {
        let Both { incremental, reference, .. } = self;
        incremental.power_lost(left, registers);
        let holds = incremental.judge();
        let memory = reference.memory(left);
        let booted = |line| reference.booted(&memory, registers, line);
        let stored = |line: &Line| reference.versions.get(line).map_or([0; 64], |versions| *versions.last().unwrap());
        let bad: Vec<Line> = self.watched.iter().copied().filter(|line| booted(*line) != stored(line)).collect();
        let leaks = reference.leaks(left);
        let told: BTreeSet<(Line, bool)> =
            incremental.loss_leaks.iter().map(|(line, leak)| (*line, matches!(leak, Leak::Plaintext { .. }))).collect();
        assert_eq!(told, leaks);
        assert_eq!(incremental.line_rule.bad(), bad.len() as u64, "the reference finds {bad:?}");
        assert_eq!(holds, bad.is_empty() && leaks.is_empty());
        for (line, bytes) in incremental.durable_view() {
            assert_eq!(*bytes, reference.own_place(&memory, line), "{line:?} at its own address");
        }
        for (line, bytes) in incremental.booted_view() {
            assert_eq!(*bytes, booted(line), "{line:?} after the boot");
        }
        let mut memory = memory;
        memory.retain(|media, (bytes, _)| *bytes != [0; 64] || ![1_006, 1_007].contains(&media.code()));
        let status = reference.status.map(|status| (status.group, status.old_major, status.done));
        let state = (memory, *registers, status);
        let hash = incremental.state_hash();
        let known = self.hashes.entry(hash).or_insert_with(|| state.clone());
        assert_eq!(*known, state, "different states have the same hash");
        let hashes = self.hashes.iter().filter(|(_, of)| **of == state).count();
        assert_eq!(hashes, 1, "the same state has different hashes");
    }
}

fn follow(source: Option<StampSource>, steps: Vec<Step>) {
    let mut versions: BTreeMap<Line, Vec<LineBytes>> = LINES.map(|line| (line, vec![[0; 64]])).into();
    versions.extend(OLD.map(|line| (line, vec![[0x11; 64]])));
    let mut both = Both {
        incremental: auditor(source),
        reference: Reference {
            codec: TestCodec::split(base(), 2),
            source,
            versions,
            persisted: BTreeMap::new(),
            uses: Vec::new(),
            status: None,
        },
        hashes: BTreeMap::new(),
        // Whole pages: a counter block covers 64 lines.
        watched: (64..192).map(Line).collect(),
    };
    for step in steps {
        let Both { incremental, reference, .. } = &mut both;
        match step {
            Step::Store { line, half, value } => {
                let (line, offset) = (LINES[line], if half { 32 } else { 0 });
                let mut bytes = reference.version(line, 0);
                bytes[offset..offset + 32].fill(value);
                reference.versions.get_mut(&line).unwrap().push(bytes);
                incremental.stored(0, 0, line, offset, &[value; 32]);
            }
            Step::Data { line, back, counter: (major, minor) } => {
                let plain = reference.version(LINES[line], back);
                let bytes = crypt(LINES[line], major, minor, &plain);
                incremental.write_arrived(0, LINES[line], &plain);
                incremental.persisted(0, MediaLine::data(LINES[line]), &bytes);
                reference.uses.push((LINES[line], bytes, plain));
                reference.persisted.insert(MediaLine::data(LINES[line]), (bytes, false));
            }
            Step::Counter { page, major, minors } => {
                let lines = &LINES[2 * page..2 * page + 2];
                let write = block(page as u64 + 1, major, &[(lines[0], minors[0]), (lines[1], minors[1])]);
                incremental.persisted(0, write.media, &write.bytes);
                reference.persisted.insert(write.media, (write.bytes, false));
            }
            Step::Status { page, old_major, done, finished } => {
                let (group, done) = (crate::layout::Coverage::PAGE.group(Line(64 * (page as u64 + 1))), done.into());
                incremental.reencryption(0, group, old_major, done, finished);
                reference.status = (!finished).then_some(ReencryptionStatus { group, old_major, done });
            }
            Step::PowerLoss(loss) => {
                incremental.event_over(0);
                let (incr_counter, boot_counter, consumed) = loss.registers;
                let registers = ShadowRegisters { incr_counter, boot_counter, consumed, ..ShadowRegisters::default() };
                let left = reference.left(&loss, &registers);
                both.lose(&left, &registers);
            }
        }
    }
    // A power loss that did not happen leaves no trace.
    both.incremental.event_over(0);
    both.lose(&[], &REGISTERS);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn random_power_losses_get_the_same_verdicts(steps in prop::collection::vec(step(), 1..40)) {
        let sources = [StampSource::Metadata, StampSource::Location, StampSource::BootCounter];
        for source in sources.map(Some).into_iter().chain([None]) {
            follow(source, steps.clone());
        }
    }
}

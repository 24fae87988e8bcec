//! Boots from hand-made survivors: draining in order, resuming a page re-encryption from any point, fresh counters for
//! the program's writes.

use crate::audit::CounterLayout;
use crate::audit::tests::fixture::{Populated, TestCodec, crypt, words};
use crate::cipher::{Keys, PadCipher};
use crate::config::{self, Counters};
use crate::kernel::Ps;
use crate::mechanism::split_counters::SplitCounters;
use crate::message::{BaseImage, ByteView, Content, MediaLine, Observer, Page};
use crate::parts::RecoveryStep;
use crate::recovery::*;
use std::collections::BTreeMap;
use std::sync::Arc;

const STEPS: &[RecoveryStep] = &[RecoveryStep::ResumeReencryption];

struct Image {
    base: Arc<Populated>,
    stored: BTreeMap<MediaLine, LineBytes>,
}

impl Image {
    fn store(&mut self, media: MediaLine, bytes: LineBytes) {
        self.stored.insert(media, bytes);
    }
}

impl Media for Image {
    fn content(&self, media: MediaLine) -> Content<'_> {
        match (self.stored.get(&media), media.as_line().and_then(|line| self.base.line(line))) {
            (Some(bytes), _) => Content::Stored(bytes),
            (None, Some(base)) => Content::Base(base),
            (None, None) => Content::Never,
        }
    }

    fn stored(&self, show: &mut dyn FnMut(MediaLine, &LineBytes)) {
        self.stored.iter().for_each(|(media, bytes)| show(*media, bytes));
    }
}

#[derive(Default)]
struct Told(Vec<(MediaLine, LineBytes)>);
impl Observer for Told {
    fn persisted(&mut self, _now: Ps, media: MediaLine, bytes: &LineBytes) {
        self.0.push((media, *bytes));
    }
}

fn setup(minor_bits: u32) -> (Image, TestCodec) {
    let base = Arc::new(Populated::new([(0, [7; 64]), (5, [8; 64])]));
    (Image { base: base.clone(), stored: BTreeMap::new() }, TestCodec::split(base, minor_bits))
}

#[test]
fn queue_drains_in_the_order_of_admission_over_the_media() {
    let (mut image, codec) = setup(7);
    let line = Line(70);
    let mut minors = [0; 64];
    minors[6] = 2;
    image.store(MediaLine::data(line), crypt(line, 0, 1, &[1; 64]));
    let snapshot = AdrSnapshot {
        wpq: vec![
            (MediaLine::data(line), [0; 64]),
            (MediaLine::counter(Coverage::PAGE.block(line)), codec.pack(0, &minors)),
            (MediaLine::data(line), crypt(line, 0, 2, &[2; 64])),
        ],
        ..AdrSnapshot::default()
    };
    let mut boot = Boot::new(&image, &snapshot, Some(&codec), STEPS, Told::default());
    let steps: Vec<BootStep> = std::iter::from_fn(|| boot.step()).collect();
    assert_eq!(steps.len(), 4);
    assert_eq!(steps[3], BootStep::RegistersLoaded);
    assert_eq!(boot.line(line), [2; 64]);
    // The base decrypts to itself, never-written lines to zero.
    assert_eq!((boot.line(Line(5)), boot.line(Line(6))), ([8; 64], [0; 64]));
}

#[test]
fn interrupted_reencryption_is_resumed_from_every_point() {
    for already in 0..=64usize {
        let (mut image, codec) = setup(3);
        let page = Page(0);
        let values: Vec<LineBytes> = (0..64).map(|n| [n as u8 + 1; 64]).collect();
        // Old counters (4, 1 + n % 7); `already` lines have been re-encrypted to (5, 0).
        let old: [u8; 64] = std::array::from_fn(|n| 1 + n as u8 % 7);
        let minors = std::array::from_fn(|n| if n < already { 0 } else { old[n] });
        let major = if already == 0 { 4 } else { 5 };
        image.store(MediaLine::counter(CounterBlock(page.0)), codec.pack(major, &minors));
        for (n, value) in values.iter().enumerate() {
            let (major, minor) = if n < already { (5, 0) } else { (4, old[n]) };
            image.store(MediaLine::data(page.line(n)), crypt(page.line(n), major, minor, value));
        }
        let done = (1 << already) - 1;
        let status = Some(ReencryptionStatus { group: Coverage::PAGE.group(Line(0)), old_major: 4, done });
        let snapshot = AdrSnapshot { status, ..AdrSnapshot::default() };
        let mut boot = Boot::new(&image, &snapshot, Some(&codec), STEPS, Told::default());
        let mut reencrypted = 0;
        while let Some(step) = boot.step() {
            reencrypted += usize::from(matches!(step, BootStep::Reencrypted(_)));
            if step != BootStep::Drained(MediaLine::data(Line(0))) {
                // Whatever step was performed last, every line reads as before.
                assert!((0..64).all(|n| boot.line(page.line(n)) == values[n]), "{already} done, after {step:?}");
            }
        }
        assert_eq!(reencrypted, 64 - already);
        let told = boot.into_observer().0;
        assert_eq!(told.len(), 2 * reencrypted, "each line persists with its counter block");
    }
}

/// The block with the new major counter was lost, and maybe others before it: each line reads the same from the load of
/// the registers to the end of the boot, and the page ends with the major counter that follows the register's.
#[test]
fn resumed_reencryption_over_a_lost_counter_block_changes_what_no_line_reads_as() {
    let base = Arc::new(Populated::new([(0, [7; 64]), (5, [8; 64])]));
    let counters = Counters { minor_bits: 3, ..config::load_machine("small", &[]).unwrap().counters };
    let pads = PadCipher::new(&Keys::from_seed(1).data, 128, 1 << 30).unwrap();
    let codec = SchemeCodec::new(
        Box::new(SplitCounters::of(&counters)),
        Box::new(pads),
        Arc::clone(&base) as Arc<dyn BaseImage>,
    );
    let page = Page(0);
    let group = Coverage::PAGE.group(Line(0));
    for (stored, done) in [None, Some(0), Some(2), Some(3), Some(4), Some(5)].into_iter().flat_map(|stored| {
        [0, 1, 0b1011, u64::MAX >> 1, u64::MAX << 1, u64::MAX - (1 << 7)].map(|done| (stored, done.into()))
    }) {
        let mut image = Image { base: base.clone(), stored: BTreeMap::new() };
        if let Some(major) = stored {
            let minors = std::array::from_fn(|n| n as u8 % 8);
            image.store(
                MediaLine::counter(CounterBlock(page.0)),
                TestCodec::split(base.clone(), 3).pack(major, &minors),
            );
        }
        for n in (0..64).filter(|n| n % 5 != 0) {
            image.store(MediaLine::data(page.line(n)), [n as u8; 64]);
        }
        let snapshot =
            AdrSnapshot { status: Some(ReencryptionStatus { group, old_major: 4, done }), ..AdrSnapshot::default() };
        let mut boot = Boot::new(&image, &snapshot, Some(&codec), STEPS, Told::default());
        boot.load();
        let before: Vec<LineBytes> = (0..64).map(|n| boot.line(page.line(n))).collect();
        while let Some(step) = boot.step() {
            for (n, bytes) in before.iter().enumerate() {
                assert_eq!(boot.line(page.line(n)), *bytes, "line {n}, block of {stored:?}, {done:#x}, after {step:?}");
            }
        }
        match boot.memory().content(MediaLine::counter(CounterBlock(page.0))) {
            Content::Stored(block) => assert_eq!(codec.major(block), 5, "block of {stored:?}, {done:#x}"),
            _ => panic!("the boot has written the block"),
        }
    }
}

#[test]
fn what_the_program_writes_gets_fresh_counters_and_overflows_reencrypt() {
    let (image, codec) = setup(2);
    let snapshot = AdrSnapshot::default();
    let mut boot = Boot::new(&image, &snapshot, Some(&codec), STEPS, Told::default());
    boot.finish();
    // Line 0 was populated under minor 1: two more writes fit two bits, the third overflows.
    for value in 1..=3u8 {
        boot.write(60, &[value; 8]);
        let mut back = [0; 8];
        boot.read(60, &mut back);
        assert_eq!(back, [value; 8]);
    }
    let mut base = [0; 60];
    boot.read(0, &mut base);
    assert_eq!(base, [7; 60]);
    assert_eq!(boot.line(Line(5)), [8; 64]);
    let told = boot.into_observer().0;
    let ciphertexts: std::collections::BTreeSet<_> = told
        .iter()
        .filter(|(media, _)| !media.is_counter())
        .collect::<Vec<_>>()
        .iter()
        .map(|(_, bytes)| *bytes)
        .collect();
    // Each of the 3 writes changes lines 0 and 1; line 0's third write overflows and re-encrypts all 64 lines of the
    // page.
    assert_eq!(ciphertexts.len(), 3 * 2 + 64);
    let last = told.iter().rev().find(|(media, _)| media.is_counter()).unwrap();
    assert_eq!(codec.major(&last.1), 1);
}

#[test]
fn plaintext_memory_boots_as_it_lies() {
    let (mut image, _) = setup(7);
    image.store(MediaLine::data(Line(9)), [3; 64]);
    let snapshot = AdrSnapshot { wpq: vec![(MediaLine::data(Line(10)), [4; 64])], ..AdrSnapshot::default() };
    let mut boot = Boot::new(&image, &snapshot, None, &[], Told::default());
    boot.finish();
    boot.write_u64(640, 1);
    let mut expected = [4; 64];
    expected[..8].copy_from_slice(&1u64.to_le_bytes());
    assert_eq!((boot.line(Line(9)), boot.line(Line(10)), boot.line(Line(5))), ([3; 64], expected, [8; 64]));
}

/// What a boot finds of a global register, and the first counter that it uses.
#[test]
fn global_register_goes_on_begins_anew_or_follows_the_media() {
    let base = Arc::new(Populated::new([(0, [7; 64]), (5, [8; 64])]));
    for coverage in [Coverage::EIGHT_LINES, Coverage::LINE] {
        let codec = TestCodec::new(base.clone(), CounterLayout::Words { coverage, bytes: 8 });
        let mut image = Image { base: base.clone(), stored: BTreeMap::new() };
        let block = |line| MediaLine::counter(coverage.block(Line(line)));
        let holding = |line: u64, value| {
            let mut values = [0; 8];
            values[coverage.index(Line(line))] = value;
            words(&values)
        };
        // On the media: line 9 with 20 and line 17 with 12; the drain replaces 20 with 15.
        image.store(block(9), holding(9, 20));
        image.store(block(17), holding(17, 12));
        for (found, first) in [(GlobalCounter::Kept(30), 31), (GlobalCounter::Lost, 2), (GlobalCounter::Scanned, 16)] {
            let snapshot =
                AdrSnapshot { wpq: vec![(block(9), holding(9, 15))], global_counter: found, ..AdrSnapshot::default() };
            let mut boot = Boot::new(&image, &snapshot, Some(&codec), &[], Told::default());
            boot.finish();
            // Looking at the next pads uses no counter.
            for line in [Line(0), Line(6), Line(9)] {
                let pads: Vec<LineBytes> = (0..5).map(|k| crypt(line, first + k, 0, &[0; 64])).collect();
                assert_eq!(boot.next_pads(line).take(5).collect::<Vec<_>>(), pads, "{found:?}, {line:?}");
            }
            boot.write_line(Line(6), &[6; 64]);
            boot.write_line(Line(5), &[9; 64]);
            assert_eq!((boot.line(Line(0)), boot.line(Line(5)), boot.line(Line(6))), ([7; 64], [9; 64], [6; 64]));
            let told = boot.into_observer().0;
            assert_eq!(told[1], (MediaLine::data(Line(6)), crypt(Line(6), first, 0, &[6; 64])));
            assert_eq!(told[3], (MediaLine::data(Line(5)), crypt(Line(5), first + 1, 0, &[9; 64])));
        }
    }
}

#[test]
fn boot_without_encryption_or_before_a_reencryption_tells_no_next_pad() {
    let (mut image, codec) = setup(2);
    image.store(MediaLine::counter(CounterBlock(0)), codec.pack(4, &[3; 64]));
    let snapshot = AdrSnapshot::default();
    let boot = Boot::new(&image, &snapshot, Some(&codec), STEPS, Told::default());
    assert_eq!(boot.next_pads(Line(0)).next(), None, "the minor counter would overflow");
    // A minor counter moves with its own line only.
    assert_eq!(boot.next_pads(Line(64)).collect::<Vec<_>>(), [crypt(Line(64), 0, 1, &[0; 64])]);
    assert_eq!(Boot::new(&image, &snapshot, None, &[], Told::default()).next_pads(Line(64)).next(), None);
}

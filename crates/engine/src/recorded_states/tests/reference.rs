//! All legal images of tiny programs by brute force, from a definition that has nothing in common with the engine: a set
//! of stored words is what a power failure leaves if it has everything that is guaranteed, and with a cached store all that
//! was stored to its line before, through the caches.

use super::*;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Act {
    /// Stores a value to one or two words of a line.
    Store {
        past: bool,
        line: u64,
        word: u64,
        words: u64,
        value: u8,
    },
    Flush {
        at_once: bool,
        line: u64,
    },
    Fence,
    Locked {
        line: u64,
        word: u64,
        value: u8,
    },
    /// A locked operation on other memory.
    Elsewhere,
}

/// What a thread does.
type Deed = (u64, Act);

/// A word that a store may make durable: its store, and its place.
#[derive(Clone, Copy, Debug)]
struct Unit {
    store: usize,
    at: usize,
    thread: u64,
    past: bool,
    line: u64,
    word: u64,
    value: u8,
}

/// Whether flushes and fences among the first `length` of `whole` guarantee the unit. A locked operation on other memory is a
/// fence if the program goes on.
fn guaranteed(unit: &Unit, whole: &[Deed], length: usize) -> bool {
    let deeds = &whole[..length];
    let goes_on = whole.iter().rposition(|(_, act)| !matches!(act, Act::Elsewhere));
    let fences = |at: usize| match whole[at].1 {
        Act::Fence | Act::Locked { .. } => true,
        Act::Elsewhere => goes_on.is_some_and(|last| at < last),
        _ => false,
    };
    let later = || deeds.iter().enumerate().skip(unit.at + 1);
    if unit.past {
        return later().any(|(at, (thread, _))| *thread == unit.thread && fences(at));
    }
    later().any(|(at, (by, act))| match act {
        Act::Flush { at_once, line } if *line == unit.line => {
            *at_once || later().any(|(other, (thread, _))| other > at && thread == by && fences(other))
        }
        _ => false,
    })
}

fn units(deeds: &[Deed]) -> Vec<Unit> {
    let mut units = Vec::new();
    for (at, &(thread, act)) in deeds.iter().enumerate() {
        let (past, line, word, words, value) = match act {
            Act::Store { past, line, word, words, value } => (past, line, word, words, value),
            Act::Locked { line, word, value } => (false, line, word, 1, value),
            _ => continue,
        };
        for word in word..word + words {
            units.push(Unit { store: at, at, thread, past, line, word, value });
        }
    }
    units
}

/// The image that has these units.
fn image_of(units: &[Unit], set: u64) -> Image {
    let mut image = Image::new();
    for unit in (0..units.len()).filter(|unit| set >> unit & 1 == 1).map(|unit| &units[unit]) {
        let line = image.entry(unit.line).or_insert([0; 64]);
        line[unit.word as usize * 8..][..8].fill(unit.value);
    }
    image.retain(|_, bytes| *bytes != [0; 64]);
    image
}

/// Every image that is legal when power fails after the first `length` of the deeds `whole`.
fn legal(whole: &[Deed], length: usize) -> BTreeSet<Image> {
    let units = units(&whole[..length]);
    let sure: Vec<bool> = units.iter().map(|unit| guaranteed(unit, whole, length)).collect();
    let mut images = BTreeSet::new();
    for set in 0..1u64 << units.len() {
        let there = |unit: usize| set >> unit & 1 == 1;
        let complete = (0..units.len()).all(|unit| there(unit) || !sure[unit]);
        let ordered = |later: usize| {
            let of = &units[later];
            let before = |other: &Unit| !other.past && other.line == of.line && other.store < of.store;
            of.past || (0..units.len()).all(|other| !before(&units[other]) || there(other))
        };
        if complete && (0..units.len()).all(|unit| !there(unit) || ordered(unit)) {
            images.insert(image_of(&units, set));
        }
    }
    images
}

/// Every image that is legal when power fails after so many deeds, the last of which need not be over, where caches persist: it has
/// every word stored through the caches before the last deed, some of the last, and of those past the caches at least what
/// a fence of their thread guarantees.
fn legal_where_caches_persist(whole: &[Deed], length: usize) -> BTreeSet<Image> {
    let units = units(&whole[..length]);
    let sure: Vec<bool> = units
        .iter()
        .map(|unit| if unit.past { guaranteed(unit, whole, length) } else { unit.at + 1 < length })
        .collect();
    let sets = 0..1u64 << units.len();
    sets.filter(|set| (0..units.len()).all(|unit| set >> unit & 1 == 1 || !sure[unit]))
        .map(|set| image_of(&units, set))
        .collect()
}

fn trace(deeds: &[Deed]) -> Vec<u8> {
    let mut stream = Stream::with_file();
    for (number, &(thread, act)) in (1..).zip(deeds) {
        stream = stream.thread(thread);
        stream = match act {
            Act::Store { past, line, word, words, value } => {
                let bytes = vec![value; words as usize * 8];
                stream.store(if past { 0x12 } else { 0x11 }, 0, number, BASE + line * 64 + word * 8, &bytes)
            }
            Act::Flush { at_once, line } => {
                stream.flush(if at_once { 0x16 } else { 0x14 }, 0, number, BASE + line * 64)
            }
            Act::Fence => stream.fence(0x17, 0, number),
            Act::Elsewhere => stream.locked(number),
            Act::Locked { line, word, value } => {
                stream.store(0x13, 0, number, BASE + line * 64 + word * 8, &[value; 8])
            }
        };
    }
    stream.end(0)
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (any::<bool>(), 0u64..2, 0u64..2, 1u64..3, 0u8..3)
            .prop_map(|(past, line, word, words, value)| Act::Store { past, line, word, words, value }),
        3 => (0u8..4, 0u64..2).prop_map(|(kind, line)| Act::Flush { at_once: kind == 0, line }),
        2 => Just(Act::Fence),
        1 => Just(Act::Elsewhere),
        1 => (0u64..2, 0u64..2, 0u8..3).prop_map(|(line, word, value)| Act::Locked { line, word, value }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_image_that_is_legal_is_tried_and_no_other(deeds in prop::collection::vec((0u64..2, act()), 1..9)) {
        let found = states(trace(&deeds), Extent::Whole, u64::MAX);
        let length = |point: &States| {
            // SYNC, FILE and MAP come first; then each deed is a record after that of its thread; END is the last.
            if point.record % 2 == 1 { (point.record as usize - 5) / 2 } else { deeds.len() }
        };
        // A point's own images are those that are legal just before its operation.
        for point in &found {
            let legal = legal(&deeds, length(point));
            if point.tried == Tried::Every {
                prop_assert_eq!(&point.images, &legal, "record {}", point.record);
                prop_assert!(point.exactly.is_some_and(|states| states >= point.images.len() as u64));
            } else {
                // Of many words past the caches, not every combination is listed.
                let past = |line| units(&deeds).iter().filter(|unit| unit.past && unit.line == line).count();
                prop_assert!((0..2).any(|line| past(line) > 4), "record {}", point.record);
                prop_assert!(point.images.is_subset(&legal) && point.exactly.is_none());
            }
        }
        // They are all that is legal at any time, and not only at these points. Nothing is lost before the first store.
        if found.iter().all(|point| point.tried == Tried::Every) && !units(&deeds).is_empty() {
            let tried: BTreeSet<Image> = found.iter().flat_map(|point| point.images.iter().cloned()).collect();
            let anywhere: BTreeSet<Image> = (0..=deeds.len()).flat_map(|length| legal(&deeds, length)).collect();
            prop_assert_eq!(tried, anywhere);
        }
        prop_assert_eq!(found.is_empty(), units(&deeds).is_empty());
    }

    #[test]
    fn where_caches_persist_every_image_that_is_legal_is_tried_and_no_other(
        deeds in prop::collection::vec((0u64..2, act()), 1..9),
    ) {
        let found = states_where(trace(&deeds), Extent::Whole, u64::MAX, true);
        let legal = |length| legal_where_caches_persist(&deeds, length);
        let anywhere: BTreeSet<Image> = (0..=deeds.len()).flat_map(legal).collect();
        let tried: BTreeSet<Image> = found.iter().flat_map(|point| point.images.iter().cloned()).collect();
        prop_assert!(tried.is_subset(&anywhere));
        // Nothing is judged before the first store.
        if found.iter().all(|point| point.tried == Tried::Every) && !units(&deeds).is_empty() {
            prop_assert_eq!(tried, anywhere);
        }
    }

    #[test]
    fn bounded_exploration_has_every_single_loss(deeds in prop::collection::vec((0u64..2, act()), 1..9)) {
        let whole = states(trace(&deeds), Extent::Whole, u64::MAX);
        let single = states(trace(&deeds), Extent::Single, 0);
        prop_assert_eq!(whole.len(), single.len());
        for (whole, single) in whole.iter().zip(&single) {
            prop_assert!(single.images.is_subset(&whole.images));
        }
        // Whatever the budget is.
        for (whole, bounded) in whole.iter().zip(states(trace(&deeds), Extent::Whole, 0)) {
            prop_assert!(bounded.images.is_subset(&whole.images));
            prop_assert!(bounded.shown <= 8);
        }
    }
}

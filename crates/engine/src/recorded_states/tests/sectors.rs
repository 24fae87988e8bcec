//! Files on a disk, against a definition that has nothing in common with the engine: each sector is as it was at some moment
//! since it was last synced.

use super::*;
use proptest::prelude::*;
use std::ops::Range;

const SECTOR: usize = 512;
const SECTORS: usize = 2;
const BYTES: usize = SECTORS * SECTOR;

#[derive(Clone, Debug)]
enum Act {
    /// By `write`, or by the program.
    Store {
        by_kernel: bool,
        range: Range<usize>,
        value: u8,
    },
    /// `fsync` of one sector.
    Sync {
        sector: usize,
    },
    /// By the program, which reaches no disk.
    Flush {
        line: u64,
    },
    Fence,
}

fn trace(acts: &[Act]) -> Vec<u8> {
    let mut stream = Stream::with_file();
    for (number, act) in (1..).zip(acts) {
        stream = match act {
            Act::Store { by_kernel, range, value } => {
                let tag = if *by_kernel { 0x19 } else { 0x11 };
                stream.store(tag, 0, number, BASE + range.start as u64, &vec![*value; range.len()])
            }
            Act::Sync { sector } => {
                let first = BASE + (sector * SECTOR) as u64;
                stream.kernel_flush(number, first, SECTOR as u64, 0).fence(0x17, 0, number)
            }
            Act::Flush { line } => stream.flush(0x16, 0, number, BASE + line * 64),
            Act::Fence => stream.fence(0x17, 0, number),
        };
    }
    stream.end(0)
}

/// What the file holds after each number of acts.
fn moments(acts: &[Act]) -> Vec<[u8; BYTES]> {
    let mut all = vec![[0; BYTES]];
    for act in acts {
        let mut held = *all.last().unwrap();
        if let Act::Store { range, value, .. } = act {
            held[range.clone()].fill(*value);
        }
        all.push(held);
    }
    all
}

/// The image of these sectors.
fn image_of(sectors: &[&[u8]]) -> Image {
    let whole = sectors.concat();
    let lines = whole.chunks(64).enumerate().filter(|(_, line)| line.iter().any(|&byte| byte != 0));
    lines.map(|(number, line)| (number as u64, line.try_into().unwrap())).collect()
}

/// Every image that is legal when power fails after so many of the acts.
fn legal(acts: &[Act], length: usize) -> BTreeSet<Image> {
    let moments = moments(acts);
    let held = |sector: usize| -> Vec<&[u8]> {
        let synced = acts[..length].iter().rposition(|act| matches!(act, Act::Sync { sector: of } if *of == sector));
        let since = synced.map_or(0, |at| at + 1);
        moments[since..=length].iter().map(|held| &held[sector * SECTOR..(sector + 1) * SECTOR]).collect()
    };
    let (first, second) = (held(0), held(1));
    first.iter().flat_map(|one| second.iter().map(|other| image_of(&[one, other]))).collect()
}

fn act() -> impl Strategy<Value = Act> {
    let within = |longest: usize| (0..BYTES, 1..=longest).prop_map(|(from, long)| from..(from + long).min(BYTES));
    prop_oneof![
        3 => (within(300), 1u8..4).prop_map(|(range, value)| Act::Store { by_kernel: true, range, value }),
        2 => (within(16), 1u8..4).prop_map(|(range, value)| Act::Store { by_kernel: false, range, value }),
        2 => (0..SECTORS).prop_map(|sector| Act::Sync { sector }),
        1 => (0u64..16).prop_map(|line| Act::Flush { line }),
        1 => Just(Act::Fence),
    ]
}

fn tried(acts: &[Act]) -> Vec<States> {
    states_of(trace(acts), Extent::Whole, u64::MAX, |memory| memory.with_sectors(Some(SECTOR as u64)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn each_sector_is_as_at_some_moment_since_it_was_synced(acts in prop::collection::vec(act(), 1..8)) {
        let found = tried(&acts);
        let anywhere: BTreeSet<Image> = (0..=acts.len()).flat_map(|length| legal(&acts, length)).collect();
        let all: BTreeSet<Image> = found.iter().flat_map(|point| point.images.iter().cloned()).collect();
        prop_assert!(all.is_subset(&anywhere));
        for point in &found {
            prop_assert_eq!(point.tried, Tried::Every);
            prop_assert_eq!(point.exactly, Some(point.images.len() as u64));
        }
        if acts.iter().any(|act| matches!(act, Act::Store { .. })) {
            prop_assert_eq!(all, anywhere);
        }
    }
}

/// What one `write` stores to two sectors may be torn between them, and nowhere else; flushes of the program do nothing.
#[test]
fn one_write_is_torn_between_sectors_alone() {
    let acts = [Act::Store { by_kernel: true, range: 256..768, value: 7 }, Act::Flush { line: 4 }, Act::Fence];
    let [end] = &tried(&acts)[..] else { panic!("the end is the only crash point") };
    let full = |lines: Range<u64>| -> Image { lines.map(|line| (line, [7; 64])).collect() };
    let expected = [Image::new(), full(4..8), full(8..12), full(4..12)];
    assert_eq!(end.images, expected.into_iter().collect());
    // On memory, any of the lines may be lost alone.
    let on_memory = states(trace(&acts[..1]), Extent::Whole, u64::MAX);
    assert!(on_memory[0].images.contains(&full(5..12)) && !end.images.contains(&full(5..12)));
}

//! Caches that have been used before: they hold the last lines of each set and nothing else.

use super::edges::{SMALL, caches, fill, line};
use super::machine;
use super::on_chip::{pad_of_slot, parts};
use crate::cache::Hierarchy;
use crate::kernel::Shuffle;
use crate::message::{Access, CachePort, CoreId, Line, LineBytes};
use crate::parts::CachePads;

/// Two ways of four sets, four ways of eight sets, four ways of sixteen sets; the third level is shared.
const LEVELS: [(u32, u64, u32, bool); 3] = [(2, 4, 4, false), (4, 8, 4, false), (4, 16, 4, true)];

fn bytes_of(line: Line) -> LineBytes {
    std::array::from_fn(|byte| (line.0 as usize * 7 + byte) as u8)
}

/// `count` lines of each core, from line 1,000 times its number on, as `cores` used them, the last one first.
fn warm(c: &mut Hierarchy, cores: CoreId, count: u64) -> Vec<(CoreId, Line)> {
    let order = Shuffle::new(count, 3);
    let uses = (0..count).flat_map(|use_| (0..cores).map(move |core| (use_, core)));
    let uses: Vec<_> = uses.map(|(use_, core)| (core, line(1_000 * u64::from(core) + order.forward(use_)))).collect();
    let mut warming = c.warm();
    for &(core, line) in &uses {
        warming.add(core, line, || bytes_of(line));
    }
    let room = (0..cores).any(|core| warming.has_room(core));
    assert_eq!(room, count * u64::from(cores) < 64, "no more than a few lines for each set leave room");
    uses
}

/// Lines of `core` in the first, second and third level.
fn held(c: &Hierarchy, uses: &[(CoreId, Line)], core: CoreId) -> [usize; 3] {
    let own = || uses.iter().filter(|(other, _)| *other == core);
    let of = |level: u8| {
        let caches = match level {
            1 => &c.l1[usize::from(core)],
            2 => &c.l2[usize::from(core)],
            _ => &c.l3[0],
        };
        own().filter(|(_, line)| caches.find(*line).is_some()).count()
    };
    [of(1), of(2), of(3)]
}

#[test]
fn every_way_holds_one_of_the_last_lines_of_its_set() {
    let mut c = caches(LEVELS, 1);
    let uses = warm(&mut c, 1, 600);
    assert_eq!(held(&c, &uses, 0), [8, 32, 64]);
    for (level, sets, ways) in [(&c.l1[0], 4, 2), (&c.l2[0], 8, 4), (&c.l3[0], 16, 4)] {
        for set in 0..sets {
            let of_set: Vec<Line> = uses.iter().map(|(_, line)| *line).filter(|line| line.0 % sets == set).collect();
            let (kept, gone) = of_set.split_at(ways);
            assert!(
                kept.iter().all(|&line| level.find(line).is_some()) && gone.iter().all(|&l| level.find(l).is_none())
            );
            // The next one replaces the one that was used longest ago.
            assert_eq!(level.victim(gone[0], |_| false), level.find(kept[ways - 1]));
            for slot in kept.iter().map(|&line| level.find(line).unwrap()) {
                assert!(!level.dirty(slot) && level.bytes(slot) == bytes_of(level.line(slot)));
            }
        }
    }
    let in_l1 = uses.iter().filter(|(_, line)| c.l1[0].find(*line).is_some());
    assert!(in_l1.clone().all(|(_, line)| c.l2[0].find(*line).is_some()), "the second level includes the first");
    let last = uses[0].1;
    assert_eq!(c.load(100_000, 0, last, 0), Access::At(101_000));
    assert_eq!(c.own(100_000, 0, last, false), Access::At(101_000), "no other core has the line");
    assert_eq!(c.counts().l1.hits, 2);
    assert!(c.idle() && c.on_chip().is_empty());
}

#[test]
fn few_lines_are_all_in_every_level_that_has_room() {
    let mut c = caches(LEVELS, 1);
    let uses = warm(&mut c, 1, 12);
    assert_eq!(held(&c, &uses, 0), [8, 12, 12]);
    let mut c = caches(SMALL, 1);
    c.warm().add(0, line(5), || bytes_of(line(5)));
    // A line that is used now is newer than what was used before.
    fill(&mut c, 0, 0, line(6));
    fill(&mut c, 0, 0, line(7));
    assert_eq!([5, 6, 7].map(|n| c.l2[0].find(line(n)).is_some()), [false, true, true]);
}

#[test]
fn private_levels_hold_lines_of_their_core_and_other_cores_find_them() {
    let mut c = caches(LEVELS, 2);
    let uses = warm(&mut c, 2, 600);
    let of = [held(&c, &uses, 0), held(&c, &uses, 1)];
    assert_eq!([of[0][0], of[0][1], of[1][0], of[1][1], of[0][2] + of[1][2]], [8, 32, 8, 32, 64]);
    assert!(c.l1[0].find(uses[1].1).is_none() && c.l2[0].find(uses[1].1).is_none());
    assert!(matches!(c.load(100_000, 0, uses[1].1, 0), Access::At(_)));
    assert_eq!(c.peek(0, uses[1].1), Some(bytes_of(uses[1].1)));
}

#[test]
fn pads_leave_half_of_the_ways() {
    let mut machine = machine(LEVELS, true);
    machine.eadr.xor_cycles = 1;
    let mut c = Hierarchy::new(&machine, 1, parts(CachePads::BootPads, true)).unwrap();
    let mut warming = c.warm();
    let uses: Vec<_> = (0..600).map(|n| (0, line(Shuffle::new(600, 3).forward(n)))).collect();
    uses.iter().for_each(|&(core, line)| warming.add(core, line, || bytes_of(line)));
    assert!(!warming.has_room(0));
    assert_eq!(held(&c, &uses, 0), [4, 16, 32]);
    let slot = c.l1[0].find(uses[0].1).unwrap();
    assert_eq!(c.l1[0].bytes(slot), bytes_of(uses[0].1));
    assert_eq!(c.l1[0].resting(slot).cache_pad, pad_of_slot(slot as u64));
}

//! What one line may hold, and the order in which states are tried.

use super::*;

#[test]
fn rules_of_a_line() {
    let images = |program: Program| {
        let all = states(program.trace(), Extent::Whole, u64::MAX);
        all.iter().map(|point| point.images.len()).collect::<Vec<_>>()
    };
    // Nothing, one, both: in the order of the stores.
    let twice = Program::new().store(1, 0, "a").bytes(0x11, 2, 8, b"bbbbbbbb");
    assert_eq!(images(twice.clone()), [3]);
    // Past the caches: in any order.
    let past = Program::new().past_caches(1, 0, "a").bytes(0x12, 2, 8, b"bbbbbbbb");
    assert_eq!(images(past.clone()), [4]);
    // Flushed and fenced: nothing is open afterwards, and nothing is explored twice.
    assert_eq!(images(twice.clone().clwb(3, 0).sfence(4).sfence(5).clwb(6, 0).sfence(7)), [3]);
    assert_eq!(images(past.sfence(3)), [4]);
    // A flush of one line, and a fence that does not complete anything.
    assert_eq!(images(twice.clone().store(3, 1, "c").sfence(4)), [6]);
    // Stores that change no bytes do not count; a change that is undone does.
    assert_eq!(images(Program::new().store(1, 0, "").clwb(2, 0).sfence(3)), [1]);
    assert_eq!(images(Program::new().store(1, 0, "a").store(2, 0, "").clwb(3, 0).sfence(4)), [2]);
    // 16 bytes are two words, and either may be durable alone.
    assert_eq!(images(Program::new().bytes(0x11, 1, 0, &[7; 16])), [4]);
    assert_eq!(images(Program::new().bytes(0x11, 1, 4, &[7; 8])), [4]);
    // A clflush is a point of its own.
    assert_eq!(images(twice.clflush(3, 0).store(4, 0, "x").clwb(5, 0).sfence(6)), [3, 2]);
}

#[test]
fn line_that_is_stored_to_for_ever_takes_no_more_room() {
    let mut program = Program::new();
    for number in 0..1000u64 {
        program = program.bytes(0x11, 1, 0, &number.to_le_bytes());
    }
    let all = states(program.trace(), Extent::Whole, 300);
    assert_eq!((all.len(), all[0].tried, all[0].exactly), (1, Tried::Some, None));
    // The newest contents are those that are kept apart.
    let held: BTreeSet<u64> = all[0]
        .images
        .iter()
        .map(|image| image.get(&0).map_or(0, |line| u64::from_le_bytes(line[..8].try_into().unwrap())))
        .collect();
    assert_eq!(held, (936..1000).chain([0]).collect());
}

#[test]
fn many_lines_are_bounded_and_said_to_be() {
    let mut program = Program::new();
    for line in 0..40 {
        program = program.store(1, line, "a").clwb(2, line);
    }
    let all = states(program.clone().sfence(3).trace(), Extent::Whole, 2000);
    assert_eq!((all[0].tried, all[0].exactly), (Tried::Singles, Some(1 << 40)));
    let lost = |image: &Image| 40 - image.len();
    let with = |lines: usize| all[0].images.iter().filter(|image| lost(image) == lines).count();
    assert_eq!([with(0), with(1), with(39), with(40)], [1, 40, 40, 1]);
    assert_eq!([with(2), with(38)], [780, 780]);
    // Without a budget, what was stored last is lost and kept alone all the same.
    let least = states(program.clone().sfence(3).trace(), Extent::Whole, 0);
    assert_eq!((least[0].tried, least[0].images.len()), (Tried::Singles, 82));
    // More lines than are looked at: the newest are, and the first.
    for line in 40..100 {
        program = program.store(1, line, "a").clwb(2, line);
    }
    let many = states(program.sfence(3).trace(), Extent::Whole, 10_000);
    assert_eq!((many[0].tried, many[0].exactly), (Tried::Some, None));
    assert!(many[0].images.iter().all(|image| (16..52).all(|line| image.contains_key(&line))));
    let alone = |line| move |image: &Image| image.len() == 99 && !image.contains_key(&line);
    assert!((0..16).chain(52..100).all(|line| many[0].images.iter().any(alone(line))));
}

#[test]
fn what_is_most_likely_comes_first() {
    let trace = |budget| {
        let program = Program::new().store(1, 0, "data").clwb(2, 0).store(3, 1, "valid").clwb(4, 1).sfence(5);
        states(program.trace(), Extent::Single, budget).remove(0)
    };
    let first = trace(0);
    assert_eq!(first.images.len(), 4);
    assert_eq!(first.shown, 7, "all, one lost, the other, old lines lost, none, one kept, the other");
}

//! A page that is filled with zeros: by stores, or by a command that is a fence.

use super::*;
use crate::message::LINES_PER_PAGE;

/// A store to the page and one elsewhere, the page, and a load of it. The page is that of line 64.
const PROGRAM: [Op; 4] = [
    Op::Store { address: 64 * 64, length: 8, bytes: 0 },
    Op::Store { address: 7 * 64, length: 8, bytes: 0 },
    Op::ZeroPage { address: 66 * 64 },
    Op::Load { address: 65 * 64, length: 0, dependent: false, bytes: 0 },
];

fn run_zeroing(shreds: bool, counters: BTreeMap<u64, Ps>) -> Run {
    let script = vec![buffer(&PROGRAM)];
    let core = Core::new(0, &small(), Box::new(Script(script.into_iter()))).with_shredding(shreds);
    run_core(core, Stub { counters, ..Stub::default() })
}

#[test]
fn without_a_command_each_line_is_stored_past_the_caches() {
    let run = run_zeroing(false, BTreeMap::new());
    let around: Vec<u64> = run
        .cache
        .log
        .iter()
        .filter_map(|(_, seen)| if let Seen::Around(line) = seen { Some(*line) } else { None })
        .collect();
    assert_eq!(around, (64..64 + LINES_PER_PAGE).collect::<Vec<_>>());
    assert!(around.iter().all(|line| run.cache.visible[line] == [0; 64]));
    assert!(run.fences.is_empty(), "stores are no fence");
}

#[test]
fn the_command_comes_after_earlier_stores_and_before_later_loads() {
    let latency = 40_000;
    let run = run_zeroing(true, BTreeMap::from([(64, latency)]));
    let [at, load] = [Seen::Page(64), Seen::Load(65)].map(|seen| run.times(seen)[0]);
    let stored = [64, 7].map(|line| run.times(Seen::Write(line))[0]);
    assert!(stored.into_iter().all(|store| store < at), "{stored:?} {at}");
    assert!(load >= at + latency, "the load came at {load}, the page was zeros at {}", at + latency);
    assert_eq!(run.fences, [at + latency], "the command is a fence");
    let zeroed: Vec<u64> = (64..64 + LINES_PER_PAGE).collect();
    assert_eq!(run.watch.flushed, zeroed);
    assert_eq!(run.told[2..].iter().map(|(line, _)| *line).collect::<Vec<_>>(), zeroed);
}

#[test]
fn the_command_follows_what_is_combined_for_its_page() {
    let program = [Op::NonTemporalStore { address: 70 * 64, length: 8, bytes: 0 }, Op::ZeroPage { address: 64 * 64 }];
    let core = Core::new(0, &small(), Box::new(Script(vec![buffer(&program)].into_iter()))).with_shredding(true);
    let run = run_core(core, Stub::default());
    let place = |seen: Seen| run.cache.log.iter().position(|(_, what)| *what == seen).unwrap();
    assert!(place(Seen::Flush(70)) < place(Seen::Page(64)), "{:?}", run.cache.log);
}

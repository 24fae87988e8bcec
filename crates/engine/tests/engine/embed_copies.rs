//! An embedded memory beside its timed requests: stores that take no time, copies, ranges of bytes, and what a power
//! failure has damaged.

use super::common::memory_client::{Client, LINES, memory, pattern, promising};
use counterpoint_engine::config::Variant;
use counterpoint_engine::embed::{Kind, Request, TIME_MAX, WHOLE_LINE};

#[test]
fn what_is_stored_without_time_is_found_and_survives_beside_what_is_written() {
    let mut seen = 0;
    for design in promising() {
        seen += 1;
        let mut client = Client::new(memory(&design.name, Variant::Hardened, &[]), 17);
        for life in 0..6 {
            for _ in 0..40 {
                client.store();
                client.traffic(4, true);
            }
            let broken = client.broken_after_power_failure();
            assert!(broken.is_empty(), "{} in life {life}: lines {broken:?}", design.name);
        }
        let mut buffer = vec![1; (LINES * 64) as usize];
        client.memory.peek_range(0, &mut buffer).unwrap();
        for line in 0..LINES {
            assert_eq!(buffer[(line * 64) as usize..][..64], client.newest(line), "{}: line {line}", design.name);
        }
    }
    assert!(seen > 5);
}

#[test]
fn store_makes_no_event_and_counts_as_no_write() {
    let mut memory = memory("secpm", Variant::Hardened, &[]);
    memory.step(1_000, &mut Vec::new()).unwrap();
    for line in 0..10_000 {
        memory.store(line * 64 + 8, &[7; 40]).unwrap();
    }
    assert_eq!((memory.digest().0, memory.next_event_at()), (0, None));
    let found = memory.peek(640).unwrap();
    assert!(found[..8] == [0; 8] && found[8..48] == [7; 40] && found[48..] == [0; 16]);
    assert_eq!(memory.report().nvm.writes, 0);
    // A write of the line takes the place of what was stored, once it is durable.
    memory.send(640, 1, 0, Request::Write { bytes: &[9; 64], mask: WHOLE_LINE, counter_atomic: false }).unwrap();
    assert_eq!(memory.peek(640).unwrap(), [9; 64]);
    let mut before = memory.clone();
    before.power_fails().unwrap();
    assert_eq!(before.peek(640).unwrap(), found, "what was sent only now is lost, and not what was stored");
    while memory.step(TIME_MAX / 2, &mut Vec::new()).unwrap() {}
    memory.power_fails().unwrap();
    assert_eq!(memory.peek(640).unwrap(), [9; 64]);
    assert_eq!(memory.peek(64).unwrap()[8..48], [7; 40]);
    let mut without = super::common::memory_client::memory("secpm", Variant::Hardened, &["engine.bytes=false"]);
    without.step(1, &mut Vec::new()).unwrap();
    without.store(0, &[1; 64]).unwrap();
    assert_eq!(without.peek(0).unwrap(), [0; 64]);
}

#[test]
fn copy_goes_on_like_its_original_and_apart_from_it() {
    for name in ["unencrypted", "secpm", "sca", "secpm-tree", "easy-pm"] {
        let mut client = Client::new(memory(name, Variant::Hardened, &[]), 29);
        client.traffic(200, true);
        let mut copy = client.memory.clone();
        let mut crashed = client.memory.clone();
        let (mut answers, mut of_copy) = (Vec::new(), Vec::new());
        while client.memory.step(TIME_MAX / 4, &mut answers).unwrap() {}
        while copy.step(TIME_MAX / 4, &mut of_copy).unwrap() {}
        assert_eq!(copy.digest(), client.memory.digest(), "{name}");
        let ids = |answers: &[counterpoint_engine::embed::Answer]| -> Vec<_> {
            answers.iter().map(|answer| (answer.id, answer.at, answer.bytes)).collect()
        };
        assert_eq!(ids(&of_copy), ids(&answers), "{name}");
        // The crash of a copy changes nothing else, and two copies crash alike.
        let (digest, bytes) = (client.memory.digest(), client.memory.peek(0).unwrap());
        let mut again = crashed.clone();
        crashed.power_fails().unwrap();
        assert_eq!(again.power_fails().unwrap(), crashed.last_power_failure().unwrap());
        for line in 0..LINES {
            assert_eq!(again.peek(line * 64).unwrap(), crashed.peek(line * 64).unwrap());
        }
        assert_eq!((client.memory.digest(), client.memory.peek(0).unwrap()), (digest, bytes));
    }
    // Before the first request, too: each copy is loaded for itself.
    let mut first = memory("secpm", Variant::Hardened, &[]);
    first.load(0, &[1; 64]).unwrap();
    let mut second = first.clone();
    second.load(64, &[2; 64]).unwrap();
    assert_eq!((first.peek(64).unwrap(), second.peek(64).unwrap()), ([0; 64], [2; 64]));
}

#[test]
fn damage_is_flagged_until_the_line_is_written_again() {
    let mut client = Client::new(memory("write-back", Variant::Hardened, &[]), 11);
    client.traffic(300, false);
    let broken = client.broken_after_power_failure();
    let (Some(&line), memory) = (broken.first(), &mut client.memory) else { panic!("write-back loses counters") };
    let read = |memory: &mut counterpoint_engine::embed::Memory| {
        let mut answers = Vec::new();
        memory.send(line * 64, 7, 0, Request::Read).unwrap();
        while memory.step(memory.now() + 100_000_000, &mut answers).unwrap() {}
        let read = answers.iter().find(|answer| answer.kind == Kind::Read).unwrap();
        assert_ne!(read.at, read.sent);
        (read.damaged, read.bytes)
    };
    assert!(read(memory).0);
    // A part of it does not mend the rest.
    let of_a_part = Request::Write { bytes: &[3; 64], mask: 0b10, counter_atomic: false };
    memory.send(line * 64, 1, 0, of_a_part).unwrap();
    let (damaged, bytes) = read(memory);
    assert!(damaged && bytes[1] == 3);
    let whole = pattern(line, 99);
    memory.send(line * 64, 1, 0, Request::Write { bytes: &whole, mask: WHOLE_LINE, counter_atomic: false }).unwrap();
    assert_eq!(read(memory), (false, whole));
    assert!(!memory.damaged_lines().contains(&(line * 64)));
    assert_eq!(memory.last_power_failure().unwrap().damaged_lines as usize, broken.len());
    if let Some(second) = broken.get(1) {
        memory.store(second * 64, &[5; 64]).unwrap();
        assert!(!memory.damaged_lines().contains(&(second * 64)));
    }
}

#[test]
fn ranges_are_what_their_lines_are() {
    let mut client = Client::new(memory("secpm", Variant::Hardened, &[]), 41);
    client.traffic(100, false);
    let end = client.memory.capacity();
    let mut all = vec![0; 3 * 4096];
    client.memory.peek_range(4096, &mut all).unwrap();
    for length in [0, 1, 63, 64, 65, 130, 4097] {
        let mut some = vec![1; length];
        client.memory.peek_range(4096 + 61, &mut some).unwrap();
        assert_eq!(some, all[61..61 + length]);
    }
    let mut last = [1; 100];
    client.memory.peek_range(end - 100, &mut last).unwrap();
    assert_eq!(last, [0; 100]);
    assert!(client.memory.peek_range(end - 99, &mut last).is_err());
    assert!(client.memory.store(end, &[1]).is_err());
}

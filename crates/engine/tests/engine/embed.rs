//! Memory as part of another simulator: the same events as lines driven by hand, the newest bytes at every time, and
//! after a power failure what the persistence domain promised.

use super::common::memory_client::{Client, LINES, Numbers, memory, memory as memory_of, pattern, promising};
use counterpoint_engine::config::Variant;
use counterpoint_engine::controller::Response;
use counterpoint_engine::design;
use counterpoint_engine::embed::{Answer, Kind, Memory, Refusal, Request, Setup, TIME_MAX, WHOLE_LINE};
use counterpoint_engine::message::{BaseImage, Line, LineBytes, NoObserver};
use counterpoint_engine::{LineSystem, config};
use std::sync::Arc;

#[expect(dead_code, reason = "its main function")]
#[path = "../../examples/embed.rs"]
mod example;

#[test]
fn copy_of_the_example_loses_what_the_original_keeps() {
    assert_eq!(example::found().unwrap(), [42, 43]);
}

#[test]
fn what_was_promised_survives_power_failures_and_memory_goes_on() {
    let mut boots_wrote = 0;
    for design in promising() {
        let mut client = Client::new(memory(&design.name, Variant::Hardened, &[]), 11);
        for life in 0..12 {
            client.traffic(150, true);
            let writes = client.memory.report().nvm.writes;
            assert!(writes > 0, "{} wrote nothing in life {life}", design.name);
            let broken = client.broken_after_power_failure();
            assert!(broken.is_empty(), "{} in life {life}: lines {broken:?}", design.name);
        }
        boots_wrote += client.memory.report().power_failures;
        assert!(client.answered > 1_000, "{}: {} answers", design.name, client.answered);
    }
    assert!(boots_wrote >= 5 * 12, "several designs promise something");
}

#[test]
fn design_that_loses_counters_is_caught() {
    let mut client = Client::new(memory("write-back", Variant::Hardened, &[]), 11);
    client.traffic(300, false);
    assert!(!client.broken_after_power_failure().is_empty());
}

#[test]
fn every_design_answers_every_read_with_the_newest_bytes() {
    for name in design::names() {
        for variant in [Variant::Published, Variant::Hardened] {
            let mut client = Client::new(memory(name, variant, &[]), 23);
            client.traffic(250, false);
            while client.step(client.memory.now() + 100_000_000) {}
            assert!(client.reads.is_empty() && client.writes.is_empty(), "{name}");
        }
    }
}

#[test]
fn every_design_shows_what_a_read_sent_now_finds() {
    let send = |memory: &mut Memory, line: u64, version: u64| {
        let (bytes, counter_atomic) = (pattern(line, version), version.is_multiple_of(2));
        memory.send(line * 64, version, 0, Request::Write { bytes: &bytes, mask: WHOLE_LINE, counter_atomic }).unwrap();
    };
    let expect = |memory: &mut Memory, line: u64, version: u64| {
        let at = format!("{}, {:?}: line {line} at {} ps", memory.design().name, memory.design().variant, memory.now());
        let (digest, mut answers) = (memory.digest(), Vec::new());
        let shown = memory.peek(line * 64).unwrap();
        assert_eq!(shown, pattern(line, version), "{at}");
        memory.send(line * 64, version, 0, Request::Read).unwrap();
        assert_eq!(memory.digest(), digest, "nothing has happened yet");
        while !answers.iter().any(|answer: &Answer| answer.kind == Kind::Read) {
            assert!(memory.step(TIME_MAX, &mut answers).unwrap(), "{at}: a read is answered");
        }
        let read = answers.iter().find(|answer| answer.kind == Kind::Read).unwrap();
        assert_eq!(read.bytes, shown, "{at}");
    };
    for name in design::names() {
        for variant in [Variant::Published, Variant::Hardened] {
            let mut memory = memory(name, variant, &[]);
            // One that has not arrived.
            send(&mut memory, 1, 1);
            expect(&mut memory, 1, 1);
            while memory.step(50_000_000, &mut Vec::new()).unwrap() {}
            // Two at the same time, and another line between them.
            send(&mut memory, 2, 2);
            send(&mut memory, 1, 3);
            send(&mut memory, 2, 4);
            expect(&mut memory, 2, 4);
            while memory.step(100_000_000, &mut Vec::new()).unwrap() {}
            // Two over one that is on its way through the controller.
            send(&mut memory, 1, 5);
            memory.step(TIME_MAX, &mut Vec::new()).unwrap();
            send(&mut memory, 1, 6);
            send(&mut memory, 1, 7);
            expect(&mut memory, 1, 7);
            // One that power fails before.
            while memory.step(150_000_000, &mut Vec::new()).unwrap() {}
            send(&mut memory, 3, 8);
            if memory.power_fails().is_ok() {
                assert_ne!(memory.peek(3 * 64).unwrap(), pattern(3, 8), "{name} has lost what had not arrived");
            }
            let mut without_bytes = memory_of(name, variant, &["engine.bytes=false"]);
            send(&mut without_bytes, 1, 1);
            assert_eq!(without_bytes.peek(64).unwrap(), [0; 64], "{name} without bytes");
        }
    }
}

/// Memory in which nothing was ever written.
struct Nothing;

impl BaseImage for Nothing {
    fn line(&self, _line: Line) -> Option<&LineBytes> {
        None
    }
    fn populated(&self, _line: Line) -> bool {
        false
    }
    fn end(&self) -> u64 {
        0
    }
}

#[test]
fn embedded_memory_has_the_events_of_lines_driven_by_hand() {
    for name in ["unencrypted", "secpm", "sca", "co-located-cc"] {
        let machine = config::load_machine("small", &[]).unwrap();
        let design = design::find(name, Variant::Hardened).unwrap();
        let mut by_hand = LineSystem::new(&machine, &design, Arc::new(Nothing), 5, NoObserver).unwrap();
        let mut embedded = memory(name, Variant::Hardened, &[]);
        let mut numbers = Numbers(3);
        let (mut at, mut used) = (0, 0);
        let mut answers: Vec<Answer> = Vec::new();
        let mut answered = 0;
        for id in 0..2_000 {
            at += numbers.below(60_000);
            let (line, reads) = (numbers.below(LINES), numbers.below(2) == 0);
            // Time moves to `at`, then further until there is room.
            let handle = |system: &mut LineSystem<NoObserver>, used: &mut u32| {
                for response in system.advance().unwrap() {
                    match response {
                        Response::Read { .. } => *used -= 1,
                        Response::Written { .. } => *used -= 1 << 16,
                        _ => {}
                    }
                }
            };
            while by_hand.next_event_at().is_some_and(|next| next <= at) {
                handle(&mut by_hand, &mut used);
            }
            by_hand.wait_until(at.max(by_hand.now()));
            let full = |used: u32| if reads { used & 0xffff >= 32 } else { used >> 16 >= 4 };
            while full(used) {
                let next = by_hand.next_event_at();
                while by_hand.next_event_at() == next {
                    handle(&mut by_hand, &mut used);
                }
            }
            at = by_hand.now();
            match reads {
                true => by_hand.read(at, Line(line), id),
                false => by_hand.write(at, Line(line), &pattern(line, u64::from(id)), id),
            }
            used += if reads { 1 } else { 1 << 16 };
            while embedded.step(at, &mut answers).unwrap() {}
            answered += answers.drain(..).count();
            let bytes = pattern(line, u64::from(id));
            let request = match reads {
                true => Request::Read,
                false => Request::Write { bytes: &bytes, mask: WHOLE_LINE, counter_atomic: false },
            };
            embedded.send(line * 64, u64::from(id), 0, request).unwrap();
        }
        while by_hand.next_event_at().is_some() {
            by_hand.advance();
        }
        while embedded.step(TIME_MAX, &mut answers).unwrap() {}
        assert_eq!(embedded.digest(), (by_hand.events(), by_hand.digest()), "{name}");
        assert_eq!(answered + answers.len(), 2_000);
        let report = embedded.report();
        assert_eq!(report.reads.count + report.writes.count, 2_000);
        assert!(report.reads.mean_latency_ns.unwrap() > 10.0 && report.writes.max_latency_ns.unwrap() > 10.0);
    }
}

#[test]
fn misuse_gets_a_sentence() {
    let mut memory = memory("secpm", Variant::Hardened, &[]);
    let capacity = memory.capacity();
    let argument = |result: Result<(), Refusal>, text: &str| match result {
        Err(Refusal::Argument(why)) => assert!(why.contains(text), "{why}"),
        other => panic!("{other:?}"),
    };
    argument(memory.load(capacity - 1, &[0; 2]), "do not fit");
    argument(memory.load(u64::MAX, &[0; 2]), "do not fit");
    argument(memory.send(32, 0, 0, Request::Read), "no multiple of 64");
    argument(memory.send(capacity, 0, 0, Request::Read), "beyond");
    argument(memory.peek(capacity).map(|_| ()), "beyond");
    argument(memory.step(TIME_MAX + 1, &mut Vec::new()).map(|_| ()), "is not from now");
    assert_eq!(memory.digest().0, 0, "asking starts nothing");
    memory.load(capacity - 1, &[9]).unwrap();
    assert_eq!(memory.peek(capacity - 64).unwrap()[63], 9);
    memory.send(0, 0, 0, Request::Read).unwrap();
    assert!(matches!(memory.load(0, &[1]), Err(Refusal::State(_))));
    memory.step(5, &mut Vec::new()).unwrap();
    while memory.step(1_000_000, &mut Vec::new()).unwrap() {}
    argument(memory.step(3, &mut Vec::new()).map(|_| ()), "is not from now");
    for name in ["eadr", "sepencr"] {
        let mut refusing = memory_of(name, Variant::Hardened, &[]);
        let refused = refusing.power_fails();
        assert!(matches!(refused, Err(Refusal::State(why)) if why.contains("drains caches")));
    }
    let mut without_bytes = memory_of("secpm", Variant::Hardened, &["engine.bytes=false"]);
    let refused = without_bytes.power_fails();
    assert!(matches!(refused, Err(Refusal::State(why)) if why.contains("engine.bytes")));
    let unknown =
        Setup { design: "secpn", variant: Variant::Hardened, machine: None, set: &[], seed: 1, on_channel: [None; 2] };
    assert!(Memory::new(&unknown).err().unwrap().0.contains("did you mean 'secpm'"));
}

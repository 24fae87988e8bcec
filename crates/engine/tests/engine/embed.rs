//! Memory as part of another simulator: the same events as lines driven by hand, the newest bytes at every time, and
//! after a power failure what the persistence domain promised.

use counterpoint_engine::config::Variant;
use counterpoint_engine::controller::Response;
use counterpoint_engine::design;
use counterpoint_engine::embed::{Answer, Kind, Memory, Refusal, Request, Setup, TIME_MAX};
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::message::{BaseImage, Line, LineBytes, NoObserver};
use counterpoint_engine::parts::LineAtomicity;
use counterpoint_engine::{LineSystem, config};
use std::collections::HashMap;
use std::sync::Arc;

/// Few pages, so that lines are accessed repeatedly and minor counters overflow.
const LINES: u64 = 3 * 64;

fn memory(design: &str, variant: Variant, set: &[&str]) -> Memory {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    Memory::new(&Setup { design, variant, machine: Some("small"), set: &set, seed: 5 }).unwrap()
}

/// The numbers of a linear congruential generator, the upper half of each.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn pattern(line: u64, version: u64) -> LineBytes {
    let mut bytes = [(line * 31 + version * 7 + 1) as u8; 64];
    bytes[..8].copy_from_slice(&line.to_le_bytes());
    bytes[56..].copy_from_slice(&version.to_le_bytes());
    bytes
}

/// A client that remembers what it has sent, and what has been promised.
struct Client {
    memory: Memory,
    numbers: Numbers,
    /// Versions of each line in the order of sending; version 0 was loaded.
    sent: HashMap<u64, u64>,
    /// The newest version that is in the persistence domain.
    promised: HashMap<u64, u64>,
    /// Line and version of each write in flight; line of each read, and the version that was newest when it was sent.
    writes: HashMap<u64, (u64, u64)>,
    reads: HashMap<u64, (u64, u64)>,
    next_id: u64,
    answered: u64,
}

impl Client {
    fn new(memory: Memory, seed: u64) -> Self {
        let mut client = Self {
            memory,
            numbers: Numbers(seed),
            sent: HashMap::new(),
            promised: HashMap::new(),
            writes: HashMap::new(),
            reads: HashMap::new(),
            next_id: 0,
            answered: 0,
        };
        for line in (0..LINES).step_by(3) {
            client.memory.load(line * 64, &pattern(line, 0)).unwrap();
        }
        client
    }

    fn version(&self, line: u64, version: u64) -> LineBytes {
        if version > 0 || line.is_multiple_of(3) { pattern(line, version) } else { [0; 64] }
    }

    fn newest(&self, line: u64) -> LineBytes {
        self.version(line, self.sent.get(&line).copied().unwrap_or(0))
    }

    fn step(&mut self, until: Ps) -> bool {
        let mut answers: Vec<Answer> = Vec::new();
        let more = self.memory.step(until, &mut answers).unwrap();
        for Answer { id, address, at, kind, bytes } in answers {
            assert_eq!(at, self.memory.now());
            self.answered += 1;
            match kind {
                Kind::Read => {
                    // While it waits for page re-encryption, a later write may overtake it.
                    let (line, version) = self.reads.remove(&id).unwrap();
                    let newest = self.sent.get(&line).copied().unwrap_or(0);
                    let found = (version..=newest).any(|version| self.version(line, version) == bytes);
                    assert!(found, "read {id} of line {line} found none of versions {version} to {newest}");
                }
                Kind::Write => {
                    let (line, version) = self.writes.remove(&id).unwrap();
                    assert_eq!(address, line * 64);
                    let newest = self.promised.entry(line).or_default();
                    *newest = (*newest).max(version);
                }
                Kind::CounterWriteback => {}
            }
        }
        more
    }

    fn send(&mut self, counter_atomic: bool) {
        let (line, id) = (self.numbers.below(LINES), self.next_id);
        let kind =
            [Kind::Write, Kind::Write, Kind::Write, Kind::Read, Kind::CounterWriteback][self.numbers.below(5) as usize];
        while !self.memory.can_accept(kind) {
            let refused = self.memory.send(line * 64, id, request(kind, &[0; 64], false));
            assert!(matches!(refused, Err(Refusal::Full(_))));
            assert!(self.step(TIME_MAX), "a full queue empties");
        }
        self.next_id += 1;
        let bytes = match kind {
            Kind::Write => {
                let version = self.sent.entry(line).or_default();
                *version += 1;
                self.writes.insert(id, (line, *version));
                pattern(line, *version)
            }
            Kind::Read => {
                self.reads.insert(id, (line, self.sent.get(&line).copied().unwrap_or(0)));
                [0; 64]
            }
            Kind::CounterWriteback => [0; 64],
        };
        self.memory.send(line * 64, id, request(kind, &bytes, counter_atomic)).unwrap();
        // A write that has been sent but has not arrived is the newest, too.
        assert_eq!(self.memory.peek(line * 64).unwrap(), self.newest(line), "line {line}");
    }

    fn traffic(&mut self, requests: u64, counter_atomic: bool) {
        for _ in 0..requests {
            self.send(counter_atomic);
            let until = self.memory.now() + self.numbers.below(300_000);
            while self.step(until) {
                let line = self.numbers.below(LINES);
                assert_eq!(self.memory.peek(line * 64).unwrap(), self.newest(line), "line {line}");
            }
        }
    }

    /// Lines that hold neither what was promised nor anything that was sent later.
    fn broken_after_power_failure(&mut self) -> Vec<u64> {
        let failure = self.memory.power_fails().unwrap();
        assert!(failure.requests_lost as usize >= self.writes.len() + self.reads.len());
        self.writes.clear();
        self.reads.clear();
        let mut broken = Vec::new();
        for line in 0..LINES {
            let promised = self.promised.get(&line).copied().unwrap_or(0);
            let found = self.memory.peek(line * 64).unwrap();
            let newest = self.sent.get(&line).copied().unwrap_or(0);
            match (promised..=newest).find(|&version| self.version(line, version) == found) {
                Some(version) => {
                    self.sent.insert(line, version);
                    self.promised.insert(line, version);
                }
                None => broken.push(line),
            }
        }
        broken
    }
}

fn request(kind: Kind, bytes: &LineBytes, counter_atomic: bool) -> Request<'_> {
    match kind {
        Kind::Read => Request::Read,
        Kind::Write => Request::Write { bytes, counter_atomic },
        Kind::CounterWriteback => Request::CounterWriteback,
    }
}

#[test]
fn what_was_promised_survives_power_failures_and_memory_goes_on() {
    let mut boots_wrote = 0;
    for design in design::all(Variant::Hardened) {
        let promises = design.promise.crash_consistent.is_ok()
            && matches!(design.promise.line_atomic, LineAtomicity::Every | LineAtomicity::Marked);
        if !promises || design.drain().is_some() {
            continue;
        }
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
fn a_design_that_loses_counters_is_caught() {
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
        memory.send(line * 64, version, Request::Write { bytes: &bytes, counter_atomic }).unwrap();
    };
    let expect = |memory: &mut Memory, line: u64, version: u64| {
        let at = format!("{}, {:?}: line {line} at {} ps", memory.design().name, memory.design().variant, memory.now());
        let (digest, mut answers) = (memory.digest(), Vec::new());
        let shown = memory.peek(line * 64).unwrap();
        assert_eq!(shown, pattern(line, version), "{at}");
        memory.send(line * 64, version, Request::Read).unwrap();
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
            let mut without_bytes = self::memory(name, variant, &["engine.bytes=false"]);
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
fn an_embedded_memory_has_the_events_of_lines_driven_by_hand() {
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
            let request = if reads { Request::Read } else { Request::Write { bytes: &bytes, counter_atomic: false } };
            embedded.send(line * 64, u64::from(id), request).unwrap();
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
    argument(memory.send(32, 0, Request::Read), "no multiple of 64");
    argument(memory.send(capacity, 0, Request::Read), "beyond");
    argument(memory.peek(capacity).map(|_| ()), "beyond");
    argument(memory.step(TIME_MAX + 1, &mut Vec::new()).map(|_| ()), "is not from now");
    assert_eq!(memory.digest().0, 0, "asking starts nothing");
    memory.load(capacity - 1, &[9]).unwrap();
    assert_eq!(memory.peek(capacity - 64).unwrap()[63], 9);
    memory.send(0, 0, Request::Read).unwrap();
    assert!(matches!(memory.load(0, &[1]), Err(Refusal::State(_))));
    memory.step(5, &mut Vec::new()).unwrap();
    while memory.step(1_000_000, &mut Vec::new()).unwrap() {}
    argument(memory.step(3, &mut Vec::new()).map(|_| ()), "is not from now");
    for name in ["eadr", "sepencr"] {
        let refused = self::memory(name, Variant::Hardened, &[]).power_fails();
        assert!(matches!(refused, Err(Refusal::State(why)) if why.contains("drains caches")));
    }
    let refused = self::memory("secpm", Variant::Hardened, &["engine.bytes=false"]).power_fails();
    assert!(matches!(refused, Err(Refusal::State(why)) if why.contains("engine.bytes")));
    let unknown = Setup { design: "secpn", variant: Variant::Hardened, machine: None, set: &[], seed: 1 };
    assert!(Memory::new(&unknown).err().unwrap().0.contains("did you mean 'secpm'"));
}

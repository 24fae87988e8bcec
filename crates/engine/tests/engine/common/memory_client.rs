//! A client of an embedded memory that knows what it may find.

use counterpoint_engine::config::Variant;
use counterpoint_engine::design;
use counterpoint_engine::embed::{Answer, Kind, Memory, Refusal, Request, Setup, TIME_MAX, WHOLE_LINE};
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::message::LineBytes;
use counterpoint_engine::parts::{Design, LineAtomicity};
use std::collections::HashMap;

/// Few pages, so that lines are accessed repeatedly and minor counters overflow.
pub const LINES: u64 = 3 * 64;

pub fn memory(design: &str, variant: Variant, set: &[&str]) -> Memory {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    let machine = Some(if super::judge::needs_modules(design) { "optane" } else { "small" });
    Memory::new(&Setup { design, variant, machine, set: &set, seed: 5, on_channel: [None; 2] }).unwrap()
}

/// The designs that promise that acknowledged lines survive, and whose caches are not needed for that.
pub fn promising() -> impl Iterator<Item = Design> {
    design::all(Variant::Hardened).filter(|design| {
        let of_lines = matches!(design.promise.line_atomic, LineAtomicity::Every | LineAtomicity::Marked);
        design.promise.crash_consistent.is_ok() && of_lines && design.drain().is_none()
    })
}

/// The numbers of a linear congruential generator, the upper half of each.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

pub fn pattern(line: u64, version: u64) -> LineBytes {
    let mut bytes = [(line * 31 + version * 7 + 1) as u8; 64];
    bytes[..8].copy_from_slice(&line.to_le_bytes());
    bytes[56..].copy_from_slice(&version.to_le_bytes());
    bytes
}

/// A client that remembers what it has sent, and what has been promised.
pub struct Client {
    pub memory: Memory,
    pub numbers: Numbers,
    /// Versions of each line in the order of sending; version 0 was loaded.
    pub sent: HashMap<u64, u64>,
    /// The newest version that is in the persistence domain.
    pub promised: HashMap<u64, u64>,
    /// Line and version of each write in flight; line of each read, and the version that was newest when it was sent.
    pub writes: HashMap<u64, (u64, u64)>,
    pub reads: HashMap<u64, (u64, u64)>,
    pub next_id: u64,
    pub answered: u64,
}

impl Client {
    pub fn new(memory: Memory, seed: u64) -> Self {
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

    pub fn version(&self, line: u64, version: u64) -> LineBytes {
        if version > 0 || line.is_multiple_of(3) { pattern(line, version) } else { [0; 64] }
    }

    pub fn newest(&self, line: u64) -> LineBytes {
        self.version(line, self.sent.get(&line).copied().unwrap_or(0))
    }

    pub fn step(&mut self, until: Ps) -> bool {
        let mut answers: Vec<Answer> = Vec::new();
        let more = self.memory.step(until, &mut answers).unwrap();
        for Answer { id, address, at, kind, bytes, sent, damaged, .. } in answers {
            assert!(at == self.memory.now() && sent <= at);
            self.answered += 1;
            match kind {
                Kind::Read => {
                    // While it waits for page re-encryption, a later write may overtake it.
                    let (line, version) = self.reads.remove(&id).unwrap();
                    assert!(!damaged, "line {line}");
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

    pub fn send(&mut self, counter_atomic: bool) {
        let (line, id) = (self.numbers.below(LINES), self.next_id);
        let kind =
            [Kind::Write, Kind::Write, Kind::Write, Kind::Read, Kind::CounterWriteback][self.numbers.below(5) as usize];
        while !self.memory.can_accept(kind) {
            let refused = self.memory.send(line * 64, id, 0, request(kind, &[0; 64], false));
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
        self.memory.send(line * 64, id, 0, request(kind, &bytes, counter_atomic)).unwrap();
        // A write that has been sent but has not arrived is the newest, too.
        assert_eq!(self.memory.peek(line * 64).unwrap(), self.newest(line), "line {line}");
    }

    /// Stores the next version of a line without taking time.
    pub fn store(&mut self) {
        let line = self.numbers.below(LINES);
        let version = self.sent.entry(line).or_default();
        *version += 1;
        // Durable at once.
        self.promised.insert(line, *version);
        let bytes = pattern(line, *version);
        let (first, second) = bytes.split_at(self.numbers.below(64) as usize);
        self.memory.store(line * 64, first).unwrap();
        self.memory.store(line * 64 + first.len() as u64, second).unwrap();
        assert_eq!(self.memory.peek(line * 64).unwrap(), self.newest(line), "line {line}");
    }

    pub fn traffic(&mut self, requests: u64, counter_atomic: bool) {
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
    pub fn broken_after_power_failure(&mut self) -> Vec<u64> {
        let failure = self.memory.power_fails().unwrap().clone();
        assert_eq!(failure.reads_lost as usize, self.reads.len());
        assert_eq!(failure.writes_lost as usize, self.writes.len());
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
        let damaged: Vec<u64> = self.memory.damaged_lines().into_iter().map(|address| address / 64).collect();
        assert_eq!(failure.damaged_lines as usize, damaged.len());
        assert_eq!(damaged, broken, "the memory itself sees the same damage");
        broken
    }
}

pub fn request(kind: Kind, bytes: &LineBytes, counter_atomic: bool) -> Request<'_> {
    match kind {
        Kind::Read => Request::Read,
        Kind::Write => Request::Write { bytes, mask: WHOLE_LINE, counter_atomic },
        Kind::CounterWriteback => Request::CounterWriteback,
    }
}

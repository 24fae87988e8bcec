//! A small world around caches: cores that run programs, a memory and a log manager with random latencies, and one flat
//! memory that every store changes at once. Checked after every step: no line is ever lost, every core would load the
//! newest value, a flush completes only when what it covers is in memory, and everything drains. In a transaction, no
//! store happens before old bytes of its line have been logged from which this core's stores can be undone, and a line
//! that has left the first level is logged again.

use super::logged::{Transaction, Writer};
use super::on_chip::OnChip;
use crate::cache::{CacheParts, Hierarchy};
use crate::config::Machine;
use crate::kernel::Random;
use crate::message::{
    Access, CachePort, CoreId, FlushKind, Line, LineBytes, MemoryRequest, News, Wake, WriteToken, xor,
};
use std::collections::{BTreeMap, HashMap, VecDeque};

/// A core's program: operations, each with its line.
pub(super) type Program = Vec<(u8, u64)>;

/// What happens at some time.
#[derive(Clone, Debug)]
enum Happens {
    Arrives(MemoryRequest),
    Answers { token: u32, bytes: LineBytes },
    Acks { line: Line, token: WriteToken, version: usize },
    AcksCounters { token: WriteToken },
    Loaded { core: CoreId, line: Line },
    Writes { core: CoreId, line: Line },
    Asks { core: CoreId },
    Begun { core: CoreId },
    Logged { core: CoreId },
    Incremented { core: CoreId, line: Line },
    OwnsAgain { core: CoreId, line: Line },
    Ended { core: CoreId },
}

/// What a core is waiting for, except its loads.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Waits {
    No,
    Own(Line),
    /// `acks` acknowledgements are missing.
    Flush {
        line: Line,
        version: usize,
        acks: u32,
    },
    Log(Line),
    End,
}

/// The world.
pub(super) struct World {
    caches: Hierarchy,
    on_chip: OnChip,
    random: Random,
    now: u64,
    sequence: u64,
    events: BTreeMap<(u64, u64), Happens>,
    /// Every value each line has had, oldest first; values never repeat.
    history: Vec<Vec<LineBytes>>,
    /// The core and transaction that wrote each version; `None` for the first.
    writers: Vec<Vec<Writer>>,
    /// For each core: the number of transactions begun, and the open one.
    begun: Vec<u32>,
    open: Vec<Option<Transaction>>,
    /// The line that flush_data is writing back.
    flushes_data: Option<Line>,
    log_entries: u64,
    /// The value that the last write sent to memory carried.
    sent: Vec<LineBytes>,
    /// What reads find: the writes that have arrived.
    memory: Vec<LineBytes>,
    /// Version in the persistence domain.
    persisted: Vec<usize>,
    last_ack: Vec<u64>,
    waits: Vec<Waits>,
    /// Whether old bytes of the core's line have been sent to the log manager.
    log_sent: Vec<bool>,
    begins_at: Vec<u64>,
    /// Whether the core's next store marks its line.
    marks: Vec<bool>,
    /// Lines that have been marked.
    marked: Vec<bool>,
    /// Versions that must have arrived before the requested write-backs of counters, oldest first.
    counters_asked: VecDeque<usize>,
    /// Write-backs of counters in flight, with those versions.
    counters_sent: HashMap<u32, usize>,
    programs: Vec<VecDeque<(u8, u64)>>,
    loads: HashMap<u32, (CoreId, Line)>,
    /// What the load of each core that is blocked knows.
    news: Vec<News>,
    stores: u64,
    keeps_bytes: bool,
    log: Vec<String>,
    checked: u64,
}

impl World {
    pub(super) fn new(machine: &Machine, parts: CacheParts<'_>, lines: u64, seed: u64, programs: &[Program]) -> Self {
        let (lines, cores) = (lines as usize, programs.len() as u16);
        let mut world = World {
            caches: Hierarchy::new(machine, cores, parts).unwrap(),
            on_chip: OnChip::new(machine, cores, parts, lines),
            random: Random::stream(seed, "memory"),
            now: 0,
            sequence: 0,
            events: BTreeMap::new(),
            history: vec![vec![[0; 64]]; lines],
            writers: vec![vec![None]; lines],
            begun: vec![0; usize::from(cores)],
            open: (0..cores).map(|_| None).collect(),
            flushes_data: None,
            log_entries: 0,
            sent: vec![[0; 64]; lines],
            memory: vec![[0; 64]; lines],
            persisted: vec![0; lines],
            last_ack: vec![0; lines],
            waits: vec![Waits::No; usize::from(cores)],
            log_sent: vec![false; usize::from(cores)],
            begins_at: vec![0; usize::from(cores)],
            marks: vec![false; usize::from(cores)],
            marked: vec![false; lines],
            counters_asked: VecDeque::new(),
            counters_sent: HashMap::new(),
            programs: programs.iter().map(|program| program.iter().copied().collect()).collect(),
            loads: HashMap::new(),
            news: vec![News::Unknown; usize::from(cores)],
            stores: 0,
            keeps_bytes: machine.engine.bytes,
            log: Vec::new(),
            checked: 0,
        };
        (0..cores).for_each(|core| world.at(0, Happens::Asks { core }));
        world
    }

    fn at(&mut self, time: u64, what: Happens) {
        self.sequence += 1;
        self.events.insert((time, self.sequence), what);
    }

    fn newest(&self, line: Line) -> LineBytes {
        *self.history[line.0 as usize].last().unwrap()
    }

    /// A new value for a line: replaces one of its eight words with a new number.
    fn fresh(&mut self, core: CoreId, line: Line) -> (usize, [u8; 8]) {
        self.stores += 1;
        self.writers[line.0 as usize].push(Some((core, self.begun[usize::from(core)])));
        let (offset, word) = (self.random.below(8) as usize * 8, self.stores.to_le_bytes());
        let mut bytes = self.newest(line);
        bytes[offset..offset + 8].copy_from_slice(&word);
        self.history[line.0 as usize].push(bytes);
        (offset, word)
    }

    /// Core `core` performs the next step of its program.
    fn ask(&mut self, core: CoreId) {
        let c = usize::from(core);
        if self.waits[c] != Waits::No {
            return;
        }
        let Some(&(what, number)) = self.programs[c].front() else { return };
        let (what, line) = (self.on_chip.instead_of(what), Line(number));
        let now = self.now;
        let later = now + 1 + self.random.below(3_000);
        let access = match what {
            0..=2 => {
                self.sequence += 1;
                let token = self.sequence as u32;
                let access = self.caches.load_again(now, core, line, token, self.news[c]);
                self.news[c] = News::Unknown;
                match access {
                    Access::At(at) => self.at(at, Happens::Loaded { core, line }),
                    Access::Pending => drop(self.loads.insert(token, (core, line))),
                    Access::Blocked(news) => self.news[c] = news,
                }
                access
            }
            3..=6 | 11 => {
                let access = self.caches.own(now, core, line, false);
                self.marks[c] = what == 11;
                match access {
                    Access::At(at) => {
                        self.waits[c] = Waits::Own(line);
                        self.at(at, Happens::Writes { core, line });
                    }
                    Access::Pending => self.waits[c] = Waits::Own(line),
                    Access::Blocked(_) => {}
                }
                access
            }
            7 => {
                self.caches.own(now, core, line, true);
                Access::At(now)
            }
            13 => {
                if self.open[c].is_none() {
                    self.begun[c] += 1;
                    self.open[c] = Some(Transaction::default());
                    self.caches.begin_transaction(now, core);
                }
                Access::At(now)
            }
            14 => {
                let access = self.caches.end_transaction(now, core);
                let open = self.open[c].take().is_some();
                assert_eq!(access, if open { Access::Pending } else { Access::At(now) });
                if open {
                    self.waits[c] = Waits::End;
                }
                access
            }
            8 | 9 | 12 | 15 => {
                let kind = match what {
                    9 => FlushKind::Invalidate,
                    15 => FlushKind::KeepWithCounter,
                    _ => FlushKind::Keep,
                };
                self.flushes_data = (what == 15).then_some(line);
                let version = self.history[number as usize].len() - 1;
                let access = self.caches.flush(now, core, line, kind);
                let mut acks = u32::from(access == Access::Pending);
                assert!(
                    acks == 1 || !self.keeps_bytes || self.persisted[number as usize] >= version,
                    "nothing to flush, yet not persisted"
                );
                if what == 12 || what == 15 {
                    self.caches.counter_writeback(now, core, line);
                    self.counters_asked.push_back(version);
                    acks += 1;
                }
                if acks > 0 {
                    self.waits[c] = Waits::Flush { line, version, acks };
                }
                access
            }
            _ => {
                self.fresh(core, line);
                let bytes = self.newest(line);
                let version = self.history[number as usize].len() - 1;
                self.caches.write_around(now, core, line, &bytes);
                self.waits[c] = Waits::Flush { line, version, acks: 1 };
                Access::Pending
            }
        };
        self.log.push(format!("{now} {core} {what} {number} {access:?}"));
        if matches!(access, Access::Blocked(_)) {
            return;
        }
        self.programs[c].pop_front();
        self.at(later, Happens::Asks { core });
    }

    fn happen(&mut self, what: Happens) {
        let now = self.now;
        match what {
            Happens::Asks { core } => self.ask(core),
            Happens::Loaded { core, line } => {
                if let Some(bytes) = self.caches.peek(core, line) {
                    self.checked += 1;
                    assert!(!self.keeps_bytes || bytes == self.newest(line));
                }
            }
            Happens::Writes { core, line } => {
                if self.log_first(core, line) {
                    self.waits[usize::from(core)] = Waits::Log(line);
                    return self.settle();
                }
                self.on_chip.stored(line);
                let (offset, word) = self.fresh(core, line);
                if self.marks[usize::from(core)] {
                    self.marked[line.0 as usize] = true;
                    self.caches.mark_counter_atomic(line);
                }
                self.caches.write(now, core, line, offset, &word);
                self.waits[usize::from(core)] = Waits::No;
                self.at(now, Happens::Asks { core });
            }
            Happens::Arrives(MemoryRequest::IncrementCounter { core, line, .. }) => {
                let at = now + 1 + self.random.below(100_000);
                self.at(at, Happens::Incremented { core, line });
            }
            Happens::Incremented { core, line } => {
                self.on_chip.incremented(line);
                self.caches.counter_incremented(now, core);
            }
            Happens::Arrives(MemoryRequest::BeginTransaction { core, .. }) => {
                let at = now + 1 + self.random.below(100_000);
                self.begins_at[usize::from(core)] = at;
                self.at(at, Happens::Begun { core });
            }
            Happens::Arrives(MemoryRequest::Log { core, .. }) => {
                let at = now + 1 + self.random.below(100_000);
                self.at(at, Happens::Logged { core });
            }
            Happens::Arrives(MemoryRequest::EndTransaction { core, .. }) => {
                // Never before it has begun.
                let at = self.begins_at[usize::from(core)].max(now) + 1 + self.random.below(100_000);
                self.at(at, Happens::Ended { core });
            }
            // As a core does: another may have read the line meanwhile.
            Happens::OwnsAgain { core, line } => match self.caches.own(now, core, line, false) {
                Access::At(at) => {
                    self.waits[usize::from(core)] = Waits::Own(line);
                    self.at(at, Happens::Writes { core, line });
                }
                // It kept the line only if its old bytes were under way.
                Access::Pending => self.waits[usize::from(core)] = Waits::Own(line),
                Access::Blocked(_) => self.at(now + 1_000, Happens::OwnsAgain { core, line }),
            },
            Happens::Begun { core } => self.caches.transaction_begun(now, core),
            Happens::Logged { core } => self.caches.logged(now, core),
            Happens::Ended { core } => self.caches.transaction_ended(now, core),
            Happens::Arrives(MemoryRequest::Read { line, token, .. }) => {
                let bytes = self.memory[line.0 as usize];
                let at = now + 1 + self.random.below(80_000);
                self.at(at, Happens::Answers { token, bytes });
            }
            Happens::Arrives(MemoryRequest::Write { line, bytes, cache_pad, token, .. }) => {
                let (l, bytes) = (line.0 as usize, xor(&bytes, &cache_pad));
                self.memory[l] = bytes;
                let version = self.history[l].iter().position(|value| *value == bytes);
                assert!(!self.keeps_bytes || version.is_some(), "memory got bytes that line {l} never had");
                // Acknowledgements of one line keep the order of its writes.
                let at = (now + 1 + self.random.below(200_000)).max(self.last_ack[l] + 1);
                self.last_ack[l] = at;
                self.at(at, Happens::Acks { line, token, version: version.unwrap_or(0) });
            }
            Happens::Arrives(MemoryRequest::ZeroPage { .. }) => {
                unreachable!("no core here has a page filled with zeros")
            }
            Happens::Arrives(MemoryRequest::CounterWriteback { line, token, .. }) => {
                let covered = self.counters_sent.remove(&token.0).expect("each arrives once");
                let arrived =
                    self.history[line.0 as usize].iter().position(|value| *value == self.memory[line.0 as usize]);
                assert!(!self.keeps_bytes || arrived >= Some(covered), "counters overtook an earlier flush");
                let at = now + 1 + self.random.below(200_000);
                self.at(at, Happens::AcksCounters { token });
            }
            Happens::AcksCounters { token } => self.caches.write_acked(now, token),
            Happens::Answers { token, bytes } => self.caches.read_done(now, token, &bytes),
            Happens::Acks { line, token, version } => {
                let persisted = &mut self.persisted[line.0 as usize];
                assert!(!self.keeps_bytes || version >= *persisted, "memory went back in time");
                *persisted = version;
                self.caches.write_acked(now, token);
            }
        }
        self.settle();
    }

    /// Prepares a store of `core` to `line`; returns true if it must wait for the log or for a counter.
    fn log_first(&mut self, core: CoreId, line: Line) -> bool {
        let (c, l) = (usize::from(core), line.0 as usize);
        let access = self.caches.prepare_store(self.now, core, line);
        if access == Access::Pending {
            return true;
        }
        assert_eq!(access, Access::At(self.now));
        let Some(transaction) = &self.open[c] else { return false };
        transaction.check_store(line, &self.writers[l], Some((core, self.begun[c])));
        false
    }

    /// After an event: routes everything between stages, and checks the rules.
    fn settle(&mut self) {
        self.drain();
        for (core, transaction) in self.open.iter_mut().enumerate() {
            if let Some(transaction) = transaction {
                transaction.keep(|line| self.caches.l1[core].find(line).is_some());
            }
        }
        if self.keeps_bytes {
            self.check();
        }
    }

    fn drain(&mut self) {
        let requests: Vec<_> = self.caches.requests().collect();
        for request in requests {
            // What is told of requests ends before their bytes.
            let told = format!("{} {request:?}", self.now);
            let end = told.find("bytes: ").or(told.find("old: ")).unwrap_or(told.len());
            self.log.push(told[..end].to_string());
            let at = match request {
                MemoryRequest::Read { at, .. } => at,
                MemoryRequest::Log { at, core, line, old } => {
                    let version = self.history[line.0 as usize].len() - 1;
                    assert!(!self.keeps_bytes || old == self.newest(line), "what was logged is what the line holds");
                    let transaction = self.open[usize::from(core)].as_mut().expect("it logs in a transaction");
                    transaction.sent(line, version);
                    self.log_sent[usize::from(core)] = true;
                    self.log_entries += 1;
                    at
                }
                MemoryRequest::BeginTransaction { at, .. } | MemoryRequest::EndTransaction { at, .. } => at,
                MemoryRequest::IncrementCounter { at, line, .. } => {
                    self.on_chip.asks(line);
                    at
                }
                MemoryRequest::Write { at, line, bytes, cache_pad, counter_atomic, .. } => {
                    let newest = self.newest(line);
                    self.sent[line.0 as usize] = self.on_chip.leaves(line, &bytes, &cache_pad, newest);
                    let expected = self.marked[line.0 as usize] || self.flushes_data == Some(line);
                    assert_eq!(counter_atomic, expected, "the mark of line {}", line.0);
                    at
                }
                MemoryRequest::ZeroPage { at, .. } => at,
                MemoryRequest::CounterWriteback { at, token, .. } => {
                    self.counters_sent.insert(token.0, self.counters_asked.pop_front().expect("somebody asked"));
                    at
                }
            };
            self.at(at, Happens::Arrives(request));
        }
        self.flushes_data = None;
        let mut wakes = Vec::new();
        self.caches.take_wakes(&mut wakes);
        for (core, wake) in wakes {
            self.log.push(format!("{} {core} {wake:?}", self.now));
            let c = usize::from(core);
            match wake {
                Wake::Load { token, at } => {
                    let (asked_by, line) = self.loads.remove(&token).expect("a load woken once");
                    assert_eq!(asked_by, core);
                    self.at(at, Happens::Loaded { core, line });
                }
                Wake::Prepared { at } => {
                    let Waits::Log(line) = self.waits[c] else { panic!("no store waits") };
                    if std::mem::replace(&mut self.log_sent[c], false) {
                        self.open[c].as_mut().expect("it waits in a transaction").taken(line);
                    }
                    self.at(at, Happens::OwnsAgain { core, line });
                }
                Wake::TransactionEnded { at } => {
                    assert_eq!(self.waits[c], Waits::End);
                    self.waits[c] = Waits::No;
                    self.at(at, Happens::Asks { core });
                }
                Wake::Store { line, at } => {
                    assert_eq!(self.waits[c], Waits::Own(line));
                    self.at(at, Happens::Writes { core, line });
                }
                Wake::Flush { at, .. } => {
                    let Waits::Flush { line, version, acks } = self.waits[c] else { panic!("nobody flushed") };
                    if acks > 1 {
                        self.waits[c] = Waits::Flush { line, version, acks: acks - 1 };
                        continue;
                    }
                    assert!(!self.keeps_bytes || self.persisted[line.0 as usize] >= version, "acked too early");
                    self.waits[c] = Waits::No;
                    self.at(at, Happens::Asks { core });
                }
                Wake::Retry { at } => self.at(at, Happens::Asks { core }),
            }
        }
    }

    /// Checks that every core sees the newest value of every line, in a cache or in the last write sent to memory.
    fn check(&self) {
        let on_chip = self.caches.on_chip();
        self.on_chip.check(&on_chip);
        for line in (0..self.history.len() as u64).map(Line) {
            for core in 0..self.waits.len() {
                let seen = self.caches.peek(core as CoreId, line).unwrap_or(self.sent[line.0 as usize]);
                assert_eq!(seen, self.newest(line), "core {core}, line {} at {}", line.0, self.now);
            }
            let l = line.0 as usize;
            let safe = self.persisted[l] == self.history[l].len() - 1;
            let listed = on_chip.iter().find(|dirty| dirty.line == line);
            self.on_chip.check_line(line, listed, safe);
            if let Some(dirty) = listed {
                assert_eq!(dirty.plaintext, self.newest(line), "the first copy listed is the newest");
            } else {
                assert!(safe || self.sent[l] == self.newest(line), "an unsaved line is not listed");
            }
        }
    }

    pub(super) fn run(mut self) -> Vec<String> {
        self.run_dry();
        assert!(self.programs.iter().all(VecDeque::is_empty), "some core is stuck: {:?}", self.waits);
        if !self.on_chip.flush_free() {
            self.flush_all();
        }
        let asked = self.log_entries + self.on_chip.increments;
        self.log.push(format!("{:?} {} {asked}", self.caches.counts(), self.checked));
        self.log
    }

    fn flush_all(&mut self) {
        // Whatever is still dirty reaches memory when flushed.
        self.programs[0] = (0..self.history.len() as u64).map(|line| (8, line)).collect();
        self.at(self.now, Happens::Asks { core: 0 });
        self.run_dry();
        assert!(self.caches.on_chip().is_empty());
        if self.keeps_bytes {
            for (line, history) in self.history.iter().enumerate() {
                assert_eq!(self.persisted[line], history.len() - 1, "line {line} is not in memory");
                assert_eq!(self.memory[line], *history.last().unwrap());
            }
        }
    }

    fn run_dry(&mut self) {
        while let Some(((time, _), what)) = self.events.pop_first() {
            self.now = time;
            self.happen(what);
        }
        assert!(self.loads.is_empty() && self.caches.idle(), "something still waits");
        assert!(self.waits.iter().all(|waits| *waits == Waits::No));
    }
}

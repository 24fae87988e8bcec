//! What a power failure would leave of a transaction's log and of its data, by the transaction's stage: Tables 1 and 2
//! of secpm, measured. Each has four cells:
//!
//! - content: the media hold the line, encrypted or not, with the bytes that the newest completed fence over it covers,
//!   or with newer ones;
//! - counter: the durable counter is the one that these bytes were encrypted with.
//!
//! In the stage that writes the lines (Prepare the log, Mutate the data), they may hold their old bytes or the new
//! ones: those that do not hold the new ones yet are pending. The papers assume that the memory is intact before a
//! transaction; if an earlier transaction has lost some of it, that is counted here, too.
//!
//! Counting is incremental: lines are checked again when something happened to them, their counter block or their
//! fences, and each crash point adds sums.

use super::counter::{AuditedCounter, CounterCipher};
use super::durable::Durable;
use super::explain::find_counter;
use super::line_record::Id;
use super::lines::Lines;
use super::transaction::{Stage, Transactions};
use crate::message::{CoreId, Line, LineBytes, MediaLine, MediaUnit};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::VecDeque;

/// Most writes of one line that are remembered; one that persists is among the last few.
const ARRIVED_MAX: usize = 16;

/// Counts over a transaction's log or its data at all crash points: each line counts once at each of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
#[schemars(rename = "Part")]
pub struct PartTally {
    /// Number of lines.
    pub lines: u64,
    /// Lines that the stage must write and whose content is not there yet.
    pub pending: u64,
    /// Lines whose durable content is older than the newest completed fence over them requires, or is unknown.
    pub content_lost: u64,
    /// Lines whose durable counter is not the one that the durable content was encrypted with; null without counters.
    pub counter_lost: Option<u64>,
}

/// The crash points at which a transaction was in one stage. With several cores, a point counts for each of them in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct StageTally {
    /// "prepare", "mutate" or "commit".
    pub stage: &'static str,
    /// Number of crash points in the stage.
    pub crash_points: u64,
    /// Crash points after which a rule was broken.
    pub failed: u64,
    /// Crash points after which the program's recovery left its heap neither as before nor as after a transaction: the
    /// opposite of the tables' "recoverable". The program may recover although another rule is broken, most often about
    /// pads.
    pub unrecoverable: u64,
    /// The lines of the transaction's log entry; null if caches are in the persistence domain.
    pub log: Option<PartTally>,
    /// The lines that it writes in place; null if caches are in the persistence domain.
    pub data: Option<PartTally>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Log,
    Data,
}

/// What was found for one line.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Found {
    pending: bool,
    content_lost: bool,
    counter_lost: bool,
}

/// What a ciphertext decrypts to.
#[derive(Clone, Copy)]
struct Reading {
    content: LineBytes,
    counter: AuditedCounter,
}

struct Watched {
    id: Id,
    part: Part,
    /// What the transaction will write there.
    target: LineBytes,
    found: Found,
    stale: bool,
    /// The ciphertext that was read last, and what it decrypts to; `None` if it is unknown.
    read: Option<(LineBytes, Option<Reading>)>,
}

/// The transaction in flight of one core.
struct InFlight {
    core: CoreId,
    watched: Vec<Watched>,
    stale: Vec<usize>,
    /// Sums over the lines of the log and of the data.
    sums: [PartTally; 2],
}

/// The counts of a run, by stage.
pub(super) struct Stages {
    cores: Vec<InFlight>,
    /// The core that watches a line, and its position there.
    places: FxHashMap<Id, (usize, usize)>,
    /// The last plaintexts that the controller received for each line, oldest first.
    arrived: FxHashMap<Line, VecDeque<LineBytes>>,
    tallies: [StageTally; 3],
    /// The stages that the last crash point was counted for.
    last: Vec<usize>,
    /// Whether lines are checked; not if caches are in the persistence domain, because the drain changes what is there.
    looks: bool,
}

const STAGES: [Stage; 3] = [Stage::Prepare, Stage::Mutate, Stage::Commit];

impl Stages {
    /// Counts for programs of `cores`; log and data are checked if `looks`.
    pub fn new(cores: &[CoreId], looks: bool) -> Self {
        let in_flight =
            |&core| InFlight { core, watched: Vec::new(), stale: Vec::new(), sums: [PartTally::default(); 2] };
        let part = looks.then(PartTally::default);
        Self {
            cores: cores.iter().map(in_flight).collect(),
            places: FxHashMap::default(),
            arrived: FxHashMap::default(),
            tallies: STAGES.map(|stage| StageTally {
                stage: stage.name().unwrap_or_default(),
                crash_points: 0,
                failed: 0,
                unrecoverable: 0,
                log: part,
                data: part,
            }),
            last: Vec::new(),
            looks,
        }
    }

    /// Records what the next transaction of `core` will write, to its log and to its data.
    pub fn began(&mut self, core: CoreId, [log, data]: [&[(Id, LineBytes)]; 2]) {
        let Some(place) = self.cores.iter().position(|of| of.core == core).filter(|_| self.looks) else { return };
        let of = &mut self.cores[place];
        for old in of.watched.drain(..) {
            self.places.remove(&old.id);
        }
        let watch = |part| {
            move |&(id, target): &(Id, LineBytes)| Watched {
                id,
                part,
                target,
                found: Found::default(),
                stale: true,
                read: None,
            }
        };
        of.watched.extend(log.iter().map(watch(Part::Log)));
        of.watched.extend(data.iter().map(watch(Part::Data)));
        of.stale = (0..of.watched.len()).collect();
        of.sums = [Part::Log, Part::Data].map(|part| PartTally {
            lines: of.watched.iter().filter(|watched| watched.part == part).count() as u64,
            ..PartTally::default()
        });
        self.places.extend(of.watched.iter().enumerate().map(|(n, watched)| (watched.id, (place, n))));
    }

    /// Handles that the controller received a write.
    pub fn arrived(&mut self, line: Line, plaintext: &LineBytes) {
        if !self.looks {
            return;
        }
        let arrived = self.arrived.entry(line).or_default();
        if arrived.len() == ARRIVED_MAX {
            arrived.pop_front();
        }
        arrived.push_back(*plaintext);
    }

    /// Marks the line for a new check.
    pub fn touch(&mut self, id: Id) {
        if let Some(&(core, place)) = self.places.get(&id) {
            self.cores[core].touch(place);
        }
    }

    /// Marks every line for a new check.
    pub fn touch_all(&mut self) {
        for of in &mut self.cores {
            (0..of.watched.len()).for_each(|place| of.touch(place));
        }
    }

    /// Handles a change of the durable bytes of a line or of a counter block.
    pub fn media_changed(&mut self, lines: &Lines, media: MediaLine) {
        match media.unit() {
            MediaUnit::Data(line) => {
                if let Some(id) = lines.find(line) {
                    self.touch(id);
                }
            }
            MediaUnit::Counter(block) => {
                let coverage = lines.coverage();
                for of in &mut self.cores {
                    for place in 0..of.watched.len() {
                        if coverage.block(lines.record(of.watched[place].id).line) == block {
                            of.touch(place);
                        }
                    }
                }
            }
            MediaUnit::Mac(_) | MediaUnit::Node(_) | MediaUnit::Table(_) | MediaUnit::Modified(_) => {}
        }
    }

    /// Counts a crash point, as it was last judged.
    pub fn tally(&mut self, lines: &Lines, durable: &Durable, transactions: &Transactions, recovers: bool) {
        self.last.clear();
        for of in &mut self.cores {
            let now = transactions.stage(of.core);
            let Some(place) = STAGES.iter().position(|&stage| stage == now) else { continue };
            self.last.push(place);
            of.look(lines, durable, &self.arrived);
            let tally = &mut self.tallies[place];
            tally.crash_points += 1;
            tally.failed += u64::from(!recovers);
            tally.unrecoverable += u64::from(transactions.is_bad(of.core));
            let parts = [(&mut tally.log, Stage::Prepare), (&mut tally.data, Stage::Mutate)];
            for ((part, writes), sum) in parts.into_iter().zip(&of.sums) {
                let Some(part) = part else { continue };
                part.lines += sum.lines;
                part.pending += if now == writes { sum.pending } else { 0 };
                part.content_lost += sum.content_lost;
                if durable.cipher().is_some() {
                    *part.counter_lost.get_or_insert(0) += sum.counter_lost.unwrap_or(0);
                }
            }
        }
    }

    /// Corrects the last crash point: it failed.
    pub fn failed(&mut self) {
        for &place in &self.last {
            self.tallies[place].failed += 1;
        }
    }

    /// The counts of all stages.
    pub fn tallies(&self) -> Vec<StageTally> {
        self.tallies.to_vec()
    }
}

impl InFlight {
    fn touch(&mut self, place: usize) {
        if !std::mem::replace(&mut self.watched[place].stale, true) {
            self.stale.push(place);
        }
    }

    /// Checks the lines that something happened to.
    fn look(&mut self, lines: &Lines, durable: &Durable, arrived: &FxHashMap<Line, VecDeque<LineBytes>>) {
        for place in self.stale.drain(..) {
            let watched = &mut self.watched[place];
            watched.stale = false;
            let before = watched.found;
            watched.found = watched.look(lines, durable, arrived.get(&lines.record(watched.id).line));
            let sum = &mut self.sums[watched.part as usize];
            let change = |sum: &mut u64, before, now| *sum = *sum + u64::from(now) - u64::from(before);
            change(&mut sum.pending, before.pending, watched.found.pending);
            change(&mut sum.content_lost, before.content_lost, watched.found.content_lost);
            change(sum.counter_lost.get_or_insert(0), before.counter_lost, watched.found.counter_lost);
        }
    }
}

impl Watched {
    fn look(&mut self, lines: &Lines, durable: &Durable, arrived: Option<&VecDeque<LineBytes>>) -> Found {
        let record = lines.record(self.id);
        let history = &record.history;
        let (content, counter_lost) = match durable.cipher() {
            None => (Some(record.durable.plain), false),
            Some(cipher) => {
                let reading = self.reading(lines, cipher, durable, arrived);
                let effective = lines.cell(record.line).map(|cell| cell.effective);
                (
                    reading.map(|reading| reading.content),
                    reading.is_none_or(|reading| Some(reading.counter) != effective),
                )
            }
        };
        let kept = content.is_some_and(|content| content == history.covered || history.later.contains(&content));
        Found { pending: content != Some(self.target), content_lost: !kept, counter_lost }
    }

    /// Decrypts what is on the media, or would be when power is lost.
    fn reading(
        &mut self,
        lines: &Lines,
        cipher: &CounterCipher,
        durable: &Durable,
        arrived: Option<&VecDeque<LineBytes>>,
    ) -> Option<Reading> {
        let record = lines.record(self.id);
        let populated = lines.base(record.line);
        let base = populated.copied().unwrap_or([0; 64]);
        let Some(stored) = record.durable.stored.as_ref() else {
            let counter = if populated.is_some() { cipher.base() } else { AuditedCounter::NEVER };
            return Some(Reading { content: base, counter });
        };
        if let Some((read, reading)) = self.read
            && read == *stored
        {
            return reading;
        }
        let history = &record.history;
        let known = |bytes: &LineBytes| {
            *bytes == history.covered
                || history.later.contains(bytes)
                || base == *bytes
                || arrived.is_some_and(|arrived| arrived.contains(bytes))
        };
        let effective = lines.cell(record.line).map_or(AuditedCounter::NEVER, |cell| cell.effective);
        let modified = record.durable.modified;
        let decrypted =
            |counter| Reading { content: cipher.apply_words(record.line, counter, stored, modified), counter };
        let counter = if !cipher.reads_as_zeros(effective) && known(&record.durable.plain) {
            Some(effective)
        } else {
            let fits = |counter: &AuditedCounter| known(&decrypted(*counter).content);
            find_counter(lines, cipher, durable, record.line, fits)
        };
        let reading = counter.map(decrypted);
        self.read = Some((*stored, reading));
        reading
    }
}

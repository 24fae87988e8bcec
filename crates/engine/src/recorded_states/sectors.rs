//! Files on a disk. A sector reaches it whole, as it was at some moment, and only the kernel makes that sure (`fsync`,
//! `fdatasync`, `msync`, `O_DSYNC`): flushes and fences of the program reach the page cache and no further. What one operation
//! stores to a sector becomes durable together.

use super::contents::{Content, Contents};
use super::line::Pending;
use super::memory::Memory;
use super::together::{Age, Joint, Together};
use crate::message::LINE_BYTES;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Most lines of a crash point that may be lost or kept; all others have arrived.
const LINES_MAX: usize = 128;
/// Most moments of a sector that are told apart: the oldest, and the newest.
const WAYS_MAX: usize = u64::BITS as usize;

/// The sectors.
pub(super) struct Sectors {
    lines: u64,
    record: u64,
    /// Steps of stores that go on with the operation of the step before.
    continued: FxHashSet<u64>,
}

/// A line of a sector that may hold more than one thing.
pub(super) struct OfSector {
    pub number: u32,
    pub contents: Rc<Contents>,
    pub joint: Joint,
}

impl Sectors {
    /// Of so many bytes each, whole lines.
    pub fn new(bytes: u64) -> Self {
        Self { lines: bytes / LINE_BYTES, record: 0, continued: FxHashSet::default() }
    }

    /// A store at this step, by this record of the trace.
    pub fn stored(&mut self, record: u64, step: u64) {
        if std::mem::replace(&mut self.record, record) == record {
            self.continued.insert(step);
        }
    }

    /// The lines that may hold more than one thing, and how their contents go together.
    pub fn lines(&self, memory: &mut Memory<'_>, most: usize) -> (Vec<OfSector>, Together) {
        let mut sectors: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
        let mut newest = Vec::new();
        for &number in memory.pending.values().rev() {
            let sector = memory.lines[number as usize].line.0 / self.lines;
            let known = sectors.entry(sector).or_default();
            if known.is_empty() {
                newest.push(sector);
            }
            known.push(number);
        }
        let mut together = Together { atomic: true, ..Together::default() };
        let mut found = Vec::new();
        for sector in newest {
            let numbers = &sectors[&sector];
            if found.len() + numbers.len() > most.min(LINES_MAX).max(numbers.len()) {
                together.complete = false;
                break;
            }
            self.add(memory, numbers, &mut together, &mut found);
        }
        found.reverse();
        (found, together)
    }

    /// Adds the lines of one sector.
    fn add(&self, memory: &mut Memory<'_>, numbers: &[u32], together: &mut Together, found: &mut Vec<OfSector>) {
        let all: Vec<Rc<Contents>> =
            numbers.iter().map(|&number| memory.lines[number as usize].pending.contents()).collect();
        let pending = |number: u32| &memory.lines[number as usize].pending;
        let (moments, complete) = self.moments(numbers.iter().map(|&number| pending(number)));
        together.complete &= complete;
        // What each line holds at each moment; a moment at which the sector is as at a later one is left out.
        let mut ways: Vec<Vec<usize>> = Vec::new();
        for moment in moments {
            let held: Vec<usize> = all.iter().map(|contents| at(contents, moment)).collect();
            if !ways.contains(&held) {
                ways.push(held);
            }
        }
        if ways.len() > WAYS_MAX {
            together.complete = false;
            ways.drain(WAYS_MAX - 1..ways.len() - 1);
        }
        if ways.len() < 2 {
            return;
        }
        let group = together.groups.len();
        together.groups.push(ways.len());
        for (line, (&number, contents)) in numbers.iter().zip(&all).enumerate() {
            let of_line: Vec<usize> = ways.iter().map(|way| way[line]).collect();
            let (contents, joint) = restricted(contents, &of_line, group);
            if contents.open() {
                found.push(OfSector { number, contents: Rc::new(contents), joint });
            }
        }
    }

    /// The steps up to which a sector may have reached the disk, the newest first, and whether they are all.
    fn moments<'p>(&self, lines: impl Iterator<Item = &'p Pending>) -> (Vec<u64>, bool) {
        let (mut steps, mut complete) = (Vec::new(), true);
        for line in lines {
            complete &= !line.joined;
            steps.extend(line.stores.iter().map(|stored| stored.step));
        }
        steps.sort_unstable();
        let goes_on = |pair: &&[u64]| pair[1] == pair[0] + 1 && self.continued.contains(&pair[1]);
        let mut moments: Vec<u64> = steps.windows(2).filter(|pair| !goes_on(pair)).map(|pair| pair[0]).collect();
        moments.extend(steps.last());
        moments.reverse();
        moments.push(0);
        (moments, complete)
    }
}

/// What a line holds once everything up to this step has arrived.
fn at(contents: &Contents, moment: u64) -> usize {
    let arrived = contents.arrivals.iter().rev().find(|(step, _)| *step <= moment);
    arrived.map_or(contents.base, |&(_, content)| content)
}

/// The contents of a line that are those of a way, `ways`: by way, the newest first.
fn restricted(contents: &Contents, ways: &[usize], group: usize) -> (Contents, Joint) {
    let (mut list, mut modes, mut ages): (Vec<Content>, Vec<u64>, Vec<Age>) = Default::default();
    let mut places: FxHashMap<usize, usize> = FxHashMap::default();
    for (way, &content) in ways.iter().enumerate() {
        let place = *places.entry(content).or_insert_with(|| {
            list.push(contents.list[content].clone());
            modes.push(0);
            ages.push(Age { version: ways.len() - way, rank: 0 });
            list.len() - 1
        });
        modes[place] |= 1 << way;
    }
    let base = places[ways.last().expect("there is a way")];
    let arrivals = contents.arrivals.iter().filter_map(|(step, content)| Some((*step, *places.get(content)?)));
    let (arrivals, bits) = (arrivals.collect(), (list.len() as f64).log2());
    let busy = vec![false; list.len()];
    (Contents { list, base, complete: true, bits, arrivals }, Joint { group, modes, busy, ages })
}

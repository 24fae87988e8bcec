//! All that one line may hold after a power failure.

use super::line::{Pending, Stored};
use crate::message::LineBytes;

/// Most contents of one line that are listed.
const CONTENTS_MAX: usize = 256;
/// Most words that were stored past the caches of which every combination is listed.
const FREE_WORDS_MAX: usize = 4;
/// Most words of one store of which every part is listed.
const TORN_WORDS_MAX: u32 = 4;

/// What a line may hold.
#[derive(Clone, Debug)]
pub(super) struct Content {
    pub bytes: LineBytes,
    /// The newest store that is not there, or not wholly, by its index among the pending ones.
    pub lost: Option<usize>,
    /// The newest store that is there, at least in part, without being surely durable.
    pub kept: Option<usize>,
    /// The newest cached store that is there in part.
    pub torn: Option<usize>,
}

/// The contents of a line, each once.
#[derive(Debug)]
pub(super) struct Contents {
    /// The first one has every store.
    pub list: Vec<Content>,
    /// The index of the one that has nothing but what is surely durable.
    pub base: usize,
    /// Whether the list is complete.
    pub complete: bool,
    /// The logarithm to base 2 of their number; of an upper bound if the list is not complete.
    pub bits: f64,
    /// The step of each store, with the index of the content once it and all earlier ones have arrived.
    pub arrivals: Vec<(u64, usize)>,
}

/// For each pending store, which of its words are there.
type There = Vec<u8>;

impl Contents {
    pub fn of(line: &Pending) -> Self {
        match line.stores.iter().any(|stored| stored.past_caches) {
            true => Self::mixed(line),
            false => Self::cached(line),
        }
    }

    /// If every store goes through the caches: what the line held after each, and between them if they are large.
    fn cached(line: &Pending) -> Self {
        let last = line.stores.len().checked_sub(1);
        let lost_last = last.filter(|&last| line.can_lose(&line.stores[last]));
        let mut found = Found { line, list: Vec::new() };
        found.content(line.newest, None, last, None);
        let mut complete = !line.joined;
        let mut count = 1.0;
        let mut arrivals = Vec::with_capacity(line.stores.len());
        let mut bytes = *line.base();
        for (index, stored) in line.stores.iter().enumerate() {
            stored.put(&mut bytes, u8::MAX);
            let lost = lost_last.filter(|last| index < *last);
            let content = found.content(bytes, lost, Some(index), None);
            complete &= content.is_some();
            count += 1.0;
            arrivals.push((stored.step, content.unwrap_or(0)));
        }
        let base = found.content(*line.base(), lost_last, None, None).unwrap_or(0);
        bytes = *line.base();
        for (index, stored) in line.stores.iter().enumerate() {
            if let Some(torn) = Torn::of(stored) {
                count += torn.count;
                complete &= torn.complete;
                for part in torn.parts {
                    let mut some = bytes;
                    stored.put(&mut some, part);
                    complete &= found.content(some, lost_last, Some(index), Some(index)).is_some();
                }
            }
            stored.put(&mut bytes, u8::MAX);
        }
        let bits = if complete { (found.list.len() as f64).log2() } else { count.log2() };
        Self { list: found.list, base, complete, bits, arrivals }
    }

    /// If some stores go past the caches.
    fn mixed(line: &Pending) -> Self {
        let mut found = Found { line, list: Vec::new() };
        let newest = found.add(&everything(line));
        debug_assert_eq!(newest, Some(0));
        let mut complete = !line.joined;
        let mut arrivals = Vec::with_capacity(line.stores.len());
        for (index, stored) in line.stores.iter().enumerate().filter(|(_, stored)| !stored.covered) {
            let there = line.stores.iter().enumerate();
            let there = there.map(|(at, of)| if of.covered || at <= index { of.words() } else { 0 }).collect();
            let content = found.add(&there);
            complete &= content.is_some();
            arrivals.push((stored.step, content.unwrap_or(0)));
        }
        let nothing: There = line.stores.iter().map(|of| if of.covered { of.words() } else { 0 }).collect();
        let base = found.add(&nothing).unwrap_or(0);
        let cached = Cached::of(line);
        let free = Free::of(line);
        for of_cached in &cached.ways {
            for of_free in &free.ways {
                let there: There = of_cached.iter().zip(of_free).map(|(cached, free)| cached | free).collect();
                complete &= found.add(&there).is_some();
            }
        }
        complete &= cached.complete && free.complete;
        let bits = if complete { (found.list.len() as f64).log2() } else { cached.count.log2() + free.words as f64 };
        Self { list: found.list, base, complete, bits, arrivals }
    }

    /// Whether the line may hold more than one thing.
    pub fn open(&self) -> bool {
        self.list.len() > 1
    }
}

fn everything(line: &Pending) -> There {
    line.stores.iter().map(Stored::words).collect()
}

/// The contents found so far.
struct Found<'a> {
    line: &'a Pending,
    list: Vec<Content>,
}

impl Found<'_> {
    /// The index of the content that has these words; `None` if there is no room for it.
    fn add(&mut self, there: &There) -> Option<usize> {
        let mut bytes = *self.line.base();
        let (mut lost, mut kept, mut torn) = (None, None, None);
        for (index, (stored, &words)) in self.line.stores.iter().zip(there).enumerate() {
            stored.put(&mut bytes, words);
            if words != stored.words() && self.line.can_lose(stored) {
                lost = Some(index);
            }
            if words != 0 && !stored.covered {
                kept = Some(index);
            }
            if words != 0 && words != stored.words() && !stored.past_caches {
                torn = Some(index);
            }
        }
        self.content(bytes, lost, kept, torn)
    }

    /// The index of this content; `None` if there is no room for it.
    fn content(
        &mut self,
        bytes: LineBytes,
        lost: Option<usize>,
        kept: Option<usize>,
        torn: Option<usize>,
    ) -> Option<usize> {
        if let Some(known) = self.list.iter().position(|content| content.bytes == bytes) {
            return Some(known);
        }
        if self.list.len() >= CONTENTS_MAX {
            return None;
        }
        self.list.push(Content { bytes, lost, kept, torn });
        Some(self.list.len() - 1)
    }
}

/// What may be there of the stores through the caches: the first ones, and of the next one some words.
struct Cached {
    ways: Vec<There>,
    count: f64,
    complete: bool,
}

impl Cached {
    fn of(line: &Pending) -> Self {
        let stores = &line.stores;
        let order: Vec<usize> = (0..stores.len()).filter(|&at| !stores[at].past_caches).collect();
        let sure = order.iter().filter(|&&at| stores[at].covered).count();
        let mut found = Self { ways: Vec::new(), count: 0.0, complete: true };
        let whole = |length: usize| {
            let mut there = vec![0; stores.len()];
            order[..length].iter().for_each(|&at| there[at] = stores[at].words());
            there
        };
        for length in (sure..=order.len()).rev() {
            found.ways.push(whole(length));
            found.count += 1.0;
        }
        for length in (sure..order.len()).rev() {
            let next = order[length];
            let Some(torn) = Torn::of(&stores[next]) else { continue };
            found.count += torn.count;
            found.complete &= torn.complete;
            for part in torn.parts {
                let mut there = whole(length);
                there[next] = part;
                found.ways.push(there);
            }
        }
        found
    }
}

/// The proper parts of a store of several words.
struct Torn {
    /// All of them if there are few words, otherwise each word alone and all but each word.
    parts: Vec<u8>,
    count: f64,
    complete: bool,
}

impl Torn {
    /// `None` if the store becomes durable as a whole.
    fn of(stored: &Stored) -> Option<Self> {
        let words = stored.words();
        let number = words.count_ones();
        if stored.joined || number < 2 {
            return None;
        }
        let complete = number <= TORN_WORDS_MAX;
        let parts = if complete {
            (1..words).filter(|part| part & !words == 0).collect()
        } else {
            let each = (0..8).map(|word| 1 << word).filter(|word: &u8| word & words != 0);
            each.flat_map(|word| [word, words & !word]).collect()
        };
        Some(Self { parts, count: f64::from(number).exp2() - 2.0, complete })
    }
}

/// What may be there of the stores past the caches: any words.
struct Free {
    ways: Vec<There>,
    words: usize,
    complete: bool,
}

impl Free {
    fn of(line: &Pending) -> Self {
        let stores = &line.stores;
        let past = |stored: &Stored| stored.past_caches;
        let sure: There = stores.iter().map(|of| if past(of) && of.covered { of.words() } else { 0 }).collect();
        let mut pieces: Vec<(usize, u8)> = Vec::new();
        for (at, stored) in stores.iter().enumerate().filter(|(_, stored)| past(stored) && !stored.covered) {
            let words = stored.words();
            match stored.joined {
                true => pieces.push((at, words)),
                false => {
                    pieces.extend((0..8).map(|word| 1 << word).filter(|word| word & words != 0).map(|word| (at, word)))
                }
            }
        }
        let with = |chosen: &dyn Fn(usize) -> bool| {
            let mut there = sure.clone();
            let chosen = pieces.iter().enumerate().filter(|(number, _)| chosen(*number));
            chosen.for_each(|(_, &(at, words))| there[at] |= words);
            there
        };
        let words = pieces.len();
        if words <= FREE_WORDS_MAX {
            let ways = (0..1usize << words).rev().map(|set| with(&|number| set >> number & 1 == 1)).collect();
            return Self { ways, words, complete: true };
        }
        let mut ways = vec![with(&|_| true), with(&|_| false)];
        let mut stored: Vec<usize> = pieces.iter().map(|&(at, _)| at).collect();
        stored.dedup();
        for at in stored {
            ways.extend([with(&|number| pieces[number].0 != at), with(&|number| pieces[number].0 == at)]);
        }
        for piece in 0..words {
            ways.extend([with(&|number| number != piece), with(&|number| number == piece)]);
        }
        Self { ways, words, complete: false }
    }
}

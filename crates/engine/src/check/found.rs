//! What has been found so far: counts by kind and place, with the earliest example.

use super::kind::Kind;
use super::line::{Moment, Stores};
use crate::message::{NO_SITE, Site};
use std::collections::BTreeMap;

/// What a finding is about: its kind, the place of the operation, and the place of the later store that overtakes it or of
/// what fences it by chance.
pub(super) type Key = (Kind, Site, Site);

/// All findings of one kind at one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub count: u64,
    pub first: Moment,
    /// The numbers of the flushes, or of the fences, as [`crate::trace::Omitted`] numbers them.
    pub numbers: Vec<u64>,
    /// Where the first of them is fenced by chance.
    pub by_chance: Option<Site>,
}

impl Found {
    /// Adds what was found at another place that is shown as the same.
    pub fn join(&mut self, other: Found) {
        self.count += other.count;
        if other.first < self.first {
            self.by_chance = other.by_chance;
        }
        self.first = self.first.min(other.first);
        self.numbers.extend(other.numbers);
    }
}

/// The findings.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    by_key: BTreeMap<Key, Found>,
    /// Whether the numbers of operations are kept.
    numbered: bool,
}

impl Findings {
    /// Nothing is found yet.
    pub fn new(numbered: bool) -> Self {
        Self { numbered, ..Self::default() }
    }

    /// Some stores are lost in the way that `kind` says.
    pub fn stores(&mut self, kind: Kind, stores: &Stores) {
        let by_chance = stores.by_chance.filter(|_| kind.is_for_want_of_a_fence()).unwrap_or(NO_SITE);
        self.add((kind, stores.site, by_chance), stores.count, stores.first, None);
    }

    /// One of `stores` is overtaken by a store at `later`.
    pub fn overtaken(&mut self, stores: &Stores, later: Site) {
        self.add((Kind::NotOrdered, stores.site, later), 1, stores.first, None);
    }

    /// An operation is useless.
    pub fn operation(&mut self, kind: Kind, site: Site, at: Moment, number: Option<u64>) {
        self.add((kind, site, NO_SITE), 1, at, number);
    }

    fn add(&mut self, key: Key, count: u64, first: Moment, number: Option<u64>) {
        let found = self.by_key.entry(key).or_insert(Found { count: 0, first, numbers: Vec::new(), by_chance: None });
        found.count += count;
        found.first = found.first.min(first);
        if self.numbered {
            found.numbers.extend(number);
        }
    }

    pub fn into_map(self) -> BTreeMap<Key, Found> {
        self.by_key
    }
}

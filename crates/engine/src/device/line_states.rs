//! What the device knows of each media line: where its bytes are, and how often it was written. Both are in one word,
//! because a write needs both. Memory use follows the pages that are accessed.

use super::table::{PageTable, Slab};
use crate::kernel::prefetch;
use crate::message::{CounterBlock, MediaLine, MediaUnit, Page};
use std::collections::BTreeMap;

/// The state of one media line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LineState {
    /// The place of its bytes, plus one; 0 if it was never stored.
    pub place: u32,
    /// Number of writes since the last reset.
    pub writes: u32,
}

/// The states of all media lines.
#[derive(Clone, Debug, Default)]
pub(super) struct LineStates {
    /// For each page its entry in `data`, plus one.
    pages: PageTable<u32>,
    data: Slab<[LineState; 64]>,
    counters: PageTable<LineState>,
    integrity: BTreeMap<MediaLine, LineState>,
}

impl LineStates {
    /// The state of `media`.
    pub fn get(&self, media: MediaLine) -> LineState {
        match media.unit() {
            MediaUnit::Data(line) => match self.pages.get(line.page().0) {
                0 => LineState::default(),
                entry => self.data.get(entry - 1)[line.index_in_page()],
            },
            MediaUnit::Counter(block) => self.counters.get(block.0),
            MediaUnit::Mac(_) | MediaUnit::Node(_) | MediaUnit::Table(_) | MediaUnit::Modified(_) => {
                self.integrity.get(&media).copied().unwrap_or_default()
            }
        }
    }

    /// The state of `media`, to be changed.
    pub fn get_mut(&mut self, media: MediaLine) -> &mut LineState {
        match media.unit() {
            MediaUnit::Data(line) => {
                let entry = self.pages.get_mut(line.page().0);
                if *entry == 0 {
                    *entry = self.data.push([LineState::default(); 64]) + 1;
                }
                &mut self.data.get_mut(*entry - 1)[line.index_in_page()]
            }
            MediaUnit::Counter(block) => self.counters.get_mut(block.0),
            MediaUnit::Mac(_) | MediaUnit::Node(_) | MediaUnit::Table(_) | MediaUnit::Modified(_) => {
                self.integrity.entry(media).or_default()
            }
        }
    }

    /// Has the host bring the state of `media` near.
    pub fn prefetch(&self, media: MediaLine) {
        match media.unit() {
            MediaUnit::Data(line) => {
                let entry = self.pages.get(line.page().0);
                if entry != 0 {
                    prefetch(&self.data.get(entry - 1)[line.index_in_page()]);
                }
            }
            MediaUnit::Counter(block) => self.counters.prefetch(block.0),
            MediaUnit::Mac(_) | MediaUnit::Node(_) | MediaUnit::Table(_) | MediaUnit::Modified(_) => {}
        }
    }

    /// Every line that was stored, with its place plus one, in the order of [`Self::all`].
    pub fn stored(&self) -> impl Iterator<Item = (MediaLine, u32)> + '_ {
        self.all().filter(|(_, state)| state.place != 0).map(|(media, state)| (media, state.place))
    }

    /// Every line that has a state, in address order: data lines, counter blocks, lines of MACs, tree nodes.
    pub fn all(&self) -> impl Iterator<Item = (MediaLine, LineState)> + '_ {
        let pages = self.pages.iter().filter(|(_, entry)| *entry != 0);
        let data = pages.flat_map(|(page, entry)| {
            let lines = self.data.get(entry - 1).iter().enumerate();
            lines.map(move |(index, state)| (MediaLine::data(Page(page).line(index)), *state))
        });
        let counters = self.counters.iter().map(|(block, state)| (MediaLine::counter(CounterBlock(block)), state));
        let integrity = self.integrity.iter().map(|(media, state)| (*media, *state));
        data.chain(counters).chain(integrity)
    }

    /// Sets all numbers of writes to zero.
    pub fn reset_writes(&mut self) {
        let all = self.data.iter_mut().flatten().chain(self.counters.values_mut()).chain(self.integrity.values_mut());
        all.for_each(|state| state.writes = 0);
    }
}

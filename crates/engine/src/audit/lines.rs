//! The table of everything that is known about lines and pages. A line enters it when something first happens to it;
//! until then its durable bytes are those of the populated base and nothing has to be remembered.
//!
//! Each auditor owns one part of a [`Record`]; the record is only where the parts of one line lie together.

use super::counter::{Counter, PageCounters};
use super::durable::DurableLine;
use super::line::History;
use super::transaction::GoldenLine;
use crate::message::{BaseImage, CoreId, Line, LineBytes, Page, ProgramLayout};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Index of a line's record.
pub(super) type Id = u32;
const NONE: Id = Id::MAX;

/// Whose memory a line is, and what for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Heap(CoreId),
    Log(CoreId),
    Other,
}

/// What is known about one line.
pub(super) struct Record {
    pub line: Line,
    pub role: Role,
    pub durable: DurableLine,
    pub history: History,
    pub golden: GoldenLine,
}

/// What is known about one page.
pub(super) struct PageRow {
    pub page: Page,
    /// Which record each line has.
    ids: [Id; 64],
    /// The durable counter block, or what a page reads as whose block was never stored.
    pub block: PageCounters,
    /// The counter with which each line decrypts after a crash now: the block, seen through the status register.
    pub effective: [Counter; 64],
    /// Contribution of the stored block to the hash of the durable state.
    pub block_hash: u64,
    /// The event that persisted the block last; `None` if it never was.
    pub block_persisted_at: Option<u64>,
    /// Counters may have changed since `effective` was computed.
    pub stale: bool,
}

/// All lines and pages that something happened to.
pub(super) struct Lines {
    base: Arc<dyn BaseImage>,
    layouts: Vec<ProgramLayout>,
    slots: FxHashMap<u64, u32>,
    last: (u64, u32),
    pub pages: Vec<PageRow>,
    pub records: Vec<Record>,
}

impl Lines {
    pub fn new(base: Arc<dyn BaseImage>, layouts: &[ProgramLayout]) -> Self {
        Self {
            base,
            layouts: layouts.to_vec(),
            slots: FxHashMap::default(),
            last: (u64::MAX, 0),
            pages: Vec::new(),
            records: Vec::new(),
        }
    }

    pub fn record(&self, id: Id) -> &Record {
        &self.records[id as usize]
    }

    pub fn record_mut(&mut self, id: Id) -> &mut Record {
        &mut self.records[id as usize]
    }

    /// The populated bytes of `line`.
    pub fn base(&self, line: Line) -> Option<&LineBytes> {
        self.base.line(line)
    }

    /// The slot of `page` in `pages`.
    pub fn slot(&mut self, page: Page) -> usize {
        if self.last.0 == page.0 {
            return self.last.1 as usize;
        }
        let slot = match self.slots.get(&page.0) {
            Some(&slot) => slot,
            None => {
                let slot = self.pages.len() as u32;
                let minors = std::array::from_fn(|n| u8::from(self.base.populated(page.line(n))));
                self.pages.push(PageRow {
                    page,
                    ids: [NONE; 64],
                    effective: minors.map(|minor| Counter { major: 0, minor }),
                    block: PageCounters { major: 0, minors },
                    block_hash: 0,
                    block_persisted_at: None,
                    stale: false,
                });
                self.slots.insert(page.0, slot);
                slot
            }
        };
        self.last = (page.0, slot);
        slot as usize
    }

    /// The row of `page`, if anything happened in it.
    pub fn row(&self, page: Page) -> Option<&PageRow> {
        self.slots.get(&page.0).map(|&slot| &self.pages[slot as usize])
    }

    /// The record of `line`, made on first use.
    pub fn id(&mut self, line: Line) -> Id {
        let slot = self.slot(line.page());
        self.id_in(slot, line.index_in_page())
    }

    /// The record of line `index` of the page in `slot`, made on first use.
    pub fn id_in(&mut self, slot: usize, index: usize) -> Id {
        let known = self.pages[slot].ids[index];
        if known != NONE {
            return known;
        }
        let line = self.pages[slot].page.line(index);
        let populated = self.base.line(line).copied();
        let bytes = populated.unwrap_or([0; 64]);
        let id = self.records.len() as Id;
        let role = self.role(line);
        self.records.push(Record {
            line,
            role,
            durable: DurableLine::new(bytes),
            history: History::new(bytes),
            golden: GoldenLine::new(bytes, populated.is_some() && matches!(role, Role::Heap(_))),
        });
        self.pages[slot].ids[index] = id;
        id
    }

    /// The record of `line`, if it has one.
    pub fn find(&self, line: Line) -> Option<Id> {
        let id = self.row(line.page())?.ids[line.index_in_page()];
        (id != NONE).then_some(id)
    }

    fn role(&self, line: Line) -> Role {
        let address = line.address();
        for layout in &self.layouts {
            if layout.log.contains(&address) {
                return Role::Log(layout.core);
            }
            if layout.heap.contains(&address) {
                return Role::Heap(layout.core);
            }
        }
        Role::Other
    }
}

//! The table of everything that is known about lines and counter blocks. A line is added when something first happens
//! to it; until then its durable bytes are those of the populated base.

use super::counter::AuditedCounter;
use super::line_record::{BlockRow, DurableLine, GoldenLine, History, Id, Record, Role};
use crate::layout::Coverage;
use crate::message::{BaseImage, CounterBlock, Line, LineBytes, ProgramLayout};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

const NONE: Id = Id::MAX;

/// One line of a counter block.
pub(super) struct Cell {
    /// The line's record.
    id: Id,
    /// The line's counter in the durable block, or in the initial block if it was never stored.
    pub stored: AuditedCounter,
    /// The counter that decrypts the line after a crash now: the stored one, adjusted by the status register.
    pub effective: AuditedCounter,
}

/// Bytes of the host's memory for each line that the auditors track: one and a half times its record, because a growing
/// table is copied, plus its place in the index.
pub(crate) const BYTES_PER_LINE: u64 = (size_of::<Record>() + size_of::<Cell>()) as u64 * 3 / 2 + 32;

/// All lines and counter blocks that something happened to.
pub(super) struct Lines {
    base: Arc<dyn BaseImage>,
    layouts: Vec<ProgramLayout>,
    /// The lines of the hardware's log.
    hardware_log: Range<u64>,
    coverage: Coverage,
    /// The counter of a populated line that the run has not written.
    base_counter: AuditedCounter,
    slots: FxHashMap<u64, u32>,
    last: (u64, u32),
    pub rows: Vec<BlockRow>,
    /// The lines of each row, row by row.
    pub cells: Vec<Cell>,
    pub records: Vec<Record>,
}

impl Lines {
    /// `base_counter`: the counter that populated lines are stored with; `hardware_log`: the lines of the log that
    /// hardware writes.
    pub fn new(
        base: Arc<dyn BaseImage>,
        layouts: &[ProgramLayout],
        coverage: Coverage,
        base_counter: AuditedCounter,
        hardware_log: Range<u64>,
    ) -> Self {
        Self {
            base,
            layouts: layouts.to_vec(),
            hardware_log,
            coverage,
            base_counter,
            slots: FxHashMap::default(),
            last: (u64::MAX, 0),
            rows: Vec::new(),
            cells: Vec::new(),
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

    /// How many lines share a counter block.
    pub fn coverage(&self) -> Coverage {
        self.coverage
    }

    /// The row of `block`, created on first use.
    pub fn slot(&mut self, block: CounterBlock) -> usize {
        if self.last.0 == block.0 {
            return self.last.1 as usize;
        }
        let slot = match self.slots.get(&block.0) {
            Some(&slot) => slot,
            None => {
                let slot = self.rows.len() as u32;
                self.rows.push(BlockRow {
                    block,
                    hash: 0,
                    persisted_at: None,
                    stored: None,
                    queued: VecDeque::new(),
                    written: None,
                    left: None,
                    stale: false,
                });
                for index in 0..self.coverage.lines() {
                    let counter = self.first_counter(block, index);
                    self.cells.push(Cell { id: NONE, stored: counter, effective: counter });
                }
                self.slots.insert(block.0, slot);
                slot
            }
        };
        self.last = (block.0, slot);
        slot as usize
    }

    /// The counter of line `index` of a block that was never stored.
    fn first_counter(&self, block: CounterBlock, index: usize) -> AuditedCounter {
        if self.base.populated(self.coverage.line(block, index)) { self.base_counter } else { AuditedCounter::NEVER }
    }

    /// Resets the row in `slot` to a block that was never stored.
    pub fn forget_block(&mut self, slot: usize) {
        let block = self.rows[slot].block;
        for (index, cell) in self.cells_of(slot).enumerate() {
            self.cells[cell].stored = self.first_counter(block, index);
        }
    }

    /// Whether `line` holds program data: it was populated, or the program has stored to it.
    pub fn is_program_data(&self, line: Line) -> bool {
        self.base.populated(line) || self.find(line).is_some_and(|id| self.record(id).history.stored_at.is_some())
    }

    /// The cells of the row in `slot`, as indices into `cells`.
    pub fn cells_of(&self, slot: usize) -> std::ops::Range<usize> {
        let first = slot * self.coverage.lines();
        first..first + self.coverage.lines()
    }

    fn known_slot(&self, line: Line) -> Option<usize> {
        self.slots.get(&self.coverage.block(line).0).map(|&slot| slot as usize)
    }

    /// The row of the counter block of `line`, if something happened in it.
    pub fn row(&self, line: Line) -> Option<&BlockRow> {
        self.known_slot(line).map(|slot| &self.rows[slot])
    }

    /// The cell of `line`, if something happened in its counter block.
    pub fn cell(&self, line: Line) -> Option<&Cell> {
        self.known_slot(line).map(|slot| &self.cells[slot * self.coverage.lines() + self.coverage.index(line)])
    }

    /// The record of `line`, created on first use.
    pub fn id(&mut self, line: Line) -> Id {
        let slot = self.slot(self.coverage.block(line));
        self.id_in(slot, self.coverage.index(line))
    }

    /// The record of line `index` of the block in `slot`, created on first use.
    pub fn id_in(&mut self, slot: usize, index: usize) -> Id {
        let cell = slot * self.coverage.lines() + index;
        let known = self.cells[cell].id;
        if known != NONE {
            return known;
        }
        let line = self.coverage.line(self.rows[slot].block, index);
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
            restored: None,
            shadowed: 0,
            undo_readers: 0,
        });
        self.cells[cell].id = id;
        id
    }

    /// The record of `line`, if it has one.
    pub fn find(&self, line: Line) -> Option<Id> {
        let id = self.cell(line)?.id;
        (id != NONE).then_some(id)
    }

    fn role(&self, line: Line) -> Role {
        if self.hardware_log.contains(&line.0) {
            return Role::HardwareLog;
        }
        let address = line.address();
        for layout in &self.layouts {
            if layout.log.contains(&address) {
                return Role::Log(layout.core);
            }
            if layout.heap.contains(&address) {
                return Role::Heap(layout.core);
            }
            if layout.volatile.contains(&address) {
                return Role::Volatile(layout.core);
            }
        }
        Role::Other
    }
}

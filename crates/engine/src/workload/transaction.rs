//! The durable transaction, in one place: turns the reads and writes of a structure into operations.
//!
//! A structure computes its write set first: its writes are buffered, later reads see them, and [`Transaction::end`]
//! then applies one of three protocols.
//!
//! *Undo log* (secpm section 2, Figure 1): Prepare copies the old data into one contiguous log entry, flushes, fences;
//! Mutate writes in place, flushes each touched line once, fences; Commit clears the entry's valid bit, flushes,
//! fences. *Pointer swap* (counter-atomicity Figure 4): everything but the last word is written, flushed and fenced;
//! then that word is stored, flushed and fenced.
//!
//! The annotated form (counter-atomicity section 4.3, Figure 9) has the same stages. Before the fence, it also writes
//! back the counters of what Prepare and Mutate flush, and of what comes before the swap. The word that commits, an
//! entry's state word or the list's head, is a `CounterAtomic` variable, and no stage writes its counter back.
//!
//! The hardware-logged form (easy-pm section III-A) has neither log nor fences: `tx_begin`, the stores in place,
//! `flush_data` of each line that they wrote, `tx_end`. It is the same for structures with and without a log.
//!
//! The flush-free form (sepencr section II-D) is the plain form without its flushes. Each store is durable at once, in
//! program order, so a log entry's tag, which is stored last, shows that the entry is complete.

use super::item;
use super::log::{EntryWriter, RECORD_BYTES, RING_ENTRIES_MIN, entry_bytes, state_word};
use super::memory::Memory;
use super::style::Style;
use super::think::Think;
use crate::message::{Annotation, COUNTER_WRITEBACK_BYTES, LINE_BYTES, Op, OpBuffer, ProtocolStep, counter_writebacks};
use std::ops::Range;

/// Instructions that compare a key and choose a direction.
const COMPARE_INSTRUCTIONS: u32 = 4;

/// How a transaction becomes durable.
pub(super) enum Protocol {
    /// Undo log in a ring; holds the position of the next entry, the distance between entries if it is fixed, and the
    /// unit in bytes of which every entry takes a whole number.
    UndoLog { ring: Range<u64>, next: u64, slot: Option<u64>, unit: u64 },
    /// The last write is one word that makes the other writes reachable.
    PointerSwap,
    /// Hardware keeps the old data.
    HardwareLog,
}

/// Bytes that a structure has read and can write to another place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    offset: usize,
    length: usize,
}

#[derive(Clone, Copy)]
struct Write {
    address: u64,
    offset: usize,
    length: usize,
}

impl Write {
    fn end(&self) -> u64 {
        self.address + self.length as u64
    }
}

/// Buffers that all transactions of a program reuse.
#[derive(Default)]
pub(super) struct Scratch {
    writes: Vec<Write>,
    bytes: Vec<u8>,
    blocks: Vec<u8>,
    ranges: Vec<Range<u64>>,
    entry: EntryWriter,
}

/// One transaction of a program, from its begin to its durable end.
pub(super) struct Transaction<'a> {
    number: u64,
    style: Style,
    memory: &'a mut Memory,
    scratch: &'a mut Scratch,
    ops: &'a mut OpBuffer,
}

impl<'a> Transaction<'a> {
    /// Begins transaction `number` after the computation `think`. What hardware logs begins after the accesses of that
    /// computation, which are no part of the transaction.
    pub(super) fn begin(
        number: u64,
        think: &mut Think,
        style: Style,
        memory: &'a mut Memory,
        scratch: &'a mut Scratch,
        ops: &'a mut OpBuffer,
    ) -> Self {
        scratch.writes.clear();
        scratch.bytes.clear();
        scratch.blocks.clear();
        ops.ops.push(Op::TxBegin);
        if think.accesses_memory() {
            think.perform(memory, ops);
        }
        if style.is_logged_by_hardware() {
            ops.ops.push(Op::LoggedTxBegin);
        }
        let mut transaction = Self { number, style, memory, scratch, ops };
        if !think.accesses_memory() {
            transaction.compute(think.instructions);
        }
        transaction
    }

    /// The transaction's number, from 0.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Appends a computation of `instructions` instructions.
    pub(super) fn compute(&mut self, instructions: u32) {
        match self.ops.ops.last_mut() {
            _ if instructions == 0 => {}
            Some(Op::Compute { instructions: before }) => *before += instructions,
            _ => self.ops.ops.push(Op::Compute { instructions }),
        }
    }

    /// Appends the instructions that compare a key.
    pub(super) fn compare(&mut self) {
        self.compute(COMPARE_INSTRUCTIONS);
    }

    /// The word at `address`. `dependent`: the address came from the previous load.
    pub(super) fn read_word(&mut self, address: u64, dependent: bool) -> u64 {
        let mut word = [0; 8];
        self.read(address, &mut word, dependent);
        u64::from_le_bytes(word)
    }

    /// Fills `buffer` from `address`, in pieces of a block copy.
    pub(super) fn read(&mut self, address: u64, buffer: &mut [u8], dependent: bool) {
        if self.fetch(address, buffer) {
            self.ops.load(address, buffer, self.style.copy_bytes, dependent);
        }
    }

    /// The word at `address` as the program knows it without a load.
    pub(super) fn known_word(&mut self, address: u64) -> u64 {
        let mut word = [0; 8];
        self.fetch(address, &mut word);
        u64::from_le_bytes(word)
    }

    /// Reads `length` bytes at `address`, to write them to another place.
    pub(super) fn read_block(&mut self, address: u64, length: u64) -> Block {
        let block = Block { offset: self.scratch.blocks.len(), length: length as usize };
        let mut blocks = std::mem::take(&mut self.scratch.blocks);
        blocks.resize(block.offset + block.length, 0);
        self.read(address, &mut blocks[block.offset..], false);
        self.scratch.blocks = blocks;
        block
    }

    /// Writes the word `value` at `address`.
    pub(super) fn write_word(&mut self, address: u64, value: u64) {
        self.write(address, &value.to_le_bytes());
    }

    /// Writes `data` at `address`.
    pub(super) fn write(&mut self, address: u64, data: &[u8]) {
        self.pending(address, data.len()).copy_from_slice(data);
    }

    /// Writes the bytes of `block` at `address`.
    pub(super) fn write_block(&mut self, address: u64, block: Block) {
        let blocks = std::mem::take(&mut self.scratch.blocks);
        self.write(address, &blocks[block.offset..block.offset + block.length]);
        self.scratch.blocks = blocks;
    }

    /// Writes the item (`key`, `version`) over the `length` bytes at `address`.
    pub(super) fn write_item(&mut self, address: u64, key: u64, version: u64, length: u64) {
        item::fill(key, version, self.pending(address, length as usize));
    }

    /// The buffer of a pending write of `length` bytes to `address`. A write inside an earlier pending write changes
    /// that one, as a program would change its local copy.
    fn pending(&mut self, address: u64, length: usize) -> &mut [u8] {
        let end = address + length as u64;
        let inside =
            self.scratch.writes.iter().rev().find(|write| write.address < end && address < write.end()).copied();
        let offset = match inside {
            Some(write) if write.address <= address && end <= write.end() => {
                write.offset + (address - write.address) as usize
            }
            _ => {
                let offset = self.scratch.bytes.len();
                self.scratch.writes.push(Write { address, offset, length });
                self.scratch.bytes.resize(offset + length, 0);
                offset
            }
        };
        &mut self.scratch.bytes[offset..offset + length]
    }

    /// Reads memory with the pending writes on top. Returns true if it met no pending write. Pending data is in
    /// registers, and a load would find the old bytes, because nothing is written in place before the end.
    fn fetch(&mut self, address: u64, buffer: &mut [u8]) -> bool {
        self.memory.copy_out(address, buffer);
        let end = address + buffer.len() as u64;
        let mut untouched = true;
        for write in &self.scratch.writes {
            let (from, to) = (address.max(write.address), end.min(write.end()));
            if from < to {
                untouched = false;
                let source = write.offset + (from - write.address) as usize;
                buffer[(from - address) as usize..(to - address) as usize]
                    .copy_from_slice(&self.scratch.bytes[source..source + (to - from) as usize]);
            }
        }
        untouched
    }

    /// Makes the writes durable and ends the transaction.
    pub(super) fn end(mut self, protocol: &mut Protocol) {
        match protocol {
            Protocol::UndoLog { ring, next, slot, unit } => self.end_with_undo_log(ring, next, *slot, *unit),
            Protocol::PointerSwap => self.end_with_pointer_swap(),
            Protocol::HardwareLog => self.end_with_hardware_log(),
        }
        self.ops.ops.push(Op::TxEnd);
    }

    fn end_with_hardware_log(&mut self) {
        for index in 0..self.scratch.writes.len() {
            self.store_pending(index);
        }
        if self.style.has(Annotation::FlushData) {
            let ranges = self.touched_ranges();
            // Whole lines, ascending and disjoint.
            for range in &ranges {
                let lines = range.clone().step_by(LINE_BYTES as usize);
                self.ops.ops.extend(lines.map(|address| Op::FlushData { address }));
            }
            self.scratch.ranges = ranges;
        }
        self.ops.ops.push(Op::LoggedTxEnd);
    }

    fn end_with_undo_log(&mut self, ring: &Range<u64>, next: &mut u64, slot: Option<u64>, unit: u64) {
        let ranges = self.touched_ranges();
        let data = ranges.iter().map(|range| range.end - range.start).sum();
        let length = entry_bytes(ranges.len() as u64, data);
        let taken = slot.unwrap_or(length).next_multiple_of(unit);
        debug_assert!(
            length <= taken && taken * RING_ENTRIES_MIN <= ring.end - ring.start,
            "a write set is larger than its bound"
        );
        if *next + taken > ring.end {
            *next = ring.start;
        }
        let entry = *next;
        *next += taken;

        self.prepare(entry, &ranges);
        for index in 0..self.scratch.writes.len() {
            self.store_pending(index);
        }
        self.flush(&ranges, ProtocolStep::MutateFlush);
        self.write_back_counters(&ranges, Annotation::MutateCounterCacheWriteback);
        self.fence(ProtocolStep::MutateFence);

        self.store_entry(entry, &state_word(self.number, false).to_le_bytes());
        self.flush_lines(entry, 8, ProtocolStep::CommitFlush);
        self.fence(ProtocolStep::CommitFence);
        self.scratch.ranges = ranges;
    }

    /// Copies the old data of `ranges` into a log entry at `entry` and makes the entry durable.
    fn prepare(&mut self, entry: u64, ranges: &[Range<u64>]) {
        let mut writer = std::mem::take(&mut self.scratch.entry);
        writer.begin(self.number);
        for range in ranges {
            let old = writer.record(range);
            self.memory.copy_out(range.start, old);
            self.ops.load(range.start, old, self.style.copy_bytes, false);
        }
        let bytes = if self.style.takes(ProtocolStep::LogEndTag) {
            let bytes = writer.finish();
            // A checksum takes one instruction per word (the SSE4.2 crc32).
            self.compute((bytes.len() / 8) as u32);
            bytes
        } else {
            writer.finish_without_tag()
        };
        let length = bytes.len() as u64;
        if self.style.logs_past_the_caches() {
            self.ops.store_non_temporal(entry, bytes);
            self.memory.copy_in(entry, bytes);
        } else {
            self.store_entry(entry, bytes);
            self.flush_lines(entry, length, ProtocolStep::PrepareFlush);
        }
        let written = entry..entry + length;
        self.write_back_counters(std::slice::from_ref(&written), Annotation::PrepareCounterCacheWriteback);
        self.fence(ProtocolStep::PrepareFence);
        self.scratch.entry = writer;
    }

    fn end_with_pointer_swap(&mut self) {
        let Some(pointer) = self.scratch.writes.len().checked_sub(1) else { return };
        debug_assert!(self.scratch.writes[pointer].length == 8);
        for index in 0..pointer {
            self.store_pending(index);
        }
        let swap = self.scratch.writes.split_off(pointer);
        let ranges = self.touched_ranges();
        self.scratch.writes.extend_from_slice(&swap);
        self.flush(&ranges, ProtocolStep::PrepareFlush);
        self.write_back_counters(&ranges, Annotation::PrepareCounterCacheWriteback);
        self.scratch.ranges = ranges;
        self.fence(ProtocolStep::PrepareFence);
        let from = self.ops.ops.len();
        self.store_pending(pointer);
        self.declare_counter_atomic(from);
        self.flush_lines(swap[0].address, 8, ProtocolStep::CommitFlush);
        self.fence(ProtocolStep::CommitFence);
    }

    /// The ranges that the writes touch, in whole words or lines as the log saves them: ascending, disjoint, and merged
    /// where a separate record would be longer than the gap. Covers no line that is not written.
    fn touched_ranges(&mut self) -> Vec<Range<u64>> {
        let mut ranges = std::mem::take(&mut self.scratch.ranges);
        ranges.clear();
        let unit = self.style.log_unit();
        let whole = |write: &Write| write.address & !(unit - 1)..write.end().next_multiple_of(unit);
        ranges.extend(self.scratch.writes.iter().map(whole));
        ranges.sort_unstable_by_key(|range| range.start);
        ranges.dedup_by(|range, before| {
            let joins = range.start <= before.end + RECORD_BYTES;
            if joins {
                before.end = before.end.max(range.end);
            }
            joins
        });
        ranges
    }

    /// Flushes the lines of `[address, address + length)`, if the program executes `step`.
    fn flush_lines(&mut self, address: u64, length: u64, step: ProtocolStep) {
        if self.style.takes(step) {
            self.ops.clwb_range(address, length);
        }
    }

    /// Appends a fence, if the program executes `step`.
    fn fence(&mut self, step: ProtocolStep) {
        if self.style.takes(step) {
            self.ops.ops.push(Op::Sfence);
        }
    }

    /// Flushes every line of `ranges` once, if the program executes `step`.
    fn flush(&mut self, ranges: &[Range<u64>], step: ProtocolStep) {
        let mut flushed_to = 0;
        for range in ranges {
            let from = (range.start & !(LINE_BYTES - 1)).max(flushed_to);
            if from < range.end {
                self.flush_lines(from, range.end - from, step);
                flushed_to = range.end.next_multiple_of(LINE_BYTES);
            }
        }
    }

    /// Writes the counters of the ascending `ranges` back, each block once, if the program has `annotation`.
    fn write_back_counters(&mut self, ranges: &[Range<u64>], annotation: Annotation) {
        if !self.style.has(annotation) {
            return;
        }
        let mut written_to = 0;
        for range in ranges {
            for address in counter_writebacks(range.start.max(written_to)..range.end) {
                self.ops.ops.push(Op::CounterCacheWriteback { address });
                written_to = address + COUNTER_WRITEBACK_BYTES;
            }
        }
    }

    fn store_pending(&mut self, index: usize) {
        let Write { address, offset, length } = self.scratch.writes[index];
        let data = &self.scratch.bytes[offset..offset + length];
        self.ops.store(address, data, self.style.copy_bytes);
        self.memory.copy_in(address, data);
    }

    /// Stores `data` at the start of a log entry, which contains its state word.
    fn store_entry(&mut self, entry: u64, data: &[u8]) {
        let from = self.ops.ops.len();
        self.ops.store(entry, data, self.style.copy_bytes);
        self.memory.copy_in(entry, data);
        self.declare_counter_atomic(from);
    }

    /// If the variable that commits is `CounterAtomic`, makes operation `from`, the first store to its line, a
    /// `CounterAtomicStore`: from then on the line leaves the caches with its counter.
    fn declare_counter_atomic(&mut self, from: usize) {
        if self.style.has(Annotation::CommitCounterAtomic)
            && let Op::Store { address, length, bytes } = self.ops.ops[from]
        {
            self.ops.ops[from] = Op::CounterAtomicStore { address, length, bytes };
        }
    }
}

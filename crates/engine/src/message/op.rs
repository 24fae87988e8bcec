//! What a core executes (x86 persistency). A program is an [`OpSource`]: it runs ahead of the simulation, one
//! transaction at a time, and gives the core the operations with the bytes that they store.

use super::CoreId;
use std::ops::Range;

/// The number of a place in the source of a recorded program.
pub type Site = u32;
/// The site of an operation whose place is not known.
pub const NO_SITE: Site = 0;

/// One operation. Loads and stores stay within one 64-byte line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// The next transaction begins.
    TxBegin,
    /// The transaction has ended: everything before it in program order has committed.
    TxEnd,
    /// A recorded program sets its next mark: everything before it in program order has committed. It takes no time and
    /// no room.
    Mark,
    /// A thread of a recorded program has done what others follow. Performed in the order of stores, as if one told them.
    Report,
    /// It follows others: nothing after it is dispatched before core `core` has reported `count` times.
    Await { core: CoreId, count: u64 },
    /// `instructions` instructions that touch no memory.
    Compute { instructions: u32 },
    /// Loads `length` bytes (1 to 64) at `address`. `dependent`: its address depends on the previous load's value.
    /// `bytes` is the offset of the expected value in the buffer's bytes (program order), for the value checker, or
    /// [`UNKNOWN_VALUE`].
    Load { address: u64, length: u8, dependent: bool, bytes: u32 },
    /// Stores `length` bytes (1 to 64) at `address`; `bytes` is their offset in the buffer's bytes.
    Store { address: u64, length: u8, bytes: u32 },
    /// A store to a variable that is declared `CounterAtomic` (counter-atomicity section 4.3): from now on the line is
    /// always written back together with its counter.
    CounterAtomicStore { address: u64, length: u8, bytes: u32 },
    /// A store past the caches, through the write-combining buffers; ordered by fences only.
    NonTemporalStore { address: u64, length: u8, bytes: u32 },
    /// Writes a dirty line back and keeps it.
    Clwb { address: u64 },
    /// Writes a dirty line back and invalidates it; ordered by fences and same-line stores only.
    Clflushopt { address: u64 },
    /// Writes a dirty line back and invalidates it; ordered with every other clflush and store.
    Clflush { address: u64 },
    /// Writes the counter block of the lines around `address` back and keeps it, if it is dirty (counter-atomicity
    /// section 4.3); acknowledged like a flush. One operation covers [`COUNTER_WRITEBACK_BYTES`], aligned.
    CounterCacheWriteback { address: u64 },
    /// Fills the page of `address` with zeros: by 64 non-temporal stores, or, where the design's controller shreds pages, by one
    /// command to it, which is also a full fence.
    ZeroPage { address: u64 },
    /// `tx_begin()` of hardware logging (easy-pm section III-A): from now on hardware logs the lines that are stored
    /// to.
    LoggedTxBegin,
    /// `flush_data(var)` for one line: the line and its counter are written back. Acknowledged like a flush, and
    /// ordered with earlier stores to the line.
    FlushData { address: u64 },
    /// `tx_end()`: completes when every earlier store is in the cache, every earlier flush is acknowledged, and the log
    /// of the transaction has been freed, which commits it.
    LoggedTxEnd,
    /// Completes when every earlier store is in the cache and every earlier flush is acknowledged.
    Sfence,
    /// Completes when every earlier store is in the cache and every earlier flush is acknowledged; later loads wait for
    /// it.
    Mfence,
}

/// Bytes whose counters one [`Op::CounterCacheWriteback`] writes back: eight lines, a block of eight 8-byte counters.
pub const COUNTER_WRITEBACK_BYTES: u64 = 512;

/// The addresses for which `counter_cache_writeback(range)` is called, one per aligned [`COUNTER_WRITEBACK_BYTES`].
pub fn counter_writebacks(range: Range<u64>) -> impl Iterator<Item = u64> {
    let first = range.start & !(COUNTER_WRITEBACK_BYTES - 1);
    (first..range.end).step_by(COUNTER_WRITEBACK_BYTES as usize)
}

/// The value of a load's `bytes` if the loaded value is not known.
pub const UNKNOWN_VALUE: u32 = u32::MAX;

/// The operations of one transaction, and the bytes that they carry. Reused, so that a run does not allocate per
/// transaction once the buffers have grown.
#[derive(Clone, Debug)]
pub struct OpBuffer {
    /// Operations in program order.
    pub ops: Vec<Op>,
    /// Bytes that stores and loads refer to.
    pub bytes: Vec<u8>,
    /// Where in the program each operation comes from; empty if the source does not report it.
    pub sites: Vec<Site>,
    /// Whether each operation belongs to the instruction of the one before it. Those beyond its end do not.
    pub joined: Vec<bool>,
    /// Whether loads carry no values, because nobody compares them.
    pub without_values: bool,
    /// Bytes that one operation loads or stores in the caches at most: what an instruction moves beyond that is joined to it.
    pub access_bytes: usize,
}

impl Default for OpBuffer {
    fn default() -> Self {
        Self {
            ops: Vec::new(),
            bytes: Vec::new(),
            sites: Vec::new(),
            joined: Vec::new(),
            without_values: false,
            access_bytes: super::LINE_BYTES as usize,
        }
    }
}

impl OpBuffer {
    /// An empty buffer of the same kind.
    #[must_use]
    pub fn another(&self) -> Self {
        Self { without_values: self.without_values, access_bytes: self.access_bytes, ..Self::default() }
    }

    /// Empties the buffer and keeps its memory.
    pub fn clear(&mut self) {
        self.ops.clear();
        self.bytes.clear();
        self.sites.clear();
        self.joined.clear();
    }

    /// Operation `index` belongs to the instruction of the one before it. Must be called in ascending order.
    pub fn join(&mut self, index: usize) {
        self.joined.resize(index, false);
        self.joined.push(true);
    }

    /// Whether operation `index` belongs to the instruction of the one before it.
    pub fn is_joined(&self, index: usize) -> bool {
        self.joined.get(index).copied().unwrap_or(false)
    }

    /// Where operation `index` comes from.
    pub fn site(&self, index: usize) -> Site {
        self.sites.get(index).copied().unwrap_or(NO_SITE)
    }

    /// The `length` bytes at `offset`, which an operation of this buffer carries.
    pub fn slice(&self, offset: u32, length: u8) -> &[u8] {
        &self.bytes[offset as usize..offset as usize + length as usize]
    }

    /// Appends a store of `data` at `address`, split at line boundaries and into pieces of at most `width` bytes.
    pub fn store(&mut self, address: u64, data: &[u8], width: usize) {
        self.pieces(address, data, width, |address, length, bytes| Op::Store { address, length, bytes });
    }

    /// Appends a load of `data.len()` bytes at `address` whose value is `data`, split like [`OpBuffer::store`]. Only the
    /// first piece depends on the previous load. A buffer [without values](OpBuffer::without_values) leaves them out.
    pub fn load(&mut self, address: u64, data: &[u8], width: usize, dependent: bool) {
        let first = address;
        let load = |address, length, bytes| {
            let dependent = dependent && address == first;
            Op::Load { address, length, dependent, bytes }
        };
        if self.without_values {
            let accesses = accesses(address, data.len(), width);
            if width <= self.access_bytes {
                self.ops.extend(accesses.map(|(at, _, length)| load(at, length, UNKNOWN_VALUE)));
            } else {
                accesses
                    .for_each(|(at, _, length)| self.in_parts(at, length, |at, _, part| load(at, part, UNKNOWN_VALUE)));
            }
        } else {
            self.pieces(address, data, width, load);
        }
    }

    /// Appends a load of `length` bytes at `address` whose value is not known. The bytes must lie in one line. The load
    /// depends on no other.
    pub fn load_unknown(&mut self, address: u64, length: u8) {
        let load = |address, _, length| Op::Load { address, length, dependent: false, bytes: UNKNOWN_VALUE };
        self.in_parts(address, length, load);
    }

    /// Appends a store of `data` to a variable that is declared `CounterAtomic`. The bytes must lie in one line.
    pub fn store_counter_atomic(&mut self, address: u64, data: &[u8]) {
        let store = |address, length, bytes| Op::CounterAtomicStore { address, length, bytes };
        self.pieces(address, data, super::LINE_BYTES as usize, store);
    }

    /// Appends what an instruction does with `length` bytes at `address`, of which `make` is told the address, how many bytes are
    /// before it, and the length.
    fn in_parts(&mut self, address: u64, length: u8, make: impl Fn(u64, u8, u8) -> Op) {
        for done in (0..length).step_by(self.access_bytes) {
            if done > 0 {
                self.join(self.ops.len());
            }
            self.ops.push(make(address + u64::from(done), done, (length - done).min(self.access_bytes as u8)));
        }
    }

    /// Appends non-temporal stores of `data` to `address`, one for each line, whatever an access moves.
    pub fn store_non_temporal(&mut self, address: u64, data: &[u8]) {
        let store = |address, length, bytes| Op::NonTemporalStore { address, length, bytes };
        self.whole_pieces(address, data, super::LINE_BYTES as usize, store);
    }

    /// Appends a clwb of every line of `[address, address + length)`.
    pub fn clwb_range(&mut self, address: u64, length: u64) {
        if length == 0 {
            return;
        }
        let mut line = address & !63;
        while line < address + length {
            self.ops.push(Op::Clwb { address: line });
            line += 64;
        }
    }

    /// Appends what instructions of `width` bytes do with `data`, each in parts of what an access moves.
    fn pieces(&mut self, address: u64, data: &[u8], width: usize, make: impl Fn(u64, u8, u32) -> Op) {
        if width <= self.access_bytes {
            return self.whole_pieces(address, data, width, make);
        }
        let first = self.bytes.len();
        self.bytes.extend_from_slice(data);
        for (at, done, length) in accesses(address, data.len(), width) {
            self.in_parts(at, length, |at, within, part| make(at, part, (first + done + usize::from(within)) as u32));
        }
    }

    fn whole_pieces(&mut self, address: u64, data: &[u8], width: usize, make: impl Fn(u64, u8, u32) -> Op) {
        let first = self.bytes.len();
        self.bytes.extend_from_slice(data);
        let piece = |(at, done, length)| make(at, length, (first + done) as u32);
        self.ops.extend(accesses(address, data.len(), width).map(piece));
    }
}

/// Splits `length` bytes at `address` at line boundaries and into pieces of at most `width` bytes: for each its address,
/// how many bytes are before it, and its length.
fn accesses(address: u64, length: usize, width: usize) -> impl Iterator<Item = (u64, usize, u8)> {
    debug_assert!(width > 0 && width <= 64);
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = address + done as u64;
        let to_line_end = 64 - (at % 64) as usize;
        let piece = (length - done).min(width).min(to_line_end);
        done += piece;
        (piece > 0).then_some((at, done - piece, piece as u8))
    })
}

/// A program on one core.
pub trait OpSource: Send {
    /// Puts the next transaction (from `TxBegin` to `TxEnd`) into the empty `buffer`; returns false at the end of the
    /// program.
    fn next_transaction(&mut self, buffer: &mut OpBuffer) -> bool;
}

impl OpSource for Box<dyn OpSource> {
    fn next_transaction(&mut self, buffer: &mut OpBuffer) -> bool {
        (**self).next_transaction(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Address, length and first byte of each part, and whether it is joined to the one before.
    fn parts(buffer: &OpBuffer) -> Vec<(u64, u8, Option<u8>, bool)> {
        let part = |(index, op): (usize, &Op)| match *op {
            Op::Store { address, length, bytes } | Op::CounterAtomicStore { address, length, bytes } => {
                (address, length, Some(buffer.slice(bytes, length)[0]), buffer.is_joined(index))
            }
            Op::Load { address, length, .. } => (address, length, None, buffer.is_joined(index)),
            _ => panic!("{op:?}"),
        };
        buffer.ops.iter().enumerate().map(part).collect()
    }

    #[test]
    fn what_an_instruction_moves_beyond_an_access_is_joined_to_it() {
        let mut buffer = OpBuffer { access_bytes: 8, ..OpBuffer::default() };
        let data: Vec<u8> = (0..24).collect();
        buffer.store(48, &data, 16);
        let whole = [(48, 8, Some(0), false), (56, 8, Some(8), true), (64, 8, Some(16), false)];
        assert_eq!(parts(&buffer), whole);
        buffer = buffer.another();
        buffer.store_counter_atomic(0, &data[..20]);
        assert_eq!(parts(&buffer), [(0, 8, Some(0), false), (8, 8, Some(8), true), (16, 4, Some(16), true)]);
        buffer = buffer.another();
        buffer.load_unknown(4, 12);
        assert_eq!(parts(&buffer), [(4, 8, None, false), (12, 4, None, true)]);
        buffer = buffer.another();
        buffer.store_non_temporal(32, &data[..24]);
        buffer.store_non_temporal(32, &[7; 48]);
        let past_caches = |op: &Op| match *op {
            Op::NonTemporalStore { address, length, bytes } => (address, length, buffer.slice(bytes, length)[0]),
            _ => panic!("{op:?}"),
        };
        let stores: Vec<_> = buffer.ops.iter().map(past_caches).collect();
        assert_eq!(stores, [(32, 24, 0), (32, 32, 7), (64, 16, 7)]);
        for without_values in [true, false] {
            buffer = OpBuffer { without_values, ..buffer.another() };
            buffer.load(0, &data[..16], 64, true);
            assert_eq!(parts(&buffer), [(0, 8, None, false), (8, 8, None, true)]);
            let first = matches!(buffer.ops[..], [Op::Load { dependent: true, .. }, Op::Load { dependent: false, .. }]);
            assert!(first, "only the first part depends on the load before");
        }
    }

    #[test]
    fn every_counter_block_of_a_range_is_named_once() {
        let blocks = |range| counter_writebacks(range).collect::<Vec<_>>();
        assert_eq!(blocks(0..1), [0]);
        assert_eq!(blocks(511..512), [0]);
        assert_eq!(blocks(511..513), [0, 512]);
        assert_eq!(blocks(1024..2048), [1024, 1536]);
        assert!(blocks(512..512).is_empty());
    }
}

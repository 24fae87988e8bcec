//! What is on its way through the controller: writes, reads, counter fetches and write-backs, and who waits for what.

use crate::kernel::Ps;
use crate::message::{CoreId, CounterBlock, Line, LineBytes, MediaLine, WriteToken, xor};
use crate::parts::Counter;

/// Who asked for a read or a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// The caches, by token.
    Caches(u32),
    /// The caches, where the line has rested encrypted, by token.
    Rested(u32),
    /// Page re-encryption, by line index.
    Reencryption(usize),
    /// The log manager.
    Log(LogWrite),
    /// A line that rests encrypted in the caches and needs a counter; nothing is written.
    Turn(Turn),
}

/// Why a line in the caches needs a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// It is about to turn dirty; this core waits.
    Dirty(CoreId),
    /// Its page, of which it is line number so much, is re-encrypted.
    Renewed(usize),
}

/// What a write of the log manager is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LogWrite {
    /// The set of registers that it belongs to.
    pub set: u8,
    /// The record, by its number in the transaction.
    pub sequence: u32,
    pub part: Part,
}

/// The parts of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// The old bytes of a line.
    Entry,
    Header,
    /// Valid Header Number and initial vectors, in the clear.
    Metadata,
}

/// How the bytes of a write are encrypted, on a machine that encrypts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cipher {
    /// Not at all: the metadata of a log.
    None,
    /// With a pad under a counter.
    Counter,
    /// In cipher feedback mode, as a link of a chain.
    Feedback(LogWrite),
    /// They have been in the caches, under the line's counter.
    Resident,
    /// There are none; only a counter is wanted.
    Turn(Turn),
}

/// Where a write stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// An earlier write of the same line goes first.
    BehindSameLine,
    /// The undo entry of its line has yet to persist.
    BehindLog,
    /// Its turn has come: it starts before the event is over.
    Starting,
    /// Waits for its line's done bit, for a counter, or for a free status register.
    Waiting,
    /// It can get its counter; it waits for an AES circuit.
    WantsUnit,
    /// Its counter has been bumped; circuit `unit` makes its pad.
    Encrypting,
    /// Encrypted; it waits for slots.
    WantsSlots,
    /// Its data is queued with the ready bit clear, in entry `entry`; it waits for its counter block to be queued.
    Unready,
}

/// A write on its way into the queue.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub line: Line,
    /// As they came from the caches ...
    pub resident: LineBytes,
    /// ... under this pad.
    pub cache_pad: LineBytes,
    pub ciphertext: LineBytes,
    pub origin: Origin,
    pub stage: Stage,
    /// Arrival number.
    pub arrival: u64,
    /// Order of the counter bump; meaningful from `Encrypting` on.
    pub bump: u64,
    pub unit: u32,
    pub entry: u32,
    pub counter: Counter,
    /// It holds a `CounterAtomic` variable.
    pub counter_atomic: bool,
    /// The counter block as it was when this write bumped it: the staging register's second line, if it has one.
    pub block: LineBytes,
    /// It puts its line under the page's new major counter: the append sets the line's done bit.
    pub renews: bool,
    /// The block is still to be appended on its own.
    pub owes_counter: bool,
    /// Nothing of its page has to wait until its counter is queued: that has happened, or its counter does not reach
    /// the queue in a copy of the page's block.
    pub counter_admitted: bool,
}

impl Write {
    pub fn new(line: Line, bytes: &LineBytes, origin: Origin) -> Self {
        Self {
            line,
            resident: *bytes,
            cache_pad: [0; 64],
            ciphertext: [0; 64],
            origin,
            stage: Stage::Waiting,
            arrival: 0,
            bump: 0,
            unit: 0,
            entry: 0,
            counter: Counter::NEVER,
            counter_atomic: false,
            block: [0; 64],
            renews: false,
            owes_counter: false,
            counter_admitted: false,
        }
    }

    /// What is to be written, in the clear.
    pub fn plaintext(&self) -> LineBytes {
        xor(&self.resident, &self.cache_pad)
    }
}

/// A read on its way back.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub line: Line,
    pub origin: Origin,
    pub bytes: LineBytes,
    pub data_at: Option<Ps>,
    pub pad_at: Option<Ps>,
    /// Never written: nothing to decrypt.
    pub blank: bool,
}

/// A read that waits for a bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BankRead {
    /// Of a line, for the read in this slot.
    Data(u32, Line),
    /// Of a counter block, for the fetch in this slot.
    Counter(u32, CounterBlock),
}

impl BankRead {
    /// What is read.
    pub fn media(self) -> MediaLine {
        match self {
            BankRead::Data(_, line) => MediaLine::data(line),
            BankRead::Counter(_, id) => MediaLine::counter(id),
        }
    }
}

/// Who waits for a counter block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CounterWaiter {
    Write(u32),
    Read(u32),
    /// A write that is encrypted and whose counter goes into the block when its data is queued.
    Append(u32),
    /// A write whose data is queued and whose counter goes into the block.
    Pair(u32),
    /// A write-back of the block on demand.
    Writeback(u32),
}

/// A counter block on its way from the media.
#[derive(Clone, Debug, Default)]
pub(super) struct Fetch {
    pub id: CounterBlock,
    pub waiters: Vec<CounterWaiter>,
    /// New counters of lines of the block, to be put into it when it arrives.
    ///
    /// A later write of such a line never gets its counter into the block before: while a block is fetched it is not in the
    /// cache. If it comes from the media, nothing on the chip has it either, and the pair waits for it. If it comes from the
    /// chip, it is there before the counter cache has answered the later write, which begins when the earlier one is queued.
    pub updates: Vec<(Line, Counter)>,
}

/// Who asks for an entry of the counter write queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CounterRequest {
    /// A write whose data is queued with its ready bit clear.
    Pair(u32),
    /// A write-back on demand.
    Writeback(u32),
}

/// A `counter_cache_writeback` on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writeback {
    /// A line of the block.
    pub line: Line,
    pub token: WriteToken,
    /// Writes up to this arrival number came before it.
    pub after: u64,
}

/// Who waits for a line of the page under re-encryption.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LineWaiter {
    Write(u32),
    Read(u32),
}

/// A dirty counter block that left the cache and waits for a slot; still the newest copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct CounterEviction {
    pub id: CounterBlock,
    pub block: LineBytes,
    pub bump: u64,
}

//! What is in flight in the controller: writes, reads, counter fetches and write-backs, and who waits for what.

use crate::kernel::Ps;
use crate::message::{CoreId, CounterBlock, Line, LineBytes, MediaLine, WriteToken, xor};
use crate::parts::Counter;

/// The origin of a read or a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// The caches, with a token.
    Caches(u32),
    /// The caches, with a token, for a line that is encrypted there.
    Rested(u32),
    /// Page re-encryption, with the index of the line.
    Reencryption(usize),
    /// The log manager.
    Log(LogWrite),
    /// A line that is encrypted in the caches and needs a counter; nothing is written.
    Turn(Turn),
}

/// Why a line in the caches needs a counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// The line is about to become dirty; this core waits.
    Dirty(CoreId),
    /// The line's page is re-encrypted; the line has this index in the page.
    Renewed(usize),
}

/// Identifies a write of the log manager.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LogWrite {
    /// The set of registers of its transaction.
    pub set: u8,
    /// The record, by its number in the transaction.
    pub sequence: u32,
    pub part: Part,
}

/// A part of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// The old bytes of a line.
    Entry,
    Header,
    /// Valid Header Number and initial vectors, not encrypted.
    Metadata,
}

/// How the bytes of a write are encrypted on a machine with encryption.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cipher {
    /// Not encrypted: the metadata of a log.
    None,
    /// With a pad for a counter.
    Counter,
    /// In cipher feedback mode, as part of a chain.
    Feedback(LogWrite),
    /// Already encrypted in the caches, with the line's counter.
    Resident,
    /// No bytes are written; only a counter is needed.
    Turn(Turn),
}

/// The state of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// It waits to be accepted.
    Unaccepted,
    /// It waits for an earlier write of the same line.
    BehindSameLine,
    /// It waits for an earlier pair to be queued.
    BehindPair,
    /// It waits for the undo entry of its line to persist.
    BehindLog,
    /// Its turn has come: it starts in the current event.
    Starting,
    /// It waits for its line's done bit, for a counter, or for a free status register.
    Waiting,
    /// Its counter is available; it waits for an AES circuit.
    AwaitsCircuit,
    /// Its counter has been incremented; circuit `circuit` makes its pad.
    Encrypting,
    /// Its pads are ready; it waits for the line that is in memory, with which its words are compared.
    Comparing,
    /// It is encrypted; it waits for its MAC and for its way up the integrity tree.
    Authenticating,
    /// It is encrypted and waits for slots.
    ClaimsEntry,
    /// Its data is queued in `entry` with the ready bit clear; it waits for its counter block to be queued.
    Unready,
}

/// What a write needs of the line that is in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Compared {
    /// Nothing, or what is on the chip.
    Nothing,
    /// The line, for which a bank has been asked.
    Asked,
    /// The line, which comes at this time.
    At(Ps),
}

/// A write that is not in the queue yet.
#[derive(Clone, Debug)]
pub(super) struct Write {
    pub line: Line,
    /// The bytes as they came from the caches.
    pub resident: LineBytes,
    /// The pad that `resident` is encrypted with.
    pub cache_pad: LineBytes,
    pub ciphertext: LineBytes,
    pub origin: Origin,
    pub stage: Stage,
    /// Arrival number.
    pub arrival: u64,
    /// Number of the counter increment, which gives their order; valid from `Encrypting` on.
    pub increment: u64,
    pub circuit: u32,
    pub entry: u32,
    pub counter: Counter,
    /// The core that waits for the write, if one does.
    pub core: Option<CoreId>,
    /// Whether the line holds a `CounterAtomic` variable.
    pub counter_atomic: bool,
    /// The counter block after this write incremented it: the staging register's second line, if it has one.
    pub block: LineBytes,
    /// Whether a newer copy of the counter block has been queued since, so that `block` may be older than memory.
    pub outdated: bool,
    /// Whether the write moves its line to the page's new major counter: then the append sets the line's done bit.
    pub renews: bool,
    /// Whether the counter block is still to be appended separately.
    pub owes_counter: bool,
    /// Whether nothing of its page must wait until its counter is queued: because that has happened, or because its
    /// counter does not reach the queue in a copy of the page's block.
    pub counter_admitted: bool,
    /// Number of lines of MACs and tree nodes that it waits for.
    pub awaits: u8,
    /// What it needs of the line that is in memory.
    pub compares: Compared,
    /// Which words have been modified since the line's epoch began, if that decides which are encrypted anew.
    pub modified: u64,
    /// Whether it was accepted before it is encrypted: then it is durable, and has an entry of the queue.
    pub accepted: bool,
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
            increment: 0,
            circuit: 0,
            entry: 0,
            counter: Counter::NEVER,
            core: None,
            counter_atomic: false,
            block: [0; 64],
            outdated: false,
            renews: false,
            owes_counter: false,
            counter_admitted: false,
            awaits: 0,
            compares: Compared::Nothing,
            modified: 0,
            accepted: false,
        }
    }

    /// The unencrypted bytes that are to be written.
    pub fn plaintext(&self) -> LineBytes {
        xor(&self.resident, &self.cache_pad)
    }
}

/// A read that is not answered yet.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub line: Line,
    pub origin: Origin,
    pub bytes: LineBytes,
    pub data_at: Option<Ps>,
    pub pad_at: Option<Ps>,
    /// When its tweak is known, if it is decrypted without a pad; `None` from when it has asked for a circuit.
    pub tweak_at: Option<Ps>,
    /// When the tweak of a line of which only its counter says that it has no pad is known.
    pub direct_from: Option<Ps>,
    /// When its counter is known, and when its MAC is, if that does not come with the line. For reads that are checked.
    pub counter_at: Option<Ps>,
    pub mac_at: Option<Ps>,
    /// Number of pads that it needs.
    pub pads: u8,
    /// Whether its MAC is checked.
    pub checked: bool,
    /// Whether the line was never written: then there is nothing to decrypt.
    pub blank: bool,
    /// Whether it takes a place in the read queue.
    pub has_room: bool,
}

/// A read that waits for a bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BankRead {
    /// The line of the read in this slot.
    Data(u32, Line),
    /// The counter block of the fetch in this slot.
    Counter(u32, CounterBlock),
    /// The line of MACs or tree node of the fetch in this slot.
    Metadata(u32, MediaLine),
    /// The line that the write in this slot is compared with.
    Compared(u32, Line),
}

impl BankRead {
    /// The line or block that is read.
    pub fn media(self) -> MediaLine {
        match self {
            BankRead::Data(_, line) | BankRead::Compared(_, line) => MediaLine::data(line),
            BankRead::Counter(_, id) => MediaLine::counter(id),
            BankRead::Metadata(_, media) => media,
        }
    }
}

/// What waits for a counter block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CounterWaiter {
    Write(u32),
    Read(u32),
    /// An encrypted write whose counter is stored in the block when its data is queued.
    Append(u32),
    /// A write whose data is queued and whose counter is to be stored in the block.
    Pair(u32),
    /// A requested write-back of the block.
    Writeback(u32),
}

/// A counter block that is being fetched from the media.
#[derive(Clone, Debug, Default)]
pub(super) struct Fetch {
    pub id: CounterBlock,
    /// Whether it comes from the media, so that it must be verified.
    pub from_media: bool,
    pub waiters: Vec<CounterWaiter>,
    /// New counters of lines of the block, which are stored in it when it arrives.
    ///
    /// The counter of a later write of such a line is never stored first: while a block is being fetched, it is not in
    /// the cache. If it comes from the media, nothing else on the chip has it, and the pair waits for it. If it comes
    /// from the chip, it is there before the counter cache has answered the later write, which begins when the earlier
    /// one is queued.
    pub updates: Vec<(Line, Counter)>,
}

/// What claims an entry of the counter write queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CounterClaim {
    /// A write whose data is queued with its ready bit clear.
    Pair(u32),
    /// A requested write-back.
    Writeback(u32),
}

/// A `counter_cache_writeback` in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writeback {
    /// A line of the block.
    pub line: Line,
    pub token: WriteToken,
    /// Writes up to this arrival number came before it.
    pub after: u64,
    /// Whether it shreds its page.
    pub shreds: bool,
}

/// What waits for an AES circuit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CircuitWaiter {
    Write(u32),
    Read(u32),
}

/// What waits for a line of the page under re-encryption.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LineWaiter {
    Write(u32),
    Read(u32),
}

/// A dirty block that was evicted from a metadata cache and waits for a slot; still the newest copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Eviction {
    pub media: MediaLine,
    pub block: LineBytes,
    pub increment: u64,
    /// Whether it still waits for the node that vouches for it.
    pub waits_for_parent: bool,
}

/// What waits for a line of MACs or a tree node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MetadataWaiter {
    /// A write that needs it before its MAC and its way up the tree are computed.
    Write(u32),
    /// A read that needs its MAC.
    Read(u32),
    /// A fetch of a counter block, which has arrived and is to be verified.
    Counter(u32),
    /// A fetch of a tree node, which has arrived and is to be verified.
    Node(u32),
    /// An evicted block for which the node is to vouch.
    Eviction(MediaLine),
}

/// A line of MACs or a tree node that is being fetched from the media.
#[derive(Clone, Debug)]
pub(super) struct MetadataFetch {
    pub media: MediaLine,
    /// Whether it comes from the media, so that a node must be verified.
    pub from_media: bool,
    pub waiters: Vec<MetadataWaiter>,
}

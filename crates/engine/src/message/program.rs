//! What a program says about itself to the rest of the house: where its memory lies, what it looked like before
//! timing began, and how it recovers.

use super::{CoreId, Line, LineBytes};
use std::ops::Range;

/// Which form of a workload a design runs (model.md section 2).
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Debug,
    Default,
    serde::Serialize,
    serde::Deserialize,
    strum::VariantArray,
    strum::IntoStaticStr,
    strum::EnumMessage,
    strum::EnumProperty,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ProgramForm {
    /// Stores, flushes and fences as on unencrypted memory.
    #[default]
    #[strum(props(paper = "secpm, section 2.1"))]
    Plain,
    /// As plain, with `CounterAtomic` variables and `counter_cache_writeback`.
    #[strum(props(paper = "counter-atomicity, section 4.3, Figure 9"))]
    Annotated,
    /// Stores in place between `tx_begin` and `tx_end`, and `flush_data` of what they changed; hardware keeps the log.
    #[strum(props(paper = "easy-pm, section III-A"))]
    HardwareLogged,
    /// Without flushes, fences kept: for caches in the persistence domain ("we remove the CLWB, CLFLUSHOPT, and CLFLUSH
    /// instructions").
    #[strum(props(paper = "sepencr, section II-D"))]
    FlushFree,
}

/// One annotation in the text of a transaction: what a form of the program has at one place because the programmer
/// says so, and may forget.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Annotation {
    /// `counter_cache_writeback` of what Prepare wrote: the log entry, or the new node of a linked list.
    PrepareCounterCacheWriteback,
    /// `counter_cache_writeback` of the data that Mutate wrote in place.
    MutateCounterCacheWriteback,
    /// The variable whose change commits is `CounterAtomic`: the log entry's valid word, or the list's head pointer.
    CommitCounterAtomic,
    /// `flush_data` of what a hardware-logged transaction changed (easy-pm section III-A).
    FlushData,
}

impl Annotation {
    /// All of them, form by form, in program order.
    pub const ALL: [Annotation; 4] = [
        Annotation::PrepareCounterCacheWriteback,
        Annotation::MutateCounterCacheWriteback,
        Annotation::CommitCounterAtomic,
        Annotation::FlushData,
    ];

    /// Those of programs in `form`, in program order.
    pub fn of(form: ProgramForm) -> impl Iterator<Item = Annotation> {
        Self::ALL.into_iter().filter(move |annotation| annotation.form() == form)
    }

    /// The form of the programs that have it.
    pub fn form(self) -> ProgramForm {
        match self {
            Annotation::PrepareCounterCacheWriteback
            | Annotation::MutateCounterCacheWriteback
            | Annotation::CommitCounterAtomic => ProgramForm::Annotated,
            Annotation::FlushData => ProgramForm::HardwareLogged,
        }
    }

    /// Its name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Annotation::PrepareCounterCacheWriteback => "prepare-counter-cache-writeback",
            Annotation::MutateCounterCacheWriteback => "mutate-counter-cache-writeback",
            Annotation::CommitCounterAtomic => "commit-counter-atomic",
            Annotation::FlushData => "flush-data",
        }
    }
}

/// The memory a run starts from: populated, plaintext, shared between designs and never written.
pub trait BaseImage: Send + Sync {
    /// The populated bytes of `line`, or `None` if the program has never written it.
    fn line(&self, line: Line) -> Option<&LineBytes>;
    /// Whether `line` was populated; the same answer as [`BaseImage::line`] without touching the bytes.
    fn populated(&self, line: Line) -> bool;
    /// One past the highest byte address the program may use.
    fn end(&self) -> u64;
}

/// Byte-wise access to some view of memory: the program's own, or what a recovery decrypts.
pub trait ByteView {
    /// Fills `buffer` from `address`; never-written bytes read as zero.
    fn read(&mut self, address: u64, buffer: &mut [u8]);
    /// Writes `data` at `address`.
    fn write(&mut self, address: u64, data: &[u8]);

    /// The little-endian word at `address`.
    fn read_u64(&mut self, address: u64) -> u64 {
        let mut word = [0; 8];
        self.read(address, &mut word);
        u64::from_le_bytes(word)
    }
    /// Writes a little-endian word.
    fn write_u64(&mut self, address: u64, value: u64) {
        self.write(address, &value.to_le_bytes());
    }
}

/// The lines that `length` bytes from `address` lie in: offset in the line, and which of the bytes.
pub fn pieces(address: u64, length: usize) -> impl Iterator<Item = (Line, usize, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        (done < length).then(|| {
            let at = address + done as u64;
            let offset = (at % 64) as usize;
            let piece = done..done + (length - done).min(64 - offset);
            done = piece.end;
            (Line::containing(at), offset, piece)
        })
    })
}

/// Where one core's program keeps its things. Byte addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramLayout {
    /// The core that runs it.
    pub core: CoreId,
    /// The undo-log ring; empty for a program without a log.
    pub log: Range<u64>,
    /// Everything else the program may write.
    pub heap: Range<u64>,
}

/// What a log recovery found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// Complete entries of unfinished transactions, undone.
    pub undone: u32,
    /// Incomplete entries, abandoned.
    pub abandoned: u32,
    /// Bytes restored.
    pub bytes_restored: u64,
}

/// The program's own recovery and self-check, over whatever memory a boot presents. One object for all cores.
pub trait ProgramRecovery: Send + Sync {
    /// The layouts, by core.
    fn layouts(&self) -> &[ProgramLayout];
    /// Scans the log of `core` and undoes what was in flight.
    fn recover(&self, core: CoreId, view: &mut dyn ByteView) -> RecoveryReport;
    /// Walks the whole structure of `core`; the error says which invariant is broken and where.
    fn check(&self, core: CoreId, view: &mut dyn ByteView) -> Result<(), String>;
}

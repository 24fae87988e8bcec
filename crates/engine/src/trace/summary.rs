//! The first pass over a recording: checks every record, counts, and gives each file its place on the device.

use super::image::{Images, Pages};
use super::lacks::sentences;
use super::mapped_files::{EXTENT_MAX, RegisteredFile};
use super::other_memory::OtherMemory;
use super::recording::{Act, Populated, Recording};
use super::threads::Threads;
use crate::kernel::ConfigError;
use crate::message::{LINE_BYTES, Line, LineBytes, PAGE_BYTES};

/// What the path of a file begins with that stands for the size of the file before it: its first word.
pub(super) const SIZE_OF: &str = "size:";
/// What that of memory begins with that is no file.
const MEMORY: &str = "memory:";

/// The summary of a recording's contents.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct TraceSummary {
    /// Number of records between begin and end, including markers.
    pub records: u64,
    /// Number of instructions executed, if they are recorded.
    pub instructions: u64,
    /// Number of loads, including those of locked operations.
    pub loads: u64,
    /// Number of bytes loaded.
    pub load_bytes: u64,
    /// Number of stores of any kind.
    pub stores: u64,
    /// Number of bytes stored.
    pub store_bytes: u64,
    /// Number of flushes; for a pmemcheck log, of FLUSH records.
    pub flushes: u64,
    /// Number of flushes that touch no registered file (or no byte), which the replay leaves out.
    pub flushes_outside: u64,
    /// Number of lines that flushes and DEEP_SYNC records flush.
    pub lines_flushed: u64,
    /// Number of fences, without those of locked operations.
    pub fences: u64,
    /// Number of annotations: counter write-backs and declarations of `CounterAtomic` variables.
    pub annotations: u64,
    /// Number of markers, whatever they say; for a pmemcheck log, each begin and each end.
    pub marks: u64,
    /// Number of DEEP_SYNC records.
    pub deep_syncs: u64,
    /// Number of transactions ended.
    pub transactions: u64,
    /// Whether the program itself reports where transactions begin and end; otherwise libpmemobj's marks are used.
    pub transactions_told: bool,
    /// Number of threads that executed anything.
    pub threads: u64,
    /// How often a thread follows another, if the recording says so: then they can run on cores of their own.
    pub follows: Option<u64>,
    /// The files, in the order of their first registration.
    pub files: Vec<TraceFile>,
    /// What it has of memory that is not persistent, if the format has its accesses.
    pub others: Option<OtherMemory>,
    /// One past the highest device address of any file.
    pub end: u64,
    /// Exit status of the program, if it is recorded.
    pub status: Option<u64>,
    /// How far the recording is valid, if its end is missing.
    pub cut_off: Option<CutOff>,
    /// What the recording lacks of what the program did, in sentences.
    pub lacks: Vec<String>,
}

/// A file's region on the device.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct TraceFile {
    /// The path as recorded; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// First byte address of the region, a multiple of 4096.
    pub base: u64,
    /// Number of bytes, up to the highest that any registration includes.
    pub size: u64,
}

impl TraceFile {
    /// Whether it is a file of the program, and not what stands for something else.
    pub fn is_file(&self) -> bool {
        !self.path.starts_with(MEMORY) && !self.is_size()
    }

    /// Whether its first word is the size of the file before it, [`NO_SIZE`] if that does not exist.
    pub fn is_size(&self) -> bool {
        self.path.starts_with(SIZE_OF)
    }
}

/// The size of a file that does not exist.
pub const NO_SIZE: u64 = u64::MAX;

/// The line that holds the size of file number `of`, if a recording has it.
pub fn size_line(files: &[TraceFile], of: usize) -> Option<Line> {
    files.get(of + 1).filter(|next| next.is_size()).map(|size| Line::containing(size.base))
}

/// The size that such a line holds.
pub fn size_in(bytes: &LineBytes) -> u64 {
    u64::from_le_bytes(*bytes.first_chunk().expect("a line has a word"))
}

/// How far a recording without its end is valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct CutOff {
    /// Number of complete records.
    pub records: u64,
    /// Number of bytes of (decompressed) recording up to the end of the last complete record.
    pub bytes: u64,
}

/// Counts of acts.
#[derive(Default)]
pub(super) struct Tally {
    pub summary: TraceSummary,
    /// Transactions that the program reports, and transactions by marks.
    told: u64,
    marked: u64,
    begun: bool,
    follows: u64,
    threads: Threads,
}

impl Tally {
    /// Counts `act`, which `recording` has returned last.
    pub fn count(&mut self, act: Act, recording: &mut dyn Recording) {
        let summary = &mut self.summary;
        match act {
            Act::Load { size, .. } => {
                summary.loads += 1;
                summary.load_bytes += u64::from(size);
            }
            Act::Store { size, way, .. } => {
                summary.stores += 1;
                summary.store_bytes += u64::from(size);
                if way == super::recording::StoreWay::Atomic {
                    summary.loads += 1;
                    summary.load_bytes += u64::from(size);
                }
            }
            Act::Flush { address, end, .. } => {
                let lines = lines_mapped(recording, address, end);
                summary.flushes += 1;
                summary.flushes_outside += u64::from(lines == 0);
                summary.lines_flushed = summary.lines_flushed.saturating_add(lines);
            }
            Act::Fence | Act::FullFence => summary.fences += 1,
            Act::Locked => {}
            Act::DeepSync { address, end } => {
                let lines = lines_mapped(recording, address, end);
                summary.deep_syncs += 1;
                summary.lines_flushed = summary.lines_flushed.saturating_add(lines);
            }
            Act::Annotation { .. } => summary.annotations += 1,
            Act::TxBegin => self.begun = true,
            Act::TxEnd => self.told += 1,
            Act::Transactional | Act::Other { .. } | Act::Scratch { .. } | Act::Nothing => {}
            Act::Follows { thread, records } => {
                self.follows += 1;
                self.threads.follow(thread, records);
            }
            Act::Commit => {
                self.marked += 1;
                self.threads.commit(recording.thread());
            }
            Act::Over { .. } => {}
        }
    }

    /// The summary of everything that was counted, without the files, and what is known of each thread.
    pub fn finish(self, recording: &dyn Recording, cut_off: bool) -> (TraceSummary, Threads) {
        let totals = recording.totals();
        let told = self.begun;
        let threads = self.threads.finish(totals.threads, |thread| told.then(|| recording.ended_by(thread)));
        let summary = TraceSummary {
            follows: recording.tells_follows().then_some(self.follows),
            records: recording.records(),
            instructions: totals.instructions,
            threads: totals.threads,
            marks: totals.marks,
            status: totals.status,
            others: totals.others,
            transactions: if self.begun { self.told } else { self.marked },
            transactions_told: self.begun,
            lacks: sentences(&recording.lacks(cut_off)),
            ..self.summary
        };
        (summary, threads)
    }
}

/// Walks the whole recording. Also returns what is known of each thread, and the pages that its files start with.
pub(super) fn summarise(
    recording: &mut dyn Recording,
    allow_truncated: bool,
) -> Result<(TraceSummary, Threads, Pages), ConfigError> {
    let mut tally = Tally::default();
    let mut images = Images::default();
    let cut_off = loop {
        let deed = recording.next_deed(&mut |populated: Populated<'_>| images.take(populated))?;
        if let Act::Over { cut_off } = deed.act {
            break cut_off;
        }
        tally.count(deed.act, recording);
    };
    let (mut summary, threads) = tally.finish(recording, cut_off);
    if cut_off {
        let (records, bytes) = (recording.records(), recording.offset());
        if !allow_truncated {
            return Err(cut_off_error(recording, "replays"));
        }
        summary.cut_off = Some(CutOff { records, bytes });
    }
    (summary.files, summary.end) = place_files(recording.name(), recording.files())?;
    let pages = images.place(&summary.files);
    Ok((summary, threads, pages))
}

/// The error of a recording whose end is missing; `done`: what is done to its good part if the user allows it.
pub(super) fn cut_off_error(recording: &dyn Recording, done: &str) -> ConfigError {
    let (name, (what, end)) = (recording.name(), recording.kind());
    let (bytes, records) = (recording.offset(), recording.records());
    ConfigError(format!(
        "{name}: the {what} is cut off: expected {end} at its end, and it is good up to byte {bytes} ({records} \
         records); --allow-truncated {done} that part"
    ))
}

/// Places files one after the other, each at a page boundary: a page shares one counter block, and no two files share a
/// page.
fn place_files(name: &str, files: &[RegisteredFile]) -> Result<(Vec<TraceFile>, u64), ConfigError> {
    let mut placed = Vec::with_capacity(files.len());
    let mut base: u64 = 0;
    for file in files {
        let path = String::from_utf8_lossy(&file.path).into_owned();
        placed.push(TraceFile { path, base, size: file.extent });
        // Neither step can overflow: there are at most 1024 files, none of more than 2^48 bytes.
        base += file.extent.next_multiple_of(PAGE_BYTES);
    }
    let end = placed.last().map_or(0, |file| file.base + file.size);
    if end > EXTENT_MAX {
        return Err(ConfigError(format!(
            "{name}: the registered files take {end} bytes together: expected at most {EXTENT_MAX} (2^48)"
        )));
    }
    Ok((placed, end))
}

/// Lines of registered files in `[address, end)`.
fn lines_mapped(recording: &mut dyn Recording, address: u64, end: u64) -> u64 {
    let mut lines: u64 = 0;
    let mut at = address;
    while let Some((start, place)) = recording.first_placed(at, end) {
        let stop = start + place.length;
        lines += stop.div_ceil(LINE_BYTES) - start / LINE_BYTES;
        at = stop;
    }
    lines
}

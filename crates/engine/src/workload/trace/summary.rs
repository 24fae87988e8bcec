//! The first pass over a log: checks every record, counts, and gives each file its place on the device.

use super::mapping::{EXTENT_MAX, Mappings, RegisteredFile};
use super::walk::{Deed, Walk};
use crate::config::ConfigError;
use crate::message::{LINE_BYTES, PAGE_BYTES};

/// What a log holds.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct TraceSummary {
    /// Records between START and STOP, markers included.
    pub records: u64,
    /// STORE records.
    pub stores: u64,
    /// Bytes they store.
    pub store_bytes: u64,
    /// FLUSH records.
    pub flushes: u64,
    /// Those of them that touch no registered file (or no byte); the replay leaves them out.
    pub flushes_outside: u64,
    /// Lines that FLUSH and DEEP_SYNC records flush.
    pub lines_flushed: u64,
    /// FENCE records.
    pub fences: u64,
    /// DEEP_SYNC records.
    pub deep_syncs: u64,
    /// Transactions committed.
    pub transactions: u64,
    /// The files, in the order of their first registration.
    pub files: Vec<TraceFile>,
    /// One past the highest device address of any file.
    pub end: u64,
    /// How far the log is good, if it has no STOP.
    pub cut_off: Option<CutOff>,
}

/// A file's region on the device.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct TraceFile {
    /// As logged; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// First byte address of the region, a multiple of 4096.
    pub base: u64,
    /// Bytes, up to the highest that any registration reaches.
    pub size: u64,
}

/// How far a log without STOP is good.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct CutOff {
    /// Complete records.
    pub records: u64,
    /// Bytes of (decompressed) log up to the end of the last complete record.
    pub bytes: u64,
}

/// Walks the whole log.
pub(super) fn summarise(walk: &mut Walk, allow_truncated: bool) -> Result<TraceSummary, ConfigError> {
    let mut summary = TraceSummary::default();
    loop {
        match walk.next_deed()? {
            Deed::Store { size, .. } => {
                summary.stores += 1;
                summary.store_bytes += u64::from(size);
            }
            Deed::Flush { address, end } => {
                let lines = lines_mapped(&mut walk.mappings, address, end);
                summary.flushes += 1;
                summary.flushes_outside += u64::from(lines == 0);
                summary.lines_flushed = summary.lines_flushed.saturating_add(lines);
            }
            Deed::Fence => summary.fences += 1,
            Deed::DeepSync { address, end } => {
                let lines = lines_mapped(&mut walk.mappings, address, end);
                summary.deep_syncs += 1;
                summary.lines_flushed = summary.lines_flushed.saturating_add(lines);
            }
            Deed::Transactional => {}
            Deed::Commit => summary.transactions += 1,
            Deed::Over { cut_off } => {
                let (records, bytes) = (walk.reader.records(), walk.reader.offset());
                if cut_off && !allow_truncated {
                    return Err(ConfigError(format!(
                        "{}: the log is cut off: expected STOP at its end, and it is good up to byte {bytes} \
                         ({records} records); --allow-truncated replays that part",
                        walk.reader.name()
                    )));
                }
                summary.records = records;
                summary.cut_off = cut_off.then_some(CutOff { records, bytes });
                break;
            }
        }
    }
    (summary.files, summary.end) = place_files(walk.reader.name(), walk.mappings.files())?;
    Ok(summary)
}

/// Files one after the other, each from a page boundary: a page shares one counter block, and no two files share a page.
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

/// Lines of registered files that `[address, end)` touches.
fn lines_mapped(mappings: &mut Mappings, address: u64, end: u64) -> u64 {
    let mut lines: u64 = 0;
    let mut at = address;
    while at < end
        && let Some((start, place)) = mappings.place_from(at)
        && start < end
    {
        let stop = end.min(start + place.length);
        lines += stop.div_ceil(LINE_BYTES) - start / LINE_BYTES;
        at = stop;
    }
    lines
}

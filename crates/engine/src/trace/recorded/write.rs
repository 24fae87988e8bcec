//! Makes a file of the stream that the recorder's tool writes into a pipe: every record is checked, and the file is
//! compressed in frames that each begin with a SYNC, with a table of the frames at its end (the zstd seekable format).

use super::super::lacks::Lack;
use super::super::mapped_files::RegisteredFile;
use super::super::recording::{Act, Expected, Recording};
use super::super::summary::{SIZE_OF, Tally};
use super::record::{MAGIC, STATUS_UNKNOWN, TAG_END, TAG_SYNC};
use super::varint::put;
use super::walk::Walk;
use crate::kernel::ConfigError;
use crate::output::{self, Unfinished};
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use zeekstd::{EncodeOptions, Encoder, FrameSizePolicy};

/// A frame ends before the first SYNC after this many uncompressed bytes.
pub const FRAME_BYTES: u64 = 1 << 20;
/// The most uncompressed bytes of a frame, which a reader must process to start at the frame's beginning.
pub const FRAME_BYTES_MAX: u64 = 8 << 20;
/// Uncompressed bytes gathered before they are compressed.
const GATHERED_BYTES: usize = 1 << 16;

/// The summary of a written trace.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, schemars::JsonSchema)]
pub struct TraceWritten {
    /// Number of records, without END.
    pub records: u64,
    /// Number of instructions executed.
    pub instructions: u64,
    /// Number of loads, including those of locked operations.
    pub loads: u64,
    /// Number of stores of any kind.
    pub stores: u64,
    /// Number of bytes stored.
    pub bytes: u64,
    /// Number of flushes.
    pub flushes: u64,
    /// Number of fences, without those of locked operations.
    pub fences: u64,
    /// Number of threads that executed anything.
    pub threads: u64,
    /// Paths of the recorded files, by number; bytes that are not UTF-8 are replaced.
    pub paths: Vec<String>,
    /// Number of transactions ended, as the program reports them or by libpmemobj's marks.
    pub transactions: u64,
    /// Exit status of the program; 256 if the stream did not report it.
    pub status: u64,
    /// Whether the stream had its END. If not, an END was added after its valid part.
    pub complete: bool,
    /// What the trace lacks of what the program did, in sentences.
    pub lacks: Vec<String>,
    /// Whether part of that is in other processes.
    pub left_to_others: bool,
    /// Bytes of the stream.
    pub stream_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
}

/// Writes the stream `input`, called `name` in errors, to the file `path`, which appears when it is complete. Does not
/// read beyond END.
///
/// # Errors
/// One sentence: the stream is malformed or cannot be read, or the file cannot be written. Then no file is left.
pub fn write_trace(name: &str, input: impl Read + Send + 'static, path: &Path) -> Result<TraceWritten, ConfigError> {
    let mut walk = Walk::new(name, input);
    let mut file = Frames::create(path)?;
    let mut tally = Tally::default();
    let complete = loop {
        let deed = walk.next_record(&mut |_| Ok(()))?;
        if file.stream_bytes == 0 {
            file.put(&MAGIC)?;
            file.put(&[walk.reader().version()])?;
        }
        if deed.is_some_and(|deed| deed.act == Act::Over { cut_off: true }) {
            break false;
        }
        let raw = walk.reader().raw();
        if raw.first() == Some(&TAG_SYNC) && file.frame_bytes >= FRAME_BYTES {
            file.end_frame()?;
        }
        if file.frame_bytes + raw.len() as u64 > FRAME_BYTES_MAX {
            return Err(walk.reader().malformed(Expected("a SYNC no more than 8 MiB after the one before")));
        }
        file.put(raw)?;
        match deed.map(|deed| deed.act) {
            Some(Act::Over { .. }) => break true,
            Some(act) => tally.count(act, &mut walk),
            None => {}
        }
    };
    let (summary, _) = tally.finish(&walk, !complete);
    if !complete {
        if summary.records == 0 {
            let expected = "expected a stream that begins with CPTRACE and SYNC";
            return Err(ConfigError(format!("{name}: nothing was recorded: {expected}")));
        }
        let mut end = vec![TAG_END];
        for field in [summary.records, summary.instructions, STATUS_UNKNOWN] {
            put(&mut end, field);
        }
        file.put(&end)?;
    }
    let (stream_bytes, file_bytes) = file.finish()?;
    Ok(TraceWritten {
        records: summary.records,
        instructions: summary.instructions,
        loads: summary.loads,
        stores: summary.stores,
        bytes: summary.store_bytes,
        flushes: summary.flushes,
        fences: summary.fences,
        threads: summary.threads,
        paths: paths(walk.files()),
        transactions: summary.transactions,
        status: summary.status.unwrap_or(STATUS_UNKNOWN),
        complete,
        left_to_others: walk.lacks(!complete).iter().any(Lack::is_of_others),
        lacks: summary.lacks,
        stream_bytes,
        file_bytes,
    })
}

/// The paths of files, without those that stand for the sizes of others.
fn paths(files: &[RegisteredFile]) -> Vec<String> {
    let paths = files.iter().map(|file| String::from_utf8_lossy(&file.path).into_owned());
    paths.filter(|path| !path.starts_with(SIZE_OF)).collect()
}

/// The incomplete compressed file, which is removed if this is dropped early.
struct Frames {
    path: PathBuf,
    name: Unfinished,
    encoder: Encoder<'static, BufWriter<File>>,
    gathered: Vec<u8>,
    /// Uncompressed bytes of the current frame.
    frame_bytes: u64,
    stream_bytes: u64,
}

impl Frames {
    fn create(path: &Path) -> Result<Self, ConfigError> {
        let (file, name) = output::create(path).map_err(|error| cannot(path, &error))?;
        // Frames end only where requested; a frame that is too long is refused before the library would end it.
        let policy = FrameSizePolicy::Uncompressed(2 * FRAME_BYTES_MAX as u32);
        let options = EncodeOptions::new().frame_size_policy(policy).checksum_flag(true);
        let encoder = options.into_encoder(BufWriter::new(file)).map_err(|error| cannot(path, &error))?;
        let (path, gathered) = (path.to_path_buf(), Vec::with_capacity(2 * GATHERED_BYTES));
        Ok(Frames { path, name, encoder, gathered, frame_bytes: 0, stream_bytes: 0 })
    }

    /// Appends to the current frame.
    fn put(&mut self, bytes: &[u8]) -> Result<(), ConfigError> {
        self.gathered.extend_from_slice(bytes);
        self.frame_bytes += bytes.len() as u64;
        self.stream_bytes += bytes.len() as u64;
        if self.gathered.len() >= GATHERED_BYTES { self.compress() } else { Ok(()) }
    }

    fn end_frame(&mut self) -> Result<(), ConfigError> {
        self.compress()?;
        self.frame_bytes = 0;
        self.encoder.end_frame().map_err(|error| cannot(&self.path, &error)).map(drop)
    }

    fn compress(&mut self) -> Result<(), ConfigError> {
        let gathered = std::mem::take(&mut self.gathered);
        let done = self.encoder.write_all(&gathered).map_err(|error| cannot(&self.path, &error));
        self.gathered = gathered;
        self.gathered.clear();
        done
    }

    /// Completes the file; returns the bytes of the stream and of the file.
    fn finish(mut self) -> Result<(u64, u64), ConfigError> {
        self.compress()?;
        let file_bytes = self.encoder.finish().map_err(|error| cannot(&self.path, &error))?;
        self.name.finish().map_err(|error| cannot(&self.path, &error))?;
        Ok((self.stream_bytes, file_bytes))
    }
}

fn cannot(path: &Path, error: &dyn std::fmt::Display) -> ConfigError {
    ConfigError(format!("{}: the trace cannot be written: {error}", path.display()))
}

//! A trace file that is opened in the middle: its table of frames says where each begins, and each begins with a SYNC.

use super::super::compressed::decompressed;
use super::reader::{RecordReader, Step};
use super::record::Record;
use super::write::FRAME_BYTES_MAX;
use crate::kernel::ConfigError;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use zeekstd::SeekTable;

/// Bytes at the end of a file with the length of the table (zstd seekable format 0.1.0, section "Seek_Table_Footer").
const FOOTER_BYTES: u64 = 9;
/// The last bytes of the footer.
const FOOTER_MAGIC: [u8; 4] = 0x8f92_eab1u32.to_le_bytes();
/// The fewest bytes of a frame's entry in the table.
const ENTRY_BYTES: u64 = 8;

/// A trace file with a table of frames.
pub struct SeekableTrace {
    path: PathBuf,
    table: SeekTable,
}

impl SeekableTrace {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// It cannot be read, has no table of frames, or the table does not fit the file.
    pub fn open(path: &Path) -> Result<Self, ConfigError> {
        let wrong = |what: &str| ConfigError(format!("{}: {what}", path.display()));
        let unreadable = |error: &dyn std::fmt::Display| wrong(&format!("the trace cannot be opened: {error}"));
        let mut file = File::open(path).map_err(|error| unreadable(&error))?;
        let length = file.metadata().map_err(|error| unreadable(&error))?.len();
        let no_table = || wrong("the trace cannot be opened in the middle: expected a table of frames at its end");
        if length < FOOTER_BYTES {
            return Err(no_table());
        }
        let mut footer = [0; FOOTER_BYTES as usize];
        file.seek(SeekFrom::End(-(FOOTER_BYTES as i64))).map_err(|error| unreadable(&error))?;
        file.read_exact(&mut footer).map_err(|error| unreadable(&error))?;
        let frames = u64::from(u32::from_le_bytes([footer[0], footer[1], footer[2], footer[3]]));
        // The library allocates memory for as many frames as the footer says.
        if footer[5..] != FOOTER_MAGIC || frames == 0 || frames * ENTRY_BYTES > length {
            return Err(no_table());
        }
        let table = SeekTable::from_seekable(&mut file)
            .map_err(|error| wrong(&format!("the table of frames cannot be read: {error}")))?;
        if table.size_comp() > length || table.max_frame_size_decomp() > FRAME_BYTES_MAX {
            return Err(wrong("the table of frames does not fit: expected frames of at most 8 MiB within the file"));
        }
        Ok(SeekableTrace { path: path.to_path_buf(), table })
    }

    /// The number of frames.
    pub fn frames(&self) -> u32 {
        self.table.num_frames()
    }

    /// A reader at the SYNC with which `frame` begins.
    ///
    /// # Errors
    /// There is no such frame, or the file can no longer be opened.
    pub fn reader(&self, frame: u32) -> Result<RecordReader, ConfigError> {
        let name = self.path.display().to_string();
        let cannot = |error: &dyn std::fmt::Display| ConfigError(format!("{name}: frame {frame}: {error}"));
        let (start, at) = match (self.table.frame_start_comp(frame), self.table.frame_start_decomp(frame)) {
            (Ok(start), Ok(at)) if frame < self.frames() => (start, at),
            _ => return Err(cannot(&format!("the trace has {} frames", self.frames()))),
        };
        let mut file = File::open(&self.path).map_err(|error| cannot(&error))?;
        file.seek(SeekFrom::Start(start)).map_err(|error| cannot(&error))?;
        // The table is trusted only for places: the library's own decoder would wait for bytes that a forged table
        // promises.
        let decoder = decompressed(BufReader::new(file)).map_err(|error| cannot(&error))?;
        // The first frame begins with the magic number.
        Ok(if frame == 0 { RecordReader::new(&name, decoder) } else { RecordReader::from_sync(&name, decoder, at) })
    }

    /// A reader at the last SYNC with at most `records` records before it.
    ///
    /// # Errors
    /// The errors of [`SeekableTrace::reader`], or a frame that does not begin with a SYNC.
    pub fn reader_before(&self, records: u64) -> Result<RecordReader, ConfigError> {
        let (mut low, mut high) = (0, self.frames());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let mut reader = self.reader(middle)?;
            match reader.next_step()? {
                Step::Record(Record::Sync { records: before, .. }) if before <= records => low = middle,
                _ => high = middle,
            }
        }
        self.reader(low)
    }
}

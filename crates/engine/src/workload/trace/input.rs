//! Where a log comes from: a file or bytes in memory, plain or zstd. Compression is told by content, not by name.

use super::TraceReader;
use crate::config::ConfigError;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a zstd frame begins (RFC 8878 section 3.1.1).
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The largest zstd window accepted, log2 of bytes: 128 MiB, what the zstd tool itself accepts without being asked.
/// The window is all that a frame's header can make the decoder allocate.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;
/// Bytes of (decompressed) log buffered at a time.
const BUFFER_BYTES: usize = 1 << 16;

/// A log that can be read from its beginning as often as needed.
#[derive(Clone, Debug)]
pub(super) enum Source {
    File(PathBuf),
    Bytes(String, Arc<[u8]>),
}

impl Source {
    /// The file at `path`, which must be a regular one because it is read more than once.
    pub fn file(path: &Path) -> Result<Self, ConfigError> {
        let metadata = std::fs::metadata(path).map_err(|error| cannot_open(path, &error))?;
        if !metadata.is_file() {
            let path = path.display();
            return Err(ConfigError(format!("{path}: a trace is read twice and must be a regular file")));
        }
        Ok(Source::File(path.to_path_buf()))
    }

    /// `bytes`, called `name` in errors.
    pub fn bytes(name: &str, bytes: Arc<[u8]>) -> Self {
        Source::Bytes(name.to_owned(), bytes)
    }

    /// A reader at the beginning of the log.
    pub fn reader(&self) -> Result<TraceReader, ConfigError> {
        match self {
            Source::File(path) => {
                let file = File::open(path).map_err(|error| cannot_open(path, &error))?;
                let input = BufReader::with_capacity(BUFFER_BYTES, file);
                TraceReader::new(&path.display().to_string(), input)
            }
            Source::Bytes(name, bytes) => TraceReader::new(name, Cursor::new(Arc::clone(bytes))),
        }
    }
}

/// `input` itself, or its decompressed text if it begins like a zstd frame.
pub(super) fn plain_text(input: impl BufRead + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    let mut input = input;
    // A buffer may hold fewer bytes than the magic (a file has them all, so does a cursor); such input is read as text.
    if input.fill_buf()?.starts_with(&ZSTD_MAGIC) {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(input)?;
        decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
        return Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder)));
    }
    Ok(Box::new(input))
}

fn cannot_open(path: &Path, error: &io::Error) -> ConfigError {
    ConfigError(format!("{}: the trace cannot be opened: {error}", path.display()))
}

//! The source of a trace: a file or bytes in memory, plain or compressed (zstd, gzip, xz, bzip2). Compression and format
//! are detected from the content, not from the name.

use super::detect::{Format, detect};
use super::lines::LineFormat;
use super::recording::Recording;
use super::{champsim, pmemcheck, recorded};
use crate::kernel::ConfigError;
use std::fs::{File, FileType};
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The first bytes of a zstd frame (RFC 8878 section 3.1.1).
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The first bytes of a gzip member (RFC 1952 section 2.3.1), with the only method that exists.
const GZIP_MAGIC: [u8; 3] = [0x1f, 0x8b, 0x08];
/// The first bytes of an xz stream (xz file format 1.2.1, section 2.1.1.1).
const XZ_MAGIC: [u8; 6] = [0xfd, b'7', b'z', b'X', b'Z', 0x00];
/// The first bytes of a bzip2 stream, which the size of its blocks follows: a digit from 1 to 9, in 100,000 bytes. The
/// decoder allocates 4 bytes for each byte of a block.
const BZIP2_MAGIC: [u8; 3] = *b"BZh";
/// The largest accepted zstd window, log2 of bytes: 128 MiB, which the zstd tool itself accepts by default. The window
/// is the only memory that a frame's header can make the decoder allocate.
const ZSTD_WINDOW_LOG_MAX: u32 = 27;
/// The most memory that an xz header can make the decoder allocate: `xz -9` needs 65 MiB.
const XZ_MEMORY_MAX: u64 = 128 << 20;
/// Bytes of (decompressed) trace buffered at a time.
const BUFFER_BYTES: usize = 1 << 16;
/// Bytes of (decompressed) trace from which its format is detected.
const HEAD_BYTES: u64 = 4096;

/// A trace that can be read from its beginning as often as needed.
#[derive(Clone, Debug)]
pub(super) struct TraceInput {
    place: Place,
    /// Set when the user interrupts: then nothing more can be read.
    cancel: Arc<AtomicBool>,
}

#[derive(Clone, Debug)]
enum Place {
    File(PathBuf),
    Bytes(String, Arc<[u8]>),
}

/// A trace at its beginning, and what it is.
pub(super) struct Opened {
    pub name: String,
    pub input: Box<dyn BufRead + Send>,
    pub format: Format,
    /// Bytes of the file, compressed or not, that have been read so far.
    pub read: Arc<AtomicU64>,
}

impl Opened {
    /// The recorded program.
    pub fn recording(self) -> Result<Box<dyn Recording>, ConfigError> {
        let Opened { name, input, format, .. } = self;
        match format {
            Format::Recorded => Ok(Box::new(recorded::Walk::new(&name, input))),
            Format::Pmemcheck => Ok(Box::new(pmemcheck::Walk::new(pmemcheck::TraceReader::new(&name, input)))),
            Format::Champsim => Ok(Box::new(champsim::Walk::new(&name, input))),
            Format::Lines(format) => Err(ConfigError(format!(
                "{name}: a trace of {} has memory lines and no program: only runs take it, and only alone",
                format.name()
            ))),
        }
    }
}

impl TraceInput {
    /// The file at `path`, which must be a regular file because it is read more than once.
    pub fn file(path: &Path, cancel: Arc<AtomicBool>) -> Result<Self, ConfigError> {
        let metadata = std::fs::metadata(path).map_err(|error| cannot_open(path, &error))?;
        if !metadata.is_file() {
            let (path, kind) = (path.display(), kind_of(metadata.file_type()));
            return Err(ConfigError(format!(
                "{path}: a trace is read several times, so it must be a regular file, and this is {kind}"
            )));
        }
        Ok(TraceInput { place: Place::File(path.to_path_buf()), cancel })
    }

    /// A trace in memory, called `name` in errors.
    pub fn bytes(name: &str, bytes: Arc<[u8]>) -> Self {
        TraceInput { place: Place::Bytes(name.to_owned(), bytes), cancel: Arc::default() }
    }

    /// The same trace, which can be read on when the user has interrupted.
    pub fn uninterrupted(&self) -> Self {
        TraceInput { place: self.place.clone(), cancel: Arc::default() }
    }

    /// Opens the trace at its beginning.
    pub fn open(&self) -> Result<Opened, ConfigError> {
        match &self.place {
            Place::File(path) => {
                let file = File::open(path).map_err(|error| cannot_open(path, &error))?;
                open(path.display().to_string(), file, &self.cancel)
            }
            Place::Bytes(name, bytes) => open(name.clone(), Cursor::new(Arc::clone(bytes)), &self.cancel),
        }
    }

    /// Bytes of the file, compressed or not; 0 if it no longer exists.
    pub fn file_bytes(&self) -> u64 {
        match &self.place {
            Place::File(path) => std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
            Place::Bytes(_, bytes) => bytes.len() as u64,
        }
    }

    /// Opens the recorded program at its beginning.
    pub fn recording(&self) -> Result<Box<dyn Recording>, ConfigError> {
        self.open()?.recording()
    }

    /// The format, if it is one of memory lines.
    pub fn line_format(&self) -> Result<Option<LineFormat>, ConfigError> {
        Ok(match self.open()?.format {
            Format::Lines(format) => Some(format),
            Format::Recorded | Format::Pmemcheck | Format::Champsim => None,
        })
    }
}

fn open(name: String, input: impl Read + Send + 'static, cancel: &Arc<AtomicBool>) -> Result<Opened, ConfigError> {
    let unreadable = |error| ConfigError(format!("{name}: cannot be read: {error}"));
    // On both sides, because compressed input may unpack to nothing, or to very much.
    let read = Arc::<AtomicU64>::default();
    let input = BufReader::with_capacity(BUFFER_BYTES, Counted { input, read: Arc::clone(&read) });
    let mut rest = decompressed(Interruptible { input, cancel: Arc::clone(cancel) }).map_err(unreadable)?;
    let mut head = Vec::new();
    let error = rest.by_ref().take(HEAD_BYTES).read_to_end(&mut head).err();
    let whole = error.is_some() || (head.len() as u64) < HEAD_BYTES;
    let format = detect(&name, &head, whole, error.is_some())?;
    let input = Replayed { head: Cursor::new(head), error, rest };
    Ok(Opened { name, input: Box::new(Interruptible { input, cancel: Arc::clone(cancel) }), format, read })
}

/// `input` itself, or its decompressed contents if it begins like compressed data.
pub(super) fn decompressed(input: impl BufRead + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    let mut input = input;
    // The buffer may hold fewer bytes than a magic number (files and bytes in memory have them all); such input is read
    // as it is.
    let head = input.fill_buf()?;
    if head.starts_with(&ZSTD_MAGIC) {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(input)?;
        decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
        return Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder)));
    }
    if head.starts_with(&GZIP_MAGIC) {
        let decoder = flate2::bufread::MultiGzDecoder::new(input);
        return Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder)));
    }
    if head.starts_with(&XZ_MAGIC) {
        let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY_MAX, liblzma::stream::CONCATENATED);
        let decoder = liblzma::bufread::XzDecoder::new_stream(input, stream.map_err(io::Error::from)?);
        return Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder)));
    }
    if head.strip_prefix(&BZIP2_MAGIC).and_then(|size| size.first()).is_some_and(|size| matches!(size, b'1'..=b'9')) {
        let decoder = bzip2::bufread::MultiBzDecoder::new(input);
        return Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder)));
    }
    Ok(Box::new(input))
}

/// What a path that is no regular file names.
fn kind_of(file: FileType) -> &'static str {
    if file.is_dir() {
        "a folder"
    } else if file.is_fifo() {
        "a pipe"
    } else if file.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

/// Whether `error` is how a decoder reports that compressed input was cut off.
pub(super) fn is_cut_off(error: &io::Error) -> bool {
    error.kind() == ErrorKind::UnexpectedEof
}

fn cannot_open(path: &Path, error: &io::Error) -> ConfigError {
    ConfigError(format!("{}: the trace cannot be opened: {error}", path.display()))
}

/// Input that counts the bytes that are read from it.
struct Counted<R> {
    input: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.input.read(buffer)?;
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

/// Input that ends with an error when the user interrupts. Its readers need no check of their own, although a recording
/// may go on for long without an act of the program.
struct Interruptible<R> {
    input: R,
    cancel: Arc<AtomicBool>,
}

impl<R> Interruptible<R> {
    fn go_on(&self) -> io::Result<()> {
        // Not `ErrorKind::Interrupted`, because readers retry after that.
        if self.cancel.load(Ordering::Relaxed) { Err(io::Error::other("interrupted")) } else { Ok(()) }
    }
}

impl<R: BufRead> BufRead for Interruptible<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.go_on()?;
        self.input.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.input.consume(amount);
    }
}

impl<R: Read> Read for Interruptible<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.go_on()?;
        self.input.read(buffer)
    }
}

/// Input whose first bytes, and the error after them, have been read already.
struct Replayed {
    head: Cursor<Vec<u8>>,
    error: Option<io::Error>,
    rest: Box<dyn BufRead + Send>,
}

impl Replayed {
    fn in_head(&self) -> bool {
        self.head.position() < self.head.get_ref().len() as u64
    }
}

impl BufRead for Replayed {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.in_head() {
            return self.head.fill_buf();
        }
        match self.error.take() {
            Some(error) => Err(error),
            None => self.rest.fill_buf(),
        }
    }

    fn consume(&mut self, amount: usize) {
        if self.in_head() { self.head.consume(amount) } else { self.rest.consume(amount) }
    }
}

impl Read for Replayed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.in_head() {
            return self.head.read(buffer);
        }
        match self.error.take() {
            Some(error) => Err(error),
            None => self.rest.read(buffer),
        }
    }
}

//! The source of a trace: a file or bytes in memory, plain or compressed (zstd, gzip, xz, bzip2). Compression and format
//! are detected from the content, not from the name.

use super::compressed::decompressed;
use super::detect::{Format, detect};
use super::lines::LineFormat;
use super::recording::Recording;
use super::{champsim, pmemcheck, recorded};
use crate::kernel::ConfigError;
use std::fs::{File, FileType};
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes of (decompressed) trace buffered at a time.
pub(super) const BUFFER_BYTES: usize = 1 << 16;
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

/// What a path that is no regular file names.
fn kind_of(file: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if file.is_fifo() {
            return "a pipe";
        }
        if file.is_socket() {
            return "a socket";
        }
    }
    if file.is_dir() { "a folder" } else { "a device" }
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

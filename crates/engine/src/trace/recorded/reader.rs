//! Splits a stream into records and checks them against the stream itself: its magic number and version, a SYNC at the
//! beginning, and in every SYNC and END the numbers of earlier records and instructions. One record is held at a time.

use super::super::input::is_cut_off;
use super::super::recording::Expected;
use super::record::{Access, Last, MAGIC, Record, TAG, VERSIONS, longest, parse};
use super::varint::Problem;
use crate::kernel::ConfigError;
use std::io::{ErrorKind, Read};
use std::ops::Range;

/// Bytes in the buffer: at least one record, so that it is contiguous.
const BUFFER_BYTES: usize = 1 << 18;
/// Room behind the records in the buffer below which they are moved to its beginning.
const ROOM_BYTES: usize = 1 << 16;
/// One past the most instructions of a program: two days of a recording. Even with the slowest clock of a machine they
/// end within 2^64 picoseconds.
pub const INSTRUCTIONS_END: u64 = 1 << 44;
/// The newest version of the format, which reading from the middle assumes.
const NEWEST: u8 = VERSIONS[VERSIONS.len() - 1];
/// Bytes of a malformed record that an error shows.
const SHOWN_BYTES_MAX: usize = 12;
const INSTRUCTIONS: Expected = Expected("fewer than 2^44 instructions");

/// The result of the reader's next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'a> {
    /// A record. END is returned as a record too, and then again.
    Record(Record<'a>),
    /// The input ended before END. The last, incomplete record has been dropped.
    CutOff,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The magic number comes next.
    Magic,
    /// A SYNC comes next: the first record of the stream, or of a part of it.
    Sync {
        in_the_middle: bool,
    },
    Records,
    Ended {
        records: u64,
        instructions: u64,
        status: u64,
    },
    CutOff,
}

/// Reads the records of one stream.
pub struct RecordReader {
    name: String,
    input: Box<dyn Read + Send>,
    /// `buffer[held]` has been read but not returned yet.
    buffer: Vec<u8>,
    held: Range<usize>,
    input_over: bool,
    state: State,
    /// The version of the stream; the newest, if reading began in the middle.
    version: u8,
    last: Last,
    /// Where the newest record is in the stream, and in the buffer.
    at: u64,
    newest: Range<usize>,
    records: u64,
    instructions: u64,
}

impl RecordReader {
    /// Reads the (decompressed) stream `input`, from its magic number; `name` is its name in errors.
    pub fn new(name: &str, input: impl Read + Send + 'static) -> Self {
        RecordReader {
            name: name.to_owned(),
            input: Box::new(input),
            buffer: vec![0; BUFFER_BYTES],
            held: 0..0,
            input_over: false,
            state: State::Magic,
            version: NEWEST,
            last: Last::default(),
            at: 0,
            newest: 0..0,
            records: 0,
            instructions: 0,
        }
    }

    /// Reads a stream from a SYNC that is `at` bytes from the stream's beginning.
    pub fn from_sync(name: &str, input: impl Read + Send + 'static, at: u64) -> Self {
        let reader = RecordReader::new(name, input);
        RecordReader { state: State::Sync { in_the_middle: true }, at, ..reader }
    }

    /// The next record. After END and [`Step::CutOff`] the same result is returned again.
    ///
    /// # Errors
    /// The stream is malformed or cannot be read; reading further is then pointless.
    pub fn next_step(&mut self) -> Result<Step<'_>, ConfigError> {
        match self.state {
            State::Ended { records, instructions, status } => {
                return Ok(Step::Record(Record::End { records, instructions, status }));
            }
            State::CutOff => return Ok(Step::CutOff),
            State::Magic => self.magic()?,
            State::Sync { .. } | State::Records => {}
        }
        if self.state == State::CutOff {
            return Ok(Step::CutOff);
        }
        // A record that may not be completely in the buffer is parsed to see whether it is. Nothing is read that may not
        // be needed: a pipe may stay open behind the last record.
        while self.held.len() < longest(&self.buffer[self.held.clone()])
            && !self.input_over
            && parse(&self.buffer[self.held.clone()], self.last).err() == Some(Problem::Short)
        {
            self.fill()?;
        }
        self.at += self.newest.len() as u64;
        self.newest = self.held.start..self.held.start;
        let (record, length, last) = match parse(&self.buffer[self.held.clone()], self.last) {
            Ok(parsed) => parsed,
            Err(Problem::Short) => {
                self.state = State::CutOff;
                return Ok(Step::CutOff);
            }
            Err(Problem::Wrong(expected)) => {
                self.records += 1;
                return Err(self.malformed(expected));
            }
        };
        self.newest.end += length;
        self.held.start += length;
        self.last = last;
        let known = if record.since() > self.version { Err(TAG) } else { Ok(()) };
        let counted = check(&record, &mut self.state, &mut self.records, &mut self.instructions);
        match known.and(counted) {
            Ok(()) => Ok(Step::Record(record)),
            Err(expected) => {
                let found = shown(&self.buffer[self.newest.start..self.held.end]);
                Err(malformed(&self.name, self.records, self.at, expected, &found))
            }
        }
    }

    /// Number of records so far, without END, which is the number of the newest, counting from 1.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The version of the stream, once its first record has been read.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// Instructions executed up to the newest record, as far as the stream has reported them.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Byte offset in the stream at which the newest record begins; after [`Step::CutOff`], up to which it is valid.
    pub fn offset(&self) -> u64 {
        self.at
    }

    /// The bytes of the newest record.
    pub fn raw(&self) -> &[u8] {
        &self.buffer[self.newest.clone()]
    }

    /// The stream's name in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// An error about the newest record.
    pub fn malformed(&self, expected: Expected) -> ConfigError {
        let found = shown(&self.buffer[self.newest.start..self.held.end.max(self.newest.start)]);
        malformed(&self.name, self.records, self.at, expected, &found)
    }

    /// Whether nothing follows what has been returned.
    pub fn at_end(&mut self) -> Result<bool, ConfigError> {
        if self.held.is_empty() && !self.input_over {
            self.fill()?;
        }
        Ok(self.held.is_empty())
    }

    fn magic(&mut self) -> Result<(), ConfigError> {
        while self.held.len() <= MAGIC.len() && !self.input_over {
            self.fill()?;
        }
        let found = &self.buffer[self.held.clone()];
        let (name, magic) = (&self.name, &found[..found.len().min(MAGIC.len())]);
        if !MAGIC.starts_with(magic) {
            let found = found[..found.len().min(MAGIC.len() + 1)].escape_ascii();
            return Err(ConfigError(format!("{name}: not a recorded trace: expected CPTRACE, found \"{found}\"")));
        }
        let Some(&version) = found.get(MAGIC.len()) else {
            self.state = State::CutOff;
            return Ok(());
        };
        if !VERSIONS.contains(&version) {
            let expected = format!("expected version {} to {NEWEST}", VERSIONS[0]);
            return Err(ConfigError(format!("{name}: a recorded trace of version {version}: {expected}")));
        }
        self.version = version;
        self.held.start += MAGIC.len() + 1;
        self.at = MAGIC.len() as u64 + 1;
        self.newest = self.held.start..self.held.start;
        self.state = State::Sync { in_the_middle: false };
        Ok(())
    }

    /// Reads more bytes after those in the buffer.
    fn fill(&mut self) -> Result<(), ConfigError> {
        if self.held.start > 0 && self.buffer.len() - self.held.end < ROOM_BYTES {
            // The newest record is dropped: a caller that asks for the next is done with it.
            self.at += self.newest.len() as u64;
            self.buffer.copy_within(self.held.clone(), 0);
            self.held = 0..self.held.len();
            self.newest = 0..0;
        }
        loop {
            match self.input.read(&mut self.buffer[self.held.end..]) {
                Ok(0) => self.input_over = true,
                Ok(length) => self.held.end += length,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if is_cut_off(&error) => self.input_over = true,
                Err(error) => {
                    let (name, records, at) = (&self.name, self.records, self.at);
                    let good = format!("it is good up to byte {at} ({records} records)");
                    return Err(ConfigError(format!("{name}: the trace cannot be read further: {error}; {good}")));
                }
            }
            return Ok(());
        }
    }
}

/// Counts `record` and checks it against earlier ones.
fn check(record: &Record<'_>, state: &mut State, records: &mut u64, instructions: &mut u64) -> Result<(), Expected> {
    let before = *records;
    *records += 1;
    match (*state, record) {
        (State::Sync { in_the_middle: true }, Record::Sync { records: said, instructions: counted, .. }) => {
            *records = said.checked_add(1).ok_or(Expected("a count of records below 2^64"))?;
            *instructions = some(*counted)?;
        }
        (State::Sync { .. } | State::Records, Record::Sync { records: said, instructions: counted, .. }) => {
            same(before, *said, *instructions, *counted)?;
            *instructions = *counted;
        }
        (State::Sync { .. }, _) => return Err(Expected("a SYNC at the beginning")),
        (_, &Record::End { records: said, instructions: counted, status }) => {
            same(before, said, *instructions, counted)?;
            (*records, *instructions) = (before, counted);
            *state = State::Ended { records: said, instructions: counted, status };
            return Ok(());
        }
        (
            _,
            Record::Access { instructions: more, .. }
            | Record::Fence { instructions: more, .. }
            | Record::Other { instructions: more, .. },
        ) => {
            // A store of the kernel is part of a system call's instruction.
            *instructions = some(instructions.saturating_add(*more))?;
        }
        (_, Record::Follows { instructions: more, records: followed, .. }) => {
            if *followed > before {
                return Err(Expected("no more records than there are before it"));
            }
            *instructions = some(instructions.saturating_add(*more))?;
        }
        _ => {}
    }
    *state = State::Records;
    Ok(())
}

fn same(records: u64, said: u64, instructions: u64, counted: u64) -> Result<(), Expected> {
    if said != records {
        return Err(Expected("the number of records before it"));
    }
    if counted < instructions {
        return Err(Expected("no fewer instructions than the records before it have"));
    }
    some(counted).map(drop)
}

/// `instructions`, if a program can have executed that many.
fn some(instructions: u64) -> Result<u64, Expected> {
    if instructions < INSTRUCTIONS_END { Ok(instructions) } else { Err(INSTRUCTIONS) }
}

/// The beginning of a record in hexadecimal, on one line.
fn shown(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "nothing".to_owned();
    }
    let mut text = String::from("bytes");
    for byte in &bytes[..bytes.len().min(SHOWN_BYTES_MAX)] {
        text += &format!(" {byte:02x}");
    }
    text + if bytes.len() > SHOWN_BYTES_MAX { " ..." } else { "" }
}

fn malformed(name: &str, record: u64, at: u64, expected: Expected, found: &str) -> ConfigError {
    ConfigError(format!("{name}: record {record} at byte {at}: expected {}, found {found}", expected.0))
}

/// Bytes that `access` stores.
pub(super) fn stored<'a>(access: &Access<'a>) -> &'a [u8] {
    match *access {
        Access::Store(bytes)
        | Access::CalledStore(bytes)
        | Access::NonTemporalStore(bytes)
        | Access::Atomic(bytes)
        | Access::KernelStore(bytes) => bytes,
        Access::Load { .. } | Access::Flush(_) | Access::KernelFlush { .. } | Access::Annotation { .. } => &[],
    }
}

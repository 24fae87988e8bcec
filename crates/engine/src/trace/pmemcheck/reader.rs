//! Splits a log into records: the Valgrind preamble up to START, records between bars, Valgrind messages inside a
//! record, and the STOP, after which nothing is read. One record is held at a time.
//!
//! A log is part of the stream of Valgrind's own messages. pmemcheck writes a record together with the bar before it,
//! so a message can only come between two records, where it looks as below (two lines of it). A message without text is
//! what pmemcheck writes before STOP:
//!
//! ```text
//! |libpmemobj.BEGINbrk segment overflow in thread #1: can't grow to 0x4854000
//! ==4667== (see section Limitations in user manual)
//! ==4667== |pmem_memset.BEGIN| ... |pmemobj_close.END
//! ==4667== |STOP
//! ```

use super::super::recording::Expected;
use super::parse::{Record, parse};
use crate::kernel::ConfigError;
use std::io::{BufRead, ErrorKind, Read};

/// The most bytes between two bars: room for a path of Linux (4096 bytes) and a message with a long stack trace.
pub const FIELD_BYTES_MAX: usize = 1 << 16;
/// Messages of Valgrind that begin with a letter that could be a digit of the preceding number.
const MESSAGES_LIKE_DIGITS: [&[u8]; 2] = [b"brk segment overflow", b"disInstr"];
/// Bytes of a malformed record that an error quotes.
const QUOTED_BYTES_MAX: usize = 60;

/// The result of the reader's next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'a> {
    /// A record.
    Record(Record<'a>),
    /// The log has ended and is complete.
    Stop,
    /// The input ended before STOP. The last, incomplete record has been dropped.
    CutOff,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Preamble,
    Records,
    Stopped,
    CutOff,
}

/// How a field ended.
#[derive(PartialEq, Eq)]
enum FieldEnd {
    Bar,
    Input,
}

/// Reads the records of one log.
pub struct TraceReader {
    name: String,
    input: Box<dyn BufRead + Send>,
    field: Vec<u8>,
    state: State,
    /// Where the field begins, and where the next one will begin.
    at: u64,
    next: u64,
    records: u64,
}

impl TraceReader {
    /// Reads the text of `input`; `name` is its name in errors.
    pub fn new(name: &str, input: Box<dyn BufRead + Send>) -> Self {
        let (state, field) = (State::Preamble, Vec::new());
        TraceReader { name: name.to_owned(), input, field, state, at: 0, next: 0, records: 0 }
    }

    /// The next record. After [`Step::Stop`] and [`Step::CutOff`] the same result is returned again.
    ///
    /// # Errors
    /// The log is malformed or cannot be read; reading further is then pointless.
    pub fn next_step(&mut self) -> Result<Step<'_>, ConfigError> {
        if self.state == State::Preamble {
            self.preamble()?;
        }
        match self.state {
            State::Stopped => return Ok(Step::Stop),
            State::CutOff => return Ok(Step::CutOff),
            State::Preamble | State::Records => {}
        }
        let end = self.read_field()?;
        if is_stop(&self.field) {
            self.state = State::Stopped;
            return Ok(Step::Stop);
        }
        if end == FieldEnd::Input {
            self.state = State::CutOff;
            return Ok(Step::CutOff);
        }
        self.records += 1;
        let (text, glued) = match split_message(&self.field) {
            Ok(split) => split,
            Err(expected) => return Err(self.malformed(expected)),
        };
        match parse(text, glued) {
            Ok(record) => Ok(Step::Record(record)),
            Err(expected) => Err(malformed(&self.name, self.records, self.at, expected, &self.field)),
        }
    }

    /// What follows STOP, once it has been reached.
    pub fn after_stop(&mut self) -> Option<impl BufRead> {
        (self.state == State::Stopped)
            .then(|| std::io::Cursor::new(std::mem::take(&mut self.field)).chain(&mut self.input))
    }

    /// Number of records read so far, which is the number of the newest, counting from 1 after START.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Byte offset, in the decompressed log, at which the newest record begins; after [`Step::CutOff`], up to which the
    /// log is valid.
    pub fn offset(&self) -> u64 {
        self.at
    }

    /// The log's name in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// An error about the newest record.
    pub fn malformed(&self, expected: Expected) -> ConfigError {
        malformed(&self.name, self.records, self.at, expected, &self.field)
    }

    /// Reads the lines before START, all of which must be Valgrind's.
    fn preamble(&mut self) -> Result<(), ConfigError> {
        let end = self.read_field()?;
        let mut start = false;
        for line in self.field.split(|&byte| byte == b'\n') {
            match valgrind_text(line) {
                Some(text) => start |= text.starts_with(b"START"),
                None => {
                    start = false;
                    break;
                }
            }
        }
        if !start {
            let found = quote(&self.field);
            return Err(ConfigError(format!(
                "{}: not a pmemcheck store log: expected lines that begin with ==pid== and then START, found {found}",
                self.name
            )));
        }
        self.state = if end == FieldEnd::Bar { State::Records } else { State::CutOff };
        Ok(())
    }

    /// Fills `field` up to the next bar between records, which is dropped.
    fn read_field(&mut self) -> Result<FieldEnd, ConfigError> {
        self.field.clear();
        self.at = self.next;
        let result = loop {
            let limit = (FIELD_BYTES_MAX + 1 - self.field.len()) as u64;
            let result = self.input.by_ref().take(limit).read_until(b'|', &mut self.field);
            if !matches!(result, Ok(1..)) || self.field.len() > FIELD_BYTES_MAX || !is_in_name(&self.field) {
                break result;
            }
        };
        self.next += self.field.len() as u64;
        match result {
            Ok(_) => {}
            // The decoder's error for a zstd file that was cut off.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(FieldEnd::Input),
            Err(error) => {
                let (name, records, at) = (&self.name, self.records, self.at);
                let good = format!("it is good up to byte {at} ({records} records)");
                return Err(ConfigError(format!("{name}: the log cannot be read further: {error}; {good}")));
            }
        }
        if self.field.last() == Some(&b'|') && !is_in_name(&self.field) {
            self.field.pop();
            return Ok(FieldEnd::Bar);
        }
        // What follows STOP is not part of the log and may be long.
        if self.field.len() > FIELD_BYTES_MAX && !is_stop(&self.field) {
            self.records += 1;
            return Err(self.malformed(Expected("a record of at most 65536 bytes")));
        }
        Ok(FieldEnd::Input)
    }
}

/// Whether the bar that ends `field` is one of a function in the stack of a store: `operator|` or `operator||` of C++. No
/// record ends in this way.
fn is_in_name(field: &[u8]) -> bool {
    field.starts_with(b"STORE;") && (field.ends_with(b"operator|") || field.ends_with(b"operator||"))
}

fn is_stop(field: &[u8]) -> bool {
    field.strip_prefix(b"STOP").is_some_and(|rest| rest.is_empty() || rest[0] == b'\n')
}

/// The record in `field`, and whether a message may be glued to its end.
fn split_message(field: &[u8]) -> Result<(&[u8], bool), Expected> {
    let Some(end) = field.iter().position(|&byte| byte == b'\n') else {
        return Ok((field, false));
    };
    let (mut text, lines) = (&field[..end], &field[end + 1..]);
    if !lines.split(|&byte| byte == b'\n').all(|line| valgrind_text(line).is_some()) {
        return Err(Expected("a record, or after a line break the ==pid== of a Valgrind message"));
    }
    for message in MESSAGES_LIKE_DIGITS {
        if let Some(at) = text.windows(message.len()).position(|window| window == message) {
            text = &text[..at];
        }
    }
    Ok((text, true))
}

/// The text of `line`, if it is a line of Valgrind: `==pid== text`, or with `--` (debugging) or `**` (printed by the
/// program through Valgrind). An empty message has no space after it if an editor has trimmed the line.
fn valgrind_text(line: &[u8]) -> Option<&[u8]> {
    for mark in [b"==", b"--", b"**"] {
        let Some(rest) = line.strip_prefix(mark) else { continue };
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let rest = rest[digits..].strip_prefix(mark)?;
        return (digits > 0 && (rest.is_empty() || rest[0] == b' ')).then(|| rest.strip_prefix(b" ").unwrap_or(rest));
    }
    None
}

fn malformed(name: &str, record: u64, at: u64, expected: Expected, field: &[u8]) -> ConfigError {
    ConfigError(format!("{name}: record {record} at byte {at}: expected {}, found {}", expected.0, quote(field)))
}

/// The beginning of `text` on one line.
fn quote(text: &[u8]) -> String {
    let shown = &text[..text.len().min(QUOTED_BYTES_MAX)];
    let dots = if shown.len() < text.len() { "..." } else { "" };
    format!("\"{}{dots}\"", shown.escape_ascii())
}

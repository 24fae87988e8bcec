//! Traces of memory lines, as memory simulators read them: text with one access per line. They have no program and
//! drive the controller directly.

mod parse;

#[cfg(test)]
mod tests;

use super::input::{Opened, TraceInput};
use super::recording::Expected;
use crate::kernel::ConfigError;
use crate::message::LineBytes;
use std::io::{BufRead, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The most bytes of a text line: NVMain's, with 64 bytes of data and the 64 bytes that they replace.
pub const TEXT_LINE_BYTES_MAX: usize = 1024;
/// Bytes of a malformed line that an error quotes.
const QUOTED_BYTES_MAX: usize = 60;

/// The format of a line trace, by its simulator.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LineFormat {
    /// `cycle R|W address data thread`, with or without a first line `NVMV1`.
    Nvmain,
    /// `cycle R|W address size`, SST's text traces.
    Prospero,
    /// `address P_FETCH|P_MEM_RD|P_MEM_WR|... cycle`, and `IFETCH`: DRAMSim2's k6 and mase traces.
    Dramsim2,
    /// `address READ|WRITE cycle`.
    Dramsim3,
    /// `LD|ST address`, `R|W address` or `address R|W`.
    Ramulator,
}

impl LineFormat {
    /// The format's name in sentences.
    pub fn name(self) -> &'static str {
        match self {
            LineFormat::Nvmain => "NVMain",
            LineFormat::Prospero => "Prospero",
            LineFormat::Dramsim2 => "DRAMSim2",
            LineFormat::Dramsim3 => "DRAMsim3",
            LineFormat::Ramulator => "Ramulator",
        }
    }

    /// The format of a trace with this first line.
    pub(super) fn of(first: &FirstLine<'_>) -> Option<Self> {
        parse::format_of(first.text)
    }
}

/// The first line of a text that is not blank.
pub(super) struct FirstLine<'a> {
    text: &'a [u8],
    number: u64,
    at: u64,
}

impl<'a> FirstLine<'a> {
    /// The first line of text that begins with `head`; `whole`: nothing follows.
    pub fn of(head: &'a [u8], whole: bool) -> Option<Self> {
        let (mut number, mut at) = (1, 0);
        loop {
            let rest = &head[at..];
            let (text, next) = match rest.iter().position(|&byte| byte == b'\n') {
                Some(end) => (&rest[..end], at + end + 1),
                None if whole => (rest, head.len()),
                None => return None,
            };
            if !parse::is_blank(text) {
                return Some(FirstLine { text, number, at: at as u64 });
            }
            if next == head.len() {
                return None;
            }
            (number, at) = (number + 1, next);
        }
    }

    /// What is wrong with the line, if it is like one of a format but no good one.
    pub fn wrong(&self, name: &str) -> Option<ConfigError> {
        parse::expected_of(self.text).map(|expected| malformed(name, self.number, self.at, expected, self.text))
    }
}

/// One access to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineAccess {
    /// When it is sent, in cycles of the trace's simulator; `None`: as soon as the controller accepts it.
    pub cycle: Option<u64>,
    /// Whether it is a write.
    pub write: bool,
    /// Byte address; the access is to the line that contains it.
    pub address: u64,
    /// The written bytes, if the trace has them.
    pub bytes: Option<LineBytes>,
}

/// A trace of lines, which can be read from its beginning as often as needed.
#[derive(Clone, Debug)]
pub struct LineTrace {
    source: TraceInput,
    format: LineFormat,
}

impl LineTrace {
    /// Opens the trace at `path`; `None` if it is not a line trace. Once `cancel` is set, it cannot be read further.
    ///
    /// # Errors
    /// It cannot be opened, or is not a trace of a known format.
    pub fn open(path: &Path, cancel: &Arc<AtomicBool>) -> Result<Option<LineTrace>, ConfigError> {
        LineTrace::new(TraceInput::file(path, Arc::clone(cancel))?)
    }

    /// Opens a trace in memory, called `name` in errors; `None` if it is not a line trace.
    ///
    /// # Errors
    /// The errors of [`LineTrace::open`].
    pub fn from_bytes(name: &str, bytes: impl Into<Arc<[u8]>>) -> Result<Option<LineTrace>, ConfigError> {
        LineTrace::new(TraceInput::bytes(name, bytes.into()))
    }

    fn new(source: TraceInput) -> Result<Option<LineTrace>, ConfigError> {
        Ok(source.line_format()?.map(|format| LineTrace { source, format }))
    }

    /// The format of the trace.
    pub fn format(&self) -> LineFormat {
        self.format
    }

    /// Bytes of the trace's file, compressed or not.
    pub fn bytes(&self) -> u64 {
        self.source.file_bytes()
    }

    /// A reader of the accesses, at the first one.
    ///
    /// # Errors
    /// It can no longer be opened.
    pub fn reader(&self) -> Result<LineReader, ConfigError> {
        let Opened { name, input, read, .. } = self.source.open()?;
        let (text, due) = (Vec::new(), None);
        let (format, old_data) = (self.format, false);
        Ok(LineReader { name, input, read, format, old_data, text, lines: 0, at: 0, next: 0, cycle: 0, due })
    }
}

/// Reads a line trace; one line is held at a time.
pub struct LineReader {
    name: String,
    input: Box<dyn BufRead + Send>,
    read: Arc<AtomicU64>,
    format: LineFormat,
    /// Whether it is NVMain's second version, which has the replaced data before the thread.
    old_data: bool,
    text: Vec<u8>,
    lines: u64,
    at: u64,
    next: u64,
    cycle: u64,
    /// The second access of the newest line.
    due: Option<LineAccess>,
}

impl LineReader {
    /// Bytes of the file, compressed or not, that have been read so far.
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// The next access, or `None` at the end.
    ///
    /// # Errors
    /// One sentence with the file, the number of the line, its byte offset and what was expected there.
    pub fn next_access(&mut self) -> Result<Option<LineAccess>, ConfigError> {
        if let Some(due) = self.due.take() {
            return Ok(Some(due));
        }
        loop {
            if !self.read_line()? {
                return Ok(None);
            }
            if parse::is_blank(&self.text) {
                continue;
            }
            if self.format == LineFormat::Nvmain
                && let Some(version) = parse::nvmain_version(&self.text)
            {
                match version {
                    0 | 1 if self.lines == 1 => self.old_data = version == 1,
                    _ => return Err(self.malformed(parse::NVMAIN_VERSION)),
                }
                continue;
            }
            let [access, second] = match parse::accesses(self.format, self.old_data, &self.text) {
                Ok(accesses) => accesses,
                Err(expected) => return Err(self.malformed(expected)),
            };
            let Some(access) = access else { continue };
            if let Some(cycle) = access.cycle {
                if cycle < self.cycle {
                    return Err(self.malformed(Expected("a cycle no earlier than that of the line before")));
                }
                self.cycle = cycle;
            }
            self.due = second;
            return Ok(Some(access));
        }
    }

    /// An error about the newest line.
    pub fn malformed(&self, expected: Expected) -> ConfigError {
        malformed(&self.name, self.lines, self.at, expected, &self.text)
    }

    /// Fills `text` with the next line, without its end; returns false if there is none.
    fn read_line(&mut self) -> Result<bool, ConfigError> {
        self.text.clear();
        self.at = self.next;
        let limit = TEXT_LINE_BYTES_MAX as u64 + 1;
        let result = self.input.by_ref().take(limit).read_until(b'\n', &mut self.text);
        self.next += self.text.len() as u64;
        if let Err(error) = result {
            let (name, lines, at) = (&self.name, self.lines, self.at);
            return Err(ConfigError(format!(
                "{name}: the trace cannot be read further: {error}; it is good up to byte {at} ({lines} lines)"
            )));
        }
        if self.text.is_empty() {
            return Ok(false);
        }
        self.lines += 1;
        if self.text.last() == Some(&b'\n') {
            self.text.pop();
        } else if self.text.len() > TEXT_LINE_BYTES_MAX {
            return Err(self.malformed(Expected("a line of at most 1024 bytes")));
        }
        Ok(true)
    }
}

fn malformed(name: &str, line: u64, at: u64, expected: Expected, text: &[u8]) -> ConfigError {
    let shown = &text[..text.len().min(QUOTED_BYTES_MAX)];
    let dots = if shown.len() < text.len() { "..." } else { "" };
    let found = shown.escape_ascii();
    ConfigError(format!("{name}: line {line} at byte {at}: expected {}, found \"{found}{dots}\"", expected.0))
}

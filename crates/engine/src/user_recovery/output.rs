//! What a command prints: it is read as it comes, and the end of it is kept.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{self, PipeReader, Read};
use std::os::fd::BorrowedFd;
use std::time::Duration;

/// Number of bytes that are kept from the end of the output.
const KEPT: usize = 4096;
/// Most characters of the last line that are reported.
const LINE_CHARACTERS: usize = 300;
/// The most bytes that are read after the command has ended, because processes that it started may continue to print.
const READ_AFTER: usize = 1 << 20;

/// The output of a command.
pub(super) struct Output {
    pipe: PipeReader,
    open: bool,
    end: Vec<u8>,
}

impl Output {
    pub fn new(pipe: PipeReader) -> Self {
        Self { pipe, open: true, end: Vec::new() }
    }

    /// Forgets what was printed.
    pub fn forget(&mut self) {
        self.end.clear();
    }

    /// Reads what comes within `time`, but not all of it; ends earlier if there is something to read from `other`.
    pub fn read_for(&mut self, time: Duration, other: Option<BorrowedFd<'_>>) -> io::Result<usize> {
        if !self.open && other.is_none() {
            std::thread::sleep(time.min(Duration::from_millis(1)));
            return Ok(0);
        }
        let timeout = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
        let other = other.as_ref().map(|other| PollFd::new(other, PollFlags::IN));
        let own = self.open.then(|| PollFd::new(&self.pipe, PollFlags::IN));
        let mut watched: Vec<PollFd<'_>> = own.into_iter().chain(other).collect();
        match poll(&mut watched, Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(0),
            Ok(_) if !self.open || watched[0].revents().is_empty() => return Ok(0),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut buffer = [0; KEPT];
        let count = self.pipe.read(&mut buffer)?;
        self.open = count > 0;
        self.end.extend_from_slice(&buffer[..count]);
        self.end.drain(..self.end.len().saturating_sub(KEPT));
        Ok(count)
    }

    pub fn read_rest(&mut self) -> io::Result<()> {
        let mut read = 0;
        while self.open && read < READ_AFTER {
            match self.read_for(Duration::ZERO, None)? {
                0 => break,
                count => read += count,
            }
        }
        Ok(())
    }

    /// The last line that is not empty.
    pub fn last_line(&self) -> String {
        let text = String::from_utf8_lossy(&self.end);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LINE_CHARACTERS).collect()
    }
}

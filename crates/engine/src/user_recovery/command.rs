//! One run of a shell command: in its own process group, without input, for a limited time. Its output is read as it
//! comes, and the end of it is kept.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::io::{self, PipeReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{self, Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Number of bytes that are kept from the end of the output.
const KEPT: usize = 4096;
/// Most characters of the last line that are reported.
const LINE_CHARACTERS: usize = 300;
/// Time between two checks whether the command has ended, the user has interrupted or time is up, if it prints nothing.
const LOOK: Duration = Duration::from_millis(10);
/// The most bytes that are read after the command has ended, because processes that it started may continue to print.
const READ_AFTER: usize = 1 << 20;

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Exit(i32),
    Signal(i32),
    TimedOut,
}

/// A finished run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ran {
    pub outcome: Outcome,
    /// The last line of the output that is not empty.
    pub said: String,
}

/// A command for `sh -c`.
pub struct Command<'a> {
    pub text: &'a str,
    pub timeout: Duration,
    /// Set when the user interrupts.
    pub cancel: &'a AtomicBool,
}

impl Command<'_> {
    /// Runs the command; `None` if the user interrupted. Everything that it started in its process group is killed.
    pub fn run(&self) -> io::Result<Option<Ran>> {
        let (output, input) = io::pipe()?;
        let started = Instant::now();
        let child = {
            let mut shell = process::Command::new("sh");
            shell.arg("-c").arg(self.text).process_group(0);
            shell.stdin(Stdio::null()).stdout(input.try_clone()?).stderr(input);
            Group(shell.spawn()?)
        };
        let mut output = Output { pipe: output, open: true, end: Vec::new() };
        loop {
            if child.has_ended()? {
                let status = child.finish()?;
                output.read_rest()?;
                let outcome = match (status.code(), status.signal()) {
                    (Some(code), _) => Outcome::Exit(code),
                    (None, signal) => Outcome::Signal(signal.unwrap_or(0)),
                };
                return Ok(Some(Ran { outcome, said: output.last_line() }));
            }
            if self.cancel.load(Ordering::Relaxed) {
                child.finish()?;
                return Ok(None);
            }
            let Some(left) = self.timeout.checked_sub(started.elapsed()).filter(|left| !left.is_zero()) else {
                child.finish()?;
                output.read_rest()?;
                return Ok(Some(Ran { outcome: Outcome::TimedOut, said: output.last_line() }));
            };
            output.read_for(left.min(LOOK))?;
        }
    }
}

/// A shell and the processes that it starts; killed when this is dropped.
struct Group(Child);

impl Group {
    fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    /// Whether the shell has ended. It is not reaped yet, so that its process id still identifies its group.
    fn has_ended(&self) -> io::Result<bool> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(self.pid()), options)?.is_some())
    }

    fn finish(mut self) -> io::Result<process::ExitStatus> {
        self.end()
    }

    fn end(&mut self) -> io::Result<process::ExitStatus> {
        // The shell exists until it is reaped, and so does the group.
        let _ = kill_process_group(self.pid(), Signal::KILL);
        self.0.wait()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            let _ = self.end();
        }
    }
}

/// The output of a command.
struct Output {
    pipe: PipeReader,
    open: bool,
    end: Vec<u8>,
}

impl Output {
    /// Reads what comes within `time`, but not all of it.
    fn read_for(&mut self, time: Duration) -> io::Result<usize> {
        if !self.open {
            std::thread::sleep(time.min(Duration::from_millis(1)));
            return Ok(0);
        }
        let timeout = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
        match poll(&mut [PollFd::new(&self.pipe, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(0),
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

    fn read_rest(&mut self) -> io::Result<()> {
        let mut read = 0;
        while self.open && read < READ_AFTER {
            match self.read_for(Duration::ZERO)? {
                0 => break,
                count => read += count,
            }
        }
        Ok(())
    }

    fn last_line(&self) -> String {
        let text = String::from_utf8_lossy(&self.end);
        let line = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LINE_CHARACTERS).collect()
    }
}

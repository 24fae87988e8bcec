//! One run of a shell command: in its own process group, without input, for a limited time.

use super::group::Group;
use super::output::Output;
use super::server::{Offer, Server};
use super::shell_quoted;
use super::verdict::Outcome;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{self, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two checks whether the command has ended, the user has interrupted or time is up, if it prints nothing.
pub(super) const LOOK: Duration = Duration::from_millis(10);

impl From<ExitStatus> for Outcome {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Outcome::Exit(code),
            (None, signal) => Outcome::Signal(signal.unwrap_or(0)),
        }
    }
}

/// A finished run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ran {
    pub outcome: Outcome,
    /// The last line of the output that is not empty.
    pub said: String,
}

/// What came of a command.
pub enum Came {
    Ran(Ran),
    /// It has not run yet: it serves, and runs when it is asked to.
    Serves(Server),
    /// The user interrupted.
    Cancelled,
}

/// The limits of a run.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    pub timeout: Duration,
    /// Set when the user interrupts.
    pub cancel: &'a AtomicBool,
}

impl Limits<'_> {
    pub fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// What is left of the time since `started`; `None` if it is up.
    pub fn left(&self, started: Instant) -> Option<Duration> {
        self.timeout.checked_sub(started.elapsed()).filter(|left| !left.is_zero())
    }
}

/// The shell that runs `text`.
pub(super) fn shell(text: &str) -> process::Command {
    let mut shell = process::Command::new("sh");
    shell.arg("-c").arg(text);
    shell
}

/// The text of a command that runs the command `text` under a tool: `words`, then `options`, `--`, and the command, by a
/// shell unless it is one program with `plain` words.
pub(super) fn under(words: &[String], options: &[String], (text, plain): (&str, bool)) -> String {
    let words: Vec<String> = words.iter().chain(options).map(|word| shell_quoted(word)).collect();
    let command = if plain { text.to_owned() } else { format!("sh -c {}", shell_quoted(text)) };
    format!("exec {} -- {command}", words.join(" "))
}

/// Runs the command `text` for `sh -c`. Everything that it started in its process group is killed. With an offer it may
/// become a server instead.
pub fn run(text: &str, limits: Limits<'_>, mut offer: Option<Offer<'_>>) -> io::Result<Came> {
    let (output, input) = io::pipe()?;
    let started = Instant::now();
    let child = {
        let mut shell = offer.as_ref().map_or_else(|| shell(text), |offer| offer.shell(text));
        shell.process_group(0).stdin(Stdio::null()).stdout(input.try_clone()?).stderr(input);
        Group::new(shell.spawn()?)
    };
    let mut output = Output::new(output);
    loop {
        if child.has_ended()? {
            let status = child.finish()?;
            output.read_rest()?;
            return Ok(Came::Ran(Ran { outcome: status.into(), said: output.last_line() }));
        }
        if let Some(given) = &offer
            && let Some(answer) = given.taken(child.pid())?
        {
            offer = None;
            if let Some(socket) = answer {
                return Ok(Came::Serves(Server::new(child, socket, output)?));
            }
        }
        if limits.cancelled() {
            child.finish()?;
            return Ok(Came::Cancelled);
        }
        let Some(left) = limits.left(started) else {
            child.finish()?;
            output.read_rest()?;
            return Ok(Came::Ran(Ran { outcome: Outcome::TimedOut, said: output.last_line() }));
        };
        output.read_for(left.min(LOOK), offer.as_ref().map(Offer::watched))?;
    }
}

//! A command that is started once and forks for each run, so that it is loaded and linked once: one that calls
//! `counterpoint_recovery_server` of `counterpoint_program.h`, which says what goes over the socket.

use super::command::{Came, LOOK, Limits, Ran};
use super::group::Group;
use super::output::Output;
use super::verdict::Outcome;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

/// What the command finds the path of the socket in.
const VARIABLE: &str = "COUNTERPOINT_RECOVERY_SOCKET";
/// Bytes of a number on the socket.
const NUMBER: usize = size_of::<i32>();
/// Time for a program that has connected to say who it is, and for a server to tell of a child that was killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether a command may become a server: it is one program with plain words, so that `exec` starts it in place of the
/// shell, and nothing but the words is in its text. A shell that read `$(cat {marks})` or opened `> {folder}/log` would
/// do it once for all runs.
pub fn may_serve(command: &str) -> bool {
    let mut rest = command.trim_start().chars();
    let (mut quote, mut first, mut path) = (None, true, false);
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None | Some('"'), '$' | '`') => return false,
            (None | Some('"'), '\\') => drop(rest.next()),
            (None, ';' | '&' | '|' | '<' | '>' | '(' | ')' | '*' | '?' | '[' | '~' | '#' | '!' | '\n') => return false,
            (None, '=') if first => return false,
            (None, ' ' | '\t') => first = false,
            _ => {}
        }
        // A word with a slash is neither a part of the shell nor of its language.
        path |= first && c == '/';
    }
    path && quote.is_none()
}

/// The offer to become a server, made to a command that is about to start.
pub struct Offer<'a> {
    path: &'a Path,
    listener: UnixListener,
}

impl<'a> Offer<'a> {
    /// At this path, where nothing is yet; `None` if there can be no socket, such as where the path is too long.
    pub fn at(path: &'a Path) -> Option<Self> {
        let listener = UnixListener::bind(path).ok()?;
        listener.set_nonblocking(true).ok()?;
        Some(Self { path, listener })
    }

    /// The shell for the command `text`, which is told of the offer and takes the place of the shell.
    pub fn shell(&self, text: &str) -> Command {
        let mut shell = super::command::shell(&format!("exec {text}"));
        shell.env(VARIABLE, self.path);
        shell
    }

    /// What becomes readable when it is taken.
    pub fn watched(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// `None` while nobody has taken it. The socket of the server if the command itself, the process `pid`, has taken
    /// it; not if a process of a longer command has, because its end is not the command's. That one runs as ever.
    pub fn taken(&self, pid: Pid) -> io::Result<Option<Option<UnixStream>>> {
        let mut socket = match self.listener.accept() {
            Ok((socket, _)) => socket,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        };
        socket.set_nonblocking(false)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let mut said = [0; NUMBER];
        let serves = socket.read_exact(&mut said).is_ok() && i32::from_ne_bytes(said) == pid.as_raw_pid();
        let answered = socket.write_all(&i32::from(serves).to_ne_bytes()).is_ok();
        Ok(Some((serves && answered).then_some(socket)))
    }
}

impl Drop for Offer<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.path);
    }
}

/// A command that serves; killed when this is dropped.
pub struct Server {
    #[expect(dead_code, reason = "it is dropped with this")]
    group: Group,
    socket: UnixStream,
    output: Output,
}

/// What a server has told of a run.
#[derive(Default)]
struct Told {
    bytes: [u8; 2 * NUMBER],
    count: usize,
}

impl Told {
    fn number(&self, which: usize) -> Option<i32> {
        let bytes = self.bytes[..self.count].get(which * NUMBER..(which + 1) * NUMBER)?;
        Some(i32::from_ne_bytes(bytes.try_into().expect("so many")))
    }

    /// The child that runs.
    fn child(&self) -> Option<Pid> {
        self.number(0).filter(|&child| child > 1).and_then(Pid::from_raw)
    }
}

impl Server {
    pub fn new(group: Group, socket: UnixStream, output: Output) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { group, socket, output })
    }

    /// Runs the command once. After an error, and after an interruption, there is no server any more.
    pub fn run(mut self, limits: Limits<'_>) -> io::Result<(Came, Option<Self>)> {
        self.output.forget();
        let started = Instant::now();
        self.socket.write_all(&1_i32.to_ne_bytes())?;
        let mut told = Told::default();
        let mut killed = None;
        loop {
            if let Some(status) = self.hear(&mut told)? {
                self.output.read_rest()?;
                let ended = Outcome::from(ExitStatus::from_raw(status));
                let outcome = if killed.is_some() { Outcome::TimedOut } else { ended };
                return Ok((Came::Ran(Ran { outcome, said: self.output.last_line() }), Some(self)));
            }
            if limits.cancelled() {
                kill(&told);
                return Ok((Came::Cancelled, None));
            }
            if killed.is_none() && limits.left(started).is_none() {
                kill(&told);
                killed = Some(Instant::now());
            }
            if killed.is_some_and(|at| at.elapsed() > PATIENCE) {
                let said = self.output.last_line();
                return Ok((Came::Ran(Ran { outcome: Outcome::TimedOut, said }), None));
            }
            self.output.read_for(limits.left(started).unwrap_or(LOOK).min(LOOK), Some(self.socket.as_fd()))?;
        }
    }

    /// Hears what the server says of a run, if it says something; the status of the child once it has ended.
    fn hear(&mut self, told: &mut Told) -> io::Result<Option<i32>> {
        while told.count < told.bytes.len() {
            match self.socket.read(&mut told.bytes[told.count..]) {
                Ok(0) => return Err(self.gone()),
                Ok(count) => told.count += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(told.number(1))
    }

    /// Why the server says nothing more.
    fn gone(&mut self) -> io::Error {
        let _ = self.output.read_rest();
        let said = self.output.last_line();
        io::Error::other(format!("its server (counterpoint_recovery_server) has ended and said \"{said}\""))
    }
}

/// Kills the child that runs, with what it has started.
fn kill(told: &Told) {
    if let Some(child) = told.child() {
        let _ = kill_process_group(child, Signal::KILL);
    }
}

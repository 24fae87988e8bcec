//! A run of the command under a watcher, which notes what the command and all that it starts read of their files before
//! they have written it.
//!
//! A watcher is a command line. `--reads=FILE`, `--image=DEVICE:INODE` for each file in its order, `--` and the command are
//! appended to it. `recorder/reads.h` says what it writes to FILE.

use super::command::{self, Came, Limits, Ran};
use super::slots::Prepared;
use super::verdict::Outcome;
use super::{Occasion, OwnRecovery, reason};
use crate::kernel::{ConfigError, Failure};
use crate::message::{Line, LineBytes};
use rustc_hash::FxHashSet;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Most files of which reads are noted.
pub(super) const FILES_MAX: usize = 64;
/// How many times as long as an ordinary run one under a tool of Valgrind may take.
pub(super) const SLOWER: u32 = 100;
const WORD_BYTES: u64 = 8;

/// A word of eight bytes that was read. What a run reads next may depend on it, even if that lies in the same line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WordRead {
    pub line: Line,
    /// Its number in the line.
    pub word: u8,
}

impl WordRead {
    /// The word of a line that holds `bytes`.
    pub fn of(self, bytes: &LineBytes) -> [u8; 8] {
        let first = usize::from(self.word) * 8;
        std::array::from_fn(|byte| bytes[first + byte])
    }
}

/// What came of a watched run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Watched {
    /// All that it read, in its order.
    Read { recovers: bool, reads: Vec<WordRead> },
    /// Not all that it read is known, for this reason.
    Unknown(String),
}

impl Watched {
    /// As if it had read these words first.
    fn with(self, first: &[WordRead]) -> Self {
        match self {
            Watched::Read { recovers, reads } => Watched::Read { recovers, reads: [first, &reads].concat() },
            unknown => unknown,
        }
    }
}

/// A watched run that is prepared.
pub struct ToWatch(Prepared);

impl OwnRecovery {
    /// Prepares a watched run, with memory told as to [`OwnRecovery::begin`].
    pub fn prepare_watched(
        &mut self,
        occasion: Occasion,
        lines: impl Iterator<Item = (Line, LineBytes)>,
    ) -> Result<ToWatch, ConfigError> {
        self.prepared(occasion, lines).map(ToWatch)
    }

    /// Runs the command under the watcher on each of these memories, as many at a time as commands run. Reads of lines `of`
    /// are kept.
    pub fn watch(&self, runs: &[ToWatch], of: &FxHashSet<Line>, cancel: &AtomicBool) -> Result<Vec<Watched>, Failure> {
        let watcher = self.settings.watcher.as_deref().unwrap_or_default();
        let (names, slots) = (self.image.names(), &*self.slots);
        let limits = Limits { timeout: Duration::from_secs(self.settings.timeout_seconds), cancel };
        let mut found: Vec<_> = runs.iter().map(|_| Ok(None)).collect();
        self.pool.in_place_scope(|scope| {
            for (ToWatch(prepared), found) in runs.iter().zip(&mut found) {
                let names = &names;
                scope.spawn(move |_| *found = slots.watch(prepared, watcher, names, limits));
            }
        });
        let line_at = |file, offset| self.image.line_at(file, offset).filter(|line| of.contains(line));
        // Whatever reads a file may depend on its size.
        let sizes: Vec<WordRead> =
            self.image.sizes().filter(|line| of.contains(line)).map(|line| WordRead { line, word: 0 }).collect();
        let came = |ran: io::Result<Option<(Ran, String)>>| match ran {
            Ok(Some((ran, written))) => Ok(watched(&ran, self.settings.accepts(&ran), &written, line_at).with(&sizes)),
            Ok(None) => Err(Failure::Cancelled),
            Err(error) => {
                Err(ConfigError(format!("watch_reads: the command cannot be run: {}", reason(&error))).into())
            }
        };
        found.into_iter().map(came).collect()
    }
}

/// What a watched run is given.
pub(super) struct Watching<'a> {
    /// The command line of the watcher.
    pub watcher: &'a [String],
    /// The command, and whether it is one program with plain words, which needs no shell.
    pub text: &'a str,
    pub plain: bool,
    pub files: &'a [PathBuf],
    /// Where the watcher writes.
    pub reads: &'a Path,
}

impl Watching<'_> {
    /// Runs the command; what it has read, as the watcher has written it down, and how the run ended. `None` if the user
    /// interrupted.
    pub fn run(&self, limits: Limits<'_>) -> io::Result<Option<(Ran, String)>> {
        let limits = Limits { timeout: limits.timeout * SLOWER, ..limits };
        let ran = match command::run(&self.text()?, limits, None)? {
            Came::Ran(ran) => ran,
            Came::Cancelled => return Ok(None),
            Came::Serves(_) => unreachable!("nobody has offered it to serve"),
        };
        let written = std::fs::read(self.reads).unwrap_or_default();
        let _ = std::fs::remove_file(self.reads);
        Ok(Some((ran, String::from_utf8_lossy(&written).into_owned())))
    }

    /// The command under the watcher.
    fn text(&self) -> io::Result<String> {
        let mut options = vec![format!("--reads={}", self.reads.display())];
        for file in self.files {
            // One that does not exist is none that is read.
            let (device, inode) = file.metadata().map_or((0, 0), |told| (told.dev(), told.ino()));
            options.push(format!("--image={device}:{inode}"));
        }
        Ok(command::under(self.watcher, &options, (self.text, self.plain)))
    }
}

/// What `written` says of a run that ended so, and recovers or not. `line_at`: the line at an offset of a file, if it has it.
fn watched(ran: &Ran, recovers: bool, written: &str, line_at: impl Fn(usize, u64) -> Option<Line>) -> Watched {
    if ran.outcome == Outcome::TimedOut {
        return Watched::Unknown("a watched run had not ended in time and was killed".to_owned());
    }
    let mut reads = Vec::new();
    let [mut begun, mut expected, mut ended, mut to_end] = [0_i64, 1, 0, 1];
    for told in written.lines() {
        let (what, rest) = told.split_once(' ').unwrap_or((told, ""));
        match what {
            "start" => begun += 1,
            "exec" => expected += 1,
            "exec-failed" => expected -= 1,
            "fork" => to_end += 1,
            "end" => ended += 1,
            "unknown" => return Watched::Unknown(format!("it uses {rest}, and what it reads that way cannot be seen")),
            "read" => match range(rest) {
                Some((file, offset, length)) => {
                    let words = (offset..offset + length).step_by(WORD_BYTES as usize);
                    reads.extend(words.filter_map(|at| {
                        Some(WordRead { line: line_at(file, at)?, word: (at / WORD_BYTES % 8) as u8 })
                    }));
                }
                None => return unreadable(ran),
            },
            _ => return unreadable(ran),
        }
    }
    match (begun, ended) {
        (0, _) => unreadable(ran),
        _ if begun != expected => Watched::Unknown("it starts a program that cannot be watched".to_owned()),
        _ if ended != to_end => Watched::Unknown("a process of it was killed, or had not ended".to_owned()),
        _ => Watched::Read { recovers, reads },
    }
}

fn unreadable(ran: &Ran) -> Watched {
    Watched::Unknown(format!("the watcher did not run, and the last line that was printed is \"{}\"", ran.said))
}

/// The number of a file, an offset and a length.
fn range(text: &str) -> Option<(usize, u64, u64)> {
    let mut numbers = text.split(' ').map(|number| number.parse::<u64>().ok());
    let (file, offset, length) = (numbers.next()??, numbers.next()??, numbers.next()??);
    offset.checked_add(length)?;
    let whole = numbers.next().is_none() && offset.is_multiple_of(WORD_BYTES) && length.is_multiple_of(WORD_BYTES);
    whole.then_some((usize::try_from(file).ok()?, offset, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that reads a flag and then ends has begun as one that goes on in the same line.
    #[test]
    fn words_of_a_line_are_read_one_after_the_other() {
        let ran = Ran { outcome: Outcome::Exit(0), said: String::new() };
        let reads_of = |written: &str| match watched(&ran, true, written, |_, offset| Some(Line(offset / 64))) {
            Watched::Read { reads, .. } => reads,
            Watched::Unknown(why) => panic!("{why}"),
        };
        let long = reads_of("start\nread 0 56 24\nend\n");
        assert_eq!(long.iter().map(|read| (read.line.0, read.word)).collect::<Vec<_>>(), [(0, 7), (1, 0), (1, 1)]);
        assert_eq!(reads_of("start\nread 0 56 8\nend\n"), long[..1]);
    }
}

//! The user's own recovery of a recorded program: a command that is run on files with the memory that a boot finds
//! after a power failure, and whose exit code is the verdict.
//!
//! ```text
//! lines as the boot reads them -> image: one file for each file of the trace, of which only changed lines are written
//!                              -> copy: of its own for each run, by reference where the file system can
//!                              -> placeholders: the command with paths in it, and a file of marks if it asks for them
//!                              -> slot: where it runs -> command: sh, or server: a fork; with a time limit
//!                              -> verdict, kept for equal memory
//!                              -> watch: what it reads, where one run is to decide many memories
//!                              -> record: what it stores, where power is to fail again -> a recovery of that recording
//! ```
//!
//! Several commands run at a time; their verdicts are taken in the order in which the runs started.

mod command;
mod copy;
mod group;
mod image;
mod output;
mod placeholders;
mod preflight;
mod recorded_runs;
mod server;
mod settings;
mod slots;
#[cfg(test)]
mod tests;
mod verdict;
mod watched_reads;

use crate::kernel::{ConfigError, Failure, workers};
use crate::message::{Line, LineBytes};
use crate::trace::{Marks, Trace};
use command::{Limits, Ran};
use image::Image;
pub use placeholders::Occasion;
use placeholders::names_memory;
pub(crate) use placeholders::{Named, shell_quoted};
use recorded_runs::Again;
pub use recorded_runs::{Recorded, RecordedProgram, ToRecord};
use rustc_hash::FxHashMap;
pub use settings::{Preflight, RecoverySettings, TIMEOUT_SECONDS};
use slots::{Prepared, Slots};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tempfile::TempDir;
use verdict::Outcome;
pub use verdict::Verdict;
pub use watched_reads::{Watched, WordRead};

/// The most commands that run at a time.
const JOBS_MAX: usize = 1024;
/// Time between two checks whether the user has interrupted.
const LOOK: Duration = Duration::from_millis(20);

impl RecoverySettings {
    /// Whether the program recovers, by how the command ended and by the last line that it printed.
    fn accepts(&self, Ran { outcome, said }: &Ran) -> bool {
        *outcome == Outcome::Exit(0) && self.prints.as_ref().is_none_or(|text| said.contains(text.as_str()))
    }
}

/// What is known about a memory.
enum Known {
    /// Its run is in progress.
    Running,
    Judged(Arc<Verdict>),
    /// The command could not be started.
    Refused(ConfigError),
}

/// A finished run: the digest of its memory and its result.
type Over = (u128, io::Result<Option<Ran>>);

/// Runs the command on images of memory, for any number of explorations of the same trace.
pub struct OwnRecovery {
    settings: RecoverySettings,
    /// The temporary folder, which is removed when this is dropped.
    folder: TempDir,
    image: Image,
    named: Named,
    /// The marks of the program, if the command or a sentence needs them.
    texts: Marks,
    again: Again,
    known: FxHashMap<u128, Known>,
    runs: u64,
    pool: rayon::ThreadPool,
    /// Number of runs in progress.
    under_way: usize,
    slots: Arc<Slots>,
    tell: Sender<Over>,
    over: Receiver<Over>,
    /// Ends the runs in progress.
    abort: Arc<AtomicBool>,
}

impl Drop for OwnRecovery {
    fn drop(&mut self) {
        self.abort.store(true, Ordering::Relaxed);
        for _ in 0..self.under_way {
            let _ = self.over.recv();
        }
    }
}

impl OwnRecovery {
    /// A recovery of the recorded program `trace`, which errors call `name`. `marks`: whether sentences name its marks.
    pub fn new(settings: RecoverySettings, name: &str, trace: &Trace, marks: bool) -> Result<Self, ConfigError> {
        check(&settings)?;
        let named = Named::by(&settings.command);
        let texts = if named.marks || marks { trace.marks()? } else { Marks::default() };
        let settings = RecoverySettings { jobs: workers::workers(settings.jobs), ..settings };
        let folder = temporary_folder(&settings.folder.clone().unwrap_or_else(std::env::temp_dir))?;
        let image = Image::create(&folder.path().join("image"), name, trace.files(), &trace.base())?;
        let files = image.names().len();
        if settings.watcher.is_some() && files > watched_reads::FILES_MAX {
            let most = watched_reads::FILES_MAX;
            return Err(ConfigError(format!(
                "watch_reads: {name} has {files} files, and reads of {most} can be watched"
            )));
        }
        let again = Again::kept_in(settings.keep.clone());
        let pool = image.pool().to_owned();
        Self::over(settings, folder, (image, &pool), texts, again)
    }

    /// The recovery on these files, the first of which is called `first`.
    fn over(
        settings: RecoverySettings,
        folder: TempDir,
        (image, first): (Image, &str),
        texts: Marks,
        again: Again,
    ) -> Result<Self, ConfigError> {
        let (named, pool) = (Named::by(&settings.command), workers::pool(settings.jobs)?);
        let (tell, over) = channel();
        Ok(Self {
            slots: Arc::new(Slots::new(&settings.command, named.event && again.told.is_none(), folder.path(), first)),
            again,
            settings,
            folder,
            image,
            named,
            texts,
            known: FxHashMap::default(),
            runs: 0,
            pool,
            under_way: 0,
            tell,
            over,
            abort: Arc::default(),
        })
    }

    /// The settings.
    pub fn settings(&self) -> &RecoverySettings {
        &self.settings
    }

    /// How many times the command has been run.
    pub fn runs(&self) -> u64 {
        self.runs
    }

    /// Starts another exploration, with memory as it was before the run.
    pub fn rewind(&mut self) -> Result<(), ConfigError> {
        self.image.rewind()
    }

    /// From now on, no image is kept.
    pub fn keep_nothing(&mut self) {
        self.settings.keep = None;
        self.again.keep_nothing();
    }

    /// How many verdicts may be outstanding at once.
    pub fn ahead(&self) -> usize {
        match self.settings.jobs {
            1 => 0,
            jobs => 2 * jobs,
        }
    }

    /// Whether the command is given what `line` holds: it belongs to a file.
    pub fn shows(&self, line: Line) -> bool {
        self.image.has(line)
    }

    /// What the command names besides the memory, as far as that differs from run to run.
    pub(crate) fn named(&self) -> Named {
        if self.is_again() { Named { marks: false, event: false } } else { self.named }
    }

    /// How far the program had come, for a sentence; `None` if the command is not told.
    pub fn describe(&self, occasion: Occasion) -> Option<String> {
        let last = occasion.marks.checked_sub(1).filter(|_| self.named().marks);
        match last.map(|last| self.texts.text(last).unwrap_or_default()) {
            Some(text) if occasion.marks == 1 => Some(format!("after the first mark, '{text}'")),
            Some(text) => Some(format!("after {} marks, the last of them '{text}'", occasion.marks)),
            None => self.named().marks.then(|| "before the first mark".to_owned()),
        }
    }

    /// Whether the memory of this digest has been judged, or is being judged.
    pub fn knows(&self, digest: u128) -> bool {
        self.known.contains_key(&digest)
    }

    /// The verdict on the memory of this digest, if it has been judged.
    pub fn judged(&self, digest: u128) -> Option<&Verdict> {
        match self.known.get(&digest)? {
            Known::Judged(verdict) => Some(verdict),
            Known::Running | Known::Refused(_) => None,
        }
    }

    /// Starts a run on the memory of this digest, as `occasion` left it; the digest must not be known. Only `lines` may
    /// differ from the memory of the last run that this has started since [`OwnRecovery::rewind`], or from that before
    /// the program ran.
    pub fn begin(
        &mut self,
        digest: u128,
        occasion: Occasion,
        lines: impl Iterator<Item = (Line, LineBytes)>,
    ) -> Result<(), ConfigError> {
        let prepared = self.prepared(occasion, lines)?;
        if self.settings.keep.is_some() {
            self.image.copy_into(&self.untouched(digest))?;
        }
        let timeout = Duration::from_secs(self.settings.timeout_seconds);
        let (tell, abort, slots) = (self.tell.clone(), Arc::clone(&self.abort), Arc::clone(&self.slots));
        self.known.insert(digest, Known::Running);
        self.under_way += 1;
        self.pool.spawn(move || {
            let ran = slots.run(&prepared, Limits { timeout, cancel: &abort });
            // Whoever hears of the last run may drop the slots, and no server is to live on then.
            drop(slots);
            // This fails only if nothing waits for the result any more.
            let _ = tell.send((digest, ran));
        });
        Ok(())
    }

    /// What a run is given on the memory that has these lines.
    fn prepared(
        &mut self,
        occasion: Occasion,
        lines: impl Iterator<Item = (Line, LineBytes)>,
    ) -> Result<Prepared, ConfigError> {
        for (line, bytes) in lines {
            self.image.put(line, &bytes)?;
        }
        let occasion = self.again.told.unwrap_or(occasion);
        self.runs += 1;
        let folder = self.folder.path().join(format!("run-{}", self.runs));
        let marks = self.named.marks.then(|| folder.with_extension("marks"));
        let prepared = Prepared { folder, marks, event: occasion.event };
        self.image.copy_into(&prepared.folder)?;
        if let Some(marks) = &prepared.marks {
            self.write_marks(marks, occasion.marks)?;
        }
        Ok(prepared)
    }

    /// Writes the first `count` marks, one a line.
    fn write_marks(&self, path: &Path, count: u64) -> Result<(), ConfigError> {
        std::fs::write(path, self.texts.first(count)).map_err(|error| {
            ConfigError(format!("recover: '{}' cannot be written: {}", path.display(), reason(&error)))
        })
    }

    /// The verdict on the memory of this digest, whose run has started; `None` if it is not finished, unless `wait`
    /// says to wait for it.
    pub fn verdict(&mut self, digest: u128, wait: bool, cancel: &AtomicBool) -> Result<Option<Arc<Verdict>>, Failure> {
        loop {
            while let Ok(over) = self.over.try_recv() {
                self.take(over);
            }
            match self.known.get(&digest) {
                Some(Known::Judged(verdict)) => return Ok(Some(Arc::clone(verdict))),
                Some(Known::Refused(why)) => return Err(why.clone().into()),
                Some(Known::Running) if wait => {}
                Some(Known::Running) | None => return Ok(None),
            }
            if cancel.load(Ordering::Relaxed) {
                return Err(Failure::Cancelled);
            }
            if let Ok(over) = self.over.recv_timeout(LOOK) {
                self.take(over);
            }
        }
    }

    fn take(&mut self, (digest, ran): Over) {
        self.under_way -= 1;
        let known = match ran {
            Ok(Some(ran)) => self.judgement(ran),
            // A run is aborted only at the end.
            Ok(None) => return,
            Err(error) => {
                Known::Refused(ConfigError(format!("recover: the command cannot be run by sh: {}", reason(&error))))
            }
        };
        self.known.insert(digest, known);
    }

    fn judgement(&self, ran: Ran) -> Known {
        let recovers = self.settings.accepts(&ran);
        let Ran { outcome, said } = ran;
        // These exit codes say that the shell could not run the command, which is not a verdict.
        if let Outcome::Exit(code @ (126 | 127)) = outcome {
            let command = &self.settings.command;
            return Known::Refused(ConfigError(format!(
                "recover: exit code {code} of '{command}' means that the shell cannot run it: {said}"
            )));
        }
        Known::Judged(Arc::new(Verdict { outcome, recovers, said }))
    }

    /// Reports that the verdict on the memory of this digest was taken, as `occasion` left it. Keeps the memory as
    /// `crash-EVENT.NAME` if it is the first one that `fails` and it is to be kept, with the marks if the command names
    /// them; returns the paths.
    pub fn settled(&mut self, digest: u128, fails: bool, occasion: Occasion) -> Result<Vec<PathBuf>, ConfigError> {
        let untouched = self.untouched(digest);
        let mut kept = Vec::new();
        if fails
            && untouched.is_dir()
            && let Some(folder) = self.settings.keep.take()
        {
            let label = self.again.label(occasion.event);
            kept = self.image.keep(&untouched, &folder, &label)?;
            if self.named.marks {
                let marks = folder.join(format!("{label}.{}", self.image.name_beside("marks")));
                self.write_marks(&marks, self.again.told.unwrap_or(occasion).marks)?;
                kept.push(marks);
            }
            self.again.keep_before(&self.image, &folder)?;
        }
        let _ = std::fs::remove_dir_all(&untouched);
        Ok(kept)
    }

    /// The folder of a memory that may have to be kept.
    fn untouched(&self, digest: u128) -> PathBuf {
        self.folder.path().join(format!("untouched-{digest:032x}"))
    }
}

/// A fresh folder in this one.
fn temporary_folder(within: &Path) -> Result<TempDir, ConfigError> {
    std::path::absolute(within)
        .and_then(|within| tempfile::Builder::new().prefix("counterpoint-").tempdir_in(within))
        .map_err(|error| {
            ConfigError(format!("recover: no folder can be made in '{}': {}", within.display(), reason(&error)))
        })
}

fn check(settings: &RecoverySettings) -> Result<(), ConfigError> {
    let RecoverySettings { command, prints, timeout_seconds, jobs, .. } = settings;
    if !names_memory(command) {
        return Err(ConfigError(format!(
            "recover: '{command}' names neither {{pool}} nor {{folder}}, so that it could not find the memory"
        )));
    }
    if command.contains('\0') {
        return Err(ConfigError("recover: the command has a zero byte in it, which no shell takes".to_owned()));
    }
    if prints.as_deref() == Some("") {
        return Err(ConfigError("recover_prints: the text is empty, so that any line contains it".to_owned()));
    }
    if !(1..=86_400).contains(timeout_seconds) {
        return Err(ConfigError(format!("recover_timeout: {timeout_seconds} is not from 1 to 86400 seconds")));
    }
    if !(1..=JOBS_MAX).contains(jobs) {
        return Err(ConfigError(format!("recover_jobs: {jobs} is not from 1 to {JOBS_MAX}")));
    }
    Ok(())
}

/// The system's error message, without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

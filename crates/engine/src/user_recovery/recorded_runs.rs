//! Runs of the command under a recorder, so that power can fail again in them.
//!
//! A recorder is a command line. `--trace-files=PREFIX`, `--pmem=FOLDER/*`, `--files=FOLDER/*`,
//! `--` and the command are appended to it. It writes
//! a recording of each program that the command starts, in the order in which they begin, to `PREFIX-0`, `PREFIX-1` and so on.
//! A run counts only if its recordings explain all that it has changed of its files.

use super::command::Limits;
use super::copy::{copy, read_with_zeros, same};
use super::image::{Image, existing};
use super::slots::{Left, Prepared};
use super::verdict::Outcome;
use super::watched_reads::SLOWER;
use super::{Occasion, OwnRecovery, reason, temporary_folder};
use crate::kernel::{ConfigError, Failure};
use crate::message::{BaseImage, LINE_BYTES, Line, LineBytes};
use crate::trace::{Done, NO_SIZE, Step, Trace, TraceBase, size_in, size_line};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::mem::discriminant;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What a recording does not explain.
const UNEXPLAINED: &str = "it changes its files in a way that its recording does not have, such as by system calls on what it \
    has not mapped, or in a process that it has forked";

/// A recorded run that is prepared.
pub struct ToRecord {
    prepared: Prepared,
    before: Folder,
}

/// What came of a recorded run.
pub enum Recorded {
    /// The programs in it that have stored something in its files.
    Stored(Vec<RecordedProgram>),
    /// Not all that it has stored is known, for this reason.
    Unknown(String),
}

/// A program of a recorded run.
pub struct RecordedProgram {
    pub trace: Trace,
    /// Of what it has stored, flushed and fenced, where.
    pub digest: u64,
    before: Folder,
    /// The trace is read from this file.
    _stream: Stream,
}

/// A folder that is removed when this is dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A file that is removed when this is dropped.
struct Stream(PathBuf);

impl Drop for Stream {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// How a recovery that judges recordings of another one differs from that.
#[derive(Default)]
pub(super) struct Again {
    /// When power failed first, which is what the command is told.
    pub told: Option<Occasion>,
    /// What files that are kept are called: `crash-EVENT`, and `-again-EVENT` for each time that power failed again.
    label: String,
    /// The memories from which the interrupted recoveries started, and what they are called.
    before: Vec<(String, PathBuf)>,
    /// Where the memories of the first failure in a recording are kept.
    keep: Option<PathBuf>,
    /// Those that were kept of `before`.
    kept: Vec<PathBuf>,
}

impl Again {
    pub fn kept_in(keep: Option<PathBuf>) -> Self {
        Self { keep, ..Self::default() }
    }

    /// What files that are kept of this crash point are called.
    pub fn label(&self, event: u64) -> String {
        match self.told {
            None => format!("crash-{event}"),
            Some(_) => format!("{}-again-{event}", self.label),
        }
    }

    /// Keeps the memories from which the interrupted recoveries started.
    pub fn keep_before(&mut self, image: &Image, folder: &Path) -> Result<(), ConfigError> {
        for (label, before) in &self.before {
            self.kept.extend(image.keep(before, folder, label)?);
        }
        Ok(())
    }

    pub fn keep_nothing(&mut self) {
        self.keep = None;
    }
}

impl OwnRecovery {
    /// Prepares a recorded run, with memory told as to [`OwnRecovery::begin`].
    pub fn prepare_recorded(
        &mut self,
        occasion: Occasion,
        lines: impl Iterator<Item = (Line, LineBytes)>,
    ) -> Result<ToRecord, ConfigError> {
        let prepared = self.prepared(occasion, lines)?;
        let before = Folder(prepared.folder.with_extension("before"));
        self.image.copy_into(&before.0)?;
        Ok(ToRecord { prepared, before })
    }

    /// Runs the command under the recorder on each of these memories, as many at a time as commands run.
    pub fn record(&self, runs: Vec<ToRecord>, cancel: &Arc<AtomicBool>) -> Result<Vec<Recorded>, Failure> {
        let recorder = self.settings.recorder.as_deref().unwrap_or_default();
        let (image, slots) = (&self.image, &*self.slots);
        let timeout = Duration::from_secs(self.settings.timeout_seconds) * SLOWER;
        let mut found: Vec<_> = runs.iter().map(|_| Ok(None)).collect();
        self.pool.in_place_scope(|scope| {
            for (ToRecord { prepared, before }, found) in runs.into_iter().zip(&mut found) {
                scope.spawn(move |_| {
                    let left = slots.record(&prepared, recorder, Limits { timeout, cancel });
                    let of = Recording { image, after: Folder(prepared.folder), cancel };
                    *found = left.and_then(|left| left.map(|left| of.taken(before, left)).transpose());
                });
            }
        });
        let came = |recorded: io::Result<Option<Recorded>>| match recorded {
            Ok(Some(recorded)) => Ok(recorded),
            Ok(None) => Err(Failure::Cancelled),
            Err(error) => Err(ConfigError(format!("nested: a recovery cannot be recorded: {}", reason(&error))).into()),
        };
        found.into_iter().map(came).collect()
    }

    /// The recovery that judges what power failing again leaves of `program`, whose run started from what `occasion` had left.
    pub fn again(&self, program: &RecordedProgram, occasion: Occasion) -> Result<Self, ConfigError> {
        let (trace, label) = (&program.trace, self.again.label(occasion.event));
        let folder = temporary_folder(self.folder.path())?;
        let from = &program.before.0;
        let image = self.image.again(&folder.path().join("image"), from, trace.files(), &trace.base())?;
        let keep = self.again.keep.clone();
        let mut before = self.again.before.clone();
        before.push((format!("{label}-survived"), from.clone()));
        let told = Some(self.again.told.unwrap_or(occasion));
        let again = Again { told, label, before, keep: keep.clone(), kept: Vec::new() };
        let settings = super::RecoverySettings { keep, ..self.settings.clone() };
        Self::over(settings, folder, (image, self.slots.pool()), self.texts.clone(), again)
    }

    /// Takes over from the recovery of a recording what it has kept: the memories from which interrupted recoveries
    /// started. No other is kept then.
    pub fn takes_kept_of(&mut self, of: &Self) -> Vec<PathBuf> {
        if of.settings.keep.is_none() || of.again.keep.is_none() {
            self.again.keep_nothing();
        }
        self.again.kept.extend(of.again.kept.iter().cloned());
        of.again.kept.clone()
    }

    /// In recordings nothing is kept any more if something of this one was.
    pub fn keeps_once(&mut self) {
        if self.is_again() && self.settings.keep.is_none() {
            self.again.keep_nothing();
        }
    }

    /// Whether this judges what power failing again has left of a recovery.
    pub fn is_again(&self) -> bool {
        self.again.told.is_some()
    }
}

/// A run that is over.
struct Recording<'a> {
    image: &'a Image,
    /// The files that it has left.
    after: Folder,
    cancel: &'a Arc<AtomicBool>,
}

impl Recording<'_> {
    /// What it has stored; `before`: the files that it has found.
    fn taken(&self, before: Folder, left: Left) -> io::Result<Recorded> {
        let streams: Vec<Stream> = left.streams.into_iter().map(Stream).collect();
        if left.ran.outcome != Outcome::Exit(0) {
            let how = match left.ran.outcome {
                Outcome::TimedOut => "had not ended in time and was killed",
                _ => "did not recover, although it does without the recorder",
            };
            return Ok(Recorded::Unknown(format!("a recorded run {how}")));
        }
        if streams.is_empty() {
            let said = &left.ran.said;
            return Ok(Recorded::Unknown(format!(
                "the recorder did not run, and the last line that was printed is \"{said}\""
            )));
        }
        let (mut programs, mut now) = (Vec::new(), before);
        for (number, stream) in streams.into_iter().enumerate() {
            let read = Trace::open(&stream.0, true, self.cancel).map(Trace::in_order);
            let read = read.and_then(|trace| self.read(trace, &left.lay));
            let (trace, effect) = match read {
                Ok(read) => read,
                Err(ConfigError(why)) => {
                    let why = why.replace(&*stream.0.to_string_lossy(), "its recording");
                    return Ok(Recorded::Unknown(why));
                }
            };
            if effect.lines.is_empty() {
                continue;
            }
            let next = Folder(self.after.0.with_extension(format!("next-{number}")));
            if !self.follows(&trace, &effect, &now.0, &next.0)? {
                return Ok(Recorded::Unknown(UNEXPLAINED.to_owned()));
            }
            let before = std::mem::replace(&mut now, next);
            programs.push(RecordedProgram { trace, digest: effect.digest, before, _stream: stream });
        }
        for (name, _) in self.image.paths() {
            let equal = match (existing(&self.after.0.join(name))?, existing(&now.0.join(name))?) {
                (Some(after), Some(now)) => same(&after, &now)?,
                (after, now) => after.is_none() && now.is_none(),
            };
            if !equal {
                return Ok(Recorded::Unknown(UNEXPLAINED.to_owned()));
            }
        }
        Ok(Recorded::Stored(programs))
    }

    /// Reads a recording, whose files then have the paths of the program's own.
    fn read(&self, trace: Trace, lay: &Path) -> Result<(Trace, Effect), ConfigError> {
        let trace = trace.with_paths(|path| {
            let own = self.image.paths().find(|(name, _)| Path::new(path) == lay.join(name));
            // What the run has made has its name alone, wherever it ran.
            let made = || Path::new(path).strip_prefix(lay).unwrap_or(Path::new(path)).to_string_lossy().into_owned();
            own.map_or_else(made, |(_, own)| own.to_owned())
        });
        let is_own = |at: usize| self.image.paths().any(|(_, path)| path == trace.files()[at].path);
        // What stands for a size comes after its file.
        let of = |at: usize| at - usize::from(at > 0 && trace.files()[at].is_size());
        let own: Vec<bool> = (0..trace.files().len()).map(|at| is_own(of(at))).collect();
        let base = trace.base();
        let mut effect = Effect { lines: FxHashMap::default(), digest: 0 };
        let mut hasher = DefaultHasher::new();
        trace.steps(self.cancel)?.each(true, &|_| {}, &mut |step| {
            if let Done::Store { at, bytes, .. } = step.done
                && own[at.line.file as usize]
            {
                let file = &trace.files()[at.line.file as usize];
                let line = Line(file.base / LINE_BYTES + at.line.line);
                let held = effect.lines.entry(line).or_insert_with(|| held(&base, line));
                held[usize::from(at.offset)..][..bytes.len()].copy_from_slice(bytes);
            }
            hash(&step, &trace, &mut hasher);
            ControlFlow::Continue(())
        })?;
        effect.digest = hasher.finish();
        Ok((trace, effect))
    }

    /// Whether the program has found the files in `from`, as far as it has recorded them; makes the files that it leaves, in
    /// the new folder `to`.
    fn follows(&self, trace: &Trace, effect: &Effect, from: &Path, to: &Path) -> io::Result<bool> {
        std::fs::create_dir(to)?;
        let base = trace.base();
        for (name, path) in self.image.paths() {
            let found = existing(&from.join(name))?;
            let left = File::create_new(to.join(name))?;
            if let Some(found) = &found {
                copy(found, &left, &mut true)?;
            }
            let length = found.as_ref().map_or(Ok(NO_SIZE), |found| found.metadata().map(|told| told.len()))?;
            let of = trace.files().iter().position(|file| file.path == path);
            let sizes = of.and_then(|at| size_line(trace.files(), at)).map(|line| {
                let before = held(&base, line);
                (size_in(&before), size_in(effect.lines.get(&line).unwrap_or(&before)))
            });
            if sizes.is_some_and(|(before, _)| before != length) {
                return Ok(false);
            }
            if let Some(at) = of {
                let file = &trace.files()[at];
                let extent = if sizes.is_some() { file.size } else { file.size.min(length) };
                if !stores(&base, effect, (file.base, extent), found.as_ref(), &left)? {
                    return Ok(false);
                }
            }
            match sizes.map_or(length, |(_, after)| after) {
                NO_SIZE => std::fs::remove_file(to.join(name))?,
                size => left.set_len(size)?,
            }
        }
        Ok(true)
    }
}

/// Whether a program has found a file as it was, as far as it has recorded it; puts what it has stored there into `left`.
fn stores(
    base: &TraceBase,
    effect: &Effect,
    (begin, extent): (u64, u64),
    found: Option<&File>,
    left: &File,
) -> io::Result<bool> {
    let of_file = |line: &Line| (begin..begin + extent).contains(&line.address());
    let populated = base.populated_lines().into_iter().flatten().map(Line).filter(of_file);
    for line in populated.chain(effect.lines.keys().copied().filter(of_file)) {
        let mut bytes = [0; LINE_BYTES as usize];
        if let Some(found) = found {
            read_with_zeros(found, &mut bytes, line.address() - begin)?;
        }
        if bytes != held(base, line) {
            return Ok(false);
        }
    }
    for (line, bytes) in effect.lines.iter().filter(|(line, _)| of_file(line)) {
        let at = line.address() - begin;
        left.write_all_at(&bytes[..bytes.len().min((extent - at) as usize)], at)?;
    }
    Ok(true)
}

/// What a program has done.
struct Effect {
    /// What the lines of the files hold to which it has stored.
    lines: FxHashMap<Line, LineBytes>,
    digest: u64,
}

fn held(base: &dyn BaseImage, line: Line) -> LineBytes {
    base.line(line).copied().unwrap_or([0; LINE_BYTES as usize])
}

/// What a step does, as far as it bears on what a power failure leaves.
fn hash(step: &Step<'_>, trace: &Trace, hasher: &mut DefaultHasher) {
    let path = |file: u32| &trace.files()[file as usize].path;
    discriminant(&step.done).hash(hasher);
    (step.thread, step.site).hash(hasher);
    match step.done {
        Done::Store { at, bytes, way, scratch, .. } => {
            (path(at.line.file), at.line.line, at.offset, bytes, discriminant(&way), scratch).hash(hasher);
        }
        Done::Flush { at, kind, .. } => (path(at.line.file), at.line.line, discriminant(&kind)).hash(hasher),
        Done::Scratch { file, offset, length } => (path(file), offset, length).hash(hasher),
        Done::Annotation { kind, lines, .. } => (discriminant(&kind), lines).hash(hasher),
        Done::FlushOutside { .. }
        | Done::Fence { .. }
        | Done::FenceByChance
        | Done::TxBegin
        | Done::TxEnd
        | Done::Mark(_) => {}
    }
}

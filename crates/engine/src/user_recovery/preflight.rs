//! Before anything is explored: the command on memory of which nothing is lost, as the program finds it and as it leaves it.
//! What fails there says nothing about power failures.

use super::{Occasion, OwnRecovery, Preflight, Verdict};
use crate::kernel::{ConfigError, Failure};
use crate::message::{BaseImage, LINE_BYTES, Line, LineBytes};
use crate::trace::{Done, Step};
use rustc_hash::FxHashMap;
use std::ops::ControlFlow;

/// Digests of the two memories, which no exploration shares: they must not count among its images.
const FIRST: u128 = u128::MAX;
const LAST: u128 = u128::MAX - 1;

/// The memory of a program, everything in it durable.
struct Whole<'a> {
    asked: &'a Preflight<'a>,
    /// The lines that were stored to.
    lines: FxHashMap<Line, LineBytes>,
    marks: u64,
}

impl Whole<'_> {
    fn take(&mut self, step: &Step<'_>) {
        match step.done {
            Done::Store { at, bytes, .. } => {
                let base = self.asked.trace.files()[at.line.file as usize].base;
                let line = Line(base / LINE_BYTES + at.line.line);
                let before = || self.asked.trace.base().line(line).copied().unwrap_or([0; LINE_BYTES as usize]);
                let held = self.lines.entry(line).or_insert_with(before);
                held[usize::from(at.offset)..][..bytes.len()].copy_from_slice(bytes);
            }
            Done::Mark(_) => self.marks += 1,
            _ => {}
        }
    }
}

impl OwnRecovery {
    /// Runs the command on the first and on the last memory of what is explored.
    ///
    /// # Errors
    /// It fails on one of them, it cannot be run, the trace cannot be read, or the user has interrupted.
    pub fn preflight(&mut self, asked: &Preflight<'_>) -> Result<(), Failure> {
        let keep = self.settings.keep.take();
        let outcome = self.try_both(asked);
        self.settings.keep = keep;
        outcome
    }

    fn try_both(&mut self, asked: &Preflight<'_>) -> Result<(), Failure> {
        self.rewind()?;
        let mut whole = Whole { asked, lines: FxHashMap::default(), marks: 0 };
        let mut begun = Ok(());
        if asked.after == 0 {
            self.begin_whole(FIRST, &whole)?;
        }
        asked.trace.steps(asked.cancel)?.each(asked.allow_truncated, &|_| {}, &mut |step| {
            let marked = matches!(step.done, Done::Mark(_));
            if marked && asked.until == Some(whole.marks) {
                return ControlFlow::Break(());
            }
            whole.take(&step);
            if marked && whole.marks == asked.after {
                begun = self.begin_whole(FIRST, &whole);
            }
            if begun.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        begun?;
        self.begin_whole(LAST, &whole)?;
        let place = |of_mark: bool, mark: u64, else_told: &str| match self.texts.text(mark) {
            Some(text) if of_mark => format!("that there is at the mark '{text}', all of it durable"),
            _ => else_told.to_owned(),
        };
        let first = place(asked.after > 0, asked.after.saturating_sub(1), "that the program starts from");
        let last = place(asked.until.is_some(), asked.until.unwrap_or(0), "that the program leaves, all of it durable");
        for (digest, memory, wrong) in [
            (FIRST, first, "either the command is wrong, or it needs what the program has not made yet"),
            (LAST, last, "either the command is wrong, or the program is"),
        ] {
            let verdict = self.verdict(digest, true, asked.cancel)?.ok_or(Failure::Cancelled)?;
            if !verdict.recovers() {
                return Err(self.refused(&verdict, &memory, wrong).into());
            }
        }
        Ok(())
    }

    fn begin_whole(&mut self, digest: u128, whole: &Whole<'_>) -> Result<(), ConfigError> {
        let occasion = Occasion { marks: whole.marks, event: 0 };
        self.begin(digest, occasion, whole.lines.iter().map(|(line, bytes)| (*line, *bytes)))
    }

    fn refused(&self, verdict: &Verdict, memory: &str, wrong: &str) -> ConfigError {
        let command = &self.settings.command;
        let did = verdict.briefly(self.settings.timeout_seconds);
        ConfigError(format!(
            "recover: without any power failure '{command}' fails on the memory {memory}: it {did}; {wrong}, so nothing was \
             explored (no_preflight explores all the same)"
        ))
    }
}

//! The crash points of one run as the user's own recovery judges them.

use super::report::Recoveries;
use crate::audit::{Auditor, Rule, Violation};
use crate::message::{Line, LineBytes, NoObserver};
use crate::own_recovery::{OwnRecovery, Verdict};
use crate::recovery::Boot;
use crate::simulate::Failure;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// What is known of them.
pub(super) struct Own {
    /// One past the program's last byte address.
    end: u64,
    /// The memory to run the command on, by its digest.
    wanted: Option<u128>,
    /// The transaction that the program is in.
    pub transaction: Option<u64>,
    recoveries: Recoveries,
}

/// What became of one image.
pub(super) struct Judged {
    pub digest: u128,
    /// It fails.
    pub violation: Option<Violation>,
    /// Lines in which the boot and the auditors disagree.
    pub disagreements: Vec<Line>,
}

impl Own {
    pub fn new(recovery: &OwnRecovery, end: u64) -> Self {
        let settings = recovery.settings();
        let recoveries = Recoveries {
            command: settings.command.clone(),
            timeout_seconds: settings.timeout_seconds,
            images: 0,
            runs: 0,
            failed: 0,
        };
        Self { end, wanted: None, transaction: None, recoveries }
    }

    /// The command is to be run on the memory of this digest.
    pub fn want(&mut self, digest: u128) {
        self.wanted = Some(digest);
    }

    pub fn want_nothing(&mut self) {
        self.wanted = None;
    }

    pub fn wants(&self) -> bool {
        self.wanted.is_some()
    }

    pub fn recoveries(&self) -> Recoveries {
        self.recoveries.clone()
    }

    /// Runs the command on what `boot` makes of memory, if that is wanted and its verdict is not known. `others_held`: no
    /// rule of the auditors is broken.
    pub fn judge(
        &mut self,
        recovery: &mut OwnRecovery,
        auditor: &Auditor,
        mut boot: Boot<'_, NoObserver>,
        others_held: bool,
        cancel: &AtomicBool,
    ) -> Result<Option<Judged>, Failure> {
        let Some(digest) = self.wanted.take() else { return Ok(None) };
        let mut disagreements = Vec::new();
        let verdict = match recovery.known(digest) {
            Some(verdict) => verdict,
            None => {
                boot.finish();
                let read = |(line, expected): (Line, &LineBytes)| {
                    let found = boot.line(line);
                    if found != *expected {
                        disagreements.push(line);
                    }
                    (line, found)
                };
                let lines = auditor.booted_view().filter(|(line, _)| line.address() < self.end).map(read);
                self.recoveries.runs += 1;
                recovery.judge(digest, lines, cancel)?
            }
        };
        self.recoveries.images += 1;
        let mut violation = None;
        if !verdict.recovers() {
            self.recoveries.failed += 1;
            let kept = recovery.keep(auditor.events())?;
            let explanation = self.explanation(auditor.events(), &verdict, others_held, &kept);
            let broken = auditor.broken(Rule::Recovery, None, None, explanation);
            violation = Some(Violation { transaction: self.transaction, ..broken });
        }
        Ok(Some(Judged { digest, violation, disagreements }))
    }

    fn explanation(&self, event: u64, verdict: &Verdict, others_held: bool, kept: &[PathBuf]) -> String {
        let Recoveries { command, timeout_seconds, .. } = &self.recoveries;
        let place = match self.transaction {
            Some(number) => format!("in transaction {number}"),
            None => "outside any transaction".to_owned(),
        };
        let did = verdict.told(*timeout_seconds);
        let others = match others_held {
            true => "No other rule is broken there.",
            false => "Other rules are broken there, too.",
        };
        let mut told = format!(
            "If power fails after event {event}, {place}, the program's own recovery fails: '{command}', run on the memory \
             that a boot finds, {did} {others}"
        );
        if let Some((first, more)) = kept.split_first() {
            told += &format!(" That memory is kept as {}", first.display());
            told.extend(more.iter().map(|path| format!(", {}", path.display())));
            told.push('.');
        }
        told
    }
}

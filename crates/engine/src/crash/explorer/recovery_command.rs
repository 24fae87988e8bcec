//! The crash points of one run as judged by the user's own recovery.

use super::super::analysis::by_line::ByLine;
use super::super::analysis::touched::Lacks;
use super::super::report::Recoveries;
use crate::audit::{Auditor, Rule, Violation};
use crate::kernel::Failure;
use crate::message::{Line, LineBytes, NoObserver};
use crate::recovery::Boot;
use crate::user_recovery::{Occasion, OwnRecovery, Verdict};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// The state of the judgement by the user's own recovery.
pub(super) struct RecoveryCommand<'a> {
    recovery: &'a mut OwnRecovery,
    /// One past the program's last byte address.
    end: u64,
    /// The memory to run the command on, by its digest, and when power failed.
    wanted: Option<(u128, Occasion)>,
    /// The transaction that the program is in.
    pub transaction: Option<u64>,
    /// The memory, among those with outstanding verdicts, that this crash point counts for.
    counted: Option<u128>,
    /// Runs whose verdicts have not been taken, oldest first.
    pending: VecDeque<Pending>,
    recoveries: Recoveries,
    by_line: ByLine,
}

/// A started run, with what must be known when it ends.
struct Pending {
    digest: u128,
    occasion: Occasion,
    transaction: Option<u64>,
    /// Whether no rule of the auditors is broken at the event.
    others_held: bool,
    /// Number of crash points that leave this memory and at which everything else held.
    held: u64,
    /// Whether this exploration started the run of the command for it.
    begun: bool,
    lacks: Lacks,
}

/// The result for one image.
pub(super) struct Judged {
    pub digest: u128,
    /// The violation, if the command fails.
    pub violation: Option<Violation>,
    /// Number of crash points that leave the image and at which everything else held.
    pub held: u64,
}

impl<'a> RecoveryCommand<'a> {
    pub fn new(recovery: &'a mut OwnRecovery, end: u64) -> Self {
        let recoveries = Recoveries::none(recovery.settings());
        Self {
            recovery,
            end,
            wanted: None,
            transaction: None,
            counted: None,
            pending: VecDeque::new(),
            recoveries,
            by_line: ByLine::default(),
        }
    }

    /// The digest of what the command finds on `occasion`, which leaves the memory of digest `memory`.
    pub fn digest(&self, memory: u128, occasion: Occasion) -> u128 {
        self.recovery.named().digest(memory, occasion)
    }

    /// Requests a run of the command on the memory of this digest.
    pub fn want(&mut self, digest: u128, occasion: Occasion) {
        self.wanted = Some((digest, occasion));
    }

    /// Starts the next event: nothing is requested.
    pub fn want_nothing(&mut self) {
        (self.wanted, self.counted) = (None, None);
    }

    pub fn wants(&self) -> bool {
        self.wanted.is_some()
    }

    /// How many verdicts may be outstanding before the next run begins.
    pub fn ahead(&self) -> usize {
        self.recovery.ahead()
    }

    /// Number of images from which the program does not recover.
    pub fn lost(&self) -> u64 {
        self.recoveries.lost()
    }

    pub fn recoveries(&self) -> Recoveries {
        self.recoveries.clone()
    }

    /// What the images lack that were judged.
    pub fn by_line(&self) -> ByLine {
        self.by_line.clone()
    }

    /// Records that a crash point leaves the memory of this digest; `held`: whether everything else holds there.
    /// Returns whether its verdict is outstanding.
    pub fn leaves(&mut self, digest: u128, held: bool) -> bool {
        let Some(pending) = self.pending.iter_mut().find(|pending| pending.digest == digest) else {
            return false;
        };
        pending.held += u64::from(held);
        self.counted = held.then_some(digest);
        true
    }

    /// Corrects the last crash point: something else does not hold there.
    pub fn does_not_hold(&mut self) {
        let Some(digest) = self.counted.take() else { return };
        if let Some(pending) = self.pending.iter_mut().find(|pending| pending.digest == digest) {
            pending.held -= 1;
        }
    }

    /// Starts a run on the memory that `boot` makes, if that is requested and its verdict is not known. `held`: no
    /// other rule is broken; `lacks`: what the image lacks. Returns the lines on which the boot and the auditors disagree.
    pub fn begin(
        &mut self,
        auditor: &Auditor,
        mut boot: Boot<'_, NoObserver>,
        held: bool,
        lacks: impl FnOnce() -> Lacks,
    ) -> Result<Vec<Line>, Failure> {
        let Some((digest, occasion)) = self.wanted.take() else { return Ok(Vec::new()) };
        let mut disagreements = Vec::new();
        self.recoveries.images += 1;
        let begun = !self.recovery.knows(digest);
        if begun {
            boot.finish();
            let read = |(line, expected): (Line, &LineBytes)| {
                let found = boot.line(line);
                if found != *expected {
                    disagreements.push(line);
                }
                (line, found)
            };
            let lines = auditor.booted_view().filter(|(line, _)| line.address() < self.end).map(read);
            self.recovery.begin(digest, occasion, lines)?;
            self.recoveries.runs += 1;
        }
        let transaction = self.transaction;
        self.pending.push_back(Pending {
            digest,
            occasion,
            transaction,
            others_held: held,
            held: u64::from(held),
            begun,
            lacks: lacks(),
        });
        Ok(disagreements)
    }

    /// Drops the outstanding verdicts. Returns how many crash points depended on them.
    pub fn abandon(&mut self) -> u64 {
        self.wanted = None;
        self.recoveries.images -= self.pending.len() as u64;
        self.recoveries.runs -= self.pending.iter().filter(|pending| pending.begun).count() as u64;
        self.pending.drain(..).map(|pending| pending.held).sum()
    }

    /// Takes the next verdict; waits for it if more than `ahead` are outstanding.
    pub fn next(&mut self, auditor: &Auditor, ahead: usize, cancel: &AtomicBool) -> Result<Option<Judged>, Failure> {
        let Some(first) = self.pending.front() else { return Ok(None) };
        let Some(verdict) = self.recovery.verdict(first.digest, self.pending.len() > ahead, cancel)? else {
            return Ok(None);
        };
        let first = self.pending.pop_front().expect("there is a first one");
        let fails = !verdict.recovers();
        let kept = self.recovery.settled(first.digest, fails, first.occasion)?;
        let violation = fails.then(|| {
            let explanation = self.explanation(&first, &verdict, &kept);
            let rule = if verdict.timed_out() { Rule::TimedOut } else { Rule::Recovery };
            let broken = auditor.broken(rule, None, None, explanation);
            let lost = first.lacks.lost.clone();
            Violation { crash_event: first.occasion.event, transaction: first.transaction, lost, ..broken }
        });
        self.recoveries.count(&verdict);
        self.by_line.count(first.lacks.touches, fails, first.occasion.event);
        Ok(Some(Judged { digest: first.digest, violation, held: first.held }))
    }

    fn explanation(&self, pending: &Pending, verdict: &Verdict, kept: &[PathBuf]) -> String {
        let Recoveries { command, timeout_seconds, .. } = &self.recoveries;
        let Pending { occasion, transaction, others_held, .. } = pending;
        let mut place = match transaction {
            Some(number) => format!("in transaction {number}"),
            None => "outside any transaction".to_owned(),
        };
        place.extend(self.recovery.describe(*occasion).map(|marks| format!(" and {marks}")));
        let event = occasion.event;
        let did = verdict.describe(*timeout_seconds);
        let others = match others_held {
            true => "No other rule is broken there.",
            false => "Other rules are broken there, too.",
        };
        let what = if verdict.timed_out() { "does not end in time" } else { "fails" };
        let mut told = format!(
            "If power fails after event {event}, {place}, the program's own recovery {what}: '{command}', run on the \
             memory that a boot finds, {did} {others}"
        );
        if let Some((first, more)) = kept.split_first() {
            told += &format!(" That memory is kept as {}", first.display());
            told.extend(more.iter().map(|path| format!(", {}", path.display())));
            told.push('.');
        }
        told
    }
}

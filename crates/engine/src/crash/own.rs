//! The crash points of one run as the user's own recovery judges them.

use super::report::Recoveries;
use crate::audit::{Auditor, Rule, Violation};
use crate::message::{Line, LineBytes, NoObserver};
use crate::recovery::Boot;
use crate::run::Failure;
use crate::user_recovery::{OwnRecovery, Verdict};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// What is known of them.
pub(super) struct Own<'a> {
    recovery: &'a mut OwnRecovery,
    /// One past the program's last byte address.
    end: u64,
    /// The memory to run the command on, by its digest.
    wanted: Option<u128>,
    /// The transaction that the program is in.
    pub transaction: Option<u64>,
    /// The memory, among those waited for, to which this crash point counts.
    counted: Option<u128>,
    /// Runs whose verdicts have not been taken, the first that began first.
    pending: VecDeque<Pending>,
    recoveries: Recoveries,
}

/// A run that has begun: what is to be known when it is over.
struct Pending {
    digest: u128,
    event: u64,
    transaction: Option<u64>,
    /// No rule of the auditors is broken at the event.
    others_held: bool,
    /// Crash points that leave this memory and at which everything else held.
    held: u64,
    /// The run of the command is for it: no other exploration has begun it.
    begun: bool,
}

/// What became of one image.
pub(super) struct Judged {
    pub digest: u128,
    /// It fails.
    pub violation: Option<Violation>,
    /// Crash points that leave it and at which everything else held.
    pub held: u64,
}

impl<'a> Own<'a> {
    pub fn new(recovery: &'a mut OwnRecovery, end: u64) -> Self {
        let settings = recovery.settings();
        let recoveries = Recoveries {
            command: settings.command.clone(),
            timeout_seconds: settings.timeout_seconds,
            images: 0,
            runs: 0,
            failed: 0,
        };
        Self { recovery, end, wanted: None, transaction: None, counted: None, pending: VecDeque::new(), recoveries }
    }

    /// The command is to be run on the memory of this digest.
    pub fn want(&mut self, digest: u128) {
        self.wanted = Some(digest);
    }

    /// Another event is over.
    pub fn want_nothing(&mut self) {
        (self.wanted, self.counted) = (None, None);
    }

    pub fn wants(&self) -> bool {
        self.wanted.is_some()
    }

    /// How many verdicts may be waited for before the next run begins.
    pub fn ahead(&self) -> usize {
        self.recovery.ahead()
    }

    pub fn recoveries(&self) -> Recoveries {
        self.recoveries.clone()
    }

    /// A crash point leaves the memory of this digest, and everything else holds there or not. True if its verdict is
    /// waited for.
    pub fn leaves(&mut self, digest: u128, held: bool) -> bool {
        let Some(pending) = self.pending.iter_mut().find(|pending| pending.digest == digest) else {
            return false;
        };
        pending.held += u64::from(held);
        self.counted = held.then_some(digest);
        true
    }

    /// At this crash point something else does not hold after all.
    pub fn does_not_hold(&mut self) {
        let Some(digest) = self.counted.take() else { return };
        if let Some(pending) = self.pending.iter_mut().find(|pending| pending.digest == digest) {
            pending.held -= 1;
        }
    }

    /// Begins a run on what `boot` makes of memory, if that is wanted and its verdict is not known. `held`: no other rule is
    /// broken. Gives the lines in which the boot and the auditors disagree.
    pub fn begin(
        &mut self,
        auditor: &Auditor,
        mut boot: Boot<'_, NoObserver>,
        held: bool,
    ) -> Result<Vec<Line>, Failure> {
        let Some(digest) = self.wanted.take() else { return Ok(Vec::new()) };
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
            self.recovery
                .begin(digest, auditor.booted_view().filter(|(line, _)| line.address() < self.end).map(read))?;
            self.recoveries.runs += 1;
        }
        let (event, transaction) = (auditor.events(), self.transaction);
        self.pending.push_back(Pending { digest, event, transaction, others_held: held, held: u64::from(held), begun });
        Ok(disagreements)
    }

    /// Gives up on the verdicts that are waited for, and says how many crash points counted on them.
    pub fn abandon(&mut self) -> u64 {
        self.wanted = None;
        self.recoveries.images -= self.pending.len() as u64;
        self.recoveries.runs -= self.pending.iter().filter(|pending| pending.begun).count() as u64;
        self.pending.drain(..).map(|pending| pending.held).sum()
    }

    /// Takes the next verdict: waits for it if more than `ahead` are waited for.
    pub fn next(&mut self, auditor: &Auditor, ahead: usize, cancel: &AtomicBool) -> Result<Option<Judged>, Failure> {
        let Some(first) = self.pending.front() else { return Ok(None) };
        let Some(verdict) = self.recovery.verdict(first.digest, self.pending.len() > ahead, cancel)? else {
            return Ok(None);
        };
        let fails = !verdict.recovers();
        let kept = self.recovery.settled(first.digest, fails, first.event)?;
        let violation = fails.then(|| {
            let explanation = self.explanation(first, &verdict, &kept);
            let broken = auditor.broken(Rule::Recovery, None, None, explanation);
            Violation { crash_event: first.event, transaction: first.transaction, ..broken }
        });
        let judged = Judged { digest: first.digest, violation, held: first.held };
        self.recoveries.failed += u64::from(fails);
        self.pending.pop_front();
        Ok(Some(judged))
    }

    fn explanation(&self, pending: &Pending, verdict: &Verdict, kept: &[PathBuf]) -> String {
        let Recoveries { command, timeout_seconds, .. } = &self.recoveries;
        let Pending { event, transaction, others_held, .. } = pending;
        let place = match transaction {
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

//! The explorer: an observer that passes everything on to the auditors and decides at the end of each event whether
//! power fails there.

use super::plan::CrashPlan;
use super::report::{CrashReport, CrashRun};
use crate::audit::{Auditor, BootWatch};
use crate::design::parts::RecoveryStep;
use crate::kernel::Ps;
use crate::message::{CoreId, Line, LineBytes, MediaLine, Observer, Page};
use crate::recovery::{AdrSnapshot, Boot, LineCodec, Media};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// By default every so many distinct durable states are booted for real.
const FULL_CHECK_EVERY_STATES: u64 = 1_000;
/// At so many of the first crash points at which new data has persisted and recovery has nothing to undo, a boot is
/// asked under which pads it would write that data's lines next: what a lost counter or a lost register does shows best
/// before the counter follows. Lines of the hardware's log are counted apart, because there are as many of them as of
/// data and they come first.
const EARLY_CHECKS: u64 = 64;
/// A boot is asked under which pads a line may first be written if that is one of so many next writes of all; with
/// counters of the line's own it is always the same pad. A global register that comes back behind is behind by the
/// writes whose values it or the media had yet to learn of, and the last of these may have been to any line. That is
/// about as many as write queues hold; a register that is further behind repeats the values in between, too.
const WRITES_AHEAD: usize = 64;
/// Disagreements between view and boot that are told one by one.
const DISAGREEMENTS_TOLD: usize = 10;

/// Explores the crash points of one run.
pub struct Explorer {
    auditor: Auditor,
    plan: CrashPlan,
    total_events: u64,
    full_check_every: u64,
    points: u64,
    recovered: u64,
    states: FxHashSet<u64>,
    full_checks: u64,
    wants_full_check: bool,
    violation_checked: bool,
    /// Checks that new data and new lines of the hardware's log may still ask for.
    early_checks: [u64; 2],
    /// While there are any and pads matter, the lines that have persisted since the last check.
    new_data: BTreeSet<Line>,
    /// Only new data asked for the check.
    next_writes_only: bool,
    at_point: bool,
    last_point_recovered: bool,
    disagreements: Vec<String>,
    disagreement_count: u64,
}

impl Explorer {
    /// Explores with `auditor` as `plan` says. `total_events` is the length of the run, which only a sampling plan
    /// needs ([`CrashPlan::needs_total`]).
    pub fn new(auditor: Auditor, plan: CrashPlan, total_events: u64) -> Self {
        let early_checks = [if auditor.watches_pads() { EARLY_CHECKS } else { 0 }; 2];
        Self {
            auditor,
            plan,
            total_events,
            full_check_every: FULL_CHECK_EVERY_STATES,
            points: 0,
            recovered: 0,
            states: FxHashSet::default(),
            full_checks: 0,
            wants_full_check: false,
            violation_checked: false,
            early_checks,
            new_data: BTreeSet::new(),
            next_writes_only: false,
            at_point: false,
            last_point_recovered: true,
            disagreements: Vec::new(),
            disagreement_count: 0,
        }
    }

    /// Boots every `states`-th distinct durable state for real; 1 for all of them.
    pub fn full_check_every(mut self, states: u64) -> Self {
        self.full_check_every = states.max(1);
        self
    }

    /// Whether the event that is just over left a state that should be booted for real: the first crash point, every
    /// so many distinct states, the first violation, and in part, at first, whenever new data has persisted and pads
    /// matter.
    pub fn wants_full_check(&self) -> bool {
        self.wants_full_check
    }

    /// Boots from the true survivors of the last event, compares every line with the auditors' view, and lets the
    /// program check its structure. At last it asks under which pads the booted machine would write next. May be called
    /// after any event; call it once more when the run has ended.
    ///
    /// `media` is the device image, `snapshot` what the ADR domain drains to it, `codec` the design's encryption
    /// (`None` for plaintext memory) and `steps` its boot sequence.
    pub fn full_check(
        &mut self,
        snapshot: &AdrSnapshot,
        media: &dyn Media,
        codec: Option<&dyn LineCodec>,
        steps: &[RecoveryStep],
    ) {
        self.wants_full_check = false;
        if std::mem::take(&mut self.next_writes_only) {
            self.check_next_writes(snapshot, media, codec, steps);
            return;
        }
        self.new_data.clear();
        self.full_checks += 1;
        // The view is as old as the last judgement: bring it up to date with the last event.
        if !self.at_point {
            self.auditor.judge();
        }
        let mut disagreements = Vec::new();
        let mut broken = Vec::new();
        let mut boot = Boot::new(media, snapshot, codec, steps, self.auditor.boot_watch());
        boot.load();
        for (line, expected) in self.auditor.durable_view() {
            if boot.line(line) != *expected {
                disagreements.push((line, "as the power failure left it"));
            }
        }
        boot.finish();
        for (line, expected) in self.auditor.booted_view() {
            if boot.line(line) != *expected {
                disagreements.push((line, "after the boot sequence"));
            }
        }
        if let Some(program) = self.auditor.program() {
            for layout in program.layouts() {
                boot.recover_program(program.as_ref(), layout.core);
            }
            for (line, _) in self.auditor.durable_view() {
                if self.auditor.recovered_line(line).is_some_and(|expected| boot.line(line) != expected) {
                    disagreements.push((line, "after the program's recovery"));
                }
            }
            for layout in program.layouts() {
                if let Err(what) = program.check(layout.core, &mut boot) {
                    broken.push((layout.core, what));
                }
            }
        }
        watch_next_writes(&mut boot, self.auditor.durable_view().map(|(line, _)| line));
        let leaks = boot.into_observer().finish();
        let mut kept = self.auditor.boot_over(leaks);
        kept &= broken.is_empty();
        for (core, what) in broken {
            self.auditor.structure_broken(core, &what);
        }
        for (line, when) in disagreements {
            self.disagree(line, when);
        }
        self.booted(kept);
    }

    /// The part of a full check that looks for repeated pads, for the lines that have persisted since the last check.
    fn check_next_writes(
        &mut self,
        snapshot: &AdrSnapshot,
        media: &dyn Media,
        codec: Option<&dyn LineCodec>,
        steps: &[RecoveryStep],
    ) {
        let lines = std::mem::take(&mut self.new_data);
        if codec.is_some() {
            let mut boot = Boot::new(media, snapshot, codec, steps, self.auditor.boot_watch());
            boot.finish();
            watch_next_writes(&mut boot, lines.into_iter());
            let leaks = boot.into_observer().finish();
            let kept = self.auditor.boot_over(leaks);
            self.booted(kept);
        }
    }

    /// A point that the view found recovered is not, if the real boot broke a rule.
    fn booted(&mut self, kept: bool) {
        if !kept && self.at_point && self.last_point_recovered {
            self.recovered -= 1;
            self.last_point_recovered = false;
        }
    }

    /// The auditors.
    pub fn auditor(&self) -> &Auditor {
        &self.auditor
    }

    /// Where a real boot and the auditors' view disagreed. Not a fault of the design but of this program: the two
    /// compute the same thing by different ways. Empty, or the results cannot be trusted.
    pub fn internal_errors(&self) -> &[String] {
        &self.disagreements
    }

    /// The report, once the run has ended.
    pub fn report(&self, run: CrashRun) -> CrashReport {
        let events = self.auditor.events();
        let states = self.states.len() as u64;
        let mut internal_errors = self.disagreements.clone();
        if self.disagreement_count > internal_errors.len() as u64 {
            internal_errors.push(format!("{} disagreements in all", self.disagreement_count));
        }
        CrashReport::new(
            run,
            self.points,
            self.recovered,
            states,
            self.plan.coverage(self.points, states, events, self.full_checks),
            self.auditor.violations(),
            self.auditor.violation_count(),
            internal_errors,
        )
    }

    fn disagree(&mut self, line: Line, when: &str) {
        self.disagreement_count += 1;
        if self.disagreements.len() < DISAGREEMENTS_TOLD {
            self.disagreements.push(format!(
                "internal error: after event {}, the line at {:#x} {when} differs between a real boot and the auditors' \
                 own view of the durable state",
                self.auditor.events(),
                line.address()
            ));
        }
    }
}

/// Lets the auditors see the pads that the first write of each of `lines` might have.
fn watch_next_writes(boot: &mut Boot<'_, BootWatch<'_>>, lines: impl Iterator<Item = Line>) {
    if !boot.observer().watches_pads() {
        return;
    }
    for line in lines {
        let pads = boot.next_pads(line).take(WRITES_AHEAD);
        boot.observer().next_write(line, pads);
    }
}

impl Observer for Explorer {
    fn stored(&mut self, now: Ps, core: CoreId, line: Line, offset: usize, data: &[u8]) {
        self.auditor.stored(now, core, line, offset, data);
    }
    fn marked_counter_atomic(&mut self, now: Ps, core: CoreId, line: Line) {
        self.auditor.marked_counter_atomic(now, core, line);
    }
    fn flushed(&mut self, now: Ps, core: CoreId, line: Line) {
        self.auditor.flushed(now, core, line);
    }
    fn fenced(&mut self, now: Ps, core: CoreId) {
        self.auditor.fenced(now, core);
    }
    fn transaction_began(&mut self, now: Ps, core: CoreId, number: u64) {
        self.auditor.transaction_began(now, core, number);
    }
    fn transaction_ended(&mut self, now: Ps, core: CoreId, number: u64) {
        self.auditor.transaction_ended(now, core, number);
    }
    fn evicted(&mut self, now: Ps, line: Line) {
        self.auditor.evicted(now, line);
    }
    fn write_arrived(&mut self, now: Ps, line: Line, plaintext: &LineBytes) {
        self.auditor.write_arrived(now, line, plaintext);
    }
    fn persisted(&mut self, now: Ps, media: MediaLine, bytes: &LineBytes) {
        if let Some(line) = media.as_line()
            && self.early_checks[usize::from(self.auditor.is_hardware_log(line))] > 0
        {
            self.new_data.insert(line);
        }
        self.auditor.persisted(now, media, bytes);
    }
    fn coalesced(&mut self, now: Ps, media: MediaLine) {
        self.auditor.coalesced(now, media);
    }
    fn bus_write(&mut self, now: Ps, media: MediaLine, bytes: &LineBytes) {
        self.auditor.bus_write(now, media, bytes);
    }
    fn logged(&mut self, now: Ps, core: CoreId, line: Line) {
        self.auditor.logged(now, core, line);
    }
    fn log_extended(&mut self, now: Ps, core: CoreId, bucket: u32, records: u32) {
        self.auditor.log_extended(now, core, bucket, records);
    }
    fn log_freed(&mut self, now: Ps, core: CoreId) {
        self.auditor.log_freed(now, core);
    }
    fn reencryption(&mut self, now: Ps, page: Page, old_major: u64, done: u64, finished: bool) {
        self.auditor.reencryption(now, page, old_major, done, finished);
    }

    fn event_over(&mut self, now: Ps) {
        self.auditor.event_over(now);
        let event = self.auditor.events();
        self.wants_full_check = false;
        self.at_point = self.plan.includes(event, self.total_events);
        if !self.at_point {
            return;
        }
        self.points += 1;
        self.last_point_recovered = self.auditor.judge();
        self.recovered += u64::from(self.last_point_recovered);
        let new_state = self.states.insert(self.auditor.state_hash());
        let first_violation = !self.violation_checked && self.auditor.violation_count() > 0;
        self.violation_checked |= first_violation;
        let whole = self.points == 1
            || first_violation
            || (new_state && (self.states.len() as u64).is_multiple_of(self.full_check_every));
        // Scanning the log takes most of a boot, so these are points at which it would find nothing to undo.
        let asks = [false, true].map(|log| {
            let of_log = |&line: &Line| self.auditor.is_hardware_log(line) == log;
            self.early_checks[usize::from(log)] > 0 && self.new_data.iter().any(of_log)
        });
        let early = asks.contains(&true) && !self.auditor.recovery_writes();
        for (left, asks) in self.early_checks.iter_mut().zip(asks) {
            *left -= u64::from(early && asks);
        }
        self.next_writes_only = early && !whole;
        self.wants_full_check = early || whole;
    }
}

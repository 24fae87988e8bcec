//! The explorer: an observer that passes everything on to the auditors and decides at the end of each event whether
//! power fails there.

mod outcome;
mod stream;

use super::nested::Nested;
use super::next_writes::watch_next_writes;
use super::own::{Judged, Own};
use super::path::battery_gave_up;
use super::plan::CrashPlan;
use super::power::{Drained, PowerLoss};
use super::report::Found;
use crate::audit::{Auditor, Collector, Rule, Violation};
use crate::parts::RecoveryStep;

use crate::message::{Line, NoObserver};
use crate::recovery::{AdrSnapshot, Boot, LineCodec, Media};
use crate::run::Failure;
use crate::user_recovery::OwnRecovery;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

/// By default every so many distinct durable states are booted for real.
const FULL_CHECK_EVERY_STATES: u64 = 1_000;
/// At so many of the first crash points at which new data has persisted and recovery has nothing to undo, a boot is
/// asked under which pads it would write that data's lines next: what a lost counter or a lost register does shows best
/// before the counter follows. Lines of the hardware's log are counted apart, because there are as many of them as of
/// data and they come first.
const EARLY_CHECKS: u64 = 64;
/// Disagreements between view and boot that are told one by one.
const DISAGREEMENTS_TOLD: usize = 10;

/// Durable states that other runs have met: none of them is explored twice.
#[derive(Default)]
pub struct KnownStates {
    durable: FxHashSet<u64>,
    /// Those in whose recovery power has failed again.
    nested: FxHashSet<u64>,
    /// What the user's own recovery finds in them, and whether it fails.
    images: FxHashMap<u128, bool>,
}

/// Explores the crash points of one run.
pub struct Explorer {
    auditor: Auditor,
    plan: CrashPlan,
    total_events: u64,
    full_check_every: u64,
    points: u64,
    recovered: u64,
    /// The event of the program's first store.
    first_store: Option<u64>,
    /// A crash point came after it.
    judged: bool,
    known: KnownStates,
    /// New ones among them.
    states: u64,
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
    /// Caches persist, so that a crash point is judged when the run loop has told what leaves them.
    drains: bool,
    wants_power_loss: bool,
    /// The last event after which that was told.
    power_lost_at: Option<u64>,
    /// How many times in a row power fails again during recovery.
    nested: u32,
    wants_nested: bool,
    /// States explored so, and second power failures.
    nested_states: u64,
    nested_points: u64,
    /// The user's own recovery, where it is run.
    own: Option<Own>,
    /// What the explorer found itself.
    found: Collector<Found>,
    last_point_recovered: bool,
    disagreements: Vec<String>,
    disagreement_count: u64,
    /// The first violation of this rule ends the exploration.
    stop_at: Option<Rule>,
    /// Violations when that was last looked for.
    known_violations: u64,
    stopped: bool,
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
            first_store: None,
            judged: false,
            known: KnownStates::default(),
            states: 0,
            full_checks: 0,
            wants_full_check: false,
            violation_checked: false,
            early_checks,
            new_data: BTreeSet::new(),
            next_writes_only: false,
            at_point: false,
            drains: false,
            wants_power_loss: false,
            power_lost_at: None,
            nested: 0,
            wants_nested: false,
            nested_states: 0,
            nested_points: 0,
            own: None,
            found: Collector::default(),
            last_point_recovered: true,
            disagreements: Vec::new(),
            disagreement_count: 0,
            stop_at: None,
            known_violations: 0,
            stopped: false,
        }
    }

    /// Other runs have met `known`.
    pub fn knowing(mut self, known: KnownStates) -> Self {
        self.known = known;
        self
    }

    /// What this run and those before it have met.
    pub fn into_known(self) -> KnownStates {
        self.known
    }

    /// Boots every `states`-th distinct durable state for real; 1 for all of them.
    pub fn full_check_every(mut self, states: u64) -> Self {
        self.full_check_every = states.max(1);
        self
    }

    /// Caches persist if `drains`: at each crash point [`Explorer::power_lost`] is to be told what leaves them.
    pub fn drains(mut self, drains: bool) -> Self {
        self.drains = drains;
        self
    }

    /// Power fails again `depth` times in a row during the recovery from every distinct state that recovers.
    pub fn nested(mut self, depth: u32) -> Self {
        self.nested = depth;
        self
    }

    /// `recovery` is run on every memory that a boot leaves to the program, whose bytes end at address `end`.
    pub fn recovered_by(mut self, recovery: &OwnRecovery, end: u64) -> Self {
        self.auditor.watch_image(end);
        self.own = Some(Own::new(recovery, end));
        self
    }

    /// Crash points are tallied by the stage of the transaction in flight if `wanted`.
    pub fn tally_stages(mut self, wanted: bool) -> Self {
        if wanted {
            self.auditor.tally_stages();
        }
        self
    }

    /// The first violation of `rule` ends the exploration.
    pub fn stop_at(mut self, rule: Option<Rule>) -> Self {
        self.stop_at = rule;
        self
    }

    /// Whether the rule has been broken at whose first violation the exploration ends.
    pub fn stopped(&mut self) -> bool {
        let Some(rule) = self.stop_at else { return false };
        let violations = self.violation_count();
        if self.known_violations != violations {
            self.known_violations = violations;
            // The first violation of each rule is always among those explained.
            self.stopped = self.auditor.violations().iter().any(|violation| violation.rule == rule)
                || self.found.explained.iter().any(|found| found.violation.rule == rule);
        }
        self.stopped
    }

    fn violation_count(&self) -> u64 {
        self.auditor.violation_count() + self.found.count
    }

    /// Whether power fails now and the explorer has to know what leaves the caches.
    pub fn wants_power_loss(&self) -> bool {
        self.wants_power_loss
    }

    /// Whether any of that is wanted now, or a boot.
    pub fn wants_survivors(&self) -> bool {
        self.wants_power_loss || self.wants_full_check || self.wants_nested() || self.wants_own_recovery()
    }

    /// Asks for a full check whatever the plan says: the run has ended.
    pub fn want_full_check(&mut self) {
        self.wants_full_check = true;
    }

    /// Power is lost after the event that is just over, and this is what is left. A crash point is judged then.
    pub fn power_lost(&mut self, drained: &Drained) {
        let event = self.auditor.events();
        if !self.drains || self.power_lost_at.replace(event) == Some(event) {
            return;
        }
        let status = drained.snapshot.status.map(|status| (status.page, status.old_major, status.done));
        self.auditor.reencryption_left(status);
        self.auditor.power_lost(&drained.left, &drained.snapshot.registers);
        if std::mem::take(&mut self.wants_power_loss) {
            self.judge();
            if let Some(forbidden) = &drained.forbidden {
                self.booted(false);
                self.wants_nested = false;
                let auditor = &self.auditor;
                self.found.add(Rule::Battery, None, || {
                    let told = battery_gave_up(&format!("after event {event}"), forbidden);
                    Found { violation: auditor.broken(Rule::Battery, None, None, told), nested_events: Vec::new() }
                });
            }
        }
    }

    /// Whether power should fail again during the recovery from the state that the event that is just over left: a new
    /// one from which recovery succeeds.
    pub fn wants_nested(&self) -> bool {
        self.wants_nested && self.last_point_recovered
    }

    /// Lets power fail again after every step of the recovery from what `drained` left over `media`, as `loss` says, with the
    /// boot sequence `steps`.
    ///
    /// When `cancel` is set it ends early, and the state does not count as explored.
    pub fn nested_check(
        &mut self,
        drained: &Drained,
        media: &dyn Media,
        loss: &PowerLoss<'_>,
        steps: &[RecoveryStep],
        cancel: &AtomicBool,
    ) {
        self.wants_nested = false;
        let thorough = (self.nested_states - 1).is_multiple_of(self.full_check_every);
        let nested = Nested::new(&self.auditor, loss, steps, drained, thorough, cancel);
        let result = nested.depth(self.nested).explore(media);
        self.nested_points += result.points;
        self.nested_states -= u64::from(result.interrupted);
        self.booted(result.found.is_empty());
        for found in result.found {
            self.found.add(found.violation.rule, found.violation.line, || found);
        }
    }

    /// Whether the event that is just over left memory that the user's own recovery has not been run on.
    pub fn wants_own_recovery(&self) -> bool {
        self.own.as_ref().is_some_and(Own::wants)
    }

    /// Begins a run of `recovery` on what a boot with the sequence `steps` makes of what `snapshot` and `media` have, and takes
    /// the verdicts of those that are over.
    pub fn own_recovery(
        &mut self,
        recovery: &mut OwnRecovery,
        snapshot: &AdrSnapshot,
        media: &dyn Media,
        codec: Option<&dyn LineCodec>,
        steps: &[RecoveryStep],
        cancel: &AtomicBool,
    ) -> Result<(), Failure> {
        let Some(own) = &mut self.own else { return Ok(()) };
        let boot = Boot::new(media, snapshot, codec, steps, NoObserver);
        for line in own.begin(recovery, &self.auditor, boot, self.last_point_recovered)? {
            self.disagree(line, "in the memory that the command is run on");
        }
        let ahead = recovery.ahead();
        self.take_verdicts(recovery, ahead, cancel)
    }

    /// Takes the verdicts of the user's own recovery, in order, until one is not known; it is waited for if more than `ahead`
    /// are to come.
    pub fn take_verdicts(
        &mut self,
        recovery: &mut OwnRecovery,
        ahead: usize,
        cancel: &AtomicBool,
    ) -> Result<(), Failure> {
        let Some(own) = &mut self.own else { return Ok(()) };
        while let Some(Judged { digest, violation, held }) = own.next(recovery, &self.auditor, ahead, cancel)? {
            self.known.images.insert(digest, violation.is_some());
            if let Some(violation) = violation {
                self.recovered -= held;
                self.found.add_each(Rule::Recovery, || Found { violation, nested_events: Vec::new() });
            }
        }
        Ok(())
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
        watch_next_writes(&mut boot, |watch| watch, self.auditor.durable_view().map(|(line, _)| line));
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
            watch_next_writes(&mut boot, |watch| watch, lines.into_iter());
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
            self.own.as_mut().map(Own::does_not_hold);
            self.auditor.tallied_point_failed();
        }
    }

    /// The auditors.
    pub fn auditor(&self) -> &Auditor {
        &self.auditor
    }

    /// Whether every rule held at the last crash point, the leaks of the run itself aside.
    pub fn recovers(&self) -> bool {
        self.last_point_recovered
    }

    /// Takes the violations found since the last call, all of them explained. Those before the first call are left out.
    pub fn take_told(&mut self) -> Vec<Violation> {
        let own = self.found.take_told();
        self.auditor.take_told().into_iter().chain(own.into_iter().map(|found| found.violation)).collect()
    }

    /// Where a real boot and the auditors' view disagreed. Not a fault of the design but of this program: the two
    /// compute the same thing by different ways. Empty, or the results cannot be trusted.
    pub fn internal_errors(&self) -> &[String] {
        &self.disagreements
    }

    /// Whether a crash point has been judged.
    pub fn has_points(&self) -> bool {
        self.points > 0
    }

    /// Forgets the crash points whose verdicts of the user's own recovery are still to come: the user has interrupted.
    pub fn forget_unjudged(&mut self) {
        let waiting = self.own.as_mut().map_or(0, Own::abandon);
        self.points -= waiting;
        self.recovered -= waiting;
    }

    /// Judges the crash point after the event that is just over.
    fn judge(&mut self) {
        self.points += 1;
        self.judged |= self.first_store.is_some();
        self.last_point_recovered = self.auditor.judge();
        self.recovered += u64::from(self.last_point_recovered);
        self.auditor.tally(self.last_point_recovered);
        let new_state = self.known.durable.insert(self.auditor.state_hash());
        self.states += u64::from(new_state);
        self.wants_nested =
            self.nested > 0 && self.last_point_recovered && self.known.nested.insert(self.auditor.state_hash());
        self.nested_states += u64::from(self.wants_nested);
        self.look_at_image();
        let first_violation = !self.violation_checked && self.auditor.violation_count() > 0;
        self.violation_checked |= first_violation;
        let whole =
            self.points == 1 || first_violation || (new_state && self.states.is_multiple_of(self.full_check_every));
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

    /// What the user's own recovery makes of the point, or that it is to be run.
    fn look_at_image(&mut self) {
        let Some((own, digest)) = self.own.as_mut().zip(self.auditor.image_digest()) else { return };
        match self.known.images.get(&digest) {
            Some(fails) => self.booted(!fails),
            None if own.leaves(digest, self.last_point_recovered) => {}
            None => own.want(digest),
        }
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

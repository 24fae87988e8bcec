//! The explorer: an observer that passes everything on to the auditors and decides at the end of each event whether
//! power fails there.

pub(super) mod covered;
mod failure_path;
pub(super) mod nested;
mod next_writes;
mod outcome;
mod pads;
mod real_boot;
mod recovery_command;
pub(super) mod second_life;
mod seen_states;
mod settings;
mod shown;
mod stream;
mod verification;

use super::Region;
use super::analysis::touched::Touched;
use super::attack::Attacker;
use super::plan::CrashPlan;
use crate::audit::{Auditor, Collector, Rule, Violation};
use crate::kernel::Failure;
use crate::message::NoObserver;
use crate::power::{Drained, Survivors};
use crate::user_recovery::Occasion;
use failure_path::battery_gave_up;
use nested::Nested;
use pads::NextPads;
use real_boot::Disagreements;
use recovery_command::{Judged, RecoveryCommand};
use rustc_hash::FxHashMap;
use shown::Shown;
pub use shown::ShownLines;
use std::sync::atomic::AtomicBool;
use verification::Unverified;

/// How many events a judgement counts as, for progress and interruption.
const EVENTS_PER_JUDGEMENT: u64 = 16;
/// How many events a judgement with second power failures counts as.
const EVENTS_PER_NESTED_CHECK: u64 = 2048;
/// How many events a run of the user's own recovery counts as: each is followed by a check for an interruption.
const EVENTS_PER_OWN_RECOVERY: u64 = u64::MAX;

/// Durable states that this run or others have reached: none of them is explored twice, and each has one verdict, which
/// counts for every crash point that leaves it.
#[derive(Default)]
pub struct KnownStates {
    durable: FxHashMap<u64, KnownState>,
    /// States in whose recovery power has failed again, and whether that has broken a rule.
    nested: FxHashMap<u64, bool>,
    /// What the user's own recovery finds in the states, and whether it fails.
    images: FxHashMap<u128, bool>,
}

/// What is known of a durable state.
#[derive(Clone, Copy, Default)]
struct KnownState {
    /// Whether it was, or is about to be, booted to see the next pads.
    booted: bool,
    /// Whether a boot has found a rule broken.
    broken: bool,
    /// Whether the boot, or a read after it, refuses memory.
    refused: bool,
}

/// The result of a judgement.
#[derive(Default)]
pub struct Judgement {
    /// How many events it counts as, for progress and interruption.
    pub events: u64,
    /// The violations since the last judgement that the auditors found during the run and at its crash point, if
    /// violations are kept ([`Explorer::keep_all`]).
    pub by_run: Vec<Violation>,
    /// The violations in what left the caches when power was lost.
    pub by_loss: Vec<Violation>,
    /// The violations that a real boot found.
    pub by_boot: Vec<Violation>,
}

/// What the exploration needs the survivors of a power failure after the last event for.
#[derive(Clone, Copy, Default)]
struct Wants {
    /// The crash point is judged by what leaves the caches, because they persist.
    power_loss: bool,
    /// A real boot that is compared with the auditors' view.
    whole_check: bool,
    /// A boot that shows what is refused, and the next pads, because none from this state has.
    boot: bool,
    /// An attack, because the state is one of those that are attacked.
    attack: bool,
    /// Second power failures, unless the machine does not recover from this point.
    nested: bool,
}

/// Explores the crash points of one run.
pub struct Explorer<'a> {
    auditor: Auditor,
    plan: CrashPlan,
    /// The part of the program in which power fails.
    region: Region,
    /// Number of events that a sampling plan is about, and how many come before them.
    total_events: u64,
    before: u64,
    /// How many marks the program has passed.
    marks: u64,
    full_check_every: u64,
    points: u64,
    recovered: u64,
    /// The event of the program's first store.
    first_store: Option<u64>,
    /// Whether a crash point came after it.
    judged: bool,
    known: KnownStates,
    /// Number of new states among them.
    states: u64,
    full_checks: u64,
    wants: Wants,
    violation_checked: bool,
    next_pads: NextPads,
    at_point: bool,
    last_point_recovered: bool,
    /// Whether lines leave on battery, so that a crash point is judged by them.
    drains: bool,
    /// Whether reads are verified, so that every new state is booted and verified.
    verifies: bool,
    unverified: Unverified,
    /// Who changes the media while power is off, if anybody does, and whether the design promises to notice.
    attacker: Option<Attacker>,
    /// The last event after which the auditors were informed of what leaves the caches.
    power_lost_at: Option<u64>,
    /// How many times in a row power fails again during recovery, and whether all threads of the pool judge that.
    nested: u32,
    shared: bool,
    /// Number of states explored with second power failures, and of these failures.
    nested_states: u64,
    nested_points: u64,
    /// What boots show of the lines that somebody asks about.
    shown: Option<Shown>,
    /// The user's own recovery, if it is run.
    command: Option<RecoveryCommand<'a>>,
    /// Where the program touched lines, if it is recorded with its places.
    touched: Option<Touched>,
    /// The violations that the explorer found itself.
    found: Collector,
    disagreements: Disagreements,
    /// The first violation of this rule ends the exploration.
    stop_at: Option<Rule>,
    /// This many images on which the user's own recovery fails end it, too.
    stop_after: Option<u64>,
    /// Number of violations at the last check for that rule.
    known_violations: u64,
    stopped: bool,
    cancel: Option<&'a AtomicBool>,
}

impl<'a> Explorer<'a> {
    /// Whether the program has left that region.
    pub fn has_left(&self) -> bool {
        self.region.is_over(self.marks)
    }

    /// The states that this run and those before it have reached.
    pub fn into_known(self) -> KnownStates {
        self.known
    }

    /// From now on, every judgement returns the violations that it finds, explained.
    pub fn keep_all(&mut self) {
        self.auditor.keep_all();
        self.found.keep_all();
    }

    /// Whether the rule that ends the exploration has been broken, or as many images have failed as end it.
    pub fn stopped(&mut self) -> bool {
        let failed = self.command.as_ref().map_or(0, RecoveryCommand::lost);
        self.stopped |= self.stop_after.is_some_and(|most| failed >= most);
        let Some(rule) = self.stop_at else { return self.stopped };
        let violations = self.violation_count();
        if self.known_violations != violations {
            self.known_violations = violations;
            // The first violation of each rule is always among those explained.
            let mut explained = self.auditor.violations().iter().chain(&self.found.explained);
            self.stopped = explained.any(|violation| violation.rule == rule);
        }
        self.stopped
    }

    pub(super) fn violation_count(&self) -> u64 {
        self.auditor.violation_count() + self.found.count
    }

    /// Whether the exploration needs the survivors of a power failure after the last event.
    pub fn wants_survivors(&self) -> bool {
        self.wants.power_loss
            || self.wants.whole_check
            || self.wants.boot
            || self.wants.attack
            || self.wants_nested()
            || self.wants_own_recovery()
    }

    /// Judges a power failure after the last event, as far as the exploration needs it: the crash point itself, if
    /// caches persist; a boot from a new state, if pads matter or something verifies memory; one that is compared line by
    /// line, from the first crash point, from one of so many distinct states, from the first violation; second power failures
    /// during the recovery from a new state; a run of the user's own recovery on new memory. May be called after any event.
    pub fn judge(&mut self, survivors: &Survivors<'_>) -> Result<Judgement, Failure> {
        let by_run = self.take_violations();
        self.lose_power(&survivors.drained);
        self.name_places();
        let by_loss = self.take_violations();
        let whole = std::mem::take(&mut self.wants.whole_check);
        if whole {
            self.check_everything(survivors);
        }
        if std::mem::take(&mut self.wants.boot) && (self.verifies || !whole) {
            self.boot(survivors, !whole);
        }
        if std::mem::take(&mut self.wants.attack) {
            self.attack(survivors);
        }
        let mut events = EVENTS_PER_JUDGEMENT;
        if self.wants_nested() {
            self.fail_again(survivors);
            events = EVENTS_PER_NESTED_CHECK;
        } else if self.wants_own_recovery() {
            self.begin_own_recovery(survivors)?;
            events = EVENTS_PER_OWN_RECOVERY;
        }
        Ok(Judgement { events, by_run, by_loss, by_boot: self.take_violations() })
    }

    /// Judges a power failure after the last event of the run, if that is a crash point, with a boot that is compared line by
    /// line, and waits for the verdicts of the user's own recovery.
    pub fn judge_end(&mut self, survivors: &Survivors<'_>) -> Result<(), Failure> {
        if self.at_point {
            self.wants.whole_check = true;
            self.judge(survivors)?;
        }
        self.take_verdicts(0)
    }

    /// If caches persist: informs the auditors of what left them, and judges the crash point if there is one.
    fn lose_power(&mut self, drained: &Drained) {
        let event = self.auditor.events();
        if !self.drains || self.power_lost_at.replace(event) == Some(event) {
            return;
        }
        let status = drained.snapshot.status.map(|status| (status.group, status.old_major, status.done));
        self.auditor.reencryption_left(status);
        self.auditor.misread(&drained.misread);
        self.auditor.power_lost(&drained.left, &drained.snapshot.registers);
        if std::mem::take(&mut self.wants.power_loss) {
            self.judge_point();
            if let Some(forbidden) = &drained.forbidden {
                self.point_broken_by(true);
                self.wants.nested = false;
                let auditor = &self.auditor;
                self.found.add(Rule::Battery, None, || {
                    let told = battery_gave_up(&format!("after event {event}"), forbidden);
                    auditor.broken(Rule::Battery, None, None, told)
                });
            }
        }
    }

    /// Whether power should fail again during the recovery from the state after the last event: it is new, and recovery
    /// succeeds.
    pub(super) fn wants_nested(&self) -> bool {
        self.wants.nested && self.last_point_recovered
    }

    /// Fails power again after every step of the recovery from `survivors`.
    fn fail_again(&mut self, survivors: &Survivors<'_>) {
        self.wants.nested = false;
        self.nested_states += 1;
        let never = AtomicBool::new(false);
        let thorough = (self.nested_states - 1).is_multiple_of(self.full_check_every);
        let nested = Nested::new(&self.auditor, survivors, thorough, self.cancel.unwrap_or(&never));
        let result = nested.depth(self.nested).shared(self.shared).explore();
        self.nested_points += result.points;
        self.nested_states -= u64::from(result.interrupted);
        let broken = !result.found.is_empty();
        self.known.nested.insert(self.auditor.state_hash(), broken);
        self.point_broken_by(broken);
        for violation in result.found {
            self.found.add(violation.rule, violation.line, || violation);
        }
    }

    /// Whether the last event left memory that the user's own recovery has not been run on.
    fn wants_own_recovery(&self) -> bool {
        self.command.as_ref().is_some_and(RecoveryCommand::wants)
    }

    /// Starts a run of the user's own recovery on the memory that a boot makes of `survivors`, and takes the verdicts
    /// of finished runs.
    fn begin_own_recovery(&mut self, survivors: &Survivors<'_>) -> Result<(), Failure> {
        let Some(command) = &mut self.command else { return Ok(()) };
        let lacks = || self.touched.as_ref().map(|touched| touched.lacks(&self.auditor)).unwrap_or_default();
        let lines = command.begin(&self.auditor, survivors.boot(NoObserver), self.last_point_recovered, lacks)?;
        // Where the exploration ends must not depend on how many commands run at a time.
        let ahead = if self.stop_after.is_some() { 0 } else { command.ahead() };
        for line in lines {
            self.disagreements.add(self.auditor.events(), line, "in the memory that the command is run on");
        }
        self.take_verdicts(ahead)
    }

    /// Takes the verdicts of the user's own recovery, in order, until one is not known. Waits for it if more than
    /// `ahead` are outstanding.
    fn take_verdicts(&mut self, ahead: usize) -> Result<(), Failure> {
        let Some(command) = &mut self.command else { return Ok(()) };
        let never = AtomicBool::new(false);
        let cancel = self.cancel.unwrap_or(&never);
        while let Some(Judged { digest, violation, held }) = command.next(&self.auditor, ahead, cancel)? {
            self.known.images.insert(digest, violation.is_some());
            if let Some(violation) = violation {
                self.recovered -= held;
                self.found.add_each(violation.rule, || violation);
            }
        }
        Ok(())
    }

    /// The auditors.
    pub fn auditor(&self) -> &Auditor {
        &self.auditor
    }

    /// Whether every rule held at the last crash point, except for leaks of the run itself.
    pub fn recovers(&self) -> bool {
        self.last_point_recovered
    }

    /// The violations since the last call, if they are kept; the explorer's own come last.
    fn take_violations(&mut self) -> Vec<Violation> {
        let mut told = self.auditor.take_violations();
        told.append(&mut self.found.take_violations());
        told
    }

    /// Disagreements between a real boot and the auditors' view. They are faults of this program, not of the design,
    /// because the two compute the same thing in different ways. The results can be trusted only if there are none.
    pub fn internal_errors(&self) -> &[String] {
        self.disagreements.descriptions()
    }

    /// Whether a crash point has been judged.
    pub fn has_points(&self) -> bool {
        self.points > 0
    }

    /// Drops the crash points whose verdicts of the user's own recovery are outstanding: the user has interrupted.
    pub fn forget_unjudged(&mut self) {
        let waiting = self.command.as_mut().map_or(0, RecoveryCommand::abandon);
        self.points -= waiting;
        self.recovered -= waiting;
    }

    /// Judges the crash point after the last event, and decides what else is needed there.
    fn judge_point(&mut self) {
        self.points += 1;
        self.judged |= self.first_store.is_some();
        self.last_point_recovered = self.auditor.judge();
        self.recovered += u64::from(self.last_point_recovered);
        self.auditor.tally(self.last_point_recovered);
        let state = self.auditor.state_hash();
        let known = self.known.durable.get(&state).copied();
        let new_state = known.is_none();
        let KnownState { booted, broken, .. } = known.unwrap_or_default();
        self.point_broken_by(broken);
        self.states += u64::from(new_state);
        // Pads do not change the verdict on a point that fails anyway.
        let asks_pads = self.next_pads.matter() && !booted && self.last_point_recovered;
        self.wants.boot = asks_pads || (new_state && self.verifies);
        let states = self.states;
        self.wants.attack = new_state && self.attacker.as_ref().is_some_and(|attacker| attacker.wants(states));
        if self.nested > 0 && self.last_point_recovered {
            let known = self.known.nested.get(&state).copied();
            self.wants.nested = known.is_none();
            self.known.nested.insert(state, known == Some(true));
            self.point_broken_by(known == Some(true));
        }
        self.look_at_image();
        let first_violation = !self.violation_checked && self.auditor.violation_count() > 0;
        self.violation_checked |= first_violation;
        self.wants.whole_check =
            self.points == 1 || first_violation || (new_state && self.states.is_multiple_of(self.full_check_every));
        self.known.durable.entry(state).or_default().booted |= self.wants.boot || self.wants.whole_check;
    }

    /// Adds the places of the program to what the auditors have found.
    pub(super) fn name_places(&mut self) {
        if let Some(touched) = &mut self.touched {
            touched.name(&mut self.auditor);
        }
    }

    /// Takes the known result of the user's own recovery for the point, or schedules its run.
    fn look_at_image(&mut self) {
        let Some((command, memory)) = self.command.as_mut().zip(self.auditor.image_digest()) else { return };
        let occasion = Occasion { marks: self.marks, event: self.auditor.events() };
        let digest = command.digest(memory, occasion);
        match self.known.images.get(&digest) {
            Some(&fails) => self.point_broken_by(fails),
            None if command.leaves(digest, self.last_point_recovered) => {}
            None => command.want(digest, occasion),
        }
    }
}

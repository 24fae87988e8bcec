//! What an explorer is told before the run.

use super::pads::NextPads;
use super::real_boot::Disagreements;
use super::recovery_command::RecoveryCommand;
use super::verification::Unverified;
use super::{Explorer, KnownStates, Wants};
use crate::audit::{Auditor, Collector, Rule};
use crate::crash::Region;
use crate::crash::analysis::touched::Touched;
use crate::crash::plan::CrashPlan;
use crate::user_recovery::OwnRecovery;
use std::sync::atomic::AtomicBool;

/// By default, one of this many distinct durable states is booted for real.
const FULL_CHECK_EVERY_STATES: u64 = 1_000;

impl<'a> Explorer<'a> {
    /// Explores with `auditor` as `plan` says. `total_events` is the length of the run, which only a sampling plan
    /// needs ([`CrashPlan::needs_total`]).
    pub fn new(auditor: Auditor, plan: CrashPlan, total_events: u64) -> Self {
        let next_pads = NextPads::new(auditor.watches_pads());
        Self {
            auditor,
            plan,
            region: Region::WHOLE,
            total_events,
            before: 0,
            marks: 0,
            full_check_every: FULL_CHECK_EVERY_STATES,
            points: 0,
            recovered: 0,
            first_store: None,
            judged: false,
            known: KnownStates::default(),
            states: 0,
            full_checks: 0,
            wants: Wants::default(),
            violation_checked: false,
            next_pads,
            at_point: false,
            last_point_recovered: true,
            drains: false,
            verifies: false,
            unverified: Unverified::default(),
            attacker: None,
            power_lost_at: None,
            nested: 0,
            shared: false,
            nested_states: 0,
            nested_points: 0,
            shown: None,
            command: None,
            touched: None,
            found: Collector::default(),
            disagreements: Disagreements::default(),
            stop_at: None,
            stop_after: None,
            known_violations: 0,
            stopped: false,
            cancel: None,
        }
    }

    /// Power fails only in `region`. A sampling plan is about its events, and `before` events come before these.
    pub fn within(mut self, region: Region, before: u64) -> Self {
        (self.region, self.before) = (region, before);
        self
    }

    /// Adds `known`, the states that other runs have reached.
    pub fn knowing(mut self, known: KnownStates) -> Self {
        self.known = known;
        self
    }

    /// Boots every `states`-th distinct durable state for real; 1 for all of them.
    pub fn full_check_every(mut self, states: u64) -> Self {
        self.full_check_every = states.max(1);
        self
    }

    /// `drains`: whether caches persist, so that a crash point is judged by what leaves them.
    pub fn drains(mut self, drains: bool) -> Self {
        self.drains = drains;
        self
    }

    /// Fails power again `depth` times in a row during the recovery from every distinct state that recovers.
    pub fn nested(mut self, depth: u32) -> Self {
        self.nested = depth;
        self
    }

    /// `shared`: whether these failures are judged on all threads of the pool that the exploration runs in.
    pub fn shared(mut self, shared: bool) -> Self {
        self.shared = shared;
        self
    }

    /// Runs `recovery` on every memory that a boot leaves to the program, whose bytes end at address `end`.
    pub fn recovered_by(mut self, recovery: &'a mut OwnRecovery, end: u64) -> Self {
        self.auditor.watch_image(end);
        self.command = Some(RecoveryCommand::new(recovery, end));
        self
    }

    /// `wanted`: whether violations name the places of the recorded program.
    pub fn watches_places(mut self, wanted: bool) -> Self {
        self.touched = wanted.then(Touched::default);
        self
    }

    /// `wanted`: whether to count crash points by the stage of the transaction in flight.
    pub fn tally_stages(mut self, wanted: bool) -> Self {
        if wanted {
            self.auditor.tally_stages();
        }
        self
    }

    /// Ends the exploration at the first violation of `rule`.
    pub fn stop_at(mut self, rule: Option<Rule>) -> Self {
        self.stop_at = rule;
        self
    }

    /// Ends the exploration with this many images on which the user's own recovery fails.
    pub fn stop_after(mut self, images: Option<u64>) -> Self {
        self.stop_after = images;
        self
    }

    /// Once `cancel` is set, a judgement ends early, and its crash point does not count as explored.
    pub fn interrupted_by(mut self, cancel: &'a AtomicBool) -> Self {
        self.cancel = Some(cancel);
        self
    }
}

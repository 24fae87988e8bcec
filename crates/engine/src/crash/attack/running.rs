//! Attacks on the machine while it runs. Before a request of the caches reaches the controller, a copy of the machine is
//! made, the attacker changes what its media hold, and the copy runs on. What its controller gives to the caches is
//! compared with what the program has stored; a check that fails is an alarm.
//!
//! What is changed while nobody reads it has no effect until it is read, and none at all if it is written before. So the
//! moments that matter are those before an access, and the units those that the access may fetch: its line and other lines
//! of its page, their line of MACs, their counter block, the nodes above it.

use super::choose::{Choice, Reach};
use super::{Attacker, Changes, Judged, Made, Moment, Verdict, makes};
use crate::assembly::System;
use crate::kernel::Ps;
use crate::message::{BaseImage, Line, LineBytes, MediaLine, MediaUnit, Observer};
use crate::recovery::{Alarm, LineCodec};
use rustc_hash::FxHashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// One of so many attacked accesses is also followed by a copy that nobody has tampered with.
const CONTROL_EVERY: u64 = 64;
/// Events that an attacked machine runs on if nothing happens.
pub(super) const HORIZON: u64 = 1_000;
/// Events that it runs on after a check has failed, to see whether a wrong byte would have been read, or after a wrong
/// byte has been read, to see whether a check fails.
pub(super) const AFTERMATH: u64 = 200;

/// What memory holds for the program.
pub(super) struct Plaintext {
    base: Arc<dyn BaseImage>,
    stored: FxHashMap<Line, LineBytes>,
}

impl Plaintext {
    pub fn new(base: Arc<dyn BaseImage>) -> Self {
        Self { base, stored: FxHashMap::default() }
    }

    /// `line` has reached the controller.
    pub fn stored(&mut self, line: Line, bytes: &LineBytes) {
        self.stored.insert(line, *bytes);
    }

    fn of(&self, line: Line) -> LineBytes {
        self.stored.get(&line).or_else(|| self.base.line(line)).copied().unwrap_or([0; 64])
    }
}

/// Watches what a controller gives to the caches.
struct Witness<'a> {
    before: &'a Plaintext,
    /// What has reached the controller since the attack.
    stored: FxHashMap<Line, LineBytes>,
    /// For each line that the caches have asked for since then, what they may be given.
    awaited: FxHashMap<Line, Vec<LineBytes>>,
    /// The first line that is read wrong, and its bytes.
    wrong: Option<(Line, LineBytes)>,
    /// The first check that fails, and whether something wrong had been read before.
    alarm: Option<(Alarm, bool)>,
}

impl Witness<'_> {
    fn right(&self, line: Line) -> LineBytes {
        self.stored.get(&line).copied().unwrap_or_else(|| self.before.of(line))
    }
}

impl Observer for Witness<'_> {
    fn write_arrived(&mut self, _now: Ps, line: Line, plaintext: &LineBytes) {
        self.stored.insert(line, *plaintext);
        if let Some(awaited) = self.awaited.get_mut(&line) {
            awaited.push(*plaintext);
        }
    }

    fn read_arrived(&mut self, _now: Ps, line: Line, answered: bool) {
        if answered {
            let right = self.right(line);
            self.awaited.insert(line, vec![right]);
        }
    }

    fn read_answered(&mut self, _now: Ps, line: Line, bytes: &LineBytes) {
        // What had arrived before the attack was settled then.
        if self.awaited.remove(&line).is_some_and(|right| !right.contains(bytes)) {
            self.wrong = self.wrong.or(Some((line, *bytes)));
        }
    }

    fn refused(&mut self, _now: Ps, media: MediaLine) {
        let alarm = match media.unit() {
            MediaUnit::Counter(block) => Alarm::Counter(block),
            MediaUnit::Node(node) => Alarm::Node(node),
            MediaUnit::Data(line) => Alarm::Mac(line),
            MediaUnit::Mac(_) | MediaUnit::Table(_) | MediaUnit::Modified(_) => unreachable!("no check refuses these"),
        };
        self.alarm = self.alarm.or(Some((alarm, self.wrong.is_some())));
    }
}

impl Attacker {
    /// Whether an access after the last event is attacked.
    pub fn wants_access(&mut self) -> bool {
        self.accesses += 1;
        self.accesses.is_multiple_of(self.plan.every)
    }

    /// Attacks copies of `system`, to whose controller a request for `line` comes after `event`, once with each kind of
    /// change. Returns what is accepted.
    pub fn attack_running<O: Observer>(
        &mut self,
        system: &System<O>,
        codec: Option<&dyn LineCodec>,
        event: u64,
        line: Line,
    ) -> Vec<(Line, String)> {
        let in_the_clear = Arc::clone(&self.in_the_clear);
        let codec = codec.unwrap_or(&*in_the_clear);
        let attacked = self.tallies.access(self.versions.units(), self.versions.count());
        let checks = codec.integrity().is_some();
        if attacked % CONTROL_EVERY == 1 {
            self.control(self.run_on(system, &Vec::new(), checks), event);
        }
        let (plan, mut accepted) = (self.plan, Vec::new());
        for (kind, choice) in Choice::ALL.iter().enumerate().filter(|(_, choice)| makes(plan, choice, codec)) {
            let mut random = self.random(event, "crash.attacker.running", kind);
            let media = system.device.image();
            let reach =
                Reach { versions: &self.versions, media, codec, event, near: Some(line), shadow: None, left: &[] };
            let Some(change) = choice.change(&reach, &mut random) else { continue };
            let judged = self.run_on(system, &change.units, checks);
            let made = Made { choice, change: &change, moment: Moment::Running, event };
            accepted.extend(self.count(codec, &made, judged));
        }
        accepted
    }

    /// A copy with which nobody has tampered must read what the program has stored, and refuse nothing.
    fn control(&mut self, judged: Judged, event: u64) {
        if judged.verdict != Verdict::Harmless {
            let line = judged.line.map_or(String::new(), |(line, _)| format!(" at {:#x}", line.address()));
            self.internal_errors.push(format!(
                "internal error: a copy of the machine after event {event} that was not tampered with reads wrong bytes{line}, \
                 or refuses memory"
            ));
        }
    }

    /// What a copy of `system` makes of `changes`. `checks`: whether its controller checks anything.
    fn run_on<O: Observer>(&self, system: &System<O>, changes: &Changes, checks: bool) -> Judged {
        let mut copy = system.copy(Witness {
            before: &self.plaintext,
            stored: FxHashMap::default(),
            awaited: FxHashMap::default(),
            wrong: None,
            alarm: None,
        });
        for (media, bytes) in changes {
            copy.device.tamper(*media, bytes.as_ref());
        }
        let mut left = HORIZON;
        copy.run_on(
            |copy| {
                left -= 1;
                let Witness { wrong, alarm, .. } = &copy.observer;
                let is_over = wrong.is_some() && (alarm.is_some() || !checks);
                if wrong.is_some() != alarm.is_some() {
                    left = left.min(AFTERMATH);
                }
                if is_over || left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
            |_| {},
        );
        let Witness { wrong, alarm, .. } = copy.observer;
        let verdict = match (wrong, alarm) {
            (None, None) => Verdict::Harmless,
            (None, Some(_)) => Verdict::Denied,
            (Some(_), None) => Verdict::Accepted,
            (Some(_), Some((_, true))) => Verdict::Late,
            // The line has been given out when its MAC is checked.
            (Some((line, _)), Some((Alarm::Mac(refused), _))) if self.speculative && line == refused => Verdict::Late,
            (Some(_), Some(_)) => Verdict::Detected,
        };
        Judged { verdict, line: wrong, alarm: alarm.map(|(alarm, _)| alarm) }
    }
}

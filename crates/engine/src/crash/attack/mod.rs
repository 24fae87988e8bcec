//! An attacker who writes to the media while power is off: at a crash point he changes what the power failure has left,
//! the machine boots, and what it then makes of memory is judged against what the auditors know. Every version of a unit
//! that has crossed the bus or is on the media is his; what is on the chip is not.
//!
//! He changes bits (spoof), exchanges two units of a kind (splice), puts back an older version of one unit, of a line with
//! its MAC, of both with their counter block, of a whole page with the nodes above it (replay), or of everything
//! (rollback), or makes a unit look as if it had never been written (erase). Each change is also tried with a power cut
//! during the boot that follows.

mod choose;
mod plan;
mod tally;
mod tampered;
mod versions;

pub use plan::AttackPlan;
pub use tally::{AttackExample, AttackReport, AttackRow};

use super::path::alarm_told;
use super::power::Survivors;
use crate::audit::Auditor;
use crate::kernel::Random;
use crate::message::{Line, LineBytes, MediaLine, MediaUnit, NoObserver, TreePlace};
use crate::recovery::{Alarm, Boot, LineCodec, Media};
use choose::Choice;
use serde::Serialize;
use std::collections::BTreeSet;
use tally::Tallies;
use tampered::{Drained, Tampered};
use versions::Versions;

/// What the attacker does.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Attack {
    /// Changes a bit of a unit.
    Spoof,
    /// Exchanges two units of a kind; data lines with their MACs.
    Splice,
    /// Puts back an older version of a unit.
    Replay,
    /// Puts back an older version of a line with the MAC of then.
    ReplayWithMac,
    /// Puts back an older version of a line with the MAC and the counter block of then.
    ReplayWithCounter,
    /// Puts back a page as it once was: lines, MACs, counter block and the nodes above it.
    ReplayPage,
    /// Puts back everything on the media as it once was.
    Rollback,
    /// Makes a unit look as if it had never been written.
    Erase,
}

/// What the attacker changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Data lines.
    Data,
    /// Counter blocks.
    Counter,
    /// Lines of MACs.
    Mac,
    /// Tree nodes.
    Tree,
    /// Lines of the shadow table.
    Table,
    /// Units of several kinds.
    Several,
}

/// What becomes of an attack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Wrong plaintext is given to the program, and no check fails.
    Accepted,
    /// A check fails, but after wrong plaintext has been given to the program.
    Late,
    /// A check fails before any wrong plaintext is used.
    Detected,
    /// A check fails although everything would have been read right: the attacker has made memory unavailable.
    Denied,
    /// Everything is read right.
    Harmless,
}

/// Attacks the states of one run.
pub struct Attacker {
    versions: Versions,
    seed: u64,
    plan: AttackPlan,
    /// Whether data is used before it is verified.
    speculative: bool,
    tallies: Tallies,
}

/// The first line that shows a verdict, and the check that failed.
type Shown = Option<(Line, Option<Alarm>)>;

/// A change of the media.
pub(super) type Changes = Vec<(MediaLine, Option<LineBytes>)>;

impl Attacker {
    /// An attacker of the run with `seed`. `speculative`: data is used before it is verified.
    pub fn new(seed: u64, plan: AttackPlan, speculative: bool) -> Self {
        Self { versions: Versions::default(), seed, plan, speculative, tallies: Tallies::default() }
    }

    /// Whether the distinct state number `state`, from 1, is attacked.
    pub fn wants(&self, state: u64) -> bool {
        state.is_multiple_of(self.plan.every)
    }

    /// Handles that `media` entered the persistence domain in `event`.
    pub fn persisted(&mut self, event: u64, media: MediaLine, bytes: &LineBytes) {
        self.versions.persisted(event, media, bytes);
    }

    /// Handles that `media` has crossed the bus.
    pub fn crossed(&mut self, media: MediaLine, bytes: &LineBytes) {
        self.versions.crossed(media, bytes);
    }

    /// Attacks what the power failure after the last event has left, once with each kind of change. Returns what is
    /// accepted.
    pub fn attack(&mut self, auditor: &Auditor, survivors: &Survivors<'_>) -> Vec<(Line, String)> {
        let Some(codec) = survivors.loss.codec else { return Vec::new() };
        let drained = Drained::new(survivors);
        let event = auditor.events();
        self.tallies.state(self.versions.units(), self.versions.count());
        // What is drawn depends on the crash point alone, so that it can be attacked again by itself.
        let mut random = Random::stream(self.seed ^ event.rotate_left(32), "crash.attacker");
        let mut accepted = Vec::new();
        for choice in Choice::ALL.iter().filter(|choice| self.plan.has(choice.attack)) {
            let Some(changes) = choice.changes(&self.versions, &drained, codec, &mut random, event) else {
                continue;
            };
            for cut in [false, true] {
                let media = Tampered::new(&drained, &changes);
                let Some((verdict, told)) =
                    self.judge(auditor, survivors, codec, &media, &changes, cut.then(|| random.below(4)))
                else {
                    continue;
                };
                let row = (choice.attack, choice.target, cut);
                let what = || Self::told(event, choice, &changes, cut, verdict, told.and_then(|(_, alarm)| alarm));
                if verdict == Verdict::Accepted
                    && let Some((line, _)) = told
                {
                    accepted.push((line, what()));
                }
                self.tallies.count(row, verdict, event, what);
            }
        }
        accepted
    }

    /// What a boot from `media` makes of memory. `cut`: power fails again after so many more steps than one. Returns the
    /// verdict, with the first line that shows it and the check that failed; `None` if the boot has no step.
    fn judge(
        &self,
        auditor: &Auditor,
        survivors: &Survivors<'_>,
        codec: &dyn LineCodec,
        media: &dyn Media,
        changes: &Changes,
        cut: Option<u64>,
    ) -> Option<(Verdict, Shown)> {
        let mut snapshot = survivors.drained.snapshot.clone();
        snapshot.wpq.clear();
        let mut first = survivors.loss.boot(media, &snapshot, NoObserver);
        let Some(steps) = cut else {
            first.finish();
            return Some(self.read(auditor, codec, &first, changes));
        };
        first.load();
        let mut taken = 0;
        while taken <= steps && first.step().is_some() {
            taken += 1;
        }
        if taken == 0 {
            return None;
        }
        let again = survivors.loss.strike(first.power_lost(), first.memory());
        let mut second = survivors.loss.boot(first.memory(), &again.snapshot, NoObserver);
        second.finish();
        Some(self.read(auditor, codec, &second, changes))
    }

    /// Reads every line that the changes concern.
    fn read(
        &self,
        auditor: &Auditor,
        codec: &dyn LineCodec,
        boot: &Boot<'_, NoObserver>,
        changes: &Changes,
    ) -> (Verdict, Shown) {
        let (mut wrong, mut refused) = (None, boot.alarm().map(|alarm| (None, alarm)));
        for line in concerned(auditor, codec, changes) {
            let Some(expected) = auditor.booted_line(line) else { continue };
            let differs = boot.line(line) != expected;
            match boot.alarm().map_or_else(|| boot.verify(line), Err) {
                Ok(()) if differs => return (Verdict::Accepted, Some((line, None))),
                Ok(()) => {}
                Err(alarm) => {
                    refused = refused.or(Some((Some(line), alarm)));
                }
            }
            if differs {
                wrong = wrong.or(Some(line));
            }
        }
        let shown = |line: Option<Line>, alarm| Some((line.unwrap_or_default(), Some(alarm)));
        match (refused, wrong) {
            (None, _) => (Verdict::Harmless, None),
            (Some((_, alarm)), Some(line)) if self.speculative && boot.alarm().is_none() => {
                (Verdict::Late, shown(Some(line), alarm))
            }
            (Some((line, alarm)), Some(_)) => (Verdict::Detected, shown(line, alarm)),
            (Some((line, alarm)), None) => (Verdict::Denied, shown(line, alarm)),
        }
    }

    /// The sentences about an attack and what became of it.
    fn told(
        event: u64,
        choice: &Choice,
        changes: &Changes,
        cut: bool,
        verdict: Verdict,
        alarm: Option<Alarm>,
    ) -> String {
        let again = if cut { ", and power is cut again during the boot" } else { "" };
        let alarm = alarm.map_or(String::new(), |alarm| format!(": {}", alarm_told(alarm)));
        let outcome = match verdict {
            Verdict::Accepted => "The program is given wrong bytes, and nothing notices".to_owned(),
            Verdict::Late => format!("The program is given wrong bytes before a check fails{alarm}"),
            Verdict::Detected => format!("It is detected before any of it is used{alarm}"),
            Verdict::Denied => format!("No wrong byte would have been read, but memory is refused{alarm}"),
            Verdict::Harmless => "Everything is read right".to_owned(),
        };
        format!("Power fails after event {event}, and the attacker {}{again}. {outcome}.", choice.told(changes))
    }

    /// What has been found.
    pub fn report(&self) -> AttackReport {
        self.tallies.report(self.plan.every)
    }
}

/// The lines that a change of these units concerns and that something happened to.
fn concerned(auditor: &Auditor, codec: &dyn LineCodec, changes: &Changes) -> BTreeSet<Line> {
    let coverage = codec.coverage();
    let mut lines = BTreeSet::new();
    for (media, _) in changes {
        match media.unit() {
            MediaUnit::Data(line) => drop(lines.insert(line)),
            MediaUnit::Counter(block) => {
                lines.extend((0..coverage.lines()).map(|index| coverage.line(block, index)));
            }
            MediaUnit::Mac(block) => {
                lines.extend(codec.integrity().into_iter().flat_map(|codec| codec.mac_layout.lines(block)));
            }
            MediaUnit::Node(node) => {
                let tree = codec.integrity().and_then(|codec| codec.tree.as_ref());
                let below = tree.map_or(0..0, |tree| tree.shape.leaves_below(TreePlace::from(node)));
                let inside = |line: &Line| below.contains(&coverage.block(*line).0);
                lines.extend(auditor.durable_view().map(|(line, _)| line).filter(inside));
            }
            // It says where a recovery must look: it concerns everything.
            MediaUnit::Table(_) => lines.extend(auditor.durable_view().map(|(line, _)| line)),
        }
    }
    lines.retain(|line| auditor.knows(*line));
    lines
}

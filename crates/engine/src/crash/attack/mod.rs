//! An attacker who writes to the media. At a crash point the attacker changes what the power failure has left, the machine boots,
//! and what it then makes of memory is judged against what the auditors know. Between two events the attacker changes the media
//! under a copy of the running machine (`running.rs`), and what the controller then gives to the caches is judged. The attacker
//! has every version of a unit that has crossed the bus, and nothing that is on the chip.
//!
//! The attacker changes bits (spoof), exchanges two units of a kind (splice), puts back an older version of one unit, of a line with
//! its MAC, of both with their counter block, of a whole page with the nodes above it, of a subtree (replay), or of
//! everything (rollback), or makes a unit look as if it had never been written (erase). At a crash point the attacker also
//! cuts power again during the boot, after the change or before it.

mod choose;
mod plan;
mod running;
mod shadow_cache;
mod tally;
mod tampered;
mod versions;

pub use plan::AttackPlan;
pub use tally::{AttackExample, AttackReport, AttackRow, Watched};

use super::explorer::covered::covered;
use super::explorer::second_life::{SecondLife, second_life};
use crate::audit::Auditor;
use crate::kernel::{Random, workers};
use crate::layout::{LogRegion, TreePlace};
use crate::message::{BaseImage, Line, LineBytes, MediaLine, MediaUnit, NoObserver};
use crate::parts::LineCipher;
use crate::power::{PowerLoss, Survivors};
use crate::recovery::{AdrSnapshot, Alarm, Boot, DirectCodec, LineCodec, Media};
use choose::{Change, Choice, Reach};
use running::Plaintext;
use serde::Serialize;
use shadow_cache::ShadowLines;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tally::Tallies;
use tampered::{Tampered, drained};
use versions::Versions;

/// What the attacker does.
#[derive(
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Debug,
    Serialize,
    strum::IntoStaticStr,
    strum::VariantArray,
    schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
#[schemars(rename = "AttackKind")]
pub enum Attack {
    /// Changes a bit of a unit.
    Spoof,
    /// Exchanges two units of a kind; data lines with their MACs.
    Splice,
    /// Puts back an older version of a unit.
    Replay,
    /// Puts back an older version of a line with the MAC that it had.
    ReplayWithMac,
    /// Puts back an older version of a line with the MAC and the counter block that it had.
    ReplayWithCounter,
    /// Puts back a page as it once was: lines, MACs, counter block and the nodes above it.
    ReplayPage,
    /// Puts back a tree node with everything below it: nodes, counter blocks, MACs and lines.
    ReplaySubtree,
    /// Puts back everything on the media as it once was.
    Rollback,
    /// Makes a unit look as if it had never been written.
    Erase,
}

/// What the attacker changes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "AttackTarget")]
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
    /// Lines of the shadow cache, and of its metadata.
    Shadow,
    /// Units of several kinds.
    Several,
}

/// What becomes of an attack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "AttackOutcome")]
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

/// When the attacker changes the media.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "AttackMoment")]
pub enum Moment {
    /// Power is off; the machine boots undisturbed.
    PowerOff,
    /// Power is off, and it fails again during the boot that follows.
    BeforeCutBoot,
    /// Power has failed again during an undisturbed boot; the next boot is undisturbed.
    AfterCutBoot,
    /// The machine has booted undisturbed, the lines that had been restored from the shadow cache have been stored to again,
    /// and power fails again; the next boot is undisturbed.
    AfterRestart,
    /// Between two events, while the machine runs.
    Running,
}

/// Attacks the states of one run.
pub struct Attacker {
    versions: Versions,
    /// How memory is read that holds plaintext.
    in_the_clear: Arc<DirectCodec>,
    /// The log that hardware keeps, if there is one.
    log: Option<LogRegion>,
    /// What modules encrypt with, if they do: the attacker sees what they store, and not the bus.
    modules: Option<Arc<dyn LineCipher>>,
    /// What the program has stored, as far as it has reached the controller.
    plaintext: Plaintext,
    seed: u64,
    plan: AttackPlan,
    /// Whether data is used before it is verified.
    speculative: bool,
    /// Whether attacks are judged on all threads of the pool.
    shared: bool,
    /// Number of accesses of the running machine that could have been attacked.
    accesses: u64,
    /// What is wrong with copies of the machine.
    internal_errors: Vec<String>,
    tallies: Tallies,
}

/// What becomes of an attack, and what shows it.
#[derive(Clone, Copy)]
struct Judged {
    verdict: Verdict,
    /// The first line that shows the verdict, and the bytes that the program is given for it.
    line: Option<(Line, LineBytes)>,
    /// The check that fails.
    alarm: Option<Alarm>,
}

/// A change of the media.
pub(super) type Changes = Vec<(MediaLine, Option<LineBytes>)>;

/// Whether an attack of this kind is made on memory behind `codec`: one that puts back counters needs some.
fn makes(plan: AttackPlan, choice: &Choice, codec: &dyn LineCodec) -> bool {
    let of_counters = matches!(choice.attack, Attack::ReplayWithCounter | Attack::ReplayPage | Attack::ReplaySubtree);
    plan.has(choice.attack) && (codec.has_counters() || !of_counters)
}

/// What a power failure has left, and what of it is right.
#[derive(Clone, Copy)]
struct Attacked<'a> {
    auditor: &'a Auditor,
    loss: &'a PowerLoss<'a>,
    media: &'a dyn Media,
    snapshot: &'a AdrSnapshot,
    shadow: Option<&'a ShadowLines>,
    /// What lines hold that have been stored to since the power failure that the auditors know.
    newest: &'a BTreeMap<Line, LineBytes>,
}

/// An attack that a report may describe.
struct Made<'a> {
    choice: &'a Choice,
    change: &'a Change,
    moment: Moment,
    event: u64,
}

impl Attacker {
    /// An attacker of the run with `seed` on `base`. `speculative`: data is used before it is verified.
    pub fn new(seed: u64, plan: AttackPlan, speculative: bool, base: Arc<dyn BaseImage>) -> Self {
        Self {
            versions: Versions::default(),
            in_the_clear: Arc::new(DirectCodec::in_the_clear(Arc::clone(&base))),
            log: None,
            modules: None,
            plaintext: Plaintext::new(base),
            seed,
            plan,
            speculative,
            shared: false,
            accesses: 0,
            internal_errors: Vec::new(),
            tallies: Tallies::default(),
        }
    }

    /// `shared`: whether attacks are judged on all threads of the pool that the exploration runs in.
    pub fn shared(mut self, shared: bool) -> Self {
        self.shared = shared;
        self
    }

    /// `log`: the log that hardware keeps, if there is one.
    pub fn with_log(mut self, log: Option<LogRegion>) -> Self {
        self.log = log;
        self
    }

    /// `cipher`: what modules encrypt with, if they do.
    pub fn with_modules(mut self, cipher: Option<Arc<dyn LineCipher>>) -> Self {
        if cipher.is_some() {
            self.versions.seen_in_modules();
        }
        self.modules = cipher;
        self
    }

    /// Whether the distinct state number `state`, from 1, is attacked.
    pub fn wants(&self, state: u64) -> bool {
        state.is_multiple_of(self.plan.every)
    }

    /// Handles that the controller has received `line` from the caches.
    pub fn write_arrived(&mut self, line: Line, plaintext: &LineBytes) {
        self.plaintext.stored(line, plaintext);
    }

    /// Handles that `media` entered the persistence domain in `event`.
    pub fn persisted(&mut self, event: u64, media: MediaLine, bytes: &LineBytes) {
        self.versions.persisted(event, media, bytes);
    }

    /// Handles that `media` has crossed the bus.
    pub fn crossed(&mut self, media: MediaLine, bytes: &LineBytes) {
        let of_program = |line| self.log.is_none_or(|log| !log.holds_metadata(line));
        let stored = self.modules.as_ref().zip(media.as_line()).map(|(cipher, line)| cipher.encrypt(line, bytes));
        self.versions.crossed(media, stored.as_ref().unwrap_or(bytes), media.as_line().is_some_and(of_program));
    }

    /// Attacks what the power failure after the last event has left, once with each kind of change, what another power
    /// failure during the boot leaves, and the shadow cache of a power failure after it. Returns what is accepted.
    pub fn attack(&mut self, auditor: &Auditor, survivors: &Survivors<'_>) -> Vec<(Line, String)> {
        let Survivors { drained, media, loss } = survivors;
        let left = self.left_on_battery(loss.codec.unwrap_or(&*self.in_the_clear), &drained.snapshot).len() as u64;
        self.tallies.state(self.versions.units() + left, self.versions.count() + left);
        let region = loss.codec.and_then(|codec| codec.shadow());
        let shadow = region.map(|region| ShadowLines::new(region, drained, None));
        let (shadow, newest) = (shadow.as_ref(), &BTreeMap::new());
        let attacked = Attacked { auditor, loss, media: *media, snapshot: &drained.snapshot, shadow, newest };
        let mut accepted = self.attack_media(&attacked, &[Moment::PowerOff, Moment::BeforeCutBoot]);
        let mut random = self.random(auditor.events(), "crash.attacker.boot", 0);
        let mut first = loss.boot(*media, &drained.snapshot, NoObserver);
        if steps(&mut first, 1 + random.below(4)) {
            let again = loss.strike(first.power_lost(), first.memory());
            let attacked = Attacked { media: first.memory(), snapshot: &again.snapshot, ..attacked };
            accepted.extend(self.attack_media(&attacked, &[Moment::AfterCutBoot]));
        }
        if let Some(region) = region {
            let mut whole = loss.boot(*media, &drained.snapshot, NoObserver);
            whole.finish();
            if let Some(SecondLife { drained: second, newest }) = second_life(loss, drained, &whole) {
                let shadow = ShadowLines::new(region, &second, Some(drained));
                let (media, snapshot) = (whole.memory(), &second.snapshot);
                let attacked = Attacked { media, snapshot, shadow: Some(&shadow), newest: &newest, ..attacked };
                accepted.extend(self.attack_media(&attacked, &[Moment::AfterRestart]));
            }
        }
        accepted
    }

    /// Attacks the media of `attacked`, to which the persistence domain drains what its snapshot has.
    fn attack_media(&mut self, attacked: &Attacked<'_>, moments: &[Moment]) -> Vec<(Line, String)> {
        let in_the_clear = Arc::clone(&self.in_the_clear);
        let codec = attacked.loss.codec.unwrap_or(&*in_the_clear);
        let drained = drained(attacked.media, attacked.snapshot);
        let mut empty = attacked.snapshot.clone();
        empty.wpq.clear();
        let event = attacked.auditor.events();
        let (plan, mut accepted) = (self.plan, Vec::new());
        let restarted = moments.contains(&Moment::AfterRestart);
        let made = |choice: &Choice| makes(plan, choice, codec) && (!restarted || choice.target == Target::Shadow);
        let left = self.left_on_battery(codec, attacked.snapshot);
        let (versions, shadow) = (&self.versions, attacked.shadow);
        let reach = Reach { versions, media: &drained, codec, event, near: None, shadow, left: &left };
        let mut attacks = Vec::new();
        for (kind, choice) in Choice::ALL.iter().enumerate().filter(|(_, choice)| made(choice)) {
            let mut random = self.random(event, "crash.attacker", kind);
            let Some(change) = choice.change(&reach, &mut random).map(Arc::new) else { continue };
            for &moment in moments {
                let cut = (moment == Moment::BeforeCutBoot).then(|| 1 + random.below(4));
                attacks.push((choice, Arc::clone(&change), moment, cut));
            }
        }
        let judge = |(_, change, _, cut): &(_, Arc<Change>, _, Option<u64>)| {
            let tampered = Tampered::new(&drained, &change.units);
            self.judge(attacked, (&tampered, &empty), &change.units, *cut)
        };
        let judged = workers::map(self.shared, &attacks, judge);
        for ((choice, change, moment, _), judged) in attacks.iter().zip(judged) {
            let Some(judged) = judged else { continue };
            accepted.extend(self.count(codec, &Made { choice, change, moment: *moment, event }, judged));
        }
        accepted
    }

    /// What a battery has left that was not written while the machine ran, without the shadow cache, each unit once.
    fn left_on_battery(&self, codec: &dyn LineCodec, snapshot: &AdrSnapshot) -> Vec<MediaLine> {
        let outside = |unit: &MediaLine| {
            let shadow = codec.shadow().zip(unit.as_line());
            self.versions.count_of(*unit) == 0 && shadow.is_none_or(|(region, line)| !region.contains(line))
        };
        let left: BTreeSet<MediaLine> = snapshot.wpq.iter().map(|(unit, _)| *unit).filter(outside).collect();
        left.into_iter().collect()
    }

    /// What is drawn depends on the event and the kind of attack alone, so that it can be attacked again by itself.
    fn random(&self, event: u64, name: &str, kind: usize) -> Random {
        Random::stream(self.seed ^ event.rotate_left(32) ^ (kind as u64).rotate_left(24), name)
    }

    /// Counts an attack; returns it if it is accepted.
    fn count(&mut self, codec: &dyn LineCodec, made: &Made<'_>, judged: Judged) -> Option<(Line, String)> {
        let versions = &self.versions;
        let row = (made.choice.attack, made.choice.target, made.moment);
        self.tallies.count(row, judged.verdict, made.event, || made.describe(versions, codec, judged));
        let (line, _) = judged.line.filter(|_| judged.verdict == Verdict::Accepted)?;
        Some((line, made.describe(versions, codec, judged)))
    }

    /// What a boot from `media` and the registers of `snapshot` makes of memory. `cut`: power fails again after so many
    /// steps. `None` if the boot has no step.
    fn judge(
        &self,
        attacked: &Attacked<'_>,
        (media, snapshot): (&dyn Media, &AdrSnapshot),
        changes: &Changes,
        cut: Option<u64>,
    ) -> Option<Judged> {
        let loss = attacked.loss;
        let codec = loss.codec.unwrap_or(&*self.in_the_clear);
        let mut first = loss.boot(media, snapshot, NoObserver);
        let Some(cut) = cut else {
            first.finish();
            return Some(self.read(attacked, codec, &first, changes));
        };
        if !steps(&mut first, cut) {
            return None;
        }
        let again = loss.strike(first.power_lost(), first.memory());
        let mut second = loss.boot(first.memory(), &again.snapshot, NoObserver);
        second.finish();
        Some(self.read(attacked, codec, &second, changes))
    }

    /// Reads every line that the changes concern.
    fn read(
        &self,
        attacked: &Attacked<'_>,
        codec: &dyn LineCodec,
        boot: &Boot<'_, NoObserver>,
        changes: &Changes,
    ) -> Judged {
        let (mut wrong, mut refused) = (None, boot.alarm());
        for line in concerned(attacked.auditor, codec, changes) {
            let newest = attacked.newest.get(&line).copied();
            let Some(expected) = newest.or_else(|| attacked.auditor.booted_line(line)) else { continue };
            let found = boot.line(line);
            match boot.alarm().map_or_else(|| boot.verify(line), Err) {
                Ok(()) if found != expected => {
                    return Judged { verdict: Verdict::Accepted, line: Some((line, found)), alarm: None };
                }
                Ok(()) => {}
                Err(alarm) => refused = refused.or(Some(alarm)),
            }
            if found != expected {
                wrong = wrong.or(Some((line, found)));
            }
        }
        let verdict = match (refused, wrong) {
            (None, _) => Verdict::Harmless,
            (Some(_), Some(_)) if self.speculative && boot.alarm().is_none() => Verdict::Late,
            (Some(_), Some(_)) => Verdict::Detected,
            (Some(_), None) => Verdict::Denied,
        };
        Judged { verdict, line: wrong, alarm: refused }
    }

    /// Faults of this program that attacks on the running machine have shown: the verdicts about it mean nothing then.
    pub fn internal_errors(&self) -> &[String] {
        &self.internal_errors
    }

    /// What has been found.
    pub fn report(&self) -> AttackReport {
        self.tallies.report(self.plan.every, self.versions.repeats())
    }
}

impl Made<'_> {
    /// The sentences about the attack and what became of it.
    fn describe(&self, versions: &Versions, codec: &dyn LineCodec, judged: Judged) -> String {
        let Self { event, choice, change, moment } = *self;
        let when = match moment {
            Moment::PowerOff => format!("Power fails after event {event}, and before the machine boots"),
            Moment::BeforeCutBoot => {
                format!("Power fails after event {event}, and again during the boot; before that boot")
            }
            Moment::AfterCutBoot => {
                format!("Power fails after event {event}, and again during the boot; before the next boot")
            }
            Moment::AfterRestart => {
                format!(
                    "Power fails after event {event}, and again after the boot and new writes; before the next boot"
                )
            }
            Moment::Running => format!("After event {event}, while the machine runs,"),
        };
        let alarm = judged.alarm.map_or(String::new(), |alarm| format!(": {}", alarm.clause()));
        let outcome = match judged.verdict {
            Verdict::Accepted => {
                let (line, bytes) = judged.line.unwrap_or((Line(0), [0; 64]));
                let what = if change.holds_then(codec, line, &bytes) { "the old value" } else { "wrong bytes" };
                format!("Not detected: at {:#x} the program reads {what}, and no check fails", line.address())
            }
            Verdict::Late => format!("Detected late: the program has used wrong bytes before a check fails{alarm}"),
            Verdict::Detected => format!("Detected before any wrong byte is used{alarm}"),
            Verdict::Denied => {
                format!("Denial of service only: no byte would have been read wrong, but memory is refused{alarm}")
            }
            Verdict::Harmless => "No effect: everything is read right".to_owned(),
        };
        format!("{when} the attacker {}. {outcome}.", choice.describe(change, versions))
    }
}

/// Performs `steps` steps of a boot, or all if there are fewer; returns whether there were any.
fn steps(boot: &mut Boot<'_, NoObserver>, steps: u64) -> bool {
    boot.load();
    let mut taken = 0;
    while taken < steps && boot.step().is_some() {
        taken += 1;
    }
    taken > 0
}

/// The lines that a change of these units concerns and that something happened to.
fn concerned(auditor: &Auditor, codec: &dyn LineCodec, changes: &Changes) -> BTreeSet<Line> {
    let coverage = codec.coverage();
    let mut lines = BTreeSet::new();
    for (media, _) in changes {
        match media.unit() {
            // It may hold any line, or none.
            MediaUnit::Data(line) if codec.shadow().is_some_and(|region| region.contains(line)) => {
                lines.extend(auditor.durable_view().map(|(line, _)| line));
            }
            MediaUnit::Data(_) | MediaUnit::Counter(_) | MediaUnit::Mac(_) | MediaUnit::Modified(_) => {
                lines.extend(covered(*media, Some(codec)))
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

//! Power fails again during recovery. From one durable state, the boot is performed step by step, then the program's
//! recovery write by write. After each step power is lost, a second boot runs to its end, the program recovers, and
//! memory is compared with the result of an undisturbed recovery. Below a state whose recovery breaks no rule, the same
//! is repeated for that recovery, and so on to a given depth: a tree of power cycles. On every path through it, the
//! auditors remember every pad.
//!
//! Lines that no boot from this state writes read as they did at the first power failure, where the auditors have
//! judged every line. So only those lines are compared that the undisturbed recovery or one of the recoveries on the
//! path writes, or that left the caches.

use super::covered::covered;
use super::failure_path::{Path, Touching, battery_gave_up};
use super::next_writes::watch_next_writes;
use super::second_life::{SecondLife, second_life};
use super::seen_states::{SeenStates, digest};
use crate::audit::{Auditor, BootWatch, Rule, Violation};
use crate::kernel::workers;
use crate::message::{Line, MediaLine, ProgramRecovery};
use crate::power::{Drained, PowerLoss, Survivors};
use crate::recovery::{Boot, BootStep, Media, Memory};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The result of exploring one state.
pub(in crate::crash) struct NestedResult {
    /// Number of power failures during recovery that were judged.
    pub points: u64,
    /// The violations that were found.
    pub found: Vec<Violation>,
    /// Whether the user interrupted.
    pub interrupted: bool,
}

/// How many power failures during one recovery are judged at a time.
const AT_A_TIME: usize = 64;

/// A recovery on the path: its boot begins with what the last power loss of `path` left over `media`.
struct Life<'b, 'a> {
    media: &'b dyn Media,
    /// Digest of what boots have stored on the media of the run.
    digest: u128,
    path: &'b Path<'b>,
    watch: BootWatch<'a>,
    /// What the earlier recoveries have stored.
    touched: BTreeSet<MediaLine>,
}

/// A power failure during a recovery, before it is judged.
struct Failing<'m, 'a> {
    /// After which step of the recovery, counted from 1, and which step that is.
    step: (u64, BootStep),
    memory: Memory<'m>,
    digest: u128,
    drained: Arc<Drained>,
    watch: BootWatch<'a>,
    touched: BTreeSet<MediaLine>,
}

/// Explores the power failures during recovery after one power loss.
pub(in crate::crash) struct Nested<'a> {
    auditor: &'a Auditor,
    loss: &'a PowerLoss<'a>,
    first: &'a Drained,
    /// The media of the run.
    media: &'a dyn Media,
    program: Option<Arc<dyn ProgramRecovery>>,
    /// Whether to compare every line and let the program check its structure, too.
    thorough: bool,
    /// Lines that an undisturbed recovery writes, and lines that share a counter block with them.
    expected: BTreeSet<Line>,
    /// Lines that an undisturbed recovery writes.
    written: BTreeSet<Line>,
    /// How many times in a row power fails.
    depth: u32,
    shared: bool,
    seen: SeenStates,
    prunes: bool,
    cancel: &'a AtomicBool,
    result: NestedResult,
}

impl<'a> Nested<'a> {
    /// An exploration of the state of `survivors`.
    pub fn new(auditor: &'a Auditor, survivors: &'a Survivors<'a>, thorough: bool, cancel: &'a AtomicBool) -> Self {
        let Survivors { drained: first, media, loss } = survivors;
        Self {
            auditor,
            loss,
            first,
            media: *media,
            program: auditor.program(),
            thorough,
            expected: first.lines().collect(),
            written: BTreeSet::new(),
            depth: 1,
            shared: false,
            seen: SeenStates::default(),
            prunes: true,
            cancel,
            result: NestedResult { points: 0, found: Vec::new(), interrupted: false },
        }
    }

    /// Sets how many times in a row power fails.
    pub fn depth(mut self, depth: u32) -> Self {
        self.depth = depth;
        self
    }

    /// `shared`: whether failures are judged on all threads of the pool.
    pub fn shared(mut self, shared: bool) -> Self {
        self.shared = shared;
        self
    }

    /// Explores known states again.
    #[cfg(test)]
    pub fn without_pruning(mut self) -> Self {
        self.prunes = false;
        self
    }

    /// Explores all power failures.
    pub fn explore(mut self) -> NestedResult {
        let (media, snapshot) = (self.media, &self.first.snapshot);
        let mut whole = self.loss.boot(media, snapshot, self.touching(self.auditor.boot_watch()));
        let steps = self.recover(&mut whole);
        // A leak of the boot itself needs no second power failure; a leak of the next power loss is one after the last
        // step.
        let by_itself = !whole.watcher().watch.clean();
        self.ask_next_pads(&mut whole, &[self.first]);
        self.live_again(&whole, steps);
        let Touching { watch, touched } = whole.into_observer();
        let leaks = self.auditor.leak_violations(watch.finish());
        if !leaks.is_empty() {
            let nested_events = if by_itself { Vec::new() } else { vec![steps] };
            leaks.into_iter().for_each(|violation| self.found(violation, nested_events.clone()));
            return self.result;
        }
        self.expected.extend(self.lines_of(&touched));
        self.written.extend(touched.iter().filter_map(|media| media.as_line()));
        let path = Path::from(self.first);
        let watch = self.auditor.boot_watch();
        self.fail_everywhere(Life { media, digest: 0, path: &path, watch, touched: BTreeSet::new() }, self.depth);
        self.result
    }

    /// Fails power after every step of a recovery, `left` times in a row.
    fn fail_everywhere<'m>(&mut self, life: Life<'m, 'a>, left: u32)
    where
        'a: 'm,
    {
        let Life { media, digest, path, watch, touched } = life;
        let snapshot = &path.losses.last().expect("a life begins with a loss of power").snapshot;
        let mut boot = self.loss.boot(media, snapshot, Touching { watch, touched });
        let program = self.program.clone();
        // Number of steps so far, and of writes including what was left at the last power loss.
        let (mut event, mut last) = (0, None);
        let mut failures = Vec::new();
        let mut fail = |boot: &Boot<'m, Touching<'a>>, step| {
            event += 1;
            let drained = Arc::new(self.loss.strike(boot.power_lost(), boot.memory()));
            if last.as_ref().is_some_and(|(writes, before)| *writes == boot.writes() && *before == drained) {
                return;
            }
            failures.extend(self.fail_again(boot, (media, digest), (event, step), &drained, left));
            last = Some((boot.writes(), drained));
            if failures.len() == AT_A_TIME {
                self.judge_all(&mut failures, path, left);
            }
        };
        while let Some(step) = boot.step() {
            if !matches!(step, BootStep::Drained(_)) {
                fail(&boot, step);
            }
        }
        if let Some(program) = &program {
            for layout in program.layouts() {
                boot.recover_program_watched(program.as_ref(), layout.core, &mut fail);
            }
        }
        self.judge_all(&mut failures, path, left);
    }

    /// Power is lost after `step` of a recovery, which `boot` has reached over `below`, and leaves `drained`. Returns the
    /// failure unless it is known.
    fn fail_again<'m>(
        &mut self,
        boot: &Boot<'m, Touching<'a>>,
        (below, known): (&dyn Media, u128),
        step: (u64, BootStep),
        drained: &Arc<Drained>,
        left: u32,
    ) -> Option<Failing<'m, 'a>> {
        self.result.interrupted |= self.cancel.load(Ordering::Relaxed);
        if self.result.interrupted {
            return None;
        }
        let mut watch = boot.watcher().watch.clone();
        watch.power_lost(&drained.left);
        let digest = digest(boot.memory(), below, known);
        if self.prunes && self.seen.before(digest, watch.state_hash(), drained, left) {
            return None;
        }
        let touched = boot.watcher().touched.clone();
        Some(Failing { step, memory: boot.memory_now(), digest, drained: Arc::clone(drained), watch, touched })
    }

    /// Judges `failures`, which are at the end of `path`, and empties the list; then those that follow them.
    fn judge_all(&mut self, failures: &mut Vec<Failing<'_, 'a>>, path: &Path<'_>, left: u32) {
        let judged =
            workers::map(self.shared, failures, |Failing { step, memory, digest, drained, watch, touched }| {
                let path = &path.and(step.0, step.1, drained);
                self.judge(Life {
                    media: memory,
                    digest: *digest,
                    path,
                    watch: watch.clone(),
                    touched: touched.clone(),
                })
            });
        self.result.points += judged.len() as u64;
        for (failure, found) in failures.drain(..).zip(judged) {
            let right = found.is_empty();
            self.result.found.extend(found);
            if right && left > 1 {
                let Failing { step, memory, digest, drained, watch, touched } = failure;
                let path = &path.and(step.0, step.1, &drained);
                self.fail_everywhere(Life { media: &memory, digest, path, watch, touched }, left - 1);
            }
        }
    }

    /// A complete second power cycle: the machine has recovered and continues, the slots that were dirty are dirty
    /// again with other bytes, and power is lost. These bytes must leave with new pads and be restored, and a third
    /// cycle must have new pads, too. `steps`: the number of steps of the recovery, all of which have been performed.
    fn live_again(&mut self, boot: &Boot<'_, Touching<'a>>, steps: u64) {
        let Some(life) = second_life(self.loss, self.first, boot) else { return };
        let SecondLife { drained: second, newest } = life;
        let mut watch = boot.watcher().watch.clone();
        watch.power_lost(&second.left);
        let mut again = self.loss.boot(boot.memory(), &second.snapshot, self.touching(watch));
        again.finish();
        let when = format!("after event {}, and again after a complete recovery and new writes", self.auditor.events());
        let mut found = Vec::new();
        if let Some((line, _)) = newest.iter().find(|(line, bytes)| again.line(**line) != **bytes) {
            let explanation = format!(
                "If power fails {when}, the line at {:#x} does not hold what it held when power failed again.",
                line.address()
            );
            found.push(self.auditor.broken(Rule::Line, None, Some(*line), explanation));
        }
        self.ask_next_pads(&mut again, &[self.first, &second]);
        found.extend(self.leak_violations(again.into_observer().watch, &when));
        found.into_iter().for_each(|violation| self.found(violation, vec![steps]));
    }

    /// What `watch` saw leave the chip when power failed `when`.
    fn leak_violations(&self, watch: BootWatch<'_>, when: &str) -> Vec<Violation> {
        let mut leaks = self.auditor.leak_violations(watch.finish());
        leaks.iter_mut().for_each(|leak| leak.explanation.push_str(&format!(" This is so if power fails {when}.")));
        leaks
    }

    /// Performs the whole recovery and returns what is wrong with its result.
    fn judge(&self, life: Life<'_, 'a>) -> Vec<Violation> {
        let Life { media, path, watch, touched, .. } = life;
        let mut found = Vec::new();
        let drained = path.losses.last().expect("a life begins with a loss of power");
        let event = self.auditor.events();
        if let Some(forbidden) = &drained.forbidden {
            let told = battery_gave_up(&path.when(event), forbidden);
            found.push(self.auditor.broken(Rule::Battery, None, None, told));
        }
        let mut again = self.loss.boot(media, &drained.snapshot, Touching { watch, touched });
        self.recover(&mut again);
        if let Some(alarm) = again.alarm() {
            let explanation = format!(
                "If power fails {}, the {} recovery refuses memory that was not tampered with: {}.",
                path.when(event),
                path.last_recovery(),
                alarm.clause()
            );
            found.push(self.auditor.broken(Rule::FalseAlarm, None, None, explanation));
            return on_path(found, path);
        }
        let mut lines = self.lines_of(&again.watcher().touched);
        lines.extend(path.losses.iter().flat_map(|drained| drained.lines()));
        let wrong = |line: &Line| {
            let hidden = self.loss.codec.and_then(|codec| codec.shadow()).is_some_and(|region| region.contains(*line));
            !hidden && self.auditor.recovered_line(*line).is_some_and(|expected| again.line(*line) != expected)
        };
        let mut differing: BTreeSet<Line> = lines.union(&self.expected).copied().filter(&wrong).collect();
        if self.thorough {
            differing.extend(self.auditor.durable_view().map(|(line, _)| line).filter(wrong));
        }
        if let Some(&line) = differing.first() {
            let others = match differing.len() {
                1 => String::new(),
                2 => " So does another line.".to_owned(),
                more => format!(" So do {} other lines.", more - 1),
            };
            let explanation = format!(
                "If power fails {}, the line at {:#x} holds other data after the {} recovery than after a recovery that \
                 completes at once.{others}",
                path.when(event),
                line.address(),
                path.last_recovery(),
            );
            found.push(self.auditor.broken(Rule::Line, None, Some(line), explanation));
        }
        if let Some(program) = self.program.clone().filter(|_| self.thorough) {
            for layout in program.layouts() {
                if let Err(what) = program.check(layout.core, &mut again) {
                    let core = layout.core;
                    let explanation = format!(
                        "If power fails {}, the structure of core {core} is broken after the {} recovery: {what}",
                        path.when(event),
                        path.last_recovery(),
                    );
                    found.push(self.auditor.broken(Rule::Structure, Some(core), None, explanation));
                }
            }
        }
        self.ask_next_pads(&mut again, &path.losses);
        if !again.watcher().watch.clean() {
            found.extend(self.leak_violations(again.into_observer().watch, &path.when(event)));
        }
        on_path(found, path)
    }

    /// The boot, then the program's recovery. Returns the number of steps after which power may fail again.
    fn recover(&self, boot: &mut Boot<'_, Touching<'a>>) -> u64 {
        let mut steps = 0;
        while let Some(step) = boot.step() {
            steps += u64::from(!matches!(step, BootStep::Drained(_)));
        }
        if let Some(program) = &self.program {
            for layout in program.layouts() {
                boot.recover_program_watched(program.as_ref(), layout.core, &mut |_, _| steps += 1);
            }
        }
        steps
    }

    /// Lets the auditors check the pads of the next power loss, for the slots that `losses` wrote, and the pads of the
    /// next writes of the lines that left or that recovery wrote.
    fn ask_next_pads(&self, boot: &mut Boot<'_, Touching<'a>>, losses: &[&Drained]) {
        if !boot.watcher().watch.watches_pads() {
            return;
        }
        let mut lines: BTreeSet<Line> = losses.iter().flat_map(|drained| drained.lines()).collect();
        lines.extend(boot.watcher().touched.iter().filter_map(|media| media.as_line()));
        lines.extend(&self.written);
        if let Some(region) = self.loss.codec.and_then(|codec| codec.shadow()) {
            let slots: BTreeMap<u64, Line> = losses.iter().flat_map(|drained| drained.slots(region)).collect();
            let pads = self.loss.next_slot_pads(slots, boot.registers(), boot.memory());
            for (line, pad) in pads {
                boot.observer().watch.next_pad(line, &pad);
            }
        }
        watch_next_writes(boot, |observer| &mut observer.watch, lines.into_iter());
    }

    /// The data lines in `touched`, and those of the counter blocks and lines of MACs in it.
    fn lines_of(&self, touched: &BTreeSet<MediaLine>) -> BTreeSet<Line> {
        touched.iter().flat_map(|media| covered(*media, self.loss.codec)).collect()
    }

    fn touching(&self, watch: BootWatch<'a>) -> Touching<'a> {
        Touching { watch, touched: BTreeSet::new() }
    }

    fn found(&mut self, violation: Violation, nested_events: Vec<u64>) {
        self.result.found.push(Violation { nested_events, ..violation });
    }
}

/// `found` at the end of `path`.
fn on_path(found: Vec<Violation>, path: &Path<'_>) -> Vec<Violation> {
    found.into_iter().map(|violation| Violation { nested_events: path.events(), ..violation }).collect()
}

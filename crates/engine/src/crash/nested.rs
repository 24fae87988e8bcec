//! Power fails again during recovery. From one durable state the boot goes step by step, then the program's recovery
//! write by write; after each, power is lost, a second boot runs to its end, the program recovers, and what is then in
//! memory is compared with what the auditors expect of a recovery that nobody disturbs.
//!
//! Lines that no boot from this state writes read as they did at the first power failure, of which the auditors have
//! judged every line; so only those are compared that the undisturbed or the second boot touches, or that left the caches.

use super::explorer::watch_next_writes;
use super::power::{Drained, PowerLoss};
use super::report::Found;
use crate::audit::{Auditor, BootWatch, Rule, Violation};
use crate::design::parts::{Counter, Forbidden, RecoveryStep};
use crate::kernel::Ps;
use crate::message::{CoreId, Line, LineBytes, MediaLine, MediaUnit, Observer, OnChipLine, Page, ProgramRecovery, xor};
use crate::recovery::{Boot, BootStep, Media};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The sentence about a battery that gave up.
pub(super) fn battery_gave_up(when: &str, forbidden: &Forbidden) -> String {
    let Forbidden { act, needs, has } = forbidden;
    format!(
        "When power fails {when}, what is to leave the chip takes {act}, for which the battery must support {needs:?}; \
         it supports {has:?}."
    )
}

/// An observer that remembers what is written.
struct Touching<'a> {
    watch: BootWatch<'a>,
    touched: BTreeSet<MediaLine>,
}

impl Observer for Touching<'_> {
    fn write_arrived(&mut self, now: Ps, line: Line, plaintext: &LineBytes) {
        self.watch.write_arrived(now, line, plaintext);
    }
    fn persisted(&mut self, now: Ps, media: MediaLine, bytes: &LineBytes) {
        self.touched.insert(media);
        self.watch.persisted(now, media, bytes);
    }
    fn log_freed(&mut self, now: Ps, core: CoreId) {
        self.watch.log_freed(now, core);
    }
    fn reencryption(&mut self, now: Ps, page: Page, old_major: u64, done: u64, finished: bool) {
        self.watch.reencryption(now, page, old_major, done, finished);
    }
}

/// What the exploration of one state gave.
pub(super) struct NestedResult {
    /// Second power failures.
    pub points: u64,
    /// What broke.
    pub found: Vec<Found>,
}

/// Explores the second power failures after one loss of power.
pub(super) struct Nested<'a> {
    auditor: &'a Auditor,
    loss: &'a PowerLoss<'a>,
    steps: &'a [RecoveryStep],
    first: &'a Drained,
    program: Option<Arc<dyn ProgramRecovery>>,
    /// Compare every line and let the program check its structure, too.
    thorough: bool,
    /// Lines that an undisturbed recovery writes, and those that share a counter block with them.
    expected: BTreeSet<Line>,
    /// Those that it writes.
    written: BTreeSet<Line>,
    /// Steps of the recovery so far.
    event: u64,
    /// Writes of the recovery so far and what was left when power was last lost.
    last: Option<(u64, Drained)>,
    result: NestedResult,
}

impl<'a> Nested<'a> {
    pub fn new(
        auditor: &'a Auditor,
        loss: &'a PowerLoss<'a>,
        steps: &'a [RecoveryStep],
        first: &'a Drained,
        thorough: bool,
    ) -> Self {
        Self {
            auditor,
            loss,
            steps,
            first,
            program: auditor.program(),
            thorough,
            expected: first.lines().collect(),
            written: BTreeSet::new(),
            event: 0,
            last: None,
            result: NestedResult { points: 0, found: Vec::new() },
        }
    }

    /// Explores all of them over `media`.
    pub fn explore(mut self, media: &dyn Media) -> NestedResult {
        let snapshot = &self.first.snapshot;
        let mut whole =
            Boot::new(media, snapshot, self.loss.codec, self.steps, self.touching(self.auditor.boot_watch()));
        let steps = self.recover(&mut whole);
        // A leak of the boot itself needs no second power failure; one of the next loss of power is one after the last step.
        let by_itself = !whole.watcher().watch.clean();
        self.ask_next_pads(&mut whole, &[self.first]);
        self.live_again(&whole, steps);
        let Touching { watch, touched } = whole.into_observer();
        let leaks = self.auditor.leaks_told(watch.finish());
        if !leaks.is_empty() {
            let nested_event = (!by_itself).then_some(steps);
            self.result.found.extend(leaks.into_iter().map(|violation| Found { violation, nested_event }));
            return self.result;
        }
        self.expected.extend(self.lines_of(&touched));
        self.written.extend(touched.iter().filter_map(|media| media.as_line()));
        let program = self.program.clone();
        let mut boot =
            Boot::new(media, snapshot, self.loss.codec, self.steps, self.touching(self.auditor.boot_watch()));
        while let Some(step) = boot.step() {
            if !matches!(step, BootStep::Drained(_)) {
                self.fail_again(&boot, step);
            }
        }
        if let Some(program) = &program {
            for layout in program.layouts() {
                boot.recover_program_watched(program.as_ref(), layout.core, &mut |boot, step| {
                    self.fail_again(boot, step);
                });
            }
        }
        self.result
    }

    /// A whole second life: the machine has recovered and runs on, the slots that were dirty are dirty again with other bytes,
    /// and power is lost. These bytes must leave under pads of their own and come back, and a third life must have pads of
    /// its own, too. `steps`: those of the recovery, all of which have been performed.
    fn live_again(&mut self, boot: &Boot<'_, Touching<'a>>, steps: u64) {
        let Some((codec, region)) = self.loss.codec.and_then(|codec| Some((codec, codec.shadow()?))) else { return };
        let mut held = boot.power_lost();
        if !held.lines.is_empty() {
            // What was put back into the caches is the first life's still.
            return;
        }
        let slots: BTreeMap<u64, Line> = self.first.slots(region).collect();
        let mut newest = BTreeMap::new();
        for (&slot, &line) in &slots {
            let plaintext = boot.line(line).map(|byte| !byte ^ slot as u8);
            let pad = codec.pad(region.pad_line(slot), Counter { major: held.registers.boot_counter, minor: 0 });
            held.lines.push(OnChipLine {
                slot,
                level: 0,
                core: 0,
                line,
                resident: if self.loss.boot_pads { xor(&plaintext, &pad) } else { plaintext },
                plaintext,
                newest: !newest.contains_key(&line),
            });
            newest.entry(line).or_insert(plaintext);
        }
        let second = self.loss.strike(held, boot.memory());
        let mut watch = boot.watcher().watch.clone();
        watch.power_lost(&second.left);
        let mut again = Boot::new(boot.memory(), &second.snapshot, self.loss.codec, self.steps, self.touching(watch));
        again.finish();
        let when = format!("after event {}, and again in the life after that", self.auditor.events());
        if let Some((line, _)) = newest.iter().find(|(line, bytes)| again.line(**line) != **bytes) {
            let explanation = format!(
                "If power fails {when}, the line at {:#x} does not hold what it held when power failed again.",
                line.address()
            );
            self.found(self.auditor.broken(Rule::Line, None, Some(*line), explanation), Some(steps));
        }
        self.ask_next_pads(&mut again, &[self.first, &second]);
        self.tell_leaks(again.into_observer().watch, &when, steps);
    }

    /// What `watch` saw leave the chip when power failed `when`, the second time after step `event` of the recovery.
    fn tell_leaks(&mut self, watch: BootWatch<'_>, when: &str, event: u64) {
        for mut violation in self.auditor.leaks_told(watch.finish()) {
            violation.explanation.push_str(&format!(" This is so if power fails {when}."));
            self.found(violation, Some(event));
        }
    }

    /// Power is lost after `step`, with which the boot has come this far.
    fn fail_again(&mut self, boot: &Boot<'_, Touching<'a>>, step: BootStep) {
        self.event += 1;
        let second = self.loss.strike(boot.power_lost(), boot.memory());
        let writes = boot.writes();
        if self.last.as_ref().is_some_and(|(before, drained)| *before == writes && *drained == second) {
            return;
        }
        self.result.points += 1;
        let when = format!(
            "after event {} and again after step {} of the recovery ({})",
            self.auditor.events(),
            self.event,
            told(step)
        );
        if let Some(forbidden) = &second.forbidden {
            self.broken(self.auditor.broken(Rule::Battery, None, None, battery_gave_up(&when, forbidden)));
        }
        self.boot_again(boot, &second, &when);
        self.last = Some((writes, second));
    }

    /// The second boot and what it must show.
    fn boot_again(&mut self, boot: &Boot<'_, Touching<'a>>, second: &Drained, when: &str) {
        let mut watch = boot.watcher().watch.clone();
        watch.power_lost(&second.left);
        let mut again = Boot::new(boot.memory(), &second.snapshot, self.loss.codec, self.steps, self.touching(watch));
        self.recover(&mut again);
        let mut lines = self.lines_of(&again.watcher().touched);
        lines.extend(second.lines());
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
                2 => " Nor does another line.".to_owned(),
                more => format!(" Nor do {} other lines.", more - 1),
            };
            let explanation = format!(
                "If power fails {when}, the line at {:#x} does not hold after the second recovery what it holds after one \
                 that is not disturbed.{others}",
                line.address(),
            );
            self.broken(self.auditor.broken(Rule::Line, None, Some(line), explanation));
        }
        if let Some(program) = self.program.clone().filter(|_| self.thorough) {
            for layout in program.layouts() {
                if let Err(what) = program.check(layout.core, &mut again) {
                    let core = layout.core;
                    let explanation = format!(
                        "If power fails {when}, the structure of core {core} is broken after the second recovery: {what}"
                    );
                    self.broken(self.auditor.broken(Rule::Structure, Some(core), None, explanation));
                }
            }
        }
        self.ask_next_pads(&mut again, &[self.first, second]);
        self.tell_leaks(again.into_observer().watch, when, self.event);
    }

    /// The boot, then the program's recovery; gives the number of steps after which power may fail again.
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

    /// Has the auditors look at the pads of the next power loss, for the slots that these losses of power wrote, and at
    /// those of the next writes of the lines that left or that recovery wrote.
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

    /// Data lines among `touched`, and the lines of counter blocks among them.
    fn lines_of(&self, touched: &BTreeSet<MediaLine>) -> BTreeSet<Line> {
        let mut lines = BTreeSet::new();
        for media in touched {
            match (media.unit(), self.loss.codec) {
                (MediaUnit::Data(line), _) => drop(lines.insert(line)),
                (MediaUnit::Counter(block), Some(codec)) => {
                    let coverage = codec.coverage();
                    lines.extend((0..coverage.lines()).map(|index| coverage.line(block, index)));
                }
                (MediaUnit::Counter(_), None) => {}
            }
        }
        lines
    }

    fn touching(&self, watch: BootWatch<'a>) -> Touching<'a> {
        Touching { watch, touched: BTreeSet::new() }
    }

    fn broken(&mut self, violation: Violation) {
        self.found(violation, Some(self.event));
    }

    fn found(&mut self, violation: Violation, nested_event: Option<u64>) {
        self.result.found.push(Found { violation, nested_event });
    }
}

fn told(step: BootStep) -> String {
    let at = |line: Line| format!("the line at {:#x}", line.address());
    match step {
        BootStep::Drained(_) => "a queued write was drained".to_owned(),
        BootStep::RegistersLoaded => "the registers were loaded".to_owned(),
        BootStep::ReencryptionBegan(page) => format!("the re-encryption of page {:#x} began", page.0),
        BootStep::Reencrypted(line) => format!("{} was encrypted anew with its page", at(line)),
        BootStep::ReencryptionFinished => "the re-encryption of a page ended".to_owned(),
        BootStep::Undone(line) => format!("{} was put back from the hardware's log", at(line)),
        BootStep::LogFreed(core) => format!("the log of core {core} was freed"),
        BootStep::Encrypted(line) => format!("{}, which lay in the clear, was encrypted", at(line)),
        BootStep::BootCounterAdvanced => "the boot counter went up".to_owned(),
        BootStep::Restored { slot, line } => format!("{} was put back from slot {slot} of the shadow cache", at(line)),
        BootStep::ShadowConsumed => "the shadow cache was declared consumed".to_owned(),
        BootStep::CachePadRenewed(slot) => format!("slot {slot} of the caches got its new pad"),
        BootStep::Written(line) => format!("the program wrote {}", at(line)),
    }
}

//! The boot from every new durable state: whether it, or a read after it, refuses memory that was not tampered with, and
//! whether it repeats a pad. Of the lines, those are verified that have changed since the last boot, whose counter block has,
//! or whose line of MACs has, those that it refused, and all counter blocks up to the root; now and then, all lines.

use super::super::attack::Attacker;
use super::Explorer;
use super::covered::covered;
use super::failure_path::refusal;
use super::next_writes::watch_next_writes;
use crate::assembly::System;
use crate::audit::{Auditor, BootWatch, Rule};
use crate::message::{CounterBlock, Line, MediaLine};
use crate::power::Survivors;
use crate::recovery::{Alarm, Boot, LineCodec};
use std::collections::BTreeSet;

/// What has changed since the last boot.
#[derive(Default)]
pub(super) struct Unverified {
    changed: BTreeSet<MediaLine>,
    /// All counter blocks of lines that have changed since the begin of the run.
    blocks: BTreeSet<CounterBlock>,
    /// The lines that the last boot refused.
    refused: BTreeSet<Line>,
}

impl Unverified {
    /// Handles that what is durable of `media` has changed.
    pub fn changed(&mut self, media: MediaLine) {
        self.changed.insert(media);
    }

    /// What `boot` refuses of the lines that have changed or were refused before, and of the counter blocks of all lines that
    /// have ever changed. `whole`: of all lines that something happened to.
    fn refused(
        &mut self,
        boot: &Boot<'_, BootWatch<'_>>,
        codec: &dyn LineCodec,
        auditor: &Auditor,
        whole: bool,
    ) -> Vec<(Option<Line>, Alarm)> {
        let coverage = codec.coverage();
        let mut lines = std::mem::take(&mut self.refused);
        for media in std::mem::take(&mut self.changed) {
            lines.extend(covered(media, Some(codec)));
        }
        self.blocks.extend(lines.iter().map(|line| coverage.block(*line)));
        if let Some(alarm) = boot.alarm() {
            // No line was read: each is verified in the next boot.
            self.refused = lines;
            return vec![(None, alarm)];
        }
        lines.retain(|line| auditor.knows(*line));
        if whole {
            lines.extend(auditor.durable_view().map(|(line, _)| line));
        }
        let of_block = |block: &CounterBlock| boot.verify_counter(coverage.line(*block, 0)).err();
        let mut refused: Vec<_> = self.blocks.iter().filter_map(of_block).map(|alarm| (None, alarm)).collect();
        let of_lines = lines.into_iter().filter_map(|line| Some((line, boot.verify(line).err()?)));
        let of_lines: Vec<(Line, Alarm)> = of_lines.collect();
        self.refused.extend(of_lines.iter().map(|(line, _)| *line));
        refused.extend(of_lines.into_iter().map(|(line, alarm)| (Some(line), alarm)));
        refused.sort_unstable();
        refused.dedup();
        refused
    }
}

impl Explorer<'_> {
    /// `verifies`: whether something protects the integrity of memory, so that a boot may refuse it.
    pub fn verifies(mut self, verifies: bool) -> Self {
        self.verifies = verifies;
        self
    }

    /// An attacker changes the media in some durable states.
    pub fn attacked_by(mut self, attacker: Option<Attacker>) -> Self {
        self.attacker = attacker;
        self
    }

    /// Has the attacker change what the power failure after the last event has left. What a design with MACs accepts
    /// breaks its promise; one without them makes none.
    pub(super) fn attack(&mut self, survivors: &Survivors<'_>) {
        let Some(attacker) = &mut self.attacker else { return };
        let accepted = attacker.attack(&self.auditor, survivors);
        self.accepted(accepted);
    }

    /// Has the attacker change the media under copies of `system`, if a request for memory comes next to its controller.
    pub(in super::super) fn attack_running(system: &mut System<Self>, codec: Option<&dyn LineCodec>) {
        let explorer = &mut system.observer;
        if !explorer.at_point || explorer.attacker.is_none() {
            return;
        }
        let Some(line) = system.next_access() else { return };
        let Some(mut attacker) = system.observer.attacker.take() else { return };
        if attacker.wants_access() {
            let accepted = attacker.attack_running(system, codec, system.observer.auditor.events(), line);
            system.observer.accepted(accepted);
        }
        system.observer.attacker = Some(attacker);
    }

    /// Reports what is accepted, if the design promises to notice.
    fn accepted(&mut self, mut accepted: Vec<(Line, String)>) {
        accepted.retain(|_| self.verifies);
        self.point_broken_by(!accepted.is_empty());
        let auditor = &self.auditor;
        for (line, told) in accepted {
            self.found.add(Rule::Integrity, Some(line), || auditor.broken(Rule::Integrity, None, Some(line), told));
        }
    }

    /// Boots from the true survivors of the last event. Nobody has tampered with memory, so a refusal is a false alarm. If
    /// `pads`, no pad that the machine would use next may have been used.
    pub(super) fn boot(&mut self, survivors: &Survivors<'_>, pads: bool) {
        let Some(codec) = survivors.loss.codec else { return };
        let mut boot = survivors.boot(self.auditor.boot_watch());
        boot.finish();
        if pads {
            watch_next_writes(&mut boot, |watch| watch, self.next_pads.take(&self.auditor).into_iter());
        }
        let whole = self.states.is_multiple_of(self.full_check_every);
        let refused =
            if self.verifies { self.unverified.refused(&boot, codec, &self.auditor, whole) } else { Vec::new() };
        let leaks = boot.into_observer().finish();
        let kept = !pads || self.auditor.boot_over(leaks);
        self.state_judged(!kept || !refused.is_empty());
        self.known.durable.entry(self.auditor.state_hash()).or_default().refused |= !refused.is_empty();
        if let Some(&(line, alarm)) = refused.first() {
            let auditor = &self.auditor;
            self.found.add(Rule::FalseAlarm, line, || {
                let told = refusal(auditor.events(), alarm, refused.len());
                auditor.broken(Rule::FalseAlarm, None, line, told)
            });
        }
    }
}

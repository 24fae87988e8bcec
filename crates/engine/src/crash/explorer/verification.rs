//! Whether a boot, or a read after it, refuses memory that nobody has tampered with. Every new durable state is booted.
//! Of its lines, those are verified that have changed since the last boot, whose counter block has, or whose line of MACs
//! has, and all counter blocks up to the root; now and then, all lines.

use super::super::attack::Attacker;
use super::super::covered::covered;
use super::super::path::refusal;
use super::super::power::Survivors;
use super::Explorer;
use crate::assembly::System;
use crate::audit::Rule;
use crate::message::{CounterBlock, Line, MediaLine, NoObserver};
use crate::recovery::{Alarm, LineCodec};
use std::collections::BTreeSet;

/// What has changed since the last boot.
#[derive(Default)]
pub(super) struct Unverified {
    changed: BTreeSet<MediaLine>,
    /// All counter blocks of lines that have changed since the begin of the run.
    blocks: BTreeSet<CounterBlock>,
}

impl Unverified {
    /// Handles that what is durable of `media` has changed.
    pub fn changed(&mut self, media: MediaLine) {
        self.changed.insert(media);
    }

    /// The lines to verify, with the counter blocks of all lines that have ever changed.
    fn take(&mut self, codec: &dyn LineCodec) -> (BTreeSet<Line>, &BTreeSet<CounterBlock>) {
        let coverage = codec.coverage();
        let mut lines = BTreeSet::new();
        for media in std::mem::take(&mut self.changed) {
            lines.extend(covered(media, Some(codec)));
        }
        self.blocks.extend(lines.iter().map(|line| coverage.block(*line)));
        (lines, &self.blocks)
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
    pub(in super::super) fn attack_running(system: &mut System<Self>, codec: &dyn LineCodec) {
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

    /// Boots from the true survivors of the last event: nobody has tampered with memory, so a refusal is a false alarm.
    pub(super) fn check_verification(&mut self, survivors: &Survivors<'_>) {
        let Some(codec) = survivors.loss.codec else { return };
        let mut boot = survivors.boot(NoObserver);
        boot.finish();
        let (lines, blocks) = self.unverified.take(codec);
        let mut refused: Vec<(Option<Line>, Alarm)> = boot.alarm().map(|alarm| (None, alarm)).into_iter().collect();
        if refused.is_empty() {
            let of_block = |block: &CounterBlock| boot.verify_counter(codec.coverage().line(*block, 0)).err();
            refused.extend(blocks.iter().filter_map(of_block).map(|alarm| (None, alarm)));
            let whole = self.states.is_multiple_of(self.full_check_every);
            let all = self.auditor.durable_view().map(|(line, _)| line).filter(|_| whole);
            let known = lines.into_iter().filter(|line| self.auditor.knows(*line));
            refused.extend(known.chain(all).filter_map(|line| Some((Some(line), boot.verify(line).err()?))));
            refused.sort_unstable();
            refused.dedup();
        }
        self.point_broken_by(!refused.is_empty());
        if let Some(&(line, alarm)) = refused.first() {
            let auditor = &self.auditor;
            self.found.add(Rule::FalseAlarm, line, || {
                let told = refusal(auditor.events(), alarm, refused.len());
                auditor.broken(Rule::FalseAlarm, None, line, told)
            });
        }
    }
}

//! What a real boot from the survivors of a power failure shows, and where it disagrees with the auditors' view.

use super::Explorer;
use super::next_writes::watch_next_writes;
use crate::message::Line;
use crate::power::Survivors;

/// Most disagreements between view and boot that are listed one by one.
const DISAGREEMENTS_TOLD: usize = 10;

/// Lines that a real boot and the auditors' view find different.
#[derive(Default)]
pub(super) struct Disagreements {
    descriptions: Vec<String>,
    pub count: u64,
}

impl Disagreements {
    /// Adds a disagreement about `line`, after the step `when` of a boot after a power failure after event `event`.
    pub fn add(&mut self, event: u64, line: Line, when: &str) {
        self.count += 1;
        if self.descriptions.len() < DISAGREEMENTS_TOLD {
            self.descriptions.push(format!(
                "internal error: after event {event}, the line at {:#x} {when} differs between a real boot and the auditors' \
                 own view of the durable state",
                line.address()
            ));
        }
    }

    pub fn descriptions(&self) -> &[String] {
        &self.descriptions
    }
}

impl Explorer<'_> {
    /// Boots from the true survivors of the last event, compares every line with the auditors' view, and lets the
    /// program check its structure. Checks the pads that the booted machine would use next for every line.
    pub(super) fn check_everything(&mut self, survivors: &Survivors<'_>) {
        self.full_checks += 1;
        let mut disagreements = Vec::new();
        let mut broken = Vec::new();
        let mut boot = survivors.boot(self.auditor.boot_watch());
        boot.load();
        for (line, expected) in self.auditor.durable_view().filter(|_| !self.auditor.recovers_counters()) {
            if boot.line(line) != *expected {
                disagreements.push((line, "as the power failure left it"));
            }
        }
        boot.finish();
        watch_next_writes(&mut boot, |watch| watch, self.auditor.durable_view().map(|(line, _)| line));
        // A boot that refuses memory stops, and a line that is refused is not read; that is judged for itself.
        for (line, expected) in self.auditor.booted_view().filter(|_| boot.alarm().is_none()) {
            if boot.line(line) != *expected && boot.verify(line).is_ok() {
                disagreements.push((line, "after the boot sequence"));
            }
        }
        if let Some(program) = self.auditor.program().filter(|_| boot.alarm().is_none()) {
            for layout in program.layouts() {
                boot.recover_program(program.as_ref(), layout.core);
            }
            for (line, _) in self.auditor.durable_view().filter(|_| boot.alarm().is_none()) {
                let differs = |expected| boot.line(line) != expected && boot.verify(line).is_ok();
                if self.auditor.recovered_line(line).is_some_and(differs) {
                    disagreements.push((line, "after the program's recovery"));
                }
            }
            let refused = boot.alarm().is_some();
            for layout in program.layouts().iter().filter(|_| !refused) {
                if let Err(what) = program.check(layout.core, &mut boot) {
                    broken.push((layout.core, what));
                }
            }
        }
        let leaks = boot.into_observer().finish();
        self.next_pads.take(&self.auditor);
        let kept = self.auditor.boot_over(leaks);
        self.state_judged(!kept || !broken.is_empty());
        for (core, what) in broken {
            self.auditor.structure_broken(core, &what);
        }
        for (line, when) in disagreements {
            self.disagreements.add(self.auditor.events(), line, when);
        }
    }

    /// The durable state that the last event left was booted, which has shown a broken rule if `broken`.
    pub(super) fn state_judged(&mut self, broken: bool) {
        let known = self.known.durable.entry(self.auditor.state_hash()).or_default();
        known.broken |= broken;
        self.point_broken_by(broken);
    }

    /// Corrects the verdict on a point that recovers according to the auditors' view, if another check found a broken
    /// rule.
    pub(super) fn point_broken_by(&mut self, broken: bool) {
        if broken && self.at_point && self.last_point_recovered {
            self.recovered -= 1;
            self.last_point_recovered = false;
            if let Some(command) = &mut self.command {
                command.does_not_hold();
            }
            self.auditor.tallied_point_failed();
        }
    }
}

//! The result of an exploration: its report, or why nothing was judged.

use super::super::attack::Attacker;
use super::super::plan::NestedExtent;
use super::super::report::{CrashReport, CrashRun, Findings, Recoveries};
use super::{CrashPlan, Explorer, RecoveryCommand, Region};
use crate::audit::{LeftOut, Violation};

impl Explorer<'_> {
    /// Why nothing was judged, if so: a crash before the first store can lose nothing.
    fn unjudged(&self) -> Option<String> {
        let events = self.auditor.events();
        match (self.plan, self.first_store) {
            // What ended the run, or was found, is a verdict.
            _ if self.judged || self.stopped || self.violation_count() > 0 => None,
            (CrashPlan::At(at), _) if at > events => {
                Some(format!("at_event: {at} is not from 1 to {events}, which is the last event of this run"))
            }
            (CrashPlan::At(at), Some(first)) => Some(format!(
                "at_event: {at} comes before the program stores anything, so a crash there has nothing to lose; the first \
                 store is at event {first}, the last event is {events}"
            )),
            (_, Some(_)) if self.region != Region::WHOLE => {
                Some("no crash point between these marks follows the program's first store".to_owned())
            }
            (_, Some(first)) => Some(format!("no crash point follows the first store, which is at event {first}")),
            (_, None) => Some(
                "the program stores nothing in persistent memory, so a crash has nothing to lose and there is no verdict"
                    .to_owned(),
            ),
        }
    }

    /// The report, once the run has ended.
    pub fn report(&self, run: CrashRun) -> CrashReport {
        let events = self.auditor.events();
        let states = self.states;
        let mut internal_errors = self.disagreements.descriptions().to_vec();
        if self.disagreements.count > internal_errors.len() as u64 {
            internal_errors.push(format!("{} disagreements in all", self.disagreements.count));
        }
        internal_errors.extend(self.attacker.iter().flat_map(Attacker::internal_errors).take(1).cloned());
        let nested = (self.nested > 0).then_some(NestedExtent {
            states: self.nested_states,
            points: self.nested_points,
            depth: self.nested,
        });
        let ended = match self.stop_at.filter(|_| self.stopped) {
            Some(rule) => format!(" The run ended there, at the first violation of the rule '{}'.", rule.name()),
            None if self.stopped => " The run ended there, with the failing images that were asked for.".to_owned(),
            None => String::new(),
        };
        let recoveries = self.command.as_ref().map(RecoveryCommand::recoveries);
        let command = recoveries.as_ref().map_or(String::new(), Recoveries::coverage);
        let left_out = self.auditor.left_out();
        CrashReport::new(
            run,
            Findings {
                crash_points: self.points,
                nested_points: self.nested_points,
                recovered: self.recovered,
                distinct_states: states,
                coverage: self.plan.coverage(self.region, self.points, states, events, self.full_checks, nested)
                    + &left_out.map_or(String::new(), describe_left_out)
                    + &command
                    + &ended,
                violations: self.auditor.violations().iter().chain(&self.found.explained).cloned().collect(),
                violation_count: self.violation_count(),
                left_out: left_out.cloned(),
                stages: self.auditor.stages(),
                recoveries,
                by_line: self.command.as_ref().map(RecoveryCommand::by_line).filter(|_| self.touched.is_some()),
                attacks: self.attacker.as_ref().map(Attacker::report),
                internal_errors,
                unjudged: self.unjudged(),
            },
        )
    }
}

/// What leaked in events that are no crash points, in a sentence.
fn describe_left_out(left_out: &LeftOut) -> String {
    let Violation { rule, crash_event, .. } = &left_out.first;
    let times = if left_out.count == 1 { String::new() } else { format!(" {} times, first", left_out.count) };
    format!(
        " The running machine itself leaked{times} in event {crash_event} (rule '{}'), which is none of these crash points: that is \
         not counted.",
        rule.name()
    )
}

//! Turns the findings of the auditors into violations: the rule, the core and the explanation.

use super::event_log::EventLog;
use super::explain::Evidence;
use super::line_record::{Id, Role};
use super::secrecy::Leak;
use super::transaction::Finding;
use super::violation::{LeftOut, Lost, Rule, Violation, with_event_log};
use super::{Auditor, explain};
use crate::message::{CoreId, Line};

impl Auditor {
    pub(super) fn report_line(&mut self, id: Id) {
        let line = self.lines.record(id).line;
        let violation = self.unexplained(Rule::Line, None, Some(line));
        let evidence =
            Evidence { lines: &self.lines, durable: &self.durable, drains: self.drains, shadow: self.shadow.as_ref() };
        self.collector.add(Rule::Line, Some(line), || {
            let explanation = explain::line_rule(&evidence, self.transactions.as_ref(), self.events, id);
            Violation { explanation: with_event_log(explanation, &self.event_log, line), ..violation }
        });
    }

    pub(super) fn report_finding(&mut self, finding: &Finding) {
        let Some(transactions) = &self.transactions else { return };
        let rule = if finding.durability { Rule::Durability } else { Rule::Atomicity };
        let line = finding.lead().map(|id| self.lines.record(id).line);
        let violation = self.unexplained(rule, Some(finding.core), line);
        let evidence =
            Evidence { lines: &self.lines, durable: &self.durable, drains: self.drains, shadow: self.shadow.as_ref() };
        self.collector.add(rule, line, || {
            let undo = self.hardware_log.as_ref().map(|log| log.report(finding.core));
            let explanation = explain::transaction(&evidence, transactions, undo, self.events, finding);
            let explanation = match line {
                Some(line) => with_event_log(explanation, &self.event_log, line),
                None => explanation,
            };
            Violation { explanation, ..violation }
        });
    }

    pub(super) fn report_leak(&mut self, event: u64, line: Line, leak: Leak) {
        let violation = self.unexplained(leak.rule(), None, Some(line));
        let event_log = &self.event_log;
        self.collector.add(leak.rule(), Some(line), || leaked(event_log, event, line, leak, violation));
    }

    /// A leak that has been reported still stands.
    pub(super) fn report_leak_again(&mut self, event: u64, line: Line, leak: Leak) {
        let violation = self.unexplained(leak.rule(), None, Some(line));
        let event_log = &self.event_log;
        self.collector.again(|| leaked(event_log, event, line, leak, violation));
    }

    /// Reports what has leaked in the last event, or counts it if leaks of that event are no violations.
    pub(super) fn report_run_leaks(&mut self) {
        let event = self.events;
        for (line, leak) in std::mem::take(&mut self.run_leaks) {
            if self.counts_leaks {
                self.report_leak(event, line, leak);
                continue;
            }
            let violation = self.unexplained(leak.rule(), None, Some(line));
            let first = || leaked(&self.event_log, event, line, leak, violation);
            self.left_out.get_or_insert_with(|| LeftOut { count: 0, first: first() }).count += 1;
        }
    }

    /// Reports that the self-check of the program of `core` failed on the memory of a real boot.
    pub fn structure_broken(&mut self, core: CoreId, what: &str) {
        let violation = self.unexplained(Rule::Structure, Some(core), None);
        self.collector.add(Rule::Structure, None, || Violation {
            explanation: format!(
                "If power fails after event {}, the structure of core {core} is broken after recovery: {what}",
                violation.crash_event
            ),
            ..violation
        });
    }

    /// A violation of `rule` after the last event, of `core` or of the core whose memory `line` is, without its
    /// explanation.
    pub(super) fn unexplained(&self, rule: Rule, core: Option<CoreId>, line: Option<Line>) -> Violation {
        let owner = line.and_then(|line| self.lines.find(line)).and_then(|id| match self.lines.record(id).role {
            Role::Heap(core) | Role::Log(core) | Role::Volatile(core) => Some(core),
            Role::HardwareLog | Role::Other => None,
        });
        let core = core.or(owner);
        let (transaction, stage) = self.in_flight(core);
        Violation {
            rule,
            crash_event: self.events,
            nested_events: Vec::new(),
            core,
            transaction,
            stage,
            line,
            explanation: String::new(),
            lost: Lost::default(),
        }
    }

    /// The transaction of `core` that is in flight or would be next, and its stage.
    pub(super) fn in_flight(&self, core: Option<CoreId>) -> (Option<u64>, Option<&'static str>) {
        let (Some(transactions), Some(core)) = (&self.transactions, core) else { return (None, None) };
        (transactions.current(core), transactions.stage(core).name())
    }
}

/// `violation` with what `leak` is, in sentences.
fn leaked(event_log: &EventLog, event: u64, line: Line, leak: Leak, violation: Violation) -> Violation {
    let explanation = with_event_log(explain::leak(event, line, leak), event_log, line);
    Violation { crash_event: event, explanation, ..violation }
}

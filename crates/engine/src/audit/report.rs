//! Turns what the auditors find into violations: which rule, whose, when, and told in sentences.

use super::explain::Scene;
use super::lines::{Id, Role};
use super::secrecy::Leak;
use super::transaction::Finding;
use super::violation::{Rule, Violation, with_timeline};
use super::{Auditor, explain};
use crate::message::{CoreId, Line};

impl Auditor {
    pub(super) fn report_line(&mut self, id: Id) {
        let record = self.lines.record(id);
        let line = record.line;
        let core = match record.role {
            Role::Heap(core) | Role::Log(core) => Some(core),
            Role::HardwareLog | Role::Other => None,
        };
        let (transaction, stage) = self.in_flight(core);
        let scene = Scene { lines: &self.lines, durable: &self.durable, eadr: self.eadr, shadow: self.shadow.as_ref() };
        self.collector.add(Rule::Line, Some(line), || Violation {
            rule: Rule::Line,
            crash_event: self.events,
            core,
            transaction,
            stage,
            line: Some(line),
            explanation: with_timeline(
                explain::line_rule(&scene, self.transactions.as_ref(), self.events, id),
                &self.timeline,
                line,
            ),
        });
    }

    pub(super) fn report_finding(&mut self, finding: &Finding) {
        let Some(transactions) = &self.transactions else { return };
        let rule = if finding.durability { Rule::Durability } else { Rule::Atomicity };
        let line = finding.lead().map(|id| self.lines.record(id).line);
        let (transaction, stage) = self.in_flight(Some(finding.core));
        let scene = Scene { lines: &self.lines, durable: &self.durable, eadr: self.eadr, shadow: self.shadow.as_ref() };
        self.collector.add(rule, line, || {
            let undo = self.hardware_log.as_ref().map(|log| log.report(finding.core));
            let explanation = explain::transaction(&scene, transactions, undo, self.events, finding);
            Violation {
                rule,
                crash_event: self.events,
                core: Some(finding.core),
                transaction,
                stage,
                line,
                explanation: match line {
                    Some(line) => with_timeline(explanation, &self.timeline, line),
                    None => explanation,
                },
            }
        });
    }

    pub(super) fn report_leak(&mut self, event: u64, line: Line, leak: Leak) {
        let core = self.lines.find(line).and_then(|id| match self.lines.record(id).role {
            Role::Heap(core) | Role::Log(core) => Some(core),
            Role::HardwareLog | Role::Other => None,
        });
        let (transaction, stage) = self.in_flight(core);
        self.collector.add(leak.rule(), Some(line), || Violation {
            rule: leak.rule(),
            crash_event: event,
            core,
            transaction,
            stage,
            line: Some(line),
            explanation: with_timeline(explain::leak(event, line, leak), &self.timeline, line),
        });
    }

    /// The transaction of `core` that is in flight or would be next, and its stage.
    pub(super) fn in_flight(&self, core: Option<CoreId>) -> (Option<u64>, Option<&'static str>) {
        let (Some(transactions), Some(core)) = (&self.transactions, core) else { return (None, None) };
        (transactions.current(core), transactions.stage(core).name())
    }
}

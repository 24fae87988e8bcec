//! Violations in one possible future of a crash point. They are returned to the explorer, which counts them.

use super::boot::BootLeaks;
use super::secrecy::Leak;
use super::violation::with_event_log;
use super::{Auditor, Rule, Violation, explain};
use crate::message::{CoreId, Line};

impl Auditor {
    /// The findings of a [`super::BootWatch`] as violations, which are not counted yet.
    pub fn leak_violations(&self, leaks: BootLeaks) -> Vec<Violation> {
        let told = |(line, leak): (Line, Leak)| {
            let explanation = with_event_log(explain::leak(self.events, line, leak), &self.event_log, line);
            self.broken(leak.rule(), None, Some(line), explanation)
        };
        leaks.0.into_iter().map(told).collect()
    }

    /// A violation of `rule` after the last event, of `core` or of the core whose memory `line` is. It is not counted
    /// yet.
    pub fn broken(&self, rule: Rule, core: Option<CoreId>, line: Option<Line>, explanation: String) -> Violation {
        Violation { explanation, ..self.unexplained(rule, core, line) }
    }
}

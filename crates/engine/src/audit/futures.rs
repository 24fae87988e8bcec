//! Violations in one possible future of a crash point: told to whoever explores it, and counted there.

use super::boot::BootLeaks;
use super::secrecy::Leak;
use super::violation::with_event_log;
use super::{Auditor, Rule, Violation, explain};
use crate::message::{CoreId, Line};

impl Auditor {
    /// What a [`super::BootWatch`] found, as violations that nobody has counted.
    pub fn leaks_told(&self, leaks: BootLeaks) -> Vec<Violation> {
        let told = |(line, leak): (Line, Leak)| {
            let explanation = with_event_log(explain::leak(self.events, line, leak), &self.event_log, line);
            self.broken(leak.rule(), None, Some(line), explanation)
        };
        leaks.0.into_iter().map(told).collect()
    }

    /// A violation of `rule` after the event that is just over, of `core` or of that whose memory `line` is. Nobody has
    /// counted it.
    pub fn broken(&self, rule: Rule, core: Option<CoreId>, line: Option<Line>, explanation: String) -> Violation {
        Violation { explanation, ..self.unexplained(rule, core, line) }
    }
}

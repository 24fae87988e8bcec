//! The names of a recorded program's places and lines, for reports.

use super::{CrashReport, LineAt, ReportedViolation};
use crate::attribution::{Place, place_of};
use crate::message::{Line, Site};
use crate::trace::{Trace, size_line};

/// Most lines that a sentence names.
const TOLD_MAX: usize = 3;

/// The names of one trace.
pub(crate) struct Names<'a> {
    places: Vec<Place>,
    trace: &'a Trace,
}

impl<'a> Names<'a> {
    /// `places` has the place of each site.
    pub fn new(places: Vec<Place>, trace: &'a Trace) -> Self {
        Self { places, trace }
    }

    pub fn place(&self, site: Site) -> &Place {
        place_of(&self.places, site)
    }

    pub fn shown(&self, site: Site) -> Place {
        self.place(site).clone()
    }

    /// The file that a line belongs to, and its offset there.
    pub fn file(&self, line: Line) -> (String, u64) {
        let files = self.trace.files();
        let after = files.partition_point(|file| file.base <= line.address());
        match after.checked_sub(1).map(|at| &files[at]) {
            Some(file) => (file.path.clone(), line.address() - file.base),
            None => (String::new(), line.address()),
        }
    }

    /// The file whose size a line holds.
    pub fn file_of_size(&self, line: Line) -> Option<&str> {
        let files = self.trace.files();
        (0..files.len()).find(|&of| size_line(files, of) == Some(line)).map(|of| files[of].path.as_str())
    }

    /// Names the places of a report: those of the lines of its violations, and those of what its images lack.
    pub fn name(&self, report: &mut CrashReport) {
        report.by_line = report.lacks.as_ref().map(|lacks| lacks.report(self));
        for ReportedViolation { violation, lines, lost_lines, .. } in &mut report.violations {
            let named = |touch: &crate::audit::LastTouch| {
                let (file, offset) = self.file(touch.line);
                LineAt {
                    file,
                    offset,
                    stored: self.shown(touch.stored),
                    flushed: touch.flushed.map(|at| self.shown(at)),
                }
            };
            *lines = violation.lost.lines.iter().map(named).collect();
            *lost_lines = violation.lost.count;
            violation.explanation += &sentence(lines, *lost_lines, violation.line.is_some());
        }
    }
}

/// What is told of lines; `of_rule`: the violation is of this line.
fn sentence(lines: &[LineAt], count: u64, of_rule: bool) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let one = |line: &LineAt| {
        let flushed = match &line.flushed {
            Some(at) => format!("flushed since at {}", at.text),
            None => "not flushed since".to_owned(),
        };
        format!("offset {:#x} of {}, last stored to at {}, {flushed}", line.offset, line.file, line.stored.text)
    };
    let told: Vec<String> = lines.iter().take(TOLD_MAX).map(one).collect();
    let more = match count.saturating_sub(told.len() as u64) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let subject = match (of_rule, count) {
        (true, _) => "The line is",
        (false, 1) => "The line that does not have its last store is",
        (false, _) => "Lines that do not have their last stores:",
    };
    format!(" {subject} {}{more}.", told.join("; "))
}

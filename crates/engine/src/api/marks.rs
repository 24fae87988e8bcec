//! The marks of a recorded program that a request names.

use super::request::Crash;
use super::runs::Opened;
use crate::crash::Region;
use crate::kernel::ConfigError;
use crate::run::Source;
use crate::trace::Marks;

/// Most marks that are listed.
const LISTED: usize = 5;

impl Crash {
    /// The part of the program in which power fails.
    pub(super) fn region(&self, run: &Opened) -> Result<Region, ConfigError> {
        let named = [("from_mark", &self.from_mark), ("to_mark", &self.to_mark)];
        let Some((option, _)) = named.iter().find(|(_, text)| text.is_some()) else { return Ok(Region::WHOLE) };
        let Source::Trace(trace, _) = &run.source else {
            return Err(ConfigError(format!(
                "{option}: workload '{}' sets no marks; only recorded programs do",
                run.config.workload
            )));
        };
        if self.at_event.is_some() {
            return Err(ConfigError(format!("{option} and at_event exclude each other")));
        }
        let (marks, name) = (trace.marks()?, &run.config.workload);
        let after = match &self.from_mark {
            Some(text) => {
                let found = marks.find(text, 0);
                found.ok_or_else(|| ConfigError(format!("from_mark: {}", unknown(&marks, text, 0, name, ""))))? + 1
            }
            None => 0,
        };
        let until =
            match &self.to_mark {
                Some(text) => {
                    let place = if after > 0 { " after that one" } else { "" };
                    let found = marks.find(text, after);
                    Some(found.ok_or_else(|| {
                        ConfigError(format!("to_mark: {}", unknown(&marks, text, after, name, place)))
                    })?)
                }
                None => None,
            };
        Ok(Region { after, until })
    }

    /// What a report must say about the part of the program in which power failed.
    pub(super) fn describe_region(&self) -> String {
        match (&self.from_mark, &self.to_mark) {
            (Some(from), Some(to)) => {
                format!(" Power failed only between the first mark '{from}' and the next mark '{to}'.")
            }
            (Some(from), None) => format!(" Power failed only after the first mark '{from}'."),
            (None, Some(to)) => format!(" Power failed only before the first mark '{to}'."),
            (None, None) => String::new(),
        }
    }
}

/// The sentence that no mark from number `first` on has the text `text`.
fn unknown(marks: &Marks, text: &str, first: u64, trace: &str, place: &str) -> String {
    let mut known: Vec<String> = Vec::new();
    let mut more = false;
    for text in (first..).map_while(|number| marks.text(number)) {
        if known.contains(&text) {
            continue;
        }
        more = known.len() == LISTED;
        if more {
            break;
        }
        known.push(text);
    }
    let told: Vec<String> = known.iter().map(|text| format!("'{text}'")).collect();
    let others = if more { " and others" } else { "" };
    match told.as_slice() {
        [] => format!("there is no mark '{text}'; trace {trace} has no marks{place}"),
        told => format!("there is no mark '{text}'; trace {trace} has {}{others}{place}", told.join(", ")),
    }
}

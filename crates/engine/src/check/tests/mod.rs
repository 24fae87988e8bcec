//! Tests of checks: traces by hand for each kind with its near misses, an independent model, and recorded logs.

mod correctness;
mod logs;
mod model;
mod ordered;
mod performance;
mod scratch;
mod settings;

use super::{CheckReport, CheckSettings, check};
use crate::kernel::ConfigError;
use crate::trace::recorded::tests::build::{BASE, Stream};
use crate::trace::{Step, Steps, StepsRead};
use std::ops::ControlFlow;

/// A program under construction. The program counter of an operation is its source line: without object files, a place
/// is shown as its address.
#[derive(Clone)]
struct Program(Stream);

impl Program {
    fn new() -> Self {
        Self(Stream::with_file())
    }

    /// Stores eight bytes to a word of a line.
    fn store(self, at: u64, line: u64, word: u64) -> Self {
        self.bytes(0x11, at, line * 64 + word * 8, &7u64.to_le_bytes())
    }

    /// Stores the address of a byte of the file to the first word of a line.
    fn point(self, at: u64, line: u64, to: u64) -> Self {
        self.bytes(0x11, at, line * 64, &(BASE + to).to_le_bytes())
    }

    fn past_caches(self, at: u64, line: u64, word: u64) -> Self {
        self.bytes(0x12, at, line * 64 + word * 8, &7u64.to_le_bytes())
    }

    fn locked(self, at: u64, line: u64) -> Self {
        self.bytes(0x13, at, line * 64, &7u64.to_le_bytes())
    }

    fn bytes(self, tag: u8, at: u64, offset: u64, bytes: &[u8]) -> Self {
        Self(self.0.store(tag, 0, at, BASE + offset, bytes))
    }

    fn clwb(self, at: u64, line: u64) -> Self {
        self.flush(0x14, at, line)
    }

    fn clflush(self, at: u64, line: u64) -> Self {
        self.flush(0x16, at, line)
    }

    fn flush(self, tag: u8, at: u64, line: u64) -> Self {
        Self(self.0.flush(tag, 0, at, BASE + line * 64))
    }

    fn sfence(self, at: u64) -> Self {
        Self(self.0.fence(0x17, 0, at))
    }

    fn mfence(self, at: u64) -> Self {
        Self(self.0.fence(0x18, 0, at))
    }

    /// A locked operation on other memory.
    fn locked_elsewhere(self, at: u64) -> Self {
        Self(self.0.locked(at))
    }

    fn thread(self, thread: u64) -> Self {
        Self(self.0.thread(thread))
    }

    fn begin(self) -> Self {
        Self(self.0.begin())
    }

    fn commit(self) -> Self {
        Self(self.0.commit())
    }

    fn mark(self, text: &str) -> Self {
        Self(self.0.mark(text.as_bytes()))
    }

    fn report(self) -> CheckReport {
        checked(self.0.end(0), &CheckSettings::default()).unwrap()
    }

    /// The findings: kind, source line, count; with the later source line, if there is one.
    fn found(self) -> Vec<(&'static str, u64, u64)> {
        counted(&self.report())
    }
}

fn checked(bytes: Vec<u8>, settings: &CheckSettings) -> Result<CheckReport, ConfigError> {
    check("t.cptrace", Steps::from_bytes("t.cptrace", bytes)?, settings, &|_| {})
}

/// Shows the steps of a program.
fn steps(program: Program, show: &mut dyn FnMut(Step<'_>)) -> StepsRead {
    let steps = Steps::from_bytes("t.cptrace", program.0.end(0)).unwrap();
    let read = steps.each(false, &|_| {}, &mut |step| {
        show(step);
        ControlFlow::Continue(())
    });
    read.unwrap()
}

fn counted(report: &CheckReport) -> Vec<(&'static str, u64, u64)> {
    report.findings.iter().map(|finding| (finding.kind.name(), line_of(&finding.at.text), finding.count)).collect()
}

fn line_of(place: &str) -> u64 {
    u64::from_str_radix(place.trim_start_matches("0x"), 16).expect("an address")
}

const NOTHING: [(&str, u64, u64); 0] = [];

//! What a run of the command says of a memory.

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Exit(i32),
    Signal(i32),
    TimedOut,
}

/// The command's verdict on an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub(super) outcome: Outcome,
    pub(super) recovers: bool,
    /// The last line that it printed, with `{folder}` in place of the folder of its files.
    pub(super) said: String,
}

impl Verdict {
    /// Whether the program recovers.
    pub fn recovers(&self) -> bool {
        self.recovers
    }

    /// Whether it had not ended in time, and was killed.
    pub fn timed_out(&self) -> bool {
        self.outcome == Outcome::TimedOut
    }

    fn did(&self, timeout_seconds: u64) -> String {
        match self.outcome {
            Outcome::Exit(0) if !self.recovers => {
                "ended with exit code 0 and not with the line that it was to print".to_owned()
            }
            Outcome::Exit(code) => format!("ended with exit code {code}"),
            Outcome::Signal(number) => format!("was ended by signal {number}"),
            Outcome::TimedOut => format!("had not ended after {timeout_seconds} s and was killed"),
        }
    }

    /// What the command did, as a part of a sentence.
    pub(super) fn briefly(&self, timeout_seconds: u64) -> String {
        let did = self.did(timeout_seconds);
        match self.said.as_str() {
            "" => format!("{did} and printed nothing"),
            said => format!("{did}, and the last line that it printed is \"{said}\""),
        }
    }

    /// What the command did, as a sentence without its subject.
    pub fn describe(&self, timeout_seconds: u64) -> String {
        let did = self.did(timeout_seconds);
        match self.said.as_str() {
            "" => format!("{did}, and printed nothing."),
            said => format!("{did}. The last line that it printed: \"{said}\"."),
        }
    }
}

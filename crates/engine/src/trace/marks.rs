//! The marks that a recorded program sets: their texts, and the transactions that libpmemobj's marks tell of. It marks the
//! commit of a transaction and the functions called in it, but not its begin.

use super::recording::{Act, Recording};
use crate::kernel::ConfigError;

/// The texts of all marks of a recording, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// The texts, each with the end of a line after it.
    lines: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
}

impl Marks {
    /// Reads `recording` to its end.
    pub(super) fn read(recording: &mut dyn Recording) -> Result<Self, ConfigError> {
        let mut marks = Self::default();
        loop {
            let deed = recording.next_deed(&mut |_| Ok(()))?;
            if let Act::Over { .. } = deed.act {
                return Ok(marks);
            }
            if let Some(text) = recording.mark() {
                marks.add(text);
            }
        }
    }

    /// Adds a mark. The end of a line within its text becomes a space.
    pub(crate) fn add(&mut self, text: &[u8]) {
        self.lines.extend(text.iter().map(|&byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
        self.lines.push(b'\n');
        self.ends.push(self.lines.len());
    }

    /// The first `count` marks, one a line.
    pub fn first(&self, count: u64) -> &[u8] {
        &self.lines[..self.start(count)]
    }

    /// The number of the first mark, from number `first` on, with this text.
    pub fn find(&self, text: &str, first: u64) -> Option<u64> {
        (first..self.ends.len() as u64).find(|&number| self.line(number) == text.as_bytes())
    }

    /// The text of mark `number`, from 0; bytes that are not UTF-8 are replaced. `None` if there are not so many.
    pub fn text(&self, number: u64) -> Option<String> {
        (number < self.ends.len() as u64).then(|| String::from_utf8_lossy(self.line(number)).into_owned())
    }

    /// The line of mark `number`, which there must be.
    fn line(&self, number: u64) -> &[u8] {
        &self.lines[self.start(number)..self.start(number + 1) - 1]
    }

    /// Where the line of mark `number` begins; of one after the last, where the last ends.
    fn start(&self, number: u64) -> usize {
        let before = usize::try_from(number).unwrap_or(usize::MAX).min(self.ends.len());
        before.checked_sub(1).map_or(0, |last| self.ends[last])
    }
}

/// The act that the mark of a function means, at its end or at its begin.
pub(super) fn act(name: &[u8], is_end: bool) -> Option<Act> {
    if name == b"pmemobj_tx_commit" && is_end {
        return Some(Act::Commit);
    }
    name.starts_with(b"pmemobj_tx_").then_some(Act::Transactional)
}

/// The act that the text of a mark means: `name.BEGIN` or `name.END`.
pub(super) fn act_of_text(text: &[u8]) -> Option<Act> {
    let text = without_bar(text);
    if let Some(name) = text.strip_suffix(b".END") {
        return act(name, true);
    }
    act(text.strip_suffix(b".BEGIN")?, false)
}

/// The text of a mark itself: pmemcheck and the tools that feed it put a bar before it.
pub(super) fn without_bar(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"|").unwrap_or(text)
}

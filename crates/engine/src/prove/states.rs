//! What a boot shows of the lines of a program, as the program numbers its operations: which of them stored it. So states of
//! designs that lay memory out in different ways, and encrypt it with different pads, can be compared.

use crate::crash::ShownLines;
use crate::message::LineBytes;
use crate::workload::litmus::{Litmus, PLACES};

/// Bytes of the pieces of a line that stores change as a whole.
const WORD: usize = 8;
/// The number of a word that was never stored.
const NEVER: u8 = u8::MAX;

/// What one line holds: for each word, the number of the operation that stored it, 0 for what was there before the program.
type Words = [u8; 8];

/// What a boot shows of the lines of a program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum State {
    /// The lines of the program's group, in its order.
    Lines(Vec<Held>),
    /// The boot, or a read after it, refuses memory.
    Refused,
}

/// What a line holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Held {
    /// All that the line held after this operation; 0: before the program.
    After(u8),
    /// Words that were never in the line together.
    Mixed(Words),
}

/// Names what boots show of the lines of one program.
pub(super) struct States {
    /// By line of the group: what it holds in the order of the program.
    versions: Vec<Vec<(u8, LineBytes)>>,
}

impl States {
    /// The states of `program`, whose operation number `n` is number `number(n)` where it is written without waits, over the
    /// lines of `group`.
    pub fn of(program: &Litmus, group: &[u8], number: impl Fn(usize) -> usize) -> Self {
        let known = |place: &u8| {
            let versions = program.versions(*place).into_iter();
            versions.map(|(at, contents)| (number(at).min(usize::from(NEVER) - 1) as u8, contents)).collect()
        };
        Self { versions: group.iter().map(known).collect() }
    }

    /// The state that `shown` is.
    pub fn name(&self, shown: &ShownLines) -> State {
        match shown {
            ShownLines::Refused => State::Refused,
            ShownLines::Contents(lines) => {
                State::Lines(lines.iter().zip(&self.versions).map(|(line, versions)| held(*line, versions)).collect())
            }
        }
    }
}

fn held(line: Option<LineBytes>, versions: &[(u8, LineBytes)]) -> Held {
    let line = line.unwrap_or(versions[0].1);
    match versions.iter().find(|(_, version)| *version == line) {
        Some((number, _)) => Held::After(*number),
        None => Held::Mixed(std::array::from_fn(|word| {
            let at = word * WORD..word * WORD + WORD;
            versions.iter().find(|(_, version)| version[at.clone()] == line[at.clone()]).map_or(NEVER, |found| found.0)
        })),
    }
}

impl State {
    /// The state in words, as in `A=2 B=0`: A holds what operation 2 left there, B what it held before the program. `A=0+2` is words
    /// of both, `A=?` has what was never stored there.
    pub fn text(&self, group: &[u8]) -> String {
        let Self::Lines(lines) = self else { return "refused".to_owned() };
        let line = |(place, held): (&u8, &Held)| {
            let name = PLACES[usize::from(*place)].name;
            match held {
                Held::After(number) => format!("{name}={number}"),
                Held::Mixed(words) => {
                    let mut numbers = words.to_vec();
                    numbers.sort_unstable();
                    numbers.dedup();
                    let text = |number: &u8| if *number == NEVER { "?".to_owned() } else { number.to_string() };
                    format!("{name}={}", numbers.iter().map(text).collect::<Vec<_>>().join("+"))
                }
            }
        };
        group.iter().zip(lines).map(line).collect::<Vec<_>>().join(" ")
    }
}

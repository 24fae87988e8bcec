//! What is known of memories from what the command has read of others: which words it reads first, which next if these hold
//! what they do, and how it ends.
//!
//! A command that depends on its files alone reads the same as long as it finds the same. So its runs are paths of one
//! tree, which lie here by the digest of what was found so far.

use crate::kernel::keyed_digest;
use crate::message::{Line, LineBytes};
use crate::user_recovery::WordRead;
use rustc_hash::FxHashMap;

/// Keys of digests that no line has.
const STEP: u64 = u64::MAX - 1;

/// What the command does after it has found something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Reads(WordRead),
    Ends { recovers: bool },
}

/// A run that is known: what it reads, and how it ends.
pub(super) struct Run {
    pub reads: Vec<WordRead>,
    pub recovers: bool,
}

/// The runs.
#[derive(Default)]
pub(super) struct Decided(FxHashMap<u128, Next>);

/// The digest of what was found so far, and then in a word of the line that holds `bytes`.
fn then(before: u128, read: WordRead, bytes: &LineBytes) -> u128 {
    let mut whole = [0; 64];
    whole[..16].copy_from_slice(&before.to_le_bytes());
    whole[16..24].copy_from_slice(&read.line.0.to_le_bytes());
    whole[24..32].copy_from_slice(&read.of(bytes));
    whole[32] = read.word;
    keyed_digest(STEP, &whole)
}

impl Decided {
    /// The run on a memory, if it is known. `told`: the digest of what the command is told besides; `holds`: what a line of
    /// the memory holds.
    pub fn run(&self, told: u128, holds: impl Fn(Line) -> LineBytes) -> Option<Run> {
        let (mut at, mut reads) = (told, Vec::new());
        loop {
            match *self.0.get(&at)? {
                Next::Reads(read) => {
                    at = then(at, read, &holds(read.line));
                    reads.push(read);
                }
                Next::Ends { recovers } => return Some(Run { reads, recovers }),
            }
        }
    }

    /// Adds a run on a memory. Returns false if a run that had found the same has not read the same, or has ended otherwise.
    pub fn add(&mut self, told: u128, run: &Run, holds: impl Fn(Line) -> LineBytes) -> bool {
        let mut at = told;
        for &read in &run.reads {
            if *self.0.entry(at).or_insert(Next::Reads(read)) != Next::Reads(read) {
                return false;
            }
            at = then(at, read, &holds(read.line));
        }
        let ends = Next::Ends { recovers: run.recovers };
        *self.0.entry(at).or_insert(ends) == ends
    }
}

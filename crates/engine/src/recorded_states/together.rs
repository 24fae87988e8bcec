//! Which contents of several lines go together: those of lines whose counters lie in one block, and those of one sector of
//! a disk.

use std::cmp::Reverse;

/// How the contents of lines go together.
#[derive(Clone, Debug)]
pub(super) struct Together {
    /// For each group of lines, in how many ways it may have reached the media.
    pub groups: Vec<usize>,
    /// Most lines that circuits work on.
    pub busy_max: u32,
    /// Whether nothing was left out.
    pub complete: bool,
    /// Whether the way of a group says all that its lines hold, so that they are lost and restored together.
    pub atomic: bool,
}

impl Default for Together {
    fn default() -> Self {
        Self { groups: Vec::new(), busy_max: 0, complete: true, atomic: false }
    }
}

/// A line of a group.
#[derive(Debug)]
pub(super) struct Joint {
    pub group: usize,
    /// By content. Bit `n`: it is legal if the group has reached the media in way `n`.
    pub modes: Vec<u64>,
    /// By content: whether a circuit works on the line.
    pub busy: Vec<bool>,
    /// By content.
    pub ages: Vec<Age>,
}

/// A version of a line, and how badly it reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Age {
    pub version: usize,
    pub rank: u8,
}

impl Joint {
    /// The content with the newest data, or with the oldest, that is legal in a way; of those, the best or the worst.
    pub fn in_way(&self, way: usize, newest: bool, best: bool) -> Option<usize> {
        let legal = (0..self.modes.len()).filter(|&content| self.modes[content] >> way & 1 == 1);
        legal.min_by_key(|&content| {
            let of = self.ages[content];
            let age = if newest { usize::MAX - of.version } else { of.version };
            (age, if best { of.rank } else { u8::MAX - of.rank })
        })
    }
}

impl Age {
    /// What is greater has less of the line.
    pub fn lack(self) -> impl Ord {
        (Reverse(self.version), self.rank)
    }

    /// The one with less of the line.
    pub fn worse(self, other: Self) -> Self {
        if self.lack() < other.lack() { other } else { self }
    }
}

//! Flushes, fences and annotations that a program made of a recording leaves out: what would it cost without them, and
//! would it still survive?

use std::sync::Arc;

/// Operations by their number in the recording, from 0: lines flushed in files; fences of every kind, those of locked
/// operations and of DEEP_SYNC included; annotations.
#[derive(Clone, Debug, Default)]
pub struct Omitted {
    flushes: Arc<[u64]>,
    fences: Arc<[u64]>,
    annotations: Arc<[u64]>,
}

fn sorted(numbers: &[u64]) -> Arc<[u64]> {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    numbers.dedup();
    numbers.into()
}

impl Omitted {
    /// The flushes and fences with these numbers.
    pub fn new(flushes: &[u64], fences: &[u64]) -> Self {
        Self { flushes: sorted(flushes), fences: sorted(fences), annotations: Arc::default() }
    }

    /// The annotations with these numbers.
    pub fn annotations(numbers: &[u64]) -> Self {
        Self { annotations: sorted(numbers), ..Self::default() }
    }

    /// From the beginning of the recording.
    pub(super) fn begin(&self) -> Omitting {
        let from = |numbers: &Arc<[u64]>| Numbers { numbers: Arc::clone(numbers), next: 0, seen: 0 };
        Omitting { flushes: from(&self.flushes), fences: from(&self.fences), annotations: from(&self.annotations) }
    }
}

/// Where a program is in the operations that it leaves out.
pub(super) struct Omitting {
    flushes: Numbers,
    fences: Numbers,
    annotations: Numbers,
}

impl Omitting {
    /// Whether the next flush of a line is left out.
    pub fn flush(&mut self) -> bool {
        self.flushes.advance()
    }

    /// Whether the next fence is left out.
    pub fn fence(&mut self) -> bool {
        self.fences.advance()
    }

    /// Whether the next annotation is left out.
    pub fn annotation(&mut self) -> bool {
        self.annotations.advance()
    }
}

struct Numbers {
    numbers: Arc<[u64]>,
    /// The first of `numbers` that has not come.
    next: usize,
    seen: u64,
}

impl Numbers {
    fn advance(&mut self) -> bool {
        let found = self.numbers.get(self.next) == Some(&self.seen);
        self.seen += 1;
        self.next += usize::from(found);
        found
    }
}

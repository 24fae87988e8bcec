//! Pages that are encrypted without counters, beside others. The major counter of a page says which it is: it is even while lines
//! have counters, and odd when they have none. A page changes in its re-encryption, so that what tells a boot which major counter a
//! line has tells it how the line is encrypted, too.

use crate::cipher::PadCipher;
use crate::layout::Coverage;
use crate::message::{GroupMask, Line, LineBytes, xor};
use crate::parts::{Counter, CounterScheme, LineCipher, MinorReset, NextCounter, PadSource};
use std::sync::Arc;

fn without_counters(counter: Counter) -> bool {
    counter.major % 2 == 1
}

/// Pads for lines with counters, and AES-XTS for the others.
pub struct PagedCipher {
    /// What makes pads.
    pub pads: PadCipher,
    /// What encrypts the others.
    pub lines: Arc<dyn LineCipher>,
}

impl PadSource for PagedCipher {
    fn is_direct(&self, counter: Counter) -> bool {
        without_counters(counter)
    }
    fn pad(&self, line: Line, counter: Counter) -> LineBytes {
        PadSource::pad(&self.pads, line, counter)
    }
    fn encrypt(&self, line: Line, counter: Counter, plaintext: &LineBytes) -> LineBytes {
        if without_counters(counter) {
            self.lines.encrypt(line, plaintext)
        } else {
            xor(plaintext, &PadSource::pad(&self.pads, line, counter))
        }
    }
    fn decrypt(&self, line: Line, counter: Counter, ciphertext: &LineBytes) -> LineBytes {
        if without_counters(counter) {
            self.lines.decrypt(line, ciphertext)
        } else {
            xor(ciphertext, &PadSource::pad(&self.pads, line, counter))
        }
    }
}

/// Counters of which those of a page stand still when its major counter is odd.
pub struct PagedCounters<S>(pub S);

impl<S: CounterScheme> CounterScheme for PagedCounters<S> {
    fn coverage(&self) -> Coverage {
        self.0.coverage()
    }
    fn counter_bytes(&self) -> usize {
        self.0.counter_bytes()
    }
    fn global(&self) -> bool {
        self.0.global()
    }
    fn initial(&self, populated: GroupMask) -> LineBytes {
        self.0.initial(populated)
    }
    fn counter(&self, block: &LineBytes, index: usize) -> Counter {
        self.0.counter(block, index)
    }
    fn next(&self, block: &LineBytes, index: usize, register: u64) -> NextCounter {
        match self.counter(block, index) {
            counter if self.counts(counter) => self.0.next(block, index, register),
            counter => NextCounter::Is(counter),
        }
    }
    fn set(&self, block: &mut LineBytes, index: usize, counter: Counter) {
        self.0.set(block, index, counter);
    }
    fn counts(&self, counter: Counter) -> bool {
        !without_counters(counter)
    }
    fn increment_major(&self, block: &mut LineBytes, reset: MinorReset) {
        self.0.increment_major(block, reset);
    }
}

//! Dual counter encryption (Young et al., ASPLOS 2015, DEUCE): a write encrypts only the words of a line that have been
//! modified since the line's epoch began. A line has one counter. As it stands it is the leading counter, of modified
//! words; with its lowest bits zero it is the trailing counter, with which the epoch began and which the other words keep.
//! Each word has a bit that says whether it is modified. An epoch begins with a write whose two counters are equal: it
//! encrypts all words and clears all bits.

use crate::cipher::PadCipher;
use crate::message::{Line, LineBytes, xor};
use crate::parts::{Counter, CounterScheme, NextCounter, PadSource, Stored, WordSource};

/// Pads of lines with dual counters.
pub struct DualCounters {
    pads: PadCipher,
    /// The bits of a line's own counter that count the writes of an epoch.
    epoch: u64,
    word_bytes: usize,
    /// Whether a line's own counter is the minor one, beside a major one that only changes together with all words.
    minor: bool,
    /// Whether modified words have the leading counter.
    leads: bool,
}

impl DualCounters {
    /// Pads made by `pads` for counters of `scheme`, for epochs of `epoch_writes` writes, a power of two, and words of
    /// `word_bytes` bytes. Modified words have the leading counter, if it `leads`.
    pub fn new(
        pads: PadCipher,
        scheme: &dyn CounterScheme,
        (epoch_writes, word_bytes): (u32, u32),
        leads: bool,
    ) -> Self {
        let minor = matches!(scheme.next(&[0; 64], 0, 0), NextCounter::Is(first) if first.minor != 0);
        Self { pads, epoch: u64::from(epoch_writes) - 1, word_bytes: word_bytes as usize, minor, leads }
    }

    /// The counter with which the epoch of `counter` began.
    fn trailing(&self, counter: Counter) -> Counter {
        if self.minor {
            Counter { minor: counter.minor & !(self.epoch as u16), ..counter }
        } else {
            Counter { major: counter.major & !self.epoch, ..counter }
        }
    }

    /// The words of `leading` whose bits are set in `modified`, and those of `trailing`.
    fn choose(&self, modified: u64, leading: &LineBytes, trailing: &LineBytes) -> LineBytes {
        std::array::from_fn(|at| if modified >> (at / self.word_bytes) & 1 == 1 { leading[at] } else { trailing[at] })
    }
}

impl PadSource for DualCounters {
    fn words(&self) -> Option<&dyn WordSource> {
        Some(self)
    }
    fn pad(&self, line: Line, counter: Counter) -> LineBytes {
        PadSource::pad(&self.pads, line, counter)
    }
}

impl WordSource for DualCounters {
    fn begins_epoch(&self, counter: Counter) -> bool {
        self.trailing(counter) == counter
    }

    fn write(&self, line: Line, counter: Counter, plaintext: &LineBytes, before: Option<&Stored>) -> Stored {
        if self.begins_epoch(counter) {
            return Stored { bytes: self.first(line, counter, plaintext), modified: 0 };
        }
        let trailing = self.pad(line, self.trailing(counter));
        let before = before.copied().unwrap_or(Stored { bytes: trailing, modified: 0 });
        // What a word that is not modified holds; what another one holds does not matter.
        let kept = xor(&before.bytes, &trailing);
        let words = kept.chunks_exact(self.word_bytes).zip(plaintext.chunks_exact(self.word_bytes));
        let changed = words.enumerate().fold(0, |changed, (word, (old, new))| changed | u64::from(old != new) << word);
        if !self.leads {
            return Stored { bytes: xor(plaintext, &trailing), modified: 0 };
        }
        let modified = before.modified | changed;
        let leading = xor(plaintext, &self.pad(line, counter));
        Stored { bytes: self.choose(modified, &leading, &before.bytes), modified }
    }

    fn first(&self, line: Line, counter: Counter, plaintext: &LineBytes) -> LineBytes {
        xor(plaintext, &self.pad(line, self.trailing(counter)))
    }

    fn read(&self, line: Line, counter: Counter, stored: &Stored) -> LineBytes {
        let trailing = self.pad(line, self.trailing(counter));
        if stored.modified == 0 {
            return xor(&stored.bytes, &trailing);
        }
        xor(&stored.bytes, &self.choose(stored.modified, &self.pad(line, counter), &trailing))
    }

    fn whole(&self, line: Line, counter: Counter, plaintext: &LineBytes) -> Stored {
        if !self.leads {
            return Stored { bytes: self.first(line, counter, plaintext), modified: 0 };
        }
        let modified = u64::MAX >> (u64::BITS as usize - 64 / self.word_bytes);
        Stored { bytes: xor(plaintext, &self.pad(line, counter)), modified }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher::Keys;
    use crate::mechanism::line_counters::LineCounters;
    use crate::mechanism::split_counters::SplitCounters;
    use proptest::prelude::*;

    fn pads() -> PadCipher {
        PadCipher::new(&Keys::from_seed(3).data, 128, 1 << 30).unwrap()
    }

    fn schemes() -> [Box<dyn CounterScheme>; 2] {
        let counters = crate::config::load_machine("secpm", &[]).unwrap().counters;
        [Box::new(SplitCounters::of(&counters)), Box::new(LineCounters)]
    }

    fn counter(minor: bool, value: u64) -> Counter {
        if minor { Counter { major: 5, minor: value as u16 } } else { Counter { major: value, minor: 0 } }
    }

    proptest! {
        /// A line is written again and again, in few of its words. The reference keeps, for each word, the number of the write
        /// whose counter it has.
        #[test]
        fn each_word_has_the_counter_of_its_last_encryption(
            writes in prop::collection::vec(prop::collection::vec((0..64usize, any::<u8>()), 0..4), 1..100),
            epoch in prop::sample::select(vec![8_u32, 16, 32]), word in prop::sample::select(vec![1_usize, 2, 4, 8]),
            split: bool, zeros: bool,
        ) {
            let [of_page, of_line] = schemes();
            let scheme = if split { of_page } else { of_line };
            let dual = DualCounters::new(pads(), scheme.as_ref(), (epoch, word as u32), true);
            let line = Line(77);
            let mut plain = [0; 64];
            let mut stored = (!zeros).then(|| Stored { bytes: dual.first(line, counter(split, 1), &plain), modified: 0 });
            let mut of_word = vec![0; 64 / word];
            let mut modified = vec![false; 64 / word];
            for (number, changes) in (if zeros { 1 } else { 2 }..).zip(writes) {
                let before = plain;
                for (at, value) in changes {
                    plain[at] = value;
                }
                if number % u64::from(epoch) == 0 {
                    of_word.fill(number);
                    modified.fill(false);
                }
                for index in 0..64 / word {
                    let differs = plain[index * word..][..word] != before[index * word..][..word];
                    modified[index] |= differs && number % u64::from(epoch) != 0;
                    if modified[index] {
                        of_word[index] = number;
                    }
                }
                let now = dual.write(line, counter(split, number), &plain, stored.as_ref());
                for (index, &of) in of_word.iter().enumerate() {
                    let pad = PadSource::pad(&pads(), line, counter(split, of));
                    let bytes = index * word..(index + 1) * word;
                    let expected: Vec<u8> = bytes.clone().map(|at| plain[at] ^ pad[at]).collect();
                    prop_assert_eq!(&now.bytes[bytes], &expected[..], "word {} of write {}", index, number);
                    prop_assert_eq!(now.modified >> index & 1 == 1, modified[index]);
                }
                prop_assert_eq!(dual.read(line, counter(split, number), &now), plain);
                stored = Some(now);
            }
        }

        #[test]
        fn line_with_all_words_modified_needs_nothing_of_what_was_before(
            plain: [u8; 32], number in 0..128_u64, word in prop::sample::select(vec![1_u32, 2, 4, 8]),
        ) {
            let plain: LineBytes = [plain, plain].concat().try_into().unwrap();
            for (split, scheme) in [true, false].into_iter().zip(schemes()) {
                let dual = DualCounters::new(pads(), scheme.as_ref(), (32, word), true);
                let counter = counter(split, number);
                let stored = dual.whole(Line(1), counter, &plain);
                prop_assert_eq!(stored.modified.count_ones(), 64 / word);
                prop_assert_eq!(stored.bytes, xor(&plain, &PadSource::pad(&pads(), Line(1), counter)));
                prop_assert_eq!(dual.read(Line(1), counter, &stored), plain);
            }
        }
    }
}

//! MACs that this thread has computed before. Boots and attacks of states that differ in few lines compute mostly the same MACs
//! again; to find one here takes a sixth of the time of its six AES blocks. An entry is used only if its key and all of its
//! input are the same.

use rustc_hash::FxHasher;
use std::cell::RefCell;
use std::hash::Hasher;

/// The longest input, in words of 8 bytes.
const WORDS: usize = 11;
const LONGEST: usize = 8 * WORDS;
/// Half a megabyte: more would not stay in the processor's second-level cache.
const ENTRIES: usize = 1 << 12;
/// The length of the input of an entry that was never used.
const UNUSED: u64 = u64::MAX;

/// What was computed, by its input.
#[derive(Clone, Copy)]
struct Entry {
    input: Input,
    mac: u128,
}

/// What a MAC is computed from.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Input {
    /// What distinguishes the key from others.
    key: u128,
    /// Bytes.
    length: u64,
    /// Zeros beyond the length.
    words: [u64; WORDS],
}

impl Input {
    /// The input `parts`, one after the other. `None` if it is too long.
    fn new(key: u128, parts: &[&[u8]]) -> Option<Self> {
        let mut bytes = [0; LONGEST];
        let mut length = 0;
        for part in parts {
            bytes.get_mut(length..length + part.len())?.copy_from_slice(part);
            length += part.len();
        }
        let (words, _) = bytes.as_chunks::<8>();
        Some(Self { key, length: length as u64, words: std::array::from_fn(|at| u64::from_le_bytes(words[at])) })
    }

    fn place(&self) -> usize {
        let mut hasher = FxHasher::default();
        self.words.iter().for_each(|&word| hasher.write_u64(word));
        hasher.write_u64(self.length ^ self.key as u64);
        (hasher.finish() >> 32) as usize % ENTRIES
    }
}

thread_local! {
    static COMPUTED: RefCell<Box<[Entry]>> = RefCell::new(
        vec![Entry { input: Input { key: 0, length: UNUSED, words: [0; WORDS] }, mac: 0 }; ENTRIES].into(),
    );
}

/// The MAC of `parts` under the key that `key` distinguishes, which `compute` computes if it is not known.
pub(super) fn known_or(key: u128, parts: &[&[u8]], compute: impl FnOnce() -> u128) -> u128 {
    let Some(input) = Input::new(key, parts) else { return compute() };
    COMPUTED.with_borrow_mut(|computed| {
        let entry = &mut computed[input.place()];
        if entry.input != input {
            *entry = Entry { input, mac: compute() };
        }
        entry.mac
    })
}

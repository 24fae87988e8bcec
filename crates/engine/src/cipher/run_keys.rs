//! The keys of a run, drawn from its seed.

use crate::kernel::Random;

/// Key material for one cipher: AES-256 uses all of it, AES-128 the first half.
pub type Key = [u8; 32];

/// The keys of a run. Log and data never share a key (model.md section 6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// Key of data lines.
    pub data: Key,
    /// Key of the tweaks of data lines that have no counters.
    pub tweak: Key,
    /// Key of log lines that hardware writes.
    pub log: Key,
    /// Key of the MACs of data lines.
    pub mac: Key,
    /// Key of the integrity tree.
    pub tree: Key,
}

impl Keys {
    /// The keys of the run with seed `seed`. A simulator needs repeatable keys, not secret ones.
    pub fn from_seed(seed: u64) -> Self {
        Self {
            data: draw(seed, "cipher.data-key"),
            tweak: draw(seed, "cipher.tweak-key"),
            log: draw(seed, "cipher.log-key"),
            mac: draw(seed, "cipher.mac-key"),
            tree: draw(seed, "cipher.tree-key"),
        }
    }
}

fn draw(seed: u64, name: &str) -> Key {
    let mut random = Random::stream(seed, name);
    let mut key = [0; 32];
    for word in key.chunks_exact_mut(8) {
        word.copy_from_slice(&random.next_u64().to_le_bytes());
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_repeat_by_seed_and_differ_by_seed_and_use() {
        assert_eq!(Keys::from_seed(1), Keys::from_seed(1));
        let (one, two) = (Keys::from_seed(1), Keys::from_seed(2));
        // Only the first halves are compared, because AES-128 uses only those.
        let keys = [&one, &two].map(|keys| [keys.data, keys.tweak, keys.log, keys.mac, keys.tree]).concat();
        let halves: Vec<Vec<u8>> = keys.iter().map(|key| key[..16].to_vec()).collect();
        for (i, a) in halves.iter().enumerate() {
            for b in &halves[i + 1..] {
                assert_ne!(a, b);
            }
        }
    }
}

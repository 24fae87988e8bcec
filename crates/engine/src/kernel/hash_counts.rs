//! A filter in front of a search: how many keys of each hash there are.

/// Number of different hashes.
const HASHES: usize = 512;

/// For each hash, the number of keys that have it. If it is zero, a key with this hash need not be searched.
#[derive(Clone, Debug)]
pub struct HashCounts([u16; HASHES]);

impl Default for HashCounts {
    fn default() -> Self {
        Self([0; HASHES])
    }
}

impl HashCounts {
    fn hash(key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize
    }

    /// Adds `key`. There may be up to 65,535 with one hash.
    pub fn add(&mut self, key: u64) {
        self.0[Self::hash(key)] += 1;
    }

    /// Removes `key`, which has been added.
    pub fn remove(&mut self, key: u64) {
        self.0[Self::hash(key)] -= 1;
    }

    /// Whether `key` may be there. `false`: it is not.
    pub fn may_have(&self, key: u64) -> bool {
        self.0[Self::hash(key)] != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_there_is_never_denied(steps in prop::collection::vec((any::<bool>(), 0..40u64), 0..200)) {
            let (mut counts, mut keys) = (HashCounts::default(), Vec::new());
            for (add, key) in steps {
                if add {
                    counts.add(key);
                    keys.push(key);
                } else if let Some(at) = keys.iter().position(|other| *other == key) {
                    counts.remove(key);
                    keys.swap_remove(at);
                }
                prop_assert!(keys.iter().all(|key| counts.may_have(*key)));
                prop_assert!(!keys.is_empty() || (0..40).all(|key| !counts.may_have(key)));
            }
        }
    }
}

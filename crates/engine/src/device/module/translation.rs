//! The cache of the address indirection table: which entries it holds. Sets of sixteen entries, of which any leaves (decision:
//! no source says how it is organised; what was measured just beyond its reach are hits in proportion).

use crate::kernel::Random;

const WAYS: usize = 16;
const NONE: u64 = u64::MAX;

#[derive(Clone, Debug)]
pub(super) struct Translation {
    sets: Vec<[u64; WAYS]>,
    random: Random,
}

impl Translation {
    /// An empty cache of `entries` entries, a multiple of sixteen.
    pub fn new(entries: u64) -> Self {
        let sets = vec![[NONE; WAYS]; entries as usize / WAYS];
        Self { sets, random: Random::stream(0, "entries of a translation") }
    }

    /// Looks up `entry`, and fetches it if it is not there; returns whether it was.
    pub fn look_up(&mut self, entry: u64) -> bool {
        let place = entry % self.sets.len() as u64;
        let set = &mut self.sets[place as usize];
        if set.contains(&entry) {
            return true;
        }
        let empty = set.iter().position(|&known| known == NONE);
        set[empty.unwrap_or_else(|| self.random.below(WAYS as u64) as usize)] = entry;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_again_within_reach_and_in_proportion_beyond() {
        let mut cache = Translation::new(1024);
        let mut pass = |entries: u64| (0..entries).filter(|&entry| cache.look_up(entry)).count();
        assert_eq!([pass(1024), pass(1024)], [0, 1024]);
        let beyond = (0..20).map(|_| pass(8192)).sum::<usize>();
        assert!(beyond < 20 * 8192 / 8, "{beyond}");
        assert_eq!(pass(16).max(16), 16);
    }
}

//! What earlier use has left in caches that are used for the first time: clean lines, in the order of their last use.

use super::hierarchy::Hierarchy;
use crate::message::{CoreId, Line, LineBytes};

/// Fills empty caches, the line that was used last first. Each level holds the last lines of each of its sets; the first level
/// those that the second holds, too.
pub struct Warming<'a> {
    caches: &'a mut Hierarchy,
    /// Empty ways of each cache of each level.
    empty: [Vec<usize>; 3],
}

impl Hierarchy {
    /// Begins to fill the caches, which must be empty.
    pub fn warm(&mut self) -> Warming<'_> {
        let empty = [&self.l1, &self.l2, &self.l3].map(|level| level.iter().map(|cache| cache.lines()).collect());
        Warming { caches: self, empty }
    }
}

impl Warming<'_> {
    /// Whether some line of `core` might still find a way.
    pub fn has_room(&self, core: CoreId) -> bool {
        let core = usize::from(core);
        self.empty[1][self.caches.l2_of(core)] > 0 || self.empty[2][self.caches.l3_of(core)] > 0
    }

    /// `core`, and no other, has used `line`, whose `bytes` are asked for if a cache takes it: before every line that was
    /// added so far.
    pub fn add(&mut self, core: CoreId, line: Line, bytes: impl FnOnce() -> LineBytes) {
        let core = usize::from(core);
        let caches = &*self.caches;
        let (l2, l3) = (caches.l2_of(core), caches.l3_of(core));
        let [in_l2, in_l3] = [&caches.l2[l2], &caches.l3[l3]].map(|cache| cache.empty_way(line));
        if in_l2.is_none() && in_l3.is_none() {
            return;
        }
        let bytes = bytes();
        let in_l1 = in_l2.and_then(|_| caches.l1[core].empty_way(line));
        for (level, cache, way) in [(0, core, in_l1), (1, l2, in_l2), (2, l3, in_l3)] {
            let Some(slot) = way else { continue };
            let caches = [&mut self.caches.l1, &mut self.caches.l2, &mut self.caches.l3];
            let empty = &mut self.empty[level][cache];
            caches.into_iter().nth(level).expect("three levels")[cache].insert_used(slot, line, &bytes, *empty as u64);
            *empty -= 1;
        }
        if let Some(slot) = in_l1 {
            self.caches.l1[core].set_writable(slot, true);
        }
        let private =
            [in_l1.is_some(), in_l2.is_some() && self.caches.l2_private(), in_l3.is_some() && self.caches.l3_private()];
        if let Some(directory) = self.caches.directory.as_mut().filter(|_| private.contains(&true)) {
            directory.add(line, core, true);
        }
    }
}

//! Storage whose size follows what is used: a two-level table over page numbers, and a slab that grows without moving
//! its elements.

use crate::kernel::prefetch;

/// Pages in a leaf of the table.
const LEAF: usize = 1024;
/// Elements in a chunk of a slab.
const CHUNK: usize = 4096;

/// One value per page; the default for pages that were never set.
#[derive(Clone, Debug, Default)]
pub(super) struct PageTable<T> {
    leaves: Vec<Option<Box<[T; LEAF]>>>,
}

impl<T: Copy + Default> PageTable<T> {
    pub fn get(&self, page: u64) -> T {
        match self.leaves.get(page as usize / LEAF) {
            Some(Some(leaf)) => leaf[page as usize % LEAF],
            _ => T::default(),
        }
    }

    pub fn get_mut(&mut self, page: u64) -> &mut T {
        let leaf = page as usize / LEAF;
        if leaf >= self.leaves.len() {
            self.leaves.resize_with(leaf + 1, || None);
        }
        &mut self.leaves[leaf].get_or_insert_with(|| Box::new([T::default(); LEAF]))[page as usize % LEAF]
    }

    /// Has the host bring the value of `page` near.
    pub fn prefetch(&self, page: u64) {
        if let Some(Some(leaf)) = self.leaves.get(page as usize / LEAF) {
            prefetch(&leaf[page as usize % LEAF]);
        }
    }

    /// Every page of a leaf in which something was set, in order, with its value.
    pub fn iter(&self) -> impl Iterator<Item = (u64, T)> + '_ {
        self.leaves.iter().enumerate().flat_map(|(leaf, values)| {
            let values = values.iter().flat_map(|values| values.iter());
            ((leaf * LEAF) as u64..).zip(values.copied())
        })
    }

    /// The values of the same pages.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.leaves.iter_mut().flatten().flat_map(|leaf| leaf.iter_mut())
    }
}

/// Elements by index. Grows chunk by chunk, so that growing copies nothing and never holds memory twice.
#[derive(Clone, Debug)]
pub(super) struct Slab<T> {
    chunks: Vec<Vec<T>>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { chunks: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Appends `element`; returns its index.
    pub fn push(&mut self, element: T) -> u32 {
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let last = self.chunks.len() - 1;
        self.chunks[last].push(element);
        let index = last * CHUNK + self.chunks[last].len() - 1;
        u32::try_from(index).expect("a slab of 2^32 elements is beyond any host's memory")
    }

    pub fn get(&self, index: u32) -> &T {
        &self.chunks[index as usize / CHUNK][index as usize % CHUNK]
    }

    pub fn get_mut(&mut self, index: u32) -> &mut T {
        &mut self.chunks[index as usize / CHUNK][index as usize % CHUNK]
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.chunks.iter_mut().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn table_is_a_sorted_map(sets in prop::collection::vec((0..5_000u64, 0..9u32), 0..60)) {
            let (mut table, mut model) = (PageTable::<u32>::default(), BTreeMap::new());
            for (page, number) in sets {
                *table.get_mut(page) = number;
                model.insert(page, number);
                prop_assert_eq!(table.get(page), number);
            }
            model.retain(|_, number| *number != 0);
            prop_assert_eq!(table.iter().filter(|(_, number)| *number != 0).collect::<Vec<_>>(), model.into_iter().collect::<Vec<_>>());
            prop_assert_eq!(table.get(u64::from(u32::MAX)), 0);
        }
    }

    #[test]
    fn slab_keeps_its_elements_over_chunks() {
        let mut slab = Slab::default();
        for n in 0..2 * CHUNK as u32 + 1 {
            assert_eq!(slab.push(n), n);
        }
        *slab.get_mut(CHUNK as u32) += 7;
        assert_eq!([0, 4095, 4096, 8192].map(|n| *slab.get(n)), [0, 4095, 4103, 8192]);
    }
}

//! Reusable numbered slots: events can refer to things by index, and a run does not allocate once it is warm.

/// A vector with holes; freed slots are reused last-in first-out, the same way on every machine.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    slots: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
}

impl<T> Slab<T> {
    /// Puts `value` into a free slot and returns its number.
    pub fn insert(&mut self, value: T) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = value;
            slot
        } else {
            self.slots.push(value);
            (self.slots.len() - 1) as u32
        }
    }

    /// Frees `slot`; its old value stays in place until the slot is used again.
    pub fn release(&mut self, slot: u32) {
        debug_assert!(!self.free.contains(&slot), "slot {slot} was freed twice");
        self.free.push(slot);
    }

    /// The values of all slots in order, those of free slots as they were when they were freed.
    pub fn values(&self) -> &[T] {
        &self.slots
    }

    /// The values of the slots in use, in order. Takes time for all slots.
    pub fn live(&self) -> impl Iterator<Item = &T> {
        let mut used = vec![true; self.slots.len()];
        self.free.iter().for_each(|&slot| used[slot as usize] = false);
        self.slots.iter().zip(used).filter_map(|(value, used)| used.then_some(value))
    }

    /// Slots in use.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether no slot is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> std::ops::Index<u32> for Slab<T> {
    type Output = T;
    fn index(&self, slot: u32) -> &T {
        &self.slots[slot as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slots[slot as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_slots_are_not_live() {
        let mut slab = Slab::default();
        let slots = [1, 2, 3, 4].map(|value| slab.insert(value));
        slab.release(slots[1]);
        slab.release(slots[3]);
        assert_eq!((slab.live().copied().collect::<Vec<_>>(), slab.values().len()), (vec![1, 3], 4));
        slab.insert(5);
        assert_eq!(slab.live().copied().collect::<Vec<_>>(), [1, 3, 5]);
    }
}

//! Queues of slots: a slot enters at the end and leaves from anywhere, in constant time and without allocation.

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Ends {
    first: u32,
    last: u32,
}

const EMPTY: Ends = Ends { first: NONE, last: NONE };

#[derive(Clone, Copy, Debug)]
struct Link {
    previous: u32,
    next: u32,
}

/// A number of queues. A slot is in one of them at most.
#[derive(Clone, Debug)]
pub struct Lists {
    ends: Vec<Ends>,
    /// By slot.
    links: Vec<Link>,
}

impl Lists {
    /// `count` empty queues.
    pub fn new(count: usize) -> Self {
        Self { ends: vec![EMPTY; count], links: Vec::new() }
    }

    /// Number of queues.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// Appends `slot`, which is in no queue, to the queue `list`.
    #[inline]
    pub fn push(&mut self, list: usize, slot: u32) {
        let previous = std::mem::replace(&mut self.ends[list].last, slot);
        if self.links.len() <= slot as usize {
            self.links.resize(slot as usize + 1, Link { previous: NONE, next: NONE });
        }
        self.links[slot as usize] = Link { previous, next: NONE };
        match previous {
            NONE => self.ends[list].first = slot,
            _ => self.links[previous as usize].next = slot,
        }
    }

    /// Removes `slot`, which is in the queue `list`.
    #[inline]
    pub fn remove(&mut self, list: usize, slot: u32) {
        let Link { previous, next } = self.links[slot as usize];
        match previous {
            NONE => self.ends[list].first = next,
            _ => self.links[previous as usize].next = next,
        }
        match next {
            NONE => self.ends[list].last = previous,
            _ => self.links[next as usize].previous = previous,
        }
    }

    /// The slot that has been longest in the queue `list`.
    #[inline]
    pub fn first(&self, list: usize) -> Option<u32> {
        known(self.ends[list].first)
    }

    /// The slots of the queue `list`, in the order in which they entered.
    #[inline]
    pub fn iter(&self, list: usize) -> impl Iterator<Item = u32> {
        std::iter::successors(self.first(list), |&slot| known(self.links[slot as usize].next))
    }

    /// The slots of the queue `list`, the last one first.
    #[inline]
    pub fn backwards(&self, list: usize) -> impl Iterator<Item = u32> {
        std::iter::successors(known(self.ends[list].last), |&slot| known(self.links[slot as usize].previous))
    }
}

fn known(slot: u32) -> Option<u32> {
    (slot != NONE).then_some(slot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lists_are_queues_from_whose_middle_slots_leave(steps in prop::collection::vec((0..3usize, 0..20u32), 0..200)) {
            let (mut lists, mut expected) = (Lists::new(3), vec![Vec::new(); 3]);
            for (list, slot) in steps {
                match expected.iter().position(|queue: &Vec<u32>| queue.contains(&slot)) {
                    Some(at) => {
                        lists.remove(at, slot);
                        expected[at].retain(|&other| other != slot);
                    }
                    None => {
                        lists.push(list, slot);
                        expected[list].push(slot);
                    }
                }
                for (list, queue) in expected.iter().enumerate() {
                    prop_assert_eq!(&lists.iter(list).collect::<Vec<_>>(), queue);
                    prop_assert!(lists.backwards(list).eq(queue.iter().rev().copied()));
                    prop_assert_eq!(lists.first(list), queue.first().copied());
                }
            }
        }
    }
}

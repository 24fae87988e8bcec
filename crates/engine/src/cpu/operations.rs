//! Where a core's operations come from. A copy of a core continues with the same operations as the core itself: what it
//! draws from the program ahead of the core is kept for the core.

use crate::message::{OpBuffer, OpSource};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// A program, and the transactions that copies have drawn from it ahead of its own core.
struct Drawn {
    program: Box<dyn OpSource>,
    ahead: VecDeque<OpBuffer>,
}

/// The operations of a core. The core itself must not draw while a copy of it lives.
pub(super) struct Operations {
    drawn: Arc<Mutex<Drawn>>,
    /// For a copy, how many transactions it is ahead of the core.
    copy: Option<usize>,
}

impl Operations {
    pub fn new(program: Box<dyn OpSource>) -> Self {
        Self { drawn: Arc::new(Mutex::new(Drawn { program, ahead: VecDeque::new() })), copy: None }
    }

    /// Puts the next transaction into the empty `buffer`; returns false at the end of the program.
    pub fn next_transaction(&mut self, buffer: &mut OpBuffer) -> bool {
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(place) = &mut self.copy else {
            return match drawn.ahead.pop_front() {
                None => drawn.program.next_transaction(buffer),
                Some(next) => {
                    *buffer = next;
                    true
                }
            };
        };
        if *place == drawn.ahead.len() {
            let mut next = buffer.another();
            if !drawn.program.next_transaction(&mut next) {
                return false;
            }
            drawn.ahead.push_back(next);
        }
        buffer.clone_from(&drawn.ahead[*place]);
        *place += 1;
        true
    }
}

impl Clone for Operations {
    fn clone(&self) -> Self {
        Self { drawn: Arc::clone(&self.drawn), copy: Some(self.copy.unwrap_or(0)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Op;
    use proptest::prelude::*;

    /// A program of so many transactions, each of one computation with its number.
    struct Numbers(u32, u32);

    impl OpSource for Numbers {
        fn next_transaction(&mut self, buffer: &mut OpBuffer) -> bool {
            buffer.ops.push(Op::Compute { instructions: self.0 });
            self.0 += 1;
            self.0 <= self.1
        }
    }

    fn draw(source: &mut Operations) -> Option<u32> {
        let mut buffer = OpBuffer::default();
        source.next_transaction(&mut buffer).then(|| match buffer.ops.as_slice() {
            [Op::Compute { instructions }] => *instructions,
            other => panic!("{other:?}"),
        })
    }

    proptest! {
        #[test]
        fn core_and_its_copies_draw_the_same(length in 0..8u32, copies in prop::collection::vec((0..3u32, 0..12usize), 0..6)) {
            let mut own = Operations::new(Box::new(Numbers(0, length)));
            let mut drawn = 0;
            for (steps, ahead) in copies {
                for _ in 0..steps {
                    prop_assert_eq!(draw(&mut own), (drawn < length).then_some(drawn));
                    drawn = (drawn + 1).min(length);
                }
                let mut copy = own.clone();
                let mut copied = drawn;
                for step in 0..ahead {
                    if step == ahead / 2 {
                        copy = copy.clone();
                    }
                    prop_assert_eq!(draw(&mut copy), (copied < length).then_some(copied));
                    copied = (copied + 1).min(length);
                }
            }
        }
    }
}

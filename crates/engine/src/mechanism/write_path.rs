//! How a counter becomes durable relative to its data: the points at which a write's two parts enter the write
//! pending queue.

use crate::design::parts::{Admit, WritePath};

/// The counter stays dirty in the counter cache until it is evicted: plain counter mode, the broken starting point.
pub struct Deferred;

impl WritePath for Deferred {
    fn at_bump(&self) -> Admit {
        Admit::Nothing
    }
    fn at_encrypted(&self) -> Admit {
        Admit::Data
    }
    fn defers_counter(&self) -> bool {
        true
    }
}

/// The counter is appended while its data is being encrypted: two events (secpm section 3.3.1, Figure 6).
pub struct WriteThrough;

impl WritePath for WriteThrough {
    fn at_bump(&self) -> Admit {
        Admit::Counter
    }
    fn at_encrypted(&self) -> Admit {
        Admit::Data
    }
    fn defers_counter(&self) -> bool {
        false
    }
}

/// A register beside the AES circuit holds line and counter until the pad is done; then both are appended in one
/// event (secpm section 3.3.2, Figure 7).
pub struct StagedPair;

impl WritePath for StagedPair {
    fn at_bump(&self) -> Admit {
        Admit::Nothing
    }
    fn at_encrypted(&self) -> Admit {
        Admit::Pair
    }
    fn defers_counter(&self) -> bool {
        false
    }
}

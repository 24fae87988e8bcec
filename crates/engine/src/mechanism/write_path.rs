//! How a counter becomes durable relative to its data: the points at which a write's two parts enter the write
//! pending queue.

use crate::parts::{Admit, WritePath};

/// The counter stays dirty in the counter cache until it is evicted: plain counter mode, the broken starting point.
pub struct Deferred;

impl WritePath for Deferred {
    fn at_bump(&self) -> Admit {
        Admit::Nothing
    }
    fn at_encrypted(&self, _counter_atomic: bool) -> Admit {
        Admit::Data
    }
    fn defers_counter(&self, _counter_atomic: bool) -> bool {
        true
    }
}

/// The counter is appended while its data is being encrypted: two events (secpm section 3.3.1, Figure 6).
pub struct WriteThrough;

impl WritePath for WriteThrough {
    fn at_bump(&self) -> Admit {
        Admit::Counter
    }
    fn at_encrypted(&self, _counter_atomic: bool) -> Admit {
        Admit::Data
    }
    fn defers_counter(&self, _counter_atomic: bool) -> bool {
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
    fn at_encrypted(&self, _counter_atomic: bool) -> Admit {
        Admit::Pair
    }
    fn defers_counter(&self, _counter_atomic: bool) -> bool {
        false
    }
}

/// Lines that `flush_data` writes back are staged pairs; of lines that leave the caches on their own, the counter stays
/// in the counter cache (easy-pm section III-A).
pub struct FlushedPairs;

impl WritePath for FlushedPairs {
    fn at_bump(&self) -> Admit {
        Admit::Nothing
    }
    fn at_encrypted(&self, counter_atomic: bool) -> Admit {
        if counter_atomic { Admit::Pair } else { Admit::Data }
    }
    fn defers_counter(&self, counter_atomic: bool) -> bool {
        !counter_atomic
    }
}

/// Every write is counter-atomic: data and counter have queues of their own, and ready bits (counter-atomicity
/// section 5.2.2).
pub struct ReadyPairs;

impl WritePath for ReadyPairs {
    fn at_bump(&self) -> Admit {
        Admit::Nothing
    }
    fn at_encrypted(&self, _counter_atomic: bool) -> Admit {
        Admit::Unready
    }
    fn defers_counter(&self, _counter_atomic: bool) -> bool {
        false
    }
}

/// Lines with a `CounterAtomic` variable are written as ready pairs; of all others the data enters its queue ready and
/// the counter stays in the counter cache (counter-atomicity section 4).
pub struct SelectiveReadyPairs;

impl WritePath for SelectiveReadyPairs {
    fn at_bump(&self) -> Admit {
        Admit::Nothing
    }
    fn at_encrypted(&self, counter_atomic: bool) -> Admit {
        if counter_atomic { Admit::Unready } else { Admit::Data }
    }
    fn defers_counter(&self, counter_atomic: bool) -> bool {
        !counter_atomic
    }
}

/// Data and counter are one transfer of 72 bytes (counter-atomicity section 3.2.1).
pub struct Colocated;

impl WritePath for Colocated {
    fn at_bump(&self) -> Admit {
        Admit::Nothing
    }
    fn at_encrypted(&self, _counter_atomic: bool) -> Admit {
        Admit::Inline
    }
    fn defers_counter(&self, _counter_atomic: bool) -> bool {
        false
    }
}

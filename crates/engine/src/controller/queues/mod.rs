//! What waits in front of the media, with or without encryption: reads and writes between their arrival and their answer,
//! admission to the write pending queue, the queue itself, and which request a bank takes next.

pub(super) mod accepted;
pub(super) mod admission;
pub(super) mod bank_queues;
pub(super) mod memory;
pub(super) mod reads;
pub(super) mod schedule;
pub(super) mod wpq;
pub(super) mod writes;

//! The threads of a recording as programs of cores of their own: what each must have done before another goes on.
//!
//! A recording has one order of all acts, in which the threads took turns. It says where a thread follows another: it has
//! read what the other has stored, stores over it, was created by it, or waited until it had ended. Everywhere else both
//! could as well have run at the same time. So each thread reports at the points that others follow, and these wait for it.
//! All that a thread waits for comes before it in the recording, so that no two can wait for each other.

use super::other_memory::OwnPages;
use crate::message::CoreId;
use std::sync::Arc;

/// What is known of each thread, by its number.
#[derive(Clone, Debug, Default)]
pub(super) struct Threads {
    of: Vec<Thread>,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    /// Where it reports: after its acts of so many records, ascending.
    reports: Vec<u64>,
    /// Its transactions, as it tells itself or by libpmemobj's marks.
    transactions: u64,
}

impl Threads {
    fn at(&mut self, thread: u64) -> &mut Thread {
        // Threads are numbered below 2^16.
        let thread = thread as usize;
        if self.of.len() <= thread {
            self.of.resize_with(thread + 1, Thread::default);
        }
        &mut self.of[thread]
    }

    /// Another follows what `thread` did in so many records.
    pub fn follow(&mut self, thread: u64, records: u64) {
        self.at(thread).reports.push(records);
    }

    /// `thread` has committed a transaction of libpmemobj.
    pub fn commit(&mut self, thread: u64) {
        self.at(thread).transactions += 1;
    }

    /// Everything that there is of `count` threads; `told`: the transactions of one, if threads tell themselves.
    pub fn finish(mut self, count: u64, told: impl Fn(u64) -> Option<u64>) -> Self {
        (0..count).for_each(|thread| {
            let of = self.at(thread);
            of.reports.sort_unstable();
            of.reports.dedup();
            of.transactions = told(thread).unwrap_or(of.transactions);
        });
        self
    }

    /// The transactions of `thread`.
    pub fn transactions(&self, thread: u64) -> u64 {
        self.of.get(thread as usize).map_or(0, |of| of.transactions)
    }

    /// What waits until `thread` has done what it did in so many records: its core, and how often it has reported then.
    pub fn awaited(&self, thread: u64, records: u64) -> (CoreId, u64) {
        let before = self.of.get(thread as usize).map_or(0, |of| of.reports.partition_point(|&at| at <= records));
        (thread as CoreId, before as u64)
    }

    /// How often `thread` has reported when it has done everything in so many records.
    pub fn reported(&self, thread: u64, records: u64) -> u64 {
        self.awaited(thread, records).1
    }
}

/// The thread whose program it is.
pub(super) struct Own {
    pub thread: u64,
    pub threads: Arc<Threads>,
    /// How often it has reported.
    reported: u64,
}

impl Own {
    pub fn new(thread: u64, threads: Arc<Threads>) -> Self {
        Self { thread, threads, reported: 0 }
    }

    /// How often the thread reports now, which has done everything in so many records.
    pub fn reports(&mut self, done: u64) -> u64 {
        let count = self.threads.reported(self.thread, done);
        count - std::mem::replace(&mut self.reported, count)
    }
}

/// Which of several instances of a recording a program is of.
#[derive(Clone, Copy, Default)]
pub(super) struct Instance {
    /// The core of its first thread.
    pub first: CoreId,
    /// Where its files begin on the device.
    pub offset: u64,
    /// Where its other memory is.
    pub others: OwnPages,
}

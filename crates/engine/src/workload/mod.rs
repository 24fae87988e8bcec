//! The programs: real data structures on a persistent heap, executed for real, one instance per core.
//!
//! The output is operations with the bytes that they store and expect ([`Program`] is an `OpSource`). A [`Plan`] says
//! where everything is; a [`Base`] is the populated memory that every design of a comparison shares; a [`Recovery`]
//! scans the undo log after a crash and checks every invariant of the structure. The structures read and write through
//! a transaction and do not know about logs, flushes, fences and annotations: `transaction` adds those, in the form of
//! the program that the design asks for.

mod array;
mod base;
mod btree;
mod chain_queue;
mod hash;
mod initial;
mod item;
mod linked_list;
pub mod litmus;
mod log;
mod log_scan;
mod memory;
mod nodes;
mod plan;
mod probe;
mod program;
mod queue;
mod rbtree;
mod recovery;
mod structure;
mod style;
#[cfg(test)]
mod tests;
mod think;
mod transaction;

pub use base::Base;
pub use memory::Memory;
pub use plan::{BaseKey, Plan, WorkloadConfig, footprint_min, plan};
pub use probe::{Filled, PROBES, Probe, ProbeInfo, find_probe};
pub use program::Program;
pub use recovery::Recovery;

/// The data structure of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkloadKind {
    /// Swaps random entries of an array.
    Array,
    /// Enqueues and dequeues at random.
    Queue,
    /// Inserts into an open-addressing hash table.
    Hash,
    /// Inserts into a B-tree with several items per leaf.
    BTree,
    /// Inserts into a red-black tree with one item per node.
    RbTree,
    /// Enqueues and dequeues at random; nodes are linked, and reused through a free list.
    ChainQueue,
    /// Inserts into a B+-tree whose leaves keep their items sorted.
    BPlusTree,
    /// Pushes onto a list whose head is swapped by one atomic store; no log.
    LinkedList,
}

/// A workload as the user sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// A one-line description for lists.
    pub summary: &'static str,
    /// Whether its transactions use an undo log when hardware does not keep one.
    pub has_log: bool,
    /// The data structure that it uses.
    pub kind: WorkloadKind,
}

/// Every workload: five of the secpm paper (section 4.1), two more of the easy-pm paper (section IV-A), and Figure 4 of
/// the counter-atomicity paper.
pub const WORKLOADS: &[WorkloadInfo] = &[
    WorkloadInfo {
        name: "array",
        summary: "swaps two random entries of an array (secpm section 4.1)",
        has_log: true,
        kind: WorkloadKind::Array,
    },
    WorkloadInfo {
        name: "queue",
        summary: "enqueues and dequeues entries at random (secpm section 4.1)",
        has_log: true,
        kind: WorkloadKind::Queue,
    },
    WorkloadInfo {
        name: "hash",
        summary: "inserts random key-value items into an open-addressing hash table (secpm section 4.1)",
        has_log: true,
        kind: WorkloadKind::Hash,
    },
    WorkloadInfo {
        name: "btree",
        summary: "inserts random key-value items into a B-tree, several items to a leaf (secpm section 4.1)",
        has_log: true,
        kind: WorkloadKind::BTree,
    },
    WorkloadInfo {
        name: "rbtree",
        summary: "inserts random key-value items into a red-black tree, one item to a node (secpm section 4.1)",
        has_log: true,
        kind: WorkloadKind::RbTree,
    },
    WorkloadInfo {
        name: "chain-queue",
        summary: "enqueues and dequeues linked nodes at random (easy-pm section IV-A)",
        has_log: true,
        kind: WorkloadKind::ChainQueue,
    },
    WorkloadInfo {
        name: "bplus-tree",
        summary: "inserts random key-value items into a B+-tree with sorted leaves (easy-pm section IV-A)",
        has_log: true,
        kind: WorkloadKind::BPlusTree,
    },
    WorkloadInfo {
        name: "linked-list",
        summary: "pushes nodes onto a list by an atomic head swap, without a log (counter-atomicity Figure 4)",
        has_log: false,
        kind: WorkloadKind::LinkedList,
    },
];

/// The workload called `name`.
pub fn find(name: &str) -> Option<&'static WorkloadInfo> {
    WORKLOADS.iter().find(|workload| workload.name == name)
}

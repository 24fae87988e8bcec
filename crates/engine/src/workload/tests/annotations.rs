//! The annotated form of every workload is the plain form with annotations, each where counter-atomicity Figure 9 has
//! it.

use super::{STYLES, config, start, styled};
use crate::config::LogGranularity;
use crate::message::{Annotation, COUNTER_WRITEBACK_BYTES, Omission, Op, OpBuffer, OpSource, ProgramForm};
use crate::workload::{WORKLOADS, WorkloadConfig, WorkloadKind};
use proptest::prelude::*;

/// An operation with the bytes it carries.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Did {
    Store { address: u64, data: Vec<u8>, counter_atomic: bool },
    WriteBackCounters(u64),
    Other(Op),
}

impl Did {
    /// The operation without what the annotated form adds; `None` if it is only an annotation.
    fn plain(self) -> Option<Did> {
        match self {
            Did::Store { address, data, .. } => Some(Did::Store { address, data, counter_atomic: false }),
            Did::WriteBackCounters(_) => None,
            other => Some(other),
        }
    }
}

/// Every transaction of the program of `config`.
fn transactions(config: &WorkloadConfig) -> Vec<Vec<Did>> {
    let (_, _, mut program) = start(config);
    let mut buffer = OpBuffer::default();
    let mut all = Vec::new();
    while program.next_transaction(&mut buffer) {
        let did = |op: &Op| match *op {
            Op::Store { address, length, bytes } => {
                Did::Store { address, data: buffer.slice(bytes, length).to_vec(), counter_atomic: false }
            }
            Op::CounterAtomicStore { address, length, bytes } => {
                Did::Store { address, data: buffer.slice(bytes, length).to_vec(), counter_atomic: true }
            }
            Op::CounterCacheWriteback { address } => Did::WriteBackCounters(address),
            other => Did::Other(other),
        };
        all.push(buffer.ops.iter().map(did).collect());
        buffer.clear();
    }
    all
}

fn annotated(config: &WorkloadConfig, leave_out: Option<Annotation>) -> WorkloadConfig {
    let leave_out = leave_out.map(Omission::Annotation);
    WorkloadConfig { form: ProgramForm::Annotated, leave_out, ..config.clone() }
}

/// The operations before each fence, without it.
fn stages(transaction: &[Did]) -> Vec<&[Did]> {
    transaction.split(|did| *did == Did::Other(Op::Sfence)).collect()
}

/// Stages in which data is written: Prepare and Mutate, or the new node of a list.
fn data_stages(kind: WorkloadKind) -> usize {
    if kind == WorkloadKind::LinkedList { 1 } else { 2 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn annotated_form_is_the_plain_form_with_whole_lines_logged_and_annotations(
        which in 0..WORKLOADS.len(), lines in 1..17u64, copy in 3..7u32, seed: u64, operations in 1..60u64,
    ) {
        let mut config = config(WORKLOADS[which].kind, lines * 64, seed, operations);
        config.program.copy_bytes = 1 << copy;
        let plain = transactions(&styled(&config, (ProgramForm::Plain, LogGranularity::Line)));
        for leave_out in [None].into_iter().chain(Annotation::ALL.map(Some)) {
            let annotated = transactions(&annotated(&config, leave_out)).into_iter();
            let stripped: Vec<Vec<Did>> =
                annotated.map(|did| did.into_iter().filter_map(Did::plain).collect()).collect();
            prop_assert!(stripped == plain, "leaving out {leave_out:?}");
        }
    }

    #[test]
    fn every_style_stores_the_same_in_the_heap(
        which in 0..WORKLOADS.len(), lines in 1..17u64, seed: u64, operations in 1..60u64,
    ) {
        let config = config(WORKLOADS[which].kind, lines * 64, seed, operations);
        let in_heap = |style| {
            let config = styled(&config, style);
            let heap = start(&config).0.layouts()[0].heap.clone();
            let stores = transactions(&config).into_iter().flatten().filter_map(Did::plain);
            let stores = stores.filter(|did| matches!(did, Did::Store { address, .. } if heap.contains(address)));
            stores.collect::<Vec<_>>()
        };
        let stores = STYLES.map(in_heap);
        prop_assert!(!stores[0].is_empty() && stores.windows(2).all(|two| two[0] == two[1]));
    }

    #[test]
    fn what_a_stage_writes_has_its_counters_written_back_once_after_the_flushes_and_before_the_fence(
        which in 0..WORKLOADS.len(), lines in 1..65u64, seed: u64, operations in 1..40u64,
    ) {
        let kind = WORKLOADS[which].kind;
        let config = annotated(&config(kind, lines * 64, seed, operations), None);
        for transaction in transactions(&config) {
            let stages = stages(&transaction);
            prop_assert_eq!(stages.len(), data_stages(kind) + 2, "one stage that commits, and what is after it");
            for stage in &stages[..data_stages(kind)] {
                let mut stored = Vec::new();
                let mut written_back = Vec::new();
                for did in *stage {
                    match did {
                        Did::Store { address, .. } => stored.push(address & !(COUNTER_WRITEBACK_BYTES - 1)),
                        Did::WriteBackCounters(address) => written_back.push(*address),
                        Did::Other(Op::Clwb { .. }) => prop_assert!(written_back.is_empty(), "a flush comes after"),
                        Did::Other(_) => {}
                    }
                }
                stored.sort_unstable();
                stored.dedup();
                prop_assert_eq!(stored, written_back);
            }
            let write_back = |did: &Did| matches!(did, Did::WriteBackCounters(_));
            prop_assert!(!stages[data_stages(kind)..].concat().iter().any(write_back), "Commit needs none");
        }
    }

    #[test]
    fn word_that_commits_is_counter_atomic_and_nothing_else(
        which in 0..WORKLOADS.len(), lines in 1..17u64, seed: u64, operations in 1..60u64,
    ) {
        let kind = WORKLOADS[which].kind;
        let config = annotated(&config(kind, lines * 64, seed, operations), None);
        let layout = start(&config).0.layouts()[0].clone();
        for transaction in transactions(&config) {
            let stages = stages(&transaction);
            let marked = |stage: &[Did]| -> Vec<u64> {
                let address = |did: &Did| match *did {
                    Did::Store { address, counter_atomic: true, .. } => Some(address),
                    _ => None,
                };
                stage.iter().filter_map(address).collect()
            };
            if kind == WorkloadKind::LinkedList {
                prop_assert!(marked(stages[0]).is_empty());
                prop_assert_eq!(marked(stages[1]), [layout.heap.start], "the head");
                continue;
            }
            let [entry] = marked(stages[0])[..] else { panic!("one state word") };
            prop_assert!(layout.log.contains(&entry) && entry % 64 == 0);
            let first = stages[0].iter().find(|did| matches!(did, Did::Store { .. }));
            let begins = matches!(first, Some(Did::Store { counter_atomic: true, .. }));
            prop_assert!(begins, "its line is marked from its first store on");
            prop_assert!(marked(stages[1]).is_empty());
            prop_assert_eq!(marked(stages[2]), [entry]);
        }
    }

    #[test]
    fn what_is_left_out_is_exactly_that(
        which in 0..WORKLOADS.len(), lines in 1..17u64, seed: u64, operations in 1..40u64,
    ) {
        let kind = WORKLOADS[which].kind;
        let config = config(kind, lines * 64, seed, operations);
        let complete = transactions(&annotated(&config, None));
        for annotation in Annotation::ALL {
            let expected = complete.iter().map(|transaction| {
                let mut stage = 0;
                let mut keep = |did: &Did| {
                    stage += usize::from(*did == Did::Other(Op::Sfence));
                    let goes = match annotation {
                        Annotation::PrepareCounterCacheWriteback => stage == 0,
                        Annotation::MutateCounterCacheWriteback => stage == 1,
                        Annotation::CommitCounterAtomic | Annotation::FlushData => false,
                    };
                    !(goes && matches!(did, Did::WriteBackCounters(_)))
                };
                let kept = transaction.iter().filter(|did| keep(did)).cloned();
                kept.map(|did| match did {
                    Did::Store { .. } if annotation == Annotation::CommitCounterAtomic => did.plain().expect("a store"),
                    did => did,
                })
                .collect::<Vec<_>>()
            });
            let expected: Vec<Vec<Did>> = expected.collect();
            let found = transactions(&annotated(&config, Some(annotation)));
            prop_assert!(found == expected, "{annotation:?}");
            let has_one = match annotation {
                Annotation::MutateCounterCacheWriteback => kind != WorkloadKind::LinkedList,
                annotation => annotation.form() == ProgramForm::Annotated,
            };
            prop_assert_eq!(found != complete, has_one);
        }
    }
}

#[test]
fn plain_program_ignores_what_is_to_be_left_out() {
    let plain = config(WorkloadKind::Array, 64, 1, 20);
    for annotation in Annotation::ALL {
        let same = WorkloadConfig { leave_out: Some(Omission::Annotation(annotation)), ..plain.clone() };
        assert!(transactions(&plain) == transactions(&same));
    }
}

#[test]
fn however_often_the_log_comes_round_a_line_that_held_a_state_word_holds_nothing_else() {
    for kind in [WorkloadKind::BTree, WorkloadKind::RbTree, WorkloadKind::Queue] {
        let config = config(kind, 256, 3, 600);
        let (plan, _, _) = start(&config);
        let log = plan.layouts()[0].log.clone();
        let mut marked = std::collections::BTreeSet::new();
        let mut stored = std::collections::BTreeSet::new();
        for did in transactions(&annotated(&config, None)).into_iter().flatten() {
            if let Did::Store { address, counter_atomic, .. } = did
                && log.contains(&address)
            {
                stored.insert(address / 64);
                if counter_atomic {
                    marked.insert(address / 64);
                }
            }
        }
        // One line in each slot, and a slot is as long as the largest entry.
        let slots = (log.end - log.start) / plan.log_entry_bytes();
        assert_eq!(marked.len() as u64, slots, "{kind:?}: the ring came round");
        assert!(marked.len() * 4 < stored.len(), "{kind:?}: {} of {} lines", marked.len(), stored.len());
    }
}

//! What a transaction writes if the data of the structure itself is part of its size.

use super::crash::explore;
use super::{STYLES, config, start, styled};
use crate::config::ItemMetadata;
use crate::message::{Op, OpBuffer, OpSource};
use crate::workload::{WORKLOADS, WorkloadConfig, WorkloadKind};

fn keeping(config: &WorkloadConfig, metadata: ItemMetadata) -> WorkloadConfig {
    let mut config = config.clone();
    config.program.item_metadata = metadata;
    config
}

/// The lines of the heap that each transaction flushes.
fn data_lines(config: &WorkloadConfig) -> Vec<u64> {
    let (plan, _, mut program) = start(config);
    let heap = plan.layouts()[0].heap.clone();
    let mut buffer = OpBuffer::default();
    let mut lines = Vec::new();
    while program.next_transaction(&mut buffer) {
        let flushed = buffer.ops.iter().filter(|op| matches!(op, Op::Clwb { address } if heap.contains(address)));
        lines.push(flushed.count() as u64);
        buffer.clear();
    }
    lines
}

#[test]
fn transaction_writes_the_lines_of_its_size_and_no_more() {
    for kind in [WorkloadKind::Array, WorkloadKind::Queue, WorkloadKind::Hash] {
        for size in [64, 192, 1024] {
            let config = config(kind, size, 3, 200);
            let inside = data_lines(&keeping(&config, ItemMetadata::Inside));
            assert_eq!(inside.iter().max(), Some(&(size / 64)), "{kind:?} {size}");
            // A dequeue marks its entry.
            let least = if kind == WorkloadKind::Queue { 1 } else { size / 64 };
            assert_eq!(inside.iter().min(), Some(&least), "{kind:?} {size}");
            let beside = *data_lines(&config).iter().max().unwrap();
            let more = match kind {
                WorkloadKind::Hash => 0,
                // Two entries of half the size may begin and end within lines.
                WorkloadKind::Array => u64::from(!(size / 2).is_multiple_of(64)),
                _ => 1,
            };
            assert_eq!(beside, size / 64 + more, "{kind:?} {size}");
        }
    }
}

#[test]
fn other_structures_do_not_change() {
    for workload in WORKLOADS {
        if matches!(workload.kind, WorkloadKind::Array | WorkloadKind::Queue) {
            continue;
        }
        let config = config(workload.kind, 64, 3, 60);
        let operations = |metadata| {
            let (_, _, mut program) = start(&keeping(&config, metadata));
            let mut buffer = OpBuffer::default();
            while program.next_transaction(&mut buffer) {}
            (buffer.ops, buffer.bytes)
        };
        assert!(operations(ItemMetadata::Inside) == operations(ItemMetadata::Beside), "{}", workload.name);
    }
}

#[test]
fn structures_that_keep_their_data_in_items_are_recovered() {
    for kind in [WorkloadKind::Array, WorkloadKind::Queue, WorkloadKind::Hash] {
        for (tx_size, operations, sparseness) in [(64, 300, 4), (1024, 40, 8)] {
            let mut config = keeping(&config(kind, tx_size, tx_size + 7, operations), ItemMetadata::Inside);
            config.program.log_ring.0 = 0;
            for style in STYLES {
                let tally = explore(&styled(&config, style), sparseness)
                    .unwrap_or_else(|error| panic!("{kind:?} of {tx_size} bytes, {style:?}: {error}"));
                assert!(tally.before > 0 && tally.after > 0, "{kind:?} {style:?} {tally:?}");
            }
        }
    }
}

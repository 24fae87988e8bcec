//! Where log entries begin: a page of its own for each, if the machine says so, in every form that writes a log.

use super::crash::explore;
use super::{STYLES, config, start, styled};
use crate::config::LogPlacement;
use crate::message::{Op, OpBuffer, OpSource, PAGE_BYTES, ProgramForm};
use crate::workload::{WORKLOADS, WorkloadConfig, WorkloadKind};

fn on_own_pages(mut config: WorkloadConfig) -> WorkloadConfig {
    config.program.log_placement = LogPlacement::OwnPages;
    config
}

/// The pages that each transaction's log entry takes, and whether it begins with a page.
fn entries(config: &WorkloadConfig) -> Vec<(bool, Vec<u64>)> {
    let (plan, _, mut program) = start(config);
    let log = plan.layouts()[0].log.clone();
    let mut buffer = OpBuffer::default();
    let mut entries = Vec::new();
    while program.next_transaction(&mut buffer) {
        let stores = buffer.ops.iter().filter_map(|op| match *op {
            Op::Store { address, .. } | Op::CounterAtomicStore { address, .. } => Some(address),
            _ => None,
        });
        let stores: Vec<u64> = stores.filter(|address| log.contains(address)).collect();
        let mut pages: Vec<u64> = stores.iter().map(|address| address / PAGE_BYTES).collect();
        pages.sort_unstable();
        pages.dedup();
        entries.push((stores[0].is_multiple_of(PAGE_BYTES), pages));
        buffer.clear();
    }
    entries
}

#[test]
fn an_entry_begins_with_a_page_and_shares_none_with_the_entry_before_it() {
    for workload in WORKLOADS.iter().filter(|workload| workload.has_log) {
        for tx_size in [64, 1024, 4096] {
            let mut config = on_own_pages(config(workload.kind, tx_size, 3, 60));
            // The smallest ring.
            config.program.log_ring.0 = 0;
            for style in STYLES.into_iter().filter(|style| style.0 != ProgramForm::HardwareLogged) {
                let config = styled(&config, style);
                let entries = entries(&config);
                assert!(entries.iter().all(|(begins, _)| *begins), "{} {tx_size} {style:?}", workload.name);
                for last in entries.windows(2) {
                    let mut pages: Vec<u64> = last.iter().flat_map(|(_, pages)| pages.clone()).collect();
                    let all = pages.len();
                    pages.sort_unstable();
                    pages.dedup();
                    assert_eq!(pages.len(), all, "{} {tx_size} {style:?}", workload.name);
                }
            }
        }
    }
}

#[test]
fn the_smallest_ring_has_room_for_three_of_the_largest_entries_in_whole_pages() {
    for (placement, pages) in [(LogPlacement::Packed, 1), (LogPlacement::OwnPages, 3)] {
        // Two entries of 32 bytes, which may lie in two lines: three lines of a packed entry.
        let mut config = config(WorkloadKind::Array, 64, 1, 10);
        (config.program.log_ring.0, config.program.log_placement) = (0, placement);
        let (plan, _, _) = start(&config);
        assert_eq!(plan.layouts()[0].log, 0..pages * PAGE_BYTES);
        config.program.log_ring.0 = 8 * PAGE_BYTES;
        assert_eq!(start(&config).0.layouts()[0].log, 0..8 * PAGE_BYTES);
    }
}

#[test]
fn an_entry_on_its_own_pages_is_found_wherever_power_fails() {
    for workload in WORKLOADS.iter().filter(|workload| workload.has_log) {
        for (tx_size, operations, sparseness) in [(64, 200, 4), (1024, 40, 8), (4096, 12, 40)] {
            let mut config = on_own_pages(config(workload.kind, tx_size, tx_size + 7, operations));
            config.program.log_ring.0 = 0;
            for style in STYLES {
                let tally = explore(&styled(&config, style), sparseness)
                    .unwrap_or_else(|error| panic!("{} of {tx_size} bytes, {style:?}: {error}", workload.name));
                assert!(tally.before > 0 && tally.after > 0, "{} {style:?} {tally:?}", workload.name);
                if tx_size == 64 && style.0 != ProgramForm::HardwareLogged {
                    assert!(tally.undone > 10 && tally.laps > 2, "{} {style:?} {tally:?}", workload.name);
                }
            }
        }
    }
}

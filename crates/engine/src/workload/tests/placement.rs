//! Where log entries begin, and where the memory of each core is, if the machine says other than packed.

use super::crash::explore;
use super::{STYLES, config, start, styled};
use crate::config::{BankRegions, LogPlacement};
use crate::message::{BaseImage, Op, OpBuffer, OpSource, PAGE_BYTES, ProgramForm, ProgramRecovery};
use crate::workload::{Program, Recovery, WORKLOADS, WorkloadConfig, WorkloadKind, plan};

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
fn entry_begins_with_a_page_and_shares_none_with_the_entry_before_it() {
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
fn smallest_ring_has_room_for_three_of_the_largest_entries_in_whole_pages() {
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
fn entry_on_its_own_pages_is_found_wherever_power_fails() {
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

const BANK: u64 = 1 << 20;

/// The log rings and heaps of `cores` cores on `banks` banks; or why there is no place for them in `bytes` bytes.
fn in_banks(cores: u16, banks: u64, footprint: u64, bytes: u64) -> Result<Vec<[u64; 3]>, String> {
    let mut config = config(WorkloadKind::Array, 64, 1, 10);
    config.banks = Some(BankRegions { bytes: BANK, banks, log_apart: true });
    (config.cores, config.footprint) = (cores, footprint * u64::from(cores));
    let plan = plan(&config, bytes).map_err(|error| error.0)?;
    Ok(plan.layouts().iter().map(|layout| [layout.log.start, layout.heap.start, layout.heap.end]).collect())
}

#[test]
fn cores_are_spread_over_the_banks_and_the_heap_begins_with_the_second_of_a_core() {
    let (bytes, ring, small) = (8 * BANK, 8 << 10, 16 << 10);
    assert_eq!(in_banks(1, 8, small, bytes).unwrap(), [[0, BANK, BANK + small]]);
    let pairs = [0, 3, 6].map(|bank| [bank * BANK, (bank + 1) * BANK, (bank + 1) * BANK + small]);
    assert_eq!(in_banks(3, 9, small, 9 * BANK).unwrap(), pairs);
    let uneven = in_banks(3, 8, small, bytes).unwrap();
    assert_eq!([uneven[0][0], uneven[1][0], uneven[2][0]], [0, 2 * BANK, 5 * BANK]);
    let alone = in_banks(8, 8, small, bytes).unwrap();
    assert_eq!(alone[7], [7 * BANK, 7 * BANK + ring, 7 * BANK + ring + small]);
    assert_eq!(
        in_banks(9, 8, small, bytes).unwrap_err(),
        "program.core_region = own-banks: 9 cores need a bank each, and 8 banks hold data"
    );
}

#[test]
fn heap_may_fill_the_banks_of_its_core_and_no_more() {
    // Two cores with four banks each: three for the heap.
    assert_eq!(in_banks(2, 8, 3 * BANK, 8 * BANK).unwrap()[1], [4 * BANK, 5 * BANK, 8 * BANK]);
    let more = in_banks(2, 8, 3 * BANK + 4096, 8 * BANK).unwrap_err();
    assert_eq!(
        more,
        "program.core_region = own-banks: a log ring of 8KiB and a heap of 3076KiB do not fit into the 4 banks of 1MiB \
         that each of 2 cores has"
    );
    // The last bank ends with what the device keeps for itself.
    assert!(in_banks(2, 8, 3 * BANK, 8 * BANK - 4096).unwrap_err().contains("do not fit into the 4 banks"));
    // One bank for each: the heap follows the ring.
    assert!(in_banks(2, 2, BANK - (8 << 10), 2 * BANK).is_ok());
    assert!(in_banks(2, 2, BANK - (4 << 10), 2 * BANK).is_err());
}

#[test]
fn programs_in_their_own_banks_do_what_programs_do() {
    for workload in WORKLOADS {
        let mut config = config(workload.kind, 256, 5, 60);
        (config.cores, config.footprint) = (3, 96 << 10);
        config.banks = Some(BankRegions { bytes: 64 * BANK, banks: 7, log_apart: true });
        let (plan, base, _) = start(&config);
        let recovery = Recovery::new(&plan);
        assert_eq!(base.end(), plan.layouts()[2].heap.end);
        assert!(base.bytes().len() < 16 << 20, "{}: what lies between takes no memory", workload.name);
        for layout in plan.layouts() {
            let mut program = Program::new(&plan, base.clone(), layout.core);
            let mut buffer = OpBuffer::default();
            while program.next_transaction(&mut buffer) {
                recovery.check(layout.core, program.memory()).unwrap();
                buffer.clear();
            }
        }
        let packed = WorkloadConfig { banks: None, ..config.clone() };
        assert_ne!(start(&packed).0.base_key(), plan.base_key(), "{}: other addresses", workload.name);
    }
}

#[test]
fn log_and_heap_of_a_core_may_share_its_banks() {
    let mut config = config(WorkloadKind::Array, 64, 1, 10);
    (config.cores, config.footprint) = (2, 2 * (16 << 10));
    config.banks = Some(BankRegions { bytes: BANK, banks: 8, log_apart: false });
    let (plan, _, _) = start(&config);
    let at: Vec<[u64; 2]> = plan.layouts().iter().map(|layout| [layout.log.start, layout.heap.start]).collect();
    assert_eq!(at, [[0, 8 << 10], [4 * BANK, 4 * BANK + (8 << 10)]]);
    config.cores = 9;
    config.footprint = 9 * (16 << 10);
    let error = crate::workload::plan(&config, 8 * BANK).err().unwrap().0;
    assert!(error.starts_with("program.core_region = own-banks-contiguous: 9 cores need a bank each"), "{error}");
}

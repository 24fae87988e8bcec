//! Plans, bad input, determinism and footprints.

use super::populated;
use super::{DEVICE, STYLES, config, start, styled};
use crate::message::{BaseImage, ByteView, Line, OpBuffer, OpSource, PAGE_BYTES, ProgramRecovery};
use crate::workload::memory::BLOCK_BYTES;
use crate::workload::{Program, Recovery, WORKLOADS, WorkloadConfig, WorkloadKind, find, plan};
use std::sync::Arc;

#[test]
fn every_workload_is_found_by_its_name() {
    for workload in WORKLOADS {
        assert_eq!(find(workload.name), Some(workload));
    }
    assert_eq!(find("heap"), None);
}

#[test]
fn bad_input_gets_a_sentence() {
    let good = config(WorkloadKind::BTree, 64, 1, 10);
    type Change = fn(&mut WorkloadConfig);
    let cases: [(Change, &str); 11] = [
        (|c| c.tx_size = 0, "transaction size 0"),
        (|c| c.tx_size = 100, "transaction size 100"),
        (|c| c.tx_size = 65_600, "transaction size 65600"),
        (|c| c.cores = 0, "cores must be at least 1"),
        (|c| c.footprint = 0, "too small"),
        (|c| c.footprint = 4095, "at least 4KiB"),
        (|c| c.footprint = u64::MAX, "larger than the 1GiB"),
        (|c| c.operations_per_core = u64::MAX, "more than the 1GiB"),
        (|c| c.operations_per_core = 1 << 30, "more than the 1GiB"),
        (|c| c.program.copy_bytes = 12, "copy_bytes must be"),
        (|c| c.program.log_ring.0 = u64::MAX, "log_ring"),
    ];
    for (change, expected) in cases {
        let mut bad = good.clone();
        change(&mut bad);
        let error = plan(&bad, DEVICE).err().map(|error| error.0).unwrap_or_default();
        assert!(error.contains(expected), "'{error}' does not say '{expected}'");
    }
}

#[test]
fn smallest_footprint_works_for_every_workload_and_size() {
    for workload in WORKLOADS {
        for tx_size in [64, 192, 1024, 4096, 65_536] {
            let mut config = config(workload.kind, tx_size, 3, 30);
            config.footprint = (8 * tx_size).next_multiple_of(PAGE_BYTES);
            for style in STYLES {
                let (plan, _, mut program) = start(&styled(&config, style));
                let recovery = Recovery::new(&plan);
                let mut buffer = OpBuffer::default();
                while program.next_transaction(&mut buffer) {
                    recovery
                        .check(0, program.memory())
                        .unwrap_or_else(|error| panic!("{} {tx_size}: {error}", workload.name));
                    buffer.clear();
                }
            }
        }
    }
}

#[test]
fn cores_have_disjoint_page_aligned_memory_and_different_contents() {
    for workload in WORKLOADS {
        let mut config = config(workload.kind, 64, 5, 20);
        config.cores = 3;
        config.footprint = 256 << 10;
        let plan = plan(&config, DEVICE).unwrap();
        let base = Arc::new(populated(&plan));
        let recovery = Recovery::new(&plan);
        let mut end = 0;
        let mut first_ops = Vec::new();
        for layout in plan.layouts() {
            assert_eq!(layout.log.is_empty(), !workload.has_log);
            assert!(layout.log.start == end && layout.log.end == layout.heap.start);
            assert!([layout.log.start, layout.heap.start, layout.heap.end].iter().all(|at| at % PAGE_BYTES == 0));
            assert!((layout.log.start / 64..layout.log.end / 64).all(|line| !base.populated(Line(line))));
            end = layout.heap.end;
            let mut program = Program::new(&plan, base.clone(), layout.core);
            let mut buffer = OpBuffer::default();
            assert!(program.next_transaction(&mut buffer));
            recovery.check(layout.core, program.memory()).unwrap();
            first_ops.push(buffer.bytes);
        }
        assert_eq!(base.end(), end);
        assert_ne!(first_ops[0], first_ops[1], "{}", workload.name);
        let populated: u64 = base.extents().map(|extent| extent.end - extent.start).sum();
        let share = if workload.kind == WorkloadKind::Queue { config.footprint / 2 } else { config.footprint };
        assert!((share * 8 / 10..=share * 11 / 10).contains(&populated), "{} populated {populated}", workload.name);
    }
}

#[test]
fn populating_does_not_depend_on_threads_and_plans_with_equal_keys_have_equal_bases() {
    for workload in WORKLOADS {
        let mut config = config(workload.kind, 256, 9, 200);
        config.footprint = 3 << 20;
        let first = plan(&config, DEVICE).unwrap();
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| populated(&first))
        };
        let (one, three) = (on(1), on(3));
        assert!(one.bytes() == three.bytes(), "{}", workload.name);

        config.operations_per_core = 100;
        let second = plan(&config, DEVICE).unwrap();
        assert_eq!(first.base_key(), second.base_key());
        assert!(populated(&second).bytes() == one.bytes());
        config.seed += 1;
        let third = plan(&config, DEVICE).unwrap();
        assert_ne!(first.base_key(), third.base_key());
        assert!(populated(&third).bytes() != one.bytes());
    }
}

#[test]
fn every_style_starts_from_the_same_memory() {
    for workload in WORKLOADS {
        for tx_size in [64, 4096, 65_536] {
            let config = config(workload.kind, tx_size, 6, 20);
            let first = plan(&config, DEVICE).unwrap();
            for style in STYLES {
                let other = plan(&styled(&config, style), DEVICE).unwrap();
                assert_eq!(first.base_key(), other.base_key());
                assert_eq!(first.layouts(), other.layouts());
            }
        }
    }
}

#[test]
fn only_written_blocks_are_copied() {
    let mut config = config(WorkloadKind::Array, 64, 2, 10);
    config.footprint = 16 << 20;
    let (_, _, mut program) = start(&config);
    assert_eq!(program.memory().private_bytes(), 0);
    let mut buffer = OpBuffer::default();
    while program.next_transaction(&mut buffer) {}
    // Ten swaps write at most twenty blocks of the array, and two of the log.
    assert!(program.memory().private_bytes() <= 22 * BLOCK_BYTES);
    assert_ne!(program.memory().read_u64(8), 0);
}

#[test]
fn check_survives_garbage_everywhere() {
    for workload in WORKLOADS {
        let config = config(workload.kind, 64, 4, 10);
        let (plan, _, mut program) = start(&config);
        let recovery = Recovery::new(&plan);
        let layout = &plan.layouts()[0];
        let mut random = crate::kernel::Random::stream(1, "garbage");
        for address in (layout.log.start..layout.heap.end).step_by(8) {
            // Words that look like pointers into the heap have more effect than random ones.
            let pointer = layout.heap.start + random.below(layout.heap.end - layout.heap.start) / 64 * 64;
            let word = if random.below(2) == 0 { pointer } else { random.next_u64() };
            program.memory().write_u64(address, word);
        }
        recovery.recover(0, program.memory());
        assert!(recovery.check(0, program.memory()).is_err(), "{}", workload.name);
    }
}

//! A program's view of its memory, beside the same bytes in one vector.

use super::{DEVICE, config, populated};
use crate::message::PAGE_BYTES;
use crate::workload::memory::{BLOCK_BYTES, Memory};
use crate::workload::{WorkloadKind, plan};
use proptest::prelude::*;
use std::sync::Arc;

const BYTES: u64 = 8 * PAGE_BYTES;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Accesses of up to three blocks, which begin anywhere.
    #[test]
    fn what_is_read_is_what_was_written_last(accesses in prop::collection::vec(
        (0..BYTES - 3 * BLOCK_BYTES, 1..3 * BLOCK_BYTES as usize, any::<Option<u8>>()),
        1..200,
    )) {
        let plan = plan(&config(WorkloadKind::Queue, 1024, 3, 10), DEVICE).unwrap();
        let base = Arc::new(populated(&plan));
        let start = plan.layouts()[0].log.start;
        let mut memory = Memory::new(base.clone(), start..start + BYTES);
        let mut flat = vec![0; BYTES as usize];
        Memory::new(base, start..start + BYTES).copy_out(start, &mut flat);
        let first = flat.clone();
        let mut blocks = std::collections::BTreeSet::new();
        for (offset, length, written) in accesses {
            let (address, place) = (start + offset, offset as usize..offset as usize + length);
            if let Some(byte) = written {
                memory.copy_in(address, &vec![byte; length]);
                flat[place].fill(byte);
                blocks.extend(offset / BLOCK_BYTES..=(offset + length as u64 - 1) / BLOCK_BYTES);
            } else {
                let mut read = vec![0; length];
                memory.copy_out(address, &mut read);
                prop_assert_eq!(&read, &flat[place]);
            }
        }
        let mut all = vec![0; BYTES as usize];
        memory.copy_out(start, &mut all);
        prop_assert!(all == flat);
        prop_assert_eq!(memory.private_bytes(), blocks.len() as u64 * BLOCK_BYTES);
        prop_assert!(first.iter().any(|byte| *byte != 0), "the base has something to copy");
    }
}

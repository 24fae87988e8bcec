//! The annotated and the hardware-logged form of a log: its own operations, and the counters of what it flushed before
//! each fence.

use super::super::tests::*;
use super::Did::{Begin, End, Fence, Flush, Store, WriteBackCounters};
use crate::trace::counter_writebacks::BLOCKS_MAX;

const FILE: &str = "|REGISTER_FILE;pool;0x100000;0x10000000;0x0";

fn annotated(records: &str) -> Vec<Did> {
    let log = log(&format!("{FILE}{records}"));
    let forms = [ProgramForm::Annotated, ProgramForm::HardwareLogged].map(|form| operations_in(&open(&log), form));
    assert!(forms[0] == forms[1], "the program keeps its own log in either form");
    forms.into_iter().next().expect("two of them")
}

#[test]
fn every_block_flushed_since_the_last_fence_is_written_back_once_before_the_next() {
    let records = "|STORE;0x100400;0x1;0x1|FLUSH;0x100400;0x1|FLUSH;0x1001c0;0x80|FLUSH;0x100440;0x40|FENCE\
                   |FENCE|FLUSH;0x100400;0x1|FENCE|FLUSH;0x100000;0x1";
    let wanted = [
        Store(0x400, vec![1]),
        Flush(0x400),
        Flush(0x1c0),
        Flush(0x200),
        Flush(0x440),
        WriteBackCounters(0),
        WriteBackCounters(0x200),
        WriteBackCounters(0x400),
        Fence,
        Fence,
        Flush(0x400),
        WriteBackCounters(0x400),
        Fence,
        Flush(0),
    ];
    assert_eq!(annotated(records), wanted);
}

#[test]
fn deep_flush_and_a_commit_keep_their_order() {
    let records = "|pmemobj_tx_alloc.BEGIN|FLUSH;0x100800;0x1|DEEP_SYNC;0x100000;0x40|pmemobj_tx_commit.END";
    let wanted = [Begin, Flush(0x800), Flush(0), WriteBackCounters(0), WriteBackCounters(0x800), Fence, End];
    // A file whose lines the device does not have is not flushed, and has no counters.
    assert_eq!(annotated(&format!("{records}|FLUSH;0x10;0x40")), wanted);
}

#[test]
fn annotations_are_all_that_the_form_adds_however_long_a_stretch_is() {
    // More blocks than are kept, flushed twice: once in one piece, once out of order in many.
    let blocks = BLOCKS_MAX as u64 + 1000;
    let mut records = format!("|FLUSH;0x100000;{:#x}", blocks * 512);
    for block in (0..blocks).rev() {
        records += &format!("|FLUSH;{:#x};0x1", 0x100000 + block * 512);
    }
    records += "|FENCE";
    let all = annotated(&records);
    let plain = operations(&open(&log(&format!("{FILE}{records}"))));
    let is_added = |did: &&Did| matches!(did, WriteBackCounters(_));
    assert!(all.iter().filter(|did| !is_added(did)).eq(&plain));
    let added = all.iter().filter(is_added).count() as u64;
    assert!((blocks..=2 * blocks).contains(&added), "{added} for {blocks} blocks");
    // After the last flush of a block comes its write-back, before the fence.
    let mut due = std::collections::BTreeSet::new();
    for did in &all {
        match did {
            Flush(address) => drop(due.insert(address & !511)),
            WriteBackCounters(address) => assert!(due.remove(address), "a write-back without a flush"),
            _ => assert!(due.is_empty()),
        }
    }
}

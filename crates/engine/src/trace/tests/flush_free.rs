//! The flush-free form of a log: everything that it does except its flushes.

use super::super::tests::*;
use super::Did::{Begin, End, Fence, Flush, Store};

const FILE: &str = "|REGISTER_FILE;pool;0x100000;0x10000000;0x0";

#[test]
fn flushes_are_left_out_and_a_deep_flush_is_a_fence() {
    let records = "|STORE;0x100400;0x1;0x1|FLUSH;0x100400;0x1|FENCE|pmemobj_tx_alloc.BEGIN|STORE;0x100440;0x2;0x1\
                   |DEEP_SYNC;0x100000;0x8000|FLUSH;0x100440;0x40|pmemobj_tx_commit.END|FLUSH;0x100000;0x1000|FENCE";
    let log = log(&format!("{FILE}{records}"));
    let all = operations_in(&open(&log), ProgramForm::FlushFree);
    let wanted = [Store(0x400, vec![1]), Fence, Begin, Store(0x440, vec![2]), Fence, End, Fence];
    assert_eq!(all, wanted);
    let mut plain = operations(&open(&log));
    assert!(plain.len() > 512, "a flush of 32 KiB is one of 512 lines");
    plain.retain(|did| !matches!(did, Flush(_)));
    assert_eq!(all, plain);
}

//! Any bytes at all, as a store log: the reader must refuse them with a sentence or make a program of them, whose
//! pieces stay bounded. Run it with `cargo +nightly fuzz run pmemcheck` in `crates/engine`, for instance with
//! `tests/data` as a corpus.

#![no_main]

use counterpoint_engine::message::{OpBuffer, OpSource, ProgramForm};
use counterpoint_engine::workload::trace::{OPS_PER_FILL, Trace};
use libfuzzer_sys::fuzz_target;

/// A single flush may name 2^42 lines; the rest of such a program teaches nothing.
const FILLS_MAX: usize = 64;

fuzz_target!(|bytes: &[u8]| {
    let strict = Trace::from_bytes("fuzz", bytes, false);
    let Ok(trace) = Trace::from_bytes("fuzz", bytes, true) else {
        assert!(strict.is_err(), "what is accepted whole is accepted when it may be cut off");
        return;
    };
    assert_eq!(strict.is_ok(), trace.summary().cut_off.is_none());
    let mut program = trace.program(ProgramForm::Annotated).expect("bytes in memory open again");
    let mut buffer = OpBuffer::default();
    for _ in 0..FILLS_MAX {
        if !program.next_transaction(&mut buffer) {
            break;
        }
        assert!(buffer.ops.len() <= OPS_PER_FILL);
        buffer.clear();
    }
    assert!(trace.failure().is_none(), "the second pass sees what the first saw");
});

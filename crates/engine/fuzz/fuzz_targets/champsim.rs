//! Any bytes at all, as instructions of ChampSim. Run it with `cargo +nightly fuzz run champsim` in `crates/engine`.

#![no_main]

use counterpoint_engine::message::{OpBuffer, OpSource, ProgramForm};
use counterpoint_engine::workload::trace::{OPS_PER_FILL, Trace};
use libfuzzer_sys::fuzz_target;

/// Bytes of an instruction.
const RECORD: usize = 64;

fuzz_target!(|bytes: &[u8]| {
    let mut plausible = bytes.to_vec();
    // Pointers that are not zero, flags and addresses that can be: the format is told by them.
    for record in plausible.chunks_exact_mut(RECORD) {
        record[0] |= 1;
        record[8] &= 1;
        record[9] &= 1;
        for word in [0, 16, 24, 32, 40, 48, 56] {
            record[word + 7] = 0;
        }
    }
    for input in [bytes, &plausible] {
        let Ok(trace) = Trace::from_bytes("fuzz", input, true) else { continue };
        let mut program = trace.program(ProgramForm::Plain).expect("bytes in memory open again");
        let mut buffer = OpBuffer::default();
        while program.next_transaction(&mut buffer) {
            assert!(buffer.ops.len() <= OPS_PER_FILL);
            buffer.clear();
        }
        assert!(trace.failure().is_none(), "the second pass sees what the first saw");
    }
});

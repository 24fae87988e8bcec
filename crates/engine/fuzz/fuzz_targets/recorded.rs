//! Any bytes at all, as a recorded trace: the reader must refuse them with a sentence or make a program of them, whose
//! pieces stay bounded; what can be recorded must read back the same. Run it with `cargo +nightly fuzz run recorded` in
//! `crates/engine`.

#![no_main]

use counterpoint_engine::message::{OpBuffer, OpSource, ProgramForm};
use counterpoint_engine::workload::trace::recorded::{RecordReader, RecordedRecord, RecordedStep};
use counterpoint_engine::workload::trace::{OPS_PER_FILL, Trace};
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

/// A stretch of instructions may be 2^64 long; the rest of such a program teaches nothing.
const FILLS_MAX: usize = 64;
/// Most inputs get past the magic and the first SYNC.
const HEAD: &[u8] = b"CPTRACE\x01\x01\x00\x00\x00\x02\x00\x01p\x03\x80\x80\x04\x80\x80\x04\x00\x00";

fuzz_target!(|bytes: &[u8]| {
    replay(bytes);
    let whole = [HEAD, bytes].concat();
    replay(&whole);
    read(&whole);
});

fn replay(bytes: &[u8]) {
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
}

/// Records lie one behind the other, up to where the stream is good.
fn read(bytes: &[u8]) {
    let mut reader = RecordReader::new("fuzz", Cursor::new(bytes.to_vec()));
    let mut at = 8;
    while let Ok(RecordedStep::Record(record)) = reader.next_step() {
        let is_end = matches!(record, RecordedRecord::End { .. });
        assert_eq!(reader.offset(), at);
        assert_eq!(reader.raw(), &bytes[at as usize..at as usize + reader.raw().len()]);
        at += reader.raw().len() as u64;
        if is_end {
            break;
        }
    }
}

//! Any text at all, as a trace of memory lines of NVMain, DRAMsim3 or Ramulator. Run it with `cargo +nightly fuzz run lines` in
//! `crates/engine`.

#![no_main]

use counterpoint_engine::workload::trace::lines::LineTrace;
use libfuzzer_sys::fuzz_target;

/// First lines that decide the format.
const HEADS: [&[u8]; 5] = [b"", b"1 R 0x40 0 0\n", b"NVMV1\n1 R 0x40 0 0 0\n", b"0x40 READ 1\n", b"LD 0x40\n"];

fuzz_target!(|bytes: &[u8]| {
    for head in HEADS {
        let Ok(Some(trace)) = LineTrace::from_bytes("fuzz", [head, bytes].concat()) else { continue };
        let mut reader = trace.reader().expect("bytes in memory open again");
        let mut cycle = None;
        while let Ok(Some(access)) = reader.next_access() {
            assert!(access.cycle >= cycle, "cycles never go back");
            assert!(access.write || access.bytes.is_none(), "a read has no data");
            cycle = access.cycle;
        }
    }
});

//! Arbitrary text as a trace of memory lines of NVMain, Prospero, DRAMSim2, DRAMsim3 or Ramulator. The first byte selects
//! the first line, which decides the format.

#![no_main]

use counterpoint_fuzz::replay_lines;
use libfuzzer_sys::fuzz_target;

const HEADS: [&[u8]; 8] = [
    b"",
    b"1 R 0x40 0 0\n",
    b"NVMV0\n1 R 0x40 0 0\n",
    b"NVMV1\n1 R 0x40 0 0 0\n",
    b"0x40 READ 1\n",
    b"LD 0x40\n",
    b"1 R 64 8\n",
    b"0x40 P_FETCH 1\n",
];

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, text)) = bytes.split_first() else { return };
    let head = HEADS[usize::from(*choice) % HEADS.len()];
    replay_lines(&[head, text].concat(), "secpm");
});

//! Arbitrary bytes after the magic number of a compression that the first byte selects: tests the decoders, and every
//! format that comes out of them.

#![no_main]

use counterpoint_engine::message::ProgramForm;
use counterpoint_fuzz::{replay, replay_lines};
use libfuzzer_sys::fuzz_target;

const MAGICS: [&[u8]; 5] = [b"", b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08", b"\xfd7zXZ\x00", b"BZh9"];

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    let whole = [MAGICS[usize::from(*choice) % MAGICS.len()], bytes].concat();
    replay(&whole, ProgramForm::Plain);
    replay_lines(&whole, "secpm");
});

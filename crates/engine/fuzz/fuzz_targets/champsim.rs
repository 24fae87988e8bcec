//! Arbitrary bytes as instructions of ChampSim.

#![no_main]

use counterpoint_engine::message::ProgramForm;
use counterpoint_fuzz::replay;
use libfuzzer_sys::fuzz_target;

/// Bytes of an instruction.
const RECORD: usize = 64;

fuzz_target!(|bytes: &[u8]| {
    let mut plausible = bytes.to_vec();
    // Pointers that are not zero, and possible flags and addresses: they determine the format.
    for record in plausible.chunks_exact_mut(RECORD) {
        record[0] |= 1;
        record[8] &= 1;
        record[9] &= 1;
        for word in [0, 16, 24, 32, 40, 48, 56] {
            record[word + 7] = 0;
        }
    }
    replay(bytes, ProgramForm::Plain);
    replay(&plausible, ProgramForm::FlushFree);
});

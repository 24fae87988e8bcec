//! Arbitrary bytes as a trace: the format is detected from the content, always the same, and its own reader decides.

#![no_main]

use counterpoint_engine::message::ProgramForm;
use counterpoint_engine::trace::Trace;
use counterpoint_engine::trace::lines::LineTrace;
use counterpoint_fuzz::{is_sentence, replay, replay_lines};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match LineTrace::from_bytes("fuzz", bytes) {
        Ok(Some(_)) => {
            assert!(Trace::from_bytes("fuzz", bytes, true).is_err(), "memory lines are no program");
            replay_lines(bytes, "secpm");
        }
        Ok(None) => replay(bytes, ProgramForm::HardwareLogged),
        Err(error) => {
            is_sentence(&error);
            assert!(Trace::from_bytes("fuzz", bytes, true).is_err(), "what is no trace is no program");
        }
    }
});

//! Arbitrary bytes as a store log of pmemcheck: the reader must refuse them with a sentence or make a program of them,
//! whose pieces stay bounded.

#![no_main]

use counterpoint_engine::message::ProgramForm;
use counterpoint_fuzz::replay;
use libfuzzer_sys::fuzz_target;

/// Lets most inputs get past START and have a mapped file.
const HEAD: &[u8] = b"==1== START|REGISTER_FILE;p;0x10000;0x10000;0x0|";
/// Lets most inputs be in a stack.
const STACK: &[u8] = b"STORE;0x10040;0x1;0x8;0x109A3F: f (a.c:1)";

fuzz_target!(|bytes: &[u8]| {
    replay(bytes, ProgramForm::Annotated);
    replay(&[HEAD, bytes].concat(), ProgramForm::Annotated);
    replay(&[HEAD, STACK, bytes].concat(), ProgramForm::Annotated);
});

//! Arbitrary bytes as a recorded trace: the reader must refuse them with a sentence or make a program of them, whose
//! pieces stay bounded. Records must follow one another without gaps.

#![no_main]

use counterpoint_engine::message::ProgramForm;
use counterpoint_engine::trace::recorded::{RecordReader, RecordedRecord, RecordedStep};
use counterpoint_fuzz::{is_sentence, replay};
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

/// Lets most inputs get past the magic number and the first SYNC, and have a mapped file.
const HEAD: &[u8] = b"CPTRACE\x01\x01\x00\x00\x00\x02\x00\x01p\x03\x80\x80\x04\x80\x80\x04\x00\x00";

fuzz_target!(|bytes: &[u8]| {
    replay(bytes, ProgramForm::Annotated);
    let whole = [HEAD, bytes].concat();
    replay(&whole, ProgramForm::Annotated);
    read(&whole);
});

/// Checks that records follow one another without gaps, up to the end of the valid part.
fn read(bytes: &[u8]) {
    let mut reader = RecordReader::new("fuzz", Cursor::new(bytes.to_vec()));
    let mut at = 8;
    loop {
        match reader.next_step() {
            Ok(RecordedStep::Record(record)) => {
                let is_end = matches!(record, RecordedRecord::End { .. });
                assert_eq!(reader.offset(), at);
                assert_eq!(reader.raw(), &bytes[at as usize..at as usize + reader.raw().len()]);
                at += reader.raw().len() as u64;
                if is_end {
                    return;
                }
            }
            Ok(RecordedStep::CutOff) => return,
            Err(error) => return is_sentence(&error),
        }
    }
}

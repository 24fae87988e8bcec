//! A trace file opened in the middle: arbitrary bytes as the file, and arbitrary bytes as the table of frames after
//! valid frames. What can be recorded must read back the same.

#![no_main]

use counterpoint_engine::message::ProgramForm;
use counterpoint_engine::trace::recorded::{RecordReader, RecordedStep, SeekableTrace};
use counterpoint_engine::trace::{Trace, write_trace};
use counterpoint_fuzz::{file, is_sentence, replay};
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;
use std::sync::Arc;

/// A stream that has not ended.
const STREAM: &[u8] = b"CPTRACE\x01\x01\x00\x00\x00\x02\x00\x01p\x03\x80\x80\x04\x80\x80\x04\x00\x00";
/// The first bytes of a skippable frame with a table, and the last bytes of its footer.
const TABLE_MAGIC: [u8; 4] = 0x184d_2a5eu32.to_le_bytes();
const FOOTER_MAGIC: [u8; 4] = 0x8f92_eab1u32.to_le_bytes();
/// The most frames and records that are checked.
const FRAMES_MAX: u32 = 8;
const RECORDS_MAX: usize = 1000;

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, bytes)) = bytes.split_first() else { return };
    match choice % 3 {
        0 => {
            replay(bytes, ProgramForm::Plain);
            seek(bytes);
        }
        1 => seek(&[&frame(STREAM), &TABLE_MAGIC[..], &size(bytes), bytes].concat()),
        _ => {
            let frames = [frame(STREAM), frame(&[1, 3, 0, 0])].concat();
            let entries = bytes.len() as u32 / 8;
            let footer = [&entries.to_le_bytes()[..], &[choice & 0x80], &FOOTER_MAGIC].concat();
            let size = (bytes.len() as u32 + footer.len() as u32).to_le_bytes();
            seek(&[&frames, &TABLE_MAGIC[..], &size, bytes, &footer].concat());
        }
    }
    record(bytes);
});

/// `content` as one frame whose only block is not compressed.
fn frame(content: &[u8]) -> Vec<u8> {
    let length = content.len() as u32;
    let block = (length << 3 | 1).to_le_bytes();
    [&[0x28, 0xb5, 0x2f, 0xfd, 0x20, length as u8], &block[..3], content].concat()
}

fn size(bytes: &[u8]) -> [u8; 4] {
    (bytes.len() as u32).to_le_bytes()
}

/// Reads from the first frames.
fn seek(bytes: &[u8]) {
    let trace = match SeekableTrace::open(file(bytes, ".cptrace")) {
        Ok(trace) => trace,
        Err(error) => return is_sentence(&error),
    };
    let readers = (0..trace.frames().min(FRAMES_MAX)).map(|frame| trace.reader(frame));
    for reader in readers.chain([trace.reader(trace.frames()), trace.reader_before(3)]) {
        match reader {
            Ok(reader) => read(reader),
            Err(error) => is_sentence(&error),
        }
    }
}

fn read(reader: RecordReader) {
    let mut reader = reader;
    for _ in 0..RECORDS_MAX {
        match reader.next_step() {
            Ok(RecordedStep::Record(_)) => {}
            Ok(RecordedStep::CutOff) => return,
            Err(error) => return is_sentence(&error),
        }
    }
}

/// Writes `bytes` as records that a recorder sends.
fn record(bytes: &[u8]) {
    let stream = [STREAM, bytes].concat();
    let path = file(b"", ".cptrace");
    match write_trace("fuzz", Cursor::new(stream.clone()), path) {
        Ok(written) => {
            SeekableTrace::open(path).expect("it has a table");
            match Trace::open(path, false, &Arc::default()) {
                Ok(trace) => {
                    assert_eq!(trace.summary().records, written.records);
                    assert_eq!(trace.summary().stores, written.stores);
                }
                // A program may map more memory than a device has addresses for.
                Err(error) => assert!(error.to_string().contains(" bytes together: "), "{error}"),
            }
        }
        Err(error) => {
            is_sentence(&error);
            assert!(Trace::from_bytes("fuzz", stream, true).is_err(), "what can be replayed can be written");
        }
    }
}

//! From a stream to a file and back, and a file opened in the middle.

use super::super::record::STATUS_UNKNOWN;
use super::super::tests::*;
use super::super::write::FRAME_BYTES;
use super::super::{RecordReader, RecordedRecord, RecordedStep, SeekableTrace, write_trace};
use super::build::{BASE, SIZE};
use std::io::{Cursor, Read};
use std::path::PathBuf;
use std::sync::Arc;

/// A path in a temporary folder, which is removed when this is dropped.
struct Place(PathBuf, tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Place(folder.path().join("out.cptrace"), folder)
    }

    /// How many files are in the folder.
    fn files(&self) -> usize {
        std::fs::read_dir(self.1.path()).unwrap().count()
    }
}

/// A stream with about five frames of records, of several threads.
fn long() -> Stream {
    let mut stream = Stream::with_file();
    let mut begun = stream.bytes.len();
    for n in 0..9_000u64 {
        let mut data = [n as u8; 600];
        data[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
        stream = stream.store(0x19, n % 3, 0x400000 + n, BASE + n * 97 % (SIZE - 600), &data);
        if stream.bytes.len() - begun > FRAME_BYTES as usize {
            begun = stream.bytes.len();
            stream = stream.sync(n % 5).file(0, b"pool").map(BASE, SIZE, 0, 0);
        }
    }
    stream.flush(0x14, 0, 0, BASE).fence(0x17, 0, 0)
}

#[test]
fn stream_becomes_a_file_that_unpacks_to_it() {
    let place = Place::new();
    let bytes = long().end(7);
    let written = write_trace("pipe", Cursor::new(bytes.clone()), &place.0).unwrap();
    assert_eq!((written.stores, written.bytes, written.flushes, written.fences), (9_000, 9_000 * 600, 1, 1));
    assert_eq!((written.status, written.complete), (7, true));
    assert_eq!(written.paths, ["pool"]);
    assert_eq!(written.stream_bytes, bytes.len() as u64);
    let file = std::fs::read(&place.0).unwrap();
    assert_eq!(written.file_bytes, file.len() as u64);
    assert!(file.len() < bytes.len() / 4);
    let mut unpacked = Vec::new();
    zstd::stream::read::Decoder::new(&file[..]).unwrap().read_to_end(&mut unpacked).unwrap();
    assert!(unpacked == bytes);
    let trace = Trace::open(&place.0, false, &Arc::default()).unwrap();
    let summary = trace.summary();
    assert_eq!((summary.records, summary.instructions), (written.records, written.instructions));
    assert_eq!((summary.threads, summary.status), (written.threads, Some(7)));
    assert!(operations(&trace, ProgramForm::Plain) == operations(&open(bytes), ProgramForm::Plain));
    assert_eq!(place.files(), 1);
}

/// The rest of what `reader` reads, as text that contains everything in a record.
fn rest(mut reader: RecordReader) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        match reader.next_step().unwrap() {
            RecordedStep::Record(record) => {
                all.push(format!("{record:?}"));
                if let RecordedRecord::End { .. } = record {
                    return all;
                }
            }
            RecordedStep::CutOff => panic!("the file is whole"),
        }
    }
}

#[test]
fn file_is_read_from_the_middle() {
    let place = Place::new();
    let bytes = long().end(0);
    let written = write_trace("pipe", Cursor::new(bytes.clone()), &place.0).unwrap();
    let all = rest(RecordReader::new("all", Cursor::new(bytes)));
    assert_eq!(all.len() as u64, written.records + 1);
    let trace = SeekableTrace::open(&place.0).unwrap();
    assert_eq!(trace.frames(), 6);
    let mut begins = Vec::new();
    for frame in 0..trace.frames() {
        let mut reader = trace.reader(frame).unwrap();
        let RecordedStep::Record(RecordedRecord::Sync { records, .. }) = reader.next_step().unwrap() else {
            panic!("frame {frame} does not begin with a SYNC");
        };
        assert_eq!(reader.records(), records + 1);
        begins.push(records);
        assert!(rest(trace.reader(frame).unwrap()) == all[records as usize..]);
    }
    assert!(begins[0] == 0 && begins.is_sorted_by(|a, b| a < b));
    for (records, begin) in [(0, 0), (begins[1] - 1, 0), (begins[1], 1), (begins[4] + 1, 4), (u64::MAX, 5)] {
        let mut reader = trace.reader_before(records).unwrap();
        reader.next_step().unwrap();
        assert_eq!(reader.records(), begins[begin] + 1, "before {records}");
    }
}

#[test]
fn program_that_is_killed_leaves_a_file_all_the_same() {
    let place = Place::new();
    let stream = Stream::with_file().store(0x11, 4, 0, BASE, &[1]).store(0x11, 0, 0, BASE, &[2]);
    let good = stream.starts[4];
    let written = write_trace("pipe", Cursor::new(stream.bytes[..good + 3].to_vec()), &place.0).unwrap();
    assert_eq!((written.complete, written.status, written.records, written.stores), (false, STATUS_UNKNOWN, 4, 1));
    let trace = Trace::open(&place.0, false, &Arc::default()).unwrap();
    assert_eq!(trace.summary().status, Some(STATUS_UNKNOWN));
    assert_eq!(operations(&trace, ProgramForm::Plain), [Did::Compute(4), Did::Store(0, vec![1])]);
}

#[test]
fn what_cannot_be_recorded_leaves_no_file() {
    let place = Place::new();
    let refused = |bytes: Vec<u8>| {
        let error = write_trace("pipe", Cursor::new(bytes), &place.0).unwrap_err().to_string();
        assert_eq!(place.files(), 0);
        error
    };
    assert_eq!(refused(Vec::new()), "pipe: nothing was recorded: expected a stream that begins with CPTRACE and SYNC");
    let message = refused(Stream::new().store(0x11, 0, 0, 0x50, &[1]).end(0));
    assert!(message.starts_with("pipe: record 2 at byte 12: expected an access to a mapped file, found "), "{message}");
    let mut wide = Stream::with_file();
    for n in 0..140 {
        wide = wide.store(0x19, 0, n, BASE, &[n as u8; 65536]);
    }
    let message = refused(wide.end(0));
    assert!(message.contains("expected a SYNC no more than 8 MiB after the one before"), "{message}");
    let nowhere = place.0.join("file");
    let message = write_trace("pipe", Cursor::new(Stream::new().end(0)), &nowhere).unwrap_err().to_string();
    assert!(message.contains("the trace cannot be written: "), "{message}");
}

#[test]
fn two_recordings_to_one_file_at_once_leave_one_of_them_whole() {
    let place = Place::new();
    let (reader, mut slow) = std::io::pipe().unwrap();
    let stream = long().end(3);
    let (first, rest) = stream.split_at(stream.len() / 2);
    let path = place.0.clone();
    let recording = std::thread::spawn(move || write_trace("slow", reader, &path).unwrap());
    std::io::Write::write_all(&mut slow, first).unwrap();
    let quick = Stream::with_file().store(0x11, 4, 0, BASE, &[1]).end(5);
    assert_eq!(write_trace("quick", Cursor::new(quick), &place.0).unwrap().status, 5);
    assert_eq!(Trace::open(&place.0, false, &Arc::default()).unwrap().summary().status, Some(5));
    std::io::Write::write_all(&mut slow, rest).unwrap();
    let written = recording.join().unwrap();
    let trace = Trace::open(&place.0, false, &Arc::default()).unwrap();
    assert_eq!((trace.summary().status, trace.summary().records), (Some(3), written.records));
    assert_eq!(place.files(), 1);
}

#[test]
fn nothing_is_read_after_the_end_of_a_pipe() {
    let place = Place::new();
    let (reader, mut writer) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut writer, &Stream::with_file().fence(0x17, 0, 0).end(0)).unwrap();
    // A child of the program may keep the pipe open forever.
    let written = write_trace("pipe", reader, &place.0).unwrap();
    assert_eq!((written.complete, written.fences), (true, 1));
    drop(writer);
}

#[test]
fn table_of_frames_that_lies_is_refused() {
    let place = Place::new();
    let open = |bytes: &[u8]| {
        std::fs::write(&place.0, bytes).unwrap();
        SeekableTrace::open(&place.0).map(drop).unwrap_err().to_string()
    };
    let none = "the trace cannot be opened in the middle: expected a table of frames at its end";
    assert!(open(b"").ends_with(none));
    assert!(open(&Stream::new().end(0)).ends_with(none));
    assert!(open(&zstd::encode_all(&Stream::new().end(0)[..], 1).unwrap()).ends_with(none));
    // A footer with a hundred million frames.
    let footer = [&[0; 32][..], &100_000_000u32.to_le_bytes(), &[0], &0x8f92_eab1u32.to_le_bytes()].concat();
    assert!(open(&footer).ends_with(none));
    // One frame that would be 16 MiB, in a table of the right length.
    let table = [
        &[0u8; 64][..],
        &0x184d_2a5eu32.to_le_bytes(),
        &17u32.to_le_bytes(),
        &8u32.to_le_bytes(),
        &(1u32 << 24).to_le_bytes(),
    ]
    .concat();
    let table = [&table[..], &1u32.to_le_bytes(), &[0], &0x8f92_eab1u32.to_le_bytes()].concat();
    assert!(open(&table).ends_with("expected frames of at most 8 MiB within the file"));
}

/// A table may promise more than the file has, or point elsewhere.
#[test]
fn frame_that_is_not_there_is_not_waited_for() {
    let place = Place::new();
    let frame = zstd::encode_all(&Stream::with_file().bytes[..], 1).unwrap();
    let table = |entries: &[[u32; 2]]| {
        let length = entries.len() as u32 * 8 + 9;
        let words =
            [0x184d_2a5e, length].into_iter().chain(entries.iter().flatten().copied()).chain([entries.len() as u32]);
        let words: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        [&frame[..], &words, &[0], &0x8f92_eab1u32.to_le_bytes()].concat()
    };
    let held = frame.len() as u32;
    for (entries, ends_well) in [
        (&[[held, 1 << 20]][..], true),
        (&[[0, 1 << 20]], true),
        (&[[held, 30], [1, 1 << 20]], false),
        (&[[5, 30], [1, 30]], false),
    ] {
        std::fs::write(&place.0, table(entries)).unwrap();
        let trace = SeekableTrace::open(&place.0).unwrap();
        let mut reader = trace.reader(entries.len() as u32 - 1).unwrap();
        let end = (0..10)
            .map(|_| reader.next_step().map(|step| step == RecordedStep::CutOff))
            .find(|step| *step != Ok(false));
        assert_eq!(end.is_some_and(|end| end.is_ok()), ends_well, "{entries:?}");
        let none = trace.reader(entries.len() as u32).map(drop).unwrap_err().to_string();
        assert!(none.ends_with(&format!("the trace has {} frames", entries.len())), "{none}");
    }
}

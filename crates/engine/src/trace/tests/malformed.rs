//! Errors in a log are reported in one sentence: file, record, byte, what was expected.

use super::super::tests::*;
use crate::trace::Omitted;
use crate::trace::lines::LineTrace;
use crate::trace::pmemcheck::TraceReader;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const ANY: &str = "STORE, FLUSH, FENCE, REGISTER_FILE, DEEP_SYNC, STOP, or a marker that ends in .BEGIN or .END";
const STORE: &str = "STORE;0xaddress;0xvalue;0xsize with 1 to 8 bytes and a value that fits in them";
const STACK: &str =
    "STORE;0xaddress;0xvalue;0xsize and its stack, in which each frame is like ;0x401A3F: main (list.c:44)";
const REGISTER: &str = "REGISTER_FILE;path;0xbase;0xsize;0xoffset";

#[test]
fn malformed_record_is_named() {
    for (record, expected) in [
        ("", ANY),
        ("FENCES", ANY),
        ("COMMIT", ANY),
        (".BEGIN", ANY),
        ("a b.BEGIN", ANY),
        ("a;b.END", ANY),
        ("a.BEGINx", ANY),
        ("STORE;0x1;0x1", STORE),
        ("STORE;0x1;0x1;0x0", STORE),
        ("STORE;0x1;0x1;0x9", STORE),
        ("STORE;0x1;0x1;0x100000001", STORE),
        ("STORE;0x1;0x100;0x1", STORE),
        ("STORE;1;0x1;0x1", STORE),
        ("STORE;0x;0x1;0x1", STORE),
        ("STORE;0x00000000000000001;0x1;0x1", STORE),
        ("STORE;0x1;0x1;0x1;main.c:5", STACK),
        ("STORE;0x1;0x1;0x1;0x40: main (main.c:5);", STACK),
        ("STORE;0x1;0x1;0x1;", STACK),
        ("STORE;0x1;0x1;0x1 ", STORE),
        ("STORE;0x1;-0x1;0x1", STORE),
        ("FLUSH;0x1", "FLUSH;0xaddress;0xsize"),
        ("FLUSH;0x1;0x40 ", "FLUSH;0xaddress;0xsize"),
        ("REGISTER_FILE;;0x0;0x40;0x0", REGISTER),
        ("REGISTER_FILE;pool;0x0;0x40", REGISTER),
        ("REGISTER_FILE;pool;0x0;0x0;0x0", "a registration of at least one byte"),
        (
            "REGISTER_FILE;pool;0x20;0x40;0x0",
            "a base and an offset in the file that agree in their place in a 64-byte line",
        ),
        ("REGISTER_FILE;pool;0xffffffffffffffc0;0x40;0x0", "a registration that ends within 64 bits of address"),
        (
            "REGISTER_FILE;pool;0x0;0x40;0x1000000000000",
            "a registration that ends within the first 2^48 bytes of its file",
        ),
        ("DEEP_SYNC;0x1;0xg", "DEEP_SYNC;0xaddress;0xlength"),
        ("STORE;0x3fc;0x1;0x8", "a store into a file registered earlier"),
        ("STORE;0xffffffffffffffff;0x1;0x8", "a store into a file registered earlier"),
    ] {
        let text = log(&format!("|REGISTER_FILE;pool;0x0;0x400;0x0|{record}|FENCE"));
        let at = START.len() + "|REGISTER_FILE;pool;0x0;0x400;0x0|".len();
        let wanted = format!("t.log: record 2 at byte {at}: expected {expected}, found \"{record}\"");
        assert_eq!(error(text.as_bytes(), false), wanted);
        assert_eq!(error(text.as_bytes(), true), wanted, "permission to be short is not permission to be wrong");
    }
}

#[test]
fn line_break_needs_a_message() {
    let text = log("|FENCE\nFENCE|FENCE");
    assert_eq!(
        error(text.as_bytes(), false),
        format!(
            "t.log: record 1 at byte {}: expected a record, or after a line break the ==pid== of a Valgrind message, \
             found \"FENCE\\nFENCE\"",
            START.len() + 1
        )
    );
    for line in ["==x== ", "==== ", "==7==x", "==7-- "] {
        assert!(error(log(&format!("|FENCE\n{line}|FENCE")).as_bytes(), false).contains("==pid=="), "{line}");
    }
}

#[test]
fn long_or_binary_record_is_quoted_in_part() {
    let text = log(&format!("|{}", "\u{0}".repeat(100)));
    assert!(error(text.as_bytes(), false).ends_with(&format!("found \"{}...\"", "\\x00".repeat(60))));
    let text = log(&format!("|{}|", "x".repeat(70_000)));
    assert!(error(text.as_bytes(), false).contains("expected a record of at most 65536 bytes, found \"xxx"));
}

#[test]
fn other_files_are_not_logs() {
    for text in ["", "hello", "==7== hello", "\n==7== START|STOP", "==7== START\nhello|STOP", "|FENCE|STOP"] {
        let shown = text.split('|').next().unwrap_or_default().as_bytes().escape_ascii();
        let wanted = format!(
            "t.log: not a pmemcheck store log: expected lines that begin with ==pid== and then START, found \"{shown}\""
        );
        let mut reader = TraceReader::new("t.log", Box::new(text.as_bytes()));
        assert_eq!(reader.next_step().unwrap_err().to_string(), wanted);
        if text.starts_with("==7==") {
            assert_eq!(error(text.as_bytes(), true), wanted);
        } else {
            let message = error(text.as_bytes(), true);
            assert!(message.starts_with("t.log: not a trace: expected a recording of counterpoint, "), "{message}");
            assert!(message.ends_with(&format!("found \"{}\"", text.as_bytes().escape_ascii())), "{message}");
        }
    }
}

#[test]
fn cut_off_log_is_refused_and_says_how_far_it_is_good() {
    let good = format!("{START}|FENCE|FENCE|");
    let wanted = format!(
        "t.log: the log is cut off: expected STOP at its end, and it is good up to byte {} (2 records); \
         --allow-truncated replays that part",
        good.len()
    );
    assert_eq!(error(format!("{good}FEN").as_bytes(), false), wanted);
    assert_eq!(error(format!("{good}STO").as_bytes(), false), wanted);
    assert_eq!(error(good.as_bytes(), false), wanted);
}

#[test]
fn cut_off_zstd_file_is_a_cut_off_log() {
    // Records that do not repeat, so that the file has several blocks.
    let records: String =
        (0u64..40_000).map(|n| format!("|FLUSH;0x{:x};0x40", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let packed = zstd::encode_all(log(&records).as_bytes(), 1).unwrap();
    let cut = &packed[..packed.len() / 2];
    let message = error(cut, false);
    assert!(message.starts_with("t.log: the log is cut off: expected STOP at its end, and it is good up to byte "));
    let trace = Trace::from_bytes("t.log", cut, true).unwrap();
    let records = trace.summary().records;
    assert!((5_000..40_000).contains(&records), "{records}");
    assert_eq!(trace.summary().cut_off.unwrap().records, records);
}

#[test]
fn corrupt_zstd_file_is_an_error_even_when_truncation_is_allowed() {
    // Magic, a header with a window of 1 KiB, and a block of the reserved type (RFC 8878 section 3.1.1.2).
    let reserved = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x00, 0x07, 0x00, 0x00];
    // A header with a window of 2 GiB, which is not allocated.
    let wide = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x01, 0x00, 0x00];
    for packed in [reserved, wide] {
        let message = error(&packed, true);
        assert!(message.starts_with("t.log: the log cannot be read further: "), "{message}");
        assert!(message.ends_with("; it is good up to byte 0 (0 records)"), "{message}");
    }
}

#[test]
fn files_too_large_together_are_refused() {
    let records = "|REGISTER_FILE;a;0x0;0x800000000000;0x0|REGISTER_FILE;b;0x0;0x800000000040;0x0";
    let wanted =
        "t.log: the registered files take 281474976710720 bytes together: expected at most 281474976710656 (2^48)";
    assert_eq!(error(log(records).as_bytes(), false), wanted);
}

#[test]
fn path_that_is_no_file() {
    let folder = std::env::temp_dir();
    let message = Trace::open(&folder, false, &Arc::default()).unwrap_err().to_string();
    let wanted =
        format!("{}: a trace is read several times, so it must be a regular file, and this is", folder.display());
    assert_eq!(message, format!("{wanted} a folder"));
    let device = Trace::open(Path::new("/dev/null"), false, &Arc::default()).unwrap_err().to_string();
    assert!(device.ends_with("so it must be a regular file, and this is a device"), "{device}");
    // Nobody writes to the pipe: opening it would wait for ever.
    let (reader, writer) = std::io::pipe().unwrap();
    let pipe = format!("/proc/self/fd/{}", reader.as_raw_fd());
    for message in [
        Trace::open(Path::new(&pipe), false, &Arc::default()).unwrap_err().to_string(),
        LineTrace::open(Path::new(&pipe), &Arc::default()).unwrap_err().to_string(),
    ] {
        assert_eq!(
            message,
            format!("{pipe}: a trace is read several times, so it must be a regular file, and this is a pipe")
        );
    }
    drop(writer);
    let message = Trace::open(&folder.join("no/such.log"), false, &Arc::default()).unwrap_err().to_string();
    assert!(message.contains("no/such.log: the trace cannot be opened: "), "{message}");
}

#[test]
fn file_that_changes_between_the_passes_is_noticed() {
    let path = std::env::temp_dir().join(format!("counterpoint-changing-{}.log", std::process::id()));
    let write = |text: &str| std::fs::File::create(&path).unwrap().write_all(text.as_bytes()).unwrap();
    write(&log("|FENCE|FENCE"));
    let trace = Trace::open(&path, false, &Arc::default()).unwrap();
    let mut sentences = Vec::new();
    for text in [
        log("|FENCE"),
        log("|FENCE|FENCE|pmemobj_tx_commit.END"),
        log("|REGISTER_FILE;p;0x0;0x40;0x0|STORE;0x0;0x0;0x1"),
        log("|FENCES|FENCE"),
    ] {
        write(&text);
        let fresh = trace.without(Omitted::default());
        let mut program = fresh.program(ProgramForm::Plain).unwrap();
        let mut buffer = OpBuffer::default();
        while program.next_transaction(&mut buffer) {
            buffer.clear();
        }
        sentences.push(fresh.failure().unwrap().to_string());
    }
    std::fs::remove_file(&path).unwrap();
    let changed = format!("{}: the trace changed while it was being replayed", path.display());
    assert_eq!(sentences[..3], [changed.clone(), changed.clone(), changed]);
    assert!(sentences[3].contains("record 1 at byte"));
}

#[test]
fn nothing_more_is_read_once_the_user_interrupts() {
    let folder = tempfile::tempdir().unwrap();
    let (program, lines) = (folder.path().join("t.log"), folder.path().join("t.trace"));
    std::fs::write(&program, "REGISTER_FILE;/pool;0x1000;0x1000;0x0|STORE;0x1000;0x1;0x8|FENCE|STOP").unwrap();
    std::fs::write(&lines, format!("0x40 READ 1\n{}0x40 READ 2\n", "\n".repeat(1 << 20))).unwrap();
    let cancel = Arc::new(AtomicBool::new(false));
    let opened = LineTrace::open(&lines, &cancel).unwrap().unwrap();
    let mut reader = opened.reader().unwrap();
    assert_eq!(reader.next_access().unwrap().unwrap().cycle, Some(1));
    cancel.store(true, Ordering::Relaxed);
    // One call would read all blank lines.
    assert!(reader.next_access().unwrap_err().to_string().contains("interrupted"));
    assert!(Trace::open(&program, false, &cancel).unwrap_err().to_string().contains("interrupted"));
}

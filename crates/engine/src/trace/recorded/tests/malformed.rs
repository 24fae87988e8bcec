//! Errors in a stream are reported in one sentence: file, record, byte, what was expected.

use super::super::tests::*;
use super::build::{BASE, SIZE, signed, unsigned};

const ACCESS: &str = "an access to a mapped file";
const CALLERS_NUMBER: &str = "the number of callers that CALLERS has given since SYNC, below 65536";
const NUMBER: &str = "a number below 2^64 of at most 10 bytes";
const SIZES: &str = "an access of 1 to 64 bytes";
const NEAR_COUNTS: &str = "at most 4096 loads and 4096 stores, and at least one of them";
const RANGES: &str = "a registration that ends within";

/// A number of 2^70.
fn too_large() -> Vec<u8> {
    vec![0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]
}

#[test]
fn malformed_record_is_named() {
    let stream = Stream::with_file;
    let n = unsigned;
    let huge = [n(u64::MAX)].concat();
    for (wrong, expected) in [
        (stream().record(0x00, &[]), "a record's tag"),
        (stream().record(0x0a, &[]), "a record's tag"),
        (stream().callers(&[1; 17]), "at most 16 callers"),
        (stream().record(0x08, std::slice::from_ref(&huge)), "at most 16 callers"),
        (stream().record(0x08, &[n(1), too_large()]), NUMBER),
        (stream().callers_again(0), CALLERS_NUMBER),
        (Stream::new().callers(&[1]).callers(&[2]).callers_again(2), CALLERS_NUMBER),
        (Stream::new().callers(&[1]).sync(0).callers_again(0), CALLERS_NUMBER),
        (stream().record(0x1e, &[n(0), n(0), n(0), n(1), n(0)]), "a record's tag"),
        (stream().kernel_flush(0, BASE, 0, 0), "a range of 1 to 65536 bytes"),
        (stream().kernel_flush(0, BASE, 65537, 0), "a range of 1 to 65536 bytes"),
        (stream().kernel_flush(0, BASE, 1, 2), "0 (by the next fence) or 1 (at once)"),
        (stream().record(0x1f, &[]), "a record's tag"),
        (stream().record(0x1c, &[n(0), n(0)]), "a record's tag"),
        (stream().record(0x1d, &[n(0), n(0), n(0), n(1), n(0)]), "a record's tag"),
        (stream().store(0x1d, 0, 0, BASE, &[0; 65]), SIZES),
        (stream().record(0x24, &[n(0), n(0)]), "a record's tag"),
        (stream().lacks(6, b""), "0 (other processes), 1 (a program by exec), 2 (no exec after all), 3"),
        (stream().record(0x1a, &[n(0), n(0), n(0), n(1)]), "a record's tag"),
        (stream().annotate(0x1a, 0, BASE, 0), "a range of 1 to 65536 bytes"),
        (stream().annotate(0x1b, 0, BASE, 65537), "a range of 1 to 65536 bytes"),
        (stream().record(0x25, &[n(0), n(0), n(0)]), "a record's tag"),
        (stream().follows(0, 0, 0), "the number of another thread that has been running"),
        (stream().follows(0, 1, 0), "the number of another thread that has been running"),
        (Stream::new().file(0, b"pool").thread(1).follows(0, 0, 4), "no more records than there are before it"),
        (Stream::new().file(0, b"pool").thread(1).follows(1 << 44, 0, 3), "fewer than 2^44 instructions"),
        (stream().record(0x26, &[n(0), n(0), n(0)]), "a record's tag"),
        (stream().record(0x28, &[n(1), n(0)]), "a record's tag"),
        (stream().other(0x26, 1 << 44, 0, 0), "fewer than 2^44 instructions"),
        (stream().other(0x27, 0, 0, 1 << 58), "the number of a line below 2^58"),
        (stream().other(0x27, 0, 0, 0).other(0x26, 0, 0, u64::MAX), "the number of a line below 2^58"),
        (stream().near(4097, 0), NEAR_COUNTS),
        (stream().near(1, 4097), NEAR_COUNTS),
        (stream().near(0, 0), NEAR_COUNTS),
        (stream().near(1, 0).thread(1), "the record whose instructions NEAR is about"),
        (stream().record(0x50, &[]), "a record's tag"),
        (stream().record(0x07, &[n(65536)]), "a thread number below 65536"),
        (stream().record(0x07, &[too_large()]), NUMBER),
        (stream().record(0x07, &[vec![0xff; 9], vec![0x02]]), NUMBER),
        (stream().record(0x01, &[n(2), n(0), n(0)]), "the number of records before it"),
        (stream().record(0x01, &[n(4), n(0), n(0)]), "the number of records before it"),
        (stream().record(0x01, &[n(3), n(0), n(1 << 16)]), "a thread number below 65536"),
        (stream().record(0x7f, &[n(2), n(0), n(0)]), "the number of records before it"),
        (stream().file(2, b"late"), "the next file number, or the path that the number has already"),
        (stream().file(u64::MAX, b"late"), "the next file number, or the path that the number has already"),
        (stream().file(0, b"other"), "the next file number, or the path that the number has already"),
        (stream().record(0x02, &[n(1), n(4097)]), "a path or marker of at most 4096 bytes"),
        (stream().record(0x02, &[n(1), huge.clone()]), "a path or marker of at most 4096 bytes"),
        (stream().record(0x22, std::slice::from_ref(&huge)), "a path or marker of at most 4096 bytes"),
        (stream().record(0x05, &[n(0), n(0), n(0), huge.clone()]), "a path or marker of at most 4096 bytes"),
        (stream().code(u64::MAX, 1, 0, b"x"), "a range that ends within 64 bits of address"),
        (stream().map(0, 64, 1, 0), "the number of a file that FILE has named"),
        (stream().map(0, 0, 0, 0), "a registration of at least one byte"),
        (stream().map(u64::MAX - 63, 64, 0, 0), RANGES),
        (stream().map(0, 64, 0, u64::MAX - 63), RANGES),
        (stream().map(32, 64, 0, 0), "a base and an offset in the file that agree"),
        (stream().unmap(u64::MAX, 1), "a range that ends within 64 bits of address"),
        (stream().record(0x06, &[n(0), n(0), n(65537)]), "at most 65536 bytes"),
        (stream().record(0x06, &[n(0), n(0), huge.clone()]), "at most 65536 bytes"),
        (stream().image(1, 0, &[1]), "an image within the first 2^48 bytes of a file that FILE has named"),
        (stream().image(0, u64::MAX, &[1]), "an image within the first 2^48 bytes"),
        (stream().image(0, 1 << 48, &[1]), "an image within the first 2^48 bytes"),
        (stream().load(0, 0, BASE, 0), SIZES),
        (stream().load(0, 0, BASE, 65), SIZES),
        (stream().load(0, 0, BASE + SIZE - 7, 8), ACCESS),
        (stream().load(0, 0, BASE - 1, 1), ACCESS),
        (stream().load(0, 0, u64::MAX, 64), ACCESS),
        (stream().store(0x11, 0, 0, BASE, &[]), SIZES),
        (stream().store(0x11, 0, 0, BASE, &[0; 65]), SIZES),
        (stream().record(0x12, &[n(0), signed(0), signed(0), huge.clone()]), SIZES),
        (stream().store(0x13, 0, 0, 0x10, &[0; 8]), ACCESS),
        (stream().store(0x19, 0, 0, BASE, &[]), "1 to 65536 bytes"),
        (stream().store(0x19, 0, 0, BASE + 1, &[0; 65536]), ACCESS),
        (stream().record(0x19, &[n(0), signed(0), signed(0), huge.clone()]), "1 to 65536 bytes"),
    ] {
        let (at, number) = (*wrong.starts.last().unwrap(), wrong.starts.len());
        let bytes = wrong.clone().fence(0x17, 0, 0).end(0);
        let message = error(&bytes, false);
        assert!(
            message.starts_with(&format!("t.cptrace: record {number} at byte {at}: expected {expected}")),
            "{message}"
        );
        assert!(message.contains(", found bytes "), "{message}");
        assert_eq!(error(&bytes, true), message, "permission to be short is not permission to be wrong");
        // A length is not trusted before its bytes are there.
        assert!(Trace::from_bytes("t.cptrace", &wrong.bytes[..], true).is_err(), "{expected}");
    }
}

#[test]
fn accesses_before_no_record_are_refused() {
    let message = error(&Stream::with_file().near(1, 0).end(0), true);
    assert!(message.contains("expected the record whose instructions NEAR is about"), "{message}");
}

#[test]
fn instructions_never_become_fewer() {
    let stream = Stream::with_file().fence(0x17, 9, 0);
    let message = error(&stream.clone().record(0x7f, &[unsigned(4), unsigned(8), unsigned(0)]).bytes, false);
    assert!(message.contains("expected no fewer instructions than the records before it have"), "{message}");
    assert!(
        Trace::from_bytes("t", stream.clone().record(0x7f, &[unsigned(4), unsigned(9), unsigned(0)]).bytes, false)
            .is_ok()
    );
    let mut stream = stream;
    stream.instructions = 0;
    let message = error(&stream.sync(0).end(0), false);
    assert!(message.contains("expected no fewer instructions"), "{message}");
}

/// A count that no replay could finish, or that would overflow 64 bits of picoseconds.
#[test]
fn instructions_have_a_limit() {
    const END: u64 = 1 << 44;
    let fence = |more: u64| Stream::with_file().fence(0x17, 9, 0).record(0x17, &[unsigned(more), unsigned(0)]);
    let over = |bytes: Vec<u8>| error(&bytes, true).contains("expected fewer than 2^44 instructions");
    assert!(over(fence(END - 9).bytes) && over(fence(u64::MAX).bytes));
    let total = |counted: u64| fence(END - 10).record(0x7f, &[unsigned(5), unsigned(counted), unsigned(0)]).bytes;
    assert_eq!(open(total(END - 1)).summary().instructions, END - 1);
    assert!(over(total(END)));
    assert!(over(fence(0).record(0x01, &[unsigned(5), unsigned(END), unsigned(0)]).bytes));
}

#[test]
fn other_versions_and_other_beginnings() {
    let mut bytes = Stream::new().end(0);
    bytes[7] = 9;
    assert_eq!(error(&bytes, true), "t.cptrace: a recorded trace of version 9: expected version 1 to 8");
    let message = error(b"CPTRACE\x01\x17\x00\x00", true);
    assert_eq!(message, "t.cptrace: record 1 at byte 8: expected a SYNC at the beginning, found bytes 17 00 00");
    let message = error(b"CPTRACF\x01\x01\x00\x00\x00", true);
    assert!(message.starts_with("t.cptrace: not a trace: expected a recording of counterpoint, "), "{message}");
    assert!(error(b"CPTRACE", false).starts_with("t.cptrace: the trace is cut off: expected END at its end"));
}

#[test]
fn nothing_follows_the_end() {
    let mut bytes = Stream::new().end(0);
    let at = bytes.len() - 4;
    bytes.push(0x7f);
    assert_eq!(error(&bytes, true), format!("t.cptrace: expected nothing after the END at byte {at}"));
}

#[test]
fn too_many_files_ranges_and_bytes() {
    let mut stream = Stream::new();
    for file in 0..1024u64 {
        stream = stream.file(file, b"same");
    }
    assert!(Trace::from_bytes("t", stream.clone().end(0), false).is_ok());
    assert!(error(&stream.file(1024, b"same").end(0), false).contains("expected the next file number"));
    let mut stream = Stream::with_file();
    for n in 0..2048u64 {
        stream = stream.unmap(BASE, 1).map(n * 128, 64, 0, 0);
        stream = stream.map((1 << 40) + n * 128, 64, 0, 0);
    }
    assert!(error(&stream.end(0), false).contains("at most 4096 separate ranges"));
    let wide = Stream::new().file(0, b"a").file(1, b"b").image(0, (1 << 48) - 1, &[1]).image(1, (1 << 47) - 1, &[1]);
    assert!(error(&wide.end(0), false).ends_with("expected at most 281474976710656 (2^48)"));
}

/// Megabytes of equal bytes, compressed to a few: refused early.
#[test]
fn bomb_is_not_unpacked() {
    let packed = zstd::encode_all(
        std::io::Read::chain(&b"CPTRACE\x01"[..], std::io::Read::take(std::io::repeat(0), 400 << 20)),
        1,
    );
    let message = error(&packed.unwrap(), true);
    assert!(message.starts_with("t.cptrace: record 1 at byte 8: expected a record's tag"), "{message}");
}

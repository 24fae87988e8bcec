//! Traces of memory lines: each format, its detection, and errors in a line.

use super::super::lines::*;
use proptest::prelude::*;

fn open(text: &[u8]) -> LineTrace {
    LineTrace::from_bytes("t.trace", text).unwrap().expect("a trace of lines")
}

fn accesses(text: &[u8]) -> Result<Vec<LineAccess>, ConfigError> {
    let mut reader = open(text).reader()?;
    let mut all = Vec::new();
    while let Some(access) = reader.next_access()? {
        all.push(access);
    }
    Ok(all)
}

fn access(cycle: Option<u64>, write: bool, address: u64) -> LineAccess {
    LineAccess { cycle, write, address, bytes: None }
}

#[test]
fn formats_are_told_by_their_lines() {
    for (text, format) in [
        ("10 R 0x1000 0 0\n", LineFormat::Nvmain),
        ("NVMV1\n10 W 1000 00ff 0 1\n", LineFormat::Nvmain),
        ("NVMV0\n", LineFormat::Nvmain),
        ("\n \n0 R 7fffffff", LineFormat::Nvmain),
        ("0x7fff0040 READ 100\n", LineFormat::Dramsim3),
        ("7fff0040 write 100\r\n", LineFormat::Dramsim3),
        ("7fff0040 P_FETCH 100\n", LineFormat::Dramsim3),
        ("LD 0x1000\n", LineFormat::Ramulator),
        ("ST 4096", LineFormat::Ramulator),
        ("R 0x1000\n", LineFormat::Ramulator),
        ("0x12345680 W\n", LineFormat::Ramulator),
    ] {
        assert_eq!(open(text.as_bytes()).format(), format, "{text}");
    }
    for text in ["LD 0x1000 5\n", "10 X 0x1000\n", "0x10 READ\n", "", "R 0,1,2,3\n", "hello world\n", "NVMVx\n", "\n\n"]
    {
        let message = LineTrace::from_bytes("t.trace", text.as_bytes()).unwrap_err().to_string();
        assert!(message.starts_with("t.trace: not a trace: expected "), "{message}");
    }
    assert!(LineTrace::from_bytes("t", &b"==7== START|FENCE|STOP"[..]).unwrap().is_none());
}

#[test]
fn nvmain() {
    let text = format!(
        "5 R 0x1040 0 0\n7 W 1080 {} 3\n\n7 W 10c0 0x1f02 0\n9 W 40\n9 W 40 {}\n",
        "ab".repeat(64),
        "0".repeat(128)
    );
    let mut low = [0; 64];
    low[..2].copy_from_slice(&[2, 0x1f]);
    let wanted = [
        access(Some(5), false, 0x1040),
        LineAccess { bytes: Some([0xab; 64]), ..access(Some(7), true, 0x1080) },
        LineAccess { bytes: Some(low), ..access(Some(7), true, 0x10c0) },
        access(Some(9), true, 0x40),
        LineAccess { bytes: Some([0; 64]), ..access(Some(9), true, 0x40) },
    ];
    assert_eq!(accesses(text.as_bytes()).unwrap(), wanted);
}

#[test]
fn dramsim3_and_ramulator() {
    let wanted = [access(Some(3), false, 0x40), access(Some(10), true, u64::MAX)];
    assert_eq!(accesses(b"0x40 READ 3\nFFFFFFFFFFFFFFFF WRITE 10\n").unwrap(), wanted);
    let wanted = [access(Some(3), true, 0x40), access(Some(3), true, 0x80), access(Some(4), false, 0xc0)];
    assert_eq!(accesses(b"0x40 P_MEM_WR 3\n0x80 BOFF 3\n0xc0 P_MEM_RD 4\n").unwrap(), wanted);
    let wanted = [access(None, false, 64), access(None, true, 0x40), access(None, true, 9), access(None, false, 0x10)];
    assert_eq!(accesses(b"LD 64\nST 0X40\nW 9\n0x10 R").unwrap(), wanted);
}

#[test]
fn compressed_traces_are_the_same() {
    use std::io::Write;
    let text = b"0x40 READ 3\n0x80 WRITE 4\n";
    let wanted = accesses(text).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
    xz.write_all(text).unwrap();
    for packed in [gzip.finish().unwrap(), xz.finish().unwrap(), zstd::encode_all(&text[..], 1).unwrap()] {
        assert_eq!(accesses(&packed).unwrap(), wanted);
        if let Ok(Some(cut)) = LineTrace::from_bytes("cut", &packed[..packed.len() - 9]) {
            let mut reader = cut.reader().unwrap();
            let end = (0..10).map(|_| reader.next_access()).find(|next| !matches!(next, Ok(Some(_))));
            assert!(matches!(end, Some(Err(_))), "what is cut off is not whole");
        }
    }
}

#[test]
fn malformed_line_is_named() {
    for (text, at, expected) in [
        ("1 R 0x40\n2 Q 0x40\n", 9, "cycle R|W address [data [thread]] with the address in hexadecimal"),
        ("1 R 0x40\n-2 R 0x40\n", 9, "cycle R|W address"),
        ("1 R 0x40\n2 R 0xg\n", 9, "cycle R|W address"),
        ("1 R 0x40\n2 R 0x10000000000000000\n", 9, "cycle R|W address"),
        ("1 R 0x40\n18446744073709551616 R 0x40\n", 9, "cycle R|W address"),
        ("1 R 0x40\n2 R 0x40 0 0 0\n", 9, "cycle R|W address"),
        ("1 R 0x40\n2 W 0x40 xyz\n", 9, "data of 1 to 128 hexadecimal digits"),
        ("1 R 0x40\n0 R 0x40\n", 9, "a cycle no earlier than that of the line before"),
        ("1 R 0x40\nNVMV1\n", 9, "NVMV0 or NVMV1, in the first line only"),
        ("NVMV2\n1 R 0x40\n", 0, "NVMV0 or NVMV1, in the first line only"),
        ("0x40 READ 3\n0x40 READS 3\n", 12, "address READ|WRITE cycle"),
        ("LD 0x40\nLD 0,1,2\n", 8, "one address: an address vector"),
        ("LD 0x40\nLD 40h\n", 8, "LD|ST address or R|W address"),
    ] {
        let line = if at == 0 { 1 } else { 2 };
        let message = accesses(text.as_bytes()).unwrap_err().to_string();
        assert!(message.starts_with(&format!("t.trace: line {line} at byte {at}: expected {expected}")), "{message}");
    }
    let long = format!("1 R 0x40\n2 W 0x40 {}", "0".repeat(5000));
    let message = accesses(long.as_bytes()).unwrap_err().to_string();
    assert!(
        message.contains("line 2 at byte 9: expected a line of at most 1024 bytes, found \"2 W 0x40 000"),
        "{message}"
    );
}

proptest! {
    #[test]
    fn arbitrary_text_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[0-9a-fxRWLDST ,\n]{0,200}") {
        for head in ["", "1 R 0x40\n", "0x40 READ 1\n", "LD 5\n"] {
            for tail in [&bytes[..], text.as_bytes()] {
                if let Ok(Some(trace)) = LineTrace::from_bytes("t", [head.as_bytes(), tail].concat()) {
                    let mut reader = trace.reader().unwrap();
                    while let Ok(Some(_)) = reader.next_access() {}
                }
            }
        }
    }
}

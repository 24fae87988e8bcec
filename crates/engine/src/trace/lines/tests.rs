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
        ("7fff0040 P_FETCH 100\n", LineFormat::Dramsim2),
        ("0x7F64A0C0 P_INT_ACK 100\n", LineFormat::Dramsim2),
        ("0x7fff0040 IFETCH 100\n", LineFormat::Dramsim2),
        ("1 W 140734192927288 8\n", LineFormat::Prospero),
        ("5 r 64 4096", LineFormat::Prospero),
        ("1 W 1000 0\n", LineFormat::Nvmain),
        ("1 W 0x1000 8\n", LineFormat::Nvmain),
        ("1 W 1000 8 0\n", LineFormat::Nvmain),
        ("LD 0x1000\n", LineFormat::Ramulator),
        ("ST 4096", LineFormat::Ramulator),
        ("R 0x1000\n", LineFormat::Ramulator),
        ("0x12345680 W\n", LineFormat::Ramulator),
    ] {
        assert_eq!(open(text.as_bytes()).format(), format, "{text}");
    }
    for text in ["", "hello world\n", "\n\n", "R is a language\n", "3 blind mice\n", "10 20 30\n"] {
        let message = LineTrace::from_bytes("t.trace", text.as_bytes()).unwrap_err().to_string();
        assert!(message.starts_with("t.trace: not a trace: expected "), "{message}");
    }
    assert!(LineTrace::from_bytes("t", &b"==7== START|FENCE|STOP"[..]).unwrap().is_none());
}

#[test]
fn bad_first_line_is_of_the_format_that_it_is_like() {
    for (text, line, at, expected) in [
        ("10 X 0x1000\n", 1, 0, "NVMain's cycle R|W address [data [thread]]"),
        ("\n\n10 Q\n1 R 0x40\n", 3, 2, "NVMain's cycle R|W address [data [thread]]"),
        ("10 W 0x40 xyz\n", 1, 0, "NVMain's data of 1 to 128 hexadecimal digits"),
        ("NVMVx\n", 1, 0, "NVMain's NVMV0 or NVMV1"),
        ("0x10 READ\n", 1, 0, "DRAMsim3's address READ|WRITE cycle"),
        ("0x10 READS 3\n", 1, 0, "DRAMsim3's address READ|WRITE cycle"),
        ("0xzz WRITE 3", 1, 0, "DRAMsim3's address READ|WRITE cycle"),
        (" \n0x10 P_IO_RD 3\n", 2, 2, "DRAMSim2's address P_FETCH|P_MEM_RD"),
        ("0x10 BOFF\n", 1, 0, "DRAMSim2's address P_FETCH|P_MEM_RD"),
        ("LD 0x1000 5\n", 1, 0, "Ramulator's LD|ST address or R|W address"),
        ("R 0,1,2,3\n", 1, 0, "one address: Ramulator's address vector"),
        ("-5 W\n", 1, 0, "Ramulator's LD|ST address or R|W address"),
    ] {
        let message = LineTrace::from_bytes("t.trace", text.as_bytes()).unwrap_err().to_string();
        assert!(message.starts_with(&format!("t.trace: line {line} at byte {at}: expected {expected}")), "{message}");
        assert!(message.contains(", found \""), "{message}");
    }
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
fn prospero() {
    let at = |cycle, write, address| access(Some(cycle), write, address);
    let text = b"1 W 140734192927288 8\n5 R 140734192927296 64\n6 w 60 8\n7 r 63 4096\n9 R 18446744073709551615 1\n";
    let wanted = [
        at(1, true, 140_734_192_927_288),
        at(5, false, 140_734_192_927_296),
        at(6, true, 60),
        at(6, true, 64),
        at(7, false, 63),
        at(7, false, 64),
        at(9, false, u64::MAX),
    ];
    assert_eq!(accesses(text).unwrap(), wanted);
}

#[test]
fn dramsim2() {
    let at = |cycle, write, address| access(Some(cycle), write, address);
    let k6 = b"0x7F64A0C0 P_FETCH 12\n0x7F64A100 P_LOCK_RD 20\n0x7F64A100 P_LOCK_WR 24\n0x00000000 P_INT_ACK 30\n\
               0x7F64A140 BOFF 33\n0x40 P_MEM_WR   40\n0x80     P_MEM_RD 41\n";
    let wanted = [
        at(12, false, 0x7f64_a0c0),
        at(20, false, 0x7f64_a100),
        at(24, false, 0x7f64_a100),
        at(33, true, 0x7f64_a140),
        at(40, true, 0x40),
        at(41, false, 0x80),
    ];
    assert_eq!(accesses(k6).unwrap(), wanted);
    let mase = b"0x40 READ 1\n0x80 IFETCH 2\n0x40 WRITE 2\n";
    assert_eq!(accesses(mase).unwrap(), [at(1, false, 0x40), at(2, false, 0x80), at(2, true, 0x40)]);
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
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(text).unwrap();
    let bzip2 = bzip2.finish().unwrap();
    let halves = [&text[..12], &text[12..]].map(|half| {
        let mut part = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
        part.write_all(half).unwrap();
        part.finish().unwrap()
    });
    let [gzip, xz, zstd] = [gzip.finish().unwrap(), xz.finish().unwrap(), zstd::encode_all(&text[..], 1).unwrap()];
    for packed in [gzip, xz, zstd, bzip2, halves.concat()] {
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
        ("1 R 0x40\n2 Q 0x40\n", 9, "NVMain's cycle R|W address [data [thread]] with the address in hexadecimal"),
        ("1 R 0x40\n-2 R 0x40\n", 9, "NVMain's cycle R|W address"),
        ("1 R 0x40\n2 R 0xg\n", 9, "NVMain's cycle R|W address"),
        ("1 R 0x40\n2 R 0x10000000000000000\n", 9, "NVMain's cycle R|W address"),
        ("1 R 0x40\n18446744073709551616 R 0x40\n", 9, "NVMain's cycle R|W address"),
        ("1 R 0x40\n2 R 0x40 0 0 0\n", 9, "NVMain's cycle R|W address"),
        ("1 R 0x40\n2 W 0x40 xyz\n", 9, "NVMain's data of 1 to 128 hexadecimal digits"),
        ("1 R 0x40\n0 R 0x40\n", 9, "a cycle no earlier than that of the line before"),
        ("1 R 0x40\nNVMV1\n", 9, "NVMain's NVMV0 or NVMV1, in the first line only"),
        ("NVMV2\n1 R 0x40\n", 0, "NVMain's NVMV0 or NVMV1, in the first line only"),
        ("0x40 READ 3\n0x40 READS 3\n", 12, "DRAMsim3's address READ|WRITE cycle"),
        ("LD 0x40\nLD 0,1,2\n", 8, "one address: Ramulator's address vector"),
        ("LD 0x40\nLD 40h\n", 8, "Ramulator's LD|ST address or R|W address"),
        (
            "1 R 4 8\n2 R 4 4097\n",
            8,
            "Prospero's cycle R|W address size with the address in decimal and a size of 1 to",
        ),
        ("1 R 4 8\n2 R 4 0\n", 8, "Prospero's cycle R|W address size"),
        ("1 R 4 8\n2 R 0x4 8\n", 8, "Prospero's cycle R|W address size"),
        ("1 R 4 8\n2 X 4 8\n", 8, "Prospero's cycle R|W address size"),
        ("1 R 4 8\n2 R 4\n", 8, "Prospero's cycle R|W address size"),
        ("1 R 4 8\n2 R 18446744073709551615 2\n", 8, "Prospero's cycle R|W address size"),
        ("1 R 4 8\n0 R 4 8\n", 8, "a cycle no earlier than that of the line before"),
        (
            "0x40 BOFF 3\n0x40 P_IO 3\n",
            12,
            "DRAMSim2's address P_FETCH|P_MEM_RD|P_MEM_WR|P_LOCK_RD|P_LOCK_WR|P_INT_ACK",
        ),
        ("0x40 BOFF 3\n0x40 P_INT_ACK x\n", 12, "DRAMSim2's address P_FETCH"),
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
        for head in ["", "1 R 0x40\n", "1 R 60 8\n", "0x40 READ 1\n", "0x40 P_LOCK_WR 1\n", "LD 5\n"] {
            for tail in [&bytes[..], text.as_bytes()] {
                if let Ok(Some(trace)) = LineTrace::from_bytes("t", [head.as_bytes(), tail].concat()) {
                    let mut reader = trace.reader().unwrap();
                    while let Ok(Some(_)) = reader.next_access() {}
                }
            }
        }
    }
}

//! Instructions of ChampSim as a program.

use super::super::champsim::*;
use super::super::tests::did::{Did, joined_of, operations_of};
use super::super::{Trace, TraceFile};
use crate::message::ProgramForm;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::io::Write;
use std::sync::Arc;

fn instruction(pointer: u64, loads: &[u64], stores: &[u64]) -> Vec<u8> {
    let mut record = vec![0; RECORD_BYTES];
    record[..8].copy_from_slice(&pointer.to_le_bytes());
    record[10..16].copy_from_slice(&[1, 2, 3, 4, 5, 6]);
    for (index, address) in stores.iter().enumerate() {
        record[16 + index * 8..24 + index * 8].copy_from_slice(&address.to_le_bytes());
    }
    for (index, address) in loads.iter().enumerate() {
        record[32 + index * 8..40 + index * 8].copy_from_slice(&address.to_le_bytes());
    }
    record
}

fn program() -> Vec<u8> {
    [
        instruction(0x401000, &[], &[]),
        instruction(0x401004, &[0x7fff_1234_5678], &[]),
        instruction(0x401008, &[], &[]),
        instruction(0x40100c, &[], &[]),
        instruction(0x401010, &[0x60_0003], &[0x7fff_1234_5040, 0x60_0003]),
        instruction(0x401014, &[0xffff_8000_0000_0010], &[]),
        instruction(0x401018, &[], &[]),
    ]
    .concat()
}

#[test]
fn operands_become_words_and_pages_get_places_as_they_are_touched() {
    let trace = Trace::from_bytes("t.champsim", program(), false).unwrap();
    let summary = trace.summary();
    assert_eq!((summary.records, summary.instructions, summary.loads, summary.stores), (7, 7, 3, 2));
    assert_eq!(summary.files, [TraceFile { path: "t.champsim".into(), base: 0, size: 3 * 4096 }]);
    let all = operations_of(&trace, ProgramForm::Annotated);
    let store = |at: u64, address: u64, number: u64| Did::Store(at, value(address, number).to_le_bytes().to_vec());
    let wanted = [
        Did::Compute(1),
        Did::Load(0x678, 8),
        Did::Compute(2),
        Did::Load(0x1000, 8),
        store(0x40, 0x7fff_1234_5040, 0),
        store(0x1000, 0x60_0000, 1),
        Did::Load(0x2010, 8),
        Did::Compute(1),
    ];
    assert_eq!(all, wanted);
    assert_eq!(joined_of(&trace, ProgramForm::Annotated), [false, false, false, false, true, true, false, false]);
    assert!(value(0x40, 0) != value(0x40, 1) && value(0x40, 0) != value(0x80, 0));
}

/// Instructions that add a word of one array to a word of another, over and over the same few lines.
fn additions(count: u64) -> Vec<u8> {
    let one = |n: u64| {
        let (word, pointer) = (0x7fff_0000_0000 + n % 64 * 8, 0x40_0000 + n % 50 * 4);
        instruction(pointer, &[word, word + 0x1_0000], &[word])
    };
    (0..count).flat_map(one).collect()
}

#[test]
fn instruction_with_two_loads_and_a_store_counts_once() {
    let path = std::env::temp_dir().join(format!("counterpoint-{}-additions.champsim", std::process::id()));
    std::fs::write(&path, additions(10_000)).unwrap();
    let request = json!({"runs": [{"design": "unencrypted", "workload": path.to_str().unwrap()}]}).to_string();
    let answer = crate::api::replay(&request, 1, &|_, _| {}, &Arc::default());
    std::fs::remove_file(&path).unwrap();
    let answer: Value = serde_json::from_str(&answer.unwrap()).unwrap();
    let run = &answer["results"][0];
    assert_eq!(run["instructions"], 10_000);
    // Everything hits, and one store enters the cache in a cycle.
    let ipc = run["core"]["ipc"].as_f64().unwrap();
    assert!((0.9..=1.0).contains(&ipc), "{ipc}");
}

#[test]
fn instruction_that_reads_and_changes_a_word_is_one() {
    let word = |number: u64| 0x7fff_0000_0000 + 8 * number;
    let one = |number| instruction(0x40_0000 + 4 * number, &[word(number), word(number) + (1 << 16)], &[word(number)]);
    let trace = Trace::from_bytes("t", (0..1000).flat_map(one).collect::<Vec<u8>>(), false).unwrap();
    let summary = trace.summary();
    assert_eq!((summary.instructions, summary.loads, summary.stores), (1000, 2000, 1000));
    let operations = operations_of(&trace, ProgramForm::Plain);
    assert_eq!(operations.len(), 3000);
    assert!(
        joined_of(&trace, ProgramForm::Plain).iter().enumerate().all(|(number, &joined)| joined == (number % 3 > 0))
    );
}

#[test]
fn compressed_traces_are_the_same() {
    let wanted = operations_of(&Trace::from_bytes("t", program(), false).unwrap(), ProgramForm::Plain);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&program()).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 6);
    xz.write_all(&program()).unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    bzip2.write_all(&program()).unwrap();
    for packed in [gzip.finish().unwrap(), xz.finish().unwrap(), bzip2.finish().unwrap()] {
        assert_eq!(operations_of(&Trace::from_bytes("t", packed, false).unwrap(), ProgramForm::Plain), wanted);
    }
}

#[test]
fn trace_that_is_cut_off_or_something_else() {
    let cut = &program()[..300];
    let message = Trace::from_bytes("t", cut, false).unwrap_err().to_string();
    let wanted = "t: the trace is cut off: expected a whole instruction at its end, and it is good up to byte 256 (4 records); \
                  --allow-truncated replays that part";
    assert_eq!(message, wanted);
    assert_eq!(Trace::from_bytes("t", cut, true).unwrap().summary().records, 4);
    // The other byte order: the pointer has its low bytes on top.
    let mut swapped = program();
    swapped.chunks_exact_mut(8).for_each(<[u8]>::reverse);
    let message = Trace::from_bytes("t", swapped, false).unwrap_err().to_string();
    assert!(message.starts_with("t: not a trace: expected "), "{message}");
    // An operand that would end beyond 64 bits of address; the word before it is valid.
    assert!(Trace::from_bytes("t", instruction(0x401000, &[u64::MAX - 7], &[]), true).is_err());
    let last = Trace::from_bytes("t", instruction(0x401000, &[u64::MAX - 8], &[]), true).unwrap();
    assert_eq!(operations_of(&last, ProgramForm::Plain), [Did::Load(0xff0, 8)]);
    // Damage after the bytes that determine the format.
    let mut long = program().repeat(20);
    long[64 * 100 + 8] = 7;
    let message = Trace::from_bytes("t", long, true).unwrap_err().to_string();
    assert!(message.starts_with("t: record 101 at byte 6400: expected an instruction of ChampSim"), "{message}");
}

proptest! {
    #[test]
    fn damaged_traces_are_survived(damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..9), cut in 0usize..64) {
        let mut bytes = program().repeat(12);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(bytes.len() - cut);
        if let Ok(trace) = Trace::from_bytes("t", bytes, true) {
            operations_of(&trace, ProgramForm::Plain);
        }
    }
}

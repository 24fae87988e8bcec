//! One test for each statement that a stream can make.

use super::super::tests::*;
use super::Did::{
    Begin, Clflush, Clflushopt, Clwb, Compute, End, Fence, FullFence, Load, NonTemporal, Store, WriteBackCounters,
};
use super::build::{BASE, SIZE};
use crate::message::{BaseImage, Line, Op};
use crate::trace::{CutOff, TraceFile, TraceSummary};

fn plain(stream: Stream) -> Vec<Did> {
    operations(&open(stream.end(0)), ProgramForm::Plain)
}

/// Every kind of access, fence and flush.
fn everything() -> Stream {
    Stream::with_file()
        .load(5, 0x400000, BASE + 0x10, 8)
        .store(0x11, 0, 0x400004, BASE + 0x3e, &[1, 2, 3, 4])
        .store(0x12, 1, 0x3ffff0, BASE + 0x100, &[7; 64])
        .store(0x13, 0, 0x400010, BASE + 0x200, &[9; 8])
        .flush(0x14, 0, 0x400014, BASE + 0x3e)
        .flush(0x15, 2, 0x400018, BASE + 0x7f)
        .flush(0x16, 0, 0x40001c, BASE + 0x80)
        .fence(0x17, 0, 0x400020)
        .fence(0x18, 3, 0x400024)
        .store(0x19, 0, 0x400028, BASE + 0xfff0, &[5; 16])
}

#[test]
fn accesses_flushes_fences_and_the_instructions_between() {
    let wanted = [
        Compute(5),
        Load(0x10, 8),
        Store(0x3e, vec![1, 2]),
        Store(0x40, vec![3, 4]),
        Compute(1),
        NonTemporal(0x100, vec![7; 64]),
        Load(0x200, 8),
        Store(0x200, vec![9; 8]),
        FullFence,
        Clwb(0),
        Compute(2),
        Clflushopt(0x40),
        Clflush(0x80),
        Fence,
        Compute(3),
        FullFence,
        Store(0xfff0, vec![5; 16]),
    ];
    let trace = open(everything().end(3));
    assert_eq!(operations(&trace, ProgramForm::Plain), wanted);
    let wanted = TraceSummary {
        records: 13,
        instructions: 21,
        loads: 2,
        load_bytes: 16,
        stores: 4,
        store_bytes: 4 + 64 + 8 + 16,
        flushes: 3,
        lines_flushed: 3,
        fences: 2,
        threads: 1,
        files: vec![TraceFile { path: "pool".into(), base: 0, size: SIZE }],
        end: SIZE,
        status: Some(3),
        lacks: vec![
            "The trace has version 1 of the format, which does not say whether the program left something to other \
             processes."
                .to_owned(),
        ],
        ..TraceSummary::default()
    };
    assert_eq!(*trace.summary(), wanted);
}

#[test]
fn what_one_instruction_does_is_joined() {
    let stream = Stream::with_file()
        // A word is loaded and stored across the end of a line; the next instruction loads it.
        .load(5, 1, BASE + 0x3c, 8)
        .store(0x11, 0, 1, BASE + 0x3c, &[1; 8])
        .load(0, 2, BASE + 0x10, 8)
        // The same instruction again, after a jump back; then of another thread.
        .load(1, 2, BASE + 0x10, 8)
        .thread(1)
        .load(0, 2, BASE + 0x10, 8)
        .store(0x13, 0, 3, BASE, &[2; 8])
        .flush(0x14, 0, 3, BASE)
        // System calls.
        .store(0x19, 0, 4, BASE + 0x80, &[3; 100])
        .store(0x19, 0, 4, BASE + 0x100, &[4; 8]);
    let trace = open(stream.end(0));
    let expected = [
        (Compute(5), false),
        (Load(0x3c, 4), false),
        (Load(0x40, 4), true),
        (Store(0x3c, vec![1; 4]), true),
        (Store(0x40, vec![1; 4]), true),
        (Load(0x10, 8), false),
        (Compute(1), false),
        (Load(0x10, 8), false),
        (Load(0x10, 8), false),
        (Load(0, 8), false),
        (Store(0, vec![2; 8]), true),
        (FullFence, true),
        (Clwb(0), false),
        (Store(0x80, vec![3; 64]), false),
        (Store(0xc0, vec![3; 36]), false),
        (Store(0x100, vec![4; 8]), false),
    ];
    let joined = joined_of(&trace, ProgramForm::Plain);
    let found: Vec<(Did, bool)> = operations(&trace, ProgramForm::Plain).into_iter().zip(joined).collect();
    assert_eq!(found, expected);
}

#[test]
fn counters_of_what_is_flushed_or_stored_past_the_caches_are_written_back_before_a_fence() {
    let stream = Stream::with_file()
        .store(0x12, 0, 0, BASE + 0x600, &[1; 8])
        .flush(0x14, 0, 0, BASE + 0x240)
        .fence(0x17, 0, 0)
        .store(0x13, 0, 0, BASE, &[2]);
    let trace = open(stream.end(0));
    let wanted = [
        NonTemporal(0x600, vec![1; 8]),
        Clwb(0x240),
        WriteBackCounters(0x200),
        WriteBackCounters(0x600),
        Fence,
        Load(0, 1),
        Store(0, vec![2]),
        FullFence,
    ];
    for form in [ProgramForm::Annotated, ProgramForm::HardwareLogged] {
        assert_eq!(operations(&trace, form), wanted);
    }
}

#[test]
fn flush_free_form_flushes_nothing_and_stores_past_the_caches_what_the_program_does() {
    let trace = open(everything().end(0));
    let wanted: Vec<Did> = operations(&trace, ProgramForm::Plain)
        .into_iter()
        .filter(|did| !matches!(did, Clwb(_) | Clflushopt(_) | Clflush(_)))
        .collect();
    assert!(wanted.iter().any(|did| matches!(did, NonTemporal(..))));
    assert_eq!(operations(&trace, ProgramForm::FlushFree), wanted);
}

#[test]
fn what_files_held_is_where_the_program_starts() {
    let stream = Stream::new()
        .file(0, b"small")
        .image(0, 0x10, &[1; 4])
        .map(0x1000, 0x1040, 0, 0)
        .file(1, b"/a/pool")
        .image(1, 0xfff, &[3; 66])
        .map(0x10_0000, 0x4000, 1, 0x1000)
        .image(1, 0x2000, &[])
        .store(0x11, 0, 0, 0x10_0040, &[8]);
    let trace = open(stream.end(0));
    let files: Vec<_> = trace.summary().files.iter().map(|file| (file.path.as_str(), file.base, file.size)).collect();
    assert_eq!(files, [("small", 0, 0x1040), ("/a/pool", 0x2000, 0x5000)]);
    let base = trace.base();
    assert_eq!(base.end(), 0x7000);
    let mut first = [0; 64];
    first[0x10..0x14].fill(1);
    assert_eq!(base.line(Line(0)), Some(&first));
    let populated: Vec<u64> = (0..0x7000 / 64).filter(|&line| base.populated(Line(line))).collect();
    let from = 0x2fff / 64;
    assert_eq!(populated, [0, from, from + 1, from + 2]);
    let mut last = [0; 64];
    last[0] = 3;
    assert_eq!(base.line(Line(from + 2)), Some(&last));
    assert_eq!(operations(&trace, ProgramForm::Plain), [Store(0x3040, vec![8])]);
}

#[test]
fn mappings_come_and_go() {
    let stream = Stream::with_file()
        .map(0x5000, 0x1000, 0, 0x2000)
        .store(0x11, 0, 0, 0x5fff, &[1])
        .unmap(0x5000, 0x1000)
        .flush(0x14, 0, 0, 0x5040)
        .file(1, b"other")
        .map(0x5000, 0x1000, 1, 0)
        .store(0x11, 0, 0, 0x5fff, &[2])
        .unmap(0, u64::MAX)
        .flush(0x14, 0, 0, BASE)
        .flush(0x14, 0, 0, u64::MAX);
    let trace = open(stream.end(0));
    assert_eq!((trace.summary().flushes, trace.summary().flushes_outside), (3, 3));
    assert_eq!(operations(&trace, ProgramForm::Plain), [Store(0x2fff, vec![1]), Store(SIZE + 0xfff, vec![2])]);
}

#[test]
fn sync_begins_differences_anew_and_repeats_what_is_in_force() {
    let repeated = |stream: Stream| {
        stream.sync(1).file(0, b"pool").map(BASE, SIZE, 0, 0).code(0x400000, 0x1000, 0, b"/bin/program")
    };
    let stream = repeated(Stream::with_file().load(0, 0x40, BASE, 8)).load(1, 0x41, BASE + 8, 8);
    assert_eq!(plain(repeated(stream)), [Load(0, 8), Compute(1), Load(8, 8)]);
}

#[test]
fn transactions_are_those_that_the_program_tells_and_only_the_outermost() {
    let store = |stream: Stream, byte| stream.store(0x11, 0, 0, BASE, &[byte]);
    let mut stream = store(Stream::with_file().commit(), 1).begin();
    stream = store(stream.begin(), 2).commit();
    // A transaction of another thread begins inside and ends outside.
    stream = store(stream.thread(1).begin().thread(0), 3).commit();
    stream = store(stream.thread(1), 4).commit();
    stream = store(stream, 5).begin().commit().mark(b"pmemobj_tx_commit.END");
    // The last transaction is cut off by the program's end.
    let stream = store(store(stream, 6).begin(), 7);
    let trace = open(stream.end(0));
    let s = |byte| Store(0, vec![byte]);
    assert_eq!(
        (trace.summary().transactions, trace.summary().transactions_told, trace.summary().threads),
        (2, true, 2)
    );
    let wanted = [s(1), Begin, s(2), s(3), s(4), End, s(5), Begin, End, s(6), s(7)];
    assert_eq!(operations(&trace, ProgramForm::Plain), wanted);
}

#[test]
fn marks_tell_transactions_where_nothing_else_does() {
    let store = |stream: Stream, byte| stream.store(0x11, 0, 0, BASE, &[byte]);
    let stream = store(Stream::with_file().mark(b"pmemobj_create.BEGIN"), 1);
    let stream = store(stream.mark(b"pmemobj_tx_alloc.BEGIN"), 2).mark(b"|pmemobj_tx_commit.END");
    let stream = store(stream.mark(b"hello"), 3).mark(b"pmemobj_tx_commit.BEGIN").mark(b"pmemobj_tx_commit.END");
    let s = |byte| Store(0, vec![byte]);
    assert_eq!(plain(store(stream, 4)), [s(1), Begin, s(2), End, Begin, s(3), End, s(4)]);
}

#[test]
fn marks_are_operations_in_their_place_and_have_texts() {
    let stream = Stream::with_file()
        .mark(b"|first")
        .begin()
        .store(0x11, 4, 0, BASE, &[1])
        .mark(b"two\nlines")
        .fence(0x17, 0, 0)
        .commit()
        .mark(b"")
        .mark(b"last");
    let trace = open(stream.end(0));
    let (mut program, mut buffer, mut ops) =
        (trace.program(ProgramForm::Plain).unwrap(), OpBuffer::default(), Vec::new());
    while program.next_transaction(&mut buffer) {
        ops.append(&mut buffer.ops);
        buffer.clear();
    }
    let store = Op::Store { address: 0, length: 1, bytes: 0 };
    let compute = Op::Compute { instructions: 4 };
    assert_eq!(
        ops,
        [Op::Mark, Op::TxBegin, compute, store, Op::Mark, Op::Sfence, Op::TxEnd, Op::Mark, Op::Mark],
        "each where it stands in the program"
    );
    let marks = trace.marks().unwrap();
    let texts: Vec<String> = (0..).map_while(|number| marks.text(number)).collect();
    assert_eq!(texts, ["first", "two lines", "", "last"]);
    assert_eq!(marks.first(0), b"");
    assert_eq!(marks.first(2), b"first\ntwo lines\n");
    assert_eq!(marks.first(9), marks.first(4));
}

#[test]
fn long_stretch_of_instructions_and_a_large_store_of_the_kernel_come_in_pieces() {
    let data: Vec<u8> = (0..65536u32).map(|n| (n % 251) as u8).collect();
    let most = u64::from(u32::MAX);
    let stream = Stream::with_file().store(0x19, most + 2, 0, BASE, &data).store(0x19, 0, 0, BASE, &data);
    let trace = open(
        stream
            .clone()
            .store(0x19, 0, 0, BASE, &data)
            .store(0x19, 0, 0, BASE, &data)
            .store(0x19, 0, 0, BASE, &data)
            .end(0),
    );
    let all = operations(&trace, ProgramForm::Plain);
    assert_eq!(all[..2], [Compute(u32::MAX), Compute(2)]);
    assert_eq!(all.len(), 2 + 5 * 1024);
    let bytes: Vec<u8> =
        all[2..1026].iter().flat_map(|did| if let Store(_, bytes) = did { bytes.clone() } else { vec![] }).collect();
    assert!(bytes == data);
}

#[test]
fn stream_cut_anywhere_is_good_up_to_a_record() {
    let mut stream = everything();
    stream.starts.push(stream.bytes.len());
    for cut in 9..stream.bytes.len() {
        let trace = Trace::from_bytes("t.cptrace", &stream.bytes[..cut], true).unwrap();
        let records = stream.starts.iter().skip(1).filter(|&&end| end <= cut).count();
        let bytes = if records == 0 { 8 } else { stream.starts[records] as u64 };
        let wanted = Some(CutOff { records: records as u64, bytes });
        assert_eq!(trace.summary().cut_off, wanted, "cut at {cut}");
        operations(&trace, ProgramForm::Plain);
    }
    let message = error(&stream.bytes, false);
    let wanted = format!(
        "t.cptrace: the trace is cut off: expected END at its end, and it is good up to byte {} (13 records); \
         --allow-truncated replays that part",
        stream.bytes.len()
    );
    assert_eq!(message, wanted);
}

//! Where operations come from: program counters, callers, and which code was mapped where.

use super::super::tests::*;
use super::build::BASE;
use crate::message::{NO_SITE, Op};
use crate::trace::Frame;

/// The frames of the operations that `wanted` selects, in order.
fn frames(stream: Stream, wanted: impl Fn(&Op) -> bool) -> Vec<Vec<Frame>> {
    let mut trace = open(stream.end(0));
    trace.watch_sites().unwrap();
    let mut program = trace.program(ProgramForm::Plain).unwrap();
    let mut buffer = OpBuffer::default();
    let mut sites = Vec::new();
    while program.next_transaction(&mut buffer) {
        assert_eq!(buffer.sites.len(), buffer.ops.len());
        sites.extend(buffer.ops.iter().zip(&buffer.sites).filter(|(op, _)| wanted(op)).map(|(_, site)| *site));
        buffer.clear();
    }
    let known = trace.sites().unwrap();
    sites.iter().map(|&site| known.frames(site).to_vec()).collect()
}

fn at(object: u32, offset: u64) -> Frame {
    Frame { object: Some(object), offset }
}

fn code() -> Stream {
    Stream::with_file().code(0x40_0000, 0x1000, 0x200, b"/bin/own").code(0x70_0000, 0x1000, 0, b"/lib/pmem")
}

fn flushes(op: &Op) -> bool {
    matches!(op, Op::Clwb { .. })
}

#[test]
fn flushes_and_called_stores_have_callers_and_loads_have_none() {
    let stream = code().callers(&[0x40_0010, 0x40_0020]).load(0, 0x70_0001, BASE, 8);
    let stream = stream.flush(0x14, 3, 0x70_0004, BASE).store(0x11, 0, 0x40_0030, BASE, &[1]);
    let stream = stream.store(0x1d, 0, 0x70_0008, BASE, &[1]);
    let called = |offset| vec![at(1, offset), at(0, 0x210), at(0, 0x220)];
    let all = frames(stream, |op| !matches!(op, Op::Compute { .. }));
    assert_eq!(all, [vec![at(1, 1)], called(4), vec![at(0, 0x230)], called(8)]);
}

#[test]
fn callers_hold_until_others_come_or_a_frame_begins() {
    let flush = |stream: Stream| stream.flush(0x14, 0, 0x70_0004, BASE);
    let stream = flush(flush(code().callers(&[0x40_0010])).callers(&[]));
    let stream = flush(flush(stream.callers(&[0x40_0018])).sync(0));
    let found = frames(stream, flushes);
    let library = at(1, 4);
    assert_eq!(found, [vec![library, at(0, 0x210)], vec![library], vec![library, at(0, 0x218)], vec![library]]);
}

#[test]
fn callers_come_again_by_the_number_they_have_since_sync() {
    let flush = |stream: Stream| stream.flush(0x14, 0, 0x70_0004, BASE);
    let stream = flush(code().callers(&[0x40_0010])).callers(&[0x40_0018, 0x40_0020]);
    let stream = flush(flush(stream.callers_again(0)).callers_again(1));
    let stream = flush(flush(stream.sync(0)).callers(&[]).callers(&[0x40_0010]).callers_again(1));
    let library = at(1, 4);
    let first = vec![library, at(0, 0x210)];
    let second = vec![library, at(0, 0x218), at(0, 0x220)];
    assert_eq!(frames(stream, flushes), [first.clone(), first.clone(), second, vec![library], first]);
}

#[test]
fn code_means_what_was_mapped_when_it_ran() {
    let stream = code().flush(0x14, 0, 0x40_0004, BASE).code(0x40_0000, 0x800, 0, b"/lib/other");
    let stream = stream.flush(0x14, 0, 0x40_0004, BASE).flush(0x14, 0, 0x40_0900, BASE);
    assert_eq!(frames(stream, flushes), [vec![at(0, 0x204)], vec![at(2, 4)], vec![at(0, 0xb00)]]);
}

#[test]
fn all_operations_of_a_record_come_from_it_and_transactions_from_nowhere() {
    // Two lines stored to, and the write-back of counters that the annotated form adds before the fence.
    let stream = code().begin().store(0x11, 0, 0x40_0004, BASE + 60, &[1; 8]).flush(0x14, 0, 0x40_0008, BASE);
    let mut trace = open(stream.fence(0x17, 0, 0x40_000c).commit().end(0));
    trace.watch_sites().unwrap();
    let mut program = trace.program(ProgramForm::Annotated).unwrap();
    let mut buffer = OpBuffer::default();
    assert!(program.next_transaction(&mut buffer));
    while program.next_transaction(&mut OpBuffer::default()) {}
    let offsets = buffer.sites.iter().map(|&site| trace.sites().unwrap().frames(site).first().map(|f| f.offset));
    let offsets: Vec<Option<u64>> = offsets.collect();
    let [begin, first, second, flush, counters, fence, end] = offsets[..] else { panic!("{buffer:?}") };
    assert_eq!((begin, end, buffer.sites[0]), (None, None, NO_SITE));
    assert_eq!((first, second, flush), (Some(0x204), Some(0x204), Some(0x208)));
    assert_eq!((counters, fence), (Some(0x20c), Some(0x20c)));
}

#[test]
fn nobody_who_does_not_ask_gets_sites() {
    let trace = open(code().flush(0x14, 0, 0x40_0004, BASE).end(0));
    let mut buffer = OpBuffer::default();
    assert!(trace.program(ProgramForm::Plain).unwrap().next_transaction(&mut buffer));
    assert_eq!((buffer.sites.capacity(), trace.sites()), (0, None));
}

#[test]
fn callers_that_are_cut_off_are_dropped() {
    let stream = code().callers(&[0x40_0010, u64::MAX, 0]);
    let last = *stream.starts.last().unwrap();
    for end in last + 1..stream.bytes.len() {
        let trace = Trace::from_bytes("t.cptrace", &stream.bytes[..end], true).unwrap();
        assert_eq!(trace.summary().cut_off.unwrap().bytes, last as u64);
    }
}

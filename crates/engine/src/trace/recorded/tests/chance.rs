//! Locked instructions that are no fences of the program, and what a trace lacks.

use super::super::super::{Done, FenceBy, Steps, StepsRead, Trace};
use super::build::{BASE, Stream};
use std::ops::ControlFlow;

const LIBRARY: u64 = 0x5000_0000;
const PROGRAM: u64 = 0x4000_0000;

fn mapped() -> Stream {
    Stream::with_file().code(PROGRAM, 0x1000, 0, b"/bin/program").code(LIBRARY, 0x1000, 0, b"/lib/libc.so.6")
}

/// What fences, by record and thread: the instruction, or chance.
fn fences(stream: Stream) -> Vec<(u64, u64, Option<FenceBy>)> {
    read(stream).0
}

fn read(stream: Stream) -> (Vec<(u64, u64, Option<FenceBy>)>, StepsRead) {
    let mut found = Vec::new();
    let steps = Steps::from_bytes("t.cptrace", stream.end(0)).unwrap();
    let read = steps.each(false, &|_| {}, &mut |step| {
        match step.done {
            Done::Fence { by, .. } => found.push((step.record, step.thread, Some(by))),
            Done::FenceByChance => found.push((step.record, step.thread, None)),
            _ => {}
        }
        ControlFlow::Continue(())
    });
    (found, read.unwrap())
}

/// Records so far: SYNC, FILE, MAP and CODE twice.
const FIRST: u64 = 6;

#[test]
fn locked_operation_on_other_memory_is_a_fence_if_the_program_goes_on() {
    let flushed = || mapped().store(0x11, 0, PROGRAM, BASE, &[1]).flush(0x14, 0, PROGRAM, BASE);
    let locked = || flushed().locked(PROGRAM + 8);
    let elsewhere = Some(FenceBy::LockedElsewhere);
    let at = FIRST + 2;
    assert_eq!(fences(locked()), [(at, 0, None)], "nothing follows");
    assert_eq!(fences(locked().store(0x11, 0, PROGRAM, BASE, &[2])), [(at, 0, elsewhere)]);
    assert_eq!(fences(locked().flush(0x14, 0, PROGRAM, BASE)), [(at, 0, elsewhere)]);
    assert_eq!(fences(locked().mark(b"done")), [(at, 0, elsewhere)], "what the mark says holds there");
    // Neither a flush of other memory nor a load shows that the program relies on it.
    assert_eq!(fences(locked().flush(0x14, 0, PROGRAM, 0x99)), [(at, 0, None)]);
    assert_eq!(fences(locked().load(0, PROGRAM, BASE, 8)), [(at, 0, None)]);
    // Each thread has its own, and of several the first counts.
    let two = locked().locked(PROGRAM).thread(1).locked(PROGRAM);
    assert_eq!(fences(two.clone()), [(at, 0, None), (at + 3, 1, None)]);
    let sfence = Some(FenceBy::Sfence);
    assert_eq!(fences(two.fence(0x17, 0, 9)), [(at, 0, elsewhere), (at + 3, 1, elsewhere), (at + 4, 1, sfence)]);
}

#[test]
fn locked_operation_of_the_library_is_never_a_fence_of_the_program() {
    let between = |stream: Stream| stream.store(0x11, 0, PROGRAM, BASE, &[2]);
    assert_eq!(fences(between(mapped().locked(LIBRARY))), [(FIRST, 0, None)]);
    // On persistent memory it is a store all the same.
    assert_eq!(fences(mapped().store(0x13, 0, LIBRARY, BASE, &[1])), [(FIRST, 0, None)]);
    assert_eq!(fences(mapped().store(0x13, 0, PROGRAM, BASE, &[1])), [(FIRST, 0, Some(FenceBy::Locked))]);
    // Older versions have an MFENCE for it; an SFENCE is one.
    assert_eq!(fences(mapped().fence(0x18, 0, LIBRARY)), [(FIRST, 0, None)]);
    assert_eq!(fences(mapped().fence(0x18, 0, PROGRAM)), [(FIRST, 0, Some(FenceBy::Mfence))]);
    assert_eq!(fences(mapped().fence(0x17, 0, LIBRARY)), [(FIRST, 0, Some(FenceBy::Sfence))]);
}

#[test]
fn trace_says_what_it_lacks() {
    let lacks = |stream: Stream, status: u64| {
        let trace = Trace::from_bytes("t.cptrace", stream.clone().end(status), false).unwrap();
        let steps = Steps::from_bytes("t.cptrace", stream.end(status)).unwrap();
        let read = steps.each(false, &|_| {}, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(read.lacks, trace.summary().lacks);
        read.lacks
    };
    let processes = "The program started other processes, of which nothing is recorded.";
    let ended = "The recording broke off: what the program did afterwards is not there.";
    assert_eq!(lacks(mapped().lacks(0, b"").lacks(0, b""), 0), [processes]);
    assert_eq!(lacks(mapped().lacks(1, b"/bin/x").lacks(2, b"").lacks(0, b""), 0), [processes]);
    let became = "The program became '/bin/x' by exec, of which nothing is recorded.";
    assert_eq!(lacks(mapped().lacks(1, b"/bin/x"), 256), [became]);
    assert_eq!(lacks(mapped().lacks(0, b""), 256), [processes, ended]);
    let told = "The program used io_submit: what the kernel wrote to memory for it is not recorded.";
    assert_eq!(lacks(mapped().lacks(3, b"io_submit"), 0), [told]);
    assert_eq!(lacks(mapped().locked(PROGRAM), 0), [""; 0]);
    let older = lacks(mapped(), 0);
    assert!(older.len() == 1 && older[0].starts_with("The trace has version 1 of the format"), "{older:?}");
    assert_eq!(read(mapped().locked(PROGRAM)).1.threads, 1);
}

//! Random streams compared with a model that does not know the format, and random bytes, which must not cause a panic.

use super::super::tests::*;
use super::super::{RecordReader, RecordedStep};
use super::build::{BASE, SIZE};
use crate::trace::Steps;
use proptest::prelude::*;
use std::io::Cursor;
use std::ops::ControlFlow;

#[derive(Clone, Debug)]
enum Act {
    Load {
        offset: u64,
        size: u64,
        skip: u64,
    },
    Store {
        tag: u8,
        offset: u64,
        bytes: Vec<u8>,
        skip: u64,
    },
    Flush {
        tag: u8,
        offset: u64,
    },
    KernelFlush {
        offset: u64,
        size: u64,
        at_once: bool,
    },
    Fence {
        tag: u8,
    },
    Begin,
    Commit,
    Sync,
    Thread(u64),
    /// The other thread of two, of the first half of the records.
    Follow,
    Scratch(u64, u64, u64),
    Annotate {
        tag: u8,
        offset: u64,
        size: u64,
    },
    Other {
        store: bool,
        line: u64,
        skip: u64,
    },
}

fn act() -> impl Strategy<Value = Act> {
    let bytes = prop::collection::vec(any::<u8>(), 1..=64);
    let large = prop::collection::vec(any::<u8>(), 1..=3000);
    prop_oneof![
        4 => (0..SIZE - 64, 1u64..=64, 0u64..3).prop_map(|(offset, size, skip)| Act::Load { offset, size, skip }),
        5 => (prop::sample::select(vec![0x11u8, 0x12, 0x13, 0x1d]), 0..SIZE - 64, bytes, 0u64..1000)
            .prop_map(|(tag, offset, bytes, skip)| Act::Store { tag, offset, bytes, skip }),
        1 => (0..SIZE - 3000, large).prop_map(|(offset, bytes)| Act::Store { tag: 0x19, offset, bytes, skip: 0 }),
        3 => (0x14u8..=0x16, 0..SIZE).prop_map(|(tag, offset)| Act::Flush { tag, offset }),
        1 => (0..SIZE - 5000, 1u64..=5000, any::<bool>())
            .prop_map(|(offset, size, at_once)| Act::KernelFlush { offset, size, at_once }),
        2 => prop::sample::select(vec![0x17, 0x18, 0x1c]).prop_map(|tag| Act::Fence { tag }),
        1 => Just(Act::Begin),
        1 => Just(Act::Commit),
        1 => Just(Act::Sync),
        1 => (0u64..4).prop_map(Act::Thread),
        1 => Just(Act::Follow),
        1 => (0u64..3, 0..SIZE, 0u64..5000).prop_map(|(what, offset, length)| Act::Scratch(what, offset, length)),
        1 => (0x1au8..=0x1b, 0..SIZE, 1u64..=5000).prop_map(|(tag, offset, size)| Act::Annotate { tag, offset, size }),
        2 => (any::<bool>(), prop_oneof![0..400u64, (1u64 << 57)..(1 << 57) + 200], 0u64..3)
            .prop_map(|(store, line, skip)| Act::Other { store, line, skip }),
    ]
}

fn stream(acts: &[Act]) -> Stream {
    let mut stream = Stream::with_file();
    let (mut running, mut most) = (0, 0);
    for (index, act) in acts.iter().enumerate() {
        let pc = (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        stream = match act {
            Act::Load { offset, size, skip } => stream.load(*skip, pc, BASE + offset, *size),
            Act::Store { tag, offset, bytes, skip } => stream.store(*tag, *skip, pc, BASE + offset, bytes),
            Act::Flush { tag, offset } => stream.flush(*tag, 0, pc, BASE + offset),
            Act::KernelFlush { offset, size, at_once } => {
                stream.kernel_flush(pc, BASE + offset, *size, u64::from(*at_once))
            }
            Act::Fence { tag: 0x1c } => stream.locked(pc),
            Act::Fence { tag } => stream.fence(*tag, 0, pc),
            Act::Begin => stream.begin(),
            Act::Commit => stream.commit(),
            Act::Sync => {
                running = 0;
                stream.sync(0).file(0, b"pool").map(BASE, SIZE, 0, 0)
            }
            Act::Thread(thread) => {
                most = most.max(*thread);
                running = *thread;
                stream.thread(*thread)
            }
            Act::Follow if most > 0 => {
                let records = stream.starts.len() as u64 / 2;
                stream.follows(0, u64::from(running == 0), records)
            }
            Act::Follow => stream,
            Act::Scratch(what, offset, length) => stream.scratch(*what, BASE + offset, *length),
            Act::Annotate { tag, offset, size } => stream.annotate(*tag, pc, BASE + offset, *size),
            Act::Other { store, line, skip } => stream.other(0x26 + u8::from(*store), *skip, pc, *line),
        };
    }
    stream
}

/// Pages of other memory in the order of their first accesses, and how many stores there were.
#[derive(Default)]
struct Others {
    pages: Vec<u64>,
    stores: u64,
}

impl Others {
    /// Where the access goes, and what it stores, if it does.
    fn access(&mut self, line: u64, store: bool) -> (u64, Option<u64>) {
        let page = self.pages.iter().position(|page| *page == line / 64).unwrap_or(self.pages.len());
        if page == self.pages.len() {
            self.pages.push(line / 64);
        }
        self.stores += u64::from(store);
        (SIZE + page as u64 * 4096 + line % 64 * 64, store.then_some(self.stores))
    }
}

/// What the acts should result in, computed directly from them, without transactions; with the annotations if they are
/// `annotated`.
fn model(acts: &[Act], annotated: bool) -> Vec<Did> {
    let mut all = Vec::new();
    let mut atomic = std::collections::HashSet::new();
    let mut others = Others::default();
    let pieces = |offset: u64, size: u64| {
        let lines = offset / 64..(offset + size).div_ceil(64);
        lines.map(move |line| (line * 64).max(offset)..(line * 64 + 64).min(offset + size)).collect::<Vec<_>>()
    };
    for act in acts {
        match act {
            Act::Load { skip, .. } | Act::Store { skip, .. } | Act::Other { skip, .. } if *skip > 0 => {
                all.push(Did::Compute(*skip as u32))
            }
            _ => {}
        }
        match act {
            Act::Load { offset, size, .. } => {
                all.extend(pieces(*offset, *size).iter().map(|p| Did::Load(p.start, (p.end - p.start) as u8)));
            }
            Act::Store { tag, offset, bytes, .. } => {
                let pieces = pieces(*offset, bytes.len() as u64);
                if *tag == 0x13 {
                    all.extend(pieces.iter().map(|p| Did::Load(p.start, (p.end - p.start) as u8)));
                }
                for p in &pieces {
                    let data = bytes[(p.start - offset) as usize..(p.end - offset) as usize].to_vec();
                    match (*tag, atomic.contains(&(p.start / 64))) {
                        (0x12, true) => {
                            all.extend([Did::CounterAtomicStore(p.start, data), Did::Clwb(p.start & !63)]);
                        }
                        (_, true) => all.push(Did::CounterAtomicStore(p.start, data)),
                        (0x12, false) => all.push(Did::NonTemporal(p.start, data)),
                        (_, false) => all.push(Did::Store(p.start, data)),
                    }
                }
                if *tag == 0x13 {
                    all.push(Did::FullFence);
                }
            }
            Act::Flush { tag, offset } => all.push(match tag {
                0x14 => Did::Clwb(offset & !63),
                0x15 => Did::Clflushopt(offset & !63),
                _ => Did::Clflush(offset & !63),
            }),
            Act::KernelFlush { offset, size, at_once } => all.extend(
                pieces(*offset, *size)
                    .iter()
                    .map(|p| if *at_once { Did::Clflush(p.start & !63) } else { Did::Clwb(p.start & !63) }),
            ),
            Act::Fence { tag: 0x17 } => all.push(Did::Fence),
            Act::Fence { .. } => all.push(Did::FullFence),
            Act::Annotate { tag: 0x1a, offset, size } if annotated => {
                let end = (offset + size).min(SIZE);
                all.extend((offset / 512..end.div_ceil(512)).map(|block| Did::WriteBackCounters(block * 512)));
            }
            Act::Annotate { offset, size, .. } if annotated => {
                atomic.extend(offset / 64..(offset + size).min(SIZE).div_ceil(64));
            }
            Act::Other { store, line, .. } => {
                let (address, value) = others.access(*line, *store);
                all.push(
                    value.map_or(Did::Load(address, 8), |value| Did::Store(address, value.to_le_bytes().to_vec())),
                );
            }
            Act::Begin
            | Act::Commit
            | Act::Sync
            | Act::Thread(_)
            | Act::Follow
            | Act::Scratch(..)
            | Act::Annotate { .. } => {}
        }
    }
    all
}

/// Runs whatever program `bytes` contain, but not forever: instructions may be 2^64.
fn survive(bytes: &[u8]) {
    if let Ok(trace) = Trace::from_bytes("t.cptrace", bytes, true) {
        // More threads than cores are one program.
        let trace = if trace.cores() > 4 { trace.in_order() } else { trace };
        for mut program in trace.programs(ProgramForm::Annotated).unwrap() {
            let mut buffer = OpBuffer::default();
            for _ in 0..16 {
                if !program.next_transaction(&mut buffer) {
                    break;
                }
                assert!(buffer.ops.len() <= OPS_PER_FILL && buffer.bytes.len() <= 64 * OPS_PER_FILL);
                buffer.clear();
            }
        }
        assert_eq!(trace.failure(), None, "the second pass sees what the first saw");
        let steps = Steps::from_bytes("t.cptrace", bytes)
            .unwrap()
            .each(true, &|_| {}, &mut |_| ControlFlow::Continue(()))
            .unwrap();
        assert_eq!(steps.records, trace.summary().records, "steps are those of the same records");
    }
}

proptest! {
    #[test]
    fn what_is_recorded_is_replayed(acts in prop::collection::vec(act(), 0..200), packed in any::<bool>()) {
        let bytes = stream(&acts).end(0);
        let trace = open(if packed { zstd::encode_all(&bytes[..], 1).unwrap() } else { bytes });
        let mut all = operations(&trace, ProgramForm::Plain);
        let begins = all.iter().filter(|did| **did == Did::Begin).count() as u64;
        prop_assert_eq!(begins, trace.summary().transactions);
        all.retain(|did| !matches!(did, Did::Begin | Did::End));
        prop_assert_eq!(all, model(&acts, false));
    }

    #[test]
    fn annotations_are_kept_and_nothing_is_added_to_them(acts in prop::collection::vec(act(), 0..200)) {
        let annotations = acts.iter().filter(|act| matches!(act, Act::Annotate { .. })).count() as u64;
        let trace = open(stream(&acts).annotate(0x1b, 0, BASE, 64).end(0));
        prop_assert_eq!(trace.summary().annotations, annotations + 1);
        let mut all = operations(&trace, ProgramForm::Annotated);
        all.retain(|did| !matches!(did, Did::Begin | Did::End));
        prop_assert_eq!(all, model(&acts, true));
    }

    #[test]
    fn reader_in_the_middle_reads_the_rest(acts in prop::collection::vec(act(), 1..100)) {
        let stream = stream(&acts);
        let bytes = stream.clone().end(0);
        for (index, &at) in stream.starts.iter().enumerate().filter(|&(_, &at)| bytes[at] == 0x01) {
            let mut reader = RecordReader::from_sync("t", Cursor::new(bytes[at..].to_vec()), at as u64);
            let mut whole = RecordReader::new("t", Cursor::new(bytes.clone()));
            for _ in 0..index {
                whole.next_step().unwrap();
            }
            for _ in index..=stream.starts.len() {
                prop_assert_eq!(reader.next_step().unwrap(), whole.next_step().unwrap());
                prop_assert_eq!((reader.records(), reader.offset()), (whole.records(), whole.offset()));
            }
            prop_assert!(matches!(reader.next_step().unwrap(), RecordedStep::Record(_)));
        }
    }

    #[test]
    fn arbitrary_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        survive(&[&b"CPTRACE\x01\x01\x00\x00\x00"[..], &bytes].concat());
        survive(&[&b"CPTRACE"[..], &bytes].concat());
        survive(&bytes);
    }

    #[test]
    fn damaged_streams_are_survived(
        acts in prop::collection::vec(act(), 1..20),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        packed in any::<bool>(),
    ) {
        let whole = stream(&acts).end(0);
        let mut bytes = if packed { zstd::encode_all(&whole[..], 1).unwrap() } else { whole };
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        survive(&bytes);
    }
}

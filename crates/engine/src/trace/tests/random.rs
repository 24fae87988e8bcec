//! Random logs compared with a model that does not know the format, and random bytes, which must not cause a panic.

use super::super::tests::*;
use proptest::prelude::*;

/// A program in terms of one file of 64 KiB that is mapped twice.
#[derive(Clone, Debug)]
enum Act {
    Store { offset: u64, value: u64, size: u8, low: bool, stack: usize },
    Flush { offset: u64, size: u64, low: bool },
    Fence,
    DeepSync { offset: u64, size: u64 },
    Enter,
    Commit,
    Noise,
}

const HIGH: u64 = 0x7f00_0000_0000;
const LOW: u64 = 0x4_0000;
const SIZE: u64 = 0x1_0000;
/// What may follow a store.
const STACKS: [&str; 4] = [
    "",
    ";0x109A3F: insert (list.c:44)",
    ";0x48B10E4: ??? (in /usr/lib/libx.so);0x109A3F: set(Node*) (list.h:3)0x109A3F: insert (list.cc:44)",
    ";0x5: a::operator||(int) (o.c:1);0x6: ???",
];

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        5 => (0..SIZE - 8, any::<u64>(), 1u8..=8, any::<bool>(), 0..STACKS.len())
            .prop_map(|(offset, value, size, low, stack)| {
                Act::Store { offset, value: value >> (64 - 8 * u32::from(size)), size, low, stack }
            }),
        3 => (0..SIZE, 0u64..2000, any::<bool>()).prop_map(|(offset, size, low)| Act::Flush { offset, size, low }),
        2 => Just(Act::Fence),
        1 => (0..SIZE, 0u64..200).prop_map(|(offset, size)| Act::DeepSync { offset, size }),
        1 => Just(Act::Enter),
        1 => Just(Act::Commit),
        1 => Just(Act::Noise),
    ]
}

fn base(low: bool) -> u64 {
    if low { LOW } else { HIGH }
}

fn text(acts: &[Act], glue: &[bool]) -> String {
    let mut records = format!("|REGISTER_FILE;p;0x{HIGH:x};0x{SIZE:x};0x0|REGISTER_FILE;p;0x{LOW:x};0x{SIZE:x};0x0");
    for (index, act) in acts.iter().enumerate() {
        records += &match act {
            Act::Store { offset, value, size, low, stack } => {
                format!("|STORE;0x{:x};0x{value:x};0x{size:x}{}", base(*low) + offset, STACKS[*stack])
            }
            Act::Flush { offset, size, low } => format!("|FLUSH;0x{:x};0x{size:x}", base(*low) + offset),
            Act::Fence => "|FENCE".into(),
            Act::DeepSync { offset, size } => format!("|DEEP_SYNC;0x{:x};0x{size:x}", HIGH + offset),
            Act::Enter => "|pmemobj_tx_add_range.BEGIN".into(),
            Act::Commit => "|pmemobj_tx_commit.END".into(),
            Act::Noise => "|libpmem.END".into(),
        };
        if glue.get(index).copied().unwrap_or(false) {
            records += "brk segment overflow in thread #1\n==7== ";
        }
    }
    log(&records)
}

/// What the acts should result in, computed directly from them.
fn model(acts: &[Act]) -> Vec<Did> {
    let mut all = Vec::new();
    let commits = acts.iter().filter(|act| matches!(act, Act::Commit)).count();
    let first = acts.iter().position(|act| matches!(act, Act::Enter | Act::Commit));
    let mut ended = 0;
    let flush = |all: &mut Vec<Did>, offset: u64, size: u64| {
        all.extend(
            (0..SIZE / 64)
                .map(|line| line * 64)
                .filter(|line| size > 0 && *line < offset + size && line + 64 > offset)
                .map(Did::Flush),
        );
    };
    for (index, act) in acts.iter().enumerate() {
        if Some(index) == first && commits > 0 {
            all.push(Did::Begin);
        }
        match act {
            Act::Store { offset, value, size, .. } => {
                let bytes = &value.to_le_bytes()[..usize::from(*size)];
                let cut = bytes.len().min((64 - offset % 64) as usize);
                all.push(Did::Store(*offset, bytes[..cut].to_vec()));
                if cut < bytes.len() {
                    all.push(Did::Store(offset + cut as u64, bytes[cut..].to_vec()));
                }
            }
            Act::Flush { offset, size, .. } => flush(&mut all, *offset, *size),
            Act::Fence => all.push(Did::Fence),
            Act::DeepSync { offset, size } => {
                flush(&mut all, *offset, *size);
                all.push(Did::Fence);
            }
            Act::Commit => {
                all.push(Did::End);
                ended += 1;
                if ended < commits {
                    all.push(Did::Begin);
                }
            }
            Act::Enter | Act::Noise => {}
        }
    }
    all
}

/// Runs whatever program `bytes` contain, but not forever: a flush may name 2^42 lines.
fn survive(bytes: &[u8]) {
    if let Ok(trace) = Trace::from_bytes("t.log", bytes, true) {
        let mut program = trace.program(ProgramForm::Plain).unwrap();
        let mut buffer = OpBuffer::default();
        for _ in 0..16 {
            if !program.next_transaction(&mut buffer) {
                break;
            }
            assert!(buffer.ops.len() <= OPS_PER_FILL && buffer.bytes.len() <= 8 * OPS_PER_FILL);
            buffer.clear();
        }
        assert_eq!(trace.failure(), None, "the second pass sees what the first saw");
    }
}

proptest! {
    #[test]
    fn written_log_reads_back(
        acts in prop::collection::vec(act(), 0..200),
        glue in prop::collection::vec(prop::bool::weighted(0.1), 200),
        packed in any::<bool>(),
    ) {
        let text = text(&acts, &glue).into_bytes();
        let bytes = if packed { zstd::encode_all(&text[..], 1).unwrap() } else { text };
        let trace = Trace::from_bytes("t.log", bytes, false).unwrap();
        prop_assert_eq!(operations(&trace), model(&acts));
    }

    #[test]
    fn log_cut_anywhere_is_good_up_to_a_record(acts in prop::collection::vec(act(), 1..30), cut in any::<prop::sample::Index>()) {
        let text = text(&acts, &[]);
        let end = START.len() + cut.index(text.len() - STOP.len() - START.len());
        let trace = Trace::from_bytes("t.log", &text.as_bytes()[..end], true).unwrap();
        let records = text[..end].replace("operator||", "").replace("operator|", "");
        let bars = records.matches('|').count() as u64;
        prop_assert_eq!(trace.summary().cut_off.unwrap().records, bars.saturating_sub(1));
        operations(&trace);
    }

    #[test]
    fn arbitrary_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400), start in any::<bool>()) {
        let head: &[u8] = if start { b"==1== START|" } else { &[0x28, 0xb5, 0x2f, 0xfd] };
        survive(&[head, &bytes].concat());
        survive(&bytes);
    }

    #[test]
    fn damaged_logs_are_survived(
        acts in prop::collection::vec(act(), 1..20),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        packed in any::<bool>(),
    ) {
        let text = text(&acts, &[]).into_bytes();
        let mut bytes = if packed { zstd::encode_all(&text[..], 1).unwrap() } else { text };
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        survive(&bytes);
    }
}

/// Four hundred megabytes of one byte in some tens of kilobytes: they must be refused early.
#[test]
fn bomb_is_not_unpacked() {
    let packed = zstd::encode_all(
        std::io::Read::chain(&b"==7== "[..], std::io::Read::take(std::io::repeat(b'x'), 400 << 20)),
        1,
    )
    .unwrap();
    assert!(packed.len() < 100_000);
    assert!(error(&packed, true).starts_with("t.log: record 1 at byte 0: expected a record of at most 65536 bytes"));
}

//! One record of a recorded trace (docs/trace-format.md describes the format).

use super::super::other_memory::Near;
use super::super::recording::{AnnotationKind, Expected, FlushKind, Scratch};
use super::varint::{Fields, Problem};

/// The first bytes of a stream, without the version, which follows.
pub const MAGIC: [u8; 7] = *b"CPTRACE";
/// The versions: the second has SCRATCH, the third COUNTER_WRITEBACK and COUNTER_ATOMIC, the fourth LOCKED and LACKS, the
/// fifth CALLED_STORE, the sixth KERNEL_FLUSH and files that stand for the sizes of others, the seventh FOLLOWS, the eighth
/// OTHER_LOAD, OTHER_STORE and NEAR.
pub const VERSIONS: [u8; 8] = [1, 2, 3, 4, 5, 6, 7, 8];
/// The exit status in END if the stream had none: no program exits with it.
pub const STATUS_UNKNOWN: u64 = 256;
/// The most bytes that IMAGE and KERNEL_STORE carry.
pub const DATA_BYTES_MAX: usize = 1 << 16;
/// The most bytes of a path or a marker.
pub const TEXT_BYTES_MAX: usize = 4096;
/// The most bytes that one instruction loads or stores in a record.
pub const ACCESS_BYTES_MAX: usize = 64;
/// The most loads, and the most stores, that one NEAR counts.
pub const NEAR_MAX: u64 = 1 << 12;
/// The most callers that are recorded for a program counter.
pub const CALLERS_MAX: usize = 16;
/// The most bytes of a record: a tag, no more than five numbers, and the longest data, which callers never are.
pub const RECORD_BYTES_MAX: usize = 1 + 5 * 10 + DATA_BYTES_MAX;

/// One past the highest number of a line.
const LINES_END: u64 = 1 << 58;

/// The most bytes of a record without paths, images and other long data: a tag, a count, and the callers.
const SHORT_BYTES_MAX: usize = 1 + 10 + 10 * CALLERS_MAX;
const _: () = assert!(1 + 4 * 10 + ACCESS_BYTES_MAX <= SHORT_BYTES_MAX);

/// The most bytes of the record that `bytes` begins with.
pub(super) fn longest(bytes: &[u8]) -> usize {
    match bytes.first() {
        Some(
            &(0x07..=0x18 | TAG_LOCKED | TAG_CALLED_STORE | TAG_KERNEL_FLUSH | 0x20 | 0x21 | TAG_FOLLOWS..=TAG_NEAR),
        ) => SHORT_BYTES_MAX,
        _ => RECORD_BYTES_MAX,
    }
}

/// Tags that other code needs.
pub(super) const TAG_SYNC: u8 = 0x01;
pub(super) const TAG_END: u8 = 0x7f;

const TAG_LOCKED: u8 = 0x1c;
const TAG_CALLED_STORE: u8 = 0x1d;
const TAG_KERNEL_FLUSH: u8 = 0x1e;
const TAG_SCRATCH: u8 = 0x23;
const TAG_LACKS: u8 = 0x24;
const TAG_FOLLOWS: u8 = 0x25;
const TAG_OTHER_LOAD: u8 = 0x26;
const TAG_OTHER_STORE: u8 = 0x27;
const TAG_NEAR: u8 = 0x28;

pub(super) const TAG: Expected = Expected("a record's tag (0x01 to 0x09, 0x10 to 0x1e, 0x20 to 0x28 or 0x7f)");
const SCRATCH: Expected = Expected("0 (stored so far), 1 (from here on) or 2 (no more)");
const LACKS: Expected = Expected(
    "0 (other processes), 1 (a program by exec), 2 (no exec after all), 3 (transfers of the kernel), 4 (a new name) or 5 (a file that is written)",
);
const HOW: Expected = Expected("0 (by the next fence) or 1 (at once)");
const RANGE: Expected = Expected("a range of 1 to 65536 bytes");
const SIZE: Expected = Expected("an access of 1 to 64 bytes");
const CALLERS: Expected = Expected("at most 16 callers");
const LINE: Expected = Expected("the number of a line below 2^58");
const NEAR: Expected = Expected("at most 4096 loads and 4096 stores, and at least one of them");
const DATA: Expected = Expected("at most 65536 bytes");
const TEXT: Expected = Expected("a path or marker of at most 4096 bytes");

impl Record<'_> {
    /// The first version of the format that has such records.
    pub(super) fn since(&self) -> u8 {
        match self {
            Record::Access { access: Access::Annotation { .. }, .. } | Record::CallersAgain { .. } => VERSIONS[2],
            Record::Scratch { .. } => VERSIONS[1],
            Record::Access { access: Access::KernelFlush { .. }, .. }
            | Record::Lacks { what: Lacks::Renames | Lacks::Writes, .. } => VERSIONS[5],
            Record::Fence { kind: FenceKind::Locked, .. } | Record::Lacks { .. } => VERSIONS[3],
            Record::Access { access: Access::CalledStore(_), .. } => VERSIONS[4],
            Record::Follows { .. } => VERSIONS[6],
            Record::Other { .. } | Record::Near(_) => VERSIONS[7],
            _ => VERSIONS[0],
        }
    }
}

/// A record. Addresses and program counters are complete, not differences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record<'a> {
    /// Reading can begin here. Numbers of records and instructions so far, and the running thread.
    Sync { records: u64, instructions: u64, thread: u64 },
    /// File number `file` is `path`.
    File { file: u64, path: &'a [u8] },
    /// `length` bytes from `offset` of a file are mapped at `base`.
    Map { base: u64, length: u64, file: u64, offset: u64 },
    /// `[base, base + length)` is no longer mapped.
    Unmap { base: u64, length: u64 },
    /// An executable mapping of the object file `path`.
    Code { base: u64, length: u64, offset: u64, path: &'a [u8] },
    /// The contents of a file when it was first mapped.
    Image { file: u64, offset: u64, bytes: &'a [u8] },
    /// The following records are executed by this thread.
    Thread { thread: u64 },
    /// The callers of the code of the following records.
    Callers(Callers<'a>),
    /// The callers of the following records are those of CALLERS number `number` since SYNC, from 0.
    CallersAgain { number: u64 },
    /// A load, a store, a flush or an annotation. `instructions` were executed since the last record.
    Access { instructions: u64, pc: u64, address: u64, access: Access<'a> },
    /// A fence.
    Fence { instructions: u64, pc: u64, kind: FenceKind },
    /// A transaction begins.
    TxBegin { kind: u64 },
    /// A transaction has ended.
    TxEnd { kind: u64 },
    /// A marker of the program.
    Mark { text: &'a [u8] },
    /// The program declares that what it stores to `[base, base + length)` need not become durable.
    Scratch { what: Scratch, base: u64, length: u64 },
    /// The recording lacks something from here on.
    Lacks { what: Lacks, text: &'a [u8] },
    /// The thread follows what `thread` did in the first `records` records.
    Follows { instructions: u64, thread: u64, records: u64 },
    /// A load or store of memory that is not persistent, by the number of its line.
    Other { instructions: u64, pc: u64, line: u64, store: bool },
    /// So many of these are of lines that the thread has accessed lately, in the instructions that the next record counts.
    Near(Near),
    /// Totals before this record, and the exit status.
    End { records: u64, instructions: u64, status: u64 },
}

/// Which instruction fences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FenceKind {
    Sfence,
    /// Before the fourth version of the format a locked operation on other memory as well.
    Mfence,
    /// A locked operation on memory that is not persistent.
    Locked,
}

/// What a recording lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lacks {
    /// Processes that the program has started.
    Processes,
    /// The program is about to become another one.
    Exec,
    /// It has not become that.
    ExecFailed,
    /// What the kernel writes to memory after a system call of this name.
    Transfers,
    /// That a file of this name now has another one.
    Renames,
    /// What the program wrote to the file of this name.
    Writes,
}

/// The calls that the code of an operation is inside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Callers<'a> {
    differences: &'a [u8],
}

impl Callers<'_> {
    /// The callers, innermost first, each by the last byte of the call instruction.
    pub fn addresses(&self) -> impl Iterator<Item = u64> {
        let (mut fields, mut address) = (Fields::new(self.differences), 0u64);
        std::iter::from_fn(move || {
            address = address.wrapping_add_signed(fields.signed().ok()?);
            Some(address)
        })
    }
}

/// What an instruction does to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access<'a> {
    Load {
        size: u64,
    },
    Store(&'a [u8]),
    /// With callers.
    CalledStore(&'a [u8]),
    NonTemporalStore(&'a [u8]),
    /// The bytes in memory after a locked read-modify-write.
    Atomic(&'a [u8]),
    /// Written by a system call.
    KernelStore(&'a [u8]),
    Flush(FlushKind),
    /// By a system call, of so many bytes.
    KernelFlush {
        size: u64,
        kind: FlushKind,
    },
    /// Of the counters of so many bytes.
    Annotation {
        size: u64,
        kind: AnnotationKind,
    },
}

/// The base values of the differences in addresses and program counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Last {
    pub address: u64,
    pub pc: u64,
    /// Of memory that is not persistent.
    pub line: u64,
}

/// The record at the start of `bytes`, its length, and the base values of the next one's differences.
pub(super) fn parse(bytes: &[u8], last: Last) -> Result<(Record<'_>, usize, Last), Problem> {
    let mut fields = Fields::new(bytes);
    let mut last = last;
    let record = match fields.byte()? {
        TAG_SYNC => {
            last = Last::default();
            Record::Sync { records: fields.unsigned()?, instructions: fields.unsigned()?, thread: fields.unsigned()? }
        }
        0x02 => Record::File { file: fields.unsigned()?, path: fields.bytes(TEXT_BYTES_MAX as u64, TEXT)? },
        0x03 => Record::Map {
            base: fields.unsigned()?,
            length: fields.unsigned()?,
            file: fields.unsigned()?,
            offset: fields.unsigned()?,
        },
        0x04 => Record::Unmap { base: fields.unsigned()?, length: fields.unsigned()? },
        0x05 => Record::Code {
            base: fields.unsigned()?,
            length: fields.unsigned()?,
            offset: fields.unsigned()?,
            path: fields.bytes(TEXT_BYTES_MAX as u64, TEXT)?,
        },
        0x06 => Record::Image {
            file: fields.unsigned()?,
            offset: fields.unsigned()?,
            bytes: fields.bytes(DATA_BYTES_MAX as u64, DATA)?,
        },
        0x07 => Record::Thread { thread: fields.unsigned()? },
        0x08 => Record::Callers(callers(bytes, &mut fields)?),
        0x09 => Record::CallersAgain { number: fields.unsigned()? },
        tag @ (0x10..=TAG_KERNEL_FLUSH | TAG_OTHER_LOAD | TAG_OTHER_STORE) => operation(tag, &mut fields, &mut last)?,
        0x20 => Record::TxBegin { kind: fields.unsigned()? },
        0x21 => Record::TxEnd { kind: fields.unsigned()? },
        0x22 => Record::Mark { text: fields.bytes(TEXT_BYTES_MAX as u64, TEXT)? },
        TAG_SCRATCH => {
            let all = [Scratch::Stored, Scratch::Begins, Scratch::Ends];
            let what = one_of(&all, fields.unsigned()?).ok_or(SCRATCH)?;
            Record::Scratch { what, base: fields.unsigned()?, length: fields.unsigned()? }
        }
        TAG_LACKS => {
            let all =
                [Lacks::Processes, Lacks::Exec, Lacks::ExecFailed, Lacks::Transfers, Lacks::Renames, Lacks::Writes];
            let what = one_of(&all, fields.unsigned()?).ok_or(LACKS)?;
            Record::Lacks { what, text: fields.bytes(TEXT_BYTES_MAX as u64, TEXT)? }
        }
        TAG_FOLLOWS => Record::Follows {
            instructions: fields.unsigned()?,
            thread: fields.unsigned()?,
            records: fields.unsigned()?,
        },
        TAG_NEAR => Record::Near(near(&mut fields)?),
        TAG_END => {
            Record::End { records: fields.unsigned()?, instructions: fields.unsigned()?, status: fields.unsigned()? }
        }
        _ => return Err(TAG.into()),
    };
    Ok((record, fields.taken(), last))
}

/// A record of an instruction.
fn operation<'a>(tag: u8, fields: &mut Fields<'a>, last: &mut Last) -> Result<Record<'a>, Problem> {
    let instructions = fields.unsigned()?;
    last.pc = last.pc.wrapping_add_signed(fields.signed()?);
    let pc = last.pc;
    Ok(match tag {
        0x17 => Record::Fence { instructions, pc, kind: FenceKind::Sfence },
        0x18 => Record::Fence { instructions, pc, kind: FenceKind::Mfence },
        TAG_LOCKED => Record::Fence { instructions, pc, kind: FenceKind::Locked },
        TAG_OTHER_LOAD | TAG_OTHER_STORE => {
            last.line = last.line.wrapping_add_signed(fields.signed()?);
            if last.line >= LINES_END {
                return Err(LINE.into());
            }
            Record::Other { instructions, pc, line: last.line, store: tag == TAG_OTHER_STORE }
        }
        _ => {
            last.address = last.address.wrapping_add_signed(fields.signed()?);
            Record::Access { instructions, pc, address: last.address, access: access(tag, fields)? }
        }
    })
}

fn near(fields: &mut Fields<'_>) -> Result<Near, Problem> {
    let near = Near { loads: fields.unsigned()?, stores: fields.unsigned()? };
    if near.loads > NEAR_MAX || near.stores > NEAR_MAX || !near.any() { Err(NEAR.into()) } else { Ok(near) }
}

/// The one of `all` that a number stands for.
fn one_of<T: Copy>(all: &[T], number: u64) -> Option<T> {
    all.get(usize::try_from(number).ok()?).copied()
}

/// The callers from where `fields` of `bytes` is on.
fn callers<'a>(bytes: &'a [u8], fields: &mut Fields<'a>) -> Result<Callers<'a>, Problem> {
    let count = fields.unsigned()?;
    if count > CALLERS_MAX as u64 {
        return Err(CALLERS.into());
    }
    let from = fields.taken();
    for _ in 0..count {
        fields.signed()?;
    }
    Ok(Callers { differences: &bytes[from..fields.taken()] })
}

fn access<'a>(tag: u8, fields: &mut Fields<'a>) -> Result<Access<'a>, Problem> {
    if let 0x1a | 0x1b | TAG_KERNEL_FLUSH = tag {
        let size = fields.unsigned()?;
        if !(1..=DATA_BYTES_MAX as u64).contains(&size) {
            return Err(RANGE.into());
        }
        if tag == TAG_KERNEL_FLUSH {
            let all = [FlushKind::Sync, FlushKind::SyncAtOnce];
            return Ok(Access::KernelFlush { size, kind: one_of(&all, fields.unsigned()?).ok_or(HOW)? });
        }
        let kind = if tag == 0x1a { AnnotationKind::Writeback } else { AnnotationKind::Atomic };
        return Ok(Access::Annotation { size, kind });
    }
    let mut stored = |max: usize, expected| {
        let bytes = fields.bytes(max as u64, expected)?;
        if bytes.is_empty() { Err(Problem::Wrong(expected)) } else { Ok(bytes) }
    };
    Ok(match tag {
        0x10 => match fields.unsigned()? {
            size if (1..=ACCESS_BYTES_MAX as u64).contains(&size) => Access::Load { size },
            _ => return Err(SIZE.into()),
        },
        0x11 => Access::Store(stored(ACCESS_BYTES_MAX, SIZE)?),
        TAG_CALLED_STORE => Access::CalledStore(stored(ACCESS_BYTES_MAX, SIZE)?),
        0x12 => Access::NonTemporalStore(stored(ACCESS_BYTES_MAX, SIZE)?),
        0x13 => Access::Atomic(stored(ACCESS_BYTES_MAX, SIZE)?),
        0x19 => Access::KernelStore(stored(DATA_BYTES_MAX, Expected("1 to 65536 bytes"))?),
        0x14 => Access::Flush(FlushKind::Clwb),
        0x15 => Access::Flush(FlushKind::Clflushopt),
        _ => Access::Flush(FlushKind::Clflush),
    })
}

//! A recorded trace with its addresses resolved: records in order, and the mappings, files, threads and transactions at
//! each of them.

use super::super::lacks::Lack;
use super::super::mapped_files::{EXTENT_MAX, FILES_MAX, Mappings, Place, RegisteredFile};
use super::super::marks;
use super::super::other_memory::{Near, OtherPages};
use super::super::recording::{Act, Deed, Expected, Populated, Recording, StoreWay, TakeImage, Totals};
use super::super::sites::{CALLERS_NUMBERED, SiteFinder, Sites};
use super::reader::{RecordReader, Step, stored};
use super::record::{Access, Callers, FenceKind, Lacks, Record, STATUS_UNKNOWN, VERSIONS};
use crate::kernel::ConfigError;
use crate::message::{NO_SITE, Site};
use std::io::Read;

/// The first version of the format that says what a recording lacks.
const TELLS_LACKS: u8 = VERSIONS[3];
/// The first that says which thread follows which.
const TELLS_FOLLOWS: u8 = VERSIONS[6];
/// The first that has accesses of memory that is not persistent.
const TELLS_OTHERS: u8 = VERSIONS[7];
/// The most threads of a program.
pub const THREADS_MAX: u64 = 1 << 16;

const OUTSIDE: Expected = Expected("an access to a mapped file");
const FILE_NUMBER: Expected = Expected("the number of a file that FILE has named");
const FILE_ORDER: Expected = Expected("the next file number, or the path that the number has already");
const IMAGE: Expected = Expected("an image within the first 2^48 bytes of a file that FILE has named");
const THREAD: Expected = Expected("a thread number below 65536");
const FOLLOWED: Expected = Expected("the number of another thread that has been running");
const CALLERS_NUMBER: Expected = Expected("the number of callers that CALLERS has given since SYNC, below 65536");
const NEAR: Expected = Expected("the record whose instructions NEAR is about");
const RANGE: Expected = Expected("a range that ends within 64 bits of address");

/// Reads the acts of the program.
pub struct Walk {
    reader: RecordReader,
    state: Meaning,
}

/// The state that the records so far result in.
#[derive(Default)]
struct Meaning {
    mappings: Mappings,
    stored: Vec<u8>,
    thread: u64,
    threads: u64,
    /// Open transactions of each thread, and the number of threads with open transactions.
    depths: Vec<u32>,
    open: u32,
    /// The transactions that each thread has ended, as it tells itself.
    ended: Vec<u64>,
    /// The thread whose acts alone are returned.
    only: Option<u64>,
    marks_set: u64,
    status: Option<u64>,
    /// Program counter of the newest record, and whether CALLERS names the callers of its code.
    pc: Option<(u64, bool)>,
    /// Thread and program counter of the newest record, if it is an access of an instruction.
    accessed_by: Option<(u64, u64)>,
    /// How many CALLERS there were since SYNC.
    callers_given: u64,
    /// Finds the sites of acts, once they are requested.
    sites: Option<SiteFinder>,
    /// The newest mark, and whether it is the newest record.
    mark: Vec<u8>,
    marks: bool,
    lacks: Vec<Lack>,
    /// Where other memory is, and what the next record's instructions access of it.
    others: OtherPages,
    near: Near,
}

impl Walk {
    /// Reads the (decompressed) stream `input`; `name` is its name in errors.
    pub fn new(name: &str, input: impl Read + Send + 'static) -> Self {
        Walk { reader: RecordReader::new(name, input), state: Meaning::default() }
    }

    /// The reader, at the record of the newest act.
    pub fn reader(&self) -> &RecordReader {
        &self.reader
    }

    /// The next record, and the act that it means, if any.
    pub fn next_record(&mut self, image: TakeImage<'_>) -> Result<Option<Deed>, ConfigError> {
        let Walk { reader, state } = self;
        let taken = match reader.next_step()? {
            Step::Record(record) => state.take(&record, image),
            Step::CutOff => Ok(Some(Act::Over { cut_off: true }.into())),
        };
        taken.map_err(|expected| self.reader.malformed(expected))
    }
}

impl Meaning {
    fn take(&mut self, record: &Record<'_>, image: TakeImage<'_>) -> Result<Option<Deed>, Expected> {
        self.pc = None;
        self.marks = false;
        let near = self.near_of(record)?;
        let act = match *record {
            Record::Sync { thread, .. } | Record::Thread { thread } => {
                if let Record::Sync { .. } = record {
                    self.forget_callers();
                }
                return self.runs(thread).map(|()| None);
            }
            Record::File { file, path } => return self.file(file, path).map(|()| None),
            Record::Map { base, length, file, offset } => {
                let file = self.known(file).ok_or(FILE_NUMBER)?;
                self.mappings.map(file, base, length, offset)?;
                return Ok(None);
            }
            Record::Unmap { base, length } => {
                self.mappings.unmap(base, base.checked_add(length).ok_or(RANGE)?)?;
                return Ok(None);
            }
            Record::Code { base, length, offset, path } => {
                let end = base.checked_add(length).ok_or(RANGE)?;
                self.sites.iter_mut().for_each(|sites| sites.code(base..end, offset, path));
                return Ok(None);
            }
            Record::Callers(callers) => {
                self.callers(callers);
                return Ok(None);
            }
            Record::CallersAgain { number } => return self.callers_again(number).map(|()| None),
            Record::Image { file, offset, bytes } => {
                let file = self.known(file).ok_or(IMAGE)?;
                let end = offset.checked_add(bytes.len() as u64).filter(|&end| end <= EXTENT_MAX).ok_or(IMAGE)?;
                self.mappings.extend(file, end);
                image(Populated { file, offset, bytes })?;
                return Ok(None);
            }
            Record::Lacks { what, text } => {
                self.lacks(what, text);
                None
            }
            Record::Scratch { what, base, length } => {
                Some(Act::Scratch { address: base, end: base.checked_add(length).ok_or(RANGE)?, what })
            }
            Record::Access { .. } | Record::Fence { .. } | Record::Follows { .. } | Record::Other { .. } => {
                return self.executed(record).map(|deed| Some(Deed { near, ..deed }));
            }
            Record::Near(_) => return Ok(None),
            Record::TxBegin { .. } => self.begin()?,
            Record::TxEnd { .. } => self.end(),
            Record::Mark { text } => Some(self.set_mark(text)),
            Record::End { status, .. } => {
                self.status = Some(status);
                Some(Act::Over { cut_off: false })
            }
        };
        Ok(act.map(Deed::from))
    }

    /// Whether this access is one of the instruction that made the access before: no other has been executed between
    /// them. What the kernel does in a system call is not one instruction.
    fn joins(&mut self, pc: u64, instructions: u64, access: &Access<'_>) -> bool {
        let by = match access {
            Access::Load { .. }
            | Access::Store(_)
            | Access::CalledStore(_)
            | Access::NonTemporalStore(_)
            | Access::Atomic(_) => Some((self.thread, pc)),
            Access::Flush(_) | Access::KernelFlush { .. } | Access::Annotation { .. } | Access::KernelStore(_) => None,
        };
        self.is_of_the_same(by, instructions)
    }

    /// Whether what this thread and program counter do, if they access memory, belongs to the access before.
    fn is_of_the_same(&mut self, by: Option<(u64, u64)>, instructions: u64) -> bool {
        let before = std::mem::replace(&mut self.accessed_by, by);
        instructions == 0 && by.is_some() && before == by
    }

    /// What a thread has done after some instructions.
    fn executed(&mut self, record: &Record<'_>) -> Result<Deed, Expected> {
        Ok(match *record {
            Record::Access { instructions, pc, address, access } => {
                self.pc = Some((pc, !matches!(access, Access::Load { .. } | Access::Store(_))));
                let joined = self.joins(pc, instructions, &access);
                Deed { instructions, joined, ..self.access(address, &access)?.into() }
            }
            Record::Fence { instructions, pc, kind } => {
                self.pc = Some((pc, true));
                self.accessed_by = None;
                Deed { instructions, ..fence(kind).into() }
            }
            Record::Other { instructions, pc, line, store } => {
                self.pc = Some((pc, false));
                let joined = self.is_of_the_same(Some((self.thread, pc)), instructions);
                self.others.count(Near { loads: u64::from(!store), stores: u64::from(store) });
                let act = Act::Other { offset: self.others.place(line), store };
                Deed { instructions, joined, ..act.into() }
            }
            Record::Follows { instructions, thread, records } => {
                Deed { instructions, ..self.follows(thread, records)?.into() }
            }
            _ => Act::Nothing.into(),
        })
    }

    /// What NEAR has said of the instructions of `record`.
    fn near_of(&mut self, record: &Record<'_>) -> Result<Near, Expected> {
        match record {
            Record::Near(more) => {
                self.near.add(*more);
                Ok(Near::default())
            }
            Record::Access { .. } | Record::Fence { .. } | Record::Other { .. } | Record::Follows { .. } => {
                let near = std::mem::take(&mut self.near);
                self.others.count(near);
                Ok(near)
            }
            _ if self.near.any() => Err(NEAR),
            _ => Ok(Near::default()),
        }
    }

    fn forget_callers(&mut self) {
        self.callers_given = 0;
        if let Some(sites) = &mut self.sites {
            sites.forget_callers();
        }
    }

    fn callers(&mut self, callers: Callers<'_>) {
        self.callers_given += 1;
        if let Some(sites) = &mut self.sites {
            sites.callers(callers.addresses());
        }
    }

    fn callers_again(&mut self, number: u64) -> Result<(), Expected> {
        if number >= self.callers_given.min(CALLERS_NUMBERED as u64) {
            return Err(CALLERS_NUMBER);
        }
        if let Some(sites) = &mut self.sites {
            sites.callers_again(number as usize);
        }
        Ok(())
    }

    fn lacks(&mut self, what: Lacks, text: &[u8]) {
        let lack = match what {
            Lacks::Processes => Lack::Processes,
            Lacks::Exec => Lack::Exec(text.to_owned()),
            Lacks::Transfers => Lack::Transfers(text.to_owned()),
            Lacks::Renames => Lack::Renames(text.to_owned()),
            Lacks::Writes => Lack::Writes(text.to_owned()),
            Lacks::ExecFailed => {
                self.lacks.retain(|lack| !matches!(lack, Lack::Exec(_)));
                return;
            }
        };
        if !self.lacks.contains(&lack) {
            self.lacks.push(lack);
        }
    }

    /// The program sets a mark.
    fn set_mark(&mut self, text: &[u8]) -> Act {
        self.mark.clear();
        self.mark.extend_from_slice(marks::without_bar(text));
        self.marks = true;
        self.marks_set += 1;
        marks::act_of_text(text).unwrap_or(Act::Nothing)
    }

    /// The index of a file that has been named.
    fn known(&self, file: u64) -> Option<usize> {
        (file < self.mappings.files().len() as u64).then_some(file as usize)
    }

    fn file(&mut self, file: u64, path: &[u8]) -> Result<(), Expected> {
        match self.known(file) {
            Some(file) if self.mappings.files()[file].path == path => Ok(()),
            None if file == self.mappings.files().len() as u64 && file < FILES_MAX as u64 => {
                self.mappings.add_file(path).map(drop)
            }
            _ => Err(FILE_ORDER),
        }
    }

    fn access(&mut self, address: u64, access: &Access<'_>) -> Result<Act, Expected> {
        let bytes = stored(access);
        self.stored.clear();
        self.stored.extend_from_slice(bytes);
        let store = |way| Act::Store { address, size: bytes.len() as u32, way };
        let (act, size) = match *access {
            // A flush that begins in the last line of the address space ends with it.
            Access::Flush(kind) => return Ok(Act::Flush { address, end: address.saturating_add(1), kind }),
            Access::KernelFlush { size, kind } => {
                return Ok(Act::Flush { address, end: address.saturating_add(size), kind });
            }
            Access::Annotation { size, kind } => {
                return Ok(Act::Annotation { address, end: address.saturating_add(size), kind });
            }
            Access::Load { size } => (Act::Load { address, size: size as u32 }, size),
            Access::Store(_) | Access::CalledStore(_) => (store(StoreWay::Cached), bytes.len() as u64),
            Access::NonTemporalStore(_) => (store(StoreWay::NonTemporal), bytes.len() as u64),
            Access::Atomic(_) => (store(StoreWay::Atomic), bytes.len() as u64),
            Access::KernelStore(_) => (store(StoreWay::Kernel), bytes.len() as u64),
        };
        self.mappings.check_mapped(address, size, OUTSIDE)?;
        Ok(act)
    }

    fn runs(&mut self, thread: u64) -> Result<(), Expected> {
        if thread >= THREADS_MAX {
            return Err(THREAD);
        }
        self.thread = thread;
        self.threads = self.threads.max(thread + 1);
        Ok(())
    }

    fn follows(&mut self, thread: u64, records: u64) -> Result<Act, Expected> {
        if thread >= self.threads || thread == self.thread {
            return Err(FOLLOWED);
        }
        self.accessed_by = None;
        Ok(Act::Follows { thread, records })
    }

    /// What is returned of a deed of the running thread, if only another thread's are: what it declares of memory.
    fn of_another(&self, deed: Deed) -> Option<Deed> {
        let of_all = matches!(deed.act, Act::Over { .. } | Act::Annotation { .. });
        of_all.then_some(Deed { joined: deed.joined, ..deed.act.into() })
    }

    /// The outermost transaction of all threads begins with the first one of any thread; that of one thread if only its own
    /// acts are returned.
    fn begin(&mut self) -> Result<Option<Act>, Expected> {
        let thread = self.thread as usize;
        if self.depths.len() <= thread {
            self.depths.resize(thread + 1, 0);
            self.ended.resize(thread + 1, 0);
        }
        let depth = &mut self.depths[thread];
        *depth = depth.checked_add(1).ok_or(Expected("fewer than 2^32 transactions inside each other"))?;
        if *depth > 1 {
            return Ok(None);
        }
        self.open += 1;
        Ok((self.open == 1 || self.only.is_some()).then_some(Act::TxBegin))
    }

    /// An end without a begin, which was before the recording, does not count.
    fn end(&mut self) -> Option<Act> {
        let depth = self.depths.get_mut(self.thread as usize).filter(|depth| **depth > 0)?;
        *depth -= 1;
        if *depth > 0 {
            return None;
        }
        self.open -= 1;
        self.ended[self.thread as usize] += 1;
        (self.open == 0 || self.only.is_some()).then_some(Act::TxEnd)
    }
}

fn fence(kind: FenceKind) -> Act {
    match kind {
        FenceKind::Sfence => Act::Fence,
        FenceKind::Mfence => Act::FullFence,
        FenceKind::Locked => Act::Locked,
    }
}

impl Recording for Walk {
    fn next_deed(&mut self, image: TakeImage<'_>) -> Result<Deed, ConfigError> {
        loop {
            if let Some(deed) = self.next_record(image)? {
                if deed.act == (Act::Over { cut_off: false }) && !self.reader.at_end()? {
                    let (name, at) = (self.reader.name(), self.reader.offset());
                    return Err(ConfigError(format!("{name}: expected nothing after the END at byte {at}")));
                }
                if self.state.only.is_none_or(|only| only == self.state.thread) {
                    return Ok(deed);
                }
                // Sites have the same numbers, whichever thread's acts are returned.
                let _ = self.site();
                if let Some(deed) = self.state.of_another(deed) {
                    return Ok(deed);
                }
            }
        }
    }
    fn bytes(&self) -> &[u8] {
        &self.state.stored
    }
    fn place(&mut self, address: u64) -> Option<Place> {
        self.state.mappings.place(address)
    }
    fn place_from(&mut self, address: u64) -> Option<(u64, Place)> {
        self.state.mappings.place_from(address)
    }
    fn files(&self) -> &[RegisteredFile] {
        self.state.mappings.files()
    }
    fn name(&self) -> &str {
        self.reader.name()
    }
    fn records(&self) -> u64 {
        self.reader.records()
    }
    fn offset(&self) -> u64 {
        self.reader.offset()
    }
    fn totals(&self) -> Totals {
        let Meaning { threads, marks_set: marks, status, .. } = self.state;
        let others = (self.reader.version() >= TELLS_OTHERS).then(|| self.state.others.summary());
        Totals { instructions: self.reader.instructions(), threads, marks, status, others }
    }
    fn tells_sites(&self) -> bool {
        true
    }
    fn watch_sites(&mut self) {
        self.state.sites.get_or_insert_default();
    }
    fn in_library(&mut self) -> bool {
        match (&self.state.sites, self.state.pc) {
            (Some(sites), Some((pc, _))) => sites.is_library(pc),
            _ => false,
        }
    }
    fn site(&mut self) -> Site {
        match (&mut self.state.sites, self.state.pc) {
            (Some(sites), Some((pc, called))) => sites.find(pc, called),
            _ => NO_SITE,
        }
    }
    fn take_sites(&mut self) -> Sites {
        self.state.sites.take().map(SiteFinder::finish).unwrap_or_default()
    }
    fn thread(&self) -> u64 {
        self.state.thread
    }
    fn only_of(&mut self, thread: u64) {
        self.state.only = Some(thread);
    }
    fn tells_follows(&self) -> bool {
        self.reader.version() >= TELLS_FOLLOWS
    }
    fn ended_by(&self, thread: u64) -> u64 {
        usize::try_from(thread).ok().and_then(|thread| self.state.ended.get(thread)).copied().unwrap_or(0)
    }
    fn lacks(&self, cut_off: bool) -> Vec<Lack> {
        let Meaning { status, lacks, .. } = &self.state;
        let mut all = lacks.clone();
        // A program that has become another one has no end of its own.
        if (cut_off || *status == Some(STATUS_UNKNOWN)) && !all.iter().any(|lack| matches!(lack, Lack::Exec(_))) {
            all.push(Lack::End);
        }
        let version = self.reader.version();
        if version < TELLS_LACKS {
            all.push(Lack::Untold(version));
        }
        all
    }
    fn mark(&self) -> Option<&[u8]> {
        self.state.marks.then_some(self.state.mark.as_slice())
    }
    fn kind(&self) -> (&'static str, &'static str) {
        ("trace", "END")
    }
}

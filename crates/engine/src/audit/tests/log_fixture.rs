//! For tests: a scripted machine whose hardware keeps an undo log, written independently of the controller's log
//! manager, in either layout, correct or deliberately broken.

use super::fixture::{KEY, LOG_KEY, Machine, Populated, WriteStyle, cfb_encrypt};
use crate::audit::{CounterLayout, LogFacts, ProgramFacts, TransactionRecord, ledger_channel};
use crate::layout::{BucketMetadata, CipherBlock, LogBucket, LogHeader, LogLayout, LogRegion, LogSnapshot};
use crate::message::{
    ByteView, CoreId, Line, LineBytes, MediaLine, Observer, ProgramLayout, ProgramRecovery, RecoveryReport,
};
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// The lines that every transaction writes; the last two were never written before.
pub const LINES: [Line; 9] =
    [Line(64), Line(65), Line(66), Line(67), Line(128), Line(129), Line(130), Line(131), Line(140)];
/// The records of a transaction: one that is closed early, a full one, and in a second bucket the first line again,
/// which has lost its log bit.
const RECORDS: [&[usize]; 3] = [&[0, 1], &[2, 3, 4, 5, 6, 7, 8], &[0]];
const BUCKET_RECORDS: u32 = 2;
const BUCKETS: u32 = 4;

/// What the scripted hardware does wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogFault {
    None,
    /// A header becomes valid before the lines that it names.
    HeaderBeforeLines,
    /// Data leaves when its entry has persisted, before the header.
    DataBeforeHeader,
    /// Valid Header Number (or the register) counts a header, and data leaves, before the header has persisted.
    CountBeforeHeader,
    /// The count is early, but data also waits for the header.
    CountEarly,
    /// The log is freed before the data has persisted.
    FreedEarly,
    /// Log counters stay in the counter cache.
    CountersLost,
    /// A bucket keeps its initial vectors.
    VectorsKept,
    /// Headers count backwards, so that the undo goes oldest first.
    SequenceBackwards,
    /// The registers are not in the ADR domain.
    RegistersVolatile,
}

/// The log of `layout` in the scripted machine.
pub fn region(layout: LogLayout) -> LogRegion {
    LogRegion { first: Line(256), buckets: BUCKETS, records: BUCKET_RECORDS, layout }
}

/// The machine without a program.
pub fn log_machine(layout: LogLayout, counters: CounterLayout, registers_survive: bool) -> Machine {
    let base = Populated::new(LINES[..7].iter().zip(1..).map(|(line, value)| (line.0, [value; 64])));
    let mut machine = Machine::over(Arc::new(base), counters);
    let region = region(layout);
    machine.codec.keep_log(region);
    machine.log_facts = Some(LogFacts {
        first: region.first,
        buckets: BUCKETS,
        records: BUCKET_RECORDS,
        layout,
        key: LOG_KEY.to_vec(),
        registers_survive,
    });
    assert_ne!(KEY, LOG_KEY);
    machine
}

struct Logged(Vec<ProgramLayout>);

impl ProgramRecovery for Logged {
    fn layouts(&self) -> &[ProgramLayout] {
        &self.0
    }
    fn recover(&self, _core: CoreId, _view: &mut dyn ByteView) -> RecoveryReport {
        RecoveryReport::default()
    }
    fn check(&self, _core: CoreId, view: &mut dyn ByteView) -> Result<(), String> {
        let numbers = LINES.map(|line| view.read_u64(line.address()) as u8 >> 4);
        if numbers == [numbers[0]; 9] { Ok(()) } else { Err(format!("lines of several transactions: {numbers:?}")) }
    }
}

/// Runs transactions on a [`log_machine`].
pub struct Script {
    pub machine: Machine,
    layout: LogLayout,
    fault: LogFault,
    records: Sender<TransactionRecord>,
    /// Number of buckets that have been allocated.
    lives: u64,
    header_chain: CipherBlock,
    log_chain: CipherBlock,
    metadata: BucketMetadata,
    before: u32,
}

impl Script {
    /// The script, and what an auditor must know about its program.
    pub fn new(layout: LogLayout, counters: CounterLayout, fault: LogFault) -> (Self, ProgramFacts) {
        let (sender, records) = ledger_channel();
        let layouts = vec![ProgramLayout { core: 0, log: 0..0, heap: 4096..3 * 4096, volatile: 0..0 }];
        let script = Self {
            machine: log_machine(layout, counters, fault != LogFault::RegistersVolatile),
            layout,
            fault,
            records: sender,
            lives: 0,
            header_chain: [0; 16],
            log_chain: [0; 16],
            metadata: BucketMetadata { valid_headers: 0, header_iv: [0; 16], log_iv: [0; 16] },
            before: 0,
        };
        (script, ProgramFacts { recovery: Arc::new(Logged(layouts)), records })
    }

    /// Runs transaction `number`.
    pub fn transaction<O: Observer>(&mut self, number: u64, o: &mut O, after: &mut dyn FnMut(&Machine, &mut O)) {
        let value = |index: usize| [(number as u8 + 1) << 4 | index as u8; 64];
        let writes = LINES.iter().enumerate().map(|(index, &line)| (line, value(index))).collect();
        // The receiver may be gone: some tests judge nothing.
        let _ = self.records.send(TransactionRecord { core: 0, number: Some(number), writes, prepared: Vec::new() });
        o.transaction_began(0, 0, number);
        self.machine.end_event(o, after);
        for (sequence, &lines) in RECORDS.iter().enumerate() {
            let record = sequence as u32 % BUCKET_RECORDS;
            if record == 0 {
                self.open_bucket();
            }
            let bucket = ((self.lives - 1) % u64::from(BUCKETS)) as u32;
            // The first line gets its last bytes when it is logged for the second time.
            let store = |index: usize| if (sequence, index) == (0, 0) { [0xf0; 64] } else { value(index) };
            let fault = self.fault;
            if fault == LogFault::HeaderBeforeLines {
                self.header(sequence, bucket, record, lines, o, after);
                self.count(bucket, record, o, after);
            }
            self.lines(bucket, record, lines, o, after);
            match fault {
                LogFault::HeaderBeforeLines => self.store(lines, store, o, after),
                LogFault::DataBeforeHeader => {
                    self.store(lines, store, o, after);
                    self.header(sequence, bucket, record, lines, o, after);
                    self.count(bucket, record, o, after);
                }
                LogFault::CountBeforeHeader => {
                    self.count(bucket, record, o, after);
                    self.store(lines, store, o, after);
                    self.header(sequence, bucket, record, lines, o, after);
                }
                LogFault::CountEarly => {
                    self.count(bucket, record, o, after);
                    self.header(sequence, bucket, record, lines, o, after);
                    self.store(lines, store, o, after);
                }
                _ => {
                    self.header(sequence, bucket, record, lines, o, after);
                    self.count(bucket, record, o, after);
                    self.store(lines, store, o, after);
                }
            }
        }
        if self.fault == LogFault::FreedEarly {
            self.free(o, after);
        }
        for line in LINES {
            o.flushed(0, 0, line);
            self.machine.write(line, WriteStyle::Pair, o, after);
        }
        if self.fault != LogFault::FreedEarly {
            self.free(o, after);
        }
        o.fenced(0, 0);
        self.machine.end_event(o, after);
        o.transaction_ended(0, 0, number);
        self.machine.end_event(o, after);
    }

    fn open_bucket(&mut self) {
        let drawn = if self.fault == LogFault::VectorsKept { self.lives % u64::from(BUCKETS) } else { self.lives };
        self.lives += 1;
        let vector = |of: u128| (u128::from(drawn) << 64 | of << 120).to_be_bytes();
        self.metadata = BucketMetadata { valid_headers: 0, header_iv: vector(1), log_iv: vector(2) };
        (self.header_chain, self.log_chain, self.before) = (vector(1), vector(2), 0);
    }

    fn lines<O: Observer>(
        &mut self,
        bucket: u32,
        record: u32,
        lines: &[usize],
        o: &mut O,
        after: &mut dyn FnMut(&Machine, &mut O),
    ) {
        for (index, &line) in lines.iter().enumerate() {
            let old = self.machine.cached(LINES[line]);
            o.logged(0, 0, LINES[line]);
            let place = region(self.layout).entry(bucket, record, index as u32, self.before);
            self.before += 1;
            self.persist(place, &old, false, o, after);
        }
    }

    fn header<O: Observer>(
        &mut self,
        sequence: usize,
        bucket: u32,
        record: u32,
        lines: &[usize],
        o: &mut O,
        after: &mut dyn FnMut(&Machine, &mut O),
    ) {
        let backwards = self.fault == LogFault::SequenceBackwards;
        let sequence = if backwards { RECORDS.len() - sequence } else { sequence } as u32;
        let mut header = LogHeader { count: lines.len() as u32, sequence, ..LogHeader::default() };
        for (place, &line) in header.lines.iter_mut().zip(lines) {
            *place = LINES[line];
        }
        self.persist(region(self.layout).header(bucket, record), &header.encode(), true, o, after);
    }

    /// The registers, and the metadata line of chains, count the header.
    fn count<O: Observer>(&mut self, bucket: u32, record: u32, o: &mut O, after: &mut dyn FnMut(&Machine, &mut O)) {
        if self.layout == LogLayout::Chains {
            self.metadata.valid_headers = record + 1;
            let place = MediaLine::data(region(self.layout).metadata(bucket));
            self.machine.persist(place, self.metadata.encode(), o);
        }
        self.machine.extend_log(0, bucket, record + 1, o);
        self.machine.end_event(o, after);
    }

    fn persist<O: Observer>(
        &mut self,
        place: Line,
        plaintext: &LineBytes,
        header: bool,
        o: &mut O,
        after: &mut dyn FnMut(&Machine, &mut O),
    ) {
        match self.layout {
            LogLayout::Records => {
                let lost = self.fault == LogFault::CountersLost;
                self.machine.cache(place, plaintext);
                self.machine.write(place, if lost { WriteStyle::CounterKept } else { WriteStyle::Pair }, o, after);
            }
            LogLayout::Chains => {
                let chain = if header { &mut self.header_chain } else { &mut self.log_chain };
                let ciphertext = cfb_encrypt(chain, plaintext);
                o.write_arrived(0, place, plaintext);
                self.machine.persist(MediaLine::data(place), ciphertext, o);
                self.machine.end_event(o, after);
            }
        }
    }

    /// Stores to the lines; the caches evict the first of them at once.
    fn store<O: Observer>(
        &mut self,
        lines: &[usize],
        value: impl Fn(usize) -> LineBytes,
        o: &mut O,
        after: &mut dyn FnMut(&Machine, &mut O),
    ) {
        for &line in lines {
            self.machine.cache(LINES[line], &value(line));
            o.stored(0, 0, LINES[line], 0, &value(line));
            self.machine.end_event(o, after);
        }
        self.machine.write(LINES[lines[0]], WriteStyle::Pair, o, after);
    }

    fn free<O: Observer>(&mut self, o: &mut O, after: &mut dyn FnMut(&Machine, &mut O)) {
        self.machine.free_log(0, o);
        self.machine.end_event(o, after);
    }
}

impl Machine {
    /// The registers of `core` count `records` headers of `bucket`.
    pub fn extend_log<O: Observer>(&mut self, core: CoreId, bucket: u32, records: u32, observer: &mut O) {
        observer.log_extended(0, core, bucket, records);
        if !self.log_facts.as_ref().is_some_and(|facts| facts.registers_survive) {
            return;
        }
        if !self.log.iter().any(|set| set.core == core) {
            self.log.push(LogSnapshot { core, buckets: Vec::new() });
            self.log.sort_by_key(|set| set.core);
        }
        let set = self.log.iter_mut().find(|set| set.core == core).expect("it was put there");
        match set.buckets.iter_mut().find(|known| known.bucket == bucket) {
            Some(known) => known.records = records,
            None => set.buckets.push(LogBucket { bucket, records }),
        }
    }

    /// The registers of `core` are freed.
    pub fn free_log<O: Observer>(&mut self, core: CoreId, observer: &mut O) {
        observer.log_freed(0, core);
        self.log.retain(|set| set.core != core);
    }
}

//! For tests: a populated base, a two-line undo-logged program, and a scripted machine that executes it and reports to
//! the observer what a design, correct or deliberately broken, would report.

use crate::audit::ledger::{Ledger, ledger_channel};
use crate::audit::{AuditSetup, Auditor, CipherFacts, CounterLayout, LogFacts, ProgramFacts};
use crate::layout::{Coverage, LogSnapshot};
use crate::message::{
    BaseImage, ByteView, Content, CoreId, CounterBlock, CounterGroup, Line, LineBytes, MediaLine, Observer, Op,
    OpBuffer, OpSource, ProgramLayout, ProgramRecovery, RecoveryReport,
};
use crate::parts::{LineAtomicity, Stored};
use crate::recovery::{AdrSnapshot, GlobalCounter, LineCodec, Media, ReencryptionStatus};
use rustc_hash::FxHashMap;
use std::sync::Arc;

pub use super::codec::{TestCodec, cfb_encrypt, crypt, crypt_under, words};

pub const KEY: [u8; 16] = *b"sixteen byte key";
pub const LOG_KEY: [u8; 16] = *b"the key of a log";

/// A base image of a few lines.
pub struct Populated(FxHashMap<Line, LineBytes>);

impl Populated {
    pub fn new(lines: impl IntoIterator<Item = (u64, LineBytes)>) -> Self {
        Self(lines.into_iter().map(|(line, bytes)| (Line(line), bytes)).collect())
    }
}

impl BaseImage for Populated {
    fn line(&self, line: Line) -> Option<&LineBytes> {
        self.0.get(&line)
    }
    fn populated(&self, line: Line) -> bool {
        self.0.contains_key(&line)
    }
    fn end(&self) -> u64 {
        1 << 20
    }
}

const HEADER: Line = Line(0);
const COPIES: [Line; 2] = [Line(1), Line(2)];
/// The two data lines that every transaction sets to the same value; they are in different pages.
pub const DATA: [Line; 2] = [Line(64), Line(128)];

/// The test program: an undo log of one entry for two lines.
pub struct UndoPair {
    layouts: Vec<ProgramLayout>,
}

impl UndoPair {
    pub fn new() -> Self {
        Self { layouts: vec![ProgramLayout { core: 0, log: 0..4096, heap: 4096..3 * 4096, volatile: 0..0 }] }
    }
}

fn tag(number: u64, copies: &[LineBytes; 2]) -> u64 {
    copies.iter().flatten().fold(number + 77, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

impl ProgramRecovery for UndoPair {
    fn layouts(&self) -> &[ProgramLayout] {
        &self.layouts
    }
    fn recover(&self, _core: CoreId, view: &mut dyn ByteView) -> RecoveryReport {
        let mut report = RecoveryReport::default();
        let (found, number) = (view.read_u64(HEADER.address()), view.read_u64(HEADER.address() + 8));
        if found == 0 {
            return report;
        }
        let mut copies = [[0; 64]; 2];
        for (copy, line) in copies.iter_mut().zip(COPIES) {
            view.read(line.address(), copy);
        }
        if found != tag(number, &copies) {
            report.abandoned = 1;
            return report;
        }
        for (copy, line) in copies.iter().zip(DATA) {
            view.write(line.address(), copy);
        }
        report.undone = 1;
        report.bytes_restored = 128;
        report
    }
    fn check(&self, _core: CoreId, view: &mut dyn ByteView) -> Result<(), String> {
        let (a, b) = (view.read_u64(DATA[0].address()), view.read_u64(DATA[1].address()));
        if a == b { Ok(()) } else { Err(format!("the pair differs: {a:#x} and {b:#x}")) }
    }
}

/// Mistakes of the program itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProgramFault {
    /// The second data line is never flushed.
    pub forgets_flush: bool,
    /// The two lines get different values.
    pub unequal: bool,
}

struct UndoPairSource {
    transactions: u64,
    next: u64,
    fault: ProgramFault,
    data: [LineBytes; 2],
}

impl OpSource for UndoPairSource {
    fn next_transaction(&mut self, buffer: &mut OpBuffer) -> bool {
        if self.next == self.transactions {
            return false;
        }
        buffer.clear();
        buffer.ops.push(Op::TxBegin);
        let number = self.next + 1;
        let mut header = [0; 16];
        header[..8].copy_from_slice(&tag(number, &self.data).to_le_bytes());
        header[8..].copy_from_slice(&number.to_le_bytes());
        for (line, copy) in COPIES.into_iter().zip(self.data) {
            buffer.store(line.address(), &copy, 32);
        }
        buffer.store(HEADER.address(), &header, 16);
        buffer.clwb_range(HEADER.address(), 3 * 64);
        buffer.ops.push(Op::Sfence);
        for (n, line) in DATA.into_iter().enumerate() {
            let value = number as u8 + if self.fault.unequal { 100 * n as u8 } else { 0 };
            self.data[n] = [value; 64];
            buffer.store(line.address(), &self.data[n], 32);
            if n == 0 || !self.fault.forgets_flush {
                buffer.clwb_range(line.address(), 64);
            }
        }
        buffer.ops.push(Op::Sfence);
        buffer.store(HEADER.address(), &[0; 8], 8);
        buffer.clwb_range(HEADER.address(), 64);
        buffer.ops.extend([Op::Sfence, Op::TxEnd]);
        self.next += 1;
        true
    }
}

/// How the scripted design handles one write that reaches the controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteStyle {
    /// Counter and data in one event.
    Pair,
    /// Counter, then data, in two events.
    CounterFirst,
    /// The counter stays in the counter cache.
    CounterKept,
    /// Nothing persists although it is acknowledged.
    Dropped,
    /// The counter is not incremented.
    PadReused,
    /// The data stays plaintext.
    Plain,
}

/// How the scripted design handles an overflow of a minor counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OverflowStyle {
    /// A line keeps its old minor counter until its done bit is set.
    Hardened,
    /// All minor counters are reset when the major counter is incremented.
    ResetAtOnce,
}

/// The scripted machine. Every event of it ends in [`Observer::event_over`] and then in `after_event`.
pub struct Machine {
    pub codec: TestCodec,
    pub overflow: OverflowStyle,
    /// The global counter's register.
    pub register: u64,
    blocks: FxHashMap<CounterBlock, LineBytes>,
    cached: FxHashMap<Line, LineBytes>,
    stored: FxHashMap<MediaLine, LineBytes>,
    /// Writes that have persisted and are not on the media yet.
    pub queue: Vec<(MediaLine, LineBytes)>,
    pub status: Option<ReencryptionStatus>,
    /// The log metadata registers that survive, by core, of a machine whose hardware keeps a log.
    pub log: Vec<LogSnapshot>,
    pub log_facts: Option<LogFacts>,
}

impl Media for Machine {
    fn content(&self, media: MediaLine) -> Content<'_> {
        if let Some(bytes) = self.stored.get(&media) {
            return Content::Stored(bytes);
        }
        media.as_line().and_then(|line| self.codec.base.line(line)).map_or(Content::Never, Content::Base)
    }

    fn stored(&self, show: &mut dyn FnMut(MediaLine, &LineBytes)) {
        self.stored.iter().for_each(|(media, bytes)| show(*media, bytes));
    }
}

impl Machine {
    pub fn new(minor_bits: u32) -> Self {
        Self::with_counters(CounterLayout::Split { coverage: Coverage::PAGE, minor_bits })
    }

    pub fn with_counters(counters: CounterLayout) -> Self {
        Self::over(Arc::new(Populated::new(DATA.map(|line| (line.0, [0x11; 64])))), counters)
    }

    pub fn over(base: Arc<Populated>, counters: CounterLayout) -> Self {
        Self {
            codec: TestCodec::new(base, counters),
            overflow: OverflowStyle::Hardened,
            register: 1,
            blocks: FxHashMap::default(),
            cached: FxHashMap::default(),
            stored: FxHashMap::default(),
            queue: Vec::new(),
            status: None,
            log: Vec::new(),
            log_facts: None,
        }
    }

    /// An auditor for `cores` cores without programs to judge.
    pub fn audited_of_cores(&self, cores: usize) -> Auditor {
        Auditor::new(AuditSetup { cores, ..self.setup(LineAtomicity::None, true, None) })
    }

    /// An auditor for this machine and the test program running on it.
    pub fn audited(&self, line_atomic: bool, status_survives: bool, program: Option<ProgramFacts>) -> Auditor {
        let promise = if line_atomic { LineAtomicity::Every } else { LineAtomicity::None };
        self.audited_for(promise, status_survives, program)
    }

    /// An auditor for this machine and the test program, for a design with this promise about lines in flight.
    pub fn audited_for(
        &self,
        line_atomic: LineAtomicity,
        status_survives: bool,
        program: Option<ProgramFacts>,
    ) -> Auditor {
        Auditor::new(self.setup(line_atomic, status_survives, program))
    }

    fn setup(&self, line_atomic: LineAtomicity, status_survives: bool, program: Option<ProgramFacts>) -> AuditSetup {
        AuditSetup {
            base: self.codec.base.clone(),
            cores: 1,
            direct: None,
            cipher: Some(CipherFacts {
                key: KEY.to_vec(),
                counters: self.codec.counters,
                valid_flags: false,
                recovery: crate::audit::CounterRecovery::None,
                words: None,
                zero_minors: false,
            }),
            log: self.log_facts.clone(),
            line_atomic,
            secret: true,
            status_survives,
            drain: None,
            program,
        }
    }

    /// The ADR domain's content now.
    pub fn snapshot(&self, status_survives: bool) -> AdrSnapshot {
        AdrSnapshot {
            wpq: self.queue.clone(),
            status: self.status.filter(|_| status_survives),
            global_counter: GlobalCounter::Kept(self.register),
            log: self.log.clone(),
            ..AdrSnapshot::default()
        }
    }

    /// Runs `transactions` of the test program; `style` decides each write by its number.
    pub fn run<O: Observer>(
        &mut self,
        program: &mut dyn OpSource,
        observer: &mut O,
        mut style: impl FnMut(u64) -> WriteStyle,
        after_event: &mut dyn FnMut(&Machine, &mut O),
    ) {
        let mut buffer = OpBuffer::default();
        let (mut number, mut writes) = (0, 0);
        while program.next_transaction(&mut buffer) {
            for op in &buffer.ops {
                match *op {
                    Op::TxBegin => observer.transaction_began(0, 0, number),
                    Op::TxEnd => observer.transaction_ended(0, 0, number),
                    Op::Store { address, length, bytes } => {
                        let line = Line::containing(address);
                        let offset = (address % 64) as usize;
                        let data = buffer.slice(bytes, length);
                        let mut content = self.cached(line);
                        content[offset..offset + data.len()].copy_from_slice(data);
                        self.cached.insert(line, content);
                        observer.stored(0, 0, line, offset, data);
                    }
                    Op::Clwb { address } => {
                        let line = Line::containing(address);
                        observer.flushed(0, 0, line);
                        self.write(line, style(writes), observer, after_event);
                        writes += 1;
                    }
                    Op::Sfence => observer.fenced(0, 0),
                    _ => unreachable!("the test program has no such operation"),
                }
                self.end_event(observer, after_event);
            }
            number += 1;
        }
    }

    /// One write of the cached bytes of `line`.
    pub fn write<O: Observer>(
        &mut self,
        line: Line,
        style: WriteStyle,
        observer: &mut O,
        after_event: &mut dyn FnMut(&Machine, &mut O),
    ) {
        let plaintext = self.cached(line);
        observer.write_arrived(0, line, &plaintext);
        let mut block = self.block(line);
        if style != WriteStyle::PadReused && !self.codec.increment(line, &mut block, &mut self.register) {
            self.reencrypt(self.codec.coverage().group(line), observer, after_event);
            block = self.block(line);
            assert!(self.codec.increment(line, &mut block, &mut self.register));
        }
        self.blocks.insert(self.codec.coverage().block(line), block);
        let ciphertext = self.codec.encrypt(line, &plaintext, &block).bytes;
        let (data, counter) = (MediaLine::data(line), MediaLine::counter(self.codec.coverage().block(line)));
        match style {
            WriteStyle::Pair | WriteStyle::PadReused => {
                self.persist(counter, block, observer);
                self.persist(data, ciphertext, observer);
            }
            WriteStyle::CounterFirst => {
                self.persist(counter, block, observer);
                self.end_event(observer, after_event);
                self.persist(data, ciphertext, observer);
            }
            WriteStyle::CounterKept => self.persist(data, ciphertext, observer),
            WriteStyle::Plain => self.persist(data, plaintext, observer),
            WriteStyle::Dropped => {}
        }
        self.end_event(observer, after_event);
    }

    fn reencrypt<O: Observer>(
        &mut self,
        group: CounterGroup,
        observer: &mut O,
        after_event: &mut dyn FnMut(&Machine, &mut O),
    ) {
        let old = self.block(group.line(0));
        let old_major = self.codec.major(&old);
        let plaintexts: Vec<LineBytes> = (0..64).map(|n| self.durable(group.line(n))).collect();
        let mut block = old;
        if self.overflow == OverflowStyle::ResetAtOnce {
            block = self.codec.pack(old_major + 1, &[0; 64]);
        }
        for done in 0..=64u32 {
            let bits = (1 << done) - 1;
            if done > 0 {
                let line = group.line(done as usize - 1);
                self.codec.renew(line, old_major, &mut block);
                self.persist(MediaLine::counter(CounterBlock(group.line(0).0 / 64)), block, observer);
                let ciphertext = self.codec.encrypt(line, &plaintexts[done as usize - 1], &block).bytes;
                self.persist(MediaLine::data(line), ciphertext, observer);
            }
            self.status = Some(ReencryptionStatus { group, old_major, done: bits });
            observer.reencryption(0, group, old_major, bits, false);
            self.end_event(observer, after_event);
        }
        self.blocks.insert(CounterBlock(group.line(0).0 / 64), block);
        self.status = None;
        observer.reencryption(0, group, old_major, group.all(), true);
        self.end_event(observer, after_event);
    }

    /// What the machine itself decrypts, with a warm counter cache.
    fn durable(&self, line: Line) -> LineBytes {
        let queued = self.queue.iter().rev().find(|(media, _)| *media == MediaLine::data(line)).map(|(_, bytes)| bytes);
        match (queued, self.content(MediaLine::data(line))) {
            (Some(bytes), _) | (None, Content::Stored(bytes)) => {
                self.codec.decrypt(line, &Stored::whole(*bytes), &self.block(line), None)
            }
            (None, Content::Base(bytes)) => *bytes,
            (None, Content::Never) => [0; 64],
        }
    }

    /// What the media or the queue hold of a line without a counter.
    pub fn stored_bytes(&self, line: Line) -> LineBytes {
        let media = MediaLine::data(line);
        let queued = self.queue.iter().rev().find(|(queued, _)| *queued == media).map(|(_, bytes)| *bytes);
        queued.or_else(|| self.stored.get(&media).copied()).unwrap_or([0; 64])
    }

    /// A store puts `bytes` into the caches.
    pub fn cache(&mut self, line: Line, bytes: &LineBytes) {
        self.cached.insert(line, *bytes);
    }

    pub fn cached(&self, line: Line) -> LineBytes {
        let base = || self.codec.base.line(line).copied().unwrap_or([0; 64]);
        self.cached.get(&line).copied().unwrap_or_else(base)
    }

    fn block(&self, line: Line) -> LineBytes {
        let block = self.codec.coverage().block(line);
        self.blocks.get(&block).copied().unwrap_or_else(|| self.codec.base_block(block))
    }

    pub fn persist<O: Observer>(&mut self, media: MediaLine, bytes: LineBytes, observer: &mut O) {
        observer.persisted(0, media, &bytes);
        self.queue.push((media, bytes));
    }

    /// Ends an event; the queue drains to four entries.
    pub fn end_event<O: Observer>(&mut self, observer: &mut O, after_event: &mut dyn FnMut(&Machine, &mut O)) {
        while self.queue.len() > 4 {
            let (media, bytes) = self.queue.remove(0);
            observer.bus_write(0, media, &bytes);
            self.stored.insert(media, bytes);
        }
        observer.event_over(0);
        after_event(self, observer);
    }
}

/// The test program with its ledger, and what an auditor must know about it.
pub fn undo_pair(
    base: &Arc<Populated>,
    transactions: u64,
    fault: ProgramFault,
) -> (impl OpSource + use<>, ProgramFacts) {
    let (sender, records) = ledger_channel();
    let source = UndoPairSource { transactions, next: 0, fault, data: [[0x11; 64]; 2] };
    let facts = ProgramFacts { recovery: Arc::new(UndoPair::new()), records };
    (Ledger::new(source, 0, base.clone(), sender), facts)
}

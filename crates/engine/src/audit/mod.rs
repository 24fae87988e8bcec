//! The auditors: they watch what stages say ([`crate::message::Observer`]), know what the program meant ([`Ledger`]), and
//! judge at any instant what a power failure would leave. They recompute truth from bytes, with their own reading of
//! counters and their own use of AES, and share no code with the mechanisms they check.
//!
//! ```text
//! program -> Ledger -> core                      golden states
//! stages  -> Observer stream -> Durable          what every line would decrypt to, kept incrementally
//!                            -> HardwareLog      what a boot's undo of the hardware's log makes of it
//! power loss -> Auditor      -> ShadowCache      what a boot puts back from the shadow cache
//!                            -> Branch           what leaves on battery, and what the boot after it writes
//!                            -> LineRule         stores, flushes, fences against the durable view
//!                            -> Transactions     program recovery over what the boot leaves against golden states
//!                            -> Secrecy          bytes that leave the chip against the program's plaintext
//! ```

mod boot;
mod branch;
mod counter;
mod durable;
mod event_log;
mod explain;
mod futures;
mod hardware_log;
mod image;
mod ledger;
mod line;
mod lines;
mod report;
mod secrecy;
mod shadow;
mod stages;
mod stream;
#[cfg(test)]
pub(crate) mod tests;
mod transaction;
mod view;
mod violation;

pub use boot::BootWatch;
pub use hardware_log::LogFacts;
pub use ledger::{Ledger, TransactionRecord, ledger_channel};
pub(crate) use lines::BYTES_PER_LINE;
pub use stages::{PartTally, StageTally};
pub use view::LineView;
pub(crate) use violation::Collector;
pub use violation::{Rule, Violation};

use crate::message::{
    BaseImage, CoreId, Coverage, DrainedWrite, Line, LineBytes, MediaLine, Page, ProgramRecovery, ShadowRegion,
    ShadowRegisters,
};
use crate::parts::{LineAtomicity, StampSource};
use branch::{Branch, Future, Surroundings};
use counter::{AuditedCounter, CounterCipher};
use durable::{Durable, Status};
use event_log::{EventLog, Note};
use hardware_log::HardwareLog;
use image::ImageDigest;
use line::LineRule;
use lines::{Id, Lines, Role};
use secrecy::{Leak, Secrecy};
use shadow::{ShadowCache, registers_hash};
use stages::Stages;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use transaction::{Finding, Transactions};

/// How memory is encrypted, as far as an auditor has to know.
#[derive(Clone, Debug)]
pub struct CipherFacts {
    /// The data key: 16 or 32 bytes.
    pub key: Vec<u8>,
    /// How counters lie on the media.
    pub counters: CounterLayout,
}

/// How counters lie in a block of 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CounterLayout {
    /// A 64-bit major counter and a minor of `minor_bits` bits for each line of a page (secpm section 3.4.1).
    Split {
        /// Bits of a minor counter, 1 to 7.
        minor_bits: u32,
    },
    /// A value of 8 bytes for each of `coverage` lines, at most eight: of one global counter (counter-atomicity section
    /// 5.2.1), or of the line's own (easy-pm section II-B).
    Words {
        /// Lines per block.
        coverage: Coverage,
    },
}

/// A program with a layout, whose transactions can be judged. Traces have none.
pub struct ProgramFacts {
    /// Its layouts, recovery and self-check.
    pub recovery: Arc<dyn ProgramRecovery>,
    /// The other end of its cores' ledgers.
    pub records: Receiver<TransactionRecord>,
}

/// What an audit is about.
pub struct AuditSetup {
    /// Memory before the run.
    pub base: Arc<dyn BaseImage>,
    /// Cores of the machine.
    pub cores: usize,
    /// `None`: memory holds plaintext.
    pub cipher: Option<CipherFacts>,
    /// The log that hardware writes, if it writes one.
    pub log: Option<LogFacts>,
    /// Of which lines the design promises that they show their old or their new value while in flight.
    pub line_atomic: LineAtomicity,
    /// The design promises that nothing leaves the chip in the clear and no pad is used twice.
    pub secret: bool,
    /// The re-encryption status register is in the ADR domain.
    pub status_survives: bool,
    /// The caches are in the persistence domain.
    pub eadr: Option<EadrFacts>,
    /// The program, if its transactions can be judged.
    pub program: Option<ProgramFacts>,
}

/// What an auditor has to know of caches in the persistence domain: then every store counts as durable once it is visible,
/// and what is left of it shows when power is lost ([`Auditor::power_lost`]).
#[derive(Clone, Copy, Debug)]
pub struct EadrFacts {
    /// The shadow cache and where the counter of a slot's pad is found; `None` if lines leave in place.
    pub shadow: Option<(ShadowRegion, StampSource)>,
}

/// All auditors of one run.
pub struct Auditor {
    lines: Lines,
    durable: Durable,
    hardware_log: Option<HardwareLog>,
    line_rule: LineRule,
    transactions: Option<Transactions>,
    secrecy: Option<Secrecy>,
    stages: Option<Stages>,
    image: Option<ImageDigest>,
    /// The caches are in the persistence domain.
    eadr: bool,
    shadow: Option<ShadowCache>,
    /// What left at the power loss that was told of last.
    loss: Future,
    /// What that told, by line, then by rule, and what the one before it told.
    loss_leaks: Vec<(Line, Leak)>,
    known_leaks: Vec<(Line, Leak)>,
    /// The registers that it left.
    registers: u64,
    /// After how many events it fell.
    lost_after: Option<u64>,
    /// What the battery made of the re-encryption status register in it.
    status_made: Option<Option<Status>>,
    event_log: EventLog,
    collector: Collector,
    /// Events that are over; what is told now belongs to event `events + 1`.
    events: u64,
    changed: Vec<Id>,
    turned_bad: Vec<Id>,
    findings: Vec<Finding>,
}

impl Auditor {
    /// An auditor of a run that has not begun.
    pub fn new(setup: AuditSetup) -> Self {
        let layouts = setup.program.as_ref().map_or(&[][..], |program| program.recovery.layouts());
        let log_cipher = setup.log.as_ref().zip(setup.cipher.as_ref());
        let log_cipher = log_cipher.and_then(|(log, facts)| log.counter_cipher(facts.counters));
        let cipher = setup.cipher.map(|facts| CounterCipher::new(&facts.key, facts.counters));
        let log_lines = setup.log.as_ref().map_or(0..0, LogFacts::lines);
        let hardware_logged = setup.log.is_some();
        let coverage = cipher.as_ref().map_or(Coverage::PAGE, CounterCipher::coverage);
        let base_counter = cipher.as_ref().map_or(AuditedCounter::NEVER, CounterCipher::base);
        Self {
            lines: Lines::new(setup.base, layouts, coverage, base_counter, log_lines),
            durable: Durable::new(cipher, log_cipher, setup.status_survives),
            hardware_log: setup.log.map(|facts| HardwareLog::new(facts, setup.cores)),
            line_rule: LineRule::new(setup.line_atomic, setup.eadr.is_some(), setup.cores),
            transactions: setup
                .program
                .map(|program| Transactions::new(program.recovery, program.records, hardware_logged)),
            secrecy: setup.secret.then(Secrecy::default),
            stages: None,
            image: None,
            eadr: setup.eadr.is_some(),
            shadow: setup.eadr.and_then(|facts| facts.shadow).map(|(region, source)| ShadowCache::new(region, source)),
            loss: Future::default(),
            loss_leaks: Vec::new(),
            known_leaks: Vec::new(),
            registers: 0,
            lost_after: None,
            status_made: None,
            event_log: EventLog::new(coverage),
            collector: Collector::default(),
            events: 0,
            changed: Vec::new(),
            turned_bad: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// Judges a power failure now, between two events; true if the machine would recover with every rule kept.
    pub fn judge(&mut self) -> bool {
        debug_assert!(!self.eadr || self.lost_after == Some(self.events), "nobody told what left when power was lost");
        self.durable.settle(&mut self.lines, &mut self.changed);
        if let Some(log) = &mut self.hardware_log {
            log.settle(&mut self.lines, &mut self.changed);
        }
        for id in self.changed.drain(..) {
            if self.lines.record(id).role == Role::HardwareLog {
                continue;
            }
            self.line_rule.recheck(&mut self.lines, id);
            if let Some(image) = &mut self.image {
                image.changed(&self.lines, id);
            }
            if let Some(transactions) = &mut self.transactions {
                transactions.changed(&mut self.lines, id);
            }
        }
        self.line_rule.judge(&mut self.lines, &mut self.turned_bad);
        // Oldest address first, so that the report does not depend on the order of bookkeeping.
        self.turned_bad.sort_by_key(|&id| self.lines.record(id).line);
        for id in std::mem::take(&mut self.turned_bad) {
            self.report_line(id);
        }
        let mut bad = self.line_rule.bad();
        if let Some(transactions) = &mut self.transactions {
            transactions.judge(&mut self.lines, &mut self.findings);
            bad += transactions.bad();
        }
        for finding in std::mem::take(&mut self.findings) {
            self.report_finding(&finding);
        }
        bad == 0 && self.loss_leaks.is_empty()
    }

    /// Power is lost after the event that is just over: `left` leaves the chip on battery, in this order, dirty counter
    /// blocks included, and these registers are kept. To be told before [`Auditor::judge`] at each crash point of a design
    /// whose caches are in the persistence domain; it replaces what was told of the crash point before, because the run
    /// goes on as if power had not been lost.
    pub fn power_lost(&mut self, left: &[DrainedWrite], registers: &ShadowRegisters) {
        let Self { lines, durable, shadow, secrecy, .. } = self;
        let region = shadow.as_ref().map(ShadowCache::region);
        let in_place = |write: &&DrainedWrite| match (write.media.as_line(), region) {
            (Some(line), Some(region)) => !region.contains(line),
            _ => true,
        };
        durable.power_lost(lines, left.iter().filter(in_place));
        durable.status_left(lines, self.status_made.take());
        if let Some(shadow) = shadow {
            shadow.power_lost(lines, durable.cipher(), left, registers, &mut self.changed);
        }
        self.registers = registers_hash(registers);
        self.lost_after = Some(self.events);
        std::mem::swap(&mut self.loss_leaks, &mut self.known_leaks);
        self.loss_leaks.clear();
        if let Some(secrecy) = secrecy {
            let around = Surroundings { lines, cipher: durable.cipher(), shadow: region };
            branch::power_lost(secrecy, &mut self.loss, around, self.events, left, &mut self.loss_leaks);
        }
        // What the power loss before told, too, is no news.
        self.loss_leaks.sort_by_key(leak_key);
        self.loss_leaks.dedup_by_key(|leak| leak_key(leak));
        let known = |leak: &(Line, Leak)| self.known_leaks.binary_search_by_key(&leak_key(leak), leak_key).is_ok();
        let news: Vec<(Line, Leak)> = self.loss_leaks.iter().filter(|leak| !known(leak)).copied().collect();
        for (line, leak) in news {
            self.report_leak(self.events, line, leak);
        }
    }

    /// What the battery makes of the re-encryption status register in the power loss that is told of next: page, old major
    /// counter and done bits, or `None` if the register is free. If this is not told, the register stays as it was.
    pub fn reencryption_left(&mut self, status: Option<(Page, u64, u64)>) {
        self.status_made = Some(status.map(|(page, old_major, done)| Status { page, old_major, done }));
    }

    /// Keeps a digest of the memory that a boot leaves to the program, whose bytes end at address `end`, from now on. To be
    /// told before the run begins.
    pub fn watch_image(&mut self, end: u64) {
        self.image = Some(ImageDigest::new(end));
    }

    /// That digest as of the last judgement, if it is kept.
    pub fn image_digest(&self) -> Option<u128> {
        self.image.as_ref().map(ImageDigest::get)
    }

    /// Tallies crash points by the stage of the transaction in flight from now on, if programs keep logs.
    pub fn tally_stages(&mut self) {
        let cores: Vec<CoreId> = self.transactions.iter().flat_map(Transactions::cores_with_log).collect();
        self.stages = (!cores.is_empty()).then(|| Stages::new(&cores, !self.eadr));
    }

    /// The state that was judged last is a crash point; the machine would recover from it or not.
    pub fn tally(&mut self, recovers: bool) {
        let Self { lines, durable, transactions, stages, .. } = self;
        if let Some((stages, transactions)) = stages.as_mut().zip(transactions.as_ref()) {
            stages.tally(lines, durable, transactions, recovers);
        }
    }

    /// From the crash point that was tallied last as one that the machine recovers from, it does not.
    pub fn tallied_point_failed(&mut self) {
        if let Some(stages) = &mut self.stages {
            stages.failed();
        }
    }

    /// What was tallied, in the order of the stages; empty if nothing was to be.
    pub fn stages(&self) -> Vec<StageTally> {
        self.stages.as_ref().map_or_else(Vec::new, Stages::tallies)
    }

    /// How many events are over.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// A hash of the durable state: media, persistence domain and surviving registers.
    pub fn state_hash(&self) -> u64 {
        let log = self.hardware_log.as_ref().map_or(0, HardwareLog::state_hash);
        let shadow = self.shadow.as_ref().map_or(0, ShadowCache::state_hash);
        self.durable.state_hash() ^ log ^ shadow ^ self.registers
    }

    /// The violations explained so far, in the order in which they were found.
    pub fn violations(&self) -> &[Violation] {
        &self.collector.explained
    }

    /// How many violations were found, explained or not.
    pub fn violation_count(&self) -> u64 {
        self.collector.count
    }

    /// Every line that anything happened to and what it would decrypt to after a power failure now, as of the last
    /// judgement; in a fixed order.
    pub fn durable_view(&self) -> impl Iterator<Item = (Line, &LineBytes)> {
        self.lines.records.iter().map(|record| (record.line, &record.durable.plain))
    }

    /// The same lines and what they would hold when the boot sequence is over: with the transactions undone that the
    /// hardware's log tells of, and the lines put back that the shadow cache holds.
    pub fn booted_view(&self) -> impl Iterator<Item = (Line, &LineBytes)> {
        self.lines.records.iter().map(|record| (record.line, record.booted()))
    }

    /// What `line` would hold after the program's recovery too, as of the last judgement; `None` for a line that
    /// nothing happened to.
    pub fn recovered_line(&self, line: Line) -> Option<LineBytes> {
        match &self.transactions {
            Some(transactions) => transactions.recovered(&self.lines, line),
            None => self.lines.find(line).map(|id| *self.lines.record(id).booted()),
        }
    }

    /// The program that is judged, if there is one.
    pub fn program(&self) -> Option<Arc<dyn ProgramRecovery>> {
        self.transactions.as_ref().map(|transactions| Arc::clone(transactions.program()))
    }

    /// Whether the program's recovery would write anything, as of the last judgement.
    pub fn recovery_writes(&self) -> bool {
        self.transactions.as_ref().is_some_and(Transactions::recovery_writes)
    }

    /// Whether pads matter: the design promises secrecy.
    pub fn watches_pads(&self) -> bool {
        self.secrecy.is_some()
    }

    /// Whether `line` belongs to the log that hardware writes.
    pub fn is_hardware_log(&self, line: Line) -> bool {
        self.hardware_log.as_ref().is_some_and(|log| log.facts().lines().contains(&line.0))
    }

    /// Watches a boot after a power failure now; give it back to [`Auditor::boot_over`] with what it found.
    pub fn boot_watch(&self) -> BootWatch<'_> {
        let around = Surroundings {
            lines: &self.lines,
            cipher: self.durable.cipher(),
            shadow: self.shadow.as_ref().map(ShadowCache::region),
        };
        let branch = self.secrecy.as_ref().map(|past| Branch::new(past, &self.loss, around));
        BootWatch::new(branch, self.events)
    }

    /// Takes over what a [`BootWatch`] found; true if it found nothing.
    pub fn boot_over(&mut self, leaks: boot::BootLeaks) -> bool {
        let clean = leaks.0.is_empty();
        for (line, leak) in leaks.0 {
            self.report_leak(self.events, line, leak);
        }
        clean
    }

    /// The line is watched for what leaves the chip: a data line, or a log line that is no security metadata.
    fn is_secret(&self, media: MediaLine) -> Option<Line> {
        let line = media.as_line()?;
        let metadata = self.hardware_log.as_ref().is_some_and(|log| log.facts().is_metadata(line));
        (!metadata).then_some(line)
    }

    fn note(&mut self, note: Note) {
        self.event_log.push(self.events + 1, note);
    }
}

/// By line, then by rule.
fn leak_key((line, leak): &(Line, Leak)) -> (Line, bool) {
    (*line, matches!(leak, Leak::Plaintext { .. }))
}

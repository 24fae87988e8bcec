//! The auditors: they observe what stages report ([`crate::message::Observer`]), know what the program intended
//! ([`Ledger`]), and judge at any time what a power failure would leave. They recompute everything from bytes, with
//! their own reading of counters and their own use of AES, and share no code with the mechanisms that they check.
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

mod aes_blocks;
mod boot;
mod branch;
mod counter;
mod direct;
mod durable;
mod event_log;
mod explain;
mod facts;
mod futures;
mod hardware_log;
mod hashes;
mod image;
mod ledger;
mod line_record;
mod line_rule;
mod lines;
mod listing;
mod mac;
mod pads;
mod recovered;
mod report;
mod secrecy;
mod shadow_cache;
mod shadow_table;
mod stages;
mod stream;
#[cfg(test)]
pub(crate) mod tests;
mod transaction;
mod updates;
mod view;
mod violation;
mod word_pads;

pub use boot::BootWatch;
pub use facts::{
    AuditSetup, BitsFacts, CipherFacts, CounterLayout, CounterRecovery, DirectFacts, DrainFacts, LogFacts,
    LowBitsFacts, ProgramFacts, RingFacts, TrialFacts, WordFacts,
};
pub use ledger::{Ledger, TransactionRecord, ledger_channel};
pub use line_record::LineView;
pub(crate) use lines::BYTES_PER_LINE;
pub use stages::{PartTally, StageTally};
pub(crate) use violation::{Collector, most_telling_first};
pub use violation::{LastTouch, LeftOut, Lost, Rule, Violation};

use crate::layout::{Coverage, ShadowRegisters};
use crate::message::{CoreId, CounterGroup, DrainedWrite, GroupMask, Line, LineBytes, MediaLine, ProgramRecovery};
use branch::{Branch, Future, Surroundings};
use counter::{AuditedCounter, CounterCipher};
use direct::DirectCipher;
use durable::Durable;
use event_log::{EventLog, Note};
use hardware_log::HardwareLog;
use image::ImageDigest;
use line_record::{Id, Role, Status};
use line_rule::LineRule;
use lines::Lines;
use recovered::Recovered;
use secrecy::{Leak, Secrecy};
use shadow_cache::{ShadowCache, registers_hash};
use stages::Stages;
use std::sync::Arc;
use transaction::{Finding, Transactions};

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
    /// Whether lines leave on battery.
    drains: bool,
    shadow: Option<ShadowCache>,
    /// What left at the last reported power loss.
    loss: Future,
    /// Whether lines cross the bus in the clear, so that only what is stored is secret.
    bus_is_clear: bool,
    /// What lines read as after the next power loss that nobody has written.
    misread: Vec<DrainedWrite>,
    /// The leaks of that power loss, by line, then by rule, and those of the one before.
    loss_leaks: Vec<(Line, Leak)>,
    known_leaks: Vec<(Line, Leak)>,
    /// A hash of the registers that the power loss left.
    registers: u64,
    /// After how many events the power loss happened.
    lost_after: Option<u64>,
    /// The leaks of the last watched boot, as those of the power loss.
    boot_leaks: Vec<(Line, Leak)>,
    /// A line that has persisted in the event that is not over, and whose words have bits that follow.
    without_bits: Option<(Line, LineBytes)>,
    /// What leaks in the event that is not over, and whether it counts.
    run_leaks: Vec<(Line, Leak)>,
    counts_leaks: bool,
    /// The leaks of events that do not count.
    left_out: Option<LeftOut>,
    /// The re-encryption status register as the battery left it.
    status_made: Option<Option<Status>>,
    event_log: EventLog,
    collector: Collector,
    /// Number of completed events; reports now belong to event `events + 1`.
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
        let valid_flags = setup.cipher.as_ref().is_some_and(|facts| facts.valid_flags);
        let recovery = setup.cipher.as_ref().map(|facts| facts.recovery.clone()).unwrap_or_default();
        let direct = || setup.direct.as_ref().map(DirectCipher::new);
        let cipher = setup.cipher.map(|facts| {
            let cipher = CounterCipher::new(&facts.key, facts.counters)
                .with_words(facts.words)
                .with_zero_minors(facts.zero_minors);
            match setup.direct.as_ref().and_then(|facts| facts.paged) {
                Some(known) => cipher.with_pages(direct().filter(|_| known)),
                None => cipher.with_versions(direct()),
            }
        });
        let log_lines = setup.log.as_ref().map_or(0..0, LogFacts::lines);
        let hardware_logged = setup.log.is_some();
        let coverage = cipher.as_ref().map_or(Coverage::PAGE, CounterCipher::coverage);
        let base_counter = cipher.as_ref().map_or(AuditedCounter::NEVER, CounterCipher::base);
        Self {
            lines: Lines::new(setup.base, layouts, coverage, base_counter, log_lines),
            durable: Durable::new(cipher, log_cipher, Recovered::new(&recovery), setup.status_survives, valid_flags)
                .without_counters(direct()),
            hardware_log: setup.log.map(|facts| HardwareLog::new(facts, setup.cores)),
            line_rule: LineRule::new(setup.line_atomic, setup.drain.map(|facts| facts.caches), setup.cores),
            transactions: setup
                .program
                .map(|program| Transactions::new(program.recovery, program.records, hardware_logged)),
            secrecy: setup
                .secret
                .then(|| Secrecy::new(setup.direct.as_ref().is_some_and(|facts| facts.paged.is_none()))),
            bus_is_clear: setup.direct.as_ref().is_some_and(|facts| facts.in_modules),
            stages: None,
            image: None,
            drains: setup.drain.is_some(),
            shadow: setup.drain.and_then(|facts| facts.shadow).map(|(region, source)| ShadowCache::new(region, source)),
            loss: Future::default(),
            misread: Vec::new(),
            loss_leaks: Vec::new(),
            known_leaks: Vec::new(),
            registers: 0,
            lost_after: None,
            boot_leaks: Vec::new(),
            without_bits: None,
            run_leaks: Vec::new(),
            counts_leaks: true,
            left_out: None,
            status_made: None,
            event_log: EventLog::new(coverage),
            collector: Collector::default(),
            events: 0,
            changed: Vec::new(),
            turned_bad: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// Judges a power failure now, between two events; returns whether the machine would recover without breaking a
    /// rule.
    pub fn judge(&mut self) -> bool {
        debug_assert!(
            !self.drains || self.lost_after == Some(self.events),
            "nobody told what left when power was lost"
        );
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
        // Lowest address first, so that the report does not depend on the order of bookkeeping.
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

    /// Reports that power is lost after the last event: `left` leaves the chip on battery, in this order, including
    /// dirty counter blocks, and these registers are kept. Must be called before [`Auditor::judge`] at each crash point
    /// of a design from whose chip lines leave on battery. It replaces the report of the previous crash point,
    /// because the run continues as if power had not been lost.
    pub fn power_lost(&mut self, left: &[DrainedWrite], registers: &ShadowRegisters) {
        let Self { lines, durable, shadow, secrecy, .. } = self;
        let region = shadow.as_ref().map(ShadowCache::region);
        let in_place = |write: &&DrainedWrite| match (write.media.as_line(), region) {
            (Some(line), Some(region)) => !region.contains(line),
            _ => true,
        };
        let misread = std::mem::take(&mut self.misread);
        durable.power_lost(lines, left.iter().filter(in_place).chain(&misread));
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
        in_order(&mut self.loss_leaks);
        // Leaks that the previous power loss had too are not new.
        let news: Vec<(Line, Leak)> =
            self.loss_leaks.iter().filter(|leak| !is_among(&self.known_leaks, leak)).copied().collect();
        for (line, leak) in news {
            self.report_leak(self.events, line, leak);
        }
    }

    /// Sets the re-encryption status register as the battery leaves it in the next reported power loss: lines, old major
    /// counter and done bits, or `None` if the register is free. Without this call, the register stays as it was.
    pub fn reencryption_left(&mut self, status: Option<(CounterGroup, u64, GroupMask)>) {
        self.status_made = Some(status.map(|(group, old_major, done)| Status { group, old_major, done }));
    }

    /// Sets what lines read as after the next reported power loss that nobody has written: wear levelling does not find them.
    pub fn misread(&mut self, misread: &[DrainedWrite]) {
        self.misread.extend_from_slice(misread);
    }

    /// Starts a digest of the memory that a boot leaves to the program, whose bytes end at address `end`. Must be
    /// called before the run begins.
    pub fn watch_image(&mut self, end: u64) {
        self.image = Some(ImageDigest::new(end));
    }

    /// The digest of [`Auditor::watch_image`] as of the last judgement, if it is kept.
    pub fn image_digest(&self) -> Option<u128> {
        self.image.as_ref().map(ImageDigest::get)
    }

    /// Starts counting crash points by the stage of the transaction in flight, if programs keep logs.
    pub fn tally_stages(&mut self) {
        let cores: Vec<CoreId> = self.transactions.iter().flat_map(Transactions::cores_with_log).collect();
        self.stages = (!cores.is_empty()).then(|| Stages::new(&cores, !self.drains));
    }

    /// Counts the last judged state as a crash point; `recovers`: whether the machine would recover from it.
    pub fn tally(&mut self, recovers: bool) {
        let Self { lines, durable, transactions, stages, .. } = self;
        if let Some((stages, transactions)) = stages.as_mut().zip(transactions.as_ref()) {
            stages.tally(lines, durable, transactions, recovers);
        }
    }

    /// Corrects the last counted crash point: the machine does not recover from it.
    pub fn tallied_point_failed(&mut self) {
        if let Some(stages) = &mut self.stages {
            stages.failed();
        }
    }

    /// The counts by stage, in the order of the stages; empty if they were not requested.
    pub fn stages(&self) -> Vec<StageTally> {
        self.stages.as_ref().map_or_else(Vec::new, Stages::tallies)
    }

    /// Number of completed events.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// A hash of the durable state: media, persistence domain and surviving registers.
    pub fn state_hash(&self) -> u64 {
        let log = self.hardware_log.as_ref().map_or(0, HardwareLog::state_hash);
        let shadow = self.shadow.as_ref().map_or(0, ShadowCache::state_hash);
        self.durable.state_hash() ^ log ^ shadow ^ self.registers
    }

    /// The explained violations so far, in the order in which they were found.
    pub fn violations(&self) -> &[Violation] {
        &self.collector.explained
    }

    /// The explained violations from number `first` on, to be added to.
    pub(crate) fn explained_from(&mut self, first: usize) -> &mut [Violation] {
        self.collector.explained_from(first)
    }

    /// Number of violations, explained or not.
    pub fn violation_count(&self) -> u64 {
        self.collector.count
    }

    /// Every line that something happened to, with what it would decrypt to after a power failure now, as of the last
    /// judgement; in a fixed order.
    pub fn durable_view(&self) -> impl Iterator<Item = (Line, &LineBytes)> {
        self.lines.records.iter().map(|record| (record.line, &record.durable.plain))
    }

    /// Whether a recovery finds counters by trial: then lines do not decrypt before that, and the views are of what they
    /// hold after it.
    pub fn recovers_counters(&self) -> bool {
        self.durable.recovers_counters()
    }

    /// The lines of [`Auditor::durable_view`] with what they would hold after the boot sequence: transactions of the
    /// hardware's log are undone, and the lines of the shadow cache are restored.
    pub fn booted_view(&self) -> impl Iterator<Item = (Line, &LineBytes)> {
        self.lines.records.iter().map(|record| (record.line, record.booted()))
    }

    /// What `line` would hold after the program's recovery, as of the last judgement; `None` for a line that nothing
    /// happened to.
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

    /// Whether pads matter, because the design promises secrecy.
    pub fn watches_pads(&self) -> bool {
        self.secrecy.is_some()
    }

    /// Whether `line` belongs to the log that hardware writes.
    pub fn is_hardware_log(&self, line: Line) -> bool {
        self.hardware_log.as_ref().is_some_and(|log| log.facts().lines().contains(&line.0))
    }

    /// Watches a boot after a power failure now; pass its result to [`Auditor::boot_over`].
    pub fn boot_watch(&self) -> BootWatch<'_> {
        let around = Surroundings {
            lines: &self.lines,
            cipher: self.durable.cipher(),
            shadow: self.shadow.as_ref().map(ShadowCache::region),
        };
        let branch = self.secrecy.as_ref().map(|past| Branch::new(past, &self.loss, around));
        BootWatch::new(branch, self.events)
    }

    /// Takes over the leaks that a [`BootWatch`] found; returns true if there are none. Those that the boot before it had, too,
    /// are not new.
    pub fn boot_over(&mut self, leaks: boot::BootLeaks) -> bool {
        let mut leaks = leaks.0;
        in_order(&mut leaks);
        for &(line, leak) in &leaks {
            match is_among(&self.boot_leaks, &(line, leak)) {
                true => self.report_leak_again(self.events, line, leak),
                false => self.report_leak(self.events, line, leak),
            }
        }
        self.boot_leaks = leaks;
        self.boot_leaks.is_empty()
    }

    /// The lines that leaked in the last watched boot, or that the next write after it would have leaked.
    pub fn leaked_by_boot(&self) -> impl Iterator<Item = Line> {
        self.boot_leaks.iter().map(|(line, _)| *line)
    }

    /// Whether leaks of the event that is not over are violations; if not, they are only counted ([`Self::left_out`]).
    pub fn count_leaks(&mut self, wanted: bool) {
        self.counts_leaks = wanted;
    }

    /// The leaks of the running machine in events that do not count; `None` if there were none.
    pub fn left_out(&self) -> Option<&LeftOut> {
        self.left_out.as_ref()
    }

    /// The line to watch for leaks, if `media` is a data line, or a log line that is not security metadata.
    fn is_secret(&self, media: MediaLine) -> Option<Line> {
        let line = media.as_line()?;
        let metadata = self.hardware_log.as_ref().is_some_and(|log| log.facts().is_metadata(line));
        (!metadata).then_some(line)
    }

    fn note(&mut self, note: Note) {
        self.event_log.push(self.events + 1, note);
    }
}

/// Sorts `leaks`, and keeps one for each line and rule.
fn in_order(leaks: &mut Vec<(Line, Leak)>) {
    leaks.sort_by_key(leak_key);
    leaks.dedup_by_key(|leak| leak_key(leak));
}

/// Whether `leaks`, which are sorted, have one of the same line and rule.
fn is_among(leaks: &[(Line, Leak)], leak: &(Line, Leak)) -> bool {
    leaks.binary_search_by_key(&leak_key(leak), leak_key).is_ok()
}

/// Sorts by line, then by rule.
fn leak_key((line, leak): &(Line, Leak)) -> (Line, bool) {
    (*line, matches!(leak, Leak::Plaintext { .. }))
}

//! A trace of memory lines on controller and device alone.
//!
//! An access is sent at its cycle, or when the controller has room for it, whichever is later: a read needs a free entry
//! of the read queue, a write one of the write pending queue, at a time when the policy takes writes. An access that
//! waits holds back all that follow. If the trace has no cycles, an access is sent as soon as there is room. All memory is populated before the first access, so that every
//! read is decrypted. The written bytes are those of the trace; if it has none, they depend on the address and on the
//! number of earlier writes.
//!
//! Addresses beyond the device's capacity are folded into it.

mod requests;

use self::requests::{Answered, Requests};
use super::response::{ResponseTimes, Responses};
use crate::assembly::{Figures, memory_map};
use crate::config::{RunConfig, config_digest};
use crate::embed::Driver;
use crate::kernel::{Failure, Histogram, Ps, Stopwatch, ps_to_ns};
use crate::message::{LINE_BYTES, Line, LineBytes, MediaLine, MediaOp, Observer};
use crate::parts::{Design, PartsList};
use crate::stats::{
    BankReport, ChannelReport, Class, Crypto, ENGINE_BUILD, ENGINE_VERSION, EnergyReport, IntegrityReport, Nvm,
    Windows, WpqReport, classes, per_second,
};
use crate::trace::Expected;
use crate::trace::lines::{LineAccess, LineFormat, LineTrace};
use crate::workload::Filled;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Events between two checks of the interrupt flag: well under a millisecond. An access may have any number of them.
const EVENTS_PER_LOOK: u64 = 4096;
/// Accesses between two reports of progress.
const ACCESSES_PER_REPORT: u64 = 4096;
/// Accesses that are read ahead, so that the host's memory has what they need when their turn comes.
const ACCESSES_AHEAD: usize = 24;
/// Picoseconds in a second.
const PS_PER_SECOND: f64 = 1e12;

/// The report of a line trace on a design. Times are in nanoseconds.
#[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "LineRun")]
pub struct LineReport {
    /// Version of this report's format.
    pub schema: u32,
    /// `lines`, which distinguishes it from the report of a program.
    pub kind: &'static str,
    /// The design's name.
    pub design: String,
    /// The parts of a design that is not built in.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub parts: Option<PartsList>,
    /// `published` or `hardened`.
    pub variant: String,
    /// Path of the trace.
    pub workload: String,
    /// The format of the trace.
    pub format: LineFormat,
    /// The machine's name.
    pub machine: String,
    /// The values of the machine that come from the design, as in `integrity.stop_loss = 8`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set_by_design: Option<String>,
    /// Seed of the encryption keys and of made-up data.
    pub seed: u64,
    /// Digest of the configuration.
    pub config_digest: String,
    /// Version of the engine.
    pub engine_version: &'static str,
    /// Digest of the engine's sources.
    pub engine_build: &'static str,
    /// Clock of the trace's cycles in MHz.
    pub trace_clock_mhz: u64,
    /// Number of accesses: reads and writes.
    pub requests: u64,
    /// Number of reads.
    pub reads: u64,
    /// Number of writes.
    pub writes: u64,
    /// Accesses whose address was folded into the device's.
    pub folded: u64,
    /// Accesses that were sent after their cycle, because there was no room for them or for one before them; in a trace
    /// without cycles, those that found no room.
    pub waited: u64,
    /// Time from the first access until everything is on the media.
    pub simulated_ns: f64,
    /// Time from the first access until the last answer.
    pub finish_ns: f64,
    /// Accesses per simulated second, from the first sent to the last answered; null without any.
    pub requests_per_second: Option<f64>,
    /// Time from the cycle of a read to its decrypted line; null without reads, or if the trace has no cycles.
    pub read_response_ns: Option<ResponseTimes>,
    /// Time from the cycle of a write until it is in the persistence domain.
    pub write_response_ns: Option<ResponseTimes>,
    /// Mean time from the sending of a read to its decrypted line; null without reads.
    pub read_latency_ns: Option<f64>,
    /// Mean time from the sending of a write until it is in the persistence domain.
    pub write_latency_ns: Option<f64>,
    /// Mean time from the sending of a write until the media have programmed it, or a newer write of its line.
    pub media_write_latency_ns: Option<f64>,
    /// Lines and counter blocks read from the media.
    pub media_reads: u64,
    /// Counter blocks among the media reads.
    pub counter_reads: u64,
    /// Lines and counter blocks written to the media.
    pub media_writes: u64,
    /// Counter blocks among the media writes.
    pub counter_writes: u64,
    /// Lookups that found their block in the counter cache; null without one.
    pub counter_hits: Option<u64>,
    /// Lookups that did not find their block, and fetched it.
    pub counter_misses: Option<u64>,
    /// Lookups that did not find their block because it was already being fetched.
    pub counter_secondary_misses: Option<u64>,
    /// Hits over these lookups.
    pub counter_hit_rate: Option<f64>,
    /// Reads that were answered from the write pending queue or from a write that was not in it yet.
    pub forwarded_reads: u64,
    /// The times of `read_latency_ns`, in classes: those that are not empty, in ascending order, each twice as wide as the one
    /// before.
    pub read_latency_classes: Vec<Class>,
    /// The times of `write_latency_ns`, in the same classes.
    pub write_latency_classes: Vec<Class>,
    /// Figures of the device.
    pub nvm: Nvm,
    /// Energy by part.
    pub energy: EnergyReport,
    /// Figures of each channel of the device.
    pub channels: Vec<ChannelReport>,
    /// Figures of each bank of the device.
    pub banks: Vec<BankReport>,
    /// Figures of the write pending queue.
    pub wpq: WpqReport,
    /// Figures of the encryption.
    pub crypto: Crypto,
    /// Figures of what protects integrity; null if nothing does.
    pub integrity: Option<IntegrityReport>,
    /// Digest of every event.
    pub event_digest: String,
    /// The cost on the host.
    pub host: LineHost,
    /// The figures over time; absent unless they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<Windows>,
}

/// The cost of a simulation on the host.
#[derive(Clone, Copy, Debug, serde::Serialize, schemars::JsonSchema)]
pub struct LineHost {
    /// Wall-clock seconds of the simulation.
    pub seconds: f64,
    /// Accesses per wall-clock second.
    pub requests_per_second: Option<f64>,
}

/// The writes of a line that are not on the media yet, by the time of sending, oldest first.
#[derive(Default)]
struct Unwritten {
    sent: VecDeque<Ps>,
    /// How many of them, from the first, are in the persistence domain.
    persisted: usize,
}

/// Observes when writes reach the media.
#[derive(Default)]
struct MediaWrites {
    lines: FxHashMap<Line, Unwritten>,
    /// Empty ones of lines that are on the media, for the next lines.
    spare: Vec<Unwritten>,
    arrived: Mean,
}

impl MediaWrites {
    /// A write of `line` is sent.
    fn sent(&mut self, line: Line, now: Ps) {
        let of_line = self.lines.entry(line).or_insert_with(|| self.spare.pop().unwrap_or_default());
        of_line.sent.push_back(now);
    }
}

impl Observer for MediaWrites {
    fn persisted(&mut self, _now: Ps, media: MediaLine, _bytes: &LineBytes) {
        if let Some(unwritten) = media.as_line().and_then(|line| self.lines.get_mut(&line)) {
            unwritten.persisted = unwritten.sent.len().min(unwritten.persisted + 1);
        }
    }
    fn device_access(&mut self, _now: Ps, _bank: u16, media: MediaLine, op: MediaOp, until: Ps) {
        let Some(line) = media.as_line().filter(|_| op == MediaOp::Write) else { return };
        if let Some(unwritten) = self.lines.get_mut(&line) {
            for sent in unwritten.sent.drain(..std::mem::take(&mut unwritten.persisted)) {
                self.arrived.add(until - sent);
            }
            if unwritten.sent.is_empty() {
                self.spare.extend(self.lines.remove(&line));
            }
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Mean {
    sum: u128,
    count: u64,
}

impl Mean {
    fn add(&mut self, ps: Ps) {
        self.sum += u128::from(ps);
        self.count += 1;
    }
    fn ns(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64 / 1_000.0)
    }
}

/// A request in flight.
#[derive(Clone, Copy)]
struct UnderWay {
    /// When the trace says that it is sent, if it says so.
    due: Option<Ps>,
    sent: Ps,
    line: Line,
    write: bool,
    /// In the trace, from 0.
    number: u64,
}

/// What a run watches: when writes reach the media, and what each request waits for, if that is asked for; beside that, its
/// caller's observer.
type Watched<O> = ((MediaWrites, Option<Requests>), O);

struct Run<'a, O> {
    driver: Driver<Watched<O>, UnderWay>,
    /// Set when the user interrupts.
    cancel: &'a AtomicBool,
    latency: [Mean; 2],
    latencies: [Histogram; 2],
    response_times: [Responses; 2],
    last_answer: Ps,
}

impl<'a, O: Observer> Run<'a, O> {
    fn new(driver: Driver<Watched<O>, UnderWay>, cancel: &'a AtomicBool) -> Self {
        Self {
            driver,
            cancel,
            latency: [Mean::default(); 2],
            latencies: [Histogram::default(); 2],
            response_times: <[Responses; 2]>::default(),
            last_answer: 0,
        }
    }

    /// Handles one event; returns false if there is none. Fails if the user has interrupted.
    fn advance(&mut self) -> Result<bool, Failure> {
        if self.driver.system.events().is_multiple_of(EVENTS_PER_LOOK) && self.cancel.load(Ordering::Relaxed) {
            return Err(Failure::Cancelled);
        }
        let happened = self.driver.advance();
        let now = self.driver.system.now();
        for answered in &self.driver.answered {
            let UnderWay { due, sent, line, write, number } = answered.request;
            if let ((_, Some(requests)), _) = &mut self.driver.system.observer {
                requests.answered(Answered { number, line, write, due, sent, answered: now });
            }
            self.latency[usize::from(write)].add(now - sent);
            self.latencies[usize::from(write)].add(now - sent);
            if let Some(due) = due {
                self.response_times[usize::from(write)].add(now - due);
            }
            self.last_answer = now;
        }
        Ok(happened)
    }

    /// Sends access `number` of the trace, to `line`, not before it is `due`; `written` has the bytes of a write. Returns
    /// whether it had to wait.
    fn send(&mut self, number: u64, due: Option<Ps>, line: Line, written: Option<&LineBytes>) -> Result<bool, Failure> {
        let write = written.is_some();
        let op = if write { MediaOp::Write } else { MediaOp::Read };
        // An access that waited may have left its followers behind their times. They too find the queues as those
        // before them, which arrive now, leave them.
        let wanted = due.unwrap_or_else(|| self.driver.system.now());
        let earliest = wanted.max(self.driver.system.now());
        while self.driver.is_due(earliest) {
            self.advance()?;
        }
        self.driver.system.wait_until(earliest);
        while !self.driver.system.accepts(op) {
            assert!(self.advance()?, "a queue is full and nothing is left to happen");
        }
        let sent = self.driver.system.now();
        self.driver.send(UnderWay { due, sent, line, write, number }, |system, token| match written {
            Some(bytes) => {
                system.observer.0.0.sent(line, sent);
                system.write_now(line, bytes, token);
            }
            None => system.read_now(line, token),
        });
        Ok(sent > wanted)
    }
}

/// The bytes that write number `number` stores in `line` if the trace does not have them.
fn made_up(line: Line, number: u64) -> LineBytes {
    let mut bytes = [0; 64];
    for (index, word) in bytes.chunks_exact_mut(8).enumerate() {
        let mut mixed = line.0 ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (index as u64) << 56;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word.copy_from_slice(&(mixed ^ mixed >> 31).to_le_bytes());
    }
    bytes
}

/// The time of `cycle` of a clock of `clock_mhz`, in picoseconds; `None` if it is too far away.
fn time_of(cycle: u64, clock_mhz: u64) -> Option<Ps> {
    let time = u128::from(cycle) * 1_000_000 / u128::from(clock_mhz);
    Ps::try_from(time).ok().filter(|&ps| ps < Ps::MAX / 2)
}

/// Counts of what was sent.
#[derive(Default)]
struct Sent {
    requests: u64,
    writes: u64,
    folded: u64,
    waited: u64,
}

/// Runs `trace` on the controller and device of `config` with `design`; `clock_mhz` is the clock of its cycles.
/// With `requests`, a table of all requests is written to this path. `observer` observes the run, and is returned. With
/// `window`, the report has windows of so many picoseconds. `progress` is called with the number of bytes of the file that have
/// been read since the last call.
///
/// # Errors
/// The trace is malformed, the machine does not suit the design, the table cannot be written, or the user interrupted.
pub fn run_line_trace<O: Observer>(
    config: &RunConfig,
    design: &Design,
    trace: &LineTrace,
    (clock_mhz, requests): (u64, Option<&Path>),
    (observer, window): (O, Option<Ps>),
    progress: &(dyn Fn(u64) + Sync),
    cancel: &AtomicBool,
) -> Result<(LineReport, O), Failure> {
    let begun = Stopwatch::start();
    let machine = &config.machine;
    let lines = memory_map::room(machine, design)? / LINE_BYTES;
    let base = Arc::new(Filled { end: lines * LINE_BYTES, line: [0x5a; 64] });
    let requests = requests.map(|path| Requests::create(path, design.media_layout(machine))).transpose()?;
    let watched = ((MediaWrites::default(), requests), observer);
    let mut driver = Driver::new(machine, design, base, config.seed, watched)?;
    driver.system.report_windows(window);
    let mut run = Run::new(driver, cancel);
    let sent = run.send_all(trace, lines, clock_mhz, progress)?;
    while run.advance()? {}
    run.driver.system.flush();
    while run.advance()? {}
    if let Some(requests) = run.driver.system.observer.0.1.take() {
        requests.finish()?;
    }
    let mut report = run.report(config, design, trace, clock_mhz, &sent, begun.seconds());
    report.windows = run.driver.system.take_windows()?;
    Ok((report, run.driver.system.observer.1))
}

impl<O: Observer> Run<'_, O> {
    /// Sends every access of `trace` to a memory of `lines` lines.
    fn send_all(
        &mut self,
        trace: &LineTrace,
        lines: u64,
        clock_mhz: u64,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Sent, Failure> {
        let mut reader = trace.reader()?;
        let mut all = Sent::default();
        let mut first_cycle = None;
        let mut told = 0;
        let mut ahead = VecDeque::with_capacity(ACCESSES_AHEAD);
        loop {
            while ahead.len() < ACCESSES_AHEAD
                && let Some(LineAccess { cycle, write, address, bytes }) = reader.next_access()?
            {
                // Time begins with the first access, because traces are cut out of longer runs.
                let first = *first_cycle.get_or_insert(cycle.unwrap_or(0));
                let due = time_of(cycle.unwrap_or(first) - first, clock_mhz)
                    .ok_or_else(|| reader.malformed(Expected("a cycle in the first hundred days of simulated time")))?;
                let line = Line(address / LINE_BYTES % lines);
                all.folded += u64::from(address / LINE_BYTES >= lines);
                self.driver.system.prefetch(line);
                ahead.push_back((cycle.map(|_| due), line, write, bytes));
            }
            let Some((due, line, write, bytes)) = ahead.pop_front() else { break };
            let written = write.then(|| bytes.unwrap_or_else(|| made_up(line, all.writes)));
            all.waited += u64::from(self.send(all.requests, due, line, written.as_ref())?);
            all.requests += 1;
            all.writes += u64::from(write);
            if all.requests.is_multiple_of(ACCESSES_PER_REPORT) {
                progress(reader.bytes_read() - told);
                told = reader.bytes_read();
            }
        }
        progress(trace.bytes().saturating_sub(told));
        Ok(all)
    }

    fn report(
        &mut self,
        config: &RunConfig,
        design: &Design,
        trace: &LineTrace,
        clock_mhz: u64,
        sent: &Sent,
        seconds: f64,
    ) -> LineReport {
        let &Sent { requests, writes, folded, waited } = sent;
        let system = &mut self.driver.system;
        let now = system.now();
        let figures = Figures::of(&config.machine, design, &mut system.controller, &system.device, 0, now);
        let stats = system.controller.stats(now);
        let device = system.device.stats();
        let counter_cache = design.has_counter_cache().then_some(());
        LineReport {
            schema: 1,
            kind: "lines",
            design: config.design.clone(),
            parts: config.parts.clone(),
            variant: config.variant.name().to_owned(),
            workload: config.workload.clone(),
            format: trace.format(),
            machine: config.machine.name.clone(),
            set_by_design: config.set_by_design.clone(),
            seed: config.seed,
            config_digest: config_digest(config),
            engine_version: ENGINE_VERSION,
            engine_build: ENGINE_BUILD,
            trace_clock_mhz: clock_mhz,
            requests,
            reads: requests - writes,
            writes,
            folded,
            waited,
            simulated_ns: ps_to_ns(now),
            requests_per_second: per_second(requests, self.last_answer as f64 / PS_PER_SECOND),
            finish_ns: ps_to_ns(self.last_answer),
            read_response_ns: self.response_times[0].report(),
            write_response_ns: self.response_times[1].report(),
            read_latency_ns: self.latency[0].ns(),
            write_latency_ns: self.latency[1].ns(),
            media_write_latency_ns: system.observer.0.0.arrived.ns(),
            media_reads: device.reads,
            counter_reads: device.counter_reads,
            media_writes: device.writes,
            counter_writes: device.counter_writes,
            counter_hits: counter_cache.map(|()| stats.counter_hits),
            counter_misses: counter_cache.map(|()| stats.counter_misses),
            counter_secondary_misses: counter_cache.map(|()| stats.counter_secondary_misses),
            counter_hit_rate: stats.counter_hit_rate(),
            forwarded_reads: stats.forwarded_reads,
            read_latency_classes: classes(&self.latencies[0].0),
            write_latency_classes: classes(&self.latencies[1].0),
            nvm: figures.nvm,
            energy: figures.energy,
            channels: figures.channels,
            banks: figures.banks,
            wpq: figures.wpq,
            crypto: figures.crypto,
            integrity: figures.integrity,
            event_digest: format!("{:016x}", system.digest()),
            host: LineHost { seconds, requests_per_second: per_second(requests, seconds) },
            windows: None,
        }
    }
}

#[cfg(test)]
mod tests;

//! A trace of every stage for Perfetto (and chrome://tracing): one process per stage, transactions as spans, steps of a
//! line as instants, occupancy of the write pending queue as a counter track. Times are simulated.

#[cfg(test)]
mod tests;
mod windows;

pub use windows::{Totals, Windows};

use crate::kernel::{ConfigError, Ps};
use crate::layout::MediaLayout;
use crate::message::{CoreId, CounterGroup, GroupMask, Line, LineBytes, MediaLine, MediaUnit, Observer};
use crate::output::Streamed;
use crate::stats;
use std::path::Path;

const CORES: u32 = 1;
const CACHES: u32 = 2;
const CONTROLLER: u32 = 3;
const WPQ: u32 = 4;
const DEVICE: u32 = 5;
const LOG: u32 = 6;

/// Writes the trace while the simulation runs; the file gets its name when it is complete.
pub struct Timeline {
    out: Streamed,
    layout: MediaLayout,
    queued: i64,
    first: bool,
}

impl Timeline {
    /// Starts a trace that will be at `path`, for a machine with this `layout` of counters. The folder must be
    /// writable.
    pub fn create(path: &Path, layout: MediaLayout) -> Result<Self, ConfigError> {
        let out = Streamed::create("timeline", path).map_err(ConfigError)?;
        let mut timeline = Self { out, layout, queued: 0, first: true };
        timeline.write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
        for (process, name) in [
            (CORES, "cores"),
            (CACHES, "caches"),
            (CONTROLLER, "memory controller"),
            (WPQ, "WPQ"),
            (DEVICE, "device"),
            (LOG, "hardware log"),
        ] {
            timeline.event(&format!(
                "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{process},\"args\":{{\"name\":\"{name}\"}}}}"
            ));
        }
        Ok(timeline)
    }

    /// The figures over time, as counter tracks.
    pub fn windows(&mut self, windows: &stats::Windows) {
        for (window, from_ns) in windows.from_ns.iter().enumerate() {
            let at = from_ns / 1e3;
            let per_second = |lines: u64| lines as f64 * windows.line_bytes as f64 / windows.window_ns;
            for (process, name, value) in [
                (CORES, "instructions", windows.instructions[window] as f64),
                (DEVICE, "read, GB/s", per_second(windows.reads[window])),
                (DEVICE, "written, GB/s", per_second(windows.writes[window])),
                (CONTROLLER, "counter misses", windows.counter_misses[window] as f64),
                (WPQ, "entries, mean", windows.wpq_mean[window]),
            ] {
                self.event(&format!(
                    "{{\"ph\":\"C\",\"ts\":{at},\"pid\":{process},\"name\":\"{name}\",\"args\":{{\"value\":{value}}}}}"
                ));
            }
        }
    }

    /// Completes the file and gives it its name.
    pub fn finish(mut self) -> Result<(), ConfigError> {
        self.write("\n]}\n");
        self.out.finish().map_err(ConfigError)
    }

    fn write(&mut self, text: &str) {
        self.out.write(text.as_bytes());
    }

    fn event(&mut self, text: &str) {
        let separator = if std::mem::take(&mut self.first) { "\n" } else { ",\n" };
        self.write(separator);
        self.write(text);
    }

    fn instant(&mut self, now: Ps, process: u32, thread: u32, name: &str, place: u64) {
        let at = now as f64 / 1e6;
        self.event(&format!(
            "{{\"ph\":\"i\",\"s\":\"t\",\"ts\":{at},\"pid\":{process},\"tid\":{thread},\"name\":\"{name}\",\
             \"args\":{{\"line\":\"{place:#x}\"}}}}"
        ));
    }

    /// A value that users can search for: the byte address of a data line, of the first line whose counter or MAC the
    /// unit holds, or the number of a tree node in its level.
    fn place(&self, media: MediaLine) -> u64 {
        match media.unit() {
            MediaUnit::Data(line) | MediaUnit::Modified(line) => line.address(),
            MediaUnit::Counter(block) => self.layout.coverage.line(block, 0).address(),
            MediaUnit::Mac(block) => {
                self.layout.macs.and_then(|macs| macs.lines(block).next()).map_or(0, Line::address)
            }
            MediaUnit::Node(node) => node.index,
            MediaUnit::Table(number) => number,
        }
    }

    fn span(&mut self, now: Ps, phase: char, core: CoreId, number: u64) {
        let at = now as f64 / 1e6;
        self.event(&format!(
            "{{\"ph\":\"{phase}\",\"ts\":{at},\"pid\":{CORES},\"tid\":{core},\"name\":\"transaction {number}\"}}"
        ));
    }

    /// Records that `media` entered the queue (+1) or left it (-1). A counter that moves with its line has no separate
    /// entry.
    fn queue(&mut self, now: Ps, media: MediaLine, change: i64) {
        if self.layout.moves_with_line(media) {
            return;
        }
        self.queued += change;
        let (at, queued) = (now as f64 / 1e6, self.queued);
        self.event(&format!(
            "{{\"ph\":\"C\",\"ts\":{at},\"pid\":{WPQ},\"name\":\"entries\",\"args\":{{\"entries\":{queued}}}}}"
        ));
    }
}

/// The track of `media`: data, counters, or what protects integrity.
fn kind(media: MediaLine) -> u32 {
    u32::from(media.is_metadata()) + u32::from(media.is_metadata() && !media.is_counter())
}

impl Observer for Timeline {
    fn flushed(&mut self, now: Ps, core: CoreId, line: Line) {
        self.instant(now, CORES, u32::from(core), "flush", line.address());
    }
    fn fenced(&mut self, now: Ps, core: CoreId) {
        self.instant(now, CORES, u32::from(core), "fence complete", 0);
    }
    fn stored(&mut self, now: Ps, core: CoreId, line: Line, _offset: usize, _data: &[u8]) {
        self.instant(now, CACHES, u32::from(core), "store", line.address());
    }
    fn marked_counter_atomic(&mut self, now: Ps, core: CoreId, line: Line) {
        self.instant(now, CACHES, u32::from(core), "counter-atomic from now on", line.address());
    }
    fn transaction_began(&mut self, now: Ps, core: CoreId, number: u64) {
        self.span(now, 'B', core, number);
    }
    fn transaction_ended(&mut self, now: Ps, core: CoreId, number: u64) {
        self.span(now, 'E', core, number);
    }
    fn evicted(&mut self, now: Ps, line: Line) {
        self.instant(now, CACHES, 0, "evict", line.address());
    }
    fn write_arrived(&mut self, now: Ps, line: Line, _plaintext: &LineBytes) {
        self.instant(now, CONTROLLER, 0, "write arrives", line.address());
    }
    fn persisted(&mut self, now: Ps, media: MediaLine, _bytes: &LineBytes) {
        self.instant(now, WPQ, kind(media), &format!("{} persists", media.kind()), self.place(media));
        self.queue(now, media, 1);
    }
    fn coalesced(&mut self, now: Ps, media: MediaLine, _bytes: &LineBytes) {
        self.instant(now, WPQ, kind(media), &format!("older {} entry removed", media.kind()), self.place(media));
        self.queue(now, media, -1);
    }
    fn bus_write(&mut self, now: Ps, media: MediaLine, _bytes: &LineBytes) {
        self.instant(now, DEVICE, kind(media), &format!("{} written", media.kind()), self.place(media));
        self.queue(now, media, -1);
    }
    fn logged(&mut self, now: Ps, core: CoreId, line: Line) {
        self.instant(now, LOG, u32::from(core), "line logged", line.address());
    }
    fn log_extended(&mut self, now: Ps, core: CoreId, bucket: u32, records: u32) {
        self.instant(now, LOG, u32::from(core), &format!("record {records} of bucket {bucket} durable"), 0);
    }
    fn log_freed(&mut self, now: Ps, core: CoreId) {
        self.instant(now, LOG, u32::from(core), "log freed", 0);
    }
    fn reencryption(&mut self, now: Ps, group: CounterGroup, _old_major: u64, done: GroupMask, finished: bool) {
        let name = match (done, finished) {
            (0, _) => "re-encryption begins",
            (_, true) => "re-encryption ends",
            _ => "line re-encrypted",
        };
        self.instant(now, CONTROLLER, 1, name, group.line(0).address());
    }
}

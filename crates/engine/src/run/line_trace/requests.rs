//! The requests of a line trace as a table: when each was sent and answered, and what it waited for between.
//!
//! A read waits for room, for its bank, for the transfer from the media, for its counter if that comes later, and for what
//! is left: its pad, MACs, and the way back. A write waits for room, for its counter, and for what is left: its pad, MACs
//! and admission to the persistence domain.

use crate::kernel::{ConfigError, Ps};
use crate::layout::MediaLayout;
use crate::message::{CounterBlock, Line, MediaLine, MediaOp, MediaUnit, Observer};
use crate::output::Streamed;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::path::Path;

/// The names of the columns. Times are in picoseconds since the first access.
const HEAD: &[u8] = b"id,op,address,due_ps,sent_ps,answered_ps,room_ps,bank_ps,media_ps,counter_ps,rest_ps\n";

/// Reads that are remembered: many more than a read queue has.
const READS_MAX: usize = 1_024;

/// A request that is answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered {
    /// Its number in the trace, from 0.
    pub number: u64,
    pub line: Line,
    pub write: bool,
    /// When the trace says that it is sent, if it says so.
    pub due: Option<Ps>,
    pub sent: Ps,
    pub answered: Ps,
}

/// Times that a request waited, in the order of the columns.
type Waits = [Ps; 5];

/// Observes the media, and writes a row for each request when it is answered.
pub(super) struct Requests {
    out: Streamed,
    row: Vec<u8>,
    media: Media,
}

/// What the media have read for requests.
struct Media {
    layout: MediaLayout,
    /// Reads of lines that have not been answered, in their order: from when until when.
    lines: VecDeque<(Line, Ps, Ps)>,
    /// When the last read of each block of counters was over.
    counters: FxHashMap<CounterBlock, Ps>,
}

impl Requests {
    /// Starts a table that will be at `path`, of a machine with this `layout` of memory.
    pub fn create(path: &Path, layout: MediaLayout) -> Result<Self, ConfigError> {
        let mut out = Streamed::create("requests", path).map_err(ConfigError)?;
        out.write(HEAD);
        let media = Media { layout, lines: VecDeque::new(), counters: FxHashMap::default() };
        Ok(Self { out, row: Vec::new(), media })
    }

    pub fn answered(&mut self, request: Answered) {
        let waits = self.media.waits(request);
        let Answered { number, line, write, due, sent, answered } = request;
        self.row.clear();
        self.field(Some(number));
        self.row.extend_from_slice(if write { b"W," } else { b"R," });
        self.field(Some(line.address()));
        self.field(due);
        for number in [sent, answered].into_iter().chain(waits) {
            self.field(Some(number));
        }
        let end = self.row.len() - 1;
        self.row[end] = b'\n';
        self.out.write(&self.row);
    }

    /// Adds a field to the row, and what separates it from the next one.
    fn field(&mut self, number: Option<u64>) {
        if let Some(number) = number {
            self.row.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
        }
        self.row.push(b',');
    }

    /// Completes the file and gives it its name.
    pub fn finish(self) -> Result<(), ConfigError> {
        self.out.finish().map_err(ConfigError)
    }
}

impl Media {
    fn waits(&mut self, request: Answered) -> Waits {
        let Answered { line, write, due, sent, answered, .. } = request;
        let room = due.map_or(0, |due| sent - due);
        let of_it = |&(read, from, until): &(Line, Ps, Ps)| !write && read == line && from >= sent && until <= answered;
        // Those that are never answered are at the front.
        let read = self.lines.iter().rposition(of_it).and_then(|place| self.lines.remove(place));
        let (from, until) = read.map_or((sent, sent), |(_, from, until)| (from, until));
        let block = self.counters.get(&self.layout.coverage.block(line)).filter(|at| **at <= answered);
        let counter = block.map_or(0, |at| at.saturating_sub(until));
        [room, from - sent, until - from, counter, answered.saturating_sub(until + counter)]
    }
}

impl Observer for Requests {
    fn device_access(&mut self, now: Ps, _bank: u16, media: MediaLine, op: MediaOp, until: Ps) {
        match (op, media.unit()) {
            (MediaOp::Read, MediaUnit::Data(line)) => {
                // Reads that nobody has sent, as those of re-encryption, are never answered.
                if self.media.lines.len() == READS_MAX {
                    self.media.lines.pop_front();
                }
                self.media.lines.push_back((line, now, until));
            }
            (MediaOp::Read, MediaUnit::Counter(block)) => {
                self.media.counters.insert(block, until);
            }
            _ => {}
        }
    }
}

//! Figures of a run over time: what the stages report, summed up in windows of equal length.

use crate::kernel::{ConfigError, Ps, ps_to_ns};
use crate::layout::MediaLayout;
use crate::message::{CoreId, CounterBlock, CounterCacheAct, LineBytes, MediaLine, MediaOp, Observer, Op, Site};
use crate::stats;

/// The most windows of a run: more would be a report that nobody can hold.
pub const WINDOWS_MAX: usize = 100_000;

/// The figures of one window. `queued_ps`: entries of the queue, times how long each was there.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    instructions: u64,
    transactions: u64,
    accesses: [u64; 2],
    counter_accesses: [u64; 2],
    lookups: [u64; 2],
    queued_ps: u128,
    queued_most: u64,
    fence_stall_ps: Ps,
}

/// Observes one run.
pub struct Windows {
    length: Ps,
    layout: MediaLayout,
    channels: usize,
    rows: Vec<Row>,
    /// Accesses by window and channel.
    channel_lines: Vec<u64>,
    queued: u64,
    /// Until when the entries of the queue are summed up.
    summed_until: Ps,
    measured_from: Ps,
    /// When the last event was over.
    end: Ps,
    /// What the cores have reported in the event that is under way, whose times may lie ahead of it.
    of_cores: OfCores,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct OfCores {
    instructions: u64,
    transactions: u64,
    fence_stall_ps: Ps,
}

impl Windows {
    /// Windows of `length` picoseconds for a machine with so many channels and this `layout` of memory.
    pub fn new(length: Ps, channels: u32, layout: MediaLayout) -> Self {
        let channels = channels as usize;
        let (rows, channel_lines) = (vec![Row::default()], vec![0; channels]);
        let (queued, of_cores) = (0, OfCores::default());
        Self {
            length,
            layout,
            channels,
            rows,
            channel_lines,
            queued,
            summed_until: 0,
            measured_from: 0,
            end: 0,
            of_cores,
        }
    }

    /// The window in which `now` is, after the queue is summed up until then. What comes after the last window that there
    /// may be is in it.
    fn at(&mut self, now: Ps) -> &mut Row {
        while self.end_of_last() <= now && self.rows.len() <= WINDOWS_MAX {
            self.sum_up(self.end_of_last());
            self.rows.push(Row { queued_most: self.queued, ..Row::default() });
            self.channel_lines.resize(self.rows.len() * self.channels, 0);
        }
        self.sum_up(now);
        self.rows.last_mut().expect("there is a window")
    }

    fn end_of_last(&self) -> Ps {
        self.length.saturating_mul(self.rows.len() as Ps)
    }

    /// The entries of the queue have been as many as now until `until`.
    fn sum_up(&mut self, until: Ps) {
        let row = self.rows.last_mut().expect("there is a window");
        row.queued_ps += u128::from(self.queued) * u128::from(until.saturating_sub(self.summed_until));
        self.summed_until = self.summed_until.max(until);
    }

    /// `media` entered the queue, or left it. A counter that moves with its line has no entry of its own.
    fn queue(&mut self, now: Ps, media: MediaLine, enters: bool) {
        if self.layout.moves_with_line(media) {
            return;
        }
        self.at(now);
        self.queued = if enters { self.queued + 1 } else { self.queued.saturating_sub(1) };
        let queued = self.queued;
        let row = self.at(now);
        row.queued_most = row.queued_most.max(queued);
    }

    /// The figures of the run, which has ended.
    ///
    /// # Errors
    /// A sentence if there are too many windows.
    pub fn finish(mut self) -> Result<stats::Windows, ConfigError> {
        let end = self.end;
        self.at(end.saturating_sub(1));
        if self.rows.len() > WINDOWS_MAX {
            let (length, all) = (ps_to_ns(self.length), ps_to_ns(end));
            return Err(ConfigError(format!(
                "window: {length} ns makes more than {WINDOWS_MAX} windows of a run of {all} ns; the shortest is {} ns",
                (all / WINDOWS_MAX as f64).ceil()
            )));
        }
        self.sum_up(end);
        let rows = self.rows.iter().zip(self.channel_lines.chunks(self.channels)).enumerate();
        let rows = rows.map(|(number, (row, channel_lines))| {
            let from = self.length * number as Ps;
            let [reads, writes] = row.accesses;
            let [counter_reads, counter_writes] = row.counter_accesses;
            let [counter_hits, counter_misses] = row.lookups;
            stats::Window {
                from_ns: ps_to_ns(from),
                instructions: row.instructions,
                transactions: row.transactions,
                reads,
                writes,
                counter_reads,
                counter_writes,
                channel_lines: channel_lines.to_vec(),
                counter_hits,
                counter_misses,
                wpq_mean: row.queued_ps as f64 / (end - from).clamp(1, self.length) as f64,
                wpq_most: row.queued_most,
                fence_stall_ns: ps_to_ns(row.fence_stall_ps),
            }
        });
        Ok(stats::Windows {
            window_ns: ps_to_ns(self.length),
            measured_from_ns: ps_to_ns(self.measured_from),
            line_bytes: self.layout.transfer_bytes(),
            rows: rows.collect(),
        })
    }
}

impl Observer for Windows {
    fn dispatched(&mut self, _core: CoreId, _site: Site, _op: &Op, instructions: u32) {
        self.of_cores.instructions += u64::from(instructions);
    }
    fn transaction_ended(&mut self, _now: Ps, _core: CoreId, _number: u64) {
        self.of_cores.transactions += 1;
    }
    fn fence_stalled(&mut self, _core: CoreId, _site: Site, from: Ps, until: Ps) {
        self.of_cores.fence_stall_ps += until - from;
    }
    fn measuring_began(&mut self, now: Ps) {
        self.measured_from = now;
    }
    fn event_over(&mut self, now: Ps) {
        self.end = now;
        if self.of_cores != OfCores::default() {
            let OfCores { instructions, transactions, fence_stall_ps } = std::mem::take(&mut self.of_cores);
            let row = self.at(now);
            row.instructions += instructions;
            row.transactions += transactions;
            row.fence_stall_ps += fence_stall_ps;
        }
    }
    fn counter_cache(&mut self, now: Ps, _block: CounterBlock, act: CounterCacheAct) {
        match act {
            CounterCacheAct::Hit => self.at(now).lookups[0] += 1,
            CounterCacheAct::Miss | CounterCacheAct::SecondaryMiss => self.at(now).lookups[1] += 1,
            CounterCacheAct::Filled | CounterCacheAct::Evicted { .. } => {}
        }
    }
    fn persisted(&mut self, now: Ps, media: MediaLine, _bytes: &LineBytes) {
        self.queue(now, media, true);
    }
    fn coalesced(&mut self, now: Ps, media: MediaLine, _bytes: &LineBytes) {
        self.queue(now, media, false);
    }
    fn bus_write(&mut self, now: Ps, media: MediaLine, _bytes: &LineBytes) {
        self.queue(now, media, false);
    }
    fn device_access(&mut self, now: Ps, bank: u16, media: MediaLine, op: MediaOp, _until: Ps) {
        let row = self.at(now);
        row.accesses[op as usize] += 1;
        row.counter_accesses[op as usize] += u64::from(media.is_counter());
        let channel = usize::from(bank) % self.channels;
        let place = (self.rows.len() - 1) * self.channels + channel;
        self.channel_lines[place] += 1;
    }
}

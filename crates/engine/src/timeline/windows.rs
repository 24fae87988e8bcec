//! Figures of a run over time, in windows of equal length: what the stages have counted at the end of each, less what they had
//! at its beginning. Nobody is told anything while a window lasts.

use crate::kernel::{ConfigError, Ps, ps_to_ns};
use crate::stats;

/// The most windows of a run: more would be a report that nobody can hold.
pub const WINDOWS_MAX: usize = 100_000;

/// What a run has counted up to some time, as far as windows show it. Reads come before writes, hits before misses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Instructions that the cores have dispatched.
    pub instructions: u64,
    /// Transactions that have ended.
    pub transactions: u64,
    /// Lines of all kinds that banks have begun to read and to write.
    pub accesses: [u64; 2],
    /// Counter blocks among them.
    pub counter_accesses: [u64; 2],
    /// Both kinds of access together, by channel.
    pub channel_lines: Vec<u64>,
    /// Lookups in the counter cache.
    pub lookups: [u64; 2],
    /// Entries of the write pending queue, times how long each was there, in picoseconds.
    pub queued_ps: u128,
    /// How long fences have stalled commit.
    pub fence_stall_ps: Ps,
}

impl Totals {
    /// Nothing, of a run with so many channels.
    fn nothing(channels: usize) -> Self {
        Self { channel_lines: vec![0; channels], ..Self::default() }
    }

    /// Adds what a run that has `counted` so much has counted since it had `begun`.
    fn add(&mut self, counted: &Self, begun: &Self) {
        let pair = |all: &mut [u64; 2], counted: [u64; 2], begun: [u64; 2]| {
            *all = [all[0] + counted[0] - begun[0], all[1] + counted[1] - begun[1]];
        };
        self.instructions += counted.instructions - begun.instructions;
        self.transactions += counted.transactions - begun.transactions;
        pair(&mut self.accesses, counted.accesses, begun.accesses);
        pair(&mut self.counter_accesses, counted.counter_accesses, begun.counter_accesses);
        pair(&mut self.lookups, counted.lookups, begun.lookups);
        for (channel, lines) in self.channel_lines.iter_mut().enumerate() {
            *lines += counted.channel_lines[channel] - begun.channel_lines[channel];
        }
        self.queued_ps += counted.queued_ps - begun.queued_ps;
        self.fence_stall_ps += counted.fence_stall_ps - begun.fence_stall_ps;
    }

    fn clear(&mut self) {
        let mut channel_lines = std::mem::take(&mut self.channel_lines);
        channel_lines.fill(0);
        *self = Self { channel_lines, ..Self::default() };
    }
}

/// The windows of one run.
#[derive(Clone, Debug)]
pub struct Windows {
    length: Ps,
    /// The windows that are over.
    over: stats::Windows,
    /// What the run had counted when the present window began, or when counting began anew in it.
    begun: Totals,
    /// What it has counted in the present window, as far as that is known.
    counted: Totals,
}

impl Windows {
    /// Windows of `length` picoseconds of a machine with so many channels, which moves `line_bytes` bytes with a whole line.
    pub fn new(length: Ps, line_bytes: u64, channels: usize) -> Self {
        let over = stats::Windows {
            window_ns: ps_to_ns(length),
            line_bytes,
            channel_lines: vec![Vec::new(); channels],
            ..stats::Windows::default()
        };
        Self { length, over, begun: Totals::nothing(channels), counted: Totals::nothing(channels) }
    }

    fn ended(&self) -> usize {
        self.over.from_ns.len()
    }

    /// When the window ends that is not over, in picoseconds; `Ps::MAX` if there are too many already.
    pub fn end(&self) -> Ps {
        if self.ended() > WINDOWS_MAX { Ps::MAX } else { self.length.saturating_mul(self.ended() as Ps + 1) }
    }

    /// The window is over in which the run is: it has counted `totals` since counting began anew, and the queue had
    /// `queued_most` entries at most.
    pub fn over(&mut self, totals: Totals, queued_most: u64) {
        self.counted.add(&totals, &self.begun);
        self.begun = totals;
        self.cut(self.length, queued_most);
    }

    /// Counting has begun anew: what was `counted` before is `left` after it.
    pub fn restart(&mut self, counted: &Totals, left: Totals) {
        self.counted.add(counted, &self.begun);
        self.begun = left;
    }

    /// The figures of the run, of which `measured_from` begins the part that is measured, and whose last event was at `end`: then
    /// it had counted `totals`, and had `queued_most` entries in the window of that time.
    ///
    /// # Errors
    /// A sentence if there are too many windows.
    pub fn finish(
        mut self,
        end: Ps,
        totals: &Totals,
        queued_most: u64,
        measured_from: Ps,
    ) -> Result<stats::Windows, ConfigError> {
        self.counted.add(totals, &self.begun);
        let begun = self.length.saturating_mul(self.ended() as Ps);
        // A run that ends with a window has none after it, unless the last event belongs there.
        if begun < end || self.ended() == 0 || self.counted != Totals::nothing(self.over.channel_lines.len()) {
            self.cut(end.saturating_sub(begun).clamp(1, self.length), queued_most);
        }
        if self.ended() > WINDOWS_MAX {
            let (length, all) = (ps_to_ns(self.length), ps_to_ns(end));
            return Err(ConfigError(format!(
                "window: {length} ns makes more than {WINDOWS_MAX} windows of a run of {all} ns; the shortest is {} ns",
                (all / WINDOWS_MAX as f64).ceil()
            )));
        }
        Ok(stats::Windows { measured_from_ns: ps_to_ns(measured_from), ..self.over })
    }

    /// Ends a window that lasts `length`, with what is `counted`.
    fn cut(&mut self, length: Ps, queued_most: u64) {
        let from = self.length * self.ended() as Ps;
        let Self { over, counted, .. } = self;
        over.from_ns.push(ps_to_ns(from));
        over.instructions.push(counted.instructions);
        over.transactions.push(counted.transactions);
        over.reads.push(counted.accesses[0]);
        over.writes.push(counted.accesses[1]);
        over.counter_reads.push(counted.counter_accesses[0]);
        over.counter_writes.push(counted.counter_accesses[1]);
        for (channel, lines) in over.channel_lines.iter_mut().zip(&counted.channel_lines) {
            channel.push(*lines);
        }
        over.counter_hits.push(counted.lookups[0]);
        over.counter_misses.push(counted.lookups[1]);
        over.wpq_mean.push(counted.queued_ps as f64 / length as f64);
        over.wpq_most.push(queued_most);
        over.fence_stall_ns.push(ps_to_ns(counted.fence_stall_ps));
        counted.clear();
    }
}

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
    /// Combines each count with that of `other`.
    fn with(&self, other: &Self, count: impl Fn(u64, u64) -> u64, sum: impl Fn(u128, u128) -> u128) -> Self {
        let pair = |one: [u64; 2], other: [u64; 2]| [count(one[0], other[0]), count(one[1], other[1])];
        let of_channel = |channel| count(self.of_channel(channel), other.of_channel(channel));
        let channels = self.channel_lines.len().max(other.channel_lines.len());
        Self {
            instructions: count(self.instructions, other.instructions),
            transactions: count(self.transactions, other.transactions),
            accesses: pair(self.accesses, other.accesses),
            counter_accesses: pair(self.counter_accesses, other.counter_accesses),
            channel_lines: (0..channels).map(of_channel).collect(),
            lookups: pair(self.lookups, other.lookups),
            queued_ps: sum(self.queued_ps, other.queued_ps),
            fence_stall_ps: count(self.fence_stall_ps, other.fence_stall_ps),
        }
    }

    fn of_channel(&self, channel: usize) -> u64 {
        self.channel_lines.get(channel).copied().unwrap_or(0)
    }

    fn and(&self, other: &Self) -> Self {
        self.with(other, |one, other| one + other, |one, other| one + other)
    }

    fn less(&self, other: &Self) -> Self {
        self.with(other, |one, other| one - other, |one, other| one - other)
    }
}

/// The windows of one run.
#[derive(Clone, Debug)]
pub struct Windows {
    length: Ps,
    line_bytes: u64,
    /// What the run had counted when each window ended that is over, and the most entries of the queue in it.
    ends: Vec<(Totals, u64)>,
    /// What it had counted when counting began anew.
    before: Totals,
}

impl Windows {
    /// Windows of `length` picoseconds of a machine that moves `line_bytes` bytes with a whole line.
    pub fn new(length: Ps, line_bytes: u64) -> Self {
        Self { length, line_bytes, ends: Vec::new(), before: Totals::default() }
    }

    /// When the window ends that is not over, in picoseconds; `Ps::MAX` if there are too many already.
    pub fn end(&self) -> Ps {
        if self.ends.len() > WINDOWS_MAX { Ps::MAX } else { self.length.saturating_mul(self.ends.len() as Ps + 1) }
    }

    /// The window is over in which the run is: it has counted `totals` since counting began anew, and the queue had
    /// `queued_most` entries at most.
    pub fn over(&mut self, totals: &Totals, queued_most: u64) {
        self.ends.push((self.before.and(totals), queued_most));
    }

    /// Counting has begun anew: what was `counted` before is `left` after it.
    pub fn restart(&mut self, counted: &Totals, left: &Totals) {
        self.before = self.before.and(&counted.less(left));
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
        let begun = self.length.saturating_mul(self.ends.len() as Ps);
        let counted = self.before.and(totals);
        // A run that ends with a window has none after it, unless the last event belongs there.
        if begun < end || self.ends.last().is_none_or(|(last, _)| *last != counted) {
            self.ends.push((counted, queued_most));
        }
        if self.ends.len() > WINDOWS_MAX {
            let (length, all) = (ps_to_ns(self.length), ps_to_ns(end));
            return Err(ConfigError(format!(
                "window: {length} ns makes more than {WINDOWS_MAX} windows of a run of {all} ns; the shortest is {} ns",
                (all / WINDOWS_MAX as f64).ceil()
            )));
        }
        let nothing = (Totals::default(), 0);
        let begins = std::iter::once(&nothing).chain(&self.ends);
        let rows = begins.zip(&self.ends).enumerate().map(|(number, ((begin, _), (over, most)))| {
            let from = self.length * number as Ps;
            row(from, (end - from).clamp(1, self.length), over.less(begin), *most)
        });
        Ok(stats::Windows {
            window_ns: ps_to_ns(self.length),
            measured_from_ns: ps_to_ns(measured_from),
            line_bytes: self.line_bytes,
            rows: rows.collect(),
        })
    }
}

/// The window that begins at `from` and lasts `length`, in which so much was `counted`.
fn row(from: Ps, length: Ps, counted: Totals, queued_most: u64) -> stats::Window {
    let ([reads, writes], [counter_reads, counter_writes]) = (counted.accesses, counted.counter_accesses);
    let [counter_hits, counter_misses] = counted.lookups;
    stats::Window {
        from_ns: ps_to_ns(from),
        instructions: counted.instructions,
        transactions: counted.transactions,
        reads,
        writes,
        counter_reads,
        counter_writes,
        channel_lines: counted.channel_lines,
        counter_hits,
        counter_misses,
        wpq_mean: counted.queued_ps as f64 / length as f64,
        wpq_most: queued_most,
        fence_stall_ns: ps_to_ns(counted.fence_stall_ps),
    }
}

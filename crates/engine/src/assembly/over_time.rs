//! The windows of a run, which end as its time passes.

use crate::controller::Controller;
use crate::cpu::Core;
use crate::device::Device;
use crate::kernel::{ConfigError, Ps};
use crate::stats;
use crate::timeline::{Totals, Windows};

/// What counts: the stages of a system, of which cores may be missing.
pub(super) struct Counting<'a> {
    pub cores: &'a [Core],
    pub controller: &'a mut Controller,
    pub device: &'a Device,
}

impl Counting<'_> {
    /// What they have counted until `at`, which is not before the last event and not after the next one.
    fn totals(&mut self, at: Ps) -> Totals {
        let (queue, [accesses, counter_accesses]) = (self.controller.stats(at), self.device.lines());
        let of_cores = |of: fn(&Core) -> u64| self.cores.iter().map(of).sum();
        Totals {
            instructions: of_cores(Core::dispatched),
            transactions: of_cores(Core::transactions_ended),
            accesses,
            counter_accesses,
            channel_lines: self.channel_lines(accesses),
            lookups: [queue.counter_hits, queue.counter_misses + queue.counter_secondary_misses],
            queued_ps: queue.occupancy_ps,
            fence_stall_ps: of_cores(|core| core.stats().fence_stall_ps),
        }
    }

    /// The lines of each channel, of which there are so many reads and writes together.
    fn channel_lines(&self, [reads, writes]: [u64; 2]) -> Vec<u64> {
        if self.device.channels() == 1 {
            return vec![reads + writes];
        }
        let mut lines = vec![0; self.device.channels() as usize];
        for bank in 0..self.device.banks() {
            let of_bank = self.device.bank_stats(bank);
            lines[self.device.channel_and_rank(bank).0 as usize] += of_bank.reads + of_bank.writes;
        }
        lines
    }
}

/// The windows of a run, if it has any.
#[derive(Clone)]
pub(super) struct OverTime {
    windows: Option<Windows>,
    /// When the present one ends; `Ps::MAX` without windows.
    pub ends: Ps,
}

impl OverTime {
    /// Without windows.
    pub const NONE: Self = Self { windows: None, ends: Ps::MAX };

    /// With windows of `length` picoseconds of a run on `device`, if there is a length.
    pub fn new(length: Option<Ps>, device: &Device) -> Self {
        let channels = device.channels() as usize;
        let windows = length.map(|length| Windows::new(length, device.transfer_bytes(), channels));
        let ends = windows.as_ref().map_or(Ps::MAX, Windows::end);
        Self { windows, ends }
    }

    /// Ends the windows that are over at `now`, before anything happens then.
    #[cold]
    pub fn pass(&mut self, now: Ps, mut counting: Counting<'_>) {
        let Some(windows) = &mut self.windows else { return };
        while self.ends <= now {
            windows.over(counting.totals(self.ends), counting.controller.take_most_queued());
            self.ends = windows.end();
        }
    }

    /// What the stages have counted until `now`, before they begin anew; `None` without windows.
    pub fn counted(&self, now: Ps, mut counting: Counting<'_>) -> Option<Totals> {
        self.windows.is_some().then(|| counting.totals(now))
    }

    /// Must be called at `now` after the stages have begun to count anew, with what they had [`counted`](Self::counted).
    pub fn restart(&mut self, now: Ps, counted: Option<Totals>, mut counting: Counting<'_>) {
        if let (Some(windows), Some(counted)) = (&mut self.windows, counted) {
            windows.restart(&counted, counting.totals(now));
        }
    }

    /// The figures of the run, whose last event was `now`; `None` without windows.
    ///
    /// # Errors
    /// There are too many windows.
    pub fn finish(
        &mut self,
        now: Ps,
        mut counting: Counting<'_>,
        measured_from: Ps,
    ) -> Result<Option<stats::Windows>, ConfigError> {
        let Some(windows) = self.windows.take() else { return Ok(None) };
        self.ends = Ps::MAX;
        let (totals, most) = (counting.totals(now), counting.controller.take_most_queued());
        windows.finish(now, &totals, most, measured_from).map(Some)
    }
}

//! The counts of the controller. Durations are in picoseconds.

use super::queues::wpq::Entry;
use crate::kernel::Ps;
use crate::message::{LINE_WORDS, Line, MediaLine, MediaUnit};
use std::ops::Range;

/// Counts of one measurement period.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControllerStats {
    /// Data lines that reached the device, without the log.
    pub data_writes: u64,
    /// Log lines that reached the device.
    pub log_writes: u64,
    /// Counter blocks that reached the device.
    pub counter_writes: u64,
    /// Lines of MACs that reached the device.
    pub mac_writes: u64,
    /// Nodes of the integrity tree that reached the device.
    pub tree_writes: u64,
    /// Lines of the shadow table that reached the device.
    pub table_writes: u64,
    /// Words of counter blocks that reached the device which were not written, because they had not changed.
    pub spared_words: u64,
    /// Entries admitted to the write pending queue.
    pub admitted: u64,
    /// Counter entries that were removed from the queue because a newer one replaced them.
    pub counter_writes_coalesced: u64,
    /// Entries of lines of MACs and tree nodes that were removed from the queue because a newer one replaced them.
    pub integrity_writes_coalesced: u64,
    /// Data entries that a newer write of their line replaced.
    pub data_writes_merged: u64,
    /// Requested counter writes: written, coalesced, or still queued.
    pub counter_writes_asked: u64,
    /// Time during which at least one write waited for a slot.
    pub full_stall_ps: Ps,
    /// Number of times that a write found the queue too full.
    pub full_events: u64,
    /// Integral of occupancy over time, in entries times picoseconds.
    pub occupancy_ps: u128,
    /// Data lines read from the device.
    pub data_reads: u64,
    /// Counter blocks read from the device.
    pub counter_reads: u64,
    /// Lines of MACs read from the device.
    pub mac_reads: u64,
    /// Nodes of the integrity tree read from the device.
    pub tree_reads: u64,
    /// Reads that were answered from the write pending queue or from a write that was not in it yet.
    pub forwarded_reads: u64,
    /// Lookups that found their counter block in the counter cache.
    pub counter_hits: u64,
    /// Lookups that did not find the block, and began to fetch it.
    pub counter_misses: u64,
    /// Lookups that did not find the block because it was still being fetched.
    pub counter_secondary_misses: u64,
    /// Counter blocks evicted.
    pub counter_evictions: u64,
    /// Lookups of lines of MACs and tree nodes that found them in their cache.
    pub metadata_hits: u64,
    /// Lookups of lines of MACs and tree nodes that did not find them, and began to fetch them.
    pub metadata_misses: u64,
    /// Lookups of lines of MACs and tree nodes that did not find them because they were still being fetched.
    pub metadata_secondary_misses: u64,
    /// MACs computed and checked.
    pub macs: u64,
    /// Nodes and counter blocks hashed for an update or a check of the tree.
    pub hashes: u64,
    /// Checks of a MAC, a counter block or a node that failed.
    pub alarms: u64,
    /// Pads made.
    pub pads: u64,
    /// Time during which AES circuits were making pads.
    pub aes_busy_ps: Ps,
    /// Page re-encryptions begun.
    pub reencryptions: u64,
}

impl ControllerStats {
    /// Hits over lookups of counter blocks, between 0 and 1; `None` without lookups.
    pub fn counter_hit_rate(&self) -> Option<f64> {
        hit_rate(self.counter_hits, self.counter_misses + self.counter_secondary_misses)
    }

    /// Hits over lookups of lines of MACs and tree nodes, between 0 and 1; `None` without lookups.
    pub fn metadata_hit_rate(&self) -> Option<f64> {
        hit_rate(self.metadata_hits, self.metadata_misses + self.metadata_secondary_misses)
    }

    /// Mean number of entries in the write pending queue over a period of `elapsed` picoseconds.
    pub fn mean_occupancy(&self, elapsed: Ps) -> f64 {
        if elapsed == 0 { 0.0 } else { self.occupancy_ps as f64 / elapsed as f64 }
    }
}

fn hit_rate(hits: u64, others: u64) -> Option<f64> {
    (hits + others > 0).then(|| hits as f64 / (hits + others) as f64)
}

/// The counts of the current measurement period, and the state that they are computed from.
#[derive(Clone)]
pub(super) struct Meter {
    pub stats: ControllerStats,
    /// The number of the measurement period. Entries of the write pending queue that were admitted in an earlier period
    /// are not counted when they leave.
    pub epoch: u32,
    /// Since when a write has been waiting for a slot.
    stalled_since: Option<Ps>,
    /// The time up to which occupancy is counted.
    occupancy_since: Ps,
    /// The most entries that were counted since somebody asked last.
    most: usize,
    /// The lines of undo logs.
    log: Vec<Range<Line>>,
}

impl Meter {
    /// A meter that counts the lines in `log` as log writes.
    pub fn new(log: Vec<Range<Line>>) -> Self {
        Self { stats: ControllerStats::default(), epoch: 0, stalled_since: None, occupancy_since: 0, most: 0, log }
    }

    /// Must be called before the number of entries in the write pending queue changes; `entries` is the old number.
    pub fn account_occupancy(&mut self, now: Ps, entries: usize) {
        self.stats.occupancy_ps += u128::from(now - self.occupancy_since) * entries as u128;
        self.occupancy_since = now;
        self.most = entries.max(self.most);
    }

    /// The most entries that the write pending queue, which has `entries`, had since the last call.
    pub fn take_most(&mut self, entries: usize) -> usize {
        std::mem::replace(&mut self.most, entries).max(entries)
    }

    /// Records whether anything waits for a slot from now on.
    pub fn set_stalled(&mut self, now: Ps, stalled: bool) {
        match (self.stalled_since, stalled) {
            (None, true) => {
                self.stalled_since = Some(now);
                self.stats.full_events += 1;
            }
            (Some(since), false) => {
                self.stats.full_stall_ps += now - since;
                self.stalled_since = None;
            }
            _ => {}
        }
    }

    /// Counts so many pads, or a line in cipher feedback mode, that take an AES circuit `latency`.
    pub fn count_pads(&mut self, pads: u8, latency: Ps) {
        self.stats.pads += u64::from(pads);
        self.stats.aes_busy_ps += latency;
    }

    /// Counts `entry`, which has reached the device.
    pub fn count_written(&mut self, entry: &Entry) {
        if entry.epoch != self.epoch {
            return;
        }
        let written = match entry.media.unit() {
            MediaUnit::Counter(_) => &mut self.stats.counter_writes,
            MediaUnit::Mac(_) => &mut self.stats.mac_writes,
            MediaUnit::Node(_) => &mut self.stats.tree_writes,
            MediaUnit::Table(_) => &mut self.stats.table_writes,
            MediaUnit::Data(line) if self.in_log(line) => &mut self.stats.log_writes,
            MediaUnit::Data(_) | MediaUnit::Modified(_) => &mut self.stats.data_writes,
        };
        *written += 1;
        self.stats.spared_words += u64::from(LINE_WORDS - entry.words);
    }

    /// Counts the replacement of an entry for `media` that was admitted in period `epoch` by a newer block.
    pub fn count_coalesced(&mut self, media: MediaLine, epoch: u32) {
        let counted = if media.is_counter() {
            &mut self.stats.counter_writes_coalesced
        } else {
            &mut self.stats.integrity_writes_coalesced
        };
        *counted += u64::from(epoch == self.epoch);
    }

    /// Counts that a newer write of its line has replaced an entry that was admitted in period `epoch`.
    pub fn count_merged(&mut self, epoch: u32) {
        if epoch == self.epoch {
            self.stats.data_writes_merged += 1;
        }
    }

    /// The counts up to `now`, with `entries` in the write pending queue.
    pub fn up_to(&mut self, now: Ps, entries: usize) -> ControllerStats {
        self.account_occupancy(now, entries);
        let mut stats = self.stats.clone();
        if let Some(since) = self.stalled_since {
            stats.full_stall_ps += now - since;
        }
        stats
    }

    /// Begins a new measurement period at `now`, with `entries` in the write pending queue.
    pub fn reset(&mut self, now: Ps, entries: usize) {
        self.account_occupancy(now, entries);
        self.epoch += 1;
        self.stats = ControllerStats::default();
        if self.stalled_since.is_some() {
            self.stalled_since = Some(now);
        }
    }

    /// Whether `line` lies in an undo log.
    pub fn in_log(&self, line: Line) -> bool {
        self.log.iter().any(|range| range.contains(&line))
    }
}

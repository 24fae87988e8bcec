//! Where lines lie in the device, and what its banks and channels have done.

use super::{Memory, Refusal};
use crate::device::{BankStats, MediaPlace};
use crate::kernel::ps_to_ns;
use crate::message::MediaLine;
use serde::Serialize;

/// Where a line and the counter block of its counter lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinePlaces {
    /// The place of the line.
    pub line: MediaPlace,
    /// The place of its counter block; `None` without counters on the media.
    pub counter: Option<MediaPlace>,
}

/// Figures of one bank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BankReport {
    /// The channel of the bank.
    pub channel: u32,
    /// The rank in the channel.
    pub rank: u32,
    /// Line reads of all kinds.
    pub reads: u64,
    /// Line writes of all kinds.
    pub writes: u64,
    /// Accesses that found their row open.
    pub row_hits: u64,
    /// Time during which the bank worked on accesses or these waited for their command, in nanoseconds.
    pub busy_ns: f64,
}

/// Figures of one channel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ChannelReport {
    /// Line reads of all kinds.
    pub reads: u64,
    /// Line writes of all kinds.
    pub writes: u64,
    /// Accesses that found their row open.
    pub row_hits: u64,
    /// Time during which banks worked on accesses, summed over its banks, in nanoseconds.
    pub banks_busy_ns: f64,
}

impl Memory {
    /// Where the line at `address` and its counter lie.
    pub fn places(&mut self, address: u64) -> Result<LinePlaces, Refusal> {
        let line = self.line(address)?;
        let layout = self.design.media_layout(&self.machine);
        let on_media = self.design.has_counter_cache() && !layout.inline;
        let device = &self.system().device;
        let counter = on_media.then(|| device.place(MediaLine::counter(layout.coverage.block(line))));
        Ok(LinePlaces { line: device.place(MediaLine::data(line)), counter })
    }

    /// The number of banks over all channels and ranks.
    pub fn banks(&self) -> u32 {
        let device = &self.machine.device;
        device.channels * device.ranks * device.banks_per_rank
    }

    /// The channel and rank of `bank`, and its counts in the present measurement period.
    pub fn bank(&mut self, bank: u32) -> Result<(u32, u32, BankStats), Refusal> {
        let banks = self.banks();
        if bank >= banks {
            return Err(Refusal::Argument(format!("bank = {bank} is not from 0 to {}", banks - 1)));
        }
        let device = &self.system().device;
        let (channel, rank) = device.channel_and_rank(bank as u16);
        Ok((channel, rank, device.bank_stats(bank as u16)))
    }

    /// The reports of all banks, by number.
    pub fn bank_reports(&mut self) -> Vec<BankReport> {
        let found = |memory: &mut Self, bank| memory.bank(bank).expect("the number of a bank");
        let report = |(channel, rank, stats): (u32, u32, BankStats)| {
            let BankStats { reads, writes, row_hits, busy_ps } = stats;
            BankReport { channel, rank, reads, writes, row_hits, busy_ns: ps_to_ns(busy_ps) }
        };
        (0..self.banks()).map(|bank| report(found(self, bank))).collect()
    }

    /// The counts of all banks of `channel` in the present measurement period.
    pub fn channel(&mut self, channel: u32) -> Result<BankStats, Refusal> {
        let channels = self.machine.device.channels;
        if channel >= channels {
            return Err(Refusal::Argument(format!("channel = {channel} is not from 0 to {}", channels - 1)));
        }
        let mut sum = BankStats::default();
        for number in 0..self.banks() {
            let (of_channel, _, stats) = self.bank(number)?;
            if of_channel == channel {
                sum += stats;
            }
        }
        Ok(sum)
    }

    /// The reports of all channels, by number.
    pub fn channel_reports(&mut self) -> Vec<ChannelReport> {
        let channels = 0..self.machine.device.channels;
        let found = channels.map(|channel| self.channel(channel).expect("the number of a channel"));
        let report = |BankStats { reads, writes, row_hits, busy_ps }| ChannelReport {
            reads,
            writes,
            row_hits,
            banks_busy_ns: ps_to_ns(busy_ps),
        };
        found.map(report).collect()
    }
}

//! Where lines lie in the device, and what its banks and channels have done.

use super::{Memory, Refusal};
use crate::device::{BankStats, MediaPlace};
use crate::message::MediaLine;

/// Where a line and the counter block of its counter lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinePlaces {
    /// The place of the line.
    pub line: MediaPlace,
    /// The place of its counter block; `None` without counters on the media.
    pub counter: Option<MediaPlace>,
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
}

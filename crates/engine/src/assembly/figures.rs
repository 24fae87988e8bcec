//! The figures of controller and device that every report has.

use crate::config::Machine;
use crate::controller::{Controller, ControllerStats};
use crate::device::{BankStats, Device, DeviceStats, ModuleStats};
use crate::kernel::{Ps, ps_to_ns};
use crate::message::{LINE_BYTES, LINE_WORDS};
use crate::parts::Design;
use crate::stats::{
    BankReport, ChannelReport, CounterCacheReport, Crypto, EnergyReport, IntegrityReport, ModuleReport, Nvm, WpqReport,
};

/// Figures of one measurement period.
pub(crate) struct Figures {
    /// Figures of the device.
    pub nvm: Nvm,
    /// Energy by part.
    pub energy: EnergyReport,
    /// Figures of each channel.
    pub channels: Vec<ChannelReport>,
    /// Figures of each bank.
    pub banks: Vec<BankReport>,
    /// Figures of the counter cache; nulls without one.
    pub counter_cache: CounterCacheReport,
    /// Figures of the write pending queue.
    pub wpq: WpqReport,
    /// Number of page re-encryptions.
    pub reencryptions: u64,
    /// Figures of the encryption.
    pub crypto: Crypto,
    /// Figures of what protects integrity; `None` if nothing does.
    pub integrity: Option<IntegrityReport>,
}

impl Figures {
    /// The figures of `controller` and `device`, from `since` to `now`.
    pub fn of(
        machine: &Machine,
        design: &Design,
        controller: &mut Controller,
        device: &Device,
        since: Ps,
        now: Ps,
    ) -> Self {
        let (stats, media) = (controller.stats(now), device.stats());
        Self {
            nvm: nvm(machine, design, &stats, device, now - since),
            energy: energy(machine, &stats, &media, device.background_fj(now - since)),
            channels: channels(device, machine.device.channels),
            banks: (0..device.banks()).map(|bank| bank_report(device, bank)).collect(),
            counter_cache: if design.has_counter_cache() { counter_cache(&stats) } else { Default::default() },
            wpq: WpqReport {
                admitted: stats.admitted,
                counter_writes_coalesced: stats.counter_writes_coalesced,
                full_stall_ns: ps_to_ns(stats.full_stall_ps),
                mean_occupancy: stats.mean_occupancy(now - since),
                forwarded_reads: stats.forwarded_reads,
            },
            reencryptions: stats.reencryptions,
            crypto: Crypto { pads: stats.pads, aes_busy_ns: ps_to_ns(stats.aes_busy_ps) },
            integrity: design.integrity.map(|_| IntegrityReport {
                hits: stats.metadata_hits,
                misses: stats.metadata_misses,
                secondary_misses: stats.metadata_secondary_misses,
                hit_rate: stats.metadata_hit_rate(),
                macs: stats.macs,
                hashes: stats.hashes,
                writes_coalesced: stats.integrity_writes_coalesced,
                alarms: stats.alarms,
            }),
        }
    }
}

/// What the device did in `elapsed` picoseconds.
fn nvm(machine: &Machine, design: &Design, stats: &ControllerStats, device: &Device, elapsed: Ps) -> Nvm {
    let media = device.stats();
    let (words, transfer) = (u64::from(LINE_WORDS), design.media_layout(machine).transfer_bytes());
    let metadata_writes = stats.counter_writes + stats.mac_writes + stats.tree_writes + stats.table_writes;
    let writes = stats.data_writes + stats.log_writes + metadata_writes;
    let reads = stats.data_reads + stats.counter_reads + stats.mac_reads + stats.tree_reads;
    let (endured_runs, in_years) = (device.endured_runs(machine), |runs: f64| runs * years(elapsed));
    Nvm {
        reads,
        writes,
        data_writes: stats.data_writes,
        log_writes: stats.log_writes,
        counter_writes: stats.counter_writes,
        mac_writes: stats.mac_writes,
        tree_writes: stats.tree_writes,
        table_writes: stats.table_writes,
        write_bytes: (writes * words - stats.spared_words) * transfer / words,
        data_reads: stats.data_reads,
        counter_reads: stats.counter_reads,
        mac_reads: stats.mac_reads,
        tree_reads: stats.tree_reads,
        read_bytes: reads * transfer,
        energy_nj: device.energy_fj(elapsed) as f64 / 1e6,
        max_line_writes: media.max_line_writes,
        max_data_writes: media.most_writes.data,
        max_counter_writes: media.most_writes.counter,
        max_mac_writes: media.most_writes.mac,
        max_tree_writes: media.most_writes.tree,
        max_table_writes: media.most_writes.table,
        endured_runs,
        lifetime_years: endured_runs.map(in_years),
        even_lifetime_years: device.evenly_endured_runs(machine).map(in_years),
        gap_moves: media.gap_moves,
        write_interruptions: media.interruptions,
        flipped_bits: machine.engine.bytes.then_some(media.flipped_bits),
        data_flip_share: data_flip_share(machine, &media),
        row_hits: media.row_hits,
        bank_busy_ns: ps_to_ns(media.bank_busy_ps),
        modules: device.module_stats().map(|stats| modules(machine, &media, stats)),
    }
}

/// Energy by part, of which `background_fj` is in the background.
fn energy(machine: &Machine, stats: &ControllerStats, media: &DeviceStats, background_fj: u64) -> EnergyReport {
    let nj = |fj: u64| fj as f64 / 1e6;
    // A pad is as long as a line, and a MAC or a hash runs AES over as much.
    let of_aes = |lines: u64| (lines * LINE_BYTES) as f64 * machine.eadr.aes_pj_per_byte / 1e3;
    EnergyReport {
        array_read_nj: nj(media.energy.array_read_fj),
        array_write_nj: nj(media.energy.array_write_fj),
        row_buffer_nj: nj(media.energy.row_buffer_fj),
        background_nj: nj(background_fj),
        metadata_nj: nj(media.metadata_energy_fj),
        aes_nj: of_aes(stats.pads),
        mac_nj: of_aes(stats.macs + stats.hashes),
    }
}

fn bank_report(device: &Device, bank: u16) -> BankReport {
    let (channel, rank) = device.channel_and_rank(bank);
    let BankStats { reads, writes, row_hits, read_row_hits, busy_ps } = device.bank_stats(bank);
    BankReport { channel, rank, reads, writes, row_hits, read_row_hits, busy_ns: ps_to_ns(busy_ps) }
}

fn channels(device: &Device, channels: u32) -> Vec<ChannelReport> {
    let mut sums = vec![BankStats::default(); channels as usize];
    for bank in 0..device.banks() {
        sums[device.channel_and_rank(bank).0 as usize] += device.bank_stats(bank);
    }
    let report = |BankStats { reads, writes, row_hits, read_row_hits, busy_ps }| ChannelReport {
        reads,
        writes,
        row_hits,
        read_row_hits,
        banks_busy_ns: ps_to_ns(busy_ps),
    };
    sums.into_iter().map(report).collect()
}

/// The share of the bits of a data line that a write changes, on average.
fn data_flip_share(machine: &Machine, media: &DeviceStats) -> Option<f64> {
    let bits = media.data_writes * LINE_BYTES * 8;
    (machine.engine.bytes && bits > 0).then(|| media.flipped_data_bits as f64 / bits as f64)
}

fn modules(machine: &Machine, media: &DeviceStats, stats: ModuleStats) -> ModuleReport {
    let (written, of_media) = (media.writes * LINE_BYTES, stats.media_writes * machine.module.media_line.0);
    ModuleReport {
        media_reads: stats.media_reads,
        media_writes: stats.media_writes,
        read_modify_writes: stats.read_modify_writes,
        buffer_hits: stats.buffer_hits,
        merged_writes: stats.merged_writes,
        translation_misses: stats.translation_misses,
        write_amplification: (written > 0).then(|| of_media as f64 / written as f64),
    }
}

/// Picoseconds in years of 365.25 days.
fn years(time: Ps) -> f64 {
    const PS_PER_YEAR: f64 = 365.25 * 24.0 * 3_600.0 * 1e12;
    time as f64 / PS_PER_YEAR
}

fn counter_cache(stats: &ControllerStats) -> CounterCacheReport {
    CounterCacheReport {
        hits: Some(stats.counter_hits),
        misses: Some(stats.counter_misses),
        secondary_misses: Some(stats.counter_secondary_misses),
        hit_rate: stats.counter_hit_rate(),
        evictions: Some(stats.counter_evictions),
    }
}

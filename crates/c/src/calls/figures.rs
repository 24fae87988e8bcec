//! Statistics.

use crate::abi::{CBank, CFigures, CLatencies, CRequestor};
use crate::border::{Handle, c_text, code, give, with};
use counterpoint_engine::device::BankStats;
use counterpoint_engine::embed::{CountReport, Latencies};
use std::ffi::{c_char, c_int};
use std::ptr;

/// Begins a new period of measurement: statistics and figures start from zero. Nothing else changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_reset_statistics(memory: *mut Handle) -> c_int {
    // SAFETY: null or a memory.
    code(unsafe {
        with(memory, |handle| {
            handle.memory.reset_statistics();
            Ok(())
        })
    })
}

/// Statistics since creation, the last reset or the last crash: a JSON document with the keys of `counterpoint run
/// --json` that have a meaning without cores, latencies of requests, channels, banks, requestors, and the last power
/// failure. Valid until the next call of counterpoint_statistics with this memory; NULL on an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_statistics(memory: *mut Handle) -> *const c_char {
    // SAFETY: null or a memory.
    let text = unsafe {
        with(memory, |handle| {
            handle.statistics = c_text(&handle.memory.report().to_json());
            Ok(handle.statistics.as_ptr())
        })
    };
    text.unwrap_or(ptr::null())
}

/// Fills `figures`, whose field `size` the caller must have set, like the next three.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_get_figures(memory: *mut Handle, figures: *mut CFigures) -> c_int {
    // SAFETY: null or a memory; null or figures.
    code(unsafe { with(memory, |handle| give(figures, || Ok(figures_of(&handle.memory.counts())))) })
}

fn latencies_of(latencies: &Latencies) -> CLatencies {
    let Latencies { count, sum, max, histogram } = *latencies;
    CLatencies { count, sum, max, histogram: histogram.0 }
}

fn figures_of(counts: &CountReport) -> CFigures {
    let CountReport { since, now, latencies, controller, device, energy_fj } = counts;
    let [reads, writes, counter_writebacks] = latencies.each_ref().map(latencies_of);
    CFigures {
        size: size_of::<CFigures>(),
        since: *since,
        now: *now,
        reads,
        writes,
        counter_writebacks,
        data_reads: device.data_reads,
        counter_reads: device.counter_reads,
        mac_reads: device.mac_reads,
        tree_reads: device.tree_reads,
        table_reads: device.table_reads,
        data_writes: device.data_writes,
        counter_writes: device.counter_writes,
        mac_writes: device.mac_writes,
        tree_writes: device.tree_writes,
        table_writes: device.table_writes,
        row_hits: device.row_hits,
        banks_busy: device.bank_busy_ps,
        energy: *energy_fj,
        max_line_writes: u64::from(device.max_line_writes),
        admitted: controller.admitted,
        counter_writes_coalesced: controller.counter_writes_coalesced,
        integrity_writes_coalesced: controller.integrity_writes_coalesced,
        data_writes_merged: controller.data_writes_merged,
        full_events: controller.full_events,
        full_stall: controller.full_stall_ps,
        mean_occupancy: controller.mean_occupancy(now - since),
        forwarded_reads: controller.forwarded_reads,
        counter_hits: controller.counter_hits,
        counter_misses: controller.counter_misses,
        counter_evictions: controller.counter_evictions,
        metadata_hits: controller.metadata_hits,
        metadata_misses: controller.metadata_misses,
        pads: controller.pads,
        aes_busy: controller.aes_busy_ps,
        macs: controller.macs,
        hashes: controller.hashes,
        alarms: controller.alarms,
        reencryptions: controller.reencryptions,
        counter_secondary_misses: controller.counter_secondary_misses,
        metadata_secondary_misses: controller.metadata_secondary_misses,
    }
}

/// The figures of the requests of `requestor`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_get_requestor(
    memory: *mut Handle,
    requestor: u32,
    figures: *mut CRequestor,
) -> c_int {
    // SAFETY: null or a memory; null or figures.
    code(unsafe {
        with(memory, |handle| {
            give(figures, || {
                let latencies = handle.memory.latencies_of(requestor)?;
                let [reads, writes, counter_writebacks] = latencies.each_ref().map(latencies_of);
                Ok(CRequestor { size: size_of::<CRequestor>(), reads, writes, counter_writebacks })
            })
        })
    })
}

/// The figures of `bank`, numbered over all channels and ranks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_get_bank(memory: *mut Handle, bank: u32, figures: *mut CBank) -> c_int {
    // SAFETY: null or a memory; null or figures.
    code(unsafe { with(memory, |handle| give(figures, || Ok(bank_of(handle.memory.bank(bank)?)))) })
}

fn bank_of((channel, rank, stats): (u32, u32, BankStats)) -> CBank {
    let BankStats { reads, writes, row_hits, busy_ps: busy, .. } = stats;
    CBank { size: size_of::<CBank>(), reads, writes, row_hits, busy, channel, rank }
}

/// The figures of all banks of `channel`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn counterpoint_get_channel(memory: *mut Handle, channel: u32, figures: *mut CBank) -> c_int {
    // SAFETY: null or a memory; null or figures.
    code(unsafe { with(memory, |handle| give(figures, || Ok(bank_of((channel, 0, handle.memory.channel(channel)?))))) })
}

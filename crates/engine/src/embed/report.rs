//! The report of an embedded memory: the figures of a run that have a meaning without cores.

use super::figures::{Latencies, OfRequestor, REQUESTORS_MAX, Requests};
use super::{Memory, PowerFailure, Refusal};
use crate::assembly::Figures;
use crate::controller::ControllerStats;
use crate::device::DeviceStats;
use crate::kernel::{Ps, ps_to_ns};
use crate::stats::{
    BankReport, ChannelReport, CounterCacheReport, Crypto, ENGINE_BUILD, ENGINE_VERSION, EnergyReport, IntegrityReport,
    Nvm, WpqReport,
};
use serde::Serialize;
use serde_json::json;

/// Figures since the beginning or since the last power failure.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryReport {
    /// Version of this document's format.
    pub schema: u32,
    /// The design's name.
    pub design: String,
    /// The reading of the design's paper.
    pub variant: &'static str,
    /// The machine's name.
    pub machine: String,
    /// Seed of the encryption keys.
    pub seed: u64,
    /// Version of the engine.
    pub engine_version: &'static str,
    /// Digest of the engine's sources: 32 hexadecimal digits.
    pub engine_build: &'static str,
    /// Simulated time of the report since the beginning, in nanoseconds.
    pub now_ns: f64,
    /// Simulated time that the figures cover, in nanoseconds.
    pub simulated_ns: f64,
    /// Number of events since the beginning.
    pub events: u64,
    /// Digest of every event since the beginning.
    pub event_digest: String,
    /// Number of power failures since the beginning.
    pub power_failures: u64,
    /// Answered reads; latency until the line is decrypted.
    pub reads: Requests,
    /// Answered writes; latency until the line is in the persistence domain.
    pub writes: Requests,
    /// Answered counter write-backs; latency until the counters are in the persistence domain.
    pub counter_writebacks: Requests,
    /// The same for each requestor that has had answers.
    pub requestors: Vec<OfRequestor>,
    /// Figures of the device.
    pub nvm: Nvm,
    /// Energy by part.
    pub energy: EnergyReport,
    /// Figures of each channel.
    pub channels: Vec<ChannelReport>,
    /// Figures of each bank.
    pub banks: Vec<BankReport>,
    /// Figures of the counter cache; nulls without encryption.
    pub counter_cache: CounterCacheReport,
    /// Figures of the write pending queue.
    pub wpq: WpqReport,
    /// Number of page re-encryptions.
    pub reencryptions: u64,
    /// Figures of the encryption.
    pub crypto: Crypto,
    /// Figures of what protects integrity; null if nothing does.
    pub integrity: Option<IntegrityReport>,
    /// What the last power failure caused; null if there was none.
    pub last_power_failure: Option<PowerFailure>,
}

/// Counts of a measurement period, in the units of the model.
#[derive(Clone, Debug)]
pub struct CountReport {
    /// Start of the period, in picoseconds.
    pub since: Ps,
    /// The present time, in picoseconds.
    pub now: Ps,
    /// Latencies of answered requests, by kind.
    pub latencies: [Latencies; 3],
    /// Counts of the controller.
    pub controller: ControllerStats,
    /// Counts of the device.
    pub device: DeviceStats,
    /// Energy of the device, in femtojoules.
    pub energy_fj: u64,
}

impl MemoryReport {
    /// The report as one JSON document.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers and texts serialise")
    }
}

impl Memory {
    /// The counts of the present measurement period, in the units of the model, and the latencies by kind.
    pub fn counts(&mut self) -> CountReport {
        let now = self.now;
        let (latencies, since) = (self.latencies.total, self.since);
        let system = self.system();
        let controller = system.controller.stats(now);
        let energy_fj = system.device.energy_fj(now - since);
        CountReport { since, now, latencies, controller, device: system.device.stats(), energy_fj }
    }

    /// The latencies of the requests of `requestor`, by kind.
    pub fn latencies_of(&self, requestor: u32) -> Result<[Latencies; 3], Refusal> {
        if requestor >= REQUESTORS_MAX {
            Err(Refusal::of_requestor(requestor))
        } else {
            Ok(self.latencies.of(requestor))
        }
    }

    /// The configuration in use as a JSON document: `design`, `variant`, `parts` (every part that has an effect), and
    /// `machine` with all of its values.
    pub fn configuration(&self) -> String {
        let Self { design, parts, machine, seed, .. } = self;
        json!({
            "schema": 1, "design": design.name, "variant": design.variant.name(), "parts": parts, "machine": machine,
            "seed": seed,
        })
        .to_string()
    }

    /// The current figures.
    pub fn report(&mut self) -> MemoryReport {
        let (now, since) = (self.now, self.since);
        let requests = self.latencies.total.each_ref().map(Latencies::report);
        let requestors = self.latencies.report();
        let (events, digest) = self.digest();
        let Self { machine, design, seed, power_failures, last_power_failure, driver, .. } = self;
        let system = &mut driver.as_mut().expect("its digest has been taken").system;
        let Figures { nvm, energy, channels, banks, counter_cache, wpq, reencryptions, crypto, integrity } =
            Figures::of(machine, design, &mut system.controller, &system.device, since, now);
        let [reads, writes, counter_writebacks] = requests;
        MemoryReport {
            schema: 1,
            design: design.name.clone(),
            variant: design.variant.name(),
            machine: machine.name.clone(),
            seed: *seed,
            engine_version: ENGINE_VERSION,
            engine_build: ENGINE_BUILD,
            now_ns: ps_to_ns(now),
            simulated_ns: ps_to_ns(now - since),
            events,
            event_digest: format!("{digest:016x}"),
            power_failures: *power_failures,
            reads,
            writes,
            counter_writebacks,
            requestors,
            nvm,
            energy,
            channels,
            banks,
            counter_cache,
            wpq,
            reencryptions,
            crypto,
            integrity,
            last_power_failure: last_power_failure.clone(),
        }
    }
}

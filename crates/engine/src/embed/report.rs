//! The report of an embedded memory: the figures of a run that have a meaning without cores.

use super::{Kind, Memory};
use crate::kernel::{Ps, ps_to_ns};
use crate::run::{ENGINE_BUILD, ENGINE_VERSION, Figures};
use crate::stats::{CounterCacheReport, Crypto, IntegrityReport, Nvm, WpqReport};
use serde::Serialize;

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
    /// Figures of the device.
    pub nvm: Nvm,
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
}

impl MemoryReport {
    /// The report as one JSON document.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("numbers and texts serialise")
    }
}

/// Figures of the requests of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Requests {
    /// Number of requests.
    pub count: u64,
    /// Mean latency in nanoseconds; null without requests.
    pub mean_latency_ns: Option<f64>,
    /// Longest latency in nanoseconds; null without requests.
    pub max_latency_ns: Option<f64>,
}

/// Latencies of one kind of request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Latencies {
    count: u64,
    sum: u128,
    max: Ps,
}

impl Latencies {
    pub fn add(&mut self, latency: Ps) {
        self.count += 1;
        self.sum += u128::from(latency);
        self.max = self.max.max(latency);
    }

    fn report(&self) -> Requests {
        let any = self.count > 0;
        Requests {
            count: self.count,
            mean_latency_ns: any.then(|| self.sum as f64 / self.count as f64 / 1_000.0),
            max_latency_ns: any.then(|| ps_to_ns(self.max)),
        }
    }
}

impl Memory {
    /// The current figures.
    pub fn report(&mut self) -> MemoryReport {
        let (now, since) = (self.now, self.since);
        let requests =
            [Kind::Read, Kind::Write, Kind::CounterWriteback].map(|kind| self.latencies[kind as usize].report());
        let (events, digest) = self.digest();
        let Self { machine, design, seed, power_failures, .. } = self;
        let system = self.system.as_mut().expect("its digest has been taken");
        let Figures { nvm, counter_cache, wpq, reencryptions, crypto, integrity } =
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
            nvm,
            counter_cache,
            wpq,
            reencryptions,
            crypto,
            integrity,
        }
    }
}

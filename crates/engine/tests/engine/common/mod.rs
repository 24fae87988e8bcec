//! A controller driven by lines over memory that is populated everywhere, and the durations of its machine, computed
//! here from the machine's values.

pub mod expected;
pub mod judge;
pub mod memory_client;
pub mod peers;
pub mod sources;
pub mod streams;

use counterpoint_engine::config::{self, Machine, RunConfig, Variant};
use counterpoint_engine::controller::Response;
use counterpoint_engine::design;
use counterpoint_engine::kernel::{Ps, ns_to_ps};
use counterpoint_engine::message::{BaseImage, Line, LineBytes, Observer, OpSource, Page};
use counterpoint_engine::parts::Design;
use counterpoint_engine::{Job, LineSystem, System};
use proptest::test_runner::Config;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The end of simulated memory for these tests.
pub const END: u64 = 16 << 20;

/// So many random cases, or as many as `PROPTEST_CASES` says: `make soak` asks for more.
pub fn cases(usual: u32) -> Config {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    Config::with_cases(asked.unwrap_or(usual))
}

/// The entries of a write pending queue of at least `entries` with which `design` can work.
pub fn queue_of(design: &Design, entries: u32) -> u32 {
    design.minor_unit().map_or(entries, |unit| entries.max(unit.least_queue()))
}

/// Memory in which every line is populated.
pub struct Full(pub LineBytes);

impl BaseImage for Full {
    fn line(&self, line: Line) -> Option<&LineBytes> {
        self.populated(line).then_some(&self.0)
    }
    fn populated(&self, line: Line) -> bool {
        line.address() < END
    }
    fn end(&self) -> u64 {
        END
    }
}

/// The durations of a machine, computed here from its values.
pub struct Times {
    pub counter_cache: Ps,
    pub aes: Ps,
    pub t_rcd: Ps,
    pub t_cl: Ps,
    pub t_cwd: Ps,
    pub t_wtr: Ps,
    pub t_wr: Ps,
    pub t_ccd: Ps,
    pub t_rtp: Ps,
    pub t_rp: Ps,
    pub t_rtrs: Ps,
    pub burst: Ps,
}

impl Times {
    pub fn of(machine: &Machine) -> Self {
        let interface_cycle = (1e6 / f64::from(machine.device.interface_mhz)).round() as u64;
        let whole = |ns: f64| ns_to_ps(ns).div_ceil(interface_cycle) * interface_cycle;
        let device = &machine.device;
        Self {
            counter_cache: u64::from(machine.controller.counter_cache_latency_cycles) * 1_000_000
                / u64::from(machine.core.clock_mhz),
            aes: ns_to_ps(machine.controller.aes_latency_ns),
            t_rcd: whole(device.t_rcd_ns),
            t_cl: whole(device.t_cl_ns),
            t_cwd: whole(device.t_cwd_ns),
            t_wtr: whole(device.t_wtr_ns),
            t_wr: whole(device.t_wr_ns),
            t_ccd: whole(device.t_ccd_ns),
            t_rtp: whole(device.t_rtp_ns),
            t_rp: whole(device.t_rp_ns),
            t_rtrs: whole(device.t_rtrs_ns),
            burst: u64::from(device.burst_cycles) * interface_cycle,
        }
    }
    /// From the issue of a read of a closed row to its last beat.
    pub fn read(&self) -> Ps {
        self.t_rcd + self.read_hit()
    }
    pub fn read_hit(&self) -> Ps {
        self.t_cl + self.burst
    }
    /// From the issue of a read of a closed row until another row of its bank can be activated.
    pub fn next_row(&self) -> Ps {
        self.t_rcd + self.burst - self.t_ccd + self.t_rtp + self.t_rp
    }
    /// From the issue of a write to a closed row until the bank has its data.
    pub fn accept(&self) -> Ps {
        self.t_rcd + self.accept_hit()
    }
    pub fn accept_hit(&self) -> Ps {
        self.t_cwd + self.burst
    }
}

/// The hardened reading of the design `name` on `machine`.
pub fn system<O: Observer>(machine: &Machine, name: &str, observer: O) -> LineSystem<O> {
    reading(machine, name, Variant::Hardened, observer)
}

/// A reading of the design `name` on `machine`.
pub fn reading<O: Observer>(machine: &Machine, name: &str, variant: Variant, observer: O) -> LineSystem<O> {
    of_design(machine, &design::find(name, variant).unwrap(), observer)
}

/// A controller and device with `design`.
pub fn of_design<O: Observer>(machine: &Machine, design: &Design, observer: O) -> LineSystem<O> {
    config::validate(machine).unwrap();
    LineSystem::new(machine, design, Arc::new(Full([7; 64])), 1, observer).unwrap()
}

/// Handles all events; returns the token and time of each answer, in order.
pub fn run<O: Observer>(system: &mut LineSystem<O>) -> Vec<(u32, Ps)> {
    let mut answered = Vec::new();
    while let Some(responses) = system.advance().map(<[Response]>::to_vec) {
        let now = system.now();
        for response in responses {
            match response {
                Response::Read { token, .. } => answered.push((token, now)),
                Response::Written { token } => answered.push((token.0, now)),
                Response::Install { .. }
                | Response::TransactionBegun { .. }
                | Response::CounterIncremented { .. }
                | Response::Logged { .. }
                | Response::TransactionEnded { .. } => {}
            }
        }
    }
    answered
}

/// The time of each token's answer, by token.
pub fn times<O: Observer>(system: &mut LineSystem<O>) -> Vec<Ps> {
    let mut answered = run(system);
    answered.sort_unstable();
    answered.into_iter().map(|(_, at)| at).collect()
}

/// A line of page `page`.
pub fn line(page: u64, index: usize) -> Line {
    Page(page).line(index)
}

pub const LATE: Ps = 100_000_000;

/// Runs `programs`, one per core, to their end on `machine`, over memory of sevens.
pub fn run_programs<O: Observer>(
    machine: Machine,
    name: &str,
    variant: Variant,
    programs: Vec<Box<dyn OpSource>>,
    observer: O,
) -> System<O> {
    let run = RunConfig {
        variant,
        tx_size: 64,
        transactions: 1,
        cores: programs.len() as u16,
        footprint: 64,
        seed: 7,
        ..RunConfig::new(name, "none", machine)
    };
    let job = Job { base: Arc::new(Full([7; 64])), programs, layouts: Vec::new() };
    let mut system = System::new(&run, &design::find(name, variant).unwrap(), job, observer).unwrap();
    system.run(|_| ControlFlow::Continue(()));
    assert!(system.cores.iter().all(|core| core.finished()), "{name}: a core waits for something that never comes");
    system
}

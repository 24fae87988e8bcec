//! Controller and device as the memory of another simulator: it sends byte addresses and request numbers, receives
//! answers with their times, and keeps the clock.
//!
//! ```text
//! load* -> (send | step)* -> power_fails -> (send | step)* -> report
//! ```
//!
//! A request reaches the controller when it is sent. The cores and the caches are in the other simulator; what a design
//! does there (an undo log that hardware writes, caches that persist) is not modelled here. Lines that page
//! re-encryption would put into the last-level cache are dropped.

mod loaded;
mod power;
mod report;

pub use power::PowerFailure;
pub use report::{MemoryReport, Requests};

use crate::assembly::{LineSystem, memory_map};
use crate::config::{ConfigError, Machine, Variant, load_machine};
use crate::controller::Response;
use crate::design;
use crate::kernel::{Ps, Slab};
use crate::message::{BaseImage, LINE_BYTES, Line, LineBytes, NoObserver, WriteToken};
use crate::parts::Design;
use crate::run::host_memory::{self, Needs};
use loaded::Loaded;
use report::Latencies;
use std::sync::Arc;

/// The end of time, in picoseconds: 53 days, so that no sum of times overflows.
pub const TIME_MAX: Ps = 1 << 62;

/// The settings of an embedded memory.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// The design's name.
    pub design: &'a str,
    /// The reading of the design's paper.
    pub variant: Variant,
    /// Preset name or TOML file; `None` for the design's default machine.
    pub machine: Option<&'a str>,
    /// Overrides `path.to.key=value` of the machine, applied in order.
    pub set: &'a [String],
    /// Seed of the encryption keys.
    pub seed: u64,
}

/// A request to memory.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// The 64 bytes of a line.
    Read,
    /// Writes 64 bytes to a line. `counter_atomic`: line and counter persist together, if the design leaves the choice.
    Write { bytes: &'a LineBytes, counter_atomic: bool },
    /// Makes the counters around a line durable.
    CounterWriteback,
}

/// The kinds of request; each has its own queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A [`Request::Read`].
    Read,
    /// A [`Request::Write`].
    Write,
    /// A [`Request::CounterWriteback`].
    CounterWriteback,
}

impl Request<'_> {
    /// The request's kind.
    pub fn kind(&self) -> Kind {
        match self {
            Request::Read => Kind::Read,
            Request::Write { .. } => Kind::Write,
            Request::CounterWriteback => Kind::CounterWriteback,
        }
    }
}

/// The answer to a request. A write is answered when it is in the persistence domain, a read when its line is
/// decrypted.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// The number of the request.
    pub id: u64,
    /// The byte address of the request.
    pub address: u64,
    /// The time of the answer, in picoseconds.
    pub at: Ps,
    /// The kind of the request.
    pub kind: Kind,
    /// The bytes that were read; zeros for other requests.
    pub bytes: LineBytes,
}

/// Why a call was refused. The text is one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// An argument is invalid.
    #[error("{0}")]
    Argument(String),
    /// The queue is full; it will have room later.
    #[error("{0}")]
    Full(String),
    /// The call is not possible in this state, or with this design or machine.
    #[error("{0}")]
    State(String),
}

/// A request in flight.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    id: u64,
    line: Line,
    kind: Kind,
    sent: Ps,
}

/// The limit of requests of one kind, and how many are in flight.
#[derive(Clone, Copy, Debug)]
struct Room {
    used: u32,
    limit: u32,
}

/// An embedded memory: controller and device behind another simulator.
pub struct Memory {
    machine: Machine,
    design: Design,
    seed: u64,
    capacity: u64,
    base: Arc<Loaded>,
    /// `None` while memory is being loaded.
    system: Option<LineSystem<NoObserver>>,
    started: bool,
    now: Ps,
    /// Start of the period that the figures cover, in picoseconds.
    since: Ps,
    under_way: Slab<UnderWay>,
    rooms: [Room; 3],
    latencies: [Latencies; 3],
    power_failures: u64,
}

impl Memory {
    /// Creates an empty memory: every line reads as zeros.
    ///
    /// # Errors
    /// One sentence about the first bad setting.
    pub fn new(setup: &Setup<'_>) -> Result<Self, ConfigError> {
        let (of_design, of_machine) = design::sets(setup.set);
        let design = design::load(setup.design, setup.variant, &of_design)?;
        let machine = load_machine(setup.machine.unwrap_or(&design.machine), &of_machine)?;
        let capacity = memory_map::program_capacity(&machine, &design, 1);
        if capacity == 0 {
            return Err(ConfigError(format!(
                "device.capacity = {} leaves nothing for programs under design '{}'",
                machine.device.capacity, design.name
            )));
        }
        let controller = &machine.controller;
        let limits = [controller.read_queue_entries, controller.wpq_entries, controller.counter_wpq_entries];
        let base = Arc::new(Loaded::new());
        let mut memory = Self {
            rooms: limits.map(|limit| Room { used: 0, limit }),
            machine,
            design,
            seed: setup.seed,
            capacity,
            base,
            system: None,
            started: false,
            now: 0,
            since: 0,
            under_way: Slab::default(),
            latencies: [Latencies::default(); 3],
            power_failures: 0,
        };
        memory.system = Some(memory.assemble()?);
        Ok(memory)
    }

    /// Stores `bytes` at `address` before the first request or step: part of the memory that a run starts from, which
    /// takes no simulated time. The rest of a partly loaded line is zero.
    pub fn load(&mut self, address: u64, bytes: &[u8]) -> Result<(), Refusal> {
        if self.started {
            return Err(Refusal::State("memory is loaded before the first request".into()));
        }
        let end = address.checked_add(bytes.len() as u64).filter(|&end| end <= self.capacity);
        if end.is_none() {
            return Err(Refusal::Argument(format!(
                "{} bytes at address {address:#x} do not fit into the {} bytes of memory",
                bytes.len(),
                self.capacity
            )));
        }
        self.system = None;
        Arc::get_mut(&mut self.base).expect("only the system shares it").put(address, bytes);
        Ok(())
    }

    /// Whether a request of `kind` would be accepted now. A read is in flight until its line is decrypted, a write
    /// until it is in the persistence domain. The limits are the entries of the read queue for reads, of the write
    /// pending queue for writes, and of the counter write queue for counter write-backs.
    pub fn can_accept(&self, kind: Kind) -> bool {
        let room = self.rooms[kind as usize];
        room.used < room.limit
    }

    /// The number of requests of `kind` in flight, and their limit.
    pub fn room(&self, kind: Kind) -> (u32, u32) {
        let Room { used, limit } = self.rooms[kind as usize];
        (used, limit)
    }

    /// Sends `request` for the line at `address`, now. The answer returns `id`.
    pub fn send(&mut self, address: u64, id: u64, request: Request<'_>) -> Result<(), Refusal> {
        let line = self.line(address)?;
        let kind = request.kind();
        if !self.can_accept(kind) {
            let (name, key) = match kind {
                Kind::Read => ("reads", "controller.read_queue_entries"),
                Kind::Write => ("writes", "controller.wpq_entries"),
                Kind::CounterWriteback => ("counter write-backs", "controller.counter_wpq_entries"),
            };
            return Err(Refusal::Full(format!("{} {name} are under way ({key})", self.rooms[kind as usize].limit)));
        }
        let now = self.now;
        let token = self.under_way.insert(UnderWay { id, line, kind, sent: now });
        self.rooms[kind as usize].used += 1;
        let system = self.start();
        match request {
            Request::Read => system.read(now, line, token),
            Request::Write { bytes, counter_atomic: false } => system.write(now, line, bytes, token),
            Request::Write { bytes, counter_atomic: true } => system.write_counter_atomic(now, line, bytes, token),
            Request::CounterWriteback => system.write_back_counters(now, line, token),
        }
        Ok(())
    }

    /// The current time in picoseconds.
    pub fn now(&self) -> Ps {
        self.now
    }

    /// The time of the next event, in picoseconds; `None` if no event follows unless another request is sent.
    pub fn next_event_at(&self) -> Option<Ps> {
        self.system.as_ref().and_then(LineSystem::next_event_at)
    }

    /// Handles the next event if it comes at or before `until`, and appends its answers to `answers`. Returns false if
    /// there is none; the time is then `until`.
    pub fn step(&mut self, until: Ps, answers: &mut Vec<Answer>) -> Result<bool, Refusal> {
        if until < self.now || until > TIME_MAX {
            return Err(Refusal::Argument(format!(
                "time {until} ps is not from now, {} ps, to {TIME_MAX} ps",
                self.now
            )));
        }
        let system = self.start();
        if system.next_event_at().is_none_or(|at| at > until) {
            system.wait_until(until);
            self.now = until;
            return Ok(false);
        }
        let responses: Vec<Response> = system.advance().map(<[Response]>::to_vec).unwrap_or_default();
        self.now = system.now();
        for response in responses {
            match response {
                Response::Read { token, bytes } => answers.push(self.answered(token, bytes)),
                Response::Written { token: WriteToken(token) } => answers.push(self.answered(token, [0; 64])),
                Response::Install { .. } => {}
                Response::TransactionBegun { .. }
                | Response::Logged { .. }
                | Response::CounterBumped { .. }
                | Response::TransactionEnded { .. } => unreachable!("only caches ask for these"),
            }
        }
        Ok(true)
    }

    /// The bytes that a read of the line at `address` would find if it were sent now: those of the newest earlier
    /// write, whether it has arrived or not. Takes no simulated time and changes nothing. Zeros if the machine has
    /// `engine.bytes = false`, because reads then have no contents.
    pub fn peek(&self, address: u64) -> Result<LineBytes, Refusal> {
        let line = self.line(address)?;
        match &self.system {
            Some(system) => Ok(system.peek(line)),
            None => Ok(self.base.line(line).copied().unwrap_or([0; 64])),
        }
    }

    /// Bytes of memory, from address 0.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The machine's configuration.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The design in use.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// Number of events so far, and a digest of them.
    pub fn digest(&mut self) -> (u64, u64) {
        let system = self.system();
        (system.events(), system.digest())
    }

    fn line(&self, address: u64) -> Result<Line, Refusal> {
        if !address.is_multiple_of(LINE_BYTES) {
            return Err(Refusal::Argument(format!("address {address:#x} is no multiple of {LINE_BYTES}")));
        }
        if address >= self.capacity {
            return Err(Refusal::Argument(format!(
                "address {address:#x} lies beyond the {} bytes of memory",
                self.capacity
            )));
        }
        Ok(Line::containing(address))
    }

    fn answered(&mut self, token: u32, bytes: LineBytes) -> Answer {
        let UnderWay { id, line, kind, sent } = self.under_way[token];
        self.under_way.release(token);
        self.rooms[kind as usize].used -= 1;
        self.latencies[kind as usize].add(self.now - sent);
        Answer { id, address: line.address(), at: self.now, kind, bytes }
    }

    fn assemble(&self) -> Result<LineSystem<NoObserver>, ConfigError> {
        host_memory::check([Needs::of_lines(&self.machine, &self.design)].into_iter(), 1)?;
        let base = Arc::clone(&self.base) as Arc<dyn BaseImage>;
        LineSystem::new(&self.machine, &self.design, base, self.seed, NoObserver)
    }

    /// The system. From now on nothing more can be loaded.
    fn start(&mut self) -> &mut LineSystem<NoObserver> {
        self.started = true;
        self.system()
    }

    /// The system on top of the loaded memory.
    fn system(&mut self) -> &mut LineSystem<NoObserver> {
        if self.system.is_none() {
            self.system = Some(self.assemble().expect("the same has been assembled over empty memory"));
        }
        self.system.as_mut().expect("there is one now")
    }
}

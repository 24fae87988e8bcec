//! Controller and device as the memory of another simulator: byte addresses and request numbers come in, answers with
//! their times go out, and the other simulator keeps the clock.
//!
//! ```text
//! load* -> (send | step)* -> power_fails -> (send | step)* -> report
//! ```
//!
//! A request reaches the controller when it is sent. The other simulator has the cores and the caches; what a design does
//! there (an undo log that hardware writes, caches that persist) does not happen here. Lines that page re-encryption would
//! put into the last-level cache go nowhere.

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

/// Time ends here, in picoseconds: 53 days, so that no sum of times overflows.
pub const TIME_MAX: Ps = 1 << 62;

/// What memory is made of.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    /// Design, by name.
    pub design: &'a str,
    /// Which reading of its paper.
    pub variant: Variant,
    /// Preset or TOML file; `None`: the design's own.
    pub machine: Option<&'a str>,
    /// `path.to.key=value` over it, in order.
    pub set: &'a [String],
    /// Seed of the keys.
    pub seed: u64,
}

/// What is asked of memory.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// The 64 bytes of a line.
    Read,
    /// A line gets these bytes. `counter_atomic`: line and counter persist together, where a design leaves the choice.
    Write { bytes: &'a LineBytes, counter_atomic: bool },
    /// The counters around a line are to be durable.
    CounterWriteback,
}

/// The kinds of request, each with a queue of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// [`Request::Read`].
    Read,
    /// [`Request::Write`].
    Write,
    /// [`Request::CounterWriteback`].
    CounterWriteback,
}

impl Request<'_> {
    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self {
            Request::Read => Kind::Read,
            Request::Write { .. } => Kind::Write,
            Request::CounterWriteback => Kind::CounterWriteback,
        }
    }
}

/// An answer. A write is answered when it is in the persistence domain, a read when its line is decrypted.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// The number that the request came with.
    pub id: u64,
    /// Its byte address.
    pub address: u64,
    /// When.
    pub at: Ps,
    /// What it was.
    pub kind: Kind,
    /// The line that was read; zeros otherwise.
    pub bytes: LineBytes,
}

/// Why something was not done. The text is one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The value cannot be right.
    #[error("{0}")]
    Argument(String),
    /// The queue has no room; it will have.
    #[error("{0}")]
    Full(String),
    /// Not now, or not with this design or machine.
    #[error("{0}")]
    State(String),
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    id: u64,
    line: Line,
    kind: Kind,
    sent: Ps,
}

/// How many requests of a kind there are.
#[derive(Clone, Copy, Debug)]
struct Room {
    used: u32,
    limit: u32,
}

/// Memory in front of which another simulator sits.
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
    /// Since when figures are counted.
    since: Ps,
    under_way: Slab<UnderWay>,
    rooms: [Room; 3],
    latencies: [Latencies; 3],
    power_failures: u64,
}

impl Memory {
    /// Empty memory: every line reads as zeros.
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

    /// Puts `bytes` at `address` before anything happens: part of the memory that a run starts from, which takes no time.
    /// The rest of a line of which a part is loaded is zero. After the first request or step it is too late.
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

    /// Whether a request of `kind` would be taken now. A read is under way until its line is decrypted, a write until it is
    /// in the persistence domain: no more reads than the read queue has entries, no more writes than the write pending
    /// queue, no more counter write-backs than the counter write queue.
    pub fn can_accept(&self, kind: Kind) -> bool {
        let room = self.rooms[kind as usize];
        room.used < room.limit
    }

    /// Requests of `kind` under way, and how many there may be.
    pub fn room(&self, kind: Kind) -> (u32, u32) {
        let Room { used, limit } = self.rooms[kind as usize];
        (used, limit)
    }

    /// Sends `request` for the line at `address`, now. `id` comes back with the answer.
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

    /// When something happens next; `None` if nothing will before another request is sent.
    pub fn next_event_at(&self) -> Option<Ps> {
        self.system.as_ref().and_then(LineSystem::next_event_at)
    }

    /// Lets the next event happen if it comes at or before `until`, and appends what it answers to `answers`. False: none
    /// is left, and the time is `until`.
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

    /// What a read of the line at `address` would find that is sent now: the newest write that was sent before, arrived or
    /// not. Takes no time and changes nothing. Zeros if the machine has `engine.bytes = false`, where what reads find means
    /// nothing.
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

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The design.
    pub fn design(&self) -> &Design {
        &self.design
    }

    /// How many events have happened, and a digest of them all.
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

    /// The system, and from now on nothing more is loaded.
    fn start(&mut self) -> &mut LineSystem<NoObserver> {
        self.started = true;
        self.system()
    }

    /// The system over what has been loaded.
    fn system(&mut self) -> &mut LineSystem<NoObserver> {
        if self.system.is_none() {
            self.system = Some(self.assemble().expect("the same has been assembled over empty memory"));
        }
        self.system.as_mut().expect("there is one now")
    }
}

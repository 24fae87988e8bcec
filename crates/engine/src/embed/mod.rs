//! Controller and device as the memory of another simulator: it sends byte addresses and request numbers, receives
//! answers with their times, and keeps the clock.
//!
//! ```text
//! load* -> (send | step | store)* -> power_fails -> (send | step | store)* -> report
//! ```
//!
//! A request reaches the controller when it is sent. The cores and the caches are in the other simulator; what a design
//! does there (an undo log that hardware writes, caches that persist) is not modelled here. Lines that page
//! re-encryption would put into the last-level cache are dropped. `examples/embed.rs` is a client.

mod driver;
mod figures;
mod loaded;
mod places;
mod power;
mod promised;
mod report;
mod request;
mod stored;

pub(crate) use driver::Driver;
pub use figures::{Latencies, OfRequestor, REQUESTORS_MAX, Requests};
pub use places::LinePlaces;
pub use power::PowerFailure;
pub use report::{CountReport, MemoryReport};
pub use request::{Answer, Kind, Refusal, Request, WHOLE_LINE};

use crate::assembly::{self, LineSystem, memory_map};
use crate::config::{Machine, Variant};
use crate::design::{self, OnMachine};
use crate::kernel::{ConfigError, Ps};
use crate::message::{BaseImage, LINE_BYTES, Line, LineBytes, MediaLine, NoObserver, PAGE_BYTES, Page, pieces};
use crate::parts::{Design, PartsList};
use driver::Answered;
use figures::AllLatencies;
use loaded::Loaded;
use promised::{Promised, pages_beside};
use request::{Room, UnderWay};
use rustc_hash::FxHashSet;
use std::sync::Arc;
use stored::Stored;

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
    /// The limits of reads and of writes in flight on each channel, beside those of the whole controller; `None`: no others.
    pub on_channel: [Option<u32>; 2],
}

/// An embedded memory: controller and device behind another simulator. A copy is independent of the original, and goes
/// on from the same state: requests in flight are answered by both.
#[derive(Clone)]
pub struct Memory {
    machine: Machine,
    design: Design,
    parts: PartsList,
    seed: u64,
    capacity: u64,
    base: Arc<Loaded>,
    /// `None` while memory is being loaded.
    driver: Option<Driver<NoObserver, UnderWay>>,
    started: bool,
    now: Ps,
    /// Start of the period that the figures cover, in picoseconds.
    since: Ps,
    /// The number of the measurement period.
    period: u64,
    rooms: [Room; 3],
    latencies: AllLatencies,
    /// Number of writes sent and stores made.
    writes: u64,
    /// Pages whose lines may share a counter block.
    block_pages: u64,
    /// The pages of all lines that have been written or stored, and those that may share a counter block with them.
    written: FxHashSet<Page>,
    stored: Stored,
    promised: Promised,
    power_failures: u64,
    last_power_failure: Option<PowerFailure>,
}

impl Memory {
    /// Creates an empty memory: every line reads as zeros.
    ///
    /// # Errors
    /// One sentence about the first bad setting.
    pub fn new(setup: &Setup<'_>) -> Result<Self, ConfigError> {
        let OnMachine { design, parts, machine, .. } =
            design::load_on(setup.design, setup.variant, setup.machine, setup.set)?;
        assembly::validate_machine(&machine, &design)?;
        let capacity = memory_map::room(&machine, &design)?;
        let controller = &machine.controller;
        let room = |limit, on_channel| Room::new(limit, machine.device.channels, on_channel);
        let [reads, writes] = setup.on_channel;
        let rooms = [
            room(controller.read_queue_entries, reads),
            room(controller.wpq_entries, writes),
            room(controller.counter_wpq_entries, None),
        ];
        let base = Arc::new(Loaded::new());
        let block_pages = machine.counters.block_bytes() / PAGE_BYTES;
        let mut memory = Self {
            rooms,
            block_pages,
            machine,
            design,
            parts,
            seed: setup.seed,
            capacity,
            base,
            driver: None,
            started: false,
            now: 0,
            since: 0,
            period: 0,
            latencies: AllLatencies::default(),
            writes: 0,
            written: FxHashSet::default(),
            stored: Stored::default(),
            promised: Promised::new(block_pages),
            power_failures: 0,
            last_power_failure: None,
        };
        memory.driver = Some(memory.assemble()?);
        Ok(memory)
    }

    /// Stores `bytes` at `address` before the first request or step: part of the memory that a run starts from, which
    /// takes no simulated time. The rest of a partly loaded line is zero.
    pub fn load(&mut self, address: u64, bytes: &[u8]) -> Result<(), Refusal> {
        if self.started {
            return Err(Refusal::State("memory is loaded before the first request".into()));
        }
        self.check_range(address, bytes.len() as u64)?;
        self.put(address, bytes);
        Ok(())
    }

    /// Stores `bytes` at any `address` at any time, without taking simulated time: what another simulator does beside its
    /// timed accesses. Reads that are sent from now on find the bytes, and they survive a power failure, as long as no
    /// later write of the line is durable. Bytes of the line that are not stored stay as they are. Counts as no write.
    ///
    /// Without an effect if the machine has `engine.bytes = false`.
    pub fn store(&mut self, address: u64, bytes: &[u8]) -> Result<(), Refusal> {
        self.check_range(address, bytes.len() as u64)?;
        if !self.started {
            self.put(address, bytes);
        } else if self.machine.engine.bytes {
            for (line, offset, piece) in pieces(address, bytes.len()) {
                let (mut newest, whole) = (self.newest(line), piece.len() as u64 == LINE_BYTES);
                newest[offset..offset + piece.len()].copy_from_slice(&bytes[piece]);
                self.writes += 1;
                self.stored.put(line, newest, self.writes);
                self.written.extend(pages_beside(line, self.block_pages));
                if whole {
                    self.promised.overwritten(line);
                }
                self.promised.acknowledged(line, self.writes, promised::digest(&newest));
            }
        }
        Ok(())
    }

    /// Puts `bytes` into the memory that the run starts from.
    fn put(&mut self, address: u64, bytes: &[u8]) {
        self.driver = None;
        Arc::make_mut(&mut self.base).put(address, bytes);
    }

    /// Whether a request of `kind` would be accepted now, apart from the limit of its channel. A read is in flight until its
    /// line is decrypted, a write until it is in the persistence domain. The limits are the entries of the read queue for
    /// reads, of the write pending queue for writes, and of the counter write queue for counter write-backs.
    pub fn can_accept(&self, kind: Kind) -> bool {
        self.rooms[kind as usize].any()
    }

    /// Whether a request of `kind` for the line at `address` would be accepted now.
    pub fn can_accept_at(&mut self, kind: Kind, address: u64) -> Result<bool, Refusal> {
        let line = self.line(address)?;
        let channel = self.channel_of(kind, line);
        let room = &self.rooms[kind as usize];
        Ok(room.any() && room.any_on(channel))
    }

    /// The number of requests of `kind` in flight, and their limit.
    pub fn room(&self, kind: Kind) -> (u32, u32) {
        let Room { used, limit, .. } = self.rooms[kind as usize];
        (used, limit)
    }

    /// Sends `request` for the line at `address`, now. The answer returns `id`. `requestor` is whose figures count it, a number
    /// below [`REQUESTORS_MAX`].
    pub fn send(&mut self, address: u64, id: u64, requestor: u32, request: Request<'_>) -> Result<(), Refusal> {
        let line = self.line(address)?;
        if requestor >= REQUESTORS_MAX {
            return Err(Refusal::of_requestor(requestor));
        }
        let kind = request.kind();
        let channel = self.channel_of(kind, line);
        self.check_room(kind, channel)?;
        self.start();
        let merged = match request {
            Request::Write { bytes, mask, .. } if mask != WHOLE_LINE => merged(&self.newest(line), bytes, mask),
            Request::Write { bytes, .. } => *bytes,
            Request::Read | Request::CounterWriteback => [0; 64],
        };
        let digest = self.sent(kind, line, &merged, matches!(request, Request::Write { mask: WHOLE_LINE, .. }));
        let (now, damaged) = (self.now, kind == Kind::Read && self.promised.is_damaged(line));
        let (number, period) = (self.writes, self.period);
        let under_way = UnderWay { id, requestor, line, kind, channel, sent: now, number, digest, damaged, period };
        self.rooms[kind as usize].change(channel, true);
        let Self { driver, stored, .. } = self;
        driver.as_mut().expect("it has been started").send(under_way, |system, token| match request {
            Request::Read => {
                stored.read_sent(line, token);
                system.read(now, line, token);
            }
            Request::Write { counter_atomic: false, .. } => system.write(now, line, &merged, token),
            Request::Write { counter_atomic: true, .. } => system.write_counter_atomic(now, line, &merged, token),
            Request::CounterWriteback => system.write_back_counters(now, line, token),
        });
        Ok(())
    }

    /// Notes that a request is sent; returns the digest of what a write writes. `whole`: it writes the whole line.
    fn sent(&mut self, kind: Kind, line: Line, bytes: &LineBytes, whole: bool) -> u64 {
        if kind != Kind::Write {
            return 0;
        }
        self.writes += 1;
        self.written.extend(pages_beside(line, self.block_pages));
        self.stored.write_sent(line);
        if whole {
            self.promised.overwritten(line);
        }
        if self.machine.engine.bytes { promised::digest(bytes) } else { 0 }
    }

    fn check_room(&self, kind: Kind, channel: u32) -> Result<(), Refusal> {
        let room = &self.rooms[kind as usize];
        let (name, key) = kind.names();
        if !room.any() {
            return Err(Refusal::Full(format!("{} {name} are in flight, as many as {key} allows", room.limit)));
        }
        match room.channel_limit {
            Some(limit) if !room.any_on(channel) => {
                Err(Refusal::Full(format!("{limit} {name} are in flight on channel {channel}")))
            }
            _ => Ok(()),
        }
    }

    /// The current time in picoseconds.
    pub fn now(&self) -> Ps {
        self.now
    }

    /// The time of the next event, in picoseconds; `None` if no event follows unless another request is sent.
    pub fn next_event_at(&self) -> Option<Ps> {
        self.driver.as_ref().and_then(|driver| driver.system.next_event_at())
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
        self.start();
        let driver = self.driver();
        if !driver.is_due(until) {
            driver.system.wait_until(until);
            self.now = until;
            return Ok(false);
        }
        driver.advance();
        let (now, answered) = (driver.system.now(), std::mem::take(&mut driver.answered));
        self.now = now;
        answers.extend(answered.iter().map(|answered| self.answered(answered)));
        self.driver().answered = answered;
        Ok(true)
    }

    /// The bytes that a read of the line at `address` would find if it were sent now: those of the newest earlier
    /// write, whether it has arrived or not. Takes no simulated time and changes nothing. Zeros if the machine has
    /// `engine.bytes = false`, because reads then have no contents.
    pub fn peek(&self, address: u64) -> Result<LineBytes, Refusal> {
        self.line(address).map(|line| self.newest(line))
    }

    /// Fills `buffer` with what [`peek`](Self::peek) finds at any `address` and after it. Whole pages in which nothing was
    /// ever stored cost nothing.
    pub fn peek_range(&self, address: u64, buffer: &mut [u8]) -> Result<(), Refusal> {
        self.check_range(address, buffer.len() as u64)?;
        // The last page, and whether anything was ever stored there.
        let mut last: Option<(Page, bool)> = None;
        for (line, offset, piece) in pieces(address, buffer.len()) {
            let page = line.page();
            let touched = match last {
                Some((same, touched)) if same == page => touched,
                _ => self.written.contains(&page) || self.base.has_page(page),
            };
            last = Some((page, touched));
            let end = offset + piece.len();
            if touched {
                buffer[piece].copy_from_slice(&self.newest(line)[offset..end]);
            } else {
                buffer[piece].fill(0);
            }
        }
        Ok(())
    }

    fn newest(&self, line: Line) -> LineBytes {
        match (self.stored.newest(line), &self.driver) {
            (Some(bytes), _) => *bytes,
            (None, Some(driver)) => driver.system.peek(line),
            (None, None) => self.base.line(line).copied().unwrap_or([0; 64]),
        }
    }

    /// Figures start from zero: a new measurement period. Requests in flight stay in flight and are not counted when they are
    /// answered.
    pub fn reset_statistics(&mut self) {
        self.system().reset_stats();
        self.begin_period();
    }

    fn begin_period(&mut self) {
        self.period += 1;
        self.since = self.now;
        self.latencies = AllLatencies::default();
    }

    /// Bytes of memory, from address 0.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Number of power failures since the beginning.
    pub fn power_failures(&self) -> u64 {
        self.power_failures
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

    /// The channel of `line`; 0 if requests of `kind` have no limit there.
    fn channel_of(&mut self, kind: Kind, line: Line) -> u32 {
        if self.rooms[kind as usize].channel_limit.is_none() {
            return 0;
        }
        self.system().device.place(MediaLine::data(line)).channel
    }

    /// Whether so many bytes at `address` lie within memory.
    pub fn check_range(&self, address: u64, length: u64) -> Result<(), Refusal> {
        match address.checked_add(length).filter(|&end| end <= self.capacity) {
            Some(_) => Ok(()),
            None => Err(Refusal::Argument(format!(
                "{length} bytes at address {address:#x} do not fit into the {} bytes of memory",
                self.capacity
            ))),
        }
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

    fn answered(&mut self, answered: &Answered<UnderWay>) -> Answer {
        let Answered { token, request, bytes } = *answered;
        let UnderWay { id, requestor, line, kind, channel, sent, number, digest, damaged, period } = request;
        let untimed = if kind == Kind::Read { self.stored.read_answered(token) } else { None };
        let bytes = untimed.unwrap_or(bytes);
        self.rooms[kind as usize].change(channel, false);
        if period == self.period {
            self.latencies.add(kind, requestor, self.now - sent);
        }
        if kind == Kind::Write && self.machine.engine.bytes {
            self.stored.write_persisted(line, number);
            self.promised.acknowledged(line, number, digest);
        }
        Answer { id, requestor, address: line.address(), sent, at: self.now, kind, damaged, bytes }
    }

    fn assemble(&self) -> Result<Driver<NoObserver, UnderWay>, ConfigError> {
        let base = Arc::clone(&self.base) as Arc<dyn BaseImage>;
        Driver::new(&self.machine, &self.design, base, self.seed, NoObserver)
    }

    /// From now on nothing more can be loaded.
    fn start(&mut self) -> &mut LineSystem<NoObserver> {
        self.started = true;
        self.system()
    }

    /// The system on top of the loaded memory.
    fn system(&mut self) -> &mut LineSystem<NoObserver> {
        &mut self.driver().system
    }

    /// What drives it.
    fn driver(&mut self) -> &mut Driver<NoObserver, UnderWay> {
        if self.driver.is_none() {
            self.driver = Some(self.assemble().expect("the same has been assembled over empty memory"));
        }
        self.driver.as_mut().expect("there is one now")
    }
}

/// `line` with those of `bytes` whose bit is set in `mask`.
fn merged(line: &LineBytes, bytes: &LineBytes, mask: u64) -> LineBytes {
    std::array::from_fn(|index| if mask >> index & 1 == 1 { bytes[index] } else { line[index] })
}

//! Controller and device alone, driven by lines: what a line-only trace or another simulator's cores mount.

use super::encryption::encryption_parts;
use crate::config::{ConfigError, Machine};
use crate::controller::{Context, Controller, Response};
use crate::device::Device;
use crate::kernel::{Ps, Queue};
use crate::message::{BaseImage, CoreId, Event, Line, LineBytes, MemoryRequest, Observer, WriteToken};
use crate::parts::Design;
use std::sync::Arc;

/// A controller in front of its device.
pub struct LineSystem<O> {
    queue: Queue<Event>,
    /// The controller.
    pub controller: Controller,
    /// The media.
    pub device: Device,
    /// Who watches.
    pub observer: O,
    responses: Vec<Response>,
}

impl<O: Observer> LineSystem<O> {
    /// `design` on the controller and device of `machine`, over `base`; keys come from `seed`.
    pub fn new(
        machine: &Machine,
        design: &Design,
        base: Arc<dyn BaseImage>,
        seed: u64,
        observer: O,
    ) -> Result<Self, ConfigError> {
        let device = Device::new(machine, design.media_layout(&machine.counters), base)?;
        let controller = controller(machine, design, seed, &device)?;
        Ok(Self { queue: Queue::new(), controller, device, observer, responses: Vec::new() })
    }

    /// The current simulated time in picoseconds.
    pub fn now(&self) -> Ps {
        self.queue.now()
    }

    /// When the next event happens; `None` when nothing is scheduled.
    pub fn next_event_at(&self) -> Option<Ps> {
        self.queue.next_at()
    }

    /// Moves time to `at`, before which no event may be due.
    pub fn wait_until(&mut self, at: Ps) {
        self.queue.wait_until(at);
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.queue.events()
    }

    /// Digest of every event so far.
    pub fn digest(&self) -> u64 {
        self.queue.digest()
    }

    /// Sends a read that reaches the controller at `at`.
    pub fn read(&mut self, at: Ps, line: Line, token: u32) {
        self.accept(MemoryRequest::Read { at, line, token });
    }

    /// Sends a write that reaches the controller at `at`.
    pub fn write(&mut self, at: Ps, line: Line, bytes: &LineBytes, token: u32) {
        self.send(at, line, bytes, token, false);
    }

    /// The same of a line that holds a `CounterAtomic` variable.
    pub fn write_counter_atomic(&mut self, at: Ps, line: Line, bytes: &LineBytes, token: u32) {
        self.send(at, line, bytes, token, true);
    }

    fn send(&mut self, at: Ps, line: Line, bytes: &LineBytes, token: u32, counter_atomic: bool) {
        let (bytes, cache_pad, token) = (*bytes, [0; 64], WriteToken(token));
        self.accept(MemoryRequest::Write { at, line, bytes, cache_pad, token, counter_atomic });
    }

    /// Sends a `counter_cache_writeback` for the counters around `line` that reaches the controller at `at`.
    pub fn write_back_counters(&mut self, at: Ps, line: Line, token: u32) {
        self.accept(MemoryRequest::CounterWriteback { at, line, token: WriteToken(token) });
    }

    /// `line`, which rests encrypted in the caches above, is about to turn dirty there: `core` asks for its next counter, which
    /// reaches the controller at `at`.
    pub fn turn_dirty(&mut self, at: Ps, core: CoreId, line: Line) {
        self.accept(MemoryRequest::BumpCounter { at, core, line });
    }

    /// Begins a transaction of `core`; that reaches the log manager at `at`.
    pub fn begin_transaction(&mut self, at: Ps, core: CoreId) {
        self.accept(MemoryRequest::BeginTransaction { at, core });
    }

    /// Sends the old bytes of `line` for the log of the transaction of `core`; they reach the log manager at `at`. A core
    /// sends the next after the answer to this.
    pub fn log(&mut self, at: Ps, core: CoreId, line: Line, old: &LineBytes) {
        self.accept(MemoryRequest::Log { at, core, line, old: *old });
    }

    /// Ends the transaction of `core`; that reaches the log manager at `at`.
    pub fn end_transaction(&mut self, at: Ps, core: CoreId) {
        self.accept(MemoryRequest::EndTransaction { at, core });
    }

    fn accept(&mut self, request: MemoryRequest) {
        self.controller.accept(&mut self.queue, &request);
    }

    /// Lets the next event happen and hands over what it answered; `None` when nothing is scheduled.
    pub fn advance(&mut self) -> Option<&[Response]> {
        let event = self.queue.pop()?;
        let Self { queue, controller, device, observer, responses } = self;
        controller.handle(&mut Context { queue, device, observer }, event);
        responses.clear();
        controller.take_responses(responses);
        self.observer.event_over(self.queue.now());
        Some(&self.responses)
    }

    /// What a read of `line` would find that was sent now, to arrive now. Takes no time and changes nothing.
    pub fn peek(&self, line: Line) -> LineBytes {
        self.controller.peek(&self.queue, &self.device, line)
    }

    /// Puts `controller`, which has done nothing yet, in place of one that has lost power with the device of `machine`:
    /// everything under way is forgotten.
    pub(crate) fn restart(&mut self, machine: &Machine, controller: Controller) {
        self.queue.forget();
        self.controller = controller;
        self.device.power_cycle(machine);
    }

    /// Writes out what is queued, whatever the watermarks say.
    pub fn flush(&mut self) {
        let Self { queue, controller, device, observer, .. } = self;
        controller.flush(&mut Context { queue, device, observer });
    }
}

/// The controller of a line system in front of `device`.
pub(crate) fn controller(
    machine: &Machine,
    design: &Design,
    seed: u64,
    device: &Device,
) -> Result<Controller, ConfigError> {
    let encryption = encryption_parts(machine, design, seed)?;
    Ok(Controller::new(machine, encryption, 1, usize::from(device.banks()), Vec::new()))
}

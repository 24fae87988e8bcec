//! Controller and device alone, driven by lines: used for line traces and by other simulators.

use super::encryption::{encryption_parts, line_cipher, log_is_known};
use super::over_time::{Counting, OverTime};
use crate::config::Machine;
use crate::controller::{Context, Controller, Response};
use crate::device::Device;
use crate::kernel::{ConfigError, Ps, Queue};
use crate::message::{
    BaseImage, ControllerEvent, CoreId, DevicePort, Event, Line, LineBytes, MediaLine, MediaOp, MemoryRequest,
    NoObserver, Observer, WriteToken,
};
use crate::parts::Design;
use crate::stats;
use std::sync::Arc;

/// A controller in front of its device. A copy is independent of the original, and goes on from the same state.
#[derive(Clone)]
pub struct LineSystem<O> {
    queue: Queue<Event>,
    /// The memory controller.
    pub controller: Controller,
    /// The non-volatile device.
    pub device: Device,
    /// The observer of all events.
    pub observer: O,
    over_time: OverTime,
    responses: Vec<Response>,
}

impl<O: Observer> LineSystem<O> {
    /// Creates controller and device of `machine` with `design`, over `base`; keys come from `seed`.
    pub fn new(
        machine: &Machine,
        design: &Design,
        base: Arc<dyn BaseImage>,
        seed: u64,
        observer: O,
    ) -> Result<Self, ConfigError> {
        let device = Device::new(machine, design.media_layout(machine), Arc::clone(&base))?
            .encrypting(machine, design.modules.is_some());
        let controller = controller(machine, design, seed, &base, &device)?;
        let over_time = OverTime::NONE;
        Ok(Self { queue: Queue::new(), controller, device, observer, over_time, responses: Vec::new() })
    }

    /// Has the run reported in windows of `length` picoseconds, if there is one. Must be called before it begins.
    pub(crate) fn report_windows(&mut self, length: Option<Ps>) {
        self.over_time = OverTime::new(length, &self.device);
    }

    /// The windows of the run, which has ended with an event, if it is reported in any.
    ///
    /// # Errors
    /// There are too many.
    pub(crate) fn take_windows(&mut self) -> Result<Option<stats::Windows>, ConfigError> {
        let Self { queue, controller, device, over_time, .. } = self;
        over_time.finish(queue.now(), Counting { cores: &[], controller, device }, 0)
    }

    /// Ends the windows that are over, before anything happens now.
    #[inline]
    fn pass_windows(&mut self) {
        let Self { queue, controller, device, over_time, .. } = self;
        if queue.now() >= over_time.ends {
            over_time.pass(queue.now(), Counting { cores: &[], controller, device });
        }
    }

    /// The current simulated time in picoseconds.
    pub fn now(&self) -> Ps {
        self.queue.now()
    }

    /// When [`advance`](Self::advance) has something to do next, in picoseconds; `None` if nothing waits.
    pub fn next_event_at(&self) -> Option<Ps> {
        if self.controller.has_responses() { Some(self.queue.now()) } else { self.queue.next_at() }
    }

    /// Moves time to `at`; no event may be due before.
    pub fn wait_until(&mut self, at: Ps) {
        self.queue.wait_until(at);
    }

    /// Number of events so far.
    pub fn events(&self) -> u64 {
        self.queue.events()
    }

    /// Digest of all events so far.
    pub fn digest(&self) -> u64 {
        self.queue.digest()
    }

    /// A request for `line` will come soon: the host may bring what it knows of the line near. Changes nothing.
    pub fn prefetch(&self, line: Line) {
        self.device.prefetch(MediaLine::data(line));
    }

    /// Whether a read or write that is sent now finds room in its queue at once.
    pub fn accepts(&self, op: MediaOp) -> bool {
        self.controller.accepts(op)
    }

    /// Sends a read of `line` that reaches the controller at `at`; the answer returns `token`.
    pub fn read(&mut self, at: Ps, line: Line, token: u32) {
        self.accept(&MemoryRequest::Read { at, line, token });
    }

    /// Sends a write of `line` that reaches the controller at `at`; the acknowledgement returns `token`.
    pub fn write(&mut self, at: Ps, line: Line, bytes: &LineBytes, token: u32) {
        self.accept(&write(at, line, bytes, token, None, false));
    }

    /// A read of `line` that arrives now. If nothing else is due now, it is handled at once, without an event.
    pub fn read_now(&mut self, line: Line, token: u32) {
        self.accept_now(&MemoryRequest::Read { at: self.now(), line, token });
    }

    /// A write of `line` that arrives now, see [`read_now`](Self::read_now).
    pub fn write_now(&mut self, line: Line, bytes: &LineBytes, token: u32) {
        self.accept_now(&write(self.now(), line, bytes, token, None, false));
    }

    /// Sends a write of `line` for which `core` waits, as for a flush; it reaches the controller at `at`.
    pub fn write_of(&mut self, at: Ps, core: CoreId, line: Line, bytes: &LineBytes, token: u32) {
        self.accept(&write(at, line, bytes, token, Some(core), false));
    }

    /// Sends a write of a line that holds a `CounterAtomic` variable; it reaches the controller at `at`.
    pub fn write_counter_atomic(&mut self, at: Ps, line: Line, bytes: &LineBytes, token: u32) {
        self.accept(&write(at, line, bytes, token, None, true));
    }

    /// Sends a `counter_cache_writeback` for the counters around `line`, which reaches the controller at `at`.
    pub fn write_back_counters(&mut self, at: Ps, line: Line, token: u32) {
        self.accept(&MemoryRequest::CounterWriteback { at, line, token: WriteToken(token) });
    }

    /// Sends the command that shreds the page of `line`, its first line, to the controller, which it reaches at `at`.
    pub fn zero_page(&mut self, at: Ps, line: Line, token: u32) {
        self.accept(&MemoryRequest::ZeroPage { at, line, token: WriteToken(token) });
    }

    /// Requests the next counter of `line` for `core`, because the line is encrypted in the caches above and is about
    /// to become dirty there. The request reaches the controller at `at`.
    pub fn turn_dirty(&mut self, at: Ps, core: CoreId, line: Line) {
        self.accept(&MemoryRequest::IncrementCounter { at, core, line });
    }

    /// Begins a transaction of `core`; the request reaches the log manager at `at`.
    pub fn begin_transaction(&mut self, at: Ps, core: CoreId) {
        self.accept(&MemoryRequest::BeginTransaction { at, core });
    }

    /// Sends the old bytes of `line` for the log of the transaction of `core`; they reach the log manager at `at`. A
    /// core must wait for the answer before it sends the next.
    pub fn log(&mut self, at: Ps, core: CoreId, line: Line, old: &LineBytes) {
        self.accept(&MemoryRequest::Log { at, core, line, old: *old });
    }

    /// Ends the transaction of `core`; the request reaches the log manager at `at`.
    pub fn end_transaction(&mut self, at: Ps, core: CoreId) {
        self.accept(&MemoryRequest::EndTransaction { at, core });
    }

    fn accept(&mut self, request: &MemoryRequest) {
        let (at, event) = self.controller.accept(request);
        self.queue.schedule(at, event);
    }

    fn accept_now(&mut self, request: &MemoryRequest) {
        let (now, event) = self.controller.accept(request);
        if self.queue.next_at() == Some(now) { self.queue.schedule(now, event) } else { self.handle(event) }
    }

    fn handle(&mut self, event: ControllerEvent) {
        self.pass_windows();
        let Self { queue, controller, device, observer, .. } = self;
        if observer.listens() {
            controller.handle(&mut Context { queue, device, observer: observer as &mut dyn Observer }, event);
        } else {
            controller.handle(&mut Context { queue, device, observer: &mut NoObserver }, event);
        }
        self.observer.event_over(self.queue.now());
    }

    /// Returns the answers to what has been sent, if there are any, or else handles the next event and returns its answers;
    /// `None` if nothing is left to happen.
    pub fn advance(&mut self) -> Option<&[Response]> {
        if !self.controller.has_responses() {
            match self.controller.next_event(&mut self.queue)? {
                Event::Controller(event) => self.handle(event),
                Event::Core(_) => unreachable!("a line system has no cores"),
            }
        }
        self.responses.clear();
        self.controller.take_responses(&mut self.responses);
        Some(&self.responses)
    }

    /// The bytes that a read of `line` would find if it arrived now. Takes no simulated time and changes nothing.
    pub fn peek(&self, line: Line) -> LineBytes {
        self.controller.peek(&self.queue, &self.device, line)
    }

    /// Statistics start from zero; what is in flight and what has been stored stays.
    pub fn reset_stats(&mut self) {
        self.controller.reset_stats(self.queue.now());
        self.device.reset_stats();
    }

    /// Replaces the controller with the unused `controller` after a power failure of the device of `machine`.
    /// Everything in flight is dropped.
    pub(crate) fn restart(&mut self, machine: &Machine, controller: Controller) {
        self.queue.forget();
        self.controller = controller;
        self.device.power_cycle(machine);
    }

    /// Writes out everything that is queued, regardless of the watermarks.
    pub fn flush(&mut self) {
        self.pass_windows();
        let Self { queue, controller, device, observer, .. } = self;
        controller.flush(&mut Context { queue, device, observer: observer as &mut dyn Observer });
    }
}

fn write(
    at: Ps,
    line: Line,
    bytes: &LineBytes,
    token: u32,
    core: Option<CoreId>,
    counter_atomic: bool,
) -> MemoryRequest {
    let (bytes, cache_pad, token) = (*bytes, [0; 64], WriteToken(token));
    MemoryRequest::Write { at, line, bytes, cache_pad, token, core, counter_atomic }
}

/// The controller of a line system in front of `device`.
pub(crate) fn controller(
    machine: &Machine,
    design: &Design,
    seed: u64,
    base: &Arc<dyn BaseImage>,
    device: &Device,
) -> Result<Controller, ConfigError> {
    log_is_known(design, false)?;
    let encryption = encryption_parts(machine, design, seed, base)?;
    let controller = Controller::new(machine, encryption, 1, usize::from(device.banks()), Vec::new());
    Ok(controller.encrypting(machine, line_cipher(machine, design, seed)?, design.modules.is_some()))
}

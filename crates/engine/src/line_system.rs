//! Controller and device alone, driven by lines: what a line-only trace or another simulator's cores mount.

use crate::cipher::{FeedbackCipher, Keys, PadCipher};
use crate::config::{ConfigError, Geometry, Machine};
use crate::controller::{Context, Controller, EncryptionParts, LogParts, Response};
use crate::design::parts::{
    Admit, CounterScheme, CounterUpdate, Design, HardwareLog, LogEncryption, PadSource, WritePath,
};
use crate::device::Device;
use crate::host_memory::{self, Needs};
use crate::kernel::{Ps, Queue, Random};
use crate::mechanism::pads::LogAndDataPads;
use crate::message::{BaseImage, CoreId, Event, Line, LineBytes, LogRegion, Observer, WriteToken};
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
        host_memory::check([Needs::of_lines(machine, design)].into_iter(), 1)?;
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
        let Self { queue, controller, device, observer, .. } = self;
        controller.accept_read(&mut Context { queue, device, observer }, at, line, token);
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
        let Self { queue, controller, device, observer, .. } = self;
        let mut cx = Context { queue, device, observer };
        controller.accept_write(&mut cx, at, line, bytes, &[0; 64], WriteToken(token), counter_atomic);
    }

    /// Sends a `counter_cache_writeback` for the counters around `line` that reaches the controller at `at`.
    pub fn write_back_counters(&mut self, at: Ps, line: Line, token: u32) {
        let Self { queue, controller, device, observer, .. } = self;
        controller.accept_counter_writeback(&mut Context { queue, device, observer }, at, line, WriteToken(token));
    }

    /// `line`, which rests encrypted in the caches above, is about to turn dirty there: `core` asks for its next counter, which
    /// reaches the controller at `at`.
    pub fn turn_dirty(&mut self, at: Ps, core: CoreId, line: Line) {
        let Self { queue, controller, device, observer, .. } = self;
        controller.accept_bump(&mut Context { queue, device, observer }, at, core, line);
    }

    /// Begins a transaction of `core`; that reaches the log manager at `at`.
    pub fn begin_transaction(&mut self, at: Ps, core: CoreId) {
        let Self { queue, controller, device, observer, .. } = self;
        controller.accept_transaction_begin(&mut Context { queue, device, observer }, at, core);
    }

    /// Sends the old bytes of `line` for the log of the transaction of `core`; they reach the log manager at `at`. A core
    /// sends the next after the answer to this.
    pub fn log(&mut self, at: Ps, core: CoreId, line: Line, old: &LineBytes) {
        let Self { queue, controller, device, observer, .. } = self;
        controller.accept_log(&mut Context { queue, device, observer }, at, core, line, old);
    }

    /// Ends the transaction of `core`; that reaches the log manager at `at`.
    pub fn end_transaction(&mut self, at: Ps, core: CoreId) {
        let Self { queue, controller, device, observer, .. } = self;
        controller.accept_transaction_end(&mut Context { queue, device, observer }, at, core);
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

/// What the controller needs to encrypt for `design`: `None` for plaintext memory.
pub(crate) fn encryption_parts(
    machine: &Machine,
    design: &Design,
    seed: u64,
) -> Result<Option<EncryptionParts>, ConfigError> {
    let Some(parts) = design.encryption else { return Ok(None) };
    let (keys, key_bits, capacity) =
        (Keys::from_seed(seed), machine.controller.aes_key_bits, machine.device.capacity.0);
    let data = PadCipher::new(&keys.data, key_bits, capacity)?;
    let mut pads: Box<dyn PadSource> = Box::new(data.clone());
    let mut log = None;
    if let Some(part) = design.log {
        let region = log_region(machine, part);
        pads = Box::new(LogAndDataPads { data, log: PadCipher::new(&keys.log, key_bits, capacity)?, region });
        log = Some(LogParts {
            region,
            encryption: part.encryption,
            order: part.order,
            chains: part.chains,
            feedback: Box::new(FeedbackCipher::new(&keys.log, key_bits)?),
            random: Random::stream(seed, "log.initial-vectors"),
        });
    }
    let scheme = (parts.counters)(&machine.counters);
    let log_path = log.as_ref().and_then(|log| match log.encryption {
        LogEncryption::Counter { write_path } => Some(write_path),
        LogEncryption::Feedback => None,
    });
    for path in [Some(parts.write_path), log_path].into_iter().flatten().filter(|path| path.admits_bumped_block()) {
        bump_leaves_block(design, scheme.as_ref(), parts.update, path)?;
    }
    Ok(Some(EncryptionParts { parts, scheme, pads, log }))
}

/// Refuses parts that do not go together: `path` admits the block that a bump leaves, and a bump leaves none, or one without
/// the counter that it gave out.
fn bump_leaves_block(
    design: &Design,
    scheme: &dyn CounterScheme,
    update: CounterUpdate,
    path: &dyn WritePath,
) -> Result<(), ConfigError> {
    let how = if path.at_bump() == Admit::Counter { "appends it at the bump" } else { "stages it with the line" };
    let why = if scheme.global() {
        "a global counter comes from its register, not from a block: take split or per-line counters, or ready pairs"
    } else if update == CounterUpdate::WithData {
        "with CounterUpdate::WithData the block has the new counter only when the data is queued: take          CounterUpdate::AtBump, or ready pairs"
    } else {
        return Ok(());
    };
    Err(ConfigError(format!(
        "design '{}' has no counter block for a write path that {how}, because {why}",
        design.name
    )))
}

/// Where the hardware's log lies on `machine`.
pub(crate) fn log_region(machine: &Machine, log: HardwareLog) -> LogRegion {
    LogRegion {
        first: Geometry::of(machine).log_start(),
        buckets: machine.log.buckets,
        records: machine.log.bucket_records,
        layout: log.layout,
    }
}

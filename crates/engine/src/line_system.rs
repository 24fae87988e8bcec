//! Controller and device alone, driven by lines: what a line-only trace or another simulator's cores mount.

use crate::cipher::{Keys, PadCipher};
use crate::config::{ConfigError, Machine};
use crate::controller::{Context, Controller, EncryptionParts, Response};
use crate::design::parts::Design;
use crate::device::Device;
use crate::kernel::{Ps, Queue};
use crate::message::{BaseImage, Event, Line, LineBytes, Observer, WriteToken};
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
        let encryption = encryption_parts(machine, design, seed)?;
        let controller = Controller::new(machine, encryption, 1, usize::from(device.banks()), Vec::new());
        Ok(Self { queue: Queue::new(), controller, device, observer, responses: Vec::new() })
    }

    /// The current simulated time in picoseconds.
    pub fn now(&self) -> Ps {
        self.queue.now()
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
        let Self { queue, controller, device, observer, .. } = self;
        controller.accept_write(&mut Context { queue, device, observer }, at, line, bytes, WriteToken(token), false);
    }

    /// The same of a line that holds a `CounterAtomic` variable.
    pub fn write_counter_atomic(&mut self, at: Ps, line: Line, bytes: &LineBytes, token: u32) {
        let Self { queue, controller, device, observer, .. } = self;
        controller.accept_write(&mut Context { queue, device, observer }, at, line, bytes, WriteToken(token), true);
    }

    /// Sends a `counter_cache_writeback` for the counters around `line` that reaches the controller at `at`.
    pub fn write_back_counters(&mut self, at: Ps, line: Line, token: u32) {
        let Self { queue, controller, device, observer, .. } = self;
        controller.accept_counter_writeback(&mut Context { queue, device, observer }, at, line, WriteToken(token));
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

    /// Writes out what is queued, whatever the watermarks say.
    pub fn flush(&mut self) {
        let Self { queue, controller, device, observer, .. } = self;
        controller.flush(&mut Context { queue, device, observer });
    }
}

/// What the controller needs to encrypt for `design`: `None` for plaintext memory.
pub(crate) fn encryption_parts(
    machine: &Machine,
    design: &Design,
    seed: u64,
) -> Result<Option<EncryptionParts>, ConfigError> {
    let Some(parts) = design.encryption else { return Ok(None) };
    let pads = PadCipher::new(&Keys::from_seed(seed).data, machine.controller.aes_key_bits, machine.device.capacity.0)?;
    Ok(Some(EncryptionParts { parts, scheme: (parts.counters)(&machine.counters), pads: Box::new(pads) }))
}

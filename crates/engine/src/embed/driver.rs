//! Drives controller and device: keeps what its client knows of each request until it is answered. Another simulator is a
//! client ([`Memory`](super::Memory)), and so are traces of memory lines and what a boot takes.

use crate::assembly::LineSystem;
use crate::assembly::host_memory::{self, Needs};
use crate::config::Machine;
use crate::controller::Response;
use crate::kernel::{ConfigError, Ps, Slab};
use crate::message::{BaseImage, LineBytes, Observer, WriteToken};
use crate::parts::Design;
use std::sync::Arc;

/// A line system with what is known of each request in flight. A copy is independent of the original, and goes on from the
/// same state.
#[derive(Clone)]
pub(crate) struct Driver<O, T> {
    pub system: LineSystem<O>,
    pub under_way: Slab<T>,
    /// Those that the last event has answered.
    pub answered: Vec<Answered<T>>,
}

/// A request that is answered.
#[derive(Clone, Copy)]
pub(crate) struct Answered<T> {
    pub token: u32,
    /// What is known of it.
    pub request: T,
    /// What a read has found; otherwise zeros.
    pub bytes: LineBytes,
}

impl<O: Observer, T: Copy> Driver<O, T> {
    /// Controller and device of `machine` with `design`, over `base`, if this computer has the memory for them; keys come
    /// from `seed`.
    pub fn new(
        machine: &Machine,
        design: &Design,
        base: Arc<dyn BaseImage>,
        seed: u64,
        observer: O,
    ) -> Result<Self, ConfigError> {
        host_memory::check([Needs::of_lines(machine, design)].into_iter(), 1)?;
        LineSystem::new(machine, design, base, seed, observer).map(Self::over)
    }

    /// `system`, to which nothing has been sent.
    pub fn over(system: LineSystem<O>) -> Self {
        Self { system, under_way: Slab::default(), answered: Vec::new() }
    }

    /// Sends a request, with `send`, which is given its token.
    pub fn send(&mut self, request: T, send: impl FnOnce(&mut LineSystem<O>, u32)) {
        let token = self.under_way.insert(request);
        send(&mut self.system, token);
    }

    /// Whether an event comes at or before `until`.
    pub fn is_due(&self, until: Ps) -> bool {
        self.system.next_event_at().is_some_and(|at| at <= until)
    }

    /// Handles the next event, and notes its answers; returns whether there is one.
    pub fn advance(&mut self) -> bool {
        self.answered.clear();
        let Some(responses) = self.system.advance() else { return false };
        for response in responses {
            let (token, bytes) = match *response {
                Response::Read { token, bytes } => (token, bytes),
                Response::Written { token: WriteToken(token) } => (token, [0; 64]),
                Response::Install { .. } => continue,
                Response::TransactionBegun { .. }
                | Response::Logged { .. }
                | Response::CounterIncremented { .. }
                | Response::TransactionEnded { .. } => unreachable!("only caches ask for these"),
            };
            self.under_way.release(token);
            self.answered.push(Answered { token, request: self.under_way[token], bytes });
        }
        true
    }
}

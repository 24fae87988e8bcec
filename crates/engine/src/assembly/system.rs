//! The only file that knows every stage: it owns them and routes messages between them.

use super::encryption::log_is_known;
use super::memory_map::shadow_region;
use super::over_time::{Counting, OverTime};
use super::warm::warm;
use super::{encryption_parts, line_cipher};
use crate::cache::{BufferParts, CacheParts, Hierarchy};
use crate::config::{Machine, ProgramBase, RunConfig};
use crate::controller::{Context, Controller, EncryptionParts, Response};
use crate::cpu::{Core, CoreContext};
use crate::device::Device;
use crate::kernel::{ConfigError, Ps, Queue};
use crate::layout::ShadowRegisters;
use crate::message::{
    BaseImage, CachePort, CoreEvent, CoreId, Event, Line, LineBytes, NoObserver, Observer, OnChipLine, OpSource,
    ProgramLayout, Wake,
};
use crate::parts::{Counter, Design, PersistenceDomain};
use crate::stats;
use std::ops::ControlFlow;
use std::sync::Arc;

/// What runs on a system: one program per core, the memory they start from, and where they keep their data.
pub struct Job {
    /// Populated memory.
    pub base: Arc<dyn BaseImage>,
    /// One program per core.
    pub programs: Vec<Box<dyn OpSource>>,
    /// Where the programs keep their logs, for statistics.
    pub layouts: Vec<ProgramLayout>,
}

/// A machine running a design, from the first event to the last.
pub struct System<O> {
    /// The event queue, which also holds the time.
    pub queue: Queue<Event>,
    /// The cores.
    pub cores: Vec<Core>,
    /// The caches.
    pub cache: Hierarchy,
    /// The memory controller.
    pub controller: Controller,
    /// The non-volatile device.
    pub device: Device,
    /// The observer of all events.
    pub observer: O,
    /// Warm-up transactions per core; measuring begins when every core has completed them.
    warmup: u64,
    measuring_since: Option<Ps>,
    over_time: OverTime,
    flushed: bool,
    /// When the core of the last event continues, if it does: a step that is not in the queue yet.
    next_step: Option<(Ps, CoreId)>,
    responses: Vec<Response>,
    wakes: Vec<(CoreId, Wake)>,
}

impl<O: Observer> System<O> {
    /// Assembles `design` on the machine of `config` with `job` on its cores.
    pub fn new(config: &RunConfig, design: &Design, job: Job, observer: O) -> Result<Self, ConfigError> {
        let machine = &config.machine;
        let device = Device::new(machine, design.media_layout(machine), Arc::clone(&job.base))?
            .encrypting(machine, design.modules.is_some());
        let encryption = encryption_parts(machine, design, config.seed, &job.base)?;
        let log = job.layouts.iter().map(|layout| Line::containing(layout.log.start)..Line::containing(layout.log.end));
        log_is_known(design, job.layouts.iter().any(|layout| !layout.log.is_empty()))?;
        let cores = job.programs.len() as u16;
        let mut cache = caches(machine, design, cores, encryption.as_ref())?;
        let cipher = line_cipher(machine, design, config.seed)?;
        let mut controller = Controller::new(machine, encryption, cores, usize::from(device.banks()), log.collect())
            .encrypting(machine, cipher, design.modules.is_some());
        if machine.program.base == ProgramBase::Warm {
            let parts = (&mut cache, &mut controller, &device);
            warm(machine, parts, job.base.as_ref(), &job.layouts, config.seed);
        }
        Ok(Self {
            queue: Queue::new(),
            cores: (0..cores)
                .zip(job.programs)
                .map(|(id, program)| Core::new(id, machine, program).with_shredding(design.shreds_pages()))
                .collect(),
            cache,
            controller,
            device,
            observer,
            warmup: config.warmup,
            measuring_since: (config.warmup == 0).then_some(0),
            over_time: OverTime::NONE,
            flushed: false,
            next_step: None,
            responses: Vec::new(),
            wakes: Vec::new(),
        })
    }

    /// Has the run reported in windows of `length` picoseconds, if there is one. Must be called before it begins.
    pub fn report_windows(&mut self, length: Option<Ps>) {
        self.over_time = OverTime::new(length, &self.device);
    }

    /// The windows of the run, which has ended, if it is reported in any.
    ///
    /// # Errors
    /// There are too many.
    pub fn take_windows(&mut self) -> Result<Option<stats::Windows>, ConfigError> {
        let (now, measured_from) = (self.queue.now(), self.measuring_since.unwrap_or(0));
        let (over_time, counting) = self.counting();
        over_time.finish(now, counting, measured_from)
    }

    fn counting(&mut self) -> (&mut OverTime, Counting<'_>) {
        let Self { cores, controller, device, over_time, .. } = self;
        (over_time, Counting { cores, controller, device })
    }

    /// A copy of the machine in its present state, which runs on by itself and tells `observer`. Cores do not check what
    /// they load: somebody may change what the copy has. The machine itself must not run while the copy does.
    pub(crate) fn copy<P: Observer>(&self, observer: P) -> System<P> {
        let unchecked = |core: &Core| core.clone().unchecked();
        let mut queue = self.queue.clone();
        if let Some((at, core)) = self.next_step {
            queue.schedule(at, CoreEvent::Step { core });
        }
        System {
            queue,
            cores: self.cores.iter().map(unchecked).collect(),
            cache: self.cache.clone(),
            controller: self.controller.clone(),
            device: self.device.clone(),
            observer,
            warmup: self.warmup,
            measuring_since: self.measuring_since,
            over_time: OverTime::NONE,
            flushed: self.flushed,
            next_step: None,
            responses: Vec::new(),
            wakes: Vec::new(),
        }
    }

    /// The line of the request that reaches the controller in the next event, if one does.
    pub(crate) fn next_access(&self) -> Option<Line> {
        let (at, event) = self.queue.peek()?;
        if self.next_step.is_some_and(|(step, _)| step < at) {
            return None;
        }
        match event {
            Event::Controller(event) => self.controller.arriving(event),
            Event::Core(_) => None,
        }
    }

    /// The lines that leave if power fails now, as stored on the chip, in the order of their slots: the dirty ones of the caches,
    /// those of persist buffers, or those of accepted writes.
    pub fn on_chip(&self) -> Vec<OnChipLine> {
        if let Some(accepted) = self.controller.accepted() {
            return accepted;
        }
        let mut lines = self.cache.on_chip();
        for line in &mut lines {
            // Lines that the simulator's caches hold unencrypted were encrypted when they became dirty.
            if let Some(resident) = self.controller.encrypt_resident(line.line, &line.resident) {
                line.resident = resident;
            }
        }
        lines
    }

    /// Starts a prefetch by `core`, for which nothing waits.
    pub(crate) fn prefetch(&mut self, core: CoreId, line: Line) {
        // Nothing waits for it, whether there was a free register or not.
        let _ = self.cache.own(self.queue.now(), core, line, true);
        let Self { queue, cores, cache, controller, device, observer, responses, wakes, .. } = self;
        let observer: &mut dyn Observer = observer;
        Stages { queue, cores, cache, controller, device, observer, responses, wakes }.route();
    }

    /// When measuring began, in picoseconds.
    pub fn measuring_since(&self) -> Option<Ps> {
        self.measuring_since
    }

    /// Number of transactions that all cores have ended since the start.
    pub fn transactions_ended(&self) -> u64 {
        self.cores.iter().map(Core::transactions_ended).sum()
    }

    /// Runs until no event is left, or until `after`, which is called after each event, stops the run. A power failure
    /// may fall wherever `after` is called.
    pub fn run(&mut self, after: impl FnMut(&mut Self) -> ControlFlow<()>) {
        self.run_noting_rest(after, |_| {});
    }

    /// Runs like [`Self::run`], and calls `rest` when the programs have ended and nothing is in flight, before the
    /// contents of the queues are written out.
    pub fn run_noting_rest(&mut self, after: impl FnMut(&mut Self) -> ControlFlow<()>, rest: impl FnMut(&Self)) {
        for core in &mut self.cores {
            core.start(&mut self.queue);
        }
        self.run_on(after, rest);
    }

    /// Runs on from the present state, like [`Self::run_noting_rest`].
    pub(crate) fn run_on(&mut self, mut after: impl FnMut(&mut Self) -> ControlFlow<()>, mut rest: impl FnMut(&Self)) {
        while let Some(event) = self.next_event(&mut rest) {
            let mut event = event;
            loop {
                let now = self.queue.now();
                if now >= self.over_time.ends {
                    let (over_time, counting) = self.counting();
                    over_time.pass(now, counting);
                }
                self.next_step = self.handle(event);
                if self.measuring_since.is_none() {
                    self.begin_measuring_if_warm();
                }
                self.observer.event_over(self.queue.now());
                if after(self).is_break() {
                    return;
                }
                let Some((at, core)) = self.next_step else { break };
                event = CoreEvent::Step { core }.into();
                if !self.queue.take_if_next(at, event) {
                    break;
                }
            }
        }
    }

    /// The next event. When the programs have ended and all banks are free, the contents of the queues are written out.
    fn next_event(&mut self, rest: &mut impl FnMut(&Self)) -> Option<Event> {
        self.controller.next_event(&mut self.queue).or_else(|| {
            if std::mem::replace(&mut self.flushed, true) {
                return None;
            }
            rest(self);
            let Self { queue, device, observer, controller, .. } = self;
            controller.flush(&mut Context { queue, device, observer: observer as &mut dyn Observer });
            self.queue.pop()
        })
    }

    fn begin_measuring_if_warm(&mut self) {
        if self.cores.iter().all(|core| core.transactions_ended() >= self.warmup) {
            let now = self.queue.now();
            self.measuring_since = Some(now);
            let (over_time, counting) = self.counting();
            let counted = over_time.counted(now, counting);
            self.cores.iter_mut().for_each(Core::reset_stats);
            self.cache.reset_counts();
            self.controller.reset_stats(now);
            self.device.reset_stats();
            let (over_time, counting) = self.counting();
            over_time.restart(now, counted, counting);
        }
    }

    /// Handles one event, and routes what it sends. Returns when a core that can continue wants to, and which.
    fn handle(&mut self, event: Event) -> Option<(Ps, CoreId)> {
        let Self { queue, cores, cache, controller, device, observer, responses, wakes, .. } = self;
        if observer.listens() {
            let observer: &mut dyn Observer = observer;
            Stages { queue, cores, cache, controller, device, observer, responses, wakes }.handle(event)
        } else {
            let observer = &mut NoObserver;
            Stages { queue, cores, cache, controller, device, observer, responses, wakes }.handle(event)
        }
    }
}

/// The stages of a system at work on one event.
struct Stages<'a, O: ?Sized> {
    queue: &'a mut Queue<Event>,
    cores: &'a mut [Core],
    cache: &'a mut Hierarchy,
    controller: &'a mut Controller,
    device: &'a mut Device,
    observer: &'a mut O,
    responses: &'a mut Vec<Response>,
    wakes: &'a mut Vec<(CoreId, Wake)>,
}

impl<O: Observer + ?Sized> Stages<'_, O> {
    fn handle(&mut self, event: Event) -> Option<(Ps, CoreId)> {
        let Self { queue, cores, cache, controller, device, observer, .. } = self;
        let mut next_step = None;
        match event {
            Event::Core(CoreEvent::Step { core }) => {
                let at = cores[usize::from(core)].step(&mut CoreContext { queue, cache: *cache, observer: *observer });
                next_step = at.map(|at| (at, core));
            }
            Event::Core(CoreEvent::LoadIssue { core, slot }) => {
                let cx = &mut CoreContext { queue, cache: *cache, observer: *observer };
                cores[usize::from(core)].load_issue(cx, slot.into());
            }
            Event::Core(CoreEvent::StoreBufferStep { core }) => {
                cores[usize::from(core)].store_step(&mut CoreContext { queue, cache: *cache, observer: *observer });
            }
            Event::Core(CoreEvent::FlushDone { core }) => {
                cores[usize::from(core)].flush_done(&mut CoreContext { queue, cache: *cache, observer: *observer });
            }
            Event::Core(CoreEvent::Reported { core }) => {
                let count = cores[usize::from(core)].reported();
                let others = (0..).zip(cores.iter_mut()).filter(|&(other, _)| other != core);
                others.for_each(|(_, other)| other.hear(queue, core, count));
            }
            Event::Controller(event) => {
                controller.handle(&mut Context { queue, device: *device, observer: *observer }, event);
            }
        }
        self.route();
        next_step
    }

    /// Passes requests down and answers up until nothing is in flight between stages.
    fn route(&mut self) {
        let Self { queue, cores, cache, controller, observer, responses, wakes, .. } = self;
        while !cache.quiet() || controller.has_responses() {
            for &line in &cache.evicted {
                observer.evicted(queue.now(), line);
            }
            cache.evicted.clear();
            // Not moved out one by one: a request is two lines long.
            for request in cache.requests().as_slice() {
                let (at, event) = controller.accept(request);
                queue.schedule(at, event);
            }
            let now = queue.now();
            controller.take_responses(responses);
            for response in responses.drain(..) {
                match response {
                    Response::Read { token, bytes } => cache.read_done(now, token, &bytes),
                    Response::Written { token } => cache.write_acked(now, token),
                    Response::TransactionBegun { core } => cache.transaction_begun(now, core),
                    Response::CounterIncremented { core } => cache.counter_incremented(now, core),
                    Response::Logged { core } => cache.logged(now, core),
                    Response::TransactionEnded { core } => cache.transaction_ended(now, core),
                    Response::Install { line, bytes } => cache.install_clean(now, line, &bytes),
                }
            }
            cache.take_wakes(wakes);
            for (core, wake) in wakes.drain(..) {
                let cx = &mut CoreContext { queue, cache: *cache, observer: *observer };
                cores[usize::from(core)].wake(cx, wake);
            }
        }
    }
}

/// The empty caches of `design`, with the pads of a first boot if the caches use pads.
fn caches(
    machine: &Machine,
    design: &Design,
    cores: u16,
    encryption: Option<&EncryptionParts>,
) -> Result<Hierarchy, ConfigError> {
    let region = shadow_region(machine, design, cores);
    let boot = Counter { major: ShadowRegisters::default().boot_counter, minor: 0 };
    let pad_of_slot = |slot| -> LineBytes {
        let (Some(region), Some(encryption)) = (region, encryption) else { return [0; 64] };
        encryption.pads.pad(region.pad_line(slot), boot)
    };
    let buffers = match design.domain {
        PersistenceDomain::PersistBuffers { release, .. } => Some(BufferParts {
            entries: machine.eadr.persist_buffer_entries,
            watermark: machine.eadr.persist_buffer_watermark,
            release,
        }),
        PersistenceDomain::Adr | PersistenceDomain::AcceptedWrites { .. } | PersistenceDomain::Eadr { .. } => None,
    };
    let (pads, persistent) = (design.cache_pads, design.caches_persist());
    Hierarchy::new(machine, cores, CacheParts { pads, persistent, buffers, pad_of_slot: &pad_of_slot })
}

//! One boot. [`Boot::step`] performs the next indivisible step until memory is ready for the program. Then the boot is
//! the program's memory: a [`ByteView`] that decrypts reads and encrypts writes with fresh counters.
//!
//! Power may be lost again after any step: the next boot begins with [`Boot::power_lost`] and [`Boot::memory`].

use super::media_writer::{MediaWriter, WriteStep};
use super::restore::{Cached, LiveSlot, ShadowContents, last_stamp, packed_slots, slot_pad};
use super::undo::{Undo, UndoStep};
use super::watched::Watched;
use super::{AdrSnapshot, Alarm, GlobalCounter, HeldState, LineCodec, Media, Memory, Work};
use crate::layout::{LogSnapshot, ShadowRegion, ShadowRegisters};
use crate::message::{
    ByteView, CoreId, CounterBlock, CounterGroup, Line, LineBytes, MacBlock, MediaLine, MediaUnit, Observer,
    ProgramRecovery, RecoveryReport, pieces, xor,
};
use crate::parts::{RecoveryStep, RestoreInto, ShadowTree, StampSource};

/// A step that a boot has just performed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BootStep {
    /// A queued write reached the media on battery power.
    Drained(MediaLine),
    /// The registers of the ADR domain were loaded, or set from the contents of the media.
    RegistersLoaded,
    /// The status register took a page because a write of the boot would overflow its minor counters.
    ReencryptionBegan(CounterGroup),
    /// A line of an interrupted page re-encryption was re-encrypted.
    Reencrypted(Line),
    /// The status register was freed.
    ReencryptionFinished,
    /// A line was restored from the hardware's log.
    Undone(Line),
    /// The log metadata registers of this core's transaction were freed.
    LogFreed(CoreId),
    /// An unencrypted line was encrypted.
    Encrypted(Line),
    /// The boot counter was incremented.
    BootCounterAdvanced,
    /// A line of the shadow cache was restored to its cache slot or to memory.
    Restored {
        /// The slot that held it.
        slot: u64,
        /// The line that was restored.
        line: Line,
    },
    /// A register records that the shadow cache has been restored completely, and no longer has a root of it.
    ShadowConsumed,
    /// The restored line in this cache slot was encrypted with the pad of the current boot counter.
    CachePadRenewed(u64),
    /// A line that the program wrote was written.
    Written(Line),
    /// A counter block was written with counters that were lost with its cache.
    CountersRecovered(CounterBlock),
    /// A line of MACs was written with MACs that were lost with its cache.
    MacsRecovered(MacBlock),
    /// The nodes of the integrity tree that do not persist were computed, and the root compared with its register.
    TreeRebuilt,
    /// The counter blocks and nodes that were only in the metadata caches were restored to them.
    ContentsRestored,
}

enum Phase {
    Drain(usize),
    LoadRegisters,
    Recovery { step: usize },
    Undo { step: usize, undo: Undo },
    Restore { step: usize, region: ShadowRegion, into: RestoreInto, left: Vec<LiveSlot> },
    RenewPads { step: usize, slot: u64 },
    Recover { step: usize, left: std::vec::IntoIter<(MediaLine, LineBytes)> },
    Ready,
}

/// A write that is performed step by step.
struct Writing {
    line: Line,
    plaintext: LineBytes,
    /// The step that is reported when the write is complete.
    done: BootStep,
}

/// A machine during its boot.
pub struct Boot<'a, O> {
    pub(super) path: MediaWriter<'a>,
    snapshot: &'a AdrSnapshot,
    steps: &'a [RecoveryStep],
    /// The surviving log metadata registers that have not been freed.
    log: Vec<LogSnapshot>,
    registers: ShadowRegisters,
    pub(super) cached: Cached,
    writing: Option<Writing>,
    writes: u64,
    phase: Phase,
    pub(super) observer: O,
}

impl<'a, O: Observer> Boot<'a, O> {
    /// A boot from `media` and `snapshot`, with the design's encryption (`None`: plaintext memory) and recovery steps.
    /// `observer` is informed of every write.
    pub fn new(
        media: &'a dyn Media,
        snapshot: &'a AdrSnapshot,
        codec: Option<&'a dyn LineCodec>,
        steps: &'a [RecoveryStep],
        observer: O,
    ) -> Self {
        let mut path = MediaWriter::new(media, codec);
        path.recovers_counters =
            [RecoveryStep::RecoverCounters, RecoveryStep::ApplyUpdates].iter().any(|step| steps.contains(step));
        Self {
            path,
            snapshot,
            steps,
            log: Vec::new(),
            registers: ShadowRegisters::default(),
            cached: Cached::default(),
            writing: None,
            writes: 0,
            phase: Phase::Drain(0),
            observer,
        }
    }

    /// Performs the next step. Returns `None` when memory is ready for the program and no write is in progress.
    pub fn step(&mut self) -> Option<BootStep> {
        loop {
            if self.path.alarm.is_some() {
                return None;
            }
            if let Some(step) = self.write_step() {
                return Some(step);
            }
            match self.phase {
                Phase::Undo { step, ref mut undo } => match undo.next() {
                    Some(UndoStep::Restore(line, old)) => self.begin_write(line, old, BootStep::Undone(line)),
                    Some(UndoStep::Free(core)) => {
                        self.log.retain(|set| set.core != core);
                        self.observer.log_freed(0, core);
                        return Some(BootStep::LogFreed(core));
                    }
                    None => self.phase = Phase::Recovery { step: step + 1 },
                },
                Phase::Drain(next) => match self.snapshot.wpq.get(next) {
                    Some((media, bytes)) => {
                        self.path.store(*media, bytes);
                        self.phase = Phase::Drain(next + 1);
                        return Some(BootStep::Drained(*media));
                    }
                    None => self.phase = Phase::LoadRegisters,
                },
                Phase::LoadRegisters => {
                    self.load_registers();
                    self.phase = Phase::Recovery { step: 0 };
                    return Some(BootStep::RegistersLoaded);
                }
                Phase::Restore { step, region, into, ref mut left } => match left.pop() {
                    Some(slot) => {
                        if let Some(done) = self.restore(slot, region, into) {
                            return Some(done);
                        }
                    }
                    None => {
                        self.phase = Phase::Recovery { step: step + 1 };
                        let last = last_stamp(&self.registers);
                        if into == RestoreInto::Memory && self.registers.consumed < last {
                            (self.registers.consumed, self.registers.root) = (last, [0; 64]);
                            return Some(BootStep::ShadowConsumed);
                        }
                    }
                },
                Phase::RenewPads { step, slot } => match self.renew_pad(slot) {
                    Some(renewed) => {
                        self.phase = Phase::RenewPads { step, slot: renewed + 1 };
                        return Some(BootStep::CachePadRenewed(renewed));
                    }
                    None => self.phase = Phase::Recovery { step: step + 1 },
                },
                Phase::Recover { step, ref mut left } => match left.next() {
                    Some((media, bytes)) => {
                        self.path.store(media, &bytes);
                        self.observer.persisted(0, media, &bytes);
                        return Some(recovered(media));
                    }
                    None => self.phase = Phase::Recovery { step: step + 1 },
                },
                Phase::Recovery { step } => {
                    if let Some(done) = self.recovery_step(step) {
                        return Some(done);
                    }
                }
                Phase::Ready => return None,
            }
        }
    }

    /// Performs steps until the registers are loaded: from then on, lines read as the power failure left them.
    pub fn load(&mut self) {
        while let Some(step) = self.step() {
            if step == BootStep::RegistersLoaded {
                break;
            }
        }
    }

    /// Performs every remaining step.
    pub fn finish(&mut self) {
        while self.step().is_some() {}
    }

    /// Runs the program's own recovery on `core`. Memory must be ready.
    pub fn recover_program(&mut self, program: &dyn ProgramRecovery, core: CoreId) -> RecoveryReport {
        program.recover(core, self)
    }

    /// Runs the program's own recovery on `core`, and calls `after` after each step of each write, where power may be
    /// lost again. Memory must be ready.
    pub fn recover_program_watched(
        &mut self,
        program: &dyn ProgramRecovery,
        core: CoreId,
        after: &mut dyn FnMut(&Self, BootStep),
    ) -> RecoveryReport {
        program.recover(core, &mut Watched { boot: self, after })
    }

    /// Ends the boot and returns its observer.
    pub fn into_observer(self) -> O {
        self.observer
    }

    /// The state if power is lost now. The registers must have been loaded.
    pub fn power_lost(&self) -> HeldState {
        debug_assert!(!matches!(self.phase, Phase::Drain(_) | Phase::LoadRegisters), "power has not come back yet");
        let mut plain: Vec<Line> = self.path.in_the_clear.iter().copied().collect();
        plain.sort_unstable();
        HeldState {
            status: self.path.status,
            global_counter: (self.snapshot.global_counter != GlobalCounter::Lost).then_some(self.path.register),
            log: self.log.clone(),
            lines: self.cached.on_chip(),
            plain,
            registers: self.registers,
            root: self.path.root,
            roots: self.path.roots.iter().map(|(place, root)| (*place, *root)).collect(),
            table_root: self.path.table_root(),
            ..HeldState::default()
        }
    }

    /// The media with everything that the boot has written.
    pub fn memory(&self) -> &dyn Media {
        self.path.memory()
    }

    /// A copy of that, which later steps do not change.
    pub fn memory_now(&self) -> Memory<'a> {
        self.path.memory_now()
    }

    /// Number of steps that wrote to memory or to a restored line in the caches.
    pub fn writes(&self) -> u64 {
        self.writes
    }

    /// What the boot has done since the registers were loaded, with that.
    pub fn work(&self) -> Work {
        self.path.work()
    }

    /// The last value of the global counter that was used.
    pub fn global_counter(&self) -> u64 {
        self.path.register
    }

    /// The current registers of the eADR designs.
    pub fn registers(&self) -> ShadowRegisters {
        self.registers
    }

    /// The plaintext of `line`: its newest copy in the caches, or memory through the decrypting read path (see
    /// [`MediaWriter::line`]).
    pub fn line(&self, line: Line) -> LineBytes {
        self.cached.line(line).copied().unwrap_or_else(|| self.path.line(line))
    }

    /// Writes a whole line, including a page re-encryption if necessary. Memory must be ready.
    pub fn write_line(&mut self, line: Line, plaintext: &LineBytes) {
        self.write_line_watched(line, plaintext, &mut |_, _| ());
    }

    /// The pads that the next write of `line` may be encrypted with, see [`MediaWriter::next_pads`].
    pub fn next_pads(&self, line: Line) -> impl Iterator<Item = LineBytes> + use<'a, O> {
        self.path.next_pads(line)
    }

    /// The observer of the boot's writes.
    pub fn watcher(&self) -> &O {
        &self.observer
    }

    /// The observer of the boot's writes, for changes.
    pub fn observer(&mut self) -> &mut O {
        &mut self.observer
    }

    pub(super) fn write_line_watched(
        &mut self,
        line: Line,
        plaintext: &LineBytes,
        after: &mut dyn FnMut(&Self, BootStep),
    ) {
        self.begin_write(line, *plaintext, BootStep::Written(line));
        while let Some(step) = self.write_step() {
            after(self, step);
        }
    }

    fn begin_write(&mut self, line: Line, plaintext: LineBytes, done: BootStep) {
        debug_assert!(self.writing.is_none(), "one write at a time");
        self.writing = Some(Writing { line, plaintext, done });
    }

    /// The next step of the write in progress.
    fn write_step(&mut self) -> Option<BootStep> {
        if self.path.alarm.is_some() {
            self.writing = None;
        }
        let Writing { line, plaintext, done } = self.writing.as_ref()?;
        let (line, done) = (*line, *done);
        self.writes += 1;
        if self.cached.write(line, plaintext) {
            self.writing = None;
            return Some(done);
        }
        Some(match self.path.write_step(line, plaintext, &mut self.observer) {
            WriteStep::Written(_) => {
                self.writing = None;
                done
            }
            step => boot_step(step),
        })
    }

    /// Stops the machine if `line`, which is read, is refused.
    pub(super) fn check(&mut self, line: Line) {
        if let Err(alarm) = self.verify(line) {
            self.path.alarm.get_or_insert(alarm);
        }
    }

    fn load_registers(&mut self) {
        // Until now the battery has worked, and not the boot.
        self.path.forget_work();
        self.path.status = self.snapshot.status;
        self.path.root = self.snapshot.root;
        self.path.roots = self.snapshot.roots.iter().copied().collect();
        self.path.load_table(self.snapshot.table_root);
        self.path.in_the_clear.extend(&self.snapshot.plain);
        self.log.clone_from(&self.snapshot.log);
        self.registers = self.snapshot.registers;
        self.path.register = match self.snapshot.global_counter {
            GlobalCounter::Lost => 0,
            GlobalCounter::Kept(value) => value,
            GlobalCounter::Scanned => self.path.largest_counter(),
        };
    }

    /// Performs step `step` of the design's boot sequence, or starts the phase that performs it.
    fn recovery_step(&mut self, step: usize) -> Option<BootStep> {
        let next = Phase::Recovery { step: step + 1 };
        let shadow = self.path.codec().and_then(|codec| codec.shadow());
        match self.steps.get(step) {
            Some(RecoveryStep::ResumeReencryption) => match self.path.reencryption_step(&mut self.observer) {
                Some(done) => return Some(boot_step(done)),
                None => self.phase = next,
            },
            Some(RecoveryStep::UndoHardwareLog) => {
                self.phase = match self.path.codec().and_then(|codec| codec.log()) {
                    Some(log) => {
                        let undo = Undo::read(&log, &self.log, &|line| self.fetched(line));
                        Phase::Undo { step, undo }
                    }
                    None => next,
                };
            }
            Some(RecoveryStep::EncryptPlain) => match self.path.in_the_clear.iter().min().copied() {
                Some(line) => self.begin_write(line, self.fetched(line), BootStep::Encrypted(line)),
                None => self.phase = next,
            },
            Some(RecoveryStep::AdvanceBootCounter) => {
                self.registers.boot_counter += 1;
                self.phase = next;
                return Some(BootStep::BootCounterAdvanced);
            }
            Some(RecoveryStep::RestoreShadow { stamp, into }) => {
                self.phase = next;
                match shadow.map(|region| (region, self.found_slots(region, *stamp))) {
                    Some((region, Ok(left))) => self.phase = Phase::Restore { step, region, into: *into, left },
                    Some((_, Err(alarm))) => self.path.alarm = Some(alarm),
                    None => {}
                }
            }
            Some(RecoveryStep::RecoverCounters) => {
                self.phase = Phase::Recover { step, left: self.path.recovered_blocks().into_iter() };
            }
            Some(RecoveryStep::ApplyUpdates) => {
                self.phase = Phase::Recover { step, left: self.path.updated_blocks().into_iter() };
            }
            Some(step @ (RecoveryStep::RebuildTree | RecoveryStep::RestoreNodes)) => {
                self.phase = next;
                let whole = *step == RecoveryStep::RebuildTree;
                match if whole { self.path.rebuild_tree() } else { self.path.restore_nodes() } {
                    Ok(()) => return Some(BootStep::TreeRebuilt),
                    Err(alarm) => self.path.alarm = Some(alarm),
                }
            }
            Some(step @ (RecoveryStep::RestoreContents | RecoveryStep::RestoreStale)) => {
                self.phase = next;
                let entries = *step == RecoveryStep::RestoreContents;
                match if entries { self.path.restore_contents() } else { self.path.restore_stale() } {
                    Ok(()) => return Some(BootStep::ContentsRestored),
                    Err(alarm) => self.path.alarm = Some(alarm),
                }
            }
            Some(RecoveryStep::RenewCachePads) => self.phase = Phase::RenewPads { step, slot: 0 },
            None => self.phase = Phase::Ready,
        }
        None
    }

    /// The plaintext of `line` for a step of the boot.
    fn fetched(&self, line: Line) -> LineBytes {
        self.path.reads(line);
        self.line(line)
    }

    /// The stored bytes of `line` for a step of the boot.
    fn fetched_raw(&self, line: Line) -> LineBytes {
        self.path.reads(line);
        self.path.raw(line)
    }

    /// The slots of the shadow cache that hold a line. If a tree protects it, everything that is to be restored is read and
    /// compared with the root first, and stays on the chip until it is used.
    fn found_slots(&mut self, region: ShadowRegion, stamp: StampSource) -> Result<Vec<LiveSlot>, Alarm> {
        let tree = self.path.codec().and_then(|codec| codec.integrity()?.shadow.as_ref());
        if let Some(ShadowTree { macs: Some(macs), verified, .. }) = tree {
            let checked = verified.then_some(macs.as_ref());
            let slots = packed_slots(region, &self.registers, checked, &|line| self.fetched_raw(line));
            self.path.authenticated(slots.as_ref().map_or(0, |slots| slots.len() as u64));
            return slots.map_err(Alarm::ShadowMac);
        }
        let mut found = ShadowContents::read(region, stamp, &self.registers, &|line| self.fetched_raw(line));
        let Some(ShadowTree { hash, verified, .. }) = tree else { return Ok(found.slots) };
        found.read_slots(region, &|line| self.fetched_raw(line));
        let (root, hashes) = region.root(&found.lines, hash.as_ref());
        self.path.hashed(hashes);
        if *verified && root != self.registers.root { Err(Alarm::ShadowRoot) } else { Ok(found.slots) }
    }

    /// Restores the line of a slot of the shadow cache; a write to memory has only begun then.
    fn restore(&mut self, slot: LiveSlot, region: ShadowRegion, into: RestoreInto) -> Option<BootStep> {
        let codec = self.path.codec()?;
        let stored = slot.verified.unwrap_or_else(|| self.fetched_raw(region.data(slot.slot)));
        let plaintext = xor(&stored, &slot_pad(codec, region, slot.slot, slot.counter));
        self.path.made_pad();
        let done = BootStep::Restored { slot: slot.slot, line: slot.line };
        match into {
            RestoreInto::Memory => {
                self.begin_write(slot.line, plaintext, done);
                None
            }
            RestoreInto::Caches => {
                self.cached.put(slot.slot, slot.line, plaintext);
                Some(done)
            }
        }
    }

    /// Encrypts the first restored line at or after `slot` with the pad of the current boot counter.
    fn renew_pad(&mut self, slot: u64) -> Option<u64> {
        let codec = self.path.codec()?;
        let slot = self.cached.next_slot(slot)?;
        self.path.made_pad();
        self.cached.encrypt(slot, slot_pad(codec, codec.shadow()?, slot, self.registers.boot_counter));
        Some(slot)
    }
}

/// The step that has written `media`, which was lost with its cache.
fn recovered(media: MediaLine) -> BootStep {
    match media.unit() {
        MediaUnit::Mac(block) => BootStep::MacsRecovered(block),
        MediaUnit::Counter(block) => BootStep::CountersRecovered(block),
        other => unreachable!("{other:?} is not recovered by itself"),
    }
}

fn boot_step(step: WriteStep) -> BootStep {
    match step {
        WriteStep::Written(line) => BootStep::Written(line),
        WriteStep::Began(group) => BootStep::ReencryptionBegan(group),
        WriteStep::Reencrypted(line) => BootStep::Reencrypted(line),
        WriteStep::Finished => BootStep::ReencryptionFinished,
    }
}

impl<O: Observer> ByteView for Boot<'_, O> {
    fn read(&mut self, address: u64, buffer: &mut [u8]) {
        for (line, offset, piece) in pieces(address, buffer.len()) {
            self.check(line);
            let bytes = self.line(line);
            let length = piece.len();
            buffer[piece].copy_from_slice(&bytes[offset..offset + length]);
        }
    }

    fn write(&mut self, address: u64, data: &[u8]) {
        Watched { boot: self, after: &mut |_, _| () }.write(address, data);
    }
}

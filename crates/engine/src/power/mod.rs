//! What happens after power loss: to the registers that survive, to the write pending queue, and, on battery, to what
//! leaves the caches.
//!
//! Fault model: power fails between two events. The battery supports what its model says (sepencr Table I), and every
//! operation is checked against it. A design that needs more is stopped there; what has left until then stays.

mod buffers;
mod losses;
mod misread;

#[cfg(test)]
mod tests;

use crate::assembly::memory_map;
use crate::config::{GlobalRegister, Machine};
use crate::controller::ControllerSnapshot;
use crate::device::Image;
use crate::kernel::Ps;
use crate::layout::{ShadowRegion, ShadowRegisters, SlotMetadata};
use crate::message::{Content, DrainedWrite, Line, LineBytes, MediaLine, MediaUnit, Observer, OnChipLine, xor};
use crate::parts::{
    Battery, BufferSave, CachePads, Counter, CrashDrain, Design, Domain, Forbidden, MacSource, OnBattery, RecoveryStep,
    RegisterName,
};
use crate::recovery::{
    AdrSnapshot, Boot, GlobalCounter, HeldState, LineCodec, Media, MediaWriter, ReencryptionStatus, Work, WriteStep,
};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use losses::Losses;

/// What survives of the global counter's register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GlobalCounterSurvives {
    /// The value survives.
    Value,
    /// Nothing survives; the boot searches for the largest counter on the media.
    AsScanned,
    /// Nothing survives.
    Not,
}

/// What survives: registers of the controller and of a machine during boot, and the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Survival {
    /// What the write pending queue holds, and what leaves the chip on battery: both go to the media.
    pub queue: bool,
    /// The re-encryption status register.
    pub status: bool,
    /// The log metadata registers.
    pub log: bool,
    /// The global counter's register.
    pub global_counter: GlobalCounterSurvives,
    /// The incr-counter of bbe.
    pub incr_counter: bool,
    /// The boot counter.
    pub boot_counter: bool,
    /// The stamp up to which the shadow cache has been restored.
    pub consumed: bool,
    /// The root of the tree over the shadow cache.
    pub shadow_root: bool,
    /// The root of the integrity tree.
    pub root: bool,
    /// The root of the tree over the shadow table, or over what is newer in the metadata caches.
    pub table_root: bool,
    /// The lines on the chip with bits for what is newer there, or with partial updates.
    pub chip_lines: bool,
    /// Where wear levelling has put lines.
    pub places: bool,
}

impl Survival {
    /// Every register survives.
    pub const OF_ALL: Survival = Survival {
        queue: true,
        status: true,
        log: true,
        global_counter: GlobalCounterSurvives::Value,
        incr_counter: true,
        boot_counter: true,
        consumed: true,
        shadow_root: true,
        root: true,
        table_root: true,
        chip_lines: true,
        places: true,
    };

    /// Which registers of `design` survive on `machine`, and whether its queue does. Registers survive wherever the persistence
    /// domain of a link begins (decision).
    pub fn of(design: &Design, machine: &Machine) -> Self {
        let global_register = machine.counters.global_register;
        let survives = |name| matches!(design.register_domain(name), Domain::Adr | Domain::NonVolatile);
        Self {
            queue: machine.link.keeps_queue(),
            status: survives(RegisterName::ReencryptionStatus),
            log: survives(RegisterName::LogMetadata),
            global_counter: match (design.register_domain(RegisterName::GlobalCounter), global_register) {
                (Domain::Adr | Domain::NonVolatile, _) | (Domain::Configured, GlobalRegister::Adr) => {
                    GlobalCounterSurvives::Value
                }
                (Domain::Configured, GlobalRegister::MaxScan) => GlobalCounterSurvives::AsScanned,
                (Domain::Configured, GlobalRegister::Volatile) | (Domain::Absent | Domain::Volatile, _) => {
                    GlobalCounterSurvives::Not
                }
            },
            incr_counter: survives(RegisterName::IncrCounter),
            boot_counter: survives(RegisterName::BootCounter),
            consumed: survives(RegisterName::ShadowConsumed),
            shadow_root: survives(RegisterName::ShadowRoot),
            root: survives(RegisterName::IntegrityRoot),
            table_root: survives(RegisterName::TableRoot),
            chip_lines: survives(RegisterName::BitLines) || survives(RegisterName::UpdateLines),
            places: machine.wear.registers_durable,
        }
    }

    /// What survives of `held` without the caches: the write pending queue and these registers.
    fn keep(&self, mut held: HeldState) -> AdrSnapshot {
        if !self.queue {
            held.wpq.clear();
        }
        if self.chip_lines {
            held.wpq.append(&mut held.chip_lines);
        }
        let first = ShadowRegisters::default();
        let kept = |survives: bool, value: u64, first: u64| if survives { value } else { first };
        AdrSnapshot {
            wpq: held.wpq,
            status: held.status.filter(|_| self.status),
            global_counter: match (held.global_counter, self.global_counter) {
                (Some(value), GlobalCounterSurvives::Value) => GlobalCounter::Kept(value),
                (Some(_), GlobalCounterSurvives::AsScanned) => GlobalCounter::Scanned,
                (None, _) | (_, GlobalCounterSurvives::Not) => GlobalCounter::Lost,
            },
            log: if self.log { held.log } else { Vec::new() },
            plain: held.plain,
            registers: ShadowRegisters {
                incr_counter: kept(self.incr_counter, held.registers.incr_counter, first.incr_counter),
                boot_counter: kept(self.boot_counter, held.registers.boot_counter, first.boot_counter),
                consumed: kept(self.consumed, held.registers.consumed, first.consumed),
                root: if self.shadow_root { held.registers.root } else { first.root },
            },
            root: held.root.map(|root| if self.root { root } else { [0; 64] }),
            roots: held
                .roots
                .into_iter()
                .map(|(place, root)| (place, if self.root { root } else { [0; 64] }))
                .collect(),
            table_root: held.table_root.map(|root| if self.table_root { root } else { [0; 64] }),
        }
    }
}

/// What a power loss leaves.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Drained {
    /// Everything that survives, including what was drained on battery at the end of the queue.
    pub snapshot: AdrSnapshot,
    /// What left on battery beside the write pending queue, in order: dirty counter blocks, lines of MACs, nodes; then lines.
    pub left: Vec<DrainedWrite>,
    /// What reads as something else from then on, because nobody knows any more where it is.
    pub misread: Vec<DrainedWrite>,
    /// What the battery did for that.
    pub work: Work,
    /// The operation that the battery does not support, if there was one.
    pub forbidden: Option<Forbidden>,
}

impl Drained {
    /// The slots of the shadow cache in `region` that were written, in order.
    pub(crate) fn slots(&self, region: ShadowRegion) -> impl Iterator<Item = (u64, Line)> + '_ {
        self.left.iter().filter_map(move |write| {
            let slot = region.slot_of(write.media.as_line()?)?;
            Some((slot, write.carries?.0))
        })
    }

    /// The lines that left the caches.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Line> + '_ {
        self.left.iter().filter_map(|write| write.carries.map(|(line, _)| line))
    }
}

/// How a machine loses power, and what its boot does then.
#[derive(Clone, Copy)]
pub struct PowerLoss<'a> {
    /// How lines leave the caches; `None` if they are lost.
    pub drain: Option<CrashDrain>,
    /// What the battery supports.
    pub battery: Battery,
    /// Which registers survive.
    pub survival: Survival,
    /// Whether lines that leave rest under pads of the boot counter.
    pub boot_pads: bool,
    /// The encryption; `None` if memory holds plaintext.
    pub codec: Option<&'a dyn LineCodec>,
    /// The boot sequence.
    pub steps: &'a [RecoveryStep],
    /// What modules make of their buffers, if they encrypt.
    pub modules: Option<BufferSave>,
}

impl<'a> PowerLoss<'a> {
    /// How `design` loses power on `machine`.
    pub fn new(design: &'a Design, machine: &Machine, codec: Option<&'a dyn LineCodec>) -> Self {
        let drain = design.drain();
        Self {
            drain,
            battery: memory_map::supplied(design, machine),
            survival: Survival::of(design, machine),
            boot_pads: design.cache_pads == CachePads::BootPads
                || design.minor_unit().is_some() && drain.is_some_and(|drain| !drain.encrypts()),
            codec,
            steps: &design.recovery,
            modules: design.modules,
        }
    }

    /// Whether it leaves something else than the queue, the media and registers have.
    pub fn leaves_more(&self) -> bool {
        self.drain.is_some() || !self.survival.places || self.modules.is_some()
    }

    /// A boot from what a power loss has left: `snapshot`, and `media` below it. `observer` observes it.
    pub fn boot<'b, O: Observer>(&self, media: &'b dyn Media, snapshot: &'b AdrSnapshot, observer: O) -> Boot<'b, O>
    where
        'a: 'b,
    {
        Boot::new(media, snapshot, self.codec, self.steps, observer)
    }

    /// Power is lost: `held` is what the machine holds, `media` the memory behind it.
    pub fn strike(&self, mut held: HeldState, media: &dyn Media) -> Drained {
        let (misread, buffered) = (std::mem::take(&mut held.misread), std::mem::take(&mut held.buffered));
        let mut drained = self.drain(held, media);
        if let Some((save, codec)) = self.modules.zip(self.codec) {
            buffers::save(&mut drained, &buffered, media, codec, save);
        }
        let instead = misread::found_instead(&misread, media, &drained.snapshot.wpq, self.codec);
        drained.snapshot.wpq.extend(instead.iter().map(|write| (write.media, write.bytes)));
        drained.misread = instead;
        drained
    }

    /// What is left when the queue, and what leaves on battery, is on the media.
    fn drain(&self, held: HeldState, media: &dyn Media) -> Drained {
        let Some(drain) = self.drain else {
            return Drained { snapshot: self.survival.keep(held), ..Drained::default() };
        };
        let mut battery = Draining::new(self, &held, media);
        let forbidden = drain.drain(&held.lines, &mut battery).err();
        let Draining { path, registers, leaving, .. } = battery;
        let work = path.work();
        let mut after = HeldState {
            status: path.status,
            root: path.root,
            roots: path.roots.into_iter().collect(),
            global_counter: held.global_counter.map(|_| path.register),
            registers,
            ..held
        };
        // What leaves takes the way of the queue.
        let left = if self.survival.queue { leaving.left } else { Vec::new() };
        if self.survival.queue {
            after.plain = path.in_the_clear.iter().copied().collect();
            after.plain.sort_unstable();
        }
        after.wpq.extend(left.iter().map(|write| (write.media, write.bytes)));
        Drained { snapshot: self.survival.keep(after), left, work, forbidden, ..Drained::default() }
    }

    /// The pads under which `slots`, each with its line, would leave at the next loss of power if these registers were
    /// held and the same slots were dirty; none without a shadow cache.
    pub fn next_slot_pads(
        &self,
        slots: impl IntoIterator<Item = (u64, Line)>,
        registers: ShadowRegisters,
        media: &dyn Media,
    ) -> Vec<(Line, LineBytes)> {
        let Some((codec, region)) = self.codec.and_then(|codec| Some((codec, codec.shadow()?))) else {
            return Vec::new();
        };
        // Zeros are dirty: what leaves for a slot is its pad.
        let zeros = |(slot, line)| OnChipLine {
            slot,
            level: 0,
            core: 0,
            line,
            resident: if self.boot_pads {
                codec.pad(region.pad_line(slot), Counter { major: registers.boot_counter, minor: 0 })
            } else {
                [0; 64]
            },
            plaintext: [0; 64],
            newest: true,
        };
        let lines = slots.into_iter().map(zeros).collect();
        let drained = self.strike(HeldState { lines, registers, ..HeldState::default() }, media);
        let pads = drained.left.iter().filter_map(|write| Some((write.carries?.0, write.bytes)));
        pads.collect()
    }
}

/// What a power failure leaves to the boot that follows.
pub struct Survivors<'a> {
    /// The queues and registers that survive, and what left the caches.
    pub drained: Arc<Drained>,
    /// Memory below that.
    pub media: &'a dyn Media,
    /// How the machine has lost power, as it may do again.
    pub loss: PowerLoss<'a>,
}

impl Survivors<'_> {
    /// A boot from the survivors; `observer` observes it.
    pub fn boot<O: Observer>(&self, observer: O) -> Boot<'_, O> {
        self.loss.boot(self.media, &self.drained.snapshot, observer)
    }
}

/// The device image as a boot reads it.
impl Media for Image {
    fn content(&self, media: MediaLine) -> Content<'_> {
        Image::content(self, media)
    }

    fn stored(&self, show: &mut dyn FnMut(MediaLine, &LineBytes)) {
        self.iter_stored().for_each(|(media, bytes)| show(media, bytes));
    }
}

/// What a controller holds when power is lost.
pub(crate) fn held(controller: ControllerSnapshot) -> HeldState {
    HeldState {
        wpq: controller.wpq,
        counters: controller.counters,
        status: controller.rsr.map(|rsr| ReencryptionStatus {
            group: rsr.group,
            old_major: rsr.old_major,
            done: rsr.done,
        }),
        global_counter: controller.global_counter,
        root: controller.root,
        roots: controller.roots,
        table_root: controller.table_root,
        chip_lines: controller.chip_lines,
        log: controller.log,
        ..HeldState::default()
    }
}

/// What has left the chip, as the write path reports it.
#[derive(Default)]
struct Leaving {
    left: Vec<DrainedWrite>,
    arrived: Option<(Line, LineBytes)>,
}

impl Observer for Leaving {
    fn write_arrived(&mut self, _now: Ps, line: Line, plaintext: &LineBytes) {
        self.arrived = Some((line, *plaintext));
    }

    fn persisted(&mut self, _now: Ps, media: MediaLine, bytes: &LineBytes) {
        let carries = if media.is_metadata() { None } else { self.arrived.take() };
        self.left.push(DrainedWrite { media, bytes: *bytes, carries, in_the_clear: false });
    }
}

/// A machine on battery.
struct Draining<'a> {
    battery: Battery,
    /// Memory with everything that has been drained so far.
    path: MediaWriter<'a>,
    registers: ShadowRegisters,
    leaving: Leaving,
}

impl<'a> Draining<'a> {
    /// The state after the write pending queue, the dirty counter blocks, lines of MACs and nodes have been drained.
    fn new(loss: &PowerLoss<'a>, held: &HeldState, media: &'a dyn Media) -> Self {
        let mut path = MediaWriter::new(media, loss.codec);
        path.status = held.status;
        path.register = held.global_counter.unwrap_or(0);
        path.in_the_clear.extend(&held.plain);
        path.root = held.root;
        path.roots = held.roots.iter().copied().collect();
        let mut leaving = Leaving::default();
        for (media, bytes) in &held.wpq {
            path.store(*media, bytes);
        }
        let drains = loss.drain.is_some_and(CrashDrain::drains_counters);
        if !drains && loss.drain.is_some_and(CrashDrain::takes_write_path) {
            // The nodes on the chip are lost with power, and until then what the battery writes is computed from them.
            let nodes = held.metadata.iter().filter(|(media, _)| matches!(media.unit(), MediaUnit::Node(_)));
            nodes.for_each(|(media, bytes)| path.store(*media, bytes));
        }
        path.forget_work();
        let counters = held.counters.iter().map(|(block, bytes)| (MediaLine::counter(*block), *bytes));
        for (media, bytes) in counters.chain(held.metadata.iter().copied()).filter(|_| drains) {
            path.store(media, &bytes);
            leaving.persisted(0, media, &bytes);
        }
        Self { battery: loss.battery, path, registers: held.registers, leaving }
    }

    fn check(&self, act: &'static str, needs: Battery) -> Result<(), Forbidden> {
        if self.battery < needs { Err(Forbidden { act, needs, has: self.battery }) } else { Ok(()) }
    }

    /// Writes a MAC for each slot in `held`, which are the first ones, and their number into the register.
    fn protect_slots(&mut self, region: ShadowRegion, held: &BTreeMap<Line, LineBytes>, macs: &dyn MacSource) {
        let slots = held.keys().filter(|line| region.slot_of(**line).is_some()).count() as u64;
        let mut lines: BTreeMap<Line, LineBytes> = BTreeMap::new();
        for slot in 0..slots {
            let (metadata, index) = region.metadata(slot);
            let Some((bytes, of)) = held.get(&region.data(slot)).zip(held.get(&metadata)) else { continue };
            let Some(SlotMetadata { line, stamp }) = SlotMetadata::get(of, index) else { continue };
            let mac = macs.mac(line, bytes, Counter { major: stamp, minor: 0 });
            let (line, place) = region.mac(slot);
            lines.entry(line).or_insert([0; 64])[place].copy_from_slice(&mac.to_le_bytes()[..8]);
        }
        self.path.authenticated(slots);
        for (line, bytes) in lines {
            self.leave(MediaLine::data(line), &bytes, None, false);
        }
        self.registers.root = [0; 64];
        self.registers.root[..8].copy_from_slice(&slots.to_le_bytes());
    }

    fn leave(&mut self, media: MediaLine, bytes: &LineBytes, carries: Option<&OnChipLine>, in_the_clear: bool) {
        self.path.store(media, bytes);
        if let Some(line) = media.as_line() {
            self.path.in_the_clear.remove(&line);
        }
        let carries = carries.map(|line| (line.line, line.plaintext));
        self.leaving.left.push(DrainedWrite { media, bytes: *bytes, carries, in_the_clear });
    }
}

impl OnBattery for Draining<'_> {
    fn region(&self) -> ShadowRegion {
        let region = self.path.codec().and_then(|codec| codec.shadow());
        region.expect("a drain that uses the shadow cache runs on a machine that has one")
    }

    fn register(&self, name: RegisterName) -> u64 {
        match name {
            RegisterName::IncrCounter => self.registers.incr_counter,
            RegisterName::BootCounter => self.registers.boot_counter,
            RegisterName::ShadowConsumed => self.registers.consumed,
            other => panic!("{other:?} is no number that a drain works with"),
        }
    }

    fn set_register(&mut self, name: RegisterName, value: u64) {
        match name {
            RegisterName::IncrCounter => self.registers.incr_counter = value,
            RegisterName::BootCounter => self.registers.boot_counter = value,
            RegisterName::ShadowConsumed => self.registers.consumed = value,
            other => panic!("{other:?} is no number that a drain works with"),
        }
    }

    fn pad(&mut self, line: Line, counter: Counter) -> Result<LineBytes, Forbidden> {
        self.check("a pad", Battery::WriteComputeOrder)?;
        self.path.made_pad();
        Ok(self.path.codec().expect("a drain that encrypts runs on encrypted memory").pad(line, counter))
    }

    fn protect(&mut self) -> Result<(), Forbidden> {
        let region = self.region();
        let inside =
            |write: &DrainedWrite| Some((write.media.as_line().filter(|line| region.contains(*line))?, write.bytes));
        let held: BTreeMap<Line, LineBytes> = self.leaving.left.iter().filter_map(inside).collect();
        if held.is_empty() {
            return Ok(());
        }
        self.check("a hash", Battery::WriteComputeOrder)?;
        let tree = self.path.codec().and_then(|codec| codec.integrity()?.shadow.as_ref());
        let tree = tree.expect("a drain that protects the shadow cache runs on a machine that can");
        if let Some(macs) = &tree.macs {
            self.protect_slots(region, &held, macs.as_ref());
            return Ok(());
        }
        let (root, hashes) = region.root(&held, tree.hash.as_ref());
        self.path.hashed(hashes);
        self.registers.root = root;
        Ok(())
    }

    fn xor(&mut self, a: &LineBytes, b: &LineBytes) -> Result<LineBytes, Forbidden> {
        self.check("an exclusive-or", Battery::WriteComputeOrder)?;
        Ok(xor(a, b))
    }

    fn write(&mut self, media: MediaLine, bytes: &LineBytes, carries: Option<&OnChipLine>) {
        let shadow = self.path.codec().and_then(|codec| codec.shadow());
        let slot = shadow.zip(media.as_line()).and_then(|(region, line)| region.slot_of(line));
        assert!(
            carries.is_some() || slot.is_none(),
            "a data line of the shadow cache leaves without the cached line that it holds: its secrecy cannot be judged"
        );
        self.leave(media, bytes, carries, false);
    }

    fn write_in_the_clear(&mut self, line: &OnChipLine) {
        self.leave(MediaLine::data(line.line), &line.resident, Some(line), true);
        self.path.in_the_clear.insert(line.line);
    }

    fn write_through_write_path(&mut self, line: &OnChipLine) -> Result<(), Forbidden> {
        // A counter is read before anything is computed from it.
        self.check("a read", Battery::AllOperation)?;
        while !matches!(self.path.write_step(line.line, &line.resident, &mut self.leaving), WriteStep::Written(_)) {}
        Ok(())
    }
}

//! Power failure and restart: what survives goes through the design's own boot, and memory continues.

use super::request::{Kind, Refusal, Room};
use super::{Driver, Memory};
use crate::assembly::{self, codec_of, encryption_parts};
use crate::device::Device;
use crate::kernel::{Ps, Slab};
use crate::message::{BaseImage, Content, DevicePort, Line, LineBytes, MediaLine, MediaUnit, NoObserver};
use crate::parts::PersistenceDomain;
use crate::power::{PowerLoss, held};
use crate::recovery::{Alarm, HeldState, LineCodec, Work};
use serde::Serialize;
use std::sync::Arc;

/// What a power failure caused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PowerFailure {
    /// The time at which it happened, in picoseconds.
    pub at_ps: Ps,
    /// Requests in flight that will never be answered, by kind.
    pub reads_lost: u64,
    /// Writes that were not durable yet; some of them may have survived nevertheless.
    pub writes_lost: u64,
    /// Counter write-backs.
    pub counter_writebacks_lost: u64,
    /// Lines and counter blocks that the persistence domain wrote to the media on battery power.
    pub drained: u64,
    /// Number of boot steps that wrote something.
    pub boot_writes: u64,
    /// What the boot read, wrote and computed.
    pub boot: Work,
    /// Why the boot refused memory; `None` if it did not.
    pub refused: Option<String>,
    /// Lines that hold neither the last acknowledged bytes nor those of a later write.
    pub damaged_lines: u64,
}

impl Memory {
    /// Why power cannot fail here, if it cannot.
    pub fn survives_nothing(&self) -> Option<String> {
        if !self.machine.engine.bytes {
            return Some("engine.bytes = false leaves nothing that could survive".into());
        }
        self.design.drain().map(|_| {
            let what = match self.design.domain {
                PersistenceDomain::PersistBuffers { .. } => "persist buffers",
                PersistenceDomain::AcceptedWrites { .. } => "accepted writes",
                PersistenceDomain::Adr | PersistenceDomain::Eadr { .. } => "caches",
            };
            format!("design '{}' drains {what} when power fails, and an embedded memory does not", self.design.name)
        })
    }

    /// Fails power now and restarts: requests in flight are lost and never answered, the persistence domain drains to
    /// the media, the machine boots with the design's own recovery, and memory continues at the same time with an empty
    /// controller. The figures start from zero. The boot takes no simulated time.
    ///
    /// The other simulator must drop the contents of its caches itself.
    pub fn power_fails(&mut self) -> Result<&PowerFailure, Refusal> {
        if let Some(why) = self.survives_nothing() {
            return Err(Refusal::State(why));
        }
        self.start();
        let Self { machine, design, seed, base, driver, stored: untimed, .. } = self;
        let system = &mut driver.as_mut().expect("there is one now").system;
        system.device.lose_power();
        let loaded = Arc::clone(base) as Arc<dyn BaseImage>;
        let parts = encryption_parts(machine, design, *seed, &loaded).expect("there has been a controller with them");
        let codec = codec_of((machine, 1), design, *seed, parts, Arc::clone(&loaded), None);
        let codec = codec.expect("there has been a controller with it");
        let codec = codec.as_deref();
        let untimed = untimed.take();
        let (drained, boot_writes, boot_work, alarm, global_counter, roots, mut stored) = {
            let media = system.device.image();
            let loss = PowerLoss::new(design, machine, codec);
            let misread = system.device.misread();
            let drained = loss.strike(HeldState { misread, ..held(system.controller.snapshot()) }, media);
            let mut boot = loss.boot(media, &drained.snapshot, NoObserver);
            boot.finish();
            let (boot_writes, boot_work) = (boot.writes(), boot.work());
            for (line, bytes) in untimed {
                boot.write_line(line, &bytes);
            }
            boot.write_back_metadata();
            let mut stored: Vec<(MediaLine, LineBytes)> = Vec::new();
            boot.memory().last_changes(&mut |media, bytes| stored.push((media, *bytes)));
            let drained = drained.snapshot.wpq.len() as u64;
            (drained, boot_writes, boot_work, boot.alarm(), boot.global_counter(), (boot.root(), boot.roots()), stored)
        };
        stored.sort_unstable_by_key(|(media, _)| *media);
        for (media, bytes) in &stored {
            system.device.store(*media, bytes);
        }
        if let Some(codec) = codec {
            encrypt_base(&mut system.device, codec);
        }
        let mut controller =
            assembly::controller(machine, design, *seed, &loaded, &system.device).expect("there has been one like it");
        controller.load_global_counter(global_counter);
        controller.load_root(roots.0, &roots.1);
        system.restart(machine, controller);
        let damaged_lines = self.look_for_damage();
        let lost = |kind| u64::from(self.room(kind).0);
        self.last_power_failure = Some(PowerFailure {
            at_ps: self.now,
            reads_lost: lost(Kind::Read),
            writes_lost: lost(Kind::Write),
            counter_writebacks_lost: lost(Kind::CounterWriteback),
            drained,
            boot_writes,
            boot: boot_work,
            refused: alarm.map(Alarm::clause),
            damaged_lines,
        });
        self.driver().under_way = Slab::default();
        self.rooms.iter_mut().for_each(Room::clear);
        self.begin_period();
        self.power_failures += 1;
        Ok(self.last_power_failure.as_ref().expect("it has just been set"))
    }

    /// Compares what memory reads as after a power failure with what it promised; returns the number of damaged lines.
    fn look_for_damage(&mut self) -> u64 {
        let Self { promised, base, driver, .. } = self;
        let Driver { system, under_way, .. } = driver.as_ref().expect("it has been started");
        promised.power_failed(under_way.live(), base.as_ref(), |line| system.peek(line));
        promised.damaged().len() as u64
    }

    /// The lines that were damaged by a power failure and have not been written since, by address in bytes: they hold
    /// neither the last acknowledged bytes nor those of a later write, but older bytes or garbage.
    pub fn damaged_lines(&self) -> Vec<u64> {
        self.promised.damaged().into_iter().map(Line::address).collect()
    }

    /// What the last power failure caused; `None` if there was none.
    pub fn last_power_failure(&self) -> Option<&PowerFailure> {
        self.last_power_failure.as_ref()
    }
}

/// Writes loaded lines whose counter block has been written to the media: they must be stored with their first counter,
/// whatever the block says now. Before a power failure the two agree.
fn encrypt_base(device: &mut Device, codec: &dyn LineCodec) {
    let written = |(media, _): (MediaLine, &LineBytes)| match media.unit() {
        MediaUnit::Counter(block) => Some(block),
        _ => None,
    };
    let blocks: Vec<_> = device.image().iter_stored().filter_map(written).collect();
    for block in blocks {
        let first = codec.base_block(block);
        for line in codec.coverage().lines_of(block) {
            let media = MediaLine::data(line);
            if let Content::Base(plaintext) = device.content(media) {
                let ciphertext = codec.encrypt_first(line, plaintext, &first);
                device.materialise(media, &ciphertext);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Variant;
    use crate::design;
    use crate::embed::{Request, Setup, TIME_MAX, WHOLE_LINE};
    use crate::layout::TreePlace;

    fn memory(design: &str) -> Memory {
        let (variant, set) = (Variant::Hardened, &[]);
        // Modules are not on every machine.
        let on_banks = design::find(design, variant).is_some_and(|design| design.modules.is_none());
        let machine = on_banks.then_some("small");
        Memory::new(&Setup { design, variant, machine, set, seed: 5, on_channel: [None; 2] }).unwrap()
    }

    fn write(memory: &mut Memory, line: u64) {
        let request = Request::Write { bytes: &[line as u8 + 1; 64], mask: WHOLE_LINE, counter_atomic: true };
        memory.send(line * 64, line, 0, request).unwrap();
    }

    fn global_counter(memory: &Memory) -> Option<u64> {
        memory.driver.as_ref().unwrap().system.controller.snapshot().global_counter
    }

    #[test]
    fn global_counter_goes_on_after_a_power_failure() {
        let mut seen = 0;
        for name in design::names() {
            let mut memory = memory(name);
            if memory.survives_nothing().is_some() || global_counter(&memory).is_none() {
                continue;
            }
            for line in 0..3 {
                write(&mut memory, line);
            }
            while memory.step(TIME_MAX / 2, &mut Vec::new()).unwrap() {}
            let before = global_counter(&memory);
            memory.power_fails().unwrap();
            assert_eq!(global_counter(&memory), before, "{name}");
            seen += 1;
        }
        assert!(seen > 3, "{seen} designs have one");
    }

    /// A node below which nothing is durable becomes what it was first, whatever of it has reached memory.
    #[test]
    fn rebuilt_tree_has_no_node_that_nothing_below_it_tells_of() {
        let mut memory = memory("rebuild");
        write(&mut memory, 0);
        while memory.step(TIME_MAX / 2, &mut Vec::new()).unwrap() {}
        let node = TreePlace { level: 1, index: 1 };
        memory.system().device.store(node.media(), &[7; 64]);
        assert_eq!(memory.power_fails().unwrap().refused, None);
        // Below it, the next boot writes a line.
        memory.store(8 * 64 * 64, &[1; 64]).unwrap();
        let failure = memory.power_fails().unwrap();
        assert_eq!((&failure.refused, failure.damaged_lines), (&None, 0));
    }

    /// A line that was loaded is stored with its first counter: under a newer one it reads as garbage.
    #[test]
    fn counter_that_survives_without_its_data_damages_a_loaded_line() {
        let mut memory = memory("write-through");
        memory.load(0, &[7; 64]).unwrap();
        write(&mut memory, 0);
        let mut damaged = 0;
        while memory.step(TIME_MAX / 2, &mut Vec::new()).unwrap() {
            let mut failed = memory.clone();
            let lines = failed.power_fails().unwrap().damaged_lines;
            let old_or_new = [[7; 64], [1; 64]].contains(&failed.peek(0).unwrap());
            assert_eq!((lines, failed.damaged_lines().is_empty()), (u64::from(!old_or_new), old_or_new));
            damaged += lines;
        }
        assert!(damaged > 0, "the counter is queued while the line is being encrypted");
    }
}

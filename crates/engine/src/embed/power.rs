//! Power failure and restart: what survives goes through the design's own boot, and memory continues.

use super::{Memory, Refusal};
use crate::assembly::{self, boot_codec, encryption_parts};
use crate::crash::{PowerLoss, held};
use crate::device::Device;
use crate::message::{BaseImage, Content, DevicePort, LineBytes, MediaLine, MediaUnit, NoObserver};
use crate::recovery::LineCodec;
use std::sync::Arc;

/// What a power failure caused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PowerFailure {
    /// Requests in flight that will never be answered.
    pub requests_lost: u64,
    /// Lines and counter blocks that the persistence domain wrote to the media on battery power.
    pub drained: u64,
    /// Number of boot steps that wrote something.
    pub boot_writes: u64,
}

impl Memory {
    /// Fails power now and restarts: requests in flight are lost and never answered, the persistence domain drains to
    /// the media, the machine boots with the design's own recovery, and memory continues at the same time with an empty
    /// controller. The figures start from zero. The boot takes no simulated time.
    ///
    /// The other simulator must drop the contents of its caches itself.
    pub fn power_fails(&mut self) -> Result<PowerFailure, Refusal> {
        if !self.machine.engine.bytes {
            return Err(Refusal::State("engine.bytes = false leaves nothing that could survive".into()));
        }
        if self.design.drain().is_some() {
            return Err(Refusal::State(format!(
                "design '{}' drains caches when power fails, and its caches are not here",
                self.design.name
            )));
        }
        self.start();
        let requests_lost = self.under_way.len() as u64;
        let Self { machine, design, seed, base, system, .. } = self;
        let system = system.as_mut().expect("there is one now");
        let loaded = Arc::clone(base) as Arc<dyn BaseImage>;
        let parts = encryption_parts(machine, design, *seed, &loaded).expect("there has been a controller with them");
        let codec = parts.map(|parts| boot_codec(machine, 1, parts, Arc::clone(&loaded), None));
        let codec = codec.as_ref().map(|codec| codec as &dyn LineCodec);
        let (drained, boot_writes, global_counter, root, mut stored) = {
            let media = system.device.image();
            let loss = PowerLoss::new(design, machine, codec);
            let drained = loss.strike(held(system.controller.snapshot()), media);
            let mut boot = loss.boot(media, &drained.snapshot, NoObserver);
            boot.finish();
            boot.write_back_metadata();
            let mut stored: Vec<(MediaLine, LineBytes)> = Vec::new();
            boot.memory().last_changes(&mut |media, bytes| stored.push((media, *bytes)));
            (drained.snapshot.wpq.len() as u64, boot.writes(), boot.global_counter(), boot.root(), stored)
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
        controller.load_root(root);
        system.restart(machine, controller);
        self.forget_requests();
        self.power_failures += 1;
        Ok(PowerFailure { requests_lost, drained, boot_writes })
    }

    fn forget_requests(&mut self) {
        self.under_way = Default::default();
        self.latencies = Default::default();
        self.since = self.now;
        for room in &mut self.rooms {
            room.used = 0;
        }
    }
}

/// Writes loaded lines whose counter block has been written to the media: they must be stored with their first counter,
/// whatever the block says now. Before a power failure the two agree.
fn encrypt_base(device: &mut Device, codec: &dyn LineCodec) {
    let written = |(media, _): (MediaLine, &LineBytes)| match media.unit() {
        MediaUnit::Counter(block) => Some(block),
        MediaUnit::Data(_) | MediaUnit::Mac(_) | MediaUnit::Node(_) | MediaUnit::Table(_) => None,
    };
    let blocks: Vec<_> = device.image().iter_stored().filter_map(written).collect();
    for block in blocks {
        let first = codec.base_block(block);
        for line in codec.coverage().lines_of(block) {
            let media = MediaLine::data(line);
            if let Content::Base(plaintext) = device.content(media) {
                let ciphertext = codec.encrypt(line, plaintext, &first);
                device.materialise(media, &ciphertext);
            }
        }
    }
}

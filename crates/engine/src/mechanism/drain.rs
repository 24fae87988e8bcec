//! What leaves the caches after power loss (sepencr sections III and IV): lines to their own addresses, as they are
//! stored in the caches, or lines of the shadow cache.

use crate::layout::{ShadowRegion, SlotMetadata};
use crate::message::{Line, LineBytes, MediaLine, OnChipLine};
use crate::parts::{
    Battery, Counter, CounterDrain, CrashDrain, DrainCopies, DrainParts, DrainPath, Forbidden, OnBattery, RegisterName,
    ShadowIntegrity, ShadowPads, ShadowSlots,
};

impl CrashDrain {
    /// The smallest battery that the drain needs.
    pub fn needs(self) -> Battery {
        match self {
            CrashDrain::Parts(parts) => match parts.path {
                DrainPath::ToShadow if parts.integrity != ShadowIntegrity::None => Battery::WriteComputeOrder,
                DrainPath::InPlace | DrainPath::InTheClear | DrainPath::ToShadow => Battery::WriteOnly,
                DrainPath::EncryptToShadow => Battery::WriteComputeOrder,
                DrainPath::ThroughWritePath => Battery::AllOperation,
            },
            CrashDrain::Custom(drain) => drain.needs(),
        }
    }

    /// Whether lines go to the shadow cache instead of their own addresses.
    pub fn uses_shadow(self) -> bool {
        match self {
            CrashDrain::Parts(parts) => parts.path.uses_shadow(),
            CrashDrain::Custom(drain) => drain.uses_shadow(),
        }
    }

    /// Whether lines are encrypted after power is lost.
    pub fn encrypts(self) -> bool {
        match self {
            CrashDrain::Parts(parts) => matches!(parts.path, DrainPath::EncryptToShadow | DrainPath::ThroughWritePath),
            CrashDrain::Custom(drain) => drain.needs() >= Battery::WriteComputeOrder,
        }
    }

    /// Whether lines leave through the ordinary write path.
    pub fn takes_write_path(self) -> bool {
        matches!(self, CrashDrain::Parts(DrainParts { path: DrainPath::ThroughWritePath, .. }))
    }

    /// What protects the shadow cache; nothing if there is none.
    pub fn shadow_integrity(self) -> ShadowIntegrity {
        match self {
            CrashDrain::Parts(parts) if parts.path.uses_shadow() => parts.integrity,
            CrashDrain::Parts(_) | CrashDrain::Custom(_) => ShadowIntegrity::None,
        }
    }

    /// Whether dirty counter blocks, lines of MACs and tree nodes are drained before the lines.
    pub fn drains_counters(self) -> bool {
        match self {
            CrashDrain::Parts(parts) => parts.counters == CounterDrain::First,
            CrashDrain::Custom(drain) => drain.drains_counters(),
        }
    }

    /// Drains `lines`, which are in the order of their slots.
    ///
    /// # Errors
    /// The first operation that the battery does not support.
    pub fn drain(self, lines: &[OnChipLine], battery: &mut dyn OnBattery) -> Result<(), Forbidden> {
        match self {
            CrashDrain::Parts(parts) if parts.copies == DrainCopies::Every => {
                let all: Vec<OnChipLine> = lines.iter().map(|line| OnChipLine { newest: true, ..*line }).collect();
                parts.drain(&all, battery)
            }
            CrashDrain::Parts(parts) => parts.drain(lines, battery),
            CrashDrain::Custom(drain) => drain.drain(lines, battery),
        }
    }
}

impl DrainParts {
    fn drain(self, lines: &[OnChipLine], battery: &mut dyn OnBattery) -> Result<(), Forbidden> {
        let mut newest = lines.iter().filter(|line| line.newest);
        match self.path {
            DrainPath::InPlace => {
                newest.for_each(|line| battery.write(MediaLine::data(line.line), &line.resident, Some(line)));
                Ok(())
            }
            DrainPath::InTheClear => {
                newest.for_each(|line| battery.write_in_the_clear(line));
                Ok(())
            }
            DrainPath::ThroughWritePath => newest.try_for_each(|line| battery.write_through_write_path(line)),
            DrainPath::EncryptToShadow | DrainPath::ToShadow => {
                self.into_shadow(lines, battery)?;
                match self.integrity {
                    ShadowIntegrity::None | ShadowIntegrity::KeptRoot => Ok(()),
                    ShadowIntegrity::Tree
                    | ShadowIntegrity::Unverified
                    | ShadowIntegrity::Macs
                    | ShadowIntegrity::UnverifiedMacs => battery.protect(),
                }
            }
        }
    }

    fn into_shadow(self, lines: &[OnChipLine], battery: &mut dyn OnBattery) -> Result<(), Forbidden> {
        if self.slots == ShadowSlots::Packed {
            let packed: Vec<OnChipLine> = (0..).zip(lines).map(|(slot, line)| OnChipLine { slot, ..*line }).collect();
            return DrainParts { slots: ShadowSlots::Dirty, ..self }.into_shadow(&packed, battery);
        }
        if self.path == DrainPath::ToShadow {
            self.to_shadow(lines, battery);
            return Ok(());
        }
        match self.pads {
            ShadowPads::Fresh => self.encrypt_to_shadow(lines, battery),
            pads => self.encrypt_to_shadow(lines, &mut HeldStill { battery, pads }),
        }
    }

    fn encrypt_to_shadow(self, lines: &[OnChipLine], battery: &mut dyn OnBattery) -> Result<(), Forbidden> {
        let region = battery.region();
        let first = battery.register(RegisterName::IncrCounter);
        let reserved = self.slots.reserves();
        if reserved && !lines.is_empty() {
            battery.set_register(RegisterName::IncrCounter, first + region.slots);
        }
        let mut stamps = Vec::with_capacity(lines.len());
        for line in lines {
            let stamp = if reserved {
                first + line.slot
            } else {
                let next = battery.register(RegisterName::IncrCounter);
                battery.set_register(RegisterName::IncrCounter, next + 1);
                next
            };
            let pad = battery.pad(region.pad_line(line.slot), Counter { major: stamp, minor: 0 })?;
            let bytes = battery.xor(&line.resident, &pad)?;
            battery.write(MediaLine::data(region.data(line.slot)), &bytes, Some(line));
            stamps.push(stamp);
        }
        write_states(lines, |index| stamps[index], self.slots, battery);
        Ok(())
    }

    fn to_shadow(self, lines: &[OnChipLine], battery: &mut dyn OnBattery) {
        let region = battery.region();
        let epoch = battery.register(RegisterName::BootCounter);
        for line in lines {
            battery.write(MediaLine::data(region.data(line.slot)), &line.resident, Some(line));
        }
        write_states(lines, |_| epoch, self.slots, battery);
    }
}

/// Writes tags, states and stamps of `lines`, which are in the order of their slots, one metadata line at a time.
/// Metadata lines without a dirty slot are written only with [`ShadowSlots::All`].
fn write_states(lines: &[OnChipLine], stamp: impl Fn(usize) -> u64, slots: ShadowSlots, battery: &mut dyn OnBattery) {
    let region = battery.region();
    let mut next = 0;
    let mut slot = 0;
    while slot < region.slots {
        if slots.reserves() {
            let Some(dirty) = lines.get(next) else { return };
            slot = dirty.slot;
        }
        let (media, _) = region.metadata(slot);
        let group = region.slots_of_metadata(media).expect("a line of metadata speaks for slots");
        let mut bytes = [0; 64];
        while let Some(line) = lines.get(next).filter(|line| group.contains(&line.slot)) {
            let metadata = SlotMetadata { line: line.line, stamp: stamp(next) };
            SlotMetadata::put(Some(metadata), &mut bytes, (line.slot - group.start) as usize);
            next += 1;
        }
        battery.write(MediaLine::data(media), &bytes, None);
        slot = group.end;
    }
}

/// A battery that keeps one input of a slot's pad constant: a seeded fault.
struct HeldStill<'a> {
    battery: &'a mut dyn OnBattery,
    pads: ShadowPads,
}

impl OnBattery for HeldStill<'_> {
    fn region(&self) -> ShadowRegion {
        self.battery.region()
    }
    fn register(&self, name: RegisterName) -> u64 {
        self.battery.register(name)
    }
    fn set_register(&mut self, name: RegisterName, value: u64) {
        if self.pads != ShadowPads::CounterHeld || name != RegisterName::IncrCounter {
            self.battery.set_register(name, value);
        }
    }
    fn pad(&mut self, line: Line, counter: Counter) -> Result<LineBytes, Forbidden> {
        let line = if self.pads == ShadowPads::SlotHeld { self.region().pad_line(0) } else { line };
        self.battery.pad(line, counter)
    }
    fn protect(&mut self) -> Result<(), Forbidden> {
        self.battery.protect()
    }
    fn xor(&mut self, a: &LineBytes, b: &LineBytes) -> Result<LineBytes, Forbidden> {
        self.battery.xor(a, b)
    }
    fn write(&mut self, media: MediaLine, bytes: &LineBytes, carries: Option<&OnChipLine>) {
        self.battery.write(media, bytes, carries);
    }
    fn write_in_the_clear(&mut self, line: &OnChipLine) {
        self.battery.write_in_the_clear(line);
    }
    fn write_through_write_path(&mut self, line: &OnChipLine) -> Result<(), Forbidden> {
        self.battery.write_through_write_path(line)
    }
}

//! What leaves the caches after power is lost (sepencr sections III and IV): lines in their own places, in whatever form
//! they rest in, or lines of the shadow cache.

use crate::message::{MediaLine, OnChipLine, SlotMetadata};
use crate::parts::{Battery, Counter, CrashDrain, Forbidden, OnBattery, RegisterName};

/// Lines leave for their own addresses as they rest in the caches. Of several copies the newest leaves: a flush walks down
/// the levels, and each takes over what the one above has newer.
pub struct InPlace;

impl CrashDrain for InPlace {
    fn needs(&self) -> Battery {
        Battery::WriteOnly
    }
    fn uses_shadow(&self) -> bool {
        false
    }
    fn drain(&self, lines: &[OnChipLine], battery: &mut dyn OnBattery) -> Result<(), Forbidden> {
        for line in lines.iter().filter(|line| line.newest) {
            battery.write(MediaLine::data(line.line), &line.resident, Some(line));
        }
        Ok(())
    }
}

/// Lines leave for their own addresses in the clear, although memory is encrypted: the dilemma of sepencr section III.
pub struct InTheClear;

impl CrashDrain for InTheClear {
    fn needs(&self) -> Battery {
        Battery::WriteOnly
    }
    fn uses_shadow(&self) -> bool {
        false
    }
    fn drain(&self, lines: &[OnChipLine], battery: &mut dyn OnBattery) -> Result<(), Forbidden> {
        lines.iter().filter(|line| line.newest).for_each(|line| battery.write_in_the_clear(line));
        Ok(())
    }
}

/// Lines leave through the ordinary write path (sepencr section IV-B).
pub struct ThroughWritePath;

impl CrashDrain for ThroughWritePath {
    fn needs(&self) -> Battery {
        Battery::AllOperation
    }
    fn uses_shadow(&self) -> bool {
        false
    }
    fn drain(&self, lines: &[OnChipLine], battery: &mut dyn OnBattery) -> Result<(), Forbidden> {
        lines.iter().filter(|line| line.newest).try_for_each(|line| battery.write_through_write_path(line))
    }
}

/// Lines are encrypted on battery, each under the next value of the incr-counter, and leave for the shadow cache (bbe,
/// sepencr section IV-C).
///
/// *Published*: the counter goes up when it is used, so that a clean line, which does not leave (section VI), does not
/// move it; the states of all slots leave, too. *Hardened*: it goes up by one for each slot, clean or not, before any line
/// leaves, and a slot's metadata say under which value it was encrypted; if nothing is dirty, nothing is touched.
pub struct EncryptToShadow {
    /// The hardened reading.
    pub hardened: bool,
}

impl CrashDrain for EncryptToShadow {
    fn needs(&self) -> Battery {
        Battery::WriteComputeOrder
    }
    fn uses_shadow(&self) -> bool {
        true
    }
    fn drain(&self, lines: &[OnChipLine], battery: &mut dyn OnBattery) -> Result<(), Forbidden> {
        let region = battery.region();
        let first = battery.register(RegisterName::IncrCounter);
        if self.hardened && !lines.is_empty() {
            battery.set_register(RegisterName::IncrCounter, first + region.slots);
        }
        let mut stamps = Vec::with_capacity(lines.len());
        for line in lines {
            let stamp = if self.hardened {
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
        write_states(lines, |index| stamps[index], !self.hardened, battery);
        Ok(())
    }
}

/// Lines leave as they rest, under the pads made at boot, for the shadow cache (sepencr section IV-D).
///
/// *Published*: the states of all slots leave, too. *Hardened*: if nothing is dirty, nothing is touched.
pub struct ToShadow {
    /// The hardened reading.
    pub hardened: bool,
}

impl CrashDrain for ToShadow {
    fn needs(&self) -> Battery {
        Battery::WriteOnly
    }
    fn uses_shadow(&self) -> bool {
        true
    }
    fn drain(&self, lines: &[OnChipLine], battery: &mut dyn OnBattery) -> Result<(), Forbidden> {
        let region = battery.region();
        let epoch = battery.register(RegisterName::BootCounter);
        for line in lines {
            battery.write(MediaLine::data(region.data(line.slot)), &line.resident, Some(line));
        }
        write_states(lines, |_| epoch, !self.hardened, battery);
        Ok(())
    }
}

/// Lets tags, states and stamps of `lines`, which are in the order of their slots, leave: line by line of metadata, those
/// without a dirty slot only if `all` are asked for.
fn write_states(lines: &[OnChipLine], stamp: impl Fn(usize) -> u64, all: bool, battery: &mut dyn OnBattery) {
    let region = battery.region();
    let mut next = 0;
    let mut slot = 0;
    while slot < region.slots {
        if !all {
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

//! Mechanisms with a part missing, for seeded faults (`design::faults`): what the auditors must catch.

use crate::message::{Line, LineBytes, MediaLine, OnChipLine, ShadowRegion};
use crate::parts::{Admit, Battery, Counter, CrashDrain, Forbidden, OnBattery, RegisterName, WritePath};

/// Ready pairs without ready bits: the data is ready when it is queued, whether its counter is or not.
pub struct EarlyPairs {
    /// Only lines with a `CounterAtomic` variable are pairs.
    pub selective: bool,
}

impl WritePath for EarlyPairs {
    fn at_bump(&self) -> Admit {
        Admit::Nothing
    }
    fn at_encrypted(&self, counter_atomic: bool) -> Admit {
        if counter_atomic || !self.selective { Admit::DataThenCounter } else { Admit::Data }
    }
    fn defers_counter(&self, counter_atomic: bool) -> bool {
        self.selective && !counter_atomic
    }
}

/// A drain before which dirty counter blocks do not leave.
pub struct WithoutCounters(pub &'static dyn CrashDrain);

impl CrashDrain for WithoutCounters {
    fn needs(&self) -> Battery {
        self.0.needs()
    }
    fn uses_shadow(&self) -> bool {
        self.0.uses_shadow()
    }
    fn drains_counters(&self) -> bool {
        false
    }
    fn drain(&self, lines: &[OnChipLine], battery: &mut dyn OnBattery) -> Result<(), Forbidden> {
        self.0.drain(lines, battery)
    }
}

/// A drain that lets every copy of a line leave, the newest first and the oldest last.
pub struct EveryCopy(pub &'static dyn CrashDrain);

impl CrashDrain for EveryCopy {
    fn needs(&self) -> Battery {
        self.0.needs()
    }
    fn uses_shadow(&self) -> bool {
        self.0.uses_shadow()
    }
    fn drain(&self, lines: &[OnChipLine], battery: &mut dyn OnBattery) -> Result<(), Forbidden> {
        let all: Vec<OnChipLine> = lines.iter().map(|line| OnChipLine { newest: true, ..*line }).collect();
        self.0.drain(&all, battery)
    }
}

/// A drain that encrypts, with one of its two inputs held still.
pub struct HeldStill {
    /// What drains.
    pub drain: &'static dyn CrashDrain,
    /// What does not move.
    pub input: Input,
}

/// The inputs of a slot's pad.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// The incr-counter: what is written to it is lost.
    Counter,
    /// The slot: every pad is made for the first one.
    Slot,
}

impl CrashDrain for HeldStill {
    fn needs(&self) -> Battery {
        self.drain.needs()
    }
    fn uses_shadow(&self) -> bool {
        self.drain.uses_shadow()
    }
    fn drain(&self, lines: &[OnChipLine], battery: &mut dyn OnBattery) -> Result<(), Forbidden> {
        self.drain.drain(lines, &mut Holding { battery, input: self.input })
    }
}

struct Holding<'a> {
    battery: &'a mut dyn OnBattery,
    input: Input,
}

impl OnBattery for Holding<'_> {
    fn region(&self) -> ShadowRegion {
        self.battery.region()
    }
    fn register(&self, name: RegisterName) -> u64 {
        self.battery.register(name)
    }
    fn set_register(&mut self, name: RegisterName, value: u64) {
        if self.input != Input::Counter || name != RegisterName::IncrCounter {
            self.battery.set_register(name, value);
        }
    }
    fn pad(&mut self, line: Line, counter: Counter) -> Result<LineBytes, Forbidden> {
        let line = if self.input == Input::Slot { self.region().pad_line(0) } else { line };
        self.battery.pad(line, counter)
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

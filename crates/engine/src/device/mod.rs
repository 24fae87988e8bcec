//! The non-volatile device: line accesses come in from the controller, and their schedule goes back; the bytes stay.
//!
//! - `mapping`: which bank and row a media line lies in.
//! - `timing`: when an access gets its bank, rank and bus.
//! - `image`: the bytes that survive a power failure.
//! - `energy` and `wear`: what accesses cost.

mod energy;
mod image;
mod mapping;
mod table;
mod timing;
#[cfg(test)]
mod timing_tests;
mod wear;

pub use image::Image;

use crate::config::{ConfigError, Geometry, Machine};
use crate::kernel::Ps;
use crate::message::{
    BaseImage, Content, DevicePort, Issued, Line, LineBytes, Location, MediaLayout, MediaLine, MediaOp,
};
use energy::Energy;
use mapping::Mapping;
use std::sync::Arc;
use timing::Timing;
use wear::Wear;

/// What the device has done since the start or the last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct DeviceStats {
    /// Line reads: `data_reads` + `counter_reads`.
    pub reads: u64,
    /// Line writes: `data_writes` + `counter_writes`.
    pub writes: u64,
    /// Reads of data lines.
    pub data_reads: u64,
    /// Reads of counter blocks.
    pub counter_reads: u64,
    /// Writes of data lines.
    pub data_writes: u64,
    /// Writes of counter blocks.
    pub counter_writes: u64,
    /// Accesses that found their row open.
    pub row_hits: u64,
    /// Time from issue until the bank was free again, summed over all accesses, in picoseconds.
    pub bank_busy_ps: Ps,
    /// Energy of all accesses without background, in femtojoules.
    pub access_energy_fj: u64,
    /// Writes of the media line written most.
    pub max_line_writes: u32,
}

/// The device.
#[derive(Clone)]
pub struct Device {
    mapping: Mapping,
    timing: Timing,
    image: Image,
    energy: Energy,
    wear: Wear,
    stats: DeviceStats,
}

impl Device {
    /// The device of `machine`, holding `base`, with counters as `layout` says. An error if the program's memory does
    /// not fit beside the counters.
    pub fn new(machine: &Machine, layout: MediaLayout, base: Arc<dyn BaseImage>) -> Result<Self, ConfigError> {
        let mapping = Mapping::new(machine, layout);
        let capacity = mapping.geometry().program_capacity();
        if base.end() > capacity {
            return Err(ConfigError(format!(
                "the program uses {} bytes and device.capacity = {} leaves {capacity} bytes for programs",
                base.end(),
                machine.device.capacity
            )));
        }
        Ok(Self {
            mapping,
            timing: Timing::new(&machine.device),
            image: Image::new(base, machine.engine.bytes),
            energy: Energy::new(&machine.device, layout.transfer_bytes()),
            wear: Wear::default(),
            stats: DeviceStats::default(),
        })
    }

    /// Bytes that programs can use on a device of `machine`.
    pub fn program_capacity_of(machine: &Machine) -> u64 {
        Geometry::of(machine).program_capacity()
    }

    /// Power has failed and come back: every bank is free, no row is open, and what was done is counted anew. What is stored
    /// stays.
    pub fn power_cycle(&mut self, machine: &Machine) {
        self.timing = Timing::new(&machine.device);
        self.reset_stats();
    }

    /// Banks over all channels and ranks.
    pub fn banks(&self) -> u16 {
        self.mapping.geometry().banks as u16
    }

    /// What lies on the media.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// What was done since the start or the last reset.
    pub fn stats(&self) -> DeviceStats {
        DeviceStats { max_line_writes: self.wear.max(), ..self.stats }
    }

    /// Energy of the accesses since the last reset and of `elapsed` picoseconds of background, in femtojoules.
    pub fn energy_fj(&self, elapsed: Ps) -> u64 {
        self.stats.access_energy_fj + self.energy.of_background(elapsed)
    }

    /// Writes of `media` since the start or the last reset.
    pub fn line_writes(&self, media: MediaLine) -> u32 {
        self.wear.of(media)
    }

    /// Measuring begins: statistics and wear start from zero; bytes, open rows and busy banks stay.
    pub fn reset_stats(&mut self) {
        self.stats = DeviceStats::default();
        self.wear = Wear::default();
    }
}

impl DevicePort for Device {
    fn locate(&self, media: MediaLine) -> Location {
        self.mapping.locate(media)
    }

    fn open_row(&self, bank: u16) -> Option<u32> {
        self.timing.open_row(bank)
    }

    fn ready_at(&self, location: Location) -> Ps {
        self.timing.ready_at(location)
    }

    fn issue(&mut self, now: Ps, media: MediaLine, location: Location, op: MediaOp) -> Issued {
        debug_assert_eq!(location, self.mapping.locate(media));
        let issued = self.timing.issue(now, location, op);
        let stats = &mut self.stats;
        let (all, of_kind) = match (op, media.is_counter()) {
            (MediaOp::Read, false) => (&mut stats.reads, &mut stats.data_reads),
            (MediaOp::Read, true) => (&mut stats.reads, &mut stats.counter_reads),
            (MediaOp::Write, false) => (&mut stats.writes, &mut stats.data_writes),
            (MediaOp::Write, true) => (&mut stats.writes, &mut stats.counter_writes),
        };
        *all += 1;
        *of_kind += 1;
        stats.row_hits += u64::from(issued.row_hit);
        stats.bank_busy_ps += issued.bank_free - now;
        stats.access_energy_fj += self.energy.of_access(op, issued.row_hit);
        if op == MediaOp::Write {
            self.wear.count(media);
        }
        issued
    }

    fn content(&self, media: MediaLine) -> Content<'_> {
        self.image.content(media)
    }

    fn store(&mut self, media: MediaLine, bytes: &LineBytes) {
        self.image.store(media, bytes);
    }

    fn materialise(&mut self, media: MediaLine, bytes: &LineBytes) {
        debug_assert!(matches!(self.image.content(media), Content::Base(_)), "only a populated line materialises");
        self.image.store(media, bytes);
    }

    fn populated(&self, line: Line) -> bool {
        self.image.populated(line)
    }
}

/// A base whose first `lines` lines all hold `bytes`.
#[cfg(test)]
struct TestBase {
    lines: u64,
    bytes: LineBytes,
}

#[cfg(test)]
impl BaseImage for TestBase {
    fn line(&self, line: Line) -> Option<&LineBytes> {
        self.populated(line).then_some(&self.bytes)
    }
    fn populated(&self, line: Line) -> bool {
        line.0 < self.lines
    }
    fn end(&self) -> u64 {
        self.lines * 64
    }
}

/// The machine that unit tests start from.
#[cfg(test)]
fn test_machine() -> Machine {
    toml::from_str(include_str!("../config/presets/secpm.toml")).expect("the preset is valid")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::CounterBlock;

    fn device(machine: &Machine, lines: u64) -> Result<Device, ConfigError> {
        Device::new(machine, MediaLayout::PLAIN, Arc::new(TestBase { lines, bytes: [9; 64] }))
    }

    #[test]
    fn accesses_are_counted_by_kind() {
        let mut device = device(&test_machine(), 1).unwrap();
        let (line, block) = (MediaLine::data(Line(0)), MediaLine::counter(CounterBlock(0)));
        let mut now = 0;
        let accesses = [
            (line, MediaOp::Read),
            (line, MediaOp::Read),
            (line, MediaOp::Write),
            (block, MediaOp::Write),
            (block, MediaOp::Write),
            (block, MediaOp::Read),
        ];
        for (media, op) in accesses {
            now = device.issue(now, media, device.locate(media), op).bank_free;
        }
        let stats = device.stats();
        assert_eq!((stats.reads, stats.data_reads, stats.counter_reads), (3, 2, 1));
        assert_eq!((stats.writes, stats.data_writes, stats.counter_writes), (3, 1, 2));
        assert_eq!((stats.row_hits, stats.max_line_writes), (4, 2));
        // One bank serves all of them without a pause.
        assert_eq!(stats.bank_busy_ps, now);
        let read = 512 * 1_020;
        assert_eq!(device.energy_fj(0), read + 512 * 2_470 + read + 3 * (read + 512 * 16_820) + read);
        assert_eq!(device.line_writes(block), 2);
        device.reset_stats();
        assert_eq!(device.stats(), DeviceStats::default());
        let Location { bank, row } = device.locate(block);
        assert_eq!(device.open_row(bank), Some(row));
    }

    #[test]
    fn a_line_goes_from_base_to_media() {
        let mut device = device(&test_machine(), 1).unwrap();
        let (base, beyond) = (MediaLine::data(Line(0)), MediaLine::data(Line(1)));
        assert_eq!(device.content(base), Content::Base(&[9; 64]));
        assert_eq!(device.content(beyond), Content::Never);
        device.materialise(base, &[5; 64]);
        device.store(beyond, &[6; 64]);
        assert_eq!(device.content(base), Content::Stored(&[5; 64]));
        assert_eq!(device.content(beyond), Content::Stored(&[6; 64]));
        assert!(device.populated(Line(0)) && !device.populated(Line(1)));
        // Neither is an access.
        assert_eq!(device.stats(), DeviceStats::default());
    }

    #[test]
    fn a_program_that_does_not_fit_beside_the_counters_is_refused() {
        let machine = test_machine();
        let lines = Device::program_capacity_of(&machine) / 64;
        assert!(device(&machine, lines).is_ok());
        let error = device(&machine, lines + 1).err().unwrap();
        let sentence = format!(
            "the program uses {} bytes and device.capacity = 16GiB leaves {} bytes for programs",
            lines * 64 + 64,
            lines * 64
        );
        assert_eq!(error.0, sentence);
    }
}

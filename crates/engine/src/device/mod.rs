//! The non-volatile device: it takes line accesses from the controller, returns their schedule, and stores the bytes.
//!
//! - `mapping`: the bank and row of a media line.
//! - `timing`: when an access gets its bank, rank and bus.
//! - `image`: the bytes that survive a power failure, and how often each line was written.
//! - `energy` and `wear`: the cost of accesses.

mod energy;
mod image;
mod line_states;
mod mapping;
mod table;
#[cfg(test)]
mod tests;
mod timing;
mod wear;

pub use image::Image;
pub use wear::MostWrites;

use crate::config::{ConfigError, Geometry, Machine};
use crate::kernel::Ps;
use crate::message::{
    BaseImage, Content, DevicePort, Issued, Line, LineBytes, Location, MediaLayout, MediaLine, MediaOp, MediaUnit,
};
use energy::Energy;
use mapping::Mapping;
use std::sync::Arc;
use timing::Timing;

/// The counts of the device since the start or the last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct DeviceStats {
    /// Line reads of all kinds.
    pub reads: u64,
    /// Line writes of all kinds.
    pub writes: u64,
    /// Reads of data lines.
    pub data_reads: u64,
    /// Reads of counter blocks.
    pub counter_reads: u64,
    /// Writes of data lines.
    pub data_writes: u64,
    /// Writes of counter blocks.
    pub counter_writes: u64,
    /// Reads of lines of MACs.
    pub mac_reads: u64,
    /// Writes of lines of MACs.
    pub mac_writes: u64,
    /// Reads of nodes of the integrity tree.
    pub tree_reads: u64,
    /// Writes of nodes of the integrity tree.
    pub tree_writes: u64,
    /// Reads of lines of the shadow table.
    pub table_reads: u64,
    /// Writes of lines of the shadow table.
    pub table_writes: u64,
    /// Accesses that found their row open.
    pub row_hits: u64,
    /// Time during which banks worked on accesses or these waited for their command, summed over banks, in picoseconds.
    pub bank_busy_ps: Ps,
    /// Energy of all accesses, without background, in femtojoules.
    pub access_energy_fj: u64,
    /// Number of writes of the media line that was written most often.
    pub max_line_writes: u32,
    /// The same of each kind of media line.
    pub most_writes: MostWrites,
}

/// The non-volatile device.
#[derive(Clone)]
pub struct Device {
    mapping: Mapping,
    timing: Timing,
    image: Image,
    energy: Energy,
    most_writes: MostWrites,
    /// For each bank, when its last access is over.
    busy_until: Vec<Ps>,
    stats: DeviceStats,
}

impl Device {
    /// The device of `machine`, which holds `base`, with counters in the given layout.
    ///
    /// # Errors
    /// A sentence if the program's memory does not fit beside the counters.
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
        let banks = mapping.geometry().banks as usize;
        Ok(Self {
            mapping,
            timing: Timing::new(&machine.device),
            image: Image::new(base, machine.engine.bytes),
            energy: Energy::new(&machine.device, layout.transfer_bytes()),
            most_writes: MostWrites::default(),
            busy_until: vec![0; banks],
            stats: DeviceStats::default(),
        })
    }

    /// Bytes that programs can use on a device of `machine`.
    pub fn program_capacity_of(machine: &Machine) -> u64 {
        Geometry::of(machine).program_capacity()
    }

    /// Restarts the device after a power failure: every bank is free, no row is open, and the statistics start from
    /// zero. The stored bytes are kept.
    pub fn power_cycle(&mut self, machine: &Machine) {
        self.timing = Timing::new(&machine.device);
        self.busy_until.fill(0);
        self.reset_stats();
    }

    /// Number of banks over all channels and ranks.
    pub fn banks(&self) -> u16 {
        self.mapping.geometry().banks as u16
    }

    /// The contents of the media.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// Changes what is stored for `media`, as somebody does who writes to the module himself; `None`: it looks as if it had
    /// never been written.
    pub fn tamper(&mut self, media: MediaLine, bytes: Option<&LineBytes>) {
        match bytes {
            Some(bytes) => self.image.store(media, bytes),
            None => self.image.forget(media),
        }
    }

    /// The counts since the start or the last reset.
    pub fn stats(&self) -> DeviceStats {
        DeviceStats { max_line_writes: self.most_writes.of_all(), most_writes: self.most_writes, ..self.stats }
    }

    /// Energy of the accesses since the last reset plus the background energy of `elapsed` picoseconds, in femtojoules.
    pub fn energy_fj(&self, elapsed: Ps) -> u64 {
        self.stats.access_energy_fj + self.energy.of_background(elapsed)
    }

    /// Number of writes of `media` since the start or the last reset.
    pub fn line_writes(&self, media: MediaLine) -> u32 {
        self.image.writes(media)
    }

    /// Resets statistics and wear to zero; bytes, open rows and busy banks stay.
    pub fn reset_stats(&mut self) {
        self.stats = DeviceStats::default();
        self.most_writes = MostWrites::default();
        self.image.reset_writes();
    }
}

impl DevicePort for Device {
    fn locate(&self, media: MediaLine) -> Location {
        self.mapping.locate(media)
    }

    fn open_row(&self, bank: u16) -> Option<u32> {
        self.timing.open_row(bank)
    }

    fn ready_at(&self, location: Location, op: MediaOp) -> Ps {
        self.timing.ready_at(location, op)
    }

    fn command_at(&self, now: Ps, location: Location, op: MediaOp) -> Ps {
        self.timing.command_at(now, location, op)
    }

    fn issue(&mut self, now: Ps, media: MediaLine, location: Location, op: MediaOp, not_before: Ps) -> Issued {
        debug_assert_eq!(location, self.mapping.locate(media));
        let issued = self.timing.issue(now, location, op, not_before);
        let busy = &mut self.busy_until[usize::from(location.bank)];
        let stats = &mut self.stats;
        let (all, [data, counter, mac, tree, table]) = match op {
            MediaOp::Read => (
                &mut stats.reads,
                [
                    &mut stats.data_reads,
                    &mut stats.counter_reads,
                    &mut stats.mac_reads,
                    &mut stats.tree_reads,
                    &mut stats.table_reads,
                ],
            ),
            MediaOp::Write => (
                &mut stats.writes,
                [
                    &mut stats.data_writes,
                    &mut stats.counter_writes,
                    &mut stats.mac_writes,
                    &mut stats.tree_writes,
                    &mut stats.table_writes,
                ],
            ),
        };
        let of_kind = match media.unit() {
            MediaUnit::Data(_) => data,
            MediaUnit::Counter(_) => counter,
            MediaUnit::Mac(_) => mac,
            MediaUnit::Node(_) => tree,
            MediaUnit::Table(_) => table,
        };
        *all += 1;
        *of_kind += 1;
        stats.row_hits += u64::from(issued.row_hit);
        stats.bank_busy_ps += issued.done.saturating_sub(now.max(*busy));
        *busy = issued.done.max(*busy);
        stats.access_energy_fj += self.energy.of_access(op, issued.row_hit);
        if op == MediaOp::Write {
            self.most_writes.note(media, self.image.count_write(media));
        }
        issued
    }

    fn prefetch(&self, media: MediaLine) {
        self.image.prefetch(media);
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

    fn base(&self, line: Line) -> Option<&LineBytes> {
        self.image.base(line)
    }
}

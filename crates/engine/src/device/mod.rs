//! The non-volatile device: it takes line accesses from the controller, returns their schedule, and stores the bytes.
//!
//! - `mapping`: the bank and row of a media line.
//! - `timing`: when an access gets its bank, rank and bus; `interruption`: reads that stop writes.
//! - `image`: the bytes that survive a power failure, and how often each line was written.
//! - `energy` and `wear`: the cost of accesses.
//! - `dram`: DRAM, whose rows the controller opens and closes, and which it refreshes.
//! - `module`: modules that answer for themselves, instead of banks that the controller schedules.
//! - `start_gap`: lines that change their places; `lifetime`: what this means for the life of the device; `misread`: what
//!   lines read as once nobody knows where they are.

mod counts;
mod dram;
mod energy;
mod image;
mod interruption;
mod lifetime;
mod line_states;
mod mapping;
mod misread;
mod module;
mod start_gap;
mod table;
#[cfg(test)]
mod tests;
mod timing;
mod wear;

pub use counts::{BankStats, DeviceStats};
pub use energy::EnergyParts;
pub use image::Image;
pub use module::ModuleStats;
pub use wear::MostWrites;

use crate::config::{Geometry, Machine, ModuleKind};
use crate::kernel::{ConfigError, Ps};
use crate::layout::MediaLayout;
use crate::message::{
    BaseImage, Content, DevicePort, Issued, LINE_BYTES, Line, LineBytes, Location, MediaLine, MediaOp, RowCommand,
};
use counts::{Accesses, BankCounts};
use dram::Dram;
use energy::Energy;
use lifetime::RegionWrites;
use mapping::Mapping;
use misread::Residents;
use module::Modules;
use start_gap::{Move, StartGap};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use timing::Timing;

/// A bank: its counts, and when its last access is over.
#[derive(Clone, Copy, Default)]
struct Bank {
    counts: BankCounts,
    busy_until: Ps,
    /// What was written last; nothing if wear levelling did.
    written: Option<MediaLine>,
}

impl Bank {
    /// It works on an access, submitted at `now`, until `done`.
    fn occupied(&mut self, now: Ps, done: Ps) {
        self.counts.busy_ps += done.saturating_sub(now.max(self.busy_until));
        self.busy_until = done.max(self.busy_until);
    }
}

/// The channel of a bank, and its rank in that channel. Consecutive banks are in different channels, then in different banks of a
/// rank, then in different ranks.
fn channel_and_rank(channels: u32, banks_per_rank: u32, bank: u32) -> (u32, u32) {
    (bank % channels, bank / channels / banks_per_rank)
}

/// The place of a line in the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct MediaPlace {
    /// The channel.
    pub channel: u32,
    /// The rank of the channel.
    pub rank: u32,
    /// The bank, numbered over all channels and ranks.
    pub bank: u32,
    /// The row of the bank.
    pub row: u64,
    /// The line within the row.
    pub column: u64,
}

/// The non-volatile device.
#[derive(Clone)]
pub struct Device {
    channels: u32,
    banks_per_rank: u32,
    mapping: Mapping,
    leveling: Option<StartGap>,
    /// Where lines are at first, if a power failure takes the registers of wear levelling.
    residents: Option<Residents>,
    timing: Timing,
    modules: Option<Box<Modules>>,
    /// Whether modules encrypt what goes to their media.
    encrypts: bool,
    dram: Option<Box<Dram>>,
    image: Image,
    energy: Energy,
    most_writes: MostWrites,
    banks: Vec<Bank>,
    accesses: Accesses,
    /// What `accesses` and `banks` do not count.
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
        let leveling = StartGap::of(machine);
        let forgets = leveling.as_ref().filter(|_| !machine.wear.registers_durable);
        let residents = forgets.map(|regions| {
            Residents::of(base.as_ref(), |media| {
                let home = mapping.place(media);
                let (region, number) = regions.number(home);
                ((home.bank, region), number)
            })
        });
        Ok(Self {
            channels: machine.device.channels,
            banks_per_rank: machine.device.banks_per_rank,
            mapping,
            leveling,
            residents,
            timing: Timing::new(&machine.device),
            modules: Modules::of(machine, banks, false).map(Box::new),
            encrypts: false,
            dram: (machine.module.kind == ModuleKind::Dram).then(|| Box::new(Dram::new(machine))),
            image: Image::new(base, machine.engine.bytes),
            energy: Energy::new(&machine.device, layout.transfer_bytes()),
            most_writes: MostWrites::default(),
            banks: vec![Bank::default(); banks],
            accesses: Accesses::default(),
            stats: DeviceStats::default(),
        })
    }

    /// The same device; `encrypts`: its modules, which have done nothing yet, encrypt what goes to their media.
    #[must_use]
    pub fn encrypting(mut self, machine: &Machine, encrypts: bool) -> Self {
        self.encrypts = encrypts;
        self.modules = Modules::of(machine, self.banks.len(), encrypts).map(Box::new);
        self
    }

    /// The lines that modules have in their buffers at `now` and not on their media, if modules encrypt and a power failure
    /// does not take them.
    pub fn buffered(&self, now: Ps) -> Vec<MediaLine> {
        let modules = self.modules.as_ref().filter(|modules| self.encrypts && !modules.may_lose());
        modules.map_or_else(Vec::new, |modules| modules.buffered(now))
    }

    /// Bytes that programs can use on a device of `machine`.
    pub fn program_capacity_of(machine: &Machine) -> u64 {
        Geometry::of(machine).program_capacity()
    }

    /// Restarts the device after a power failure: every bank is free, no row is open, and the statistics start from
    /// zero. The stored bytes are kept, and so are the registers of wear levelling if they survive.
    pub fn power_cycle(&mut self, machine: &Machine) {
        self.timing = Timing::new(&machine.device);
        self.modules = Modules::of(machine, self.banks.len(), self.encrypts).map(Box::new);
        self.dram = self.dram.is_some().then(|| Box::new(Dram::new(machine)));
        if self.residents.is_some() {
            self.leveling = StartGap::of(machine);
        }
        self.banks.fill(Bank::default());
        self.reset_stats();
    }

    /// Number of banks over all channels and ranks.
    pub fn banks(&self) -> u16 {
        self.mapping.geometry().banks as u16
    }

    /// Number of channels.
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// Bytes that an access of a whole line moves, with what lies beside it.
    pub fn transfer_bytes(&self) -> u64 {
        self.mapping.layout().transfer_bytes()
    }

    /// The counts of `bank` since the start or the last reset.
    pub fn bank_stats(&self, bank: u16) -> BankStats {
        self.banks[usize::from(bank)].counts.stats()
    }

    /// The channel of `bank`, and its rank in that channel.
    pub fn channel_and_rank(&self, bank: u16) -> (u32, u32) {
        let bank = u32::from(bank);
        channel_and_rank(self.channels, self.banks_per_rank, bank)
    }

    /// The place of `media`.
    pub fn place(&self, media: MediaLine) -> MediaPlace {
        let mapping::Place { bank, row, column } = self.place_now(media);
        let (channel, rank) = self.channel_and_rank(bank as u16);
        MediaPlace { channel, rank, bank: bank as u32, row, column }
    }

    /// The DRAM that the device must be.
    fn commanded(&self) -> &Dram {
        self.dram.as_ref().expect("only DRAM takes commands about rows")
    }

    fn place_now(&self, media: MediaLine) -> mapping::Place {
        let home = self.mapping.place(media);
        self.leveling.as_ref().map_or(home, |regions| regions.place(home))
    }

    /// Makes an access ready that is issued as a whole. Only DRAM needs that.
    pub fn prepare(&mut self, now: Ps, location: Location, op: MediaOp) {
        if let Some(dram) = &mut self.dram {
            dram.prepare(now, location, op);
        }
    }

    /// The contents of the media.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// What a power failure now leaves of the contents of the media: all of them, unless the modules have a buffer that
    /// is not in the persistence domain.
    pub fn survives(&self) -> Cow<'_, Image> {
        let lost = self.modules.as_ref().map_or_else(Vec::new, |modules| modules.lost());
        if lost.is_empty() {
            return Cow::Borrowed(&self.image);
        }
        let mut left = self.image.clone();
        lost.iter().for_each(|(media, before)| left.restore(*media, before.as_ref()));
        Cow::Owned(left)
    }

    /// Power fails: what does not survive is gone.
    pub fn lose_power(&mut self) {
        if let Cow::Owned(left) = self.survives() {
            self.image = left;
        }
    }

    /// The counts of the modules since the start or the last reset; `None` without modules.
    pub fn module_stats(&self) -> Option<ModuleStats> {
        self.modules.as_ref().map(|modules| modules.stats())
    }

    /// Changes what is stored for `media`, as somebody does who writes to the module himself; `None`: it looks as if it had
    /// never been written.
    pub fn tamper(&mut self, media: MediaLine, bytes: Option<&LineBytes>) {
        self.image.restore(media, bytes);
    }

    /// Lines of all kinds that banks have begun to read and to write since the start or the last reset, and the counter blocks
    /// among them: as in [`stats`](Self::stats), which takes longer.
    pub fn lines(&self) -> [[u64; 2]; 2] {
        self.accesses.lines()
    }

    /// The counts since the start or the last reset.
    pub fn stats(&self) -> DeviceStats {
        let mut banks = BankStats::default();
        self.banks.iter().for_each(|bank| banks += bank.counts.stats());
        let mut stats = self.stats;
        self.accesses.add_to(&mut stats, &self.energy);
        DeviceStats {
            row_hits: banks.row_hits,
            bank_busy_ps: banks.busy_ps,
            access_energy_fj: stats.energy.sum(),
            max_line_writes: self.most_writes.of_all(),
            most_writes: self.most_writes,
            ..stats
        }
    }

    /// Energy of the accesses since the last reset plus the background energy of `elapsed` picoseconds, in femtojoules.
    pub fn energy_fj(&self, elapsed: Ps) -> u64 {
        self.stats().access_energy_fj + self.background_fj(elapsed)
    }

    /// The background energy of `elapsed` picoseconds, in femtojoules.
    pub fn background_fj(&self, elapsed: Ps) -> u64 {
        self.energy.of_background(elapsed)
    }

    /// Number of writes of `media` since the start or the last reset.
    pub fn line_writes(&self, media: MediaLine) -> u32 {
        self.image.writes(media)
    }

    /// How many runs the device endures that write what was written since the last reset; `None` if nothing was, with
    /// modules, which move lines themselves, and with DRAM, which does not wear out.
    pub fn endured_runs(&self, machine: &Machine) -> Option<f64> {
        if !self.wears() {
            return None;
        }
        let Some(regions) = &self.leveling else { return lifetime::unlevelled(machine, self.most_writes.of_all()) };
        let mut writes = RegionWrites::new();
        for (media, count) in self.image.iter_writes() {
            let home = self.mapping.place(media);
            let (region, number) = regions.number(home);
            writes.entry((home.bank, region)).or_default().push((number, count.into()));
        }
        lifetime::levelled(machine, regions, writes)
    }

    /// The same if writes were spread evenly over all lines of its capacity.
    pub fn evenly_endured_runs(&self, machine: &Machine) -> Option<f64> {
        let lines = machine.device.capacity.0 / LINE_BYTES;
        let writes = self.stats().writes;
        (writes > 0 && self.wears()).then(|| machine.wear.endurance_writes as f64 * lines as f64 / writes as f64)
    }

    fn wears(&self) -> bool {
        self.modules.is_none() && self.dram.is_none()
    }

    /// Resets statistics and wear to zero; bytes, open rows and busy banks stay.
    pub fn reset_stats(&mut self) {
        self.accesses = Accesses::default();
        self.stats = DeviceStats::default();
        self.most_writes = MostWrites::default();
        self.image.reset_writes();
        if let Some(modules) = &mut self.modules {
            modules.reset_stats();
        }
        self.banks.iter_mut().for_each(|bank| bank.counts = BankCounts::default());
    }
}

impl Device {
    /// A read has stopped the write that `bank` programs. If it begins again, it wears its line and takes its energy again.
    fn write_stopped(&mut self, bank: u16) {
        self.stats.interruptions += 1;
        if !self.timing.writes_again() {
            return;
        }
        let energy = self.energy.of_programming();
        self.stats.energy += energy;
        if let Some(media) = self.banks[usize::from(bank)].written {
            self.stats.metadata_energy_fj += if media.is_metadata() { energy.sum() } else { 0 };
            self.most_writes.note(media, self.image.count_write(media));
        }
    }

    /// Has wear levelling move a line, if the write of `media` calls for it.
    fn level(&mut self, now: Ps, media: MediaLine) {
        let Some(regions) = &mut self.leveling else { return };
        let home = self.mapping.place(media);
        let moved = regions.wrote(home);
        self.resides(media, moved.map(|Move { line: (region, number), .. }| ((home.bank, region), number)));
        let Some(moved) = moved else { return };
        let [from, to] = [moved.from, moved.to].map(|place| self.mapping.location(place));
        let issued = self.timing.move_line(now, from, to);
        let bank = &mut self.banks[home.bank as usize];
        bank.occupied(now, issued.done);
        bank.written = None;
        self.stats.energy += self.energy.of_move();
        self.stats.gap_moves += 1;
    }
}

impl DevicePort for Device {
    fn locate(&self, media: MediaLine) -> Location {
        self.mapping.location(self.place_now(media))
    }

    fn open_row(&self, bank: u16) -> Option<u32> {
        self.dram.as_ref().map_or_else(|| self.timing.open_row(bank), |dram| dram.open_row(bank))
    }

    fn ready_at(&self, location: Location, op: MediaOp) -> Ps {
        match &self.modules {
            Some(modules) => modules.ready_at(location.bank, op),
            None => self.timing.ready_at(location, op),
        }
    }

    fn command_at(&self, now: Ps, location: Location, op: MediaOp) -> Ps {
        match &self.modules {
            Some(modules) => modules.command_at(now, location.bank, op),
            None => self.timing.command_at(now, location, op),
        }
    }

    fn begin_read(&mut self, now: Ps, media: MediaLine, location: Location) {
        if let Some(modules) = &mut self.modules {
            modules.begin_read(now, location.bank, self.mapping.number(self.mapping.place(media)));
        }
    }

    fn needs(&self, location: Location, op: MediaOp) -> (Option<RowCommand>, Ps) {
        self.commanded().needs_on_bus(location, op)
    }

    fn refresh_due(&self, channel: u16) -> Ps {
        self.commanded().refresh_due(channel)
    }

    fn refresh(&self, channel: u16) -> (RowCommand, Ps) {
        self.commanded().refresh(channel)
    }

    fn rank_of(&self, bank: u16) -> u16 {
        self.commanded().rank_of(bank)
    }

    fn send(&mut self, at: Ps, command: RowCommand) {
        self.dram.as_mut().expect("only DRAM takes commands about rows").send(at, command);
    }

    fn issue(
        &mut self,
        now: Ps,
        media: MediaLine,
        location: Location,
        op: MediaOp,
        words: u8,
        not_before: Ps,
    ) -> Issued {
        // With wear levelling a line may have moved since it was located, by one line.
        debug_assert!(location == self.locate(media) || self.leveling.is_some());
        let issued = match (&mut self.modules, &mut self.dram) {
            (None, None) => self.timing.issue(now, location, op, words, not_before),
            (None, Some(dram)) => dram.issue(now, location, op, not_before),
            (Some(modules), _) => {
                let number = self.mapping.number(self.mapping.place(media));
                modules.issue(now, location.bank, media, number, op, not_before)
            }
        };
        if issued.stops_write {
            self.write_stopped(location.bank);
        }
        let bank = &mut self.banks[usize::from(location.bank)];
        bank.counts.count(op, issued.row_hit);
        bank.occupied(now, issued.done);
        self.accesses.count(op, media, issued.row_hit, words);
        if op == MediaOp::Write {
            bank.written = Some(media);
            self.most_writes.note(media, self.image.count_write(media));
            self.level(now, media);
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
        if let Some(modules) = &mut self.modules {
            modules.stores(media, &self.image);
        }
        let flipped = self.image.store(media, bytes);
        if flipped > 0 {
            self.accesses.count_flipped(media, flipped);
        }
    }

    fn may_lose(&self) -> bool {
        self.modules.as_ref().is_some_and(|modules| modules.may_lose())
    }

    fn next_end(&mut self) -> Option<Ps> {
        self.modules.as_mut()?.next_end()
    }

    fn instead(&self, media: MediaLine) -> Option<Option<&LineBytes>> {
        self.modules.as_ref()?.instead(media)
    }

    fn ended(&mut self, now: Ps) -> Vec<(MediaLine, LineBytes)> {
        let ended = self.modules.as_mut().map_or_else(Vec::new, |modules| modules.ended(now));
        let held =
            |(media, held): (_, Option<LineBytes>)| (media, held.unwrap_or_else(|| *self.image.content(media).bytes()));
        ended.into_iter().map(held).collect()
    }

    fn materialise(&mut self, media: MediaLine, bytes: &LineBytes) {
        debug_assert!(matches!(self.image.content(media), Content::Base(_)), "only a populated line materialises");
        self.image.put(media, bytes);
    }

    fn populated_mask(&self, lines: Range<u64>) -> u64 {
        self.image.populated_mask(lines)
    }

    fn base(&self, line: Line) -> Option<&LineBytes> {
        self.image.base(line)
    }
}

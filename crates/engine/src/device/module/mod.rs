//! Modules that answer for themselves, as those with 3D XPoint media do: each has a buffer of media lines, a translation of
//! addresses with a cache, and media that read and write whole media lines. What was measured of such modules is in Yang et
//! al., FAST 2020, and Wang et al., MICRO 2020 (LENS).
//!
//! ```text
//! channel -> buffer -> translation (AIT) -> media
//! ```
//!
//! - `buffer`: which media lines the buffer holds, and what of each was written.
//! - `translation`: which entries of the address indirection table are in its cache.
//! - `transactional`: modules whose controller tells them of reads, and collects what they have read.
//! - `unprogrammed`: what a power failure takes from a buffer outside the persistence domain.
//! - `link`: what takes the place of the channel of a module that is not on one.
//!
//! A request is submitted at the current time, and its whole schedule is known at once.
//!
//! Decisions:
//! - A module is a bank. Its requests do not wait for each other: it takes one for each burst on its channel.
//! - A line that the buffer lacks takes any place. In regions larger than the buffer LENS measured a share of hits that
//!   falls slowly, and FAST 2020 (Figure 9) a write amplification that rises slowly: neither is what LRU does.
//! - A media line of which everything was written leaves for the media at once. One of which a part was written leaves when
//!   its place is needed; the rest of it is read first. What has not left merges with later writes.
//! - The place of a line that leaves is free when the media begin to write it: they have it then.
//! - Reads and writes of the media do not wait for each other. With 64 random bytes at a time, the read of the rest does not
//!   show in what was measured: as many media lines a second are written as with 256 bytes (FAST 2020, Figure 5).
//! - Modules that encrypt do so between buffer and media: what the media read is decrypted before the buffer has it, and what they
//!   write is encrypted before they begin. The circuits take a media line at any time.
//! - Turnarounds of the channel are not modelled, nor is the wear levelling of the module.

mod buffer;
mod link;
#[cfg(test)]
mod tests;
mod transactional;
mod translation;
mod unprogrammed;

use super::image::Image;
use super::timing::Bursts;
use crate::config::{self, Machine, ModuleKind};
use crate::kernel::{Ps, ns_to_ps};
use crate::message::{Issued, LINE_BYTES, LINE_WORDS, LineBytes, MediaLine, MediaOp, PAGE_BYTES};
use buffer::{Buffer, Leaving};
use link::Link;
use translation::Translation;
use unprogrammed::Unprogrammed;

/// What modules have done since the start or the last reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct ModuleStats {
    /// Media lines read.
    pub media_reads: u64,
    /// Media lines written.
    pub media_writes: u64,
    /// Media lines of which a part was read before the whole was written.
    pub read_modify_writes: u64,
    /// Reads that the buffer answered.
    pub buffer_hits: u64,
    /// Writes that merged with what the buffer held of their media line, and was not on its way to the media.
    pub merged_writes: u64,
    /// Media lines whose entry of the address indirection table was not in its cache.
    pub translation_misses: u64,
}

/// Times of a module, in picoseconds.
#[derive(Clone, Copy, Debug)]
struct Times {
    buffer: Ps,
    media_read: Ps,
    read_interval: Ps,
    write_interval: Ps,
    translation: Ps,
    /// What encrypting or decrypting a media line takes.
    cipher: Ps,
}

impl Times {
    fn of(module: &config::Module, encrypts: bool) -> Self {
        Self {
            buffer: ns_to_ps(module.buffer_ns),
            media_read: ns_to_ps(module.media_read_ns),
            read_interval: ns_to_ps(module.media_read_interval_ns),
            write_interval: ns_to_ps(module.media_write_interval_ns),
            translation: ns_to_ps(module.ait_miss_ns),
            cipher: if encrypts { ns_to_ps(module.cipher_ns) } else { 0 },
        }
    }
}

/// The media of a module behind their translation.
#[derive(Clone, Debug)]
struct Media {
    times: Times,
    translation: Translation,
    /// Media lines that have one entry of the translation.
    lines_per_entry: u64,
    /// From when on the media take the next read, and the next write.
    free: [Ps; 2],
    stats: ModuleStats,
}

impl Media {
    /// When the media can begin what they are asked for `line` at `at`.
    fn translated(&mut self, at: Ps, line: u64) -> Ps {
        if self.translation.look_up(line / self.lines_per_entry) {
            return at;
        }
        self.stats.translation_misses += 1;
        at + self.times.translation
    }

    /// Reads `line`; returns when the buffer has it.
    fn read(&mut self, at: Ps, line: u64) -> Ps {
        let from = self.translated(at, line).max(self.free[0]);
        self.free[0] = from + self.times.read_interval;
        self.stats.media_reads += 1;
        from + self.times.media_read + self.times.cipher
    }

    /// Writes `line`, all of which is known at `at`; returns when they begin to.
    fn write(&mut self, at: Ps, line: u64) -> Ps {
        let from = self.translated(at + self.times.cipher, line).max(self.free[1]);
        self.free[1] = from + self.times.write_interval;
        self.stats.media_writes += 1;
        from
    }
}

/// The bursts on a channel that are not over.
#[derive(Clone, Debug, Default)]
struct Channel(Vec<(Ps, Ps)>);

impl Channel {
    /// Occupies the channel for `length`, in the first gap from `at` on; returns its begin. Nothing ends before `now`.
    fn occupy(&mut self, now: Ps, at: Ps, length: Ps) -> Ps {
        self.0.retain(|&(_, end)| end > now);
        let mut start = at;
        // Moving to the end of a conflict until there is none finds the earliest begin, whatever the order of the list.
        while let Some(&(_, end)) = self.0.iter().find(|&&(from, end)| start < end && from < start + length) {
            start = end;
        }
        self.0.push((start, start + length));
        start
    }
}

/// The writes on their way into a buffer, by line, with the time when it accepts them.
#[derive(Clone, Debug, Default)]
struct Arriving(Vec<(u64, Ps)>);

impl Arriving {
    /// A write of line `number` could be accepted at `at`; returns when it is: not before an earlier one of the same line, which
    /// may have to wait for a place that the media line has lost since.
    fn after_earlier(&mut self, now: Ps, number: u64, at: Ps) -> Ps {
        self.0.retain(|&(_, accepted)| accepted > now);
        let earlier = self.0.iter().filter(|&&(other, _)| other == number).map(|&(_, accepted)| accepted).max();
        let accepted = earlier.map_or(at, |earlier| earlier.max(at));
        self.0.push((number, accepted));
        accepted
    }
}

#[derive(Clone, Debug)]
struct Module {
    channel: Channel,
    link: Option<Link>,
    buffer: Buffer,
    arriving: Arriving,
    media: Media,
}

/// The modules that answer for themselves, one for each bank.
#[derive(Clone)]
struct Buffered {
    modules: Vec<Module>,
    /// Lines of 64 bytes in a media line.
    sectors: u64,
    burst: Ps,
}

#[derive(Clone)]
enum Kind {
    Buffered(Buffered),
    Transactional(transactional::Banks),
}

/// The modules of a device.
#[derive(Clone)]
pub(super) struct Modules {
    kind: Kind,
    unprogrammed: Option<Unprogrammed>,
    /// Whether a power failure loses what is not programmed.
    loses: bool,
}

impl Modules {
    /// The modules of `machine`, in front of `banks` banks; `None` if its device has none.
    /// `encrypts`: they encrypt what goes to their media.
    pub fn of(machine: &Machine, banks: usize, encrypts: bool) -> Option<Self> {
        let kind = match machine.module.kind {
            ModuleKind::Buffered => Kind::Buffered(Buffered::of(machine, banks, encrypts)),
            ModuleKind::Transactional => Kind::Transactional(transactional::Banks::of(machine)),
            ModuleKind::None | ModuleKind::Dram => return None,
        };
        let loses = !machine.module.buffer_durable || !machine.link.keeps_buffers();
        Some(Self { kind, unprogrammed: (loses || encrypts).then(Unprogrammed::default), loses })
    }

    /// What they have done since the start or the last reset.
    pub fn stats(&self) -> ModuleStats {
        match &self.kind {
            Kind::Buffered(buffered) => buffered.stats(),
            Kind::Transactional(banks) => banks.stats,
        }
    }

    pub fn reset_stats(&mut self) {
        match &mut self.kind {
            Kind::Buffered(Buffered { modules, .. }) => {
                modules.iter_mut().for_each(|module| module.media.stats = ModuleStats::default());
            }
            Kind::Transactional(banks) => banks.stats = ModuleStats::default(),
        }
    }

    /// The banks that the controller tells what they read; `None` if it asks the modules for data.
    fn told(&self) -> Option<&transactional::Banks> {
        match &self.kind {
            Kind::Transactional(banks) => Some(banks),
            Kind::Buffered(_) => None,
        }
    }

    /// See [`crate::message::DevicePort::begin_read`].
    pub fn begin_read(&mut self, now: Ps, bank: u16, number: u64) {
        if let Kind::Transactional(banks) = &mut self.kind {
            banks.begin_read(now, bank, number);
        }
    }

    /// See [`crate::message::DevicePort::ready_at`].
    pub fn ready_at(&self, bank: u16, op: MediaOp) -> Ps {
        self.told().map_or(0, |banks| banks.ready_at(bank, op))
    }

    /// See [`crate::message::DevicePort::command_at`].
    pub fn command_at(&self, now: Ps, bank: u16, op: MediaOp) -> Ps {
        self.told().map_or(now, |banks| banks.command_at(now, bank, op))
    }

    /// Schedules one access of `media`, which is line `number` of `bank`; see [`crate::message::DevicePort::issue`].
    pub fn issue(&mut self, now: Ps, bank: u16, media: MediaLine, number: u64, op: MediaOp, not_before: Ps) -> Issued {
        let unprogrammed = &mut self.unprogrammed;
        let mut leaves = |leaving| {
            if let Some(unprogrammed) = unprogrammed {
                unprogrammed.leaves(bank, leaving);
            }
        };
        let (issued, line) = match &mut self.kind {
            Kind::Buffered(buffered) => buffered.issue(now, bank, number, op, &mut leaves),
            Kind::Transactional(banks) => {
                let (issued, leaving) = banks.issue(now, bank, number, op, not_before);
                leaving.into_iter().for_each(leaves);
                (issued, number)
            }
        };
        if let (MediaOp::Write, Some(unprogrammed)) = (op, &mut self.unprogrammed) {
            unprogrammed.accepted(media, (bank, line), issued.data_end);
            if !self.loses {
                // Nobody waits for the media here.
                unprogrammed.forget_ended(now);
            }
        }
        issued
    }

    /// The bytes of `media` are about to change in `image`.
    pub fn stores(&mut self, media: MediaLine, image: &Image) {
        if let Some(unprogrammed) = &mut self.unprogrammed {
            unprogrammed.stores(media, image.content(media));
        }
    }

    /// What a power failure leaves instead of the bytes that each of these lines has in the image.
    pub fn lost(&self) -> Vec<(MediaLine, Option<LineBytes>)> {
        self.unprogrammed.as_ref().filter(|_| self.loses).map_or_else(Vec::new, Unprogrammed::lost)
    }

    /// The lines that buffers have at `now` and the media do not.
    pub fn buffered(&self, now: Ps) -> Vec<MediaLine> {
        let mut unprogrammed = self.unprogrammed.clone().unwrap_or_default();
        unprogrammed.ended(now);
        unprogrammed.lost().into_iter().map(|(media, _)| media).collect()
    }

    /// When a write of the media ends that a power failure must not come before, and that nobody has asked for.
    pub fn next_end(&mut self) -> Option<Ps> {
        self.unprogrammed.as_mut().filter(|_| self.loses)?.next_end()
    }

    /// What the media hold of `media`, if that is what a power failure leaves and not what is stored.
    pub fn instead(&self, media: MediaLine) -> Option<Option<&LineBytes>> {
        self.unprogrammed.as_ref().filter(|_| self.loses)?.instead(media)
    }

    /// Ends the writes of the media that are over at `now`: see [`Unprogrammed::ended`].
    pub fn ended(&mut self, now: Ps) -> Vec<(MediaLine, Option<LineBytes>)> {
        self.unprogrammed.as_mut().map_or_else(Vec::new, |unprogrammed| unprogrammed.ended(now))
    }

    /// Whether a power failure may leave less than the image has.
    pub fn may_lose(&self) -> bool {
        self.loses
    }
}

impl Buffered {
    fn of(machine: &Machine, banks: usize, encrypts: bool) -> Self {
        let config = &machine.module;
        let media = Media {
            times: Times::of(config, encrypts),
            translation: Translation::new(config.ait_reach.0 / PAGE_BYTES),
            lines_per_entry: PAGE_BYTES / config.media_line.0,
            free: [0; 2],
            stats: ModuleStats::default(),
        };
        let sectors = config.media_line.0 / LINE_BYTES;
        let buffer = Buffer::new((config.buffer.0 / config.media_line.0) as usize, sectors as u32);
        let link = Link::of(&machine.link);
        let module = Module { channel: Channel::default(), link, buffer, arriving: Arriving::default(), media };
        Self { modules: vec![module; banks], sectors, burst: Bursts::new(&machine.device).of(LINE_WORDS) }
    }

    fn stats(&self) -> ModuleStats {
        let mut all = ModuleStats::default();
        for Module { media: Media { stats, .. }, .. } in &self.modules {
            all.media_reads += stats.media_reads;
            all.media_writes += stats.media_writes;
            all.read_modify_writes += stats.read_modify_writes;
            all.buffer_hits += stats.buffer_hits;
            all.merged_writes += stats.merged_writes;
            all.translation_misses += stats.translation_misses;
        }
        all
    }

    /// Schedules one access of line `number` of `module`; returns its media line, too.
    fn issue(
        &mut self,
        now: Ps,
        module: u16,
        number: u64,
        op: MediaOp,
        leaves: &mut dyn FnMut(Leaving),
    ) -> (Issued, u64) {
        let (line, sector) = (number / self.sectors, (number % self.sectors) as u32);
        let Module { channel, link, buffer, arriving, media: behind } = &mut self.modules[usize::from(module)];
        let length = link.as_ref().map_or(self.burst, |link| link.length(op));
        let end = match op {
            MediaOp::Read => {
                let arrives = link.as_mut().map_or(now, |link| link.ask(now, op));
                let known = buffer.read(arrives, line, sector, behind, leaves) + behind.times.buffer;
                match link {
                    Some(link) => link.answer(now, op, known),
                    None => channel.occupy(now, known, length) + length,
                }
            }
            MediaOp::Write => {
                let arrives = match link {
                    Some(link) => link.ask(now, op),
                    None => channel.occupy(now, now, length) + length,
                };
                let accepted = buffer.write(arrives, line, sector, behind, leaves);
                arriving.after_earlier(now, number, accepted)
            }
        };
        // The host knows of a write that the module has taken by its answer.
        let done = match (op, link) {
            (MediaOp::Write, Some(link)) => link.answer(now, op, end),
            _ => end,
        };
        let issued = Issued {
            command: now,
            burst: length,
            data_end: end,
            done,
            next: now + length,
            row_hit: false,
            stops_write: false,
        };
        (issued, line)
    }
}

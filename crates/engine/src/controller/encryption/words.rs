//! Lines of which a write encrypts only modified words anew (DEUCE): their bits, and the line in memory with which a write is
//! compared. A machine of the paper compares what it writes with what is there to program only what differs; here the
//! controller reads the line before its words are encrypted.

use super::super::encrypted::{Encrypted, EncryptionEngine};
use super::super::in_flight::{BankRead, Compared, Stage, Write};
use super::super::queues::wpq::Entry;
use crate::message::{Content, ControllerEvent, DevicePort, Line, LineBytes, MediaLine, Observer};
use crate::parts::{Counter, Stored};

/// The line of a queued entry.
pub(in crate::controller) fn stored_of(entry: &Entry) -> Stored {
    let beside = entry.beside.as_ref().filter(|(media, _)| *media == MediaLine::modified(Line(entry.media.code())));
    Stored { bytes: entry.bytes, modified: beside.map_or(0, |(_, block)| Stored::modified_in(block)) }
}

impl EncryptionEngine {
    /// The bits of `line` on the media; 0 if lines have none.
    pub fn modified_on<D: DevicePort>(&self, device: &D, line: Line) -> u64 {
        if self.pads.words().is_none() {
            return 0;
        }
        match device.content(MediaLine::modified(line)) {
            Content::Stored(block) => Stored::modified_in(block),
            Content::Base(_) | Content::Never => 0,
        }
    }

    /// The ciphertext of a populated line that nothing has written.
    pub fn encrypt_first(&self, line: Line, counter: Counter, plaintext: &LineBytes) -> LineBytes {
        match self.pads.words() {
            Some(words) => words.first(line, counter, plaintext),
            None => self.pads.encrypt(line, counter, plaintext),
        }
    }

    /// The plaintext of what is `stored` in `line`.
    pub fn decrypt(&self, line: Line, counter: Counter, stored: &Stored) -> LineBytes {
        match self.pads.words() {
            Some(words) => words.read(line, counter, stored),
            None => self.pads.decrypt(line, counter, &stored.bytes),
        }
    }
}

impl<D: DevicePort, O: Observer + ?Sized> Encrypted<'_, D, O> {
    /// Number of pads that the write in `slot` needs, whose counter has been incremented. If it needs two, the line in memory is
    /// asked for, unless it is queued or was never written, as its counter then says.
    pub fn pads_of_write(&mut self, slot: u32) -> u8 {
        let Write { line, counter, .. } = self.memory.writes[slot];
        if self.engine.pads.words().is_none_or(|words| words.begins_epoch(counter)) {
            return 1;
        }
        let media = MediaLine::data(line);
        let queued = self.memory.banks.wpq.newest(media).is_some();
        if !queued && !matches!(self.memory.device.content(media), Content::Never) {
            self.memory.writes[slot].compares = Compared::Asked;
            self.memory.meter.stats.data_reads += 1;
            self.memory.ask_bank(BankRead::Compared(slot, line));
        }
        2
    }

    /// Whether the write in `slot`, whose pads are ready, waits for the line that is in memory.
    pub fn awaits_line(&mut self, slot: u32) -> bool {
        let now = self.memory.now();
        let write = &mut self.memory.writes[slot];
        match write.compares {
            Compared::Nothing => return false,
            Compared::At(at) if at <= now => return false,
            Compared::At(at) => self.memory.queue.schedule(at, ControllerEvent::PadReady { slot }),
            Compared::Asked => {}
        }
        write.stage = Stage::Comparing;
        true
    }

    /// Encrypts the words of the write in `slot` that have been modified.
    pub fn encrypt_words(&mut self, slot: u32) {
        let Write { line, counter, .. } = self.memory.writes[slot];
        let plaintext = self.memory.writes[slot].plaintext();
        let before = self.before(line);
        let words = self.engine.pads.words().expect("only a design with words calls this");
        let Stored { bytes, modified } = words.write(line, counter, &plaintext, before.as_ref());
        let write = &mut self.memory.writes[slot];
        (write.ciphertext, write.modified) = (bytes, modified);
    }

    /// What is in memory of `line`, or queued; `None` if it was never written.
    fn before(&self, line: Line) -> Option<Stored> {
        let media = MediaLine::data(line);
        if let Some(entry) = self.memory.banks.wpq.newest(media) {
            return Some(stored_of(entry));
        }
        let device = &*self.memory.device;
        match device.content(media) {
            Content::Stored(bytes) => Some(Stored { bytes: *bytes, modified: self.engine.modified_on(device, line) }),
            Content::Base(plaintext) => {
                let counters = &self.engine.counters;
                let first = counters.initial(device, counters.block(line));
                let counter = counters.scheme.counter(&first, counters.index(line));
                Some(Stored { bytes: self.engine.encrypt_first(line, counter, plaintext), modified: 0 })
            }
            Content::Never => None,
        }
    }
}

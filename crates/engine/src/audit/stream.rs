//! How the auditors handle each report of a stage.

use super::Auditor;
use super::counter::{CounterCipher, modified_in};
use super::event_log::Note;
use super::line_record::Status;
use super::pads::{Earlier, Way};
use super::word_pads::durable_counters;
use crate::kernel::Ps;
use crate::message::{CoreId, CounterGroup, GroupMask, Line, LineBytes, MediaLine, MediaUnit, Observer};

impl Observer for Auditor {
    fn stored(&mut self, _now: Ps, core: CoreId, line: Line, offset: usize, data: &[u8]) {
        self.note(Note::Stored(core, line));
        let id = self.lines.id(line);
        self.line_rule.stored(&mut self.lines, self.events + 1, id, offset, data);
        if let Some(stages) = &mut self.stages {
            stages.touch(id);
        }
    }

    fn marked_counter_atomic(&mut self, _now: Ps, core: CoreId, line: Line) {
        self.note(Note::Marked(core, line));
        let id = self.lines.id(line);
        self.line_rule.marked(&mut self.lines, id);
    }

    fn flushed(&mut self, _now: Ps, core: CoreId, line: Line) {
        self.note(Note::Flushed(core, line));
        let id = self.lines.id(line);
        self.line_rule.flushed(&self.lines, core, id);
    }

    fn fenced(&mut self, _now: Ps, core: CoreId) {
        self.note(Note::Fenced(core));
        self.line_rule.fenced(&mut self.lines, self.events + 1, core);
        if let Some(transactions) = &mut self.transactions {
            transactions.fenced(core);
        }
        if let Some(stages) = &mut self.stages {
            stages.touch_all();
        }
    }

    fn transaction_began(&mut self, _now: Ps, core: CoreId, number: u64) {
        if let Some(transactions) = &mut self.transactions {
            transactions.began(&mut self.lines, core, number);
            if let Some(stages) = &mut self.stages {
                stages.began(core, transactions.written(core));
            }
        }
    }

    fn transaction_ended(&mut self, _now: Ps, core: CoreId, _number: u64) {
        if let Some(transactions) = &mut self.transactions {
            transactions.ended(&mut self.lines, core);
        }
    }

    fn evicted(&mut self, _now: Ps, line: Line) {
        self.note(Note::Evicted(line));
    }

    fn write_arrived(&mut self, _now: Ps, line: Line, plaintext: &LineBytes) {
        self.note(Note::Arrived(line));
        if let Some(secrecy) = &mut self.secrecy {
            secrecy.arrived(line, plaintext, self.lines.base(line));
        }
        if let Some(stages) = &mut self.stages {
            stages.arrived(line, plaintext);
        }
    }

    fn chip_line(&mut self, _now: Ps, media: MediaLine, bytes: &LineBytes) {
        let event = self.events + 1;
        self.durable.chip_line(&mut self.lines, event, media, bytes);
    }

    fn persisted(&mut self, _now: Ps, media: MediaLine, bytes: &LineBytes) {
        self.note(Note::Persisted(media));
        let event = self.events + 1;
        self.durable.persisted(&mut self.lines, event, media, bytes);
        if let Some(stages) = &mut self.stages {
            stages.media_changed(&self.lines, media);
        }
        if self.durable.cipher().is_some_and(|cipher| cipher.words().is_some()) {
            return self.words_persisted(media, bytes);
        }
        let secret = self.is_secret(media);
        if let (Some(secrecy), Some(line)) = (&mut self.secrecy, secret) {
            let leak = secrecy.persisted(event, line, bytes, self.lines.base(line), self.durable.cipher());
            self.run_leaks.extend(leak.map(|leak| (line, leak)));
        }
    }

    fn media_hold(&mut self, _now: Ps, media: MediaLine, held: Option<&LineBytes>) {
        self.note(Note::Buffered(media));
        let event = self.events + 1;
        self.durable.media_hold(&mut self.lines, event, media, held);
        if let Some(stages) = &mut self.stages {
            stages.media_changed(&self.lines, media);
        }
    }

    fn coalesced(&mut self, _now: Ps, media: MediaLine, bytes: &LineBytes) {
        self.note(Note::Coalesced(media));
        self.durable.removed(&mut self.lines, media, bytes);
        if let Some(stages) = &mut self.stages {
            stages.media_changed(&self.lines, media);
        }
    }

    fn bus_write(&mut self, _now: Ps, media: MediaLine, bytes: &LineBytes) {
        self.durable.written(&mut self.lines, media, bytes);
        let secret = self.is_secret(media).filter(|_| !self.bus_is_clear);
        if let (Some(secrecy), Some(line)) = (&mut self.secrecy, secret) {
            let base = self.lines.base(line);
            let leak = match self.durable.cipher().and_then(CounterCipher::words) {
                Some(_) => secrecy.words_crossed(Earlier { line, event: self.events + 1, way: Way::Run }, bytes, base),
                None => secrecy.crossed(self.events + 1, line, bytes, base),
            };
            self.run_leaks.extend(leak.map(|leak| (line, leak)));
        }
    }

    fn logged(&mut self, _now: Ps, core: CoreId, line: Line) {
        self.note(Note::Logged(core, line));
    }

    fn log_extended(&mut self, _now: Ps, core: CoreId, bucket: u32, records: u32) {
        if let Some(log) = &mut self.hardware_log {
            log.extended(core, bucket, records);
        }
    }

    fn log_freed(&mut self, _now: Ps, core: CoreId) {
        self.note(Note::LogFreed(core));
        if let Some(log) = &mut self.hardware_log {
            log.freed(core);
        }
        if let Some(transactions) = &mut self.transactions {
            transactions.log_freed(core);
        }
    }

    fn reencryption(&mut self, _now: Ps, group: CounterGroup, old_major: u64, done: GroupMask, finished: bool) {
        self.note(Note::Reencryption { group, old_major, done: done.count_ones(), finished });
        let status = (!finished).then_some(Status { group, old_major, done });
        self.durable.reencryption(&mut self.lines, status);
        if let Some(stages) = &mut self.stages {
            stages.touch_all();
        }
        if let Some(secrecy) = &mut self.secrecy {
            secrecy.reencryption(status);
        }
    }

    fn event_over(&mut self, _now: Ps) {
        self.durable.event_over(&mut self.lines);
        self.events += 1;
        if !self.run_leaks.is_empty() {
            self.report_run_leaks();
        }
    }
}

impl Auditor {
    /// A line persists before the bits of its words, in the same event.
    fn words_persisted(&mut self, media: MediaLine, bytes: &LineBytes) {
        if let Some(line) = media.as_line() {
            self.without_bits = Some((line, *bytes));
        }
        let MediaUnit::Modified(line) = media.unit() else { return };
        let stored = self.without_bits.take().filter(|(other, _)| *other == line);
        let (Some(secrecy), Some(cipher), Some((_, stored))) = (&mut self.secrecy, self.durable.cipher(), stored)
        else {
            return;
        };
        let at = Earlier { line, event: self.events + 1, way: Way::Run };
        let (stored, durable) = ((&stored, modified_in(bytes)), durable_counters(&self.lines, line));
        let leak = secrecy.words_persisted(at, stored, self.lines.base(line), cipher, durable);
        self.run_leaks.extend(leak.map(|leak| (line, leak)));
    }
}

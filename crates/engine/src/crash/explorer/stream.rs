//! The explorer as an observer: it passes everything on, and decides at the end of each event.

use super::{Explorer, Wants};
use crate::kernel::Ps;
use crate::message::{CoreId, CounterGroup, GroupMask, Line, LineBytes, MediaLine, Observer, Site};

impl Observer for Explorer<'_> {
    fn stored(&mut self, now: Ps, core: CoreId, line: Line, offset: usize, data: &[u8]) {
        // The event that this is part of is not complete.
        self.first_store.get_or_insert(self.auditor.events() + 1);
        if self.drains {
            self.next_pads.persisted(line);
        }
        self.auditor.stored(now, core, line, offset, data);
        if let Some(touched) = &mut self.touched {
            touched.stored(line);
        }
    }
    fn store_left(&mut self, _now: Ps, _core: CoreId, site: Site) {
        if let Some(touched) = &mut self.touched {
            touched.store_left(site);
        }
    }
    fn flush_sent(&mut self, _now: Ps, _core: CoreId, site: Site, line: Line, counters: bool, _done: Option<Ps>) {
        if let Some(touched) = self.touched.as_mut().filter(|_| !counters) {
            touched.flushed(line, site);
        }
    }
    fn marked_counter_atomic(&mut self, now: Ps, core: CoreId, line: Line) {
        self.auditor.marked_counter_atomic(now, core, line);
    }
    fn flushed(&mut self, now: Ps, core: CoreId, line: Line) {
        self.auditor.flushed(now, core, line);
    }
    fn fenced(&mut self, now: Ps, core: CoreId) {
        self.auditor.fenced(now, core);
    }
    fn transaction_began(&mut self, now: Ps, core: CoreId, number: u64) {
        if let Some(command) = &mut self.command {
            command.transaction = Some(number);
        }
        self.auditor.transaction_began(now, core, number);
    }
    fn transaction_ended(&mut self, now: Ps, core: CoreId, number: u64) {
        if let Some(command) = &mut self.command {
            command.transaction = None;
        }
        self.auditor.transaction_ended(now, core, number);
    }
    fn marked(&mut self, _now: Ps, _core: CoreId, number: u64) {
        self.marks = number + 1;
    }
    fn evicted(&mut self, now: Ps, line: Line) {
        self.auditor.evicted(now, line);
    }
    fn write_arrived(&mut self, now: Ps, line: Line, plaintext: &LineBytes) {
        if let Some(attacker) = &mut self.attacker {
            attacker.write_arrived(line, plaintext);
        }
        self.auditor.write_arrived(now, line, plaintext);
    }
    fn persisted(&mut self, now: Ps, media: MediaLine, bytes: &LineBytes) {
        if let Some(line) = media.as_line() {
            self.next_pads.persisted(line);
        }
        if self.verifies {
            self.unverified.changed(media);
        }
        if let Some(attacker) = &mut self.attacker {
            attacker.persisted(self.auditor.events() + 1, media, bytes);
        }
        self.auditor.persisted(now, media, bytes);
    }
    fn media_hold(&mut self, now: Ps, media: MediaLine, held: Option<&LineBytes>) {
        if self.verifies {
            self.unverified.changed(media);
        }
        self.auditor.media_hold(now, media, held);
    }
    fn chip_line(&mut self, now: Ps, media: MediaLine, bytes: &LineBytes) {
        self.auditor.chip_line(now, media, bytes);
    }
    fn coalesced(&mut self, now: Ps, media: MediaLine, bytes: &LineBytes) {
        if self.verifies {
            self.unverified.changed(media);
        }
        self.auditor.coalesced(now, media, bytes);
    }
    fn bus_write(&mut self, now: Ps, media: MediaLine, bytes: &LineBytes) {
        if let Some(attacker) = &mut self.attacker {
            attacker.crossed(media, bytes);
        }
        self.auditor.bus_write(now, media, bytes);
    }
    fn logged(&mut self, now: Ps, core: CoreId, line: Line) {
        self.auditor.logged(now, core, line);
    }
    fn log_extended(&mut self, now: Ps, core: CoreId, bucket: u32, records: u32) {
        self.auditor.log_extended(now, core, bucket, records);
    }
    fn log_freed(&mut self, now: Ps, core: CoreId) {
        self.auditor.log_freed(now, core);
    }
    fn reencryption(&mut self, now: Ps, group: CounterGroup, old_major: u64, done: GroupMask, finished: bool) {
        self.auditor.reencryption(now, group, old_major, done, finished);
    }

    fn event_over(&mut self, now: Ps) {
        let event = self.auditor.events() + 1;
        let planned = self.plan.includes(event.saturating_sub(self.before), self.total_events);
        self.at_point = planned && self.region.has(self.marks);
        self.auditor.count_leaks(self.at_point);
        self.auditor.event_over(now);
        if let Some(command) = &mut self.command {
            command.want_nothing();
        }
        self.wants = Wants { power_loss: self.at_point && self.drains, ..Wants::default() };
        if self.at_point && !self.drains {
            self.judge_point();
        }
        self.name_places();
    }
}

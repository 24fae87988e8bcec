//! A read from its arrival to its answer. Contents are settled at arrival, in one event, so that nothing that
//! happens while the array is being read can tear them; the rest is time.

use super::request::{BankRead, CounterWaiter, LineWaiter, Read, Source, Write};
use super::state::{Context, Controller, Response};
use crate::kernel::{Ps, Queue};
use crate::message::{Circuit, Content, CounterCacheAct, DevicePort, Event, Line, LineBytes, MediaLine, Observer, xor};
use crate::parts::{Counter, CounterStore};

impl Controller {
    /// Takes a read that reaches the controller at `at`; `token` comes back with the bytes.
    pub fn accept_read<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        at: Ps,
        line: Line,
        token: u32,
    ) {
        let slot = self.new_read(line, Source::Caches(token));
        cx.queue.schedule(at, Event::ReadArrives { slot });
    }

    pub(super) fn new_read(&mut self, line: Line, source: Source) -> u32 {
        self.reads.insert(Read { line, source, bytes: [0; 64], data_at: None, pad_at: None, blank: false })
    }

    /// `Event::ReadArrives`.
    pub(super) fn read_arrives<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        if self.reads_active >= self.config.read_queue_entries && matches!(self.reads[slot].source, Source::Caches(_)) {
            self.reads_waiting.push_back(slot);
            return;
        }
        self.reads_active += 1;
        self.start_read(cx, slot);
    }

    pub(super) fn start_read<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        let Read { line, source, .. } = self.reads[slot];
        let now = cx.queue.now();
        cx.observer.read_arrived(now, line);
        if let Some(write) = self.newest_write(line, source) {
            // Not yet in the queue, so still in the clear on the chip.
            self.stats.forwarded_reads += 1;
            self.reads[slot].bytes = self.writes[write].plaintext();
            cx.queue.schedule(now + self.timing.counter_cache, Event::ReadReady { slot });
            return;
        }
        if matches!(source, Source::Caches(_)) && self.waits_for_reencryption(line, LineWaiter::Read(slot)) {
            return;
        }
        let media = MediaLine::data(line);
        let forwarded = self.wpq.newest(media).map(|entry| entry.bytes);
        let blank = forwarded.is_none() && matches!(cx.device.content(media), Content::Never);
        if self.encryption.is_none() {
            if self.bytes {
                self.reads[slot].bytes = forwarded.unwrap_or_else(|| match cx.device.content(media) {
                    Content::Never => [0; 64],
                    Content::Base(bytes) | Content::Stored(bytes) => *bytes,
                });
            }
            self.reads[slot].pad_at = Some(now);
        } else {
            if self.bytes && !blank {
                let counter = self.counter_for_read(cx.device, line, source);
                self.reads[slot].bytes = self.decrypt(cx.device, line, counter, forwarded);
            }
            self.reads[slot].blank = blank;
        }
        if forwarded.is_some() {
            self.stats.forwarded_reads += 1;
            self.reads[slot].data_at = Some(now);
            self.finish_read_if_known(cx, slot);
        } else {
            self.stats.data_reads += 1;
            let bank = cx.device.locate(media).bank;
            self.banks[bank as usize].reads.push_back(BankRead::Data(slot));
            self.serve(cx, bank);
        }
        if self.encryption.is_some() {
            match source {
                // Re-encryption keeps the old counters in its register; the pad starts at once.
                Source::Reencryption(_) => self.counter_known(cx, slot),
                // It comes with the line.
                Source::Caches(_) if self.store == CounterStore::Inline => {
                    if forwarded.is_some() {
                        self.counter_known(cx, slot);
                    }
                }
                Source::Caches(_) if self.counters.get_mut(self.coverage.block(line)).is_some() => {
                    self.stats.counter_hits += 1;
                    cx.observer.counter_cache(now, self.coverage.block(line), CounterCacheAct::Hit);
                    self.counter_known_at(cx, slot, now + self.timing.counter_cache);
                }
                Source::Rested(_) | Source::Log(_) | Source::Turn(_) => unreachable!("these read nothing"),
                Source::Caches(_) => {
                    self.stats.counter_misses += 1;
                    cx.observer.counter_cache(now, self.coverage.block(line), CounterCacheAct::Miss);
                    self.fetch_counter(cx, self.coverage.block(line), Some(CounterWaiter::Read(slot)));
                }
            }
        }
    }

    /// What a read of `line` by the caches would find that was sent now and took no time to arrive: writes that are due now
    /// arrive before it. Takes no time and changes nothing. Zeros without bytes.
    pub fn peek<D: DevicePort>(&self, queue: &Queue<Event>, device: &D, line: Line) -> LineBytes {
        if !self.bytes {
            return [0; 64];
        }
        if let Some(write) = self.newest_due(queue, line).or_else(|| self.newest_write(line, Source::Caches(0))) {
            return self.writes[write].plaintext();
        }
        let media = MediaLine::data(line);
        let stored = match (self.wpq.newest(media), device.content(media)) {
            (Some(entry), _) => &entry.bytes,
            (None, Content::Stored(bytes)) => bytes,
            // Nothing has encrypted it yet.
            (None, Content::Base(plaintext)) => return *plaintext,
            (None, Content::Never) => return [0; 64],
        };
        let Some(encryption) = &self.encryption else { return *stored };
        let counter = match &self.rsr.old_block {
            Some(old) if self.rsr.pending(line) => encryption.scheme.counter(old, self.coverage.index(line)),
            _ => self.counter_of(device, line),
        };
        xor(stored, &encryption.pads.pad(line, counter))
    }

    /// The last of the writes of `line` that reach the controller at this instant and have yet to.
    fn newest_due(&self, queue: &Queue<Event>, line: Line) -> Option<u32> {
        let of_line = queue.due().filter_map(|(sequence, event)| match event {
            Event::WriteArrives { slot } if self.writes[slot].line == line => Some((sequence, slot)),
            _ => None,
        });
        let writes = of_line.filter(|&(_, slot)| !matches!(self.writes[slot].source, Source::Turn(_)));
        writes.max().map(|(_, slot)| slot)
    }

    /// The write on its way whose bytes a read of `line` finds: the newest that the caches sent; a line under
    /// re-encryption itself only if there is none. Re-encryption sees only what has been encrypted under the old
    /// counter, because everything else goes after it.
    fn newest_write(&self, line: Line, source: Source) -> Option<u32> {
        let writes = if matches!(source, Source::Caches(_)) { &self.active } else { &self.in_units };
        let of_line = writes
            .iter()
            .copied()
            .filter(|&write| self.writes[write].line == line && !matches!(self.writes[write].source, Source::Turn(_)));
        of_line.max_by_key(|&write| {
            let Write { source, arrival, .. } = self.writes[write];
            (!matches!(source, Source::Reencryption(_)), arrival)
        })
    }

    /// The counter under which the stored copy of `line` is encrypted.
    fn counter_for_read<D: DevicePort>(&self, device: &D, line: Line, source: Source) -> Counter {
        if let (Source::Reencryption(_), Some(old)) = (source, &self.rsr.old_block) {
            let scheme = &self.encryption.as_ref().expect("only for encrypted lines").scheme;
            return scheme.counter(old, self.coverage.index(line));
        }
        self.counter_of(device, line)
    }

    /// The plaintext of a written line. A populated line that nothing has touched is encrypted first.
    fn decrypt<D: DevicePort>(
        &self,
        device: &mut D,
        line: Line,
        counter: Counter,
        forwarded: Option<LineBytes>,
    ) -> LineBytes {
        let pads = &self.encryption.as_ref().expect("only for encrypted lines").pads;
        let media = MediaLine::data(line);
        let pad = pads.pad(line, counter);
        let stored = match (forwarded, device.content(media)) {
            (Some(bytes), _) => bytes,
            (None, Content::Stored(bytes)) => *bytes,
            (None, Content::Base(plaintext)) => {
                let ciphertext = xor(plaintext, &pad);
                device.materialise(media, &ciphertext);
                ciphertext
            }
            (None, Content::Never) => return [0; 64],
        };
        xor(&stored, &pad)
    }

    /// The counter of read `slot` is known now.
    pub(super) fn counter_known<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        let now = cx.queue.now();
        self.counter_known_at(cx, slot, now);
    }

    fn counter_known_at<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32, known: Ps) {
        if self.reads[slot].blank {
            self.reads[slot].pad_at = Some(known);
        } else {
            let unit =
                (0..self.read_units.len()).min_by_key(|&unit| self.read_units[unit]).expect("one circuit at least");
            let done = known.max(self.read_units[unit]) + self.timing.aes;
            self.read_units[unit] = done;
            cx.observer.pad(self.reads[slot].line, Circuit::Read(unit as u32), done - self.timing.aes, done);
            self.stats.pads += 1;
            self.stats.aes_busy_ps += self.timing.aes;
            self.reads[slot].pad_at = Some(done);
        }
        self.finish_read_if_known(cx, slot);
    }

    pub(super) fn finish_read_if_known<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        if let Read { data_at: Some(data), pad_at: Some(pad), .. } = self.reads[slot] {
            let at = data.max(pad).max(cx.queue.now());
            cx.queue.schedule(at, Event::ReadReady { slot });
        }
    }

    /// `Event::ReadReady`: the line is decrypted; whoever asked gets it.
    pub(super) fn read_ready<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        let Read { source, bytes, line, .. } = self.reads[slot];
        self.reads.release(slot);
        self.reads_active -= 1;
        if let Some(next) = self.reads_waiting.pop_front() {
            self.reads_active += 1;
            self.start_read(cx, next);
        }
        match source {
            Source::Caches(token) => self.responses.push(Response::Read { token, bytes }),
            Source::Rested(_) | Source::Log(_) | Source::Turn(_) => unreachable!("these read nothing"),
            Source::Reencryption(index) => {
                // The caches have nothing to do with the log.
                if !self.is_hardware_log(line) {
                    self.responses.push(Response::Install { line, bytes });
                }
                let write = self.new_write(line, &bytes, Source::Reencryption(index));
                // Its done bit says that both have persisted.
                self.writes[write].counter_atomic = true;
                self.write_arrives(cx, write);
            }
        }
    }
}

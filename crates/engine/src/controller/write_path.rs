//! A write from its arrival to the moment its pad is done (model.md section 4; secpm Figures 6 and 7).

use super::request::{Cipher, CounterWaiter, LogWrite, Part, Source, Stage, Turn, Write};
use super::state::{Context, Controller};
use crate::kernel::Ps;
use crate::message::{Circuit, CounterCacheAct, DevicePort, Event, Line, LineBytes, Observer, WriteToken, xor};
use crate::parts::{Admit, Counter, CounterStore, CounterUpdate, NextCounter};

/// What a write gets when its counter is bumped.
pub(super) struct Bumped {
    pub counter: Counter,
    /// The page's block, if the counter lies in one.
    pub block: LineBytes,
    /// It puts its line under the page's new major counter.
    pub renews: bool,
}

impl Controller {
    /// Takes a write that reaches the controller at `at`; `token` comes back when it is in the persistence domain. `bytes` are
    /// what the caches hold, under `cache_pad` if they keep lines so.
    #[allow(clippy::too_many_arguments)]
    pub fn accept_write<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        at: Ps,
        line: Line,
        bytes: &LineBytes,
        cache_pad: &LineBytes,
        token: WriteToken,
        counter_atomic: bool,
    ) {
        let slot = self.new_write(line, bytes, Source::Caches(token.0));
        self.writes[slot].cache_pad = *cache_pad;
        self.writes[slot].counter_atomic = counter_atomic;
        cx.queue.schedule(at, Event::WriteArrives { slot });
    }

    pub(super) fn new_write(&mut self, line: Line, bytes: &LineBytes, source: Source) -> u32 {
        self.writes.insert(Write {
            line,
            resident: *bytes,
            cache_pad: [0; 64],
            ciphertext: [0; 64],
            source,
            stage: Stage::Waiting,
            arrival: 0,
            bump: 0,
            unit: 0,
            entry: 0,
            counter: Counter::NEVER,
            counter_atomic: false,
            block: [0; 64],
            renews: false,
            owes_counter: false,
            counter_admitted: false,
        })
    }

    /// `Event::WriteArrives`.
    pub(super) fn write_arrives<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        self.arrivals += 1;
        let write = &mut self.writes[slot];
        write.arrival = self.arrivals;
        let line = write.line;
        let source = write.source;
        let metadata = matches!(source, Source::Log(LogWrite { part: Part::Metadata, .. }));
        if !metadata && !matches!(source, Source::Reencryption(_) | Source::Turn(_)) {
            cx.observer.write_arrived(cx.queue.now(), line, &write.plaintext());
        }
        // A re-encrypted line goes before writes that wait for its done bit, but not before one that has been
        // encrypted under the old counter already.
        let ahead = match source {
            Source::Caches(_) | Source::Rested(_) | Source::Log(_) | Source::Turn(_) => &self.active,
            Source::Reencryption(_) => &self.in_units,
        };
        let behind = ahead.iter().any(|&other| self.writes[other].line == line);
        self.active.push(slot);
        if behind {
            self.writes[slot].stage = Stage::BehindSameLine;
        } else {
            self.start_write(cx, slot);
        }
    }

    /// The write is the oldest of its line: it asks for its counter, or for a slot if nothing is encrypted.
    pub(super) fn start_write<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        if let Write { source: Source::Caches(token), line, .. } = self.writes[slot]
            && self.resident.contains_key(&line.0)
        {
            self.writes[slot].source = Source::Rested(token);
        }
        let Write { line, source, .. } = self.writes[slot];
        if matches!(source, Source::Caches(_)) && self.waits_for_log(cx, slot, line) {
            return;
        }
        let cipher = self.cipher_of(source);
        let write = &mut self.writes[slot];
        write.stage = Stage::Waiting;
        match cipher {
            Cipher::Counter | Cipher::Turn => {}
            Cipher::Feedback => return self.join_chain(cx, slot),
            Cipher::None | Cipher::Resident => {
                write.ciphertext = write.plaintext();
                write.stage = Stage::WantsSlots;
                write.counter_admitted = true;
                self.bumps += 1;
                write.bump = self.bumps;
                self.asking.push(slot);
                return self.admit(cx);
            }
        }
        if !matches!(source, Source::Reencryption(_) | Source::Turn(Turn::Renewed(_)))
            && self.waits_for_reencryption(line, super::request::LineWaiter::Write(slot))
        {
            return;
        }
        if self.store == CounterStore::Inline {
            // The next counter comes from the register and goes out beside the line.
            self.want_unit(cx, slot);
            return;
        }
        let id = self.coverage.block(line);
        let needs_block = !self.encryption.as_ref().expect("checked above").scheme.global();
        let hit = self.counters.get_mut(id).is_some();
        if hit {
            self.stats.counter_hits += 1;
        } else {
            self.stats.counter_misses += 1;
        }
        let act = if hit { CounterCacheAct::Hit } else { CounterCacheAct::Miss };
        cx.observer.counter_cache(cx.queue.now(), id, act);
        if hit || !needs_block {
            cx.queue.schedule(cx.queue.now() + self.timing.counter_cache, Event::CounterReady { slot });
        }
        if !hit && self.store == CounterStore::Region {
            self.fetch_counter(cx, id, needs_block.then_some(CounterWaiter::Write(slot)));
        }
    }

    /// `Event::CounterReady`, or its chain has come to it: an AES circuit is wanted, if there is something to encrypt.
    pub(super) fn want_unit<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        if let Source::Turn(turn) = self.writes[slot].source {
            return self.turn(cx, slot, turn);
        }
        self.writes[slot].stage = Stage::WantsUnit;
        self.wants_unit.push_back(slot);
        self.hand_out_units(cx);
    }

    /// Gives free circuits to waiting writes, oldest first.
    pub(super) fn hand_out_units<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>) {
        while !self.units_free.is_empty() {
            let Some(slot) = self.wants_unit.pop_front() else { return };
            match self.cipher_of(self.writes[slot].source) {
                Cipher::Feedback => self.begin_feedback(cx, slot),
                Cipher::Counter => self.begin_encryption(cx, slot),
                Cipher::None | Cipher::Resident | Cipher::Turn => unreachable!("there is nothing to encrypt"),
            }
        }
    }

    /// Bumps the counter and starts the pad, unless the block has been evicted meanwhile, the page has come under
    /// re-encryption, or the minor overflows while the status register is taken.
    fn begin_encryption<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        let Write { line, source, counter_atomic, .. } = self.writes[slot];
        if !matches!(source, Source::Reencryption(_))
            && self.waits_for_reencryption(line, super::request::LineWaiter::Write(slot))
        {
            self.writes[slot].stage = Stage::Waiting;
            return;
        }
        let path = self.write_path_of(source);
        let encryption = self.encryption.as_ref().expect("only encrypted writes ask for a circuit");
        let (defers, at_bump) = (path.defers_counter(counter_atomic), path.at_bump());
        let at_encrypted = path.at_encrypted(counter_atomic);
        let global = encryption.scheme.global();
        let bumped =
            if global { Some(self.bump_register(cx, line, defers)) } else { self.bump_in_block(cx, slot, defers) };
        let Some(Bumped { counter, block, renews }) = bumped else {
            self.writes[slot].stage = Stage::Waiting;
            return;
        };
        self.occupy_unit(cx, slot, self.timing.aes);
        let write = &mut self.writes[slot];
        write.counter = counter;
        write.block = block;
        write.renews = renews;
        write.counter_admitted =
            defers || matches!(at_encrypted, Admit::Unready | Admit::DataThenCounter | Admit::Inline);
        write.owes_counter = at_bump == Admit::Counter;
        if at_bump == Admit::Counter {
            self.asking.push(slot);
            self.admit(cx);
        }
    }

    /// The write in `slot` takes a free circuit, for `latency`.
    pub(super) fn occupy_unit<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        slot: u32,
        latency: Ps,
    ) {
        let unit = self.units_free.pop().expect("the caller saw a free circuit");
        self.bumps += 1;
        self.stats.pads += 1;
        self.stats.aes_busy_ps += latency;
        let write = &mut self.writes[slot];
        write.stage = Stage::Encrypting;
        write.bump = self.bumps;
        write.unit = unit;
        let (now, line) = (cx.queue.now(), write.line);
        self.in_units.push(slot);
        cx.observer.pad(line, Circuit::Write(unit), now, now + latency);
        cx.queue.schedule(now + latency, Event::PadReady { slot });
    }

    /// The write of `line` takes the next value of the global counter.
    fn bump_register<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        line: Line,
        defers: bool,
    ) -> Bumped {
        let encryption = self.encryption.as_ref().expect("counters are global");
        let NextCounter::Is(counter) = encryption.scheme.next(&[0; 64], 0, self.register) else {
            unreachable!("a global counter does not overflow")
        };
        self.register = counter.major;
        if encryption.parts.update == CounterUpdate::AtBump {
            self.update_counter(cx, line, counter, defers);
        }
        Bumped { counter, block: [0; 64], renews: false }
    }

    /// The write in `slot` takes its line's next counter in the block of its page; `None` if it has to wait.
    pub(super) fn bump_in_block<D: DevicePort, O: Observer>(
        &mut self,
        cx: &mut Context<'_, D, O>,
        slot: u32,
        defers: bool,
    ) -> Option<Bumped> {
        let Write { line, source, .. } = self.writes[slot];
        let (id, index) = (self.coverage.block(line), self.coverage.index(line));
        let encryption = self.encryption.as_ref().expect("counters lie in blocks");
        let Some(block) = self.counters.get_mut(id) else {
            self.fetch_counter(cx, id, Some(CounterWaiter::Write(slot)));
            return None;
        };
        // With the data, or now; always now if no data goes with it.
        let now = encryption.parts.update == CounterUpdate::AtBump || matches!(source, Source::Turn(_));
        let renewed = matches!(source, Source::Reencryption(_) | Source::Turn(Turn::Renewed(_)));
        let next = if renewed {
            NextCounter::Is(Counter { minor: 0, ..encryption.scheme.counter(block, index) })
        } else {
            encryption.scheme.next(block, index, 0)
        };
        let (counter, overflows) = match next {
            NextCounter::Is(counter) => {
                if now {
                    encryption.scheme.set(block, index, counter);
                }
                (counter, false)
            }
            NextCounter::Overflow if self.rsr.active => {
                self.rsr.overflowing.push_back(slot);
                return None;
            }
            NextCounter::Overflow => {
                let old = *block;
                encryption.scheme.advance_major(block, encryption.parts.minor_reset);
                let counter = Counter { minor: 0, ..encryption.scheme.counter(block, index) };
                if now {
                    encryption.scheme.set(block, index, counter);
                }
                self.begin_reencryption(cx, line.page(), old, counter.major - 1, index);
                (counter, true)
            }
        };
        if defers && (now || overflows) {
            self.counters.set_dirty(id);
        }
        let block = *self.counters.peek(id).expect("bumped just now");
        Some(Bumped { counter, block, renews: overflows || renewed })
    }

    /// `Event::PadReady`: the line is encrypted and wants its place in the queue.
    pub(super) fn pad_ready<D: DevicePort, O: Observer>(&mut self, cx: &mut Context<'_, D, O>, slot: u32) {
        let write = &mut self.writes[slot];
        write.stage = Stage::WantsSlots;
        let source = write.source;
        if !write.owes_counter {
            self.asking.push(slot);
        }
        if self.cipher_of(source) == Cipher::Feedback {
            self.feedback_done(cx, slot);
        } else if self.bytes {
            let encryption = self.encryption.as_ref().expect("a pad was made");
            let write = &mut self.writes[slot];
            let pad = encryption.pads.pad(write.line, write.counter);
            // The pad of the memory takes the place of the cache's (sepencr section IV-D).
            write.ciphertext = xor(&write.resident, &xor(&write.cache_pad, &pad));
        }
        self.admit(cx);
    }
}

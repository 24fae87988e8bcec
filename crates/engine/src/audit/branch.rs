//! Possible futures of one past: what leaves on battery if power is lost now, what the boot after it writes, and what
//! leaves if power is lost again. A future knows every pad that was used before it and keeps its own pads to itself,
//! because different futures of the same past do not happen together.

use super::counter::{CounterCipher, modified_in};
use super::hashes::{mix, unit_hash};
use super::lines::Lines;
use super::pads::{Earlier, Pads, Use, Way};
use super::secrecy::{InFlight, Leak, Secrecy, examine};
use super::word_pads::{durable_counters, examine_words, names, note_base};
use crate::layout::ShadowRegion;
use crate::message::{DrainedWrite, Line, LineBytes, MediaLine, MediaUnit};
use rustc_hash::FxHashMap;

/// What has happened in a future since its past.
#[derive(Clone, Default)]
pub(super) struct Future {
    lines: FxHashMap<Line, InFlight>,
    pads: Pads,
}

impl Future {
    /// Resets the future to its past.
    pub fn clear(&mut self) {
        self.lines.clear();
        self.pads.clear();
    }
}

/// The context that is needed to judge what leaves.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub lines: &'a Lines,
    pub cipher: Option<&'a CounterCipher>,
    pub shadow: Option<ShadowRegion>,
}

impl Surroundings<'_> {
    /// Whether `line` holds metadata of the shadow cache, which are not secret.
    fn is_metadata(&self, line: Line) -> bool {
        self.shadow.is_some_and(|region| region.contains(line) && region.slot_of(line).is_none())
    }

    fn is_shadow(&self, line: Line) -> bool {
        self.shadow.is_some_and(|region| region.contains(line))
    }
}

/// The pads of the past, of the power loss that a future begins with, and of the future.
struct Layers<'a> {
    past: &'a Secrecy,
    loss: Option<&'a Future>,
    own: &'a mut Future,
    around: Surroundings<'a>,
}

impl Layers<'_> {
    fn examine<'a>(
        &mut self,
        at: Earlier,
        bytes: &LineBytes,
        plaintexts: impl Iterator<Item = &'a LineBytes> + Clone,
        program_data: bool,
    ) -> Option<Leak> {
        let Layers { past, loss, own, .. } = self;
        examine(&mut |pad, user| meet_in(past, *loss, &mut own.pads, pad, user), at, bytes, plaintexts, program_data)
    }

    fn before(&self, line: Line) -> impl Iterator<Item = &InFlight> {
        self.loss.and_then(|loss| loss.lines.get(&line)).into_iter().chain(self.past.lines.get(&line))
    }

    /// Notes the pad of a populated line, which is stored with its first counter whether the run has written it or not.
    fn note_base(&mut self, line: Line) {
        let (Some(base), Some(cipher)) = (self.around.lines.base(line), self.around.cipher) else { return };
        if self.before(line).any(|known| known.base_used) {
            return;
        }
        let known = self.own.lines.entry(line).or_insert_with(|| InFlight::new(Some(base)));
        if !std::mem::replace(&mut known.base_used, true) {
            let Layers { past, loss, own, .. } = self;
            note_base(&mut |pad, user| meet_in(past, *loss, &mut own.pads, pad, user), line, cipher, base);
        }
    }

    /// Handles that `write` leaves on battery. Returns the line that it reveals, if it leaks.
    fn left(&mut self, event: u64, way: Way, write: &DrainedWrite) -> Option<(Line, Leak)> {
        let place = write.media.as_line().filter(|&place| !self.around.is_metadata(place))?;
        let at = Earlier { line: place, event, way };
        if !self.around.is_shadow(place) {
            self.note_base(place);
        }
        let leak = match &write.carries {
            Some((line, plaintext)) => {
                let program_data = *plaintext != [0; 64] || self.around.lines.is_program_data(*line);
                self.own.lines.entry(*line).or_insert_with(|| InFlight::new(None)).current = *plaintext;
                self.examine(at, &write.bytes, [plaintext].into_iter(), program_data)
            }
            None if self.around.is_shadow(place) => None,
            // A line of a page that is re-encrypted on battery: it keeps its contents, which may just have left.
            None => {
                let own = self.own.lines.get(&place);
                let known = own.or_else(|| self.before(place).next()).cloned();
                let known = known.unwrap_or_else(|| InFlight::new(self.around.lines.base(place)));
                let program_data = self.around.lines.is_program_data(place);
                self.examine(at, &write.bytes, known.plaintexts(), program_data)
            }
        };
        leak.map(|leak| (write.carries.map_or(place, |(line, _)| line), leak))
    }
}

fn finish(hash: u64) -> u64 {
    mix(hash ^ hash >> 29, 0xc4ce_b9fe_1a85_ec53) ^ hash >> 32
}

fn meet_in(past: &Secrecy, loss: Option<&Future>, own: &mut Pads, pad: u128, user: Use) -> Option<Use> {
    match past.pads.get(pad).or_else(|| loss?.pads.get(pad)) {
        Some(earlier) => (earlier.plaintext != user.plaintext).then_some(*earlier),
        None => own.meet(pad, user),
    }
}

/// Power is lost after `event` and `left` leaves on battery: starts `future` again and adds the leaks to `leaks`.
pub(super) fn power_lost(
    past: &Secrecy,
    future: &mut Future,
    around: Surroundings<'_>,
    event: u64,
    left: &[DrainedWrite],
    leaks: &mut Vec<(Line, Leak)>,
) {
    future.clear();
    let mut layers = Layers { past, loss: None, own: future, around };
    leaks.extend(left.iter().filter_map(|write| layers.left(event, Way::Battery, write)));
}

/// Watches the writes of one boot, and what leaves when power is lost during it.
#[derive(Clone)]
pub(super) struct Branch<'a> {
    past: &'a Secrecy,
    loss: &'a Future,
    own: Future,
    around: Surroundings<'a>,
    /// A line whose words have bits that follow.
    without_bits: Option<(Line, LineBytes)>,
}

impl<'a> Branch<'a> {
    /// The future after a power loss.
    pub fn new(past: &'a Secrecy, loss: &'a Future, around: Surroundings<'a>) -> Self {
        Self { past, loss, own: Future::default(), around, without_bits: None }
    }

    /// See [`super::BootWatch::state_hash`]. Where and when a pad was used affects only the wording of reports.
    pub fn state_hash(&self) -> u128 {
        let of_pad = |seed: u64, pad: u128, plaintext: u128| {
            let words = [pad as u64, (pad >> 64) as u64, plaintext as u64, (plaintext >> 64) as u64];
            finish(words.into_iter().fold(seed, mix))
        };
        let of_line = |seed: u64, line: Line, known: &InFlight| {
            let bytes = unit_hash(MediaLine::data(line), &known.current);
            finish(mix(mix(mix(seed, line.0), bytes), u64::from(known.base_used) << 1 | u64::from(known.program_data)))
        };
        let hash = |seed: u64| {
            let pads = self.own.pads.iter().map(|(pad, user)| of_pad(seed, pad, user.plaintext));
            let lines = self.own.lines.iter().map(|(line, known)| of_line(!seed, *line, known));
            pads.chain(lines).fold(0, u64::wrapping_add)
        };
        u128::from(hash(0x243f_6a88_85a3_08d3)) << 64 | u128::from(hash(0x1319_8a2e_0370_7344))
    }

    fn layers(&mut self) -> Layers<'_> {
        Layers { past: self.past, loss: Some(self.loss), own: &mut self.own, around: self.around }
    }

    /// Handles that the boot is about to write `plaintext`.
    pub fn arrived(&mut self, line: Line, plaintext: &LineBytes) {
        self.own.lines.entry(line).or_insert_with(|| InFlight::new(None)).arrived(plaintext);
    }

    /// Handles that the boot stored `media`: a line, or the bits of its words, which follow it.
    pub fn stored(&mut self, event: u64, media: MediaLine, bytes: &LineBytes) -> Option<Leak> {
        let cipher = self.around.cipher.filter(|cipher| cipher.words().is_some());
        match (media.unit(), cipher) {
            (MediaUnit::Data(line), None) => self.persisted(event, line, bytes),
            (MediaUnit::Data(line), Some(_)) => {
                self.without_bits = Some((line, *bytes));
                None
            }
            (MediaUnit::Modified(line), Some(cipher)) => {
                let (_, stored) = self.without_bits.take().filter(|(other, _)| *other == line)?;
                self.words_persisted(Earlier { line, event, way: Way::Boot }, (&stored, modified_in(bytes)), cipher)
            }
            _ => None,
        }
    }

    fn words_persisted(&mut self, at: Earlier, stored: (&LineBytes, u64), cipher: &CounterCipher) -> Option<Leak> {
        let durable = durable_counters(self.around.lines, at.line);
        let mut layers = self.layers();
        layers.note_base(at.line);
        let Layers { past, loss, own, .. } = &mut layers;
        let last = past.lines.get(&at.line).and_then(|known| known.counter);
        let mut in_flight = own.lines.remove(&at.line).unwrap_or_else(|| InFlight::new(None));
        in_flight.counter = in_flight.counter.or(last);
        in_flight.written(false);
        in_flight.program_data = in_flight.current != [0; 64];
        let mut meet = |pad, user| meet_in(past, *loss, &mut own.pads, pad, user);
        let leak = examine_words(&mut meet, cipher, at, stored, durable, &mut in_flight);
        own.lines.insert(at.line, in_flight);
        leak
    }

    /// Handles that the boot stored `bytes`.
    fn persisted(&mut self, event: u64, line: Line, bytes: &LineBytes) -> Option<Leak> {
        if self.around.is_metadata(line) {
            return None;
        }
        let mut layers = self.layers();
        layers.note_base(line);
        let in_flight = layers.own.lines.entry(line).or_insert_with(|| InFlight::new(None));
        let plaintext = in_flight.pending.pop_front().unwrap_or(in_flight.current);
        in_flight.current = plaintext;
        // A boot also rewrites never-written lines of a page; the zeros that it reads there are not program data.
        let at = Earlier { line, event, way: Way::Boot };
        layers.examine(at, bytes, [&plaintext].into_iter(), plaintext != [0; 64])
    }

    /// Power is lost again, and `left` leaves on battery; writes in flight are lost.
    pub fn power_lost(&mut self, event: u64, left: &[DrainedWrite], mut leaks: impl FnMut(Line, Leak)) {
        self.own.lines.values_mut().for_each(|line| line.pending.clear());
        let mut layers = self.layers();
        for write in left {
            if let Some((line, leak)) = layers.left(event, Way::BatteryAgain, write) {
                leaks(line, leak);
            }
        }
    }

    /// Whether the first write of `line`, as write `place` of all, would repeat `pad`. Any earlier use counts, because
    /// the write may hold anything.
    pub fn first_write(&mut self, line: Line, place: u64, pad: &LineBytes) -> Option<Leak> {
        self.layers().note_base(line);
        self.used(pad).map(|(block, earlier)| Leak::FirstWrite { place, block, earlier })
    }

    /// Whether something that leaves at the next power loss would repeat `pad`.
    pub fn next_loss(&self, pad: &LineBytes) -> Option<Leak> {
        self.used(pad).map(|(block, earlier)| Leak::NextLoss { block, earlier })
    }

    fn used(&self, pad: &LineBytes) -> Option<(usize, Earlier)> {
        names(self.around.cipher, pad).find_map(|(block, name)| {
            let pads = [&self.past.pads, &self.loss.pads, &self.own.pads];
            pads.into_iter().find_map(|pads| pads.get(name)).map(|earlier| (block, earlier.at))
        })
    }
}

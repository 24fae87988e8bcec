//! Plaintext and pad reuse, computed from the bytes that leave the chip and not from what a mechanism says of its
//! inputs: pad = ciphertext exclusive-or plaintext, for every 16-byte block of program data.
//!
//! - plaintext: no block equals the program's plaintext of its place. No block needs excusing as trivial: a correct
//!   ciphertext block equals its plaintext with probability 2^-128. Only a line that the program has never written
//!   holds no program data, and may be stored as zeroes.
//! - pad reuse: no pad value is ever met with two different plaintexts, over the whole life of the memory.
//!
//! Which write a ciphertext belongs to is not always told (a page re-encryption may overtake a write of the same
//! line that waits for it), so every plaintext that it can belong to is tried. That is complete, because the true
//! one is among them, and sound: a pad computed with a wrong plaintext is the true pad exclusive-or a difference of
//! plaintexts, and meets another pad only if the true pads are related, which for AES means equal.

use super::counter::CounterCipher;
use super::durable::Status;
use crate::message::{Line, LineBytes};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

/// Writes of one line that may be on their way at once; older ones are dropped (caches merge writes long before).
const IN_FLIGHT_MAX: usize = 8;

/// What was broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Leak {
    /// Block `block` of the line left the chip in the clear.
    Plaintext { block: usize },
    /// Block `block` was encrypted under a pad that had been used at `line` in `event` for another plaintext.
    PadReuse { block: usize, line: Line, event: u64 },
    /// After a boot, the first write of the line, if it is write `place` of all (counted from 1), would encrypt block
    /// `block` under a pad that had been used at `line` in `event`.
    FirstWrite { place: u64, block: usize, line: Line, event: u64 },
}

#[derive(Clone, Copy)]
struct Use {
    plaintext: u128,
    line: Line,
    event: u64,
}

type Pads = FxHashMap<u128, Use>;

/// What the controller was handed for one line.
#[derive(Clone)]
struct InFlight {
    /// The plaintext of the last write that persisted, or the base.
    current: LineBytes,
    /// The program has written the line, or it was populated.
    program_data: bool,
    /// The pad of the populated base has been noted.
    base_used: bool,
    pending: VecDeque<LineBytes>,
}

impl InFlight {
    fn new(base: Option<&LineBytes>) -> Self {
        Self {
            current: base.copied().unwrap_or([0; 64]),
            program_data: base.is_some(),
            base_used: false,
            pending: VecDeque::new(),
        }
    }

    fn arrived(&mut self, plaintext: &LineBytes) {
        if self.pending.len() == IN_FLIGHT_MAX {
            self.pending.pop_front();
        }
        self.pending.push_back(*plaintext);
        self.program_data = true;
    }
}

/// Watches what leaves the chip.
#[derive(Default)]
pub(super) struct Secrecy {
    lines: FxHashMap<Line, InFlight>,
    pads: Pads,
    /// Ciphertexts that persisted and have yet to cross the bus: they need not be looked at twice.
    persisted: FxHashSet<u64>,
    status: Option<Status>,
}

impl Secrecy {
    /// The status register changed.
    pub fn reencryption(&mut self, status: Option<Status>) {
        self.status = status;
    }

    /// The controller was handed `plaintext` for `line`.
    pub fn arrived(&mut self, line: Line, plaintext: &LineBytes, base: Option<&LineBytes>) {
        self.lines.entry(line).or_insert_with(|| InFlight::new(base)).arrived(plaintext);
    }

    /// `bytes` entered the persistence domain as the content of `line`.
    pub fn persisted(
        &mut self,
        event: u64,
        line: Line,
        bytes: &LineBytes,
        base: Option<&LineBytes>,
        cipher: Option<&CounterCipher>,
    ) -> Option<Leak> {
        let pads = &mut self.pads;
        let mut meet = |pad, user| meet(pads, pad, user);
        let in_flight = self.lines.entry(line).or_insert_with(|| InFlight::new(base));
        // What populating left on the media counts as used: a populated line lies there under its first counter.
        if let (Some(base), Some(cipher), false) = (base, cipher, in_flight.base_used) {
            let _ = examine(&mut meet, 0, line, &cipher.apply(line, cipher.base(), base), &[base], true);
        }
        in_flight.base_used = true;
        let leak = self.persisted.insert(fingerprint(line, bytes)).then(|| {
            let plaintexts: Vec<&LineBytes> = in_flight.pending.iter().chain([&in_flight.current]).collect();
            examine(&mut meet, event, line, bytes, &plaintexts, in_flight.program_data)
        });
        let being_reencrypted = self.status.is_some_and(|status| status.awaits(line));
        // Told before the done bit is set, this is the old plaintext under the new counter: a write waits behind it.
        if !being_reencrypted && let Some(plaintext) = in_flight.pending.pop_front() {
            in_flight.current = plaintext;
        }
        leak.flatten()
    }

    /// `bytes` crossed the bus towards `line`.
    pub fn crossed(&mut self, event: u64, line: Line, bytes: &LineBytes, base: Option<&LineBytes>) -> Option<Leak> {
        if self.persisted.remove(&fingerprint(line, bytes)) {
            return None;
        }
        let pads = &mut self.pads;
        let in_flight = self.lines.entry(line).or_insert_with(|| InFlight::new(base));
        let plaintexts: Vec<&LineBytes> = in_flight.pending.iter().chain([&in_flight.current]).collect();
        examine(&mut |pad, user| meet(pads, pad, user), event, line, bytes, &plaintexts, in_flight.program_data)
    }

    /// A possible future: what a boot writes after a crash now. It sees every pad used so far and adds its own to
    /// itself only, because other futures of the same past do not happen together with it.
    pub fn branch(&self) -> Branch<'_> {
        Branch { past: self, lines: FxHashMap::default(), pads: Pads::default() }
    }
}

/// Watches the writes of one boot.
#[derive(Clone)]
pub(super) struct Branch<'a> {
    past: &'a Secrecy,
    lines: FxHashMap<Line, InFlight>,
    pads: Pads,
}

impl Branch<'_> {
    /// The boot is about to write `plaintext`.
    pub fn arrived(&mut self, line: Line, plaintext: &LineBytes) {
        self.lines.entry(line).or_insert_with(|| InFlight::new(None)).arrived(plaintext);
    }

    /// The boot stored `bytes`.
    pub fn persisted(&mut self, event: u64, line: Line, bytes: &LineBytes) -> Option<Leak> {
        let in_flight = self.lines.entry(line).or_insert_with(|| InFlight::new(None));
        let plaintext = in_flight.pending.pop_front().unwrap_or(in_flight.current);
        let (past, pads) = (&self.past.pads, &mut self.pads);
        let mut meet = |pad, user: Use| match past.get(&pad) {
            Some(earlier) => (earlier.plaintext != user.plaintext).then_some(*earlier),
            None => meet(pads, pad, user),
        };
        // A boot rewrites never-written lines of a page too; what it read as zero is no program data.
        examine(&mut meet, event, line, bytes, &[&plaintext], plaintext != [0; 64])
    }

    /// Whether the first write of a line, write `place` of all, would repeat a pad under `pad`. It may hold anything,
    /// so that any earlier use counts.
    pub fn first_write(&self, place: u64, pad: &LineBytes) -> Option<Leak> {
        (0..4).find_map(|block| {
            let value = block_of(pad, block);
            let earlier = self.past.pads.get(&value).or_else(|| self.pads.get(&value))?;
            Some(Leak::FirstWrite { place, block, line: earlier.line, event: earlier.event })
        })
    }
}

/// Notes that `pad` was used; gives the earlier use if it was for another plaintext.
fn meet(pads: &mut Pads, pad: u128, user: Use) -> Option<Use> {
    let earlier = *pads.entry(pad).or_insert(user);
    (earlier.plaintext != user.plaintext).then_some(earlier)
}

/// Computes the pads of `bytes` against every plaintext it can belong to and gives the first leak.
fn examine(
    meet: &mut impl FnMut(u128, Use) -> Option<Use>,
    event: u64,
    line: Line,
    bytes: &LineBytes,
    plaintexts: &[&LineBytes],
    program_data: bool,
) -> Option<Leak> {
    let mut leak = None;
    for block in 0..4 {
        let cipher = block_of(bytes, block);
        for plaintext in plaintexts {
            let plaintext = block_of(plaintext, block);
            let pad = cipher ^ plaintext;
            if pad == 0 {
                if program_data {
                    leak = leak.or(Some(Leak::Plaintext { block }));
                }
            } else if let Some(earlier) = meet(pad, Use { plaintext, line, event }) {
                leak = leak.or(Some(Leak::PadReuse { block, line: earlier.line, event: earlier.event }));
            }
        }
    }
    leak
}

fn block_of(bytes: &LineBytes, block: usize) -> u128 {
    let mut word = [0; 16];
    word.copy_from_slice(&bytes[block * 16..block * 16 + 16]);
    u128::from_le_bytes(word)
}

fn fingerprint(line: Line, bytes: &LineBytes) -> u64 {
    let mut hasher = FxHasher::default();
    line.hash(&mut hasher);
    bytes.hash(&mut hasher);
    hasher.finish()
}

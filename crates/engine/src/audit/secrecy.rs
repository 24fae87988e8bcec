//! Plaintext and pad reuse, computed from the bytes that leave the chip and not from what a mechanism reports about its
//! inputs: pad = ciphertext exclusive-or plaintext, for every 16-byte block of program data.
//!
//! - plaintext: no block equals the program's plaintext at its place. No block needs an exception as trivial: a
//!   correct ciphertext block equals its plaintext with probability 2^-128. Only a line that the program has never
//!   written holds no program data, and may be stored as zeros.
//! - pad reuse: no pad value is ever found with two different plaintexts, over the whole life of the memory.
//! - tweak reuse, of lines that are encrypted without pads: no ciphertext block stands at two addresses. Their pads, which follow from the
//!   plaintext, tell nothing.
//!
//! It is not always reported which write a ciphertext belongs to (a page re-encryption may overtake a write of the same
//! line that waits for it), so every plaintext that it can belong to is tried. That is complete, because the true one
//! is among them, and sound: a pad computed with a wrong plaintext is the true pad exclusive-or a difference of
//! plaintexts, and equals another pad only if the true pads are related, which for AES means equal.

use super::counter::{AuditedCounter, CounterCipher};
use super::line_record::Status;
use super::pads::{Earlier, Pads, Use, Way};
use super::violation::Rule;
use crate::message::{Line, LineBytes};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

/// Most writes of one line in flight; older ones are dropped (caches merge writes long before).
const IN_FLIGHT_MAX: usize = 8;

/// A leak: what was broken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Leak {
    /// Block `block` of the line left the chip unencrypted.
    Plaintext { block: usize, way: Way },
    /// Block `block` was encrypted with a pad that had been used for another plaintext.
    PadReuse { block: usize, way: Way, earlier: Earlier },
    /// Block `block` of a line without a counter holds what another place has held.
    TweakReuse { block: usize, earlier: Earlier },
    /// After a boot, the first write of the line, if it is write `place` of all (counted from 1), would encrypt block
    /// `block` with a pad that had been used.
    FirstWrite { place: u64, block: usize, earlier: Earlier },
    /// After a boot, the next power loss would write the line with block `block` encrypted with a pad that had been
    /// used.
    NextLoss { block: usize, earlier: Earlier },
}

impl Leak {
    /// The rule that the leak breaks.
    pub fn rule(self) -> Rule {
        match self {
            Leak::Plaintext { .. } => Rule::Plaintext,
            Leak::TweakReuse { .. } => Rule::TweakReuse,
            Leak::PadReuse { .. } | Leak::FirstWrite { .. } | Leak::NextLoss { .. } => Rule::PadReuse,
        }
    }
}

/// The plaintexts that the controller has received for one line.
#[derive(Clone)]
pub(super) struct InFlight {
    /// The plaintext of the last write that persisted, or the base.
    pub current: LineBytes,
    /// Whether the program has written the line, or it was populated.
    pub program_data: bool,
    /// Whether the pad of the populated base has been noted.
    pub base_used: bool,
    /// The counter that the line was last seen to be encrypted with, where that is looked for.
    pub counter: Option<AuditedCounter>,
    pub pending: VecDeque<LineBytes>,
}

impl InFlight {
    pub fn new(base: Option<&LineBytes>) -> Self {
        Self {
            current: base.copied().unwrap_or([0; 64]),
            program_data: base.is_some(),
            base_used: false,
            counter: None,
            pending: VecDeque::new(),
        }
    }

    /// The plaintexts that a ciphertext of the line may belong to.
    pub fn plaintexts(&self) -> impl Iterator<Item = &LineBytes> + Clone {
        self.pending.iter().chain([&self.current])
    }

    pub fn arrived(&mut self, plaintext: &LineBytes) {
        if self.pending.len() == IN_FLIGHT_MAX {
            self.pending.pop_front();
        }
        self.pending.push_back(*plaintext);
        self.program_data = true;
    }

    /// Handles that the oldest of them has persisted. What a page re-encryption writes is reported before the done bit is set: it
    /// is the old plaintext with the new counter, and a write waits behind it.
    pub fn written(&mut self, by_reencryption: bool) {
        if !by_reencryption && let Some(plaintext) = self.pending.pop_front() {
            self.current = plaintext;
        }
    }
}

/// Checks what leaves the chip.
#[derive(Default)]
pub(super) struct Secrecy {
    pub lines: FxHashMap<Line, InFlight>,
    pub pads: Pads,
    /// The places of ciphertext blocks, if lines are encrypted without pads.
    places: Option<Pads>,
    /// Ciphertexts that persisted and have not crossed the bus yet: they need not be checked twice.
    persisted: FxHashSet<u64>,
    pub status: Option<Status>,
}

impl Secrecy {
    /// `without_pads`: whether lines are encrypted without pads.
    pub fn new(without_pads: bool) -> Self {
        Self { places: without_pads.then(Pads::default), ..Self::default() }
    }

    /// Handles a change of the status register.
    pub fn reencryption(&mut self, status: Option<Status>) {
        self.status = status;
    }

    /// Handles that the controller received `plaintext` for `line`.
    pub fn arrived(&mut self, line: Line, plaintext: &LineBytes, base: Option<&LineBytes>) {
        self.lines.entry(line).or_insert_with(|| InFlight::new(base)).arrived(plaintext);
    }

    /// Checks `bytes`, which entered the persistence domain as the content of `line`.
    pub fn persisted(
        &mut self,
        event: u64,
        line: Line,
        bytes: &LineBytes,
        base: Option<&LineBytes>,
        cipher: Option<&CounterCipher>,
    ) -> Option<Leak> {
        let pads = &mut self.pads;
        let mut meet = |pad, user| pads.meet(pad, user);
        let in_flight = self.lines.entry(line).or_insert_with(|| InFlight::new(base));
        // The initial contents of the media count as used: a populated line is stored with its first counter.
        if let (Some(base), Some(cipher), false) = (base, cipher, in_flight.base_used) {
            note_base(&mut meet, line, cipher, base);
        }
        in_flight.base_used = true;
        let leak = self.persisted.insert(fingerprint(line, bytes)).then(|| {
            let at = Earlier { line, event, way: Way::Run };
            examine(&mut meet, at, bytes, in_flight.plaintexts(), in_flight.program_data)
        });
        let being_reencrypted = self.status.is_some_and(|status| status.awaits(line));
        in_flight.written(being_reencrypted);
        leak.flatten().or_else(|| self.twice(Earlier { line, event, way: Way::Run }, bytes))
    }

    /// Looks for the blocks of `bytes` at other places.
    fn twice(&mut self, at: Earlier, bytes: &LineBytes) -> Option<Leak> {
        let places = self.places.as_mut()?;
        (0..4).find_map(|block| {
            let place = u128::from(at.line.0) << 2 | block as u128;
            let earlier = places.meet(block_of(bytes, block), Use { plaintext: place, at })?;
            Some(Leak::TweakReuse { block, earlier: earlier.at })
        })
    }

    /// Checks `bytes`, which crossed the bus towards `line`.
    pub fn crossed(&mut self, event: u64, line: Line, bytes: &LineBytes, base: Option<&LineBytes>) -> Option<Leak> {
        if self.persisted.remove(&fingerprint(line, bytes)) {
            return None;
        }
        let pads = &mut self.pads;
        let in_flight = self.lines.entry(line).or_insert_with(|| InFlight::new(base));
        let at = Earlier { line, event, way: Way::Run };
        examine(&mut |pad, user| pads.meet(pad, user), at, bytes, in_flight.plaintexts(), in_flight.program_data)
    }
}

/// Notes the pad that the populated `line` was initially stored with, under one counter.
pub(super) fn note_base(
    meet: &mut impl FnMut(u128, Use) -> Option<Use>,
    line: Line,
    cipher: &CounterCipher,
    base: &LineBytes,
) {
    if cipher.is_direct() {
        return;
    }
    let at = Earlier { line, event: 0, way: Way::Run };
    let _ = examine(meet, at, &cipher.apply(line, cipher.base(), base), [base].into_iter(), true);
}

/// Computes the pads of `bytes` for every plaintext that it can belong to, and returns the first leak.
pub(super) fn examine<'a>(
    meet: &mut impl FnMut(u128, Use) -> Option<Use>,
    at: Earlier,
    bytes: &LineBytes,
    plaintexts: impl Iterator<Item = &'a LineBytes> + Clone,
    program_data: bool,
) -> Option<Leak> {
    let mut leak = None;
    for block in 0..4 {
        let cipher = block_of(bytes, block);
        for plaintext in plaintexts.clone() {
            let plaintext = block_of(plaintext, block);
            let pad = cipher ^ plaintext;
            if pad == 0 {
                if program_data {
                    leak = leak.or(Some(Leak::Plaintext { block, way: at.way }));
                }
            } else if let Some(earlier) = meet(pad, Use { plaintext, at }) {
                leak = leak.or(Some(Leak::PadReuse { block, way: at.way, earlier: earlier.at }));
            }
        }
    }
    leak
}

/// The first block of `bytes` that equals the program's plaintext at its place.
pub(super) fn plain_block<'a>(
    bytes: &LineBytes,
    plaintexts: impl Iterator<Item = &'a LineBytes> + Clone,
) -> Option<usize> {
    (0..4).find(|&block| plaintexts.clone().any(|plaintext| block_of(bytes, block) == block_of(plaintext, block)))
}

pub(super) fn block_of(bytes: &LineBytes, block: usize) -> u128 {
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

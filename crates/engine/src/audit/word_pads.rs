//! Pads of lines whose words have one of two counters (DEUCE). A pad is still four blocks of AES, but a write uses some words of
//! the pad of the line's counter, and the others keep words of the pad that their epoch began with. A word of two bytes says
//! nothing by itself: two pads have the same word in one case of 65,536. So the auditor finds the counter that a line is encrypted
//! with, near the last one that it has seen, makes both pads with its own key, and notes each word of a pad with its place in it.

use super::counter::{AuditedCounter, CounterCipher};
use super::facts::CounterLayout;
use super::pads::{Earlier, Use, Way};
use super::secrecy::{self, InFlight, Leak, Secrecy, block_of, plain_block};
use crate::message::{Line, LineBytes};

/// The names of what is used of `pad` by a whole line, each with the number of its block: blocks, or the words of blocks.
pub(super) fn names(cipher: Option<&CounterCipher>, pad: &LineBytes) -> impl Iterator<Item = (usize, u128)> {
    let words = cipher.and_then(CounterCipher::words);
    let count = words.map_or(4, |words| 64 / words.bytes);
    (0..count).map(move |index| {
        let block = index * 4 / count;
        let word = words.map_or(0, |_| index as u128 + 1);
        (block, block_of(pad, block).wrapping_add(word))
    })
}

/// Notes the words of both pads that `plaintext` is encrypted with, under a counter, where the bits of words are `modified`;
/// returns the first word that was used for another plaintext.
pub(super) fn meet_words(
    meet: &mut impl FnMut(u128, Use) -> Option<Use>,
    cipher: &CounterCipher,
    at: Earlier,
    (counter, modified): (AuditedCounter, u64),
    plaintext: &LineBytes,
) -> Option<Leak> {
    let bytes = cipher.words()?.bytes;
    let used = |counter| names(Some(cipher), &cipher.pad(at.line, counter)).collect::<Vec<_>>();
    let (leading, trailing) = (used(counter), used(cipher.epoch(counter)));
    let mut leak = None;
    for (index, word) in plaintext.chunks_exact(bytes).enumerate() {
        let (block, name) = if modified >> index & 1 == 1 { leading[index] } else { trailing[index] };
        let plaintext = word.iter().fold(0, |value, byte| value << 8 | u128::from(*byte));
        if let Some(earlier) = meet(name, Use { plaintext, at }) {
            leak = leak.or(Some(Leak::PadReuse { block, way: at.way, earlier: earlier.at }));
        }
    }
    leak
}

/// Notes what the populated `line` was initially stored with.
pub(super) fn note_base(
    meet: &mut impl FnMut(u128, Use) -> Option<Use>,
    line: Line,
    cipher: &CounterCipher,
    base: &LineBytes,
) {
    if cipher.words().is_none() {
        return secrecy::note_base(meet, line, cipher, base);
    }
    let at = Earlier { line, event: 0, way: Way::Run };
    meet_words(meet, cipher, at, (cipher.base(), 0), base);
}

/// The counters that a line may be encrypted with: those that a boot would find for it, the one that it was last seen with, the
/// next after each, and the first after its page was encrypted anew.
fn candidates(
    cipher: &CounterCipher,
    durable: [AuditedCounter; 2],
    last: Option<AuditedCounter>,
) -> impl Iterator<Item = AuditedCounter> + Clone {
    let split = matches!(cipher.layout(), CounterLayout::Split { .. });
    let near = move |counter: AuditedCounter| {
        let AuditedCounter { major, minor } = counter;
        let next = if split {
            AuditedCounter { minor: minor.saturating_add(1), major }
        } else {
            AuditedCounter { major: major + 1, minor }
        };
        [counter, next, AuditedCounter { major: major + u64::from(split), minor: 0 }]
    };
    last.into_iter().chain(durable).flat_map(near)
}

/// Examines a line that has left the chip as `bytes`, with these bits of its words, encrypted with a counter near `durable` or near
/// the last one.
pub(super) fn examine_words(
    meet: &mut impl FnMut(u128, Use) -> Option<Use>,
    cipher: &CounterCipher,
    at: Earlier,
    (bytes, modified): (&LineBytes, u64),
    durable: [AuditedCounter; 2],
    in_flight: &mut InFlight,
) -> Option<Leak> {
    let plain = plain_block(bytes, in_flight.plaintexts()).filter(|_| in_flight.program_data);
    let plain = plain.map(|block| Leak::Plaintext { block, way: at.way });
    let found = candidates(cipher, durable, in_flight.counter).find_map(|counter| {
        let plaintext = cipher.apply_words(at.line, counter, bytes, modified);
        in_flight.plaintexts().any(|known| *known == plaintext).then_some((counter, plaintext))
    });
    let Some((counter, plaintext)) = found else { return plain };
    in_flight.counter = Some(counter);
    plain.or(meet_words(meet, cipher, at, (counter, modified), &plaintext))
}

impl Secrecy {
    /// Checks `bytes`, with these bits of its words, which entered the persistence domain as the content of a line.
    pub fn words_persisted(
        &mut self,
        at: Earlier,
        stored: (&LineBytes, u64),
        base: Option<&LineBytes>,
        cipher: &CounterCipher,
        durable: [AuditedCounter; 2],
    ) -> Option<Leak> {
        let pads = &mut self.pads;
        let mut meet = |pad, user| pads.meet(pad, user);
        let in_flight = self.lines.entry(at.line).or_insert_with(|| InFlight::new(base));
        if let (Some(base), false) = (base, in_flight.base_used) {
            note_base(&mut meet, at.line, cipher, base);
        }
        in_flight.base_used = true;
        let leak = examine_words(&mut meet, cipher, at, stored, durable, in_flight);
        let being_reencrypted = self.status.is_some_and(|status| status.awaits(at.line));
        in_flight.written(being_reencrypted);
        leak
    }

    /// Checks that `bytes`, which crossed the bus towards `line`, are not in the clear.
    pub fn words_crossed(&mut self, at: Earlier, bytes: &LineBytes, base: Option<&LineBytes>) -> Option<Leak> {
        let in_flight = self.lines.entry(at.line).or_insert_with(|| InFlight::new(base));
        let block = plain_block(bytes, in_flight.plaintexts()).filter(|_| in_flight.program_data)?;
        Some(Leak::Plaintext { block, way: at.way })
    }
}

/// The counters that a boot would find for `line`: as stored, and as the status register changes it.
pub(super) fn durable_counters(lines: &super::lines::Lines, line: Line) -> [AuditedCounter; 2] {
    lines.cell(line).map_or([AuditedCounter::NEVER; 2], |cell| [cell.stored, cell.effective])
}

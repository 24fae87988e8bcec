//! A complete second power cycle: the machine has recovered and goes on, the slots of the caches that were dirty are dirty
//! again with other bytes, and power is lost.

use crate::message::{Line, LineBytes, Observer, OnChipLine, xor};
use crate::parts::Counter;
use crate::power::{Drained, PowerLoss};
use crate::recovery::Boot;
use std::collections::BTreeMap;

/// What the second power failure leaves.
pub(in crate::crash) struct SecondLife {
    pub drained: Drained,
    /// What the lines that left then hold.
    pub newest: BTreeMap<Line, LineBytes>,
}

/// The second cycle after `boot`, all of whose steps have been performed, if lines leave for a shadow cache, as they did with
/// `first`. `None` if the boot has put lines back into the caches: these are from the first cycle.
pub(in crate::crash) fn second_life<O: Observer>(
    loss: &PowerLoss<'_>,
    first: &Drained,
    boot: &Boot<'_, O>,
) -> Option<SecondLife> {
    let (codec, region) = loss.codec.and_then(|codec| Some((codec, codec.shadow()?)))?;
    let mut held = boot.power_lost();
    if !held.lines.is_empty() {
        return None;
    }
    let slots: BTreeMap<u64, Line> = first.slots(region).collect();
    let mut newest = BTreeMap::new();
    for (&slot, &line) in &slots {
        let plaintext = boot.line(line).map(|byte| !byte ^ slot as u8);
        let pad = codec.pad(region.pad_line(slot), Counter { major: held.registers.boot_counter, minor: 0 });
        held.lines.push(OnChipLine {
            slot,
            level: 0,
            core: 0,
            line,
            resident: if loss.boot_pads { xor(&plaintext, &pad) } else { plaintext },
            plaintext,
            newest: !newest.contains_key(&line),
        });
        newest.entry(line).or_insert(plaintext);
    }
    Some(SecondLife { drained: loss.strike(held, boot.memory()), newest })
}

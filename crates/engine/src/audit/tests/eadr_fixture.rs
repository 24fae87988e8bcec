//! For tests: auditors of designs whose caches are in the persistence domain, and what leaves on battery, assembled by
//! hand.

use super::fixture::{KEY, Populated, crypt};
use crate::audit::{AuditSetup, Auditor, CipherFacts, CounterLayout, DrainFacts, ProgramFacts};
use crate::layout::{ShadowRegion, ShadowRegisters};
use crate::message::{CounterBlock, DrainedWrite, Line, LineBytes, MediaLine, Observer};
use crate::parts::{LineAtomicity, StampSource};
use std::sync::Arc;

/// Two lines of metadata, the second of which describes two slots.
pub const REGION: ShadowRegion = ShadowRegion { first: Line(1_000), slots: 6, memory_lines: 1 << 20, macs: false };
pub const REGISTERS: ShadowRegisters = ShadowRegisters { incr_counter: 1, boot_counter: 1, consumed: 0, root: [0; 64] };
/// Lines that are populated with 0x11.
pub const OLD: [Line; 2] = [Line(64), Line(128)];
pub const FRESH: Line = Line(70);

pub fn base() -> Arc<Populated> {
    Arc::new(Populated::new(OLD.map(|line| (line.0, [0x11; 64]))))
}

/// An auditor of a design with encrypted memory; with a shadow cache if `shadow` says where its counters come from.
pub fn auditor(shadow: Option<StampSource>) -> Auditor {
    Auditor::new(setup(shadow, None))
}

pub fn setup(shadow: Option<StampSource>, program: Option<ProgramFacts>) -> AuditSetup {
    AuditSetup {
        base: base(),
        cores: 1,
        direct: None,
        cipher: Some(CipherFacts {
            key: KEY.to_vec(),
            counters: CounterLayout::Split { coverage: crate::layout::Coverage::PAGE, minor_bits: 2 },
            valid_flags: false,
            recovery: crate::audit::CounterRecovery::None,
            words: None,
            zero_minors: false,
        }),
        log: None,
        line_atomic: LineAtomicity::Every,
        secret: true,
        status_survives: true,
        drain: Some(DrainFacts { caches: true, shadow: shadow.map(|source| (REGION, source)) }),
        program,
    }
}

/// A store of the whole line, and the end of its event.
pub fn store(auditor: &mut Auditor, line: Line, value: u8) {
    auditor.stored(0, 0, line, 0, &[value; 64]);
    auditor.event_over(0);
}

/// A power loss; returns the verdict.
pub fn lose(auditor: &mut Auditor, left: &[DrainedWrite]) -> bool {
    auditor.power_lost(left, &REGISTERS);
    auditor.judge()
}

fn carrying(media: Line, bytes: LineBytes, line: Line, plain: LineBytes) -> DrainedWrite {
    DrainedWrite { media: MediaLine::data(media), bytes, carries: Some((line, plain)), in_the_clear: false }
}

/// A line leaves for its own address, encrypted.
pub fn home(line: Line, (major, minor): (u64, u8), plain: LineBytes) -> DrainedWrite {
    carrying(line, crypt(line, major, minor, &plain), line, plain)
}

/// A line leaves for its own address, unencrypted and flagged so.
pub fn in_the_clear(line: Line, plain: LineBytes) -> DrainedWrite {
    DrainedWrite { in_the_clear: true, ..carrying(line, plain, line, plain) }
}

/// A counter block leaves in which these lines have these minor counters.
pub fn block(page: u64, major: u64, minors: &[(Line, u8)]) -> DrainedWrite {
    let mut all = [0; 64];
    for &(line, minor) in minors {
        all[line.index_in_page()] = minor;
    }
    let bytes = crate::audit::counter::tests::pack(major, &all, 2);
    DrainedWrite { media: MediaLine::counter(CounterBlock(page)), bytes, carries: None, in_the_clear: false }
}

/// The data of a slot leave for the shadow cache.
pub fn slot(number: u64, counter: u64, line: Line, plain: LineBytes) -> DrainedWrite {
    let bytes = crypt(Line((1 << 20) + number), counter, 0, &plain);
    carrying(Line(1_000 + number), bytes, line, plain)
}

/// The metadata of slots `4 * group` and up leave: tag, whether it is valid, stamp.
pub fn states(group: u64, slots: &[Option<(Line, bool, u64)>]) -> DrainedWrite {
    let mut bytes = [0; 64];
    for (bytes, slot) in bytes.chunks_exact_mut(16).zip(slots) {
        let Some((line, valid, stamp)) = *slot else { continue };
        bytes[..8].copy_from_slice(&line.0.to_le_bytes());
        bytes[7] |= if valid { 0x80 } else { 0 };
        bytes[8..].copy_from_slice(&stamp.to_le_bytes());
    }
    DrainedWrite { media: MediaLine::data(Line(1_006 + group)), bytes, carries: None, in_the_clear: false }
}

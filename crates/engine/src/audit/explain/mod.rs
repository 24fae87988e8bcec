//! Turns the findings of the auditors into sentences that a newcomer to the field can follow.

mod leak;

pub(super) use leak::leak;

use super::counter::{AuditedCounter, CounterCipher};
use super::durable::Durable;
use super::facts::CounterLayout;
use super::hardware_log::{UndoReport, describe};
use super::line_record::{Id, Role};
use super::lines::Lines;
use super::shadow_cache::ShadowCache;
use super::transaction::{Finding, Stage, Transactions};
use crate::layout::Coverage;
use crate::message::{CoreId, Line};

/// The information that explanations are made from.
#[derive(Clone, Copy)]
pub(super) struct Evidence<'a> {
    pub lines: &'a Lines,
    pub durable: &'a Durable,
    /// Whether lines leave on battery, so that what a boot finds of them counts.
    pub drains: bool,
    pub shadow: Option<&'a ShadowCache>,
}

/// What the durable state holds for a line, and why that is or is not what the program wrote.
pub(super) fn line_state(evidence: &Evidence<'_>, id: Id) -> String {
    if let Some((slot, counter)) = evidence.shadow.and_then(|shadow| shadow.slot_with(id)) {
        return format!(
            "The boot puts back what slot {slot} of the shadow cache gives under counter {counter}, and that is not what \
             the line held."
        );
    }
    let own = own_place(evidence.lines, evidence.durable, id);
    match evidence.shadow {
        Some(_) => format!("No live slot of the shadow cache holds it. {own}"),
        None => own,
    }
}

/// What is stored at a line's own address.
fn own_place(lines: &Lines, durable: &Durable, id: Id) -> String {
    let record = lines.record(id);
    let (Some(row), Some(cell)) = (lines.row(record.line), lines.cell(record.line)) else { return String::new() };
    if record.durable.in_the_clear() {
        return "It left unencrypted on battery, but with the wrong contents.".into();
    }
    let persisted = match record.durable.persisted_at {
        _ if record.durable.left.is_some() => "What the power failure has put at its address is read".into(),
        Some(event) => format!("Its data last entered the persistence domain in event {event}"),
        None => "Its data never entered the persistence domain during the run".into(),
    };
    let Some(cipher) = durable.cipher() else { return format!("{persisted}.") };
    let name = |counter| counter_name(cipher, counter);
    let block = match (row.persisted_at, lines.coverage()) {
        _ if row.left.is_some() => "its counter block, which left on battery,".into(),
        (Some(event), Coverage::PAGE) => format!("the durable counter block of its page (persisted in event {event})"),
        (Some(event), Coverage::LINE) => format!("the durable counter beside it (persisted in event {event})"),
        (Some(event), _) => format!("its durable counter block (persisted in event {event})"),
        (None, Coverage::LINE) => "the counter beside it on the media (never persisted during the run)".into(),
        (None, _) => "the counter block on the media (never persisted during the run)".into(),
    };
    let effective = cell.effective;
    let through = match durable.status.filter(|status| status.group.contains(record.line)) {
        Some(status) if status.awaits(record.line) => {
            ", read through the re-encryption status register in which the line is not done,"
        }
        Some(_) => ", read through the re-encryption status register in which the line is done,",
        None => "",
    };
    let says = format!("{block}{through} says {}", name(effective));
    let outcome = if cipher.reads_as_zeros(effective) { "reads as zero" } else { "decrypts to garbage" };
    if record.durable.found().is_none() {
        let (old, under) = match lines.base(record.line) {
            Some(_) => (cipher.base(), format!("it is still as populated, encrypted with {}", name(cipher.base()))),
            None => (AuditedCounter::NEVER, "nothing was ever written there".into()),
        };
        return if effective == old {
            format!("{persisted}: it still shows the bytes from before the run.")
        } else {
            format!("{persisted}: on the media {under}, but {says}, so the line {outcome}.")
        };
    }
    match counter_used(lines, cipher, durable, id) {
        Some(used) if used != effective => {
            format!("{persisted}, encrypted with {}, but {says}, so the line {outcome}.", name(used))
        }
        Some(used) => format!(
            "{persisted}, encrypted with {}, and {block}{through} agrees, so the line can be read, but it does not hold \
             what it must.",
            name(used)
        ),
        None => format!(
            "{persisted}; {says}. So the line shows either older bytes or garbage: nothing that the program has stored \
             there since the last completed fence over it."
        ),
    }
}

/// How far from the durable counters a global counter is searched for.
const GLOBAL_NEAR: u64 = 4_096;

/// The counter that the stored bytes of the line were really encrypted with, found by trying counters near the durable
/// one against every version that the program may have written.
pub(super) fn counter_used(lines: &Lines, cipher: &CounterCipher, durable: &Durable, id: Id) -> Option<AuditedCounter> {
    if cipher.is_direct() {
        return None;
    }
    let record = lines.record(id);
    let stored = record.durable.found()?;
    let history = &record.history;
    let fits = |counter: &AuditedCounter| {
        let plaintext = cipher.apply_words(record.line, *counter, stored, record.durable.modified);
        plaintext == history.covered || history.later.contains(&plaintext)
    };
    find_counter(lines, cipher, durable, record.line, fits)
}

/// The first counter near the durable one of `line` that `fits`.
pub(super) fn find_counter(
    lines: &Lines,
    cipher: &CounterCipher,
    durable: &Durable,
    line: Line,
    fits: impl Fn(&AuditedCounter) -> bool,
) -> Option<AuditedCounter> {
    let cell = lines.cell(line)?;
    match cipher.layout() {
        CounterLayout::Split { minor_bits, .. } => {
            let old_major = durable.status.map_or(0, |status| status.old_major);
            let major = cell.stored.major;
            let majors = [cell.effective.major, major.wrapping_sub(1), major, major.wrapping_add(1), old_major];
            let minors = 0..=(1u16 << minor_bits) - 1;
            majors
                .into_iter()
                .flat_map(|major| minors.clone().map(move |minor| AuditedCounter { major, minor }))
                .find(fits)
        }
        CounterLayout::Words { .. } => {
            // All lines share one register: a line's counter is near its old one or near the newest of all.
            let near = |value: u64| {
                let above = (value..=value.saturating_add(GLOBAL_NEAR)).map(Some).chain(std::iter::repeat(None));
                let below = (value.saturating_sub(GLOBAL_NEAR)..value).rev().map(Some).chain(std::iter::repeat(None));
                let both = above.zip(below).take(GLOBAL_NEAR as usize + 1);
                both.flat_map(|(above, below)| [above, below]).flatten()
            };
            near(durable.largest)
                .chain(near(cell.stored.major))
                .map(|major| AuditedCounter { major, minor: 0 })
                .find(fits)
        }
    }
}

/// The explanation of a line that broke the line rule.
pub(super) fn line_rule(evidence: &Evidence<'_>, transactions: Option<&Transactions>, event: u64, id: Id) -> String {
    let record = evidence.lines.record(id);
    let name = line_name(record.line, record.role);
    let stage = stage_of(transactions, record.role);
    let history = &record.history;
    let duty = match (history.later.is_empty(), history.covered_at) {
        (true, _) if evidence.drains && history.covered_at.is_none() && history.stored_at.is_some() => format!(
            "The caches are in the persistence domain, so what was last stored to it (event {}) must be readable",
            history.stored_at.unwrap_or(0)
        ),
        (true, Some(fence)) => format!(
            "A fence that completed in event {fence} covers its last store{}, so it must be readable",
            history.stored_at.map_or(String::new(), |store| format!(" (event {store})"))
        ),
        (true, None) => "The program has not stored to it, so it must keep its old bytes".into(),
        (false, _) => format!(
            "It was last stored to in event {}, and this design promises that a line in flight shows its old or \
             its new bytes, never anything else",
            history.stored_at.unwrap_or(0)
        ),
    };
    format!(
        "If power fails after event {event}{stage}, {name} does not decrypt to what it must hold. {duty}. {}",
        line_state(evidence, id)
    )
}

/// The explanation of a heap that is neither in the state before nor in the state after its transaction in flight.
pub(super) fn transaction(
    evidence: &Evidence<'_>,
    transactions: &Transactions,
    undo: Option<UndoReport>,
    event: u64,
    finding: &Finding,
) -> String {
    let lines = evidence.lines;
    let core = finding.core;
    let number = transactions.current(core).unwrap_or(0);
    let stage = stage_of(Some(transactions), Role::Heap(core));
    let wrong = match (finding.missing, finding.durability) {
        (Some(1), _) => {
            format!("transaction {} of core {core} is missing although its commit fence completed", number - 1)
        }
        (Some(many), _) => {
            format!("the last {many} committed transactions of core {core} (to {}) are missing", number - 1)
        }
        (None, true) => {
            format!("data that transactions of core {core} before {number} had committed is lost")
        }
        (None, false) => format!(
            "the heap of core {core} is neither as before nor as after its transaction {number}: the transaction is \
             there in part"
        ),
    };
    let report = finding.report;
    let recovery = match undo {
        Some(undo) => describe(undo),
        None => format!(
            "Recovery undid {} complete log entries ({} bytes) and abandoned {} incomplete ones.",
            report.undone, report.bytes_restored, report.abandoned
        ),
    };
    let mut explanation = format!("If power fails after event {event}{stage}, then after recovery {wrong}. {recovery}");
    if finding.arrived > 0 && !finding.lacking.is_empty() {
        explanation += &format!(
            " Of the data lines that transaction {number} writes, {} hold its bytes and {} do not.",
            finding.arrived,
            finding.lacking.len()
        );
    }
    if let Some(id) = finding.lead() {
        let record = lines.record(id);
        explanation += &format!(
            " The first line that does not fit is {}. {}",
            line_name(record.line, record.role),
            line_state(evidence, id)
        );
    }
    if let Some(id) = unreadable_log(evidence, core) {
        explanation += &format!(
            " Its undo log cannot be read either, at {}. {}",
            line_name(lines.record(id).line, Role::Log(core)),
            line_state(evidence, id)
        );
    }
    explanation
}

/// The first log line of `core` whose durable bytes are nothing that the program has stored there since a fence.
fn unreadable_log(evidence: &Evidence<'_>, core: CoreId) -> Option<Id> {
    let lines = evidence.lines;
    let wrong = |id: &Id| {
        let record = lines.record(*id);
        let found = if evidence.drains { record.booted() } else { &record.durable.plain };
        let history = &record.history;
        record.role == Role::Log(core) && *found != history.covered && !history.later.contains(found)
    };
    (0..lines.records.len() as Id).filter(wrong).min_by_key(|&id| lines.record(id).line)
}

fn line_name(line: Line, role: Role) -> String {
    let address = line.address();
    match role {
        Role::Heap(core) => format!("the data line at {address:#x} (heap of core {core})"),
        Role::Log(core) => format!("the log line at {address:#x} (undo log of core {core})"),
        Role::Volatile(core) => format!("the line at {address:#x} (volatile data of core {core})"),
        Role::HardwareLog => format!("the line at {address:#x} of the hardware's log"),
        Role::Other => format!("the line at {address:#x}"),
    }
}

fn counter_name(cipher: &CounterCipher, counter: AuditedCounter) -> String {
    let name = match cipher.layout() {
        CounterLayout::Split { .. } => format!("counter (major {}, minor {})", counter.major, counter.minor),
        CounterLayout::Words { .. } => format!("counter {}", counter.major),
    };
    match counter {
        AuditedCounter::NEVER => name + ", which means never written",
        _ if cipher.reads_as_zeros(counter) => name + ", which means zeros",
        _ => name,
    }
}

fn stage_of(transactions: Option<&Transactions>, role: Role) -> String {
    let (Some(transactions), Role::Heap(core) | Role::Log(core)) = (transactions, role) else { return String::new() };
    let number = transactions.current(core).unwrap_or(0);
    match transactions.stage(core) {
        Stage::Idle => format!(", between the transactions of core {core} (next: {number})"),
        Stage::Prepare => format!(", in the Prepare stage of transaction {number} of core {core} (writing its log)"),
        Stage::Mutate => {
            format!(", in the Mutate stage of transaction {number} of core {core} (writing its data in place)")
        }
        Stage::Commit => {
            format!(", in the Commit stage of transaction {number} of core {core} (invalidating its log)")
        }
        Stage::Unlogged(fences) => {
            format!(", in transaction {number} of core {core} (which keeps no log) after {fences} of its fences")
        }
        Stage::HardwareLogged { freed: false } => {
            format!(", in transaction {number} of core {core}, which hardware logs")
        }
        Stage::HardwareLogged { freed: true } => {
            format!(", at the end of transaction {number} of core {core}, whose log hardware has freed")
        }
    }
}

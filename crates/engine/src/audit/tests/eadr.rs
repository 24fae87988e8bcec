//! Caches in the persistence domain: every rule detects a power loss, a boot or a second power loss that deliberately
//! breaks it, and no rule reports the correct counterpart.

use super::eadr_fixture::*;
use super::fixture::{DATA, ProgramFault, crypt, undo_pair};
use crate::audit::{AuditSetup, Auditor, Rule};
use crate::layout::{Coverage, ShadowRegisters};
use crate::message::{DrainedWrite, Line, LineBytes, MediaLine, Observer, Op, OpBuffer, OpSource, Page};
use crate::parts::StampSource;
use std::collections::BTreeMap;

const NEW: LineBytes = [5; 64];

fn rules(auditor: &Auditor) -> Vec<(Rule, Line)> {
    auditor.violations().iter().map(|violation| (violation.rule, violation.line.unwrap())).collect()
}

fn description(auditor: &Auditor) -> &str {
    &auditor.violations().last().unwrap().explanation
}

#[test]
fn visible_store_must_leave_or_have_persisted_and_fences_add_nothing() {
    let mut auditor = auditor(None);
    assert!(lose(&mut auditor, &[]));
    auditor.flushed(0, 0, OLD[0]);
    store(&mut auditor, OLD[0], 5);
    assert!(!lose(&mut auditor, &[]));
    assert_eq!(rules(&auditor), [(Rule::Line, OLD[0])]);
    assert!(
        description(&auditor).contains("what was last stored to it (event 1) must be readable"),
        "{}",
        description(&auditor)
    );
    auditor.fenced(0, 0);
    assert!(!lose(&mut auditor, &[]));
    let left = [block(1, 0, &[(OLD[0], 2)]), home(OLD[0], (0, 2), NEW)];
    assert!(lose(&mut auditor, &left));
    // The counter block alone, the line alone, and an older version.
    assert!(!lose(&mut auditor, &left[..1]));
    assert!(!lose(&mut auditor, &left[1..]));
    assert!(!lose(&mut auditor, &[left[0], home(OLD[0], (0, 2), [0x11; 64])]));
    // It persists: nothing needs to leave.
    for write in &left {
        auditor.write_arrived(0, OLD[0], &NEW);
        auditor.persisted(0, write.media, &write.bytes);
    }
    auditor.event_over(0);
    assert!(lose(&mut auditor, &[]));
    // What was lost at five power losses was reported twice: it turned wrong twice.
    assert_eq!(auditor.violation_count(), 2);
}

#[test]
fn what_leaves_at_one_power_loss_is_gone_at_the_next() {
    let mut auditor = auditor(Some(StampSource::Metadata));
    store(&mut auditor, OLD[0], 5);
    store(&mut auditor, FRESH, 6);
    auditor.write_arrived(0, OLD[1], &NEW);
    auditor.persisted(0, MediaLine::counter(crate::message::CounterBlock(2)), &block(2, 0, &[(OLD[1], 2)]).bytes);
    auditor.persisted(0, MediaLine::data(OLD[1]), &home(OLD[1], (0, 2), NEW).bytes);
    auditor.event_over(0);
    let view = |auditor: &Auditor| -> BTreeMap<Line, (LineBytes, LineBytes)> {
        let booted = auditor.booted_view().map(|(_, bytes)| *bytes);
        let views = auditor.durable_view().zip(booted).map(|((line, bytes), booted)| (line, (*bytes, booted)));
        views.filter(|(_, (bytes, booted))| (bytes, booted) != (&[0; 64], &[0; 64])).collect()
    };
    lose(&mut auditor, &[]);
    let (untouched, hash) = (view(&auditor), auditor.state_hash());
    let lists: [&[DrainedWrite]; 4] = [
        &[home(OLD[0], (0, 2), NEW), home(FRESH, (0, 1), NEW), block(1, 0, &[(OLD[0], 2), (FRESH, 1)])],
        &[in_the_clear(OLD[1], [7; 64]), block(2, 1, &[])],
        &[slot(0, 1, OLD[0], NEW), slot(5, 2, OLD[1], [8; 64]), states(0, &[Some((OLD[0], true, 1))])],
        &[slot(5, 2, OLD[1], [8; 64]), states(1, &[None, Some((OLD[1], true, 2))])],
    ];
    let mut hashes = vec![hash];
    for list in lists {
        lose(&mut auditor, list);
        assert_ne!(view(&auditor), untouched);
        hashes.push(auditor.state_hash());
        lose(&mut auditor, &[]);
        assert_eq!(view(&auditor), untouched);
        assert_eq!(auditor.state_hash(), hash);
    }
    auditor.power_lost(&[], &ShadowRegisters { consumed: 1, ..REGISTERS });
    hashes.push(auditor.state_hash());
    assert!((0..hashes.len()).all(|n| (0..n).all(|m| hashes[n] != hashes[m])), "{hashes:x?}");
}

#[test]
fn what_persists_after_a_power_loss_that_did_not_happen_is_not_hidden_by_it() {
    let mut auditor = auditor(None);
    store(&mut auditor, OLD[0], 5);
    let early = [block(1, 0, &[(OLD[0], 2)]), home(OLD[0], (0, 2), NEW)];
    assert!(lose(&mut auditor, &early));
    let late = [block(1, 0, &[(OLD[0], 3)]), home(OLD[0], (0, 3), NEW)];
    for write in &late {
        auditor.write_arrived(0, OLD[0], &NEW);
        auditor.persisted(0, write.media, &write.bytes);
    }
    auditor.event_over(0);
    assert!(lose(&mut auditor, &[]));
    // The same bytes leave as before, and an old block replaces the new one.
    assert!(lose(&mut auditor, &early));
    assert!(!lose(&mut auditor, &early[..1]));
}

#[test]
fn of_several_copies_that_of_the_highest_level_wins() {
    let mut auditor = auditor(Some(StampSource::Metadata));
    store(&mut auditor, OLD[0], 4);
    store(&mut auditor, OLD[0], 5);
    let tag = Some((OLD[0], true, 1));
    let newest = [slot(1, 1, OLD[0], NEW), states(0, &[None, tag])];
    let both = [slot(4, 1, OLD[0], [4; 64]), states(1, &[tag]), newest[0], newest[1]];
    assert!(lose(&mut auditor, &newest));
    assert!(lose(&mut auditor, &both));
    let mut turned = both;
    turned.reverse();
    assert!(lose(&mut auditor, &turned));
    assert!(!lose(&mut auditor, &both[..2]), "the older copy alone");
    assert!(
        description(&auditor).contains("slot 4 of the shadow cache gives under counter 1"),
        "{}",
        description(&auditor)
    );
    // The newer copy in the level below.
    let swapped = [slot(4, 1, OLD[0], NEW), states(1, &[tag]), slot(1, 1, OLD[0], [4; 64]), newest[1]];
    assert!(!lose(&mut auditor, &swapped));
    assert_eq!(rules(&auditor), [(Rule::Line, OLD[0])]);
}

#[test]
fn slot_counts_if_its_tag_is_valid_and_its_stamp_has_not_been_consumed() {
    let entry = |valid, stamp| states(0, &[None, None, None, Some((FRESH, valid, stamp))]);
    let registers = ShadowRegisters { incr_counter: 9, boot_counter: 3, consumed: 6, root: [0; 64] };
    // Source, counter of the pad, valid, stamp: whether the line is found.
    let cases = [
        (StampSource::Metadata, 7, true, 7, true),
        (StampSource::Metadata, 7, true, 8, false),
        (StampSource::Metadata, 6, true, 6, false),
        (StampSource::Metadata, 7, false, 7, false),
        // The incr-counter less six slots, plus the third.
        (StampSource::Location, 6, true, 1, true),
        (StampSource::Location, 7, true, 7, false),
        (StampSource::Location, 6, false, 6, false),
        (StampSource::BootCounter, 3, true, 9, true),
        (StampSource::BootCounter, 9, true, 9, false),
    ];
    for (source, counter, valid, stamp, found) in cases {
        let mut auditor = auditor(Some(source));
        store(&mut auditor, FRESH, 5);
        auditor.power_lost(&[slot(3, counter, FRESH, NEW), entry(valid, stamp)], &registers);
        assert_eq!(auditor.judge(), found, "{source:?} {counter} {valid} {stamp}");
    }
    // The metadata without the data, the data without the metadata, and a tag that is no program's line.
    let mut auditor = auditor(Some(StampSource::Metadata));
    store(&mut auditor, FRESH, 5);
    assert!(!lose(&mut auditor, &[entry(true, 1)]));
    assert!(!lose(&mut auditor, &[slot(3, 1, FRESH, NEW)]));
    assert!(
        description(&auditor).contains("slot 3 of the shadow cache") || description(&auditor).contains("No live slot")
    );
    let beyond = states(0, &[None, None, None, Some((Line(1_000), true, 1))]);
    assert!(!lose(&mut auditor, &[slot(3, 1, FRESH, NEW), beyond]));
}

#[test]
fn plaintext_that_leaves_on_battery_is_found_once_and_fails_every_crash_point() {
    let mut auditor = auditor(None);
    store(&mut auditor, OLD[0], 5);
    let left = [in_the_clear(OLD[0], NEW)];
    for _ in 0..100 {
        assert!(!lose(&mut auditor, &left));
        auditor.event_over(0);
    }
    assert_eq!(rules(&auditor), [(Rule::Plaintext, OLD[0])], "flagged so, the line is readable");
    assert_eq!(auditor.violation_count(), 1);
    assert!(description(&auditor).contains("left in the clear at the power loss"), "{}", description(&auditor));
    assert!(lose(&mut auditor, &[block(1, 0, &[(OLD[0], 2)]), home(OLD[0], (0, 2), NEW)]));
    // Unencrypted and not flagged so, it is neither secret nor readable.
    auditor.event_over(0);
    let unflagged = DrainedWrite { in_the_clear: false, ..left[0] };
    assert!(!lose(&mut auditor, &[unflagged]));
    assert_eq!(rules(&auditor), [(Rule::Plaintext, OLD[0]), (Rule::Line, OLD[0])]);
}

#[test]
fn zeroes_are_a_secret_only_where_the_program_has_stored_them() {
    let mut auditor = auditor(None);
    let zeroes = [in_the_clear(FRESH, [0; 64])];
    assert!(lose(&mut auditor, &zeroes));
    store(&mut auditor, FRESH, 0);
    assert!(!lose(&mut auditor, &zeroes));
    assert_eq!(rules(&auditor), [(Rule::Plaintext, FRESH)]);
}

#[test]
fn design_that_promises_no_secrecy_may_let_lines_leave_as_they_are() {
    let mut auditor = Auditor::new(AuditSetup { cipher: None, secret: false, ..setup(None, None) });
    store(&mut auditor, OLD[0], 5);
    assert!(!lose(&mut auditor, &[]));
    let plain = DrainedWrite { in_the_clear: false, ..in_the_clear(OLD[0], NEW) };
    assert!(lose(&mut auditor, &[plain]));
    assert!(!lose(&mut auditor, &[]), "the line is back to what it held when it was populated");
    assert_eq!(auditor.durable_view().collect::<Vec<_>>(), [(OLD[0], &[0x11; 64])]);
}

#[test]
fn pad_that_meets_another_plaintext_on_battery_is_found() {
    let mut auditor = auditor(Some(StampSource::Metadata));
    let tags = states(0, &[Some((OLD[0], true, 1)), Some((FRESH, true, 1))]);
    store(&mut auditor, OLD[0], 5);
    store(&mut auditor, FRESH, 6);
    let fresh = slot(1, 1, FRESH, [6; 64]);
    assert!(lose(&mut auditor, &[slot(0, 1, OLD[0], NEW), fresh, tags]));
    // Both slots use the pad of the first.
    let bytes = crypt(Line(1 << 20), 1, 0, &[6; 64]);
    assert!(!lose(&mut auditor, &[slot(0, 1, OLD[0], NEW), DrainedWrite { bytes, ..fresh }, tags]));
    assert!(rules(&auditor).contains(&(Rule::PadReuse, FRESH)));
    let reuse = auditor.violations().iter().find(|found| found.rule == Rule::PadReuse).unwrap();
    assert!(reuse.explanation.contains("under a pad that the power loss had already used"), "{}", reuse.explanation);
    // The pad of the initial contents, for a line that the run has not persisted.
    let fresh_again = [fresh, states(0, &[None, Some((FRESH, true, 1))])];
    let populated = home(OLD[0], (0, 1), NEW);
    assert!(!lose(&mut auditor, &[populated, fresh_again[0], fresh_again[1]]));
    assert!(rules(&auditor).contains(&(Rule::PadReuse, OLD[0])));
    assert!(!rules(&auditor).contains(&(Rule::Line, OLD[0])), "the pad is used twice, but the line can be read");
}

#[test]
fn pad_of_the_run_is_used_for_a_power_loss_too_and_the_other_way_round_it_is_not() {
    let mut auditor = auditor(None);
    store(&mut auditor, FRESH, 5);
    // In this future the line leaves with the counter that it then gets in the run.
    assert!(lose(&mut auditor, &[block(1, 0, &[(OLD[0], 1), (FRESH, 1)]), home(FRESH, (0, 1), NEW)]));
    store(&mut auditor, FRESH, 6);
    auditor.write_arrived(0, FRESH, &[6; 64]);
    let counters = block(1, 0, &[(OLD[0], 1), (FRESH, 1)]);
    auditor.persisted(0, counters.media, &counters.bytes);
    auditor.persisted(0, MediaLine::data(FRESH), &home(FRESH, (0, 1), [6; 64]).bytes);
    auditor.event_over(0);
    assert!(lose(&mut auditor, &[]));
    assert!(lose(&mut auditor, &[home(FRESH, (0, 1), [6; 64])]), "the same bytes under the same pad");
    store(&mut auditor, FRESH, 7);
    assert!(!lose(&mut auditor, &[home(FRESH, (0, 1), [7; 64])]));
    assert_eq!(rules(&auditor), [(Rule::PadReuse, FRESH)]);
    assert!(description(&auditor).contains("that event 3 had already used"), "{}", description(&auditor));
}

/// The battery re-encrypts the lines of page 1, all except `except`, without naming the cached lines that they hold.
fn encrypted_anew(except: Option<Line>) -> Vec<DrainedWrite> {
    let lines = (0..64).map(|index| Page(1).line(index)).filter(|&line| Some(line) != except);
    let old = |line: Line| if line == OLD[0] { [0x11; 64] } else { [0; 64] };
    lines.map(|line| DrainedWrite { carries: None, ..home(line, (1, 0), old(line)) }).collect()
}

#[test]
fn line_that_is_encrypted_anew_on_battery_is_held_against_what_it_held() {
    let mut auditor = auditor(None);
    store(&mut auditor, FRESH, 5);
    // The page of the line that leaves overflows.
    let line = home(FRESH, (1, 1), NEW);
    let mut left = encrypted_anew(Some(FRESH));
    left.extend([block(1, 1, &[(FRESH, 1)]), line]);
    assert!(lose(&mut auditor, &left));
    // A line that has just left is re-encrypted, too: it is compared with what left.
    left.extend([DrainedWrite { carries: None, ..home(FRESH, (1, 2), NEW) }, block(1, 1, &[(FRESH, 2)])]);
    assert!(lose(&mut auditor, &left));
    auditor.event_over(0);
    let populated = left.iter_mut().find(|write| write.media == MediaLine::data(OLD[0])).unwrap();
    populated.bytes = [0x11; 64];
    assert!(!lose(&mut auditor, &left));
    assert!(rules(&auditor).contains(&(Rule::Plaintext, OLD[0])));
    *left.iter_mut().find(|write| write.media == MediaLine::data(OLD[0])).unwrap() = encrypted_anew(None)[0];
    left.push(DrainedWrite { carries: None, in_the_clear: true, ..in_the_clear(FRESH, NEW) });
    assert!(!lose(&mut auditor, &left));
    assert!(rules(&auditor).contains(&(Rule::Plaintext, FRESH)));
}

#[test]
fn what_the_battery_makes_of_the_status_register_replaces_it_for_one_power_loss() {
    let mut auditor = auditor(None);
    // The page waits for its re-encryption with the major counter 1.
    let waiting = block(1, 1, &[(OLD[0], 1)]);
    auditor.persisted(0, waiting.media, &waiting.bytes);
    auditor.reencryption(0, Coverage::PAGE.group(Page(1).line(0)), 0, 0, false);
    auditor.event_over(0);
    assert!(lose(&mut auditor, &[]));
    let hash = auditor.state_hash();
    let mut finished = encrypted_anew(None);
    finished.push(block(1, 1, &[]));
    assert!(!lose(&mut auditor, &finished));
    auditor.reencryption_left(None);
    assert!(lose(&mut auditor, &finished));
    assert!(lose(&mut auditor, &[]));
    assert_eq!(auditor.state_hash(), hash);
}

/// An auditor after a power loss with one line in slot 0 with counter 1, without violations.
fn after_a_loss(value: u8) -> Auditor {
    let mut auditor = auditor(Some(StampSource::Metadata));
    store(&mut auditor, OLD[0], value);
    assert!(lose(&mut auditor, &[slot(0, 1, OLD[0], [value; 64]), states(0, &[Some((OLD[0], true, 1))])]));
    auditor
}

#[test]
fn second_power_loss_may_repeat_a_pad_for_the_same_bytes_only() {
    for (counter, value, clean) in [(1, 5, true), (2, 6, true), (1, 6, false)] {
        let mut auditor = after_a_loss(5);
        let mut watch = auditor.boot_watch();
        watch.power_lost(&[slot(0, counter, OLD[0], [value; 64])]);
        let leaks = watch.finish();
        assert_eq!(auditor.boot_over(leaks), clean, "counter {counter}, value {value}");
        if !clean {
            assert_eq!(rules(&auditor), [(Rule::PadReuse, OLD[0])]);
            assert!(description(&auditor).contains("fails after event 1 and again"), "{}", description(&auditor));
            assert!(
                description(&auditor).contains("that the power loss had already used"),
                "{}",
                description(&auditor)
            );
        }
    }
}

#[test]
fn line_that_rests_in_the_clear_after_a_boot_leaves_so_at_the_second_power_loss() {
    let mut auditor = after_a_loss(5);
    let mut watch = auditor.boot_watch();
    let resting = DrainedWrite { in_the_clear: false, ..in_the_clear(OLD[0], NEW) };
    watch.power_lost(&[DrainedWrite { media: MediaLine::data(Line(1_000)), ..resting }]);
    let leaks = watch.finish();
    assert!(!auditor.boot_over(leaks));
    assert_eq!(rules(&auditor), [(Rule::Plaintext, OLD[0])]);
}

#[test]
fn boot_and_the_boot_after_a_second_power_loss_are_watched_against_all_that_left() {
    let write = |watch: &mut crate::audit::BootWatch<'_>, minor, value| {
        watch.write_arrived(0, OLD[0], &[value; 64]);
        watch.persisted(0, MediaLine::data(OLD[0]), &crypt(OLD[0], 0, minor, &[value; 64]));
    };
    // The first boot restores the line; a second, cut from it, restores it again.
    for (first, second, clean) in
        [((2, 5), (2, 5), true), ((2, 5), (3, 5), true), ((2, 5), (2, 6), false), ((1, 5), (3, 5), false)]
    {
        let mut auditor = after_a_loss(5);
        let mut watch = auditor.boot_watch();
        write(&mut watch, first.0, first.1);
        // The controller received another line, which the power loss then discards.
        watch.write_arrived(0, OLD[0], &[9; 64]);
        let mut nested = watch.clone();
        nested.power_lost(&[slot(0, 1, OLD[0], NEW)]);
        write(&mut nested, second.0, second.1);
        let leaks = nested.finish();
        assert_eq!(auditor.boot_over(leaks), clean, "{first:?}, then {second:?}");
    }
    // Clones do not affect each other.
    let mut auditor = after_a_loss(5);
    let watch = auditor.boot_watch();
    let [mut one, mut other] = [watch.clone(), watch.clone()];
    write(&mut one, 2, 5);
    write(&mut other, 2, 6);
    let leaks = [one.finish(), other.finish()];
    assert!(leaks.into_iter().all(|leaks| auditor.boot_over(leaks)));
}

#[test]
fn pads_of_the_next_power_loss_must_be_fresh() {
    let pad = |slot: u64, counter| crypt(Line((1 << 20) + slot), counter, 0, &[0; 64]);
    for (slot, counter, fresh) in [(0, 2, true), (1, 1, true), (0, 1, false)] {
        let mut auditor = after_a_loss(5);
        let mut watch = auditor.boot_watch();
        watch.next_pad(REGION.data(slot), &pad(slot, counter));
        let leaks = watch.finish();
        assert_eq!(auditor.boot_over(leaks), fresh, "slot {slot}, counter {counter}");
        if !fresh {
            assert_eq!(rules(&auditor), [(Rule::PadReuse, REGION.data(slot))]);
            assert!(
                description(&auditor).contains("the next power loss after the reboot"),
                "{}",
                description(&auditor)
            );
        }
    }
    // A populated line is stored with its first counter, even if nothing has persisted it.
    let mut auditor = after_a_loss(5);
    let mut watch = auditor.boot_watch();
    watch.next_write(OLD[0], std::iter::once(crypt(OLD[0], 0, 1, &[0; 64])));
    let leaks = watch.finish();
    assert!(!auditor.boot_over(leaks));
}

/// Runs the flush-free form of the test program and fails power after every store: the dirty lines that `drained`
/// selects leave for the shadow cache.
fn run(drained: impl Fn(Line, u64) -> bool) -> Auditor {
    let (mut program, facts) = undo_pair(&base(), 3, ProgramFault::default());
    let mut auditor = Auditor::new(setup(Some(StampSource::Metadata), Some(facts)));
    let mut memory: BTreeMap<Line, LineBytes> = BTreeMap::new();
    let (mut buffer, mut number) = (OpBuffer::default(), 0);
    while program.next_transaction(&mut buffer) {
        for op in &buffer.ops {
            match *op {
                Op::TxBegin => auditor.transaction_began(0, 0, number),
                Op::TxEnd => auditor.transaction_ended(0, 0, number),
                Op::Store { address, length, bytes } => {
                    let line = Line::containing(address);
                    let data = buffer.slice(bytes, length);
                    let old = if OLD.contains(&line) { [0x11; 64] } else { [0; 64] };
                    let offset = (address % 64) as usize;
                    memory.entry(line).or_insert(old)[offset..offset + data.len()].copy_from_slice(data);
                    auditor.stored(0, 0, line, offset, data);
                }
                Op::Sfence => auditor.fenced(0, 0),
                _ => {}
            }
            auditor.event_over(0);
            let dirty = memory.iter().filter(|(line, _)| drained(**line, number));
            let dirty: Vec<(u64, Line, LineBytes)> =
                dirty.enumerate().map(|(slot, (line, bytes))| (slot as u64, *line, *bytes)).collect();
            let mut left: Vec<DrainedWrite> =
                dirty.iter().map(|&(number, line, bytes)| slot(number, auditor.events(), line, bytes)).collect();
            for group in 0..2 {
                let of = dirty.iter().skip(4 * group).take(4);
                let tags: Vec<_> = of.map(|&(_, line, _)| Some((line, true, auditor.events()))).collect();
                left.push(states(group as u64, &tags));
            }
            lose(&mut auditor, &left);
        }
        number += 1;
    }
    auditor
}

#[test]
fn flush_free_program_recovers_from_what_its_caches_let_leave() {
    let auditor = run(|_, _| true);
    assert_eq!((rules(&auditor), auditor.violation_count()), (vec![], 0));
    assert!(auditor.recovered_line(DATA[0]) == Some([3; 64]));
}

#[test]
fn data_line_that_stays_behind_breaks_its_transaction_too() {
    let auditor = run(|line, number| line != DATA[1] || number != 1);
    let found = rules(&auditor);
    assert!(found.contains(&(Rule::Line, DATA[1])), "{found:?}");
    assert!(found.contains(&(Rule::Durability, DATA[1])) || found.contains(&(Rule::Atomicity, DATA[1])), "{found:?}");
    let stages: Vec<_> = auditor.violations().iter().map(|violation| violation.stage).collect();
    assert!(stages.contains(&Some("prepare")), "fences still divide a transaction: {stages:?}");
    // The transaction after it lets everything leave.
    assert_eq!(auditor.recovered_line(DATA[1]), Some([3; 64]));
}

//! The hardware's log as the auditors read it: a correct log breaks no rule, each broken one is detected, and a real
//! boot always agrees with the auditors about the result of the undo.

use super::fixture::{LOG_KEY, cfb_encrypt};
use super::log_fixture::{LINES, LogFault, Script, log_machine, region};
use crate::audit::aes_blocks::Aes;
use crate::audit::hardware_log::feed_back;
use crate::audit::{Auditor, CounterLayout, Rule};
use crate::cipher::FeedbackCipher;
use crate::crash::tests::survivors;
use crate::crash::{CrashPlan, Explorer};
use crate::layout::{BucketMetadata, CipherBlock, Coverage, LogHeader, LogLayout};
use crate::message::{Line, LineBytes, MediaLine, Observer};
use crate::parts::{LineAtomicity, RecoveryStep};
use crate::recovery::{Boot, LineCodec};
use proptest::prelude::*;

const LAYOUTS: [LogLayout; 2] = [LogLayout::Records, LogLayout::Chains];
const STEPS: &[RecoveryStep] = &[RecoveryStep::ResumeReencryption, RecoveryStep::UndoHardwareLog];
const EIGHT: CounterLayout = CounterLayout::Words { coverage: Coverage::EIGHT_LINES, bytes: 8 };

/// Five transactions, so that buckets are reused; power fails after every event, and every distinct state is booted.
fn explore(layout: LogLayout, counters: CounterLayout, fault: LogFault) -> Explorer<'static> {
    let (mut script, facts) = Script::new(layout, counters, fault);
    let auditor = script.machine.audited_for(LineAtomicity::None, true, Some(facts));
    let mut explorer = Explorer::new(auditor, CrashPlan::All, 0).full_check_every(1);
    for number in 0..5 {
        script.transaction(number, &mut explorer, &mut |machine, explorer| {
            if explorer.wants_survivors() {
                explorer.judge(&survivors(machine, machine.snapshot(true), STEPS)).unwrap();
            }
        });
    }
    assert_eq!(explorer.internal_errors(), [] as [String; 0], "{layout:?}, {fault:?}");
    explorer
}

fn rules(auditor: &Auditor) -> Vec<Rule> {
    let mut rules: Vec<Rule> = auditor.violations().iter().map(|violation| violation.rule).collect();
    rules.sort_by_key(|rule| format!("{rule:?}"));
    rules.dedup();
    rules
}

#[test]
fn correct_log_breaks_no_rule() {
    for layout in LAYOUTS {
        for counters in [EIGHT, CounterLayout::Split { coverage: Coverage::PAGE, minor_bits: 7 }] {
            for fault in [LogFault::None, LogFault::CountEarly] {
                let explorer = explore(layout, counters, fault);
                assert_eq!(explorer.auditor().violations(), [], "{layout:?}, {counters:?}, {fault:?}");
                assert!(explorer.auditor().events() > 200);
            }
        }
    }
}

#[test]
fn every_broken_log_is_caught() {
    let torn = [
        LogFault::HeaderBeforeLines,
        LogFault::DataBeforeHeader,
        LogFault::CountBeforeHeader,
        LogFault::FreedEarly,
        LogFault::SequenceBackwards,
        LogFault::RegistersVolatile,
    ];
    for layout in LAYOUTS {
        for fault in torn {
            let rules = rules(explore(layout, EIGHT, fault).auditor());
            assert!(rules.contains(&Rule::Atomicity), "{layout:?}, {fault:?}: {rules:?}");
            assert!(!rules.contains(&Rule::PadReuse) && !rules.contains(&Rule::Plaintext), "{fault:?}: {rules:?}");
        }
    }
}

#[test]
fn log_counters_that_are_lost_leave_headers_unreadable_and_pads_to_repeat() {
    let own_counters = CounterLayout::Split { coverage: Coverage::PAGE, minor_bits: 7 };
    let explorer = explore(LogLayout::Records, own_counters, LogFault::CountersLost);
    let rules = rules(explorer.auditor());
    assert!(rules.contains(&Rule::Atomicity) && rules.contains(&Rule::PadReuse), "{rules:?}");
    let torn = explorer.auditor().violations().iter().find(|violation| violation.rule == Rule::Atomicity).unwrap();
    let told = &torn.explanation;
    assert!(told.contains("put back 0 lines from the hardware's log. One header"), "{told}");
    assert!(told.contains("in transaction 0 of core 0, which hardware logs"), "{told}");
    assert_eq!(torn.stage, Some("mutate"));
}

#[test]
fn initial_vectors_that_a_bucket_keeps_repeat_pads() {
    let explorer = explore(LogLayout::Chains, EIGHT, LogFault::VectorsKept);
    assert_eq!(rules(explorer.auditor()), [Rule::PadReuse]);
    let line = explorer.auditor().violations()[0].line.unwrap();
    assert!(region(LogLayout::Chains).contains(line), "{line:?}");
}

#[test]
fn log_that_is_freed_early_is_told_as_such() {
    let explorer = explore(LogLayout::Records, EIGHT, LogFault::FreedEarly);
    let torn = explorer.auditor().violations().iter().find(|violation| violation.rule == Rule::Atomicity).unwrap();
    assert_eq!(torn.stage, Some("commit"));
    assert!(torn.explanation.contains("the hardware's log of core 0 was freed"), "{}", torn.explanation);
    assert!(torn.explanation.contains("put back 0 lines from the hardware's log."), "{}", torn.explanation);
}

#[test]
fn plaintext_in_the_log_is_a_leak_and_metadata_are_none() {
    let machine = log_machine(LogLayout::Chains, EIGHT, true);
    let mut auditor = machine.audited(false, true, None);
    let region = region(LogLayout::Chains);
    let metadata = BucketMetadata { valid_headers: 1, header_iv: [1; 16], log_iv: [2; 16] }.encode();
    for bytes in [metadata, [0; 64], metadata] {
        let place = region.metadata(2);
        auditor.write_arrived(0, place, &bytes);
        auditor.persisted(0, MediaLine::data(place), &bytes);
        auditor.bus_write(0, MediaLine::data(place), &bytes);
        auditor.event_over(0);
    }
    assert_eq!(auditor.violation_count(), 0);
    for place in [region.header(2, 0), region.entry(2, 0, 0, 0)] {
        auditor.write_arrived(0, place, &[5; 64]);
        auditor.persisted(0, MediaLine::data(place), &[5; 64]);
        auditor.event_over(0);
        assert_eq!(
            auditor.violations().last().map(|found| (found.rule, found.line)),
            Some((Rule::Plaintext, Some(place)))
        );
    }
}

#[test]
fn registers_belong_to_the_durable_state_if_they_survive() {
    for survive in [true, false] {
        let machine = log_machine(LogLayout::Records, EIGHT, survive);
        let mut auditor = machine.audited(false, true, None);
        let mut hashes = vec![auditor.state_hash()];
        for (bucket, records) in [(1, 1), (1, 2), (2, 1)] {
            auditor.log_extended(0, 0, bucket, records);
            let hash = auditor.state_hash();
            assert_eq!(hashes.contains(&hash), !survive);
            hashes.push(hash);
        }
        auditor.log_freed(0, 0);
        assert_eq!(auditor.state_hash(), hashes[0]);
    }
}

proptest! {
    /// The auditors decrypt what the mechanism encrypts, from the initial vector alone, and the mechanism decrypts what
    /// is encrypted with single blocks.
    #[test]
    fn chains_read_the_same_by_mechanism_and_auditors(
        iv: CipherBlock, lines in prop::collection::vec(any::<[[u8; 32]; 2]>(), 1..20)
    ) {
        let mut key = [0; 32];
        key[..16].copy_from_slice(&LOG_KEY);
        let (mechanism, aes) = (FeedbackCipher::new(&key, 128).unwrap(), Aes::new(&LOG_KEY));
        let [mut by_mechanism, mut by_auditors, mut by_hand, mut back] = [iv; 4];
        for line in lines {
            let plain: LineBytes = line.concat().try_into().unwrap();
            let ciphertext = mechanism.encrypt(&by_mechanism, &plain);
            by_mechanism.copy_from_slice(&ciphertext[48..]);
            prop_assert_eq!(feed_back(&aes, &mut by_auditors, &ciphertext), plain);
            let ciphertext = cfb_encrypt(&mut by_hand, &plain);
            prop_assert_eq!(mechanism.decrypt(&back, &ciphertext), plain);
            back.copy_from_slice(&ciphertext[48..]);
        }
    }
}

/// One change of the log, at few places, so that right and wrong changes are combined.
#[derive(Clone, Debug)]
enum Change {
    Header { bucket: u32, record: u32, lines: Vec<usize>, count: u32, sequence: u32 },
    Entry { bucket: u32, place: u32, value: u8 },
    Metadata { bucket: u32, valid: u32, iv: u8 },
    Data { line: usize, value: u8 },
    Extended { core: u16, bucket: u32, records: u32 },
    Freed { core: u16 },
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => (0u32..2, 0u32..2, prop::collection::vec(0usize..9, 7), 0u32..9, 0u32..3)
            .prop_map(|(bucket, record, lines, count, sequence)| {
                Change::Header { bucket, record, lines, count, sequence }
            }),
        4 => (0u32..2, 0u32..14, 1u8..9).prop_map(|(bucket, place, value)| Change::Entry { bucket, place, value }),
        3 => (0u32..2, 0u32..4, 0u8..2).prop_map(|(bucket, valid, iv)| Change::Metadata { bucket, valid, iv }),
        2 => (0usize..9, 1u8..9).prop_map(|(line, value)| Change::Data { line, value }),
        3 => (0u16..2, 0u32..2, 0u32..4).prop_map(|(core, bucket, records)| Change::Extended { core, bucket, records }),
        1 => (0u16..2).prop_map(|core| Change::Freed { core }),
    ]
}

/// Both cores may have the same bucket, headers may have any contents, and chains may be broken in the middle.
fn follow(layout: LogLayout, changes: Vec<(Change, bool)>) -> Result<(), TestCaseError> {
    let mut machine = log_machine(layout, EIGHT, true);
    let mut auditor = machine.audited_of_cores(2);
    let region = region(layout);
    let after = &mut |_: &super::fixture::Machine, _: &mut Auditor| ();
    for (change, with_counter) in changes {
        let mut log_line = |place: Line, before: Option<Line>, iv: CipherBlock, bytes: LineBytes, o: &mut Auditor| {
            use super::fixture::WriteStyle;
            if layout == LogLayout::Records {
                machine.cache(place, &bytes);
                let style = if with_counter { WriteStyle::Pair } else { WriteStyle::CounterKept };
                machine.write(place, style, o, after);
            } else {
                let mut recent = iv;
                if let Some(before) = before {
                    recent.copy_from_slice(&machine.stored_bytes(before)[48..]);
                }
                let bytes = cfb_encrypt(&mut recent, &bytes);
                machine.persist(MediaLine::data(place), bytes, o);
            }
        };
        let o = &mut auditor;
        match change {
            Change::Header { bucket, record, lines, count, sequence } => {
                let mut header = LogHeader { count: count.min(7), sequence, ..LogHeader::default() };
                for (place, line) in header.lines.iter_mut().zip(lines) {
                    *place = LINES[line];
                }
                let mut bytes = header.encode();
                bytes[56] = count as u8;
                let before = (record > 0).then(|| region.header(bucket, record - 1));
                log_line(region.header(bucket, record), before, [1; 16], bytes, o);
            }
            Change::Entry { bucket, place, value } => {
                let entry = |place: u32| region.entry(bucket, place / 7, place % 7, place);
                log_line(entry(place), (place > 0).then(|| entry(place - 1)), [2; 16], [value; 64], o);
            }
            Change::Metadata { bucket, valid, iv } if layout == LogLayout::Chains => {
                let metadata = BucketMetadata { valid_headers: valid, header_iv: [1; 16], log_iv: [2 + iv; 16] };
                machine.persist(MediaLine::data(region.metadata(bucket)), metadata.encode(), o);
            }
            Change::Metadata { .. } => {}
            Change::Data { line, value } => {
                machine.cache(LINES[line], &[value; 64]);
                machine.write(LINES[line], super::fixture::WriteStyle::Pair, o, after);
            }
            Change::Extended { core, bucket, records } => machine.extend_log(core, bucket, records, o),
            Change::Freed { core } => machine.free_log(core, o),
        }
        auditor.judge();
        let snapshot = machine.snapshot(true);
        let codec: &dyn LineCodec = &machine.codec;
        let mut boot = Boot::new(&machine, &snapshot, Some(codec), STEPS, crate::message::NoObserver);
        boot.finish();
        for (line, bytes) in auditor.booted_view() {
            prop_assert_eq!(boot.line(line), *bytes, "{:?}", line);
        }
        for line in LINES {
            if auditor.lines.find(line).is_none() {
                prop_assert_eq!(boot.line(line), machine.cached(line), "the auditors know nothing of {:?}", line);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn random_logs_are_undone_alike_by_boot_and_auditors(
        changes in prop::collection::vec((change(), any::<bool>()), 1..60)
    ) {
        for layout in LAYOUTS {
            follow(layout, changes.clone())?;
        }
    }
}

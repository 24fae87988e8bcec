//! Power fails between two operations. Recovery must restore exactly the bytes before or after the transaction in
//! flight, even if power fails again during recovery; and a program that leaves out a fence or an annotation is
//! detected.

use super::device::{Device, Flaky, line_of};
use super::{STYLES, config, start, styled};
use crate::kernel::Random;
use crate::message::{
    Annotation, ByteView, Omission, Op, OpBuffer, OpSource, ProgramForm, ProgramRecovery, ProtocolStep,
};
use crate::workload::{Plan, Recovery, WORKLOADS, WorkloadConfig, WorkloadKind};

/// How often each outcome occurred.
#[derive(Default, Debug)]
pub(super) struct Tally {
    pub before: u64,
    pub after: u64,
    pub undone: u64,
    pub abandoned: u64,
    pub laps: u64,
}

/// Crashes a program at about every `sparseness`-th store, and more often where a stage ends. The error says what went
/// wrong.
pub(super) fn explore(config: &WorkloadConfig, sparseness: u64) -> Result<Tally, String> {
    explore_broken(config, sparseness, |_| {})
}

/// Crashes a program like `explore` in which something is broken in every transaction.
pub(super) fn explore_broken(
    config: &WorkloadConfig,
    sparseness: u64,
    break_transaction: impl Fn(&mut Vec<Op>),
) -> Result<Tally, String> {
    let (plan, base, mut program) = start(config);
    let recovery = Recovery::new(&plan);
    let mut random = Random::stream(config.seed, "crash");
    let mut device = Device::new(config.form, &base.bytes());
    let mut tally = Tally::default();
    let mut before = base.bytes();
    let mut after = before.clone();
    let mut buffer = OpBuffer::default();
    let mut last_entry = 0;
    while program.next_transaction(&mut buffer) {
        program.memory().read(0, &mut after);
        let log = &plan.layouts()[0].log;
        let entry = buffer.ops.iter().find_map(|op| match *op {
            Op::Store { address, .. } | Op::CounterAtomicStore { address, .. } if log.contains(&address) => {
                Some(address)
            }
            _ => None,
        });
        tally.laps += u64::from(entry.is_some_and(|entry| entry < last_entry));
        last_entry = entry.unwrap_or(0);
        break_transaction(&mut buffer.ops);
        for &op in &buffer.ops {
            device.apply(op, &buffer);
            let committed = matches!(op, Op::LoggedTxEnd | Op::TxEnd);
            let sparseness = match op {
                Op::Store { .. } | Op::CounterAtomicStore { .. } => sparseness,
                Op::Sfence | Op::LoggedTxEnd | Op::TxEnd => sparseness.min(4),
                // Operations that write nothing create no new states to crash in.
                _ => continue,
            };
            if random.below(sparseness) == 0 {
                let image = device.crash(&mut random);
                let legal = Legal { before: &before, after: &after, committed };
                judge(&plan, &recovery, image, &legal, &mut random, &mut tally)?;
            }
        }
        std::mem::swap(&mut before, &mut after);
        buffer.clear();
    }
    Ok(tally)
}

/// What recovery may leave: memory before the transaction, unless that is committed, or after it.
struct Legal<'a> {
    before: &'a [u8],
    after: &'a [u8],
    committed: bool,
}

fn judge(
    plan: &Plan,
    recovery: &Recovery,
    mut image: Flaky,
    legal: &Legal<'_>,
    random: &mut Random,
    tally: &mut Tally,
) -> Result<(), String> {
    let Legal { before, after, committed } = *legal;
    let mut again = image.clone();
    let report = recovery.recover(0, &mut image);
    recovery.check(0, &mut image)?;
    tally.undone += u64::from(report.undone);
    tally.abandoned += u64::from(report.abandoned);

    // Power fails a second and a third time, during recovery.
    for _ in 0..2 {
        again.writes_left = random.below(report.bytes_restored / 8 + 2);
        recovery.recover(0, &mut again);
    }
    again.writes_left = u64::MAX;
    recovery.recover(0, &mut again);
    let heap = plan.layouts()[0].heap.start as usize..;
    if again.bytes[heap.clone()] != image.bytes[heap.clone()] {
        return Err("a crash during recovery changed its outcome".to_owned());
    }

    if plan.layouts()[0].log.is_empty() && plan.config().form != ProgramForm::HardwareLogged {
        // Without a log, the new node may be partly there while nothing points to it: only the head counts.
        let head = |bytes: &[u8]| line_of(bytes, heap.start as u64);
        let found = head(&image.bytes);
        tally.before += u64::from(found == head(before));
        tally.after += u64::from(found == head(after));
        let whole = if committed { found == head(after) } else { found == head(before) || found == head(after) };
        return if whole { Ok(()) } else { Err("the head is neither the old nor the new one".to_owned()) };
    }
    if image.bytes[heap.clone()] == after[heap.clone()] {
        tally.after += 1;
    } else if image.bytes[heap.clone()] == before[heap] {
        tally.before += 1;
        if committed {
            return Err("a committed transaction is lost".to_owned());
        }
    } else {
        return Err("recovery gave neither the state before nor the state after".to_owned());
    }
    Ok(())
}

#[test]
fn recovery_gives_the_state_before_or_after_wherever_power_fails() {
    for workload in WORKLOADS {
        for (tx_size, copy_bytes, operations, sparseness) in
            [(64, 8, 400, 8), (64, 16, 400, 8), (256, 32, 120, 16), (1024, 64, 40, 16), (4096, 16, 12, 80)]
        {
            let mut config = config(workload.kind, tx_size, tx_size + 7, operations);
            config.program.log_ring.0 = 0;
            config.program.copy_bytes = copy_bytes;
            for style in STYLES {
                let tally = explore(&styled(&config, style), sparseness)
                    .unwrap_or_else(|error| panic!("{} of {tx_size} bytes, {style:?}: {error}", workload.name));
                assert!(tally.before > 0 && tally.after > 0, "{} {style:?} {tally:?}", workload.name);
                if workload.has_log && tx_size == 64 && style.0 != ProgramForm::HardwareLogged {
                    let exercised = tally.undone > 10 && tally.abandoned > 10 && tally.laps > 2;
                    assert!(exercised, "{} {style:?} {tally:?}", workload.name);
                }
            }
        }
    }
}

#[test]
fn protocol_without_any_one_of_its_fences_is_caught() {
    for workload in WORKLOADS {
        for fence in 0..if workload.has_log { 3 } else { 2 } {
            let mut config = config(workload.kind, 256, 3, 400);
            config.program.log_ring.0 = 0;
            let with_fences = |form| !matches!(form, ProgramForm::HardwareLogged | ProgramForm::FlushFree);
            for style in STYLES.into_iter().filter(|style| with_fences(style.0)) {
                let outcome = explore_broken(&styled(&config, style), 2, |ops| {
                    let mut fences = 0..;
                    ops.retain(|op| *op != Op::Sfence || fences.next() != Some(fence));
                });
                assert!(outcome.is_err(), "{} {style:?} without fence {fence}: {outcome:?}", workload.name);
            }
        }
    }
}

/// The result for `kind` if it leaves `annotation` out, which is `needed` or not.
fn without(kind: WorkloadKind, annotation: Annotation, needed: bool) -> Result<Tally, String> {
    let mut config = config(kind, 256, 3, if needed { 400 } else { 60 });
    config.program.log_ring.0 = 0;
    config.form = annotation.form();
    config.leave_out = Some(Omission::Annotation(annotation));
    explore(&config, 2)
}

#[test]
fn program_without_a_counter_write_back_is_caught() {
    for workload in WORKLOADS {
        let prepare = without(workload.kind, Annotation::PrepareCounterCacheWriteback, true);
        assert!(prepare.is_err(), "{}: {prepare:?}", workload.name);
        // A list has no Mutate.
        let mutate = without(workload.kind, Annotation::MutateCounterCacheWriteback, workload.has_log);
        assert_eq!(mutate.is_err(), workload.has_log, "{}: {mutate:?}", workload.name);
    }
}

/// A list whose head may be garbage is lost. A log entry whose first line may be garbage is not: its counter can be
/// missing only from Commit on, when the data is durable, and garbage is not a valid entry.
#[test]
fn program_whose_committing_word_is_not_counter_atomic_is_caught_if_that_word_is_needed() {
    for workload in WORKLOADS {
        let commit = without(workload.kind, Annotation::CommitCounterAtomic, !workload.has_log);
        assert_eq!(commit.is_err(), !workload.has_log, "{}: {commit:?}", workload.name);
    }
}

#[test]
fn program_without_flush_data_is_caught() {
    for workload in WORKLOADS {
        let outcome = without(workload.kind, Annotation::FlushData, true);
        assert!(outcome.is_err(), "{}: {outcome:?}", workload.name);
    }
}

#[test]
fn program_without_a_step_of_its_protocol_is_caught() {
    let forms = [ProgramForm::Plain, ProgramForm::Annotated, ProgramForm::FlushFree];
    for workload in WORKLOADS {
        for step in ProtocolStep::ALL.into_iter().filter(|step| workload.has_log || !step.needs_log()) {
            for form in forms.into_iter().filter(|form| step.is_in(*form)) {
                // If a store is durable when it is visible, and stores become visible in program order, no fence is
                // needed.
                let needed = form != ProgramForm::FlushFree || step == ProtocolStep::LogEndTag;
                let mut config = config(workload.kind, 256, 3, if needed { 400 } else { 40 });
                config.program.log_ring.0 = 0;
                (config.form, config.leave_out) = (form, Some(Omission::Step(step)));
                let outcome = explore(&config, 2);
                assert_eq!(
                    outcome.is_err(),
                    needed,
                    "{} in form {form:?} without {step:?}: {outcome:?}",
                    workload.name
                );
            }
        }
    }
}

#[test]
fn node_whose_split_is_in_flight_is_recovered() {
    // Small footprint, many inserts: leaves and inner nodes split and the root grows several times.
    for (kind, operations, sparseness) in [(WorkloadKind::BTree, 2_000, 120), (WorkloadKind::BPlusTree, 700, 900)] {
        let mut config = config(kind, 64, 11, operations);
        config.footprint = 4096;
        for style in STYLES {
            let tally = explore(&styled(&config, style), sparseness).unwrap();
            assert!(tally.before > 0 && tally.after > 0);
        }
    }
}

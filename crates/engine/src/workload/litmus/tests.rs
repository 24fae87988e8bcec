//! The text of litmus programs.

use super::{CORES_MAX, Evicting, Litmus, PLACES, Step, StepKind};
use crate::config::preset;
use crate::message::{Op, OpBuffer, OpSource, ProgramForm};
use proptest::prelude::*;
use strum::VariantArray;

fn step() -> impl Strategy<Value = Step> {
    let kind = prop::sample::select(StepKind::VARIANTS);
    (kind, 0..PLACES.len() as u8).prop_map(|(kind, line)| Step { kind, line: if kind.has_line() { line } else { 0 } })
}

proptest! {
    #[test]
    fn program_is_read_as_it_is_written(cores in prop::collection::vec(prop::collection::vec(step(), 1..20), 1..=CORES_MAX)) {
        let mut program = Litmus { cores };
        if program.cores.len() > 1 {
            // Only programs of one core fill pages.
            program.cores.iter_mut().flatten().filter(|step| step.kind == StepKind::ZeroPage).for_each(|step| step.kind = StepKind::NtStore);
        }
        prop_assert_eq!(Litmus::parse(&program.to_string()).unwrap(), Some(program.clone()));
        let lines = program.to_string().replace("; ", "\n");
        prop_assert_eq!(Litmus::parse(&lines).unwrap(), Some(program));
    }
}

#[test]
fn each_store_of_each_core_has_a_value_of_its_own() {
    let program = Litmus::parse("store A; store A || store A || sfence; store-line B").unwrap().unwrap();
    assert_eq!((program.cores.len(), program.operations()), (3, 5));
    let mut stored = Vec::new();
    for mut source in program.sources(ProgramForm::Plain, &Evicting::of(&preset("small").unwrap())) {
        let mut buffer = OpBuffer::default();
        assert!(source.next_transaction(&mut buffer));
        stored.extend(buffer.bytes.chunks(8).map(<[u8]>::to_vec));
    }
    let different: std::collections::BTreeSet<_> = stored.iter().collect();
    assert_eq!((stored.len(), different.len()), (3 + 8, 3 + 8));
    for (text, told) in [
        ("store A ||", "core 1 has no operation"),
        ("store A || || store B", "core 1 has no operation"),
        (&["store A"; 9].join(" || "), "it has 9 cores, and at most 8"),
    ] {
        assert!(Litmus::parse(text).unwrap_err().0.contains(told), "{text}");
    }
}

#[test]
fn names_of_workloads_and_files_are_no_programs() {
    for text in ["queue", "", " ", "storeA", "./store A", "trace.cptrace", "Store A"] {
        assert_eq!(Litmus::parse(text).unwrap(), None, "{text}");
    }
}

/// The operations of a program, without what an eviction takes.
fn operations(text: &str, form: ProgramForm) -> Vec<Op> {
    let evicting = Evicting::of(&preset("small").unwrap());
    let mut sources = Litmus::parse(text).unwrap().unwrap().sources(form, &evicting);
    let (mut buffer, mut all) = (OpBuffer::default(), Vec::new());
    let source = &mut sources[0];
    while source.next_transaction(&mut buffer) {
        all.append(&mut buffer.ops);
        buffer.clear();
    }
    all
}

#[test]
fn each_form_has_what_stands_for_an_operation_of_another() {
    let text = "tx-begin; counter-atomic-store A; flush-data A; counter-writeback A; tx-end; clwb B";
    let [store, atomic] = [0, 1].map(|atomic| match atomic {
        0 => Op::Store { address: 8, length: 8, bytes: 0 },
        _ => Op::CounterAtomicStore { address: 8, length: 8, bytes: 0 },
    });
    let [a, b] = [0, 64].map(|address| Op::Clwb { address });
    let writeback = Op::CounterCacheWriteback { address: 0 };
    assert_eq!(operations(text, ProgramForm::Plain), [store, a, Op::Sfence, b]);
    assert_eq!(operations(text, ProgramForm::FlushFree), [store, Op::Sfence]);
    assert_eq!(operations(text, ProgramForm::Annotated), [atomic, a, writeback, Op::Sfence, b]);
    let logged = [Op::TxBegin, Op::LoggedTxBegin, store, Op::FlushData { address: 0 }, Op::LoggedTxEnd, Op::TxEnd, b];
    assert_eq!(operations(text, ProgramForm::HardwareLogged), logged);
}

#[test]
fn what_stands_in_for_an_operation_is_what_a_program_of_the_form_does() {
    use super::StandIn;
    for form in ProgramForm::VARIANTS {
        for kind in StepKind::VARIANTS.iter().filter(|kind| !kind.is_in(*form)) {
            let alone = |kind: StepKind| operations(&Step { kind, line: 0 }.to_string(), *form);
            match kind.stand_in(*form) {
                Some(StandIn::Nothing) => assert_eq!(alone(*kind), [], "{kind:?} {form:?}"),
                Some(StandIn::Step(other)) => {
                    assert!(other.is_in(*form) || *form == ProgramForm::HardwareLogged, "{kind:?} {form:?}");
                    assert_eq!(alone(*kind), alone(other), "{kind:?} {form:?}");
                }
                None => assert!(!alone(*kind).is_empty(), "{kind:?} {form:?}"),
            }
        }
    }
}

#[test]
fn versions_of_a_line_are_what_the_operations_store() {
    let program = Litmus::parse("store A; nt-store B; store A; store-line A; counter-atomic-store A").unwrap().unwrap();
    let numbers = |place: u8| program.versions(place).iter().map(|(number, _)| *number).collect::<Vec<_>>();
    assert_eq!((numbers(0), numbers(1), numbers(2)), (vec![0, 1, 3, 4, 5], vec![0, 2], vec![0]));
    // What the operations of a core store, applied in their order, ends in the last version.
    let mut sources = program.sources(ProgramForm::Annotated, &Evicting::of(&preset("small").unwrap()));
    let mut buffer = OpBuffer::default();
    assert!(sources[0].next_transaction(&mut buffer));
    let mut line = program.versions(0)[0].1;
    for op in &buffer.ops {
        if let Op::Store { address, length, bytes } | Op::CounterAtomicStore { address, length, bytes } = *op
            && address < 64
        {
            let (at, from, length) = (address as usize, bytes as usize, length as usize);
            line[at..at + length].copy_from_slice(&buffer.bytes[from..from + length]);
        }
    }
    assert_eq!(line, program.versions(0).last().unwrap().1);
    let contents: std::collections::BTreeSet<_> = program.versions(0).into_iter().map(|(_, line)| line).collect();
    assert_eq!(contents.len(), 5);
}

//! The text of litmus programs.

use super::{Evicting, Litmus, PLACES, Step, StepKind};
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
    fn program_is_read_as_it_is_written(steps in prop::collection::vec(step(), 1..20)) {
        let program = Litmus { steps };
        prop_assert_eq!(Litmus::parse(&program.to_string()).unwrap(), Some(program.clone()));
        let lines = program.to_string().replace("; ", "\n");
        prop_assert_eq!(Litmus::parse(&lines).unwrap(), Some(program));
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
    let mut source = Litmus::parse(text).unwrap().unwrap().source(form, &evicting);
    let (mut buffer, mut all) = (OpBuffer::default(), Vec::new());
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

//! Random transactions that hardware logs, through every stage of a machine: they end, a line is logged before the
//! first store to it, and the log is freed before the transaction has ended.

use super::common::run_programs;
use counterpoint_engine::config::{self, Variant};
use counterpoint_engine::message::{CoreId, Line, Observer, Op, OpBuffer, OpSource};
use proptest::prelude::*;
use std::collections::HashSet;

/// Lines that each core uses, its own or shared with all others; more than the small machine's caches hold.
const LINES: u64 = 40;

/// A program: for each transaction the lines that it stores to, in order, each after a load of another line.
#[derive(Clone, Debug)]
struct Program {
    first: u64,
    transactions: Vec<Vec<(u64, u64)>>,
}

/// The program's memory: its stores, on top of sevens.
struct Running {
    program: Program,
    next: usize,
    memory: Vec<u8>,
}

impl OpSource for Running {
    fn next_transaction(&mut self, buffer: &mut OpBuffer) -> bool {
        let Some(stores) = self.program.transactions.get(self.next) else { return false };
        self.next += 1;
        let address = |line: u64| (self.program.first + line) * 64;
        buffer.ops.extend([Op::TxBegin, Op::LoggedTxBegin, Op::Compute { instructions: 20 }]);
        for &(loaded, stored) in stores {
            buffer.load(address(loaded), &[self.memory[loaded as usize]; 8], 8, false);
            self.memory[stored as usize] = self.memory[stored as usize].wrapping_add(1);
            buffer.store(address(stored), &[self.memory[stored as usize]; 8], 8);
        }
        let mut lines: Vec<u64> = stores.iter().map(|&(_, stored)| stored).collect();
        lines.sort_unstable();
        lines.dedup();
        buffer.ops.extend(lines.into_iter().map(|line| Op::FlushData { address: address(line) }));
        buffer.ops.extend([Op::LoggedTxEnd, Op::TxEnd]);
        true
    }
}

/// For each core: what the open transaction has logged, and whether it holds a log.
struct Watch {
    logged: Vec<HashSet<Line>>,
    freed: u64,
}

impl Observer for Watch {
    fn logged(&mut self, _now: u64, core: CoreId, line: Line) {
        self.logged[usize::from(core)].insert(line);
    }
    fn stored(&mut self, _now: u64, core: CoreId, line: Line, _offset: usize, _data: &[u8]) {
        assert!(self.logged[usize::from(core)].contains(&line), "line {} is stored to and not logged", line.0);
    }
    fn log_freed(&mut self, _now: u64, core: CoreId) {
        self.logged[usize::from(core)].clear();
        self.freed += 1;
    }
    fn transaction_ended(&mut self, _now: u64, core: CoreId, _number: u64) {
        assert!(self.logged[usize::from(core)].is_empty(), "a transaction ended before its log was freed");
    }
}

fn run(name: &str, variant: Variant, machine: &str, programs: &[Program]) {
    let mut machine = config::preset(machine).unwrap();
    // Cores that share lines cannot predict their contents.
    machine.engine.check_loads = programs.iter().filter(|program| program.first == 0).count() == 1;
    let with_stores = |program: &Program| program.transactions.iter().filter(|stores| !stores.is_empty()).count();
    let expected: usize = programs.iter().map(with_stores).sum();
    let running = programs.iter().map(|program| {
        let memory = vec![7; LINES as usize];
        Box::new(Running { program: program.clone(), next: 0, memory }) as Box<dyn OpSource>
    });
    let watch = Watch { logged: vec![HashSet::new(); programs.len()], freed: 0 };
    let system = run_programs(machine, name, variant, running.collect(), watch);
    assert!(system.cache.idle(), "{name}: something is left in the caches' registers");
    assert_eq!(system.observer.freed, expected as u64);
}

fn programs(shared: bool) -> impl Strategy<Value = Vec<Program>> {
    let transaction = prop::collection::vec((0..LINES, 0..LINES), 0..60);
    let program = prop::collection::vec(transaction, 1..6);
    prop::collection::vec(program, 1..=4).prop_map(move |programs| {
        let programs = programs.into_iter().zip(0..);
        let first = |core| if shared { 0 } else { core * LINES };
        programs.map(|(transactions, core)| Program { first: first(core), transactions }).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn logged_transactions_end_in_order(programs in any::<bool>().prop_flat_map(programs), small: bool) {
        let machine = if small { "small" } else { "easy-pm" };
        for name in ["hw-log", "alc", "easy-pm"] {
            for variant in [Variant::Published, Variant::Hardened] {
                run(name, variant, machine, &programs);
            }
        }
    }
}

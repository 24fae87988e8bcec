//! Accesses of the first level in a transaction that hardware logs: counted once, and logged whatever their kind.

use super::common::run_programs;
use counterpoint_engine::System;
use counterpoint_engine::config::{self, Variant};
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::message::{CoreId, Line, Observer, Op, OpBuffer, OpSource};
use std::collections::HashSet;

struct Once(Option<Vec<Op>>);

impl OpSource for Once {
    fn next_transaction(&mut self, buffer: &mut OpBuffer) -> bool {
        let Some(ops) = self.0.take() else { return false };
        buffer.ops.extend(ops);
        buffer.bytes.resize(64, 9);
        true
    }
}

#[derive(Default)]
struct Watch {
    logged: HashSet<Line>,
    unlogged: Vec<Line>,
}

impl Observer for Watch {
    fn logged(&mut self, _now: Ps, _core: CoreId, line: Line) {
        self.logged.insert(line);
    }
    fn stored(&mut self, _now: Ps, _core: CoreId, line: Line, _offset: usize, _data: &[u8]) {
        if !self.logged.contains(&line) {
            self.unlogged.push(line);
        }
    }
}

fn run(ops: Vec<Op>) -> System<Watch> {
    let machine = config::preset("easy-pm").unwrap();
    run_programs(machine, "easy-pm", Variant::Hardened, vec![Box::new(Once(Some(ops)))], Watch::default())
}

fn stores(logged: bool, lines: u64) -> Vec<Op> {
    let mut ops = vec![Op::TxBegin];
    ops.extend((0..lines).map(|line| Op::Load { address: line * 64, length: 8, dependent: false, bytes: 0 }));
    ops.push(Op::Mfence);
    ops.extend(logged.then_some(Op::LoggedTxBegin));
    ops.extend((0..lines).map(|line| Op::Store { address: line * 64, length: 8, bytes: 0 }));
    ops.push(if logged { Op::LoggedTxEnd } else { Op::Sfence });
    ops.push(Op::TxEnd);
    ops
}

/// Logging must not change the number of accesses that the first level reports.
#[test]
fn store_that_waits_for_the_log_is_one_hit() {
    let [logged, plain] = [true, false].map(|logged| {
        let system = run(stores(logged, 20));
        let counts = system.cache.counts();
        (counts.l1.hits, counts.l1.misses)
    });
    assert_eq!(logged, plain, "hits and misses of the first level");
}

/// A full line that goes past the caches is modified data, too.
#[test]
fn non_temporal_store_in_a_transaction_is_logged() {
    let store = |n: u64| Op::NonTemporalStore { address: 640 + n * 16, length: 16, bytes: 0 };
    let system =
        run(vec![Op::TxBegin, Op::LoggedTxBegin, store(0), store(1), store(2), store(3), Op::LoggedTxEnd, Op::TxEnd]);
    assert_eq!(system.observer.unlogged, []);
}

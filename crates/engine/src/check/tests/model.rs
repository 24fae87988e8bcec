//! Random programs against a naive model: every store by itself, every rule by a look at the whole history.

use super::*;
use crate::check::program_state::ProgramState;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    Store { past_caches: bool },
    Clwb,
    Clflush,
    Sfence,
    Mfence,
}

/// An operation: of a thread, on a line.
type Operation = (Act, u64, u64);

#[derive(Clone, Debug)]
struct OneStore {
    at: usize,
    thread: u64,
    line: u64,
    past_caches: bool,
    late: bool,
    durable_at: Option<usize>,
}

#[derive(Default)]
struct Model {
    stores: Vec<OneStore>,
    /// Flushes that are under way: thread, line, and how many stores the line had had.
    open: Vec<(u64, u64, usize)>,
    worked: BTreeSet<u64>,
    /// For each line, whether its newest store or flush was a flush.
    flushed_last: BTreeMap<u64, bool>,
    found: Vec<(&'static str, usize)>,
}

impl Model {
    fn of_line(&self, line: u64) -> Vec<usize> {
        (0..self.stores.len()).filter(|&index| self.stores[index].line == line).collect()
    }

    /// The first `count` stores of a line become durable, as far as they are cached.
    fn settle(&mut self, line: u64, count: usize, now: usize) {
        for index in self.of_line(line).into_iter().take(count) {
            if !self.stores[index].past_caches {
                self.stores[index].durable_at.get_or_insert(now);
            }
        }
        self.open.retain(|&(_, of, seen)| of != line || seen > count);
    }

    fn flush(&mut self, now: usize, thread: u64, line: u64, at_once: bool) {
        self.worked.insert(thread);
        let all = self.of_line(line);
        let covered = self.open.iter().filter(|(by, of, _)| (*by, *of) == (thread, line)).map(|open| open.2).max();
        let useful = all.iter().enumerate().any(|(position, &index)| {
            let store = &self.stores[index];
            !store.past_caches && store.durable_at.is_none() && position >= covered.unwrap_or(0)
        });
        if !useful {
            let twice = self.flushed_last.get(&line) == Some(&true);
            self.found.push((if twice { "flushed-twice" } else { "clean-flush" }, now));
        }
        self.flushed_last.insert(line, true);
        if at_once {
            self.settle(line, all.len(), now);
            self.open.retain(|open| open.1 != line);
        } else {
            self.open.retain(|(by, of, _)| (*by, *of) != (thread, line));
            self.open.push((thread, line, all.len()));
        }
    }

    fn fence(&mut self, now: usize, thread: u64) {
        for (_, line, count) in self.open.clone().into_iter().filter(|open| open.0 == thread) {
            self.settle(line, count, now);
        }
        self.open.retain(|open| open.0 != thread);
        for store in self.stores.iter_mut().filter(|store| store.past_caches && store.thread == thread) {
            store.durable_at.get_or_insert(now);
        }
    }

    fn take(&mut self, now: usize, (act, thread, line): Operation) {
        match act {
            Act::Store { past_caches } => {
                let late = !past_caches && self.open.iter().any(|(by, of, _)| (*by, *of) == (thread, line));
                self.stores.push(OneStore { at: now, thread, line, past_caches, late, durable_at: None });
                self.flushed_last.insert(line, false);
                if past_caches {
                    self.worked.insert(thread);
                }
            }
            Act::Clwb => self.flush(now, thread, line, false),
            Act::Clflush => self.flush(now, thread, line, true),
            Act::Sfence | Act::Mfence => {
                if !self.worked.remove(&thread) && act == Act::Sfence {
                    self.found.push(("idle-fence", now));
                }
                self.fence(now, thread);
            }
        }
    }

    fn finish(&mut self) {
        for index in 0..self.stores.len() {
            let store = self.stores[index].clone();
            let position = self.of_line(store.line).iter().position(|&of| of == index).expect("it is there");
            let flushed = self.open.iter().any(|&(_, line, count)| line == store.line && count > position);
            let kind = match store {
                OneStore { durable_at: Some(_), .. } => continue,
                OneStore { past_caches: true, .. } => "non-temporal-not-fenced",
                _ if flushed => "never-fenced",
                OneStore { late: true, .. } => "stored-after-flush",
                _ => "never-flushed",
            };
            self.found.push((kind, store.at));
        }
    }
}

/// The findings of the model that are not about order: kind and number of the operation.
fn modelled(operations: &[Operation]) -> (Vec<OneStore>, Vec<(&'static str, usize)>) {
    let mut model = Model::default();
    for (now, operation) in operations.iter().enumerate() {
        model.take(now, *operation);
    }
    model.finish();
    (model.stores, model.found)
}

/// Stores whose flush was left to another thread and that a later store of their thread overtook, by the definition.
fn overtaken(operations: &[Operation], stores: &[OneStore]) -> BTreeSet<usize> {
    let happens = |from: usize, wanted: &dyn Fn(&Operation) -> bool| {
        (from + 1..operations.len()).filter(|&at| wanted(&operations[at])).collect::<Vec<usize>>()
    };
    let mut found = BTreeSet::new();
    for store in stores.iter().filter(|store| !store.past_caches) {
        let Some(durable_at) = store.durable_at else { continue };
        let own =
            |op: &Operation| matches!(op.0, Act::Clwb | Act::Clflush) && (op.1, op.2) == (store.thread, store.line);
        if !happens(store.at, &own).is_empty() {
            continue;
        }
        let others = |op: &Operation| op.0 == Act::Clwb && op.1 != store.thread && op.2 == store.line;
        let Some(&lent_at) = happens(store.at, &others).first() else { continue };
        let fence = |op: &Operation| matches!(op.0, Act::Sfence | Act::Mfence) && op.1 == store.thread;
        let Some(&relied_at) = happens(lent_at, &fence).first() else { continue };
        let overtakes = |later: &&OneStore| {
            let in_time = later.at > relied_at && later.durable_at.is_some_and(|at| at < durable_at);
            later.thread == store.thread && later.line != store.line && in_time
        };
        if durable_at > relied_at && stores.iter().any(|later| overtakes(&later)) {
            found.insert(store.at);
        }
    }
    found
}

/// The program; `place` gives each operation its source line.
fn program(operations: &[Operation], place: impl Fn(usize) -> u64) -> Program {
    operations.iter().enumerate().fold(Program::new(), |program, (now, &(act, thread, line))| {
        let (program, at) = (program.thread(thread), place(now));
        match act {
            Act::Store { past_caches: false } => program.store(at, line, now as u64 % 8),
            Act::Store { past_caches: true } => program.past_caches(at, line, now as u64 % 8),
            Act::Clwb => program.clwb(at, line),
            Act::Clflush => program.clflush(at, line),
            Act::Sfence => program.sfence(at),
            Act::Mfence => program.mfence(at),
        }
    })
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => Just(Act::Store { past_caches: false }),
        1 => Just(Act::Store { past_caches: true }),
        6 => Just(Act::Clwb),
        1 => Just(Act::Clflush),
        4 => Just(Act::Sfence),
        1 => Just(Act::Mfence),
    ]
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    (1u64..4, 1u64..5).prop_flat_map(|(threads, lines)| prop::collection::vec((act(), 0..threads, 0..lines), 0..120))
}

proptest! {
    /// Every operation has a source line of its own.
    #[test]
    fn as_the_model_finds_operation_by_operation(operations in operations()) {
        let (stores, mut expected) = modelled(&operations);
        expected.extend(overtaken(&operations, &stores).into_iter().map(|at| ("not-ordered", at)));
        expected.sort_unstable();
        let found = program(&operations, |now| now as u64 + 1).found();
        let mut found: Vec<(&str, usize)> = found.into_iter().map(|(kind, at, _)| (kind, at as usize - 1)).collect();
        found.sort_unstable();
        found.dedup();
        prop_assert_eq!(found, expected);
    }

    /// Operations share source lines, so that stores are kept in groups.
    #[test]
    fn as_the_model_counts_by_source_line(operations in operations(), places in 1u64..4) {
        let place = |now: usize| 1 + now as u64 % places;
        let (_, found) = modelled(&operations);
        let mut expected: BTreeMap<(&str, u64), u64> = BTreeMap::new();
        for (kind, at) in found {
            *expected.entry((kind, place(at))).or_default() += 1;
        }
        let found = program(&operations, place).found().into_iter().filter(|(kind, ..)| *kind != "not-ordered");
        let found: BTreeMap<(&str, u64), u64> = found.map(|(kind, at, count)| ((kind, at), count)).collect();
        prop_assert_eq!(found, expected);
    }
}

/// A line that is stored to and flushed without a fence, for long, takes no more memory and gives the exact count.
#[test]
fn long_programs_without_a_fence_are_counted_exactly() {
    let mut program = Program::new();
    for _ in 0..20_000 {
        program = program.store(1, 0, 0).clwb(2, 0);
    }
    let mut state = ProgramState::new(None, false);
    let mut most = 0;
    steps(program.clone(), &mut |step| {
        state.take(step);
        most = state.lines.values().map(|pending| pending.stores.len()).fold(most, usize::max);
    });
    // The first store, those after a flush, and the newest, which no flush covers.
    assert_eq!(most, 3, "groups of stores");
    assert_eq!(program.found(), [("never-fenced", 1, 20_000)]);
}

//! For tests: the hardware as a small machine with explicit states, whose interleavings are all walked. It knows the
//! parts of a design, but none of the rules by which legal states are derived elsewhere.
//!
//! A dirty line may start its write-back after any store, is incremented when a circuit is free, and is admitted later.
//! One write of a line is in flight at a time, and another may wait. A dirty counter block may be evicted at any time.
//! A flush requires that its content is acknowledged before the next fence completes.

use crate::parts::{Admit, AppendOrder, CounterStore, CounterUpdate, Design, Encryption, WritebackOrder};
use rustc_hash::FxHashSet;

/// Lines of a program.
pub(super) const LINES: usize = 3;

/// What a program does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Op {
    Store(usize),
    Flush(usize),
    CounterCacheWriteback(usize),
    Mark(usize),
    Fence,
}

/// How the counter in the durable block relates to the data on the media.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Provenance {
    Own,
    OfLater,
    OfEarlier,
    FromBefore,
}

/// For each line: the last of its stores that the data on the media contains, and the counter. With `Provenance::Own`, a
/// line reads as it was stored.
pub(super) type Durable = [(u8, Provenance); LINES];

/// All durable states that are reached between two fences.
pub(super) type SeenStates = FxHashSet<Durable>;

/// The explicit machine.
pub(super) struct Reference {
    encryption: Option<Encryption>,
    units: usize,
    /// For each line: the first line that shares its counter block.
    block: [usize; LINES],
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Stage {
    Encrypting,
    /// Its counter has been admitted alone.
    CounterAdmitted,
    /// Its data is queued with its ready bit clear.
    Unready,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Content {
    stores: u8,
    atomic: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Write {
    content: Content,
    stage: Stage,
    counter: u8,
    /// The counter block after the increment.
    block: [u8; LINES],
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
struct State {
    at: u8,
    epoch: u8,
    stores: [u8; LINES],
    marked: [bool; LINES],
    /// What flushes require, and what has been acknowledged.
    flushed: [u8; LINES],
    acknowledged: [u8; LINES],
    left_caches: [u8; LINES],
    waiting: [Option<Content>; LINES],
    active: [Option<Write>; LINES],
    /// Lines whose blocks must be appended, in the order of their increments; 0 after the last, line `n` as `n + 1`.
    order: [u8; LINES],
    cached: [u8; LINES],
    dirty: [bool; LINES],
    /// For each block: what must be acknowledged before its `counter_cache_writeback` looks.
    writeback: [Option<[u8; LINES]>; LINES],
    data: [u8; LINES],
    data_counter: [u8; LINES],
    counters: [u8; LINES],
}

impl Reference {
    pub fn of(design: &Design, units: usize, block: [usize; LINES]) -> Self {
        let encryption = design.encryption.filter(|encryption| encryption.store == CounterStore::Region);
        Self { encryption, units, block }
    }

    /// What may be durable, by epoch.
    pub fn walk(&self, program: &[Op]) -> Vec<SeenStates> {
        let fences = program.iter().filter(|op| **op == Op::Fence).count();
        let mut left = vec![SeenStates::default(); fences];
        let mut seen: FxHashSet<State> = FxHashSet::default();
        let mut todo = vec![State::default()];
        seen.insert(State::default());
        while let Some(state) = todo.pop() {
            if let Some(left) = left.get_mut(usize::from(state.epoch)) {
                left.insert(durable(&state));
            } else {
                continue;
            }
            let mut reach = |next: State| {
                if seen.insert(next) {
                    todo.push(next);
                }
            };
            if let Some(&op) = program.get(usize::from(state.at)) {
                self.program(&state, op, &mut reach);
            }
            for line in 0..LINES {
                self.leave_caches(&state, line, &mut reach);
                match self.encryption {
                    None => self.arrive(&state, line, &mut reach),
                    Some(encryption) => {
                        self.increment(&state, line, &encryption, &mut reach);
                        self.admit(&state, line, &encryption, &mut reach);
                        self.leave_counter_cache(&state, line, &encryption, &mut reach);
                    }
                }
            }
        }
        left
    }

    fn program(&self, state: &State, op: Op, reach: &mut impl FnMut(State)) {
        let mut next = *state;
        next.at += 1;
        match op {
            Op::Store(line) => next.stores[line] += 1,
            Op::Flush(line) => next.flushed[line] = state.stores[line],
            Op::Mark(line) => next.marked[line] = true,
            Op::CounterCacheWriteback(_) if self.encryption.is_none() => {}
            Op::CounterCacheWriteback(line) => next.writeback[self.block[line]] = Some(state.flushed),
            Op::Fence => {
                let acknowledged = (0..LINES).all(|line| state.flushed[line] <= state.acknowledged[line]);
                if !acknowledged || state.writeback.iter().any(Option::is_some) {
                    return;
                }
                next.epoch += 1;
            }
        }
        reach(next);
    }

    fn leave_caches(&self, state: &State, line: usize, reach: &mut impl FnMut(State)) {
        if state.stores[line] > state.left_caches[line] && state.waiting[line].is_none() {
            let mut next = *state;
            next.left_caches[line] = state.stores[line];
            next.waiting[line] = Some(Content { stores: state.stores[line], atomic: state.marked[line] });
            reach(next);
        }
    }

    /// Admission to a queue for lines alone.
    fn arrive(&self, state: &State, line: usize, reach: &mut impl FnMut(State)) {
        if let Some(content) = state.waiting[line] {
            let mut next = *state;
            next.waiting[line] = None;
            next.data[line] = content.stores;
            next.acknowledged[line] = content.stores;
            reach(next);
        }
    }

    fn increment(&self, state: &State, line: usize, parts: &Encryption, reach: &mut impl FnMut(State)) {
        let busy = state.active.iter().flatten().filter(|write| write.stage != Stage::Unready).count();
        let (Some(content), None, true) = (state.waiting[line], state.active[line], busy < self.units) else { return };
        let mut next = *state;
        next.waiting[line] = None;
        let counter = state.cached[line] + 1;
        if parts.update == CounterUpdate::AtBump {
            next.cached[line] = counter;
            next.dirty[self.block[line]] |= parts.write_path.defers_counter(content.atomic);
        }
        let mut block = next.cached;
        block[line] = counter;
        next.active[line] = Some(Write { content, stage: Stage::Encrypting, counter, block });
        if parts.write_path.at_bump() == Admit::Counter || parts.write_path.at_encrypted(content.atomic) == Admit::Pair
        {
            let place = next.order.iter().position(|&at| at == 0).expect("a place for each line");
            next.order[place] = line as u8 + 1;
        }
        reach(next);
    }

    fn admit(&self, state: &State, line: usize, parts: &Encryption, reach: &mut impl FnMut(State)) {
        let Some(write) = state.active[line] else { return };
        let path = parts.write_path;
        let alone = path.at_bump() == Admit::Counter;
        let mut next = *state;
        match (write.stage, path.at_encrypted(write.content.atomic)) {
            (Stage::Encrypting, _) if alone => {
                if !self.in_turn(state, line, parts) {
                    return;
                }
                self.put_block(&mut next, line, &write.block);
                leave_order(&mut next, line);
                next.active[line] = Some(Write { stage: Stage::CounterAdmitted, ..write });
            }
            (Stage::Encrypting, Admit::Pair) => {
                if !self.in_turn(state, line, parts) {
                    return;
                }
                self.put_block(&mut next, line, &write.block);
                leave_order(&mut next, line);
                put_data(&mut next, line, &write);
            }
            (Stage::Encrypting, Admit::Unready) => {
                next.active[line] = Some(Write { stage: Stage::Unready, ..write });
            }
            (Stage::Encrypting | Stage::CounterAdmitted, Admit::Data) => {
                if parts.update == CounterUpdate::WithData {
                    next.cached[line] = write.counter;
                    next.dirty[self.block[line]] |= path.defers_counter(write.content.atomic);
                }
                put_data(&mut next, line, &write);
            }
            (Stage::Unready, _) => {
                next.cached[line] = write.counter;
                next.dirty[self.block[line]] = false;
                let cached = next.cached;
                self.put_block(&mut next, line, &cached);
                put_data(&mut next, line, &write);
            }
            _ => unreachable!("no such path"),
        }
        reach(next);
    }

    /// Whether the block of `line` is the next one of its page.
    fn in_turn(&self, state: &State, line: usize, parts: &Encryption) -> bool {
        let of_block = |at: &&u8| **at > 0 && self.block[usize::from(**at - 1)] == self.block[line];
        let first = state.order.iter().find(of_block);
        parts.append_order == AppendOrder::UnitOrder || first == Some(&(line as u8 + 1))
    }

    fn put_block(&self, state: &mut State, of: usize, block: &[u8; LINES]) {
        for (line, &counter) in block.iter().enumerate() {
            if self.block[line] == self.block[of] {
                state.counters[line] = counter;
            }
        }
    }

    fn leave_counter_cache(&self, state: &State, block: usize, parts: &Encryption, reach: &mut impl FnMut(State)) {
        let mut next = *state;
        if state.dirty[block] {
            next.dirty[block] = false;
            self.put_block(&mut next, block, &state.cached);
            reach(next);
        }
        if let Some(earlier) = state.writeback[block] {
            let of_block = |line: usize| self.block[line] == block;
            let done = (0..LINES).all(|line| !of_block(line) || earlier[line] <= state.acknowledged[line]);
            if parts.writeback_order == WritebackOrder::AtOnce || done {
                next.writeback[block] = None;
                reach(next);
            }
        }
    }
}

fn leave_order(state: &mut State, line: usize) {
    let at = state.order.iter().position(|&at| at == line as u8 + 1).expect("it was incremented");
    state.order[at..].rotate_left(1);
    state.order[LINES - 1] = 0;
}

fn put_data(state: &mut State, line: usize, write: &Write) {
    state.data[line] = write.content.stores;
    state.data_counter[line] = write.counter;
    state.acknowledged[line] = write.content.stores;
    state.active[line] = None;
}

fn durable(state: &State) -> Durable {
    std::array::from_fn(|line| {
        let (of_data, of_block) = (state.data_counter[line], state.counters[line]);
        let counter = match of_block.cmp(&of_data) {
            std::cmp::Ordering::Equal => Provenance::Own,
            std::cmp::Ordering::Greater => Provenance::OfLater,
            std::cmp::Ordering::Less if of_block == 0 => Provenance::FromBefore,
            std::cmp::Ordering::Less => Provenance::OfEarlier,
        };
        (state.data[line], counter)
    })
}

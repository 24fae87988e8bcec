//! The event queue, ordered by (time, sequence), with a running digest of everything that happened.
//!
//! Most events are scheduled in the order of their times: for now, or a fixed time ahead, or at the end of the last
//! burst of a bus. An event that is not before the last one of a lane goes to the end of that lane; only what fits no
//! lane takes the binary heap. Some lanes take only what is near: an event far ahead would close them to the steps of
//! cores, which are a few cycles ahead.

use super::Ps;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// What an event contributes to the digest. Equal simulations give equal digests; the code must not depend on
/// host addresses or on line contents.
pub trait EventCode: Copy {
    /// A number that identifies the event's kind and its operands.
    fn code(&self) -> u64;
}

/// The order of events: by time, then as they were scheduled. The time is in the upper half.
type Key = u128;

/// After every event.
const NEVER: Key = Key::MAX;
/// Lanes of events whose times never decrease. The first takes only events that are scheduled for the current time.
const LANES: usize = 7;
/// The first lane that takes events far ahead.
const FAR_LANE: usize = 3;
/// What is less far ahead is near, in picoseconds: some ten cycles of a core.
const FAR: Ps = 5_000;

#[derive(Clone, Copy)]
struct Pending<E> {
    at: Ps,
    sequence: u64,
    event: E,
}

impl<E> Pending<E> {
    fn key(&self) -> Key {
        Key::from(self.at) << 64 | Key::from(self.sequence)
    }
}

impl<E> PartialEq for Pending<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}
impl<E> Eq for Pending<E> {}
impl<E> PartialOrd for Pending<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Pending<E> {
    // Reversed: `BinaryHeap` is a max-heap and the earliest event must come out first.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

/// The queue of one simulation. It owns simulated time: `now` moves only here.
#[derive(Clone)]
pub struct Queue<E> {
    lanes: [VecDeque<Pending<E>>; LANES],
    heap: BinaryHeap<Pending<E>>,
    /// The keys of the first event of each lane and of the heap; `NEVER` if there is none.
    firsts: [Key; LANES + 1],
    /// Which of them is the least.
    next: usize,
    now: Ps,
    sequence: u64,
    events: u64,
    digest: u64,
}

impl<E: EventCode> Default for Queue<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: EventCode> Queue<E> {
    /// An empty queue at time zero.
    pub fn new() -> Self {
        Self {
            lanes: std::array::from_fn(|_| VecDeque::with_capacity(64)),
            heap: BinaryHeap::with_capacity(64),
            firsts: [NEVER; LANES + 1],
            next: LANES,
            now: 0,
            sequence: 0,
            events: 0,
            digest: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// The current simulated time in picoseconds.
    pub fn now(&self) -> Ps {
        self.now
    }

    /// How many events have happened.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// A digest of every event so far and its time.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Whether no event is scheduled.
    pub fn is_empty(&self) -> bool {
        self.firsts[self.next] == NEVER
    }

    /// The time of the next event, in picoseconds; `None` if no event is scheduled.
    pub fn next_at(&self) -> Option<Ps> {
        let key = self.firsts[self.next];
        (key != NEVER).then_some((key >> 64) as Ps)
    }

    /// The events that are scheduled for the current time, each with its sequence number, in no particular order.
    pub fn due(&self) -> impl Iterator<Item = (u64, E)> {
        let any = self.next_at() == Some(self.now);
        let all = self.lanes.iter().flatten().chain(&self.heap);
        let pending = all.filter(move |pending| any && pending.at == self.now);
        pending.map(|pending| (pending.sequence, pending.event))
    }

    /// Moves time to `at` without an event. No event may be due before `at`, and later events must not be scheduled
    /// before it.
    pub fn wait_until(&mut self, at: Ps) {
        debug_assert!(at >= self.now && self.next_at().is_none_or(|next| next >= at));
        self.now = at;
    }

    /// Removes all scheduled events. Past events stay in the digest.
    pub fn forget(&mut self) {
        self.lanes.iter_mut().for_each(VecDeque::clear);
        self.heap.clear();
        self.firsts = [NEVER; LANES + 1];
        self.next = LANES;
    }

    /// The next event in the queue, and its time.
    pub fn peek(&self) -> Option<(Ps, E)> {
        let next = match self.next {
            LANES => self.heap.peek(),
            lane => self.lanes[lane].front(),
        };
        next.map(|next| (next.at, next.event))
    }

    /// Schedules `event` at `at`. A time in the past is a bug of the caller.
    pub fn schedule(&mut self, at: Ps, event: impl Into<E>) {
        debug_assert!(at >= self.now, "an event was scheduled {} ps in the past", self.now - at);
        self.sequence += 1;
        let pending = Pending { at, sequence: self.sequence, event: event.into() };
        let mut lanes = match at - self.now {
            0 => 0..1,
            1..FAR => 1..LANES,
            _ => FAR_LANE..LANES,
        };
        let fits = |lane: &usize| self.lanes[*lane].back().is_none_or(|last| last.at <= at);
        let place = lanes.find(fits).unwrap_or(LANES);
        let key = pending.key();
        if place == LANES {
            self.heap.push(pending);
        } else {
            self.lanes[place].push_back(pending);
        }
        if key < self.firsts[place] {
            self.firsts[place] = key;
            if key < self.firsts[self.next] {
                self.next = place;
            }
        }
    }

    /// Takes the next event and moves time to it.
    pub fn pop(&mut self) -> Option<E> {
        let place = self.next;
        let (next, following) = if place == LANES {
            (self.heap.pop()?, self.heap.peek())
        } else {
            (self.lanes[place].pop_front()?, self.lanes[place].front())
        };
        self.firsts[place] = following.map_or(NEVER, Pending::key);
        self.next = self.first();
        self.happen(next.at, next.event);
        Some(next.event)
    }

    /// Schedules `event` at `at` and takes it at once if it would be the next one, which avoids queueing it and
    /// changes nothing else. Returns whether it was taken.
    pub fn take_if_next(&mut self, at: Ps, event: E) -> bool {
        debug_assert!(at >= self.now);
        match self.next_at() {
            Some(next) if next <= at => {
                self.schedule(at, event);
                false
            }
            _ => {
                self.sequence += 1;
                self.happen(at, event);
                true
            }
        }
    }

    /// The lane, or the heap, that has the next event.
    fn first(&self) -> usize {
        const { assert!(LANES == 7) };
        // In pairs, so that the host compares them side by side.
        let earlier = |a: usize, b: usize| if self.firsts[b] < self.firsts[a] { b } else { a };
        earlier(earlier(earlier(0, 1), earlier(2, 3)), earlier(earlier(4, 5), earlier(6, LANES)))
    }

    fn happen(&mut self, at: Ps, event: E) {
        self.now = at;
        self.events += 1;
        self.digest =
            (self.digest ^ at ^ event.code().rotate_left(40)).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Tick(u64);
    impl EventCode for Tick {
        fn code(&self) -> u64 {
            self.0
        }
    }

    #[test]
    fn events_of_one_instant_come_in_the_order_they_were_scheduled() {
        let mut queue = Queue::<Tick>::new();
        for n in 0..100 {
            queue.schedule(1_000 - (n % 2) * 500, Tick(n));
        }
        let order: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|tick| tick.0).collect();
        let expected: Vec<u64> = (0..100).filter(|n| n % 2 == 1).chain((0..100).filter(|n| n % 2 == 0)).collect();
        assert_eq!(order, expected);
        assert_eq!(queue.now(), 1_000);
    }

    #[test]
    fn what_is_due_is_told_and_stays() {
        let mut queue = Queue::<Tick>::new();
        queue.wait_until(7);
        assert_eq!(queue.due().count(), 0);
        for (at, n) in [(9, 1), (7, 2), (8, 3), (7, 4), (9, 5)] {
            queue.schedule(at, Tick(n));
        }
        let due = |queue: &Queue<Tick>| {
            let mut due: Vec<(u64, Tick)> = queue.due().collect();
            due.sort_unstable_by_key(|(sequence, _)| *sequence);
            due.iter().map(|(_, tick)| tick.0).collect::<Vec<u64>>()
        };
        assert_eq!(due(&queue), [2, 4]);
        assert_eq!(queue.pop(), Some(Tick(2)));
        assert_eq!(due(&queue), [4]);
        queue.pop();
        assert_eq!(due(&queue), [0; 0]);
    }

    #[test]
    fn waiting_and_forgetting_leave_no_trace_in_the_digest() {
        let run = |waits: bool| {
            let mut queue = Queue::<Tick>::new();
            queue.schedule(50, Tick(1));
            assert_eq!(queue.next_at(), Some(50));
            if waits {
                queue.wait_until(30);
                assert_eq!(queue.now(), 30);
            }
            queue.pop();
            queue.schedule(70, Tick(2));
            if waits {
                queue.schedule(60, Tick(3));
                queue.forget();
                assert_eq!((queue.next_at(), queue.pop()), (None, None));
                queue.schedule(70, Tick(2));
            }
            queue.pop();
            (queue.events(), queue.digest())
        };
        assert_eq!(run(true), run(false));
    }

    #[test]
    fn taking_the_next_event_at_once_equals_queueing_it() {
        let run = |direct: bool| {
            let mut queue = Queue::<Tick>::new();
            queue.schedule(50, Tick(1));
            let mut seen = Vec::new();
            for (at, id) in [(10, 2), (50, 3), (20, 4)] {
                if direct && queue.take_if_next(at.max(queue.now()), Tick(id)) {
                    seen.push(id);
                } else if !direct {
                    queue.schedule(at.max(queue.now()), Tick(id));
                    if id == 2 {
                        seen.push(queue.pop().unwrap().0);
                    }
                }
                if id == 4 {
                    while let Some(tick) = queue.pop() {
                        if !seen.contains(&tick.0) {
                            seen.push(tick.0);
                        }
                    }
                }
            }
            (seen, queue.digest())
        };
        assert_eq!(run(true), run(false));
    }

    proptest! {
        /// Whatever is scheduled when, events come in the order of their times and then of their scheduling.
        #[test]
        fn events_come_as_from_a_sorted_list(steps in prop::collection::vec((0..4u64, 0..6u64), 1..200)) {
            let (mut queue, mut model) = (Queue::new(), Vec::new());
            for (n, (kind, ahead)) in steps.into_iter().enumerate() {
                let at = queue.now() + ahead * 10;
                let n = n as u64;
                match kind {
                    0 => {
                        let next = model.iter().copied().min();
                        model.retain(|event| Some(*event) != next);
                        prop_assert_eq!(queue.pop().map(|tick: Tick| (queue.now(), tick.0)), next);
                    }
                    1 => {
                        let next = model.iter().all(|&(other, _)| other > at);
                        prop_assert_eq!(queue.take_if_next(at, Tick(n)), next);
                        if !next {
                            model.push((at, n));
                        }
                    }
                    _ => {
                        queue.schedule(at, Tick(n));
                        model.push((at, n));
                    }
                }
                let next = model.iter().copied().min();
                prop_assert_eq!(queue.peek().map(|(at, tick)| (at, tick.0)), next);
                prop_assert_eq!((queue.next_at(), queue.is_empty()), (next.map(|(at, _)| at), next.is_none()));
                let mut due: Vec<u64> = queue.due().map(|(_, tick)| tick.0).collect();
                due.sort_unstable();
                let mut expected: Vec<u64> = model.iter().filter(|(at, _)| *at == queue.now()).map(|(_, n)| *n).collect();
                expected.sort_unstable();
                prop_assert_eq!(due, expected);
            }
        }
    }
}

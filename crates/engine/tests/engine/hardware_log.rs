//! The log manager, driven line by line: what waits for what, to the picosecond where it follows from the machine's
//! values, and the contents of the media afterwards, read by a decoder that shares only the block cipher with the
//! engine.

use super::common::{LATE, reading};
use aes::Aes128;
use aes::cipher::{Array, BlockCipherEncrypt, KeyInit};
use counterpoint_engine::cipher::Keys;
use counterpoint_engine::config::{self, CfbLatency, Geometry, LogIv, Machine, Variant};
use counterpoint_engine::controller::Response;
use counterpoint_engine::kernel::{Ps, ns_to_ps};
use counterpoint_engine::message::{Content, CoreId, Line, LineBytes, MediaLine, Observer};
use counterpoint_engine::{LineSystem, design};
use std::collections::HashMap;
use std::sync::Arc;

/// What happened, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Happened {
    Logged(CoreId, Line),
    Persisted(Line),
    Counter,
    Extended(CoreId, u32, u32),
    Freed(CoreId),
    EventOver,
}

#[derive(Default)]
struct Watcher {
    happened: Vec<(Ps, Happened)>,
}

impl Observer for Watcher {
    fn logged(&mut self, now: Ps, core: CoreId, line: Line) {
        self.happened.push((now, Happened::Logged(core, line)));
    }
    fn persisted(&mut self, now: Ps, media: MediaLine, _bytes: &LineBytes) {
        self.happened.push((now, media.as_line().map_or(Happened::Counter, Happened::Persisted)));
    }
    fn log_extended(&mut self, now: Ps, core: CoreId, bucket: u32, records: u32) {
        self.happened.push((now, Happened::Extended(core, bucket, records)));
    }
    fn log_freed(&mut self, now: Ps, core: CoreId) {
        self.happened.push((now, Happened::Freed(core)));
    }
    fn event_over(&mut self, now: Ps) {
        self.happened.push((now, Happened::EventOver));
    }
}

impl Watcher {
    fn at(&self, what: &Happened) -> Vec<Ps> {
        self.happened.iter().filter(|(_, happened)| happened == what).map(|(at, _)| *at).collect()
    }
    fn position(&self, what: &Happened) -> usize {
        self.happened.iter().position(|(_, happened)| happened == what).unwrap_or_else(|| panic!("never: {what:?}"))
    }
    /// Whether one event did both.
    fn together(&self, one: &Happened, other: &Happened) -> bool {
        let (a, b) = (self.position(one), self.position(other));
        !self.happened[a.min(b)..a.max(b)].iter().any(|(_, happened)| *happened == Happened::EventOver)
    }
}

/// The machine of the paper with a circuit for each of a few lines, on which a line of a chain takes four latencies and a
/// write leaves when its bank can take it.
fn easy_pm() -> Machine {
    let sets = [
        "controller.aes_units=4",
        "controller.policy=continuous",
        "device.mapping=line-interleaved",
        "log.cfb_latency=serial",
    ];
    config::load_machine("easy-pm", &sets.map(str::to_owned)).unwrap()
}

fn log_start(machine: &Machine) -> u64 {
    Geometry::of(machine).log_start().0
}

fn system(machine: &Machine, name: &str) -> LineSystem<Watcher> {
    reading(machine, name, Variant::Hardened, Watcher::default())
}

/// Handles all events; returns when each core's entries and ends were answered.
fn run(system: &mut LineSystem<Watcher>) -> (HashMap<CoreId, Vec<Ps>>, HashMap<CoreId, Ps>) {
    let (mut taken, mut ended) = (HashMap::<CoreId, Vec<Ps>>::new(), HashMap::new());
    while let Some(responses) = system.advance().map(<[Response]>::to_vec) {
        let now = system.now();
        for response in responses {
            match response {
                Response::Logged { core } => taken.entry(core).or_default().push(now),
                Response::TransactionEnded { core } => assert_eq!(ended.insert(core, now), None),
                _ => {}
            }
        }
    }
    (taken, ended)
}

#[test]
fn lines_of_a_chain_are_encrypted_one_after_another_and_chains_side_by_side() {
    for (latency, aes) in [(CfbLatency::Serial, ns_to_ps(160.0)), (CfbLatency::Paper, ns_to_ps(40.0))] {
        let mut machine = easy_pm();
        machine.log.cfb_latency = latency;
        let mut system = system(&machine, "easy-pm");
        system.begin_transaction(0, 0);
        system.begin_transaction(0, 1);
        for (at, core, line) in [(10, 0, 1), (11, 0, 2), (12, 1, 3)] {
            system.log(at, core, Line(line), &[line as u8; 64]);
        }
        let (taken, _) = run(&mut system);
        assert_eq!(taken[&0], [10, 11], "the log manager takes them at once");
        assert_eq!(taken[&1], [12]);
        let data = |bucket: u64, index: u64| Happened::Persisted(Line(log_start(&machine) + bucket * 129 + 17 + index));
        assert_eq!(system.observer.at(&data(0, 0)), [10 + aes]);
        assert_eq!(system.observer.at(&data(0, 1)), [10 + 2 * aes], "it needs the ciphertext before it");
        assert_eq!(system.observer.at(&data(1, 0)), [12 + aes], "another transaction, another register");
    }
}

#[test]
fn modified_line_waits_for_its_entry_the_header_and_the_metadata_of_a_chain() {
    let machine = easy_pm();
    let cfb = ns_to_ps(160.0);
    let mut system = system(&machine, "easy-pm");
    system.begin_transaction(0, 0);
    system.log(0, 0, Line(5), &[1; 64]);
    system.write(1_000, Line(5), &[2; 64], 0);
    system.write(1_000, Line(900), &[3; 64], 1);
    run(&mut system);
    let watcher = &system.observer;
    let start = log_start(&machine);
    let (metadata, header, entry) = (start, start + 1, start + 17);
    assert_eq!(watcher.at(&Happened::Persisted(Line(entry))), [cfb]);
    assert_eq!(watcher.at(&Happened::Persisted(Line(header))), [2 * cfb], "the record was closed early");
    assert_eq!(watcher.at(&Happened::Persisted(Line(metadata))), [2 * cfb], "in the clear: no circuit");
    let of = |line| Happened::Persisted(Line(line));
    assert!(!watcher.together(&of(header), &of(metadata)), "power may fail between the two");
    assert!(watcher.position(&of(header)) < watcher.position(&of(metadata)));
    assert!(watcher.together(&of(metadata), &Happened::Extended(0, 0, 1)));
    let free = watcher.at(&of(900))[0];
    // Another counter block, the same steps: the waiting one begins when the metadata has persisted.
    assert!(free < watcher.at(&of(5))[0]);
    assert!(watcher.position(&Happened::Extended(0, 0, 1)) < watcher.position(&of(5)));
}

#[test]
fn header_comes_after_its_lines_and_in_counter_mode_each_line_comes_with_its_counter() {
    let machine = easy_pm();
    let mut system = system(&machine, "hw-log");
    system.begin_transaction(0, 0);
    for line in 0..8 {
        system.log(line * ns_to_ps(1.0), 0, Line(line), &[line as u8; 64]);
    }
    run(&mut system);
    let watcher = &system.observer;
    let start = log_start(&machine);
    let header = watcher.position(&Happened::Persisted(Line(start)));
    for entry in 1..=7 {
        assert!(watcher.position(&Happened::Persisted(Line(start + entry))) < header, "entry {entry}");
    }
    assert!(watcher.together(&Happened::Persisted(Line(start)), &Happened::Extended(0, 0, 1)));
    let pairs = watcher
        .happened
        .windows(2)
        .filter(|pair| matches!(pair, [(_, Happened::Counter), (_, Happened::Persisted(_))]));
    assert_eq!(pairs.count(), 9, "seven lines, their header, and the eighth line");
    assert!(watcher.position(&Happened::Persisted(Line(start + 9))) > 0, "the eighth line opened the second record");
    assert!(watcher.at(&Happened::Extended(0, 0, 2)).is_empty(), "and its header is not due");
}

#[test]
fn counters_of_an_asynchronous_log_stay_in_the_counter_cache() {
    let machine = easy_pm();
    let mut system = system(&machine, "alc");
    system.begin_transaction(0, 0);
    for line in 0..7 {
        system.log(line, 0, Line(line), &[1; 64]);
    }
    run(&mut system);
    assert_eq!(system.observer.at(&Happened::Extended(0, 0, 1)).len(), 1);
    assert!(system.observer.at(&Happened::Counter).is_empty());
}

#[test]
fn store_waits_while_the_log_manager_holds_all_it_may() {
    let mut machine = easy_pm();
    machine.log.pending_entries = 2;
    let mut system = system(&machine, "easy-pm");
    system.begin_transaction(0, 0);
    for line in 0..3 {
        system.log(line, 0, Line(line), &[1; 64]);
    }
    let (taken, _) = run(&mut system);
    assert_eq!(taken[&0], [0, 1, ns_to_ps(160.0)], "the third when the first has persisted");
}

#[test]
fn thirty_third_transaction_waits_for_registers() {
    let machine = easy_pm();
    let mut system = system(&machine, "hw-log");
    for core in 0..34 {
        system.begin_transaction(u64::from(core), core);
    }
    system.end_transaction(40, 33);
    system.end_transaction(LATE, 7);
    let mut begun = HashMap::new();
    let mut ended = HashMap::new();
    while let Some(responses) = system.advance().map(<[Response]>::to_vec) {
        let now = system.now();
        for response in responses {
            match response {
                Response::TransactionBegun { core } => assert_eq!(begun.insert(core, now), None),
                Response::TransactionEnded { core } => assert_eq!(ended.insert(core, now), None),
                other => panic!("nobody asked for {other:?}"),
            }
        }
    }
    assert!((0..32).all(|core| begun[&core] == Ps::from(core)));
    assert_eq!((ended[&33], ended[&7]), (40, LATE), "one that logged nothing ends without having had any");
    assert_eq!(begun[&32], LATE, "when another has ended");
    assert!(!begun.contains_key(&33));
    assert_eq!(system.controller.log_exhausted(), None);
}

#[test]
fn log_that_is_too_small_is_said_to_be() {
    for name in ["hw-log", "alc", "easy-pm"] {
        let mut machine = easy_pm();
        (machine.log.buckets, machine.log.bucket_records) = (2, 1);
        let mut system = system(&machine, name);
        system.begin_transaction(0, 0);
        for line in 0..15 {
            system.log(line * LATE, 0, Line(line), &[1; 64]);
        }
        let (taken, _) = run(&mut system);
        assert_eq!(taken[&0].len(), 14);
        assert_eq!(
            system.controller.log_exhausted().unwrap(),
            "log.buckets = 2 is too few for 1 concurrent transactions: they have filled all buckets, need more, and none can \
             end"
        );
    }
}

#[test]
fn log_is_freed_when_nothing_of_it_is_on_its_way_and_its_buckets_are_used_in_turn() {
    let mut machine = easy_pm();
    (machine.log.buckets, machine.log.bucket_records) = (3, 2);
    for name in ["hw-log", "easy-pm"] {
        let mut system = system(&machine, name);
        let mut at = 0;
        for transaction in 0..5 {
            system.begin_transaction(at, 0);
            for line in 0..20 {
                system.log(at, 0, Line(line), &[transaction; 64]);
                at += LATE;
            }
            system.end_transaction(at, 0);
            at += LATE;
        }
        while system.advance().is_some() {}
        let extended: Vec<(u32, u32)> = system
            .observer
            .happened
            .iter()
            .filter_map(|(_, happened)| match happened {
                Happened::Extended(0, bucket, records) => Some((*bucket, *records)),
                _ => None,
            })
            .collect();
        // Twenty lines are two full records and an open one, which is dropped with its transaction: two of three
        // buckets.
        assert_eq!(extended, [0, 2, 1, 0, 2].map(|bucket| [(bucket, 1), (bucket, 2)]).concat(), "{name}");
        assert_eq!(system.observer.at(&Happened::Freed(0)).len(), 5);
        assert!(system.controller.snapshot().log.is_empty());
    }
}

#[test]
fn entry_on_its_way_delays_the_end() {
    let machine = easy_pm();
    let mut system = system(&machine, "easy-pm");
    system.begin_transaction(0, 3);
    system.begin_transaction(0, 4);
    system.log(0, 3, Line(1), &[1; 64]);
    system.end_transaction(5, 3);
    system.end_transaction(6, 4);
    let (_, ended) = run(&mut system);
    assert_eq!(ended[&3], ns_to_ps(160.0));
    assert_eq!(ended[&4], 6, "it logged nothing");
}

/// CFB-128, written by hand.
struct Chain {
    aes: Aes128,
    previous: [u8; 16],
}

impl Chain {
    fn new(key: &[u8; 32], vector: &[u8]) -> Self {
        let (first, _) = key.split_at(16);
        Self { aes: Aes128::new(&Array::try_from(first).unwrap()), previous: vector.try_into().unwrap() }
    }

    fn next(&mut self, ciphertext: &LineBytes) -> LineBytes {
        let mut plaintext = [0; 64];
        for (from, to) in ciphertext.chunks_exact(16).zip(plaintext.chunks_exact_mut(16)) {
            let mut pad = Array::from(self.previous);
            self.aes.encrypt_block(&mut pad);
            for (index, byte) in to.iter_mut().enumerate() {
                *byte = from[index] ^ pad[index];
            }
            self.previous.copy_from_slice(from);
        }
        plaintext
    }
}

/// The media's contents at `line`.
fn stored(system: &LineSystem<Watcher>, line: u64) -> LineBytes {
    match system.device.image().content(MediaLine::data(Line(line))) {
        Content::Stored(bytes) => *bytes,
        other => panic!("line {line}: {other:?}"),
    }
}

#[test]
fn chains_of_a_bucket_decrypt_from_its_initial_vectors_alone() {
    let machine = easy_pm();
    let mut system = system(&machine, "easy-pm");
    // Records of 7, of 2 (closed early by a write of line 8) and of 7 lines, in one bucket; line 0 is logged again.
    let logged: Vec<u64> = (0..9).chain([0]).chain(20..26).collect();
    let old = |index: usize| std::array::from_fn(|byte| (index * 31 + byte) as u8);
    system.begin_transaction(0, 0);
    for (index, line) in logged.iter().enumerate() {
        system.log(index as u64 * LATE, 0, Line(*line), &old(index));
    }
    system.write(8 * LATE + LATE / 2, Line(8), &[9; 64], 0);
    run(&mut system);
    system.flush();
    run(&mut system);

    let start = log_start(&machine);
    let key = Keys::from_seed(1).log;
    let metadata = stored(&system, start);
    assert_eq!(metadata[32..36], 3u32.to_le_bytes());
    let mut headers = Chain::new(&key, &metadata[..16]);
    let mut lines = Chain::new(&key, &metadata[16..32]);
    let mut seen = 0;
    for (record, expected) in [7, 2, 7].into_iter().enumerate() {
        let header = headers.next(&stored(&system, start + 1 + record as u64));
        let word = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().unwrap());
        assert_eq!(word(56) as u32, expected, "valid lines of record {record}");
        assert_eq!((word(56) >> 32) as usize, record, "its number in the transaction");
        for index in 0..expected as usize {
            assert_eq!(word(index * 8), logged[seen] * 64);
            assert_eq!(lines.next(&stored(&system, start + 17 + seen as u64)), old(seen), "logged line {seen}");
            seen += 1;
        }
    }
    assert_eq!(seen, logged.len());
}

#[test]
fn initial_vectors_are_drawn_for_each_allocation_or_kept_for_a_buckets_life() {
    for (iv, kept) in [(LogIv::PerAllocation, false), (LogIv::PerBucket, true)] {
        let mut machine = easy_pm();
        machine.log.buckets = 1;
        machine.log.iv = iv;
        let mut system = system(&machine, "easy-pm");
        let mut vectors = Vec::new();
        for transaction in 0..2 {
            let at = system.now() + 1;
            system.begin_transaction(at, 0);
            for line in 0..7 {
                system.log(at + line * LATE, 0, Line(line), &[transaction; 64]);
            }
            system.end_transaction(at + 8 * LATE, 0);
            run(&mut system);
            system.flush();
            run(&mut system);
            vectors.push(stored(&system, log_start(&machine))[..32].to_vec());
        }
        assert_eq!(vectors[0] == vectors[1], kept);
        assert_ne!(vectors[0][..16], vectors[0][16..]);
    }
}

#[test]
fn log_lies_beyond_what_programs_can_use() {
    let machine = easy_pm();
    let design = design::find("easy-pm", Variant::Hardened).unwrap();
    let geometry = Geometry::of(&machine);
    struct Reaching(u64);
    impl counterpoint_engine::message::BaseImage for Reaching {
        fn line(&self, _line: Line) -> Option<&LineBytes> {
            None
        }
        fn populated(&self, _line: Line) -> bool {
            false
        }
        fn end(&self) -> u64 {
            self.0
        }
    }
    let with = |end| LineSystem::new(&machine, &design, Arc::new(Reaching(end)), 1, Watcher::default()).map(|_| ());
    assert!(with(geometry.program_capacity()).is_ok());
    assert!(with(geometry.program_capacity() + 1).is_err());
}

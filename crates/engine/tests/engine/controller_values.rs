//! What the controller answers, compared with a reference that is one map from lines to bytes: whatever a design does
//! to counters, pads, queues and pages under re-encryption, a read finds the newest write that was sent before it.

use super::common::{cases, queue_of};
use counterpoint_engine::config::{
    self, AesHold, AesOccupancy, AesReads, ByteSize, CounterOrganisation, CounterPlacement, Machine, Variant,
};
use counterpoint_engine::controller::Response;
use counterpoint_engine::design::faults::Fault;
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::layout::Coverage;
use counterpoint_engine::message::{BaseImage, Line, LineBytes, NoObserver};
use counterpoint_engine::parts::Design;
use counterpoint_engine::{LineSystem, design};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::HashMap;
use std::sync::Arc;

const PAGES: u64 = 4;

/// Memory of which every third line is populated.
struct Base(Vec<LineBytes>);

impl Base {
    fn new() -> Self {
        Self((0..PAGES * 64).map(|line| pattern(line, 0)).collect())
    }
}

impl BaseImage for Base {
    fn line(&self, line: Line) -> Option<&LineBytes> {
        self.populated(line).then(|| &self.0[line.0 as usize])
    }
    fn populated(&self, line: Line) -> bool {
        line.0 < PAGES * 64 && line.0.is_multiple_of(3)
    }
    fn end(&self) -> u64 {
        PAGES * 4096
    }
}

/// Bytes that identify their line and the write that made them; write 0 is the populated base.
fn pattern(line: u64, write: u64) -> LineBytes {
    let mut bytes = [(line * 31 + 1).wrapping_add(write.wrapping_mul(7)) as u8; 64];
    bytes[..8].copy_from_slice(&line.to_le_bytes());
    bytes[56..].copy_from_slice(&write.to_le_bytes());
    bytes
}

/// One request to a line, some time after the one before.
#[derive(Clone, Copy, Debug)]
struct Request {
    gap: Ps,
    kind: Kind,
    line: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Read,
    Write,
    /// A write of a line with a `CounterAtomic` variable.
    CounterAtomicWrite,
    /// A `counter_cache_writeback` of the counters around the line.
    CounterWriteback,
}

fn requests() -> impl Strategy<Value = Vec<Request>> {
    // Few lines of a page, so that they are accessed repeatedly; mostly writes, so that minor counters overflow.
    let gap = prop_oneof![4 => Just(0), 4 => 0..50_000u64, 2 => 0..1_500_000u64];
    let line = (0..PAGES, prop_oneof![3 => 0..4u64, 1 => 0..64u64]).prop_map(|(page, index)| page * 64 + index);
    let kind = prop_oneof![
        4 => Just(Kind::Read),
        5 => Just(Kind::Write),
        2 => Just(Kind::CounterAtomicWrite),
        1 => Just(Kind::CounterWriteback),
    ];
    prop::collection::vec((gap, kind, line), 1..120)
        .prop_map(|all| all.into_iter().map(|(gap, kind, line)| Request { gap, kind, line }).collect())
}

fn machines() -> impl Strategy<Value = Machine> {
    let placement = prop_oneof![
        Just(CounterPlacement::SameBank),
        Just(CounterPlacement::SingleBank),
        Just(CounterPlacement::CrossBank),
        Just(CounterPlacement::Interleaved),
    ];
    let queue = (2..9u32).prop_flat_map(|entries| {
        (Just(entries), 1..=entries).prop_flat_map(|(entries, high)| (Just(entries), Just(high), 0..high))
    });
    let counter_queue = (1..5u32).prop_flat_map(|entries| {
        (Just(entries), 1..=entries).prop_flat_map(|(entries, high)| (Just(entries), Just(high), 0..high))
    });
    let organisation = prop_oneof![Just(CounterOrganisation::Split), Just(CounterOrganisation::Global)];
    let counters = (counter_queue, any::<bool>(), organisation);
    // A slow device, so that queues are always full; a slow counter cache.
    let times = (prop::sample::select(&[300.0, 300.0, 3_000.0][..]), prop::sample::select(&[12, 12, 400][..]));
    let hold = prop_oneof![Just(AesHold::UntilAdmitted), Just(AesHold::UntilEncrypted)];
    let occupancy = prop_oneof![Just(AesOccupancy::Line), Just(AesOccupancy::Block)];
    let reads_in = prop_oneof![Just(AesReads::Own), Just(AesReads::Shared)];
    let units = (1..5u32, 1..3u32, times, (hold, any::<bool>(), occupancy, reads_in, any::<bool>()));
    (queue, counters, any::<bool>(), units, 0..3u32, 1..8u32, 1..65u32, 1..4u32, placement).prop_map(
        |((entries, high, low), counters, idle, units, blocks, reads, parallelism, minor_bits, placement)| {
            let ((counter_entries, counter_high, counter_low), merging, organisation) = counters;
            let (units, read_units, (t_wr, counter_cache_latency), aes) = units;
            let (hold, pipelined, occupancy, reads_in, unwritten) = aes;
            let mut machine = config::preset("small").unwrap();
            machine.device.t_wr_ns = t_wr;
            machine.controller.counter_cache_latency_cycles = counter_cache_latency;
            let controller = &mut machine.controller;
            controller.wpq_entries = entries;
            controller.wpq_high_watermark = high;
            controller.wpq_low_watermark = low;
            controller.counter_wpq_entries = counter_entries;
            controller.counter_wpq_high_watermark = counter_high;
            controller.counter_wpq_low_watermark = counter_low;
            controller.counter_wpq_merging = merging;
            controller.wpq_issue_when_idle = idle;
            controller.aes_units = units;
            controller.aes_read_units = read_units;
            (controller.aes_hold, controller.aes_pipelined) = (hold, pipelined);
            (controller.aes_occupancy, controller.aes_reads) = (occupancy, reads_in);
            controller.counter_cache_size = ByteSize(64 << blocks);
            controller.counter_cache_ways = 1 << blocks.min(1);
            controller.read_queue_entries = reads;
            controller.reencryption_parallelism = parallelism;
            controller.counter_placement = placement;
            machine.counters.minor_bits = minor_bits;
            machine.counters.reencrypt_unwritten = unwritten;
            machine.counters.organisation = organisation;
            config::validate(&machine).unwrap();
            machine
        },
    )
}

/// Runs `requests`, compares every answer with the reference, then reads every line back. Returns the number of page
/// re-encryptions.
fn compare(machine: &Machine, design: &Design, requests: &[Request]) -> Result<u64, TestCaseError> {
    let mut machine = machine.clone();
    machine.controller.wpq_entries = queue_of(design, machine.controller.wpq_entries);
    let mut system = LineSystem::new(&machine, design, Arc::new(Base::new()), 1, NoObserver).unwrap();
    // For each line: when each of its writes arrives. Write `n` (from 1) of a line is entry `n - 1`.
    let mut arrivals: HashMap<u64, Vec<Ps>> = HashMap::new();
    // For each token: the line, and for a read how many writes of the line were sent before.
    let mut open: HashMap<u32, (u64, Option<usize>)> = HashMap::new();
    let mut at = 0;
    for (token, request) in requests.iter().enumerate() {
        at += request.gap;
        let writes = arrivals.entry(request.line).or_default();
        let (line, token) = (Line(request.line), token as u32);
        open.insert(token, (request.line, (request.kind == Kind::Read).then_some(writes.len())));
        match request.kind {
            Kind::Read => system.read(at, line, token),
            Kind::CounterWriteback => system.write_back_counters(at, line, token),
            Kind::Write | Kind::CounterAtomicWrite => {
                writes.push(at);
                let bytes = pattern(request.line, writes.len() as u64);
                match request.kind {
                    Kind::CounterAtomicWrite => system.write_counter_atomic(at, line, &bytes, token),
                    _ => system.write(at, line, &bytes, token),
                }
            }
        }
    }
    let mut flushed = false;
    loop {
        answers(&mut system, &mut open, &arrivals)?;
        if std::mem::replace(&mut flushed, true) {
            break;
        }
        // Below the high watermark writes may stay in the queue forever; nothing else may.
        prop_assert!(open.is_empty(), "{} requests were never answered: {open:?}", open.len());
        system.flush();
    }
    let end = system.now();
    for line in 0..PAGES * 64 {
        open.insert(line as u32, (line, Some(arrivals.get(&line).map_or(0, Vec::len))));
        system.read(end + line * 10_000_000, Line(line), line as u32);
    }
    answers(&mut system, &mut open, &arrivals)?;
    prop_assert!(open.is_empty(), "{} lines could not be read back", open.len());
    let now = system.now();
    Ok(system.controller.stats(now).reencryptions)
}

/// Handles all scheduled events and checks each answer.
fn answers(
    system: &mut LineSystem<NoObserver>,
    open: &mut HashMap<u32, (u64, Option<usize>)>,
    arrivals: &HashMap<u64, Vec<Ps>>,
) -> Result<(), TestCaseError> {
    loop {
        let Some(answered) = system.advance().map(<[Response]>::to_vec) else { return Ok(()) };
        let now = system.now();
        for response in answered {
            match response {
                Response::Written { token } => {
                    let known = open.remove(&token.0);
                    prop_assert!(matches!(known, Some((_, None))), "write {} was acknowledged twice", token.0);
                }
                Response::Read { token, bytes } => {
                    let Some((line, Some(sent))) = open.remove(&token) else {
                        return Err(TestCaseError::fail(format!("read {token} was answered twice")));
                    };
                    let writes = arrivals.get(&line).map_or(&[][..], Vec::as_slice);
                    let found = write_in(line, &bytes);
                    prop_assert!(found.is_some(), "read {token} of line {line} found {bytes:?}, which nobody wrote");
                    let found = found.unwrap();
                    // A read that waited may find a write that overtook it, but never an older one.
                    let overtaken = found > sent && found <= writes.len() && writes[found - 1] <= now;
                    prop_assert!(found == sent || overtaken, "read {token} of line {line}: write {found}, not {sent}");
                }
                Response::TransactionBegun { .. }
                | Response::CounterIncremented { .. }
                | Response::Logged { .. }
                | Response::TransactionEnded { .. } => {
                    unreachable!("nobody logs")
                }
                Response::Install { line, bytes } => {
                    let writes = arrivals.get(&line.0).map_or(&[][..], Vec::as_slice);
                    let found = write_in(line.0, &bytes);
                    let arrived = writes.iter().filter(|&&at| at <= now).count();
                    prop_assert!(found.is_some_and(|write| write <= arrived), "line {line:?} installed as {bytes:?}");
                }
            }
        }
    }
}

/// The number of the write of `line` that wrote these bytes; 0 is the line's initial contents.
fn write_in(line: u64, bytes: &LineBytes) -> Option<usize> {
    let write = u64::from_le_bytes(bytes[56..].try_into().unwrap());
    let first = if line.is_multiple_of(3) { pattern(line, 0) } else { [0; 64] };
    let expected = if write == 0 { first } else { pattern(line, write) };
    (*bytes == expected).then_some(write as usize)
}

/// The designs that need no modules.
fn on_banks() -> impl Iterator<Item = Design> {
    design::all(Variant::Hardened).filter(|design| design.modules.is_none())
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn read_finds_the_newest_write_sent_before_it(machine in machines(), requests in requests()) {
        for design in on_banks() {
            let compared = compare(&machine, &design, &requests);
            compared.map_err(|error| TestCaseError::fail(format!("{}: {error}", design.name)))?;
        }
    }
}

/// A line with a write of the old major counter that waits for slots must be re-encrypted after that write: otherwise the
/// older bytes would be written last. That is also so where pairs are appended in the order of the AES circuits and not of
/// their counter increments.
#[test]
fn line_is_re_encrypted_after_a_write_of_it_that_has_been_encrypted() {
    let mut runner = TestRunner::deterministic();
    let mut reencryptions = 0;
    for case in 0..100 {
        let requests = requests().new_tree(&mut runner).unwrap().current();
        let mut machine = machines().new_tree(&mut runner).unwrap().current();
        let controller = &mut machine.controller;
        // No block is fetched again, which would show blocks that are out of order.
        controller.counter_cache_size = ByteSize(4 << 10);
        controller.counter_cache_ways = 4;
        controller.aes_units = 2 + case % 4;
        controller.reencryption_parallelism = 64;
        machine.device.t_wr_ns = 3_000.0;
        machine.counters.minor_bits = 1;
        machine.counters.organisation = CounterOrganisation::Split;
        config::validate(&machine).unwrap();
        for name in ["write-through", "secpm-workshop", "secpm-no-cwr", "secpm"] {
            let published = design::find(name, Variant::Published).unwrap();
            let by_circuit = Fault::AppendOrder.apply(&published).unwrap();
            for design in [published, by_circuit] {
                match compare(&machine, &design, &requests) {
                    Ok(met) => reencryptions += met,
                    Err(error) => panic!("{name}, case {case}: {error}"),
                }
            }
        }
    }
    assert!(reencryptions > 2_000, "{reencryptions}");
}

/// A block is evicted from a small counter cache while its write-back waits for an entry of a full queue: the write-back
/// has nothing left to write, and completes in that event.
#[test]
fn write_back_completes_when_its_block_is_evicted() {
    let request = |gap, kind, line| Request { gap, kind, line };
    let requests = [
        request(0, Kind::Write, 192),
        request(710_001, Kind::Read, 0),
        request(0, Kind::CounterWriteback, 192),
        request(0, Kind::Read, 64),
        request(0, Kind::Read, 128),
    ];
    for (entries, size, ways) in
        [2, 3, 4, 6].into_iter().flat_map(|entries| [(entries, 64, 1), (entries, 128, 2), (entries, 256, 2)])
    {
        let mut machine = config::preset("small").unwrap();
        machine.device.t_wr_ns = 3_000.0;
        let controller = &mut machine.controller;
        controller.wpq_entries = entries;
        (controller.wpq_high_watermark, controller.wpq_low_watermark) = (entries, 0);
        controller.counter_wpq_entries = 1;
        (controller.counter_wpq_high_watermark, controller.counter_wpq_low_watermark) = (1, 0);
        (controller.counter_cache_size, controller.counter_cache_ways) = (ByteSize(size), ways);
        config::validate(&machine).unwrap();
        for design in on_banks() {
            if let Err(error) = compare(&machine, &design, &requests) {
                panic!("{}, {entries} entries, a cache of {size} bytes: {error}", design.name);
            }
        }
    }
}
#[test]
fn requests_meet_re_encryption_in_every_design_with_split_counters() {
    let mut machine = config::preset("small").unwrap();
    machine.counters.minor_bits = 1;
    let requests: Vec<Request> = (0..40)
        .map(|n| Request {
            gap: 1_000,
            kind: if n % 4 == 3 { Kind::Read } else { Kind::Write },
            line: n % 3 + 64 * (n % 2),
        })
        .collect();
    // A page without counters is not encrypted again.
    for design in on_banks().filter(|design| design.name != "hot-xts") {
        let reencryptions = compare(&machine, &design, &requests).unwrap();
        let split = design.encryption.is_some_and(|parts| parts.scheme(&machine.counters).coverage() == Coverage::PAGE);
        assert_eq!(reencryptions > 4, split, "{}: {reencryptions}", design.name);
    }
}

//! A crash model of its own: power fails between two operations, and of every line any prefix of its stores since the
//! last fence that covers it may have reached the device. Recovery must give exactly the bytes before or after the
//! transaction in flight, also when power fails again during recovery.

use super::{config, start};
use crate::kernel::Random;
use crate::message::{ByteView, Op, OpBuffer, OpSource, ProgramRecovery};
use crate::workload::{Plan, Recovery, WORKLOADS, WorkloadConfig, WorkloadKind};
use rustc_hash::FxHashMap;

/// The durable bytes, and of every line written since its last covering fence what it held after each store.
struct Device {
    durable: Vec<u8>,
    open: FxHashMap<u64, Open>,
    order: Vec<u64>,
}

#[derive(Default)]
struct Open {
    versions: Vec<[u8; 64]>,
    /// Versions that the last clwb covers.
    flushed: usize,
}

impl Device {
    fn apply(&mut self, op: Op, buffer: &OpBuffer) {
        match op {
            Op::Store { address, length, bytes } => {
                let line = address & !63;
                let open = self.open.entry(line).or_insert_with(|| {
                    self.order.push(line);
                    Open::default()
                });
                let mut content = open.versions.last().copied().unwrap_or_else(|| line_of(&self.durable, line));
                let start = (address - line) as usize;
                content[start..start + usize::from(length)].copy_from_slice(buffer.slice(bytes, length));
                open.versions.push(content);
            }
            Op::Clwb { address } => {
                if let Some(open) = self.open.get_mut(&(address & !63)) {
                    open.flushed = open.versions.len();
                }
            }
            Op::Sfence => {
                let (open, durable) = (&mut self.open, &mut self.durable);
                self.order.retain(|line| {
                    let Some(state) = open.get_mut(line) else { return false };
                    if state.flushed > 0 {
                        durable[*line as usize..][..64].copy_from_slice(&state.versions[state.flushed - 1]);
                        state.versions.drain(..state.flushed);
                        state.flushed = 0;
                    }
                    let stays = !state.versions.is_empty();
                    if !stays {
                        open.remove(line);
                    }
                    stays
                });
            }
            _ => {}
        }
    }

    /// What a crash leaves: of every open line a random number of its stores; all or none of them half of the time.
    fn crash(&self, random: &mut Random) -> Flaky {
        let mut bytes = self.durable.clone();
        let manner = random.below(4);
        for line in &self.order {
            let versions = &self.open[line].versions;
            let kept = match manner {
                0 | 1 => random.below(versions.len() as u64 + 1) as usize,
                2 => random.below(2) as usize * versions.len(),
                _ => (random.below(5) > 0) as usize * versions.len(),
            };
            if kept > 0 {
                bytes[*line as usize..][..64].copy_from_slice(&versions[kept - 1]);
            }
        }
        Flaky { bytes, writes_left: u64::MAX }
    }
}

fn line_of(bytes: &[u8], line: u64) -> [u8; 64] {
    bytes[line as usize..].first_chunk().copied().unwrap()
}

/// Memory that loses power after some writes: later ones are lost.
#[derive(Clone)]
struct Flaky {
    bytes: Vec<u8>,
    writes_left: u64,
}

impl ByteView for Flaky {
    fn read(&mut self, address: u64, buffer: &mut [u8]) {
        buffer.copy_from_slice(&self.bytes[address as usize..][..buffer.len()]);
    }
    fn write(&mut self, address: u64, data: &[u8]) {
        if self.writes_left > 0 {
            self.writes_left -= 1;
            self.bytes[address as usize..][..data.len()].copy_from_slice(data);
        }
    }
}

/// How often each outcome was met.
#[derive(Default, Debug)]
struct Tally {
    before: u64,
    after: u64,
    undone: u64,
    abandoned: u64,
    laps: u64,
}

/// Crashes a program at about every `sparseness`-th operation; `drop_fence` leaves that fence out of every
/// transaction, which must be caught. The error says what went wrong.
fn explore(config: &WorkloadConfig, sparseness: u64, drop_fence: Option<usize>) -> Result<Tally, String> {
    let (plan, base, mut program) = start(config);
    let recovery = Recovery::new(&plan);
    let mut random = Random::stream(config.seed, "crash");
    let mut device = Device { durable: base.bytes().to_vec(), open: FxHashMap::default(), order: Vec::new() };
    let mut tally = Tally::default();
    let mut before = base.bytes().to_vec();
    let mut after = before.clone();
    let mut buffer = OpBuffer::default();
    let mut last_entry = 0;
    while program.next_transaction(&mut buffer) {
        program.memory().read(0, &mut after);
        let log = &plan.layouts()[0].log;
        let entry = buffer.ops.iter().find_map(|op| match *op {
            Op::Store { address, .. } if log.contains(&address) => Some(address),
            _ => None,
        });
        tally.laps += u64::from(entry.is_some_and(|entry| entry < last_entry));
        last_entry = entry.unwrap_or(0);
        let mut fences = 0;
        for &op in &buffer.ops {
            if op == Op::Sfence {
                fences += 1;
            }
            if op != Op::Sfence || drop_fence != Some(fences - 1) {
                device.apply(op, &buffer);
            }
            let committed = op == Op::TxEnd;
            // Operations that write nothing leave nothing new to crash into.
            if matches!(op, Op::Store { .. } | Op::Sfence | Op::TxEnd) && random.below(sparseness) == 0 {
                let image = device.crash(&mut random);
                judge(&plan, &recovery, image, &before, &after, committed, &mut random, &mut tally)?;
            }
        }
        std::mem::swap(&mut before, &mut after);
        buffer.clear();
    }
    Ok(tally)
}

fn judge(
    plan: &Plan,
    recovery: &Recovery,
    mut image: Flaky,
    before: &[u8],
    after: &[u8],
    committed: bool,
    random: &mut Random,
    tally: &mut Tally,
) -> Result<(), String> {
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

    if plan.layouts()[0].log.is_empty() {
        // Without a log the new node may be there in part while nothing points to it: only the head counts.
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
            [(64, 8, 400, 4), (64, 16, 400, 4), (256, 32, 120, 8), (1024, 64, 40, 8), (4096, 16, 12, 40)]
        {
            let mut config = config(workload.kind, tx_size, tx_size + 7, operations);
            config.program.log_ring.0 = 0;
            config.program.copy_bytes = copy_bytes;
            let tally = explore(&config, sparseness, None)
                .unwrap_or_else(|error| panic!("{} of {tx_size} bytes: {error}", workload.name));
            assert!(tally.before > 0 && tally.after > 0, "{} {tally:?}", workload.name);
            if workload.has_log && tx_size == 64 {
                assert!(tally.undone > 10 && tally.abandoned > 10 && tally.laps > 2, "{} {tally:?}", workload.name);
            }
        }
    }
}

#[test]
fn a_protocol_without_any_one_of_its_fences_is_caught() {
    for workload in WORKLOADS {
        for fence in 0..if workload.has_log { 3 } else { 2 } {
            let mut config = config(workload.kind, 256, 3, 400);
            config.program.log_ring.0 = 0;
            let outcome = explore(&config, 2, Some(fence));
            assert!(outcome.is_err(), "{} without fence {fence}: {outcome:?}", workload.name);
        }
    }
}

#[test]
fn a_node_whose_split_is_in_flight_is_recovered() {
    // Small footprint, many inserts: leaves and inner nodes split and the root grows several times.
    let mut config = config(WorkloadKind::BTree, 64, 11, 3_000);
    config.footprint = 4096;
    let tally = explore(&config, 60, None).unwrap();
    assert!(tally.before > 0 && tally.after > 0);
}

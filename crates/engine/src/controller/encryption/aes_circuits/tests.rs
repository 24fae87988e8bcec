//! Who has a circuit when, and when pads are ready.

use super::*;
use crate::config::{AesOccupancy, preset};
use CircuitWaiter::{Read, Write};
use proptest::prelude::*;

const OCCUPANCIES: [AesOccupancy; 2] = [AesOccupancy::Line, AesOccupancy::Block];

/// So many circuits for writes and as many for reads, or the same ones.
fn circuits(number: u32, occupancy: AesOccupancy, pipelined: bool, hold: AesHold, reads: AesReads) -> AesCircuits {
    let mut machine = preset("secpm").unwrap();
    let controller = &mut machine.controller;
    (controller.aes_units, controller.aes_read_units, controller.aes_reads) = (number, number, reads);
    (controller.aes_occupancy, controller.aes_pipelined, controller.aes_hold) = (occupancy, pipelined, hold);
    AesCircuits::new(&machine)
}

/// Whether another write gets the circuit: at once, when the first is encrypted, and when it is admitted.
fn free_when(pipelined: bool, hold: AesHold) -> ([bool; 3], Option<Ps>) {
    let mut circuits = circuits(1, AesOccupancy::Line, pipelined, hold, AesReads::Own);
    circuits.request(Write(7));
    circuits.request(Write(8));
    assert_eq!(circuits.take_waiting(), Some(Write(7)));
    let (circuit, round) = circuits.occupy(7);
    let at_once = circuits.can_be_had();
    circuits.encrypted(circuit);
    let encrypted = circuits.can_be_had();
    assert_eq!(circuits.staged, [7], "it has its register until it is admitted");
    circuits.give_back(7, circuit);
    assert!(circuits.staged.is_empty());
    ([at_once, encrypted, circuits.can_be_had()], round)
}

#[test]
fn write_keeps_its_circuit_as_long_as_the_machine_says() {
    assert_eq!(free_when(false, AesHold::UntilAdmitted), ([false, false, true], None));
    assert_eq!(free_when(true, AesHold::UntilAdmitted), ([false, false, true], None));
    assert_eq!(free_when(false, AesHold::UntilEncrypted), ([false, true, true], None));
    // The event that follows a round later frees it, and nothing else does.
    assert_eq!(free_when(true, AesHold::UntilEncrypted), ([false; 3], Some(4_000)));
}

#[test]
fn pad_of_a_read_begins_when_the_entrance_of_a_circuit_is_free() {
    let begun = |occupancy, pipelined| {
        let mut circuits = circuits(1, occupancy, pipelined, AesHold::UntilAdmitted, AesReads::Own);
        ([0, 0, 1_000_000].map(|known| circuits.read_pad(known, 1).1), circuits.pad)
    };
    assert_eq!(begun(AesOccupancy::Line, false), ([0, 40_000, 1_000_000], 40_000));
    assert_eq!(begun(AesOccupancy::Line, true), ([0, 4_000, 1_000_000], 40_000));
    assert_eq!(begun(AesOccupancy::Block, false), ([0, 160_000, 1_000_000], 160_000));
    assert_eq!(begun(AesOccupancy::Block, true), ([0, 16_000, 1_000_000], 52_000));
}

#[test]
fn read_has_a_circuit_of_writes_while_its_pad_is_made_or_enters() {
    for hold in [AesHold::UntilAdmitted, AesHold::UntilEncrypted] {
        let of = |occupancy, pipelined| circuits(1, occupancy, pipelined, hold, AesReads::Shared).occupy_for_read(1);
        assert_eq!(OCCUPANCIES.map(|occupancy| of(occupancy, false)), [(0, 40_000), (0, 160_000)]);
        assert_eq!(OCCUPANCIES.map(|occupancy| of(occupancy, true)), [(0, 4_000), (0, 16_000)]);
    }
}

#[test]
fn cipher_feedback_takes_four_latencies_or_one_whatever_a_circuit_makes_in_one() {
    for (occupancy, pipelined) in OCCUPANCIES.into_iter().flat_map(|occupancy| [(occupancy, false), (occupancy, true)])
    {
        let mut machine = preset("easy-pm").unwrap();
        (machine.controller.aes_occupancy, machine.controller.aes_pipelined) = (occupancy, pipelined);
        let feedback = [CfbLatency::Serial, CfbLatency::Paper].map(|latency| {
            machine.log.cfb_latency = latency;
            AesCircuits::new(&machine).feedback
        });
        assert_eq!(feedback, [160_000, 40_000]);
    }
}

/// What has a circuit, or a write that has had one and is not admitted.
struct Holder {
    waiter: CircuitWaiter,
    circuit: u32,
    encrypted: bool,
    holds: bool,
}

impl Holder {
    fn is_read(&self) -> bool {
        matches!(self.waiter, Read(_))
    }
}

/// Does one step to the circuits and to the list of what has had one: a write comes, something gets a circuit, the time is
/// over after which one is free by itself, a write is encrypted, or is admitted, or a read comes. Returns whether
/// something got a circuit.
fn step(circuits: &mut AesCircuits, holders: &mut Vec<Holder>, act: u8, n: usize, next: u32) -> bool {
    let early = circuits.entrance.is_some() && circuits.hold == AesHold::UntilEncrypted;
    let of = |holders: &[Holder], wanted: &dyn Fn(&Holder) -> bool| {
        let places: Vec<usize> = (0..holders.len()).filter(|&place| wanted(&holders[place])).collect();
        (!places.is_empty()).then(|| places[n % places.len()])
    };
    match act {
        0 => circuits.request(Write(next)),
        1 => {
            let Some(waiter) = circuits.take_waiting() else { return false };
            let (circuit, occupied) = match waiter {
                Write(slot) => circuits.occupy(slot),
                Read(_) => {
                    let (circuit, occupied) = circuits.occupy_for_read(1);
                    assert_eq!(occupied, circuits.entrance.unwrap_or(circuits.pad));
                    (circuit, None)
                }
            };
            let held = holders.iter().any(|other| other.holds && other.circuit == circuit);
            assert!(!held, "circuit {circuit} is held");
            assert_eq!(occupied, circuits.entrance.filter(|_| early && matches!(waiter, Write(_))));
            holders.push(Holder { waiter, circuit, encrypted: false, holds: true });
            return true;
        }
        2 => {
            let frees_itself = |holder: &Holder| holder.holds && (early || holder.is_read());
            let Some(place) = of(holders, &frees_itself) else { return false };
            holders[place].holds = false;
            circuits.free(holders[place].circuit);
            if holders[place].is_read() {
                holders.remove(place);
            }
        }
        3 => {
            let Some(place) = of(holders, &|holder| !holder.encrypted && !holder.is_read()) else { return false };
            circuits.encrypted(holders[place].circuit);
            holders[place].encrypted = true;
            holders[place].holds &= circuits.hold == AesHold::UntilAdmitted || circuits.entrance.is_some();
        }
        4 => {
            // A line has entered its circuit before it is encrypted.
            let Some(place) = of(holders, &|holder| holder.encrypted) else { return false };
            if early && holders[place].holds {
                return false;
            }
            let Holder { waiter: Write(slot), circuit, .. } = holders.remove(place) else { unreachable!() };
            circuits.give_back(slot, circuit);
        }
        _ => circuits.request(Read(next)),
    }
    false
}

proptest! {
    #[test]
    fn circuits_go_to_the_oldest_and_to_one_at_a_time(
        number in 1..5u32, occupancy in prop::sample::select(&OCCUPANCIES[..]), pipelined: bool, until_admitted: bool,
        steps in prop::collection::vec((0..6u8, 0..100usize), 1..120),
    ) {
        let hold = if until_admitted { AesHold::UntilAdmitted } else { AesHold::UntilEncrypted };
        let mut circuits = circuits(number, occupancy, pipelined, hold, AesReads::Shared);
        let (mut holders, mut wanted, mut given) = (Vec::new(), 0, 0);
        for (act, n) in steps {
            let could = circuits.can_be_had();
            let got = step(&mut circuits, &mut holders, act, n, wanted);
            prop_assert_eq!(got, act == 1 && could);
            wanted += u32::from(act == 0 || act == 5);
            if got {
                let (Write(slot) | Read(slot)) = holders.last().unwrap().waiter;
                prop_assert_eq!(slot, given, "the oldest comes first");
                given += 1;
            }
            let held = holders.iter().filter(|holder| holder.holds).count();
            prop_assert_eq!(circuits.can_be_had(), held < number as usize && given < wanted);
            let staged: Vec<u32> = holders.iter().filter_map(|holder| match holder.waiter {
                Write(slot) => Some(slot),
                Read(_) => None,
            }).collect();
            prop_assert_eq!(&circuits.staged, &staged, "a read has no register");
        }
    }

    /// Each pad begins as soon as its counter is known and a circuit takes it.
    #[test]
    fn read_pads_begin_as_early_as_circuits_allow(
        number in 1..5u32, occupancy in prop::sample::select(&OCCUPANCIES[..]), pipelined: bool,
        gaps in prop::collection::vec(0..60_000u64, 1..40),
    ) {
        let mut circuits = circuits(number, occupancy, pipelined, AesHold::UntilAdmitted, AesReads::Own);
        let taken = circuits.entrance.unwrap_or(circuits.pad);
        let (mut known, mut begun) = (0, Vec::<Ps>::new());
        for gap in gaps {
            known += gap;
            let (circuit, begins) = circuits.read_pad(known, 1);
            let busy_at = |at: Ps| begun.iter().filter(|&&begins| begins <= at && at < begins + taken).count();
            prop_assert!(circuit < number && begins >= known && busy_at(begins) < number as usize);
            prop_assert!(begins == known || busy_at(begins - 1) == number as usize, "it could begin before {}", begins);
            begun.push(begins);
        }
    }
}

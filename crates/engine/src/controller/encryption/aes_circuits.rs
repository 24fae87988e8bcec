//! The AES circuits, and the staging registers in which encrypted lines wait. A write takes a circuit and a register at
//! the increment of its counter. It keeps the register until the line is admitted. It keeps the circuit as long, or until
//! its pad is ready, or, in a pipelined circuit, until its first round is over. A read holds a circuit while its pad is
//! made, or for a round.

use crate::config::{AesHold, CfbLatency, Machine};
use crate::kernel::{Ps, ns_to_ps};
use std::collections::VecDeque;

/// AES blocks in a line.
const BLOCKS_PER_LINE: Ps = 4;

/// The circuits and the writes that wait for one.
#[derive(Clone)]
pub(in crate::controller) struct AesCircuits {
    /// The free circuits for writes.
    idle: Vec<u32>,
    /// Writes that wait for a circuit, oldest first.
    waiting: VecDeque<u32>,
    /// Writes with a staging register: their counters are incremented, and they are not admitted.
    pub staged: Vec<u32>,
    hold: AesHold,
    /// How long a line occupies the entrance of a pipelined circuit, in picoseconds; `None` if none is pipelined.
    round: Option<Ps>,
    /// For each read circuit, the time until which it takes no other line, in picoseconds.
    reading: Vec<Ps>,
    /// Latency of a pad, in picoseconds.
    pub pad: Ps,
    /// Latency of a line in cipher feedback mode, in picoseconds.
    pub feedback: Ps,
}

impl AesCircuits {
    pub fn new(machine: &Machine) -> Self {
        let config = &machine.controller;
        let pad = ns_to_ps(config.aes_latency_ns);
        Self {
            idle: (0..config.aes_units).rev().collect(),
            waiting: VecDeque::new(),
            staged: Vec::with_capacity(16),
            hold: config.aes_hold,
            round: config.aes_pipelined.then(|| pad / rounds(config.aes_key_bits)),
            reading: vec![0; config.aes_read_units as usize],
            pad,
            feedback: match machine.log.cfb_latency {
                CfbLatency::Serial => BLOCKS_PER_LINE * pad,
                CfbLatency::Paper => pad,
            },
        }
    }

    /// Adds the write in `slot` to those that wait for a circuit.
    pub fn request(&mut self, slot: u32) {
        self.waiting.push_back(slot);
    }

    /// Takes the write that has waited longest, if a circuit is free.
    pub fn take_waiting(&mut self) -> Option<u32> {
        if self.idle.is_empty() { None } else { self.waiting.pop_front() }
    }

    /// Whether a write waits for a circuit and one is free.
    pub fn can_be_had(&self) -> bool {
        !self.idle.is_empty() && !self.waiting.is_empty()
    }

    /// Gives a free circuit and a staging register to the write in `slot`. Returns the circuit's number, and how long it
    /// takes no other line, in picoseconds, if that ends by itself.
    pub fn occupy(&mut self, slot: u32) -> (u32, Option<Ps>) {
        self.staged.push(slot);
        let circuit = self.idle.pop().expect("the caller saw a free circuit");
        (circuit, self.round.filter(|_| self.hold == AesHold::UntilEncrypted))
    }

    /// Frees circuit `circuit`, which takes the next line from now on.
    pub fn free(&mut self, circuit: u32) {
        self.idle.push(circuit);
    }

    /// Handles that circuit `circuit` has encrypted the line of a write.
    pub fn encrypted(&mut self, circuit: u32) {
        if self.hold == AesHold::UntilEncrypted && self.round.is_none() {
            self.free(circuit);
        }
    }

    /// Frees the register of the write in `slot`, which is admitted, and with it circuit `circuit` if the write still
    /// holds it.
    pub fn give_back(&mut self, slot: u32, circuit: u32) {
        if self.hold == AesHold::UntilAdmitted {
            self.free(circuit);
        }
        self.staged.retain(|&other| other != slot);
    }

    /// Makes a pad in the first free read circuit, not before the time `known`. Returns the circuit and the time at
    /// which the pad is ready.
    pub fn read_pad(&mut self, known: Ps) -> (u32, Ps) {
        let circuit =
            (0..self.reading.len()).min_by_key(|&circuit| self.reading[circuit]).expect("one circuit at least");
        let begun = known.max(self.reading[circuit]);
        self.reading[circuit] = begun + self.round.unwrap_or(self.pad);
        (circuit as u32, begun + self.pad)
    }
}

/// Rounds of AES with keys of `key_bits` bits (FIPS 197, section 5).
fn rounds(key_bits: u32) -> Ps {
    Ps::from(key_bits / 32 + 6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::preset;
    use proptest::prelude::*;

    fn circuits(number: u32, pipelined: bool, hold: AesHold, key_bits: u32) -> AesCircuits {
        let mut machine = preset("secpm").unwrap();
        let controller = &mut machine.controller;
        (controller.aes_units, controller.aes_read_units) = (number, number);
        (controller.aes_pipelined, controller.aes_hold, controller.aes_key_bits) = (pipelined, hold, key_bits);
        AesCircuits::new(&machine)
    }

    /// Whether another write gets the circuit: at once, when the first is encrypted, and when it is admitted.
    fn free_when(pipelined: bool, hold: AesHold) -> ([bool; 3], Option<Ps>) {
        let mut circuits = circuits(1, pipelined, hold, 128);
        circuits.request(7);
        circuits.request(8);
        assert_eq!(circuits.take_waiting(), Some(7));
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
    fn pipelined_circuit_takes_a_line_each_round() {
        let reads = |pipelined, key_bits| {
            let mut circuits = circuits(1, pipelined, AesHold::UntilAdmitted, key_bits);
            [0, 0, 1_000_000].map(|known| circuits.read_pad(known).1)
        };
        assert_eq!(reads(false, 128), [40_000, 80_000, 1_040_000]);
        assert_eq!(reads(true, 128), [40_000, 44_000, 1_040_000]);
        assert_eq!(reads(true, 256), [40_000, 40_000 + 40_000 / 14, 1_040_000]);
    }

    /// A write that has a circuit, or has had one, and is not admitted.
    struct Staged {
        slot: u32,
        circuit: u32,
        encrypted: bool,
        holds: bool,
    }

    /// Does one step to the circuits and to the list of staged writes: a write comes, gets a circuit, has passed its first
    /// round, is encrypted, or is admitted. Returns whether a write got one.
    fn step(circuits: &mut AesCircuits, staged: &mut Vec<Staged>, act: u8, n: usize, next: u32) -> bool {
        let pipelined_early = circuits.round.is_some() && circuits.hold == AesHold::UntilEncrypted;
        let of = |staged: &[Staged], wanted: fn(&Staged) -> bool| {
            let places: Vec<usize> = (0..staged.len()).filter(|&place| wanted(&staged[place])).collect();
            (!places.is_empty()).then(|| places[n % places.len()])
        };
        match act {
            0 => circuits.request(next),
            1 => {
                let Some(slot) = circuits.take_waiting() else { return false };
                let (circuit, round) = circuits.occupy(slot);
                assert!(
                    staged.iter().all(|other| !other.holds || other.circuit != circuit),
                    "circuit {circuit} is held"
                );
                assert_eq!(round, circuits.round.filter(|_| pipelined_early));
                staged.push(Staged { slot, circuit, encrypted: false, holds: true });
                return true;
            }
            2 if pipelined_early => {
                let Some(place) = of(staged, |staged| staged.holds) else { return false };
                staged[place].holds = false;
                circuits.free(staged[place].circuit);
            }
            2 | 3 => {
                let Some(place) = of(staged, |staged| !staged.encrypted) else { return false };
                circuits.encrypted(staged[place].circuit);
                staged[place].encrypted = true;
                staged[place].holds &= circuits.hold == AesHold::UntilAdmitted || circuits.round.is_some();
            }
            _ => {
                // A round is over before its line is encrypted.
                let Some(place) = of(staged, |staged| staged.encrypted) else { return false };
                if pipelined_early && staged[place].holds {
                    return false;
                }
                let Staged { slot, circuit, .. } = staged.remove(place);
                circuits.give_back(slot, circuit);
            }
        }
        false
    }

    proptest! {
        #[test]
        fn circuits_go_to_the_oldest_write_and_to_one_at_a_time(
            number in 1..5u32, pipelined: bool, until_admitted: bool,
            steps in prop::collection::vec((0..5u8, 0..100usize), 1..120),
        ) {
            let hold = if until_admitted { AesHold::UntilAdmitted } else { AesHold::UntilEncrypted };
            let mut circuits = circuits(number, pipelined, hold, 128);
            let (mut staged, mut wanted, mut given) = (Vec::new(), 0, 0);
            for (act, n) in steps {
                let could = circuits.can_be_had();
                let got = step(&mut circuits, &mut staged, act, n, wanted);
                prop_assert_eq!(got, act == 1 && could);
                wanted += u32::from(act == 0);
                if got {
                    prop_assert_eq!(staged.last().unwrap().slot, given, "the oldest comes first");
                    given += 1;
                }
                let held = staged.iter().filter(|staged| staged.holds).count();
                prop_assert_eq!(circuits.can_be_had(), held < number as usize && given < wanted);
                let slots: Vec<u32> = staged.iter().map(|staged| staged.slot).collect();
                prop_assert_eq!(&circuits.staged, &slots);
            }
        }

        /// Each pad begins as soon as its counter is known and a circuit takes it.
        #[test]
        fn read_pads_begin_as_early_as_circuits_allow(
            number in 1..5u32, pipelined: bool, gaps in prop::collection::vec(0..60_000u64, 1..40),
        ) {
            let mut circuits = circuits(number, pipelined, AesHold::UntilAdmitted, 128);
            let taken = circuits.round.unwrap_or(circuits.pad);
            let (mut known, mut begun) = (0, Vec::<Ps>::new());
            for gap in gaps {
                known += gap;
                let (circuit, ready) = circuits.read_pad(known);
                let begins = ready - circuits.pad;
                let busy_at = |at: Ps| begun.iter().filter(|&&begins| begins <= at && at < begins + taken).count();
                prop_assert!(circuit < number && begins >= known && busy_at(begins) < number as usize);
                prop_assert!(begins == known || busy_at(begins - 1) == number as usize, "it could begin before {}", begins);
                begun.push(begins);
            }
        }
    }
}

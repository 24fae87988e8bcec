//! The AES circuits, and the staging registers in which encrypted lines wait. A write takes a circuit and a register at
//! the increment of its counter. It keeps the register until the line is admitted. It keeps the circuit as long, or until
//! its pad is ready, or, in a pipelined circuit, until its blocks have passed the entrance. A read holds a circuit while
//! its pad is made, or until its blocks have passed the entrance.
//!
//! Reads have circuits of their own, or those of writes. To share them cannot deadlock: a write that keeps its circuit until
//! it is admitted waits for entries of the queues, blocks of metadata and writes that have circuits, too, and these wait for
//! no pad of a read.

#[cfg(test)]
mod tests;

use super::super::in_flight::CircuitWaiter;
use crate::config::{AesHold, AesReads, BLOCKS_PER_LINE, CfbLatency, Machine};
use crate::kernel::{Ps, ns_to_ps};
use std::collections::VecDeque;

/// The circuits and what waits for one.
#[derive(Clone)]
pub(in crate::controller) struct AesCircuits {
    /// The free circuits for writes, and for reads if they share them.
    idle: Vec<u32>,
    /// What waits for one of these, oldest first.
    waiting: VecDeque<CircuitWaiter>,
    /// Writes with a staging register: their counters are incremented, and they are not admitted.
    pub staged: Vec<u32>,
    hold: AesHold,
    /// How long a line occupies the entrance of a pipelined circuit, in picoseconds; `None` if none is pipelined.
    entrance: Option<Ps>,
    /// For each circuit that only reads have, the time until which it takes no other line, in picoseconds.
    reading: Vec<Ps>,
    /// Latency of a pad, in picoseconds.
    pub pad: Ps,
    /// Latency of a line in cipher feedback mode, in picoseconds.
    pub feedback: Ps,
}

impl AesCircuits {
    pub fn new(machine: &Machine) -> Self {
        let config = &machine.controller;
        let block = ns_to_ps(config.aes_latency_ns);
        let own = if config.aes_reads == AesReads::Own { config.aes_read_units } else { 0 };
        Self {
            idle: (0..config.aes_units).rev().collect(),
            waiting: VecDeque::new(),
            staged: Vec::with_capacity(16),
            hold: config.aes_hold,
            entrance: config.aes_entrance(),
            reading: vec![0; own as usize],
            pad: config.pad_latency(),
            feedback: match machine.log.cfb_latency {
                CfbLatency::Serial => BLOCKS_PER_LINE * block,
                CfbLatency::Paper => block,
            },
        }
    }

    /// Whether reads share the circuits of writes.
    pub fn are_shared(&self) -> bool {
        self.reading.is_empty()
    }

    /// Adds `waiter` to what waits for a circuit.
    pub fn request(&mut self, waiter: CircuitWaiter) {
        self.waiting.push_back(waiter);
    }

    /// Takes what has waited longest, if a circuit is free.
    #[inline]
    pub fn take_waiting(&mut self) -> Option<CircuitWaiter> {
        if self.idle.is_empty() { None } else { self.waiting.pop_front() }
    }

    /// Whether something waits for a circuit and one is free.
    pub fn can_be_had(&self) -> bool {
        !self.idle.is_empty() && !self.waiting.is_empty()
    }

    /// Latency of so many pads, one or two, in one circuit, in picoseconds: the second enters it as soon as it can.
    pub fn pads(&self, number: u8) -> Ps {
        self.pad + Ps::from(number - 1) * self.entrance.unwrap_or(self.pad)
    }

    /// Gives a free circuit and a staging register to the write in `slot`. Returns the circuit's number, and how long a pad
    /// keeps others out of it, in picoseconds, if that ends by itself.
    pub fn occupy(&mut self, slot: u32) -> (u32, Option<Ps>) {
        self.staged.push(slot);
        let circuit = self.idle.pop().expect("the caller saw a free circuit");
        (circuit, self.entrance.filter(|_| self.hold == AesHold::UntilEncrypted))
    }

    /// Gives a free circuit of writes to a read that needs so many `pads`. Returns the circuit's number, and how long it takes
    /// no other line, in picoseconds.
    pub fn occupy_for_read(&mut self, pads: u8) -> (u32, Ps) {
        let circuit = self.idle.pop().expect("the caller saw a free circuit");
        (circuit, Ps::from(pads) * self.entrance.unwrap_or(self.pad))
    }

    /// Frees circuit `circuit`, which takes the next line from now on.
    pub fn free(&mut self, circuit: u32) {
        self.idle.push(circuit);
    }

    /// Handles that circuit `circuit` has encrypted the line of a write.
    pub fn encrypted(&mut self, circuit: u32) {
        if self.hold == AesHold::UntilEncrypted && self.entrance.is_none() {
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

    /// Makes so many `pads` in the first free circuit of those that only reads have, not before the time `known`. Returns the
    /// circuit and the time at which the first begins.
    pub fn read_pad(&mut self, known: Ps, pads: u8) -> (u32, Ps) {
        let circuit =
            (0..self.reading.len()).min_by_key(|&circuit| self.reading[circuit]).expect("one circuit at least");
        let begun = known.max(self.reading[circuit]);
        self.reading[circuit] = begun + Ps::from(pads) * self.entrance.unwrap_or(self.pad);
        (circuit as u32, begun)
    }
}

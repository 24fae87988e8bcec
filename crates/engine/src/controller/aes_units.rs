//! The AES circuits. A write holds a circuit from the increment of its counter until the line is admitted; a read holds
//! one while its pad is made.

use crate::config::{CfbLatency, Machine};
use crate::kernel::{Ps, ns_to_ps};
use std::collections::VecDeque;

/// AES blocks in a line.
const BLOCKS_PER_LINE: Ps = 4;

/// The circuits and the writes that wait for one.
pub(super) struct AesUnits {
    free: Vec<u32>,
    /// Writes that wait for a circuit, oldest first.
    wanting: VecDeque<u32>,
    /// Writes that hold a circuit.
    pub held_by: Vec<u32>,
    /// For each read circuit, the time until which it is busy, in picoseconds.
    reading: Vec<Ps>,
    /// Latency of a pad, in picoseconds.
    pub pad: Ps,
    /// Latency of a line in cipher feedback mode, in picoseconds.
    pub feedback: Ps,
}

impl AesUnits {
    pub fn new(machine: &Machine) -> Self {
        let config = &machine.controller;
        let pad = ns_to_ps(config.aes_latency_ns);
        Self {
            free: (0..config.aes_units).rev().collect(),
            wanting: VecDeque::new(),
            held_by: Vec::with_capacity(16),
            reading: vec![0; config.aes_read_units as usize],
            pad,
            feedback: match machine.log.cfb_latency {
                CfbLatency::Serial => BLOCKS_PER_LINE * pad,
                CfbLatency::Paper => pad,
            },
        }
    }

    /// Adds the write in `slot` to those that wait for a circuit.
    pub fn want(&mut self, slot: u32) {
        self.wanting.push_back(slot);
    }

    /// Takes the write that has waited longest, if a circuit is free.
    pub fn take_waiting(&mut self) -> Option<u32> {
        if self.free.is_empty() { None } else { self.wanting.pop_front() }
    }

    /// Whether a write waits for a circuit and one is free.
    pub fn can_be_had(&self) -> bool {
        !self.free.is_empty() && !self.wanting.is_empty()
    }

    /// Gives a free circuit to the write in `slot`. Returns its number.
    pub fn occupy(&mut self, slot: u32) -> u32 {
        self.held_by.push(slot);
        self.free.pop().expect("the caller saw a free circuit")
    }

    /// Frees circuit `unit`, which the write in `slot` held.
    pub fn give_back(&mut self, slot: u32, unit: u32) {
        self.free.push(unit);
        self.held_by.retain(|&other| other != slot);
    }

    /// Makes a pad in the first free read circuit, not before the time `known`. Returns the circuit and the time at
    /// which the pad is ready.
    pub fn read_pad(&mut self, known: Ps) -> (u32, Ps) {
        let unit = (0..self.reading.len()).min_by_key(|&unit| self.reading[unit]).expect("one circuit at least");
        let done = known.max(self.reading[unit]) + self.pad;
        self.reading[unit] = done;
        (unit as u32, done)
    }
}

//! The AES circuits. A circuit for writes is held from the bump of a counter until the line is admitted; a circuit for
//! reads for as long as its pad takes.

use crate::config::{CfbLatency, Machine};
use crate::kernel::{Ps, ns_to_ps};
use std::collections::VecDeque;

/// Blocks of AES in a line.
const BLOCKS_PER_LINE: Ps = 4;

/// The circuits and the writes that want one.
pub(super) struct AesUnits {
    free: Vec<u32>,
    /// Writes that want one, oldest first.
    wanting: VecDeque<u32>,
    /// Writes that hold one.
    pub held_by: Vec<u32>,
    /// Until when each circuit for reads is taken.
    reading: Vec<Ps>,
    /// Latency of a pad.
    pub pad: Ps,
    /// Latency of a line in cipher feedback mode.
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

    /// The write in `slot` wants a circuit.
    pub fn want(&mut self, slot: u32) {
        self.wanting.push_back(slot);
    }

    /// Takes the write that has waited longest, if there is a circuit for it.
    pub fn take_waiting(&mut self) -> Option<u32> {
        if self.free.is_empty() { None } else { self.wanting.pop_front() }
    }

    /// Whether a write that wants a circuit can have one.
    pub fn can_be_had(&self) -> bool {
        !self.free.is_empty() && !self.wanting.is_empty()
    }

    /// The write in `slot` takes a free circuit.
    pub fn occupy(&mut self, slot: u32) -> u32 {
        self.held_by.push(slot);
        self.free.pop().expect("the caller saw a free circuit")
    }

    /// The write in `slot` needs its circuit `unit` no more.
    pub fn give_back(&mut self, slot: u32, unit: u32) {
        self.free.push(unit);
        self.held_by.retain(|&other| other != slot);
    }

    /// The circuit for reads that is free first makes a pad, from `known` on at the earliest: which one, and when it is
    /// done.
    pub fn read_pad(&mut self, known: Ps) -> (u32, Ps) {
        let unit = (0..self.reading.len()).min_by_key(|&unit| self.reading[unit]).expect("one circuit at least");
        let done = known.max(self.reading[unit]) + self.pad;
        self.reading[unit] = done;
        (unit as u32, done)
    }
}

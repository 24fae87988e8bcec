//! What a boot does, counted: lines that it reads and writes by kind, and what its circuits compute.
//!
//! A step fetches what it needs from the media and keeps nothing but the counter block and the line of MACs in hand. What a
//! step has computed is known to it. Nodes on the way to the root are fetched once, because verified nodes are cached.

use crate::layout::MacLayout;
use crate::message::{MediaLine, MediaUnit};
use serde::Serialize;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// Lines by kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct Lines {
    /// Data lines.
    pub data: u64,
    /// Counter blocks.
    pub counter: u64,
    /// Lines of MACs. A MAC beside its line moves with it and is none.
    pub mac: u64,
    /// Nodes of the integrity tree.
    pub tree: u64,
    /// Lines of the shadow table.
    pub table: u64,
}

impl Lines {
    /// So many lines of the kind of `media`.
    pub fn of(media: MediaLine, number: u64) -> Self {
        let none = Self::default();
        match media.unit() {
            MediaUnit::Data(_) | MediaUnit::Modified(_) => Self { data: number, ..none },
            MediaUnit::Counter(_) => Self { counter: number, ..none },
            MediaUnit::Mac(_) => Self { mac: number, ..none },
            MediaUnit::Node(_) => Self { tree: number, ..none },
            MediaUnit::Table(_) => Self { table: number, ..none },
        }
    }

    /// Lines of the kind of `media`.
    pub fn like(&self, media: MediaLine) -> u64 {
        match media.unit() {
            MediaUnit::Data(_) | MediaUnit::Modified(_) => self.data,
            MediaUnit::Counter(_) => self.counter,
            MediaUnit::Mac(_) => self.mac,
            MediaUnit::Node(_) => self.tree,
            MediaUnit::Table(_) => self.table,
        }
    }

    /// Lines of all kinds.
    pub fn total(&self) -> u64 {
        self.data + self.counter + self.mac + self.tree + self.table
    }
}

impl AddAssign for Lines {
    fn add_assign(&mut self, other: Self) {
        let Lines { data, counter, mac, tree, table } = other;
        self.data += data;
        self.counter += counter;
        self.mac += mac;
        self.tree += tree;
        self.table += table;
    }
}

/// The work of a boot, or of a step of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, schemars::JsonSchema)]
pub struct Work {
    /// Lines read.
    pub reads: Lines,
    /// Lines written.
    pub writes: Lines,
    /// MACs of data lines computed.
    pub macs: u64,
    /// How many of them were computed to try a counter.
    pub trials: u64,
    /// Hashes of tree nodes and counter blocks computed.
    pub hashes: u64,
    /// Pads made, to decrypt a line or to encrypt it.
    pub pads: u64,
}

impl AddAssign for Work {
    fn add_assign(&mut self, other: Self) {
        let Work { reads, writes, macs, trials, hashes, pads } = other;
        self.reads += reads;
        self.writes += writes;
        self.macs += macs;
        self.trials += trials;
        self.hashes += hashes;
        self.pads += pads;
    }
}

impl Add for Work {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl Sum for Work {
    fn sum<I: Iterator<Item = Self>>(works: I) -> Self {
        works.fold(Self::default(), Add::add)
    }
}

/// Counts while a boot works.
#[derive(Default)]
pub(super) struct Tally {
    pub work: Work,
    /// The counter block and the line of MACs in hand.
    in_hand: [Option<MediaLine>; 2],
}

impl Tally {
    /// `media` is read.
    pub fn read(&mut self, media: MediaLine) {
        self.work.reads += Lines::of(media, 1);
    }

    /// The counter block `media` is needed: it is read, unless it is in hand.
    pub fn needs_counter(&mut self, media: MediaLine) {
        self.needs(0, media);
    }

    /// The line of MACs `media` is needed: it is read, unless it is in hand or lies beside a line that is read anyway.
    pub fn needs_macs(&mut self, media: MediaLine, layout: MacLayout) {
        if !layout.beside() {
            self.needs(1, media);
        }
    }

    /// `media` is written; `beside` says that MACs move with their lines, as modified bits always do.
    pub fn written(&mut self, media: MediaLine, beside: bool) {
        let moves_with_line = match media.unit() {
            MediaUnit::Mac(_) => beside,
            MediaUnit::Modified(_) => true,
            MediaUnit::Data(_) | MediaUnit::Counter(_) | MediaUnit::Node(_) | MediaUnit::Table(_) => false,
        };
        self.work.writes += Lines::of(media, u64::from(!moves_with_line));
    }

    fn needs(&mut self, hand: usize, media: MediaLine) {
        if self.in_hand[hand].replace(media) != Some(media) {
            self.read(media);
        }
    }
}

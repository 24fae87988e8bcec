//! The link to a module behind CXL.mem: two directions, each with its bandwidth and its way, and credits. A direction carries
//! flits of 68 bytes with four slots of 16 (CXL 2.0, section 4.2): a request of a read and the answer of a write take a slot,
//! a write and the answer of a read a slot and the four of their line.
//!
//! Decisions: messages fill flits, so that each takes its slots' share of them. A request waits for a credit of its kind,
//! which its answer returns.

use super::Channel;
use crate::config::{self, LinkKind};
use crate::kernel::{Ps, ns_to_ps};
use crate::message::MediaOp;

const FLIT_BYTES: u64 = 68;
const FLIT_SLOTS: u64 = 4;
const LINE_SLOTS: u64 = 4;

#[derive(Clone, Debug)]
pub(super) struct Link {
    /// How long a message without and one with a line occupies a direction.
    length: [Ps; 2],
    way: Ps,
    to_module: Channel,
    to_host: Channel,
    /// For reads and writes, when each credit is there again.
    credits: [Vec<Ps>; 2],
}

impl Link {
    /// The link of a machine; `None` if it has none.
    pub fn of(link: &config::Link) -> Option<Self> {
        if link.kind == LinkKind::None {
            return None;
        }
        let length = |slots: u64| ns_to_ps((slots * FLIT_BYTES / FLIT_SLOTS) as f64 / link.bytes_per_ns);
        Some(Self {
            length: [length(1), length(1 + LINE_SLOTS)],
            way: ns_to_ps(link.latency_ns) + ns_to_ps(link.ide_ns),
            to_module: Channel::default(),
            to_host: Channel::default(),
            credits: [link.read_credits, link.write_credits].map(|credits| vec![0; credits as usize]),
        })
    }

    /// How long the first message of an access occupies the link.
    pub fn length(&self, op: MediaOp) -> Ps {
        self.length[op as usize]
    }

    /// Sends the request of an access; returns when the module has it.
    pub fn ask(&mut self, now: Ps, op: MediaOp) -> Ps {
        let credit = *self.first(op);
        let length = self.length(op);
        self.to_module.occupy(now, now.max(credit), length) + length + self.way
    }

    /// The module answers an access at `at`; returns when the host has the answer.
    pub fn answer(&mut self, now: Ps, op: MediaOp, at: Ps) -> Ps {
        let length = self.length[1 - op as usize];
        let answered = self.to_host.occupy(now, at, length) + length + self.way;
        *self.first(op) = answered;
        answered
    }

    /// When the first credit is there again.
    fn first(&mut self, op: MediaOp) -> &mut Ps {
        self.credits[op as usize].iter_mut().min().expect("one credit at least")
    }
}

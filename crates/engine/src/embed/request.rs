//! What the other simulator sends, and what it gets back.

use super::figures::REQUESTORS_MAX;
use crate::kernel::Ps;
use crate::message::{Line, LineBytes};

/// A mask of all 64 bytes of a line.
pub const WHOLE_LINE: u64 = u64::MAX;

/// A request to memory.
#[derive(Clone, Copy, Debug)]
pub enum Request<'a> {
    /// The 64 bytes of a line.
    Read,
    /// Writes a line. Bit `i` of `mask`: whether byte `i` is written; the line keeps its other bytes.
    /// `counter_atomic`: line and counter persist together, if the design leaves the choice.
    Write { bytes: &'a LineBytes, mask: u64, counter_atomic: bool },
    /// Makes the counters around a line durable.
    CounterWriteback,
}

/// The kinds of request; each has its own queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A [`Request::Read`].
    Read,
    /// A [`Request::Write`].
    Write,
    /// A [`Request::CounterWriteback`].
    CounterWriteback,
}

impl Kind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::CounterWriteback];

    /// What its requests are called, and the machine's value that limits them.
    pub(super) fn names(self) -> (&'static str, &'static str) {
        match self {
            Kind::Read => ("reads", "controller.read_queue_entries"),
            Kind::Write => ("writes", "controller.wpq_entries"),
            Kind::CounterWriteback => ("counter write-backs", "controller.counter_wpq_entries"),
        }
    }
}

impl Request<'_> {
    /// The request's kind.
    pub fn kind(&self) -> Kind {
        match self {
            Request::Read => Kind::Read,
            Request::Write { .. } => Kind::Write,
            Request::CounterWriteback => Kind::CounterWriteback,
        }
    }
}

/// The answer to a request. A write is answered when it is in the persistence domain, a read when its line is
/// decrypted.
#[derive(Clone, Copy, Debug)]
pub struct Answer {
    /// The number of the request.
    pub id: u64,
    /// Who sent the request.
    pub requestor: u32,
    /// The byte address of the request.
    pub address: u64,
    /// The time at which the request was sent, in picoseconds.
    pub sent: Ps,
    /// The time of the answer, in picoseconds.
    pub at: Ps,
    /// The kind of the request.
    pub kind: Kind,
    /// A read of a line that a power failure has damaged: see [`Memory::damaged_lines`](super::Memory::damaged_lines).
    pub damaged: bool,
    /// The bytes that were read; zeros for other requests.
    pub bytes: LineBytes,
}

/// Why a call was refused. The text is one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// An argument is invalid.
    #[error("{0}")]
    Argument(String),
    /// The queue is full; it will have room later.
    #[error("{0}")]
    Full(String),
    /// The call is not possible in this state, or with this design or machine.
    #[error("{0}")]
    State(String),
}

impl Refusal {
    pub(super) fn of_requestor(requestor: u32) -> Self {
        Self::Argument(format!("requestor = {requestor} is not from 0 to {}", REQUESTORS_MAX - 1))
    }
}

/// A request in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnderWay {
    pub id: u64,
    pub requestor: u32,
    pub line: Line,
    pub kind: Kind,
    /// The channel of the line, if requests of this kind have a limit there.
    pub channel: u32,
    pub sent: Ps,
    /// How many writes and stores there had been, this one included.
    pub number: u64,
    /// A digest of the bytes of a write.
    pub digest: u64,
    /// Whether the line of a read was damaged when it was sent.
    pub damaged: bool,
    /// The number of the measurement period in which it was sent.
    pub period: u64,
}

/// The limits of requests of one kind, and how many are in flight.
#[derive(Clone, Debug)]
pub(super) struct Room {
    pub used: u32,
    pub limit: u32,
    /// Those in flight on each channel, and their limit; counted only if there is one.
    pub on_channel: Vec<u32>,
    pub channel_limit: Option<u32>,
}

impl Room {
    pub fn new(limit: u32, channels: u32, channel_limit: Option<u32>) -> Self {
        let on_channel = channel_limit.map_or(0, |_| channels as usize);
        Self { used: 0, limit, on_channel: vec![0; on_channel], channel_limit }
    }

    /// Whether there is room for one more, apart from the limit of its channel.
    pub fn any(&self) -> bool {
        self.used < self.limit
    }

    /// Whether `channel` has room for one more.
    pub fn any_on(&self, channel: u32) -> bool {
        self.channel_limit.is_none_or(|limit| self.on_channel[channel as usize] < limit)
    }

    /// One more on `channel` if `more`, or else one less.
    pub fn change(&mut self, channel: u32, more: bool) {
        let change = |number: &mut u32| if more { *number += 1 } else { *number -= 1 };
        change(&mut self.used);
        self.on_channel.get_mut(channel as usize).into_iter().for_each(change);
    }

    /// Nothing is in flight.
    pub fn clear(&mut self) {
        self.used = 0;
        self.on_channel.fill(0);
    }
}

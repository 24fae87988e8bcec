//! The part of a machine that says what is between the controller and modules that are not on its memory channels.

use super::Machine;
use super::fields::{QUEUE, TIMING};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A link between the controller and each module, with two directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// What links the controller and each module. Decision.
    pub kind: LinkKind,
    /// From the last bit of a message on the link until the other side has it, in ns, in each direction: ports, retimers and
    /// the way itself.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub latency_ns: f64,
    /// What encryption and integrity of the link (IDE) take, in ns, in each direction. Decision: 0, no such link.
    #[schemars(range(min = 0, max = 1_000_000), extend("x-because" = TIMING))]
    pub ide_ns: f64,
    /// Bytes of each direction in a nanosecond, headers and checksums included.
    #[schemars(range(min = 1, max = 1_024), extend("x-because" = "a lane moves four bytes in a nanosecond, and a link has some"))]
    pub bytes_per_ns: f64,
    /// Reads that one module has not answered, at most.
    #[schemars(range(min = 1, max = 4_096), extend("x-because" = QUEUE))]
    pub read_credits: u32,
    /// Writes that one module has not answered, at most.
    #[schemars(range(min = 1, max = 4_096), extend("x-because" = QUEUE))]
    pub write_credits: u32,
    /// What a power failure leaves without any help from programs. Decision.
    pub domain: LinkDomain,
    /// How far the flush goes that the host begins when power fails (Global Persistent Flush). Decision.
    pub power_flush: PowerFlush,
}

/// What links the controller and each module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// A memory channel: there is no link.
    None,
    /// CXL.mem, with flits of 68 bytes (CXL 2.0).
    Cxl,
}

/// Where the persistence domain begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkDomain {
    /// At the host: its write pending queue is flushed when power fails.
    Host,
    /// At the module: what it has not taken is lost.
    Device,
}

/// How far the flush goes that the host begins when power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PowerFlush {
    /// To its end: the host sends what is in the domain, and then modules write their buffers to the media.
    Completes,
    /// The first phase fails: the host sends nothing, and modules write what they have.
    #[serde(rename = "phase-1-fails")]
    #[schemars(rename = "phase-1-fails")]
    Phase1Fails,
    /// The second phase fails: what modules have not written to the media is lost, and so is what the host has sent.
    #[serde(rename = "phase-2-fails")]
    #[schemars(rename = "phase-2-fails")]
    Phase2Fails,
}

impl Link {
    /// Whether a power failure leaves what is in the write pending queue.
    pub fn keeps_queue(&self) -> bool {
        self.kind == LinkKind::None || self.domain == LinkDomain::Host && self.power_flush == PowerFlush::Completes
    }

    /// Whether a power failure leaves what modules have in their buffers.
    pub fn keeps_buffers(&self) -> bool {
        self.kind == LinkKind::None || self.power_flush != PowerFlush::Phase2Fails
    }
}

impl Machine {
    /// The value by which the machine loses lines of which it has told programs that they are durable, if one does.
    pub fn loses_durable(&self) -> Option<&'static str> {
        let flush = match self.link.power_flush {
            _ if self.link.kind == LinkKind::None => None,
            PowerFlush::Completes => None,
            // What only the queue has was not called durable.
            PowerFlush::Phase1Fails if self.link.domain == LinkDomain::Device => None,
            PowerFlush::Phase1Fails => Some("link.power_flush = phase-1-fails"),
            PowerFlush::Phase2Fails => Some("link.power_flush = phase-2-fails"),
        };
        let buffer = self.module.kind.has_buffer() && !self.module.buffer_durable;
        let places = !self.wear.registers_durable;
        let lost = buffer.then_some("module.buffer_durable = false");
        flush.or(lost).or(places.then_some("wear.registers_durable = false"))
    }
}

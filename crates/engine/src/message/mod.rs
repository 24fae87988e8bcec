//! What flows through the pipe: addresses, lines, operations, events, and the ports between stages.
//!
//! A stage knows the others only through what is defined here.

mod address;
mod event;
mod observer;
mod op;
mod port;
mod program;

pub use address::{LINE_BYTES, LINES_PER_PAGE, Line, LineBytes, MediaLine, MediaUnit, PAGE_BYTES, Page, xor};
pub use event::Event;
pub use observer::{NoObserver, Observer};
pub use op::{Op, OpBuffer, OpSource};
pub use port::{
    Access, CachePort, Content, DevicePort, FlushKind, Issued, Location, MediaOp, MemoryRequest, Wake, WriteToken,
};
pub use program::{BaseImage, ByteView, ProgramLayout, ProgramRecovery, RecoveryReport};

/// Index of a core.
pub type CoreId = u16;

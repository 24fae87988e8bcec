//! What flows through the pipe: addresses, lines, operations, events, and the ports between stages.
//!
//! A stage knows the other stages only through what is defined here.

mod address;
mod event;
mod observer;
mod omission;
mod on_chip;
mod op;
mod port;
mod program;
mod repeated;

pub use address::{
    CounterBlock, CounterGroup, GroupMask, LINE_BYTES, LINE_WORDS, LINES_PER_PAGE, Line, LineBytes, MacBlock,
    MediaLine, MediaUnit, PAGE_BYTES, Page, TreeNode, xor,
};
pub use event::{ControllerEvent, CoreEvent, Event};
pub use observer::{Circuit, CounterCacheAct, NoObserver, Observer};
pub use omission::{Omission, ProtocolStep};
pub use on_chip::{DrainedWrite, Found, OnChipLine};
pub use op::{COUNTER_WRITEBACK_BYTES, NO_SITE, Op, OpBuffer, OpSource, Site, UNKNOWN_VALUE, counter_writebacks};
pub use port::{
    Access, CachePort, Content, DevicePort, FlushKind, Issued, Location, MediaOp, MemoryRequest, News, RowCommand,
    Wake, WriteToken,
};
pub use program::{
    Annotation, BaseImage, ByteView, ProgramForm, ProgramLayout, ProgramRecovery, RecoveryReport, group_mask,
    mask_from_pages, mask_from_ranges, pieces, ranges, ranges_from_pages,
};
pub use repeated::{RepeatedRecovery, ScannedLog};

/// Index of a core.
pub type CoreId = u16;

#[cfg(test)]
pub(crate) mod tests {
    pub use super::program::tests::Populated;
}

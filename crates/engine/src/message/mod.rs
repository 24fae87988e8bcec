//! What flows through the pipe: addresses, lines, operations, events, and the ports between stages.
//!
//! A stage knows the other stages only through what is defined here.

mod address;
mod event;
mod hardware_log;
mod line_tree;
mod metadata_shape;
mod observer;
mod omission;
mod op;
mod port;
mod program;
mod repeated;
mod shadow;
mod stale_bits;
mod table_entry;
mod tree;

pub use address::{
    CounterBlock, Coverage, LINE_BYTES, LINES_PER_PAGE, Line, LineBytes, MacBlock, MacLayout, MediaLayout, MediaLine,
    MediaUnit, PAGE_BYTES, Page, TreeNode, xor,
};
pub use event::{ControllerEvent, CoreEvent, Event};
pub use hardware_log::{
    BucketMetadata, CipherBlock, IV_BYTES, LOG_RECORD_LINES, LogBucket, LogHeader, LogLayout, LogRegion, LogSnapshot,
};
pub use line_tree::{LineHash, LineTree};
pub use metadata_shape::MetadataShape;
pub use observer::{Circuit, CounterCacheAct, NoObserver, Observer};
pub use omission::{Omission, ProtocolStep};
pub use op::{COUNTER_WRITEBACK_BYTES, NO_SITE, Op, OpBuffer, OpSource, Site, UNKNOWN_VALUE, counter_writebacks};
pub use port::{
    Access, CachePort, Content, DevicePort, FlushKind, Issued, Location, MediaOp, MemoryRequest, News, Wake, WriteToken,
};
pub use program::{
    Annotation, BaseImage, ByteView, ProgramForm, ProgramLayout, ProgramRecovery, RecoveryReport, mask_from_pages,
    mask_from_ranges, pieces, ranges, ranges_from_pages,
};
pub use repeated::{RepeatedRecovery, ScannedLog};
pub use shadow::{DrainedWrite, OnChipLine, ShadowRegion, ShadowRegisters, SlotMetadata};
pub use stale_bits::{StaleBit, StaleBits};
pub use table_entry::{ENTRY_COUNTER_BITS, TableEntry};
pub use tree::{TreePlace, TreeShape};

/// Index of a core.
pub type CoreId = u16;

#[cfg(test)]
pub(crate) mod tests {
    pub use super::program::tests::Populated;
}

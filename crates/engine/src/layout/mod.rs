//! How things lie in memory: counters, MACs and tree nodes beside the lines that they protect, the undo log that hardware
//! writes, the shadow cache, the shadow table and the ring of partial updates. Arithmetic on addresses and bytes alone.

mod hardware_log;
mod line_tree;
mod media;
mod metadata_shape;
mod partial_update;
mod shadow_cache;
mod stale_bits;
mod table_entry;
mod tree;

pub use hardware_log::{
    BucketMetadata, CipherBlock, IV_BYTES, LOG_RECORD_LINES, LogBucket, LogHeader, LogLayout, LogRegion, LogSnapshot,
};
pub use line_tree::{LineHash, LineTree};
pub use media::{Coverage, MacLayout, MediaLayout};
pub use metadata_shape::MetadataShape;
pub use partial_update::{PartialUpdate, UpdateRing};
pub use shadow_cache::{ShadowRegion, ShadowRegisters, SlotMetadata};
pub use stale_bits::{StaleBit, StaleBits};
pub use table_entry::{ENTRY_COUNTER_BITS, TableEntry, names_counters, table_name};
pub use tree::{TreePlace, TreeShape};

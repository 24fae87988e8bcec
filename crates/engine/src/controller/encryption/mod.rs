//! The way of a line through encryption: its counter (cache, fetches, write-backs, pairs with the data), its pad (AES
//! circuits), page re-encryption, lines that rest encrypted in the caches, and where the newest copy of a line is.

pub(super) mod aes_circuits;
pub(super) mod counter_fetch;
pub(super) mod counters;
pub(super) mod metadata_cache;
pub(super) mod newest_copy;
pub(super) mod pairs;
pub(super) mod read_path;
pub(super) mod reencrypt;
pub(super) mod resident;
pub(super) mod words;
pub(super) mod write_path;
pub(super) mod writeback;

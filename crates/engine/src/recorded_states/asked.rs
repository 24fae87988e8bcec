//! What can be asked of an exploration of a recorded program, and on which designs.

use crate::crash::Exploration;
use crate::legal_states::loses_caches;
use crate::parts::Design;
use crate::user_recovery::OwnRecovery;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The bytes that a sector of a disk may have.
pub(crate) const SECTORS: [u64; 2] = [512, 4096];

/// What is asked of an exploration.
pub struct RecordedLegal<'a> {
    pub exploration: &'a Exploration,
    /// States tried at one crash point, if the request states it.
    pub states_per_point: Option<u64>,
    /// The bytes of a sector, if the files are on a disk.
    pub sector: Option<u64>,
    /// The command that judges.
    pub recovery: Option<&'a mut OwnRecovery>,
    pub cancel: &'a Arc<AtomicBool>,
}

/// Whether the legal states of a recorded program are known: caches are lost, and hardware keeps no log; or caches persist
/// over plaintext memory.
pub(crate) fn explains(design: &Design) -> bool {
    loses_caches(design) || (design.stores_persist() && design.encryption.is_none() && design.log.is_none())
}

//! What a boot says of the integrity of memory, and what of it a machine takes over.

use super::{Alarm, Boot};
use crate::layout::TreePlace;
use crate::message::{Line, LineBytes, Observer};

impl<O: Observer> Boot<'_, O> {
    /// The counter blocks and nodes that were restored to the metadata caches.
    pub fn restored(&self) -> impl Iterator<Item = TreePlace> + '_ {
        self.path.restored.places()
    }

    /// Writes the counter blocks and nodes that were restored to the metadata caches back to memory, for a machine that
    /// begins with empty caches.
    pub fn write_back_metadata(&mut self) {
        self.path.write_back_restored(&mut self.observer);
    }

    /// The register of the root of the integrity tree; `None` if there is no tree.
    pub fn root(&self) -> Option<LineBytes> {
        self.path.root
    }

    /// The roots, if the tree has several.
    pub fn roots(&self) -> Vec<(TreePlace, LineBytes)> {
        self.path.roots.iter().map(|(place, root)| (*place, *root)).collect()
    }

    /// Checks `line` as a read of it would.
    ///
    /// # Errors
    /// The check that fails: then nothing of the line is used.
    pub fn verify(&self, line: Line) -> Result<(), Alarm> {
        if self.cached.line(line).is_some() { Ok(()) } else { self.path.verify(line) }
    }

    /// Checks the counter block of `line` as a read of it would.
    ///
    /// # Errors
    /// The check that fails.
    pub fn verify_counter(&self, line: Line) -> Result<(), Alarm> {
        self.path.verify_counter(line)
    }

    /// The check that failed, if one did: there the machine has stopped.
    pub fn alarm(&self) -> Option<Alarm> {
        self.path.alarm
    }
}

//! `output/` where no computer is around the engine: there are no files.

use std::path::Path;

/// There is none.
pub enum Streamed {}

impl Streamed {
    /// Refuses.
    ///
    /// # Errors
    /// Always: a sentence.
    pub fn create(what: &'static str, path: &Path) -> Result<Self, String> {
        Err(format!("{what} {}: cannot be written: this engine writes no files", path.display()))
    }

    /// Cannot be called.
    pub fn write(&mut self, _: &[u8]) {
        match *self {}
    }

    /// Cannot be called.
    ///
    /// # Errors
    /// None.
    pub fn finish(self) -> Result<(), String> {
        match self {}
    }
}

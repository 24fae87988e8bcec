//! Recordings that tests write.

use std::path::PathBuf;

/// A recording in a file, which is removed.
pub struct OnDisk(pub PathBuf);

impl OnDisk {
    /// `name` is that of the test, as others run at the same time.
    pub fn new(name: &str, stream: &[u8]) -> Self {
        let path = std::env::temp_dir().join(format!("counterpoint-{name}-{}.cptrace", std::process::id()));
        std::fs::write(&path, stream).unwrap();
        Self(path)
    }
}

impl Drop for OnDisk {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

//! The digest of the sources that determine the results of a run.

use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Number of bytes of the SHA-256 that are kept.
const DIGEST_BYTES: usize = 16;

/// The sources of the engine: the lock file, and of the crate in the folder `engine` its manifest and everything in its
/// source folder. Sorted by their paths in the repository, with the separator `/` on every machine.
pub fn sources(lock: &Path, engine: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut found = vec![
        ("Cargo.lock".to_owned(), lock.to_owned()),
        ("crates/engine/Cargo.toml".to_owned(), engine.join("Cargo.toml")),
    ];
    files_in(&engine.join("src"), "crates/engine/src", &mut found)?;
    found.sort();
    Ok(found)
}

fn files_in(folder: &Path, name: &str, found: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        match entry.file_type()?.is_dir() {
            true => files_in(&entry.path(), &name, found)?,
            false => found.push((name, entry.path())),
        }
    }
    Ok(())
}

/// The digest of `sources` as 32 hexadecimal digits, over names and contents. An error names the file.
pub fn digest(sources: &[(String, PathBuf)]) -> io::Result<String> {
    let mut hash = Sha256::new();
    for (name, path) in sources {
        let content =
            fs::read(path).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        for part in [name.as_bytes(), &content] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    Ok(hash.finalize()[..DIGEST_BYTES].iter().map(|byte| format!("{byte:02x}")).collect())
}

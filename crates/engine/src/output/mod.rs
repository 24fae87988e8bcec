//! Files that the engine writes. A file gets its name when it is complete, so that nobody meets half of one.
//!
//! Until then it has a random name beside its own. It is created exclusively: two writers of one name never share a file, and
//! a symbolic link at either name is not followed. The last writer to finish wins.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use tempfile::{Builder, TempPath};

/// The name of a file that is not complete. Dropped before it is, the file goes.
pub struct Unfinished {
    temporary: TempPath,
    path: PathBuf,
}

/// Creates the file that will be at `path`, with the permissions that the umask leaves.
///
/// # Errors
/// There is something at `path` that is not a file, or nothing can be created in its folder.
pub fn create(path: &Path) -> io::Result<(File, Unfinished)> {
    // A rename would replace a device or a pipe, and not write to it.
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => return Err(io::Error::other("it exists and is not a file")),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let path = std::path::absolute(path)?;
    let folder = path.parent().ok_or(io::ErrorKind::IsADirectory)?;
    // A name of its own length: whatever name the file system takes for the file, it takes this one.
    let (file, temporary) = Builder::new()
        .prefix(".counterpoint-")
        .suffix(".part")
        .make_in(folder, |temporary| File::options().write(true).create_new(true).open(temporary))?
        .into_parts();
    Ok((file, Unfinished { temporary, path }))
}

impl Unfinished {
    /// Gives the file its name. Everything must have been written to it.
    ///
    /// # Errors
    /// It cannot be renamed; then it is gone.
    pub fn finish(self) -> io::Result<()> {
        self.temporary.persist(&self.path).map_err(|refused| refused.error)
    }
}

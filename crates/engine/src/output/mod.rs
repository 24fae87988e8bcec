//! Files that the engine writes. A file gets its name only when it is complete, so that nobody reads an incomplete one.
//!
//! Until then it has a random name in the same folder. It is created exclusively: two writers of one name never share a
//! file, and a symbolic link at either name is not followed. The last writer to finish wins.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::{Builder, TempPath};

/// The temporary name of an incomplete file. If it is dropped first, the file is removed.
pub struct Unfinished {
    temporary: TempPath,
    path: PathBuf,
}

/// Creates the file that will be at `path`, with the permissions that the umask leaves.
///
/// # Errors
/// `path` exists and is not a file, or no file can be created in its folder.
pub fn create(path: &Path) -> io::Result<(File, Unfinished)> {
    // A rename would replace a device or a pipe instead of writing to it.
    match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => return Err(io::Error::other("it exists and is not a file")),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let path = std::path::absolute(path)?;
    let folder = path.parent().ok_or(io::ErrorKind::IsADirectory)?;
    // The name has a fixed length: if the file system accepts the final name, it accepts this one.
    let (file, temporary) = Builder::new()
        .prefix(".counterpoint-")
        .suffix(".part")
        .make_in(folder, |temporary| File::options().write(true).create_new(true).open(temporary))?
        .into_parts();
    Ok((file, Unfinished { temporary, path }))
}

impl Unfinished {
    /// Renames the complete file to its final name. Everything must have been written to it.
    ///
    /// # Errors
    /// The file cannot be renamed; it has been removed.
    pub fn finish(self) -> io::Result<()> {
        self.temporary.persist(&self.path).map_err(|refused| refused.error)
    }
}

/// A file that is written while something runs, which need not look whether it can be: the first error is told at the end.
pub struct Streamed {
    /// What it is, in an error.
    what: &'static str,
    path: PathBuf,
    name: Unfinished,
    out: BufWriter<File>,
    failed: Option<io::Error>,
}

impl Streamed {
    /// Begins the file that will be at `path`.
    ///
    /// # Errors
    /// A sentence: [`create`] fails.
    pub fn create(what: &'static str, path: &Path) -> Result<Self, String> {
        let (file, name) = create(path).map_err(|error| cannot(what, path, &error))?;
        Ok(Self { what, path: path.to_owned(), name, out: BufWriter::new(file), failed: None })
    }

    /// Adds bytes, unless an earlier call has failed.
    pub fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(bytes).err();
        }
    }

    /// Completes the file and gives it its name.
    ///
    /// # Errors
    /// A sentence: something could not be written, or the file cannot be renamed.
    pub fn finish(mut self) -> Result<(), String> {
        let result = match self.failed.take() {
            Some(error) => Err(error),
            None => self.out.flush().and_then(|()| self.name.finish()),
        };
        result.map_err(|error| cannot(self.what, &self.path, &error))
    }
}

fn cannot(what: &str, path: &Path, error: &io::Error) -> String {
    format!("{what} {}: cannot be written: {error}", path.display())
}

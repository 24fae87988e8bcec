//! Memory as files: one for each file of the trace, with its contents before the run and the lines that have changed.

use super::copy::copy;
use super::reason;
use crate::kernel::ConfigError;
use crate::message::{BaseImage, LINE_BYTES, Line, LineBytes};
use crate::output;
use crate::trace::{TraceBase, TraceFile};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The recorder's name for memory that is not part of a file.
const NO_FILE: &str = "memory:";

/// One file of the trace.
struct Part {
    /// The file's name in every folder.
    name: String,
    /// Its path, or its name if an earlier file has the same path.
    path: String,
    file: File,
    /// Device address of the file's first byte, and one past its last byte.
    base: u64,
    end: u64,
}

/// All files of the trace.
pub struct Image {
    /// The files, by address.
    parts: Vec<Part>,
    base: TraceBase,
    /// The lines that differ from their contents before the run.
    different: FxHashMap<Line, LineBytes>,
    /// Whether to ask the file system to share blocks between copies.
    shares: bool,
}

impl Image {
    /// Writes `files`, with the contents of `base`, to the new folder `folder`. Errors name the trace `trace`.
    pub fn create(folder: &Path, trace: &str, files: &[TraceFile], base: &TraceBase) -> Result<Self, ConfigError> {
        let files: Vec<&TraceFile> =
            files.iter().filter(|file| !file.path.starts_with(NO_FILE) && file.size > 0).collect();
        if files.is_empty() {
            return Err(ConfigError(format!("recover: {trace} records no files that a command could be given")));
        }
        std::fs::create_dir(folder).map_err(|error| refused(folder, &error))?;
        let mut names = FxHashSet::default();
        let mut parts = Vec::with_capacity(files.len());
        for file in files {
            let name = name_among(&names, &file.path);
            names.insert(name.clone());
            let path = folder.join(&name);
            let open = || {
                let made = File::options().read(true).write(true).create_new(true).open(&path)?;
                made.set_len(file.size)?;
                Ok(made)
            };
            let made = open().map_err(|error| refused(&path, &error))?;
            let renamed = !file.path.ends_with(&name);
            let path = if renamed { name.clone() } else { file.path.clone() };
            parts.push(Part { name, path, file: made, base: file.base, end: file.base + file.size });
        }
        let image = Self { parts, base: base.clone(), different: FxHashMap::default(), shares: true };
        let mut written = Ok(());
        base.show_pages(&mut |address, bytes| {
            if written.is_ok() && bytes.iter().any(|&byte| byte != 0) {
                written = image.write(address, bytes);
            }
        });
        written?;
        Ok(image)
    }

    /// The same files as a run of the command finds them in the folder `from`, in the new folder `folder`. `files` and `base`
    /// are those of its recording.
    pub fn again(
        &self,
        folder: &Path,
        from: &Path,
        files: &[TraceFile],
        base: &TraceBase,
    ) -> Result<Self, ConfigError> {
        std::fs::create_dir(folder).map_err(|error| refused(folder, &error))?;
        let (mut parts, mut shares) = (Vec::with_capacity(self.parts.len()), self.shares);
        for Part { name, path, .. } in &self.parts {
            let copied = folder.join(name);
            let mut open = || {
                let made = File::options().read(true).write(true).create_new(true).open(&copied)?;
                let found = File::open(from.join(name))?;
                copy(&found, &made, &mut shares)?;
                Ok((made, found.metadata()?.len()))
            };
            let (file, length) = open().map_err(|error| refused(&copied, &error))?;
            // What it has not mapped has no address, and stays as it is.
            let mapped = files.iter().find(|file| file.path == *path);
            let (begin, size) = mapped.map_or((u64::MAX, 0), |file| (file.base, file.size.min(length)));
            parts.push(Part { name: name.clone(), path: path.clone(), file, base: begin, end: begin + size });
        }
        parts.sort_by_key(|part| part.base);
        Ok(Self { parts, base: base.clone(), different: FxHashMap::default(), shares })
    }

    /// The names of all files, each with its path.
    pub fn paths(&self) -> impl Iterator<Item = (&str, &str)> {
        self.parts.iter().map(|part| (part.name.as_str(), part.path.as_str()))
    }

    /// The name of the first file.
    pub fn pool(&self) -> &str {
        &self.parts[0].name
    }

    /// The names of all files, by address.
    pub fn names(&self) -> Vec<&str> {
        self.parts.iter().map(|part| part.name.as_str()).collect()
    }

    /// The line at an offset of the file with this number, if the file reaches so far.
    pub fn line_at(&self, file: usize, offset: u64) -> Option<Line> {
        let address = self.parts.get(file)?.base.checked_add(offset)?;
        (address < self.parts[file].end).then(|| Line::containing(address))
    }

    /// A name for something beside the files: `name`, with a number if a file is called that.
    pub fn name_beside(&self, name: &str) -> String {
        name_among(&self.parts.iter().map(|part| part.name.clone()).collect(), name)
    }

    /// Whether `line` belongs to a file.
    pub fn has(&self, line: Line) -> bool {
        let after = self.parts.partition_point(|part| part.base <= line.address());
        after > 0 && line.address() < self.parts[after - 1].end
    }

    /// Sets `line` to `bytes`. Lines that belong to no file are ignored.
    pub fn put(&mut self, line: Line, bytes: &LineBytes) -> Result<(), ConfigError> {
        let before = self.before(line);
        if self.different.get(&line).unwrap_or(&before) == bytes {
            return Ok(());
        }
        if *bytes == before {
            self.different.remove(&line);
        } else {
            self.different.insert(line, *bytes);
        }
        self.write(line.address(), bytes)
    }

    /// Restores the contents of every line before the run.
    pub fn rewind(&mut self) -> Result<(), ConfigError> {
        for line in std::mem::take(&mut self.different).into_keys() {
            self.write(line.address(), &self.before(line))?;
        }
        Ok(())
    }

    /// Copies every file to the new folder `folder`.
    pub fn copy_into(&mut self, folder: &Path) -> Result<(), ConfigError> {
        std::fs::create_dir(folder).map_err(|error| refused(folder, &error))?;
        for part in &self.parts {
            let path = folder.join(&part.name);
            let copied = File::create_new(&path).and_then(|to| copy(&part.file, &to, &mut self.shares));
            copied.map_err(|error| refused(&path, &error))?;
        }
        Ok(())
    }

    /// Copies every file of `from`, which [`Image::copy_into`] made, to `folder/LABEL.NAME`, replacing existing files;
    /// returns the paths.
    pub fn keep(&self, from: &Path, folder: &Path, label: &str) -> Result<Vec<PathBuf>, ConfigError> {
        let mut kept = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let path = folder.join(format!("{label}.{}", part.name));
            let keep = || {
                let (to, name) = output::create(&path)?;
                copy(&File::open(from.join(&part.name))?, &to, &mut true)?;
                name.finish()
            };
            keep().map_err(|error| refused(&path, &error))?;
            kept.push(path);
        }
        Ok(kept)
    }

    fn before(&self, line: Line) -> LineBytes {
        self.base.line(line).copied().unwrap_or([0; LINE_BYTES as usize])
    }

    /// Writes `bytes`, which are in one page from `address` on, as far as they belong to a file.
    fn write(&self, address: u64, bytes: &[u8]) -> Result<(), ConfigError> {
        let after = self.parts.partition_point(|part| part.base <= address);
        let Some(part) = after.checked_sub(1).map(|index| &self.parts[index]) else { return Ok(()) };
        if address >= part.end {
            return Ok(());
        }
        let length = bytes.len().min((part.end - address) as usize);
        part.file
            .write_all_at(&bytes[..length], address - part.base)
            .map_err(|error| refused(Path::new(&part.name), &error))
    }
}

/// The last component of `path`, with a number if another file has the same name.
fn name_among(names: &FxHashSet<String>, path: &str) -> String {
    let own = Path::new(path).file_name().map_or_else(|| "file".to_owned(), |name| name.to_string_lossy().into_owned());
    let numbered = (2..).map(|number| format!("{own}-{number}"));
    let free = std::iter::once(own.clone()).chain(numbered).find(|name| !names.contains(name));
    free.expect("some number is free")
}

fn refused(path: &Path, error: &io::Error) -> ConfigError {
    ConfigError(format!("recover: '{}' cannot be written: {}", path.display(), reason(error)))
}

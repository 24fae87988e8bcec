//! Memory as files: one for each file of the trace, with its contents before the run and the lines that have changed. A file
//! is as long as the line says that holds its size, if the trace has one, and is not there if that says so.

use super::copy::copy;
use super::reason;
use crate::kernel::ConfigError;
use crate::message::{BaseImage, LINE_BYTES, Line, LineBytes};
use crate::output;
use crate::trace::{NO_SIZE, TraceBase, TraceFile, size_in, size_line};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Sizes above this are none: what was a size does not decrypt any more.
const SIZE_MAX: u64 = 1 << 40;

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
    /// The line that holds its size, if there is one, and its size by that; `None` if it does not exist.
    size_at: Option<Line>,
    size: Option<u64>,
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
        let numbers: Vec<usize> = (0..files.len()).filter(|&at| files[at].is_file() && files[at].size > 0).collect();
        if numbers.is_empty() {
            return Err(ConfigError(format!("recover: {trace} records no files that a command could be given")));
        }
        std::fs::create_dir(folder).map_err(|error| refused(folder, &error))?;
        let mut names = FxHashSet::default();
        let mut parts = Vec::with_capacity(numbers.len());
        for at in numbers {
            let file = &files[at];
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
            let (base, end, size) = (file.base, file.base + file.size, Some(file.size));
            parts.push(Part { name, path, file: made, base, end, size_at: size_line(files, at), size });
        }
        let mut image = Self { parts, base: base.clone(), different: FxHashMap::default(), shares: true };
        let mut written = Ok(());
        base.show_pages(&mut |address, bytes| {
            if written.is_ok() && bytes.iter().any(|&byte| byte != 0) {
                written = image.write(address, bytes);
            }
        });
        written?;
        image.resize_all();
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
        let mut image =
            Self { parts: Vec::new(), base: base.clone(), different: FxHashMap::default(), shares: self.shares };
        for Part { name, path, .. } in &self.parts {
            image.add_again(folder, from, (name, path), files)?;
        }
        // What the run has made is there, too.
        for file in files.iter().filter(|file| file.is_file() && self.parts.iter().all(|part| part.path != file.path)) {
            let name =
                image.name_beside(Path::new(&file.path).file_name().unwrap_or_default().to_string_lossy().as_ref());
            image.add_again(folder, from, (&name, &file.path), files)?;
        }
        image.parts.sort_by_key(|part| part.base);
        image.resize_all();
        Ok(image)
    }

    /// Adds the file `name` as it is in the folder `from`, if it is there, with the address that its path has among `files`.
    fn add_again(
        &mut self,
        folder: &Path,
        from: &Path,
        (name, path): (&str, &str),
        files: &[TraceFile],
    ) -> Result<(), ConfigError> {
        let copied = folder.join(name);
        let at = files.iter().position(|file| file.path == path);
        let size_at = at.and_then(|at| size_line(files, at));
        let mut open = || {
            let made = File::options().read(true).write(true).create_new(true).open(&copied)?;
            let size = match existing(&from.join(name))? {
                Some(found) => {
                    copy(&found, &made, &mut self.shares)?;
                    Some(found.metadata()?.len())
                }
                None => None,
            };
            let extent = match (at, size_at) {
                // What it has not mapped has no address, and stays as it is.
                (None, _) => 0,
                (Some(at), None) => files[at].size.min(size.unwrap_or(0)),
                (Some(at), Some(_)) => files[at].size,
            };
            made.set_len(extent.max(size.unwrap_or(0)))?;
            Ok((made, size, extent))
        };
        let (file, size, extent) = open().map_err(|error| refused(&copied, &error))?;
        let base = at.map_or(u64::MAX, |at| files[at].base);
        self.parts.push(Part {
            name: name.to_owned(),
            path: path.to_owned(),
            file,
            base,
            end: base + extent,
            size_at,
            size,
        });
        Ok(())
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

    /// Whether `line` belongs to a file, or holds the size of one.
    pub fn has(&self, line: Line) -> bool {
        let after = self.parts.partition_point(|part| part.base <= line.address());
        after > 0 && (line.address() < self.parts[after - 1].end || self.parts[after - 1].size_at == Some(line))
    }

    /// The lines that hold the sizes of files.
    pub fn sizes(&self) -> impl Iterator<Item = Line> {
        self.parts.iter().filter_map(|part| part.size_at)
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
        self.set(line, bytes)
    }

    fn set(&mut self, line: Line, bytes: &LineBytes) -> Result<(), ConfigError> {
        if self.resize(line, bytes) { Ok(()) } else { self.write(line.address(), bytes) }
    }

    /// Takes the sizes that files have before the run.
    fn resize_all(&mut self) {
        for size_at in self.sizes().collect::<Vec<_>>() {
            self.resize(size_at, &self.before(size_at));
        }
    }

    /// Takes the size that `line` holds; false if it holds none.
    fn resize(&mut self, line: Line, bytes: &LineBytes) -> bool {
        let Some(part) = self.parts.iter_mut().find(|part| part.size_at == Some(line)) else { return false };
        part.size = Some(size_in(bytes)).filter(|&size| size != NO_SIZE && size <= SIZE_MAX);
        true
    }

    /// Restores the contents of every line before the run.
    pub fn rewind(&mut self) -> Result<(), ConfigError> {
        for line in std::mem::take(&mut self.different).into_keys() {
            self.set(line, &self.before(line))?;
        }
        Ok(())
    }

    /// Copies every file to the new folder `folder`.
    pub fn copy_into(&mut self, folder: &Path) -> Result<(), ConfigError> {
        std::fs::create_dir(folder).map_err(|error| refused(folder, &error))?;
        for part in &self.parts {
            let Some(size) = part.size else { continue };
            let path = folder.join(&part.name);
            let copied = File::create_new(&path).and_then(|to| {
                copy(&part.file, &to, &mut self.shares)?;
                if size == part.end - part.base { Ok(()) } else { to.set_len(size) }
            });
            copied.map_err(|error| refused(&path, &error))?;
        }
        Ok(())
    }

    /// Copies every file of `from`, which [`Image::copy_into`] made, to `folder/LABEL.NAME`, replacing existing files;
    /// returns the paths.
    pub fn keep(&self, from: &Path, folder: &Path, label: &str) -> Result<Vec<PathBuf>, ConfigError> {
        let mut kept = Vec::with_capacity(self.parts.len());
        for part in self.parts.iter().filter(|part| part.size_at.is_none() || from.join(&part.name).exists()) {
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

/// The file at a path, if there is one.
pub fn existing(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
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

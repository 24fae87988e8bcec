//! Where this crate's files are, the static library, and commands that must succeed.

#![allow(dead_code, reason = "each test uses its part of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A path of this crate.
pub fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The static library that Cargo has built for this test, in the same folder.
pub fn archive() -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let is_archive = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let stem = name.strip_prefix("libcounterpoint").and_then(|rest| rest.strip_suffix(".a"));
        stem.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let archives = fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.path()).filter(is_archive);
    let built = |path: &PathBuf| fs::metadata(path).and_then(|data| data.modified()).unwrap();
    archives.max_by_key(built).unwrap_or_else(|| panic!("no libcounterpoint.a in {}", folder.display()))
}

/// The output of a command that must succeed.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (told, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{told}{wrong}");
    told.trim_end().to_owned()
}

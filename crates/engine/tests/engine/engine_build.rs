//! The digest of the engine's sources: equal for equal sources in any folder, different after any change.

#[path = "../../build/digest.rs"]
mod digest;

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const FILES: &[(&str, &str)] = &[
    ("Cargo.lock", "locked"),
    ("crates/engine/Cargo.toml", "[package]"),
    ("crates/engine/src/lib.rs", "mod a;"),
    ("crates/engine/src/a/mod.rs", "// a"),
    ("crates/engine/src/a/machine.toml", "banks = 8"),
];

/// A repository with these files in a temporary folder.
struct Repository(PathBuf);

impl Repository {
    fn with<'a>(name: &str, files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let root = std::env::temp_dir().join(format!("counterpoint-build-{}-{name}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a file in a folder")).expect("a new folder");
            fs::write(path, text).expect("a new file");
        }
        Self(root)
    }

    fn sources(&self) -> Vec<(String, PathBuf)> {
        digest::sources(&self.0.join("Cargo.lock"), &self.0.join("crates/engine")).expect("sources")
    }

    fn digest(&self) -> String {
        digest::digest(&self.sources()).expect("a digest")
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn equal_sources_have_equal_digests_wherever_they_lie_and_in_whatever_order_they_were_written() {
    let one = Repository::with("one", FILES.iter().copied()).digest();
    let other = Repository::with("another-with-a-longer-name", FILES.iter().rev().copied());
    fs::write(other.0.join("README.md"), "not a source").unwrap();
    assert_eq!(one, other.digest());
    assert!(one.len() == 32 && one.bytes().all(|digit| digit.is_ascii_hexdigit()), "{one}");
}

#[test]
fn any_change_of_any_source_changes_the_digest() {
    let mut seen = vec![Repository::with("unchanged", FILES.iter().copied()).digest()];
    for changed in 0..FILES.len() {
        let edited = |(n, &(path, text)): (usize, &(&'static str, &'static str))| {
            (path, if n == changed { "edited" } else { text })
        };
        let files: Vec<(&str, &str)> = FILES.iter().enumerate().map(edited).collect();
        seen.push(Repository::with(&format!("edited-{changed}"), files).digest());
    }
    // Contents that swap files, a renamed file, a new file.
    let moved = [FILES[0], FILES[1], (FILES[2].0, FILES[3].1), (FILES[3].0, FILES[2].1), FILES[4]];
    let renamed = [FILES[0], FILES[1], FILES[2], FILES[3], ("crates/engine/src/a/machines.toml", FILES[4].1)];
    seen.push(Repository::with("moved", moved).digest());
    seen.push(Repository::with("renamed", renamed).digest());
    seen.push(Repository::with("added", FILES.iter().copied().chain([("crates/engine/src/b.rs", "")])).digest());
    let count = seen.len();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), count);
}

#[test]
fn source_that_is_missing_is_named() {
    let repository = Repository::with("without-lock", FILES.iter().skip(1).copied());
    let error = digest::digest(&repository.sources()).unwrap_err();
    assert!(error.to_string().contains("Cargo.lock"), "{error}");
}

#[test]
fn engine_tells_the_digest_of_the_sources_it_was_built_from() {
    let engine = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = digest::sources(&engine.join("../../Cargo.lock"), engine).unwrap();
    assert!(sources.iter().any(|(name, _)| name.ends_with("src/config/presets/secpm.toml")), "{sources:?}");
    let described: Value = serde_json::from_str(&counterpoint_engine::api::describe()).unwrap();
    assert_eq!(described["engine_build"], digest::digest(&sources).unwrap().as_str());
}

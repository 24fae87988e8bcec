//! The house stays as drawn: who may import whom, and that no stage names a design.

use std::fs;
use std::path::{Path, PathBuf};

/// A room and the rooms it may import. Rooms that are not listed assemble or watch and may import anything.
const WALLS: &[(&str, &[&str])] = &[
    ("kernel", &[]),
    ("message", &["kernel"]),
    ("config", &["message"]),
    ("stats", &["kernel"]),
    ("output", &[]),
    ("cipher", &["kernel", "message", "config"]),
    ("workload", &["kernel", "message", "stats", "config", "output"]),
    ("cpu", &["kernel", "message", "stats", "config"]),
    ("cache", &["kernel", "message", "stats", "config", "design::parts"]),
    ("controller", &["kernel", "message", "stats", "config", "design::parts"]),
    ("device", &["kernel", "message", "stats", "config"]),
    ("mechanism", &["message", "config", "cipher", "design::parts"]),
    ("design", &["config", "message", "mechanism"]),
    ("audit", &["kernel", "message", "config", "design::parts"]),
];

/// The source files of a folder, without modules that exist for tests only.
fn program_sources(folder: &Path) -> Vec<PathBuf> {
    sources(folder).into_iter().filter(|path| !is_for_tests(path)).collect()
}

fn is_for_tests(path: &Path) -> bool {
    let Some((folder, name)) = path.parent().zip(path.file_stem()) else { return false };
    let declared_for_tests = |module: &Path, name: &str| {
        let text = fs::read_to_string(module).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines.windows(2).any(|pair| pair[0] == "#[cfg(test)]" && pair[1].ends_with(&format!("mod {name};")))
    };
    let of_file = declared_for_tests(&folder.join("mod.rs"), &name.to_string_lossy());
    let of_folder = folder
        .file_name()
        .zip(folder.parent())
        .is_some_and(|(name, above)| declared_for_tests(&above.join("mod.rs"), &name.to_string_lossy()));
    of_file || of_folder
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a source folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The part of a file that is not tests.
fn body(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a readable source file");
    text.split("#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned()
}

/// What a file imports from the crate, as `room` or `room::file`.
fn imports(text: &str) -> Vec<String> {
    let paths = text.match_indices("crate::").map(|(at, _)| &text[at + "crate::".len()..]);
    paths.map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_' || *c == ':').collect()).collect()
}

fn source_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

#[test]
fn a_room_imports_only_what_the_plan_allows() {
    let mut trespasses = Vec::new();
    for (room, allowed) in WALLS {
        for path in program_sources(&source_root().join(room)) {
            for import in imports(&body(&path)) {
                let own = import.starts_with(room);
                if !own && !allowed.iter().any(|allowed| import.starts_with(allowed)) {
                    trespasses.push(format!("{} imports {import}", path.display()));
                }
            }
        }
    }
    assert!(trespasses.is_empty(), "{}", trespasses.join("\n"));
}

#[test]
fn no_stage_names_a_design() {
    let names: Vec<String> = counterpoint_engine::design::names().map(|name| format!("\"{name}\"")).collect();
    for room in ["workload", "cpu", "cache", "controller", "device", "mechanism", "audit", "recovery", "crash"] {
        for path in program_sources(&source_root().join(room)) {
            let text = body(&path);
            for name in &names {
                assert!(!text.contains(name.as_str()), "{} names the design {name}", path.display());
            }
        }
    }
}

#[test]
fn every_file_can_be_read_in_one_sitting() {
    for path in sources(&source_root()) {
        let text = fs::read_to_string(&path).expect("a readable source file");
        let lines = text.lines().count();
        assert!(lines <= 520, "{} has {lines} lines", path.display());
        assert!(text.starts_with("//!"), "{} does not open with what it is", path.display());
    }
}

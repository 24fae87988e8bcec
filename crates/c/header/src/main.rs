//! Writes the C header, which follows from the types and functions of the C interface.

use std::fs;
use std::path::{Path, PathBuf};

/// The sources in the order in which the header has their functions: none that declares another one as a module, whose functions
/// would be there twice.
const SOURCES: [&str; 8] = [
    "border.rs",
    "abi.rs",
    "calls/library.rs",
    "calls/life.rs",
    "calls/traffic.rs",
    "calls/looks.rs",
    "calls/power.rs",
    "calls/figures.rs",
];

/// A file of the C interface.
fn interface(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// The version of the workspace.
fn version() -> &'static str {
    let manifest = include_str!("../../../../Cargo.toml");
    manifest.lines().find_map(|line| line.strip_prefix("version = ")).expect("the workspace has a version")
}

fn header() -> String {
    let mut config = cbindgen::Config::from_file(interface("cbindgen.toml")).unwrap();
    config.after_includes = Some(format!(
        "\n// The version of this header; counterpoint_version has that of the library.\n#define COUNTERPOINT_VERSION {}",
        version()
    ));
    let builder = cbindgen::Builder::new().with_config(config);
    let bindings = SOURCES.iter().fold(builder, |builder, source| builder.with_src(interface("src").join(source)));
    let mut text = Vec::new();
    bindings.generate().unwrap().write(&mut text);
    String::from_utf8(text).unwrap()
}

fn main() {
    fs::write(interface("include/counterpoint.h"), header()).unwrap();
}

#[test]
fn header_declares_each_function_once() {
    let header = header();
    let functions = header.lines().filter(|line| !line.starts_with(['/', ' ', '#']) && !line.starts_with("typedef"));
    let mut declared: Vec<&str> = functions.filter_map(|line| line.split_once('(')).map(|(before, _)| before).collect();
    let all = declared.len();
    declared.sort_unstable();
    declared.dedup();
    assert!(all > 25 && declared.len() == all, "{all} declarations of {} functions", declared.len());
}

#[test]
fn header_is_what_the_sources_say() {
    let written = fs::read_to_string(interface("include/counterpoint.h")).unwrap();
    assert_eq!(written, header(), "`make header` writes it");
}

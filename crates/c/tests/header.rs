//! The C header is what follows from the types and functions of this crate.

mod common;

use common::here;
use std::fs;

/// The sources in the order in which the header has their functions.
const SOURCES: [&str; 8] = [
    "border.rs",
    "abi.rs",
    "calls/mod.rs",
    "calls/life.rs",
    "calls/traffic.rs",
    "calls/looks.rs",
    "calls/power.rs",
    "calls/figures.rs",
];

fn header() -> String {
    let mut config = cbindgen::Config::from_file(here("cbindgen.toml")).unwrap();
    config.after_includes = Some(format!(
        "\n// The version of this header; counterpoint_version has that of the library.\n#define COUNTERPOINT_VERSION \"{}\"",
        env!("CARGO_PKG_VERSION")
    ));
    let builder = cbindgen::Builder::new().with_config(config);
    let bindings = SOURCES.iter().fold(builder, |builder, source| builder.with_src(here("src").join(source)));
    let mut text = Vec::new();
    bindings.generate().unwrap().write(&mut text);
    String::from_utf8(text).unwrap()
}

#[test]
fn header_is_what_the_sources_say() {
    let path = here("include/counterpoint.h");
    let written = header();
    if std::env::var_os("COUNTERPOINT_WRITE_PAGES").is_some() {
        fs::write(&path, &written).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap(), written, "`make header` writes it");
}

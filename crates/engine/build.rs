//! Passes the digest of its own sources to the engine, as `COUNTERPOINT_ENGINE_BUILD`.

#[path = "build/digest.rs"]
mod digest;

use std::path::Path;

fn main() -> std::io::Result<()> {
    // A crate that Cargo has packaged has a lock file of its own; in the repository all crates share one.
    let lock = if Path::new("Cargo.lock").exists() { "Cargo.lock" } else { "../../Cargo.lock" };
    let sources = digest::sources(Path::new(lock), Path::new(""))?;
    for watched in ["build", "build.rs", "src", "Cargo.toml", lock] {
        println!("cargo:rerun-if-changed={watched}");
    }
    println!("cargo:rustc-env=COUNTERPOINT_ENGINE_BUILD={}", digest::digest(&sources)?);
    Ok(())
}

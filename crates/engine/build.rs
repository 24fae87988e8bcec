//! Passes the digest of its own sources to the engine, as `COUNTERPOINT_ENGINE_BUILD`.

#[path = "build/digest.rs"]
mod digest;

use std::path::Path;

fn main() -> std::io::Result<()> {
    let root = Path::new("../..");
    let sources = digest::sources(root)?;
    for watched in ["build", "build.rs", "src", "Cargo.toml", "../../Cargo.lock"] {
        println!("cargo:rerun-if-changed={watched}");
    }
    println!("cargo:rustc-env=COUNTERPOINT_ENGINE_BUILD={}", digest::digest(&sources)?);
    Ok(())
}

//! Any text at all, as a design file, and after a zero byte as `--set design.` texts, a line each: refused with a sentence, or a
//! design that works in both readings.

#![no_main]

use counterpoint_engine::config::Variant;
use counterpoint_engine::design;
use counterpoint_engine::embed::{Memory, Setup};
use counterpoint_fuzz::{file, is_sentence, traffic};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (text, sets) = match bytes.iter().position(|&byte| byte == 0) {
        Some(at) => (&bytes[..at], String::from_utf8_lossy(&bytes[at + 1..]).into_owned()),
        None => (bytes, String::new()),
    };
    let sets: Vec<&str> = sets.lines().collect();
    let path = file(text, ".toml").to_str().expect("a path of ASCII");
    for variant in Variant::ALL {
        match design::load(path, variant, &sets) {
            Ok(_) => work(path, variant, &sets),
            Err(error) => is_sentence(&error),
        }
    }
});

/// Writes and reads, until nothing happens any more.
fn work(design: &str, variant: Variant, sets: &[&str]) {
    let set: Vec<String> = sets.iter().map(|set| format!("design.{set}")).collect();
    match Memory::new(&Setup { design, variant, machine: Some("small"), set: &set, seed: 1, on_channel: [None; 2] }) {
        Ok(memory) => traffic(memory),
        Err(error) => is_sentence(&error),
    }
}

//! Arbitrary text as a machine file, and after a zero byte as `--set` texts, one per line: it is refused with a
//! sentence, or the machine works.

#![no_main]

use counterpoint_engine::config::{Machine, Variant, load_machine};
use counterpoint_engine::embed::{Memory, Setup};
use counterpoint_fuzz::{file, is_sentence, traffic};
use libfuzzer_sys::fuzz_target;

/// Larger machines are valid, but too large to be built thousands of times.
const CAPACITY_MAX: u64 = 16 << 20;
const COUNTER_CACHE_MAX: u64 = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let (text, sets) = match bytes.iter().position(|&byte| byte == 0) {
        Some(at) => (&bytes[..at], String::from_utf8_lossy(&bytes[at + 1..]).into_owned()),
        None => (bytes, String::new()),
    };
    let sets: Vec<String> = sets.lines().map(str::to_owned).collect();
    let path = file(text, ".toml").to_str().expect("a path of ASCII");
    match load_machine(path, &sets) {
        Ok(machine) => work(path, &sets, &machine),
        Err(error) => is_sentence(&error),
    }
});

/// Writes and reads until no event is left.
fn work(path: &str, set: &[String], machine: &Machine) {
    let cache = machine.controller.counter_cache_size.0;
    if machine.device.capacity.0 > CAPACITY_MAX || cache > COUNTER_CACHE_MAX {
        return;
    }
    for design in ["unencrypted", "secpm"] {
        let setup = Setup { design, variant: Variant::Hardened, machine: Some(path), set, seed: 1, on_channel: [None; 2] };
        match Memory::new(&setup) {
            Ok(memory) => traffic(memory),
            Err(error) => is_sentence(&error),
        }
    }
}

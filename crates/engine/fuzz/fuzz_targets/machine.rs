//! Arbitrary text as a machine file, and after a zero byte as `--set` texts, one per line: it is refused with a
//! sentence, or the machine works.

#![no_main]

use counterpoint_engine::config::{Machine, Variant, load_machine};
use counterpoint_engine::embed::{Memory, Request, Setup};
use counterpoint_fuzz::{file, is_sentence};
use libfuzzer_sys::fuzz_target;

/// Larger machines are valid, but too large to be built thousands of times.
const CAPACITY_MAX: u64 = 16 << 20;
const COUNTER_CACHE_MAX: u64 = 1 << 20;
/// Number of requests to a machine, and of events that are checked.
const REQUESTS: u64 = 24;
const EVENTS_MAX: usize = 10_000;

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
        let setup = Setup { design, variant: Variant::Hardened, machine: Some(path), set, seed: 1 };
        let mut memory = match Memory::new(&setup) {
            Ok(memory) => memory,
            Err(error) => {
                is_sentence(&error);
                continue;
            }
        };
        let lines = memory.capacity() / 64;
        let mut answers = Vec::new();
        let mut sent = 0;
        for number in 0..REQUESTS {
            let request = if number % 3 == 2 {
                Request::Read
            } else {
                Request::Write { bytes: &[number as u8; 64], counter_atomic: number % 2 == 0 }
            };
            let line = number * 0x9e37_79b9 % lines;
            sent += usize::from(memory.send(line * 64, number, request).is_ok());
            if let Some(at) = memory.next_event_at().filter(|_| number % 4 == 3) {
                memory.step(at, &mut answers).expect("the event is to come");
            }
        }
        for _ in 0..EVENTS_MAX {
            let Some(at) = memory.next_event_at() else { break };
            memory.step(at, &mut answers).expect("the event is to come");
        }
        assert_eq!(answers.len(), sent, "every request is answered");
    }
}

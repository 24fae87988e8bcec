//! Any text at all, as a design file, and after a zero byte as `--set design.` texts, a line each: refused with a sentence, or a
//! design that works in both readings.

#![no_main]

use counterpoint_engine::config::Variant;
use counterpoint_engine::design;
use counterpoint_engine::embed::{Memory, Request, Setup};
use counterpoint_fuzz::{file, is_sentence};
use libfuzzer_sys::fuzz_target;

/// Requests to a memory of the design, and events looked at.
const REQUESTS: u64 = 24;
const EVENTS_MAX: usize = 10_000;

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
    let mut memory = match Memory::new(&Setup { design, variant, machine: Some("small"), set: &set, seed: 1 }) {
        Ok(memory) => memory,
        Err(error) => return is_sentence(&error),
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

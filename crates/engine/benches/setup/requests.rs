//! Requests to controller and device alone.

use counterpoint_engine::config::{Machine, Variant};
use counterpoint_engine::message::{Line, NoObserver};
use counterpoint_engine::trace::EmptyBase;
use counterpoint_engine::{LineSystem, design};
use std::sync::Arc;

/// The controller of `design` on `machine`, with `footprint` bytes of memory in which nothing was written.
pub fn system(design: &str, machine: &Machine, footprint: u64) -> LineSystem<NoObserver> {
    let design = design::find(design, Variant::Hardened).expect("the design exists");
    let base = Arc::new(EmptyBase { end: footprint });
    LineSystem::new(machine, &design, base, 1, NoObserver).expect("the machine is valid")
}

/// Sends `requests`, of which so many are outstanding at a time, and waits for the answers. `next` has the line of request
/// number n, from 0, and whether it is a write.
pub fn send(
    system: &mut LineSystem<NoObserver>,
    requests: u64,
    outstanding: u64,
    mut next: impl FnMut(u64) -> (Line, bool),
) {
    let (mut sent, mut answered) = (0, 0);
    let data = [0x5a; 64];
    while answered < requests {
        while sent < requests && sent - answered < outstanding {
            let (line, write) = next(sent);
            if write {
                system.write_now(line, &data, sent as u32);
            } else {
                system.read_now(line, sent as u32);
            }
            sent += 1;
        }
        answered += system.advance().expect("requests are outstanding").len() as u64;
    }
}

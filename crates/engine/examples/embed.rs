//! A memory inside another program: a write, a copy that loses power, and what each of them holds then.
//!
//!     cargo run --release --package counterpoint-engine --example embed

use counterpoint_engine::config::Variant;
use counterpoint_engine::embed::{Kind, Memory, Request, Setup, TIME_MAX, WHOLE_LINE};

/// What the copy reads and what the original does.
pub fn found() -> Result<[u8; 2], Box<dyn std::error::Error>> {
    let settings =
        Setup { design: "secpm", variant: Variant::Hardened, machine: None, set: &[], seed: 1, on_channel: [None; 2] };
    let mut memory = Memory::new(&settings)?;
    let write = |bytes| Request::Write { bytes, mask: WHOLE_LINE, counter_atomic: false };
    memory.send(0x1000, 1, 0, write(&[42; 64]))?;
    let mut answers = Vec::new();
    while !answers.iter().any(|answer: &counterpoint_engine::embed::Answer| answer.kind == Kind::Write) {
        memory.step(TIME_MAX, &mut answers)?;
    }
    println!("write 1 is durable at {} ps", answers[0].at);
    // This one is on its way when power fails.
    memory.send(0x1000, 2, 0, write(&[43; 64]))?;
    let mut copy = memory.clone();
    let failure = copy.power_fails()?;
    println!("a copy lost {} write and has {} damaged lines", failure.writes_lost, failure.damaged_lines);
    Ok([copy.peek(0x1000)?[0], memory.peek(0x1000)?[0]])
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [copy, original] = found()?;
    println!("it reads {copy}, and the original {original}");
    Ok(())
}

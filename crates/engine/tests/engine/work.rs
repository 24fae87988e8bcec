//! How much work a simulation takes, counted in events: what time it takes is measured by `make bench` and `make scale`.

#[path = "../../benches/setup/requests.rs"]
mod requests;
#[path = "../../benches/setup/runs.rs"]
mod runs;

use counterpoint_engine::config::load_machine;
use counterpoint_engine::kernel::Random;
use counterpoint_engine::message::Line;
use runs::Runs;
use std::ops::ControlFlow;

/// Events for each of 20,000 random requests, half of them writes, over 4 MiB. All queues have `entries` entries, and
/// twice as many requests are outstanding.
fn events_a_request(design: &str, entries: u64) -> f64 {
    const REQUESTS: u64 = 20_000;
    let set = [
        format!("controller.wpq_entries={entries}"),
        format!("controller.wpq_high_watermark={}", entries * 3 / 8),
        format!("controller.read_queue_entries={entries}"),
    ];
    let machine = load_machine("secpm", &set).unwrap();
    let mut system = requests::system(design, &machine, 4 << 20);
    let mut random = Random::stream(1, "work");
    requests::send(&mut system, REQUESTS, 2 * entries, |_| (Line(random.below(1 << 16)), random.below(2) == 0));
    system.events() as f64 / REQUESTS as f64
}

#[test]
fn request_takes_two_events_and_an_encrypted_one_five_however_long_the_queues_are() {
    for entries in [16, 64, 512] {
        for (design, most) in [("unencrypted", 2.1), ("secpm", 5.1)] {
            let events = events_a_request(design, entries);
            assert!(events < most, "{design} with {entries} entries: {events}");
        }
    }
}

/// Events for each memory operation of `cores` cores that execute transactions on their own memory.
fn events_an_operation(cores: u16) -> f64 {
    let set = ["program.think_instructions=0", "program.core_region=packed"].map(str::to_owned);
    let mut system = Runs::new("unencrypted", load_machine("secpm", &set).unwrap(), 4, cores, 16 << 20).system();
    system.run(|_| ControlFlow::Continue(()));
    let operations: u64 = system.cores.iter().map(|core| core.stats().memory_ops).sum();
    system.queue.events() as f64 / operations as f64
}

#[test]
fn cores_that_wait_for_a_miss_register_do_not_ask_again_and_again() {
    let (few, many) = (events_an_operation(4), events_an_operation(64));
    assert!(many < 1.5 * few, "{many} with 64 cores, {few} with 4");
}

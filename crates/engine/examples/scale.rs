//! What a request costs against everything that may grow: the footprint, the queues, the length of the trace, the number of
//! cores; and how much memory the simulator takes for each byte that it touches. Prints tables in Markdown.
//!
//! ```sh
//! cargo run --release --example scale
//! ```

#[path = "../benches/setup/requests.rs"]
mod requests;
#[path = "../benches/setup/runs.rs"]
mod runs;

use counterpoint_engine::config::{Machine, load_machine};
use counterpoint_engine::cpu::Core;
use counterpoint_engine::kernel::{EventCode, Queue, Random};
use counterpoint_engine::message::Line;
use runs::Runs;
use std::ops::ControlFlow;
use std::time::Instant;

const DESIGNS: [&str; 2] = ["unencrypted", "secpm"];
/// The fastest of so many runs counts.
const SAMPLES: usize = 3;
const REQUESTS: u64 = 1_000_000;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn machine(set: &[String]) -> Machine {
    let more = ["device.capacity=128GiB".to_owned()];
    load_machine("secpm", &[&more, set].concat()).expect("the settings are valid")
}

/// A trace of requests to the controller.
struct Trace {
    requests: u64,
    /// How many are outstanding at a time.
    outstanding: u64,
    footprint: u64,
    /// Whether every request is a write of the next line, instead of a read or a write of a random one.
    fills: bool,
}

impl Trace {
    fn random(footprint: u64) -> Self {
        Self { requests: REQUESTS, outstanding: 32, footprint, fills: false }
    }

    /// Sends the trace to the controller of `design` on `machine`; returns seconds and events.
    fn send(&self, design: &str, machine: &Machine) -> (f64, u64) {
        let mut system = requests::system(design, machine, self.footprint);
        let mut random = Random::stream(1, "scale");
        let started = Instant::now();
        requests::send(&mut system, self.requests, self.outstanding, |sent| {
            let draw = random.next_u64();
            let line = Line(if self.fills { sent } else { draw >> 1 } % (self.footprint / 64));
            (line, self.fills || draw & 1 == 1)
        });
        (started.elapsed().as_secs_f64(), system.events())
    }

    /// Nanoseconds and events of one request.
    fn cost(&self, design: &str, machine: &Machine) -> (f64, f64) {
        let runs = (0..SAMPLES).map(|_| self.send(design, machine));
        let (seconds, events) = runs.min_by(|a, b| a.0.total_cmp(&b.0)).expect("there are samples");
        (seconds * 1e9 / self.requests as f64, events as f64 / self.requests as f64)
    }
}

/// A table of what a request costs in each of `rows`.
fn table(what: &str, rows: impl IntoIterator<Item = (String, Trace, Machine)>) {
    println!("| {what} | unencrypted, ns | events | secpm, ns | events |\n|---|---|---|---|---|");
    for (name, trace, machine) in rows {
        let [(plain, few), (secret, many)] = DESIGNS.map(|design| trace.cost(design, &machine));
        println!("| {name} | {plain:.0} | {few:.2} | {secret:.0} | {many:.2} |");
    }
    println!();
}

fn size(bytes: u64) -> String {
    if bytes < GIB { format!("{} MiB", bytes / MIB) } else { format!("{} GiB", bytes / GIB) }
}

fn footprints() {
    let footprints = [64 * MIB, 256 * MIB, GIB, 4 * GIB, 16 * GIB, 64 * GIB];
    table("footprint", footprints.map(|bytes| (size(bytes), Trace::random(bytes), machine(&[]))));
}

fn queues() {
    table(
        "entries of each queue",
        [8, 16, 32, 64, 128, 256, 512, 1_024].map(|entries: u64| {
            let set = [
                format!("controller.wpq_entries={entries}"),
                format!("controller.wpq_high_watermark={}", entries * 3 / 8),
                format!("controller.read_queue_entries={entries}"),
            ];
            let trace = Trace { outstanding: 2 * entries, ..Trace::random(64 * MIB) };
            (entries.to_string(), trace, machine(&set))
        }),
    );
}

fn lengths() {
    let lengths = [1, 10, 100];
    table(
        "requests",
        lengths.map(|millions| {
            let trace = Trace { requests: millions * 1_000_000, ..Trace::random(64 * MIB) };
            (format!("{millions} M"), trace, machine(&["engine.bytes=false".to_owned()]))
        }),
    );
}

/// What a memory operation of a B-tree transaction of 1 KiB costs in the whole pipe.
fn cores() {
    println!("| cores | unencrypted, ns | secpm, ns |\n|---|---|---|");
    for cores in [1, 2, 4, 8, 16, 32, 64] {
        let [plain, secret] = DESIGNS.map(|design| of_operation(design, cores));
        println!("| {cores} | {plain:.0} | {secret:.0} |");
    }
    println!();
}

fn of_operation(design: &str, cores: u16) -> f64 {
    let machine = machine(&["program.think_instructions=0", "program.core_region=packed"].map(str::to_owned));
    let runs = Runs::new(design, machine, 2_000 / u64::from(cores).max(4), cores, 256 * MIB);
    let run = |_| {
        let mut system = runs.system();
        let started = Instant::now();
        system.run(|_| ControlFlow::Continue(()));
        let seconds = started.elapsed().as_secs_f64();
        assert!(system.cores.iter().all(Core::finished));
        seconds * 1e9 / system.cores.iter().map(|core| core.stats().memory_ops).sum::<u64>() as f64
    };
    (0..SAMPLES).map(run).min_by(f64::total_cmp).expect("there are samples")
}

/// The most memory that this process has had since the last reset of that figure, in bytes, and now.
fn resident() -> Option<(u64, u64)> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let of = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib * 1_024)
    };
    Some((of("VmHWM:")?, of("VmRSS:")?))
}

fn memory() {
    println!("| written | design | memory, MiB | for each byte written |\n|---|---|---|---|");
    for bytes in [64 * MIB, 256 * MIB, GIB] {
        for design in DESIGNS {
            // Peak memory counts from here on.
            if std::fs::write("/proc/self/clear_refs", "5").is_err() {
                return println!("\nThe peak of memory is known on Linux only.");
            }
            let Some((_, before)) = resident() else { return };
            let trace = Trace { requests: bytes / 64, fills: true, ..Trace::random(bytes) };
            trace.send(design, &machine(&[]));
            let Some((most, _)) = resident() else { return };
            let taken = most.saturating_sub(before);
            println!("| {} | {design} | {} | {:.2} |", size(bytes), taken / MIB, taken as f64 / bytes as f64);
        }
    }
    println!();
}

#[derive(Clone, Copy)]
struct Nothing;

impl EventCode for Nothing {
    fn code(&self) -> u64 {
        0
    }
}

/// Nanoseconds that an event takes which does nothing, of 32 that are pending.
fn of_event() -> f64 {
    let mut queue = Queue::<Nothing>::new();
    (0..32).for_each(|at| queue.schedule(at, Nothing));
    let started = Instant::now();
    for _ in 0..REQUESTS {
        queue.pop();
        queue.schedule(queue.now() + 32, Nothing);
    }
    started.elapsed().as_secs_f64() * 1e9 / REQUESTS as f64
}

/// Nanoseconds that a read of this computer's memory takes whose place is known only when the one before it is done, among
/// `bytes` bytes.
fn of_miss(bytes: u64) -> f64 {
    let words = (bytes / 8) as usize;
    let mut next: Vec<usize> = (0..words).collect();
    let mut random = Random::stream(1, "scale.misses");
    // One cycle through all words (Sattolo's shuffle).
    (1..words).rev().for_each(|at| next.swap(at, random.below(at as u64) as usize));
    let (started, mut at) = (Instant::now(), 0);
    (0..REQUESTS).for_each(|_| at = next[at]);
    assert!(std::hint::black_box(at) < words);
    started.elapsed().as_secs_f64() * 1e9 / REQUESTS as f64
}

/// What a random request over 64 MiB would take if nothing cost time but events and misses: a word of what is known of the
/// line, and with real bytes the line itself.
fn roofline() {
    let least = |measure: &dyn Fn() -> f64| (0..SAMPLES).map(|_| measure()).fold(f64::MAX, f64::min);
    let (event, word, line) = (least(&of_event), least(&|| of_miss(8 * MIB)), least(&|| of_miss(64 * MIB)));
    println!("An event takes {event:.0} ns, a miss {word:.0} ns among 8 MiB and {line:.0} ns among 64 MiB.\n");
    println!(
        "| design | bytes | events | events alone, ns | misses alone, ns | request, ns |\n|---|---|---|---|---|---|"
    );
    for design in DESIGNS {
        for bytes in [false, true] {
            let machine = machine(&[format!("engine.bytes={bytes}")]);
            let (request, events) = Trace::random(64 * MIB).cost(design, &machine);
            let misses = word + if bytes { line } else { 0.0 };
            println!("| {design} | {bytes} | {events:.2} | {:.0} | {misses:.0} | {request:.0} |", events * event);
        }
    }
    println!();
}

fn main() {
    let tables: [(&str, fn()); 6] = [
        // First, because it takes up no memory that another table has given back to the process.
        ("memory", memory),
        ("footprint", footprints),
        ("queues", queues),
        ("length", lengths),
        ("cores", cores),
        ("roofline", roofline),
    ];
    let asked: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = asked.iter().find(|name| tables.iter().all(|(known, _)| known != name)) {
        eprintln!("error: table '{unknown}' does not exist: footprint, queues, length, cores, memory or roofline");
        std::process::exit(2);
    }
    for (name, print) in tables {
        if asked.is_empty() || asked.iter().any(|asked| asked == name) {
            print();
        }
    }
}

//! Held against Ramulator 2, request by request: `tests/data/ramulator` has traces and what it answered, for a channel of each
//! machine of DRAM.

use super::nvmain::{Programmed, Zeros, summary};
use counterpoint_engine::LineSystem;
use counterpoint_engine::config::{Machine, Variant, load_machine};
use counterpoint_engine::controller::Response;
use counterpoint_engine::design;
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::message::{Line, MediaOp};
use std::path::Path;
use std::sync::Arc;

struct Row {
    cycle: u64,
    op: MediaOp,
    line: Line,
    accepted: u64,
    latency: u64,
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rows(machine: &str, trace: &str) -> Vec<Row> {
    let file = std::fs::File::open(root().join(format!("tests/data/ramulator/{machine}/{trace}.tsv.zst"))).unwrap();
    let text = std::io::read_to_string(zstd::Decoder::new(file).unwrap()).unwrap();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |index: usize| fields[index].parse::<u64>().unwrap();
        Row {
            cycle: number(0),
            op: if fields[1] == "W" { MediaOp::Write } else { MediaOp::Read },
            line: Line(u64::from_str_radix(fields[2], 16).unwrap() / 64),
            accepted: number(3),
            latency: number(4),
        }
    };
    text.lines().skip(1).map(row).collect()
}

/// One channel of the machine `name`.
fn channel(name: &str) -> Machine {
    let of_one = [
        "device.channels=1",
        "device.capacity=16GiB", // the counters of designs that have some are behind the data
        "controller.wpq_entries=32",
        "controller.wpq_high_watermark=26",
        "controller.wpq_low_watermark=6",
        "controller.read_queue_entries=32",
    ];
    load_machine(name, &of_one.map(str::to_owned)).unwrap()
}

/// The cycle in which each request of `rows` was accepted, and how many it took: a read to the end of its data, a write to its
/// column command. A request that is refused holds up all that are behind it.
fn replay(machine: &Machine, rows: &[Row]) -> Vec<(u64, u64)> {
    let cycle = machine.device.interface_cycle_ps();
    let to_end = u64::from(machine.device.burst_cycles) * cycle + (machine.device.t_cwd_ns * 1000.0).round() as Ps;
    let design = design::find("unencrypted", Variant::Hardened).unwrap();
    let mut system = LineSystem::new(machine, &design, Arc::new(Zeros), 1, Programmed::default()).unwrap();
    let (mut sent, mut done) = (vec![0; rows.len()], vec![0; rows.len()]);
    let mut collect = |system: &mut LineSystem<Programmed>| {
        for answer in system.advance().expect("something happens").to_vec() {
            if let Response::Read { token, .. } = answer {
                done[token as usize] = system.now();
            }
        }
    };
    for (token, row) in rows.iter().enumerate() {
        let wanted = (row.cycle * cycle).max(system.now());
        while system.next_event_at().is_some_and(|at| at <= wanted) {
            collect(&mut system);
        }
        system.wait_until(wanted);
        while !system.accepts(row.op) {
            collect(&mut system);
        }
        sent[token] = system.now();
        match row.op {
            MediaOp::Read => system.read(sent[token], row.line, token as u32),
            MediaOp::Write => {
                system.observer.under_way.entry(row.line).or_default().push_back(token as u32);
                system.write(sent[token], row.line, &[1; 64], token as u32);
            }
        }
    }
    while system.next_event_at().is_some() {
        collect(&mut system);
    }
    system.flush();
    while system.next_event_at().is_some() {
        collect(&mut system);
    }
    for &(token, at) in &system.observer.done {
        done[token as usize] = at - to_end;
    }
    // A write that another one of its line replaced in the queue is over when it is accepted.
    sent.iter().zip(&done).map(|(&sent, &done)| (sent / cycle, done.max(sent).abs_diff(sent) / cycle)).collect()
}

const MACHINES: [&str; 2] = ["ddr4-2400", "ddr5-4800"];

const TRACES: [&str; 13] = [
    "idle",
    "random",
    "random-near",
    "random-beyond",
    "one-stream",
    "streams",
    "streams-beyond",
    "mixed",
    "mixed-near",
    "mixed-beyond",
    "mixed-streams",
    "writes-beyond",
    "few-rows",
];

/// The largest deviation of a mean, and of a 99th percentile, in percent.
const BOUNDS: [f64; 2] = [1.0, 1.0];

/// The least share of requests that are accepted in the same cycle and take as many, in percent. A read that is answered from the
/// write pending queue takes a cycle less here.
const LEAST_SAME: f64 = 99.0;

/// Every latency is within the bounds, and the page shows all of them.
#[test]
fn every_trace_takes_as_long_as_in_ramulator() {
    let mut table = String::from(
        "| machine | trace | requests | Ramulator 2: mean | here | deviation | Ramulator 2: 99th percentile | here | deviation \
         | with the same latency |\n|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let mut beyond = Vec::new();
    for name in MACHINES {
        let machine = channel(name);
        for trace in TRACES {
            let rows = rows(name, trace);
            let ours = replay(&machine, &rows);
            for (op, word) in [(MediaOp::Read, "reads"), (MediaOp::Write, "writes")] {
                let both = || rows.iter().zip(&ours).filter(|(row, _)| row.op == op);
                if both().next().is_none() {
                    continue;
                }
                let theirs = summary(both().map(|(row, _)| row.latency as f64).collect());
                let here = summary(both().map(|(_, ours)| ours.1 as f64).collect());
                let same = both().filter(|(row, ours)| (row.accepted, row.latency) == **ours).count();
                table += &format!("| {name} | {trace} | {word} ");
                for (index, bound) in BOUNDS.into_iter().enumerate() {
                    let deviation = (here[index] / theirs[index] - 1.0) * 100.0;
                    let shown = format!("{:.1} | {:.1} | {deviation:+.1} %", theirs[index], here[index]);
                    if deviation.abs() > bound {
                        beyond.push(format!("{name} {trace} {word}: {shown}"));
                    }
                    table += &format!("| {shown} ");
                }
                let same = same as f64 / both().count() as f64 * 100.0;
                if same < LEAST_SAME {
                    beyond.push(format!("{name} {trace} {word}: {same} % with the same latency"));
                }
                table += &format!("| {same:.1} % |\n");
            }
        }
    }
    let page = root().join("docs/ddr.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once("<!-- latencies -->\n").unwrap();
    let (shown, after) = rest.split_once("<!-- end of latencies -->").unwrap();
    if std::env::var_os("COUNTERPOINT_WRITE_PAGES").is_some() {
        let text = format!("{before}<!-- latencies -->\n{table}<!-- end of latencies -->{after}");
        std::fs::write(page, text).unwrap();
    } else {
        assert_eq!(shown, table, "docs/ddr.md: COUNTERPOINT_WRITE_PAGES=1 writes the table");
    }
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}

//! Held against Ramulator 2, request by request: `tests/data/ramulator` has traces and what it answered, for a channel of each
//! machine of DRAM.

use super::common::peers::{self, Row, page_has, rows, summary};
use counterpoint_engine::config::{Machine, load_machine};
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::message::MediaOp;

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
    let replayed = peers::replay(machine, rows, cycle);
    let of = |((sent, done), row): ((Ps, Ps), &Row)| {
        let until = if row.op == MediaOp::Write && done > 0 { done - to_end } else { done };
        // A write that another one of its line replaced in the queue is over when it is accepted.
        (sent / cycle, until.max(sent).abs_diff(sent) / cycle)
    };
    replayed.into_iter().zip(rows).map(of).collect()
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
            let rows = rows(&format!("ramulator/{name}/{trace}"));
            let ours = replay(&machine, &rows);
            for (op, word) in [(MediaOp::Read, "reads"), (MediaOp::Write, "writes")] {
                let both = || rows.iter().zip(&ours).filter(|(row, _)| row.op == op);
                if both().next().is_none() {
                    continue;
                }
                let theirs = summary(both().map(|(row, _)| row.answers[1] as f64).collect());
                let here = summary(both().map(|(_, ours)| ours.1 as f64).collect());
                let same = both().filter(|(row, ours)| (row.answers[0], row.answers[1]) == **ours).count();
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
    page_has("docs/ddr.md", &table);
    assert!(beyond.is_empty(), "{}", beyond.join("\n"));
}

//! Held against NVMain, request by request: `tests/data/nvmain` has traces and what the original answered, with its
//! configuration as it is shipped and with rows as long as the configuration says.

use super::common::peers::{self, Row, page_has, root, rows, summary};
use counterpoint_engine::config::{Machine, load_machine};
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::message::MediaOp;

/// A cycle of NVMain's memory in picoseconds, and of the processor that wrote the traces in those.
const CYCLE: Ps = 2_500;
const CPU_CYCLES: u64 = 5;

/// NVMain's answer to a request: the memory cycle in which it was accepted, and how many it took from there.
#[derive(Clone, Copy)]
struct Answer {
    accepted: u64,
    latency: u64,
}

/// When each request of `rows` was accepted and how long it took, in memory cycles. A request that is refused blocks all
/// behind it, as in NVMain's trace reader.
fn replay(machine: &Machine, rows: &[Row]) -> Vec<(u64, f64)> {
    let of = |(sent, done): (Ps, Ps)| (sent / CYCLE, (done - sent) as f64 / CYCLE as f64);
    peers::replay(machine, rows, CYCLE).into_iter().map(of).collect()
}

const TRACES: [&str; 12] = [
    "doc",
    "seqrd",
    "seqrd-sat",
    "rndrd",
    "rndrd-sat",
    "rnd5050",
    "rnd5050-sat",
    "bankw",
    "bankw-seq",
    "burst",
    "idle-rd",
    "idle-hit",
];

/// A configuration of NVMain: its name here, what it says beside the machine file, the cycles that it adds to the
/// completion of a write, and which answers it gave.
struct Configuration {
    name: &'static str,
    sets: &'static [&'static str],
    added: f64,
    answer: fn(&Row) -> Answer,
}

const CONFIGURATIONS: [Configuration; 2] = [
    Configuration {
        name: "matched",
        sets: &[],
        added: 0.0,
        answer: |row| Answer { accepted: row.answers[2], latency: row.answers[3] },
    },
    Configuration {
        name: "shipped",
        sets: &["device.row_segments=32", "controller.answer_latency_ns=25"],
        added: 10.0,
        answer: |row| Answer { accepted: row.answers[0], latency: row.answers[1] },
    },
];

/// The largest deviations in percent: of means, and of 99th percentiles.
const BOUNDS: [f64; 2] = [5.0, 10.0];

/// Where NVMain's own arbitration decides: it gives turns to banks by a pointer that moves by one queue with each command
/// and counts one queue too many, so that of two banks with an open row each one gets four turns of five. Here they take
/// turns.
const REASONED: [(&str, &str, f64); 1] = [("matched", "seqrd-sat", 25.0)];

/// A row of the page: a trace, its reads or writes, and NVMain's mean and percentile beside ours, in memory cycles.
fn compare(configuration: &Configuration, trace: &str) -> Vec<(MediaOp, [f64; 2], [f64; 2])> {
    let file = root().join("tests/data/nvmain-pcm.toml");
    let sets: Vec<String> = configuration.sets.iter().map(ToString::to_string).collect();
    let machine = load_machine(file.to_str().unwrap(), &sets).unwrap();
    let mut rows = rows(&format!("nvmain/{trace}"));
    rows.iter_mut().for_each(|row| row.cycle /= CPU_CYCLES);
    let ours = replay(&machine, &rows);
    let end = |ends: &mut dyn Iterator<Item = f64>| ends.fold(0.0, f64::max);
    let their_end =
        end(&mut rows.iter().map(configuration.answer).map(|answer| (answer.accepted + answer.latency) as f64));
    let our_end = end(&mut ours.iter().map(|(accepted, latency)| *accepted as f64 + latency));
    assert!((our_end / their_end - 1.0).abs() < 0.005, "{} {trace} ends at {our_end}: {their_end}", configuration.name);
    let of = |op, added| {
        let both = rows.iter().zip(&ours).filter(|(row, _)| row.op == op);
        let (theirs, ours): (Vec<f64>, Vec<f64>) =
            both.map(|(row, found)| ((configuration.answer)(row).latency as f64, found.1 + added)).unzip();
        (!theirs.is_empty()).then(|| (op, summary(theirs), summary(ours)))
    };
    [of(MediaOp::Read, 0.0), of(MediaOp::Write, configuration.added)].into_iter().flatten().collect()
}

/// Every latency is within the bounds, and the page shows all of them.
#[test]
fn every_trace_takes_as_long_as_in_nvmain() {
    let mut table = String::from(
        "| configuration | trace | requests | NVMain: mean | here | deviation | NVMain: 99th percentile | here | deviation |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for configuration in &CONFIGURATIONS {
        for trace in TRACES {
            for (op, theirs, ours) in compare(configuration, trace) {
                let word = if op == MediaOp::Read { "reads" } else { "writes" };
                table += &format!("| {} | {trace} | {word} ", configuration.name);
                for (index, bound) in BOUNDS.into_iter().enumerate() {
                    let deviation = (ours[index] / theirs[index] - 1.0) * 100.0;
                    let reasoned = REASONED.iter().find(|(name, of, _)| (*name, *of) == (configuration.name, trace));
                    let bound = reasoned.map_or(bound, |(.., larger)| if index == 1 { *larger } else { bound });
                    let shown = format!("{:.1} | {:.1} | {deviation:+.1} %", theirs[index], ours[index]);
                    assert!(deviation.abs() <= bound, "{} {trace} {word}: {shown}", configuration.name);
                    table += &format!("| {shown} ");
                }
                table += "|\n";
            }
        }
    }
    page_has("docs/nvmain.md", &table);
}

//! Held against NVMain, request by request: `tests/data/nvmain` has traces and what the original answered, with its
//! configuration as it is shipped and with rows as long as the configuration says.

use counterpoint_engine::LineSystem;
use counterpoint_engine::config::{Machine, Variant, load_machine};
use counterpoint_engine::controller::Response;
use counterpoint_engine::design;
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::message::{BaseImage, Line, LineBytes, MediaLine, MediaOp, Observer};
use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

/// A cycle of NVMain's memory in picoseconds, and of the processor that wrote the traces in those.
const CYCLE: Ps = 2_500;
const CPU_CYCLES: u64 = 5;

/// NVMain's answer to a request: the memory cycle in which it was accepted, and how many it took from there.
#[derive(Clone, Copy)]
struct Answer {
    accepted: u64,
    latency: u64,
}

struct Row {
    cycle: u64,
    op: MediaOp,
    line: Line,
    shipped: Answer,
    matched: Answer,
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rows(trace: &str) -> Vec<Row> {
    let file = std::fs::File::open(root().join(format!("tests/data/nvmain/{trace}.tsv.zst"))).unwrap();
    let text = std::io::read_to_string(zstd::Decoder::new(file).unwrap()).unwrap();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |index: usize| fields[index].parse::<u64>().unwrap();
        Row {
            cycle: number(0) / CPU_CYCLES,
            op: if fields[1] == "W" { MediaOp::Write } else { MediaOp::Read },
            line: Line(u64::from_str_radix(fields[2], 16).unwrap() / 64),
            shipped: Answer { accepted: number(3), latency: number(4) },
            matched: Answer { accepted: number(5), latency: number(6) },
        }
    };
    text.lines().skip(1).map(row).collect()
}

/// What a replayed trace finds: zeros.
pub struct Zeros;

impl BaseImage for Zeros {
    fn line(&self, _line: Line) -> Option<&LineBytes> {
        Some(&[0; 64])
    }
    fn populated(&self, _line: Line) -> bool {
        true
    }
    fn end(&self) -> u64 {
        1 << 30
    }
}

/// The writes of each line that are not programmed yet, and when each write is.
#[derive(Default)]
pub struct Programmed {
    pub under_way: HashMap<Line, VecDeque<u32>>,
    pub done: Vec<(u32, Ps)>,
}

impl Observer for Programmed {
    fn device_access(&mut self, _now: Ps, _bank: u16, media: MediaLine, op: MediaOp, until: Ps) {
        if op == MediaOp::Write {
            let line = media.as_line().unwrap();
            let oldest = self.under_way.get_mut(&line).and_then(VecDeque::pop_front).unwrap();
            self.done.push((oldest, until));
        }
    }
}

/// When each request of `rows` was accepted and how long it took, in memory cycles. A request that is refused blocks all
/// behind it, as in NVMain's trace reader.
fn replay(machine: &Machine, rows: &[Row]) -> Vec<(u64, f64)> {
    let design = design::find("unencrypted", Variant::Hardened).unwrap();
    let mut system = LineSystem::new(machine, &design, Arc::new(Zeros), 1, Programmed::default()).unwrap();
    let mut sent = vec![0; rows.len()];
    let mut done = vec![0; rows.len()];
    let mut collect = |system: &mut LineSystem<Programmed>| {
        let answers: Vec<Response> = system.advance().expect("something happens").to_vec();
        for answer in answers {
            if let Response::Read { token, .. } = answer {
                done[token as usize] = system.now();
            }
        }
    };
    for (token, row) in rows.iter().enumerate() {
        let wanted = (row.cycle * CYCLE).max(system.now());
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
        done[token as usize] = at;
    }
    sent.iter().zip(&done).map(|(&sent, &done)| (sent / CYCLE, (done - sent) as f64 / CYCLE as f64)).collect()
}

/// Mean and 99th percentile.
pub fn summary(mut latencies: Vec<f64>) -> [f64; 2] {
    latencies.sort_by(f64::total_cmp);
    let mean = latencies.iter().sum::<f64>() / latencies.len() as f64;
    [mean, latencies[latencies.len() * 99 / 100]]
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
    Configuration { name: "matched", sets: &[], added: 0.0, answer: |row| row.matched },
    Configuration {
        name: "shipped",
        sets: &["device.row_segments=32", "controller.answer_latency_ns=25"],
        added: 10.0,
        answer: |row| row.shipped,
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
    let rows = rows(trace);
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
    let page = root().join("docs/nvmain.md");
    let text = std::fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once("<!-- latencies -->\n").unwrap();
    let (shown, after) = rest.split_once("<!-- end of latencies -->").unwrap();
    if std::env::var_os("COUNTERPOINT_WRITE_PAGES").is_some() {
        let text = format!("{before}<!-- latencies -->\n{table}<!-- end of latencies -->{after}");
        std::fs::write(page, text).unwrap();
    } else {
        assert_eq!(shown, table, "docs/nvmain.md: COUNTERPOINT_WRITE_PAGES=1 writes the table");
    }
}

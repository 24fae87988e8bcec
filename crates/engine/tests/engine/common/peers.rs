//! Traces that another simulator has answered, request by request: their rows, their replay, and the table of a page.

use counterpoint_engine::LineSystem;
use counterpoint_engine::config::{Machine, Variant};
use counterpoint_engine::controller::Response;
use counterpoint_engine::design;
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::message::{BaseImage, Line, LineBytes, MediaLine, MediaOp, Observer};
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A request, in the clock of its trace, and what the other simulator answered.
pub struct Row {
    pub cycle: u64,
    pub op: MediaOp,
    pub line: Line,
    pub answers: Vec<u64>,
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The rows of `trace`, a file of tests/data without its endings.
pub fn rows(trace: &str) -> Vec<Row> {
    let file = std::fs::File::open(root().join(format!("tests/data/{trace}.tsv.zst"))).unwrap();
    let text = std::io::read_to_string(zstd::Decoder::new(file).unwrap()).unwrap();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |field: &&str| field.parse::<u64>().unwrap();
        Row {
            cycle: number(&fields[0]),
            op: if fields[1] == "W" { MediaOp::Write } else { MediaOp::Read },
            line: Line(u64::from_str_radix(fields[2], 16).unwrap() / 64),
            answers: fields[3..].iter().map(number).collect(),
        }
    };
    text.lines().skip(1).map(row).collect()
}

/// What a replayed trace finds: zeros.
struct Zeros;

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
struct Programmed {
    under_way: HashMap<Line, VecDeque<u32>>,
    done: Vec<(u32, Ps)>,
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

/// When each request of `rows` was accepted and when it was done, where a cycle of the trace takes `cycle`: a read when it is
/// answered, a write when it is programmed; 0 for a write that another one of its line replaced. A request that is refused holds
/// up all behind it.
pub fn replay(machine: &Machine, rows: &[Row], cycle: Ps) -> Vec<(Ps, Ps)> {
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
        done[token as usize] = at;
    }
    sent.into_iter().zip(done).collect()
}

/// Mean and 99th percentile.
pub fn summary(mut latencies: Vec<f64>) -> [f64; 2] {
    latencies.sort_by(f64::total_cmp);
    let mean = latencies.iter().sum::<f64>() / latencies.len() as f64;
    [mean, latencies[latencies.len() * 99 / 100]]
}

/// The latencies on `page` are those of `table`; COUNTERPOINT_WRITE_PAGES=1 writes them there.
pub fn page_has(page: &str, table: &str) {
    let path = root().join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once("<!-- latencies -->\n").unwrap();
    let (shown, after) = rest.split_once("<!-- end of latencies -->").unwrap();
    if std::env::var_os("COUNTERPOINT_WRITE_PAGES").is_some() {
        let text = format!("{before}<!-- latencies -->\n{table}<!-- end of latencies -->{after}");
        std::fs::write(path, text).unwrap();
    } else {
        assert_eq!(shown, table, "{page}: COUNTERPOINT_WRITE_PAGES=1 writes the table");
    }
}

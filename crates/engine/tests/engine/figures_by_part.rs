//! Figures of channels, banks, energy and latencies, against independent counts over the stream of events.

use counterpoint_engine::config::{RunConfig, Variant, load_machine};
use counterpoint_engine::device::Device;
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::message::{CoreId, LINE_BYTES, MediaLine, MediaOp, Observer};
use counterpoint_engine::stats::{BankReport, ChannelReport, Class};
use counterpoint_engine::trace::lines::LineTrace;
use counterpoint_engine::workload::Filled;
use counterpoint_engine::{Bases, Source, design, run_line_trace, simulate_observed};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Bits that an access of a line moves.
const BITS: f64 = 512.0;

/// What happened on the device, and when transactions began and ended.
#[derive(Default)]
struct Log {
    accesses: Vec<(Ps, u16, MediaLine, MediaOp, Ps)>,
    began: HashMap<CoreId, Ps>,
    transactions: Vec<Ps>,
}

impl Observer for Log {
    fn device_access(&mut self, now: Ps, bank: u16, media: MediaLine, op: MediaOp, until: Ps) {
        self.accesses.push((now, bank, media, op, until));
    }
    fn transaction_began(&mut self, now: Ps, core: CoreId, _number: u64) {
        self.began.insert(core, now);
    }
    fn transaction_ended(&mut self, now: Ps, core: CoreId, _number: u64) {
        self.transactions.push(now - self.began[&core]);
    }
}

/// What was counted of one bank.
#[derive(Clone, Default)]
struct Counted {
    accesses: [u64; 2],
    row_hits: [u64; 2],
    open: Option<u64>,
}

impl Log {
    /// The counts by bank, if a row stays open until another is accessed; rows as `device` maps them.
    fn by_bank(&self, device: &Device) -> Vec<Counted> {
        let mut banks = vec![Counted::default(); usize::from(device.banks())];
        for &(_, bank, media, op, _) in &self.accesses {
            let (counted, row) = (&mut banks[usize::from(bank)], device.place(media).row);
            counted.accesses[op as usize] += 1;
            counted.row_hits[op as usize] += u64::from(counted.open == Some(row));
            counted.open = Some(row);
        }
        banks
    }

    /// Time in which `bank` works on one of its accesses or more.
    fn busy(&self, bank: u16) -> Ps {
        let (mut busy, mut end) = (0, 0);
        for &(now, _, _, _, until) in self.accesses.iter().filter(|access| access.1 == bank) {
            busy += until.saturating_sub(now.max(end));
            end = end.max(until);
        }
        busy
    }
}

/// Classes of times in picoseconds: the power of two below each, and how many there are.
fn counted_classes(times: impl Iterator<Item = u64>) -> Vec<(f64, u64)> {
    let mut counts = std::collections::BTreeMap::new();
    for time in times {
        let from = if time < 2 { 0 } else { 1_u64 << time.ilog2() };
        *counts.entry(from).or_insert(0) += 1;
    }
    counts.into_iter().map(|(from, count)| (from as f64 / 1_000.0, count)).collect()
}

fn told(classes: &[Class]) -> Vec<(f64, u64)> {
    assert!(classes.windows(2).all(|pair| pair[0].below_ns <= pair[1].from_ns));
    classes.iter().map(|class| (class.from_ns, class.count)).collect()
}

fn config(set: &[&str]) -> RunConfig {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    RunConfig {
        transactions: 20,
        footprint: 65_536,
        tx_size: 256,
        ..RunConfig::new("secpm", "btree", load_machine("small", &set).unwrap())
    }
}

fn device(config: &RunConfig) -> Device {
    let layout = design::find("secpm", Variant::Hardened).unwrap().media_layout(&config.machine);
    Device::new(&config.machine, layout, Arc::new(Filled { end: 1 << 16, line: [0; 64] })).unwrap()
}

/// Checks reports of banks and channels against what was counted, and returns the counts.
fn check_places(log: &Log, device: &Device, banks: &[BankReport], channels: &[ChannelReport]) -> Vec<Counted> {
    let counted = log.by_bank(device);
    assert_eq!(banks.len(), counted.len());
    for (number, (bank, counted)) in (0..).zip(banks.iter().zip(&counted)) {
        assert_eq!((bank.channel, bank.rank), device.channel_and_rank(number), "bank {number}");
        assert_eq!([bank.reads, bank.writes], counted.accesses, "bank {number}");
        assert_eq!([bank.read_row_hits, bank.row_hits - bank.read_row_hits], counted.row_hits, "bank {number}");
        assert_eq!(bank.busy_ns > 0.0, counted.accesses != [0, 0], "bank {number}");
    }
    for (number, channel) in (0..).zip(channels) {
        let of_channel = || banks.iter().filter(|bank| bank.channel == number);
        let sum = |count: fn(&BankReport) -> u64| of_channel().map(count).sum::<u64>();
        assert_eq!((channel.reads, channel.writes), (sum(|bank| bank.reads), sum(|bank| bank.writes)));
        assert_eq!(
            (channel.row_hits, channel.read_row_hits),
            (sum(|bank| bank.row_hits), sum(|bank| bank.read_row_hits))
        );
        assert!((channel.banks_busy_ns - of_channel().map(|bank| bank.busy_ns).sum::<f64>()).abs() < 1e-6);
    }
    counted
}

fn lines(config: &RunConfig, text: &str) -> (counterpoint_engine::LineReport, Log, Vec<(bool, u64)>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests.csv");
    let (design, never) = (design::find(&config.design, Variant::Hardened).unwrap(), AtomicBool::new(false));
    let trace = LineTrace::from_bytes("t.trace", text.as_bytes()).unwrap().expect("a trace of lines");
    let asked = (1000, Some(&*path));
    let (report, log) =
        run_line_trace(config, &design, &trace, asked, (Log::default(), None), &|_| {}, &never).unwrap();
    let table = std::fs::read_to_string(&path).unwrap();
    let (head, rows) = table.split_once('\n').unwrap();
    let place = |name: &str| head.split(',').position(|column| column == name).unwrap();
    let [op, sent, answered] = ["op", "sent_ps", "answered_ps"].map(place);
    let latency = |row: &str| {
        let cells: Vec<&str> = row.split(',').collect();
        let [sent, answered] = [sent, answered].map(|place| cells[place].parse::<u64>().unwrap());
        (cells[op] == "W", answered - sent)
    };
    (report, log, rows.lines().map(latency).collect())
}

#[test]
fn line_trace_has_the_figures_of_its_parts() {
    let config = config(&["device.channels=2"]);
    let text: String = (0..900u64)
        .map(|n| format!("{:#x} {} {}\n", n * 37 % 191 * 64, if n % 3 == 0 { "WRITE" } else { "READ" }, n * 40))
        .collect();
    let (report, log, latencies) = lines(&config, &text);
    let counted = check_places(&log, &device(&config), &report.banks, &report.channels);
    assert_eq!(report.channels.len(), 2);
    let hits: u64 = counted.iter().flat_map(|bank| bank.row_hits).sum();
    assert!(hits > 0 && report.nvm.row_hits == hits);

    let [reads, read_hits]: [u64; 2] =
        [counted.iter().map(|bank| bank.accesses[0]).sum(), counted.iter().map(|bank| bank.row_hits[0]).sum()];
    let writes: u64 = counted.iter().map(|bank| bank.accesses[1]).sum();
    let (device, energy) = (&config.machine.device, &report.energy);
    let near = |found: f64, wanted: f64| (found - wanted).abs() <= 1e-6 * wanted.max(1.0);
    assert!(near(energy.array_read_nj, (reads - read_hits) as f64 * BITS * device.array_read_pj_per_bit / 1e3));
    assert!(near(energy.array_write_nj, writes as f64 * BITS * device.array_write_pj_per_bit / 1e3));
    assert!(near(energy.row_buffer_nj, (reads + writes) as f64 * BITS * device.row_buffer_pj_per_bit / 1e3));
    assert!(near(energy.background_nj, report.simulated_ns * device.background_mw / 1e3));
    let parts = energy.array_read_nj + energy.array_write_nj + energy.row_buffer_nj + energy.background_nj;
    assert!(near(parts, report.nvm.energy_nj));
    let of_aes = report.crypto.pads as f64 * LINE_BYTES as f64 * config.machine.eadr.aes_pj_per_byte / 1e3;
    assert!(near(energy.aes_nj, of_aes) && energy.aes_nj > 0.0 && energy.mac_nj == 0.0);
    let counters: u64 = log.accesses.iter().filter(|access| access.2.is_counter()).count() as u64;
    let least = counters as f64 * BITS * device.row_buffer_pj_per_bit / 1e3;
    assert!(counters > 0 && energy.metadata_nj > least && energy.metadata_nj < parts);

    let of = |write: bool| counted_classes(latencies.iter().filter(|one| one.0 == write).map(|one| one.1));
    assert_eq!((told(&report.read_latency_classes), told(&report.write_latency_classes)), (of(false), of(true)));
}

#[test]
fn banks_are_busy_while_they_write() {
    // Without counters nothing is read.
    let config = RunConfig { design: "unencrypted".to_owned(), ..config(&[]) };
    let text: String = (0..200u64).map(|n| format!("{:#x} WRITE {}\n", n * 61 % 97 * 64, n * 300)).collect();
    let (report, log, _) = lines(&config, &text);
    let only_written: Vec<_> =
        (0..).zip(&report.banks).filter(|(_, bank)| bank.reads == 0 && bank.writes > 0).collect();
    assert!(!only_written.is_empty());
    for (number, bank) in only_written {
        assert_eq!(bank.busy_ns, log.busy(number) as f64 / 1_000.0, "bank {number}");
    }
    let all: f64 = report.banks.iter().map(|bank| bank.busy_ns).sum();
    assert!((all - report.nvm.bank_busy_ns).abs() < 1e-6);
}

#[test]
fn program_has_the_figures_of_its_parts() {
    let config = config(&[]);
    let design = design::find("secpm", Variant::Hardened).unwrap();
    let source = Source::open(&config, design.form, 1 << 24, &Arc::default()).unwrap();
    let run = simulate_observed(
        &config,
        &design,
        &source,
        &Bases::default(),
        (Log::default(), None),
        &|_| {},
        &Arc::default(),
    );
    let (report, log) = run.unwrap();
    let stats = &report.stats;
    check_places(&log, &device(&config), &stats.banks, &stats.channels);
    assert_eq!(told(&stats.transaction_latency_classes), counted_classes(log.transactions.iter().copied()));
    let (classes, mean) = (&stats.l1_access_latency_classes, stats.l1_access_latency_ns.unwrap());
    let count = classes.iter().map(|class| class.count).sum::<u64>() as f64;
    let bound =
        |end: fn(&Class) -> f64| classes.iter().map(|class| class.count as f64 * end(class)).sum::<f64>() / count;
    assert!(bound(|class| class.from_ns) <= mean && mean <= bound(|class| class.below_ns), "{mean}");
}

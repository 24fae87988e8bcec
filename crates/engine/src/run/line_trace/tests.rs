//! Latencies of single accesses compared with the machine's own times, and whole traces compared with counts.

use super::*;
use crate::config::{Variant, load_machine};
use crate::design;
use crate::message::NoObserver;

fn config(design: &Design, set: &[&str]) -> RunConfig {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    RunConfig {
        tx_size: 64,
        transactions: 1,
        footprint: 4096,
        ..RunConfig::new(&design.name, "t.trace", load_machine(&design.machine, &set).unwrap())
    }
}

fn run_on(name: &str, set: &[&str], text: &str) -> Result<LineReport, Failure> {
    let design = design::find(name, Variant::Hardened).unwrap();
    let trace = LineTrace::from_bytes("t.trace", text.as_bytes())?.expect("a trace of lines");
    let never = AtomicBool::new(false);
    run_line_trace(&config(&design, set), &design, &trace, (1000, None), (NoObserver, None), &|_| {}, &never)
        .map(|(report, _)| report)
}

fn run(name: &str, text: &str) -> LineReport {
    run_on(name, &[], text).unwrap()
}

#[test]
fn access_alone_takes_the_time_of_the_device() {
    let report = run("unencrypted", "LD 0x1000\n");
    let machine = config(&design::find("unencrypted", Variant::Hardened).unwrap(), &[]).machine;
    let device = &machine.device;
    assert_eq!((report.requests, report.reads, report.writes, report.media_reads), (1, 1, 0, 1));
    let read = report.read_latency_ns.unwrap();
    assert!(read >= device.t_rcd_ns + device.t_cl_ns && read < device.t_rcd_ns + device.t_cl_ns + 50.0, "{read}");
    assert_eq!((report.write_latency_ns, report.media_write_latency_ns), (None, None));
    let report = run("unencrypted", "ST 4096\n");
    assert_eq!((report.requests, report.reads, report.writes, report.media_writes), (1, 0, 1, 1));
    let (accepted, arrived) = (report.write_latency_ns.unwrap(), report.media_write_latency_ns.unwrap());
    assert!(accepted < arrived, "{accepted} {arrived}");
}

#[test]
fn trace_keeps_its_cycles_and_begins_with_its_first() {
    let report = run("unencrypted", "0x40 READ 1000000\n0x80040 READ 1005000\n");
    assert_eq!((report.requests, report.waited), (2, 0));
    assert!((5_000.0..6_000.0).contains(&report.simulated_ns), "{}", report.simulated_ns);
    assert!(report.read_latency_ns.unwrap() < 500.0);
}

/// When each access is answered after it is due, in picoseconds, counted beside the run: reads and writes, each in
/// ascending order. The accesses are of (nanosecond, whether it writes, line).
fn counted(name: &str, accesses: &[(u64, bool, u64)]) -> [Vec<Ps>; 2] {
    let design = design::find(name, Variant::Hardened).unwrap();
    let config = config(&design, &[]);
    let base = Arc::new(Filled { end: 1 << 30, line: [0x5a; 64] });
    let mut driver = Driver::new(&config.machine, &design, base, config.seed, NoObserver).unwrap();
    let mut times = [Vec::new(), Vec::new()];
    let mut advance = |driver: &mut Driver<NoObserver, (Ps, bool)>| {
        let happened = driver.advance();
        for answered in &driver.answered {
            let (due, write) = answered.request;
            times[usize::from(write)].push(driver.system.now() - due);
        }
        happened
    };
    for &(ns, write, line) in accesses {
        let due = ns * 1_000;
        let at = driver.system.now().max(due);
        while driver.is_due(at) {
            advance(&mut driver);
        }
        driver.system.wait_until(at);
        while !driver.system.accepts(if write { MediaOp::Write } else { MediaOp::Read }) {
            assert!(advance(&mut driver));
        }
        driver.send((due, write), |system, token| match write {
            true => system.write_now(Line(line), &[1; 64], token),
            false => system.read_now(Line(line), token),
        });
    }
    while advance(&mut driver) {}
    driver.system.flush();
    while advance(&mut driver) {}
    times.iter_mut().for_each(|times| times.sort_unstable());
    times
}

/// The table of requests of a run: the times of each row, by column, and whether it writes.
fn table(name: &str, text: &str) -> (LineReport, Vec<(bool, Vec<u64>)>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests.csv");
    let design = design::find(name, Variant::Hardened).unwrap();
    let trace = LineTrace::from_bytes("t.trace", text.as_bytes()).unwrap().expect("a trace of lines");
    let never = AtomicBool::new(false);
    let asked = (1000, Some(&*path));
    let (report, _) =
        run_line_trace(&config(&design, &[]), &design, &trace, asked, (NoObserver, None), &|_| {}, &never).unwrap();
    let table = std::fs::read_to_string(&path).unwrap();
    let rows = table.lines().skip(1).map(|row| {
        let fields: Vec<&str> = row.split(',').collect();
        let numbers = fields.iter().enumerate().filter(|(column, _)| *column != 1);
        (fields[1] == "W", numbers.map(|(_, field)| field.parse().unwrap()).collect())
    });
    (report, rows.collect())
}

#[test]
fn table_of_requests_has_the_times_of_an_independent_count() {
    let mut random = crate::kernel::Random::stream(9, "requests");
    let mut now = 0;
    let accesses: Vec<(u64, bool, u64)> = (0..400)
        .map(|_| {
            now += random.below(60);
            (now, random.below(3) == 0, 64 * random.below(500) + random.below(4))
        })
        .collect();
    let line = |&(ns, write, line): &(u64, bool, u64)| {
        format!("{:#x} {} {ns}\n", line * 64, if write { "WRITE" } else { "READ" })
    };
    let text: String = accesses.iter().map(line).collect();
    for name in ["unencrypted", "secpm", "sca", "co-located", "secpm-tree", "xts"] {
        let (report, mut rows) = table(name, &text);
        assert_eq!(report.event_digest, run(name, &text).event_digest, "{name}: watching changes nothing");
        let first = accesses[0].0;
        let mut found = [Vec::new(), Vec::new()];
        rows.sort_by_key(|(_, row)| row[0]);
        assert_eq!(rows.len(), accesses.len());
        for ((write, row), (number, access)) in rows.iter().zip(accesses.iter().enumerate()) {
            let [id, address, due, sent, answered, room, bank, media, counter, rest] = row[..] else {
                panic!("{row:?}")
            };
            assert_eq!(
                (id, *write, address, due),
                (number as u64, access.1, access.2 * 64, (access.0 - first) * 1_000)
            );
            assert_eq!((sent, answered), (due + room, due + room + bank + media + counter + rest), "{name} {row:?}");
            assert!(!write || bank + media == 0);
            found[usize::from(*write)].push(answered - due);
        }
        found.iter_mut().for_each(|times| times.sort_unstable());
        let shifted: Vec<(u64, bool, u64)> =
            accesses.iter().map(|&(ns, write, line)| (ns - first, write, line)).collect();
        assert_eq!(found, counted(name, &shifted), "{name}");
        let reads: Vec<&Vec<u64>> = rows.iter().filter(|(write, _)| !write).map(|(_, row)| row).collect();
        let waited = |column: usize| reads.iter().filter(|row| row[column] > 0).count();
        let with_cache = ["secpm", "sca", "secpm-tree"].contains(&name);
        assert_eq!(waited(8) > 0, with_cache, "{name}: counters");
        assert!(waited(6) > 0 && waited(7) > reads.len() / 2, "{name}: banks and media");
    }
}

#[test]
fn waits_of_a_read_alone_are_the_times_of_the_device_and_of_its_cipher() {
    let design = design::find("xts", Variant::Hardened).unwrap();
    let machine = config(&design, &[]).machine;
    let (plain, xts) = (table("unencrypted", "0x1000 READ 0\n").1, table("xts", "0x1000 READ 0\n").1);
    let [.., room, bank, media, counter, rest] = plain[0].1[..] else { panic!("{plain:?}") };
    assert_eq!([room, counter], [0, 0]);
    let device = &machine.device;
    let least = ((device.t_rcd_ns + device.t_cl_ns) * 1e3) as u64;
    assert!(bank + media >= least && bank + media < least + 50_000, "{plain:?}");
    let [.., with_cipher] = xts[0].1[..] else { panic!("{xts:?}") };
    assert!(with_cipher > rest, "a line is decrypted after it has come: {plain:?} {xts:?}");
}

#[test]
fn read_that_writes_hold_back_waits_in_its_response_time() {
    let mut accesses: Vec<(u64, bool, u64)> = (0..80).map(|n| (n, true, 0x4000 + n)).collect();
    accesses.push((80, false, 0x24000));
    let line = |&(ns, write, line): &(u64, bool, u64)| {
        format!("{:#x} {} {ns}\n", line * 64, if write { "WRITE" } else { "READ" })
    };
    let text: String = accesses.iter().map(line).collect();
    let reports = ["unencrypted", "secpm"].map(|name| {
        let (report, [reads, writes]) = (run_on(name, &[], &text).unwrap(), counted(name, &accesses));
        let ns = |ps: Ps| ps as f64 / 1_000.0;
        let (read, write) = (report.read_response_ns.unwrap(), report.write_response_ns.unwrap());
        let only = ns(reads[0]);
        assert_eq!(read, ResponseTimes { mean: only, p50: only, p90: only, p99: only, p999: only, max: only });
        // The read is the last access, due after 80 ns, and the last answer.
        assert_eq!((reads.len(), writes.len(), report.finish_ns), (1, 80, only + 80.0));
        assert!(only > report.read_latency_ns.unwrap() + 1_000.0, "the read waits: {report:?}");
        assert_eq!(write.mean, ns(writes.iter().sum()) / 80.0);
        for (found, rank) in [(write.p50, 40), (write.p90, 72), (write.p99, 80), (write.p999, 80), (write.max, 80)] {
            let exact = ns(writes[rank - 1]);
            assert!(exact <= found && found <= exact * 1.001, "{found} for {exact}");
        }
        report
    });
    // The mean from sending is the other way round.
    let [plain, secpm] = &reports;
    assert!(plain.read_latency_ns > secpm.read_latency_ns, "{plain:?} {secpm:?}");
    assert!(plain.finish_ns > secpm.finish_ns || plain.waited > 0);
}

#[test]
fn trace_without_cycles_has_no_response_times() {
    let report = run("unencrypted", "LD 0x1000\nST 0x2000\n");
    assert_eq!((report.read_response_ns, report.write_response_ns), (None, None));
    assert!(report.finish_ns > 0.0 && report.finish_ns <= report.simulated_ns);
}

#[test]
fn access_behind_one_that_found_no_room_has_waited_too() {
    // The first write that finds no room holds back those of the other bank, for which there is room at once.
    let text: String = (0..200u64).map(|n| format!("{:#x} WRITE 0\n", n * 64)).collect();
    let report = run("unencrypted", &text);
    let room = config(&design::find("unencrypted", Variant::Hardened).unwrap(), &[]).machine.controller.wpq_entries;
    assert!(report.waited >= 200 - 2 * u64::from(room), "{report:?}");
}

#[test]
fn without_cycles_the_queues_are_kept_full_and_no_fuller() {
    let text: String =
        (0..4000u64).map(|n| format!("{} {:#x}\n", if n % 3 == 0 { "W" } else { "R" }, n * 8192)).collect();
    let report = run("secpm", &text);
    assert_eq!((report.requests, report.writes, report.folded), (4000, 1334, 0));
    assert!(report.media_writes >= 1334 && report.counter_writes > 0 && report.counter_hit_rate.is_some());
    let at_once = run_on("secpm", &["controller.read_queue_entries=1"], &text).unwrap();
    assert!(at_once.requests_per_second < report.requests_per_second);
    assert!(at_once.read_latency_ns.unwrap() <= report.read_latency_ns.unwrap());
}

#[test]
fn lookup_of_a_block_on_its_way_is_a_secondary_miss() {
    let of_page = "0x0 READ 0\n0x40 READ 0\n0x80 READ 1\n0xc0 READ 100000\n0x1000 WRITE 200000\n0x1040 WRITE 200000\n";
    let lookups = |report: &LineReport| (report.counter_hits, report.counter_misses, report.counter_secondary_misses);
    let report = run("secpm", of_page);
    assert_eq!(lookups(&report), (Some(1), Some(2), Some(3)));
    assert_eq!((report.counter_reads, report.counter_hit_rate), (2, Some(1.0 / 6.0)));
    let without = run("unencrypted", of_page);
    assert_eq!((lookups(&without), without.counter_hit_rate), ((None, None, None), None));
}

#[test]
fn accesses_that_are_behind_their_times_find_the_same_room_as_those_without() {
    let access = |n: u64| (if n.is_multiple_of(3) { "W" } else { "R" }, n % 700 * 8192);
    let without: String = (0..4000).map(access).map(|(op, at)| format!("{op} {at:#x}\n")).collect();
    let late: String = (0..4000).map(access).map(|(op, at)| format!("0 {op} {at:#x}\n")).collect();
    for design in ["unencrypted", "secpm"] {
        let (without, late) = (run(design, &without), run(design, &late));
        assert_eq!(without.event_digest, late.event_digest, "{design}");
        assert_eq!(without.read_latency_ns, late.read_latency_ns);
        assert!(late.waited > 2000, "{design} has room for all but {}", late.waited);
    }
}

#[test]
fn interruption_is_heard_before_many_more_events() {
    let design = design::find("secpm", Variant::Hardened).unwrap();
    let config = config(&design, &[]);
    // No progress is reported before the trace ends.
    let text: String = (0..ACCESSES_PER_REPORT - 1).map(|n| format!("W {:#x}\n", n * 8192)).collect();
    let trace = LineTrace::from_bytes("t.trace", text.as_bytes()).unwrap().expect("a trace of lines");
    let base = Arc::new(Filled { end: 1 << 30, line: [0; 64] });
    let cancel = AtomicBool::new(false);
    let events = |stop: Option<u64>| {
        let watched = ((MediaWrites::default(), None), NoObserver);
        let driver = Driver::new(&config.machine, &design, base.clone(), config.seed, watched).unwrap();
        let mut run = Run::new(driver, &cancel);
        while stop.is_some_and(|events| run.driver.system.events() < events) {
            run.send(0, Some(0), Line(0), None).unwrap();
        }
        cancel.store(stop.is_some(), Ordering::Relaxed);
        let sent = run.send_all(&trace, 1 << 24, 1000, &|_| {});
        assert_eq!(matches!(sent, Err(Failure::Cancelled)), stop.is_some());
        run.driver.system.events()
    };
    let (all, stopped) = (events(None), events(Some(100)));
    assert!(all > 4 * EVENTS_PER_LOOK && stopped <= EVENTS_PER_LOOK, "{stopped} of {all} events");
}

#[test]
fn what_the_trace_says_is_written() {
    let data: String = (0..64u8).map(|byte| format!("{byte:02x}")).collect();
    let text = format!("NVMV1\n0 W 0x40 {data} {data} 0\n9 R 0x40 0 0 0\n");
    let design = design::find("secpm", Variant::Hardened).unwrap();
    let trace = LineTrace::from_bytes("t.nvt", text.as_bytes()).unwrap().unwrap();
    assert_eq!(trace.format(), LineFormat::Nvmain);
    let mut reader = trace.reader().unwrap();
    let wanted: LineBytes = std::array::from_fn(|index| index as u8);
    assert_eq!(reader.next_access().unwrap().unwrap().bytes, Some(wanted));
    let never = AtomicBool::new(false);
    let (report, _) =
        run_line_trace(&config(&design, &[]), &design, &trace, (400, None), (NoObserver, None), &|_| {}, &never)
            .unwrap();
    assert_eq!((report.reads, report.writes, report.trace_clock_mhz), (1, 1, 400));
}

#[test]
fn addresses_of_a_larger_memory_are_folded() {
    let report = run("unencrypted", "LD 0xfffffffffffffff8\nST 0x40\n");
    assert_eq!((report.requests, report.folded), (2, 1));
}

#[test]
fn every_design_takes_a_trace_and_always_alike() {
    let text: String = (0..600u64)
        .map(|n| format!("{:#x} {} {}\n", n * 37 % 91 * 64, if n % 2 == 0 { "WRITE" } else { "READ" }, n * 20))
        .collect();
    for name in design::names() {
        let (first, second) = (run(name, &text), run(name, &text));
        assert_eq!((first.reads, first.writes), (300, 300), "{name}");
        assert_eq!(first.event_digest, second.event_digest, "{name}");
        assert!(first.write_latency_ns.is_some() && first.media_write_latency_ns.is_some(), "{name}");
    }
}

#[test]
fn cycle_beyond_all_time_is_refused() {
    let message = run_on("unencrypted", &[], "0x0 READ 0\n0x0 READ 18446744073709551615\n").unwrap_err().to_string();
    assert!(message.starts_with("t.trace: line 2 at byte 11: expected a cycle in the first hundred days"), "{message}");
}

#[test]
fn replay_takes_a_trace_of_lines_and_nothing_else_does() {
    use crate::api;
    use serde_json::{Value, json};
    let path = std::env::temp_dir().join(format!("counterpoint-{}-lines.trace", std::process::id()));
    std::fs::write(&path, "0x40 READ 3\n0x80 WRITE 4\n").unwrap();
    let name = path.to_str().unwrap();
    assert_eq!(api::trace_kind(name).unwrap(), "lines");
    assert_eq!((api::trace_kind("btree").unwrap(), api::trace_kind("no/such.file").unwrap()), ("program", "program"));
    let (progress, cancel) = (&|_, _| {}, Arc::default());
    let replay = |runs: Value| api::replay(&json!({"runs": runs}).to_string(), 2, progress, &cancel);
    let run = |design: &str| json!({"design": design, "workload": name, "trace_clock_mhz": 500});
    let answer: Value = serde_json::from_str(&replay(json!([run("unencrypted"), run("secpm")])).unwrap()).unwrap();
    let results = answer["results"].as_array().unwrap();
    assert_eq!(results.iter().map(|run| &run["design"]).collect::<Vec<_>>(), ["unencrypted", "secpm"]);
    assert!(results.iter().all(|run| run["kind"] == "lines" && run["trace_clock_mhz"] == 500 && run["writes"] == 1));
    let program = json!({"design": "secpm", "workload": name});
    let sentences = [
        replay(json!([run("secpm"), {"design": "secpm", "workload": "btree"}])).unwrap_err().to_string(),
        replay(json!([{"design": "secpm", "workload": name, "trace_clock_mhz": 0}])).unwrap_err().to_string(),
        replay(json!([{"design": "secpm", "workload": "btree"}, program.clone()])).unwrap_err().to_string(),
        api::crash(&program.to_string(), progress, &cancel).unwrap_err().to_string(),
    ];
    std::fs::remove_file(&path).unwrap();
    assert!(
        sentences[0].ends_with("programs and traces of memory lines cannot be simulated together"),
        "{}",
        sentences[0]
    );
    assert_eq!(sentences[1], "trace_clock_mhz: 0 is not from 1 to 1000000");
    for sentence in &sentences[2..] {
        assert!(sentence.ends_with("has memory lines and no program: only runs take it, and only alone"), "{sentence}");
    }
}

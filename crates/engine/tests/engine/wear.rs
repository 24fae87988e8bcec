//! How long a device lives, with and without wear levelling, against a plain count over the same writes.

use super::common::judge::{self, assert_holds};
use super::common::{END, line, run, system};
use counterpoint_engine::config::{self, Machine};
use counterpoint_engine::device::MediaPlace;
use counterpoint_engine::kernel::{Ps, Random};
use counterpoint_engine::message::{LINES_PER_PAGE, MediaLine, MediaOp, NoObserver, Observer};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const ENDURANCE: u64 = 50_000;
const INTERVAL: u64 = 10;
const LINES_PER_ROW: u64 = LINES_PER_PAGE;
/// Lines of a region: few, so that the gap comes round often.
const REGION: u64 = 64;

#[derive(Default)]
struct Writes(Vec<MediaLine>);

impl Observer for Writes {
    fn device_access(&mut self, _now: Ps, _bank: u16, media: MediaLine, op: MediaOp, _until: Ps) {
        if op == MediaOp::Write {
            self.0.push(media);
        }
    }
}

fn machine(more: &[&str]) -> Machine {
    let endurance = format!("wear.endurance_writes={ENDURANCE}");
    let interval = format!("wear.gap_interval={INTERVAL}");
    // 32 MiB in four banks.
    let regions = format!("wear.regions_per_bank={}", (32 << 20) / 4 / 64 / REGION);
    let sets = ["device.capacity=32MiB", "log.buckets=1", &endurance, &interval, &regions];
    let sets: Vec<String> = sets.iter().chain(more).map(|set| (*set).to_owned()).collect();
    config::load_machine("small", &sets).unwrap()
}

/// Writes a few lines often and others seldom; what the device has written, with the places that the address mapping gives
/// it, and how many times it endures that.
fn written(machine: &Machine) -> (Vec<MediaPlace>, f64) {
    let mut written = system(machine, "secpm", Writes::default());
    let mut random = Random::stream(5, "wear");
    for token in 0..400 {
        let page = if random.below(3) == 0 { random.below(40) } else { random.below(3) };
        written.write(u64::from(token) * 2_000_000, line(page, random.below(9) as usize), &[token as u8; 64], token);
    }
    run(&mut written);
    written.flush();
    run(&mut written);
    assert!(written.observer.0.len() > 400 && END >= 40 << 12);
    let still = system(&self::machine(&[]), "secpm", NoObserver).device;
    let places = written.observer.0.iter().map(|media| still.place(*media)).collect();
    (places, written.device.endured_runs(machine).unwrap())
}

/// How often the writes can be repeated until one of the cells of a region has been written so often, counted write by write.
fn counted(writes: &[MediaPlace], levelled: bool) -> f64 {
    struct Region {
        holds: Vec<Option<u64>>,
        worn: Vec<u64>,
        gap: usize,
        since: u64,
    }
    let mut regions = BTreeMap::new();
    let mut done = 0_u64;
    loop {
        let place = writes[done as usize % writes.len()];
        let number = place.row * LINES_PER_ROW + place.column;
        let Region { holds, worn, gap, since } =
            regions.entry((place.bank, number / REGION)).or_insert_with(|| Region {
                holds: (0..REGION).map(Some).chain([None]).collect(),
                worn: vec![0; REGION as usize + 1],
                gap: REGION as usize,
                since: 0,
            });
        let cell = holds.iter().position(|line| *line == Some(number % REGION)).unwrap();
        worn[cell] += 1;
        *since += 1;
        if levelled && *since == INTERVAL {
            *since = 0;
            let from = if *gap == 0 { REGION as usize } else { *gap - 1 };
            holds.swap(from, *gap);
            worn[*gap] += 1;
            *gap = from;
        }
        done += 1;
        if worn[cell] >= ENDURANCE || worn[*gap] >= ENDURANCE {
            return done as f64 / writes.len() as f64;
        }
    }
}

#[test]
fn lifetime_is_that_of_a_plain_count_over_the_same_writes() {
    let (writes, endured) = written(&machine(&[]));
    let expected = counted(&writes, false);
    assert!((endured / expected - 1.0).abs() < 0.02, "{endured} instead of {expected}");
    let levelling = ["wear.leveling=start-gap", "wear.scatter=in-order"];
    let (levelled, more) = written(&machine(&levelling));
    let expected = counted(&levelled, true);
    assert!((more / expected - 1.0).abs() < 0.05, "{more} instead of {expected}");
    assert!(more > 1.5 * endured, "levelling helps: {more} after {endured}");
}

fn report(design: &str, sets: &[&str]) -> Value {
    let request = json!({
        "design": design, "workload": "queue", "machine": "small", "transactions": 200, "warmup": 0, "set": sets,
    });
    judge::run(&request)
}

#[test]
fn levelled_lines_hold_the_same_and_live_longer_but_not_longer_than_all_evenly() {
    let years = |report: &Value| report["nvm"]["lifetime_years"].as_f64().unwrap();
    let still = report("secpm", &[]);
    let gap = ["wear.leveling=start-gap", "wear.gap_interval=10", "wear.regions_per_bank=64"];
    for scatter in ["wear.scatter=random", "wear.scatter=in-order"] {
        let levelled = report("secpm", &[&gap[..], &[scatter]].concat());
        assert!(levelled["nvm"]["gap_moves"].as_u64() >= Some(20), "{levelled}");
        assert_eq!(levelled["nvm"]["data_writes"], still["nvm"]["data_writes"]);
        assert!(years(&levelled) > 2.0 * years(&still), "{levelled}");
        assert!(years(&levelled) < levelled["nvm"]["even_lifetime_years"].as_f64().unwrap());
        assert!(levelled["nvm"]["bank_busy_ns"].as_f64() > still["nvm"]["bank_busy_ns"].as_f64());
        assert!(levelled["nvm"]["energy_nj"].as_f64() > still["nvm"]["energy_nj"].as_f64());
    }
    assert_eq!(still["nvm"]["gap_moves"], 0);
}

/// A new counter makes every bit of a line random, so half of them change. With XTS a block that holds the same bytes stays.
#[test]
fn counters_change_half_of_the_bits() {
    let share = |design: &str| report(design, &[])["nvm"]["data_flip_share"].as_f64().unwrap();
    for design in ["secpm", "sca"] {
        assert!((share(design) - 0.5).abs() < 0.02, "{design}: {}", share(design));
    }
    assert!(share("unencrypted") < share("xts") && share("xts") < 0.45, "{} {}", share("unencrypted"), share("xts"));
    assert_eq!(report("secpm", &["engine.bytes=false"])["nvm"]["data_flip_share"], Value::Null);
}

/// Reads that stop writes are answered sooner, and nothing is lost by it.
#[test]
fn interrupted_writes_let_reads_pass() {
    let busy = ["controller.policy=continuous", "controller.wpq_issue_when_idle=true"];
    let of = |more: &[&str]| report("secpm", &[&busy[..], more].concat());
    let mean = |report: &Value| report["transaction_latency_ns"]["mean"].as_f64().unwrap();
    let [none, pause, cancel] =
        ["none", "pause", "cancel"].map(|how| of(&[&format!("device.write_interruption={how}")]));
    assert_eq!(none["nvm"]["write_interruptions"], 0);
    for stopping in [&pause, &cancel] {
        assert!(stopping["nvm"]["write_interruptions"].as_u64() > Some(50), "{stopping}");
        assert!(mean(stopping) < mean(&none), "{} instead of {}", mean(stopping), mean(&none));
    }
    let set =
        [&busy[..], &["device.write_interruption=cancel", "wear.leveling=start-gap", "wear.gap_interval=2"]].concat();
    for design in ["secpm", "sca", "star", "xts-tree"] {
        let request = json!({"design": design, "workload": "btree", "machine": "small", "transactions": 5, "set": set});
        assert_holds(&request);
    }
}

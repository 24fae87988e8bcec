//! Recorded programs with threads: each runs on a core of its own, and memory becomes what it became when it was recorded.

use super::common::expected::all_that_hold;
use super::common::judge::{assert_holds, count, needs_modules, refusal, run};
use super::common::streams::OnDisk;
use counterpoint_engine::config::{self, RunConfig, Variant};
use counterpoint_engine::kernel::Ps;
use counterpoint_engine::message::{BaseImage, CachePort, CoreId, Line, LineBytes, Observer, Op, OpBuffer, OpSource};
use counterpoint_engine::trace::Trace;
use counterpoint_engine::trace::recorded::tests::build::unsigned as number;
use counterpoint_engine::{Job, System, design};
use proptest::prelude::*;
use serde_json::json;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

const LINES: u64 = 4;
const WORDS: u64 = 2;

/// What a thread does to a word of a line.
#[derive(Clone, Copy, Debug)]
enum Act {
    Store(u64, u64),
    Clwb(u64),
    Fence,
}

/// A stream of version 7 with a file of one page, by the description of the format.
struct Recording {
    bytes: Vec<u8>,
    records: u64,
    /// Of each word the thread that stored to it last, and the records then.
    last: HashMap<(u64, u64), (u8, u64)>,
    thread: u8,
    memory: HashMap<Line, LineBytes>,
}

impl Recording {
    fn new() -> Self {
        let mut recording = Self {
            bytes: b"CPTRACE\x07".to_vec(),
            records: 0,
            last: HashMap::new(),
            thread: 0,
            memory: HashMap::new(),
        };
        recording.record(&[0x01, 0, 0, 0]);
        recording.record(&[0x02, 0, 1, b'p']);
        // 4096 bytes from address 8192 on.
        recording.record(&[0x03, 0x80, 0x40, 0x80, 0x20, 0, 0]);
        recording
    }

    fn record(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        self.records += 1;
    }

    /// An access to this offset of the file: the address from 0, because a SYNC comes before it.
    fn access(&mut self, tag: u8, offset: u64, fields: &[u8]) {
        self.record(&[vec![0x01], number(self.records), vec![0, self.thread]].concat());
        self.record(&[&[tag, 0, 0], &number((8192 + offset) * 2)[..], fields].concat());
    }

    /// The act of a thread, which follows whoever has stored to the word.
    fn act(&mut self, thread: u8, act: Act) {
        if thread != self.thread {
            self.thread = thread;
            self.record(&[0x07, thread]);
        }
        match act {
            Act::Store(line, word) => {
                if let Some(&(other, records)) = self.last.get(&(line, word)).filter(|(other, _)| *other != thread) {
                    self.record(&[vec![0x25, 0, other], number(records)].concat());
                }
                let value = self.records as u8;
                let held = self.memory.entry(Line(line)).or_insert([0; 64]);
                held[word as usize * 8..][..8].fill(value);
                let bytes = [&[8][..], &[value; 8]].concat();
                self.access(0x11, line * 64 + word * 8, &bytes);
                self.last.insert((line, word), (thread, self.records));
            }
            Act::Clwb(line) => self.access(0x14, line * 64, &[]),
            Act::Fence => self.record(&[0x17, 0, 0]),
        }
    }

    fn end(mut self) -> Vec<u8> {
        let records = self.records;
        self.record(&[vec![0x7f], number(records), vec![0, 0]].concat());
        self.bytes
    }
}

/// What has been stored, and by which core each time.
#[derive(Default)]
struct Watch {
    memory: HashMap<Line, LineBytes>,
    by: Vec<CoreId>,
}

impl Observer for Watch {
    fn stored(&mut self, _now: Ps, core: CoreId, line: Line, offset: usize, data: &[u8]) {
        self.memory.entry(line).or_insert([0; 64])[offset..offset + data.len()].copy_from_slice(data);
        self.by.push(core);
    }
}

fn played(name: &str, bytes: &[u8]) -> Watch {
    let machine = config::preset("small").unwrap();
    let design = design::find(name, Variant::Hardened).unwrap();
    let trace = Trace::from_bytes("t.cptrace", bytes, false).unwrap();
    let programs: Vec<_> = trace.programs(design.form).unwrap();
    let programs: Vec<_> = programs.into_iter().map(|one| Box::new(one) as Box<dyn OpSource>).collect();
    let cores = programs.len() as u16;
    let run = RunConfig { cores, ..RunConfig::new(name, "none", machine) };
    let job = Job { base: Arc::new(trace.base()), programs, layouts: Vec::new() };
    let mut system = System::new(&run, &design, job, Watch::default()).unwrap();
    system.run(|system| {
        for (line, stored) in &system.observer.memory {
            for core in 0..cores {
                let held = system.cache.peek(core, *line);
                assert!(held.is_none_or(|held| held == *stored), "{name}: core {core} has an old line {}", line.0);
            }
        }
        ControlFlow::Continue(())
    });
    assert!(system.cores.iter().all(|core| core.finished()), "{name}: a core waits for ever");
    assert_eq!(trace.failure(), None);
    system.observer
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (0..LINES, 0..WORDS).prop_map(|(line, word)| Act::Store(line, word)),
        2 => (0..LINES).prop_map(Act::Clwb),
        1 => Just(Act::Fence),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn memory_becomes_what_it_became_when_it_was_recorded(
        acts in prop::collection::vec((0..3u8, act()), 1..30),
        name in prop::sample::select(vec!["unencrypted", "secpm", "sca", "rebuild", "easy-pm"]),
    ) {
        let mut recording = Recording::new();
        for (thread, act) in [(1, Act::Fence), (2, Act::Fence)].into_iter().chain(acts) {
            recording.act(thread, act);
        }
        let (memory, bytes) = (recording.memory.clone(), recording.end());
        let played = played(name, &bytes);
        prop_assert_eq!(played.memory, memory);
    }
}

#[test]
fn threads_that_share_nothing_store_at_the_same_time_and_one_that_follows_comes_after() {
    let apart = |follows: bool| {
        let mut recording = Recording::new();
        for thread in [0, 1] {
            for _ in 0..4 {
                recording.act(thread, Act::Store(if follows { 0 } else { u64::from(thread) }, 0));
                recording.act(thread, Act::Clwb(u64::from(thread)));
                recording.act(thread, Act::Fence);
            }
        }
        played("unencrypted", &recording.end()).by
    };
    assert_eq!(apart(true), [0, 0, 0, 0, 1, 1, 1, 1]);
    let mixed = apart(false);
    assert!(mixed[..4].contains(&1) && mixed[4..].contains(&0), "{mixed:?}");
}

/// A recording of three threads, each with a word of its own in a line that they share.
fn three_threads(name: &str) -> OnDisk {
    let mut recording = Recording::new();
    for round in 0..3 {
        for thread in 0..3 {
            recording.act(thread, Act::Store(0, u64::from(thread)));
            recording.act(thread, Act::Clwb(0));
            recording.act(thread, Act::Fence);
            recording.act(thread, Act::Store(1 + round % 2, 0));
            recording.act(thread, Act::Clwb(1 + round % 2));
            recording.act(thread, Act::Fence);
        }
    }
    OnDisk::new(&format!("threads-{name}"), &recording.end())
}

#[test]
fn what_each_thread_flushed_survives_on_every_design_that_holds() {
    let trace = three_threads("crash");
    for design in all_that_hold().into_iter().filter(|name| !needs_modules(name)) {
        let request = json!({"design": design, "workload": trace.0, "machine": "small"});
        let report = assert_holds(&request);
        assert!(report["assumed"].as_str().unwrap().contains("Its 3 threads run on a core each"), "{design}");
        let serial = assert_holds(&json!({"design": design, "workload": trace.0, "machine": "small", "serial": true}));
        assert!(serial["assumed"].as_str().unwrap().contains("in the one order that was recorded"), "{design}");
    }
}

#[test]
fn broken_design_is_caught_on_several_cores() {
    let trace = three_threads("broken");
    let report = super::common::judge::crash(&json!({"design": "write-back", "workload": trace.0, "machine": "small"}));
    assert!(count(&report, "violation_count") > 0);
}

#[test]
fn cores_are_those_of_the_threads() {
    let trace = three_threads("cores");
    let ran =
        |serial: bool| run(&json!({"design": "secpm", "workload": trace.0, "machine": "small", "serial": serial}));
    let (parallel, serial) = (ran(false), ran(true));
    assert_eq!((&parallel["cores"], &serial["cores"]), (&json!(3), &json!(1)));
    assert_eq!(parallel["event_digest"], ran(false)["event_digest"]);
    let asked = |cores: u64| json!({"design": "secpm", "workload": trace.0, "machine": "small", "cores": cores});
    let sentence = refusal(&asked(2));
    assert_eq!(sentence, "cores: 2 is no multiple of 3, the threads of the recorded program");
    assert_eq!(run(&asked(3))["event_digest"], parallel["event_digest"]);
}

#[test]
fn instances_do_the_same_on_files_of_their_own() {
    let trace = three_threads("instances");
    let asked =
        |cores: u64, design: &str| json!({"design": design, "workload": trace.0, "machine": "small", "cores": cores});
    let (one, two) = (run(&asked(1, "unencrypted")), run(&asked(6, "unencrypted")));
    assert_eq!((&one["cores"], &two["cores"]), (&json!(3), &json!(6)));
    assert_eq!(two["instructions"], json!(2 * count(&one, "instructions")));
    assert_eq!(two["recorded"]["fences"], json!(2 * count(&one["recorded"], "fences")));
    let report = assert_holds(&asked(6, "secpm"));
    assert!(
        report["assumed"]
            .as_str()
            .unwrap()
            .ends_with("2 instances of the program run at the same time, each on files of its own.")
    );
    for (key, value, what) in [("recover", "true", "recover"), ("explore", "legal", "explore legal")] {
        let mut request = asked(6, "unencrypted");
        request[key] = json!(value);
        let sentence = refusal(&request);
        assert!(
            sentence.starts_with(&format!("{what}: one instance of a recorded program is explored, and cores = ")),
            "{sentence}"
        );
    }
}

#[test]
fn memory_of_an_instance_is_its_own() {
    let mut recording = Recording::new();
    for thread in [0, 1] {
        recording.act(thread, Act::Store(u64::from(thread), 0));
    }
    let trace = Trace::from_bytes("t.cptrace", recording.end(), false).unwrap();
    let (one, three) = (trace.base(), trace.of_instances(3));
    let all = three.base_of_all();
    assert_eq!((one.end(), all.end(), three.end()), (4096, 3 * 4096, 3 * 4096));
    assert_eq!(three.cores(), 6);
    let programs = three.programs(counterpoint_engine::message::ProgramForm::Plain).unwrap();
    let stores = |mut program: Box<dyn OpSource>| {
        let mut buffer = OpBuffer::default();
        program.next_transaction(&mut buffer);
        buffer.ops.iter().find_map(|op| if let Op::Store { address, .. } = op { Some(*address) } else { None }).unwrap()
    };
    let addresses: Vec<u64> = programs.into_iter().map(|program| stores(Box::new(program))).collect();
    assert_eq!(addresses, [0, 64, 4096, 4160, 8192, 8256]);
}

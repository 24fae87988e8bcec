//! Code that the fuzz targets share: from bytes to a replay. The work is bounded, whatever the bytes are.

use counterpoint_engine::config::{RunConfig, Variant, load_machine};
use counterpoint_engine::embed::{Memory, Request};
use counterpoint_engine::message::{BaseImage, Line, NoObserver, OpBuffer, OpSource, ProgramForm};
use counterpoint_engine::trace::lines::LineTrace;
use counterpoint_engine::trace::{OPS_PER_FILL, Trace};
use counterpoint_engine::{design, run_line_trace};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// Requests to a memory, and events looked at.
const REQUESTS: u64 = 24;
const EVENTS_MAX: usize = 10_000;

/// The most pieces that are replayed: a single flush may name 2^42 lines, and the rest of such a program tests nothing
/// new.
const FILLS_MAX: usize = 16;
/// The most threads that get a program each.
const CORES_MAX: u64 = 4;
/// The longest error sentence: a path, a place, what was expected and what was found.
const SENTENCE_CHARS_MAX: usize = 1000;

/// Fails if an error is more than one line.
pub fn is_sentence(error: &impl std::fmt::Display) {
    let text = error.to_string();
    assert!(!text.contains('\n') && text.chars().count() < SENTENCE_CHARS_MAX, "not one clear sentence: {text}");
}

/// Replays `bytes` as a recorded program in `form`, if they are one: both passes, and the memory that it starts from.
pub fn replay(bytes: &[u8], form: ProgramForm) {
    let strict = Trace::from_bytes("fuzz", bytes, false);
    let mut trace = match Trace::from_bytes("fuzz", bytes, true) {
        Ok(trace) => trace,
        Err(error) => {
            is_sentence(&error);
            assert!(strict.is_err(), "what is accepted whole is accepted when it may be cut off");
            return;
        }
    };
    assert_eq!(strict.is_ok(), trace.summary().cut_off.is_none());
    let base = trace.base();
    assert!((0..64).all(|line| base.line(Line(line)).is_some() == base.populated(Line(line))));
    if let Err(error) = trace.watch_sites() {
        // Not every format tells where operations come from.
        is_sentence(&error);
    }
    // A program for each of a few threads; more are one.
    let trace = if trace.cores() > CORES_MAX { trace.in_order() } else { trace };
    for mut program in trace.programs(form).expect("bytes in memory open again") {
        let mut buffer = OpBuffer::default();
        for _ in 0..FILLS_MAX {
            if !program.next_transaction(&mut buffer) {
                break;
            }
            assert!(buffer.ops.len() <= OPS_PER_FILL);
            buffer.clear();
        }
    }
    assert!(trace.failure().is_none(), "the second pass sees what the first saw");
}

/// Replays `bytes` as a trace of memory lines, if they are one: on a controller with `design`.
pub fn replay_lines(bytes: &[u8], design: &'static str) {
    let trace = match LineTrace::from_bytes("fuzz", bytes) {
        Ok(Some(trace)) => trace,
        Ok(None) => return,
        Err(error) => return is_sentence(&error),
    };
    let mut reader = trace.reader().expect("bytes in memory open again");
    let (mut accesses, mut cycle) = (0, None);
    let end = loop {
        match reader.next_access() {
            Ok(Some(access)) => {
                assert!(access.cycle >= cycle, "cycles never go back");
                assert!(access.write || access.bytes.is_none(), "a read has no data");
                cycle = access.cycle;
                accesses += 1;
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    let design = design::find(design, Variant::Hardened).expect("a design");
    let (config, never) = (lines_config(&design.name), AtomicBool::new(false));
    match run_line_trace(config, &design, &trace, (1000, None), (NoObserver, None), &|_| {}, &never) {
        Ok((report, _)) => assert!(end.is_none() && report.requests == accesses),
        Err(error) => is_sentence(&error),
    }
}

fn lines_config(design: &str) -> &'static RunConfig {
    static CONFIG: OnceLock<RunConfig> = OnceLock::new();
    CONFIG.get_or_init(|| RunConfig {
        tx_size: 64,
        transactions: 1,
        footprint: 0,
        allow_truncated: true,
        ..RunConfig::new(design, "fuzz", load_machine("small", &["device.capacity=1MiB".to_owned()]).expect("a machine"))
    })
}

/// Writes and reads until no event is left.
pub fn traffic(mut memory: Memory) {
    let lines = memory.capacity() / 64;
    let mut answers = Vec::new();
    let mut sent = 0;
    for number in 0..REQUESTS {
        let request = if number % 3 == 2 {
            Request::Read
        } else {
            Request::Write { bytes: &[number as u8; 64], mask: u64::MAX, counter_atomic: number % 2 == 0 }
        };
        let line = number * 0x9e37_79b9 % lines;
        sent += usize::from(memory.send(line * 64, number, 0, request).is_ok());
        if let Some(at) = memory.next_event_at().filter(|_| number % 4 == 3) {
            memory.step(at, &mut answers).expect("the event is to come");
        }
    }
    for _ in 0..EVENTS_MAX {
        let Some(at) = memory.next_event_at() else { break };
        memory.step(at, &mut answers).expect("the event is to come");
    }
    assert_eq!(answers.len(), sent, "every request is answered");
}

/// A file with the contents `bytes` and a name that ends in `extension`; the same file each time.
pub fn file(bytes: &[u8], extension: &str) -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let path =
        PATH.get_or_init(|| std::env::temp_dir().join(format!("counterpoint-fuzz-{}{extension}", std::process::id())));
    let mut file = std::fs::File::create(path).expect("the file can be made");
    file.write_all(bytes).expect("there is room");
    path
}

//! One test for each feature of the grammar.

use super::super::tests::*;
use super::Did::{Begin, End, Fence, Flush, Store};
use crate::message::{BaseImage, Line};
use crate::trace::{CutOff, TraceFile, TraceSummary};

const FILE: &str = "|REGISTER_FILE;pool;0x10000;0x2000;0x0";

#[test]
fn stores_flushes_and_fences() {
    let trace = open(&log(&format!("{FILE}|STORE;0x10040;0x1a2b;0x4|FLUSH;0x10040;0x40|FENCE")));
    assert_eq!(operations(&trace), [Store(0x40, vec![0x2b, 0x1a, 0, 0]), Flush(0x40), Fence]);
    let file = TraceFile { path: "pool".into(), base: 0, size: 0x2000 };
    let wanted = TraceSummary {
        records: 4,
        stores: 1,
        store_bytes: 4,
        flushes: 1,
        lines_flushed: 1,
        fences: 1,
        threads: 1,
        files: vec![file],
        end: 0x2000,
        lacks: trace.summary().lacks.clone(),
        ..TraceSummary::default()
    };
    assert_eq!(*trace.summary(), wanted);
    assert!(matches!(&wanted.lacks[..], [lacks] if lacks.starts_with("A log of pmemcheck shows non-temporal stores")));
}

#[test]
fn nothing_is_populated_before() {
    let base = open(&log(FILE)).base();
    assert_eq!((base.end(), base.populated(Line(0)), base.line(Line(0))), (0x2000, false, None));
}

#[test]
fn zstd_is_told_by_content() {
    let text = log(&format!("{FILE}|STORE;0x10040;0xff;0x1"));
    let packed = zstd::encode_all(text.as_bytes(), 3).unwrap();
    let trace = Trace::from_bytes("t.log", packed, false).unwrap();
    assert_eq!(operations(&trace), [Store(0x40, vec![0xff])]);
}

#[test]
fn store_over_a_line_end_is_split() {
    let trace = open(&log(&format!("{FILE}|STORE;0x1003e;0x04030201;0x4")));
    assert_eq!(operations(&trace), [Store(0x3e, vec![1, 2]), Store(0x40, vec![3, 4])]);
}

#[test]
fn flush_touches_each_line_once() {
    let trace = open(&log(&format!("{FILE}|FLUSH;0x1003f;0x2|FLUSH;0x10080;0x41|FLUSH;0x10000;0x0")));
    assert_eq!(operations(&trace), [Flush(0), Flush(0x40), Flush(0x80), Flush(0xc0)]);
    assert_eq!(trace.summary().lines_flushed, 4);
    assert_eq!(trace.summary().flushes_outside, 1);
}

#[test]
fn flush_outside_every_file_is_left_out() {
    let text = format!("{FILE}|FLUSH;0x90000;0x40|FLUSH;0xffc0;0x80|FLUSH;0x11fc0;0xffffffffffffffff");
    let trace = open(&log(&text));
    assert_eq!(operations(&trace), [Flush(0), Flush(0x1fc0)]);
    assert_eq!((trace.summary().flushes, trace.summary().flushes_outside), (3, 1));
}

#[test]
fn deep_sync_flushes_its_range_and_fences() {
    let trace = open(&log(&format!("{FILE}|DEEP_SYNC;0x10040;0x80|DEEP_SYNC;0x90000;0x40")));
    assert_eq!(operations(&trace), [Flush(0x40), Flush(0x80), Fence, Fence]);
    assert_eq!(trace.summary().deep_syncs, 2);
}

#[test]
fn both_mappings_of_a_header_reach_the_same_line() {
    let trace = open(&log(&format!(
        "{FILE}{FILE}|REGISTER_FILE;pool;0x5000;0x1000;0x0|STORE;0x5040;0x1;0x1|FLUSH;0x10040;0x40"
    )));
    assert_eq!(operations(&trace), [Store(0x40, vec![1]), Flush(0x40)]);
    assert_eq!(trace.end(), 0x2000);
}

#[test]
fn files_get_regions_of_whole_pages_by_first_registration() {
    let text = "|REGISTER_FILE;a;0x100000;0x1040;0x0|REGISTER_FILE;b;0x200000;0x80;0x1000|REGISTER_FILE;a;0x300000;0x40;0x3000\
                |STORE;0x200000;0x5;0x1|STORE;0x300000;0x6;0x1";
    let trace = open(&log(text));
    let files: Vec<_> = trace.summary().files.iter().map(|file| (file.path.as_str(), file.base, file.size)).collect();
    assert_eq!(files, [("a", 0, 0x3040), ("b", 0x4000, 0x1080)]);
    assert_eq!(trace.end(), 0x5080);
    assert_eq!(operations(&trace), [Store(0x5000, vec![5]), Store(0x3000, vec![6])]);
}

#[test]
fn newest_registration_holds() {
    let text = format!(
        "{FILE}|STORE;0x11000;0x1;0x1|REGISTER_FILE;other;0x11000;0x1000;0x0|STORE;0x10ffc;0x0807060504030201;0x8"
    );
    let wanted = [Store(0x1000, vec![1]), Store(0xffc, vec![1, 2, 3, 4]), Store(0x2000, vec![5, 6, 7, 8])];
    assert_eq!(operations(&open(&log(&text))), wanted);
}

#[test]
fn path_may_hold_semicolons() {
    let trace = open(&log("|REGISTER_FILE;/a;0x1;b c;0x10000;0x40;0x0|STORE;0x10000;0x1;0x1"));
    assert_eq!(trace.summary().files[0].path, "/a;0x1;b c");
}

#[test]
fn message_runs_into_a_record() {
    let message = "brk segment overflow in thread #1: can't grow to 0x4854000\n==7== (see section Limitations)\n==7== ";
    for (record, wanted) in [
        ("|STORE;0x10040;0x1;0x1", Store(0x40, vec![1])),
        ("|FLUSH;0x10040;0x40", Flush(0x40)),
        ("|FENCE", Fence),
        ("|DEEP_SYNC;0x90000;0x40", Fence),
    ] {
        for message in [message, "Warning: set address range perms\n--7-- more\n**7** \n==7== ", "\n==7== "] {
            let trace = open(&log(&format!("{FILE}{record}{message}|FENCE")));
            assert_eq!(operations(&trace), [wanted.clone(), Fence], "{record}{message}");
        }
    }
    let trace = open(&log(&format!("{FILE}{message}|libpmemobj.BEGIN{message}|pmemobj_tx_commit.END{message}|FENCE")));
    assert_eq!(operations(&trace), [Begin, End, Fence]);
    assert_eq!(trace.summary().files[0].size, 0x2000);
    let trace = open(&format!("==7== START{message}|FENCE{STOP}"));
    assert_eq!(operations(&trace), [Fence]);
}

#[test]
fn stacks_change_no_operation() {
    let frames = ";0x109A3F: insert (list.c:44);0x109B01: std::operator||(int) (x.h:1)0x109B01: main (list.c:90)";
    let text = format!("{FILE}|STORE;0x10040;0x7;0x8{frames}|STORE;0x10048;0x1;0x1;0x5: ???|FLUSH;0x10040;0x40|FENCE");
    let wanted = [Store(0x40, vec![7, 0, 0, 0, 0, 0, 0, 0]), Store(0x48, vec![1]), Flush(0x40), Fence];
    assert_eq!(operations(&open(&log(&text))), wanted);
    let message = "brk segment overflow in thread #1: can't grow to 0x4854000\n==7== (see section Limitations)\n==7== ";
    let text = format!("{FILE}|STORE;0x10040;0x7;0x1{frames}{message}|FENCE");
    let mut trace = open(&log(&text));
    assert_eq!(operations(&trace), [Store(0x40, vec![7]), Fence]);
    trace.watch_sites().unwrap();
    let sites = trace.read_sites().unwrap().unwrap();
    assert_eq!(sites.count(), 1);
    let functions: Vec<_> = sites.told(1).iter().map(|told| told.function.as_deref().unwrap()).collect();
    assert_eq!(functions, ["insert", "std::operator||(int)", "main"]);
    let bar = open(&log(&format!("{FILE}|STORE;0x10040;0x7;0x1;0x5: a::operator|(int) (x.h:1)|FENCE")));
    assert_eq!(operations(&bar), [Store(0x40, vec![7]), Fence]);
}

#[test]
fn log_without_stacks_tells_no_places() {
    let message = open(&log(&format!("{FILE}|STORE;0x10040;0x7;0x8"))).watch_sites().unwrap_err().to_string();
    assert_eq!(message, "t.log: by_line: a log does not tell where in the program it was");
}

#[test]
fn nothing_is_read_after_stop() {
    let long = format!("{}\n{}", log("|FENCE"), "stores not made persistent: many\n".repeat(10_000));
    assert_eq!(operations(&open(&long)), [Fence]);
    assert_eq!(operations(&open(&format!("{START}|FENCE|STOP"))), [Fence]);
}

#[test]
fn pool_creation_precedes_the_first_transaction() {
    let s = |byte: u64| format!("|STORE;0x10000;0x{byte:x};0x1");
    let text = [
        FILE.into(),
        "|pmemobj_create.BEGIN|libpmemobj.BEGIN".into(),
        s(1),
        "|libpmemobj.END|pmemobj_create.END|pmemobj_tx_add_range.BEGIN".into(),
        s(2),
        "|pmemobj_tx_add_range.END|pmemobj_tx_commit.BEGIN".into(),
        s(3),
        "|pmemobj_tx_commit.END".into(),
        s(4),
        "|pmemobj_tx_commit.END|pmemobj_tx_commit.END".into(),
        s(5),
        "|pmemobj_tx_alloc.BEGIN".into(),
        s(6),
    ]
    .concat();
    let s = |byte| Store(0, vec![byte]);
    let trace = open(&log(&text));
    assert_eq!(trace.summary().transactions, 3);
    assert_eq!(operations(&trace), [s(1), Begin, s(2), s(3), End, Begin, s(4), End, Begin, End, s(5), s(6)]);
}

#[test]
fn log_without_commits_has_no_transactions() {
    let trace = open(&log("|FENCE|pmemobj_tx_alloc.BEGIN|FENCE"));
    assert_eq!(operations(&trace), [Fence, Fence]);
    assert!(operations(&open(&log("|libpmem.BEGIN"))).is_empty());
}

#[test]
fn long_stretches_come_in_pieces() {
    let wide = "|REGISTER_FILE;pool;0x100000;0x100000;0x0|pmemobj_tx_alloc.BEGIN";
    let trace = open(&log(&format!("{wide}|FLUSH;0x100010;0xfffe8|FENCE|pmemobj_tx_commit.END")));
    let mut program = trace.program(ProgramForm::Plain).unwrap();
    let mut buffer = OpBuffer::default();
    let mut sizes = Vec::new();
    while program.next_transaction(&mut buffer) {
        sizes.push(buffer.ops.len());
        buffer.clear();
    }
    assert_eq!(sizes.iter().sum::<usize>(), 0x100000 / 64 + 5, "with both marks");
    assert_eq!(sizes[..4], [4096; 4]);
    let wanted: Vec<_> =
        [Begin].into_iter().chain((0..0x4000).map(|line| Flush(line * 64))).chain([Fence, End]).collect();
    assert_eq!(operations(&trace), wanted);
}

#[test]
fn cut_off_log_can_be_replayed_as_far_as_it_is_good() {
    let text = format!("{START}{FILE}|STORE;0x10040;0x1;0x1|FLUSH;0x10040;0x4");
    let trace = Trace::from_bytes("t.log", text.as_bytes(), true).unwrap();
    assert_eq!(operations(&trace), [Store(0x40, vec![1])], "the last number may lack digits");
    let bytes = (text.len() - "FLUSH;0x10040;0x4".len()) as u64;
    assert_eq!(trace.summary().cut_off, Some(CutOff { records: 2, bytes }));
    let trace = Trace::from_bytes("t.log", START.as_bytes(), true).unwrap();
    assert!(operations(&trace).is_empty());
    assert_eq!(trace.summary().cut_off.unwrap().records, 0);
}

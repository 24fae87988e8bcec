//! Marks, traces that are cut off, wrappers, and other formats.

use super::*;
use proptest::prelude::*;

fn marked(program: Program, mark: &str) -> Result<CheckReport, ConfigError> {
    checked(program.0.end(0), &CheckSettings { mark: Some(mark.to_owned()), ..CheckSettings::default() })
}

#[test]
fn stores_must_be_durable_at_a_mark() {
    let late = Program::new().store(1, 0, 0).mark("done").clwb(2, 0).sfence(3);
    assert_eq!(counted(&marked(late.clone(), "done").unwrap()), [("never-flushed", 1, 1)]);
    assert_eq!(late.clone().found(), NOTHING);
    let flushed = Program::new().store(1, 0, 0).clwb(2, 0).mark("|done").sfence(3);
    assert_eq!(counted(&marked(flushed, "done").unwrap()), [("never-fenced", 1, 1)]);
    let durable = Program::new().store(1, 0, 0).clwb(2, 0).sfence(3).mark("done");
    let report = marked(durable, "done").unwrap();
    assert_eq!((counted(&report), report.counts.marks), (NOTHING.to_vec(), 1));
    // Each store once, however many marks follow, and those after the mark at the end.
    let many = Program::new().store(1, 0, 0).mark("done").store(1, 0, 0).mark("done").mark("done").store(1, 0, 1);
    assert_eq!(counted(&marked(many, "done").unwrap()), [("never-flushed", 1, 3)]);
    let refused = marked(late, "dun").unwrap_err().to_string();
    assert_eq!(refused, "t.cptrace: mark: the program sets no mark 'dun'");
}

#[test]
fn trace_that_is_cut_off_is_checked_if_that_is_allowed() {
    let program = Program::new().store(1, 0, 0);
    let bytes = program.0.bytes.clone();
    let refused = checked(bytes.clone(), &CheckSettings::default()).unwrap_err().to_string();
    assert!(refused.ends_with("--allow-truncated checks that part"), "{refused}");
    let settings = CheckSettings { allow_truncated: true, ..CheckSettings::default() };
    let report = checked(bytes, &settings).unwrap();
    assert_eq!(counted(&report), [("never-flushed", 1, 1)]);
    assert_eq!(report.cut_off.map(|cut| cut.records), Some(4));
}

#[test]
fn formats_without_flushes_are_refused() {
    let mut instruction = [0; 64];
    instruction[..8].copy_from_slice(&0x40_1000u64.to_le_bytes());
    let refused = checked(instruction.to_vec(), &CheckSettings::default()).unwrap_err().to_string();
    assert_eq!(refused, "t.cptrace: check: this trace has no flushes and no files to check");
    let refused = checked(b"0x40 READ 3\n0x80 WRITE 4\n".to_vec(), &CheckSettings::default()).unwrap_err().to_string();
    assert!(refused.contains("has memory lines and no program"), "{refused}");
}

#[test]
fn equal_traces_give_equal_reports() {
    let mut program = Program::new();
    for line in (0..200).rev() {
        program = program.thread(line % 3).store(1 + line % 7, line, 0).clwb(100, line).clwb(101, (line * 7) % 200);
    }
    let text = |program: Program| serde_json::to_string(&program.report()).unwrap();
    assert_eq!(text(program.clone()), text(program));
}

proptest! {
    /// Damaged traces are checked or refused.
    #[test]
    fn damaged_traces_do_no_harm(at in 8usize..200, byte in any::<u8>(), cut in 0usize..200, mark in any::<bool>()) {
        let program = Program::new().store(1, 0, 0).thread(2).clwb(2, 0).point(3, 1, 8).past_caches(4, 2, 0).begin();
        let program = program.locked(5, 3).clflush(6, 1).commit().mark("m").sfence(7).bytes(0x19, 8, 60, &[3; 200]);
        let mut bytes = Program(program.0.scratch(0, BASE, 640)).mfence(9).0.end(0);
        let last = bytes.len() - 1;
        bytes[at.min(last)] = byte;
        bytes.truncate((8 + cut).max(last / 2));
        let settings = CheckSettings { allow_truncated: true, mark: mark.then(|| "m".to_owned()), ..CheckSettings::default() };
        if let Ok(report) = checked(bytes, &settings) {
            prop_assert!(report.findings.iter().all(|finding| finding.count > 0));
        }
    }
}

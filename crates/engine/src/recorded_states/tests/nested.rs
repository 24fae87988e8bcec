//! Power that fails again in recoveries. The recorder here is a script that has a stream ready for what the command does.

use super::causes::outcome;
use super::*;
use serde_json::{Value, json};
use std::path::Path;
use tempfile::TempDir;

/// Repairs a pool that is dirty, and takes one that is clean for repaired.
const RECOVER: &str = r#"word() { tail -c +$(($1 * 64 + 1)) "$pool" | head -c 8 | tr -d '\0'; }
put() { printf "$2" | dd of="$pool" bs=1 seek=$(($1 * 64)) conv=notrunc 2>/dev/null; }
pool=$1
if [ "$(word 0)" = dirty ]; then put 1 'fixed\0\0\0'; put 0 'clean\0\0\0'; fi
[ "$(word 0)" != clean ] || [ "$(word 1)" = fixed ]
"#;

/// Writes the stream of a repair if the pool is dirty, and that of a run that stores nothing if not. FILE, the second record,
/// names where the pool lies.
const RECORDER: &str = r#"for word; do
    case $word in
        --trace-files=*) out=${word#*=}-0 ;;
        --pmem=*) pool=${word#*=}; pool=${pool%\*}pool ;;
        --) shift; break ;;
    esac
    shift
done
if [ "$(head -c 5 "$pool")" = dirty ]; then did=repair; else did=nothing; fi
"$@" || exit
printf '\002\000'"\\$(printf %03o ${#pool})%s" "$pool" | cat "$streams/begin" - "$streams/$did" > "$out"
"#;

/// What the repair does, after FILE and MAP, and the image of a dirty pool.
fn begun() -> Program {
    Program(Stream::with_file().image(0, 0, &word("dirty")))
}

fn unflushed() -> Program {
    begun().store(0x21, 1, "fixed").store(0x22, 0, "clean").clwb(0x23, 0).sfence(0x24)
}

fn ordered() -> Program {
    let durable = begun().store(0x21, 1, "fixed").clwb(0x25, 1).sfence(0x26);
    durable.store(0x22, 0, "clean").clwb(0x23, 0).sfence(0x24)
}

/// The program makes its pool dirty.
fn program() -> Program {
    Program::new().store(0x11, 0, "dirty").clwb(0x12, 0).sfence(0x13)
}

/// A folder with the scripts and the streams of a repair.
fn folder(repair: Program, recorder: &str) -> TempDir {
    let folder = tempfile::Builder::new().prefix("t").tempdir_in("/tmp").unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    let [at, from] = [1, 2].map(|record| repair.0.starts[record]);
    let stream = repair.trace();
    write("begin", &stream[..at]);
    write("repair", &stream[from..]);
    write("nothing", &Program::new().trace()[from..]);
    write("recover", RECOVER.as_bytes());
    write("recorder", format!("streams={}\n{recorder}", folder.path().display()).as_bytes());
    folder
}

fn told(path: &Path, name: &str) -> String {
    path.join(name).display().to_string()
}

/// The report on a program whose recovery is `repair`.
fn explored(program: Program, repair: Program, more: Value) -> Value {
    explored_by(program, &folder(repair, RECORDER), more)
}

fn explored_by(program: Program, folder: &TempDir, more: Value) -> Value {
    let folder = folder.path();
    let mut request = json!({
        "recover": format!("sh {} {{pool}}", told(folder, "recover")), "recover_folder": folder, "nested": true,
        "recorder": ["sh", told(folder, "recorder")], "blame": false,
    });
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let report = outcome(program, request).unwrap().to_string().replace(&folder.display().to_string(), "");
    serde_json::from_str(&report).unwrap()
}

fn coverage(report: &Value) -> &str {
    report["coverage"].as_str().unwrap()
}

#[test]
fn repair_that_is_not_flushed_is_found_when_power_fails_again() {
    let report = explored(program(), unflushed(), json!({}));
    assert_eq!((&report["holds"], &report["causes"], &report["recovered"]), (&json!(false), &json!([]), &json!(1)));
    // From the pool of zeros nothing is repaired.
    let nested =
        json!({"recorded": 2, "stored": 1, "explored": 1, "unknown": 0, "images": 4, "failed": 1, "timed_out": 0});
    assert_eq!(report["recoveries"]["nested"], nested);
    let counts = ["crash_points", "nested_points", "distinct_states", "violation_count"].map(|key| &report[key]);
    assert_eq!(counts, [&json!(1), &json!(1), &json!(2), &json!(1)]);
    let causes = report["recovery_causes"].as_array().unwrap();
    let cause = &causes[0]["cause"];
    assert_eq!((causes.len(), &causes[0]["after"], &cause["at_event"]), (1, &json!([6]), &json!(8)), "{report}");
    assert_eq!((&cause["kind"], &cause["lost"][0]["stored"]["place"]), (&json!("missing-flush"), &json!("0x21")));
    // The file is the program's own.
    assert_eq!(cause["lost"][0]["file"], "pool");
    let violation = &report["violations"][0];
    assert_eq!((&violation["crash_event"], &violation["nested_events"]), (&json!(6), &json!([8])));
    assert_eq!(violation["reproduce"], json!({"explore": "legal", "nested_depth": 1, "at_event": 6}));
    let explanation = violation["explanation"].as_str().unwrap();
    for part in [
        "Power fails just before record 6 of the trace (at 0x13), and the command recovers from what is left. If power fails \
         again just before record 8 of the recovery (at 0x24), ",
        "The store at 0x21 is lost while the later store at 0x22 is kept",
    ] {
        assert!(explanation.contains(part), "{explanation}");
    }
    // How many commands run at a time makes no difference; nor does what `reproduce` leaves out.
    assert_eq!(explored(program(), unflushed(), json!({"recover_jobs": 1})), report);
    let again = explored(program(), unflushed(), json!({"at_event": 6}));
    assert_eq!((&again["violations"], &again["recovery_causes"]), (&report["violations"], &report["recovery_causes"]));
}

#[test]
fn ordered_repair_holds_however_often_power_fails() {
    let report = explored(program(), ordered(), json!({}));
    assert_eq!((&report["holds"], &report["recovery_causes"]), (&json!(true), &json!([])), "{report}");
    assert_eq!((&report["nested_points"], &report["recoveries"]["nested"]["images"]), (&json!(2), &json!(3)));
    assert!(coverage(&report).contains("No legal state of them is left out."), "{report}");
    // The interrupted repair is repeated on the pool that is still dirty, with and without what it has repaired.
    let again = explored(program(), ordered(), json!({"nested_depth": 2}));
    assert_eq!((&again["holds"], &again["recoveries"]["nested"]["recorded"]), (&json!(true), &json!(5)), "{again}");
    let alone = explored(program(), ordered(), json!({"nested_depth": 2, "recover_jobs": 1}));
    assert_eq!(alone, again);
}

#[test]
fn both_memories_are_kept() {
    let (folder, out) = (folder(unflushed(), RECORDER), tempfile::tempdir().unwrap());
    let report = explored_by(program(), &folder, json!({"recover_keep": out.path()}));
    let held = |name: &str, line: usize| std::fs::read(out.path().join(name)).unwrap()[line * 64..][..8].to_vec();
    let words = |name: &str| [held(name, 0), held(name, 1)];
    assert_eq!(words("crash-6-survived.pool"), [word("dirty").to_vec(), word("").to_vec()]);
    assert_eq!(words("crash-6-again-8.pool"), [word("clean").to_vec(), word("").to_vec()]);
    assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 2);
    let explanation = report["violations"][0]["explanation"].as_str().unwrap();
    let paths = ["crash-6-again-8.pool", "crash-6-survived.pool"].map(|name| told(out.path(), name));
    let sentence = format!("That memory is kept as {}. The recovery started from {}.", paths[0], paths[1]);
    assert!(explanation.contains(&sentence), "{explanation}");
}

#[test]
fn recoveries_that_do_the_same_are_explored_once() {
    let unordered = Program::new().store(0x10, 2, "other").store(0x11, 0, "dirty").clwb(0x12, 0).sfence(0x13);
    let report = explored(unordered, ordered(), json!({}));
    let nested =
        json!({"recorded": 4, "stored": 2, "explored": 1, "unknown": 0, "images": 3, "failed": 0, "timed_out": 0});
    assert_eq!(report["recoveries"]["nested"], nested, "{report}");
    assert!(coverage(&report).contains(" 1 recordings store, flush and fence the same at the same places"), "{report}");
}

#[test]
fn exploration_ends_with_the_failing_image_asked_for() {
    let twice = program().store(0x14, 3, "more").clwb(0x15, 3).sfence(0x16);
    let report = explored(twice, unflushed(), json!({"stop_after": 1}));
    assert_eq!(report["violation_count"], json!(1));
    assert!(coverage(&report).contains("It ended before the recoveries from"), "{report}");
    // What fails without a second failure ends it before any recovery is recorded.
    let wrong = json!({"recover": "! grep -q dirty {pool}", "stop_after": 1, "no_preflight": true});
    let report = explored(program(), unflushed(), wrong);
    assert_eq!(report["recoveries"]["nested"]["recorded"], json!(0), "{report}");
    assert!(coverage(&report).contains("Power did not fail again in the command itself"), "{report}");
}

#[test]
fn run_that_its_recording_does_not_explain_is_not_explored() {
    let unexplained = "it changes its files in a way that its recording does not have";
    for (recorder, why) in [
        (RECORDER.replace("did=repair", "did=nothing"), unexplained),
        (RECORDER.replace("\"$@\" || exit", ":"), unexplained),
        (RECORDER.replace("> \"$out\"", "> \"$out\"; exit 1"), "a recorded run did not recover"),
        ("echo broken".to_owned(), "the recorder did not run, and the last line that was printed is \"broken\""),
        (RECORDER.replace("$streams/begin", "$streams/recover"), "its recording: "),
    ] {
        let report = explored_by(program(), &folder(unflushed(), &recorder), json!({}));
        let nested = &report["recoveries"]["nested"];
        assert_eq!((&nested["explored"], &report["holds"]), (&json!(0), &json!(true)), "{report}");
        assert!(nested["unknown"].as_u64() > Some(0) && coverage(&report).contains(why), "{report}");
    }
}

#[test]
fn power_fails_again_only_in_legal_states_with_a_recorder() {
    let refused = |more: Value| {
        let mut request = json!({"recover": "true {pool}", "nested": true, "recorder": ["sh"]});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        outcome(program(), request).unwrap_err().to_string()
    };
    assert_eq!(
        refused(json!({"explore": "schedule"})),
        "nested: power fails again in a recording of the command, whose legal states are explored: with 'recover' it needs \
         explore 'legal'"
    );
    assert_eq!(
        refused(json!({"recorder": []})),
        "nested: power fails again in a recording of the command: give the words that start the recorder as 'recorder'"
    );
    let of_no_command = refused(json!({"recover": null, "recover_jobs": null}));
    assert_eq!(of_no_command, "recorder: it has no effect without a command; give one with 'recover'");
}

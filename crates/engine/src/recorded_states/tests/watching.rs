//! Explorations that watch what the command reads. The watcher here is a script that leaves it to the command to say what
//! it reads.

use super::causes::outcome;
use super::*;
use serde_json::{Value, json};
use std::path::Path;

/// Reads words of the pool, and says so if there is somebody to tell: `word LINE` prints the text at the beginning of a line.
const READS: &str = r#"word() {
    [ -z "$READS" ] || echo "read 0 $(($1 * 64)) 8" >> "$READS"
    tail -c +$(($1 * 64 + 1)) "$pool" | head -c 8 | tr -d '\0'
}
pool=$1
"#;

/// Fails if lines 2, 5 and 7 are lost together and the others that it looks at are not.
const RECOVER: &str = r#"[ "$(word 0)" = valid ] || exit 0
[ -n "$(word 3)" ] || exit 0
[ -n "$(word 6)" ] || exit 0
for line in 2 5 7; do [ -z "$(word $line)" ] || exit 0; done
exit 3
"#;

const WATCHER: &str = r#"for word; do
    case $word in
        --reads=*) READS=${word#--reads=} ;;
        --) shift; break ;;
    esac
    shift
done
export READS
echo start >> "$READS"
"$@"
code=$?
echo end >> "$READS"
exit $code
"#;

/// Lines 1 to 11, and then a header, none of which is flushed.
fn program() -> Program {
    (1..12).fold(Program::new(), |program, line| program.store(line, line, "data")).store(12, 0, "valid")
}

/// The report on a program whose command runs the script `recover`, watched by the script `watcher`, if there is one.
fn explored(recover: &str, watcher: Option<&str>, more: Value) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let told = |path: &Path| path.display().to_string();
    let recover = script("recover", &format!("{READS}{recover}"));
    let mut request = json!({"recover": format!("sh {} {{pool}}", told(&recover)), "states": 20, "blame": false});
    if let Some(watcher) = watcher {
        request["watch_reads"] = json!(["sh", told(&script("watcher", watcher))]);
    }
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let report = outcome(program(), request).unwrap().to_string().replace(&told(folder.path()), "");
    serde_json::from_str(&report).unwrap()
}

fn coverage(report: &Value) -> &str {
    report["coverage"].as_str().unwrap()
}

#[test]
fn what_the_command_reads_decides_all_that_it_does_not_read() {
    let plain = explored(RECOVER, None, json!({}));
    assert_eq!((&plain["violation_count"], &plain["recoveries"]["watched"]), (&json!(0), &Value::Null), "{plain}");
    assert!(!coverage(&plain).contains("Exhaustive:"), "{plain}");
    let watched = explored(RECOVER, Some(WATCHER), json!({}));
    assert!(coverage(&watched).contains("allow 4096 states"), "{watched}");
    assert!(coverage(&watched).contains("Exhaustive: no legal state is left out."), "{watched}");
    // It ends at each of six words, or at none.
    assert_eq!(watched["recoveries"]["watched"], json!({"runs": 7, "classes": 7, "points": 1}), "{watched}");
    let cause = &watched["causes"].as_array().unwrap()[0];
    let lost: Vec<u64> =
        cause["lost"].as_array().unwrap().iter().map(|lost| lost["offset"].as_u64().unwrap() / 64).collect();
    assert_eq!((lost, &cause["count"]), (vec![2, 5, 7], &json!(1)));
    assert_eq!(watched["reproduce"]["watch_reads"].as_array().unwrap().len(), 2, "{watched}");
    // How many commands run at a time makes no difference.
    assert_eq!(explored(RECOVER, Some(WATCHER), json!({"recover_jobs": 1})), watched);
}

#[test]
fn classes_are_as_many_as_states_are_tried() {
    let few = explored(RECOVER, Some(WATCHER), json!({"states": 3}));
    assert_eq!(few["recoveries"]["watched"], json!({"runs": 3, "classes": 3, "points": 0}), "{few}");
    assert!(!coverage(&few).contains("Exhaustive:"), "{few}");
}

#[test]
fn exploration_ends_with_the_failing_image_asked_for() {
    let ended = explored(RECOVER, Some(WATCHER), json!({"stop_after": 1}));
    assert_eq!(ended["violation_count"], json!(1));
    assert!(coverage(&ended).contains("It ended there, with the first image that fails"), "{ended}");
    // It ends with this image, however many commands run at a time.
    let alone = explored(RECOVER, Some(WATCHER), json!({"stop_after": 1, "recover_jobs": 1}));
    assert_eq!((&alone["recoveries"], &alone["distinct_states"]), (&ended["recoveries"], &ended["distinct_states"]));
    assert!(ended["recoveries"]["images"].as_u64() <= ended["recoveries"]["runs"].as_u64(), "{ended}");
}

#[test]
fn reads_that_are_not_known_decide_nothing() {
    let also = |line: &str| WATCHER.replace("echo end", &format!("echo '{line}' >> \"$READS\"\necho end"));
    for (watcher, why) in [
        (also("unknown io_uring_setup"), "it uses io_uring_setup, and what it reads that way cannot be seen"),
        (also("exec"), "it starts a program that cannot be watched"),
        (also("fork"), "a process of it was killed, or had not ended"),
        (also("read 0 1 8"), "the watcher did not run"),
        ("echo broken; exit 1".to_owned(), "the watcher did not run, and the last line that was printed is \"broken\""),
        (WATCHER.replace("exit $code", "exit 1"), "it does not always do the same on the same memory"),
    ] {
        let report = explored(RECOVER, Some(&watcher), json!({}));
        assert_eq!(report["recoveries"]["watched"]["points"], json!(0), "{report}");
        let told = format!("what the command reads could not decide the other states: {why}");
        assert!(!coverage(&report).contains("Exhaustive:") && coverage(&report).contains(&told), "{report}");
    }
}

#[test]
fn reads_are_watched_only_where_legal_states_are_explored() {
    let refused = |request: Value| outcome(program(), request).unwrap_err().to_string();
    assert_eq!(
        refused(json!({"explore": "schedule", "watch_reads": ["sh"]})),
        "watch_reads: only explore 'legal' takes it"
    );
    assert_eq!(
        refused(json!({"recover": null, "recover_jobs": null, "watch_reads": ["sh"]})),
        "watch_reads: it has no effect without a command; give one with 'recover'"
    );
}

//! Each kind of request accepts only its own keys, and a report contains the request that reproduces each violation.

use super::*;
use crate::config;
use serde_json::Value;
use std::io::Write;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

type Call = fn(&Value) -> Result<String, Error>;

fn run_one(request: &Value) -> Result<String, Error> {
    run_many(&json!({"runs": [request]}).to_string(), 1, &|_, _| {}, &Arc::default())
}

fn crash_one(request: &Value) -> Result<String, Error> {
    crash(&request.to_string(), &|_, _| {}, &Arc::default())
}

fn picture(request: &Value) -> Result<String, Error> {
    scene(&request.to_string(), &|_, _| {}, &Arc::default())
}

fn with(key: &str, value: &Value) -> Value {
    let mut request = json!({"design": "secpm", "workload": "array", "machine": "small", "transactions": 1});
    request[key] = value.clone();
    request
}

fn sentence(outcome: Result<String, Error>) -> String {
    match outcome {
        Err(Error::Config(why)) => why.0,
        other => panic!("it was not refused: {other:?}"),
    }
}

#[test]
fn after_an_interruption_no_further_run_starts() {
    let run = |seed: u64| {
        json!({
            "design": "secpm", "workload": "array", "machine": "small", "tx_size": 64, "transactions": 2000,
            "footprint": "64KiB", "seed": seed,
        })
    };
    let session = Session::new(4, 1 << 30);
    let batch = json!({"runs": [run(1), run(2), run(3)]}).to_string();
    let answer = run_many_in(&session, &batch, 1, &|_, _| {}, &Arc::new(AtomicBool::new(true))).unwrap();
    let interrupted = json!({"error": "interrupted"});
    assert_eq!(serde_json::from_str::<Value>(&answer).unwrap()["results"], json!(vec![interrupted; 3]));
    assert_eq!(session.populations(), 0, "memory was populated for runs that cannot go on");
}

#[test]
fn schema_of_a_request_describes_every_field() {
    let schemas: Value = serde_json::from_str(&schemas()).unwrap();
    assert_eq!(schemas.as_object().unwrap().len(), 8);
    for (request, schema) in schemas.as_object().unwrap() {
        let properties = schema["properties"].as_object().unwrap();
        let mut ordered: Vec<&str> = schema["x-order"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        ordered.sort_unstable();
        assert_eq!(ordered, properties.keys().collect::<Vec<_>>(), "{request}");
        for (name, property) in properties {
            let told = property["description"].as_str().unwrap_or_default();
            assert!(told.ends_with('.') && !told.contains('\n'), "{request}: {name}: {told}");
            assert!(!property["type"].is_null() && property.get("default").is_none(), "{request}: {name}");
        }
    }
    assert_eq!(schemas["crash"]["properties"]["explore"]["enum"], json!(["schedule", "schedules", "legal"]));
    assert_eq!(schemas["crash"]["properties"]["recover"]["type"], "string");
}

#[test]
fn key_of_another_kind_of_request_is_refused() {
    let of_crash = [
        ("points", json!("all")),
        ("nested_depth", json!(2)),
        ("explore", json!("legal")),
        ("schedules", json!(3)),
        ("states", json!(5)),
        ("stages", json!(true)),
        ("shrink", json!(false)),
        ("blame", json!(false)),
        ("recover", json!("true {pool}")),
        ("recover_prints", json!("ok")),
        ("recover_timeout", json!(5)),
        ("recover_jobs", json!(1)),
        ("watch_reads", json!(["watch"])),
        ("stop_after", json!(1)),
        ("recover_folder", json!("/tmp")),
        ("recover_keep", json!("/tmp")),
        ("recorder", json!(["record"])),
    ];
    for (key, value) in &of_crash {
        let only = "does not take it, only a crash exploration does";
        assert_eq!(sentence(run_one(&with(key, value))), format!("{key}: a run {only}"));
        assert_eq!(sentence(picture(&with(key, value))), format!("{key}: a picture of a crash {only}"));
        let resolved = resolve(&with(key, value).to_string()).unwrap_err();
        assert_eq!(resolved.0, format!("{key}: a run {only}"));
    }
    let of_both = [("at_event", json!(5)), ("omit_annotations", json!([0]))];
    for (key, value) in of_both {
        let only = "only a crash exploration and a picture of a crash do";
        assert_eq!(sentence(run_one(&with(key, &value))), format!("{key}: a run does not take it, {only}"));
    }
    for (key, value, takers) in
        [("timeline", json!("t.json"), "a run and a replay of memory lines do"), ("by_line", json!(true), "a run does")]
    {
        let only = format!("a crash exploration does not take it, only {takers}");
        assert_eq!(sentence(crash_one(&with(key, &value))), format!("{key}: {only}"));
    }
    for call in [run_one, crash_one, picture] as [Call; 3] {
        let told = sentence(call(&with("trace_clock_mhz", &json!(500))));
        assert!(told.ends_with("does not take it, only a replay of memory lines does"), "{told}");
    }
}

#[test]
fn key_that_does_not_exist_is_refused_with_the_nearest() {
    let told = sentence(run_one(&with("transaction", &json!(5))));
    assert!(told.starts_with("option 'transaction' does not exist: did you mean 'transactions'? (known: "), "{told}");
    assert!(told.contains("by_line, ") && !told.contains("points"), "{told}");
    assert!(sentence(crash_one(&with("pionts", &json!(5)))).contains("did you mean 'points'?"));
}

#[test]
fn value_of_the_wrong_kind_is_told_with_its_key() {
    let most = u64::MAX;
    for (key, value, told) in [
        ("transactions", json!(-5), format!("transactions: -5 is not a whole number from 0 to {most}")),
        ("seed", json!("x"), format!("seed: \"x\" is not a whole number from 0 to {most}")),
        ("tx_size", json!(1.5), format!("tx_size: 1.5 is not a whole number from 0 to {most}")),
        (
            "footprint",
            json!("4KB"),
            "footprint: size '4KB' is not a whole number of bytes with an optional unit B, KiB, MiB, GiB or TiB".into(),
        ),
        ("variant", json!("raw"), "variant: 'raw' does not exist: published or hardened".into()),
        ("set", json!("a.b=1"), "set: invalid type: string \"a.b=1\", expected a sequence".into()),
    ] {
        for call in [run_one, crash_one, picture] as [Call; 3] {
            assert_eq!(sentence(call(&with(key, &value))), told);
        }
    }
    for (key, value, told) in [
        ("points", json!(0), "points: crash points '0' is neither 'all' nor a number of at least 1"),
        ("explore", json!("all"), "explore: 'all' does not exist: schedule, schedules or legal"),
        ("nested", json!("yes"), "nested: invalid type: string \"yes\", expected a boolean"),
        ("wrappers", json!(["persist", 5]), "wrappers[1]: invalid type: integer `5`, expected a string"),
        ("omit_annotations", json!([0, -1]), "omit_annotations: invalid value: integer `-1`, expected u64"),
        ("at_event", json!(0), "at_event: 0 is not an event number; the first is 1"),
    ] {
        assert_eq!(sentence(crash_one(&with(key, &value))), told);
    }
    let told = sentence(run_many(r#"{"runs": [5]}"#, 1, &|_, _| {}, &Arc::default()));
    assert!(told.starts_with("runs[0]: invalid type: integer `5`, expected a map"), "{told}");
    let both = json!({"design": "secpm", "workload": "array", "points": 5, "at_event": 7});
    assert_eq!(sentence(crash_one(&both)), "points and at_event exclude each other");
}

#[test]
fn null_is_as_good_as_absent() {
    let plain: Value = serde_json::from_str(&resolve(&with("seed", &json!(1)).to_string()).unwrap()).unwrap();
    for key in ["variant", "set", "allow_truncated", "tx_size", "by_line", "leave_out", "seed"] {
        let resolved = resolve(&with(key, &Value::Null).to_string()).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&resolved).unwrap(), plain, "{key}");
    }
}

#[test]
fn report_has_the_values_that_ask_for_its_violations_again() {
    let request = json!({
        "design": "write-back", "workload": "btree", "machine": "small", "set": ["controller.wpq_entries=16"],
        "transactions": 4, "tx_size": "64B", "footprint": "16KiB", "cores": 2, "warmup": 1, "blame": false,
    });
    let report: Value = serde_json::from_str(&crash_one(&request).unwrap()).unwrap();
    let run = json!({
        "design": "write-back", "workload": "btree", "variant": "hardened", "machine": "small",
        "set": ["controller.wpq_entries=16"], "transactions": 4, "tx_size": 64, "footprint": 16384, "cores": 2,
        "warmup": 1, "seed": 1,
    });
    assert_eq!(report["reproduce"], run);
    let first = &report["violations"][0];
    assert_eq!(first["reproduce"], json!({"at_event": first["crash_event"]}));
    let shrunk = &report["shrunk"][0];
    let shape = ["transactions", "tx_size", "footprint", "cores"].map(|key| (key.to_owned(), shrunk[key].clone()));
    let mut smaller = Value::Object(shape.into_iter().collect());
    (smaller["warmup"], smaller["at_event"]) = (json!(0), shrunk["crash_event"].clone());
    assert_eq!(shrunk["reproduce"], smaller);
    // A state that is legal but belongs to no schedule, and a schedule other than the machine's own.
    let legal = with("explore", &json!("legal"));
    for (more, said) in [(legal, json!({"explore": "legal"})), (with("schedule", &json!(2)), json!({"schedule": 2}))] {
        let request = with_all(&more, &json!({"design": "write-back", "shrink": false, "blame": false}));
        let report: Value = serde_json::from_str(&crash_one(&request).unwrap()).unwrap();
        let first = &report["violations"][0];
        assert_eq!(first["reproduce"], with_all(&said, &json!({"at_event": first["crash_event"]})));
    }
    let asked = json!({"design": "secpm", "workload": "array", "transactions": 2, "fault": "staging-register",
        "leave_out": "mutate-flush", "schedule": 3, "at_event": 100});
    let scene: Value = serde_json::from_str(&picture(&asked).unwrap()).unwrap();
    for key in ["design", "workload", "transactions", "fault", "leave_out", "schedule"] {
        assert_eq!(scene["reproduce"][key], asked[key], "{key}");
    }
    assert!(scene["reproduce"]["at_event"].is_null() && scene.get("command").is_none());
}

fn with_all(under: &Value, over: &Value) -> Value {
    let mut both = under.clone();
    both.as_object_mut().unwrap().extend(over.as_object().unwrap().clone());
    both
}

#[test]
fn replay_of_memory_lines_tells_how_much_of_the_files_it_has_read() {
    let mut file = tempfile::Builder::new().suffix(".trace").tempfile().unwrap();
    for n in 0..20_000u64 {
        writeln!(file, "{:#x} {} {}", n % 512 * 64, if n % 3 == 0 { "WRITE" } else { "READ" }, n * 20).unwrap();
    }
    file.flush().unwrap();
    let path = file.path().to_str().unwrap();
    let bytes = file.path().metadata().unwrap().len();
    let run = |design: &str| json!({"design": design, "workload": path});
    let told = Mutex::new(Vec::new());
    let progress = |done, total| told.lock().unwrap().push((done, total));
    let request = json!({"runs": [run("unencrypted"), run("secpm")]}).to_string();
    replay(&request, 1, &progress, &Arc::default()).unwrap();
    let told = told.into_inner().unwrap();
    assert!(told.len() > 4 && told.iter().all(|(_, total)| *total == 2 * bytes), "{told:?}");
    assert!(told.is_sorted() && told.iter().any(|(done, total)| done < total), "{told:?}");
    assert_eq!(told.last(), Some(&(2 * bytes, 2 * bytes)));
    let refused = replay(
        &json!({"runs": [with_all(&run("secpm"), &json!({"by_line": true}))]}).to_string(),
        1,
        &|_, _| {},
        &Arc::default(),
    );
    assert_eq!(sentence(refused), "by_line: a replay of memory lines does not take it, only a run does");
}

/// A value by itself, which may contradict the rest: that is for whoever puts a machine together.
#[test]
fn set_is_checked_by_itself() {
    for good in ["controller.wpq_high_watermark=4096", "design.write_path=ready-pairs", "design.recovery=[]"] {
        assert_eq!(check_set(good), Ok(()), "{good}");
    }
    assert!(config::load_machine("secpm", &["controller.wpq_high_watermark=4096".to_owned()]).is_err());
    for (bad, said) in [
        ("controller.wpq_entries=1", "controller.wpq_entries = 1 must be a whole number from 2 to 4096"),
        ("controller.wpq_entries=-5", "controller.wpq_entries = -5 must be a whole number from 2 to 4096"),
        ("controller.wpq_entries=1e300", "must be a whole number from 2 to 4096"),
        ("controller.wpq_entries=abc", "must be a whole number from 2 to 4096"),
        ("controller.wpq_entries=true", "must be a whole number from 2 to 4096"),
        ("controller.wpq_entry=8", "there is no key 'controller.wpq_entry': did you mean 'controller.wpq_entries'?"),
        ("controller.policy=gem6", "controller.policy"),
        ("design.write_path=write-trough", "write_path 'write-trough' does not exist: did you mean 'write-through'?"),
        ("design.write_paths=deferred", "there is no part 'write_paths': did you mean 'write_path'?"),
        ("design.write_path", "write path.to.key=value"),
        ("controller.wpq_entries", "write path.to.key=value"),
    ] {
        let error = check_set(bad).unwrap_err().0;
        assert!(error.contains(said) && !error.contains('\n'), "{bad}: {error}");
    }
}

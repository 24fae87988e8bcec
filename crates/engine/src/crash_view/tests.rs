//! The picture shows what the auditors report, always the same, for every design.

use crate::api;
use serde_json::{Value, json};
use std::sync::Arc;

fn picture(request: &Value) -> String {
    api::scene(&request.to_string(), &|_, _| {}, &Arc::default()).expect("a run that can be crashed")
}

fn scene(request: &Value) -> Value {
    serde_json::from_str(&picture(request)).unwrap()
}

fn crash(request: &Value) -> Value {
    serde_json::from_str(&api::crash(&request.to_string(), &|_, _| {}, &Arc::default()).unwrap()).unwrap()
}

/// What the page shows after one event.
#[derive(Clone, Default)]
struct Shown {
    /// Per line: state, whether stores are in flight, whether it breaks the line rule.
    lines: Vec<Option<(String, bool, bool)>>,
    verdict: usize,
}

/// What the page shows after each event of the window, in order.
fn shown(scene: &Value) -> Vec<(u64, Shown)> {
    let mut now = Shown { lines: vec![None; list(scene, "lines").len()], verdict: 0 };
    let (first, last) = (scene["first"].as_u64().unwrap(), scene["last"].as_u64().unwrap());
    let mut points = list(scene, "points").iter().peekable();
    let mut all = Vec::new();
    for n in first..=last {
        if let Some(point) = points.next_if(|point| point["n"] == n) {
            for change in point["lines"].as_array().into_iter().flatten() {
                let state = scene["states"][index(&change[1])].as_str().unwrap().to_owned();
                now.lines[index(&change[0])] = Some((state, change[4] == true, change[5] == true));
            }
            if !point["verdict"].is_null() {
                now.verdict = index(&point["verdict"]);
            }
        }
        all.push((n, now.clone()));
    }
    assert!(points.next().is_none(), "points are in order and in the window");
    all
}

fn list<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap_or_else(|| panic!("no list {key}"))
}

fn index(value: &Value) -> usize {
    value.as_u64().unwrap() as usize
}

#[test]
fn line_that_cannot_be_read_is_shown_as_unreadable_exactly_while_the_auditors_say_so() {
    let line_rule = |violation: &&Value| violation["rule"] == "line";
    let mut request = json!({"design": "write-back", "workload": "queue", "transactions": 20});
    let anywhere = crash(&request);
    let first = list(&anywhere, "violations").iter().find(line_rule).expect("write-back breaks the line rule");
    let at = first["crash_event"].as_u64().unwrap();
    request["at_event"] = at.into();
    let scene = scene(&request);
    let found = crash(&request);
    let known = list(&found, "violations").iter().filter(line_rule).filter(|violation| violation["crash_event"] == at);
    let known: Vec<&Value> = known.collect();
    assert!(!known.is_empty());
    let mut wrong_ones = 0;
    for (n, shown) in shown(&scene) {
        let verdict = &scene["verdicts"][shown.verdict];
        let standing = list(verdict, "violations").iter().map(|place| &scene["violations"][index(place)]);
        let broken: Vec<&Value> = standing.filter(line_rule).map(|violation| &violation["line"]).collect();
        for (place, line) in shown.lines.iter().enumerate() {
            let Some((state, in_flight, wrong)) = line else { continue };
            let unreadable = state == "reads as zero" || state == "does not decrypt";
            let address = &scene["lines"][place]["address"];
            // The design promises nothing about lines in flight.
            assert_eq!(*wrong, unreadable && !in_flight, "after event {n}, line {address}: {state}");
            assert!(!broken.contains(&address) || *wrong, "after event {n}, line {address}");
            wrong_ones += usize::from(*wrong);
        }
        if n == at {
            for violation in &known {
                assert!(broken.contains(&&violation["line"]), "{violation}");
                // The page shows what the report has, under the same keys.
                let told = list(&scene, "violations").iter().map(|told| told.as_object().expect("an object"));
                let mut same = told.filter(|told| told["explanation"] == violation["explanation"]);
                let told = same.next().unwrap_or_else(|| panic!("{violation}"));
                assert_eq!(told.len(), 7);
                assert!(told.iter().all(|(key, value)| violation[key] == *value), "{violation}");
            }
        }
    }
    assert!(wrong_ones > 0);
}

#[test]
fn point_recovers_in_the_picture_where_it_recovers_for_the_explorer() {
    for (design, workload) in [("write-back", "queue"), ("write-through", "btree"), ("secpm", "btree")] {
        let request = json!({"design": design, "workload": workload, "machine": "small", "transactions": 20});
        let at = |event: u64| {
            let mut request = request.clone();
            request["at_event"] = event.into();
            request
        };
        let scene = scene(&at(900));
        let mut recovered = [0, 0];
        for (n, shown) in shown(&scene).into_iter().step_by(83) {
            let recovers = scene["verdicts"][shown.verdict]["recovers"] == true;
            assert_eq!(recovers, crash(&at(n))["recovered"] == 1, "{design} after event {n}");
            recovered[usize::from(recovers)] += 1;
        }
        assert!(recovered[1] > 0 || design == "write-back", "{design} recovers somewhere");
        assert!(recovered[0] > 0 || design != "write-back", "{design} fails somewhere");
    }
}

#[test]
fn every_design_has_a_picture_without_internal_errors() {
    let mut kinds = std::collections::BTreeSet::new();
    for name in crate::design::names() {
        // A long computation has thousands of events without a line.
        let request = json!({
            "design": name, "workload": "btree", "machine": "small", "transactions": 12, "at_event": 1500,
            "set": ["program.think_instructions=1000"],
        });
        let design = crate::design::find(name, crate::config::Variant::Hardened).unwrap();
        if design.modules.is_some() {
            // Its machine has large caches, and no event has this number.
            continue;
        }
        if design.promise.crash_consistent.is_err() {
            assert!(api::scene(&request.to_string(), &|_, _| {}, &Arc::default()).is_err(), "{name}");
            continue;
        }
        let text = picture(&request);
        if ["sca", "easy-pm", "sepencr", "osiris"].contains(&name) {
            assert_eq!(text, picture(&request), "{name}");
        }
        assert!(text.len() < 1 << 20, "{name}: {} bytes", text.len());
        let scene: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(scene["internal_errors"], json!([]), "{name}");
        assert_eq!(list(&scene, "ns").len() as u64, 1 + scene["last"].as_u64().unwrap() - 1100, "{name}");
        assert!(scene["lines"].as_array().is_some_and(|lines| !lines.is_empty()), "{name}");
        assert!(list(&scene, "queued").iter().all(|entries| entries.as_i64().unwrap() >= 0), "{name}");
        let last = list(&scene, "lanes").len();
        for mark in list(&scene, "marks") {
            assert!(index(&mark["lane"]) < last, "{name}");
            kinds.insert(mark["kind"].as_str().unwrap().to_owned());
        }
    }
    for kind in ["store", "flush", "fence complete", "hit", "miss", "fill", "pad for a read", "pad for a write"] {
        assert!(kinds.contains(kind), "{kind}");
    }
    for kind in ["data persists", "counter persists", "device read", "device write", "line logged", "record durable"] {
        assert!(kinds.contains(kind), "{kind}");
    }
}

/// The bytes of hexadecimal digits.
fn bytes(text: &Value) -> Vec<u8> {
    let text = text.as_str().expect("bytes");
    assert_eq!(text.len(), 128, "{text}");
    (0..64).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap()).collect()
}

/// Of each write of a line in the window, the event in which it becomes durable, the line, what the controller got and what
/// became durable.
fn writes(scene: &Value) -> Vec<(u64, &Value, Vec<u8>, Vec<u8>)> {
    let marks = list(scene, "marks");
    let of = |kind: &'static str| marks.iter().filter(move |mark| mark["kind"] == kind);
    let mut written = Vec::new();
    for mark in of("data persists") {
        let n = mark["n"].as_u64().unwrap();
        let got = of("write-back").rfind(|got| got["line"] == mark["line"] && got["n"].as_u64().unwrap() <= n);
        if let Some(got) = got {
            written.push((n, &mark["line"], bytes(&got["bytes"]), bytes(&mark["bytes"])));
        }
    }
    written
}

#[test]
fn bytes_of_a_write_differ_by_a_pad_that_no_other_write_has_and_a_boot_finds_the_plaintext() {
    let request = json!({"design": "secpm", "workload": "queue", "transactions": 4});
    let scene = scene(&request);
    assert_eq!((&scene["cipher"], &scene["persistent"]), (&json!("counter-mode"), &json!(false)));
    let mut pads = std::collections::HashSet::new();
    let mut found = std::collections::HashMap::new();
    for point in list(&scene, "points") {
        for change in point["lines"].as_array().into_iter().flatten() {
            let address = &scene["lines"][index(&change[0])]["address"];
            found.insert((point["n"].as_u64().unwrap(), address.to_string()), index(&change[7]));
        }
    }
    let written = writes(&scene);
    assert!(written.len() > 20);
    for (n, line, plaintext, ciphertext) in &written {
        let pad: Vec<u8> = plaintext.iter().zip(ciphertext).map(|(one, other)| one ^ other).collect();
        assert!(pads.insert(pad), "event {n}: a pad was used before");
        // The pair of line and counter is durable in this event.
        let at = found.get(&(*n, line.to_string())).unwrap_or_else(|| panic!("event {n}: line {line} does not change"));
        assert_eq!(bytes(&scene["contents"][*at]), *plaintext, "event {n}");
    }
}

#[test]
fn without_encryption_what_is_durable_is_what_was_stored() {
    let scene = scene(&json!({"design": "unencrypted", "workload": "queue", "transactions": 4}));
    assert_eq!(scene["cipher"], "none");
    let written = writes(&scene);
    assert!(written.len() > 20);
    assert!(written.iter().all(|(_, _, plaintext, durable)| plaintext == durable));
}

#[test]
fn nothing_is_as_flushed_before_a_fence_has_covered_a_flush() {
    for (design, settled) in [("secpm", "as flushed"), ("unencrypted", "as flushed"), ("eadr", "as stored")] {
        let scene = scene(&json!({"design": design, "workload": "array", "machine": "small", "transactions": 4}));
        let marks = list(&scene, "marks");
        let kind = if design == "eadr" { "store" } else { "fence complete" };
        let promise =
            marks.iter().find(|mark| mark["kind"] == kind).expect("the program goes on")["n"].as_u64().unwrap();
        let mut settled_at = Vec::new();
        for (n, shown) in shown(&scene) {
            let states: Vec<&str> = shown.lines.iter().flatten().map(|(state, _, _)| state.as_str()).collect();
            if states.contains(&settled) {
                settled_at.push(n);
            }
            assert!(
                n >= promise || states.iter().all(|state| *state != settled),
                "{design} after event {n}: {states:?}"
            );
            assert!(!states.contains(&if settled == "as stored" { "as flushed" } else { "as stored" }), "{design}");
        }
        assert_eq!(settled_at.first(), Some(&promise), "{design}");
    }
}

#[test]
fn recovery_is_told_where_there_is_something_to_undo() {
    let told = |design: &str, words: &str| {
        let scene = scene(
            &json!({"design": design, "workload": "btree", "machine": "small", "transactions": 12, "at_event": 1500}),
        );
        let steps = list(&scene, "boots").iter().flat_map(|boot| boot.as_array().unwrap().clone());
        let texts: Vec<String> = steps.map(|step| step["text"].as_str().unwrap().to_owned()).collect();
        assert!(texts.iter().any(|text| text.contains(words)), "{design}: {texts:?}");
    };
    told("secpm", "drained to the media");
    told("secpm", "1 log entry undone");
    told("hw-log", "restored from the hardware's log");
    told("bbe", "restored from the shadow cache");
}

#[test]
fn event_that_the_run_does_not_have_is_refused_in_a_sentence() {
    let request = json!({"design": "secpm", "workload": "array", "transactions": 1, "at_event": 10_000_000});
    let refused = api::scene(&request.to_string(), &|_, _| {}, &Arc::default()).unwrap_err().to_string();
    assert!(refused.starts_with("at_event: 10000000 is not an event of the run, which has 1 to "), "{refused}");
}

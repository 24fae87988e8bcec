//! From the text of a request to that of its answer.

use counterpoint_engine::api;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a page may call.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Call {
    /// What there is; the request is null.
    Describe,
    /// A design in both readings; the request is its name, or the text of a design file.
    DescribeDesign,
    /// The file of a built-in design; the request is its name.
    DesignFile,
    /// A simulation.
    Run,
    /// Power failures.
    Crash,
    /// The picture of a crash.
    Scene,
    /// Every small program.
    Prove,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    call: Call,
    request: Value,
}

/// Answers `{"call": NAME, "request": REQUEST}` with `{"answer": REPORT}` or `{"error": SENTENCE}`.
pub fn answered(text: &str, progress: api::Progress) -> String {
    match called(text, progress) {
        Ok(report) => format!("{{\"answer\": {report}}}"),
        Err(why) => json!({"error": why.to_string()}).to_string(),
    }
}

fn called(text: &str, progress: api::Progress) -> Result<String, api::Error> {
    let Asked { call, request } = serde_json::from_str(text).map_err(|error| refused(format!("request: {error}")))?;
    // Nothing interrupts a call: there is no other thread.
    let never = Arc::new(AtomicBool::new(false));
    Ok(match call {
        Call::Describe => api::describe(),
        Call::DescribeDesign => api::describe_design(named(&request)?)?,
        Call::DesignFile => {
            let name = named(&request)?;
            let file = api::design_file(name).ok_or_else(|| refused(format!("design '{name}' is not built in")))?;
            json!(file).to_string()
        }
        Call::Run => api::run_many(&json!({"runs": [request]}).to_string(), 1, progress, &never)?,
        Call::Crash => api::crash(&request.to_string(), progress, &never)?,
        Call::Scene => api::scene(&request.to_string(), progress, &never)?,
        Call::Prove => api::prove(&request.to_string(), progress, &never)?,
    })
}

fn refused(what: String) -> api::Error {
    counterpoint_engine::kernel::ConfigError(what).into()
}

/// The name, or the text of a file, that a request is.
fn named(request: &Value) -> Result<&str, api::Error> {
    request.as_str().ok_or_else(|| refused("request: expected a text".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(call: &str, request: &Value) -> Value {
        let text = json!({"call": call, "request": request}).to_string();
        serde_json::from_str(&answered(&text, &|_, _| {})).unwrap()
    }

    #[test]
    fn a_program_that_is_typed_is_crashed_on_a_design_that_is_typed() {
        let program = "store A; clwb A; sfence";
        let crash = |design: &str| {
            let request = json!({"design": design, "workload": program, "machine": "small", "blame": false});
            ask("crash", &request)["answer"].clone()
        };
        assert_eq!(crash("secpm")["holds"], true);
        assert_eq!(crash("write-back")["holds"], false);
        let typed = crash("base = \"write-back\"\nwrite_path = \"deferred\"\n");
        assert_eq!(typed["design"], "typed");
    }

    #[test]
    fn what_cannot_be_done_is_a_sentence_of_the_engine() {
        let request = json!({"design": "secpmm", "workload": "queue"});
        let told = ask("crash", &request);
        let expected = "design 'secpmm' does not exist: did you mean 'secpm'?";
        assert!(told["error"].as_str().unwrap().starts_with(expected), "{told}");
        let error = ask("describe_design", &json!("base = \"secpm\"\nwrite_pat = 1\n"));
        assert!(error["error"].as_str().unwrap().starts_with("typed.toml:2: "), "{error}");
        assert!(ask("fly", &Value::Null)["error"].as_str().unwrap().starts_with("request: "));
    }

    #[test]
    fn what_there_is_and_figures_come_as_from_the_engine() {
        let there: Value = serde_json::from_str(&api::describe()).unwrap();
        assert_eq!(ask("describe", &Value::Null)["answer"], there);
        let request = json!({"design": "secpm", "workload": "queue", "machine": "small", "transactions": 3, "warmup": 0,
            "footprint": 16384});
        let run = ask("run", &request)["answer"]["results"][0].clone();
        assert_eq!(run["event_digest"].as_str().unwrap().len(), 16, "{run}");
    }
}

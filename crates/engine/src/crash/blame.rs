//! The verdict told apart: who is to blame for what a crash exploration found. At most two more explorations answer it,
//! each of which ends at the first violation of the rule that was broken first:
//!
//! 1. The same program over plaintext memory. If it fails there, too, the program is wrong, whatever the design is.
//! 2. The same design with the complete program, if something was left out; or a recorded program, which has no
//!    annotations, where every write is counter-atomic. If that holds, what was missing is to blame.
//!
//! Otherwise the design is.

use super::{Blame, Blamed, CrashPlan, CrashReport, Exploration};
use crate::audit::Rule;
use crate::config::RunConfig;
use crate::design::{find, plaintext_of, unannotated_of};
use crate::message::{Omission, ProgramForm};
use crate::parts::Design;
use crate::run::Failure;

/// An exploration of a run on a design.
pub type ExploreOn<'a> = dyn FnMut(&RunConfig, &Design, &Exploration) -> Result<CrashReport, Failure> + 'a;

/// Who is to blame for the violations of `report`, which `explore` gave for `config` on `design`. `None` where there are
/// none, or where the auditors themselves are at fault. `is_trace`: a recorded program. An event of one design is not the
/// same moment on another, so where one event was asked for the others fail after every event.
pub fn blame(
    config: &RunConfig,
    design: &Design,
    is_trace: bool,
    exploration: &Exploration,
    report: &CrashReport,
    explore: &mut ExploreOn<'_>,
) -> Result<Option<Blame>, Failure> {
    let Some(rule) = report.violations.iter().min_by_key(|violation| violation.crash_event).map(|first| first.rule)
    else {
        return Ok(None);
    };
    if !report.internal_errors.is_empty() {
        return Ok(None);
    }
    let plan = match exploration.plan {
        CrashPlan::At(_) => CrashPlan::All,
        plan => plan,
    };
    let seeded = exploration.fault.is_some();
    let exploration = Exploration { plan, stop_at: Some(rule), fault: None, stages: false, ..*exploration };
    let told = |who, why| Ok(Some(Blame { who, why }));
    if design.encryption.is_none() && !seeded {
        let why = format!(
            "Design '{}' has no encryption that could lose anything, so the program itself does not survive.",
            design.name
        );
        return told(Blamed::Program, why);
    }

    let mut why = String::new();
    match plaintext_of(design.form).and_then(|name| find(name, config.variant)) {
        Some(plaintext) => {
            // Its programs have no annotations to leave out.
            let leave_out = config.leave_out.filter(|omission| omission.is_in(plaintext.form));
            let run = RunConfig { design: plaintext.name.to_owned(), leave_out, ..config.clone() };
            let program = program_of(&run);
            match tried(explore(&run, &plaintext, &exploration))? {
                Some(found) => {
                    if let Some((rule, event)) = first_of(&found) {
                        let why = format!(
                            "Without encryption {program} fails, too: on design '{}' the rule '{}' is broken when power \
                             fails after event {event}.",
                            plaintext.name,
                            rule.name()
                        );
                        return told(Blamed::Program, why);
                    }
                    why.push_str(&format!(
                        "Without encryption {program} holds: design '{}' recovered from {}.",
                        plaintext.name,
                        crashes(&found)
                    ));
                }
                None => why.push_str(&format!(
                    "Design '{}', which has no encryption, cannot run {program} on this machine.",
                    plaintext.name
                )),
            }
        }
        None => why.push_str(
            "Programs whose log hardware keeps do not run on plaintext memory, so that the program itself was not tried \
             apart from the design.",
        ),
    }

    if let Some(omission) = config.leave_out {
        let complete = RunConfig { leave_out: None, ..config.clone() };
        if let Some(found) = tried(explore(&complete, design, &exploration))? {
            if first_of(&found).is_none() {
                let who = match omission {
                    Omission::Annotation(_) => Blamed::Annotations,
                    Omission::Step(_) => Blamed::Program,
                };
                why.push_str(&format!(
                    " The complete program, with {}, holds on design '{}', too: it recovered from {}.",
                    omission.name(),
                    design.name,
                    crashes(&found)
                ));
                return told(who, why);
            }
            why.push_str(&format!(" The complete program, with {}, fails on this design, too.", omission.name()));
        }
    } else if is_trace
        && design.form == ProgramForm::Annotated
        && let Some(counter_atomic) = unannotated_of(design.form).and_then(|name| find(name, config.variant))
    {
        let run = RunConfig { design: counter_atomic.name.to_owned(), ..config.clone() };
        if let Some(found) = tried(explore(&run, &counter_atomic, &exploration))? {
            if first_of(&found).is_none() {
                why.push_str(&format!(
                    " Design '{}', where every write is counter-atomic, recovered from {} of it: the recorded program \
                     lacks the annotations that design '{}' needs.",
                    counter_atomic.name,
                    crashes(&found),
                    design.name
                ));
                return told(Blamed::Annotations, why);
            }
            why.push_str(&format!(" It fails on design '{}', too.", counter_atomic.name));
        }
    }
    told(Blamed::Design, why)
}

/// What was explored; `None` where this run cannot be, such as on a machine that the other design does not fit.
fn tried(outcome: Result<CrashReport, Failure>) -> Result<Option<CrashReport>, Failure> {
    match outcome {
        Ok(report) => Ok(report.internal_errors.is_empty().then_some(report)),
        Err(Failure::Config(_)) => Ok(None),
        Err(Failure::Cancelled) => Err(Failure::Cancelled),
    }
}

/// The first rule that was broken, and after which event.
fn first_of(report: &CrashReport) -> Option<(Rule, u64)> {
    let first = report.violations.iter().min_by_key(|violation| violation.crash_event)?;
    Some((first.rule, first.crash_event))
}

fn program_of(run: &RunConfig) -> String {
    match run.leave_out {
        Some(omission) => format!("the same program without {}", omission.name()),
        None => "the same program".to_owned(),
    }
}

fn crashes(report: &CrashReport) -> String {
    match report.nested_points {
        0 => format!("{} crashes", report.crash_points),
        again => format!("{} crashes and {again} more during recovery", report.crash_points),
    }
}

//! Finds out who is to blame for the violations of a crash exploration. This takes at most three more explorations, each
//! of which ends at the first violation of the rule that the report names first:
//!
//! 1. The same program on plaintext memory. If that fails too, the program is wrong, whatever the design is. One schedule
//!    may be a lucky one, so a recorded program that its own recovery judges must also hold in every legal state.
//! 2. The same design with the complete program, if something was left out; or, for a recorded program, a design in which
//!    every write is counter-atomic. If that holds, what was missing is to blame: the program's annotations, or what was
//!    assumed of them if it has none.
//!
//! Otherwise the design is to blame. A machine that loses what it has called durable is to blame itself, and nothing is run.

use super::super::{Blame, Blamed, CrashPlan, CrashReport, Exploration, ReportedViolation};
use crate::audit::Rule;
use crate::config::RunConfig;
use crate::design::{find, plaintext_of, unannotated_of};
use crate::kernel::Failure;
use crate::message::{Omission, ProgramForm};
use crate::parts::Design;

/// What is explored of another run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// What was explored of the run that is inquired about.
    AsAsked,
    /// Every state that is legal for a recorded program over plaintext memory.
    LegalStates,
}

/// Where the program that is inquired about comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    /// It was generated, with every annotation that the design needs, except what it leaves out.
    Generated,
    /// It was recorded or written out, with the annotations that the design needs, if any.
    Recorded,
    /// It was recorded without annotations, and something is assumed of them.
    AssumedOf,
}

/// An exploration of a run on a design.
pub type ExploreOn<'a> = dyn FnMut(&RunConfig, &Design, &Exploration, Reach) -> Result<CrashReport, Failure> + 'a;

/// Who is to blame for the violations of `report`, which `explore` returned for `config` on `design`. `None` if there
/// are none, or if the auditors themselves are at fault. An event of one design is not the same moment on another, so if one event was requested, the other runs fail power after every
/// event.
pub fn blame(
    config: &RunConfig,
    design: &Design,
    program: Asked,
    exploration: &Exploration,
    report: &CrashReport,
    explore: &mut ExploreOn<'_>,
) -> Result<Option<Blame>, Failure> {
    let Some((rule, _)) = first_of(report).filter(|_| report.internal_errors.is_empty()) else { return Ok(None) };
    let plan = match exploration.plan {
        CrashPlan::At(_) => CrashPlan::All,
        plan => plan,
    };
    let seeded = exploration.fault.is_some_and(|fault| !fault.of_machine());
    let exploration = Exploration { plan, stop_at: Some(rule), fault: None, stages: false, ..*exploration };
    let mut inquiry = Inquiry { config, design, program, rule, exploration, explore, why: String::new() };
    let who = inquiry.who(seeded)?;
    Ok(Some(Blame { who, why: inquiry.why }))
}

/// A run that breaks a rule, and the explorations of other runs that show why.
struct Inquiry<'a, 'e> {
    config: &'a RunConfig,
    design: &'a Design,
    program: Asked,
    /// The rule that the report names first.
    rule: Rule,
    /// Ends at the first violation of that rule.
    exploration: Exploration,
    explore: &'a mut ExploreOn<'e>,
    /// What was run so far, and what it showed.
    why: String,
}

impl Inquiry<'_, '_> {
    /// Who is to blame; `seeded`: whether a mechanism of the design is switched off.
    fn who(&mut self, seeded: bool) -> Result<Blamed, Failure> {
        if let Some(value) = self.config.machine.loses_durable().filter(|_| !seeded && self.rule != Rule::Plaintext) {
            self.why = format!(
                "With {value} it loses lines of which it has told programs that they are durable: no program and no design can \
                 make up for that, and none was tried."
            );
            return Ok(Blamed::Machine);
        }
        if matches!(self.rule, Rule::Integrity | Rule::FalseAlarm) {
            self.why = format!(
                "What is verified, and what recovery restores, depends on the design alone: no program could keep the rule '{}'.",
                self.rule.name()
            );
            return Ok(Blamed::Design);
        }
        if self.design.encryption.is_none() && !seeded {
            self.why = format!(
                "Design '{}' has no encryption that could lose anything, so the program itself does not survive.",
                self.design.name
            );
            return Ok(Blamed::Program);
        }
        if let Some(who) = self.over_plaintext()? {
            return Ok(who);
        }
        let who = match self.config.leave_out {
            Some(omission) => self.with_what_is_left_out(omission)?,
            None if self.program != Asked::Generated => self.with_counter_atomic_writes()?,
            None => None,
        };
        Ok(who.unwrap_or(Blamed::Design))
    }

    /// Tries the same program on plaintext memory.
    fn over_plaintext(&mut self) -> Result<Option<Blamed>, Failure> {
        let Some(plaintext) = plaintext_of(self.design.form).and_then(|name| find(name, self.config.variant)) else {
            self.why.push_str(
                "A program whose log is kept by hardware cannot run on plaintext memory, so the program was not tried without \
                 the design.",
            );
            return Ok(None);
        };
        // Its programs have no annotations that could be left out.
        let leave_out = self.config.leave_out.filter(|omission| omission.is_in(plaintext.form));
        let run = RunConfig { design: plaintext.name.clone(), parts: None, leave_out, ..self.config.clone() };
        let program = program_of(&run);
        let Some(found) = self.tried(&run, &plaintext)? else {
            self.why.push_str(&format!(
                "Design '{}', which has no encryption, cannot run {program} on this machine.",
                plaintext.name
            ));
            return Ok(None);
        };
        if let Some((rule, event)) = first_of(&found) {
            self.why.push_str(&format!(
                "Without encryption {program} fails, too: on design '{}' the rule '{}' is broken when power fails after \
                 event {event}.",
                plaintext.name,
                rule.name()
            ));
            return Ok(Some(Blamed::Program));
        }
        self.why.push_str(&format!(
            "Without encryption {program} holds: design '{}' recovered from {}.",
            plaintext.name,
            crashes(&found)
        ));
        if self.program != Asked::Generated && self.rule.is_of_command() {
            self.in_legal_states(&run, &plaintext)
        } else {
            Ok(None)
        }
    }

    /// Tries every legal state of a recorded program that holds in the schedules of plaintext memory.
    fn in_legal_states(&mut self, run: &RunConfig, plaintext: &Design) -> Result<Option<Blamed>, Failure> {
        let exploration = Exploration { plan: CrashPlan::All, ..self.exploration };
        let found = tried((self.explore)(run, plaintext, &exploration, Reach::LegalStates))?;
        let Some((_, record)) = found.as_ref().and_then(first_of) else { return Ok(None) };
        self.why.push_str(&format!(
            " But that is luck: before record {record} of the trace hardware may leave memory from which the program does \
             not recover, without encryption, too. Explore 'legal' on '{}' shows it.",
            plaintext.name
        ));
        Ok(Some(Blamed::Program))
    }

    /// Tries the same design with the complete program, including `omission`.
    fn with_what_is_left_out(&mut self, omission: Omission) -> Result<Option<Blamed>, Failure> {
        let complete = RunConfig { leave_out: None, ..self.config.clone() };
        let design = self.design;
        let Some(found) = self.tried(&complete, design)? else { return Ok(None) };
        if first_of(&found).is_some() {
            self.why.push_str(&format!(" The complete program, with {}, fails on this design, too.", omission.name()));
            return Ok(None);
        }
        self.why.push_str(&format!(
            " The complete program, with {}, holds on design '{}', too: it recovered from {}.",
            omission.name(),
            design.name,
            crashes(&found)
        ));
        Ok(Some(match omission {
            Omission::Annotation(_) => Blamed::Annotations,
            Omission::Step(_) => Blamed::Program,
        }))
    }

    /// Tries a recorded program for annotated designs with a design in which every write is counter-atomic.
    fn with_counter_atomic_writes(&mut self) -> Result<Option<Blamed>, Failure> {
        let form = self.design.form;
        let name = unannotated_of(form).filter(|_| form == ProgramForm::Annotated);
        let Some(counter_atomic) = name.and_then(|name| find(name, self.config.variant)) else { return Ok(None) };
        let run = RunConfig { design: counter_atomic.name.clone(), parts: None, ..self.config.clone() };
        let Some(found) = self.tried(&run, &counter_atomic)? else { return Ok(None) };
        if first_of(&found).is_some() {
            self.why.push_str(&format!(" It fails on design '{}', too.", counter_atomic.name));
            return Ok(None);
        }
        let (who, so) = match self.program {
            Asked::AssumedOf => {
                (Blamed::Assumption, "it has no annotations, and what is assumed instead is not enough for")
            }
            _ => (Blamed::Annotations, "its annotations are not enough for"),
        };
        self.why.push_str(&format!(
            " Design '{}', where every write is counter-atomic, recovered from {} of it: {so} design '{}'.",
            counter_atomic.name,
            crashes(&found),
            self.design.name
        ));
        Ok(Some(who))
    }

    /// The report of another run; `None` if that run is not possible, such as on a machine that the design does not
    /// fit.
    fn tried(&mut self, run: &RunConfig, design: &Design) -> Result<Option<CrashReport>, Failure> {
        tried((self.explore)(run, design, &self.exploration, Reach::AsAsked))
    }
}

/// The report of an exploration that may not be possible.
fn tried(outcome: Result<CrashReport, Failure>) -> Result<Option<CrashReport>, Failure> {
    match outcome {
        Ok(report) => Ok(report.internal_errors.is_empty().then_some(report)),
        Err(Failure::Config(_)) => Ok(None),
        Err(Failure::Cancelled) => Err(Failure::Cancelled),
    }
}

/// The rule of the first violation that is reported, and its event.
fn first_of(report: &CrashReport) -> Option<(Rule, u64)> {
    report.violations.first().map(|ReportedViolation { violation, .. }| (violation.rule, violation.crash_event))
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

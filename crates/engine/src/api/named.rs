//! What a request names: events, seeded faults, omissions and attacks.

use crate::config::unknown_name;
use crate::crash::AttackPlan;
use crate::design::faults::Fault;
use crate::kernel::ConfigError;
use crate::message::Omission;
use crate::parts::Design;
use crate::workload;
use std::collections::HashSet;

/// Checks the number of the event after which power fails.
pub(super) fn checked_event(at_event: Option<u64>) -> Result<Option<u64>, ConfigError> {
    match at_event {
        Some(0) => Err(ConfigError("at_event: 0 is not an event number; the first is 1".to_owned())),
        event => Ok(event),
    }
}

/// Refuses what is given of `options`, which have no effect without `what`.
pub(super) fn only_with(what: &str, options: &[(&str, bool)]) -> Result<(), ConfigError> {
    match options.iter().find(|(_, given)| *given) {
        Some((name, _)) => Err(ConfigError(format!("{name}: it has no effect without {what}"))),
        None => Ok(()),
    }
}

/// Refuses a file that two of several `calls` would write, which `option` names.
pub(super) fn written_once<'a>(
    option: &str,
    calls: &str,
    mut paths: impl Iterator<Item = &'a String>,
) -> Result<(), ConfigError> {
    let mut seen = HashSet::new();
    match paths.find(|path| !seen.insert(*path)) {
        Some(path) => Err(ConfigError(format!("{option} {path}: two {calls} cannot write the same file"))),
        None => Ok(()),
    }
}

/// The seeded fault called `name`.
pub(super) fn seeded_fault(name: Option<&str>) -> Result<Option<Fault>, ConfigError> {
    name.map(Fault::find).transpose()
}

/// The omission called `name` in the programs that `design` runs.
pub(super) fn find_omission(name: &str, workload: &str, design: &Design) -> Result<Omission, ConfigError> {
    let known: Vec<&str> = Omission::all().map(Omission::name).collect();
    let omission = Omission::all().find(|omission| omission.name() == name);
    let omission = omission.ok_or_else(|| unknown_name("leave_out", name, &known))?;
    if !omission.is_in(design.form) {
        let of_design: Vec<&str> =
            Omission::all().filter(|omission| omission.is_in(design.form)).map(Omission::name).collect();
        return Err(ConfigError(format!(
            "leave_out {name}: the programs that design '{}' runs do not have it (they have: {})",
            design.name,
            of_design.join(", ")
        )));
    }
    let keeps_no_log = workload::find(workload).is_some_and(|workload| !workload.has_log);
    match omission {
        Omission::Step(step) if step.needs_log() && keeps_no_log => {
            Err(ConfigError(format!("leave_out {name}: workload '{workload}' writes no log and does not have it")))
        }
        _ => Ok(omission),
    }
}

/// The attacks called `names`, on one of `every` distinct states; `None` if there are none.
pub(super) fn attacks(names: &[String], every: Option<u64>) -> Result<Option<AttackPlan>, ConfigError> {
    match (names, every) {
        ([], None) => Ok(None),
        ([], Some(_)) => Err(ConfigError("attack_every: nothing is attacked without attack".to_owned())),
        (names, every) => AttackPlan::named(names, every.unwrap_or(1)).map(Some),
    }
}

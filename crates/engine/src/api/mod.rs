//! The interface to the front end: requests come in and reports go out, both as JSON. Every function validates first;
//! nothing starts that is not completely described.
//!
//! ```text
//! request (what may be asked, by kind) -> runs | lines | crash | prove | distinguish | check | recovery -> report
//! ```

mod budget;
mod catalogue;
mod check;
mod crash;
mod distinguish;
mod lines;
mod marks;
mod named;
mod prove;
mod recovery;
#[cfg(feature = "host")]
mod reports;
mod request;
mod runs;
mod small;
#[cfg(test)]
mod tests;

use crate::design;
use crate::kernel::ConfigError;
use crate::trace;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

pub use crate::design::{check_set, text as design_file};
pub use crate::kernel::Failure as Error;
pub use crate::kernel::workers::processors;
pub use crate::run::Session;
pub use catalogue::describe;
pub use check::{annotations, check};
pub use crash::{crash, scene};
pub use distinguish::distinguish;
pub use lines::trace_kind;
pub use prove::prove;
pub use recovery::recovery;
#[cfg(feature = "host")]
pub use reports::{file_schemas, report_schemas};
pub use request::schemas;
pub use runs::{replay, resolve, run_many, run_many_in};

/// Called with how much is done, and of how much: transactions, or bytes of traces of memory lines.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// The design `name_or_path`, a built-in design or a file, as JSON: the same entry that [`describe`] has for each.
pub fn describe_design(name_or_path: &str) -> Result<String, ConfigError> {
    let (design, parts) = design::with_parts(name_or_path)?;
    let mut document = json!(catalogue::DesignEntry::of(&design));
    document["parts"] = json!(BTreeMap::from(parts.map(|(variant, parts)| (variant.name(), parts))));
    Ok(document.to_string())
}

/// The parts of the design `name_or_path` in a reading with each of `stated` (`key=value`) in place of its own, as JSON, without
/// those that then have no effect.
pub fn effective_parts(name_or_path: &str, variant: &str, stated: &[&str]) -> Result<String, ConfigError> {
    let variant = request::named(variant).map_err(|what| ConfigError(format!("variant {what}")))?;
    Ok(json!(design::effective_parts(name_or_path, variant, stated)?).to_string())
}

/// Writes the stream `input`, called `name` in errors, to a trace file at `path`, and returns what it has, as JSON.
///
/// # Errors
/// Those of [`trace::write_trace`].
#[cfg(feature = "host")]
pub fn write_trace(name: &str, input: impl Read + Send + 'static, path: &Path) -> Result<String, ConfigError> {
    trace::write_trace(name, input, path).map(|written| json!(written).to_string())
}

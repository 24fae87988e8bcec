//! Schemas of what the front receives, from the types that are serialised, and of the files that users write.

use super::catalogue::Catalogue;
use crate::check::CheckReport;
use crate::config;
use crate::crash::CrashReport;
use crate::design;
use crate::prove::{DistinctionReport, ProofReport};
use crate::recovery_cost::CostReport;
use crate::run::LineReport;
use crate::stats::{RunReport, Stats};
use crate::trace::TraceWritten;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// The JSON Schema of each kind of report, by the type that has it in the front, as JSON. Beside what JSON Schema has, `required`
/// lists the fields in their order, and `x-document` is what a field means in the document of the front, which writes it otherwise.
pub fn report_schemas() -> String {
    json!({
        "Run": schema::<RunReport>(),
        "Stats": schema::<Stats>(),
        "Crash": schema::<CrashReport>(),
        "Proof": schema::<ProofReport>(),
        "Distinction": schema::<DistinctionReport>(),
        "Check": schema::<CheckReport>(),
        "RecoveryCost": schema::<CostReport>(),
        "LineRun": schema::<LineReport>(),
        "Catalogue": schema::<Catalogue>(),
        "TraceWritten": schema::<TraceWritten>(),
    })
    .to_string()
}

/// The JSON Schema of each kind of file that users write, as JSON. `x-order` lists the keys of an object in their order.
pub fn file_schemas() -> String {
    json!({"machine": config::file_schema(), "design": design::file_schema()}).to_string()
}

fn schema<R: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<R>().to_value()
}

//! What the front receives: a schema of each kind of report, from the types that are serialised.

use crate::check::CheckReport;
use crate::crash::CrashReport;
use crate::recovery_cost::CostReport;
use crate::run::LineReport;
use crate::stats::{RunReport, Stats};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// The JSON Schema of each kind of report, by the type that has it in the front, as JSON. Beside what JSON Schema has, `required`
/// lists the fields in their order, and `x-front` is what a field means in the front, which writes it otherwise.
pub fn report_schemas() -> String {
    json!({
        "Run": schema::<RunReport>(),
        "Stats": schema::<Stats>(),
        "Crash": schema::<CrashReport>(),
        "Check": schema::<CheckReport>(),
        "RecoveryCost": schema::<CostReport>(),
        "LineRun": schema::<LineReport>(),
    })
    .to_string()
}

fn schema<R: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<R>().to_value()
}

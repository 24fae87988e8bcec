//! What is explored of a run, and at which crash points.

use super::kinds::Kind;
use crate::crash::CrashPlan;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// What is explored of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub(in crate::api) enum Explore {
    /// One schedule: the simulated one, or another.
    #[default]
    Schedule,
    /// Several schedules.
    Schedules,
    /// Every legal state at every fence.
    Legal,
}

/// Crash points: "all", or their number.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub(in crate::api) struct Points(pub CrashPlan);

impl Kind for Points {
    const NAME: &'static str = "points";

    fn schema() -> Value {
        json!({"type": ["integer", "string"], "minimum": 1, "maximum": u64::MAX, "pattern": "^(all|[0-9]+)$"})
    }
}

impl TryFrom<Value> for Points {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        match value {
            Value::String(text) => text.parse().map(Points),
            other => other.to_string().parse().map(Points),
        }
    }
}

impl From<Points> for Value {
    fn from(points: Points) -> Self {
        match points.0 {
            CrashPlan::Sample(number) => number.get().into(),
            _ => "all".into(),
        }
    }
}

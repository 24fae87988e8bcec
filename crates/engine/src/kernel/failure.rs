//! Why there is no result: bad input, or an interruption.

/// Bad input: one sentence that names the value, the allowed values or range, and the place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

/// Why a simulation returned no report.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Bad input.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The user interrupted it.
    #[error("interrupted")]
    Cancelled,
}

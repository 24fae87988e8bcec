//! A short identifier of a configuration.

use super::RunConfig;

/// Sixteen hexadecimal digits that are equal for equal configurations: FNV-1a over the configuration as JSON, with the
/// fields in the order of the schema.
pub fn config_digest(run: &RunConfig) -> String {
    let json = serde_json::to_string(run).expect("a configuration has string keys and finite numbers");
    let digest = json
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    format!("{digest:016x}")
}

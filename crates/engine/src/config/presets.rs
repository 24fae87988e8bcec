//! The machines that come with the program, one per paper table.

use super::bounds::validate;
use super::load::from_table;
use super::nearest::unknown_name;
use super::{ConfigError, Machine};

/// Name and text of each preset.
const PRESETS: [(&str, &str); 5] = [
    ("secpm", include_str!("presets/secpm.toml")),
    ("secpm-workshop", include_str!("presets/secpm-workshop.toml")),
    ("counter-atomicity", include_str!("presets/counter-atomicity.toml")),
    ("easy-pm", include_str!("presets/easy-pm.toml")),
    ("small", include_str!("presets/small.toml")),
];

/// The preset that a machine file builds on if it does not say.
pub(super) const DEFAULT: &str = "secpm";

/// Names of all presets.
pub fn preset_names() -> Vec<&'static str> {
    PRESETS.iter().map(|(name, _)| *name).collect()
}

/// The preset `name`; an error names the nearest one.
pub fn preset(name: &str) -> Result<Machine, ConfigError> {
    let machine = from_table(table(name)?)?;
    validate(&machine)?;
    Ok(machine)
}

/// The preset `name` as a table of values.
pub(super) fn table(name: &str) -> Result<toml::Table, ConfigError> {
    let (_, text) = PRESETS
        .iter()
        .find(|(known, _)| *known == name)
        .ok_or_else(|| unknown_name("machine", name, &preset_names()))?;
    toml::from_str(text).map_err(|error| ConfigError(format!("machine '{name}': {}", error.message())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_a_valid_machine_of_its_name() {
        for name in preset_names() {
            assert_eq!(preset(name).unwrap().name, name);
        }
        assert!(preset_names().contains(&DEFAULT));
    }

    #[test]
    fn the_nearest_preset_is_named() {
        assert_eq!(
            preset("secpn").unwrap_err().0,
            "machine 'secpn' does not exist: did you mean 'secpm'? (known: secpm, secpm-workshop, counter-atomicity, easy-pm, small)"
        );
    }
}

//! The built-in machines, one per paper table, one of measured modules, and DRAM. All but [`MOST_GENERAL`] are machine files on top of a base, as users
//! write them.

use super::Machine;
use super::bounds::validate;
use super::load::{from_table, parse_file};
use super::nearest::unknown_name;
use crate::kernel::ConfigError;

/// Name and text of each preset.
const PRESETS: [(&str, &str); 12] = [
    ("secpm", include_str!("presets/secpm.toml")),
    ("secpm-workshop", include_str!("presets/secpm-workshop.toml")),
    ("counter-atomicity", include_str!("presets/counter-atomicity.toml")),
    ("easy-pm", include_str!("presets/easy-pm.toml")),
    ("sepencr", include_str!("presets/sepencr.toml")),
    ("small", include_str!("presets/small.toml")),
    ("optane", include_str!("presets/optane.toml")),
    ("ddr4-2400", include_str!("presets/ddr4-2400.toml")),
    ("ddr5-4800", include_str!("presets/ddr5-4800.toml")),
    ("cxl-pm", include_str!("presets/cxl-pm.toml")),
    ("gem5-o3", include_str!("presets/gem5-o3.toml")),
    ("gem5-timing", include_str!("presets/gem5-timing.toml")),
];

/// The preset that sets every value. All others build on it, and so does a machine file that names no base.
pub(super) const MOST_GENERAL: &str = "secpm";

/// The names of all presets.
pub fn preset_names() -> Vec<&'static str> {
    PRESETS.iter().map(|(name, _)| *name).collect()
}

/// The preset `name`.
///
/// # Errors
/// A sentence that names the nearest preset.
pub fn preset(name: &str) -> Result<Machine, ConfigError> {
    let machine = from_table(table(name)?)?;
    validate(&machine)?;
    Ok(machine)
}

/// The preset `name` as a complete table of values.
pub(super) fn table(name: &str) -> Result<toml::Table, ConfigError> {
    let (_, text) = PRESETS
        .iter()
        .find(|(known, _)| *known == name)
        .ok_or_else(|| unknown_name("machine", name, &preset_names()))?;
    if name == MOST_GENERAL {
        return toml::from_str(text).map_err(|error| ConfigError(format!("machine '{name}': {}", error.message())));
    }
    parse_file(&format!("{name}.toml"), text).map(|(table, _)| table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{AddressMapping, BatterySupply, CacheLevel, CounterOrganisation, CounterPlacement, Device};

    /// A preset builds on one that comes before it in the list, so there is no cycle.
    #[test]
    fn preset_says_only_what_differs_from_its_base() {
        let presets = PRESETS.map(|(name, text)| (name, text.parse::<toml::Table>().unwrap()));
        assert!(presets[0].0 == MOST_GENERAL && !presets[0].1.contains_key("base"));
        for (at, (name, said)) in presets.iter().enumerate().skip(1) {
            let base = said["base"].as_str().unwrap();
            assert!(presets[..at].iter().any(|(before, _)| *before == base), "{name}: base = {base}");
            let base = table(base).unwrap();
            for (section, values) in said {
                for (key, value) in values.as_table().into_iter().flatten() {
                    assert_ne!(value, &base[section][key], "{name}: {section}.{key}");
                }
            }
        }
    }

    #[test]
    fn every_preset_is_a_valid_machine_of_its_name() {
        for name in preset_names() {
            assert_eq!(preset(name).unwrap().name, name);
        }
        assert!(preset_names().contains(&MOST_GENERAL));
    }

    #[test]
    fn easy_pm_is_its_table() {
        let ways_and_cycles = |level: &CacheLevel| (level.size.0, level.latency_cycles, level.ways, level.shared);
        let Machine { core, l1, l2, l3, controller, device, counters, .. } = preset("easy-pm").unwrap();
        assert_eq!((core.clock_mhz, core.rob_entries, core.store_queue_entries), (2_000, 192, 48));
        assert_eq!(ways_and_cycles(&l1), (32 << 10, 2, 8, false));
        assert_eq!(ways_and_cycles(&l2), (256 << 10, 8, 8, false));
        assert_eq!(ways_and_cycles(&l3), (8 << 20, 25, 16, true));
        assert!([l1, l2, l3].iter().all(|level| !level.size_per_core));
        assert_eq!((controller.wpq_entries, controller.read_queue_entries), (32, 32));
        assert_eq!((device.channels, device.ranks, device.banks_per_rank), (1, 1, 8));
        assert_eq!(device.capacity.0, 8 << 30);
        assert_eq!((device.t_wr_ns, device.t_rcd_ns), (300.0, 48.0), "write (read)");
        assert_eq!(controller.aes_latency_ns, 40.0);
        assert_eq!((controller.counter_cache_size.0, controller.counter_cache_latency_cycles), (512 << 10, 12));
        assert!(!controller.counter_cache_size_per_core);
        // Decisions where the table is silent: what the search chose, and counters as section II-B has them.
        assert_eq!(device.mapping, AddressMapping::PageInterleaved);
        assert_eq!(counters.organisation, CounterOrganisation::PerLine);
        assert_eq!(controller.counter_placement, CounterPlacement::Interleaved);
    }

    #[test]
    fn sepencr_is_its_table() {
        let Machine { program, core, l1, l2, l3, controller, eadr, device, .. } = preset("sepencr").unwrap();
        assert_eq!(core.clock_mhz, 2_000);
        let size_and_ways = |level: &CacheLevel| (level.size.0, level.ways, level.shared);
        assert_eq!(size_and_ways(&l1), (128 << 10, 2, false));
        assert_eq!(size_and_ways(&l2), (1 << 20, 8, true));
        assert_eq!(size_and_ways(&l3), (2 << 20, 8, true));
        assert!([&l1, &l2, &l3].iter().all(|level| !level.size_per_core));
        assert_eq!(device.capacity.0, 16 << 30);
        let Device { t_rcd_ns, t_cl_ns, t_cwd_ns, t_faw_ns, t_wtr_ns, t_wr_ns, .. } = device;
        assert_eq!([t_rcd_ns, t_cl_ns, t_cwd_ns, t_faw_ns, t_wtr_ns, t_wr_ns], [48.0, 15.0, 13.0, 50.0, 7.5, 300.0]);
        assert_eq!(controller.wpq_entries, 64);
        assert_eq!((controller.counter_cache_size.0, controller.counter_cache_size_per_core), (512 << 10, false));
        // Sections V-C and V-D.
        assert_eq!(
            (eadr.l1_drain_nj_per_byte, eadr.l2_drain_nj_per_byte, eadr.l3_drain_nj_per_byte),
            (11.839, 11.228, 11.228)
        );
        assert_eq!(eadr.controller_drain_nj_per_byte, 11.228);
        assert_eq!((eadr.aes_pj_per_byte, eadr.xor_fj_per_byte, eadr.recovery_ns_per_line), (192.0, 800.0, 200.0));
        // Decisions where the table is silent, which no search changed: latencies as in the same group's SecPM table,
        // watermarks at three quarters and one quarter.
        let secpm = preset("secpm").unwrap();
        let cycles = |levels: [&CacheLevel; 2]| levels.map(|level| level.latency_cycles);
        assert_eq!(cycles([&l1, &l2]), cycles([&secpm.l1, &secpm.l2]));
        assert_eq!(controller.counter_cache_latency_cycles, secpm.controller.counter_cache_latency_cycles);
        assert_eq!((controller.wpq_high_watermark, controller.wpq_low_watermark), (64 * 3 / 4, 64 / 4));
        assert_eq!(program.total_footprint(1), 1 << 20);
        assert_eq!(eadr.battery, BatterySupply::AsNeeded);
    }

    #[test]
    fn nearest_preset_is_named() {
        assert_eq!(
            preset("secpn").unwrap_err().0,
            "machine 'secpn' does not exist: did you mean 'secpm'? (known: secpm, secpm-workshop, counter-atomicity, easy-pm, sepencr, small, optane, ddr4-2400, ddr5-4800, cxl-pm, gem5-o3, gem5-timing)"
        );
    }
}

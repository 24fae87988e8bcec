//! Matches designs whose caches are in the persistence domain with machines: what the battery supports, and where the
//! shadow cache is.

use crate::cache;
use crate::config::{BatterySupply, Geometry, Machine};
use crate::kernel::ConfigError;
use crate::layout::ShadowRegion;
use crate::message::{LINE_BYTES, Line};
use crate::parts::{Battery, Design, PersistenceDomain};

/// What the battery of `machine` supports with `design`.
pub fn supplied(design: &Design, machine: &Machine) -> Battery {
    match machine.eadr.battery {
        // What the ADR domain drains, it has the energy for.
        _ if design.minor_unit().is_some() => needed(design),
        BatterySupply::AsNeeded => needed(design),
        BatterySupply::WriteOnly => Battery::WriteOnly,
        BatterySupply::WriteComputeOrder => Battery::WriteComputeOrder,
        BatterySupply::AllOperation => Battery::AllOperation,
    }
}

fn needed(design: &Design) -> Battery {
    design.drain().map_or(Battery::WriteOnly, |drain| drain.needs())
}

/// The battery of `machine` with `design`; refuses one that does not support what the design's drain needs.
pub fn battery(design: &Design, machine: &Machine) -> Result<Battery, ConfigError> {
    let (needs, has) = (needed(design), supplied(design, machine));
    if has >= needs {
        return Ok(has);
    }
    let act = match needs {
        Battery::WriteOnly => "writes",
        Battery::WriteComputeOrder if design.drain().is_some_and(|drain| !drain.encrypts()) => {
            "computes the tree over its shadow cache"
        }
        Battery::WriteComputeOrder => "makes pads",
        Battery::AllOperation => "reads memory",
    };
    Err(ConfigError(format!(
        "eadr.battery = {}: design '{}' {act} after power is lost and needs {}",
        name(has),
        design.name,
        name(needs)
    )))
}

/// The battery's name, as in the configuration.
pub fn name(battery: Battery) -> &'static str {
    match battery {
        Battery::WriteOnly => "write-only",
        Battery::WriteComputeOrder => "write-compute-order",
        Battery::AllOperation => "all-operation",
    }
}

/// Lines that can leave when power fails: the data slots of all caches, the entries of persist buffers, or those in which
/// accepted writes rest.
pub fn drained_slots(machine: &Machine, cores: u16, design: &Design) -> u64 {
    match design.domain {
        PersistenceDomain::Adr => 0,
        PersistenceDomain::AcceptedWrites { unit, .. } => u64::from(unit.entries(machine.controller.wpq_entries)),
        PersistenceDomain::PersistBuffers { .. } => u64::from(machine.eadr.persist_buffer_entries) * u64::from(cores),
        PersistenceDomain::Eadr { .. } => cache::data_slots(machine, cores, design.cache_pads),
    }
}

/// The shadow cache of `design` on `machine`, which ends before the hardware's log; `None` if the design has none.
pub fn shadow_region(machine: &Machine, design: &Design, cores: u16) -> Option<ShadowRegion> {
    design.drain().filter(|drain| drain.uses_shadow())?;
    Some(ShadowRegion {
        first: Line::containing(program_capacity(machine, design, cores)),
        slots: drained_slots(machine, cores, design),
        memory_lines: machine.device.capacity.0 / LINE_BYTES,
        macs: has_slot_macs(design),
    })
}

/// Whether the slots of the shadow cache have MACs.
pub fn has_slot_macs(design: &Design) -> bool {
    design.drain().is_some_and(|drain| drain.shadow_integrity().has_macs())
}

/// Bytes for programs with `design`, from address 0: what the shadow cache leaves. Zero if it leaves nothing.
pub fn program_capacity(machine: &Machine, design: &Design, cores: u16) -> u64 {
    Geometry::of(machine).program_capacity().saturating_sub(shadow_bytes(machine, design, cores))
}

/// [`program_capacity`] beside one core; refuses a memory that leaves nothing.
pub fn room(machine: &Machine, design: &Design) -> Result<u64, ConfigError> {
    match program_capacity(machine, design, 1) {
        0 => Err(ConfigError(format!(
            "device.capacity = {} leaves nothing for programs under design '{}'",
            machine.device.capacity, design.name
        ))),
        capacity => Ok(capacity),
    }
}

/// Bytes of the shadow cache, with its metadata.
pub(super) fn shadow_bytes(machine: &Machine, design: &Design, cores: u16) -> u64 {
    match design.drain() {
        Some(drain) if drain.uses_shadow() => {
            let bytes = ShadowRegion::bytes(drained_slots(machine, cores, design), has_slot_macs(design));
            bytes.next_multiple_of(machine.counters.block_bytes())
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assembly::validate;
    use crate::config::{RunConfig, Variant, load_machine, preset};
    use crate::design;

    fn find(name: &str) -> Design {
        design::find(name, Variant::Hardened).unwrap()
    }

    fn with(sets: &[&str]) -> Machine {
        load_machine("sepencr", &sets.iter().map(|set| (*set).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    fn run(name: &str, machine: Machine, cores: u16) -> RunConfig {
        RunConfig {
            tx_size: 64,
            transactions: 10,
            cores,
            footprint: machine.program.total_footprint(u64::from(cores)),
            ..RunConfig::new(name, "array", machine)
        }
    }

    #[test]
    fn machine_of_the_paper_has_four_mebibytes_of_data_caches_and_half_of_them_under_pads() {
        let machine = preset("sepencr").unwrap();
        let bytes = |design, cores| cache::data_slots(&machine, cores, find(design).cache_pads) * 64;
        assert_eq!([bytes("bbe", 8), bytes("eadr-cme", 8), bytes("sepencr", 8)], [4 << 20, 4 << 20, 2 << 20]);
        assert_eq!(bytes("bbe", 1), (3 << 20) + (128 << 10));
    }

    #[test]
    fn shadow_cache_lies_in_whole_pages_right_below_the_log() {
        let machine = preset("sepencr").unwrap();
        for (name, slots) in [("bbe", 64 << 10), ("sepencr", 32 << 10)] {
            let region = shadow_region(&machine, &find(name), 8).unwrap();
            assert_eq!((region.slots, region.memory_lines), (slots, (16 << 30) / 64));
            let end = Geometry::of(&machine).log_start();
            assert_eq!(region.first.address() + ShadowRegion::bytes(slots, false), end.address());
            assert_eq!(region.first.address(), program_capacity(&machine, &find(name), 8));
            assert!(region.first.0 + region.lines() <= end.0 && region.first.address().is_multiple_of(4096));
        }
        for name in ["secpm", "adr", "eadr", "eadr-mc-cme", "eadr-cme", "eadr-all-operation"] {
            assert_eq!(shadow_region(&machine, &find(name), 8), None);
            assert_eq!(program_capacity(&machine, &find(name), 8), Geometry::of(&machine).program_capacity());
        }
    }

    #[test]
    fn battery_as_needed_is_what_the_drain_needs_and_a_weaker_one_is_refused() {
        let needs = [
            ("adr", Battery::WriteOnly),
            ("secpm", Battery::WriteOnly),
            ("eadr", Battery::WriteOnly),
            ("eadr-cme", Battery::WriteOnly),
            ("sepencr", Battery::WriteOnly),
            ("sepencr-tree", Battery::WriteComputeOrder),
            ("bbe-tree", Battery::WriteComputeOrder),
            ("bbe", Battery::WriteComputeOrder),
            ("eadr-all-operation", Battery::AllOperation),
            ("eadr-tree", Battery::AllOperation),
            ("secpb", Battery::AllOperation),
        ];
        for (design, needs) in needs {
            assert_eq!(battery(&find(design), &preset("sepencr").unwrap()).unwrap(), needs, "{design}");
            for has in [Battery::WriteOnly, Battery::WriteComputeOrder, Battery::AllOperation] {
                let machine = with(&[&format!("eadr.battery={}", name(has))]);
                let outcome = validate(&run(design, machine.clone(), 1), &find(design));
                assert_eq!(outcome.is_ok(), has >= needs, "{design} {has:?}");
                assert_eq!(battery(&find(design), &machine).ok(), (has >= needs).then_some(has));
            }
        }
        let refused =
            |design, supply| battery(&find(design), &with(&[&format!("eadr.battery={supply}")])).unwrap_err().0;
        assert_eq!(
            refused("bbe", "write-only"),
            "eadr.battery = write-only: design 'bbe' makes pads after power is lost and needs write-compute-order"
        );
        assert_eq!(
            refused("sepencr-tree", "write-only"),
            "eadr.battery = write-only: design 'sepencr-tree' computes the tree over its shadow cache after power is lost and \
             needs write-compute-order"
        );
        assert_eq!(
            refused("eadr-all-operation", "write-compute-order"),
            "eadr.battery = write-compute-order: design 'eadr-all-operation' reads memory after power is lost and needs \
             all-operation"
        );
    }

    #[test]
    fn odd_ways_are_refused_where_half_of_them_hold_pads() {
        for level in ["l1", "l2", "l3"] {
            let machine = with(&[&format!("{level}.ways=1")]);
            assert_eq!(
                validate(&run("sepencr", machine.clone(), 1), &find("sepencr")).unwrap_err().0,
                format!(
                    "design 'sepencr' on machine 'sepencr': {level}.ways = 1 must be even, because the pads of cached lines \
                     take half the ways"
                )
            );
            validate(&run("bbe", machine, 1), &find("bbe")).unwrap();
        }
    }

    #[test]
    fn footprint_that_reaches_into_the_shadow_cache_is_refused() {
        // bbe with one core: 50 Ki slots of 64 bytes and 16 bytes of metadata for each slot, in whole pages.
        let shadow = (50 << 10) * (64 + 16);
        let machine = with(&["device.capacity=64MiB"]);
        let room = Geometry::of(&machine).program_capacity() - shadow - (64 << 10);
        let config = |design, footprint| RunConfig { footprint, ..run(design, machine.clone(), 1) };
        validate(&config("bbe", room), &find("bbe")).unwrap();
        validate(&config("eadr", room + 64), &find("eadr")).unwrap();
        let error = validate(&config("bbe", room + 64), &find("bbe")).unwrap_err().0;
        assert!(
            error.contains("and 1 log rings of 64KiB do not fit below the shadow cache of design 'bbe'"),
            "{error}"
        );
        assert!(error.contains(&format!("leave {} of the", room + (64 << 10))), "{error}");
        // Caches larger than the memory.
        let tiny = with(&["device.capacity=4MiB", "log.buckets=1"]);
        let config = RunConfig { footprint: 64 << 10, ..run("bbe", tiny.clone(), 1) };
        assert_eq!(program_capacity(&tiny, &find("bbe"), 1), 0);
        assert!(validate(&config, &find("bbe")).unwrap_err().0.contains("leave 0 of the"));
    }
}

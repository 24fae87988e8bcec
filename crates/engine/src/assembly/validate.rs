//! What contradicts is refused here: a machine in itself, a run on it, a design and the machine, and last what the run needs
//! beside the design.

use super::{encryption, memory_map};
use crate::cache;
use crate::config::{self, ByteSize, Geometry, Machine, RunConfig};
use crate::kernel::ConfigError;
use crate::parts::Design;

/// Checks the run of `config`, its machine, and whether both have what `design` needs.
///
/// # Errors
/// One sentence about the first contradiction.
pub fn validate(config: &RunConfig, design: &Design) -> Result<(), ConfigError> {
    config::validate_run(config)?;
    suits(&config.machine, design)?;
    room_below_shadow(config, design)
}

/// [`validate`] for a machine that runs no program of its own.
///
/// # Errors
/// One sentence about the first contradiction.
pub fn validate_machine(machine: &Machine, design: &Design) -> Result<(), ConfigError> {
    config::validate(machine)?;
    suits(machine, design)
}

/// Whether `machine` has what `design` needs.
fn suits(machine: &Machine, design: &Design) -> Result<(), ConfigError> {
    cache::check(machine, design.cache_pads)
        .map_err(|what| ConfigError(format!("design '{}' on machine '{}': {what}", design.name, machine.name)))?;
    memory_map::battery(design, machine)?;
    encryption::check(machine, design)
}

fn room_below_shadow(config: &RunConfig, design: &Design) -> Result<(), ConfigError> {
    let RunConfig { machine, cores, footprint, .. } = config;
    let shadow = memory_map::shadow_bytes(machine, design, *cores);
    let capacity = memory_map::program_capacity(machine, design, *cores);
    let ring = machine.program.log_ring;
    if shadow == 0 || footprint.saturating_add(u64::from(*cores) * ring.0) <= capacity {
        return Ok(());
    }
    Err(ConfigError(format!(
        "footprint = {} and {cores} log rings of {ring} do not fit below the shadow cache of design '{}': its {} leave \
         {capacity} of the {} bytes that device.capacity = {} has for programs",
        ByteSize(*footprint),
        design.name,
        ByteSize(shadow),
        Geometry::of(machine).program_capacity(),
        machine.device.capacity
    )))
}

//! Assembles a design and a machine into a system that runs: all stages, or controller and device alone.
//!
//! ```text
//! parts of a design + machine -> encryption (pads, counters, log) -> LineSystem: controller and device
//!                             -> memory_map (what lies where)      -> System: every stage
//! ```

mod encryption;
mod figures;
pub(crate) mod host_memory;
mod line_system;
pub mod memory_map;
mod over_time;
mod system;
mod validate;
mod warm;

pub(crate) use encryption::{
    boot_codec, codec_of, data_unit, direct_key_bits, encryption_parts, line_cipher, update_ring,
};
pub(crate) use figures::Figures;
pub use line_system::LineSystem;
pub(crate) use line_system::controller;
pub use system::{Job, System};
pub use validate::{validate, validate_machine};

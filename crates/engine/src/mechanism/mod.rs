//! What the parts of designs do: counter schemes, pads, MACs, trees and drains. A mechanism holds no time and no queues; those
//! belong to the stages.

pub mod bonsai_tree;
mod counter_scheme;
pub mod counter_tree;
pub mod drain;
pub mod dual_counters;
mod first_blocks;
pub mod global_counters;
pub mod line_counters;
pub mod line_hash;
pub mod low_bits;
pub mod low_bits_blocks;
pub mod macs;
pub mod pads;
pub mod page_modes;
pub mod split_counters;
pub mod table_contents;
pub mod wide_counters;

//! What the parts of designs do: counter schemes, pads, MACs, trees and drains. A mechanism holds no time and no queues; those
//! belong to the stages.

pub mod bonsai_tree;
mod counters;
pub mod drain;
pub mod global_counters;
pub mod line_counters;
pub mod macs;
pub mod pads;
pub mod split_counters;

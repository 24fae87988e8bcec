//! What designs are made of: counters, write paths and drains. A mechanism holds no time and no queues; stages own those.

pub mod counters;
pub mod drain;
pub mod global_counters;
pub mod line_counters;
pub mod pads;
pub mod seeded;
pub mod write_path;

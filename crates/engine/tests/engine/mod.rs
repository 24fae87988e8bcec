//! All tests of the whole engine except the conformance of designs.

mod common;

mod attacks;
mod controller_calls;
mod controller_timing;
mod controller_values;
mod counter_atomic_timing;
mod counter_atomicity;
mod crash;
mod decisions;
mod design_files;
mod drain_cost;
mod durable_counters;
mod embed;
mod engine_build;
mod faulty_boots;
mod function_length;
mod hardware_log;
mod hardware_logged_programs;
mod integrity;
mod interruption;
mod layering;
mod legal;
mod log_crash;
mod logged_stores;
mod mutation;
mod nvmain;
mod page_log;
mod persistent_caches;
mod policies;
mod power;
mod session;
mod staged_pairs;
mod stages;
mod verdict;
mod work;

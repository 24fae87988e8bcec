//! The values of a machine that a design file can state in its table `[set]`: those that mean something only for its parts.

use super::draft::Draft;
use super::keys::Needs;
use crate::config::{check_value, shown_name};
use toml::Value;

/// What the path of such a value begins with in a design file and in a list of parts.
pub(super) const PREFIX: &str = "set.";

/// Each value, and the parts without which it has no effect.
pub(super) const MACHINE_VALUES: &[(&str, Needs)] = &[
    ("controller.counter_wpq_entries", Needs::CounterQueue),
    ("controller.counter_wpq_high_watermark", Needs::CounterQueue),
    ("controller.counter_wpq_low_watermark", Needs::CounterQueue),
    ("controller.counter_wpq_merging", Needs::CounterQueue),
    ("controller.counter_atomic_order", Needs::CounterQueue),
    ("controller.counter_write", Needs::WholeCounters),
    ("controller.reencryption_parallelism", Needs::Split),
    ("counters.block_lines", Needs::Split),
    ("counters.minor_bits", Needs::Split),
    ("counters.reencrypt_unwritten", Needs::Split),
    ("integrity.mac_bits", Needs::Integrity),
    ("integrity.mac_placement", Needs::Integrity),
    ("integrity.mac_latency_ns", Needs::Integrity),
    ("integrity.hash_latency_ns", Needs::Integrity),
    ("integrity.mac_units", Needs::Integrity),
    ("integrity.read_verification", Needs::Integrity),
    ("integrity.tree_arity", Needs::Tree),
    ("integrity.metadata_cache", Needs::Integrity),
    ("integrity.metadata_cache_size", Needs::Integrity),
    ("integrity.metadata_cache_ways", Needs::Integrity),
    ("integrity.persisted_levels", Needs::LowestLevels),
    ("integrity.forest_roots", Needs::Forest),
    ("integrity.stop_loss", Needs::StopLoss),
    ("integrity.low_bits", Needs::StaleBits),
    ("integrity.update_ring", Needs::Ring),
    ("integrity.update_lines", Needs::Ring),
    ("log.transactions", Needs::Log),
    ("log.buckets", Needs::Log),
    ("log.bucket_records", Needs::Log),
    ("log.pending_entries", Needs::Log),
    ("log.cfb_latency", Needs::LogChains),
    ("log.iv", Needs::LogChains),
    ("eadr.battery", Needs::Eadr),
    ("eadr.persist_buffer_entries", Needs::PersistBuffers),
    ("eadr.persist_buffer_watermark", Needs::PersistBuffers),
    ("eadr.cme_levels", Needs::AesAtAccess),
    ("eadr.xor_cycles", Needs::BootPads),
];

/// Sets the value at `path` of the machine, and returns what the design needs for it; the error is a sentence.
pub(super) fn set(draft: &mut Draft, path: &str, value: &Value) -> Result<Needs, String> {
    check_value(path, value)?;
    let Some((key, needs)) = MACHINE_VALUES.iter().find(|(key, _)| *key == path) else {
        let keys: Vec<&str> = MACHINE_VALUES.iter().map(|(key, _)| *key).collect();
        return Err(format!(
            "{} belongs to the machine alone; a design file can set {}",
            shown_name(path),
            keys.join(", ")
        ));
    };
    draft.machine_values.insert((*key).to_owned(), value.clone());
    Ok(*needs)
}

/// The values that `draft` states and that have an effect, with their paths in a list of parts.
pub(super) fn stated(draft: &Draft) -> impl Iterator<Item = (String, Value)> {
    let says =
        move |(key, needs): &&(&str, Needs)| draft.machine_values.contains_key(*key) && needs.missing(draft).is_none();
    MACHINE_VALUES
        .iter()
        .filter(says)
        .map(move |(key, _)| (format!("{PREFIX}{key}"), draft.machine_values[*key].clone()))
}

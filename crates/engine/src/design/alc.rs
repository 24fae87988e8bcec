//! Asynchronous log counters: as `hw-log`, but a log line's counter stays in the counter cache until it is evicted (easy-pm
//! section IV-A, second baseline). A power failure loses it and the log entry with it: not crash consistent.

use super::hw_log;
use crate::config::Variant;
use crate::mechanism::write_path::Deferred;
use crate::message::LogLayout;
use crate::parts::{Design, HardwareLog, LogChains, LogEncryption, LogOrder};

pub(super) const fn design(variant: Variant) -> Design {
    Design {
        name: "alc",
        summary: "hardware undo logging, log counters written on eviction only: not crash consistent",
        paper: "easy-pm, section IV-A",
        log: Some(HardwareLog {
            layout: LogLayout::Records,
            encryption: LogEncryption::Counter { write_path: &Deferred },
            order: LogOrder::LogFirst,
            chains: LogChains::Linked,
        }),
        ..hw_log::design(variant)
    }
}

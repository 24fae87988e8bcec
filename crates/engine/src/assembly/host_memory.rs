//! The host memory that a run needs beside its footprint, checked before any of it is allocated: the caches of a
//! machine may be gigabytes for each of 64 cores, and auditors remember every line that a recovery reads.
//!
//! The footprint itself is checked where it is populated, with the same [`HostMemory`].

use crate::audit;
use crate::cache;
use crate::config::{ByteSize, Machine, RunConfig};
use crate::controller;
use crate::kernel::{ConfigError, HostMemory};
use crate::message::LINE_BYTES;
use crate::parts::Design;

/// The purpose of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// A simulation.
    Simulate,
    /// A crash exploration: auditors observe the run and recover it after every crash.
    Crash,
}

/// Memory needs in bytes, each with the configuration value that causes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needs {
    parts: [(&'static str, u64); 4],
}

impl Needs {
    /// The needs of `config` on `design`.
    pub fn of(config: &RunConfig, design: &Design, purpose: Purpose) -> Self {
        let RunConfig { machine, cores, .. } = config;
        let caches = cache::host_bytes(machine, *cores, design.cache_pads);
        let rings = machine.program.log_ring.0.saturating_mul(u64::from(*cores));
        let watched = if purpose == Purpose::Crash { rings / LINE_BYTES * audit::BYTES_PER_LINE } else { 0 };
        let volatile = machine.program.volatile_bytes().saturating_mul(u64::from(*cores));
        let of_line = LINE_BYTES + if purpose == Purpose::Crash { audit::BYTES_PER_LINE } else { 0 };
        let volatile = (volatile / LINE_BYTES).saturating_mul(of_line);
        Self::new(caches, counter_cache(machine, design, *cores), watched, volatile)
    }

    /// The needs of the controller and device of `machine` alone.
    pub fn of_lines(machine: &Machine, design: &Design) -> Self {
        Self::new(0, counter_cache(machine, design, 1), 0, 0)
    }

    fn new(caches: u64, counter_cache: u64, watched: u64, volatile: u64) -> Self {
        Self {
            parts: [
                ("the caches (l1.size, l2.size and l3.size)", caches),
                ("the counter cache (controller.counter_cache_size)", counter_cache),
                ("what the auditors remember of the log rings (program.log_ring)", watched),
                ("the volatile data of the computation (program.think_footprint)", volatile),
            ],
        }
    }

    /// The sum of all needs, in bytes.
    pub fn total(&self) -> u64 {
        self.parts.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }
}

fn counter_cache(machine: &Machine, design: &Design, cores: u16) -> u64 {
    design.encryption.map_or(0, |encryption| controller::counter_cache_host_bytes(machine, encryption.store, cores))
}

/// Refuses runs that together need more memory than is available, if `at_once` of them may run at the same time.
pub fn check(runs: impl Iterator<Item = Needs>, at_once: usize) -> Result<(), ConfigError> {
    refuse(runs, at_once, HostMemory::ask().available)
}

fn refuse(runs: impl Iterator<Item = Needs>, at_once: usize, available: Option<u64>) -> Result<(), ConfigError> {
    let mut runs: Vec<Needs> = runs.collect();
    runs.sort_by_key(|needs| std::cmp::Reverse(needs.total()));
    runs.truncate(at_once.max(1));
    let needed = runs.iter().fold(0, |sum: u64, needs| sum.saturating_add(needs.total()));
    let Some(available) = available.filter(|&available| needed > available) else { return Ok(()) };
    let most = runs[0].parts.iter().max_by_key(|(_, bytes)| *bytes).expect("there are parts");
    let together = match runs.len() {
        1 => String::new(),
        runs => format!(" in {runs} runs at a time"),
    };
    Err(ConfigError(format!(
        "the machine does not fit in this computer's memory: it needs {}{together}, most of it for {}, and {} are \
         available",
        ByteSize(needed),
        most.0,
        ByteSize(available)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Variant, load_machine};
    use crate::design;

    fn needs(name: &str, cores: u16, purpose: Purpose, set: &[&str]) -> Needs {
        let design = design::find(name, Variant::Hardened).unwrap();
        let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
        let machine = load_machine(&design.machine, &set).unwrap();
        let config = RunConfig {
            tx_size: 64,
            transactions: 1,
            cores,
            footprint: 1 << 20,
            ..RunConfig::new(name, "array", machine)
        };
        Needs::of(&config, &design, purpose)
    }

    #[test]
    fn caches_of_a_gibibyte_for_each_of_64_cores_are_refused_before_they_are_made() {
        let needs = needs("secpm", 64, Purpose::Simulate, &["l1.size=1GiB"]);
        assert!(needs.total() > 64 << 30, "{needs:?}");
        let error = refuse([needs].into_iter(), 1, Some(24 << 30)).unwrap_err().0;
        assert!(
            error.contains("most of it for the caches (l1.size") && error.contains("24GiB are available"),
            "{error}"
        );
        assert!(refuse([needs].into_iter(), 1, Some(needs.total())).is_ok());
        assert!(refuse([needs].into_iter(), 1, None).is_ok());
    }

    #[test]
    fn counter_cache_of_eight_byte_entries_takes_more_than_its_size() {
        let set = ["controller.counter_cache_size=1GiB"];
        let [blocks, words, none] =
            ["secpm", "co-located-cc", "unencrypted"].map(|name| needs(name, 1, Purpose::Simulate, &set).total());
        assert!(blocks > none + (1 << 30) && words > none + (8 << 30), "{blocks} {words} {none}");
    }

    #[test]
    fn auditors_take_ten_times_the_ring_and_a_plain_run_nothing() {
        let of = |purpose, ring: &str| needs("secpm", 2, purpose, &[&format!("program.log_ring={ring}")]).total();
        let (small, large) = ("64KiB", "1GiB");
        assert_eq!(of(Purpose::Simulate, small), of(Purpose::Simulate, large));
        assert!(of(Purpose::Crash, large) - of(Purpose::Crash, small) > 10 << 30);
    }

    #[test]
    fn volatile_data_takes_its_size_and_more_if_it_is_watched() {
        let of = |purpose, loads: u32| {
            let set = ["program.think_footprint=1GiB".to_owned(), format!("program.think_load_percent={loads}")];
            needs("secpm", 2, purpose, &[&set[0], &set[1]]).total()
        };
        let more = [Purpose::Simulate, Purpose::Crash].map(|purpose| of(purpose, 1) - of(purpose, 0));
        assert_eq!(more[0], 2 << 30);
        assert!(more[1] > 10 << 30);
    }

    #[test]
    fn only_as_many_runs_count_as_take_place_at_once() {
        let needs = needs("secpm", 1, Purpose::Simulate, &["l3.size=1GiB"]);
        let room = Some(2 * needs.total());
        assert!(refuse([needs; 8].into_iter(), 2, room).is_ok());
        let error = refuse([needs; 8].into_iter(), 3, room).unwrap_err().0;
        assert!(error.contains("in 3 runs at a time"), "{error}");
    }
}

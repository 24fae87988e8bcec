//! A design on the machine of small programs, as proofs and comparisons run it.

use super::named::seeded_fault;
use super::request::{CRASH, Common, Crash, Omitted, Setting};
use crate::config::RunConfig;
use crate::kernel::{ConfigError, workers};
use crate::parts::Design;
use crate::prove::{Case, Timing};

/// Most operations of a program if the request does not state them.
pub(super) const OPERATIONS: u64 = 3;
/// Most lines of a program if the request does not state them.
pub(super) const LINES: u64 = 2;
/// The machine if the request does not state one: one that a few operations fill.
const MACHINE: &str = "small";

/// A design, without a program.
#[derive(Clone, Copy)]
pub(super) struct Small<'a> {
    pub design: &'a str,
    pub setting: &'a Setting,
    pub seed: Option<u64>,
    /// Number of cores that run a program together; default one.
    pub cores: Option<u64>,
    /// The name of the mechanism that is switched off.
    pub fault: Option<&'a str>,
}

impl Small<'_> {
    /// The request of a crash run on the machine that `sets` changes.
    pub fn crash(&self, sets: &[String]) -> Crash {
        let Setting { variant, machine, set } = self.setting;
        let set = set.iter().cloned().chain(sets.iter().cloned()).collect();
        let machine = Some(machine.clone().unwrap_or_else(|| MACHINE.to_owned()));
        let mut crash = Crash {
            common: Common {
                design: self.design.to_owned(),
                setting: Setting { variant: Some(variant.unwrap_or_default()), machine, set },
                seed: self.seed,
                cores: self.cores,
                ..Common::default()
            },
            ..Crash::default()
        };
        crash.broken.fault = self.fault.map(str::to_owned);
        crash
    }

    /// The run, without a program, on the machine that `sets` changes.
    pub fn resolve(&self, sets: &[String]) -> Result<(RunConfig, Design), ConfigError> {
        let fault = seeded_fault(self.fault)?;
        self.crash(sets).common.resolve(&CRASH, &Omitted::default(), fault)
    }

    /// The run under `timing`, on the machine that `sets` changes.
    pub fn case(&self, timing: Timing, sets: &[String]) -> Result<Case, ConfigError> {
        let (config, design) = self.resolve(sets)?;
        Ok(Case { timing, config, design })
    }
}

/// How many programs are judged at a time, if so many are asked for.
pub(super) fn threads(asked: Option<u64>) -> usize {
    workers::workers(asked.map_or(0, |workers| usize::try_from(workers).unwrap_or(usize::MAX)))
}

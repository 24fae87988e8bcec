//! What useless operations cost on a design: the program is replayed with and without them.
//!
//! A useless flush keeps circuits and queues busy and may be what a fence waits for; or it is hidden behind another one
//! and costs nothing. Only the whole time of a replay without it says which.

use super::kind::Kind;
use super::report::{Cost, Finding};
use crate::config::RunConfig;
use crate::kernel::{Failure, workers};
use crate::message::ProgramForm;
use crate::parts::Design;
use crate::run::{Bases, Source, simulate};
use crate::trace::{Omitted, Trace};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A recorded program on a design.
pub struct CostCase<'a> {
    pub config: &'a RunConfig,
    pub design: &'a Design,
    pub trace: &'a Trace,
    pub form: ProgramForm,
    /// How many findings are replayed apart.
    pub most: usize,
}

/// What a replay leaves out.
enum Left {
    Nothing,
    Everything,
    /// The operations of a finding.
    Finding(usize),
}

impl CostCase<'_> {
    /// Number of replays that [`CostCase::measure`] takes.
    pub fn replays(&self, findings: &[Finding]) -> u64 {
        self.plan(findings).len() as u64
    }

    fn plan(&self, findings: &[Finding]) -> Vec<Left> {
        let useless = (0..findings.len()).filter(|&index| !findings[index].numbers.is_empty());
        let each: Vec<Left> = useless.take(self.most).map(Left::Finding).collect();
        let all = if each.is_empty() { vec![Left::Nothing] } else { vec![Left::Nothing, Left::Everything] };
        all.into_iter().chain(each).collect()
    }

    /// Measures the cost of all findings, and sets that of the most frequent ones. `progress` is called with shares of
    /// a replay, in thousandths, since the last call.
    ///
    /// # Errors
    /// The trace cannot be read any more, or the user interrupted.
    pub fn measure(
        &self,
        findings: &mut [Finding],
        progress: &(dyn Fn(u64) + Sync),
        cancel: &AtomicBool,
    ) -> Result<Cost, Failure> {
        let plan = self.plan(findings);
        let threads = workers::workers(0).min(plan.len());
        let found: &[Finding] = findings;
        let run = |left: &Left| self.replay(&omitted(left, found), progress, cancel);
        let times = workers::in_pool(threads, || workers::map(threads > 1, &plan, run))?;
        let times: Vec<f64> = times.into_iter().collect::<Result<_, Failure>>()?;
        let whole = times[0];
        let mut all_ns = 0.0;
        for (left, time) in plan.iter().zip(&times) {
            match *left {
                Left::Nothing => {}
                Left::Everything => all_ns = whole - time,
                Left::Finding(index) => findings[index].cost_ns = Some(whole - time),
            }
        }
        let RunConfig { variant, machine, seed, .. } = self.config;
        Ok(Cost {
            design: self.design.name.clone(),
            variant: variant.name().to_owned(),
            machine: machine.name.clone(),
            seed: *seed,
            simulated_ns: whole,
            all_ns,
        })
    }

    /// The time of the program without some operations, in ns.
    fn replay(&self, omitted: &Omitted, progress: &(dyn Fn(u64) + Sync), cancel: &AtomicBool) -> Result<f64, Failure> {
        let source = Source::Trace(Box::new(self.trace.without(omitted.clone())), self.form);
        let total = self.trace.summary().transactions.max(1);
        let (ended, told) = (AtomicU64::new(0), AtomicU64::new(0));
        let tell = |more: u64| {
            let now = (ended.fetch_add(more, Ordering::Relaxed) + more) * 1000 / total;
            progress(now.saturating_sub(told.fetch_max(now, Ordering::Relaxed)));
        };
        let report = simulate(self.config, self.design, &source, &Bases::default(), &tell, cancel)?;
        progress(1000u64.saturating_sub(told.load(Ordering::Relaxed)));
        Ok(report.stats.simulated_ns)
    }
}

fn omitted(left: &Left, findings: &[Finding]) -> Omitted {
    let chosen: &[Finding] = match left {
        Left::Nothing => &[],
        Left::Everything => findings,
        Left::Finding(index) => std::slice::from_ref(&findings[*index]),
    };
    let numbers = |fences: bool| -> Vec<u64> {
        let of_kind = chosen.iter().filter(|finding| (finding.kind == Kind::IdleFence) == fences);
        of_kind.flat_map(|finding| finding.numbers.iter().copied()).collect()
    };
    Omitted::new(&numbers(false), &numbers(true))
}

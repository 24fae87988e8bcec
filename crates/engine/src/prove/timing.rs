//! The timings under which each program is run. They are not all orders of completions that are legal: a verdict is about
//! these.

use crate::config::{CounterOrganisation, Machine};
use crate::kernel::ConfigError;
use crate::parts::{CounterKind, CounterPart, Design, MinorUnit};
use crate::workload::litmus::{Litmus, Step, StepKind};

/// One timing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Its name.
    pub name: &'static str,
    /// What is different in it.
    pub meaning: &'static str,
    /// What of the machine is changed.
    sets: &'static [&'static str],
    /// Entries of the write pending queue, unless accepted writes need more, and how many of them make it drain; `None`: those of
    /// the machine.
    queue: Option<u32>,
    /// Whether minor counters have as few bits as the design allows.
    small_counters: bool,
    /// Whether each operation waits until nothing of those before it is in flight.
    apart: bool,
}

/// All timings, in the order in which they are tried.
pub(super) const TIMINGS: [Timing; 5] = [
    Timing {
        name: "machine",
        meaning: "operations follow each other at once, on the machine as it is",
        sets: &[],
        queue: None,
        small_counters: false,
        apart: false,
    },
    Timing {
        name: "apart",
        meaning: "each operation begins when nothing of those before it is in flight",
        sets: &[],
        queue: None,
        small_counters: false,
        apart: true,
    },
    Timing {
        name: "slow-encryption",
        meaning: "one AES circuit of a microsecond: what needs no pad overtakes what waits for one",
        sets: &["controller.aes_units=1", "controller.aes_latency_ns=1000"],
        queue: None,
        small_counters: false,
        apart: false,
    },
    Timing {
        name: "slow-writes",
        meaning: "banks program a line for five microseconds: the queue fills, and what is queued stays there",
        sets: &["device.t_wr_ns=5000"],
        queue: Some(2),
        small_counters: false,
        apart: false,
    },
    Timing {
        name: "small-counters",
        meaning: "minor counters of one bit, or of as few as the design allows: every other write of a line re-encrypts its page (without MACs, only lines that were written)",
        sets: &["counters.reencrypt_unwritten=false"],
        queue: None,
        small_counters: true,
        apart: false,
    },
];

/// Whether lines of a page share a major counter.
fn has_minors(design: &Design, machine: &Machine) -> bool {
    let of_machine = machine.counters.organisation == CounterOrganisation::Split;
    design.encryption.as_ref().is_some_and(|encryption| match encryption.counters {
        CounterPart::Kind(CounterKind::Split) => true,
        CounterPart::Kind(CounterKind::OfMachine | CounterKind::OwnOfMachine) => of_machine,
        CounterPart::Kind(_) | CounterPart::Custom(_) => false,
    })
}

impl Timing {
    /// The timings called `names`; none: all.
    ///
    /// # Errors
    /// One sentence about a name that is none.
    pub fn named(names: &[String]) -> Result<Vec<Timing>, ConfigError> {
        let known = TIMINGS.map(|timing| timing.name);
        let find = |name: &String| {
            let found = TIMINGS.iter().find(|timing| timing.name == name);
            found.copied().ok_or_else(|| crate::config::unknown_name("timings", name, &known))
        };
        let named = names.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        Ok(TIMINGS.into_iter().filter(|timing| names.is_empty() || named.contains(timing)).collect())
    }

    /// What of the machine is changed for `design`: a queue is at least as long as its accepted writes need.
    pub fn sets(&self, design: &Design) -> Vec<String> {
        let minors = self.small_counters.then(|| format!("counters.minor_bits={}", design.least_minor_bits()));
        let mut sets: Vec<String> = minors.into_iter().chain(self.sets.iter().map(|set| (*set).to_owned())).collect();
        if let Some(entries) = self.queue {
            let least = design.minor_unit().map_or(0, MinorUnit::least_queue);
            sets.push(format!("controller.wpq_entries={}", entries.max(least)));
            sets.push(format!("controller.wpq_high_watermark={entries}"));
        }
        sets
    }

    /// Why the timing makes no difference for `design` on `machine`, if it makes none.
    pub fn void(&self, design: &Design, machine: &Machine) -> Option<&'static str> {
        match self.name {
            "small-counters" if !has_minors(design, machine) => Some("the design has no minor counters"),
            "slow-encryption" if !design.encrypts() => Some("the design does not encrypt"),
            _ => None,
        }
    }

    /// Whether each operation waits for those before it, of whatever core.
    pub(super) fn apart(&self) -> bool {
        self.apart
    }

    /// The number of an operation of a program, from 1, if it is number `number` of the program under this timing; 0 stays 0.
    pub(super) fn operation(&self, number: usize) -> usize {
        if self.apart { number.div_ceil(2) } else { number }
    }

    /// What `program` is under this timing: of several cores, whose operations wait for each other here, once for each order in
    /// which the operations of one core can follow those of another.
    pub fn programs(&self, program: &Litmus) -> Vec<Litmus> {
        if !self.apart {
            return vec![program.clone()];
        }
        let lengths: Vec<usize> = program.cores.iter().map(Vec::len).collect();
        orders(&lengths).iter().map(|order| in_order(program, order)).collect()
    }

    /// What `program`, of one core, is under this timing.
    pub(super) fn program(&self, program: &Litmus) -> Litmus {
        debug_assert_eq!(program.cores.len(), 1, "the operations of several cores follow each other in many orders");
        self.programs(program).swap_remove(0)
    }
}

/// All orders of the operations of cores that have so many: for each operation the core that it is of.
fn orders(left: &[usize]) -> Vec<Vec<usize>> {
    if left.iter().all(|count| *count == 0) {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for core in (0..left.len()).filter(|core| left[*core] > 0) {
        let mut rest = left.to_vec();
        rest[core] -= 1;
        all.extend(orders(&rest).into_iter().map(|after| [&[core][..], &after].concat()));
    }
    all
}

/// The program whose operations follow each other in `order`: each core waits while others have their turn.
fn in_order(program: &Litmus, order: &[usize]) -> Litmus {
    let wait = Step { kind: StepKind::Wait, line: 0 };
    let mut cores = vec![Vec::new(); program.cores.len()];
    // By core: its next operation, and the turn after which nothing of it is left to wait for.
    let mut at = vec![(0, 0); program.cores.len()];
    for (turn, core) in order.iter().copied().enumerate() {
        let (next, waited) = at[core];
        cores[core].extend(std::iter::repeat_n(wait, turn - waited));
        cores[core].push(program.cores[core][next]);
        at[core] = (next + 1, turn);
    }
    Litmus { cores }
}

//! From a configuration to something that runs: the workload's programs over a populated base, or a trace.

use super::Session;
use crate::assembly::Job;
use crate::config::{CORES_MAX, Geometry, RunConfig, nearest};
use crate::kernel::{ConfigError, Failure};
use crate::message::{BaseImage, CoreId, OpSource, ProgramForm, ProgramLayout, ProgramRecovery};
use crate::trace::{Omitted, Sites, Trace, TraceSummary};
use crate::workload::litmus::{Evicting, Litmus, LitmusBase};
use crate::workload::{self, Base, BaseKey, Plan, Probe, Program, Recovery, WorkloadConfig};
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// The workload of a run, before any stage exists.
pub enum Source {
    /// A built-in workload.
    Workload(Box<Plan>),
    /// A probe, which keeps nothing.
    Probe(Box<Probe>),
    /// A recorded program, and the form in which it is replayed.
    Trace(Box<Trace>, ProgramForm),
    /// A program that is written out, its form, and how its lines are evicted.
    Litmus(Litmus, ProgramForm, Evicting),
}

/// Whose annotations a recorded program has, in the form in which it is replayed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Annotated {
    /// Nobody's: the form has no annotations.
    Not,
    /// Its own.
    ByItself,
    /// It has none that the form could use: each fence is taken to have the counters written back of what was flushed
    /// before it.
    ByAssumption,
}

impl Source {
    /// Finds the workload or opens the trace that `config` names, to be run in `form`; `data_capacity` is the bytes
    /// that the device has for data. Once `cancel` is set, a trace cannot be read further.
    pub fn open(
        config: &RunConfig,
        form: ProgramForm,
        data_capacity: u64,
        cancel: &Arc<AtomicBool>,
    ) -> Result<Self, ConfigError> {
        if let Some(info) = workload::find(&config.workload) {
            let plan = workload::plan(
                &WorkloadConfig {
                    kind: info.kind,
                    tx_size: config.tx_size,
                    footprint: config.footprint,
                    cores: config.cores,
                    seed: config.seed,
                    operations_per_core: config.warmup + config.transactions,
                    program: config.machine.program.clone(),
                    banks: Geometry::bank_regions(&config.machine),
                    form,
                    leave_out: config.leave_out,
                },
                data_capacity,
            )?;
            return Ok(Source::Workload(Box::new(plan)));
        }
        if let Some(written) = Self::probe_or_litmus(config, form, data_capacity)? {
            return Ok(written);
        }
        let path = Path::new(&config.workload);
        // What is there but is no regular file is refused as a trace.
        if path.exists() {
            if let Some(omission) = config.leave_out {
                return Err(ConfigError(format!(
                    "leave_out {}: trace {} is a recorded program, which can leave nothing out",
                    omission.name(),
                    path.display()
                )));
            }
            let trace = Trace::open(path, config.allow_truncated, cancel)?;
            let trace = if config.serial || trace.cores() > u64::from(CORES_MAX) { trace.in_order() } else { trace };
            let source = Source::Trace(Box::new(trace), form);
            source.fits(config, data_capacity)?;
            return Ok(source);
        }
        let probes = workload::PROBES.iter().map(|probe| probe.name);
        let names: Vec<&str> = workload::WORKLOADS.iter().map(|workload| workload.name).chain(probes).collect();
        Err(ConfigError(format!(
            "workload '{}' does not exist and is not a trace file{} (known: {})",
            config.workload,
            nearest(&config.workload, names.iter().copied())
                .map_or(String::new(), |name| format!(": did you mean '{name}'?")),
            names.join(", ")
        )))
    }

    /// `config` with as many cores as a program has that it writes out.
    ///
    /// # Errors
    /// It asks for other ones.
    pub fn on_its_cores(config: RunConfig) -> Result<RunConfig, ConfigError> {
        let Some(program) = Litmus::parse(&config.workload)? else { return Ok(config) };
        let cores = program.cores.len() as u16;
        match config.cores {
            asked if asked != 1 && asked != cores => Err(ConfigError(format!(
                "cores: {asked} cores cannot run a program that is written out for {cores}; '||' stands between the programs of \
                 two cores"
            ))),
            _ => Ok(RunConfig { cores, ..config }),
        }
    }

    /// Refuses a recorded program whose files do not fit into the bytes that the device has for data.
    pub fn fits(&self, config: &RunConfig, data_capacity: u64) -> Result<(), ConfigError> {
        match self {
            Source::Trace(trace, _) if trace.end() > data_capacity => Err(ConfigError(format!(
                "trace {}: its files and other memory take {} bytes and device.capacity leaves {data_capacity} bytes for data",
                config.workload,
                trace.end()
            ))),
            _ => Ok(()),
        }
    }

    /// The workload on cores of `config`, and `config` with the cores that a recorded program has: one for each thread, as many
    /// times as there are instances of it.
    ///
    /// # Errors
    /// It asks for cores that no number of instances has.
    pub fn on_cores_of_threads(self, config: RunConfig) -> Result<(Self, RunConfig), ConfigError> {
        let Source::Trace(trace, form) = self else { return Ok((self, config)) };
        let of_one = trace.cores_of_one() as u16;
        if config.cores != 1 && !config.cores.is_multiple_of(of_one) {
            return Err(ConfigError(format!(
                "cores: {} is no multiple of {of_one}, the threads of the recorded program",
                config.cores
            )));
        }
        let trace = trace.of_instances((config.cores / of_one).max(1));
        let cores = trace.cores() as u16;
        Ok((Source::Trace(Box::new(trace), form), RunConfig { cores, ..config }))
    }

    /// Refuses several instances of a recorded program where only one is looked at.
    pub fn of_one_instance(&self, what: &str) -> Result<(), ConfigError> {
        match self {
            Source::Trace(trace, _) if trace.instances() > 1 => Err(ConfigError(format!(
                "{what}: one instance of a recorded program is explored, and cores = {} are of {}",
                trace.cores(),
                trace.instances()
            ))),
            _ => Ok(()),
        }
    }

    /// From now on, a recorded program leaves out what it does to memory that is not persistent: nobody needs it after a
    /// power failure.
    pub fn leave_out_others(&mut self) {
        if let Source::Trace(trace, _) = self {
            trace.leave_out_others();
        }
    }

    /// Whether the workload is a trace.
    pub fn is_trace(&self) -> bool {
        matches!(self, Source::Trace(..))
    }

    /// The probe that `config` names, or the program that it writes out, if it does either.
    fn probe_or_litmus(config: &RunConfig, form: ProgramForm, data_capacity: u64) -> Result<Option<Self>, ConfigError> {
        let nothing_left_out = |what: &str| match config.leave_out {
            Some(omission) => {
                Err(ConfigError(format!("leave_out {}: {what} has nothing to leave out", omission.name())))
            }
            None => Ok(()),
        };
        if let Some(info) = workload::find_probe(&config.workload) {
            nothing_left_out(&format!("the probe '{}'", info.name))?;
            let sizes = [config.tx_size, config.footprint, data_capacity];
            let operations = config.warmup + config.transactions;
            let probe = Probe::new(info, sizes, config.cores, operations, config.seed, form)?;
            return Ok(Some(Source::Probe(Box::new(probe))));
        }
        let Some(program) = Litmus::parse(&config.workload)? else { return Ok(None) };
        nothing_left_out("a program that is written out")?;
        if program.cores.len() > 1 && form == ProgramForm::HardwareLogged {
            return Err(ConfigError(format!("program '{program}': {}", Litmus::LOGGED_ALONE)));
        }
        Ok(Some(Source::Litmus(program, form, Evicting::of(&config.machine))))
    }

    /// Whether the workload is a built-in one, whose parameters a run states.
    pub fn is_workload(&self) -> bool {
        matches!(self, Source::Workload(_) | Source::Probe(_))
    }

    /// Whose annotations a recorded program has; a workload is written with those of its form.
    pub fn annotated(&self) -> Annotated {
        match self {
            Source::Trace(_, ProgramForm::HardwareLogged) => Annotated::ByAssumption,
            Source::Trace(trace, ProgramForm::Annotated) if trace.summary().annotations == 0 => Annotated::ByAssumption,
            Source::Trace(_, ProgramForm::Annotated) => Annotated::ByItself,
            Source::Trace(_, ProgramForm::Plain | ProgramForm::FlushFree)
            | Source::Workload(_)
            | Source::Litmus(..)
            | Source::Probe(_) => Annotated::Not,
        }
    }

    /// What is assumed of a recorded program that the recording does not say, in sentences.
    pub fn assumed(&self) -> Option<String> {
        let Source::Trace(trace, form) = self else { return None };
        let of_form = match form {
            _ if self.annotated() == Annotated::ByItself => None,
            ProgramForm::HardwareLogged => Some(
                "A recorded program keeps its own log, so hardware logs nothing; before each fence the counters of what \
                 was flushed since the last one are written back.",
            ),
            ProgramForm::Annotated => Some(
                "The recorded program has no annotations, so before each fence the counters of what was flushed since the \
                 last one are written back, and no variable is CounterAtomic.",
            ),
            ProgramForm::FlushFree => Some(
                "The recorded program's flushes are left out, because its caches are in the persistence domain; its fences \
                 stay, and its non-temporal stores, which lie in write-combining buffers outside that domain until a fence.",
            ),
            ProgramForm::Plain => None,
        };
        let of_others = trace.leaves_out_others().then(|| {
            "Its accesses of memory that is not persistent are left out; instructions that access nothing stand for them."
                .to_owned()
        });
        let threads = trace.summary().threads;
        let of_threads = (threads > 1).then(|| match trace.cores_of_one() {
            1 => format!("Its {threads} threads are taken in the one order that was recorded, as if on one core."),
            _ => format!(
                "Its {threads} threads run on a core each; where one was recorded to follow another, it waits for it, which \
                 costs nothing by itself.",
            ),
        });
        let of_instances = (trace.instances() > 1).then(|| {
            format!("{} instances of the program run at the same time, each on files of its own.", trace.instances())
        });
        let all: Vec<String> =
            [of_form.map(str::to_owned), of_others, of_threads, of_instances].into_iter().flatten().collect();
        (!all.is_empty()).then(|| all.join(" "))
    }

    /// What a recording lacks of what its program did, in sentences; nothing for a workload.
    pub fn lacks(&self) -> &[String] {
        self.trace_summary().map_or(&[], |summary| &summary.lacks)
    }

    /// From now on, programs leave out the annotations with these numbers.
    ///
    /// # Errors
    /// The workload is not a recorded program, or has no annotation of such a number.
    pub fn omit_annotations(&mut self, numbers: &[u64]) -> Result<(), ConfigError> {
        let Some(most) = numbers.iter().max() else { return Ok(()) };
        let Source::Trace(trace, _) = self else {
            return Err(ConfigError(
                "omit_annotations: only the annotations of a recorded program have numbers".to_owned(),
            ));
        };
        match trace.summary().annotations {
            0 => Err(ConfigError("omit_annotations: the recorded program has no annotations".to_owned())),
            count if *most >= count => {
                Err(ConfigError(format!("omit_annotations: {most} is not from 0 to {}", count - 1)))
            }
            _ => {
                **trace = trace.without(Omitted::annotations(numbers));
                Ok(())
            }
        }
    }

    /// From now on, programs report where in the recorded program their operations come from.
    ///
    /// # Errors
    /// The workload is not a recorded program, or its format does not have this information.
    pub fn watch_sites(&mut self) -> Result<(), ConfigError> {
        match self {
            Source::Trace(trace, _) => trace.watch_sites(),
            Source::Workload(_) | Source::Litmus(..) | Source::Probe(_) => {
                Err(ConfigError("by_line: only a recorded program has source lines".to_owned()))
            }
        }
    }

    /// Whether they do.
    pub fn watches_sites(&self) -> bool {
        matches!(self, Source::Trace(trace, _) if trace.watches_sites())
    }

    /// The places that operations came from, after a run.
    pub fn sites(&self) -> Option<&Sites> {
        match self {
            Source::Trace(trace, _) => trace.sites(),
            Source::Workload(_) | Source::Litmus(..) | Source::Probe(_) => None,
        }
    }

    /// The program's own recovery after a crash; `None` for a trace and for a probe.
    pub fn recovery(&self) -> Option<Arc<dyn ProgramRecovery>> {
        match self {
            Source::Workload(plan) => Some(Arc::new(Recovery::new(plan))),
            Source::Litmus(_, form, _) => Litmus::recovery(*form),
            Source::Trace(..) | Source::Probe(_) => None,
        }
    }

    /// The error of a trace after its run, if any: the file changed, or could not be read to its end.
    pub fn verdict(&self) -> Result<(), ConfigError> {
        match self {
            Source::Trace(trace, _) => trace.failure().cloned().map_or(Ok(()), Err),
            Source::Workload(_) | Source::Litmus(..) | Source::Probe(_) => Ok(()),
        }
    }

    /// Number of transactions of a trace.
    pub fn trace_transactions(&self) -> Option<u64> {
        match self {
            Source::Trace(trace, _) => Some(trace.transactions()),
            _ => None,
        }
    }

    /// What is in a trace.
    pub fn trace_summary(&self) -> Option<&TraceSummary> {
        match self {
            Source::Workload(_) | Source::Litmus(..) | Source::Probe(_) => None,
            Source::Trace(trace, _) => Some(trace.summary()),
        }
    }

    /// The programs on their memory. Bases come from `bases`, which other runs may have filled. Once `cancel` is set,
    /// there is nothing to begin.
    pub fn job(&self, bases: &Bases, cancel: &AtomicBool) -> Result<Job, Failure> {
        if cancel.load(Ordering::Relaxed) {
            return Err(Failure::Cancelled);
        }
        match self {
            Source::Workload(plan) => {
                let base = bases.get(plan)?;
                let cores = 0..plan.layouts().len() as CoreId;
                let programs = cores.map(|core| Box::new(Program::new(plan, base.clone(), core)) as Box<dyn OpSource>);
                Ok(Job {
                    programs: programs.collect(),
                    layouts: plan.layouts().to_vec(),
                    base: base as Arc<dyn BaseImage>,
                })
            }
            Source::Probe(probe) => Ok(Job {
                base: probe.base(),
                programs: probe.programs().collect(),
                layouts: Vec::<ProgramLayout>::new(),
            }),
            Source::Litmus(program, form, evicting) => Ok(Job {
                base: Arc::new(LitmusBase::default()),
                programs: program
                    .sources(*form, evicting)
                    .into_iter()
                    .map(|of_core| Box::new(of_core) as Box<dyn OpSource>)
                    .collect(),
                layouts: vec![Litmus::layout()],
            }),
            Source::Trace(trace, form) => Ok(Job {
                base: trace.base_of_all(),
                programs: trace
                    .programs(*form)?
                    .into_iter()
                    .map(|of_core| Box::new(of_core) as Box<dyn OpSource>)
                    .collect(),
                layouts: Vec::<ProgramLayout>::new(),
            }),
        }
    }
}

type Populated = Arc<OnceLock<Result<Arc<Base>, ConfigError>>>;

/// Populated bases of one call. They are shared between its runs and dropped after the last run that needs them, unless
/// a session keeps them.
#[derive(Default)]
pub struct Bases<'a> {
    by_key: Mutex<HashMap<BaseKey, Populated>>,
    session: Option<&'a Session>,
}

impl<'a> Bases<'a> {
    /// Bases of which `session` keeps some; new ones are added to it.
    pub(crate) fn kept_by(session: Option<&'a Session>) -> Self {
        Self { session, ..Self::default() }
    }

    fn get(&self, plan: &Plan) -> Result<Arc<Base>, Failure> {
        let cell = {
            let mut bases = self.by_key.lock().expect("no run panics while it holds the lock");
            bases.entry(plan.base_key().clone()).or_default().clone()
        };
        let base = cell.get_or_init(|| match self.session {
            Some(session) => session.base(plan),
            None => Ok(Arc::new(plan.populate()?)),
        });
        Ok(base.clone()?)
    }

    /// Drops a base that no later run of the call needs.
    pub fn forget(&self, key: &BaseKey) {
        self.by_key.lock().expect("no run panics while it holds the lock").remove(key);
    }
}

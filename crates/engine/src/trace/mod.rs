//! Real programs as workloads: the recording of a run becomes a program.
//!
//! ```text
//! file, plain or compressed -> input -> detect -> a recording (one of the formats) -> program (operations)
//!   recorded/   our own recorder's stream: everything that the program did to persistent memory
//!   pmemcheck/  the store log of a Valgrind tool: stores, flushes and fences; with stacks, places of stores
//!   champsim    instructions with the addresses of their operands
//!   lines/      memory lines without a program, which drive the controller alone
//! ```
//!
//! Several threads are one program, in the one order that was recorded, or a program each (`threads`), if the recording says
//! where one follows another.
//!
//! A recording is read twice: when it is opened, which checks every record, sizes the files and counts; and by each
//! program made from it. Neither pass holds more than one record, so a recording may be larger than memory; only the
//! initial contents of files are kept, and which lines of other memory there are.
//!
//! Memory that is not persistent (`other_memory`) is recorded without its contents, for the time that its accesses take.
//!
//! Checks of a program, which need its threads and addresses as well, read it once, step by step (`steps`). They can name
//! operations that a program made of the recording leaves out (`omitted`). Which stores are durable then, `pending` says. A locked instruction that fences by chance, in the
//! C library or after everything else, is no fence of the program there.
//!
//! What a recording lacks of what its program did (`lacks`) is part of its summary.
//!
//! In the annotated form the program's own annotations are kept (`annotated`), or, if it has none, the counters of what it
//! flushes are written back (`counter_writebacks`); in the flush-free form it does not flush.

mod annotated;
mod champsim;
#[cfg_attr(not(feature = "host"), path = "compressed_without_host.rs")]
mod compressed;
mod counter_writebacks;
mod detect;
mod image;
mod input;
mod lacks;
pub mod lines;
mod mapped_files;
mod marks;
mod omitted;
mod other_memory;
mod packing;
pub mod pending;
mod pmemcheck;
mod program;
mod ranges;
pub mod recorded;
mod recording;
mod sites;
mod steps;
mod summary;
mod threads;
mod told;

#[cfg(test)]
mod tests;

use crate::kernel::ConfigError;
use crate::message::{BaseImage, CoreId, OpBuffer, OpSource, ProgramForm};
use image::InstancesBase;
use image::Pages;
use input::TraceInput;
use other_memory::OwnPages;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use threads::{Instance, Threads};

pub use image::{EmptyBase, TraceBase};
pub use marks::Marks;
pub use omitted::Omitted;
pub use other_memory::OtherMemory;
pub use program::{OPS_PER_FILL, TraceProgram};
#[cfg(feature = "host")]
pub use recorded::{TraceWritten, write_trace};
pub use recording::{AnnotationKind, Expected, FlushKind, StoreWay};
pub use sites::{Frame, Sites};
pub use steps::{Done, FenceBy, FileLine, Pointer, Spot, Step, Steps, StepsRead};
pub use summary::{CutOff, NO_SIZE, TraceFile, TraceSummary, size_in, size_line};
pub use told::Told;

/// A checked recording. Cheap to share: programs made from it read the source again.
#[derive(Debug)]
pub struct Trace {
    source: TraceInput,
    summary: TraceSummary,
    threads: Arc<Threads>,
    pages: Pages,
    of_files: bool,
    tells_sites: bool,
    failure: Arc<OnceLock<ConfigError>>,
    sites: Option<Arc<OnceLock<Sites>>>,
    omitted: Omitted,
    /// Whether one core runs it, in its one order.
    in_order: bool,
    /// Whether programs access memory that is not persistent.
    with_others: bool,
    /// How many instances of it run, each on files of its own.
    instances: u16,
}

impl Trace {
    /// Opens and checks the recording at `path`. A recording without its end is refused unless `allow_truncated`. Once
    /// `cancel` is set, this function and the programs made from the trace fail.
    ///
    /// # Errors
    /// One sentence that names the file and, for a bad record, its number, its byte offset in the (decompressed)
    /// recording and what was expected there.
    pub fn open(path: &Path, allow_truncated: bool, cancel: &Arc<AtomicBool>) -> Result<Trace, ConfigError> {
        Trace::check(TraceInput::file(path, Arc::clone(cancel))?, allow_truncated)
    }

    /// Opens and checks a recording in memory, plain or compressed; `name` is its name in errors.
    ///
    /// # Errors
    /// The errors of [`Trace::open`].
    pub fn from_bytes(name: &str, bytes: impl Into<Arc<[u8]>>, allow_truncated: bool) -> Result<Trace, ConfigError> {
        Trace::check(TraceInput::bytes(name, bytes.into()), allow_truncated)
    }

    fn check(source: TraceInput, allow_truncated: bool) -> Result<Trace, ConfigError> {
        let mut recording = source.recording()?;
        let (summary, threads, pages) = summary::summarise(&mut *recording, allow_truncated)?;
        let (of_files, tells_sites) = (recording.of_files(), recording.tells_sites());
        Ok(Trace {
            source,
            summary,
            threads: Arc::new(threads),
            pages,
            of_files,
            tells_sites,
            failure: Arc::default(),
            sites: None,
            omitted: Omitted::default(),
            in_order: false,
            with_others: true,
            instances: 1,
        })
    }

    /// The whole recording as one program in `form`, from its beginning.
    ///
    /// # Errors
    /// The file can no longer be opened.
    pub fn program(&self, form: ProgramForm) -> Result<TraceProgram, ConfigError> {
        self.program_of(form, 0)
    }

    /// That of one of the instances.
    fn program_of(&self, form: ProgramForm, index: u64) -> Result<TraceProgram, ConfigError> {
        let recording = self.source.recording()?;
        let (failure, omitted) = (Arc::clone(&self.failure), self.omitted.begin());
        let program = TraceProgram::new(recording, &self.summary, form, failure, self.sites.clone(), omitted);
        let program = if self.with_others { program } else { program.without_others() };
        let all = self.instances_base();
        Ok(program.of_instance(Instance {
            first: (index * self.cores_of_one()) as CoreId,
            offset: index * all.stride(),
            others: OwnPages { base: all.others_begin(), index, instances: u64::from(self.instances) },
        }))
    }

    /// The recording as a program for each core that runs it, from its beginning.
    ///
    /// # Errors
    /// The file can no longer be opened.
    pub fn programs(&self, form: ProgramForm) -> Result<Vec<TraceProgram>, ConfigError> {
        let threads = self.cores_of_one();
        let of = |core: u64| {
            let program = self.program_of(form, core / threads)?;
            Ok(if threads == 1 { program } else { program.of_thread(core % threads, Arc::clone(&self.threads)) })
        };
        (0..self.cores()).map(of).collect()
    }

    /// How many cores run one instance of it: one for each thread, if the recording says where one follows another and it is
    /// not to be run in its one order.
    pub fn cores_of_one(&self) -> u64 {
        match self.summary {
            TraceSummary { threads: threads @ 2.., follows: Some(_), .. } if !self.in_order => threads,
            _ => 1,
        }
    }

    /// How many cores run it.
    pub fn cores(&self) -> u64 {
        self.cores_of_one() * u64::from(self.instances)
    }

    /// Number of transactions that all cores end.
    pub fn transactions(&self) -> u64 {
        let of_one = match self.cores_of_one() {
            1 => self.summary.transactions,
            threads => (0..threads).map(|thread| self.threads.transactions(thread)).sum(),
        };
        of_one * u64::from(self.instances)
    }

    /// How many instances of it run.
    pub fn instances(&self) -> u16 {
        self.instances
    }

    /// So many instances of the same recording, each on files of its own.
    pub fn of_instances(self, instances: u16) -> Trace {
        Trace { instances, ..self }
    }

    /// The same recording, which one core runs in its one order.
    pub fn in_order(self) -> Trace {
        Trace { in_order: true, ..self }
    }

    /// The recording step by step, from its beginning, to be read until `end` is set.
    ///
    /// # Errors
    /// The file can no longer be opened, or its format does not show what is flushed.
    pub fn steps(&self, end: &Arc<AtomicBool>) -> Result<Steps, ConfigError> {
        Steps::until(&self.source.uninterrupted(), &self.omitted, end)
    }

    /// The same recording, whose programs and steps leave these operations out.
    pub fn without(&self, omitted: Omitted) -> Trace {
        Trace {
            source: self.source.clone(),
            summary: self.summary.clone(),
            threads: Arc::clone(&self.threads),
            pages: self.pages.clone(),
            of_files: self.of_files,
            tells_sites: self.tells_sites,
            failure: Arc::default(),
            sites: None,
            omitted,
            in_order: self.in_order,
            with_others: self.with_others,
            instances: self.instances,
        }
    }

    /// The same recording, whose files have other paths.
    pub fn with_paths(mut self, path_of: impl Fn(&str) -> String) -> Trace {
        for file in &mut self.summary.files {
            file.path = match file.path.strip_prefix(summary::SIZE_OF) {
                Some(of) => format!("{}{}", summary::SIZE_OF, path_of(of)),
                None => path_of(&file.path),
            };
        }
        self
    }

    /// Whether programs of it report where operations come from.
    pub fn watches_sites(&self) -> bool {
        self.sites.is_some()
    }

    /// The places that operations of programs come from, if they report them: those of a program that has ended, or from
    /// reading the recording to its end.
    ///
    /// # Errors
    /// The file can no longer be opened.
    pub fn read_sites(&self) -> Result<Option<Sites>, ConfigError> {
        let Some(sites) = &self.sites else { return Ok(None) };
        if sites.get().is_none() {
            let mut program = self.program(ProgramForm::Plain)?;
            let mut buffer = OpBuffer::default();
            while program.next_transaction(&mut buffer) {
                buffer.clear();
            }
        }
        Ok(sites.get().cloned())
    }

    /// The marks that the program sets.
    ///
    /// # Errors
    /// The file can no longer be opened or read.
    pub fn marks(&self) -> Result<Marks, ConfigError> {
        Marks::read(&mut *self.source.recording()?)
    }

    /// The summary of the recording's contents.
    pub fn summary(&self) -> &TraceSummary {
        &self.summary
    }

    /// The program's files, if the recording contains what it stored in them.
    pub fn files(&self) -> &[TraceFile] {
        if self.of_files { &self.summary.files } else { &[] }
    }

    /// One past the highest device address that the recording takes, of all instances.
    pub fn end(&self) -> u64 {
        self.instances_base().end()
    }

    /// From now on, programs leave out what they do to memory that is not persistent. Instructions stand for it.
    pub fn leave_out_others(&mut self) {
        self.with_others = false;
    }

    /// Whether programs leave something out so.
    pub fn leaves_out_others(&self) -> bool {
        !self.with_others && self.summary.others.is_some_and(|others| others.lines > 0)
    }

    /// The memory that all instances start from. One needs no search for its instance.
    pub fn base_of_all(&self) -> Arc<dyn BaseImage> {
        if self.instances == 1 {
            Arc::new(TraceBase { end: self.end(), ..self.base() })
        } else {
            Arc::new(self.instances_base())
        }
    }

    fn instances_base(&self) -> InstancesBase {
        let others = self.summary.others.filter(|_| self.with_others).map_or(0, |others| others.size);
        InstancesBase { one: self.base(), instances: self.instances, others }
    }

    /// The memory that one instance of the program starts from.
    pub fn base(&self) -> TraceBase {
        TraceBase { pages: self.pages.clone(), end: self.summary.end }
    }

    /// From now on, programs report where in the recorded program their operations come from.
    ///
    /// # Errors
    /// The recording does not have this information.
    pub fn watch_sites(&mut self) -> Result<(), ConfigError> {
        if !self.tells_sites {
            let recording = self.source.recording()?;
            let (name, (what, _)) = (recording.name(), recording.kind());
            return Err(ConfigError(format!("{name}: by_line: a {what} does not tell where in the program it was")));
        }
        self.sites = Some(Arc::default());
        Ok(())
    }

    /// The places that operations came from, by [`crate::message::Site`], once a program has been read to its end.
    pub fn sites(&self) -> Option<&Sites> {
        self.sites.as_ref()?.get()
    }

    /// The error that stopped a program made from this trace early, if any. An [`crate::message::OpSource`] cannot
    /// report it, and the file may have been changed or removed between the two passes. To be checked after a run.
    pub fn failure(&self) -> Option<&ConfigError> {
        self.failure.get()
    }
}

//! Litmus programs: programs of a few operations that are written out, as in `store A; clwb A; sfence`, on lines with
//! fixed places. Memory-model research tests hardware with such programs; here power fails in them. With `||` between them
//! they are the programs of several cores, which share all lines: `store A || clwb A; sfence`.
//!
//! ```text
//! text <-> steps of each core -> operations of each core, over a small populated base
//! ```

mod base;
mod operations;
mod step;
#[cfg(test)]
mod tests;

pub use base::{LitmusBase, PLACES, Place};
pub use operations::Evicting;
pub use step::{StandIn, Step, StepKind};

use crate::kernel::ConfigError;
use crate::message::{BaseImage, LineBytes, OpBuffer, OpSource, ProgramForm, ProgramLayout, ProgramRecovery};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

/// Most operations of a program.
pub const STEPS_MAX: usize = 1_000;
/// Most cores of a program.
pub const CORES_MAX: usize = 8;
/// What stands between the programs of two cores.
const BESIDE: &str = "||";

/// A program that is written out.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Litmus {
    /// The operations of each core, in program order. Every core has one.
    pub cores: Vec<Vec<Step>>,
}

impl Litmus {
    /// Why programs of several cores have no hardware log.
    pub const LOGGED_ALONE: &str = "a program whose log hardware keeps runs on one core if it is written out: what is judged of \
                                    transactions is about memory that one core stores to";

    /// Why programs of several cores fill no page with zeros.
    pub const ZEROED_ALONE: &str = "whoever has a page filled with zeros uses it alone until that is done";

    /// The program of one core.
    pub fn of(steps: &[Step]) -> Self {
        Self { cores: vec![steps.to_vec()] }
    }

    /// The program that `text` writes out; `None` if it is something else, such as the name of a workload: the first word of a
    /// program is an operation.
    ///
    /// # Errors
    /// One sentence about the first operation that is none.
    pub fn parse(text: &str) -> Result<Option<Self>, ConfigError> {
        let first = text.split(|c: char| c.is_whitespace() || c == ';').find(|word| !word.is_empty());
        if first.and_then(StepKind::named).is_none() {
            return Ok(None);
        }
        let wrong = |what: String| ConfigError(format!("program '{text}': {what}"));
        let cores: Vec<&str> = text.split(BESIDE).collect();
        if cores.len() > CORES_MAX {
            return Err(wrong(format!("it has {} cores, and at most {CORES_MAX} run one", cores.len())));
        }
        let of_core = |text: &&str| {
            let written = text.split(['\n', ';']).map(str::trim).filter(|step| !step.is_empty());
            written.map(Step::parse).collect::<Result<Vec<_>, _>>()
        };
        let cores = cores.iter().map(of_core).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
        if let Some(core) = cores.iter().position(Vec::is_empty) {
            return Err(wrong(format!(
                "core {core} has no operation; between the programs of two cores is one '{BESIDE}'"
            )));
        }
        let program = Self { cores };
        if program.cores.len() > 1 && program.steps().any(|(_, step)| step.kind == StepKind::ZeroPage) {
            return Err(wrong(format!(
                "{} belongs to programs of one core: {}",
                StepKind::ZeroPage.name(),
                Self::ZEROED_ALONE
            )));
        }
        if program.operations() > STEPS_MAX {
            let count = program.operations();
            return Err(ConfigError(format!(
                "a program of {count} operations is too long: it has at most {STEPS_MAX}"
            )));
        }
        Ok(Some(program))
    }

    /// Number of operations of all cores.
    pub fn operations(&self) -> usize {
        self.cores.iter().map(Vec::len).sum()
    }

    /// The operations of all cores, each by its number, from 0: those of the first core come first.
    pub fn steps(&self) -> impl Iterator<Item = (usize, Step)> {
        self.cores.iter().flatten().copied().enumerate()
    }

    /// The program of each core, on a machine whose lines `evicting` evicts, in `form`.
    pub fn sources(&self, form: ProgramForm, evicting: &Evicting) -> Vec<LitmusSource> {
        let mut first = 0;
        let of_core = |steps: &Vec<Step>| {
            let parts = operations::operations(steps, first, form, evicting);
            first += steps.len();
            LitmusSource { parts }
        };
        self.cores.iter().map(of_core).collect()
    }

    /// What the line at place `place` holds in the order of the program of one core: before it, and after each of its stores
    /// there, with the number of the operation from 1; 0 is before the program.
    pub fn versions(&self, place: u8) -> Vec<(usize, LineBytes)> {
        debug_assert_eq!(self.cores.len(), 1, "the stores of several cores have no order");
        let mut contents = *LitmusBase::default().line(PLACES[usize::from(place)].line).expect("places are populated");
        let mut versions = vec![(0, contents)];
        for (number, step) in self.steps() {
            if step.changes(place) {
                operations::apply(step, number, &mut contents);
                versions.push((number + 1, contents));
            }
        }
        versions
    }

    /// Where the program keeps its data, whichever core uses it.
    pub fn layout() -> ProgramLayout {
        let heap = 0..base::END;
        ProgramLayout { core: 0, log: 0..0, heap, volatile: 0..0 }
    }

    /// The program's own recovery, which has nothing to do where hardware keeps its log; else there is none.
    pub fn recovery(form: ProgramForm) -> Option<Arc<dyn ProgramRecovery>> {
        (form == ProgramForm::HardwareLogged).then(|| Arc::new(LitmusRecovery([Self::layout()])) as _)
    }
}

impl fmt::Display for Litmus {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (core, steps) in self.cores.iter().enumerate() {
            if core > 0 {
                write!(out, " {BESIDE} ")?;
            }
            for (place, step) in steps.iter().enumerate() {
                write!(out, "{}{step}", if place == 0 { "" } else { "; " })?;
            }
        }
        Ok(())
    }
}

/// A litmus program on a core.
pub struct LitmusSource {
    parts: VecDeque<OpBuffer>,
}

impl OpSource for LitmusSource {
    fn next_transaction(&mut self, buffer: &mut OpBuffer) -> bool {
        let Some(part) = self.parts.pop_front() else { return false };
        *buffer = OpBuffer { without_values: buffer.without_values, access_bytes: buffer.access_bytes, ..part };
        true
    }
}

/// The recovery of a program whose log hardware keeps: none.
struct LitmusRecovery([ProgramLayout; 1]);

impl ProgramRecovery for LitmusRecovery {
    fn layouts(&self) -> &[ProgramLayout] {
        &self.0
    }

    fn recover(
        &self,
        _core: crate::message::CoreId,
        _view: &mut dyn crate::message::ByteView,
    ) -> crate::message::RecoveryReport {
        crate::message::RecoveryReport::default()
    }

    fn check(&self, _core: crate::message::CoreId, _view: &mut dyn crate::message::ByteView) -> Result<(), String> {
        Ok(())
    }
}

//! Litmus programs: programs of a few operations that are written out, as in `store A; clwb A; sfence`, on lines with
//! fixed places. Memory-model research tests hardware with such programs; here power fails in them.
//!
//! ```text
//! text <-> steps -> operations of a core, over a small populated base
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

/// A program that is written out.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Litmus {
    /// Its operations, in program order.
    pub steps: Vec<Step>,
}

impl Litmus {
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
        let written = text.split(['\n', ';']).map(str::trim).filter(|step| !step.is_empty());
        let steps = written.map(Step::parse).collect::<Result<Vec<_>, _>>();
        let steps = steps.map_err(|what| ConfigError(format!("program '{text}': {what}")))?;
        if steps.len() > STEPS_MAX {
            let count = steps.len();
            return Err(ConfigError(format!(
                "a program of {count} operations is too long: it has at most {STEPS_MAX}"
            )));
        }
        Ok(Some(Self { steps }))
    }

    /// The program on a core of a machine whose lines `evicting` evicts, in `form`.
    pub fn source(&self, form: ProgramForm, evicting: &Evicting) -> LitmusSource {
        LitmusSource { parts: operations::operations(&self.steps, form, evicting) }
    }

    /// What the line at place `place` holds in the order of the program: before it, and after each of its stores there, with
    /// the number of the operation from 1; 0 is before the program.
    pub fn versions(&self, place: u8) -> Vec<(usize, LineBytes)> {
        let mut contents = *LitmusBase::default().line(PLACES[usize::from(place)].line).expect("places are populated");
        let mut versions = vec![(0, contents)];
        for (number, step) in self.steps.iter().enumerate() {
            if step.kind.stores() && step.line == place {
                operations::apply(*step, number, &mut contents);
                versions.push((number + 1, contents));
            }
        }
        versions
    }

    /// Where the program keeps its data.
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
        for (place, step) in self.steps.iter().enumerate() {
            write!(out, "{}{step}", if place == 0 { "" } else { "; " })?;
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
        *buffer = OpBuffer { without_values: buffer.without_values, ..part };
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

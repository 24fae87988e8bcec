//! What a program may leave out, to show why it is needed: an annotation, or a step of the protocol that makes
//! transactions durable on any persistent memory.

use super::{Annotation, ProgramForm};
use serde::{Deserialize, Serialize};

/// One step of the durable transaction (secpm section 2, Figure 1). Without it the program is wrong on every design.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtocolStep {
    /// The flushes of what Prepare wrote: the log entry, or the new node of a linked list.
    PrepareFlush,
    /// The fence that ends Prepare.
    PrepareFence,
    /// The tag at the end of a log entry. Without it, recovery accepts any entry whose first words and records are
    /// plausible.
    LogEndTag,
    /// The flushes of the data that Mutate wrote in place.
    MutateFlush,
    /// The fence that ends Mutate.
    MutateFence,
    /// The flush of the word that commits: the log entry's valid word, or the list's head pointer.
    CommitFlush,
    /// The fence that ends Commit.
    CommitFence,
}

impl ProtocolStep {
    /// All steps, in program order.
    pub const ALL: [ProtocolStep; 7] = [
        ProtocolStep::PrepareFlush,
        ProtocolStep::PrepareFence,
        ProtocolStep::LogEndTag,
        ProtocolStep::MutateFlush,
        ProtocolStep::MutateFence,
        ProtocolStep::CommitFlush,
        ProtocolStep::CommitFence,
    ];

    /// Whether programs in `form` have this step. If hardware keeps the log, there are no stages to end; if caches are
    /// in the persistence domain, there are no flushes.
    pub fn is_in(self, form: ProgramForm) -> bool {
        match form {
            ProgramForm::Plain | ProgramForm::Annotated => true,
            ProgramForm::HardwareLogged => false,
            ProgramForm::FlushFree => {
                !matches!(self, ProtocolStep::PrepareFlush | ProtocolStep::MutateFlush | ProtocolStep::CommitFlush)
            }
        }
    }

    /// Whether only programs that write a log have this step.
    pub fn needs_log(self) -> bool {
        matches!(self, ProtocolStep::LogEndTag | ProtocolStep::MutateFlush | ProtocolStep::MutateFence)
    }

    /// The step's name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            ProtocolStep::PrepareFlush => "prepare-flush",
            ProtocolStep::PrepareFence => "prepare-fence",
            ProtocolStep::LogEndTag => "log-end-tag",
            ProtocolStep::MutateFlush => "mutate-flush",
            ProtocolStep::MutateFence => "mutate-fence",
            ProtocolStep::CommitFlush => "commit-flush",
            ProtocolStep::CommitFence => "commit-fence",
        }
    }
}

/// Something that a program leaves out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Omission {
    /// An annotation: the program is wrong on designs that rely on it.
    Annotation(Annotation),
    /// A step of the protocol: the program is wrong on every design whose programs have that step.
    Step(ProtocolStep),
}

impl Omission {
    /// Everything that can be left out: the annotations, then the steps.
    pub fn all() -> impl Iterator<Item = Omission> {
        let annotations = Annotation::ALL.into_iter().map(Omission::Annotation);
        annotations.chain(ProtocolStep::ALL.into_iter().map(Omission::Step))
    }

    /// Whether programs in `form` contain what is left out.
    pub fn is_in(self, form: ProgramForm) -> bool {
        match self {
            Omission::Annotation(annotation) => annotation.form() == form,
            Omission::Step(step) => step.is_in(form),
        }
    }

    /// The name of what is left out, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Omission::Annotation(annotation) => annotation.name(),
            Omission::Step(step) => step.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_what_json_says_and_reads() {
        for omission in Omission::all() {
            let text = serde_json::to_string(&omission).unwrap();
            assert_eq!(text, format!("\"{}\"", omission.name()));
            assert_eq!(serde_json::from_str::<Omission>(&text).unwrap(), omission);
        }
    }

    #[test]
    fn form_has_the_steps_that_its_transactions_have() {
        let of = |form| ProtocolStep::ALL.into_iter().filter(|step| step.is_in(form)).map(ProtocolStep::name).collect();
        let none: Vec<&str> = of(ProgramForm::HardwareLogged);
        assert!(none.is_empty());
        let all: Vec<&str> = of(ProgramForm::Plain);
        assert_eq!(all, ProtocolStep::ALL.map(ProtocolStep::name));
        let flush_free: Vec<&str> = of(ProgramForm::FlushFree);
        assert_eq!(flush_free, ["prepare-fence", "log-end-tag", "mutate-fence", "commit-fence"]);
    }
}

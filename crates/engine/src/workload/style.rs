//! How a program's transactions become operations: with which annotations, what a log record covers, and how wide a
//! copy is. The base, the layout and the data in the heap are the same for every style.

use crate::config::{LogGranularity, LogStores};
use crate::message::{Annotation, LINE_BYTES, Omission, ProgramForm, ProtocolStep};

/// The style of all transactions of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Style {
    /// Bytes that one operation of a block copy moves.
    pub copy_bytes: usize,
    /// The smallest unit that a log record covers, as configured.
    pub log_granularity: LogGranularity,
    /// How a log entry is stored, as configured.
    pub log_stores: LogStores,
    /// The form of the program, which says which annotations it has.
    pub form: ProgramForm,
    /// What the program leaves out.
    pub leave_out: Option<Omission>,
}

impl Style {
    /// Whether the program contains `annotation`.
    pub(super) fn has(self, annotation: Annotation) -> bool {
        self.form == annotation.form() && self.leave_out != Some(Omission::Annotation(annotation))
    }

    /// Whether the program executes `step`. If the caches are in the persistence domain, a store is durable when it is
    /// visible, and nothing is flushed (sepencr section II-D).
    pub(super) fn takes(self, step: ProtocolStep) -> bool {
        step.is_in(self.form) && self.leave_out != Some(Omission::Step(step))
    }

    /// Whether hardware keeps the log, so that the program writes none.
    pub(super) fn is_logged_by_hardware(self) -> bool {
        self.form == ProgramForm::HardwareLogged
    }

    /// The aligned unit, in bytes, that the log saves if any of its bytes is written. An annotated program saves whole
    /// lines: until its counter is written back, a line may be lost with all its words, including the unwritten ones.
    /// Hardware also saves lines.
    pub(super) fn log_unit(self) -> u64 {
        match (self.form, self.log_granularity) {
            (ProgramForm::Plain | ProgramForm::FlushFree, LogGranularity::Word) => 8,
            _ => LINE_BYTES,
        }
    }

    /// Whether a log entry is stored past the caches.
    pub(super) fn logs_past_the_caches(self) -> bool {
        self.log_stores == LogStores::NonTemporal && matches!(self.form, ProgramForm::Plain | ProgramForm::FlushFree)
    }

    /// Whether log entries begin at fixed distances, as in an array of the paper's `struct Backup`. A line that has
    /// held a `CounterAtomic` state word is counter-atomic from then on; packed entries of different lengths would
    /// eventually have put one into nearly every line of the ring.
    pub(super) fn has_log_slots(self) -> bool {
        self.log_unit() == LINE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMS: [ProgramForm; 4] =
        [ProgramForm::Plain, ProgramForm::Annotated, ProgramForm::HardwareLogged, ProgramForm::FlushFree];

    #[test]
    fn program_has_the_annotations_of_its_form_but_the_one_left_out() {
        let granularity = LogGranularity::Line;
        for form in FORMS {
            for leave_out in [None].into_iter().chain(Omission::all().map(Some)) {
                let style = Style {
                    copy_bytes: 16,
                    log_granularity: granularity,
                    log_stores: LogStores::Cached,
                    form,
                    leave_out,
                };
                let has: Vec<Annotation> = Annotation::ALL.into_iter().filter(|one| style.has(*one)).collect();
                let all: &[Annotation] = match form {
                    ProgramForm::Plain | ProgramForm::FlushFree => &[],
                    ProgramForm::Annotated => &Annotation::ALL[..3],
                    ProgramForm::HardwareLogged => &[Annotation::FlushData],
                };
                let kept: Vec<Annotation> =
                    all.iter().copied().filter(|one| leave_out != Some(Omission::Annotation(*one))).collect();
                assert_eq!(has, kept, "{form:?} without {leave_out:?}");
                for step in ProtocolStep::ALL {
                    let taken = step.is_in(form) && leave_out != Some(Omission::Step(step));
                    assert_eq!(style.takes(step), taken, "{form:?} without {leave_out:?}: {step:?}");
                }
            }
        }
    }

    #[test]
    fn only_a_program_without_annotations_may_log_words() {
        let unit = |form, log_granularity| {
            Style { copy_bytes: 16, log_granularity, log_stores: LogStores::Cached, form, leave_out: None }.log_unit()
        };
        assert_eq!(unit(ProgramForm::Plain, LogGranularity::Word), 8);
        assert_eq!(unit(ProgramForm::Plain, LogGranularity::Line), 64);
        assert_eq!(unit(ProgramForm::FlushFree, LogGranularity::Word), 8);
        assert_eq!(unit(ProgramForm::FlushFree, LogGranularity::Line), 64);
        assert_eq!(unit(ProgramForm::Annotated, LogGranularity::Word), 64);
        assert_eq!(unit(ProgramForm::Annotated, LogGranularity::Line), 64);
        assert_eq!(unit(ProgramForm::HardwareLogged, LogGranularity::Word), 64);
    }
}

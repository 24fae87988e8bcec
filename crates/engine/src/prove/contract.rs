//! What programs of a form must do, and what makes no difference. A program that does not keep to its design's contract is a
//! wrong program: that it loses data says nothing of the design.

use crate::message::{Line, ProgramForm};
use crate::workload::litmus::{PLACES, Step, StepKind};

/// Lines of one call of `counter_cache_writeback`.
const LINES_PER_WRITEBACK: u64 = crate::message::COUNTER_WRITEBACK_BYTES / crate::message::LINE_BYTES;

fn line_of(step: Step) -> Line {
    PLACES[usize::from(step.line)].line
}

/// Whether `steps`, all but the last of which are known to be worth trying, are the beginning of programs that are. Left out
/// are programs that break the contract of one of `forms`, and those with an operation that has nothing to do: a first operation other
/// than a store, a load or `tx-begin`, or a fence after a fence. A core that is not `alone` may begin with a write-back or an
/// eviction of what another core stores.
pub(super) fn begins(steps: &[Step], forms: &[ProgramForm], alone: bool) -> bool {
    let Some((last, before)) = steps.split_last() else { return true };
    let fence = |kind: StepKind| matches!(kind, StepKind::Sfence | StepKind::Mfence);
    let has_to_do = |step: Step| {
        step.kind.stores()
            || matches!(step.kind, StepKind::Load | StepKind::TxBegin)
            || (step.kind.has_line() && !alone)
    };
    if before.is_empty() && !has_to_do(*last) {
        return false;
    }
    if fence(last.kind) && before.last().is_some_and(|step| fence(step.kind)) {
        return false;
    }
    forms.iter().all(|form| match form {
        // The end of a transaction stands for a fence where programs are annotated.
        ProgramForm::Annotated if fence(last.kind) || last.kind == StepKind::TxEnd => !owes_counters(before),
        ProgramForm::HardwareLogged => keeps_transactions(before, *last),
        _ => true,
    })
}

/// Whether `steps` are worth trying as a whole program: something is stored, and the end is not the begin of something.
pub(super) fn ends(steps: &[Step]) -> bool {
    steps.iter().any(|step| step.kind.stores()) && steps.last().is_some_and(|last| last.kind != StepKind::TxBegin)
}

/// The same of a program of several cores, each of which begins well. A first operation that is about what is stored finds that
/// only if another core stores it.
pub(super) fn ends_together(cores: &[Vec<Step>]) -> bool {
    let stores = |core: &[Step], line: u8| core.iter().any(|step| step.changes(line));
    let by_others =
        |core: usize, line: u8| cores.iter().enumerate().any(|(other, steps)| other != core && stores(steps, line));
    let something = cores.iter().flatten().any(|step| step.kind.stores());
    let well = |(core, steps): (usize, &Vec<Step>)| {
        let first = steps[0];
        first.kind.stores() || first.kind == StepKind::Load || by_others(core, first.line)
    };
    something && cores.iter().enumerate().all(well)
}

/// Whether a line was written back since the last `counter_cache_writeback` of its counters, without being `CounterAtomic`:
/// then a fence does not make it durable (counter-atomicity section 4.3).
fn owes_counters(steps: &[Step]) -> bool {
    let (mut marked, mut owed) = ([false; PLACES.len()], [false; PLACES.len()]);
    for step in steps {
        let place = usize::from(step.line);
        match step.kind {
            StepKind::CounterAtomicStore => marked[place] = true,
            StepKind::CounterWriteback => {
                let of = |line: Line| line.0 / LINES_PER_WRITEBACK;
                let written = of(line_of(*step));
                for (owed, place) in owed.iter_mut().zip(PLACES) {
                    *owed &= of(place.line) != written;
                }
            }
            StepKind::ZeroPage => {
                (0..)
                    .zip(&mut owed)
                    .zip(&marked)
                    .for_each(|((place, owed), marked)| *owed |= step.changes(place) && !marked);
            }
            kind if kind.flushes() || kind == StepKind::NtStore => owed[place] = !marked[place],
            _ => {}
        }
    }
    owed.contains(&true)
}

/// Whether `last` may follow in a hardware-logged program: stores and `flush_data` lie in transactions, which store
/// something, and end when each line has had its `flush_data` (easy-pm section III-A).
fn keeps_transactions(before: &[Step], last: Step) -> bool {
    let (mut inside, mut stored, mut unflushed) = (false, false, [false; PLACES.len()]);
    for step in before {
        match step.kind {
            StepKind::TxBegin => (inside, stored) = (true, false),
            StepKind::TxEnd => inside = false,
            StepKind::FlushData => unflushed[usize::from(step.line)] = false,
            kind if kind.stores() => {
                stored = true;
                unflushed[usize::from(step.line)] = true;
            }
            _ => {}
        }
    }
    match last.kind {
        StepKind::TxBegin => !inside,
        StepKind::TxEnd => inside && stored && !unflushed.contains(&true),
        StepKind::FlushData => inside,
        kind => inside || !kind.stores(),
    }
}

//! One operation of a litmus program, and its text.

use super::base::PLACES;
use crate::message::{LINES_PER_PAGE, ProgramForm};
use std::fmt;
use strum::{IntoStaticStr, VariantArray};

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum StepKind {
    /// Stores 8 bytes.
    Store,
    /// Stores the whole line.
    StoreLine,
    /// Stores 8 bytes to a `CounterAtomic` variable.
    CounterAtomicStore,
    /// Stores the whole line past the caches.
    NtStore,
    /// Fills the page of the line with zeros.
    ZeroPage,
    /// Writes the line back and keeps it.
    Clwb,
    /// Writes the line back and drops it.
    Clflushopt,
    /// Writes the line back and drops it, in order with every other one.
    Clflush,
    /// `counter_cache_writeback` of the line's counters.
    CounterWriteback,
    /// `flush_data` of the line.
    FlushData,
    /// Loads 8 bytes.
    Load,
    /// Waits for stores and flushes.
    Sfence,
    /// Waits for stores and flushes, and holds up what follows.
    Mfence,
    /// Hardware logs from now on.
    TxBegin,
    /// The hardware-logged transaction ends.
    TxEnd,
    /// Other lines take the place of the line in all caches.
    Evict,
    /// Other blocks take the place of the line's counters in the counter cache.
    EvictCounters,
    /// Time passes until nothing is in flight.
    Wait,
}

impl StepKind {
    /// The operation called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|kind| kind.name() == name)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether it is about a line.
    pub fn has_line(self) -> bool {
        !matches!(self, Self::Sfence | Self::Mfence | Self::TxBegin | Self::TxEnd | Self::Wait)
    }

    /// Whether it changes a line.
    pub fn stores(self) -> bool {
        matches!(self, Self::Store | Self::StoreLine | Self::CounterAtomicStore | Self::NtStore | Self::ZeroPage)
    }

    /// Whether it writes a line back.
    pub fn flushes(self) -> bool {
        matches!(self, Self::Clwb | Self::Clflushopt | Self::Clflush | Self::FlushData)
    }

    /// What programs in `form`, which do not use it, do in its place; `None` if nothing that they do is the same.
    pub fn stand_in(self, form: ProgramForm) -> Option<StandIn> {
        match self {
            Self::CounterAtomicStore => Some(StandIn::Step(Self::Store)),
            Self::CounterWriteback | Self::TxBegin => Some(StandIn::Nothing),
            Self::FlushData if form == ProgramForm::FlushFree => Some(StandIn::Nothing),
            Self::FlushData => Some(StandIn::Step(Self::Clwb)),
            Self::TxEnd => Some(StandIn::Step(Self::Sfence)),
            kind if kind.flushes() && form == ProgramForm::FlushFree => Some(StandIn::Nothing),
            _ => None,
        }
    }

    /// Whether programs in each of `forms` use it, or do something in its place, and those in one of them do use it.
    pub fn is_in_all(self, forms: &[ProgramForm]) -> bool {
        let used = |form: &ProgramForm| self.is_in(*form);
        forms.iter().any(used) && forms.iter().all(|form| used(form) || self.stand_in(*form).is_some())
    }

    /// Whether programs in `form` use it.
    pub fn is_in(self, form: ProgramForm) -> bool {
        match self {
            Self::Store | Self::StoreLine | Self::Load | Self::Evict | Self::EvictCounters | Self::Wait => true,
            Self::CounterAtomicStore | Self::CounterWriteback => form == ProgramForm::Annotated,
            Self::FlushData | Self::TxBegin | Self::TxEnd => form == ProgramForm::HardwareLogged,
            Self::Clwb | Self::Clflushopt | Self::Clflush => {
                matches!(form, ProgramForm::Plain | ProgramForm::Annotated)
            }
            Self::NtStore | Self::ZeroPage | Self::Sfence | Self::Mfence => form != ProgramForm::HardwareLogged,
        }
    }
}

/// What a program of another form does in the place of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StandIn {
    /// Nothing: the operation is left out.
    Nothing,
    /// This operation, on the same line.
    Step(StepKind),
}

/// One operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Step {
    /// What it does.
    pub kind: StepKind,
    /// The number of the line that it is about, of [`PLACES`]; 0 if it is about none.
    pub line: u8,
}

impl Step {
    /// Whether it changes the line of `place`.
    pub fn changes(self, place: u8) -> bool {
        let page = |place: u8| PLACES[usize::from(place)].line.0 / LINES_PER_PAGE;
        let same = if self.kind == StepKind::ZeroPage { page(self.line) == page(place) } else { self.line == place };
        self.kind.stores() && same
    }

    /// The operation that `text` writes out, as in `store A`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let kind = StepKind::named(name).ok_or_else(|| {
            let known: Vec<&str> = StepKind::VARIANTS.iter().map(|kind| kind.name()).collect();
            crate::config::unknown_name("operation", name, &known).0
        })?;
        let line = match (kind.has_line(), words.next()) {
            (false, None) => 0,
            (false, Some(_)) => return Err(format!("'{text}': {name} is about no line")),
            (true, None) => return Err(format!("'{text}': {name} is about a line, as in '{name} A'")),
            (true, Some(letter)) => PLACES
                .iter()
                .position(|place| letter == place.name)
                .ok_or_else(|| format!("'{text}': '{letter}' is no line; the lines are A to {}", last_line()))?
                as u8,
        };
        match words.next() {
            Some(more) => Err(format!("'{text}': '{more}' is too much; operations are separated by ';'")),
            None => Ok(Self { kind, line }),
        }
    }
}

fn last_line() -> &'static str {
    PLACES[PLACES.len() - 1].name
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.kind.name();
        if self.kind.has_line() {
            write!(out, "{name} {}", PLACES[usize::from(self.line)].name)
        } else {
            out.write_str(name)
        }
    }
}

//! The programs that are tried: every sequence of so many operations of an alphabet, over each group of lines; for several
//! cores, one for each.
//!
//! Lines are interchangeable if they lie in the same way to all other lines of their group. Programs that differ only by
//! an exchange of such lines are one program: the one in which they appear in their order.

use super::{contract, together};
use crate::kernel::ConfigError;
use crate::message::ProgramForm;
use crate::parts::Design;
use crate::workload::litmus::{Litmus, PLACES, Step, StepKind};
use std::ops::ControlFlow;
use strum::VariantArray;

/// Most operations of a program.
const OPERATIONS_MAX: u64 = 12;
/// Most lines of a program.
const LINES_MAX: u64 = 4;
/// Most cores of a program.
const CORES_MAX: u64 = 3;
/// Most programs.
pub(super) const PROGRAMS_MAX: u64 = 100_000_000;

/// The groups of lines of so many lines that are tried if none is named.
const GROUPS: [&[&str]; LINES_MAX as usize] = [&["A"], &["AB", "AC"], &["ABC"], &["ABCD"]];

/// The programs that are tried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Space {
    /// Most operations of a program, on each core.
    pub operations: usize,
    /// Number of cores that share the lines.
    pub cores: usize,
    /// The operations.
    pub kinds: Vec<StepKind>,
    /// The groups of lines.
    pub groups: Vec<Vec<u8>>,
    /// The forms whose contracts programs keep to.
    pub forms: Vec<ProgramForm>,
    /// The operations with which each program begins.
    pub beginning: Vec<Step>,
}

/// What of the operations and lines is named.
#[derive(Clone, Copy, Default)]
pub struct SpaceNames<'a> {
    /// Names of operations; none: all that the form has.
    pub kinds: &'a [String],
    /// Groups of lines, as in `AB`; none: those that are usual for the number of lines.
    pub groups: &'a [String],
    /// Names of other forms: programs are those that designs of these forms run, too.
    pub forms: &'a [String],
    /// The operations with which each program begins, as the text of a program; empty: any.
    pub beginning: &'a str,
}

impl Space {
    /// Programs that each of `designs` runs, of at most `operations` operations over at most `lines` lines, on each of `cores` cores.
    ///
    /// # Errors
    /// One sentence about a number or a name.
    pub fn new(
        designs: &[&Design],
        (operations, lines, cores): (u64, u64, u64),
        names: SpaceNames<'_>,
    ) -> Result<Self, ConfigError> {
        let bounds =
            [("operations", operations, OPERATIONS_MAX), ("lines", lines, LINES_MAX), ("cores", cores, CORES_MAX)];
        for (name, value, most) in bounds {
            if !(1..=most).contains(&value) {
                return Err(ConfigError(format!("{name}: {value} is not from 1 to {most}")));
            }
        }
        let mut forms: Vec<ProgramForm> = designs.iter().map(|design| design.form).collect();
        forms.extend(names.forms.iter().map(|name| form_named(name)).collect::<Result<Vec<_>, _>>()?);
        if cores > 1 && forms.contains(&ProgramForm::HardwareLogged) {
            return Err(ConfigError(format!("cores: {cores}: {}", Litmus::LOGGED_ALONE)));
        }
        let usual = |kind: StepKind| match kind {
            StepKind::Wait => false,
            StepKind::EvictCounters => designs.iter().any(|design| design.has_counter_cache()),
            StepKind::ZeroPage => {
                cores == 1 && designs.iter().any(|design| design.shreds_pages()) && kind.is_in_all(&forms)
            }
            kind => kind.is_in_all(&forms),
        };
        let mut kinds: Vec<StepKind> = StepKind::VARIANTS.iter().copied().filter(|kind| usual(*kind)).collect();
        if !names.kinds.is_empty() {
            let named =
                names.kinds.iter().map(|name| kind_named(name, designs, &forms)).collect::<Result<Vec<_>, _>>()?;
            kinds = StepKind::VARIANTS.iter().copied().filter(|kind| named.contains(kind)).collect();
            if cores > 1 && kinds.contains(&StepKind::ZeroPage) {
                let name = StepKind::ZeroPage.name();
                return Err(ConfigError(format!(
                    "steps: {name} is for programs of one core: {}",
                    Litmus::ZEROED_ALONE
                )));
            }
        }
        let groups = match names.groups {
            [] => {
                let usual = GROUPS.iter().take(lines as usize).flat_map(|groups| groups.iter());
                usual.map(|name| group_named(name)).collect::<Result<Vec<_>, _>>()?
            }
            named => named.iter().map(|name| group_named(name)).collect::<Result<Vec<_>, _>>()?,
        };
        let beginning = match names.beginning {
            "" => Vec::new(),
            _ if cores > 1 => {
                return Err(ConfigError(format!(
                    "beginning: programs of {cores} cores have more than one; leave it out"
                )));
            }
            text => beginning_of(text, operations, &kinds)?,
        };
        Ok(Self { operations: operations as usize, cores: cores as usize, kinds, groups, forms, beginning })
    }

    /// Most operations of all cores together.
    pub fn length_max(&self) -> usize {
        self.operations * self.cores
    }

    /// The programs of exactly `length` operations over all lines of `group`, until `visit` breaks.
    pub fn programs(
        &self,
        group: &[u8],
        length: usize,
        visit: &mut impl FnMut(Litmus) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if self.cores > 1 {
            return together::programs(self, group, length, visit);
        }
        self.sequences(group, length, &mut |steps| visit(Litmus::of(steps)))
    }

    /// The programs of one core of exactly `length` operations over all lines of `group`, until `visit` breaks.
    fn sequences(
        &self,
        group: &[u8],
        length: usize,
        visit: &mut impl FnMut(&[Step]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let alphabet = self.alphabet(group);
        let older = older(group);
        if length < self.beginning.len() {
            return ControlFlow::Continue(());
        }
        self.extend(&alphabet, &older, length, &mut Vec::with_capacity(length), visit)
    }

    /// How many programs there are.
    ///
    /// # Errors
    /// One sentence if there are too many, or none.
    pub fn count(&self) -> Result<u64, ConfigError> {
        let too_many = || {
            ConfigError(format!(
                "operations: there are more than {PROGRAMS_MAX} programs of {} operations; say fewer, or name those of interest with \
                 'steps'",
                self.operations
            ))
        };
        if self.cores > 1 && together::least(self) > PROGRAMS_MAX {
            return Err(too_many());
        }
        let mut all = 0;
        let counted = |number: &mut u64| {
            *number += 1;
            if *number > PROGRAMS_MAX { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        for length in 1..=self.length_max() {
            for group in &self.groups {
                let enough = match self.cores {
                    1 => self.sequences(group, length, &mut |_| counted(&mut all)),
                    _ => self.programs(group, length, &mut |_| counted(&mut all)),
                };
                if enough.is_break() {
                    return Err(too_many());
                }
            }
        }
        match (all, &self.beginning[..]) {
            (0, []) => Err(ConfigError(format!(
                "operations: no program of up to {} of these operations stores anything and keeps to the contract",
                self.operations
            ))),
            (0, beginning) => {
                let beginning = Litmus::of(beginning);
                Err(ConfigError(format!("beginning: none of these programs begins with '{beginning}'")))
            }
            _ => Ok(all),
        }
    }

    /// Whether any of the operations is about a line.
    pub(super) fn has_lines(&self) -> bool {
        self.kinds.iter().any(|kind| kind.has_line())
    }

    pub(super) fn alphabet(&self, group: &[u8]) -> Vec<Step> {
        let of_kind = |kind: &StepKind| {
            let lines = if kind.has_line() { group } else { &[0][..] };
            let kind = *kind;
            lines.iter().map(move |line| Step { kind, line: *line }).collect::<Vec<_>>()
        };
        self.kinds.iter().flat_map(of_kind).collect()
    }

    fn extend(
        &self,
        alphabet: &[Step],
        older: &[(u8, u8)],
        length: usize,
        steps: &mut Vec<Step>,
        visit: &mut impl FnMut(&[Step]) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if steps.len() == length {
            return if self.is_complete(alphabet, steps) { visit(steps) } else { ControlFlow::Continue(()) };
        }
        for step in alphabet {
            if self.beginning.get(steps.len()).is_some_and(|only| only != step) {
                continue;
            }
            let uses = |line: u8| steps.iter().any(|step| step.kind.has_line() && step.line == line);
            if step.kind.has_line() && older.iter().any(|&(first, then)| then == step.line && !uses(first)) {
                continue;
            }
            steps.push(*step);
            if contract::begins(steps, &self.forms, true) {
                self.extend(alphabet, older, length, steps, visit)?;
            }
            steps.pop();
        }
        ControlFlow::Continue(())
    }

    fn is_complete(&self, alphabet: &[Step], steps: &[Step]) -> bool {
        let used = |line: u8| steps.iter().any(|step| step.kind.has_line() && step.line == line);
        alphabet.iter().filter(|step| step.kind.has_line()).all(|step| used(step.line)) && contract::ends(steps)
    }
}

/// Which lines of a group may only appear after which others, because they are interchangeable and come later.
fn older(group: &[u8]) -> Vec<(u8, u8)> {
    let mut pairs = Vec::new();
    for (place, &then) in group.iter().enumerate() {
        let alike = |first: &&u8| interchangeable(group, **first, then);
        if let Some(first) = group[..place].iter().rev().find(alike) {
            pairs.push((*first, then));
        }
    }
    pairs
}

/// Whether two lines of a group lie in the same way to all others.
pub(super) fn interchangeable(group: &[u8], one: u8, two: u8) -> bool {
    group.iter().all(|other| same_distance(one, two, *other))
}

/// Whether two lines lie in the same way to `other`, if it is a third one.
fn same_distance(one: u8, two: u8, other: u8) -> bool {
    other == one || other == two || distance(one, other) == distance(two, other)
}

/// What two lines have in common: counter block of eight lines, page, counter block of two pages, parity of the page (banks),
/// eight pages (a node).
fn distance(one: u8, two: u8) -> [bool; 5] {
    let [one, two] = [one, two].map(|place| PLACES[usize::from(place)].line.0);
    [8, 64, 64 * 2, 64 * 8]
        .map(|lines| one / lines == two / lines)
        .into_iter()
        .chain([one / 64 % 2 == two / 64 % 2])
        .collect::<Vec<_>>()
        .try_into()
        .expect("there are five")
}

fn kind_named(name: &str, designs: &[&Design], forms: &[ProgramForm]) -> Result<StepKind, ConfigError> {
    let known = StepKind::VARIANTS.iter().filter(|kind| kind.is_in_all(forms));
    let known: Vec<&str> = known.map(|kind| kind.name()).collect();
    match StepKind::named(name) {
        Some(kind) if kind.is_in_all(forms) => Ok(kind),
        Some(_) => {
            let names: Vec<String> = designs.iter().map(|design| format!("'{}'", design.name)).collect();
            let runs = match &names[..] {
                [one] if forms.len() == 1 => format!("design {one} runs (it has: "),
                [one] => format!("design {one} and those of the forms that are named run (they have: "),
                all => format!("designs {} both run (they have: ", all.join(" and ")),
            };
            Err(ConfigError(format!("steps: '{name}' is in no program that {runs}{})", known.join(", "))))
        }
        None => Err(crate::config::unknown_name("steps", name, &known)),
    }
}

fn form_named(name: &str) -> Result<ProgramForm, ConfigError> {
    let named = |form: &ProgramForm| -> &'static str { form.into() };
    let known: Vec<&str> = ProgramForm::VARIANTS.iter().map(named).collect();
    let found = ProgramForm::VARIANTS.iter().copied().find(|form| named(form) == name);
    found.ok_or_else(|| crate::config::unknown_name("forms", name, &known))
}

/// The operations of `text`, with which programs of at most so many `operations` of `kinds` begin.
fn beginning_of(text: &str, operations: u64, kinds: &[StepKind]) -> Result<Vec<Step>, ConfigError> {
    let of_one = Litmus::parse(text)?.filter(|program| program.cores.len() == 1);
    let Some(steps) = of_one.and_then(|program| program.cores.into_iter().next()) else {
        return Err(ConfigError(format!("beginning: '{text}' is no program of one core, as in 'store A; clwb A'")));
    };
    if steps.len() as u64 > operations {
        return Err(ConfigError(format!(
            "beginning: '{text}' has {} operations; programs have at most {operations}",
            steps.len()
        )));
    }
    match steps.iter().find(|step| !kinds.contains(&step.kind)) {
        Some(step) => Err(ConfigError(format!("beginning: these programs do not have '{}'", step.kind.name()))),
        None => Ok(steps),
    }
}

fn group_named(name: &str) -> Result<Vec<u8>, ConfigError> {
    let wrong = |why: &str| Err(ConfigError(format!("places: '{name}' {why}, as in 'AB'; the lines are A to F")));
    let mut group: Vec<u8> = Vec::new();
    for letter in name.chars() {
        match PLACES.iter().position(|place| place.name.starts_with(letter)) {
            None => return wrong("names a line that is none"),
            Some(place) if group.contains(&(place as u8)) => return wrong("names a line twice"),
            Some(place) => group.push(place as u8),
        }
    }
    match group.len() as u64 {
        0 => wrong("names no line"),
        1..=LINES_MAX => Ok(group),
        _ => wrong("names more than four lines"),
    }
}

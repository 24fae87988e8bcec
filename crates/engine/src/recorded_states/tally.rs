//! What was explored of a recorded program, and its sentence.

use super::point::{Extent, Point, Tried};
use super::report::plural;
use crate::crash::CrashPlan;

/// A reading of the whole trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pass {
    /// Only crash points of a kind that has not been met in this pass.
    pub new_kinds: bool,
    pub extent: Extent,
}

/// Mistakes of a program are usually made again and again: what is most likely to show one is tried first, once for each
/// kind of crash point.
pub(super) const PASSES: [Pass; 3] = [
    Pass { new_kinds: true, extent: Extent::Single },
    Pass { new_kinds: true, extent: Extent::Whole },
    Pass { new_kinds: false, extent: Extent::Whole },
];

/// Which moments are crash points, besides the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Points {
    pub caches_persist: bool,
    /// The bytes of a sector, if the files are on a disk.
    pub sector: Option<u64>,
    /// Marks are, too.
    pub marks: bool,
}

impl Points {
    /// The operations.
    pub fn what(self) -> &'static str {
        match (self.caches_persist, self.sector) {
            (true, _) => "store, or a fence that makes something durable",
            (_, None) => "fence or flush that makes something durable",
            (_, Some(_)) => "sync that makes something durable",
        }
    }

    /// What says which states are legal, and what of them is lost or kept alone.
    fn rules(self) -> (String, &'static str) {
        match self.sector {
            None => ("The rules of x86 allow".to_owned(), "line"),
            Some(bytes) => (format!("A disk that writes sectors of {bytes} bytes whole allows"), "sector"),
        }
    }
}

/// Counts of one pass.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    /// Crash points passed by, and those that were explored.
    pub passed: u64,
    pub points: u64,
    pub exhaustive: u64,
    pub singles: u64,
    /// Points at which only states of memory that need not become durable are left out.
    pub durable: u64,
    /// Those of the exhaustive ones at which what the command reads has decided most states, and the classes of states at
    /// all points that were decided so.
    pub by_reads: u64,
    pub classes: u64,
    /// Number of legal states, equal ones at different points counted at each; `None` if it is not known exactly.
    exactly: Option<u64>,
    /// Its logarithm to base 2, or that of an upper bound.
    bits: f64,
}

impl Tally {
    pub fn add(&mut self, point: &Point, tried: Tried) {
        let before = if self.points == 0 { Some(0) } else { self.exactly };
        self.exactly = before.and_then(|sum| sum.checked_add(point.exactly?));
        self.bits = if self.points == 0 { point.bits } else { sum_of_powers(self.bits, point.bits) };
        self.points += 1;
        self.exhaustive += u64::from(matches!(tried, Tried::Every | Tried::Classes));
        self.by_reads += u64::from(tried == Tried::Classes);
        self.singles += u64::from(tried == Tried::Singles);
        self.durable += u64::from(tried == Tried::Durable);
    }

    /// Whether every legal state was tried.
    pub fn is_exhaustive(&self) -> bool {
        self.exhaustive == self.points
    }

    /// The same if nothing is decided by what the command reads.
    pub fn without_reads(self) -> Self {
        Self { exhaustive: self.exhaustive - self.by_reads, by_reads: 0, ..self }
    }

    /// The sentence; `images`: number of different images that were tried, `budget`: states tried at a point.
    pub fn coverage(&self, plan: CrashPlan, pass: Pass, images: u64, budget: u64, which: Points) -> String {
        let Self { passed, points, exhaustive, singles, durable, .. } = *self;
        let ((rules, unit), what) = (which.rules(), which.what());
        let or = if which.marks { ", before a mark, or" } else { ", or" };
        let points_told = format!("just before a {what}{or} at the end; what is legal between them is legal there");
        let which = match (plan, pass.new_kinds) {
            (CrashPlan::At(record), _) => format!("before record {record} of the trace"),
            (_, true) => {
                format!("at {points} of the first {passed} points of the trace, one of each kind, each {points_told}")
            }
            (_, false) => format!("at {} of the trace, each {points_told}", plural(points, "point")),
        };
        let states = match self.exactly {
            Some(exactly) => format!("{exactly}"),
            None => format!("about 2^{:.0}", self.bits),
        };
        let mut told = format!(
            "Legal states of the recorded program: power failed {which}. {rules} {states} states, equal ones \
             counted at each point; {images} different images were tried."
        );
        if pass.extent == Extent::Single {
            return told + &format!(" At each point, only states in which one {unit} is lost or one is kept.");
        }
        if exhaustive == points {
            return told + " Exhaustive: no legal state is left out.";
        }
        if exhaustive > 0 || durable == 0 {
            told += &format!(" Exhaustive at {exhaustive} points.");
        }
        if durable > 0 {
            told += &format!(
                " Exhaustive at {durable} but for memory that the program has declared not persistent, of which states up to \
                 {budget} were tried."
            );
        }
        if singles > 0 {
            told += &format!(
                " Bounded at {singles}: every state in which all {unit}s but one have arrived, or only one has, and others up \
                 to {budget}."
            );
        }
        let some = points - exhaustive - durable - singles;
        if some > 0 {
            told += &format!(
                " In part at {some}: the states in which one of the {unit}s stored to last is the only one lost or the only one \
                 kept, and others up to {budget}."
            );
        }
        told
    }
}

/// The logarithm of the sum of two powers of two, from their logarithms.
fn sum_of_powers(one: f64, other: f64) -> f64 {
    let (most, least) = (one.max(other), one.min(other));
    most + (1.0 + (least - most).exp2()).log2()
}

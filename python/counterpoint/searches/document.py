"""The document that `search --json` prints; `make contract` publishes its JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..contract.request import Variant
from .goals import Limit, Objective, Promise
from .space import Value
from .verdict import Counterexample, State


@dataclass(frozen=True)
class FoundCandidate:
    """A candidate and what became of it.

    Attributes:
        name: a digest of what it states, which files of it are named after.
        called: the known design that it is nearest to, and what it has instead.
        state: what became of it.
        set: what it states on top of the base, as `--set` takes it.
        parts: the parts of the design.
        machine: machine values that vary.
        crash_points: power failures that it has survived.
        tiers_passed: how many tiers of tests it has passed.
        figures: those that goals name; none unless it was measured. Over several seeds, the means.
        halves: half the width of the 95 % interval of each figure over the seeds (Student); none with one seed.
        beyond_limits: by what share of a bound it is beyond the limits; 0 if it is within.
        why: why it is refused or passed over, or which rule rules it out.
        counterexample: a power failure that it does not survive.
    """

    name: str
    called: str
    state: State
    set: tuple[str, ...]
    parts: Mapping[str, Value]
    machine: Mapping[str, Value]
    crash_points: int
    tiers_passed: int
    figures: Mapping[str, float | None]
    halves: Mapping[str, float]
    beyond_limits: float
    why: str
    counterexample: Counterexample | None


@dataclass(frozen=True)
class OnFront(FoundCandidate):
    """A candidate of the front.

    Attributes:
        designs: the built-in designs with its parts.
        equals: what other candidates with its figures that break nothing are called.
    """

    designs: tuple[str, ...]
    equals: tuple[str, ...]


@dataclass(frozen=True)
class BuiltIn(FoundCandidate):
    """A built-in design, judged as the candidates are.

    Attributes:
        design: its name.
        on_front: whether it is on the front.
        beaten_by: what candidates of the front are called that beat it in every objective or are as good.
    """

    design: str
    on_front: bool
    beaten_by: tuple[str, ...]


@dataclass(frozen=True)
class Refusal:
    """Why the engine refuses points.

    Attributes:
        sentence: why.
        points: how many.
    """

    sentence: str
    points: int


@dataclass(frozen=True)
class Refusals:
    """The points that the engine refuses.

    Attributes:
        points: how many.
        reasons: why, the most frequent first.
    """

    points: int
    reasons: tuple[Refusal, ...]


@dataclass(frozen=True)
class Learned:
    """A rule that the search has learned.

    Attributes:
        says: the rule in words.
        values: parts and machine values by key that are refuted together.
        ruled_out: candidates that it ruled out.
        tested: candidates that have these values and failed the test.
        example: what showed it first.
    """

    says: str
    values: Mapping[str, Value]
    ruled_out: int
    tested: int
    example: Counterexample | None


@dataclass(frozen=True)
class Unfit:
    """A known design that is not judged.

    Attributes:
        design: its name.
        why: why the engine does not take it with the promise of the goals on their machine.
    """

    design: str
    why: str


@dataclass(frozen=True)
class SearchDocument:
    """What a search found.

    Attributes:
        name: of the goals.
        store: the file of everything that was computed.
        base: the design that candidates differ from.
        machine: the machine of every run.
        variant: the reading of designs.
        workloads: the programs that are measured.
        crash_workloads: those of the crash tests.
        promise: what a candidate must keep.
        seeds: with which the front and the known designs are measured; the others with the first.
        objectives: figures that are made small or large.
        limits: bounds on figures.
        points: of the space.
        points_tried: those that were looked at.
        points_left_out: those that conditions of the goals leave out.
        points_refused: those that the engine refuses.
        complete: every candidate of the space was looked at.
        figures_lacking: figures that goals name and no candidate has.
        candidates: how many there are of each state; `valid` are those that the engine takes.
        front: the candidates that hold, are within the limits and are beaten by none.
        refuted: those that failed a test.
        rules: what was learned.
        references: the built-in designs.
        unfit: known designs that are not judged.
    """

    name: str
    store: str
    base: str
    machine: str
    variant: Variant
    workloads: tuple[str, ...]
    crash_workloads: tuple[str, ...]
    promise: Promise
    seeds: tuple[int, ...]
    objectives: tuple[Objective, ...]
    limits: tuple[Limit, ...]
    points: int
    points_tried: int
    points_left_out: int
    points_refused: Refusals
    complete: bool
    figures_lacking: tuple[str, ...]
    candidates: Mapping[str, int]
    front: tuple[OnFront, ...]
    refuted: tuple[FoundCandidate, ...]
    rules: tuple[Learned, ...]
    references: tuple[BuiltIn, ...]
    unfit: tuple[Unfit, ...]

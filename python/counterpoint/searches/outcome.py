"""What a search found."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..contract.printed import document
from ..contract.request import literal
from ..system import units
from ..system.shown import Shown
from ..verbs import catalogue
from ..verbs.interval import Estimate
from .document import BuiltIn, FoundCandidate, Learned, OnFront, Refusal, Refusals, SearchDocument, Unfit
from .front import dominates, front, vector
from .goals import Goals
from .judge import plainness
from .naming import Names
from .rules import Rule
from .space import Candidate, Value, differences
from .verdict import Judged

if TYPE_CHECKING:
    import polars as pl


REASONS_MAX = 100
"""Reasons for refusals that a document has, the most frequent first."""

_NAMED = 3
"""Candidates that are named where several beat a design."""


@dataclass(frozen=True)
class Reference:
    """A built-in design, judged as the candidates are."""

    design: str
    judged: Judged


@dataclass(frozen=True)
class Points:
    """What became of points of the space.

    Attributes:
        tried: how many were looked at; of a space that was looked at completely, all.
        left_out: those that conditions of the goals leave out.
        refused: why the engine refuses points, because their parts or values contradict each other, and how many; the
            most frequent reason first.
    """

    tried: int
    left_out: int
    refused: Mapping[str, int]

    @property
    def refusals(self) -> int:
        """Points that the engine refuses."""
        return sum(self.refused.values())


@dataclass(frozen=True, repr=False)
class SearchReport(Shown):
    """What a search found.

    Attributes:
        store: the file of everything that was computed.
        judged: the candidates, in the order in which they were looked at.
        tiers: the kinds of crash tests, in order.
        rules: what was learned, of which each ruled some out.
        references: the built-in designs on the machine of the goals.
        unfit: known designs that are not judged, because the engine does not take them with the promise of the goals
            on their machine, each with the sentence that says why.
        points: what became of the points of the space.
        complete: every candidate of the space was looked at.
        computed: what was computed now; the rest was in the store.
        seeds: with which the front and the known designs were measured in the end; none: with that of the goals alone.
        intervals: their figures over these seeds, by name.
    """

    goals: Goals
    store: Path
    judged: tuple[Judged, ...]
    tiers: tuple[str, ...]
    rules: tuple[Rule, ...]
    references: tuple[Reference, ...]
    unfit: Mapping[str, str]
    points: Points
    complete: bool
    computed: int
    seeds: tuple[int, ...] = ()
    intervals: Mapping[Candidate, Mapping[str, Estimate]] = field(default_factory=dict)

    def __repr__(self) -> str:
        """What it is about, and how many designs it found."""
        front = units.count_of(len(self.front), "design")
        candidates = units.count_of(self.valid, "candidate")
        return f"<Search {units.printable(self.goals.name)}: {front} on the front of {candidates}>"

    @cached_property
    def front(self) -> tuple[Judged, ...]:
        """The candidates that hold, are within the limits and are beaten by none, by the first objective.

        Of those with the same figures it has one: a built-in design if one is among them, else the one that differs
        least from the base.
        """
        return tuple(group[0] for group in self._groups)

    def equals(self, judged: Judged) -> tuple[Judged, ...]:
        """The other candidates with the figures of one of the front that break nothing in the tests that they had."""
        place = vector(judged, self.goals.objectives)
        return tuple(one for one in self._passing.get(place, ()) if one is not judged)

    @cached_property
    def _passing(self) -> Mapping[tuple[float, ...], Sequence[Judged]]:
        """Candidates within the limits that hold or were passed over, by figures."""
        return self._by_figures(one for one in self.judged if one.passed and one.excess == 0.0)

    @cached_property
    def _groups(self) -> tuple[tuple[Judged, ...], ...]:
        """The front by figures, in each group the one that stands for it first."""
        groups = self._by_figures(front(self.judged, self.goals.objectives))
        return tuple(tuple(sorted(group, key=self._plainness)) for group in groups.values())

    def _by_figures(self, judged: Iterable[Judged]) -> Mapping[tuple[float, ...], Sequence[Judged]]:
        found: dict[tuple[float, ...], list[Judged]] = {}
        for one in judged:
            found.setdefault(vector(one, self.goals.objectives), []).append(one)
        return found

    def _plainness(self, judged: Judged) -> tuple[bool, int, str]:
        return not self.names_of(judged), *plainness(judged.candidate)

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """How many candidates there are of each state."""
        return Counter(one.state for one in self.judged)

    @property
    def valid(self) -> int:
        """Candidates that the engine takes."""
        return len(self.judged) - self.counts.get("refused", 0)

    @property
    def lacking(self) -> list[str]:
        """Figures that goals name and no candidate has that was measured."""
        measured = [one.figures for one in self.judged if one.figures]
        return [name for name in self.goals.figures if measured and all(each.get(name) is None for each in measured)]

    @cached_property
    def names(self) -> Names:
        """What candidates are called by the parts that they are made of."""
        space = self.goals.space
        known = {one.design: one.judged.candidate.parts for one in self.references if one.judged.candidate.parts}
        base = units.name_of(space.base)
        of_base = known.get(base) or catalogue.effective_parts(space.base, variant=space.variant)
        # The design that the space builds on comes first.
        return Names({base: of_base, **known}, (one.candidate for one in self.judged))

    def names_of(self, judged: Judged) -> list[str]:
        """The built-in designs with the parts of a candidate."""
        return [one.design for one in self.references if one.judged.candidate.parts == judged.candidate.parts]

    def beaten_by(self, reference: Reference) -> list[Judged]:
        """The candidates of the front that beat a built-in design in every objective or are as good."""
        place = vector(reference.judged, self.goals.objectives)
        return [one for one in self.front if dominates(vector(one, self.goals.objectives), place)]

    def figure(self, judged: Judged, name: str) -> Estimate | None:
        """A figure of a candidate, over the seeds where there are several; None where it has none."""
        value = judged.figures.get(name)
        one_seed = None if value is None else Estimate(value, None)
        return self.intervals.get(judged.candidate, {}).get(name, one_seed)

    def differs(self, one: Judged, other: Judged) -> bool:
        """Whether two candidates differ in an objective: over several seeds, whether their intervals do not meet."""
        for objective in self.goals.objectives:
            mine, its = (self.figure(each, objective.figure) for each in (one, other))
            if mine is not None and its is not None and not mine.meets(its):
                return True
        return False

    def outcome_of(self, reference: Reference) -> str:
        """What became of a built-in design, in a few words."""
        judged = reference.judged
        if judged.state == "refused":
            return "cannot be tested here"
        if judged.counterexample is not None:
            shown = judged.counterexample
            return f"breaks '{shown.rule}' with {shown.workload} ({shown.test})"
        if judged.state != "holds":
            return "fails a test"
        if judged.excess:
            return "beyond the limits"
        if reference.design in self._on_front:
            return "on the front"
        better = self.beaten_by(reference)
        if better and not any(self.differs(one, judged) for one in better):
            return f"does not differ from {self.names.of(better[0].candidate)}: the intervals meet"
        beaten = [self.names.of(one.candidate) for one in better if self.differs(one, judged)]
        more = "; ..." if len(beaten) > _NAMED else ""
        # Names have commas in them.
        return f"beaten by {'; '.join(beaten[:_NAMED])}{more}" if beaten else "beaten by none found"

    def why(self, judged: Judged) -> str:
        """Why a candidate is refused or passed over, or which rule rules it out; others are called by their parts."""
        return self.names.in_words(judged.why)

    def steps(self) -> list[tuple[Judged, Judged, dict[str, tuple[Value | None, Value | None]]]]:
        """Neighbours along the front, and what changes from one to the next."""
        pairs = zip(self.front, self.front[1:], strict=False)
        return [(one, other, differences(one.candidate, other.candidate)) for one, other in pairs]

    def frame(self) -> pl.DataFrame:
        """A row per candidate: its name, what it is called by its parts, its state and why.

        Then whether it is on the front, its figures, parts and machine values.
        """
        import polars as pl

        on_front = {one.candidate for group in self._groups for one in group}
        figures = self.goals.figures
        keys = dict.fromkeys(key for one in self.judged for key in one.candidate.values)
        return pl.DataFrame(
            [
                {
                    "name": one.candidate.name,
                    "called": self.names.of(one.candidate),
                    "state": one.state,
                    "why": self.why(one),
                    "front": one.candidate in on_front,
                    "crash_points": one.crash_points,
                    **{figure: one.figures.get(figure) for figure in figures},
                    **{key: _text(one.candidate.values.get(key)) for key in keys},
                }
                for one in self.judged
            ],
            infer_schema_length=None,
        )

    def to_dict(self) -> dict[str, Any]:
        """The document that `search --json` prints."""
        goals = self.goals
        reasons = [Refusal(why, many) for why, many in self.points.refused.items()]
        found = SearchDocument(
            name=goals.name,
            store=os.fspath(self.store),
            base=goals.space.base,
            machine=goals.machine,
            variant=goals.space.variant,
            workloads=goals.workloads,
            crash_workloads=goals.crash_workloads,
            promise=goals.promise,
            seeds=self.seeds or (goals.run.get("seed", 1),),
            objectives=goals.objectives,
            limits=goals.limits,
            points=goals.space.size,
            points_tried=self.points.tried,
            points_left_out=self.points.left_out,
            points_refused=Refusals(self.points.refusals, tuple(reasons[:REASONS_MAX])),
            complete=self.complete,
            figures_lacking=tuple(self.lacking),
            candidates={"valid": self.valid, **self.counts},
            front=tuple(
                OnFront(
                    **self._found(one),
                    designs=tuple(self.names_of(one)),
                    equals=tuple(self.names.of(other.candidate) for other in self.equals(one)),
                )
                for one in self.front
            ),
            refuted=tuple(FoundCandidate(**self._found(one)) for one in self.judged if one.state == "refuted"),
            rules=tuple(
                Learned(str(rule), dict(rule.values), len(rule.covers), rule.tested, rule.example)
                for rule in self.rules
            ),
            references=tuple(
                BuiltIn(
                    **self._found(one.judged),
                    design=one.design,
                    on_front=one.design in self._on_front,
                    beaten_by=tuple(self.names.of(other.candidate) for other in self.beaten_by(one)),
                )
                for one in self.references
            ),
            unfit=tuple(Unfit(design, why) for design, why in self.unfit.items()),
        )
        return document(found)

    def _found(self, judged: Judged) -> dict[str, Any]:
        """The fields of a `FoundCandidate`."""
        one = judged.candidate
        over = self.intervals.get(one, {})
        return {
            "name": one.name,
            "called": self.names.of(one),
            "state": judged.state,
            "set": one.sets,
            "parts": dict(one.parts),
            "machine": dict(one.machine),
            "crash_points": judged.crash_points,
            "tiers_passed": judged.tiers_passed,
            "figures": {**judged.figures, **{name: value.mean for name, value in over.items()}},
            "halves": {name: value.half for name, value in over.items() if value.half is not None},
            "beyond_limits": judged.excess,
            "why": self.why(judged),
            "counterexample": judged.counterexample,
        }

    @cached_property
    def _on_front(self) -> frozenset[str]:
        return frozenset(name for group in self._groups for one in group for name in self.names_of(one))


def _text(value: Value | None) -> str | None:
    return None if value is None else literal(value)

"""The search over what a paper leaves open, once for all of its claims, and how claims depend on each decision.

A decision is one machine value of the paper's preset, the same for every workload and every point. The search begins
at the values that were chosen before any claim was looked at and takes the decisions in their declared order. For each
it tries the whole declared range, with all others fixed, and keeps what scores best. It ends with a round that changes
nothing.

The score of a claim's point is 1 where it holds, and 1 / (1 + m) where it is missed by m tolerances; that of the paper
is the mean over its claims of the means over their points. Claims that are arithmetic (kind `exact`) are not counted:
no decision can change them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from .. import api
from .._engine import InputError
from ..matrix import Matrix, Point, Value
from . import claims
from .declared import ClaimSpec, DecisionSpec, Experiment, experiments, paper
from .model import Claim
from .quantity import key_of
from .reproduce import judge, measure

Assignment: TypeAlias = tuple[tuple[str, Value], ...]
"""A value for each decision, in their declared order."""

ROUNDS_MAX = 4
"""Largest number of rounds; a search that reaches it is reported as not ended."""

GAIN_MIN = 0.01
"""What a value must add to the score to be kept. Another seed alone moves the scores of four papers by 0.004 or less
(standard deviation of a difference, four seeds, at the scale of the search); that of counter-atomicity, of which a
claim lies on its edge, by 0.09, and nothing is kept there."""


@dataclass(frozen=True)
class Outcome:
    """The claims of a paper as measured with one assignment.

    Attributes:
        values: the assignment.
        score: between 0 and 1; 0 where the engine refuses it.
        claims: as measured; empty where the engine refuses it.
        refused: why, in the engine's words; empty otherwise.
    """

    values: Assignment
    score: float
    claims: tuple[Claim, ...]
    refused: str = ""


@dataclass(frozen=True)
class Trial:
    """One value of one decision, with all others fixed.

    Attributes:
        key: the decision.
        value: the value that was tried.
        outcome: the outcome with it.
        kept: whether the search continued with this value.
    """

    key: str
    value: Value
    outcome: Outcome
    kept: bool


@dataclass(frozen=True)
class Round:
    """A round over all decisions: the trials, and the outcome that was kept."""

    trials: tuple[Trial, ...]
    kept: Outcome


@dataclass(frozen=True)
class Calibration:
    """The search of one paper.

    Attributes:
        paper: its name.
        decisions: what it leaves open.
        start: where the search began.
        rounds: what it did; the trials of the last, which changed nothing, are the sensitivity of the claims.
        ended: whether the last round changed nothing.
        setting: what was simulated, in words.
    """

    paper: str
    decisions: tuple[DecisionSpec, ...]
    start: Outcome
    rounds: tuple[Round, ...]
    ended: bool
    setting: str

    @property
    def chosen(self) -> Outcome:
        """The outcome where the search ended."""
        return self.rounds[-1].kept

    def to_dict(self) -> dict[str, Any]:
        """The document, as `calibrate --json` prints it."""
        return {
            "paper": self.paper,
            "setting": self.setting,
            "ended": self.ended,
            "start": _outcome(self.start),
            "chosen": _outcome(self.chosen),
            "rounds": [
                [{"key": trial.key, "value": trial.value, **_outcome(trial.outcome)} for trial in walk.trials]
                for walk in self.rounds
            ],
        }


def calibrate(name: str, *, workers: int = 0, progress: api.Progress | None = None) -> Calibration:
    """Searches the declared ranges of a paper's decisions for the values that meet its claims best.

    Args:
        name: a paper.
        workers: simulations at a time; 0 is one per processor, and there are never more.
        progress: told how many of the trials of a round, times rounds so far, are done.
    """
    decisions = paper(name).decisions
    search = _Search(name, workers)
    start = search.outcomes([tuple((spec.key, spec.start) for spec in decisions)])[0]
    kept, done = start, 0
    rounds: list[Round] = []
    while len(rounds) < ROUNDS_MAX:
        before, trials = kept, []
        for spec in decisions:
            tried = search.outcomes([_with(kept.values, spec.key, value) for value in spec.range])
            best = max(tried, key=lambda outcome: outcome.score)
            gained = best.score > kept.score + GAIN_MIN
            trials += [
                Trial(spec.key, value, outcome, gained and outcome is best)
                for value, outcome in zip(spec.range, tried, strict=True)
            ]
            kept = best if gained else kept
            done += len(spec.range)
            if progress:
                progress(done, (len(rounds) + 1) * sum(len(each.range) for each in decisions))
        rounds.append(Round(tuple(trials), kept))
        if kept is before:
            break
    return Calibration(name, decisions, start, tuple(rounds), kept is before, _setting(name))


def score(judged: Iterable[Claim]) -> float:
    """How well claims are met, between 0 and 1."""
    found = [[1 / (1 + miss) for miss in claims.misses(claim)] for claim in judged]
    return sum(sum(points) / len(points) for points in found) / len(found)


class _Search:
    """Outcomes of assignments, each simulated once."""

    def __init__(self, name: str, workers: int) -> None:
        self.name, self.workers = name, workers
        self.known: dict[Assignment, Outcome] = {}

    def outcomes(self, asked: Sequence[Assignment]) -> list[Outcome]:
        """The outcome of each assignment; all new assignments are simulated together."""
        new: dict[Assignment, list[Experiment]] = {}
        for values in asked:
            if values in self.known or values in new:
                continue
            declared = _judged_only(experiments(self.name, "calibration", dict(values)))
            if refused := _refused(declared):
                self.known[values] = Outcome(values, 0.0, (), refused)
            else:
                new[values] = declared
        together = [experiment for declared in new.values() for experiment in declared]
        measured = iter(measure(together, self._simulate) if together else ())
        for values, declared in new.items():
            judged = tuple(claim for _ in declared for claim in judge(next(measured)))
            self.known[values] = Outcome(values, score(judged), judged)
        return [self.known[values] for values in asked]

    def _simulate(self, requests: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [run.document for run in api.simulate(requests, workers=self.workers)]


def _judged_only(declared: Iterable[Experiment]) -> list[Experiment]:
    """Experiments with the claims that decisions can change, and only the runs that these need."""
    found = []
    for experiment in declared:
        specs = tuple(spec for spec in experiment.claims if claims.published()[spec.id]["kind"] != "exact")
        if specs:
            matrices = {
                name: replace(matrix, points=tuple(_needed(matrix, [s for s in specs if s.matrix == name])))
                for name, matrix in experiment.matrices.items()
            }
            found.append(replace(experiment, claims=specs, matrices=matrices, charts=(), tables=()))
    return found


def _needed(matrix: Matrix, specs: Iterable[ClaimSpec]) -> Iterable[Point]:
    keys = {key for spec in specs for pair in spec.quantity.keys(matrix) for key in pair}
    return (point for point in matrix.points if key_of(point) in keys)


def _refused(declared: Iterable[Experiment]) -> str:
    """Why the engine refuses an assignment; empty if it does not."""
    for experiment in declared:
        for matrix in experiment.matrices.values():
            for point in matrix.points[:1]:
                try:
                    api.resolve_request(point.request)
                except InputError as error:
                    return str(error)
    return ""


def _outcome(outcome: Outcome) -> dict[str, Any]:
    measured = {claim.id: {"measured": claim.measured, "holds": claim.holds} for claim in outcome.claims}
    return {
        "values": dict(outcome.values),
        "score": outcome.score,
        "claims": measured,
        "refused": outcome.refused or None,
    }


def _with(values: Assignment, key: str, value: Value) -> Assignment:
    return tuple((name, value if name == key else kept) for name, kept in values)


def _setting(name: str) -> str:
    document = paper(name).document
    shared = {**document["full"], **document["calibration"]}
    return ", ".join(f"{key} {value}" for key, value in shared.items())

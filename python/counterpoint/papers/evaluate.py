"""Claims of papers as measured with other choices for what the papers leave open: simulations, kept in a store.

The score of a claim's point is 1 where it holds, and 1 / (1 + m) where it is missed by m tolerances; that of a claim is
the mean over its points. Claims that are arithmetic (kind `exact`) are not measured: no decision changes them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from .._engine import EngineError, InputError
from ..runs import sweeps
from ..runs.matrix import Matrix, Point, Value
from ..runs.store import Store
from ..verbs import api
from . import claims
from .declared import ClaimSpec, Experiment, Scale, experiments
from .model import Claim
from .quantity import Document, key_of
from .reproduce import TIMING_ONLY, judge, measure, over_seeds, placed

Values: TypeAlias = tuple[tuple[str, Value], ...]
"""What a paper leaves open: values by key."""


@dataclass(frozen=True)
class Asked:
    """A paper with values for what it leaves open, and the seed of its programs."""

    paper: str
    values: Values
    seed: int


@dataclass(frozen=True)
class Outcome:
    """What came of one evaluation of a paper.

    Attributes:
        scores: of each claim, between 0 and 1; empty where the engine refuses the values, or a claim has no value.
        refused: why; empty otherwise.
        claims: as measured.
    """

    scores: Mapping[str, float]
    refused: str = ""
    claims: tuple[Claim, ...] = field(default=(), compare=False)


Told = Callable[[float], object]
"""Called with the share of a batch that is done."""


class Simulations:
    """Evaluations by simulation; each simulation is computed once and kept in a store."""

    def __init__(self, name: str, store: Store, workers: int) -> None:
        """Keeps simulations under the name of a sweep."""
        self._name, self._store, self._workers = name, store, workers

    def __call__(self, asked: Sequence[Asked], told: Told | None = None) -> list[Outcome]:
        """The outcome of each evaluation, in order; their simulations are computed together.

        Raises:
            EngineError: a simulation failed.
            Interrupted: Ctrl-C; what was finished is in the store.
        """
        return self._outcomes([[_declared(one, "calibration")] for one in asked], told)

    def at_full_length(
        self, asked: Sequence[tuple[str, Values]], seeds: Sequence[int], told: Told | None = None
    ) -> list[Outcome]:
        """Papers with values for what they leave open, measured as their figures are, over some seeds.

        Raises:
            EngineError: a simulation failed.
            Interrupted: Ctrl-C; what was finished is in the store.
        """
        return self._outcomes([[_declared(Asked(*one, seed), "full") for seed in seeds] for one in asked], told)

    def _outcomes(self, declared: Sequence[Sequence[Sequence[Experiment]]], told: Told | None) -> list[Outcome]:
        """What comes of papers, each with the experiments of every seed."""
        flat = [[experiment for each in seeds for experiment in each] for seeds in declared]
        refused = [_refused(one) for one in flat]
        admitted = [one for one, why in zip(flat, refused, strict=True) if not why]
        documents = self._documents(admitted, told)
        return [
            Outcome({}, why) if why else _judged(one, len(seeds), documents)
            for one, seeds, why in zip(flat, declared, refused, strict=True)
        ]

    def _documents(self, declared: Iterable[Sequence[Experiment]], told: Told | None) -> dict[str, Document | str]:
        """The documents of all runs by request; a sentence where the engine refuses to compute one."""
        requests = {_content(asked): asked for one in declared for asked in _requests(one)}
        if not requests:
            return {}
        ordered = list(requests)
        plan = sweeps.plan_requests(self._name, [requests[content] for content in ordered])
        sweeps.put(plan, self._store)
        progress = None if told is None else lambda done, total, _: told(done / max(total, 1))
        try:
            sweeps.compute(plan, self._store, workers=self._workers, progress=progress)
        except InputError:
            if not self._store.failures(plan.name):
                raise
        failed = {failure.key: failure for failure in self._store.failures(plan.name)}
        for failure in failed.values():
            if not failure.bad_input:
                raise EngineError(f"a simulation failed: {failure.sentence} ({json.dumps(dict(failure.request))})")
        runs = self._store.runs(key for key, _ in plan.points if key not in failed)
        return {
            content: failed[key].sentence if key in failed else runs[key].document
            for content, (key, _) in zip(ordered, plan.points, strict=True)
        }


def score(judged: Claim) -> float:
    """How well a claim is met, between 0 and 1."""
    found = [1 / (1 + miss) for miss in claims.misses(judged)]
    return sum(found) / len(found)


def judged_claims(paper: str) -> tuple[str, ...]:
    """The claims of a paper that decisions can change."""
    return tuple(spec.id for experiment in experiments(paper, "calibration") for spec in _changeable(experiment))


def _declared(asked: Asked, scale: Scale) -> list[Experiment]:
    """A paper's experiments with the claims that decisions can change, and only the runs that these need."""
    found = []
    values = {**dict(asked.values), "seed": asked.seed, **TIMING_ONLY}
    for experiment in experiments(asked.paper, scale, values):
        specs = _changeable(experiment)
        if specs:
            matrices = {
                name: replace(matrix, points=tuple(_needed(matrix, [s for s in specs if s.matrix == name])))
                for name, matrix in experiment.matrices.items()
            }
            found.append(replace(experiment, claims=specs, matrices=matrices, charts=(), tables=()))
    return found


def _changeable(experiment: Experiment) -> tuple[ClaimSpec, ...]:
    return tuple(spec for spec in experiment.claims if claims.published()[spec.id]["kind"] != "exact")


def _needed(matrix: Matrix, specs: Iterable[ClaimSpec]) -> Iterable[Point]:
    keys = {key for spec in specs for pair in spec.quantity.keys(matrix) for key in pair}
    return (point for point in matrix.points if key_of(point) in keys)


def _requests(declared: Iterable[Experiment]) -> Iterable[Mapping[str, Any]]:
    for experiment in declared:
        for matrix in experiment.matrices.values():
            for point in matrix.points:
                yield placed(point.request)


def _refused(declared: Iterable[Experiment]) -> str:
    """Why the engine refuses a run; empty if it refuses none."""
    for asked in _requests(declared):
        try:
            api.resolve_request(asked)
        except InputError as error:
            return str(error)
    return ""


def _judged(declared: Sequence[Experiment], seeds: int, documents: Mapping[str, Document | str]) -> Outcome:
    """What is measured of a paper's experiments, which are there for each seed, all of the first seed first."""
    found = [documents[_content(asked)] for asked in _requests(declared)]
    refused = next((document for document in found if isinstance(document, str)), "")
    if refused:
        return Outcome({}, refused)

    def known(requests: Sequence[Mapping[str, Any]]) -> list[Document]:
        return [document for asked in requests if not isinstance(document := documents[_content(asked)], str)]

    try:
        judged = tuple(claim for one in over_seeds(measure(declared, known), seeds) for claim in judge(one))
    except ValueError as error:
        # With some choices a run has no such figure, as a share of counter writes where there are none.
        return Outcome({}, str(error))
    return Outcome({claim.id: score(claim) for claim in judged}, claims=judged)


def _content(request: Mapping[str, Any]) -> str:
    return json.dumps(request, sort_keys=True)

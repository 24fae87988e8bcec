"""Claims of papers as measured with other choices for what the papers leave open.

The score of a claim's point is 1 where it holds, and 1 / (1 + m) where it is missed by m tolerances; that of a claim is
the mean over its points. Claims that are arithmetic (kind `exact`) are not measured: no decision changes them. What a
paper says of its runs with a bound (`directions`) counts as a claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..runs.computing import Computer
from ..runs.matrix import Matrix, Point
from ..verbs import api
from . import claims, directions
from .asking import content, refused, requests_of
from .declared import ClaimSpec, DirectionSpec, Experiment, Scale, experiments, paper
from .model import Claim
from .quantity import Document, key_of
from .reproduce import Measured, judge, measure, over_seeds


@dataclass(frozen=True)
class Setting:
    """A paper with values for what it leaves open, measured with some seeds of its programs."""

    paper: str
    values: Mapping[str, Any]
    seeds: Sequence[int]
    scale: Scale = "calibration"


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


def simulate(computer: Computer, settings: Iterable[Setting], progress: api.Progress | None = None) -> list[Outcome]:
    """The outcome of each setting, in order; their simulations are computed together.

    Raises:
        EngineError: a simulation failed.
    """
    declared = [(one, [each for seed in one.seeds for each in _declared(one, seed)]) for one in settings]
    reasons = [refused(each) for _, each in declared]
    taken = (each for (_, each), why in zip(declared, reasons, strict=True) if not why)
    requests = {content(asked): asked for each in taken for asked in requests_of(each)}
    documents = dict(zip(requests, computer.ask("run", requests.values(), progress), strict=True))
    return [
        Outcome({}, why) if why else _judged(each, len(one.seeds), documents)
        for (one, each), why in zip(declared, reasons, strict=True)
    ]


def score(judged: Claim) -> float:
    """How well a claim is met, between 0 and 1."""
    found = [1 / (1 + miss) for miss in claims.misses(judged)]
    return sum(found) / len(found)


def judged_claims(paper: str) -> tuple[str, ...]:
    """The claims of a paper that decisions can change."""
    return tuple(spec.id for one in experiments(paper, "calibration") for spec in _changeable(one))


def conditions_of(paper: str) -> tuple[str, ...]:
    """What a paper says of its own runs with a bound."""
    return tuple(spec.id for one in experiments(paper, "calibration") for spec in _conditions(one))


def _declared(setting: Setting, seed: int) -> list[Experiment]:
    """A paper's experiments with the claims that decisions can change, and only the runs that these need."""
    changed = {**setting.values, **_shared_out(setting), "seed": seed, **api.TIMING_ONLY}
    found = []
    for experiment in experiments(setting.paper, setting.scale, changed):
        specs, conditions = _changeable(experiment), _conditions(experiment)
        wanted: list[ClaimSpec | DirectionSpec] = [*specs, *conditions]
        if wanted:
            matrices = {
                name: replace(matrix, points=tuple(_needed(matrix, [s for s in wanted if s.matrix == name])))
                for name, matrix in experiment.matrices.items()
            }
            judged = replace(experiment, claims=specs, directions=conditions, charts=(), tables=())
            found.append(replace(judged, matrices=matrices))
    return found


def _shared_out(setting: Setting) -> dict[str, Any]:
    """In short, several cores share the transactions of one, where their number is a decision."""
    cores = setting.values.get("cores", 1)
    if setting.scale != "short" or cores == 1:
        return {}
    return {"transactions": max(1, paper(setting.paper).document["short"]["transactions"] // cores)}


def _changeable(experiment: Experiment) -> tuple[ClaimSpec, ...]:
    return tuple(spec for spec in experiment.claims if claims.published()[spec.id]["kind"] != "exact")


def _conditions(experiment: Experiment) -> tuple[DirectionSpec, ...]:
    return tuple(spec for spec in experiment.directions if spec.at_least is not None)


def _needed(matrix: Matrix, specs: Iterable[ClaimSpec | DirectionSpec]) -> Iterable[Point]:
    keys = {key for spec in specs for pair in spec.quantity.keys(matrix) for key in pair}
    return (point for point in matrix.points if key_of(point) in keys)


def _judged(declared: Sequence[Experiment], seeds: int, documents: Mapping[str, Document | str]) -> Outcome:
    """What is measured of a paper's experiments, which are there for each seed, all of the first seed first."""
    found = [documents[content(asked)] for asked in requests_of(declared)]
    why = next((document for document in found if isinstance(document, str)), "")
    if why:
        return Outcome({}, why)

    def known(requests: Sequence[Mapping[str, Any]]) -> list[Document]:
        return [document for asked in requests if not isinstance(document := documents[content(asked)], str)]

    try:
        judged = tuple(
            claim for one in over_seeds(measure(declared, known), seeds) for claim in (*judge(one), *_reached(one))
        )
    except ValueError as error:
        # With some choices a run has no such figure, as a share of counter writes where there are none.
        return Outcome({}, str(error))
    return Outcome({claim.id: score(claim) for claim in judged}, claims=judged)


def _reached(measured: Measured) -> Iterable[Claim]:
    """The conditions of an experiment's runs, as claims."""
    one = measured.experiment
    for spec in one.directions:
        yield directions.condition(spec, one.paper, one.matrices[spec.matrix], measured.runs[spec.matrix])

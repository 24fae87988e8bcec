"""Which weight of the prior predicts best: each figure is left out, and scored at the best point on the others.

A point that fits the figures it was chosen by says little; the rules are in `docs/calibration.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..searches.space import Point
from .pool import CONFIRMED, LONG, NOTHING, Objective, Pool

WEIGHTS = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Weights of the prior that are compared: 0.1 takes a tenth from the score of a point that departs in everything."""

HOLDING = 0.5
"""What a claim that holds counts beside its score, once points are known at more length: the score of one that is just
missed is nearly the same."""

_DIGITS = 9

_NEAREST = 1000
"""Of how many of the best points those are that are alike."""


@dataclass(frozen=True)
class Fold:
    """One figure left out, under one weight.

    Attributes:
        left_out: the figure, or the claim.
        weight: of the prior.
        best: the best point on the others.
        fitted: its score on the others.
        predicted: the score on what was left out, the mean over `alike`.
        alike: the points that the others do not tell from the best, which is one of them.
        counted: how many claims were left out.
    """

    left_out: str
    weight: float
    best: Point
    fitted: float
    predicted: float
    alike: tuple[Point, ...]
    counted: int


@dataclass(frozen=True)
class CrossValidation:
    """The cross-validation of a search.

    Attributes:
        folds: every weight with every fold.
        weight: the weight that predicts best.
        best: the best point on everything under it; after the descent and the finish, the one that they led to.
    """

    folds: tuple[Fold, ...]
    weight: float
    best: Point

    def under(self, weight: float) -> list[Fold]:
        """The folds under one weight."""
        return [fold for fold in self.folds if fold.weight == weight]

    @property
    def weights(self) -> tuple[float, ...]:
        """The weights that were compared."""
        return tuple(dict.fromkeys(fold.weight for fold in self.folds))

    def predicted(self, weight: float) -> float:
        """How well claims that were left out are met under a weight, each counted alike."""
        return _mean(fold.predicted for fold in self.under(weight) for _ in range(fold.counted))

    def predicted_of(self, paper: str, weight: float) -> float:
        """How well claims of one paper that were left out are met under a weight, each counted alike."""
        of_paper = [fold for fold in self.under(weight) if paper_of(fold.left_out) == paper]
        return _mean(fold.predicted for fold in of_paper for _ in range(fold.counted))

    def fitted(self, weight: float) -> float:
        """How well the others are met, the mean over the folds weighted alike."""
        return _mean(fold.fitted for fold in self.under(weight) for _ in range(fold.counted))


def folds_of(claims: Sequence[str]) -> dict[str, frozenset[str]]:
    """The claims of each figure, or each claim where there is one figure only."""
    figures: dict[str, list[str]] = {}
    for claim in claims:
        figures.setdefault(figure_of(claim), []).append(claim)
    if len(figures) < 2:
        return {claim: frozenset([claim]) for claim in claims}
    return {figure: frozenset(found) for figure, found in figures.items()}


def paper_of(name: str) -> str:
    """The paper of a claim or of a figure."""
    return name.partition(".")[0]


def without(left_out: str, claims: Sequence[str], conditions: Sequence[str], weight: float) -> Objective:
    """What a fold makes large: all but what it leaves out, or everything where that is all there is."""
    whole = of_all(claims, conditions, weight)
    return replace(whole, claims=whole.claims - folds_of(claims)[left_out] or whole.claims)


def of_all(claims: Sequence[str], conditions: Sequence[str], weight: float) -> Objective:
    """What is made large in the end: all claims, and what papers say of their own runs."""
    return Objective(frozenset([*claims, *conditions]), weight, HOLDING)


def figure_of(claim: str) -> str:
    """The figure of a claim: `secpm.f11` of `secpm.f11.without-cwr`."""
    return ".".join(claim.split(".")[:2])


def objectives(
    claims: Sequence[str],
    weights: Sequence[float] = WEIGHTS,
    conditions: Sequence[str] = (),
    holding: float = 0.0,
) -> list[Objective]:
    """What a search makes large, in turn: all claims, and all but each fold's, under every weight. What papers say of
    their own runs is no result, and is never left out."""
    everything = frozenset([*claims, *conditions])
    kept = [everything, *(everything - left_out for left_out in folds_of(claims).values())]
    return [
        Objective(some, weights[(turn + place) % len(weights)], holding)
        for turn in range(len(weights))
        for place, some in enumerate(kept)
        if some
    ]


def cross_validate(
    pool: Pool, claims: Sequence[str], weights: Sequence[float] = WEIGHTS, conditions: Sequence[str] = ()
) -> CrossValidation | None:
    """Compares the weights over the points that were evaluated with all seeds; None if there is no such point."""
    folds = []
    for weight in weights:
        for name, left_out in folds_of(claims).items():
            objective = without(name, claims, conditions, weight)
            best = pool.ranking(objective, CONFIRMED).best()
            scores = None if best is None else pool.joint_scores(best, CONFIRMED)
            if best is None or scores is None:
                return None
            alike = _alike(pool, objective, best)
            predicted = _mean(mean_of(_long_scores(pool, point), left_out) for point in alike)
            folds.append(Fold(name, weight, best, mean_of(scores, objective.claims), predicted, alike, len(left_out)))
    found = CrossValidation(tuple(folds), weights[0], folds[0].best)
    weight = max(weights, key=lambda one: (round(found.predicted(one), _DIGITS), one))
    best = pool.ranking(of_all(claims, conditions, weight), CONFIRMED).best()
    assert best is not None, "a fold has found one among the same points"
    return replace(found, weight=weight, best=best)


def _alike(pool: Pool, objective: Objective, best: Point) -> tuple[Point, ...]:
    """The points that an objective does not tell from the best one, at more length with the first seed. What figures
    leave undecided says nothing about others, so every choice of it counts for what they predict."""
    least = pool.value(objective, best, LONG) - NOTHING
    top = pool.ranking(objective, LONG).top(_NEAREST)
    return tuple(dict.fromkeys([best, *(point for value, point in top if value >= least)]))


def _long_scores(pool: Pool, point: Point) -> Mapping[str, float]:
    scores = pool.joint_scores(point, LONG)
    assert scores is not None, "it is one that was evaluated at more length"
    return scores


def mean_of(scores: Mapping[str, float], claims: Iterable[str]) -> float:
    """The mean score of some claims."""
    return _mean(scores[claim] for claim in claims)


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)

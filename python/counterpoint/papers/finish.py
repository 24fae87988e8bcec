"""The finish: the best point is measured as the figures are, and so is what may hold more.

Its rules are in `docs/calibration.md`. A claim holds at full length if its interval over all seeds meets what is
published.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..searches.space import Point, changed
from .crossvalidate import mean_of, paper_of
from .model import Claim
from .pool import FIGURES, LONG, SHORT, WHOLE, Level, Objective, Pool

LITTLE = 0.01
"""How much less than the best point a change may be worth at the scale of the search."""

NARROWED = {LONG: 16, WHOLE: 6, FIGURES: 2}
"""How many of the changed points are looked at, level by level."""

BEGUN = 2
"""From how many points it may begin: the best, and others that hold most whole."""


@dataclass(frozen=True)
class Finalist:
    """A point as measured at full length over all seeds.

    Attributes:
        point: its choices.
        claims: of all papers.
        score: their mean score.
    """

    point: Point
    claims: tuple[Claim, ...]
    score: float

    @property
    def held(self) -> int:
        """How many claims hold."""
        return sum(claim.holds for claim in self.claims)


def finish(pool: Pool, objective: Objective, point: Point, others: Sequence[Point] = ()) -> tuple[Finalist, ...]:
    """What was measured at full length, the best first: that with most claims that hold, and of equals the first point
    and then that with the best score; nothing where the engine refuses all of them at full length. `others` are points
    beside the first that it may begin at."""
    beside = _best_first(pool, objective, [one for one in dict.fromkeys(others) if one != point], WHOLE)
    begins = (measured(pool, one) for one in [point, *beside[: BEGUN - 1]])
    found = [one for one in begins if one is not None]
    best = max(found, key=lambda one: one.held, default=None)
    while best is not None:
        missed = {claim.id for claim in best.claims if not claim.holds}
        points = promising(pool, objective, best.point, missed) if missed else []
        points = _best_first(pool, objective, points, SHORT)
        for level, count in NARROWED.items():
            points = _best_first(pool, objective, points[:count], level)
        tried = [one for one in (measured(pool, each) for each in points) if one is not None]
        found += tried
        first = max(tried, key=_order, default=best)
        if first.held <= best.held:
            break
        best = first
    return tuple(sorted(found, key=lambda one: (one == best, *_order(one)), reverse=True))


def measured(pool: Pool, point: Point) -> Finalist | None:
    """A point as the figures are; None where the engine refuses it."""
    pool.evaluate([point], FIGURES)
    scores = pool.joint_scores(point, FIGURES)
    return None if scores is None else Finalist(point, tuple(pool.claims(point, FIGURES)), mean_of(scores, scores))


def promising(pool: Pool, objective: Objective, point: Point, missed: Collection[str]) -> list[Point]:
    """What meets one of some claims in short and costs little there: of each decision the best such choice, and each
    pair of these with the best other choice of another decision. Only decisions count that bear on papers of these
    claims."""
    bearing = {which for claim in missed for which in pool.space.bearing_on(paper_of(claim))}
    variations = [one for one in pool.variations(point, bearing) if one[2] != point]
    least = pool.value(objective, point, SHORT) - LITTLE

    def value(one: Point) -> float:
        return pool.value(objective, one, SHORT)

    def meets(one: Point) -> bool:
        return any(claim.holds and claim.id in missed for claim in pool.claims(one, SHORT))

    best: dict[int, int] = {}
    meeting: dict[int, Point] = {}
    for which, choice, one in sorted(variations, key=lambda each: value(each[2]), reverse=True):
        best.setdefault(which, choice)
        if meets(one):
            meeting.setdefault(which, one)
    single = list(meeting.values())
    pairs = [
        changed(one, other, choice)
        for which, one in meeting.items()
        for other, choice in best.items()
        if which != other
    ]
    pool.evaluate(pairs, SHORT)
    return [one for one in dict.fromkeys([*single, *pairs]) if meets(one) and value(one) >= least]


def _best_first(pool: Pool, objective: Objective, points: Sequence[Point], level: Level) -> list[Point]:
    """Some points as they are at a level: those with most claims that hold first, and of equals the best."""
    pool.evaluate(points, level)
    known = [point for point in points if pool.joint_scores(point, level) is not None]

    def order(point: Point) -> tuple[int, float]:
        return sum(claim.holds for claim in pool.claims(point, level)), pool.value(objective, point, level)

    return sorted(known, key=order, reverse=True)


def _order(one: Finalist) -> tuple[int, float]:
    return one.held, one.score

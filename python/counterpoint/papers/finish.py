"""The finish: the best point is measured as the figures are, and so is each point that may hold more.

Its rules are in `docs/calibration.md`. A claim holds at full length if its interval over all seeds meets what is
published.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ..searches.space import Point
from .crossvalidate import mean_of
from .model import Claim
from .pool import Objective, Pool

LITTLE = 0.01
"""How much less than the best point a change may be worth at the scale of the search."""


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


def finish(
    pool: Pool, full: Pool, objective: Objective, point: Point, *, known: Point | None = None
) -> tuple[Finalist, ...]:
    """What was measured at full length, the best first: that with most claims that hold, and of equals the first point
    and then that with the best score; nothing where the engine refuses the point at full length. A `known` good point
    competes if the first one misses a claim.

    Args:
        pool: what the search has evaluated.
        full: the same space, in which an evaluation is at full length and over all seeds.
        objective: of the search.
        point: where it ended.
        known: the point that competes.
    """
    found = _measured(full, [point])
    best = found.get(point)
    while best is not None:
        missed = {claim.id for claim in best.claims if not claim.holds}
        if not missed:
            break
        others = [] if known is None else [known]
        tried = _measured(full, [*others, *promising(pool, objective, best.point, missed)])
        found |= tried
        first = max(tried.values(), key=_order, default=best)
        if first.held <= best.held:
            break
        best = first
    return tuple(sorted(found.values(), key=lambda one: (one == best, *_order(one)), reverse=True))


def promising(pool: Pool, objective: Objective, point: Point, missed: Collection[str]) -> list[Point]:
    """Single changes that cost little and meet one of some claims, of each decision the best, with the seed of the
    search."""
    variations = pool.variations(point)
    least = pool.value(objective, point) - LITTLE
    meeting: dict[int, list[Point]] = {}
    for which, _, varied in variations:
        meets = any(claim.holds and claim.id in missed for claim in pool.claims(varied))
        if meets and varied != point and pool.value(objective, varied) >= least:
            meeting.setdefault(which, []).append(varied)
    return [max(some, key=lambda one: pool.value(objective, one)) for some in meeting.values()]


def _measured(full: Pool, points: Sequence[Point]) -> dict[Point, Finalist]:
    """Some points at full length, without those that the engine refuses."""
    full.evaluate(points)
    found = {}
    for point in points:
        scores = full.joint_scores(point, confirmed=True)
        if scores is not None:
            found[point] = Finalist(point, tuple(full.claims(point)), mean_of(scores, scores))
    return found


def _order(one: Finalist) -> tuple[int, float]:
    return one.held, one.score

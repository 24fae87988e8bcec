"""The descent: the single changes that make a point better are put together, in rounds (`docs/calibration.md`).

Where papers share decisions, the best that a search found for one of them may be at other shared choices than the best
point of all, and no single change leads from the one to the other. So a paper's own choices go with it first.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..searches.space import Point, changed
from .pool import Objective, Pool

NOTHING = 0.001
"""A smaller difference of two values says nothing: other seeds make a larger one. A round that gains no more is the
last one."""

CROSSED = 5
"""How many of a paper's own choices are tried with the shared ones of another point."""


def crossed(pool: Pool, objective: Objective, point: Point) -> Point:
    """A point with the choices of its own that each paper did best with anywhere, if it gains by them."""
    ranking = pool.ranking(objective, confirmed=False)
    found = point
    for paper in pool.space.own:
        first = pool.space.owners.index(paper) if paper in pool.space.owners else len(point)
        tried = [(*found[:first], *own, *found[first + len(own) :]) for own in ranking.top_own(paper, CROSSED)]
        found = better(pool, objective, [found, *tried])
    return found


def better(pool: Pool, objective: Objective, points: Sequence[Point]) -> Point:
    """The best of some points with the seed of the search; of equals the first."""
    pool.evaluate(points)
    return max(points, key=lambda point: pool.value(objective, point))


def descend(pool: Pool, objective: Objective, point: Point) -> Point:
    """Where single changes of a point lead, with the seed of the search; this is then evaluated with all seeds."""
    pool.evaluate([point])
    found, value = point, pool.value(objective, point)
    while True:
        before = value
        found = _together(pool, objective, found)
        value = pool.value(objective, found)
        if value <= before + NOTHING:
            break
    found = _back(pool, objective, found)
    pool.evaluate([found], confirmed=True)
    return found


def _back(pool: Pool, objective: Objective, point: Point) -> Point:
    """A point with every decision at its start again that is as good there, one after the other."""
    found, value = point, pool.value(objective, point)
    for which, place in enumerate(pool.space.start):
        tried = changed(found, which, place)
        pool.evaluate([tried])
        if pool.value(objective, tried) >= value - NOTHING:
            found = tried
    return found


def _together(pool: Pool, objective: Objective, point: Point) -> Point:
    """The best single change of each decision, one after the other: the point where they lead."""
    found = point
    for which, place in _gains(pool, objective, point):
        found = better(pool, objective, [found, changed(found, which, place)])
    return found


def _gains(pool: Pool, objective: Objective, point: Point) -> list[tuple[int, int]]:
    """For each decision that has a better value, by its place: the best one; the greatest gain first."""
    before = pool.value(objective, point)
    best: dict[int, tuple[float, int]] = {}
    for which, place, varied in pool.variations(point):
        value = pool.value(objective, varied)
        if value > best.get(which, (before, 0))[0]:
            best[which] = value, place
    return [(which, place) for which, (_, place) in sorted(best.items(), key=lambda item: (-item[1][0], item[0]))]

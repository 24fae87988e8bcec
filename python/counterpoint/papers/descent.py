"""The descent: the changes that make a point better are put together, in rounds (`docs/calibration.md`).

Where papers share decisions, the best that a search found for one of them may be at other shared choices than the best
point of all, and no single change leads from the one to the other. So a paper's own choices go with it first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

from ..searches.space import Point, changed
from .pool import CONFIRMED, LONG, SHORT, Level, Objective, Pool

NOTHING = 0.001
"""A smaller difference of two values says nothing: other seeds make a larger one. A round that gains no more is the
last one."""

CROSSED = 5
"""How many of a paper's own choices are tried with the shared ones of another point."""

PAIRED = 6
"""How many single changes are tried in pairs where none is better alone."""

_Change = tuple[int, int]
"""A decision and a choice, by their numbers."""


def crossed(pool: Pool, objective: Objective, point: Point) -> Point:
    """A point with the choices of its own that each paper did best with anywhere, if it gains by them."""
    ranking = pool.ranking(objective, SHORT)
    found = point
    for paper in pool.space.own:
        first = pool.space.owners.index(paper) if paper in pool.space.owners else len(point)
        tried = [(*found[:first], *own, *found[first + len(own) :]) for own in ranking.top_own(paper, CROSSED)]
        found = better(pool, objective, [found, *tried], SHORT)
    return found


def better(pool: Pool, objective: Objective, points: Sequence[Point], level: Level) -> Point:
    """The best of some points; of equals the first."""
    pool.evaluate(points, level)
    return max(points, key=lambda point: pool.value(objective, point, level))


def descend(pool: Pool, objective: Objective, point: Point) -> Point:
    """Where changes of a point lead, with the first seed; this is then evaluated with all seeds.

    Changes are looked at in short, and those that are better there at more length.
    """
    pool.evaluate([point], LONG)
    found, value = point, pool.value(objective, point, LONG)
    while True:
        before = value
        found = _together(pool, objective, found)
        value = pool.value(objective, found, LONG)
        if value <= before + NOTHING:
            break
    found = _back(pool, objective, found)
    pool.evaluate([found], CONFIRMED)
    return found


def _back(pool: Pool, objective: Objective, point: Point) -> Point:
    """A point with every decision at its start again that is as good there, one after the other."""
    found, value = point, pool.value(objective, point, LONG)
    for which, place in enumerate(pool.space.start):
        tried = changed(found, which, place)
        if tried != found:
            pool.evaluate([tried], LONG)
            if pool.value(objective, tried, LONG) >= value - NOTHING:
                found = tried
    return found


def _together(pool: Pool, objective: Objective, point: Point) -> Point:
    """The best single change of each decision, one after the other; where none gains, the best pair of them."""
    best = _best_changes(pool, objective, point)
    before = pool.value(objective, point, SHORT)
    found = point
    for value, change in best:
        if value > before:
            found = better(pool, objective, [found, changed(found, *change)], LONG)
    return found if found != point else _paired(pool, objective, point, [change for _, change in best[:PAIRED]])


def _paired(pool: Pool, objective: Objective, point: Point, changes: Iterable[_Change]) -> Point:
    """The best of some pairs of changes, if it is better."""
    pairs = [changed(changed(point, *one), *other) for one, other in combinations(changes, 2)]
    if not pairs:
        return point
    return better(pool, objective, [point, better(pool, objective, pairs, SHORT)], LONG)


def _best_changes(pool: Pool, objective: Objective, point: Point) -> list[tuple[float, _Change]]:
    """The best other choice of each decision with the value in short, the best first."""
    best: dict[int, tuple[float, int]] = {}
    for which, place, varied in pool.variations(point):
        value = pool.value(objective, varied, SHORT)
        if varied != point and value > best.get(which, (float("-inf"), 0))[0]:
            best[which] = value, place
    ordered = sorted(best.items(), key=lambda item: (-item[1][0], item[0]))
    return [(value, (which, place)) for which, (value, place) in ordered]

"""The descent: the single changes that make a point better are put together, in rounds.

A search of some hundred points finds the region; the variation of each decision around its best point then shows which
single changes are better still. They are tried together, the greatest gain first, each kept if the point gains by it.

Some decisions may have come along with others and change nothing. In the end each goes back to its start where that
costs nothing.

Where papers share decisions, the best that a search found for one of them may be at other shared choices than the best
point of all, and no single change leads from the one to the other. So a paper's own choices go with it first.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import sensitivity
from .pool import Joint, Objective, Pool

NOTHING = 0.001
"""A smaller difference of two values says nothing: other seeds make a larger one. A round that gains no more is the
last one."""

CROSSED = 5
"""How many of a paper's own choices are tried with the shared ones of another point."""


def crossed(pool: Pool, objective: Objective, point: Joint) -> Joint:
    """A point with the choices of its own that each paper did best with anywhere, if it gains by them."""
    ranking = pool.ranking(objective, confirmed=False)
    found = point
    for place, paper in enumerate(pool.space.own):
        tried = [
            Joint(point.shared, (*found.own[:place], own, *found.own[place + 1 :]))
            for own in ranking.top_own(paper, CROSSED)
        ]
        found = better(pool, objective, [found, *tried])
    return found


def better(pool: Pool, objective: Objective, points: Sequence[Joint]) -> Joint:
    """The best of some points with the seed of the search; of equals the first."""
    pool.tell(pool.missing(points, pool.seeds[:1]))
    return max(points, key=lambda joint: pool.value(objective, joint))


def descend(pool: Pool, objective: Objective, point: Joint) -> Joint:
    """Where single changes of a point lead, with the seed of the search; this is then evaluated with all seeds."""
    pool.tell(pool.missing([point], pool.seeds[:1]))
    found, value = point, pool.value(objective, point)
    while True:
        before = value
        found, value = _together(pool, objective, found)
        if value <= before + NOTHING:
            break
    found = _back(pool, objective, found)
    pool.tell(pool.missing([found], pool.seeds))
    return found


def _back(pool: Pool, objective: Objective, point: Joint) -> Joint:
    """A point with every decision at its start again that is as good there, one after the other."""
    found, value = point, pool.value(objective, point)
    for which, spec in enumerate(pool.space.decisions):
        tried = pool.space.changed(found, which, spec.place(spec.start))
        pool.tell(pool.missing([tried], pool.seeds[:1]))
        if pool.value(objective, tried) >= value - NOTHING:
            found = tried
    return found


def _together(pool: Pool, objective: Objective, point: Joint) -> tuple[Joint, float]:
    """The best single change of each decision, one after the other; the point where they lead, and its value."""
    found, value = point, pool.value(objective, point)
    for which, place in _gains(pool, objective, point):
        tried = pool.space.changed(found, which, place)
        pool.tell(pool.missing([tried], pool.seeds[:1]))
        gained = pool.value(objective, tried)
        if gained > value:
            found, value = tried, gained
    return found, value


def _gains(pool: Pool, objective: Objective, point: Joint) -> list[tuple[int, int]]:
    """For each decision that has a better value, by its place: the best one; the greatest gain first."""
    sensitivity.sensitivity(pool, point)
    before = pool.value(objective, point)
    best: dict[int, tuple[float, int]] = {}
    for which, spec in enumerate(pool.space.decisions):
        for place in range(len(spec.range)):
            value = pool.value(objective, pool.space.changed(point, which, place))
            if value > best.get(which, (before, 0))[0]:
                best[which] = value, place
    return [(which, place) for which, (_, place) in sorted(best.items(), key=lambda item: (-item[1][0], item[0]))]

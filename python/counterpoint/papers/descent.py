"""The descent: the changes that make a point better are put together, in rounds (`docs/calibration.md`).

Where papers share decisions, the best that a search found for one of them may be at other shared choices than the best
point of all, and no single change leads from the one to the other. So a paper's own choices go with it first.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Sequence
from itertools import combinations

from ..searches.space import Point, changed
from .pool import CONFIRMED, LONG, NOTHING, SHORT, Level, Objective, Pool

CROSSED = 5
"""How many of a paper's own choices are tried with the shared ones of another point."""

NEAR = 0.1
"""How much worse in short the best other choice of a decision may be for it to be looked at in the next round."""

PAIRED = 6
"""How many single changes are tried in pairs where none is better alone."""

DRAWN = 16
"""How many points are drawn from those that an objective may not tell from a point."""

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


def descend(
    pool: Pool, objective: Objective, point: Point, kept: Collection[int] = (), *, thorough: bool = True
) -> Point:
    """Where changes of a point lead, with the first seed; this is then evaluated with all seeds.

    Changes are looked at in short, and those that are better there at more length. Decisions whose numbers are `kept`
    stay as they are. After the first round only those are looked at that came near; where none of these gains, a
    thorough descent looks at all once more, and at pairs.
    """
    pool.evaluate([point], LONG)
    found, value = point, pool.value(objective, point, LONG)
    free = frozenset(range(len(point))) - frozenset(kept)
    looked = free
    while True:
        before = value
        changes = _best_changes(pool, objective, found, looked)
        near = _near(changes, pool.value(objective, found, SHORT))
        tried = _together(pool, objective, found, changes)
        if tried == found and thorough and looked == free:
            tried = _paired(pool, objective, found, [change for _, change in changes[:PAIRED]])
        found, value = tried, pool.value(objective, tried, LONG)
        if value > before + NOTHING:
            looked = near
        elif thorough and looked != free:
            looked = free
        else:
            break
    found = _back(pool, objective, found, kept)
    pool.evaluate([found], CONFIRMED)
    return found


def draw_alike(pool: Pool, objective: Objective, point: Point, paper: str, seed: int) -> None:
    """Evaluates points at more length that an objective may not tell from a point: with any of the choices that change
    nothing in short, of every decision at once that bears on a paper."""
    variations = pool.variations(point, pool.space.bearing_on(paper))
    least = pool.value(objective, point, SHORT) - NOTHING
    choices: dict[int, list[int]] = {}
    for which, choice, varied in variations:
        if pool.value(objective, varied, SHORT) >= least:
            choices.setdefault(which, []).append(choice)
    chance = random.Random(f"{seed}/alike")
    drawn = [tuple(chance.choice(choices.get(which, [own])) for which, own in enumerate(point)) for _ in range(DRAWN)]
    pool.evaluate(drawn, LONG)


def _back(pool: Pool, objective: Objective, point: Point, kept: Collection[int]) -> Point:
    """A point with every decision at its start again that is as good there, in short and then, one after the other, at
    more length."""
    back = {which: place for which, place in enumerate(pool.space.start) if which not in kept and place != point[which]}
    pool.evaluate((changed(point, *change) for change in back.items()), SHORT)
    least = pool.value(objective, point, SHORT) - NOTHING
    found, value = point, pool.value(objective, point, LONG)
    for change in back.items():
        if pool.value(objective, changed(point, *change), SHORT) < least:
            continue
        tried = changed(found, *change)
        pool.evaluate([tried], LONG)
        if pool.value(objective, tried, LONG) >= value - NOTHING:
            found = tried
    return found


def _near(changes: Sequence[tuple[float, _Change]], value: float) -> frozenset[int]:
    """The decisions with a choice that is near a value in short, but for those that change nothing."""
    return frozenset(which for found, (which, _) in changes if found >= value - NEAR and abs(found - value) > NOTHING)


def _together(pool: Pool, objective: Objective, point: Point, changes: Sequence[tuple[float, _Change]]) -> Point:
    """The best single change of each decision, one after the other, each kept if the point gains by it."""
    before = pool.value(objective, point, SHORT)
    found = point
    for value, change in changes:
        if value > before:
            found = better(pool, objective, [found, changed(found, *change)], LONG)
    return found


def _paired(pool: Pool, objective: Objective, point: Point, changes: Iterable[_Change]) -> Point:
    """The best of some pairs of changes, if it is better."""
    pairs = [changed(changed(point, *one), *other) for one, other in combinations(changes, 2)]
    if not pairs:
        return point
    return better(pool, objective, [point, better(pool, objective, pairs, SHORT)], LONG)


def _best_changes(
    pool: Pool, objective: Objective, point: Point, among: Collection[int]
) -> list[tuple[float, _Change]]:
    """The best other choice of each of some decisions with the value in short, the best first."""
    best: dict[int, tuple[float, int]] = {}
    for which, place, varied in pool.variations(point, among):
        value = pool.value(objective, varied, SHORT)
        if varied != point and value > best.get(which, (float("-inf"), 0))[0]:
            best[which] = value, place
    ordered = sorted(best.items(), key=lambda item: (-item[1][0], item[0]))
    return [(value, (which, place)) for which, (value, place) in ordered]

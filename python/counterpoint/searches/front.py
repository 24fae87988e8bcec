"""The Pareto front: candidates that no other one beats in every objective."""

from __future__ import annotations

from collections.abc import Sequence

from .goals import Objective
from .verdict import Judged

BEYOND = 1e30
"""What stands for a figure of a candidate that has none, where a number is needed."""


def vector(judged: Judged, objectives: Sequence[Objective]) -> tuple[float, ...]:
    """The figures of a candidate with signs so that less is better."""
    values = [judged.figures.get(one.figure) for one in objectives]
    return tuple(BEYOND if value is None else one.sign * value for one, value in zip(objectives, values, strict=True))


def dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether `one` is nowhere worse than `other`, and somewhere better."""
    return all(a <= b for a, b in zip(one, other, strict=True)) and tuple(one) != tuple(other)


def front(judged: Sequence[Judged], objectives: Sequence[Objective]) -> list[Judged]:
    """The candidates that qualify and are beaten by none, by the first objective; of equal ones all."""
    known = [(vector(one, objectives), one) for one in judged if one.qualifies]
    known.sort(key=lambda pair: (pair[0], pair[1].candidate.name))
    places: list[tuple[float, ...]] = []
    kept: list[Judged] = []
    for place, one in known:
        # What beats another comes before it in this order, and equal ones come together.
        if places and place == places[-1]:
            kept.append(one)
        elif not any(dominates(better, place) for better in places):
            places.append(place)
            kept.append(one)
    return kept

"""Points of a sweep over its seeds: the mean of each figure, and its interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..verbs.interval import SEEDS_MAX, Estimate, estimate_of_all

SEED = "seed"
"""The axis of seeds."""

FIGURES = (
    "transaction_latency_ns_mean",
    "throughput_tps",
    "simulated_ns",
    "nvm_writes",
    "nvm_write_bytes",
    "counter_cache_hit_rate",
    "finish_ns",
    "read_response_ns_mean",
    "write_response_ns_mean",
    "read_latency_ns",
    "write_latency_ns",
)
"""The figures that are shown of points, by their columns: those of programs, then those of traces of memory lines."""


@dataclass(frozen=True)
class Interval:
    """A figure over seeds.

    Attributes:
        mean: over the seeds.
        half: half the width of the 95 % interval (Student).
    """

    mean: float
    half: float


@dataclass(frozen=True)
class PointMeans:
    """A point of a sweep over its seeds.

    Attributes:
        values: those of the axes, without the seed.
        seeds: with how many seeds it was run.
        figures: by their columns; without those that a run lacks.
    """

    values: Mapping[str, Any]
    seeds: int
    figures: Mapping[str, Interval]


def means(rows: Iterable[Mapping[str, Any]], axes: Sequence[str]) -> tuple[PointMeans, ...]:
    """The points of a sweep over its seeds; none where no axis is the seed.

    A point with one run has no interval, and neither has one with more seeds than intervals are known for.
    """
    if SEED not in axes:
        return ()
    kept = [axis for axis in axes if axis != SEED]
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[axis] for axis in kept), []).append(row)
    return tuple(
        PointMeans(dict(zip(kept, values, strict=True)), len(group), _figures(group))
        for values, group in groups.items()
        if 1 < len(group) <= SEEDS_MAX
    )


def _figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, Interval]:
    found = {}
    for name in FIGURES:
        value = estimate_of_all([row.get(name) for row in rows])
        if value is not None:
            found[name] = Interval(value.mean, value.half or 0.0)
    return found


def as_estimate(value: Interval) -> Estimate:
    """The same, with what estimates can do."""
    return Estimate(value.mean, value.half)

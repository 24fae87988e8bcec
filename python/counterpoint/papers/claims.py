"""Published results compared with measured ones.

The kinds of claims, as `claims.toml` has them:

- `exact`: every value equals the published one, to the digits given;
- `band`: every value lies between `low` and `high`, within the tolerance;
- `average`: the mean of the values is the published one, within the tolerance;
- `order`: no value exceeds the bound.

What is measured over several seeds is a mean with an interval (see `interval`); it lies where it must if its interval
meets what is allowed. Exact values have none: the mean is compared.

A claim with `by_tx_size`, `by_cores` or `by_design` has a published value, or band, for each of these points.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from ..runs.matrix import Matrix, Value
from ..verbs.interval import Estimate, estimate
from .declared import ClaimSpec
from .model import Claim, ClaimRow, Interval
from .quantity import Document, Key, called

_BY = {"by_tx_size": "tx_size", "by_cores": "cores", "by_design": "design"}


@cache
def published() -> dict[str, dict[str, Any]]:
    """The entries of `claims.toml` by id, in its order, then of `predictions.toml` and `measurements.toml`."""
    files = [
        resources.files(__package__).joinpath(name) for name in ("claims.toml", "predictions.toml", "measurements.toml")
    ]
    return {claim["id"]: claim for file in files for claim in tomllib.loads(file.read_text())["claim"]}


@dataclass(frozen=True)
class _Point:
    """Measured values at one point of a claim, by where they were measured, and what is published of them."""

    key: str
    at: str
    values: Mapping[str, Sequence[float]]
    published: Any
    tolerance: float

    def estimates(self) -> dict[str, Estimate]:
        """Each value over the seeds."""
        return {name: estimate(values) for name, values in self.values.items()}


def judge(spec: ClaimSpec, matrix: Matrix, runs: Sequence[Mapping[Key, Document]]) -> Claim:
    """A claim with what was measured of it.

    Args:
        spec: how it is measured.
        matrix: what was run.
        runs: the runs with each seed.

    Raises:
        ValueError: a run that it needs has no such figure.
    """
    entry = published()[spec.id]
    points = list(_points(entry, spec, matrix, runs))
    outcomes = [_VERDICTS[entry["kind"]](point, spec) for point in points]
    by_point = {key: measured for key, measured, _ in outcomes}
    single = list(by_point) == [""]
    found = next((entry[by] for by in _BY if by in entry), None)
    return Claim(
        id=spec.id,
        paper=entry["paper"],
        what=entry["what"],
        published=_single(entry) if found is None else found,
        measured=by_point[""] if single else by_point,
        tolerance=entry.get("tol", entry.get("tol_by_design", 0)),
        holds=all(row.holds for _, _, row in outcomes),
        rows=tuple(row for _, _, row in outcomes),
        intervals=_intervals(points, spec) if len(runs) > 1 and entry["kind"] != "exact" else (),
        source=entry.get("source", ""),
    )


def _intervals(points: Iterable[_Point], spec: ClaimSpec) -> tuple[Interval, ...]:
    """Every measured value of a claim, and of an average the mean over them."""
    found = []
    for point in points:
        values = point.estimates()
        if spec.pick == "all" and published()[spec.id]["kind"] == "average":
            values[""] = _mean(point)
        found += [Interval(point.at, name, one.mean, one.low, one.high) for name, one in values.items()]
    return tuple(found)


def _mean(point: _Point) -> Estimate:
    """The mean of the values of a point over the seeds: for each seed of its values, then over the seeds."""
    return estimate([sum(each) / len(each) for each in zip(*point.values.values(), strict=True)])


def misses(claim: Claim) -> list[float]:
    """By how much each point of a claim lies outside what is allowed, in tolerances; 0 where it holds.

    A claim without a tolerance is measured by a tenth of what is published.
    """
    found = []
    several = isinstance(claim.measured, dict)
    points = claim.measured if several else {"": claim.measured}
    for key, measured in points.items():
        allowed = claim.published[key] if several else claim.published
        values = measured if isinstance(measured, list) else [measured]
        tolerance = claim.tolerance[key] if isinstance(claim.tolerance, dict) else claim.tolerance
        found.append(max(_outside(value, i, allowed, tolerance) for i, value in enumerate(values)))
    return [0.0 if row.holds else miss for row, miss in zip(claim.rows, found, strict=True)]


def _outside(value: float, place: int, allowed: Any, tolerance: float) -> float:
    low, high = _limits(allowed, place, tolerance)
    beyond = max(low - value, value - high, 0.0)
    return max(0.0, beyond - tolerance) / (tolerance or abs(low if math.isinf(high) else high) / 10)


def _limits(allowed: Any, place: int, tolerance: float) -> tuple[float, float]:
    """Least and most that is published: of a bound, a band, one of several exact values, or a value."""
    if isinstance(allowed, Mapping):
        return allowed.get("at_least", -math.inf), allowed.get("at_most", math.inf)
    if not isinstance(allowed, Sequence):
        return allowed, allowed
    return (allowed[0], allowed[1]) if tolerance else (allowed[place], allowed[place])


def _single(entry: Mapping[str, Any]) -> Any:
    """What a claim of one point publishes: a value, values, a band, or a bound."""
    if entry["kind"] == "band":
        return [entry["low"], entry["high"]]
    return {"at_most": entry["bound"]} if entry["kind"] == "order" else entry["value"]


def _points(
    entry: Mapping[str, Any], spec: ClaimSpec, matrix: Matrix, runs: Sequence[Mapping[Key, Document]]
) -> Iterable[_Point]:
    by = next((name for name in _BY if name in entry), None)
    axis = _BY[by] if by else None
    of_seeds = [_grouped(entry[by] if by else {"": None}, axis, spec, matrix, one) for one in runs]
    for group in of_seeds[0]:
        values = {name: [one[group][name] for one in of_seeds] for name in of_seeds[0][group]}
        tolerance = entry["tol_by_design"][group] if "tol_by_design" in entry else entry.get("tol", 0)
        yield _Point(
            group, called(axis, group) if axis else group, values, entry[by][group] if by else _single(entry), tolerance
        )


def _grouped(
    wanted: Iterable[str], axis: str | None, spec: ClaimSpec, matrix: Matrix, runs: Mapping[Key, Document]
) -> dict[str, dict[str, float]]:
    """The values of one seed by point and by where they were measured."""
    groups: dict[str, dict[str, list[float]]] = {key: {} for key in wanted}
    for place, value in spec.quantity.of(matrix, runs).items():
        at = dict(zip(matrix.axes, place, strict=True))
        if value is None:
            raise ValueError(f"{spec.id}: the run at {at} has no {spec.quantity.metric}")
        group = str(at[axis]) if axis else ""
        if group in groups:
            groups[group].setdefault(_named(matrix, spec, at, axis), []).append(value)
    for group, found in groups.items():
        if not found:
            raise ValueError(f"{spec.id}: nothing was measured at '{group}'")
    return {
        group: {name: sum(values) / len(values) for name, values in found.items()} for group, found in groups.items()
    }


def _named(matrix: Matrix, spec: ClaimSpec, at: Mapping[str, Value], axis: str | None) -> str:
    """What tells a value from the others of its point: the axes that vary, are no mean and are not the point's.

    Of axes that go together one is enough.
    """
    told = []
    for group in matrix.together:
        key = group[0]
        varies = len(spec.quantity.where.get(key, matrix.axes[key])) > 1
        if varies and key != axis and not set(group) & set(spec.mean_over):
            told.append(called(key, at[key]))
    return " ".join(told)


def _exact(point: _Point, spec: ClaimSpec) -> tuple[str, Any, ClaimRow]:
    measured = [one.mean for one in point.estimates().values()]
    digits = [len(repr(value).partition(".")[2]) for value in point.published]
    shown = [round(value, places) if places else value for value, places in zip(measured, digits, strict=True)]
    words = ", ".join(f"{name} {value:g}" for name, value in zip(point.values, shown, strict=True))
    published_words = ", ".join(f"{value:g}" for value in point.published)
    return point.key, shown, ClaimRow(point.at, published_words, words, shown == list(point.published))


def _band(point: _Point, spec: ClaimSpec) -> tuple[str, Any, ClaimRow]:
    (low, high), tolerance = point.published, point.tolerance
    found = point.estimates()
    outside = [name for name, one in found.items() if one.high < low - tolerance or one.low > high + tolerance]
    least, most = (pick(found.values(), key=lambda one: one.mean) for pick in (min, max))
    words = least.said(spec.digits) + (f" to {most.said(spec.digits)}" if len(found) > 1 else "")
    words += f" (outside: {', '.join(outside)})" if outside and len(found) > 1 else ""
    row = ClaimRow(point.at, f"{low:g} to {high:g} ± {tolerance:g}", words, not outside)
    return point.key, [least.mean, most.mean], row


def _average(point: _Point, spec: ClaimSpec) -> tuple[str, Any, ClaimRow]:
    found = point.estimates()
    best = max(found, key=lambda name: found[name].mean)
    one = found[best] if spec.pick == "max" else _mean(point)
    words = one.said(spec.digits) + (f" ({best})" if spec.pick == "max" else "")
    holds = abs(one.mean - point.published) <= point.tolerance + (one.half or 0)
    return point.key, one.mean, ClaimRow(point.at, f"{point.published:g} ± {point.tolerance:g}", words, holds)


def _order(point: _Point, spec: ClaimSpec) -> tuple[str, Any, ClaimRow]:
    bound = point.published["at_most"]
    found = point.estimates()
    worst = max(found, key=lambda name: found[name].mean)
    holds = all(one.low <= bound for one in found.values())
    words = f"{found[worst].said(spec.digits)} ({worst})"
    return point.key, found[worst].mean, ClaimRow(point.at, f"at most {bound:g}", words, holds)


_VERDICTS = {"exact": _exact, "band": _band, "average": _average, "order": _order}

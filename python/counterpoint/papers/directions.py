"""What papers say about effects, and the sign or order that the model shows.

A statement is a *trend* of a quantity along an axis, an *order* of its values at an axis, or a bound. The rules are
the same for all statements:

- What changes from one value to another is told in percent of the first, and in points where both are percentages.
- `rises` and `falls`: from the first value of the axis to the last, it changes that way by at least `SIGN`. Values
  between the two are not looked at.
- `flat`: from the first to the last, it changes by at most `FLAT`, either way. The papers' "little", "slightly", "close
  to", "similar" and "negligible" are all of this kind.
- `order`: each value lies above each one of the group before it by at least `SIGN`. Equal values are no order.
- `at_least`: no change; the quantity itself is at least as much. It says how the paper's runs were: a search over
  decisions looks for it as it does for claims (`condition`).

A statement is judged at each point of the axes that it is no mean over, and is right if it is right at each of them;
one of *some* programs is right if it is right at one. Over several seeds the change is taken for each seed, and its
interval (see `interval`) decides: one that is partly allowed and partly not is `undecided`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ..runs.matrix import Matrix, Value
from ..verbs.interval import Estimate, estimate
from .declared import DirectionSpec, Experiment
from .model import Claim, ClaimRow, Direction, DirectionRow, Sign
from .quantity import Document, Key, Quantity, called

FLAT = 5.0
"""What changes by at most this is flat; "very close" is within 4.7 % in counter-atomicity, section 6.3.2."""

SIGN = 0.1
"""What changes by less than this has no sign: the last digit of percentages that the papers print."""

_NOT: Sign = "not measured"
_NO_FIGURE = "no figure"
_FORMS = {"ratio": "over", "percent-more": "% more than", "percent-less": "% less than"}


@dataclass(frozen=True)
class _Step:
    """A change over the seeds from one value to another, None where there is no figure, and whether it is as said."""

    change: Estimate | None
    verdict: Sign


def judge(
    spec: DirectionSpec, paper: str, experiment: Experiment | None, runs: Mapping[str, Sequence[Mapping[Key, Document]]]
) -> Direction:
    """A statement with what the model shows.

    Args:
        spec: the statement.
        paper: whose it is.
        experiment: the figure that declares it; None where none does.
        runs: those of the figure, by matrix, with each seed.
    """
    rows: tuple[DirectionRow, ...] = ()
    expected = measured = ""
    if experiment is not None and not spec.unmeasured:
        matrix = experiment.matrices[spec.matrix]
        quantity = _looked_at(spec, matrix) if spec.along else spec.quantity
        expected, measured = _expected(spec, quantity, matrix), _measured(spec, quantity)
        told = _rows if spec.along else _amounts
        rows = tuple(told(spec, quantity, matrix, runs[spec.matrix]))
    return Direction(
        id=spec.id,
        paper=paper,
        section=spec.section,
        says=spec.says,
        measured=measured,
        expected=expected,
        verdict=_all(row.verdict for row in rows) if spec.judged == "each" else _some(row.verdict for row in rows),
        rows=rows,
        reason=spec.unmeasured,
    )


def condition(spec: DirectionSpec, paper: str, matrix: Matrix, runs: Sequence[Mapping[Key, Document]]) -> Claim:
    """A statement with a bound as a claim, as the search over decisions has it.

    Raises:
        ValueError: a run that it needs has no such figure.
    """
    found = []
    for at, amount in _amounts_by_point(spec, spec.quantity, matrix, runs).items():
        if amount is None:
            raise ValueError(f"{spec.id}: the run at {at} has no {spec.quantity.metric}")
        found.append((at, amount))
    at, least = min(found, key=lambda one: one[1].mean)
    row = ClaimRow(at, _bound(spec), least.said(1), _reached(spec, least) != "wrong")
    return Claim(spec.id, paper, spec.says, {"at_least": spec.at_least}, least.mean, 0, row.holds, (row,))


def _amounts(
    spec: DirectionSpec, quantity: Quantity, matrix: Matrix, runs: Sequence[Mapping[Key, Document]]
) -> Iterable[DirectionRow]:
    """A statement with a bound at each point."""
    unit = "points" if quantity.metric.endswith("_percent") else ""
    for at, amount in _amounts_by_point(spec, quantity, matrix, runs).items():
        verdict = _NOT if amount is None else _reached(spec, amount)
        yield DirectionRow(at, _NO_FIGURE if amount is None else amount.said(1), None, unit, verdict)


def _amounts_by_point(
    spec: DirectionSpec, quantity: Quantity, matrix: Matrix, runs: Sequence[Mapping[Key, Document]]
) -> dict[str, Estimate | None]:
    """The quantity over the seeds by point; None where there is no figure."""
    of_seeds = [_by_point(spec, quantity, matrix, one) for one in runs]
    found = {}
    for point in of_seeds[0]:
        known = [value for one in of_seeds for value in one[point].values() if value is not None]
        found[point] = estimate(known) if len(known) == len(of_seeds) else None
    return found


def _reached(spec: DirectionSpec, amount: Estimate) -> Sign:
    assert spec.at_least is not None, "a statement without an axis has a bound"
    return "right" if amount.low >= spec.at_least else "wrong" if amount.high < spec.at_least else "undecided"


def _bound(spec: DirectionSpec) -> str:
    return f"at least {spec.at_least:g}"


def _looked_at(spec: DirectionSpec, matrix: Matrix) -> Quantity:
    """The quantity at the values of the axis that are spoken of."""
    axis = matrix.axes[spec.along]
    asked = [value for group in spec.order for value in group] or spec.quantity.where.get(spec.along, axis)
    missing = [value for value in asked if value not in axis]
    if missing:
        raise ValueError(f"{spec.id}: {spec.along} has no {missing[0]!r}")
    found = spec.quantity
    where = {**found.where, spec.along: tuple(asked)}
    return Quantity(found.metric, found.form, where, found.over, found.beyond)


def _rows(
    spec: DirectionSpec, quantity: Quantity, matrix: Matrix, runs: Sequence[Mapping[Key, Document]]
) -> Iterable[DirectionRow]:
    """The statement at each point."""
    of_seeds = [_by_point(spec, quantity, matrix, one) for one in runs]
    in_points = quantity.in_points
    unit = "points" if in_points else "%"
    for at in of_seeds[0]:
        values = {
            value: [one[at][value] for one in of_seeds] for value in matrix.axes[spec.along] if value in of_seeds[0][at]
        }
        steps = _steps(spec, values, in_points)
        changes = [step.change for step in steps if step.change is not None]
        least = min(changes, key=lambda one: one.mean) if len(changes) == len(steps) else None
        verdict = _all(step.verdict for step in steps)
        words = _NO_FIGURE if least is None else f"{_signed(least)} {unit}"
        if spec.order and least is not None:
            words = f"{_found_order(spec, values, in_points)} ({words})"
        yield DirectionRow(at, words, None if least is None else least.mean, unit, verdict)


def _by_point(
    spec: DirectionSpec, quantity: Quantity, matrix: Matrix, runs: Mapping[Key, Document]
) -> dict[str, dict[Value, float | None]]:
    """The values of one seed along the axis, by point; one value where the statement has no axis."""
    found: dict[str, dict[Value, list[float | None]]] = {}
    for key, value in quantity.of(matrix, runs).items():
        at = dict(zip(matrix.axes, key, strict=True))
        point = _point(spec, quantity, matrix, at)
        found.setdefault(point, {}).setdefault(at.get(spec.along, ""), []).append(value)
    return {point: {at: _mean(values) for at, values in along.items()} for point, along in found.items()}


def _point(spec: DirectionSpec, quantity: Quantity, matrix: Matrix, at: Mapping[str, Value]) -> str:
    """What tells a point from others: the axes that vary and are neither a mean nor the statement's; one of a group."""
    told = []
    for group in matrix.together:
        varies = min(len(quantity.where.get(key, matrix.axes[key])) for key in group) > 1
        if varies and not set(group) & {spec.along, *spec.mean_over}:
            told.append(called(group[0], at[group[0]]))
    return " ".join(told)


def _steps(spec: DirectionSpec, values: Mapping[Value, Sequence[float | None]], in_points: bool) -> list[_Step]:
    """The changes that a statement is about: from the first value to the last, or between neighbours of its order."""
    if spec.order:
        pairs = [(low, high) for lower, upper in pairwise(spec.order) for low in lower for high in upper]
        return [_step("rises", _changes(values[low], values[high], in_points)) for low, high in pairs]
    ends = list(values)
    return [_step(spec.trend, _changes(values[ends[0]], values[ends[-1]], in_points))]


def _changes(first: Sequence[float | None], last: Sequence[float | None], in_points: bool) -> list[float] | None:
    """The change with each seed; None where there is no figure, or nothing that it could be a share of."""
    found = []
    for before, after in zip(first, last, strict=True):
        if before is None or after is None or (before == 0 and not in_points):
            return None
        found.append(after - before if in_points else 100 * (after - before) / before)
    return found


def _step(trend: str, changes: Sequence[float] | None) -> _Step:
    if changes is None:
        return _Step(None, _NOT)
    change = estimate(changes)
    low, high = (-change.high, -change.low) if trend == "falls" else (change.low, change.high)
    if trend == "flat":
        inside, outside = low >= -FLAT and high <= FLAT, high < -FLAT or low > FLAT
    else:
        inside, outside = low >= SIGN, high < SIGN
    return _Step(change, "right" if inside else "wrong" if outside else "undecided")


def _all(verdicts: Iterable[Sign]) -> Sign:
    """What is said of several: wrong if one is wrong, right if all are right."""
    found = list(verdicts)
    return next((one for one in ("wrong", "undecided", _NOT) if one in found), "right" if found else _NOT)


def _some(verdicts: Iterable[Sign]) -> Sign:
    """What is said of some: right if one is right, wrong if all are wrong."""
    found = list(verdicts)
    return next((one for one in ("right", "undecided", _NOT) if one in found), "wrong" if found else _NOT)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _found_order(spec: DirectionSpec, values: Mapping[Value, Sequence[float | None]], in_points: bool) -> str:
    """The values of the axis from the least to the most, equal ones with `=` between them."""
    means = {value: _mean(found) for value, found in values.items()}
    ordered = sorted((mean, place) for place, mean in enumerate(means.values()) if mean is not None)
    names = [called(spec.along, value) for value in means]
    words = names[ordered[0][1]]
    for (before, _), (after, place) in pairwise(ordered):
        apart = _changes([before], [after], in_points)
        words += f" {'<' if apart is None or apart[0] >= SIGN else '='} {names[place]}"
    return words


def _signed(change: Estimate) -> str:
    shown = f"{change.mean:+.1f}"
    return shown if change.half is None else f"{shown} ± {change.half:.1f}"


def _expected(spec: DirectionSpec, quantity: Quantity, matrix: Matrix) -> str:
    """The statement in the words of the rules."""
    some = ", somewhere" if spec.judged == "some" else ""
    if not spec.along:
        return _bound(spec) + some
    if spec.order:
        return " < ".join(", ".join(called(spec.along, value) for value in group) for group in spec.order) + some
    ends = [value for value in matrix.axes[spec.along] if value in quantity.where[spec.along]]
    first, last = called(spec.along, ends[0]), called(spec.along, ends[-1])
    return f"{spec.trend} from {first} to {last}{some}"


def _measured(spec: DirectionSpec, quantity: Quantity) -> str:
    """The quantity in words."""
    fixed = [called(key, values[0]) for key, values in quantity.where.items() if len(values) == 1]
    words = quantity.metric + (f" of {', '.join(fixed)}" if fixed else "")
    if quantity.over:
        words += f", {_FORMS[quantity.form]} {', '.join(called(key, value) for key, value in quantity.over.items())}"
    return words + (f", mean over {' and '.join(spec.mean_over)}" if spec.mean_over else "")

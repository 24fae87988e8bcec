"""Charts and tables of figures, from their runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from ..runs.matrix import Matrix, Value
from ..system import units
from ..verbs.frames import mean
from ..verbs.interval import estimate
from .declared import ChartSpec, TableSpec
from .model import Chart, Mark, Table
from .quantity import Document, Key, Quantity

AVERAGE = "average"
"""The label of the mean over the places of an axis."""

Spot: TypeAlias = tuple[str, str, str]
"""Where a mark stands: panel, place on the axis, colour."""

_TITLES = {"tx_size": "transaction size", "cores": "cores", "footprint": "footprint"}
_NOTHING = "-"


Runs: TypeAlias = Sequence[Mapping[Key, Document]]
"""The runs of a matrix with each seed."""


def chart(spec: ChartSpec, matrix: Matrix, runs: Runs, names: Mapping[str, str]) -> Chart:
    """A declared chart with its marks."""
    place = _Places(spec, matrix, names)
    metrics = spec.metrics or {"": spec.quantity.metric}
    marks = [
        mark
        for series, metric in metrics.items()
        for mark in place.marks(replace(spec.quantity, metric=metric), runs, series)
    ]
    line = place.marks(spec.line, runs, "") if spec.line else []
    return Chart(
        title=spec.title,
        kind=spec.kind,
        x_title=spec.x_title or _TITLES.get(spec.x, ""),
        y_title=spec.y_title,
        panels=_in_order(mark.panel for mark in marks),
        xs=_in_order(mark.x for mark in marks),
        series=_in_order(mark.series for mark in marks),
        marks=tuple(marks),
        line=tuple(replace(mark, series="") for mark in line),
        line_title=spec.line_title,
        rule=spec.rule,
        published=tuple(Mark("", known["x"], known["series"], known["value"]) for known in spec.published),
    )


def numbers(drawn: Chart, digits: int) -> Table:
    """The numbers of a chart: a row for each panel and colour, a column for each place."""
    found = {(mark.panel, mark.series, mark.x): mark for mark in drawn.marks}
    found |= {(mark.panel, drawn.line_title, mark.x): mark for mark in drawn.line}
    lines = (drawn.line_title,) if drawn.line else ()
    series = (*drawn.series, *lines)
    rows = [
        [*([panel] if panel else []), *([name] if any(series) else [])]
        + [_cell(found.get((panel, name, x)), 1 if name in lines else digits) for x in drawn.xs]
        for panel in drawn.panels
        for name in series
    ]
    heads = len(rows[0]) - len(drawn.xs) if rows else 0
    return Table(
        _about(drawn.title, drawn.y_title), (*("" for _ in range(heads)), *drawn.xs), tuple(tuple(row) for row in rows)
    )


def table(spec: TableSpec, matrix: Matrix, runs: Runs, names: Mapping[str, str]) -> Table:
    """A declared table with its cells."""
    shape = ChartSpec(
        Quantity("writes", where=spec.where),
        x=spec.rows,
        labels={spec.rows: spec.labels} if spec.labels else {},
        mean_over=spec.mean_over,
    )
    place = _Places(shape, matrix, names)
    columns = {
        heading: {mark.x: mark for mark in place.marks(Quantity(metric, where=spec.where), runs, "")}
        for heading, metric in spec.columns.items()
    }
    rows = _in_order(row for column in columns.values() for row in column)
    return Table(
        spec.title,
        ("", *columns),
        tuple(
            (row, *(_cell(column[row], 0 if name in spec.whole else spec.digits) for name, column in columns.items()))
            for row in rows
        ),
    )


class _Places:
    """Where the runs of a matrix stand in a chart."""

    def __init__(self, spec: ChartSpec, matrix: Matrix, names: Mapping[str, str]) -> None:
        """Checks that each axis has its part in the chart."""
        self.spec, self.matrix, self.names = spec, matrix, names
        shown = {spec.x, spec.panel, spec.series, *spec.mean_over}
        for group in matrix.together:
            sizes = {len(spec.quantity.where.get(key, matrix.axes[key])) for key in group}
            if not shown & set(group) and 1 not in sizes:
                raise ValueError(f"axis {group[0]} has no part in the chart '{spec.title}' and more than one value")

    def marks(self, quantity: Quantity, runs: Runs, series: str) -> list[Mark]:
        """A mark for each place, in the order of the axes, the mean over places last."""
        of_seeds = [self._of_seed(quantity, one, series) for one in runs]
        return [self._mark(spot, [one.get(spot) for one in of_seeds]) for spot in of_seeds[0]]

    def _of_seed(self, quantity: Quantity, runs: Mapping[Key, Document], series: str) -> dict[Spot, float | None]:
        """The value at each place with one seed."""
        found: dict[Spot, list[float | None]] = {}
        for key, value in quantity.of(self.matrix, runs).items():
            at = dict(zip(self.matrix.axes, key, strict=True))
            spot = (
                self._called(self.spec.panel, at) if self.spec.panel else "",
                self._called(self.spec.x, at),
                series or (self._called(self.spec.series, at) if self.spec.series else ""),
            )
            found.setdefault(spot, []).append(value)
        means = {spot: mean(values) for spot, values in found.items()}
        return means | (_averages(means) if self.spec.average else {})

    def _mark(self, spot: Spot, values: Sequence[float | None]) -> Mark:
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return Mark(*spot, None)
        found = estimate(known)
        return Mark(*spot, found.mean, found.half)

    def _called(self, key: str, at: Mapping[str, Value]) -> str:
        value = at[key]
        if key in self.spec.labels:
            return self.spec.labels[key][self._place(key, at)]
        if key == "cores":
            # A number alone says nothing where it is no place on an axis.
            return str(value) if key == self.spec.x else units.count_of(value, "core")
        return units.size(value) if key == "tx_size" else self.names.get(str(value), str(value))

    def _place(self, key: str, at: Mapping[str, Value]) -> int:
        """The place on an axis; of values that go together it takes all to tell."""
        group = next(group for group in self.matrix.together if key in group)
        rows = list(zip(*(self.matrix.axes[each] for each in group), strict=True))
        return rows.index(tuple(at[each] for each in group))


def _averages(means: Mapping[Spot, float | None]) -> dict[Spot, float | None]:
    """The mean over the places of each panel and colour."""
    return {
        (panel, AVERAGE, series): mean(
            [value for spot, value in means.items() if (spot[0], spot[2]) == (panel, series)]
        )
        for panel, series in dict.fromkeys((panel, series) for panel, _, series in means)
    }


def _in_order(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _cell(mark: Mark | None, digits: int) -> str:
    if mark is None or mark.value is None:
        return _NOTHING
    shown = f"{mark.value:,.{digits}f}"
    return shown if mark.half is None else f"{shown} ± {mark.half:,.{digits}f}"


def _about(title: str, quantity: str) -> str:
    return f"{title}: {quantity}" if title and quantity else title or quantity

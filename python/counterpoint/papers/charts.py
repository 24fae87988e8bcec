"""Charts and tables of figures, from their runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from .. import units
from ..frame import mean
from ..matrix import Matrix, Value
from .declared import ChartSpec, TableSpec
from .model import Chart, Mark, Table
from .quantity import Document, Key, Quantity

AVERAGE = "average"
"""The label of the mean over the places of an axis."""

_TITLES = {"tx_size": "transaction size", "cores": "cores", "footprint": "footprint"}
_NOTHING = "-"


def chart(spec: ChartSpec, matrix: Matrix, runs: Mapping[Key, Document], names: Mapping[str, str]) -> Chart:
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
    found = {(mark.panel, mark.series, mark.x): mark.value for mark in drawn.marks}
    found |= {(mark.panel, drawn.line_title, mark.x): mark.value for mark in drawn.line}
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


def table(spec: TableSpec, matrix: Matrix, runs: Mapping[Key, Document], names: Mapping[str, str]) -> Table:
    """A declared table with its cells."""
    shape = ChartSpec(
        Quantity("writes", where=spec.where),
        x=spec.rows,
        labels={spec.rows: spec.labels} if spec.labels else {},
        mean_over=spec.mean_over,
    )
    place = _Places(shape, matrix, names)
    columns = {
        heading: {mark.x: mark.value for mark in place.marks(Quantity(metric, where=spec.where), runs, "")}
        for heading, metric in spec.columns.items()
    }
    rows = _in_order(row for column in columns.values() for row in column)
    return Table(
        spec.title,
        ("", *columns),
        tuple((row, *(_cell(column[row], spec.digits) for column in columns.values())) for row in rows),
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

    def marks(self, quantity: Quantity, runs: Mapping[Key, Document], series: str) -> list[Mark]:
        """A mark for each place, in the order of the axes, the mean over places last."""
        found: dict[tuple[str, str, str], list[float | None]] = {}
        values = quantity.of(self.matrix, runs)
        for key, value in values.items():
            at = dict(zip(self.matrix.axes, key, strict=True))
            spot = (
                self._called(self.spec.panel, at) if self.spec.panel else "",
                self._called(self.spec.x, at),
                series or (self._called(self.spec.series, at) if self.spec.series else ""),
            )
            found.setdefault(spot, []).append(value)
        marks = [Mark(*spot, mean(values)) for spot, values in found.items()]
        return marks + (self._averages(marks) if self.spec.average else [])

    def _averages(self, marks: list[Mark]) -> list[Mark]:
        return [
            Mark(panel, AVERAGE, series, mean([m.value for m in marks if (m.panel, m.series) == (panel, series)]))
            for panel, series in dict.fromkeys((m.panel, m.series) for m in marks)
        ]

    def _called(self, key: str, at: Mapping[str, Value]) -> str:
        value = at[key]
        if key in self.spec.labels:
            return self.spec.labels[key][self.matrix.axes[key].index(value)]
        if key == "cores":
            # A number alone says nothing where it is no place on an axis.
            return str(value) if key == self.spec.x else units.count_of(value, "core")
        return units.size(value) if key == "tx_size" else self.names.get(str(value), str(value))


def _in_order(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _cell(value: float | None, digits: int) -> str:
    return _NOTHING if value is None else f"{value:,.{digits}f}"


def _about(title: str, quantity: str) -> str:
    return f"{title}: {quantity}" if title and quantity else title or quantity

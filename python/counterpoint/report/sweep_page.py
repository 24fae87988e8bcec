"""`sweep.html`: the page of a sweep, without a network.

Each axis of numbers gets charts of the main measures over it; a sweep without one gets bars. Where runs differ in more
than a chart can show, its points are means, and the page says over what.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from statistics import fmean
from typing import Any

import polars as pl

from ..papers.model import Chart, Mark
from ..runs.store import Failure, Store, Sweep
from ..system import units
from ..verbs.frames import rests_on, without_writes
from ..verbs.interval import SEEDS_MAX, estimate, estimate_of_all
from . import charts, colours, column, figures, headline
from .templates import template

ROWS_MAX = 500
"""Largest number of points in the table; all are in the store and its exports."""

_FAILURES_MAX = 100

_NUMBERS = ("BIGINT", "DOUBLE")
_DRAWS = ("seed",)
"""Axes of numbers that are no quantities: a run is one draw of several."""

_SIZES = ("size", "footprint", "capacity", "row", "log_ring")
"""Endings of the names of values that are bytes."""

_WRITES = "nvm_writes_per_transaction"
_WHOLE, _ALL_WRITES = "simulated_ns_without_transactions", "nvm_writes_without_transactions"
"""Figures of runs that have no transactions."""


@dataclass(frozen=True)
class _Measure:
    """A column that is drawn: its name, the name and unit of its axis, which way is better, and its cell in a table."""

    column: str
    title: str
    axis: str
    better: str
    cell: Callable[[Any], str]


_MEASURES = (
    _Measure("transaction_latency_ns_mean", "Latency", "mean latency of a transaction in ns", "lower", units.time),
    _Measure("throughput_tps", "Throughput", "transactions per second", "higher", units.number),
    _Measure(_WHOLE, "Simulated time", "simulated time of the whole program in ns", "lower", units.time),
    _Measure(_WRITES, "NVM writes", "line writes per transaction", "lower", units.ratio),
    _Measure(_ALL_WRITES, "NVM writes, whole program", "line writes of the whole program", "lower", units.number),
    _Measure("counter_cache_hit_rate", "Counter cache", "hit rate", "higher", units.percent),
    _Measure("finish_ns", "Last answer", "time until the last answer in ns", "lower", units.time),
    _Measure("read_latency_ns", "Read latency", "mean latency of a read that was sent in ns", "lower", units.time),
    _Measure("write_latency_ns", "Write latency", "mean time until a write is durable in ns", "lower", units.time),
    _Measure("media_writes", "Media writes", "lines written to the media", "lower", units.number),
)


def render(store: Store, name: str | None, command: str | None) -> str:
    """The page of the named sweep or of the last one; `command` is the command line that drew it.

    Raises:
        InputError: there is no such sweep.
    """
    sweep, rows, measures = _read(store, name)
    failures = store.failures(sweep.name)
    return template("sweep.html").render(
        sweep=sweep,
        said=_headline(rows, sweep, measures),
        sections=[_section(rows, sweep, axes, measures) for axes in _drawn_over(rows, sweep) if measures],
        machines=_machines(rows, sweep),
        facts=_facts(rows, sweep, failures, store),
        header=_header(rows, sweep, measures),
        rows=_rows(rows.head(ROWS_MAX), sweep, measures),
        points=rows.height,
        means=_means(rows, sweep, measures),
        notes=_notes(rows),
        failures=[(one.sentence, one.attempts, _asked(one)) for one in failures[:_FAILURES_MAX]],
        failed=len(failures),
        command=command,
        dark_rules=colours.dark_rules(".drawn"),
        colours=colours,
    )


def of_paper(store: Store, name: str | None = None) -> list[column.Figure]:
    """The charts of the named sweep or of the last one, each as wide as a column of a paper.

    Raises:
        InputError: there is no such sweep.
    """
    sweep, rows, measures = _read(store, name)
    return [
        column.Figure(_file(measure, axes), chart)
        for axes in _drawn_over(rows, sweep)
        for measure, chart in _drawn(rows, sweep, axes, measures)
    ]


def _file(measure: _Measure, axes: Sequence[str]) -> str:
    return "_by_".join([measure.title.lower(), *axes[:1]])


def table(store: Store, name: str, most: int) -> tuple[list[str], list[list[str]]]:
    """The head and the first rows of the table of points.

    Raises:
        InputError: there is no such sweep.
    """
    sweep, rows, measures = _read(store, name)
    return _header(rows, sweep, measures), _rows(rows.head(most), sweep, measures)


def _header(rows: pl.DataFrame, sweep: Sweep, measures: Sequence[_Measure]) -> list[str]:
    return ["point", *_columns(rows, sweep), *(one.title for one in measures), "failure"]


def _means(rows: pl.DataFrame, sweep: Sweep, measures: Sequence[_Measure]) -> dict[str, list[Any]] | None:
    """The points over their seeds, as a table; None where no axis is the seed."""
    if "seed" not in sweep.axes:
        return None
    axes = [axis for axis in sweep.axes if axis != "seed"]
    keys = [(), *rows.select(axes).unique(maintain_order=True).iter_rows()] if axes else [(), ()]
    found = []
    for values in keys[1:]:
        group = rows.filter(*(pl.col(axis) == value for axis, value in zip(axes, values, strict=True)))
        cells = [_value(axis, value) for axis, value in zip(axes, values, strict=True)]
        found.append([*cells, *(_over_group(group[one.column].to_list(), one) for one in measures)])
    return {"header": [*axes, *(one.title for one in measures)], "rows": found[:ROWS_MAX]}


def _over_group(values: Sequence[float | None], measure: _Measure) -> str:
    """A figure of a point over its seeds; nothing where a run lacks it."""
    value = None if len(values) > SEEDS_MAX else estimate_of_all(values)
    return units.NOTHING if value is None else value.shown(measure.cell)


def _rows(rows: pl.DataFrame, sweep: Sweep, measures: Sequence[_Measure]) -> list[list[str]]:
    return [_cells(row, _columns(rows, sweep), measures) for row in rows.iter_rows(named=True)]


def _read(store: Store, name: str | None) -> tuple[Sweep, pl.DataFrame, list[_Measure]]:
    """A sweep, its points, and what they have figures of."""
    sweep = store.sweep(name)
    rows = store.rows(sweep.name)
    _check_figures(rows, store)
    rows = _per_transaction(rows)
    return sweep, rows, [one for one in _MEASURES if charts.drawable(rows, [one.column])]


def _per_transaction(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with line writes per transaction. A run without transactions has the figures of the whole instead."""
    measured = "transactions_measured" if "transactions_measured" in rows.columns else "transactions"
    if not {"nvm_writes", measured} <= set(rows.columns):
        return rows
    some = pl.col(measured) > 0
    columns = [pl.when(some).then(pl.col("nvm_writes") / pl.col(measured)).alias(_WRITES)]
    if "simulated_ns" in rows.columns:
        columns.append(pl.when(~some).then(pl.col("simulated_ns")).alias(_WHOLE))
        columns.append(pl.when(~some).then(pl.col("nvm_writes")).alias(_ALL_WRITES))
    return rows.with_columns(columns)


def _notes(rows: pl.DataFrame) -> list[str]:
    """What figures rest on, and why runs wrote nothing to the device."""
    wanted = ["design", "workload", "no_writes", "set_by_design", "recorded_assumed", "recorded_lacks"]
    known = rows.select(column for column in wanted if column in rows.columns)
    if not {"design", "workload"} <= set(known.columns):
        return []
    told = known.drop_nulls(["design", "workload"]).unique(maintain_order=True).to_dicts()
    return [*rests_on(told), *(f"{line}." for line in without_writes(told))]


def _check_figures(rows: pl.DataFrame, store: Store) -> None:
    """Checks that the columns used in calculations are numbers, whatever type the store declares.

    Raises:
        InputError: they are not.
    """
    for name in ("nvm_writes", "transactions_measured", *(one.column for one in _MEASURES)):
        if name in rows.columns and not rows[name].dtype.is_numeric():
            raise store.altered(f"the figure '{name}' is not a number")


def _several(rows: pl.DataFrame, sweep: Sweep) -> list[str]:
    """The axes along which points differ."""
    return [axis for axis in sweep.axes if rows[axis].n_unique() > 1]


def _drawn_over(rows: pl.DataFrame, sweep: Sweep) -> list[tuple[str, ...]]:
    """Axes of numbers; those that change together are one. A sweep without any is drawn as bars, over none."""
    groups: list[tuple[str, ...]] = []
    for axis in _several(rows, sweep):
        if sweep.axes[axis] not in _NUMBERS or axis in _DRAWS:
            continue
        for place, group in enumerate(groups):
            pairs = rows.select(group[0], axis).n_unique()
            if pairs == rows[axis].n_unique() == rows[group[0]].n_unique():
                groups[place] = (*group, axis)
                break
        else:
            groups.append((axis,))
    return groups or [()]


def _section(rows: pl.DataFrame, sweep: Sweep, axes: Sequence[str], measures: Sequence[_Measure]) -> dict[str, Any]:
    """Charts of all measures over one axis, or as bars where there is none."""
    over = _over(rows, sweep, axes)
    drawn = _drawn(rows, sweep, axes, measures)
    return {
        "title": f"By {' and '.join(axes)}" if axes else "Figures",
        "mean": _mean(over, "line" if axes else "bar", failed=rows["failure"].count() > 0),
        "legend": [(entry.name, entry.colour) for entry in figures.legend(drawn[0][1])] if drawn else [],
        "charts": [
            {
                "title": one.title,
                "note": f"{one.axis[:1].upper()}{one.axis[1:]}; {one.better} is better.",
                "drawn": figures.drawn(chart, _file(one, axes)),
            }
            for one, chart in drawn
        ],
    }


def _headline(rows: pl.DataFrame, sweep: Sweep, measures: Sequence[_Measure]) -> headline.Headline:
    """What the first chart shows, and what it leaves out; over what its points are means stands above it."""
    failed = rows["failure"].count()
    left = f" {units.count_of(failed, 'run')} of {units.number(sweep.points)} could not be computed." if failed else ""
    axes = _drawn_over(rows, sweep)[0]
    drawn = _drawn(rows, sweep, axes, measures)
    if not drawn:
        return headline.Headline(f"No point of this sweep has a figure.{left}")
    one, chart = drawn[0]
    _, colour = _panels_and_colour(rows, sweep)
    title = one.title.lower()
    said = (
        headline.of_line(chart, title, " and ".join(axes))
        if chart.kind == "line"
        else headline.of_bars(
            chart, title, one.better, "designs" if colour == "design" else f"values of {colour}", one.cell
        )
    )
    return headline.Headline(f"{said}{left}")


def _over(rows: pl.DataFrame, sweep: Sweep, axes: Sequence[str]) -> list[str]:
    """The axes over which points of charts are means."""
    return [axis for axis in _several(rows, sweep) if axis not in {*_panels_and_colour(rows, sweep), *axes}]


def _panels_and_colour(rows: pl.DataFrame, sweep: Sweep) -> tuple[str | None, str | None]:
    """The axes that panels and colours stand for."""
    several = _several(rows, sweep)
    panels = "workload" if "workload" in several else None
    words = [axis for axis in several if sweep.axes[axis] not in _NUMBERS and axis != panels]
    return panels, "design" if "design" in words else next(iter(words), None)


def _drawn(
    rows: pl.DataFrame, sweep: Sweep, axes: Sequence[str], measures: Sequence[_Measure]
) -> list[tuple[_Measure, Chart]]:
    """The charts over one axis; a chart of zeros is blank, and left out."""
    panels, colour = _panels_and_colour(rows, sweep)
    return [(one, _chart(rows, one, axes, panels, colour)) for one in measures if rows[one.column].max()]


def _mean(over: Sequence[str], kind: str, *, failed: bool) -> str:
    each = "Each point of a line" if kind == "line" else "Each bar"
    said = f"{each} is the mean over {_listed(over)}." if over else f"{each} is one run."
    said += " Runs that failed are left out." if failed else ""
    intervals = (
        "Error bars are 95 % intervals over the seeds." if "seed" in over else "One seed: there are no intervals."
    )
    return f"{said} {intervals}"


def _chart(rows: pl.DataFrame, measure: _Measure, axes: Sequence[str], panels: str | None, colour: str | None) -> Chart:
    bars = not axes
    place = panels if bars else axes[0]
    of_panel = None if bars else panels
    known = rows.select(
        _text(of_panel, rows).alias("panel"),
        (pl.col(place) if place else pl.lit("")).alias("x"),
        _text(colour, rows).alias("series"),
        (pl.col("seed") if "seed" in rows.columns else pl.lit(None)).alias("seed"),
        pl.col(measure.column).cast(pl.Float64).alias("value"),
    )
    # A panel, or a place of bars, without any value is left out.
    known = known.filter(pl.col("value").is_not_null().any().over("x" if bars else "panel"))
    means = known.group_by("panel", "x", "series", maintain_order=True).agg(pl.col("value").mean())
    halves = _halves(known)
    places = known["x"].unique(maintain_order=True)
    xs = {value: _value(place or "", value) for value in (places if bars else places.sort())}
    return Chart(
        title="",
        kind="bar" if bars else "line",
        x_title=" and ".join(axes) if axes else panels or "",
        y_title=measure.axis,
        panels=tuple(known["panel"].unique(maintain_order=True)),
        xs=tuple(xs.values()),
        series=tuple(rows.select(_text(colour, rows).alias("series"))["series"].unique(maintain_order=True)),
        marks=tuple(
            Mark(panel, xs[x], series, value, halves[panel, x, series]) for panel, x, series, value in means.iter_rows()
        ),
    )


def _halves(known: pl.DataFrame) -> dict[tuple[Any, ...], float | None]:
    """Half of the interval over the seeds at each place; None with one seed, and where a seed lacks runs of others."""
    found: dict[tuple[Any, ...], dict[Any, list[float]]] = {}
    for *place, seed, value in known.select("panel", "x", "series", "seed", "value").iter_rows():
        of_seed = found.setdefault(tuple(place), {}).setdefault(seed, [])
        if value is not None:
            of_seed.append(value)
    return {place: _half(list(of_seeds.values())) for place, of_seeds in found.items()}


def _half(of_seeds: Sequence[Sequence[float]]) -> float | None:
    alike = len({len(values) for values in of_seeds}) == 1 and all(of_seeds) and len(of_seeds) <= SEEDS_MAX
    return estimate([fmean(values) for values in of_seeds]).half if alike else None


def _text(axis: str | None, rows: pl.DataFrame) -> pl.Expr:
    """The values of an axis in readable form."""
    if axis is None:
        return pl.lit("")
    names = {value: _value(axis, value) for value in rows[axis].unique()}
    return pl.col(axis).replace_strict(names, return_dtype=pl.String)


def _value(axis: str, value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and axis.endswith(_SIZES):
        return units.size(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    return PurePath(value).name if axis in ("workload", "machine") else str(value)


def _cells(row: dict[str, Any], columns: Sequence[str], measures: Sequence[_Measure]) -> list[str]:
    return [
        str(row["point"]),
        *(_value(column, row[column]) for column in columns),
        *(one.cell(row[one.column]) for one in measures),
        row["failure"] or "",
    ]


def _asked(failure: Failure) -> str:
    return ", ".join(f"{name} = {_asked_value(value)}" for name, value in failure.request.items())


def _asked_value(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _columns(rows: pl.DataFrame, sweep: Sweep) -> list[str]:
    """What the table has of each point: the values of the axes, and the machine where that differs."""
    differs = "machine" not in sweep.axes and len(_distinct(rows, "machine")) > 1
    return [*sweep.axes, "machine"] if differs else list(sweep.axes)


def _machines(rows: pl.DataFrame, sweep: Sweep) -> str:
    """The sentence about the machines of a sweep; empty before anything is computed."""
    names = _distinct(rows, "machine")
    values = [axis for axis in _several(rows, sweep) if "." in axis and not axis.startswith("design.")]
    varied = f", with values of {_listed(values)} as given at each point" if values else ""
    if len(names) > 1:
        return f"Machines differ: {', '.join(names)}{varied}; the table of points names the machine of each."
    return f"All of it is on machine {names[0]}{varied}." if names else ""


def _distinct(rows: pl.DataFrame, column: str) -> list[str]:
    """The different values of a column in readable form; none where the store has no such figure yet."""
    if column not in rows.columns:
        return []
    return [_value(column, value) for value in rows[column].drop_nulls().unique(maintain_order=True)]


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _facts(rows: pl.DataFrame, sweep: Sweep, failures: Sequence[Failure], store: Store) -> dict[str, str]:
    """What was run, under the names a reader looks for."""

    def all_of(column: str) -> str:
        return ", ".join(_distinct(rows, column))

    finished = rows.filter(pl.col("failure").is_null() & pl.col("engine_build").is_not_null()).height
    facts = {
        "points": units.number(sweep.points),
        "finished": units.number(finished),
        "failed": units.number(rows["failure"].count()),
        "not computed yet": units.number(sweep.points - finished - rows["failure"].count()),
        "axes": ", ".join(f"{axis} ({rows[axis].n_unique()})" for axis in sweep.axes),
        "designs": all_of("design"),
        "workloads": all_of("workload"),
        "machines": all_of("machine"),
        "engine": all_of("engine_version"),
        "build": ", ".join(build[:12] for build in rows["engine_build"].drop_nulls().unique(maintain_order=True)),
        "store": store.path.name,
    }
    return {name: value for name, value in facts.items() if value and (value != "0" or name == "failed")}

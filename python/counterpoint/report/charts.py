"""Charts of a comparison, as SVG text without scripts.

Each chart is drawn twice: wide, with workloads side by side, and narrow, with workloads one under another and
horizontal bars, so that it is readable on a phone.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import altair as alt
import polars as pl

from ..system import units
from ..verbs.frames import steps
from ..verbs.interval import Estimate, estimate
from . import colours

FONT = "Helvetica, Arial, sans-serif"
Dressed = TypeVar("Dressed", alt.Chart, alt.LayerChart, alt.FacetChart)
_WIDE, _NARROW, _SPACING = 900, 210, 14
"""Width in pixels of all plots of a wide chart together, of the plot of a narrow one, and of the room between plots."""


@dataclass(frozen=True)
class Part:
    """A piece of a stacked bar: its column, its name and its colour."""

    column: str
    name: str
    colour: str


WRITES = (
    Part("relative_data_writes", "data", colours.DATA),
    Part("relative_log_writes", "log", colours.LOG),
    Part("relative_counter_writes", "counters", colours.COUNTER),
)
_PROTECTION = (
    Part("relative_mac_writes", "MACs", colours.MAC),
    Part("relative_tree_writes", "nodes", colours.NODE),
    Part("relative_table_writes", "shadow table", colours.TABLE),
)
"""Further parts of writes, of designs that protect integrity."""

READS = (
    Part("relative_data_reads", "data and log", colours.DATA),
    Part("relative_counter_reads", "counters", colours.COUNTER),
)
COUNTER_WRITES = (
    Part("relative_counter_writes", "written", colours.COUNTER),
    Part("relative_counter_writes_removed", "removed in the write queue", colours.REMOVED),
)


@dataclass(frozen=True)
class Drawn:
    """A chart of a page.

    Attributes:
        drawings: it, wide and narrow.
        file: the name of the file of its data, without its ending.
        data: an address that has them as CSV.
    """

    drawings: list[str]
    file: str
    data: str


def writes_of(table: pl.DataFrame) -> tuple[Part, ...]:
    """The parts of writes: those of every design, and those that one of these designs has."""
    return (*WRITES, *(part for part in _PROTECTION if any(table[part.column])))


def drawable(table: pl.DataFrame, columns: Iterable[str]) -> bool:
    """Whether any of the columns has a value to draw."""
    return any(column in table.columns and table[column].count() for column in columns)


def bars(table: pl.DataFrame, column: str, colour_of: dict[str, str], *, wide: bool) -> str:
    """A bar per design and workload, coloured by design, with a rule at 1."""
    shown = _told(points(table, [column]).rename({column: "value"}))
    colour = alt.Color("design:N", scale=_scale(colour_of), legend=None)
    return _svg(_facets(shown, [colour, _TOLD], list(colour_of), wide=wide, labels=True, rule=True))


def stacks(table: pl.DataFrame, parts: tuple[Part, ...], *, wide: bool, rule: bool = True) -> str:
    """A stacked bar per design and workload."""
    shown = (
        points(table, [part.column for part in parts])
        .unpivot(index=["workload", "design", "half"], variable_name="part")
        .with_columns(pl.col("part").replace({part.column: part.name for part in parts}).alias("of"))
        .with_columns(pl.col("part").replace({part.column: str(i) for i, part in enumerate(parts)}))
    )
    shown = _told(shown.with_columns(pl.lit(None).cast(pl.Float64).alias("half")), "of").with_columns(shown["half"])
    scale = _scale({str(i): part.colour for i, part in enumerate(parts)})
    encodings = [alt.Color("part:N", scale=scale, legend=None), alt.Order("part:N"), _TOLD]
    designs = table["design"].unique(maintain_order=True).to_list()
    return _svg(_facets(shown, encodings, designs, wide=wide, labels=False, rule=rule))


def lines(
    table: pl.DataFrame, axis: Literal["cores", "tx_size"], column: str, colour_of: dict[str, str], *, wide: bool
) -> str:
    """A line per design over numbers of cores or transaction sizes, for every workload and their mean."""
    shown = _told(_with_ends(points_along(table, axis, column), ["workload", "design", "step"]), "step")
    places = shown["step"].unique(maintain_order=True).to_list()
    works = shown["workload"].unique(maintain_order=True).to_list()
    size = {"width": _width(len(works)), "height": 210} if wide else {"width": _NARROW, "height": 190}
    highest = shown.select(pl.max_horizontal("value", "high").max()).item() or 1.0
    scale = alt.Scale(domain=[0, 1.12 * highest], nice=False)
    title = "cores" if axis == "cores" else "transaction size"
    place = alt.Axis(title=title, labelAngle=0 if axis == "cores" else -45)
    base = alt.Chart(shown).encode(
        x=alt.X("step:O", axis=place, sort=places),
        y=alt.Y("value:Q", axis=alt.Axis(title=None, tickCount=4), scale=scale),
        color=alt.Color("design:N", scale=_scale(colour_of), legend=None),
    )
    intervals = [_intervals(base, "y")] if shown["high"].count() else []
    dots = base.mark_point(filled=True, opacity=1, size=28).encode(_TOLD)
    layers = alt.layer(base.mark_line(), dots, *intervals, data=shown)
    if wide:
        return _svg(layers.properties(**size).facet(column=alt.Column("workload:N", sort=works, title=None)))
    return _svg(layers.properties(**size).facet(row=alt.Row("workload:N", sort=works, title=None)))


def points_along(table: pl.DataFrame, axis: Literal["cores", "tx_size"], column: str) -> pl.DataFrame:
    """The points of lines, with their places on the axis as `step`, ascending."""
    groups = [
        points(table.filter(pl.col(axis) == step), [column]).with_columns(
            pl.lit(str(step) if axis == "cores" else units.size(step)).alias("step")
        )
        for step in steps(table.select(axis).to_dicts(), axis)
    ]
    return pl.concat(groups).rename({column: "value"})


def points(table: pl.DataFrame, columns: Iterable[str]) -> pl.DataFrame:
    """What a chart shows, the mean over several workloads last; of several seeds the mean.

    `half` is half of the interval of the sum of the columns over the seeds, null with one seed. A workload without a
    value is left out, and so is the mean of a design that lacks one. A trace goes by its file name, as a path is long.
    """
    columns = list(columns)
    shown = table.select(
        # A control character in a label would end the process.
        pl.col("workload").map_elements(units.name_of, return_dtype=pl.String),
        "design",
        "seed",
        *(pl.col(column).cast(pl.Float64) for column in columns),
    )
    shown = shown.filter(pl.any_horizontal(pl.col(*columns).is_not_null()).any().over("workload"))
    if shown["workload"].n_unique() > 1:
        means = _whole_means(shown, ["design", "seed"], columns)
        shown = pl.concat([shown, means.with_columns(pl.lit("mean").alias("workload")).select(shown.columns)])
    found = _whole_means(shown, ["workload", "design"], columns)
    sums = shown.select("workload", "design", pl.sum_horizontal(columns, ignore_nulls=False).alias("sum"))
    half_of = {
        (work, design): None if None in values else estimate(values).half
        for work, design, values in sums.group_by("workload", "design").agg("sum").iter_rows()
    }
    halves = [half_of[place] for place in found.select("workload", "design").iter_rows()]
    return found.with_columns(pl.Series("half", halves, dtype=pl.Float64))


def _whole_means(table: pl.DataFrame, places: list[str], columns: list[str]) -> pl.DataFrame:
    """The means of columns at each place, null where a value is missing."""
    whole = [pl.when(pl.col(name).null_count() == 0).then(pl.col(name).mean()).alias(name) for name in columns]
    return table.group_by(places, maintain_order=True).agg(whole)


_TOLD = alt.Description("told:N")
"""What a mark says when it is pointed at."""


def _told(shown: pl.DataFrame, *more: str) -> pl.DataFrame:
    """With what each mark says: its design, workload and further columns, and its value."""

    def said(row: dict[str, Any]) -> str:
        where = ", ".join([row["design"], *(row[name] for name in ("workload", *more))])
        return f"{where}: {value_told(row['value'], row['half'])}"

    told = [said(row) for row in shown.iter_rows(named=True)]
    return shown.with_columns(pl.Series("told", told, dtype=pl.String))


def value_told(value: float | None, half: float | None) -> str:
    """A value of a chart, with half of its interval if it has one."""
    return units.figure(value) if value is None or half is None else Estimate(value, half).shown(units.figure)


def _scale(colour_of: dict[str, str]) -> alt.Scale:
    return alt.Scale(domain=list(colour_of), range=list(colour_of.values()))


def _width(plots: int) -> int:
    """The width of each of several plots side by side."""
    return max(90, (_WIDE - _SPACING * plots) // plots)


def _facets(
    shown: pl.DataFrame, encodings: list[Any], designs: list[str], *, wide: bool, labels: bool, rule: bool
) -> alt.FacetChart:
    works = shown["workload"].unique(maintain_order=True).to_list()
    axis = alt.Axis(title=None, tickCount=4)
    names = alt.Axis(title=None, labelAngle=-45 if wide else 0, labelLimit=140, ticks=False, domain=False)
    # Room above the longest bar for its label.
    shown = _with_ends(shown, ["workload", "design"])
    tops = shown.group_by("workload", "design").agg(pl.col("value").sum(), pl.col("high").max())
    highest = tops.select(pl.max_horizontal("value", "high").max()).item()
    scale = alt.Scale(domain=[0, 1.12 * max(highest or 0.0, 1.0 if rule else 0.0) or 1.0], nice=False)
    if wide:
        size = {"width": _width(len(works)), "height": 210}
        place: dict[str, Any] = {
            "x": alt.X("design:N", sort=designs, axis=names),
            "y": alt.Y("value:Q", axis=axis, scale=scale),
        }
        facet: dict[str, Any] = {"column": alt.Column("workload:N", sort=works, title=None)}
        value = "y"
        offset: dict[str, Any] = {"dy": -3, "baseline": "bottom"}
    else:
        size = {"width": _NARROW, "height": 19 * len(designs)}
        place = {
            "y": alt.Y("design:N", sort=designs, axis=names),
            "x": alt.X("value:Q", axis=axis, scale=scale),
        }
        facet = {"row": alt.Row("workload:N", sort=works, title=None)}
        value = "x"
        offset = {"dx": 3, "align": "left"}
    base = alt.Chart(shown).encode(**place)
    layers: list[alt.Chart] = [base.mark_bar().encode(*encodings)]
    if rule:
        # One line for each plot, not one for each bar in it.
        once = alt.Chart().transform_aggregate(bars="count()", groupby=["workload"])
        layers.append(
            once.mark_rule(aria=False, color=colours.MUTED, strokeDash=[3, 3]).encode(**{value: alt.datum(1)})
        )
    several = bool(shown["high"].count())
    if several:
        layers.append(_intervals(base, value))
    if labels:
        # Beyond the interval, so that its bar does not strike the number through.
        above = _at(base, value, "high") if several else base
        text = above.mark_text(fontSize=10, color=colours.TEXT, **offset)
        layers.append(text.encode(text=alt.Text("value:Q", format=".2f")))
    return alt.layer(*layers, data=shown).properties(**size).facet(**facet).properties(spacing=_SPACING)


def _with_ends(shown: pl.DataFrame, place: list[str]) -> pl.DataFrame:
    """With the ends of the interval of what is at each place: `low` and `high` of its first row, null without one."""
    whole = pl.col("value").sum().over(place)
    half = pl.when(pl.int_range(pl.len()).over(place) == 0).then(pl.col("half"))
    return shown.with_columns((whole - half).alias("low"), (whole + half).alias("high"))


def _at(base: alt.Chart, side: str, field: str) -> alt.Chart:
    """Marks at another field; nothing where it has no value."""
    channel = base.encoding[side].copy()
    channel.shorthand = f"{field}:Q"
    placed: alt.Chart = base.transform_filter(f"isValid(datum.{field})").encode(**{side: channel})
    return placed


def _intervals(base: alt.Chart, side: str) -> alt.Chart:
    """Bars of intervals; their colour is not that of a line."""
    rules = _at(base, side, "low").mark_rule()
    drawn: alt.Chart = rules.encode(**{f"{side}2": "high:Q"}, color=alt.value(colours.TEXT))
    return drawn


def _svg(chart: alt.FacetChart) -> str:
    text = io.StringIO()
    dress(chart).save(text, format="svg")
    return text.getvalue()


def dress(chart: Dressed) -> Dressed:
    """A chart with our common style."""
    dressed: Dressed = (
        chart.configure(background="transparent", padding=4, font=FONT)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=colours.MUTED,
            gridColor=colours.RULE,
            tickColor=colours.RULE,
            domainColor=colours.RULE,
            labelFontSize=11,
            titleColor=colours.MUTED,
            titleFontWeight="normal",
        )
        .configure_header(labelColor=colours.TEXT, labelFontSize=12, labelFontWeight="bold", labelFont=FONT)
        .configure_headerRow(labelAngle=0, labelAlign="left", labelAnchor="start", labelOrient="top", labelPadding=-13)
    )
    return dressed

"""Charts in the papers' form, as SVG text without scripts.

Each is drawn twice, like those of a comparison: wide, with panels side by side, and narrow, one under another.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import altair as alt
import polars as pl
import vl_convert

from ..papers.model import Chart, Mark
from ..system import units
from ..verbs import catalogue
from . import charts, colours
from .tables import csv_text, data_link

Spec = dict[str, Any]
"""A chart in the words of Vega-Lite."""

_LETTER, _LINE = 5.6, 13
"""Width in pixels of a letter of a label, and height of a line of a title."""

SPACING, _TOP, _NAME_MAX = 16, 1.12, 110
"""Pixels between panels; how far an axis goes beyond the highest bar; pixels after which a place's name is cut."""

_BAR_MIN, _BAR_LABELLED = 5, 26
"""Pixels from bar to bar: fewer make a wide drawing break into rows; with as many there is room for a number."""


@dataclass(frozen=True)
class Form:
    """What a drawing is for.

    Attributes:
        page: its width in pixels, axes included.
        height: of a panel.
        several: whether panels stand side by side.
        panel_least: pixels that a panel beside others has at least.
    """

    page: int
    height: int
    several: bool
    panel_least: int = 110


WIDE, NARROW = Form(1000, 210, several=True), Form(320, 180, several=False)
"""Drawings of a page, for wide and for narrow screens."""


@dataclass(frozen=True)
class Stack(Chart):
    """Bars whose parts, the series, stand on one another.

    Attributes:
        halves: half of the interval of each whole bar, by panel and place; empty with one seed.
    """

    halves: Mapping[tuple[str, str], float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """One entry of a legend: what is drawn, its name and its colour."""

    symbol: Literal["square", "line", "circles", "diamond"]
    name: str
    colour: str


@dataclass(frozen=True)
class _Axes:
    """What all panels of a drawing share.

    Attributes:
        left: ends of the axis of bars.
        right: ends of the axis of the black line; None without one.
        left_title: lines of its title, which fit beside a panel.
        right_title: the same of the other.
        left_room: pixels that labels and title take.
        right_room: the same of the other.
        height: of a panel.
    """

    left: tuple[float, float]
    right: tuple[float, float] | None
    left_title: list[str]
    right_title: list[str]
    left_room: float
    right_room: float
    height: int


def legend(chart: Chart, colour_of: Mapping[str, str] | None = None) -> list[Entry]:
    """What the colours and shapes of a chart stand for, in order; nothing where its one series has no name."""
    shown = _colours(chart, colour_of)
    symbol: Literal["square", "line"] = "line" if chart.kind == "line" else "square"
    entries = [Entry(symbol, name, shown[name]) for name in chart.series if name]
    if chart.line:
        entries.append(Entry("circles", chart.line_title, colours.TEXT))
    if chart.published:
        entries.append(Entry("diamond", "published", colours.TEXT))
    return entries


def drawable(spec: Any) -> Any:
    """A chart with names as they are shown: a control character in a label would end the process."""
    if isinstance(spec, str):
        return units.printable(spec, keep="\n")
    if isinstance(spec, Mapping):
        return {drawable(key): drawable(value) for key, value in spec.items()}
    return [drawable(value) for value in spec] if isinstance(spec, list) else spec


def draw(chart: Chart, *, wide: bool, colour_of: Mapping[str, str] | None = None) -> str:
    """A chart in the form of the paper's, as SVG text.

    Args:
        chart: what is drawn; marks without a value are left out.
        wide: panels side by side, about 1000 px together; else one under another, 320 px.
        colour_of: colours of series, where charts are to agree; heeded where it has all of this one's, else by order.
    """
    together = {**dress(), "vconcat": rows(chart, WIDE if wide else NARROW, colour_of), "spacing": SPACING}
    svg: str = vl_convert.vegalite_to_svg(drawable(together))
    return svg


def drawn(chart: Chart, file: str, colour_of: Mapping[str, str] | None = None) -> charts.Drawn:
    """A chart of a page, with its data in a file of that name."""
    both = [draw(chart, wide=wide, colour_of=colour_of) for wide in (True, False)]
    header = ["panel", chart.x_title or "place", "series", chart.y_title, "half of interval", "source"]
    known = [(chart.marks, "measured"), (chart.line, chart.line_title), (chart.published, "published")]
    data = [
        (mark.panel, mark.x, mark.series, mark.value, mark.half, source)
        for marks, source in known
        for mark in marks
        if mark.value is not None
    ]
    return charts.Drawn(both, file, data_link(csv_text(header, data)))


def rows(chart: Chart, form: Form, colour_of: Mapping[str, str] | None = None) -> list[Spec]:
    """The rows of panels of a drawing, one under another."""
    axes = _axes(chart, form)
    columns = _columns(chart, axes, form) if form.several else 1
    count = math.ceil(len(chart.panels) / columns)
    room = form.page - axes.left_room - axes.right_room - SPACING * (columns - 1)
    width = int(min(room / columns, max(260, min(660, 46 * _places(chart)))))
    # A slanted name of the first place may reach further left than the axis of values.
    width = int(min(width, (form.page - _overhang(chart, width) - axes.right_room + SPACING) / columns - SPACING))
    shown = _colours(chart, colour_of)
    drawn = []
    for row in range(count):
        names = chart.panels[row * columns : (row + 1) * columns]
        panels = [
            _panel(
                chart,
                name,
                axes,
                shown,
                width,
                first=column == 0,
                last=column == len(names) - 1,
                bottom=row == count - 1,
            )
            for column, name in enumerate(names)
        ]
        # Altair copies charts whole, with their marks, each time that one is put into another.
        drawn.append({"hconcat": panels, "spacing": SPACING, "bounds": "flush"})
    return drawn


def left_room(chart: Chart, form: Form) -> float:
    """Pixels left of the panels."""
    return _axes(chart, form).left_room


@cache
def dress() -> dict[str, Any]:
    """A drawing in our common format and style."""
    dressed = charts.dress(alt.Chart(alt.NamedData("none")).mark_point()).to_dict()
    return {key: dressed[key] for key in ("$schema", "config")}


def _colours(chart: Chart, colour_of: Mapping[str, str] | None) -> Mapping[str, str]:
    if colour_of is not None and all(name in colour_of for name in chart.series):
        return colour_of
    return colours.of_series(chart.series, _designs()) if any(chart.series) else {"": colours.DATA}


@cache
def _designs() -> frozenset[str]:
    return frozenset(design.name for design in catalogue.designs())


def _places(chart: Chart) -> int:
    """Bars of a panel, or points of a line."""
    return len(chart.xs) * (len(chart.series) if _beside_each_other(chart) else 1)


def _beside_each_other(chart: Chart) -> bool:
    return chart.kind == "bar" and not isinstance(chart, Stack)


def _columns(chart: Chart, axes: _Axes, form: Form) -> int:
    """Panels in a row of a wide drawing: all, unless bars became too thin; rows are as even as can be."""
    count = max(1, len(chart.panels))
    room = form.page - axes.left_room - axes.right_room + SPACING
    least = max(form.panel_least, _BAR_MIN * (_places(chart) + len(chart.xs))) + SPACING
    fitting = max(1, min(count, int(room / least)))
    return math.ceil(count / math.ceil(count / fitting))


def _axes(chart: Chart, form: Form) -> _Axes:
    height = form.height
    intervals = [end for mark in chart.marks if mark.value is not None for end in _interval(mark)]
    if isinstance(chart, Stack):
        intervals = [end for mark in _wholes(chart) for end in _interval(mark)]
    left = _ends([*intervals, *_values(chart.published), *_given(chart.rule)], chart.kind)
    right = _ends(_values(chart.line), "bar") if chart.line else None
    left_title = _wrapped(chart.y_title, height)
    right_title = _wrapped(chart.line_title, height) if chart.line else []
    return _Axes(
        left=left,
        right=right,
        left_title=left_title,
        right_title=right_title,
        left_room=_room(left, left_title),
        right_room=_room(right, right_title) if right else 12,
        height=height,
    )


def _interval(mark: Mark) -> tuple[float, float]:
    assert mark.value is not None
    return mark.value - (mark.half or 0.0), mark.value + (mark.half or 0.0)


def _wholes(chart: Stack) -> list[Mark]:
    """Stacked bars as one mark each, with its interval."""
    found: dict[tuple[str, str], float] = {}
    for mark in chart.marks:
        found[mark.panel, mark.x] = found.get((mark.panel, mark.x), 0.0) + (mark.value or 0.0)
    return [Mark(panel, x, "", value, chart.halves.get((panel, x))) for (panel, x), value in found.items()]


def _given(value: float | None) -> list[float]:
    return [] if value is None else [value]


def _values(marks: Iterable[Mark]) -> list[float]:
    return [mark.value for mark in marks if mark.value is not None]


def _ends(values: list[float], kind: Literal["bar", "line"]) -> tuple[float, float]:
    """Ends of an axis. It begins at 0, but for lines that would all lie at the top."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    if kind == "line" and 0 < 0.75 * high < low < high:
        return low - 0.25 * (high - low), high + 0.15 * (high - low)
    low, high = min(low, 0.0), max(high, 0.0)
    return (_TOP * low, _TOP * high) if low < high else (0.0, 1.0)


def _wrapped(title: str, height: int) -> list[str]:
    """A title in lines that fit beside a panel."""
    return textwrap.wrap(title, int((height + 24) / _LETTER))


def _room(ends: tuple[float, float], title: list[str]) -> float:
    greatest = max(abs(end) for end in ends)
    digits = 5 if greatest < 0.01 or greatest >= 1000 else 4
    return 14 + _LETTER * (digits + (ends[0] < 0)) + _LINE * len(title)


def _format(ends: tuple[float, float]) -> dict[str, Any]:
    """How the numbers of an axis are written: with a prefix where they are long."""
    return {"labelExpr": "format(datum.value, '~s')"} if max(abs(end) for end in ends) >= 1e4 else {}


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _table(marks: Iterable[Mark], panel: str) -> pl.DataFrame:
    shown = [
        (mark.x, mark.series, _told(mark), mark.value, *_interval(mark))
        for mark in marks
        if mark.panel == panel and mark.value is not None
    ]
    words = dict.fromkeys(("x", "series", "told"), pl.String)
    numbers = dict.fromkeys(("value", "low", "high"), pl.Float64)
    return pl.DataFrame(shown, schema={**words, **numbers}, orient="row")


_TOLD = alt.Description("told:N")
"""What a mark says when it is pointed at."""


def _told(mark: Mark) -> str:
    where = ", ".join(filter(None, (mark.series, mark.panel, mark.x)))
    return f"{where}: {charts.value_told(mark.value, mark.half)}"


def _in_order(chart: Chart, table: pl.DataFrame) -> pl.DataFrame:
    """With the order in which a line goes from place to place."""
    order = {place: number for number, place in enumerate(chart.xs)}
    return table.with_columns(pl.col("x").replace_strict(order, default=None, return_dtype=pl.Int64).alias("order"))


def _panel(
    chart: Chart,
    name: str,
    axes: _Axes,
    colour_of: Mapping[str, str],
    width: int,
    *,
    first: bool,
    last: bool,
    bottom: bool,
) -> Spec:
    """One panel; only the first of a row has numbers at the left, only the last those of the black line."""
    x = alt.X("x:N", scale=_places_scale(chart), sort=None, axis=_bottom_axis(chart, width, titled=bottom))
    side = alt.Axis(
        title=axes.left_title if first and axes.left_title else None,
        labels=first,
        ticks=first,
        domain=False,
        tickCount=5,
        **_format(axes.left),
    )
    y = alt.Y("value:Q", scale=_value_scale(axes.left), axis=side)
    layers = [*_shapes(chart, name, x, y, colour_of, width), *_published(chart, name, x, y, colour_of)]
    if chart.rule is not None:
        dashes = alt.Chart(pl.DataFrame({"value": [chart.rule]})).mark_rule(
            aria=False, color=colours.MUTED, strokeDash=[4, 3]
        )
        layers.append(dashes.encode(y=y))
    if name:
        layers.append(_heading(name, width))
    drawn = _layered(layers)
    if axes.right:
        line = _layered(_black_line(chart, name, x, axes, shown=last))
        drawn = {"layer": [drawn, line], "resolve": {"scale": {"y": "independent"}}}
    return {**drawn, "width": width, "height": axes.height}


def _layered(layers: Iterable[alt.Chart]) -> Spec:
    """Layers over one another, each with its own marks."""
    return {"layer": [_layer(layer) for layer in layers]}


def _layer(layer: alt.Chart) -> Spec:
    # Not checked against the schema of Vega-Lite here: its compiler reads it next.
    spec = layer.to_dict(validate=False)
    marks = spec["datasets"][spec["data"]["name"]]
    return {"data": {"values": marks}, "mark": spec["mark"], "encoding": spec["encoding"]}


def _heading(name: str, width: int) -> alt.Chart:
    """The name of a panel: a title would lie higher over a panel whose axis has a number at its top."""
    heading = alt.Chart(pl.DataFrame({"panel": [name]})).mark_text(fontSize=12, fontWeight="bold", color=colours.TEXT)
    placed: alt.Chart = heading.encode(text="panel:N", x=alt.value(width / 2), y=alt.value(-16))
    return placed


def _places_scale(chart: Chart) -> alt.Scale:
    if chart.kind == "line":
        return alt.Scale(domain=list(chart.xs), type="point", padding=0.5)
    return alt.Scale(domain=list(chart.xs), type="band", paddingInner=0.22, paddingOuter=0.12)


def _value_scale(ends: tuple[float, float]) -> alt.Scale:
    return alt.Scale(domain=list(ends), nice=False, zero=False)


def _slanted(chart: Chart, width: float) -> bool:
    """Whether the names of places do not fit side by side."""
    return _LETTER * max((len(place) for place in chart.xs), default=0) + 6 > width / max(1, len(chart.xs))


def _overhang(chart: Chart, width: float) -> float:
    """How far left of a panel its names of places reach."""
    if not _slanted(chart, width):
        return 0
    longest = _LETTER * max(map(len, chart.xs))
    return 0.71 * min(longest, _NAME_MAX) - 0.5 * width / len(chart.xs) + 14


def _bottom_axis(chart: Chart, width: int, *, titled: bool) -> alt.Axis:
    """Names of places, lying where they fit, else slanted."""
    angle: dict[str, Any] = {"labelAngle": 0}
    if _slanted(chart, width):
        upright = width / len(chart.xs) < _LINE
        angle = {"labelAngle": -90 if upright else -45, "labelAlign": "right", "labelBaseline": "middle"}
    title = chart.x_title if titled and chart.x_title else None
    return alt.Axis(title=title, labelLimit=_NAME_MAX, ticks=False, labelPadding=6, **angle)


def _shapes(chart: Chart, name: str, x: alt.X, y: alt.Y, colour_of: Mapping[str, str], width: int) -> list[alt.Chart]:
    """The bars or lines of a panel."""
    scale = alt.Scale(domain=list(chart.series), range=[colour_of[series] for series in chart.series])
    colour = alt.Color("series:N", scale=scale, legend=None)
    table = _table(chart.marks, name)
    if chart.kind == "line":
        base = alt.Chart(_in_order(chart, table)).encode(x=x, y=y, color=colour)
        line = base.mark_line(strokeWidth=2).encode(order="order:Q")
        return [line, base.mark_point(filled=True, opacity=1, size=34).encode(_TOLD), *_error_bars(chart, table, x, y)]
    if isinstance(chart, Stack):
        order = {series: place for place, series in enumerate(chart.series)}
        ranked = table.with_columns(pl.col("series").replace_strict(order, default=None).alias("order"))
        stacked = (
            alt.Chart(ranked)
            .mark_bar()
            .encode(x=x, y=y.copy().stack("zero"), color=colour, order="order:Q", description=_TOLD)
        )
        return [stacked, *_error_bars(chart, _table(_wholes(chart), name), x, y)]
    beside = _beside(chart)
    bars = alt.Chart(table).mark_bar().encode(x=x, y=y, xOffset=beside, color=colour, description=_TOLD)
    errors = _error_bars(chart, table, x, y)
    longest = max((len(_number(value)) for value in _values(chart.marks)), default=0)
    if width / max(1, _places(chart) + len(chart.xs)) < max(_BAR_LABELLED, _LETTER * longest):
        return [bars, *errors]
    layers = [bars, *errors]
    for above in (True, False):
        # Beyond the interval, so that its bar does not strike the number through.
        ends = pl.max_horizontal("value", "high") if above else pl.min_horizontal("value", "low")
        some = table.filter((pl.col("value") >= 0) == above)
        numbers = some.with_columns(
            pl.col("value").map_elements(_number, return_dtype=pl.String).alias("number"), ends.alias("value")
        )
        place: dict[str, Any] = {"dy": -3, "baseline": "bottom"} if above else {"dy": 4, "baseline": "top"}
        text = alt.Chart(numbers).mark_text(fontSize=10, color=colours.TEXT, **place)
        if some.height:
            layers.append(text.encode(x=x, y=y, xOffset=beside, text="number:N"))
    return layers


def _error_bars(chart: Chart, table: pl.DataFrame, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """The interval of each mark over the seeds; nothing where there is one seed."""
    some = table.filter(pl.col("low") < pl.col("high"))
    if not some.height:
        return []
    ends = y.copy()
    ends.shorthand = "low:Q"
    offset = {"xOffset": _beside(chart)} if _beside_each_other(chart) else {}
    return [alt.Chart(some).mark_rule(color=colours.TEXT).encode(x=x, y=ends, y2="high:Q", **offset)]


def _beside(chart: Chart) -> alt.XOffset:
    return alt.XOffset("series:N", sort=None, scale=alt.Scale(domain=list(chart.series)))


def _published(chart: Chart, name: str, x: alt.X, y: alt.Y, colour_of: Mapping[str, str]) -> list[alt.Chart]:
    """Hollow diamonds: over its bar, or in the middle of its place where it is of no one bar."""
    layers = []
    table = _table(chart.published, name).with_columns(pl.concat_str(pl.lit("published: "), "told").alias("told"))
    for own in (True, False):
        some = table.filter(pl.col("series").is_in(list(chart.series)) == own)
        if not some.height:
            continue
        diamonds = alt.Chart(some).mark_point(
            shape="diamond", size=62, stroke=colours.TEXT, strokeWidth=1.5, fill=colours.BACKGROUND, opacity=1
        )
        if chart.kind == "line" and own:
            scale = alt.Scale(domain=list(chart.series), range=[colour_of[series] for series in chart.series])
            diamonds = diamonds.encode(stroke=alt.Stroke("series:N", scale=scale, legend=None))
        offset = {"xOffset": _beside(chart)} if own and chart.kind == "bar" else {}
        layers.append(diamonds.encode(x=x, y=y, description=_TOLD, **offset))
    return layers


def _black_line(chart: Chart, name: str, x: alt.X, axes: _Axes, *, shown: bool) -> list[alt.Chart]:
    """A black line with circles and, at the last panel of a row, its axis."""
    assert axes.right
    side = alt.Axis(
        title=axes.right_title if shown and axes.right_title else None,
        orient="right",
        labels=shown,
        ticks=shown,
        domain=False,
        grid=False,
        tickCount=5,
        **_format(axes.right),
    )
    said = _table(chart.line, name).with_columns(pl.concat_str(pl.lit(f"{chart.line_title}: "), "told").alias("told"))
    base = alt.Chart(_in_order(chart, said)).encode(x=x, y=alt.Y("value:Q", scale=_value_scale(axes.right), axis=side))
    line = base.mark_line(color=colours.TEXT, strokeWidth=1.5).encode(order="order:Q")
    circles = base.mark_point(
        shape="circle", size=36, stroke=colours.TEXT, strokeWidth=1.5, fill=colours.BACKGROUND, opacity=1
    )
    return [line, circles.encode(_TOLD)]

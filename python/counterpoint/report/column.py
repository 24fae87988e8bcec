"""Charts for a paper: as wide as a column, with their legend, as SVG, PDF and PNG.

They have the light colours on white, whatever a reader prefers. Fonts are embedded in the PDF. A chart is drawn
at the size of a page on a screen and then scaled, so that its letters have the size of a caption.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import vl_convert

from ..papers.model import Chart
from ..system.files import prepare_folder, write_bytes
from . import charts, colours, figures

WIDTH_IN = 3.3
"""The width of a column in inches, as in the formats of ACM and IEEE."""

FORMATS = ("svg", "pdf", "png")
PIXELS_PER_INCH = 300
"""Of a PNG."""

_POINTS, _SCALE = 72.0, 8 / 11
"""Points in an inch; a letter of 11 px on a screen has 8 points here."""

_FORM = figures.Form(int(WIDTH_IN * _POINTS / _SCALE), 130, several=True, panel_least=72)

_TYPEFACE = f"Liberation Sans, {charts.FONT}"
"""The first comes with vl-convert, so that a chart is the same on every computer."""

_FONT, _LETTER, _LINE, _SYMBOL = 11, 6.2, 15, 14
"""Size of a letter of the legend and its width, height of a line, and the room of a symbol, in pixels."""

_SHAPES = {"square": "square", "line": "stroke", "circles": "circle", "diamond": "diamond"}


@dataclass(frozen=True)
class Figure:
    """A chart with the name of its files.

    Attributes:
        name: without an ending.
        chart: what is drawn.
        colour_of: colours of series, where charts are to agree.
    """

    name: str
    chart: Chart
    colour_of: Mapping[str, str] | None = None


def write(drawn: Sequence[Figure], folder: str | os.PathLike[str]) -> list[Path]:
    """Writes each chart in each format into a folder, which is created if it is missing; returns the paths.

    Raises:
        InputError: the folder cannot be written to.
    """
    path = prepare_folder(folder)
    return [written for name, figure in _named(drawn) for written in _write(path, name, render(figure))]


def write_drawing(name: str, drawing: figures.Spec, folder: str | os.PathLike[str]) -> list[Path]:
    """The same for a drawing in the words of Vega-Lite, with the name of its files."""
    return _write(prepare_folder(folder), name, rendered(drawing))


def _write(folder: Path, name: str, contents: tuple[bytes, bytes, bytes]) -> list[Path]:
    forms = zip(FORMATS, contents, strict=True)
    return [write_bytes(folder / f"{name}.{ending}", content) for ending, content in forms]


def render(figure: Figure) -> tuple[bytes, bytes, bytes]:
    """A chart in each of the formats."""
    return rendered(spec(figure))


def rendered(drawing: figures.Spec) -> tuple[bytes, bytes, bytes]:
    """A drawing in each of the formats."""
    svg = vl_convert.vegalite_to_svg(drawing)
    found = re.search(r'width="([\d.]+)" height="([\d.]+)"', svg)
    assert found, "vl-convert gives every drawing its size"
    width, height = float(found[1]), float(found[2])
    scale = min(_SCALE, WIDTH_IN * _POINTS / width)

    def sized(per_pixel: float, unit: str) -> str:
        size = f'width="{width * per_pixel:.4f}{unit}" height="{height * per_pixel:.4f}{unit}"'
        return f"{svg[: found.start()]}{size}{svg[found.end() :]}"

    # A pixel of a PDF is a point.
    pdf: bytes = vl_convert.svg_to_pdf(sized(scale, ""))
    png: bytes = vl_convert.svg_to_png(svg, scale=scale, ppi=PIXELS_PER_INCH)
    return f"{sized(scale / _POINTS, 'in')}\n".encode(), pdf, png


def _named(drawn: Sequence[Figure]) -> Iterable[tuple[str, Figure]]:
    """The charts with names that are those of files, each once."""
    seen: dict[str, int] = {}
    for figure in drawn:
        name = re.sub(r"[^A-Za-z0-9_]+", "-", figure.name).strip("-") or "chart"
        seen[name] = seen.get(name, 0) + 1
        yield name if seen[name] == 1 else f"{name}-{seen[name]}", figure


def spec(figure: Figure) -> figures.Spec:
    """A drawing: the legend, where there is more than one thing to tell apart, and the rows of panels."""
    entries = figures.legend(figure.chart, figure.colour_of)
    rows = figures.rows(figure.chart, _FORM, figure.colour_of)
    width = sum(panel["width"] + figures.SPACING for panel in rows[0]["hconcat"]) - figures.SPACING if rows else 0
    top = [_legend(entries, figures.left_room(figure.chart, _FORM), width)] if len(entries) > 1 else []
    return on_white([*top, *rows])


def on_white(parts: Sequence[figures.Spec]) -> figures.Spec:
    """Parts of a drawing, one under another."""
    dressed = figures.dress()
    config = {**dressed["config"], "background": colours.BACKGROUND, "padding": 2, "font": _TYPEFACE}
    return dict(figures.drawable({**dressed, "config": config, "vconcat": list(parts), "spacing": 10}))


def _legend(entries: Sequence[figures.Entry], left: float, width: float) -> figures.Spec:
    """The names of the colours and shapes over panels of that width, in as few lines as they take."""
    placed: list[dict[str, Any]] = []
    x, line = -left, 0
    for entry in entries:
        long = _SYMBOL + _LETTER * len(entry.name) + 10
        if x > -left and x + long > width:
            x, line = -left, line + 1
        place = {"x": x + 6, "y": (line + 0.5) * _LINE, "text": x + _SYMBOL}
        placed.append({**place, "name": entry.name, "colour": entry.colour, "shape": _SHAPES[entry.symbol]})
        x += long
    height = (line + 1) * _LINE

    def at(field: str, end: float) -> dict[str, Any]:
        return {"field": field, "type": "quantitative", "axis": None, "scale": {"domain": [0, end], "nice": False}}

    y = {**at("y", height), "scale": {"domain": [height, 0], "nice": False}}
    colour = {"field": "colour", "type": "nominal", "scale": None}
    shape = {"field": "shape", "type": "nominal", "scale": None}
    hollow = [one for one in placed if one["shape"] in ("circle", "diamond")]
    filled = [one for one in placed if one not in hollow]
    symbols = {"type": "point", "filled": True, "opacity": 1, "size": 70, "strokeWidth": 2}
    ring = {"type": "point", "fill": colours.BACKGROUND, "strokeWidth": 1.5, "opacity": 1, "size": 40}
    side = at("x", width)
    layers: list[figures.Spec] = [
        {
            "data": {"values": placed},
            "mark": {"type": "text", "align": "left", "baseline": "middle", "fontSize": _FONT, "color": colours.TEXT},
            "encoding": {"x": at("text", width), "y": y, "text": {"field": "name"}},
        }
    ]
    if filled:
        encoding = {"x": side, "y": y, "color": colour, "stroke": colour, "shape": shape}
        layers.append({"data": {"values": filled}, "mark": symbols, "encoding": encoding})
    if hollow:
        encoding = {"x": side, "y": y, "stroke": colour, "shape": shape}
        layers.append({"data": {"values": hollow}, "mark": ring, "encoding": encoding})
    return {"layer": layers, "width": width, "height": height, "view": {"stroke": None}}

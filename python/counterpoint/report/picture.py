"""`compare.svg`: latency and write traffic of a comparison in one picture, for a README or a slide."""

from __future__ import annotations

import re
from html import escape

import polars as pl

from ..system import units
from ..verbs.frames import without_writes
from . import charts, colours

_MARGIN = 20


def draw(frame: pl.DataFrame) -> str:
    """Two charts of the first machine, transaction size and number of cores, one above the other, with headings."""
    _, first = next(iter(frame.group_by("machine", "tx_size", "cores", maintain_order=True)))
    machine = units.name_of(first["machine"][0])
    baseline = frame["baseline"][0]
    panels: list[tuple[str, dict[str, str], str]] = []
    for title, column in (("Transaction latency", "relative_latency"), ("Simulated time", "relative_simulated_time")):
        # Programs without transactions have only the second.
        if not panels and charts.drawable(first, [column]):
            bars = charts.bars(first, column, colours.of_designs(frame), wide=True)
            panels.append((f"{title} on machine {machine}, {baseline} = 1", {}, bars))
    writes = charts.writes_of(first)
    if charts.drawable(first, [part.column for part in writes]):
        legend = {part.name: part.colour for part in writes}
        title = f"NVM line writes on machine {machine}, {baseline} = 1"
        panels.append((title, legend, charts.stacks(first, writes, wide=True)))
    notes = without_writes(first.to_dicts()) or ([] if panels else [f"Nothing to compare with {baseline}"])
    body, top, widest = [], float(_MARGIN), 0.0
    for heading, legend, svg in panels:
        width, height = _extent(svg)
        body.append(_heading(heading, legend, top))
        body.append(svg.replace("<svg ", f'<svg x="{_MARGIN}" y="{top + 24:g}" ', 1))
        top += height + 24 + _MARGIN
        widest = max(widest, width)
    for note in notes:
        body.append(_heading(note, {}, top))
        top += 24 + _MARGIN
        widest = max(widest, 9.0 * len(note))
    size = f"{widest + 2 * _MARGIN:g}", f"{top:g}"
    style = f"@media (prefers-color-scheme: dark) {{ {colours.dark_rules('svg')} }}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" '
        f'viewBox="0 0 {size[0]} {size[1]}"><style>{style}</style>'
        f'<rect width="100%" height="100%" rx="8" fill="{colours.BACKGROUND}"/>{"".join(body)}</svg>\n'
    )


def _heading(text: str, legend: dict[str, str], top: float) -> str:
    font = f'font-family="{charts.FONT}"'
    parts = [
        f'<text x="{_MARGIN + 4}" y="{top + 12:g}" {font} font-size="15" font-weight="bold" '
        f'fill="{colours.TEXT}">{escape(text)}</text>'
    ]
    x = _MARGIN + max(300, 24 + 8 * len(text))
    for name, colour in legend.items():
        parts.append(f'<rect x="{x}" y="{top + 2:g}" width="11" height="11" rx="2" fill="{colour}"/>')
        parts.append(
            f'<text x="{x + 16}" y="{top + 12:g}" {font} font-size="12" fill="{colours.MUTED}">{escape(name)}</text>'
        )
        x += 40 + 7 * len(name)
    return "".join(parts)


def _extent(svg: str) -> tuple[float, float]:
    found = re.search(r'width="([\d.]+)" height="([\d.]+)"', svg)
    assert found, "vl-convert gives every drawing its size"
    return float(found[1]), float(found[2])

"""The claims of papers on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..papers.predicted import most

if TYPE_CHECKING:
    from ..papers.model import Figure, Reproduction


def scorecard(found: Reproduction) -> RenderableType:
    """The claims of each paper, published beside measured."""
    parts: list[RenderableType] = []
    for paper in found.papers:
        claims = [claim for claim in found.claims if claim.paper == paper]
        held = sum(claim.holds for claim in claims)
        table = Table(title=f"{paper}: {held} of {len(claims)} claims hold", title_justify="left", box=None)
        for column in ("claim", "at", "published", "measured", ""):
            table.add_column(column, overflow="fold")
        for claim in claims:
            for place, row in enumerate(claim.rows):
                verdict = Text("holds", "green") if row.holds else Text("misses", "red")
                name = claim.id.removeprefix(f"{paper}.") if place == 0 else ""
                table.add_row(name, row.at, row.published, row.measured, verdict)
        parts += [table, Text()]
    predicted = [figure for figure in found.figures if figure.depends is not None]
    if predicted:
        parts += [_predictions(predicted), Text()]
    if found.directions:
        parts += [_directions(found), Text()]
    counted = f"{len(found.figures)} figures and tables, {found.facts['simulations']} simulations"
    parts.append(Text(f"{found.held} of {len(found.claims)} claims hold; {counted}"))
    return Group(*parts)


def _predictions(figures: Sequence[Figure]) -> Table:
    """What each prediction depends on most, chart by chart."""
    table = Table(title="predictions", title_justify="left", box=None)
    for column in ("figure", "chart", "depends most on"):
        table.add_column(column, overflow="fold")
    for figure in figures:
        charts = most(figure.depends or ())
        for place, (chart, moved) in enumerate(charts.items()):
            table.add_row("" if place else figure.id, Text(chart), Text(moved.replace("`", "")))
    return table


def _directions(found: Reproduction) -> Table:
    """How many statements about effects are right, and those that are wrong or undecided."""
    signs = found.signs
    counted = ", ".join(f"{count} {sign}" for sign, count in signs.items() if sign != "right" and count)
    title = f"directions: {signs['right']} of {len(found.directions)} right"
    table = Table(title=f"{title}, {counted}" if counted else title, title_justify="left", box=None)
    for column in ("direction", "section", "expected", "shown", ""):
        table.add_column(column, overflow="fold")
    for one in found.directions:
        if one.verdict in ("wrong", "undecided"):
            verdict = Text(one.verdict, "red" if one.verdict == "wrong" else "yellow")
            table.add_row(one.id, one.section, one.expected, one.shown, verdict)
    return table

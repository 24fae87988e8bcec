"""The claims of papers on the screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from ..papers.model import Reproduction


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
    counted = f"{len(found.figures)} figures and tables, {found.facts['simulations']} simulations"
    parts.append(Text(f"{found.held} of {len(found.claims)} claims hold; {counted}"))
    return Group(*parts)

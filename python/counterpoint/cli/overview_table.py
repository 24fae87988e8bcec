"""The first table of a comparison, on the screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..contract.printed import Guarantee
from ..verbs.frames import Row
from ..verbs.overview import overview


def overview_table(rows: Sequence[Row], found: Sequence[Guarantee]) -> Iterable[RenderableType]:
    """What each design costs and guarantees, and what that rests on. Nothing if no guarantees are known."""
    if not found:
        return
    over = overview(rows, found)
    yield Text(over.title)
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for name in over.costs:
        table.add_column(name, justify="right", header_style="dim")
    for name in over.guarantees:
        table.add_column(name, header_style="dim", no_wrap=True)
    for row in over.rows:
        table.add_row(row.design, *row.cells, style="dim" if row.design == over.baseline else "")
    yield table
    yield Text(over.told, style="dim")
    yield from (Text(sentence, style="dim") for sentence in over.unexplored)
    yield Text("")

"""Why memories of a recorded program fail, as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from .. import units
from ..results import Cause, Place
from .site_table import short_names

_SHOWN = 15
"""Causes that are shown; `--json` has all."""


def cause_table(causes: Sequence[Cause]) -> Iterable[RenderableType]:
    """One line for each cause: what the program lacks, where, and how many memories fail for it."""
    if not causes:
        return
    shown = causes[:_SHOWN]
    rows = [(cause, _stored(cause), _flushed(cause), _needed(cause)) for cause in shown]
    names = short_names([place.place for _, *places in rows for place in places if place is not None])
    table = Table(title="Causes", title_justify="left", title_style="bold", box=None, pad_edge=False)
    for heading in ("kind", "stored at", "flushed at", "needed before"):
        table.add_column(heading, no_wrap=True, header_style="dim")
    table.add_column("images", justify="right", header_style="dim")
    for cause, *places in rows:
        cells = ["" if place is None else names[place.place] for place in places]
        kind = cause.kind if cause.outcome == "failed" else f"{cause.kind} ({cause.outcome})"
        table.add_row(kind, *cells, units.number(cause.count))
    yield Text("")
    yield table
    if len(causes) > len(shown):
        yield Text(f"and {units.count_of(len(causes) - len(shown), 'cause')} more; --json has all", style="dim")


def _stored(cause: Cause) -> Place | None:
    """The store that is lost, or, if nothing is lost, the newest that is kept."""
    if cause.lost:
        return cause.lost[0].stored
    return cause.kept[0].stored if cause.kept else None


def _flushed(cause: Cause) -> Place | None:
    return cause.lost[0].flushed if cause.lost else None


def _needed(cause: Cause) -> Place | None:
    return cause.lost[0].needed_before if cause.lost else None

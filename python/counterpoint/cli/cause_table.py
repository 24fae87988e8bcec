"""Why memories of a recorded program fail, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..contract.results import Cause, Crash, Place, RecoveryCause
from ..system import units
from .site_table import short_names

_SHOWN = 15
"""Rows that are shown; `--json` has all."""


def recovery_cause_table(causes: Sequence[RecoveryCause]) -> Iterable[RenderableType]:
    """The same of what power failing again in the recovery leaves: what the recovery lacks."""
    return cause_table([one.cause for one in causes], "Causes in the recovery")


def cause_table(causes: Sequence[Cause], title: str = "Causes") -> Iterable[RenderableType]:
    """One line for each cause: what the program lacks, where, and how many memories fail for it."""
    if not causes:
        return
    shown = causes[:_SHOWN]
    rows = [(cause, _stored(cause), _flushed(cause), _needed(cause)) for cause in shown]
    calls = [call for cause in shown if (call := _called(cause)) is not None]
    names = short_names([*(place.place for _, *places in rows for place in places if place is not None), *calls])
    table = _titled(title)
    for heading in ("kind", "stored at", *(["called at"] if calls else []), "flushed at", "before"):
        table.add_column(heading, no_wrap=True, header_style="dim")
    table.add_column("images", justify="right", header_style="dim")
    for cause, *places in rows:
        cells = ["" if place is None else names[place.place] for place in places]
        kind = cause.kind if cause.outcome == "failed" else f"{cause.kind} ({cause.outcome})"
        if calls:
            cells.insert(1, names.get(_called(cause) or "", ""))
        table.add_row(kind, *cells, units.number(cause.count))
    yield Text("")
    yield table
    yield from _left_out(len(causes), "cause")


def losses_table(crash: Crash) -> Iterable[RenderableType]:
    """One line for each place whose data failing memories lack, those first that explain the failures best. Causes say
    more, so where there are some, this is nothing."""
    recoveries = crash.recoveries
    if crash.causes is not None or recoveries is None or recoveries.failed + recoveries.timed_out == 0:
        return
    yield Text("")
    if crash.by_line is None:
        yield Text("No source lines are known.")
        return
    if not crash.by_line:
        yield Text("Memories that fail lack nothing that the program has stored.")
        return
    shown = crash.by_line[:_SHOWN]
    names = short_names([place.place for one in shown for place in (one.stored, one.flushed) if place is not None])
    table = _titled("Lost in memories that fail")
    for heading in ("stored at", "flushed at"):
        table.add_column(heading, no_wrap=True, header_style="dim")
    for heading in ("fail", "recover", "similarity"):
        table.add_column(heading, justify="right", header_style="dim")
    for one in shown:
        flushed = "" if one.flushed is None else names[one.flushed.place]
        counts = (units.number(one.failed), units.number(one.recovered))
        table.add_row(names[one.stored.place], flushed, *counts, f"{one.similarity:.2f}")
    yield table
    yield from _left_out(len(crash.by_line), "line")


def _titled(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)


def _left_out(count: int, what: str) -> Iterable[RenderableType]:
    if count > _SHOWN:
        yield Text(f"and {units.count_of(count - _SHOWN, what)} more; --json has all", style="dim")


def _stored(cause: Cause) -> Place | None:
    """The store that is lost, or, if nothing is lost, that from which on the program does not recover."""
    return cause.lost[0].stored if cause.lost else cause.begins_at


def _called(cause: Cause) -> str | None:
    """Where the function is called that the lost store is in."""
    return cause.lost[0].called_at if cause.lost else None


def _flushed(cause: Cause) -> Place | None:
    return cause.lost[0].flushed if cause.lost else None


def _needed(cause: Cause) -> Place | None:
    """What was kept without it; or the store until which the program does not recover."""
    return cause.lost[0].needed_before if cause.lost else cause.ends_at

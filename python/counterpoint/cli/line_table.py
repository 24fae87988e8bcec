"""Results of traces of memory lines, as tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..contract.results import LineRun
from ..system import units
from ..verbs.frames import rests_on, seeds_told
from ..verbs.interval import estimate_of_all

_Cell: TypeAlias = tuple[Callable[[LineRun], float | None], Callable[[float | None], str]]
"""The value of a run in a column, None if it has none, and how it is shown."""


def _response(kind: Literal["read", "write"], figure: Literal["mean", "p50", "p99", "p999"]) -> _Cell:
    def cell(run: LineRun) -> float | None:
        times = run.read_response_ns if kind == "read" else run.write_response_ns
        return None if times is None else getattr(times, figure)

    return cell, _time


def _time(nanoseconds: float | None) -> str:
    return units.NOTHING if nanoseconds is None else units.time(nanoseconds)


_ANSWERS: Mapping[str, _Cell] = {
    "read mean": _response("read", "mean"),
    "p50": _response("read", "p50"),
    "p99": _response("read", "p99"),
    "p99.9": _response("read", "p999"),
    "write mean": _response("write", "mean"),
    "p50 ": _response("write", "p50"),
    "p99 ": _response("write", "p99"),
    "p99.9 ": _response("write", "p999"),
    "waited": (lambda run: run.waited, units.number),
    "last answer": (lambda run: run.finish_ns, _time),
}

_FIGURES: Mapping[str, _Cell] = {
    "read": (lambda run: run.read_latency_ns, _time),
    "write accepted": (lambda run: run.write_latency_ns, _time),
    "write on media": (lambda run: run.media_write_latency_ns, _time),
    "requests/s": (lambda run: run.requests_per_second, units.number),
    "media reads": (lambda run: run.media_reads, units.number),
    "media writes": (lambda run: run.media_writes, units.number),
    "of them counters": (lambda run: run.counter_writes, units.number),
}


def line_table(runs: Sequence[LineRun]) -> RenderableType:
    """Two tables with a row for each design: how long after the cycle of the trace requests are answered; and mean
    latencies after they are sent, simulated requests per second, and what reached the media.

    Of several seeds the tables have means with intervals.
    """
    first = runs[0]
    folded = f", {units.number(first.folded)} addresses folded" if first.folded else ""
    name = units.name_of(first.workload)
    cycles = any(run.read_response_ns or run.write_response_ns for run in runs)
    seeds = seeds_told([dict(run.document) for run in runs])
    return Group(
        Text(f"machine {units.name_of(first.machine)}, {seeds}, {first.variant}", style="bold"),
        Text(f"{name}: {units.count_of(first.reads, 'read')}, {units.count_of(first.writes, 'write')}{folded}"),
        Text(
            "From the cycle in the trace to the answer, with the wait for a free entry"
            if cycles
            else "The trace has no cycles"
        ),
        _table(runs, _ANSWERS),
        Text("Mean latencies once there is an entry, and accesses to the media"),
        _table(runs, _FIGURES),
        *map(Text, rests_on([run.document for run in runs])),
    )


def _table(runs: Sequence[LineRun], columns: Mapping[str, _Cell]) -> Table:
    """A row for each design; a column that has no value for any of them is left out."""
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    designs = {run.design: [other for other in runs if other.design == run.design] for run in runs}
    rows = [[_shown(of_design, cell) for cell in columns.values()] for of_design in designs.values()]
    shown = [index for index in range(len(columns)) if any(row[index] is not None for row in rows)]
    for index, column in enumerate(columns):
        if index in shown:
            table.add_column(column.strip(), justify="right", header_style="dim")
    for design, row in zip(designs, rows, strict=True):
        table.add_row(design, *(row[index] or units.NOTHING for index in shown))
    return table


def _shown(runs: Sequence[LineRun], cell: _Cell) -> str | None:
    """The cell of a design; None if one of its runs has no value."""
    of, show = cell
    value = estimate_of_all([of(run) for run in runs])
    return None if value is None else value.shown(show)

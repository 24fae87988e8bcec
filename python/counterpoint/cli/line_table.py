"""Results of traces of memory lines, as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..contract.results import LineRun
from ..system import units
from ..verbs.frames import rests_on

_Cell: TypeAlias = Callable[[LineRun], str | None]
"""The cell of a run in a column; None if it has no value."""


def _response(kind: Literal["read", "write"], figure: Literal["mean", "p50", "p99", "p999"]) -> _Cell:
    def cell(run: LineRun) -> str | None:
        times = run.read_response_ns if kind == "read" else run.write_response_ns
        return None if times is None else units.time(getattr(times, figure))

    return cell


def _time(nanoseconds: float | None) -> str | None:
    return None if nanoseconds is None else units.time(nanoseconds)


_ANSWERS: Mapping[str, _Cell] = {
    "read mean": _response("read", "mean"),
    "p50": _response("read", "p50"),
    "p99": _response("read", "p99"),
    "p99.9": _response("read", "p999"),
    "write mean": _response("write", "mean"),
    "p50 ": _response("write", "p50"),
    "p99 ": _response("write", "p99"),
    "p99.9 ": _response("write", "p999"),
    "waited": lambda run: units.number(run.waited),
    "last answer": lambda run: units.time(run.finish_ns),
}

_FIGURES: Mapping[str, _Cell] = {
    "read": lambda run: _time(run.read_latency_ns),
    "write accepted": lambda run: _time(run.write_latency_ns),
    "write on media": lambda run: _time(run.media_write_latency_ns),
    "requests/s": lambda run: units.number(run.requests_per_second),
    "media reads": lambda run: units.number(run.media_reads),
    "media writes": lambda run: units.number(run.media_writes),
    "of them counters": lambda run: units.number(run.counter_writes),
}


def line_table(runs: Sequence[LineRun]) -> RenderableType:
    """Two tables with a row for each design: how long after the cycle of the trace requests are answered; and mean
    latencies after they are sent, simulated requests per second, and what reached the media.
    """
    first = runs[0]
    folded = f", {units.number(first.folded)} addresses folded" if first.folded else ""
    name = units.name_of(first.workload)
    cycles = any(run.read_response_ns or run.write_response_ns for run in runs)
    return Group(
        Text(f"machine {units.name_of(first.machine)}, seed {first.seed}, {first.variant}", style="bold"),
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
    rows = [[cell(run) for cell in columns.values()] for run in runs]
    shown = [index for index in range(len(columns)) if any(row[index] is not None for row in rows)]
    for index, column in enumerate(columns):
        if index in shown:
            table.add_column(column.strip(), justify="right", header_style="dim")
    for run, row in zip(runs, rows, strict=True):
        table.add_row(run.design, *(row[index] or "-" for index in shown))
    return table

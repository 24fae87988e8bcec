"""Results of traces of memory lines, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .. import units
from ..lines import LineRun

_COLUMNS = ("read", "write accepted", "write on media", "requests/s", "media reads", "media writes", "of them counters")


def line_table(runs: Sequence[LineRun]) -> RenderableType:
    """A row for each design: mean latencies, simulated requests per second, and what reached the media."""
    first = runs[0]
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for column in _COLUMNS:
        table.add_column(column, justify="right", header_style="dim")
    for run in runs:
        table.add_row(
            run.design,
            *(units.time(ns) for ns in (run.read_latency_ns, run.write_latency_ns, run.media_write_latency_ns)),
            units.number(run.requests_per_second),
            *(units.number(value) for value in (run.media_reads, run.media_writes, run.counter_writes)),
        )
    setting = f"machine {units.machine(first.machine)}, seed {first.seed}, {first.variant}"
    folded = f", {units.number(first.folded)} addresses folded" if first.folded else ""
    name = units.printable(PurePath(first.workload).name)
    head = f"{name}: {units.number(first.reads)} reads, {units.number(first.writes)} writes{folded}"
    return Group(Text(setting, style="bold"), Text(head), Text("Mean latencies, and accesses of the media"), table)

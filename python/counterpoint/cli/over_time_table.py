"""The figures of a run over time on the screen: a row of bars for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..system import units

if TYPE_CHECKING:
    from ..contract.results import Windows

_BARS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
_COLUMNS = 40
"""Bars of a row at most: several windows share one, as their mean."""

_FIGURES = {
    "instructions": "instructions",
    "transactions": "transactions",
    "lines read": "reads",
    "lines written": "writes",
    "counter misses": "counter_misses",
    "write queue, entries": "wpq_mean",
}


def table(windows: Windows) -> RenderableType:
    """A row for each figure: its bars, and the smallest and the largest of any window."""
    shown = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    shown.add_column("", no_wrap=True)
    shown.add_column("", no_wrap=True)
    shown.add_column("least", justify="right", no_wrap=True)
    shown.add_column("most", justify="right", no_wrap=True)
    for name, figure in _FIGURES.items():
        values = getattr(windows, figure)
        if any(values):
            shown.add_row(f"  {name}", bars(values), units.number(min(values)), units.number(max(values)))
    told = f"over time, {units.count_of(len(windows.from_ns), 'window')} of {units.time(windows.window_ns)}"
    return Group(Text(told, style="bold"), shown)


def bars(values: Sequence[float]) -> str:
    """Values from left to right as bars, relative to the largest; several share a bar if there are too many."""
    count = min(len(values), _COLUMNS)
    ends = [len(values) * (place + 1) // count for place in range(count)]
    parts = [values[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    means = [sum(part) / len(part) for part in parts]
    most = max(means)
    return "".join(_BARS[round(mean / most * (len(_BARS) - 1))] if most > 0 else _BARS[0] for mean in means)

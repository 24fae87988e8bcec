"""Writes and wear by kind of line, in comparisons of designs that protect integrity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ..system import units
from ..verbs.frames import Row, distinct, grouped, mean

_KINDS = {"data": "data", "log": "log", "counter": "counters", "mac": "MACs", "tree": "nodes", "table": "table"}
"""The kinds of line, as columns of runs have them, and their names."""


def by_kind(group: Sequence[Row]) -> Iterable[RenderableType]:
    """Writes by kind and the wear of each kind, over all workloads; nothing if no design protects integrity."""
    if all(row.get("integrity_macs") is None for row in group):
        return
    several = len(distinct(group, "workload")) > 1
    if known := _known(group, "relative_{}_writes"):
        over = ", mean over the workloads" if several else ""
        yield Text(f"NVM writes by kind, NVM writes of {group[0]['baseline']} = 1{over}")
        yield _kinds(group, known, lambda values: units.ratio(mean(values)))
    if (known := _known(group, "nvm_max_{}_writes")) and any(row["nvm_writes"] for row in group):
        over = ", most over the workloads" if several else ""
        yield Text(f"Writes of the most-written line of each kind{over}")
        yield _kinds(group, known, _most)


def _known(group: Sequence[Row], column: str) -> dict[str, str]:
    """The kinds of line that a figure has a value for, with its columns."""
    columns = {kind: column.format(kind) for kind in _KINDS}
    return {kind: name for kind, name in columns.items() if any(row.get(name) is not None for row in group)}


def _kinds(group: Sequence[Row], kinds: Mapping[str, str], show: Callable[[list[float | None]], str]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for kind in kinds:
        table.add_column(_KINDS[kind], justify="right", header_style="dim")
    for (design,), rows in grouped(group, "design"):
        style = "dim" if design == group[0]["baseline"] else ""
        table.add_row(str(design), *(show([row.get(name) for row in rows]) for name in kinds.values()), style=style)
    table.add_row("")
    return table


def _most(values: list[float | None]) -> str:
    return units.number(max((value for value in values if value is not None), default=None))

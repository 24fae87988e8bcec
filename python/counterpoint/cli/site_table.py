"""How long commit waits for each source line of a recorded program, as tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TypeAlias

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..contract.results import LineCost, Run
from ..system import units

_SHARE_SHOWN = 0.001
"""Lines with a smaller share of all waiting are left out."""

_DESIGNS_ABREAST = 8
"""Designs per table; further ones get another table."""


LineKey: TypeAlias = tuple[str, str, str]
"""Place, function and object file."""


def site_table(runs: Sequence[Run], top: int) -> RenderableType:
    """The `top` lines with the longest waits over all runs: for several runs the time, for one run also the causes."""
    total: defaultdict[LineKey, float] = defaultdict(float)
    for run in runs:
        for cost in run.sites or ():
            total[_key(cost)] += cost.waited_ns
    least = _SHARE_SHOWN * sum(total.values())
    chosen = sorted((key for key in total if total[key] > least), key=lambda key: -total[key])[: max(top, 0)]
    if not chosen:
        return Text("No source line is waited for.")
    names = short_names([key[0] for key in chosen])
    parts: list[RenderableType] = []
    if len(runs) == 1:
        parts += [Text("Source lines by the time that commit waited for them"), _details(runs[0], chosen, names)]
    else:
        parts.append(Text("Time that commit waited for each source line, in µs (fences and loads)"))
        blocks = [runs[i : i + _DESIGNS_ABREAST] for i in range(0, len(runs), _DESIGNS_ABREAST)]
        parts += [_by_design(block, chosen, names) for block in blocks]
    left_out = sum(1 for waited in total.values() if waited > least) - len(chosen)
    if left_out > 0:
        parts.append(Text(f"and {units.count_of(left_out, 'line')} more; --top shows more", style="dim"))
    return Group(*parts)


def _key(cost: LineCost) -> LineKey:
    return cost.place, cost.function or "", cost.object or ""


def _by_design(runs: Sequence[Run], chosen: Sequence[LineKey], names: Mapping[str, str]) -> Table:
    table = _table([run.design for run in runs])
    costs = [{_key(cost): cost.waited_ns for cost in run.sites or ()} for run in runs]
    for key in chosen:
        waited = [of_run.get(key, 0.0) / 1e3 for of_run in costs]
        table.add_row(names[key[0]], units.printable(key[1]), *(f"{us:,.1f}" for us in waited))
    table.add_row("")
    return table


def _details(run: Run, chosen: Sequence[LineKey], names: Mapping[str, str]) -> Table:
    table = _table(["waited for", "by fences", "by loads", "flushes", "mean", "longest", "fences", "loads", "stores"])
    costs = {_key(cost): cost for cost in run.sites or ()}
    for key in chosen:
        cost = costs[key]
        times = (cost.waited_ns, cost.waited_for_ns, cost.load_stall_ns)
        counts = (cost.fences, cost.loads, cost.stores)
        table.add_row(
            names[key[0]],
            units.printable(key[1]),
            *(units.time(ns) for ns in times),
            units.number(cost.flushes),
            units.time(cost.flush_latency_ns),
            units.time(cost.flush_latency_max_ns),
            *(units.number(count) for count in counts),
        )
    return table


def _table(columns: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    table.add_column("function", no_wrap=True, overflow="ellipsis", max_width=32, header_style="dim")
    for column in columns:
        table.add_column(column, justify="right", header_style="dim")
    return table


def short_names(places: Sequence[str]) -> dict[str, str]:
    """File names without folders, unless two would have the same name."""
    by_name: defaultdict[str, set[str]] = defaultdict(set)
    for place in places:
        by_name[PurePath(place).name].add(place)
    return {
        place: units.printable(name if len(same) == 1 else str(PurePath(*PurePath(place).parts[-2:])))
        for name, same in by_name.items()
        for place in same
    }

"""The figures of one run on the screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..report.run_figures import OVER_SEEDS, figures_of, title
from ..system import units
from ..verbs.frames import compared, rests_on, seeds_told
from ..verbs.interval import estimate_of_all
from .figure_list import Figures

if TYPE_CHECKING:
    from ..contract.results import AtCrash, Run

_PARTS = {"l1": "L1", "l2": "L2", "l3": "L3", "counter-cache": "counter cache"}
"""The usual names of the parts that a battery drains."""


def one_run(run: Run) -> RenderableType:
    """The main figures of one run, in groups."""
    stats = run.stats
    figures = Figures()
    for name, rows in figures_of(run).groups.items():
        figures.group(name)
        for row in rows:
            figures.add(*row)
    what, setting = title(run)
    silent = [Text(f"no write reached the device: {stats.no_writes}")] if stats.no_writes else []
    head = [Text(what, style="bold"), Text(setting, style="dim"), *silent]
    provisos = stats.recorded.provisos if stats.recorded is not None else ()
    told = [Text(line, style="bold") for line in (*rests_on([run.document]), *provisos)]
    return Group(*head, figures.table, *_at_crash(stats.at_crash), *told)


def over_seeds(runs: Sequence[Run]) -> RenderableType:
    """The main figures of the same run with several seeds, as means with intervals."""
    rows = compared(runs)
    figures = Figures()
    group = ""
    for name, figure, column, show in OVER_SEEDS:
        if name != group:
            figures.group(name)
            group = name
        value = estimate_of_all([row.get(column) for row in rows])
        if value is not None:
            figures.add(figure, value.shown(show))
    what, setting = title(runs[0], seeds_told(rows))
    told = [Text(line, style="bold") for line in rests_on(rows)]
    return Group(Text(what, style="bold"), Text(setting, style="dim"), figures.table, *told)


def _at_crash(cost: AtCrash) -> Iterable[RenderableType]:
    """The cost of a power failure, part by part; nothing if no caches are drained."""
    if not cost.parts:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", no_wrap=True)
    for header in ("size", "dirty", "energy", "all dirty"):
        table.add_column(header, justify="right")
    for part in cost.parts:
        dirty = part.dirty_bytes / part.bytes if part.bytes else None
        energies = (units.millijoules(part.energy_mj), units.millijoules(part.energy_all_dirty_mj))
        table.add_row(f"  {_PARTS.get(part.name, part.name)}", units.size(part.bytes), units.percent(dirty), *energies)
    energies = (units.millijoules(cost.drain_energy_mj), units.millijoules(cost.drain_energy_all_dirty_mj))
    table.add_row("  all", "", "", *energies)
    yield Text("\nat a power failure", style="bold")
    yield table
    yield Text(f"  lines of the caches that are dirty: {units.percent(cost.dirty_fraction)}")
    if cost.recovery_time_paper_ns is not None:
        paper = f"{units.time(cost.recovery_time_paper_ns)} by the paper's formula"
        yield Text(f"  recovery: {units.time(cost.recovery_time_ns)} on this device, {paper}")

"""What a comparison shows, for its page and for papers: which figures, and each of them as a chart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from ..papers.model import Chart, Mark
from ..system import units
from ..verbs.frames import steps
from . import charts, colours, column, figures

Axis = Literal["cores", "tx_size"]

AXES: dict[Axis, str] = {"tx_size": "transaction size", "cores": "cores"}
"""The axes over which a comparison can be drawn."""

_BARS_MAX = 48
"""Bars that stand in one panel of a column; of more, each workload has a panel."""


@dataclass(frozen=True)
class Measure:
    """A figure that designs are compared by.

    Attributes:
        name: of its files, and its key in the template of the page.
        title: of the axis of a chart for papers; what is 1 is added to it.
        column: of the frame; empty where there are parts.
        parts: what stands on one another in a bar.
        rule: whether a line lies across at 1.
    """

    name: str
    title: str
    column: str = ""
    parts: tuple[charts.Part, ...] = ()
    rule: bool = True

    @property
    def columns(self) -> list[str]:
        """All its columns of the frame."""
        return [part.column for part in self.parts] or [self.column]


def measures(group: pl.DataFrame, *, logged: bool, eadr: bool) -> list[tuple[Measure, pl.DataFrame]]:
    """The figures of one machine, transaction size and number of cores, each with the rows that it is drawn of.

    Args:
        group: the runs.
        logged: whether the log of a design is written by hardware.
        eadr: whether the caches of a design lie in the persistence domain.
    """
    unlike_lines = bool(group.filter((pl.col("relative_write_bytes") - pl.col("relative_writes")).abs() > 1e-9).height)
    encrypted = group.filter(pl.col("nvm_counter_writes") + pl.col("wpq_counter_writes_coalesced") > 0)
    found = [
        (eadr, Measure("execution_time", "execution time", "relative_execution_time"), group),
        (True, Measure("latency", "transaction latency", "relative_latency"), group),
        (not all(group["transactions"]), Measure("simulated_time", "time", "relative_simulated_time"), group),
        (logged, Measure("throughput", "throughput", "relative_throughput"), group),
        (True, Measure("writes", "NVM line writes", parts=charts.writes_of(group)), group),
        (unlike_lines, Measure("bytes", "NVM bytes written", "relative_write_bytes"), group),
        (True, Measure("counters", "counter writes", parts=charts.COUNTER_WRITES, rule=False), encrypted),
        (logged and any(group["relative_reads"]), Measure("reads", "NVM line reads", parts=charts.READS), group),
        (
            logged and any(group["relative_l1_access_latency"]),
            Measure("l1_latency", "L1 access latency", "relative_l1_access_latency"),
            group,
        ),
    ]
    return [(measure, rows) for shown, measure, rows in found if shown and charts.drawable(rows, measure.columns)]


def forms(frame: pl.DataFrame) -> dict[str, bool]:
    """Of which kinds there are designs in a comparison; see `measures`."""
    kinds = frame["form"].to_list()
    return {"logged": "hardware-logged" in kinds, "eadr": "flush-free" in kinds}


def along(frame: pl.DataFrame, axis: Axis) -> list[pl.DataFrame]:
    """Parts of a comparison on one machine that differ in one of the two, and there are several of it."""
    fixed = "tx_size" if axis == "cores" else "cores"
    groups = [group for _, group in frame.group_by("machine", fixed, maintain_order=True)]
    return [group for group in groups if len(steps_of(group, axis)) > 1]


def steps_of(frame: pl.DataFrame, axis: Axis) -> list[int]:
    """The transaction sizes, or numbers of cores, of a comparison, ascending."""
    return steps(frame.select(axis).to_dicts(), axis)


def of_paper(frame: pl.DataFrame) -> list[column.Figure]:
    """The charts of a comparison, each as wide as a column of a paper."""
    baseline = frame["baseline"][0]
    of_design = colours.of_designs(frame)
    kinds = forms(frame)
    found = []
    points = [group for _, group in frame.group_by("machine", "tx_size", "cores", maintain_order=True)]
    for group in points:
        at = _at(group, frame, len(points) > 1)
        for measure, rows in measures(group, **kinds):
            title = f"{measure.title}, {baseline} = 1"
            drawn = _stack(rows, measure, title) if measure.parts else _bars(rows, measure, title)
            of_part = {part.name: part.colour for part in measure.parts}
            found.append(column.Figure(measure.name + at, drawn, of_part or of_design))
    for group in along(frame, "cores"):
        start = units.count_of(steps_of(group, "cores")[0], "core")
        title = f"throughput, {baseline} at {start} = 1"
        drawn = _lines(group, "cores", "scaled_throughput", title)
        at = _at(group, frame, len(along(frame, "cores")) > 1, but="cores")
        found.append(column.Figure(f"throughput_by_cores{at}", drawn, of_design))
    for axis in AXES if kinds["eadr"] else ():
        for group in along(frame, axis):
            drawn = _lines(group, axis, "relative_execution_time", f"execution time, {baseline} = 1")
            at = _at(group, frame, len(along(frame, axis)) > 1, but=axis)
            found.append(column.Figure(f"execution_time_by_{axis}{at}", drawn, of_design))
    return found


def _at(group: pl.DataFrame, frame: pl.DataFrame, several: bool, but: str = "") -> str:
    """What tells the files of one point from those of another."""
    row = group.row(0, named=True)
    shown = {
        "machine": units.name_of(row["machine"]),
        "tx_size": units.size(row["tx_size"]).replace(" ", ""),
        "cores": units.count_of(row["cores"], "core").replace(" ", ""),
    }
    told = [text for name, text in shown.items() if name != but and frame[name].n_unique() > 1]
    return "".join(f"-{text}" for text in told) if several else ""


def _bars(table: pl.DataFrame, measure: Measure, title: str) -> Chart:
    """Bars of designs side by side, by workload."""
    shown = charts.points(table, [measure.column])
    works, designs = _distinct(shown, "workload"), _distinct(shown, "design")
    panels = len(works) * len(designs) > _BARS_MAX
    places = shown.select("workload", "design", measure.column, "half").iter_rows()
    return Chart(
        title="",
        kind="bar",
        x_title="",
        y_title=title,
        panels=works if panels else ("",),
        xs=("",) if panels else works,
        series=designs,
        marks=tuple(
            Mark(work, "", design, value, half) if panels else Mark("", work, design, value, half)
            for work, design, value, half in places
        ),
        rule=1.0 if measure.rule else None,
    )


def _stack(table: pl.DataFrame, measure: Measure, title: str) -> figures.Stack:
    """A stacked bar for each design, a panel for each workload."""
    shown = charts.points(table, measure.columns)
    return figures.Stack(
        title="",
        kind="bar",
        x_title="",
        y_title=title,
        panels=_distinct(shown, "workload"),
        xs=_distinct(shown, "design"),
        series=tuple(part.name for part in measure.parts),
        marks=tuple(
            Mark(row["workload"], row["design"], part.name, row[part.column])
            for row in shown.iter_rows(named=True)
            for part in measure.parts
        ),
        rule=1.0 if measure.rule else None,
        halves={(row["workload"], row["design"]): row["half"] for row in shown.iter_rows(named=True)},
    )


def _lines(table: pl.DataFrame, axis: Axis, name: str, title: str) -> Chart:
    """A line for each design, a panel for each workload."""
    shown = charts.points_along(table, axis, name)
    return Chart(
        title="",
        kind="line",
        x_title=AXES[axis],
        y_title=title,
        panels=_distinct(shown, "workload"),
        xs=_distinct(shown, "step"),
        series=_distinct(shown, "design"),
        marks=tuple(
            Mark(row["workload"], row["step"], row["design"], row["value"], row["half"])
            for row in shown.iter_rows(named=True)
        ),
    )


def _distinct(table: pl.DataFrame, name: str) -> tuple[str, ...]:
    return tuple(table[name].unique(maintain_order=True))

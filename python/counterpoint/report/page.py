"""`report.html`: the page of a comparison, without a network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Literal

import polars as pl

from ..contract.printed import Guarantee
from ..contract.results import RecoveryCost
from ..system import units
from ..verbs.frames import Row, along, grouped, rests_on, seeds_told, without_writes
from ..verbs.interval import Estimate, estimate
from ..verbs.overview import overview
from . import charts, colours, compared, headline
from .tables import csv_text, data_link
from .templates import template

_TABLE_COLUMNS = {
    "design": "design",
    "workload": "workload",
    "transaction_latency_ns_mean": "latency",
    "relative_latency": "latency, relative",
    "relative_throughput": "throughput, relative",
    "nvm_writes": "NVM writes",
    "relative_writes": "writes, relative",
    "nvm_write_bytes": "bytes written",
    "relative_write_bytes": "bytes, relative",
    "nvm_counter_writes": "counter writes",
    "counter_writes_removed": "counter writes removed",
    "counter_cache_hit_rate": "counter cache hits",
}
_MACHINE_COLUMN = {"machine": "machine"}
"""Where runs are of different machines."""

_TIME_COLUMNS = {"simulated_ns": "simulated time", "relative_simulated_time": "simulated time, relative"}
"""Where programs have no transactions."""

_LOG_COLUMNS = {
    "throughput_tps": "transactions per second",
    "nvm_reads": "NVM reads",
    "relative_reads": "reads, relative",
    "nvm_counter_reads": "counter reads",
    "l1_access_latency_ns": "L1 access latency",
    "relative_l1_access_latency": "L1 latency, relative",
}
"""Further charts for designs with a hardware log (easy-pm, Figures 5 to 7)."""

_EADR_COLUMNS = {
    "relative_execution_time": "execution time, relative",
    "at_crash_dirty_fraction": "dirty lines at the end",
    "at_crash_drain_energy_mj": "energy to drain them",
    "at_crash_recovery_time_ns": "recovery",
}
"""Further charts for designs whose caches lie in the persistence domain (sepencr, section V)."""


def render(
    frame: pl.DataFrame,
    command: str | None,
    recoveries: Sequence[RecoveryCost] = (),
    guarantees: Sequence[Guarantee] = (),
) -> str:
    """The page of a comparison.

    Args:
        frame: its runs.
        command: the command line that reproduces it.
        recoveries: what recovery costs.
        guarantees: what the designs guarantee.
    """
    colour_of = colours.of_designs(frame)
    forms = compared.forms(frame)
    logged, eadr = forms["logged"], forms["eadr"]
    machines = frame["machine"].unique(maintain_order=True).to_list()
    columns = _TABLE_COLUMNS | (_MACHINE_COLUMN if len(machines) > 1 else {})
    columns |= {} if all(frame["transactions"]) else _TIME_COLUMNS
    columns |= (_LOG_COLUMNS if logged else {}) | (_EADR_COLUMNS if eadr else {})
    columns = {column: title for column, title in columns.items() if frame[column].count()}
    points = frame.group_by("machine", "tx_size", "cores", maintain_order=True)
    over = overview(frame.to_dicts(), guarantees)
    return template("page.html").render(
        execution_times=_execution_times(frame, colour_of) if eadr else [],
        scalings=[_scaling(group, colour_of, _on(group, frame)) for group in compared.along(frame, "cores")],
        sections=[
            {"title": _title(group, frame), **_section(group, colour_of, list(columns), logged=logged, eadr=eadr)}
            for _, group in points
        ],
        colour_of=colour_of,
        baseline=frame["baseline"][0],
        machines=[units.name_of(name) for name in machines],
        facts=_facts(frame, colour_of),
        command=command,
        dark_rules=colours.dark_rules(".drawn"),
        colours=colours,
        write_legend=[(part.name, part.colour) for part in charts.writes_of(frame)],
        read_legend=[(part.name, part.colour) for part in charts.READS],
        counter_legend=[(part.name, part.colour) for part in charts.COUNTER_WRITES],
        columns=list(columns.values()),
        recovery=_recovery(recoveries),
        over=over,
        over_rows=[[row.design, *row.cells] for row in over.rows],
        said=headline.of_comparison(frame.to_dicts(), over),
    )


def _recovery(costs: Sequence[RecoveryCost]) -> dict[str, Any] | None:
    """What the recovery of each design costs, and what it relies on."""
    if not costs:
        return None
    rows = []
    for cost in costs:
        (only,) = cost.costs
        boot = only.recovery
        figures = [units.NOTHING] * 6
        if boot is not None:
            counts = (boot.work.reads.total, boot.work.writes.total, boot.work.macs, boot.work.hashes)
            figures = [*map(units.number, counts), units.duration(boot.time_ns), units.duration(boot.papers_ns)]
        rows.append([cost.design, *figures, units.number(only.on_chip_bytes)])
    return {
        "memory": units.size(costs[0].costs[0].memory_bytes),
        "per_line": f"{costs[0].papers_ns_per_line:.0f} ns",
        "rows": rows,
    }


def _execution_times(frame: pl.DataFrame, colour_of: dict[str, str]) -> list[dict[str, Any]]:
    """Execution time by transaction size at each number of cores, and by cores at each transaction size."""
    found = []
    for axis in compared.AXES:
        for group in compared.along(frame, axis):
            places = [_step(axis, step) for step in compared.steps_of(group, axis)]
            fixed = _step("cores", group["cores"][0]) if axis == "tx_size" else _transactions(group["tx_size"][0])
            fixed = ", ".join(filter(None, (fixed, _on(group, frame))))
            found.append(
                {
                    "title": f"Execution time by {compared.AXES[axis]}" + (f", {fixed}" if fixed else ""),
                    "drawn": _lines(group, axis, "relative_execution_time", colour_of),
                    "along": compared.AXES[axis],
                    "steps": places,
                    "rows": [
                        [design, block.workload, *map(_ratio, values)]
                        for block in along(group.to_dicts(), axis, ["relative_execution_time"])
                        for design, (values,) in block.rows
                    ],
                }
            )
    return found


def _scaling(group: pl.DataFrame, colour_of: dict[str, str], on: str) -> dict[str, Any]:
    """Throughput by cores at one transaction size."""
    counts = compared.steps_of(group, "cores")
    size = _transactions(group["tx_size"][0])
    return {
        "title": ", ".join(filter(None, ("Throughput by cores", size, on))),
        "start": _step("cores", counts[0]),
        "drawn": _lines(group, "cores", "scaled_throughput", colour_of),
        "cores": [_step("cores", count) for count in counts],
        "rows": [
            [design, block.workload, *map(_ratio, over_start), *map(_ratio, over_same)]
            for block in along(group.to_dicts(), "cores", ["scaled_throughput", "relative_throughput"])
            for design, (over_start, over_same) in block.rows
        ],
    }


def _lines(
    group: pl.DataFrame, axis: Literal["cores", "tx_size"], column: str, colour_of: dict[str, str]
) -> charts.Drawn:
    drawings = [charts.lines(group, axis, column, colour_of, wide=wide) for wide in (True, False)]
    points = charts.points_along(group, axis, column).rename({"value": column, "step": axis})
    return charts.Drawn(drawings, f"{column}_by_{axis}", _data(points))


def _data(points: pl.DataFrame) -> str:
    """The points of a chart as CSV, in a link."""
    named = points.rename({"half": "half_of_interval"})
    return data_link(csv_text(named.columns, named.iter_rows()))


def _step(axis: Literal["cores", "tx_size"], step: int) -> str:
    return units.count_of(step, "core") if axis == "cores" else units.size(step)


def _transactions(size: int | None) -> str:
    return "" if size is None else f"{units.size(size)} transactions"


def _section(
    group: pl.DataFrame, colour_of: dict[str, str], columns: list[str], *, logged: bool, eadr: bool
) -> dict[str, Any]:
    """The charts and the table of one transaction size and number of cores; a chart of nothing is left out."""
    drawn = {}
    for measure, shown in compared.measures(group, logged=logged, eadr=eadr):
        if measure.parts:
            both = [charts.stacks(shown, measure.parts, wide=wide, rule=measure.rule) for wide in (True, False)]
        else:
            both = [charts.bars(shown, measure.column, colour_of, wide=wide) for wide in (True, False)]
        drawn[measure.name] = charts.Drawn(both, measure.name, _data(charts.points(shown, measure.columns)))
    return {
        "notes": without_writes(group.to_dicts()),
        "drawn": drawn,
        "rows": [
            [_over_seeds(name, rows) for name in columns] for _, rows in grouped(group.to_dicts(), "workload", "design")
        ],
    }


def _ratio(value: Estimate | None) -> str:
    return units.NOTHING if value is None else value.shown(units.ratio)


def _over_seeds(column: str, rows: Sequence[Row]) -> str:
    """A cell of the table: of several seeds the mean with its interval."""
    values = [row[column] for row in rows]
    if len(rows) == 1 or isinstance(values[0], str):
        return _cell(column, values[0])
    if None in values:
        return units.NOTHING
    return estimate(values).shown(lambda value: _cell(column, value))


def _title(group: pl.DataFrame, frame: pl.DataFrame) -> str:
    """What distinguishes a section: its machine where there are several, its transaction size and number of cores."""
    row = group.row(0, named=True)
    cores = units.count_of(row["cores"], "core")
    return ", ".join(filter(None, (_transactions(row["tx_size"]), cores, _on(group, frame))))


def _on(group: pl.DataFrame, frame: pl.DataFrame) -> str:
    """The machine of a part of a comparison, where there are several."""
    return f"machine {units.name_of(group['machine'][0])}" if frame["machine"].n_unique() > 1 else ""


def _cell(column: str, value: Any) -> str:
    if column in ("design", "workload", "machine"):
        return PurePath(value).name
    if column in ("transaction_latency_ns_mean", "at_crash_recovery_time_ns", "simulated_ns"):
        return units.time(value)
    if column == "at_crash_drain_energy_mj":
        return units.millijoules(value)
    if column == "l1_access_latency_ns":
        return units.NOTHING if value is None else f"{units.ratio(value)} ns"
    if column.startswith("relative_"):
        return units.ratio(value)
    if column.startswith("nvm_") or column == "throughput_tps":
        return units.number(value)
    return units.percent(value)


def _span(counts: pl.Series) -> str:
    """Least and greatest of a count that may differ from run to run."""
    least, greatest = sorted(counts)[0], sorted(counts)[-1]
    return units.number(least) + ("" if least == greatest else f" to {units.number(greatest)}")


def _facts(frame: pl.DataFrame, colour_of: dict[str, str]) -> dict[str, str]:
    """What was run, under the names a reader looks for."""

    def all_of(column: str, show: Any = str) -> str:
        return ", ".join(show(value) for value in frame[column].unique(maintain_order=True) if value is not None)

    facts = {
        "designs": ", ".join(colour_of),
        "workloads": all_of("workload", lambda work: PurePath(work).name),
        "machine": all_of("machine", units.name_of),
        "reading": all_of("variant"),
        "transaction size": all_of("tx_size", units.size),
        "cores": all_of("cores"),
        "footprint": all_of("footprint", units.size),
        "transactions measured": _span(frame["transactions"]),
        "seed": all_of("seed"),
        "intervals": seeds_told(frame.to_dicts()) if frame["seed"].n_unique() > 1 else "",
        "engine": all_of("engine_version"),
        "rests on": " ".join(rests_on(frame.to_dicts())),
    }
    return {name: value for name, value in facts.items() if value}

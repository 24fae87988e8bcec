"""Comparisons of designs as tables on the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..contract.printed import Guarantee
from ..system import units
from ..verbs.frames import (
    Row,
    along,
    distinct,
    grouped,
    over_seeds,
    rests_on,
    seeds_told,
    steps,
    without_writes,
)
from ..verbs.interval import Estimate
from .kind_table import by_kind
from .overview_table import overview_table


@dataclass(frozen=True)
class _Measure:
    """A figure that designs are compared by: its column, the title of its table, how a cell is written."""

    column: str
    title: str
    show: Callable[[float | None], str] = units.ratio


_TRANSACTION_MEASURES = (
    _Measure("relative_latency", "Transaction latency, {baseline} = 1 (lower is better)"),
    _Measure("relative_throughput", "Throughput, {baseline} = 1 (higher is better)"),
)


_TIME_MEASURES = (
    _Measure("relative_simulated_time", "Simulated time, {baseline} = 1 (lower is better)"),
    _Measure("simulated_ns", "Simulated time (lower is better)", units.time),
    _Measure("recorded_ns_per_fence", "Simulated time per fence of the program (lower is better)", units.time),
    _Measure("recorded_ns_per_mark", "Simulated time per mark of the program (lower is better)", units.time),
)
"""The speed of recorded programs of which some have no transactions."""


_MEASURES = (
    _Measure("relative_writes", "NVM writes, {baseline} = 1 (lower is better)"),
    _Measure("relative_write_bytes", "NVM bytes written, {baseline} = 1 (lower is better)"),
    _Measure("relative_counter_writes", "Counter writes among them, NVM writes of {baseline} = 1"),
)


_ALL_WRITES = _Measure("nvm_writes", "NVM writes (lower is better)", units.number)
"""Where the baseline has written nothing that others could be compared with."""


_LOG_MEASURES = (
    _Measure("relative_reads", "NVM reads, {baseline} = 1 (lower is better)"),
    _Measure("relative_counter_reads", "Counter reads among them, NVM reads of {baseline} = 1"),
    _Measure("relative_l1_access_latency", "L1 access latency, {baseline} = 1 (lower is better)"),
    _Measure("l1_access_latency_ns", "L1 access latency in ns (lower is better)"),
    _Measure("throughput_tps", "Throughput in transactions per second", units.number),
)
"""Further figures for designs with hardware logging (easy-pm, Figures 5 to 7)."""


_EADR_MEASURES = (_Measure("relative_execution_time", "Execution time, {baseline} = 1 (lower is better)"),)
"""Further figures for designs with caches in the persistence domain (sepencr, Figures 3, 10 and 11)."""


def comparison(rows: Sequence[Row], guarantees: Sequence[Guarantee] = ()) -> RenderableType:
    """A table per measure, designs down and workloads across, for every machine, transaction size and number of cores.

    Before them stands a table of what each design guarantees, if that is known; with one setting it has the costs, too.
    Recorded programs without transactions are compared by simulated time, also for each fence and each mark where they
    have any. Where nothing was written, a sentence says why; what has no value is left out. If a design has a hardware
    log, reads and L1 access latency are among the measures, unless all are zero. With several numbers of cores another
    table follows for every transaction size: throughput by cores. If the caches of a design lie in the persistence
    domain, execution time is among the measures, and is also shown by cores and by transaction size if there are
    several. If a design protects integrity, writes and wear follow by kind of line.
    """
    parts: list[RenderableType] = []
    forms = distinct(rows, "form")
    eadr = "flush-free" in forms
    settings = grouped(rows, "machine", "tx_size", "cores")
    if guarantees and len(settings) == 1:
        ((_, tx_size, cores), group) = settings[0]
        parts.append(Text(_setting(group, tx_size, cores), style="bold"))
    parts += overview_table(rows, guarantees)
    further = (*(_LOG_MEASURES if "hardware-logged" in forms else ()), *(_EADR_MEASURES if eadr else ()))
    for (_, tx_size, cores), group in settings:
        parts.append(Text(_setting(group, tx_size, cores), style="bold"))
        baseline = group[0]["baseline"]
        parts += [Text(sentence) for sentence in without_writes(group)]
        for measure in (*_speeds(group), *_writes(group), *(one for one in further if _any(group, one.column))):
            parts += [Text(measure.title.format(baseline=baseline)), _matrix(group, measure), *_alike(group, measure)]
        parts += by_kind(group)
    for (_, cores), group in grouped(rows, "machine", "cores"):
        if eadr and len(steps(group, "tx_size")) > 1:
            parts.append(Text(_setting(group, None, cores), style="bold"))
            parts += _execution_time(group, "tx_size")
    for (_, tx_size), group in grouped(rows, "machine", "tx_size"):
        if len(steps(group, "cores")) > 1:
            parts.append(Text(_setting(group, tx_size, None), style="bold"))
            parts += _throughput_by_cores(group)
            parts += _execution_time(group, "cores") if eadr else ()
    parts += [Text(told, style="bold") for told in rests_on(rows)]
    return Group(*parts)


def _speeds(group: Sequence[Row]) -> Iterable[_Measure]:
    """The figures of speed that runs on some workload have."""
    done = [row["transactions"] for row in group]
    if any(done):
        yield from _TRANSACTION_MEASURES
    if not all(done):
        yield from (measure for measure in _TIME_MEASURES if _any(group, measure.column))


def _writes(group: Sequence[Row]) -> Iterable[_Measure]:
    """The figures of writes that runs on some workload have."""
    if any(not row["nvm_writes"] for row in group if row["design"] == row["baseline"]) and _any(group, "nvm_writes"):
        yield _ALL_WRITES
    yield from (measure for measure in _MEASURES if _has_value(group, measure.column))


def _has_value(group: Sequence[Row], column: str) -> bool:
    return any(row.get(column) is not None for row in group)


def _any(group: Sequence[Row], column: str) -> bool:
    """Whether a column has a value that is not zero."""
    return any(row.get(column) for row in group)


def _throughput_by_cores(group: Sequence[Row]) -> Iterable[RenderableType]:
    """Throughput over the baseline at the fewest cores, which shows scaling, and at as many cores, which shows cost."""
    counts = steps(group, "cores")
    baseline = group[0]["baseline"]
    yield Text(
        f"Throughput by cores (higher is better): left, {baseline} at {units.count_of(counts[0], 'core')} = 1; "
        f"right, {baseline} at as many cores = 1"
    )
    yield _blocks(group, "cores", ("scaled_throughput", "relative_throughput"), str)


def _execution_time(group: Sequence[Row], axis: Literal["cores", "tx_size"]) -> Iterable[RenderableType]:
    """Execution time over the baseline at the same point."""
    baseline = group[0]["baseline"]
    if axis == "cores":
        yield Text(f"Execution time by cores, {baseline} at as many cores = 1 (lower is better)")
    else:
        yield Text(f"Execution time by transaction size, {baseline} = 1 (lower is better)")
    yield _blocks(group, axis, ("relative_execution_time",), str if axis == "cores" else units.size)


def _blocks(
    group: Sequence[Row], axis: Literal["cores", "tx_size"], measures: Sequence[str], header: Callable[[int], str]
) -> Table:
    """A block of designs for every workload, the measures side by side, each along the axis."""
    headers = [header(step) for step in steps(group, axis)]
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for column in [*headers, *(["", *headers] * (len(measures) - 1))]:
        table.add_column(column, justify="right", header_style="dim")
    for block in along(group, axis, measures):
        table.add_row(units.name_of(block.workload), style="bold")
        for design, (first, *others) in block.rows:
            cells = [*map(_ratio, first), *(cell for values in others for cell in ("", *map(_ratio, values)))]
            table.add_row(f"  {design}", *cells, style="dim" if design == group[0]["baseline"] else "")
    table.add_row("")
    return table


def _ratio(value: Estimate | None) -> str:
    return units.NOTHING if value is None else value.shown(units.ratio)


def _setting(group: Sequence[Row], tx_size: object, cores: int | None) -> str:
    row = group[0]
    size = "" if tx_size is None else f", {units.size(tx_size)} transactions"
    number = "" if cores is None else f", {units.count_of(cores, 'core')}"
    return f"machine {row['machine']}{size}{number}, {seeds_told(group)}, {row['variant']}"


def _matrix(group: Sequence[Row], measure: _Measure) -> Table:
    """Designs down and workloads across; a workload on which no design has a value is left out."""
    works = distinct([row for row in group if row.get(measure.column) is not None], "workload")
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for name in (*map(units.name_of, works), *(("mean",) if len(works) > 1 else ())):
        table.add_column(name, justify="right", header_style="dim")
    for design, row in _estimates(group, measure, works).items():
        style = "dim" if design == group[0]["baseline"] else ""
        cells = (measure.show(None) if value is None else value.shown(measure.show) for value in row)
        table.add_row(design, *cells, style=style)
    table.add_row("")
    return table


def _estimates(group: Sequence[Row], measure: _Measure, works: Sequence[str]) -> dict[str, list[Estimate | None]]:
    """A figure of each design on each workload, and the mean over several workloads last."""
    found = {}
    for (design,), rows in grouped(group, "design"):
        among = [[work] for work in works] + ([list(works)] if len(works) > 1 else [])
        found[design] = [
            over_seeds([row for row in rows if row["workload"] in names], measure.column, names) for names in among
        ]
    return found


def _alike(group: Sequence[Row], measure: _Measure) -> Iterable[Text]:
    """Which designs do not differ: those whose intervals meet in the last column. Nothing with one seed."""
    works = distinct([row for row in group if row.get(measure.column) is not None], "workload")
    last = {design: row[-1] for design, row in _estimates(group, measure, works).items() if row}
    known = {design: value for design, value in last.items() if value is not None and value.half is not None}
    pairs = [f"{one} and {other}" for (one, of), (other, to) in combinations(known.items(), 2) if of.meets(to)]
    if pairs:
        of_what = "in the mean" if len(works) > 1 else f"on {units.name_of(works[0])}"
        yield Text(f"Not different {of_what}, because the intervals meet: {'; '.join(pairs)}\n", style="dim")

"""Results as tables on the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ..system import units
from ..verbs.frames import Row, along, distinct, grouped, mean, rests_on, steps, without_writes
from .attack_table import attack_table
from .cause_table import cause_table, losses_table
from .kind_table import by_kind

if TYPE_CHECKING:
    from ..contract.results import AtCrash, CounterCache, Crash, Integrity, Nvm, Part, Run, Violation
    from ..papers.model import Reproduction
    from ..verbs.annotation_checks import Annotations, Outcome
    from ..verbs.litmus_suite import LitmusReport
    from ..verbs.litmus_suite import Verdict as LitmusVerdict

_SECRETS = ("plaintext", "pad_reuse")
"""Rules that a crash can break without losing data."""

_OBSERVED = {"differs": "fails in another way", "void": "shows nothing"}
"""Verdicts of litmus tests in words, if their names do not explain them."""

_PARTS = {"l1": "L1", "l2": "L2", "l3": "L3", "counter-cache": "counter cache"}
"""The usual names of the parts that a battery drains."""


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


def comparison(rows: Sequence[Row]) -> RenderableType:
    """A table per measure, designs down and workloads across, for every machine, transaction size and number of cores.

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
    further = (*(_LOG_MEASURES if "hardware-logged" in forms else ()), *(_EADR_MEASURES if eadr else ()))
    for (_, tx_size, cores), group in grouped(rows, "machine", "tx_size", "cores"):
        parts.append(Text(_setting(group[0], tx_size, cores), style="bold"))
        baseline = group[0]["baseline"]
        parts += [Text(sentence) for sentence in without_writes(group)]
        for measure in (*_speeds(group), *_writes(group), *(one for one in further if _any(group, one.column))):
            parts += [Text(measure.title.format(baseline=baseline)), _matrix(group, measure)]
        parts += by_kind(group)
    for (_, cores), group in grouped(rows, "machine", "cores"):
        if eadr and len(steps(group, "tx_size")) > 1:
            parts.append(Text(_setting(group[0], None, cores), style="bold"))
            parts += _execution_time(group, "tx_size")
    for (_, tx_size), group in grouped(rows, "machine", "tx_size"):
        if len(steps(group, "cores")) > 1:
            parts.append(Text(_setting(group[0], tx_size, None), style="bold"))
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
        table.add_row(_name(block.workload), style="bold")
        for design, (first, *others) in block.rows:
            cells = [*map(units.ratio, first), *(cell for values in others for cell in ("", *map(units.ratio, values)))]
            table.add_row(f"  {design}", *cells, style="dim" if design == group[0]["baseline"] else "")
    table.add_row("")
    return table


def _setting(row: dict[str, Any], tx_size: object, cores: int | None) -> str:
    size = "" if tx_size is None else f", {units.size(tx_size)} transactions"
    number = "" if cores is None else f", {units.count_of(cores, 'core')}"
    return f"machine {row['machine']}{size}{number}, seed {row['seed']}, {row['variant']}"


def _matrix(group: Sequence[Row], measure: _Measure) -> Table:
    """Designs down and workloads across; a workload on which no design has a value is left out."""
    works = distinct([row for row in group if row.get(measure.column) is not None], "workload")
    values = {(row["design"], row["workload"]): row.get(measure.column) for row in group}
    table = Table(box=None, pad_edge=False)
    table.add_column("", no_wrap=True)
    for name in (*map(_name, works), *(("mean",) if len(works) > 1 else ())):
        table.add_column(name, justify="right", header_style="dim")
    for design in distinct(group, "design"):
        row = [values.get((design, work)) for work in works]
        if len(works) > 1:
            row.append(mean(row))
        style = "dim" if design == group[0]["baseline"] else ""
        table.add_row(design, *map(measure.show, row), style=style)
    table.add_row("")
    return table


def one_run(run: Run) -> RenderableType:
    """The main figures of one run, in groups."""
    stats = run.stats
    nvm, wpq, host = stats.nvm, stats.wpq, stats.host
    asked = nvm.counter_writes + wpq.counter_writes_coalesced
    figures = _Figures()
    figures.group("transactions")
    figures.add("done", units.number(stats.transactions))
    if stats.transactions:
        figures.add("throughput", f"{units.number(stats.throughput_tps)} per second")
        latency = stats.transaction_latency_ns
        figures.add(
            "latency",
            f"{units.time(latency.mean)} mean, {units.time(latency.p50)} median, "
            f"{units.time(latency.p99)} 99th percentile, {units.time(latency.max)} longest",
        )
    if stats.recorded is not None:
        figures.group("recorded program")
        for name, count, each in (
            ("fences", stats.recorded.fences, stats.recorded.ns_per_fence),
            ("marks", stats.recorded.marks, stats.recorded.ns_per_mark),
        ):
            figures.add(name, units.number(count) + (f", {units.time(each)} each" if count else ""))
    figures.group("device")
    figures.add(
        "line writes",
        f"{units.number(nvm.writes)}: {units.number(nvm.data_writes)} data, {units.number(nvm.log_writes)} log, "
        f"{units.number(nvm.counter_writes)} counters" + (_protection(nvm) if stats.integrity else ""),
    )
    figures.add(
        "line reads",
        f"{units.number(nvm.reads)}: {units.number(nvm.counter_reads)} of them counters"
        + (f", {units.number(nvm.mac_reads)} MACs, {units.number(nvm.tree_reads)} tree" if stats.integrity else ""),
    )
    if nvm.writes:
        worn = units.count_of(nvm.max_line_writes, "write") + (_wear(nvm) if stats.integrity else "")
        figures.add("most-written line", worn)
    figures.add("energy", f"{units.number(nvm.energy_nj / 1e3)} µJ")
    figures.group("counters")
    figures.add("counter cache hits", units.percent(stats.counter_cache.hit_rate))
    figures.add("counter cache misses", _misses(stats.counter_cache))
    if asked:
        removed = f"{units.number(wpq.counter_writes_coalesced)} of {units.number(asked)}"
        figures.add("writes removed in the queue", f"{removed} ({units.percent(wpq.counter_writes_coalesced / asked)})")
    figures.add("pages re-encrypted", units.number(stats.reencryptions))
    if stats.integrity is not None:
        figures.group("integrity")
        figures.add("metadata cache hits", units.percent(stats.integrity.hit_rate))
        figures.add("metadata cache misses", _misses(stats.integrity))
        figures.add("MACs computed and checked", units.number(stats.integrity.macs))
        figures.add("hashes of the tree", units.number(stats.integrity.hashes))
    figures.group("pipe")
    figures.add("instructions per cycle", units.ratio(stats.core.ipc))
    figures.add("waiting for fences", units.time(stats.core.fence_stall_ns))
    figures.add("waiting for the write queue", units.time(wpq.full_stall_ns))
    figures.add("write queue occupancy", f"{units.ratio(wpq.mean_occupancy)} entries")
    for level in stats.cache:
        accesses = level.hits + level.misses
        name = f"L{str(level.level).lstrip('L')} hits"
        figures.add(name, units.percent(level.hits / accesses if accesses else None))
    latency_ns = stats.l1_access_latency_ns
    figures.add("L1 access latency", units.NOTHING if latency_ns is None else f"{units.ratio(latency_ns)} ns")
    figures.group("simulation")
    figures.add("simulated", units.time(stats.simulated_ns))
    figures.add("took", f"{host.seconds:.2f} s on this computer")
    title = f"{run.design} ({run.variant}) on {_name(run.workload)}"
    size = "" if run.tx_size is None else f", {units.size(run.tx_size)} transactions"
    footprint = "" if run.footprint is None else f", {units.size(run.footprint)} footprint"
    setting = f"machine {run.machine}{size}{footprint}, {units.count_of(run.cores, 'core')}, seed {run.seed}"
    silent = [Text(f"no write reached the device: {stats.no_writes}")] if stats.no_writes else []
    head = [Text(title, style="bold"), Text(setting, style="dim"), *silent]
    provisos = stats.recorded.provisos if stats.recorded is not None else ()
    told = [Text(proviso, style="bold") for proviso in provisos]
    return Group(*head, figures.table, *_at_crash(stats.at_crash), *told)


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


class _Figures:
    """Names and values in groups."""

    def __init__(self) -> None:
        self.table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        self.table.add_column(no_wrap=True)
        self.table.add_column()
        self._begun = ""

    def group(self, name: str) -> None:
        """Begins a group; it is shown if anything is added to it."""
        self._begun = name

    def add(self, name: str, value: str) -> None:
        """Adds a figure, if it has a value."""
        if value == units.NOTHING:
            return
        if self._begun:
            self.table.add_row("")
            self.table.add_row(Text(self._begun, style="bold"))
            self._begun = ""
        self.table.add_row(f"  {name}", value)


def _misses(cache: CounterCache | Integrity) -> str:
    """The misses of a cache: those that fetched the block, and those while it was being fetched."""
    if cache.misses is None or cache.secondary_misses is None:
        return units.number(cache.misses)
    return f"{units.number(cache.misses)} fetched, {units.number(cache.secondary_misses)} secondary"


def _protection(nvm: Nvm) -> str:
    """The writes that protect integrity, by kind."""
    kinds = ((nvm.mac_writes, "MACs"), (nvm.tree_writes, "tree"), (nvm.table_writes, "table"))
    return "".join(f", {units.number(count)} {kind}" for count, kind in kinds)


def _wear(nvm: Nvm) -> str:
    """The writes of the most-written line of each kind that was written."""
    kinds = (
        (nvm.max_data_writes, "data"),
        (nvm.max_counter_writes, "counters"),
        (nvm.max_mac_writes, "MACs"),
        (nvm.max_tree_writes, "tree"),
        (nvm.max_table_writes, "table"),
    )
    return ": " + ", ".join(f"{units.number(most)} {kind}" for most, kind in kinds if most)


def verdict(crash: Crash, *, by_line: bool = False) -> RenderableType:
    """The verdict, how much it covers, and each violation in words; with `by_line`, also the source lines that explain
    the failures."""
    subject = f"{crash.design} ({crash.variant}) on {_name(crash.workload)}, seed {crash.seed}"
    if crash.fault is not None:
        subject += f", {crash.fault} switched off"
    if crash.holds:
        again = f" and {units.number(crash.nested_points)} more during recovery" if crash.nested_points else ""
        tried = units.count_of(crash.crash_points, "crash", "es")
        holds = "Holds so far" if crash.interrupted or crash.out_of_time else "Holds"
        unleaked = crash.secret and crash.left_out is None
        kept = "nothing was lost and nothing leaked" if unleaked else "nothing was lost"
        of_trace = " of what the trace has" if crash.lacks else ""
        sentence = f"{holds}: {kept}{of_trace} in {tried}{again}."
        if crash.left_out is not None:
            sentence += f" But the running machine leaked {units.count_of(crash.left_out.count, 'time')} beside them."
        head = Panel(Text(sentence), title=Text(subject), title_align="left", border_style="green", expand=False)
    else:
        sentence = f"Does not hold: {_damage(crash)}."
        head = Panel(Text(sentence), title=Text(subject), title_align="left", border_style="red", expand=False)
    met = crash.exercised
    figures = _Figures()
    figures.group("covered")
    figures.add("crash points", units.number(crash.crash_points))
    if crash.nested_points:
        figures.add("crashes during recovery", units.number(crash.nested_points))
    figures.add("distinct durable states", units.number(crash.distinct_states))
    figures.add("recovered", units.number(crash.recovered))
    if crash.recoveries is not None:
        figures.add("images of memory", units.number(crash.recoveries.images))
        figures.add("images that fail", units.number(crash.recoveries.failed))
        if crash.recoveries.timed_out:
            figures.add("images that time out", units.number(crash.recoveries.timed_out))
        figures.add("runs of the command", units.number(crash.recoveries.runs))
        if crash.recoveries.watched is not None:
            figures.add("runs that were watched", units.number(crash.recoveries.watched.runs))
            figures.add("classes decided by reads", units.number(crash.recoveries.watched.classes))
    if crash.causes is None:
        figures.group("met on the way")
        figures.add("cache evictions", units.number(met.evictions))
        figures.add("counter misses", units.number(met.counter_misses))
        figures.add("full write queues", units.number(met.wpq_full))
        figures.add("pages re-encrypted", units.number(met.reencryptions))
    errors = [Text(error, style="bold red") for error in crash.internal_errors]
    rests_on = [Text(proviso, style="bold") for proviso in crash.provisos]
    blamed = [] if crash.blame is None else [Text(f"To blame: the {crash.blame.who}. {crash.blame.why}", style="bold")]
    causes = [] if crash.causes is None else cause_table(crash.causes)
    lines = losses_table(crash) if by_line else []
    found = [*_stages(crash), *blamed, *causes, *lines, *attack_table(crash), *_shrunk(crash), *_violations(crash)]
    return Group(head, figures.table, Text(""), Text(crash.coverage), *rests_on, *errors, *found)


def _stages(crash: Crash) -> Iterable[RenderableType]:
    """Recoverability by the stage of the transaction in flight, in the columns of Table 1 of secpm."""
    if not crash.stages:
        return
    table = Table(title="By the stage of the transaction in flight", title_justify="left", box=None, pad_edge=False)
    table.add_column("stage")
    for heading in ("crash points", "failed", "unrecoverable"):
        table.add_column(heading, justify="right")
    for heading in ("log content", "log counter", "data content", "data counter"):
        table.add_column(heading)
    for stage in crash.stages:
        cells = [cell for part in (stage.log, stage.data) for cell in _cells(part)]
        counts = (stage.crash_points, stage.failed, stage.unrecoverable)
        table.add_row(stage.stage, *map(units.number, counts), *cells)
    yield Text("")
    yield table


def _cells(part: Part | None) -> tuple[str, str]:
    return ("-", "-") if part is None else (part.content, part.counter or "-")


def _damage(crash: Crash) -> str:
    """What went wrong in a verdict that does not hold."""
    failed = crash.crash_points - crash.recovered
    crashes = units.count_of(crash.crash_points, "crash", "es")
    if failed:
        return f"{units.number(failed)} of {crashes} failed"
    if not crash.violation_count:
        return f"of {crashes} none failed, but the auditors disagree with a boot, so this is no verdict"
    lost = any(violation.rule not in _SECRETS for violation in crash.violations)
    again = any(violation.nested_event is not None for violation in crash.violations)
    when = " when power failed again during recovery" if again else ""
    return f"of {crashes} none failed, yet {'data were lost' if lost else 'secrets leaked'}{when}"


def _shrunk(crash: Crash) -> Iterable[RenderableType]:
    """The smallest run that breaks each rule."""
    for one in crash.shrunk:
        transactions = units.count_of(one.transactions, "transaction")
        size = f"{transactions} of {units.size(one.tx_size)}, {units.size(one.footprint)} footprint"
        tried = units.count_of(one.tried, "smaller run")
        how = f"{tried} explored" + ("" if one.minimal else ", not all that are smaller")
        place = f"power lost after event {one.crash_event}"
        if one.nested_event is not None:
            place += f", again after step {one.nested_event} of the recovery"
        cores = units.count_of(one.cores, "core")
        yield Text("")
        yield Text(f"{one.rule.replace('_', ' ')}, smallest reproduction found: {place}", style="bold red")
        yield Text(f"  {size}, {cores} ({how})")
        yield Text(f"  {one.reproduce}", no_wrap=True, overflow="ignore")


def _violations(crash: Crash) -> Iterable[RenderableType]:
    when = "after event" if crash.causes is None else "before record"
    for violation in crash.examples:
        yield from _explained(violation, when=when)
    more = crash.violation_count - len(crash.examples)
    if more > 0 and crash.causes is None:
        yield Text("")
        yield Text(f"and {units.count_of(more, 'violation')} more; --json explains {len(crash.violations)} of them all")
    if crash.left_out is not None:
        yield from _explained(crash.left_out.first, "beside the crash points, ")


def _explained(violation: Violation, subject: str = "", when: str = "after event") -> Iterable[RenderableType]:
    yield Text("")
    yield Text(f"{subject}{_rule(violation)}: {_place(violation, when)}", style="bold red")
    yield Text(violation.explanation)
    yield Text("reproduce:", style="dim")
    yield Text(f"  {violation.reproduce}", no_wrap=True, overflow="ignore")


def _rule(violation: Violation) -> str:
    return violation.rule.replace("_", " ")


def _place(violation: Violation, when: str) -> str:
    place = f"power lost {when} {violation.crash_event}"
    for index, event in enumerate(violation.nested_events):
        place += f", again after step {event} of the recovery" + (" from that" if index else "")
    if violation.transaction is not None:
        place += f", transaction {violation.transaction}" + (f" ({violation.stage})" if violation.stage else "")
    if violation.line is not None:
        place += f", line {violation.line:#x}"
    return place


def annotation_check(found: Annotations) -> RenderableType:
    """Whether the annotations suffice, which of them are needed, and what breaks without each."""
    subject = f"{found.design} ({found.variant}) on {_name(found.workload)}, seed {found.seed}"
    complete = found.complete
    tried = units.count_of(complete.crash_points, "crash", "es")
    if found.holds:
        sentence, colour = f"Sufficient: the complete program lost nothing in {tried}.", "green"
    else:
        failed = units.number(complete.crash_points - complete.recovered)
        sentence, colour = f"Not sufficient: {failed} of {tried} of the complete program failed.", "red"
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("annotation", no_wrap=True, style="bold")
    recorded = any(annotation.place is not None for annotation in found.annotations)
    for column in ("at" if recorded else "stage", "verdict", "without it", "breaks", "first in transaction", "line"):
        table.add_column(column)
    explained = list(_first(complete, "complete program: "))
    for annotation in found.annotations:
        without = annotation.without
        shown = _failed(without) if without else ("-",) * 4
        where = annotation.place or (annotation.stage or "").capitalize()
        table.add_row(annotation.name, where, annotation.verdict, *shown)
        if without and annotation.verdict == "needed":
            named = annotation.name if annotation.place is None else f"{annotation.name} at {annotation.place}"
            explained += _first(without, f"without {named}: ")
    head = Panel(Text(sentence), title=Text(subject), title_align="left", border_style=colour, expand=False)
    rests_on = [Text(proviso, style="bold") for proviso in found.provisos]
    return Group(head, *rests_on, Text(""), table, *explained)


def _failed(without: Outcome) -> tuple[str, str, str, str]:
    """How many crashes fail, by which rules, and the transaction, its stage and the line of the first violation."""
    failed = f"{units.number(without.crash_points - without.recovered)} of {units.number(without.crash_points)} fail"
    first = without.first
    if first is None:
        return failed, "-", "-", "-"
    stage = f", {first.stage.capitalize()}" if first.stage else ""
    transaction = "-" if first.transaction is None else f"{first.transaction}{stage}"
    rules = ", ".join(rule.replace("_", " ") for rule in without.rules)
    return failed, rules, transaction, "-" if first.line is None else f"{first.line:#x}"


def _first(outcome: Outcome, subject: str) -> Iterable[RenderableType]:
    if outcome.first is not None:
        yield from _explained(outcome.first, subject)


def scorecard(found: Reproduction) -> RenderableType:
    """The claims of each paper, published beside measured."""
    parts: list[RenderableType] = []
    for paper in found.papers:
        claims = [claim for claim in found.claims if claim.paper == paper]
        held = sum(claim.holds for claim in claims)
        table = Table(title=f"{paper}: {held} of {len(claims)} claims hold", title_justify="left", box=None)
        for column in ("claim", "at", "published", "measured", ""):
            table.add_column(column, overflow="fold")
        for claim in claims:
            for place, row in enumerate(claim.rows):
                verdict = Text("holds", "green") if row.holds else Text("misses", "red")
                name = claim.id.removeprefix(f"{paper}.") if place == 0 else ""
                table.add_row(name, row.at, row.published, row.measured, verdict)
        parts += [table, Text()]
    counted = f"{len(found.figures)} figures and tables, {found.facts['simulations']} simulations"
    parts.append(Text(f"{found.held} of {len(found.claims)} claims hold; {counted}"))
    return Group(*parts)


def litmus(report: LitmusReport) -> RenderableType:
    """The expected and the observed verdict of each row; unexpected ones are explained."""
    rows = units.count_of(len(report.verdicts), "litmus row")
    strange = [verdict for verdict in report.verdicts if not verdict.as_expected]
    if strange:
        sentence, colour = f"{units.number(len(strange))} of {rows} did not end as expected.", "red"
    else:
        sentence, colour = f"As expected: all {rows}.", "green"
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("litmus test", "design", "variant", "case", "expected", "observed", "rule"):
        table.add_column(column, no_wrap=True)
    above = ""
    for verdict in report.verdicts:
        test, row = verdict.test, verdict.row
        name, above = Text("" if test.name == above else test.name, style="bold"), test.name
        rule = Text((verdict.rule or "-").replace("_", " "))
        observed = Text(verdict.observed, style=_verdict_style(verdict))
        table.add_row(name, row.design, row.variant, row.case or "-", row.expected, observed, rule)
    machines = units.machines(verdict.row.machine for verdict in report.verdicts)
    head = Panel(
        Text(sentence), title=f"litmus tests, {machines}", title_align="left", border_style=colour, expand=False
    )
    return Group(head, Text(""), table, *(part for verdict in strange for part in _unexpected(verdict)))


def _verdict_style(verdict: LitmusVerdict) -> str:
    if not verdict.as_expected:
        return "bold red reverse"
    from ..verbs.litmus_suite import HOLDS

    return "green" if verdict.observed == HOLDS else "red"


def _unexpected(verdict: LitmusVerdict) -> Iterable[RenderableType]:
    row = verdict.row
    case = f", {row.case}" if row.case else ""
    yield Text("")
    subject = f"{verdict.test.name}: {row.design} ({row.variant}{case}): {row.expected} was expected"
    yield Text(f"{subject}, and it {_OBSERVED.get(verdict.observed, verdict.observed)}", style="bold red")
    yield Text(verdict.explanation)
    yield Text("reproduce:", style="dim")
    yield Text(f"  {verdict.reproduce}", no_wrap=True, overflow="ignore")


def _name(workload: str) -> str:
    """A workload in a line: a trace goes by its file name."""
    return units.printable(PurePath(workload).name)

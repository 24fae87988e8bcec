"""The verdict on a crash run on the screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ..system import units
from ..verbs.guarantees import SECRECY
from .attack_table import attack_table
from .cause_table import cause_table, losses_table, recovery_cause_table
from .figure_list import Figures

if TYPE_CHECKING:
    from ..contract.results import Crash, NestedRecoveries, Part, Violation


def verdict(crash: Crash, *, by_line: bool = False) -> RenderableType:
    """The verdict, how much it covers, and each violation in words; with `by_line`, also the source lines that explain
    the failures."""
    subject = f"{crash.design} ({crash.variant}) on {units.name_of(crash.workload)}, seed {crash.seed}"
    if crash.fault is not None:
        subject += f", {crash.fault} switched off"
    if crash.holds:
        again = f" and {units.number(crash.nested_points)} more during recovery" if crash.nested_points else ""
        tried = units.count_of(crash.crash_points, "crash", "es")
        holds = "Holds so far" if crash.interrupted or crash.out_of_time else "Holds"
        unleaked = crash.secret and crash.left_out is None
        leaked = "nothing was stored in the clear" if crash.bus_in_the_clear else "nothing leaked"
        kept = f"nothing was lost and {leaked}" if unleaked else "nothing was lost"
        of_trace = " of what the trace has" if crash.lacks else ""
        sentence = f"{holds}: {kept}{of_trace} in {tried}{again}."
        if crash.left_out is not None:
            sentence += f" But the running machine leaked {units.count_of(crash.left_out.count, 'time')} beside them."
        head = Panel(Text(sentence), title=Text(subject), title_align="left", border_style="green", expand=False)
    elif crash.holds is None:
        sentence = "No verdict: the exploration ended before power failed after a store of the program."
        head = Panel(Text(sentence), title=Text(subject), title_align="left", border_style="yellow", expand=False)
    else:
        sentence = f"Does not hold: {_damage(crash)}."
        head = Panel(Text(sentence), title=Text(subject), title_align="left", border_style="red", expand=False)
    met = crash.exercised
    figures = Figures()
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
        if crash.recoveries.nested is not None:
            _recorded(figures, crash.recoveries.nested)
    if crash.causes is None:
        figures.group("exercised")
        figures.add("cache evictions", units.number(met.evictions))
        figures.add("counter misses", units.number(met.counter_misses))
        figures.add("full write queues", units.number(met.wpq_full))
        figures.add("pages re-encrypted", units.number(met.reencryptions))
    errors = [Text(error, style="bold red") for error in crash.internal_errors]
    rests_on = [Text(proviso, style="bold") for proviso in crash.provisos]
    blamed = [] if crash.blame is None else [Text(f"To blame: the {crash.blame.who}. {crash.blame.why}", style="bold")]
    causes = [] if crash.causes is None else [*cause_table(crash.causes), *recovery_cause_table(crash.recovery_causes)]
    lines = losses_table(crash) if by_line else []
    found = [*_stages(crash), *blamed, *causes, *lines, *attack_table(crash), *_shrunk(crash), *_violations(crash)]
    return Group(head, figures.table, Text(""), Text(crash.coverage), *rests_on, *errors, *found)


def _recorded(figures: Figures, again: NestedRecoveries) -> None:
    """What power that failed again in recorded recoveries has shown."""
    figures.group("in recoveries")
    figures.add("runs that were recorded", units.number(again.recorded))
    figures.add("of these store something", units.number(again.stored))
    figures.add("recordings explored", units.number(again.explored))
    figures.add("images of memory", units.number(again.images))
    figures.add("images that fail", units.number(again.failed))
    if again.timed_out:
        figures.add("images that time out", units.number(again.timed_out))


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
    lost = any(violation.rule not in SECRECY for violation in crash.violations)
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
        yield from explained(violation, when=when)
    more = crash.violation_count - len(crash.examples)
    if more > 0 and crash.causes is None:
        yield Text("")
        yield Text(f"and {units.count_of(more, 'violation')} more; --json explains {len(crash.violations)} in all")
    if crash.left_out is not None:
        yield from explained(crash.left_out.first, "besides the crash points, ")


def explained(violation: Violation, subject: str = "", when: str = "after event") -> Iterable[RenderableType]:
    """A violation in words, with the command that shows it again."""
    yield Text("")
    yield Text(f"{subject}{_rule(violation)}: {_place(violation, when)}", style="bold red")
    yield Text(violation.explanation)
    yield Text("reproduce:", style="dim")
    yield Text(f"  {violation.reproduce}", no_wrap=True, overflow="ignore")


def _rule(violation: Violation) -> str:
    return violation.rule.replace("_", " ")


def _place(violation: Violation, when: str) -> str:
    place = f"power lost {when} {violation.crash_event}"
    step = "step" if when == "after event" else "record"
    for index, event in enumerate(violation.nested_events):
        place += f", again {when.split()[0]} {step} {event} of the recovery" + (" from that" if index else "")
    if violation.transaction is not None:
        place += f", transaction {violation.transaction}" + (f" ({violation.stage})" if violation.stage else "")
    if violation.line is not None:
        place += f", line {violation.line:#x}"
    return place

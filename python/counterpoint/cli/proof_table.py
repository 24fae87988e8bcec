"""The verdict over all small programs on the screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ..system import units

if TYPE_CHECKING:
    from ..contract.results import CounterExample, Proof


def proof(found: Proof) -> RenderableType:
    """The verdict, how it grows with the length of programs, and the smallest program for each rule that is broken."""
    subject = f"{found.design} ({found.variant}) on {found.machine}, seed {found.seed}"
    if found.fault is not None:
        subject += f", {found.fault} switched off"
    head = Panel(
        Text(sentence(found)), title=Text(subject), title_align="left", border_style=_colour(found), expand=False
    )
    errors = [Text(error, style="bold red") for error in found.internal_errors]
    shown = [part for one in found.counterexamples for part in _counterexample(one)]
    return Group(head, _lengths(found), Text(""), _timings(found), Text(""), Text(found.coverage), *errors, *shown)


def sentence(found: Proof) -> str:
    """The verdict in a sentence."""
    lines = max(len(group) for group in found.groups)
    programs = units.count_of(found.programs, "program")
    programs += f" of up to {found.operations} operations over up to {units.count_of(lines, 'line')}"
    programs += f" on each of {found.cores} cores" if found.cores > 1 else ""
    points = units.count_of(found.crash_points, "crash", "es")
    if found.nested_points:
        points += f", {units.number(found.nested_points)} more during recovery"
    tried = f"({points}, {units.count_of(found.distinct_states, 'durable state')})"
    if found.holds:
        return f"Holds for all {programs} {tried}."
    if found.holds is None:
        return f"No verdict: interrupted after {programs}, which hold {tried}."
    if not found.failing:
        return f"No verdict: of {programs} none fails, but the auditors disagree with a boot."
    return f"Does not hold: of {programs}, {units.number(found.failing)} fail {tried}."


def _colour(found: Proof) -> str:
    return {True: "green", None: "yellow", False: "red"}[found.holds]


def _lengths(found: Proof) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("operations", "programs", "failing", "crashes", "during recovery", "states"):
        table.add_column(column, justify="right")
    for one in found.lengths:
        counts = (one.operations, one.programs, one.failing, one.crash_points, one.nested_points, one.distinct_states)
        table.add_row(*map(units.number, counts))
    return table


def _timings(found: Proof) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("timing", no_wrap=True)
    table.add_column("failing", justify="right")
    table.add_column("what it is")
    for one in found.timings:
        table.add_row(one.name, units.number(one.failing), one.meaning)
    return table


def _counterexample(one: CounterExample) -> Iterable[RenderableType]:
    again = "" if one.nested_event is None else f", again after step {one.nested_event} of the recovery"
    programs = units.count_of(one.programs, "program")
    smallest = f"the smallest, timing {one.timing}: power lost after event {one.crash_event}"
    title = f"{one.rule.replace('_', ' ')}: {programs}; {smallest}"
    yield Text("")
    yield Text(title + again, style="bold red")
    for step in one.program.split("; "):
        yield Text(f"    {step}")
    yield Text(one.explanation)
    yield Text("reproduce:", style="dim")
    yield Text(f"  {one.reproduce}", no_wrap=True, overflow="ignore")

"""Where two designs differ on small programs, on the screen: a litmus row for each way in which they do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from ..system import units

if TYPE_CHECKING:
    from ..contract.results import DesignOutcome, DesignTried, Difference, Distinction

_TOLD = {
    "first-fails": "{first} fails, and {second} holds",
    "second-fails": "{second} fails, and {first} holds",
    "states": "what boots show after power failures",
    "writes": "lines written to memory by the end of the run",
}
"""By the way in which designs differ: what a row says of it."""

_STATES_SHOWN = 8
"""Most states of a design that a row shows."""


def distinction(found: Distinction) -> RenderableType:
    """In what the designs differ, and the smallest program of each kind of difference."""
    first, second = named(found)
    head = Panel(
        Text(sentence(found)),
        title=Text(f"{first} and {second} on {found.machine}, seed {found.seed}"),
        title_align="left",
        border_style={True: "yellow", False: "green", None: "yellow"}[found.differ],
        expand=False,
    )
    errors = [Text(error, style="bold red") for error in found.internal_errors]
    told = [Text(line) for line in stand_ins(found)]
    shown = [part for one in found.differences for part in _difference(one, (first, second))]
    return Group(head, *told, *([Text("")] if told else []), Text(found.coverage), *errors, *shown)


def named(found: Distinction) -> tuple[str, str]:
    """The names of both designs, each with its reading."""
    first, second = found.design, found.other
    return f"{first.design} ({first.variant})", f"{second.design} ({second.variant})"


def sentence(found: Distinction) -> str:
    """Whether they differ, in a sentence."""
    lines = max(len(group) for group in found.groups)
    programs = units.count_of(found.programs, "program")
    programs += f" of up to {found.operations} operations over up to {units.count_of(lines, 'line')}"
    timings = units.count_of(len(found.timings), "timing")
    if found.differ is False:
        return f"No difference within these bounds: {programs}, under {timings}."
    if found.differ is None:
        return f"No difference so far: interrupted after {programs}, under {timings}."
    failing = [f"{one.design} fails in {units.number(one.failing)}" for one in (found.design, found.other)]
    return f"They differ: of {programs}, {failing[0]}, {failing[1]}."


def stand_ins(found: Distinction) -> Iterable[str]:
    """What stands for operations that the programs of one design do not have."""
    for one in (found.design, found.other):
        if one.stand_ins:
            yield f"{one.design} runs {one.form} programs: {', '.join(_becomes(one))}."


def _becomes(one: DesignTried) -> Iterable[str]:
    for step in one.stand_ins:
        yield f"{step.operation} is left out" if step.becomes is None else f"{step.operation} is {step.becomes}"


def _difference(one: Difference, names: tuple[str, str]) -> Iterable[RenderableType]:
    told = _TOLD[one.differs].format(first=names[0], second=names[1])
    yield Text("")
    yield Text(f"{told}: {units.count_of(one.programs, 'program')}; the smallest, timing {one.timing}:", style="bold")
    yield program(one.program)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, outcome in zip(names, (one.first, one.second), strict=True):
        for place, line in enumerate(outcome_lines(one.differs, outcome)):
            table.add_row(name if place == 0 else "", Text(line))
    yield table
    yield Text("reproduce:", style="dim")
    for outcome in (one.first, one.second):
        yield Text(f"  {outcome.reproduce}", no_wrap=True, overflow="ignore")


def program(text: str) -> Text:
    """A program, its operations numbered as states number them; a wait that a timing adds has no number."""
    lines, number = [], 0
    steps = text.split("; ")
    apart = steps[1::2] == ["wait"] * (len(steps) // 2) and len(steps) > 1
    for place, step in enumerate(steps):
        if apart and place % 2:
            lines.append(f"       {step}")
            continue
        number += 1
        lines.append(f"    {number}. {step}")
    return Text("\n".join(lines))


def outcome_lines(differs: str, outcome: DesignOutcome) -> list[str]:
    """What a row says of one design."""
    if differs == "writes":
        return [writes(outcome)]
    if differs == "states":
        only = [f"only here: {one.state} (timing {one.timing}, event {one.crash_event})" for one in outcome.only]
        more = len(only) - _STATES_SHOWN
        rest = [f"and {units.number(more)} more"] if more > 0 else []
        return [f"boots show: {', '.join(_some(outcome.states))}", *only[:_STATES_SHOWN], *rest]
    if outcome.holds:
        return [f"holds; boots show: {', '.join(_some(outcome.states))}"]
    again = "" if outcome.nested_event is None else f", again after step {outcome.nested_event} of the recovery"
    rule = str(outcome.rule).replace("_", " ")
    return [f"fails, {rule}: power lost after event {outcome.crash_event}{again}", str(outcome.explanation)]


def _some(states: tuple[str, ...]) -> list[str]:
    more = len(states) - _STATES_SHOWN
    return [*states[:_STATES_SHOWN], *([f"and {units.number(more)} more"] if more > 0 else [])]


def writes(outcome: DesignOutcome) -> str:
    """The lines that a design writes, by kind."""
    counts = [(one.name, getattr(outcome.written, one.name)) for one in fields(outcome.written)]
    return ", ".join(f"{name} {units.number(count)}" for name, count in counts if count) or "none"

"""Why one design is better than another, as tables."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePath

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..searches.explain import Exchange, Explanation, Machine
from ..system import units
from ..verbs.interval import Estimate
from .search_table import value


def explain_tables(found: Explanation) -> RenderableType:
    """Figures and verdicts of both designs, and of each with one part of the other."""
    first, second = map(units.printable, found.names)
    works = units.printable(", ".join(PurePath(work).name for work in found.workloads))
    parts: list[RenderableType] = [
        Text(f"{first} and {second} on machine {units.name_of(found.machine)}: {works}", style="bold"),
        Text(_seeds(found), style="dim"),
        _designs(found, first, second),
    ]
    if found.exchanges:
        for side, title in ((0, f"{first} with one part of {second}"), (1, f"{second} with one part of {first}")):
            parts += [Text(f"\n{title}", style="bold"), _exchanges(found, side)]
        parts += [Text(line) for line in _notes(found)]
    else:
        parts.append(Text("No part differs."))
    return Group(*parts)


def _seeds(found: Explanation) -> str:
    seeds = found.seeds
    if len(seeds) == 1:
        return f"seed {seeds[0]}, so there are no intervals; --seeds N measures with more"
    return (
        f"mean over the seeds {seeds[0]} to {seeds[-1]} ± half of the 95 % interval; crashes are tried with the first"
    )


def _designs(found: Explanation, first: str, second: str) -> Table:
    table = _table("", first, second, "second / first")
    for name in found.figures:
        mine, other = (machine.estimate(name) for machine in found.designs)
        table.add_row(name, _figure(mine), _figure(other), _compared(mine, other))
    table.add_row("crashes", *map(_verdict, found.designs), "")
    return table


def _exchanges(found: Explanation, side: int) -> Table:
    """What each part of the other does to a design: its figures over the design's own."""
    shown = [name for name in found.figures if found.designs[side].figures.get(name)]
    table = _table("part", "own", "other", *shown, "crashes")
    for one in found.exchanges:
        machine = (one.first, one.second)[side]
        mine, other = one.values if side == 0 else one.values[::-1]
        own = found.designs[side]
        changes = [_change(machine.estimate(name), own.estimate(name)) for name in shown]
        table.add_row(f"{one.key}{_mark(one, side)}", value(mine), value(other), *changes, _verdict(machine))
    return table


def _notes(found: Explanation) -> Iterable[str]:
    yield "\nFigures are changes against the design's own; = is no change."
    if len(found.seeds) > 1:
        yield "Where the intervals meet, nothing is shown to differ: ~."
    pairs = [one for exchange in found.exchanges for one in (exchange.first_with, exchange.second_with) if one]
    if pairs:
        yield "* exchanged together with another part, because the design accepts neither alone:"
        for one in found.exchanges:
            for name, others in zip(found.names, (one.first_with, one.second_with), strict=True):
                if others:
                    yield f"  {units.printable(name)}: {one.key} with {', '.join(others)}"
    refused = dict.fromkeys(m.refused for one in found.exchanges for m in (one.first, one.second) if m.refused)
    if refused:
        yield "Not taken:"
        yield from (f"  {units.printable(sentence)}" for sentence in refused)
    broken = [m.counterexample for one in found.exchanges for m in (one.first, one.second) if m.counterexample]
    broken = [m.counterexample for m in found.designs if m.counterexample] + broken
    if broken:
        yield "The first crash that is not survived:"
        yield f"  {units.printable(broken[0].explanation)}"
        yield f"  {units.printable(broken[0].command)}"


def _mark(one: Exchange, side: int) -> str:
    return " *" if (one.first_with, one.second_with)[side] else ""


def _verdict(machine: Machine) -> str:
    if machine.refused:
        return "not taken"
    shown = machine.counterexample
    return f"breaks '{shown.rule}'" if shown is not None else f"{units.number(machine.crash_points)} survived"


def _figure(value: Estimate | None) -> str:
    return units.figure(None) if value is None else value.shown(units.figure)


def _over(one: Estimate | None, other: Estimate | None) -> float | None:
    return one.mean / other.mean if one is not None and other is not None and other.mean else None


def _is_chance(one: Estimate, other: Estimate) -> bool:
    """Whether two figures over seeds do not differ, because their intervals meet."""
    return one.half is not None and one.mean != other.mean and one.meets(other)


def _compared(mine: Estimate | None, other: Estimate | None) -> str:
    over = _over(other, mine)
    if mine is None or other is None or over is None:
        return units.ratio(None)
    return "~" if _is_chance(other, mine) else units.ratio(over)


def _change(one: Estimate | None, other: Estimate | None) -> str:
    over = _over(one, other)
    if one is None or other is None or over is None:
        return "-"
    if one.mean == other.mean:
        return "="
    return "~" if _is_chance(one, other) else f"{100 * (over - 1):+.1f} %"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for place, name in enumerate(columns):
        # A name of a figure breaks between words.
        header = name.replace("_", " ") if place else name
        table.add_column(header, justify="right" if place else "left", header_style="dim", no_wrap=not place)
    return table

"""What a search found, as tables."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..contract.request import literal
from ..searches.outcome import SearchReport
from ..searches.space import PART, Value
from ..searches.verdict import Judged
from ..system import units

_RULES = 12
"""Rules that are shown."""

_REASONS = 5
"""Reasons for refused points that are shown."""


def search_tables(report: SearchReport) -> RenderableType:
    """The front, what changes along it, what was learned, and where known designs lie."""
    parts: list[RenderableType] = [*_summary(report)]
    if report.front:
        parts += [Text("\nThe front", style="bold"), _front(report)]
        steps = list(_steps(report))
        if steps:
            parts += [Text("\nAlong the front", style="bold"), *steps]
    if report.rules:
        parts += [Text("\nLearned", style="bold"), *_rules(report)]
    parts += [Text("\nKnown designs", style="bold"), _references(report)]
    if report.unfit:
        parts.append(Text("Not judged, because the engine does not accept them with this promise on this machine:"))
        parts += [Text(f"  {units.printable(f'{design}: {why}')}") for design, why in report.unfit.items()]
    return Group(*parts)


def _summary(report: SearchReport) -> Iterable[Text]:
    counts = report.counts
    looked = "Every candidate of the space was looked at" if report.complete else "The space is larger"
    points = units.count_of(report.goals.space.size, "point")
    yield Text(
        f"{units.printable(report.goals.name)}: {units.count_of(report.valid, 'candidate')} of {points}. {looked}."
    )
    yield from _points(report)
    yield Text(f"All on machine {units.name_of(report.goals.machine)}.")
    if report.seeds:
        told = f"{report.seeds[0]} to {report.seeds[-1]}"
        yield Text(
            f"The front and the known designs: means over the seeds {told} ± half of the 95 % interval. What is on the "
            "front was decided with the first."
        )
    else:
        seed = report.goals.run.get("seed", 1)
        yield Text(f"Seed {seed} alone, so there are no intervals; --seeds N measures the front with more.")
    held = units.count_of(counts.get("holds", 0), "candidate")
    yield Text(
        f"{held} survived every crash that was tried, {units.number(counts.get('refuted', 0))} did not, "
        f"{units.number(counts.get('ruled out', 0))} were ruled out by what was learned from these."
    )
    if counts.get("passed over"):
        over = units.count_of(counts["passed over"], "candidate")
        yield Text(
            f"{over} passed the first tests and went no further: no better than a proven one, or beyond a limit."
        )
    if not report.valid:
        yield Text(
            "The engine accepts none of the points that were tried: parts or machine values contradict each other."
        )
    elif not report.front:
        yield Text("None survives within the limits.")
    if report.lacking:
        yield Text(f"No candidate has a value of {', '.join(report.lacking)}, so none qualifies.")


def _points(report: SearchReport) -> Iterable[Text]:
    """The points that make no candidate, and why."""
    tried = report.points
    if tried.left_out:
        yield Text(f"{units.count_of(tried.left_out, 'point')} left out by the conditions of the goals.")
    if not tried.refused:
        return
    yield Text(f"{units.count_of(tried.refusals, 'point')} of {units.number(tried.tried)} tried refused by the engine:")
    for why, many in islice(tried.refused.items(), _REASONS):
        yield Text(f"  {units.number(many)}: {units.printable(why)}")
    if len(tried.refused) > _REASONS:
        yield Text(f"  {units.count_of(len(tried.refused) - _REASONS, 'other reason')}; --json has more")


def _front(report: SearchReport) -> Table:
    names = report.goals.figures
    table = _table("", *names, "crash points", "equals", "design")
    for one in report.front:
        figures = [shown(report, one, name) for name in names]
        counted = [units.number(one.crash_points), units.number(len(report.equals(one)))]
        table.add_row(one.candidate.name, *figures, *counted, units.printable(report.names.of(one.candidate)))
    return table


def _steps(report: SearchReport) -> Iterable[Text]:
    yield Text(units.printable(report.names.of(report.front[0].candidate)))
    for _, other, changed in report.steps():
        said = ", ".join(f"{key.removeprefix(PART)} {value(a)} -> {value(b)}" for key, (a, b) in changed.items())
        yield Text(units.printable(f"to {report.names.of(other.candidate)}: {said}"))


def _rules(report: SearchReport) -> Iterable[Text]:
    ranked = sorted(report.rules, key=lambda rule: -len(rule.covers))
    for rule in ranked[:_RULES]:
        out = units.count_of(len(rule.covers), "candidate")
        yield Text(f"{units.printable(str(rule))}. Rules out {out}; tested on {rule.tested}.")
    if len(ranked) > _RULES:
        yield Text(f"{units.count_of(len(ranked) - _RULES, 'rule')} more; --json has all")


def _references(report: SearchReport) -> Table:
    names = [one.figure for one in report.goals.objectives]
    table = _table("", *names, "outcome")
    for one in report.references:
        figures = [shown(report, one.judged, name) for name in names]
        table.add_row(one.design, *figures, units.printable(report.outcome_of(one)))
    return table


def shown(report: SearchReport, one: Judged, name: str) -> str:
    """A figure of a candidate, with its interval where there are several seeds."""
    found = report.figure(one, name)
    return units.figure(None) if found is None else found.shown(units.figure)


def value(given: Value | None) -> str:
    """The value of a part; `-` where it has no effect."""
    return "-" if given is None else literal(given)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for place, name in enumerate(columns):
        last = place == len(columns) - 1
        table.add_column(name, justify="left" if last or not place else "right", header_style="dim", no_wrap=not last)
    return table

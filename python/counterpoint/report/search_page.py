"""`search.html`: what a search found, interactive and without a network."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..contract.request import literal
from ..searches.files import command
from ..searches.front import vector
from ..searches.goals import Objective
from ..searches.outcome import REASONS_MAX, Reference, SearchReport
from ..searches.rules import Rule
from ..searches.space import PART, Value
from ..searches.verdict import Judged
from ..system import units
from ..verbs import catalogue
from . import colours, headline
from .tables import csv_text, data_link
from .templates import template

REFUTED_MAX = 200
"""Refuted candidates that are listed; `--json` has all."""

_DRAWN_MAX = 3000
"""Beaten candidates that are drawn, those nearest to the front first."""


def render(report: SearchReport) -> str:
    """The page of a search."""
    drawn = picture(report) if report.front else {"axes": [], "points": []}
    # "<" cannot end the script in which the document lies.
    document = json.dumps(drawn, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    goals = report.goals
    refuted = [one for one in report.judged if one.counterexample is not None and one.state == "refuted"]
    return template("search.html").render(
        report=report,
        said=headline.of_search(report),
        facts=_facts(report),
        picture=document,
        data=_data(drawn),
        objectives=[(one.figure, _better(one)) for one in goals.objectives],
        columns=["no.", "design", *goals.figures, "crash points", "others with these figures", "built in as", "file"],
        front=[_of_front(report, place, one) for place, one in enumerate(report.front, 1)],
        commands=[command(report, one, "designs") for one in report.front[:1]],
        steps=[
            (str(place), str(place + 1), _changes(changed)) for place, (_, _, changed) in enumerate(report.steps(), 1)
        ],
        rules=[
            (str(rule), units.number(len(rule.covers)), units.number(rule.tested), _seen(rule))
            for rule in sorted(report.rules, key=lambda rule: -len(rule.covers))
        ],
        refuted=_refuted(report, refuted[:REFUTED_MAX]),
        shown=min(len(refuted), REFUTED_MAX),
        refutations=len(refuted),
        reasons=[(units.number(many), why) for why, many in report.points.refused.items()][:REASONS_MAX],
        unfit=list(report.unfit.items()),
        references=[_reference(report, one) for one in report.references],
        count=units.number,
        engine=catalogue.engine_version(),
        colours=colours,
        dark_rules=colours.dark_rules(".drawn"),
    )


def _better(objective: Objective) -> str:
    return "lower" if objective.sign > 0 else "higher"


def _of_front(report: SearchReport, place: int, one: Judged) -> list[str]:
    shown = row(report, one)
    counts = [shown["points"], shown["equals"]]
    return [str(place), report.names.of(one.candidate), *shown["figures"], *counts, shown["designs"], shown["name"]]


def _reference(report: SearchReport, one: Reference) -> list[str]:
    return [
        one.design,
        *(_figure(report, one.judged, name) for name in report.goals.figures),
        report.outcome_of(one),
    ]


def _seen(rule: Rule) -> str:
    return rule.example.explanation if rule.example else ""


def _refuted(report: SearchReport, some: Sequence[Judged]) -> list[tuple[str, str, list[tuple[str, str, str]]]]:
    """Candidates that do not survive, by the rule that each breaks, the most frequent rule first.

    Of each rule its name, how many candidates break it, and of each its name, what happens, and the command.
    """
    by_rule: dict[str, list[tuple[str, str, str]]] = {}
    for one in some:
        if one.counterexample is not None:
            shown = one.counterexample
            cells = (report.names.of(one.candidate), shown.explanation, shown.command)
            by_rule.setdefault(shown.rule, []).append(cells)
    ranked = sorted(by_rule.items(), key=lambda each: -len(each[1]))
    return [(rule, units.count_of(len(rows), "candidate"), rows) for rule, rows in ranked]


def _data(drawn: Mapping[str, Any]) -> str:
    """The points of the picture as CSV, in a link."""
    rows = (
        (point["name"], point["kind"], point["as"], *point["at"], point["told"], point["id"])
        for point in drawn["points"]
    )
    header = ["design", "kind", "built in as", *drawn["axes"], "differs from the base in", "candidate"]
    return data_link(csv_text(header, rows))


def _facts(report: SearchReport) -> dict[str, str]:
    goals, counts = report.goals, report.counts
    promise = [f"lines old or new: {goals.promise.line_atomic}"]
    promise += ["nothing leaks"] if goals.promise.secret else []
    promise += ["attacks are found"] if goals.promise.integrity else []
    return {
        "space": units.count_of(goals.space.size, "point"),
        "points refused, because their parts contradict each other": units.number(report.points.refusals),
        "points left out by conditions": units.number(report.points.left_out),
        "candidates": units.number(report.valid) + (", all that there are" if report.complete else ""),
        "survive every crash tried": units.number(counts.get("holds", 0)),
        "passed over, no better than these or beyond a limit": units.number(counts.get("passed over", 0)),
        "refuted": units.number(counts.get("refuted", 0)),
        "ruled out by what was learned": units.number(counts.get("ruled out", 0)),
        "promise": "every program recovers; " + "; ".join(promise),
        "workloads": ", ".join(goals.workloads),
        "crashed": ", ".join(goals.crash_workloads),
        "base": f"{goals.space.base} ({goals.space.variant})",
        "machine": units.name_of(goals.machine),
        "seeds": _seeds(report),
        "engine": catalogue.engine_version(),
    }


def _seeds(report: SearchReport) -> str:
    if not report.seeds:
        return f"{report.goals.run.get('seed', 1)} alone, so there are no intervals"
    told = f"{report.seeds[0]} to {report.seeds[-1]}"
    means = f"{told}: the front and built-in designs are means ± half of the 95 % interval"
    return f"{means}; what is on the front was decided with the first"


def row(report: SearchReport, one: Judged) -> dict[str, Any]:
    """A candidate of the front, as tables have it."""
    return {
        "name": one.candidate.name,
        "figures": [_figure(report, one, name) for name in report.goals.figures],
        "points": units.number(one.crash_points),
        "equals": units.number(len(report.equals(one))),
        "designs": ", ".join(report.names_of(one)),
        "sets": _sets(one),
    }


def _figure(report: SearchReport, one: Judged, name: str) -> str:
    """A figure of a candidate, with its interval where there are several seeds."""
    value = report.figure(one, name)
    return units.figure(None) if value is None else value.shown(units.figure)


def _sets(one: Judged) -> str:
    return ", ".join(text.removeprefix(PART) for text in one.candidate.sets) or "as the base"


def _changes(changed: Mapping[str, tuple[Value | None, Value | None]]) -> str:
    return ", ".join(
        f"{key.removeprefix(PART)}: {_value(before)} → {_value(after)}" for key, (before, after) in changed.items()
    )


def _value(value: Value | None) -> str:
    return "none" if value is None else literal(value)


def picture(report: SearchReport) -> dict[str, Any]:
    """What the picture draws: axes with what is better, and points with what is told of them."""
    objectives = report.goals.objectives
    shown = {one.candidate for kept in report.front for one in (kept, *report.equals(kept))}
    others = [one for one in report.judged if one.figures and not one.excess and one.candidate not in shown]
    best = [min(values) for values in zip(*(vector(one, objectives) for one in report.front), strict=True)]
    others.sort(key=lambda one: _distance(vector(one, objectives), best))
    held = [one for one in report.references if one.judged.state == "holds"]
    return {
        "axes": [one.figure for one in objectives],
        "better": [_better(one) for one in objectives],
        "points": [
            *(_point(report, one, "front") | {"label": str(place)} for place, one in enumerate(report.front, 1)),
            *(_point(report, one, "other") for one in others[:_DRAWN_MAX]),
            *(_point(report, one.judged, "reference", one.design) for one in held),
        ],
    }


def _distance(place: Sequence[float], best: Sequence[float]) -> float:
    """How a candidate compares with the best of the front in each objective, summed."""
    return sum(value / (abs(low) or 1.0) for value, low in zip(place, best, strict=True))


def _point(report: SearchReport, one: Judged, kind: str, design: str = "") -> dict[str, Any]:
    found = [report.figure(one, each.figure) for each in report.goals.objectives]
    values = [None if value is None else value.mean for value in found]
    further = f"; not tested further, because it is {report.why(one)}"
    return {
        "kind": kind,
        "id": one.candidate.name,
        "name": design or report.names.of(one.candidate),
        "label": design,
        "at": values,
        "half": [None if value is None else value.half for value in found],
        "shown": [_figure(report, one, each.figure) for each in report.goals.objectives],
        "told": "a built-in design" if design else _sets(one),
        "as": "" if design else ", ".join(report.names_of(one)),
        "covered": f"{units.number(one.crash_points)} power failures survived, "
        f"{one.tiers_passed} of {len(report.tiers)} kinds of tests passed, no counterexample"
        + (further if one.state == "passed over" else ""),
    }

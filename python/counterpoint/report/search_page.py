"""`search.html`: what a search found, interactive and without a network."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..contract.request import literal
from ..searches.files import command
from ..searches.front import vector
from ..searches.outcome import REASONS_MAX, SearchReport
from ..searches.space import PART, Value
from ..searches.verdict import Judged
from ..system import units
from ..verbs import catalogue
from . import colours
from .templates import template

REFUTED_MAX = 200
"""Refuted candidates that are listed; `--json` has all."""

_DRAWN_MAX = 3000
"""Beaten candidates that are drawn, those nearest to the front first."""


def render(report: SearchReport) -> str:
    """The page of a search."""
    # "<" cannot end the script in which the document lies.
    document = json.dumps(picture(report), separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    goals = report.goals
    refuted = [one for one in report.judged if one.counterexample is not None and one.state == "refuted"]
    return template("search.html").render(
        report=report,
        facts=_facts(report),
        picture=document,
        objectives=[(one.figure, "lower" if one.sign > 0 else "higher") for one in goals.objectives],
        figures=report.goals.figures,
        front=[row(report, one) for one in report.front],
        commands=[command(report, one, "designs") for one in report.front[:1]],
        steps=[(one.candidate.name, other.candidate.name, _changes(changed)) for one, other, changed in report.steps()],
        rules=sorted(report.rules, key=lambda rule: -len(rule.covers)),
        refuted=refuted[:REFUTED_MAX],
        refutations=len(refuted),
        reasons=[(why, units.number(many)) for why, many in report.points.refused.items()][:REASONS_MAX],
        unfit=report.unfit.items(),
        sets=_sets,
        references=report.references,
        number=units.figure,
        count=units.number,
        engine=catalogue.engine_version(),
        colours=colours,
        dark_rules=colours.dark_rules(".drawn"),
    )


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
        "engine": catalogue.engine_version(),
    }


def row(report: SearchReport, one: Judged) -> dict[str, Any]:
    """A candidate of the front, as tables have it."""
    return {
        "name": one.candidate.name,
        "figures": [units.figure(one.figures.get(name)) for name in report.goals.figures],
        "points": units.number(one.crash_points),
        "equals": units.number(len(report.equals(one))),
        "designs": ", ".join(report.names_of(one)),
        "sets": _sets(one),
    }


def _sets(one: Judged) -> str:
    return ", ".join(text.removeprefix(PART) for text in one.candidate.sets) or "as the base"


def _changes(changed: Mapping[str, tuple[Value | None, Value | None]]) -> str:
    return ", ".join(
        f"{key.removeprefix(PART)}: {_value(before)} → {_value(after)}" for key, (before, after) in changed.items()
    )


def _value(value: Value | None) -> str:
    return "none" if value is None else literal(value)


def picture(report: SearchReport) -> dict[str, Any]:
    """What the picture draws: axes, and points with what is told of them."""
    objectives = report.goals.objectives
    shown = {one.candidate for kept in report.front for one in (kept, *report.equals(kept))}
    others = [one for one in report.judged if one.figures and not one.excess and one.candidate not in shown]
    best = [min(values) for values in zip(*(vector(one, objectives) for one in report.front), strict=True)]
    others.sort(key=lambda one: _distance(vector(one, objectives), best))
    drawn = [*((one, "front") for one in report.front), *((one, "other") for one in others[:_DRAWN_MAX])]
    held = [one for one in report.references if one.judged.state == "holds"]
    return {
        "axes": [one.figure for one in objectives],
        "points": [
            *(_point(report, one, kind, _sets(one)) for one, kind in drawn),
            *(_point(report, one.judged, "reference", one.design) for one in held),
        ],
    }


def _distance(place: Sequence[float], best: Sequence[float]) -> float:
    """How a candidate compares with the best of the front in each objective, summed."""
    return sum(value / (abs(low) or 1.0) for value, low in zip(place, best, strict=True))


def _point(report: SearchReport, one: Judged, kind: str, told: str) -> dict[str, Any]:
    values = [one.figures.get(each.figure) for each in report.goals.objectives]
    names = ", ".join(report.names_of(one))
    return {
        "kind": kind,
        "name": told if kind == "reference" else one.candidate.name,
        "at": values,
        "shown": [units.figure(value) for value in values],
        "told": told if kind != "reference" else "a built-in design",
        "as": names if kind != "reference" else "",
        "covered": f"{units.number(one.crash_points)} power failures survived, "
        f"{one.tiers_passed} of {len(report.tiers)} kinds of tests passed, no counterexample"
        + (f"; not tested further, because it is {one.why}" if one.state == "passed over" else ""),
    }

"""Results in notebooks: a table, and a picture of a run, a crash, a sweep or a search; see `system/shown.py`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import altair as alt
import polars as pl
import vl_convert

from ..contract.results import Crash, Distinction, Proof, Run
from ..papers.model import Mark
from ..runs.store import Store
from ..runs.sweeps import SweepReport
from ..searches.outcome import SearchReport
from ..system import units
from ..verbs import frames
from . import colours, column, figures, search_page, sweep_page
from .run_figures import figures_of
from .run_figures import title as title_of_run
from .templates import template

_ROWS_MAX = 20
"""Rows of a table; the frame of a result has all."""

_WIDTH, _HEIGHT = 280, 180
_WRITTEN = {
    "data": colours.DATA,
    "log": colours.LOG,
    "counters": colours.COUNTER,
    "MACs": colours.MAC,
    "nodes": colours.NODE,
    "shadow table": colours.TABLE,
}
"""The kinds of lines of a device, each with its colour."""


@dataclass(frozen=True)
class _View:
    """What a notebook shows of a result.

    Attributes:
        title: what it is.
        setting: on what it was computed.
        notes: sentences.
        header: of the table; empty where the rows are names and values.
        rows: of the table.
        picture: in the words of Vega-Lite; None where there is nothing to draw.
        label: what the picture shows, for those who do not see it.
    """

    title: str
    setting: str
    notes: list[str]
    header: list[str]
    rows: list[list[str]]
    picture: figures.Spec | None = None
    label: str = ""


def html(result: object) -> str:
    """A result as a table with a picture."""
    view = _view(result)
    picture = None if view.picture is None else vl_convert.vegalite_to_svg(view.picture)
    return template("notebook.html").render(**(vars(view) | {"picture": picture}))


def plot(result: object) -> alt.VConcatChart:
    """The picture of a result as a chart of Altair, without marks where there is nothing to draw."""
    drawn: Any = alt.VConcatChart.from_dict(_view(result).picture or column.on_white([]))
    chart: alt.VConcatChart = drawn
    return chart


def frame(run: Run) -> pl.DataFrame:
    """The figures of a run in one row."""
    return frames.frame([run])


@singledispatch
def _view(result: object) -> _View:
    raise TypeError(f"{type(result).__name__} is no result that a notebook shows")


@_view.register
def _(run: Run) -> _View:
    title, setting = title_of_run(run)
    groups = figures_of(run).groups
    nvm = run.stats.nvm
    counts = {
        "writes": (nvm.data_writes, nvm.log_writes, nvm.counter_writes, nvm.mac_writes, nvm.tree_writes),
        "reads": (nvm.data_reads, 0, nvm.counter_reads, nvm.mac_reads, nvm.tree_reads),
    }
    marks = [
        Mark("", what, kind, float(count))
        for what, each in counts.items()
        for kind, count in zip(_WRITTEN, (*each, nvm.table_writes if what == "writes" else 0), strict=True)
    ]
    there = tuple(kind for kind in _WRITTEN if any(mark.value for mark in marks if mark.series == kind))
    drawn = figures.Stack(
        title="",
        kind="bar",
        x_title="",
        y_title="lines of the device",
        panels=("",),
        xs=tuple(counts),
        series=there,
        marks=tuple(mark for mark in marks if mark.series in there),
    )
    return _View(
        title,
        setting,
        frames.rests_on([run.document]),
        [],
        [[f"{group}: {name}", value] for group, rows in groups.items() for name, value in rows],
        column.spec(column.Figure("", drawn, _WRITTEN)) if there else None,
        "Lines that the device has written and read, by what they carry",
    )


@_view.register
def _(crash: Crash) -> _View:
    verdict = {True: "holds", False: "does not hold", None: "no verdict"}[crash.holds]
    counted = [
        ("crash points", crash.crash_points),
        ("recovered", crash.recovered),
        ("distinct durable states", crash.distinct_states),
        ("violations", crash.violation_count),
    ]
    examples = [
        [one.rule, f"event {one.crash_event}", one.explanation.partition(" What happened there last:")[0]]
        for one in crash.examples
        if one.crash_event is not None
    ]
    return _View(
        f"{crash.design} ({crash.variant}) on {units.name_of(crash.workload)}: {verdict}",
        f"seed {crash.seed}; " + ", ".join(f"{units.number(count)} {name}" for name, count in counted),
        [crash.coverage, *crash.provisos],
        ["rule", "power fails after", "what happens"] if examples else [],
        examples,
        _violations(crash),
        "The events after which power fails and a rule is broken, by rule",
    )


def _violations(crash: Crash) -> figures.Spec | None:
    """Where in the run rules are broken: of each violation that is explained, its event."""
    places = [{"event": one.crash_event, "rule": one.rule} for one in crash.violations if one.crash_event is not None]
    if not places:
        return None
    x = {
        "field": "event",
        "type": "quantitative",
        "title": "power fails after event",
        "scale": {"zero": False},
        "axis": {"tickCount": 4, "format": "d"},
    }
    y = {"field": "rule", "type": "nominal", "title": None}
    mark = {"type": "tick", "color": colours.BROKEN, "thickness": 2}
    height = 26 * len({place["rule"] for place in places})
    return column.on_white(
        [{"data": {"values": places}, "mark": mark, "encoding": {"x": x, "y": y}, "width": _WIDTH, "height": height}]
    )


@_view.register
def _(proof: Proof) -> _View:
    verdict = {True: "holds", False: "does not hold", None: "no verdict"}[proof.holds]
    programs = f"{units.count_of(proof.programs, 'program')} of up to {proof.operations} operations"
    programs += f" on each of {proof.cores} cores" if proof.cores > 1 else ""
    rows = [[one.rule, one.program, one.timing, units.number(one.programs)] for one in proof.counterexamples]
    head = ["rule", "smallest program that fails", "timing", "programs that break it"]
    return _View(
        f"{proof.design} ({proof.variant}) over {programs}: {verdict}",
        f"machine {units.name_of(proof.machine)}, seed {proof.seed}; {units.number(proof.failing)} programs fail",
        [proof.coverage],
        head if rows else [],
        rows,
    )


@_view.register
def _(found: Distinction) -> _View:
    verdict = {True: "they differ", False: "no difference", None: "no difference so far"}[found.differ]
    programs = f"{units.count_of(found.programs, 'program')} of up to {found.operations} operations"
    rows = [[one.differs, one.program, one.timing, units.number(one.programs)] for one in found.differences]
    head = ["difference", "smallest program", "timing", "programs that differ so"]
    return _View(
        f"{found.design.design} ({found.design.variant}) and {found.other.design} ({found.other.variant}): {verdict}",
        f"{programs}, machine {units.name_of(found.machine)}, seed {found.seed}",
        [found.coverage],
        head if rows else [],
        rows,
    )


@_view.register
def _(report: SweepReport) -> _View:
    with Store(report.store, read_only=True) as store:
        header, rows = sweep_page.table(store, report.name, _ROWS_MAX)
        drawn = sweep_page.of_paper(store, report.name)
    more = [f"The first {len(rows)} of {units.number(report.points)} points; frame() has all."]
    return _View(
        f"Sweep {units.printable(report.name)}",
        f"{units.machines(report.machines)}; store {units.printable(str(report.store))}",
        more if report.points > len(rows) else [],
        header,
        rows,
        column.spec(drawn[0]) if drawn else None,
        drawn[0].name.replace("_", " ") if drawn else "",
    )


@_view.register
def _(report: SearchReport) -> _View:
    rows = [search_page.row(report, one) for one in report.front[:_ROWS_MAX]]
    return _View(
        f"Search {units.printable(report.goals.name)}: "
        f"{units.count_of(len(report.front), 'design')} on the front of {units.count_of(report.valid, 'candidate')}",
        f"machine {units.name_of(report.goals.machine)}; store {units.printable(str(report.store))}",
        [],
        ["name", *report.goals.figures, "built-in designs", "parts and values"],
        [[row["name"], *row["figures"], row["designs"], row["sets"]] for row in rows],
        _front(report),
        "Candidates by the first two goals",
    )


def _front(report: SearchReport) -> figures.Spec | None:
    """Candidates by the first two objectives, those of the front on top."""
    if not report.front:
        return None
    picture = search_page.picture(report)
    axes = [*picture["axes"], ""][:2]
    kinds = {"other": ("beaten", colours.LOG), "reference": ("built-in design", colours.COUNTER)}
    kinds["front"] = ("on the front", colours.KEPT)
    ranked = sorted(picture["points"], key=lambda point: list(kinds).index(point["kind"]))
    values = [
        {
            "x": point["at"][0],
            "y": point["at"][1] if axes[1] else 0,
            "kind": kinds[point["kind"]][0],
            "name": point["name"],
        }
        for point in ranked
    ]
    scale = {"domain": [name for name, _ in kinds.values()], "range": [colour for _, colour in kinds.values()]}
    legend = {"orient": "top", "title": None, "labelFontSize": 11, "symbolOpacity": 1}
    encoding: dict[str, Any] = {
        "x": {"field": "x", "type": "quantitative", "title": axes[0], "scale": {"zero": False}},
        "y": {"field": "y", "type": "quantitative", "title": axes[1] or None, "scale": {"zero": False}},
        "color": {"field": "kind", "type": "nominal", "scale": scale, "legend": legend},
        "tooltip": {"field": "name", "type": "nominal"},
    }
    if not axes[1]:
        encoding["y"]["axis"] = None
    mark = {"type": "point", "filled": True, "opacity": 1, "size": 46}
    return column.on_white(
        [{"data": {"values": values}, "mark": mark, "encoding": encoding, "width": _WIDTH, "height": _HEIGHT}]
    )

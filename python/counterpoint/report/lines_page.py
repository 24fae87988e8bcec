"""`report.html` of traces of memory lines, without a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..contract.results import LineRun
from ..papers.model import Chart, Mark
from ..system import units
from ..verbs.frames import rests_on, seeds_told
from ..verbs.interval import Estimate, estimate_of_all
from . import colours, figures, headline
from .templates import template


@dataclass(frozen=True)
class _Measure:
    """A figure: its name, the name and unit of its axis, which way is better, its value, and its cell in a table."""

    title: str
    axis: str
    better: str
    of: Callable[[LineRun], float | None]
    cell: Callable[[float | None], str]


def _time(nanoseconds: float | None) -> str:
    return units.NOTHING if nanoseconds is None else units.time(nanoseconds)


_MEASURES = (
    _Measure("Last answer", "time until the last answer in ns", "lower", lambda run: run.finish_ns, _time),
    _Measure(
        "Read response",
        "mean time from the cycle of a read to its line in ns",
        "lower",
        lambda run: None if run.read_response_ns is None else run.read_response_ns.mean,
        _time,
    ),
    _Measure(
        "Write response",
        "mean time from the cycle of a write until it is durable in ns",
        "lower",
        lambda run: None if run.write_response_ns is None else run.write_response_ns.mean,
        _time,
    ),
    _Measure(
        "Read latency", "mean latency of a read that was sent in ns", "lower", lambda run: run.read_latency_ns, _time
    ),
    _Measure(
        "Write latency",
        "mean time until a sent write is durable in ns",
        "lower",
        lambda run: run.write_latency_ns,
        _time,
    ),
    _Measure("Media reads", "lines read from the media", "lower", lambda run: run.media_reads, units.number),
    _Measure("Media writes", "lines written to the media", "lower", lambda run: run.media_writes, units.number),
)


def render(runs: Sequence[LineRun], baseline: str, command: str | None) -> str:
    """The page of some runs; `baseline` is marked in its table, and `command` reproduces it."""
    drawn = [(one, chart) for one in _MEASURES if (chart := _chart(runs, one)) is not None]
    seeds = seeds_told([dict(run.document) for run in runs])
    several = len({run.seed for run in runs}) > 1
    said = headline.of_bars(drawn[0][1], drawn[0][0].axis.removesuffix(" in ns"), drawn[0][0].better, "designs", _time)
    return template("lines.html").render(
        said=headline.Headline(said),
        over=" Error bars are 95 % intervals over the seeds." if several else " One seed: there are no intervals.",
        legend=[(entry.name, entry.colour) for entry in figures.legend(drawn[0][1])],
        charts=[
            {
                "title": one.title,
                "note": f"{one.axis[:1].upper()}{one.axis[1:]}; {one.better} is better.",
                "drawn": figures.drawn(chart, one.title.lower().replace(" ", "_")),
            }
            for one, chart in drawn
        ],
        header=["design", "trace", *(one.title for one, _ in drawn)],
        rows=[
            [design, units.name_of(trace), *(_shown(_estimate(some, one), one) for one, _ in drawn)]
            for (design, trace), some in _grouped(runs)
        ],
        baseline=baseline,
        facts=_facts(runs, seeds),
        command=command,
        dark_rules=colours.dark_rules(".drawn"),
        colours=colours,
    )


def _grouped(runs: Sequence[LineRun]) -> list[tuple[tuple[str, str], list[LineRun]]]:
    groups: dict[tuple[str, str], list[LineRun]] = {}
    for run in runs:
        groups.setdefault((run.design, run.workload), []).append(run)
    return list(groups.items())


def _estimate(runs: Sequence[LineRun], measure: _Measure) -> Estimate | None:
    """A figure over the seeds; None if a run lacks it."""
    return estimate_of_all([measure.of(run) for run in runs])


def _shown(value: Estimate | None, measure: _Measure) -> str:
    return units.NOTHING if value is None else value.shown(measure.cell)


def _chart(runs: Sequence[LineRun], measure: _Measure) -> Chart | None:
    """Bars of designs by trace; None where there is nothing above zero."""
    marks = []
    for (design, trace), some in _grouped(runs):
        value = _estimate(some, measure)
        if value is not None:
            marks.append(Mark("", units.name_of(trace), design, value.mean, value.half))
    if not any(mark.value for mark in marks):
        return None
    return Chart(
        title="",
        kind="bar",
        x_title="trace",
        y_title=measure.axis,
        panels=("",),
        xs=tuple(dict.fromkeys(mark.x for mark in marks)),
        series=tuple(dict.fromkeys(mark.series for mark in marks)),
        marks=tuple(marks),
    )


def _facts(runs: Sequence[LineRun], seeds: str) -> dict[str, str]:
    """What was run, under the names a reader looks for."""
    first = runs[0]
    facts = {
        "designs": ", ".join(dict.fromkeys(run.design for run in runs)),
        "traces": ", ".join(dict.fromkeys(units.name_of(run.workload) for run in runs)),
        "machine": ", ".join(dict.fromkeys(units.name_of(run.machine) for run in runs)),
        "reading": first.variant,
        "clock of the traces": f"{units.number(first.trace_clock_mhz)} MHz",
        "seeds": seeds,
        "engine": first.engine_version,
        "rests on": " ".join(rests_on([run.document for run in runs])),
    }
    return {name: value for name, value in facts.items() if value}

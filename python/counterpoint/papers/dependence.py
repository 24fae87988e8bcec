"""What each prediction depends on: every decision of its paper with every other choice, one at a time.

What is looked at is the mean over the marks of each chart of the figure, without those that are means themselves. A
mark counts where it has a value in the preset and with the choice. A decision of which the figure varies a value along
an axis is left out. The runs are those of the scale `short`, with one seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..runs.computing import Computer
from ..verbs import api
from . import charts
from .asking import content, placed, refused, requests_of, set_now
from .decisions import DecisionSpec
from .declared import ChartSpec, Experiment, Scale, experiments, paper
from .model import Mark
from .predicted import Change, Dependence
from .quantity import Document, key_of

SHORT_SEED = 1
"""The seed of the programs."""

_Spot: TypeAlias = tuple[str, str, str]
_Documents: TypeAlias = Mapping[str, Document | str]


@dataclass(frozen=True)
class _Asked:
    """A figure with another choice for a decision; the experiment is None where the engine refuses it."""

    spec: DecisionSpec
    choice: Any
    experiment: Experiment | None


def dependence(
    name: str, computer: Computer, progress: api.Progress | None = None, *, scale: Scale = "short"
) -> tuple[Dependence, ...]:
    """How the predictions of a paper depend on its decisions, of each figure that which moves it most first.

    Args:
        name: the paper.
        computer: what simulates.
        progress: told how many of the runs are there.
        scale: how much is simulated.

    Raises:
        EngineError: a simulation failed.
    """
    figures = _figures(name, scale, {})
    if not figures:
        return ()
    asked: dict[str, list[_Asked]] = {one.id: [] for one in figures}
    for spec in paper(name).decisions:
        now = set_now(name, spec)
        for row in (row for row in spec.rows if row != now):
            changed = _figures(name, scale, dict(zip(spec.keys, row, strict=True)))
            for preset, one in zip(figures, changed, strict=True):
                if not _varies(preset, spec):
                    asked[one.id].append(_Asked(spec, spec.plain(row), None if refused([one]) else one))
    every = [*figures, *(one.experiment for each in asked.values() for one in each if one.experiment)]
    requests = {content(request): request for request in requests_of(every)}
    documents = dict(zip(requests, computer.ask("run", requests.values(), progress), strict=True))
    return tuple(each for one in figures for each in _of_figure(one, asked[one.id], documents))


def _figures(name: str, scale: Scale, values: Mapping[str, Any]) -> list[Experiment]:
    """The predictions of a paper with other values."""
    declared = experiments(name, scale, {**values, "seed": SHORT_SEED, **api.TIMING_ONLY})
    return [one for one in declared if one.prediction]


def _varies(figure: Experiment, spec: DecisionSpec) -> bool:
    return any(key in matrix.axes for matrix in figure.matrices.values() for key in spec.keys)


def _of_figure(preset: Experiment, asked: Sequence[_Asked], documents: _Documents) -> list[Dependence]:
    """What moves a figure, the largest first; of equals in the order in which they are declared."""
    before = [_marks(spec, preset, documents) or {} for spec in preset.charts]
    found = []
    for spec in dict.fromkeys(one.spec for one in asked):
        changes: list[Change] = []
        count = 0
        for one in asked:
            if one.spec is not spec:
                continue
            drawn = [_marks(chart, one.experiment, documents) for chart in preset.charts]
            if any(marks is None for marks in drawn):
                count += 1
                continue
            changes += [
                _change(chart, one.choice, first, marks)
                for chart, first, marks in zip(preset.charts, before, drawn, strict=True)
                if marks is not None
            ]
        found.append(Dependence(preset.id, spec.name, tuple(changes), count))
    return sorted(found, key=lambda one: one.largest, reverse=True)


def _marks(spec: ChartSpec, figure: Experiment | None, documents: _Documents) -> dict[_Spot, float] | None:
    """The values of the marks of a chart that have one; None where the engine refuses a run."""
    if figure is None:
        return None
    runs: dict[Any, Document] = {}
    for point in figure.matrices[spec.matrix].points:
        document = documents[content(placed(point.request))]
        if isinstance(document, str):
            return None
        runs[key_of(point)] = document
    drawn = charts.chart(spec, figure.matrices[spec.matrix], [runs], paper(figure.paper).names)
    return {_spot(mark): mark.value for mark in drawn.marks if mark.value is not None and mark.x != charts.AVERAGE}


def _spot(mark: Mark) -> _Spot:
    return mark.panel, mark.x, mark.series


def _change(chart: ChartSpec, choice: Any, before: Mapping[_Spot, float], after: Mapping[_Spot, float]) -> Change:
    """How far the mean over the marks of a chart moves."""
    unit: Literal["%", "points"] = "points" if chart.quantity.in_points else "%"
    title = chart.title or chart.y_title
    both = [(value, after[spot]) for spot, value in before.items() if spot in after]
    first, last = (sum(values) / len(both) for values in zip(*both, strict=True)) if both else (0.0, 0.0)
    if not both or (first == 0 and unit == "%"):
        return Change(title, choice, None, unit)
    return Change(title, choice, last - first if unit == "points" else 100 * (last - first) / first, unit)

"""`report.html` of papers reproduced: figures in the papers' form, claims beside what was measured, decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..papers import declared
from ..papers.model import Chart, Claim, Decision, Figure, Reproduction
from ..papers.predicted import PREDICTION, choice_text, sentence
from ..system import units
from ..verbs import catalogue
from . import charts, colours, column, figures, headline, prose
from .tables import breakable
from .templates import template


@dataclass(frozen=True)
class _Drawn:
    """A chart drawn twice, wide and narrow; its legend is empty where all charts of the figure share theirs."""

    title: str
    label: str
    legend: list[figures.Entry]
    drawn: charts.Drawn


def render(reproduction: Reproduction) -> str:
    """The page of a reproduction."""
    claims = {claim.id: claim for claim in reproduction.claims}
    figure_of = {claim: figure.id for figure in reversed(reproduction.figures) for claim in figure.claims}
    return template("reproduction.html").render(
        reproduction=reproduction,
        said=headline.of_reproduction(reproduction),
        papers=[_paper(reproduction, name, claims, figure_of) for name in reproduction.papers],
        runs=units.count_of(sum(figure.runs for figure in reproduction.figures), "simulation"),
        deviations=prose.html(reproduction.deviations),
        prediction=PREDICTION,
        dark_rules=colours.dark_rules(".drawn"),
        colours=colours,
    )


def of_paper(reproduction: Reproduction) -> list[column.Figure]:
    """The charts of a reproduction, each as wide as a column of a paper."""
    return [
        column.Figure(figure.id, chart, _design_colours(reproduction, figure.paper))
        for figure in reproduction.figures
        for chart in figure.charts
    ]


def _paper(
    reproduction: Reproduction, name: str, claims: dict[str, Claim], figure_of: dict[str, str]
) -> dict[str, Any]:
    """A paper's part of the page."""
    own = [claim for claim in reproduction.claims if claim.paper == name]
    colour_of = _design_colours(reproduction, name)
    return {
        "name": name,
        "title": reproduction.papers[name],
        "claims": [{"claim": claim, "at": figure_of.get(claim.id, f"{name}.others")} for claim in own],
        "held": sum(claim.holds for claim in own),
        "figures": [_figure(figure, claims, colour_of) for figure in reproduction.figures if figure.paper == name],
        "others": [claim for claim in own if claim.id not in figure_of],
        "directions": [direction for direction in reproduction.directions if direction.paper == name],
        "decisions": [_decision(decision) for decision in reproduction.decisions if decision.paper == name],
    }


def _figure(figure: Figure, claims: dict[str, Claim], colour_of: dict[str, str]) -> dict[str, Any]:
    legends = [figures.legend(chart, colour_of) for chart in figure.charts]
    shared = legends[0] if len(legends) > 1 and all(legend == legends[0] for legend in legends) else []
    return {
        "figure": figure,
        "note": prose.inline(figure.note),
        "depends": "" if figure.depends is None else prose.inline(sentence(figure.depends)),
        "runs": units.count_of(figure.runs, "simulation") if figure.runs else "",
        "legend": shared,
        "charts": [
            _Drawn(
                title=chart.title,
                label=_label(figure, chart),
                legend=[] if shared else legend,
                drawn=figures.drawn(chart, f"{figure.id}{f'-{place}' if place > 1 else ''}", colour_of),
            )
            for place, (chart, legend) in enumerate(zip(figure.charts, legends, strict=True), 1)
        ],
        "claims": [claims[name] for name in figure.claims if name in claims],
        "tables": figure.tables,
    }


def _label(figure: Figure, chart: Chart) -> str:
    return ": ".join(filter(None, (figure.name, chart.title or figure.title, chart.y_title)))


def _design_colours(reproduction: Reproduction, paper: str) -> dict[str, str]:
    """One colour for a design in all figures of a paper, under the paper's name and under its own."""
    names = declared.paper(paper).names if paper in (*declared.PAPERS, *declared.PREDICTIONS) else {}
    drawn = [
        name for figure in reproduction.figures if figure.paper == paper for c in figure.charts for name in c.series
    ]
    known = {design.name for design in catalogue.designs()}
    designs = list(dict.fromkeys([*names, *(name for name in drawn if name in known)]))
    of_design = colours.of_series(designs, known)
    return of_design | {name: of_design[design] for design, name in names.items()}


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "key": breakable(decision.key),
        "value": choice_text(decision.value),
        "start": choice_text(decision.start) if decision.start != decision.value else "",
        "range": ("; " if isinstance(decision.value, dict) else ", ").join(map(choice_text, decision.range)),
        "reason": prose.inline(decision.reason),
    }

"""Which assumption about a simulator each published result depends on: a picture and a page."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
import polars as pl

from ..papers.calibrate import Calibration
from ..papers.sensitivity import moves
from . import charts, colours
from .markdown import markdown_table

_CELL, _LETTERS_MAX = 26, 340
"""Pixels of a cell; pixels after which a name is cut."""

_SEEN = 0.005
"""A smaller move is shown as nothing: another seed alone moves scores as far."""


def page(found: Sequence[Calibration]) -> str:
    """The page in Markdown; its picture is `img/assumptions.svg`."""
    table = _table(found)
    parts = [
        "# Which assumption each published result depends on",
        "A paper gives a result and leaves much of its simulator open. The picture shows how far the score of each "
        "result moves when one decision is changed over its range, all others as [chosen](calibration.md). A score is "
        "1 where the result holds and falls with the distance from it. A cell of 0 says that the result does not "
        "depend on that assumption near the chosen point; one near 1, that the assumption decides alone whether it "
        "holds. An empty cell is a decision that the paper's machine does not have.",
        "![How far the score of each result moves over the range of each decision](img/assumptions.svg)",
        "One decision at a time shows no interplay of two. It is simulated with one seed, at the scale of the search.",
    ]
    for one in found:
        claims = [claim.id for claim in one.claims(one.chosen)]
        decisions = list(dict.fromkeys(spec.name for spec in one.space.decisions))
        cells = {(row["claim"], row["decision"]): row["moves"] for row in table.iter_rows(named=True)}
        kept = [name for name in decisions if any(cells.get((claim, name), 0.0) >= _SEEN for claim in claims)]
        parts += [
            f"## {one.simulator.title}",
            markdown_table(
                ("result", *(f"`{name}`" for name in kept)),
                ((f"`{claim}`", *(_cell(cells.get((claim, name))) for name in kept)) for claim in claims),
            ),
        ]
        rest = [f"`{name}`" for name in decisions if name not in kept]
        if rest:
            parts.append(f"No result depends on {', '.join(rest)}.")
    return "\n\n".join(parts) + "\n"


def picture(found: Sequence[Calibration]) -> str:
    """A cell for each result and decision, the darker the further the score moves, as SVG text."""
    shown = _table(found)
    rows = shown["claim"].unique(maintain_order=True).to_list()
    columns = shown["decision"].unique(maintain_order=True).to_list()
    names: dict[str, Any] = {"labelLimit": _LETTERS_MAX, "title": None, "ticks": False, "domain": False}
    base = alt.Chart(shown).encode(
        x=alt.X("decision:N", sort=columns, axis=alt.Axis(orient="top", labelAngle=-60, **names)),
        y=alt.Y("claim:N", sort=rows, axis=alt.Axis(**names)),
    )
    scale = alt.Scale(domain=[0, 1], range=[colours.BACKGROUND, colours.COUNTER], interpolate="rgb")
    cells = base.mark_rect(stroke=colours.RULE).encode(color=alt.Color("moves:Q", scale=scale, legend=None))
    numbers = (
        base.transform_filter(alt.datum.moves >= _SEEN)
        .mark_text(fontSize=10, color=colours.TEXT)
        .encode(text=alt.Text("moves:Q", format=".2f"))
    )
    drawn = alt.LayerChart(layer=[cells, numbers]).properties(
        width=_CELL * len(columns), height=_CELL * len(rows) * 3 // 4
    )
    text = io.StringIO()
    charts.dress(drawn).save(text, format="svg")
    # A page may be shown on a dark ground.
    return text.getvalue().replace(">", f'><rect width="100%" height="100%" fill="{colours.BACKGROUND}"/>', 1) + "\n"


def _table(found: Iterable[Calibration]) -> pl.DataFrame:
    """How far each claim's score moves over each decision."""
    rows = [
        (claim.id, spec.name, move)
        for one in found
        for claim in one.claims(one.chosen)
        for spec in one.space.decisions
        if (move := moves(one.varied, spec, claim.id)) is not None
    ]
    return pl.DataFrame(rows, schema={"claim": pl.String, "decision": pl.String, "moves": pl.Float64}, orient="row")


def _cell(move: float | None) -> str:
    if move is None:
        return ""
    return "0" if move < _SEEN else f"{move:.2f}"
